package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fleet has devices that are created below a project, sections whose PUT only updates, and ways to create by PUT and POST.
const fleet = `openapi: 3.0.3
info: {title: Fleet, version: "1"}
security: [{}]
paths:
  /projects/{id}/devices:
    post: {requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"201": {$ref: "#/components/responses/Device"}}}
  /sites/{site}/devices:
    post: {requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"201": {$ref: "#/components/responses/Device"}}}
  /plans/{plan}/devices:
    post: {requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"201": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}
  /devices/{id}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    put: {summary: Update the device, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /devices/{id}/ports:
    put: {requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {description: d}}}
  /devices/{id}/ports/{port}:
    delete: {responses: {"204": {description: d}}}
  /hooks/{id}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    put: {summary: Update a hook, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /presets/{name}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    put: {summary: Update a preset, operationId: upsertPreset, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /marks/{name}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    post: {summary: Create a mark, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /boxes/{box}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    post: {summary: Create a part, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {$ref: "#/components/responses/Device"}}}
    delete: {responses: {"204": {description: d}}}
  /boxes/{box}/{part}:
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    delete: {responses: {"204": {description: d}}}
  /rooms/{room}/pages:
    put: {summary: Create or update a page, requestBody: {$ref: "#/components/requestBodies/Device"}, responses: {"200": {$ref: "#/components/responses/Device"}}}
  /rooms/{room}/pages/{name}:
    parameters: [{name: room, in: path, required: true, schema: {type: string, pattern: "^[0-9]+$"}}]
    get: {responses: {"200": {$ref: "#/components/responses/Device"}}}
    delete: {responses: {"204": {description: d}}}
components:
  requestBodies:
    Device: {content: {application/json: {schema: {type: object, properties: {name: {type: string}, title: {type: string, nullable: true}}}}}}
  responses:
    Device: {description: d, content: {$ref: "#/components/content/device"}}
  content:
    device: {application/json: {schema: {$ref: "#/components/schemas/Device"}}}
  schemas:
    Device: {type: object, properties: {id: {type: string}, name: {type: string}, title: {type: string}}}
`

func TestCreates(t *testing.T) {
	a, problems := FromOpenAPI("fleet.yaml", []byte(fleet))
	if problems != nil {
		t.Fatal(problems)
	}
	var got []string
	for _, r := range a.Resources {
		got = append(got, fmt.Sprint(r.Name, ": ", r.Create.Name, ", ", len(r.Update)))
	}
	want := []string{"Device: POST /projects/{id}/devices, 1", "Preset: PUT /presets/{name}, 1", "Mark: POST /marks/{name}, 0", "Box: POST /boxes/{box}, 0", "Page: PUT /rooms/{room}/pages, 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if i := slices.IndexFunc(a.Others, func(c Candidate) bool { return c.Name == "Hook" }); i < 0 || a.Others[i].Reason != "it has no operation to create" {
		t.Errorf("%+v", a.Others)
	}
	b := bindingIn(t, fleet, "Device", "")
	if got, want := line(b.Create), "POST /projects/{id}/devices [ProjectId=path:id string!, Name=body:name string, Title=body:title string or null] -> [Id=body:id string, Name=body:name string, Title=body:title string]"; got != want {
		t.Error(got)
	}
	page := bindingIn(t, fleet, "Page", "")
	if got, want := line(page.Update[0]), "PUT /rooms/{room}/pages [Room=path:room string!, Name=body:name string!, Title=body:title string or null]"; !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	page = bindingIn(t, strings.Replace(fleet, "Device: {content: {application/json:", "Device: {content: {application/x-www-form-urlencoded:", 1), "Page", "")
	if got := line(page.Update[0]); strings.Contains(got, "or null") {
		t.Errorf("a null in a form: %s", got)
	}
	s, _ := ParseSettings("api.yaml", nil)
	if d, problems := Derive(a, a.Resource("Page"), "Acme::Room::Page", s); problems.HasErrors() || !strings.Contains(string(d.JSON()), `"^[0-9]+$"`) {
		t.Errorf("%v: the schema lacks the pattern of a parent in the path of read", problems)
	}
	if fmt.Sprint(b.Identifier) != "[Id]" || !strings.HasPrefix(line(b.Read), "GET /devices/{id} [Id=path:id string!]") {
		t.Error(b.Identifier, line(b.Read))
	}
}

func TestCandidates(t *testing.T) {
	for id, want := range map[string]string{
		"reserved_ip": "[Addressreserved_ip ip AddressId id sid uuid name]", "mailKey": "[AddressmailKey Key AddressId id sid uuid name]", "mailPlan": "[AddressmailPlan AddressId id sid uuid name]",
		"mail_id": "[Addressmail_id AddressId id sid uuid name]", "key": "[Addresskey AddressId id sid uuid name]",
	} {
		if got := (&API{Format: "openapi"}).candidates("Address", id, true); fmt.Sprint(got) != want {
			t.Error(got)
		}
	}
}

func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"policies": "policy", "boxes": "box", "databases": "database", "statuses": "status", "email_aliases": "email_alias", "apis": "api", "emojis": "emoji", "analysis": "analysis",
		"saas": "saas", "sms": "sms", "vms": "vm", "access": "access", "keys": "key",
	} {
		if got := singular(plural); got != want {
			t.Errorf("%s: %s", plural, got)
		}
	}
}

// jobs is an API whose one resource has what the cases of TestCalls replace.
const jobs = `openapi: 3.0.3
info: {title: Jobs, version: "1"}
security: [{token: []}]
paths:
  /jobs:
    post:
      parameters: [{name: zone, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object, required: [made], properties: {made: {type: string, readOnly: true}, name: {type: string}, mask: {type: integer}, limit: {type: integer, minimum: -9223372036854776000, maximum: 9}, spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Job"}}}}}
  /jobs/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}, {name: Accept, in: header, required: true, schema: {type: string, default: application/vnd.jobs+json}}]
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Job"}}}}}
    patch:
      requestBody: {content: {application/json: {schema: {type: object, properties: {state: {type: string, default: on}, spec: {type: object, properties: {a: {type: string}}}}}}}}
      responses: {"200": {description: d}}
    delete: {responses: {"204": {description: d}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    token: {type: oauth2, flows: {authorizationCode: {authorizationUrl: "https://example.com", tokenUrl: "https://example.com", scopes: {}}}}
    digest: {type: http, scheme: digest}
    basic: {type: http, scheme: basic}
    team_id: {type: apiKey, in: query, name: team}
  schemas:
    Job: {type: object, properties: {id: {type: string}, made: {type: string}, state: {type: string}, name: {type: string, readOnly: true}, mask: {type: string}, spec: {type: object, properties: {a: {type: string, readOnly: true}, b: {type: string}}}}}
`

func TestCalls(t *testing.T) {
	for _, test := range []struct {
		name string
		from string // in jobs; what is there instead follows
		to   string
		want string // in the binding, the schema or the problems
	}{
		{"a token that somebody requested", "", "", `"auth": {"kind": "bearer"}`},
		{"the scheme that is required", "[{token: []}]", "[{digest: []}, {key: []}]", `"auth": {"kind": "none", "keys": [{"in": "header", "name": "X-Key", "property": "ApiKey", "secret": true}]}`},
		{"without a requirement", "[{token: []}]", "[]", `"auth": {"kind": "none", "keys": [{"in": "header", "name": "X-Key", "property": "ApiKey", "secret": true}]}`},
		{"two schemes at once", "[{token: []}]", "[{key: [], token: []}]", `"auth": {"kind": "bearer", "keys": [{"in": "header", "name": "X-Key"`},
		{"two keys", "[{token: []}]", "[{key: [], team_id: []}]", `"keys": [{"in": "header", "name": "X-Key", "property": "Key", "secret": true}, {"in": "query", "name": "team", "property": "TeamId", "secret": true}]`},
		{"one scheme is enough", "[{token: []}]", "[{key: [], team_id: []}, {basic: []}]", `"auth": {"kind": "basic"}`},
		{"keys before a token that somebody requested", "[{token: []}]", "[{token: []}, {key: [], team_id: []}]", `"keys": [{"in": "header", "name": "X-Key", "property": "Key", "secret": true}, {"in"`},
		{"what cannot be sent", "[{token: []}]", "[{token: [], digest: []}]", "needs token and digest: handlers send token only"},
		{"two that send one header", "[{token: []}]", "[{token: [], basic: []}]", "needs token and basic: handlers send token only"},
		{"a header with one value", "{name: Accept,", "{name: X-Preview, in: header, required: true, schema: {type: string, enum: [jobs]}}, {name: Accept,", `"fixed": [{"in": "header", "at": ["X-Preview"], "value": "jobs"}]`},
		{"a query with a default", "{name: Accept,", "{name: v, in: query, required: true, schema: {type: integer, default: 2}}, {name: Accept,", `"fixed": [{"in": "query", "at": ["v"], "value": "2"}]`},
		{"a header that users know", "{name: Accept,", "{name: X-From, in: header, required: true, description: Who asks., schema: {type: string, format: email}}, {name: Accept,", `"XFrom": {"type": "string", "description": "Who asks.", "format": "email"}`},
		{"sent with every request", "{name: Accept,", "{name: X-From, in: header, required: true, schema: {type: string}}, {name: Accept,", `"keys": [{"in": "header", "name": "X-From", "property": "XFrom"}]`},
		{"a header whose name is no name", "{name: Accept,", "{name: ---, in: header, required: true, schema: {type: string}}, {name: Accept,", `"name": "---", "property": "Key"`},
		{"a header with the name of another setting", "{name: Accept,", "{name: Endpoint, in: header, required: true, schema: {type: string}}, {name: Accept,", `"name": "Endpoint", "property": "Endpoint2"`},
		{"a header that may be sent", "{name: Accept,", "{name: X-From, in: header, schema: {type: string}}, {name: Accept,", `"auth": {"kind": "bearer"}, "identifier"`},
		{"any media type", "application/json: {schema: {type: object, required: [made]", "\"*/*\": {schema: {type: object, required: [made]", `"path": "/jobs", "accept"`},
		{"a media type of forms with files", "application/json: {schema: {type: object, required: [made]", "multipart/form-data: {schema: {type: object, required: [made]", "takes multipart/form-data"},
		{"an accepted media type of their own", "", "", `"accept": "application/vnd.jobs+json"`},
		{"a query that create requires", "in: query, schema", "in: query, required: true, schema", `{"property": "Zone", "in": "query", "at": ["zone"]`},
		{"a query that read requires", "get:\n      parameters: [", "get:\n      parameters: [{name: view, in: query, required: true, schema: {type: string}}, ", "GET /jobs/{id} requires view"},
		{"a number that is text in responses", "", "", `{"property": "Mask", "in": "body", "at": ["mask"], "shape": {"kind": "integer", "text": true}}`},
		{"marks of a response only", "", "", `"Spec2": [{"property": "A", "wire": "a", "shape": {"kind": "string"}}, {"property": "B"`},
		{"a member that the update does not take", "", "", `"createOnlyProperties": ["/properties/Name", "/properties/Mask", "/properties/Limit", "/properties/Spec/B"]`},
		{"the form of an identifier in a path", "", "", `"Id": {"type": "string", "pattern": "^[0-9A-Fa-f]{8}`},
		{"a form that the length excludes", "format: uuid", "format: uuid, maxLength: 24", `"Id": {"type": "string", "maxLength": 24}`},
		{"a number in a path", "string, format: uuid", "integer", `"Id": {"type": "string", "pattern": "^(0|[1-9]`},
		{"a bound that was rounded", "", "", `"Limit": {"type": "integer", "maximum": 9}`},
		{"an object that only responses describe", "{type: object, properties: {a: {type: string}, b: {type: string}}}}}}}}\n      responses", "{type: object}}}}}}\n      responses", `"writeOnlyProperties": ["/properties/Limit", "/properties/Spec"]`},
		{"a secret that updates take", "spec: {type: object, properties: {a: {type: string}}}}}}}}\n      responses", "spec: {type: object, properties: {a: {type: string}, b: {type: string, writeOnly: true}}}}}}}}\n      responses", `"createOnlyProperties": ["/properties/Name", "/properties/Mask", "/properties/Limit"]`},
		{"a secret that only create returns", `content: {application/json: {schema: {$ref: "#/components/schemas/Job"}}}}}
  /jobs/{id}`, `content: {application/json: {schema: {allOf: [{$ref: "#/components/schemas/Job"}, {type: object, properties: {hook_secret: {type: string}, remark: {type: string}}}]}}}}}
  /jobs/{id}`, "[{HookSecret left out only POST /jobs returns it: handlers do not keep it} {Mask"},
		{"an identifier that an update has in its body, too", "patch:\n      requestBody: {content: {application/json: {schema: {type: object, properties: {", "patch:\n      requestBody: {content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: string}, ", `"in": "path", "at": ["id"], "shape": {"kind": "string"}, "required": true}, {"property": "Id", "in": "body", "at": ["id"]`},
		{"a default of updates", "", "", `"State": {"type": "string"}`},
	} {
		a, problems := FromOpenAPI("jobs.yaml", []byte(strings.Replace(jobs, test.from, test.to, 1)))
		if problems != nil {
			t.Fatal(problems)
		}
		s, _ := ParseSettings("api.yaml", nil)
		d, problems := Derive(a, a.Resource("Job"), "Acme::Job::Job", s)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		b, problems := d.Bind()
		text := fmt.Sprint(problems, d.Lost) + string(d.JSON())
		if b != nil {
			text += string(b.JSON())
		}
		if text = strings.Join(strings.Fields(text), " "); !strings.Contains(strings.NewReplacer("{ ", "{", " }", "}", "[ ", "[", " ]", "]").Replace(text), test.want) {
			t.Errorf("%s: no %s in %s", test.name, test.want, text)
		}
	}
}

// lists has resources that only their lists return: the users of a group, notes in an envelope, and parts that lists tell too little of.
const lists = `openapi: 3.0.3
info: {title: Lists, version: "1"}
security: [{}]
paths:
  /groups/{group}/users:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/User"}}}}}}}
  /groups/{group}/users/{userId}:
    put: {responses: {"204": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /notes:
    get:
      parameters: [{name: page, in: query, schema: {type: integer}}]
      responses: {"200": {$ref: "#/components/responses/Notes"}}
    post: {requestBody: {$ref: "#/components/requestBodies/Note"}, responses: {"201": {$ref: "#/components/responses/Notes"}}}
  /notes/{note_id}:
    delete: {responses: {"204": {description: d}}}
  /parts:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: array, items: {type: object, properties: {id: {type: string}}}}}}}}}
    post: {requestBody: {$ref: "#/components/requestBodies/Note"}, responses: {"201": {description: d}}}
  /parts/{id}:
    delete: {responses: {"204": {description: d}}}
  /tasks:
    post: {requestBody: {$ref: "#/components/requestBodies/Note"}, responses: {"201": {$ref: "#/components/responses/Notes"}}}
  /tasks/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}}}
    delete: {responses: {"204": {description: d}}}
components:
  requestBodies:
    Note: {content: {application/json: {schema: {type: object, required: [text], properties: {text: {type: string}, color: {type: string}, x: {type: string}, tags: {type: array, items: {type: string}}}}}}}
  responses:
    Notes: {description: d, content: {application/json: {schema: {type: object, properties: {notes: {type: array, items: {$ref: "#/components/schemas/Note"}}, total: {type: integer}}}}}}
  schemas:
    User: {type: object, properties: {id: {type: string}, name: {type: string}}}
    Note: {type: object, properties: {id: {type: string}, text: {type: string}, color: {type: string}, tags: {type: array, items: {type: object, properties: {id: {type: string}}}}}}
`

func TestListed(t *testing.T) {
	a, problems := FromOpenAPI("lists.yaml", []byte(lists))
	if problems != nil {
		t.Fatal(problems)
	}
	if a.Resource("Part") != nil || a.Others[0].Reason != "it has no operation to read" {
		t.Error("parts", a.Others)
	}
	for name, want := range map[string]string{
		"User": "GET /groups/{group}/users [Group=path:group string!] -> [UserId=body:id string, Name=body:name string] among [] once; create false []; list true",
		"Note": "GET /notes [] -> [Id=body:id string, Text=body:text string, Color=body:color string] among [notes] by number; create true [notes]; list true",
		"Task": "GET /tasks/{id} [Id=path:id string!] -> [Id=body:id string, Text=body:text string, Color=body:color string]; create true [notes]; list false",
	} {
		s, _ := ParseSettings("api.yaml", nil)
		d, problems := Derive(a, a.Resource(name), "Acme::Lists::"+name, s)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		b, problems := d.Bind()
		if b == nil {
			t.Fatal(name, problems)
		}
		got := line(b.Read)
		if b.Read.Among {
			style := "once"
			if b.Read.Page != nil {
				style = "by " + b.Read.Page.Style
			}
			got += fmt.Sprint(" among ", b.Read.Items, " ", style)
		}
		if !strings.Contains(string(d.JSON()), `"taggable": false`) {
			t.Error(name, "has tags without keys and values")
		}
		for _, p := range d.Properties {
			if p.Name == "Tags" && !p.WriteOnly {
				t.Error(name, "returns tags in another form than create takes")
			}
		}
		if got += fmt.Sprint("; create ", b.Create.Among, " ", b.Create.Items, "; list ", b.List != nil); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}
