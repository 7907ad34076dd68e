package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// describe is a shape in one line.
func describe(s *Shape, depth int) string {
	if s == nil {
		return "nil"
	}
	out := s.Kind.String()
	switch {
	case depth > 2:
		return "…"
	case s.Kind == List, s.Kind == Map:
		out += " of " + describe(s.Item, depth+1)
	case s.Kind == Structure:
		var members []string
		for _, m := range s.Members {
			text := m.Name
			if m.Required {
				text += "!"
			}
			members = append(members, text+" "+describe(m.Shape, depth+1))
		}
		out = "{" + strings.Join(members, ", ") + "}"
	}
	if len(s.Enum) > 0 {
		out += fmt.Sprint(s.Enum)
	}
	if s.Refused != "" {
		out += " (" + s.Refused + ")"
	}
	return out
}

func TestOpenAPIShapes(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{`{type: string, enum: [a, b]}`, "string[a b]"},
		{`{enum: [a]}`, "string[a]"},
		{`{const: a}`, "any"},
		{`{type: string, const: a}`, "string[a]"},
		{`{type: [integer, "null"]}`, "integer"},
		{`{type: integer, nullable: true}`, "integer"},
		{`{type: [string, integer]}`, "string"},
		{`{type: [boolean, integer]}`, "any (its type is one of boolean, integer)"},
		{`{type: string, format: date-time}`, "timestamp"},
		{`{type: string, format: byte}`, "blob"},
		{`{type: array, items: {type: number}}`, "list of number"},
		{`{items: {type: number}}`, "list of number"},
		{`{type: object}`, "any (its members are not described)"},
		{`{type: object, additionalProperties: true}`, "any (its members are not described)"},
		{`{type: object, additionalProperties: {type: string}}`, "map of string"},
		{`{properties: {a: {type: string}}, required: [a]}`, "{a! string}"},
		{`{allOf: [{$ref: "#/components/schemas/A"}], properties: {b: {type: string}}, required: [a]}`, "{a! string, b string}"},
		{`{allOf: [{$ref: "#/components/schemas/A"}, {required: [a]}]}`, "{a! string}"},
		{`{oneOf: [{$ref: "#/components/schemas/A"}, {type: "null"}]}`, "{a string}"},
		{`{anyOf: [{$ref: "#/components/schemas/A"}, {$ref: "#/components/schemas/B"}]}`, "{a string, b integer}"},
		{`{oneOf: [{properties: {a: {type: string}}, required: [a]}, {properties: {a: {type: string}, b: {type: string}}, required: [a, b]}]}`, "{a! string, b string}"},
		{`{oneOf: [{type: string}, {type: integer}]}`, "string"},
		{`{oneOf: [{type: string, enum: [x]}, {type: string, enum: [y]}]}`, "string[x y]"},
		{`{oneOf: [{type: string}, {$ref: "#/components/schemas/A"}]}`, "any (it is one of several types)"},
		{`{anyOf: [{oneOf: [{type: string}, {$ref: "#/components/schemas/A"}]}, {type: "null"}]}`, "any (it is one of several types)"},
		{`{$ref: "#/components/schemas/Tree"}`, "{next {next {next …}}}"},
		{`{$ref: "#/components/schemas/Loop"}`, "any"},
		{`{allOf: [{$ref: "#/components/schemas/Self"}]}`, "{a string}"},
		{`{$ref: "#/components/schemas/missing"}`, "any"},
		{`{$ref: "other.yaml#/A"}`, "any"},
		{`{$ref: "https://example.com/a.yaml"}`, "any"},
		{`{$ref: "#/components/schemas/a~1b%20c"}`, "boolean"},
		{`true`, "any"},
	} {
		text := `openapi: 3.1.0
info: {title: T, version: "1"}
paths:
  /things/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: ` + test.schema + `}}}}}
components:
  schemas:
    A: {type: object, properties: {a: {type: string}}}
    B: {type: object, properties: {b: {type: integer}}, required: [b]}
    Tree: {type: object, properties: {next: {$ref: "#/components/schemas/Tree"}}}
    Loop: {$ref: "#/components/schemas/Loop"}
    Self: {allOf: [{$ref: "#/components/schemas/Self"}], type: object, properties: {a: {type: string}}}
    "a/b c": {type: boolean}
`
		a, problems := FromOpenAPI("t.yaml", []byte(text))
		if a == nil {
			t.Errorf("%s: %v", test.schema, problems)
			continue
		}
		if got := describe(a.Operations[0].Output, 0); got != test.want {
			t.Errorf("%s: %s, want %s", test.schema, got, test.want)
		}
	}
}

func TestOpenAPIProblems(t *testing.T) {
	var paths []string
	for i := range maxPaths + 1 {
		paths = append(paths, fmt.Sprintf(`"/%d": {}`, i))
	}
	many := `{"openapi": "3.0.0", "paths": {` + strings.Join(paths, ",") + `}}`
	var refs []string
	for i := range maxReported + 2 {
		refs = append(refs, fmt.Sprintf(`{"name": "p%d", "in": "query", "schema": {"$ref": "x%d.yaml"}}`, i, i))
	}
	for _, test := range []struct{ text, want string }{
		{`{"swagger": "2.0"}`, "Swagger 2.0 is not supported"},
		{`{"openapi": "4.0.0"}`, "OpenAPI 4.0.0 is not supported"},
		{`{}`, "not a description in OpenAPI 3.0 or 3.1"},
		{`[]`, "not a description in OpenAPI 3.0 or 3.1"},
		{`{`, "the document ends where a key"},
		{many, "the description has 20001 paths, more than 20000"},
		{`{"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": [` + strings.Join(refs, ",") + `]}}}}`, "2 more references cannot be followed"},
		{`{"openapi": "3.0.0", "paths": {"/a": {"$ref": "../a.json"}}}`, `the reference "../a.json" leaves the description and is not followed`},
	} {
		_, problems := FromOpenAPI("t.json", []byte(test.text))
		found := ""
		for _, p := range problems {
			found += p.Message + "\n"
		}
		if !strings.Contains(found, test.want) {
			t.Errorf("%.40s: %q, want %s", test.text, found, test.want)
		}
	}
}

// TestOpenAPIOperations checks what clients and stubs read: parameters, media types, statuses,
// errors, pages, keys, security.
func TestOpenAPIOperations(t *testing.T) {
	a, problems := FromOpenAPI("t.yaml", []byte(`openapi: 3.0.3
info: {title: Things, version: "2"}
servers: [{url: "https://{host}/v1", variables: {host: {default: example.com}}}]
paths:
  /things:
    parameters: [{name: tenant, in: header, required: true, schema: {type: string}}]
    get:
      parameters:
        - {name: cursor, in: query, schema: {type: string}}
        - {name: limit, in: query, schema: {type: integer}}
      responses:
        "200": {description: d, content: {application/json: {schema: {type: object, properties: {data: {type: array, items: {type: string}}, next_cursor: {type: string}}}}}}
    post:
      parameters:
        - {name: Idempotency-Key, in: header, schema: {type: string}}
        - {name: tenant, in: header, schema: {type: string, maxLength: 3}}
      requestBody:
        content:
          application/xml: {schema: {type: string}}
          application/vnd.x+json: {schema: {type: object, properties: {a: {type: string}}}, example: {a: b}}
      responses:
        "201": {description: d}
        "409": {description: d}
        "429": {description: d}
        5XX: {description: d}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    token: {type: http, scheme: Bearer}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: "https://example.com/token", scopes: {}}}}
`))
	if problems != nil {
		t.Fatal(problems)
	}
	list, create := a.Operations[0], a.Operations[1]
	if want := (Paging{In: "cursor", Out: "next_cursor", Size: "limit"}); list.Paging == nil || *list.Paging != want {
		t.Errorf("paging: %+v", list.Paging)
	}
	if create.Name != "POST /things" || create.Token != "Idempotency-Key" || create.ContentType != "application/vnd.x+json" || len(create.Examples) != 1 {
		t.Errorf("create: %+v", create)
	}
	if p := create.Param(InHeader, "tenant"); p == nil || p.Shape.MaxLen == nil {
		t.Error("the parameter of the operation does not replace that of the path")
	}
	if got := fmt.Sprint(create.Errors); got != "[{  409 false <nil>} {  429 true <nil>} {  500 false <nil>}]" {
		t.Errorf("errors: %s", got)
	}
	if got := fmt.Sprint(a.Auth, a.Servers); got != "[{key apiKey header X-Key } {token bearer   } {oauth oauth2   https://example.com/token}] [https://example.com/v1]" {
		t.Errorf("security: %s", got)
	}
}

// TestOpenAPICases checks rules with descriptions of one resource: the spelling of members differs between
// requests and responses, items are made by PUT, marks, parts with calls of their own.
func TestOpenAPICases(t *testing.T) {
	for _, test := range []struct{ name, post, get, more, want string }{
		{"spelling", `{FriendlyName: {type: string}}`, `{friendly_name: {type: string}, id: {type: integer}}`, "",
			"Id identifier readOnly, FriendlyName createOnly"},
		{"noun", `{thing_name: {type: string}}`, `{name: {type: string}, uuid: {type: string}}`, "",
			"Uuid identifier readOnly, ThingName createOnly"},
		{"both", `{thing_name: {type: string}}`, `{name: {type: string}, thing_name: {type: string}, id: {type: string}}`, "",
			"Id identifier readOnly, ThingName createOnly, Name readOnly"},
		{"marks", `{id: {type: string, readOnly: true}, a: {type: string, writeOnly: true}, p: {type: string, format: password}}`,
			`{id: {type: string, readOnly: true}, p: {type: string}}`, "",
			"Id identifier readOnly, A createOnly writeOnly, P createOnly writeOnly"},
		{"part", `{size: {type: string}, region: {type: string}}`, `{id: {type: string}, size: {type: string}, region: {type: string}}`,
			`/things/{thing_id}/resize: {put: {requestBody: {content: {application/json: {schema: {type: object, properties: {size: {type: string}}}}}}, responses: {"202": {description: d}}}}`,
			"Id identifier readOnly, Size, Region createOnly"},
		{"whole", `{size: {type: string}, color: {type: string}}`, `{id: {type: string}, size: {type: string}, color: {type: string}}`, "put", "Id identifier readOnly, Size, Color createOnly"},
		{"nested", `{a: {type: string}}`, `{id: {type: string}, spec: {type: object, properties: {a: {type: string}}}}`, "",
			"Id identifier readOnly, A createOnly, Spec readOnly"},
		{"none", `{a: {type: string}}`, `{a: {type: string}}`, "", `GET /things/{thing_id} needs "thing_id", but no response has it`},
		{"clash", `{a_b: {type: string}, aB: {type: integer}}`, `{id: {type: string}, a_b: {type: string}}`, "", "Id identifier readOnly, AB createOnly"},
	} {
		body := func(properties string) string {
			return `content: {application/json: {schema: {type: object, properties: ` + properties + `}}}`
		}
		put := ""
		if test.more == "put" { // of the collection, with the identifier in the body
			put, test.more = `, put: {requestBody: {`+body("{id: {type: string}, size: {type: string}}")+`}, responses: {"200": {description: d}}}`, ""
		}
		text := `openapi: 3.1.0
info: {title: T, version: "1"}
paths:
  /things: {post: {requestBody: {` + body(test.post) + `}, responses: {"201": {description: d}}}` + put + `}
  /things/{thing_id}:
    get: {responses: {"200": {description: d, ` + body(test.get) + `}}}
    delete: {responses: {"204": {description: d}}}
  ` + test.more + "\n"
		a, problems := FromOpenAPI("t.yaml", []byte(text))
		if a == nil || len(a.Resources) != 1 {
			t.Errorf("%s: %v", test.name, problems)
			continue
		}
		d, problems := Derive(a, a.Resources[0], "Acme::Test::Thing", &Settings{})
		var got string
		if problems.HasErrors() {
			got = problems[0].Message
		} else {
			var list []string
			for _, p := range d.Properties {
				text := p.Name
				for _, mark := range []struct {
					name string
					set  bool
				}{{"identifier", p.Identifier}, {"readOnly", p.ReadOnly}, {"createOnly", p.CreateOnly}, {"writeOnly", p.WriteOnly}} {
					if mark.set {
						text += " " + mark.name
					}
				}
				list = append(list, text)
			}
			got = strings.Join(list, ", ")
			if _, problems := schema.Load("t.json", d.JSON(), schema.Config{Kind: schema.Resource}); problems.HasErrors() {
				t.Errorf("%s: %v", test.name, problems.Err())
			}
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestFormats: formats that mean the same in schemas are in the schema; others are only descriptions.
func TestFormats(t *testing.T) {
	a, problems := FromOpenAPI("t", []byte(`openapi: 3.1.0
info: {title: T, version: "1"}
paths:
  /events:
    post: {requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Event"}}}}, responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Event"}}}}}}
  /events/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Event"}}}}}}
    delete: {responses: {"204": {description: d}}}
components:
  schemas:
    Event: {type: object, properties: {id: {type: string}, days: {type: array, items: {type: string, format: date}}, mail: {type: string, format: email, pattern: "^a"}, color: {type: string, format: color}}}
`))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	d, problems := Derive(a, a.Resources[0], "Acme::Test::Event", &Settings{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	s, problems := schema.Load("t.json", d.JSON(), schema.Config{Kind: schema.Resource})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	for name, want := range map[string]string{
		"Days":  `{"type":"array","insertionOrder":true,"items":{"type":"string","format":"date"}}`,
		"Mail":  `{"type":"string","pattern":"^a"}`,
		"Color": `{"type":"string"}`,
	} {
		if got := string(s.Root.Get("properties").Get(name).AppendJSON(nil)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func FuzzOpenAPI(f *testing.F) {
	f.Add([]byte(`{"openapi": "3.1.0", "paths": {"/a": {"post": {}}, "/a/{id}": {"get": {"responses": {"200": {"content": {"a/json": {"schema": {"$ref": "#/x"}}}}}}, "delete": {}}}, "x": {"allOf": [{"$ref": "#/x"}], "properties": {"id": {"type": "string"}}}}`))
	f.Add([]byte("openapi: 3.0.0\npaths: {/{a}: {get: {parameters: [{in: path, name: a}]}}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, _ := FromOpenAPI("t", data)
		if a == nil {
			return
		}
		for _, r := range a.Resources {
			d, problems := Derive(a, r, "Acme::Test::Thing", &Settings{})
			if problems.HasErrors() {
				continue
			}
			_, problems = schema.Load("t.json", d.JSON(), schema.Config{Kind: schema.Resource})
			for _, p := range problems {
				if p.ID == "document/syntax" {
					t.Fatalf("not JSON: %s", p.Message)
				}
			}
		}
	})
}
