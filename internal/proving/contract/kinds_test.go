package contract

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A kind is one way to be a correct resource type, for the whole suite.
type kind struct {
	name       string
	identifier []string // of "Id", which the handler makes, and "Name", which the user chooses
	callbacks  int      // IN_PROGRESS events before create, update and delete succeed
	page       int      // length of a page of LIST; 0 means everything at once

	stringified bool // every scalar is returned as a string
	nulls       bool // members of events that may be null without a value are
	shuffled    bool // collections without an order come back in another one
	transformed bool // the title comes back in capitals, and the schema has a transform for it
	filters     bool // LIST filters by the properties that it gets
	exempt      bool // models break what the contract exempts: required, dependencies, propertyNames, combiners
	plain       bool // no tags, defaults, additional identifiers, create-only properties and list handler
	nested      bool // the identifier is inside of an object

	ownPages    bool // LIST does not take maxResults
	unique      bool // no two reports have one Name, which identifies none
	single      bool // there is one report at a time
	alias       bool // the user chooses an additional identifier
	deprecated  bool // a deprecated property is accepted and never returned
	fixedTags   bool // an update cannot change tags
	conditional bool // an update cannot change what is create-only under conditions
	attributes  bool // the service adds the defaults to a list of attributes, and sorts it
	twoValued   bool // the create-only property has two values
	sparse      bool // the only collection is an array
	readers     bool // items of a create-only list require a member that is write-only
}

var kindsOfService = []kind{
	{name: "synchronous, generated identifier", identifier: []string{"Id"}},
	{name: "asynchronous", identifier: []string{"Id"}, callbacks: 3},
	{name: "chosen identifier", identifier: []string{"Name"}, filters: true},
	{name: "asynchronous, chosen, paged", identifier: []string{"Name"}, callbacks: 2, page: 1},
	{name: "composite identifier", identifier: []string{"Name", "Id"}, page: 2},
	{name: "unordered collections", identifier: []string{"Id"}, shuffled: true},
	{name: "paged", identifier: []string{"Id"}, page: 1},
	{name: "filtering", identifier: []string{"Id"}, filters: true},
	{name: "transformed", identifier: []string{"Id"}, transformed: true, callbacks: 1},
	{name: "stringified", identifier: []string{"Id"}, stringified: true, callbacks: 1},
	{name: "explicit nulls around models", identifier: []string{"Id"}, nulls: true, callbacks: 1},
	{name: "exempt keywords", identifier: []string{"Id"}, exempt: true},
	{name: "plain", identifier: []string{"Id"}, plain: true},
	{name: "nested identifier", identifier: []string{"Id"}, nested: true},
	{name: "one page", identifier: []string{"Id"}, ownPages: true},
	{name: "pages of its own size", identifier: []string{"Name"}, ownPages: true, page: 3},
	{name: "unique name", identifier: []string{"Id"}, unique: true},
	{name: "single", identifier: []string{"Id"}, single: true},
	{name: "alias", identifier: []string{"Id"}, alias: true},
	{name: "alias and chosen identifier", identifier: []string{"Name"}, alias: true},
	{name: "deprecated", identifier: []string{"Id"}, deprecated: true},
	{name: "tags that cannot change", identifier: []string{"Id"}, fixedTags: true},
	{name: "create-only under conditions", identifier: []string{"Id"}, conditional: true},
	{name: "attributes", identifier: []string{"Id"}, attributes: true},
	{name: "two values", identifier: []string{"Id"}, twoValued: true, sparse: true},
	{name: "write-only members", identifier: []string{"Id"}, readers: true},
}

// idPath is where the identifier that the handler makes is in models.
func (k kind) idPath() string {
	if k.nested {
		return "/properties/Filing/Id"
	}
	return "/properties/Id"
}

func (k kind) schema(t testing.TB) *schema.Schema {
	t.Helper()
	handler := map[string]any{"permissions": []string{"x:Y"}, "timeoutInMinutes": 10}
	handlers := map[string]any{"create": handler, "read": handler, "update": handler, "delete": handler, "list": handler}
	properties := map[string]any{
		"Name": map[string]any{"type": "string", "pattern": "^[a-z][a-z0-9-]{5,20}$"}, "Series": map[string]any{"type": "string", "pattern": "^[A-Z]{6}$"},
		"Title": map[string]any{"type": "string", "minLength": 3, "maxLength": 40, "pattern": "^[A-Za-z]+$"},
		"Pages": map[string]any{"type": "integer", "minimum": 1, "maximum": 90},
		"Draft": map[string]any{"type": "boolean"}, "Copies": map[string]any{"type": "integer", "minimum": 1, "default": 2},
		"Password": map[string]any{"type": "string", "minLength": 12, "pattern": "^[a-z]+$"},
		"Labels":   map[string]any{"type": "array", "insertionOrder": false, "uniqueItems": true, "minItems": 2, "items": map[string]any{"$ref": "#/definitions/Label"}},
		"Authors":  map[string]any{"type": "array", "insertionOrder": true, "maxItems": 4, "items": map[string]any{"type": "string", "pattern": "^[a-z]{3,9}$"}},
		"Notes":    map[string]any{"type": "object", "additionalProperties": false, "patternProperties": map[string]any{"^[a-z]{4}$": map[string]any{"type": "string"}}},
		"Layout": map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
			"Margin": map[string]any{"type": "integer"}, "Paper": map[string]any{"type": "string", "default": "A4"},
		}},
		"State": map[string]any{"type": "string", "enum": []string{"FILED"}}, "Size": map[string]any{"type": "integer", "minimum": 0},
		"Filed": map[string]any{"type": "string"}, "Stamps": map[string]any{"type": "object", "additionalProperties": false, "patternProperties": map[string]any{"^[a-z]+$": map[string]any{"type": "string"}}},
		"Link": map[string]any{"type": "string", "pattern": "^tps:"}, "History": map[string]any{"type": "array", "maxItems": 2, "items": map[string]any{"type": "string"}},
	}
	readOnly := []string{k.idPath(), "/properties/State", "/properties/Size", "/properties/Link", "/properties/History", "/properties/Filed", "/properties/Stamps"}
	if k.nested {
		properties["Filing"] = map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"Id": map[string]any{"type": "string", "pattern": "^id-[0-9]+$"}}}
	} else {
		properties["Id"] = map[string]any{"type": "string", "pattern": "^id-[0-9]+$"}
	}
	var identifier []string
	for _, name := range k.identifier {
		path := "/properties/" + name
		if name == "Id" {
			path = k.idPath()
		}
		identifier = append(identifier, path)
	}
	document := map[string]any{
		"typeName": "Initech::TPS::Report", "description": "A report.", "additionalProperties": false, "properties": properties,
		"definitions": map[string]any{"Label": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"Key", "Value"},
			"properties": map[string]any{"Key": map[string]any{"type": "string", "pattern": "^[a-z]{3,9}$"}, "Value": map[string]any{"type": "string", "pattern": "^[a-z]*$"}},
		}},
		"required": []string{"Title", "Name"}, "primaryIdentifier": identifier, "additionalIdentifiers": [][]string{{"/properties/Link"}}, "readOnlyProperties": readOnly,
		"createOnlyProperties": []string{"/properties/Name", "/properties/Series"}, "writeOnlyProperties": []string{"/properties/Password"}, "handlers": handlers,
		"tagging":           map[string]any{"taggable": true, "tagOnCreate": true, "tagUpdatable": true, "tagProperty": "/properties/Labels"},
		"typeConfiguration": map[string]any{"additionalProperties": false, "properties": map[string]any{"Cover": map[string]any{"type": "boolean"}}},
	}
	k.vary(document, properties)
	if k.plain {
		delete(handlers, "list")
		delete(document, "additionalIdentifiers")
		delete(document, "typeConfiguration")
		document["createOnlyProperties"] = []string{"/properties/Name"}
		document["tagging"] = map[string]any{"taggable": false}
		for _, name := range []string{"Copies", "Layout"} {
			delete(properties, name)
		}
	}
	return loaded(t, document)
}

func loaded(t testing.TB, document map[string]any) *schema.Schema {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	s, problems := schema.Load("report.json", data, schema.Config{})
	if s == nil {
		t.Fatal(problems.Err())
	}
	return s
}

// vary changes the schema by the newer members of a kind.
func (k kind) vary(document, properties map[string]any) {
	text := map[string]any{"type": "string", "pattern": "^[a-z]{8}$"}
	switch {
	case k.alias:
		properties["Alias"] = text
		document["additionalIdentifiers"] = [][]string{{"/properties/Link"}, {"/properties/Alias"}}
	case k.deprecated:
		properties["Owner"] = text
		properties["Sender"] = map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"Name": text}}
		document["deprecatedProperties"] = []string{"/properties/Owner", "/properties/Sender/Name"}
	case k.fixedTags:
		document["tagging"].(map[string]any)["tagUpdatable"] = false
	case k.conditional:
		document["conditionalCreateOnlyProperties"] = []string{"/properties/Pages", "/properties/Layout/Margin"}
	case k.transformed:
		document["propertyTransform"] = map[string]any{"/properties/Title": "$uppercase(Title)"}
	case k.exempt:
		document["oneOf"] = []any{map[string]any{"required": []string{"Title"}, "not": map[string]any{"required": []string{"State"}}}, map[string]any{"required": []string{"Link", "Nothing"}}}
		document["dependencies"] = map[string]any{"State": []string{"Password"}}
		document["propertyNames"] = map[string]any{"not": map[string]any{"const": "State"}}
	case k.readers:
		reader := map[string]any{"type": "object", "additionalProperties": false, "required": []string{"Pin"}, "properties": map[string]any{"Name": text, "Pin": text}}
		properties["Readers"] = map[string]any{"type": "array", "insertionOrder": true, "minItems": 1, "items": reader}
		document["required"] = []string{"Title", "Name", "Readers"}
		document["createOnlyProperties"] = []string{"/properties/Name", "/properties/Series", "/properties/Readers"}
		document["writeOnlyProperties"] = []string{"/properties/Password", "/properties/Readers/*/Pin"}
	case k.attributes:
		properties["Attributes"] = map[string]any{"type": "array", "arrayType": "AttributeList", "items": map[string]any{"$ref": "#/definitions/Label"}}
	}
	if k.twoValued {
		properties["Series"] = map[string]any{"type": "string", "enum": []string{"QUARTR", "YEARLY"}}
	}
	if k.sparse {
		properties["Labels"] = map[string]any{"type": "array", "insertionOrder": false, "maxItems": 0, "items": map[string]any{"$ref": "#/definitions/Label"}}
		properties["Notes"] = map[string]any{"type": "object", "additionalProperties": false}
		delete(document, "tagging")
	}
}

func (k kind) inputs() Inputs {
	label := func(key, value string) any { return map[string]any{"Key": key, "Value": value} }
	create := map[string]any{
		"Name": "report-1", "Title": "first", "Pages": json.Number("7"), "Draft": true, "Password": "correcthorsebattery", "Series": "QUARTR", "Copies": json.Number("3"),
		"Labels": []any{label("one", "a"), label("two", "b"), label("three", "c")}, "Authors": []any{"bill", "peter"},
		"Notes": map[string]any{"abcd": "x", "efgh": "y"}, "Layout": map[string]any{"Margin": json.Number("3"), "Paper": "A5"},
	}
	update := maps.Clone(create)
	update["Title"], update["Pages"], update["Labels"] = "second", json.Number("8"), []any{label("two", "bb"), label("four", "d"), label("five", "e")}
	if k.fixedTags {
		update["Labels"] = create["Labels"]
	}
	if k.conditional {
		update["Pages"] = create["Pages"]
	}
	for _, model := range []map[string]any{create, update} {
		switch {
		case k.alias:
			model["Alias"] = "reportal"
		case k.deprecated:
			model["Owner"], model["Sender"] = "lumbergh", map[string]any{"Name": "lumbergh"}
		case k.attributes:
			model["Attributes"] = []any{label("paper", "thick"), label("color", "blue")}
		case k.readers:
			model["Readers"] = []any{map[string]any{"Name": "lumbergh", "Pin": "staplers"}}
		case k.sparse:
			delete(model, "Labels")
			delete(model, "Notes")
		}
	}
	if k.plain {
		for _, model := range []map[string]any{create, update} {
			for _, name := range []string{"Copies", "Layout"} {
				delete(model, name)
			}
		}
	}
	return Inputs{Sets: []InputSet{{Number: 1, Create: create, Update: update}}}
}
