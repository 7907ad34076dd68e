package lsp

import (
	"cmp"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An area is a group of places of a schema document in which a key means the same.
type area string

const (
	topArea      area = "top"
	propertyArea area = "property"
	handlerArea  area = "handler"
	taggingArea  area = "tagging"
	configArea   area = "configuration"
	linkArea     area = "link"
	relationArea area = "relationship"
	listArea     area = "list"
	otherArea    area = ""
)

// areaOf returns the area of the object at a place, from its meta-schema.
func areaOf(k schema.Kind, at document.Pointer) area {
	if len(at) == 0 {
		if k == schema.TypeConfiguration {
			return configArea
		}
		return topArea
	}
	known := schema.Grammar(k, at).Get("properties")
	has := func(key string) bool { return known.Get(key) != nil }
	switch {
	case has("$ref"):
		return propertyArea
	case has("tagProperty"):
		return taggingArea
	case has("mappings"):
		return linkArea
	case has("propertyPath"):
		return relationArea
	case has("permissions"):
		return handlerArea
	case has("deprecatedProperties"):
		return configArea
	case len(at) == 3 && at[2] == "handlerSchema":
		return listArea
	}
	return otherArea
}

// keywordText explains a key of an object in an area, "" for a name of the author's own.
func keywordText(in area, key string) string {
	return cmp.Or(keywordTexts[string(in)+" "+key], keywordTexts[key])
}

// keywordTexts are keyed by the keyword, with its area as a prefix if it has several meanings.
// References: resource-schema.txt, the modeling chapters of the user guide, draft-07.
var keywordTexts = map[string]string{
	"$schema":  "The address of the meta-schema that the document follows. It changes nothing.",
	"$id":      "The address of this document. Relative references are resolved against it.",
	"$comment": "A note for those who edit the schema. Nobody else sees it.",
	"title":    "A short name for readers.",
	"$ref":     "Takes the definition from elsewhere: `#/definitions/Name`, `#/properties/Name`, or a file beside the schema. Keys beside it are passed over.",

	"top description":   "What the extension is for, in a sentence or two. It is the first thing in the generated documentation. Required.",
	"top type":          "The kind of the extension: `RESOURCE`, `HOOK` or `MODULE`. It may be left out.",
	"top typeName":      "The name under which templates use the type: `Organization::Service::Resource`, three parts of 2 to 64 letters and digits. Some organizations (AWS, Amazon, Alexa, Custom …) are reserved. Required.",
	"sourceUrl":         "Where the source code is, an https address. The documentation and the registry show it.",
	"documentationUrl":  "Where longer documentation is, an https address.",
	"top properties":    "The properties of the resource: what a template may set, and what the service returns. Names are letters and digits; nothing that is not declared here exists. Required.",
	"definitions":       "Definitions that properties share through `$ref`. Objects that nest belong here.",
	"top required":      "The names of top-level properties that a template must set. Read-only properties cannot be among them.",
	"top allOf":         "The model must match all of these schemas.",
	"top anyOf":         "The model must match at least one of these schemas, for example one of several sets of required properties.",
	"top oneOf":         "The model must match exactly one of these schemas.",
	"primaryIdentifier": "The properties that together name one resource. Each is read-only (the service makes it) or create-only (a change replaces the resource). `Ref` in a template returns it. Required.",

	"additionalIdentifiers":           "Other sets of properties that name a resource, too, each a list of paths. Handlers accept them in read, update and delete.",
	"readOnlyProperties":              "Properties that only the service sets. A template cannot set them; `Fn::GetAtt` reads them.",
	"writeOnlyProperties":             "Properties that are sent and never returned, such as passwords. The read and list handlers must leave them out.",
	"createOnlyProperties":            "Properties that are set when the resource is created. A change replaces the resource.",
	"conditionalCreateOnlyProperties": "Properties whose change replaces the resource under some conditions: the update handler answers NotUpdatable then.",
	"deprecatedProperties":            "Properties that should not be used any more. They still work.",
	"nonPublicProperties":             "Properties that are not documented. Templates should not use them.",
	"nonPublicDefinitions":            "Definitions that are not documented, as paths: `/definitions/Name`.",
	"replacementStrategy":             "What happens first when a resource is replaced: `create_then_delete` (the default) or `delete_then_create`, for names that can exist only once.",
	"taggable":                        "Deprecated: use `tagging`.",
	"tagging":                         "Whether and how the resource takes tags. Without it every resource counts as taggable with a property `Tags`.",
	"handlers":                        "The handlers that the extension has, each with the permissions that it needs.",
	"resourceLink":                    "How the AWS console links to a page about the resource.",
	"moduleLink":                      "How the AWS console links to a page about the module.",
	"propertyTransform":               "JSONata expressions, by path, that turn what a template says into what the service returns. They keep drift detection from reporting harmless differences. `$OR` separates alternatives.",
	"typeConfiguration":               "The settings that an account makes once for the extension: endpoints, credentials. Handlers receive them with every request.",
	"remote":                          "Reserved: the tool puts foreign definitions here when it makes the references of a schema local. Do not write it.",

	"top additionalProperties":           "Always `false`: a resource has no properties that its schema does not declare. Required.",
	"property additionalProperties":      "Always `false` where it stands. For free-form keys use `patternProperties`.",
	"configuration additionalProperties": "Always `false`. Required.",

	"property type":             "The JSON type: `string`, `integer`, `number`, `boolean`, `object` or `array`; a list allows several.",
	"property description":      "What the property means, for the generated documentation.",
	"property properties":       "The members of the object. An object has either these or `patternProperties`.",
	"property required":         "The names of members that must be there.",
	"patternProperties":         "An object with free-form keys: the schema of the values, by a pattern for the keys.",
	"items":                     "The schema of every item of the array.",
	"insertionOrder":            "Whether the order of the items matters (default `true`). With `false` two arrays with the same items in different order are equal, for contract tests and drift detection.",
	"arrayType":                 "`Standard` (default): the array is one value. `AttributeList`: its items are read one by one.",
	"uniqueItems":               "Whether an item may occur only once. With `insertionOrder` false the array is a set.",
	"contains":                  "At least one item matches this schema.",
	"minItems":                  "The least number of items.",
	"maxItems":                  "The greatest number of items.",
	"minLength":                 "The least number of characters.",
	"maxLength":                 "The greatest number of characters.",
	"pattern":                   "A regular expression (ECMA 262) that matches somewhere in the string. Anchor it with `^` and `$`.",
	"format":                    "What kind of string it is, for example `date-time` or `uri`. It is a note for readers: nothing checks it.",
	"minimum":                   "The least value.",
	"maximum":                   "The greatest value.",
	"exclusiveMinimum":          "Every value is greater than this.",
	"exclusiveMaximum":          "Every value is less than this.",
	"multipleOf":                "Every value is a multiple of this.",
	"minProperties":             "The least number of members.",
	"maxProperties":             "The greatest number of members.",
	"enum":                      "The only values that are allowed. It needs `type` beside it.",
	"const":                     "The only value that is allowed. It needs `type` beside it.",
	"default":                   "What the service takes where nothing is set. It is a note: nobody fills it in.",
	"examples":                  "Values that show how the property is used.",
	"dependencies":              "What else must be there, by the name of a member that is there: a list of names, or a schema.",
	"allOf":                     "The value must match all of these schemas.",
	"anyOf":                     "The value must match at least one of these schemas.",
	"oneOf":                     "The value must match exactly one of these schemas.",
	"relationshipRef":           "The property names another resource: the type and the property of it whose value this one holds.",
	"Parameters":                "The parameters of the module.",
	"Resources":                 "The resources of the module, by logical id.",
	"relationship typeName":     "The type that the property refers to.",
	"relationship propertyPath": "The property of that type whose value this one holds: `/properties/Arn`.",
	"publisherId":               "Who published the type; only for types of third parties.",
	"majorVersion":              "The major version of the type; only for types of third parties.",
	"configuration description": "What the settings are for.",
	"configuration properties":  "The settings. Names are letters and digits and do not begin with `CloudFormation`.",
	"configuration required":    "The names of settings that an account must make.",
	"configuration typeName":    "The name of the type that the settings are for.",
	"list properties":           "The properties by which the list handler can be narrowed down.",
	"list required":             "Those that every list request must have.",
	"templateUri":               "The address, beginning with `/` (in the AWS console) or `https:`, with `${Name}` for values of the mappings.",
	"mappings":                  "Where the values in templateUri come from: paths of properties, by name.",
	"tagging taggable":          "Whether the resource takes tags. With `false` the other three are false. Required.",
	"tagOnCreate":               "Whether tags can be set when the resource is created (default `true`).",
	"tagUpdatable":              "Whether tags can be changed afterwards (default `true`). It needs an update handler.",
	"cloudFormationSystemTags":  "Whether CloudFormation may add its own `aws:` tags (default `true`).",
	"tagProperty":               "The property that holds the tags (default `/properties/Tags`).",
	"tagging permissions":       "The permissions that changing tags needs.",
	"permissions":               "The IAM actions that the handler calls: `service:Action`. The execution role is made from them, so that wildcards give away more than needed. Required.",
	"timeoutInMinutes":          "How long the handler may take altogether, callbacks included: 2 to 2160 minutes (default 120).",
	"targetNames":               "The types that the hook is asked about, for example `AWS::S3::Bucket` or `AWS::S3::*`.",
	"handlerSchema":             "The properties by which a list request can be narrowed down. Only the list handler has one.",
	"create":                    "Makes the resource. It reports success when the resource can be used, and returns its identifier with the first answer.",
	"read":                      "Returns the resource as it is, without write-only properties, within 30 seconds; NotFound if there is none.",
	"update":                    "Changes a resource that exists. Without this handler every change replaces the resource.",
	"delete":                    "Removes the resource; NotFound if there is none.",
	"list":                      "Returns the identifiers of all resources of the type, page by page, within 30 seconds.",
	"preCreate":                 "Is asked before a target is created.",
	"preUpdate":                 "Is asked before a target is updated.",
	"preDelete":                 "Is asked before a target is deleted.",
	"resolve":                   "Turns the module into the resources of its fragment.",
}

// factsOf lists what the meta-schema demands of a value: its type, its bounds, its words.
func factsOf(grammar *document.Value) string {
	var facts []string
	if words := enumeration(grammar); len(words) > 0 && len(words) <= 12 {
		facts = append(facts, "one of "+strings.Join(words, ", "))
	} else if types := typesOf(grammar); len(types) > 0 {
		facts = append(facts, strings.Join(types, " or "))
	}
	for _, bound := range []struct{ key, words string }{
		{"minimum", "at least "}, {"exclusiveMinimum", "more than "}, {"maximum", "at most "},
		{"minItems", "items: at least "}, {"maxLength", "characters: at most "},
	} {
		if v := grammar.Get(bound.key); v != nil && v.Kind == document.Number {
			facts = append(facts, bound.words+v.Text)
		}
	}
	return strings.Join(facts, "; ")
}

// enumeration lists the values that a schema allows, as JSON: those of enum and const,
// and of booleans.
func enumeration(node *document.Value) []string {
	var out []string
	add := func(values ...*document.Value) {
		for _, v := range values {
			out = append(out, string(v.AppendJSON(nil)))
		}
	}
	if then := node.Get("then"); then.Get("enum") != nil { // "type": a word or a list of words
		node = then
	}
	switch {
	case node.Get("const") != nil:
		add(node.Get("const"))
	case node.Get("enum") != nil:
		add(node.Get("enum").Items...)
	default:
		for _, t := range typesOf(node) {
			if t == "boolean" {
				out = append(out, "true", "false")
			}
		}
	}
	return out
}
