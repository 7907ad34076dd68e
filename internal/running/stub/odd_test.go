package stub

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// odd is an API whose resources have several ways to be found, listed and changed.
const odd = `openapi: 3.1.0
info: {title: Odd, version: "1"}
paths:
  /variables/:
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, Friendly_Name: {type: string}, secret: {type: string, writeOnly: true}, any: {}, amount: {anyOf: [{type: integer}, {type: string}]}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Variable"}}}}}
  /variables/filter:
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {limit: {type: integer}, offset: {type: integer, default: 0}}}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Variable"}}}}}}
  /variables/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Variable"}}}}}}
    patch:
      requestBody: {content: {application/json-patch+json: {schema: {type: object, properties: {friendlyName: {type: string}}}}}}
      responses: {"204": {description: d}}
    delete: {responses: {"204": {description: d}}}
  /variables/name/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Variable"}}}}}}
  /variables/{id}/values:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {any: {}}}}}}}}
  /teams:
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {settings: {type: object, properties: {color: {type: string}, pin: {type: string, writeOnly: true}, hint: {type: string, format: password}}}, labels: {type: object, additionalProperties: {type: string}}}}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Team"}}}}}
  /teams/{teamId}:
    parameters: [{name: teamId, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Team"}}}}}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {color: {type: string}}}}}}
      responses: {"200": {description: d}}
    patch:
      requestBody: {content: {application/json: {schema: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}}}}
      responses: {"200": {description: d}}
    delete: {responses: {"204": {description: d}}}
components:
  schemas:
    Variable: {type: object, required: [id], properties: {id: {type: string}, name: {type: string}, friendlyName: {type: string}, secret: {type: string}, any: {}, amount: {anyOf: [{type: integer}, {type: string}]}, deletedAt: {type: string, format: date-time}}}
    Team: {type: object, required: [id, etag], properties: {id: {type: string, pattern: "^T[0-9]{4}$"}, etag: {type: string, minLength: 3, maxLength: 5}, settings: {type: object, properties: {color: {type: string}, pin: {type: string}, hint: {type: string}}}, labels: {type: object, additionalProperties: {type: string}}}}
`

// TestOddAPI checks the ways beside the usual ones.
func TestOddAPI(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, odd)})
	patch := "Content-Type=application/json-patch+json"
	play(t, s, []step{
		{`POST /variables {"name":"a","Friendly_Name":"b","secret":"s","any":[1,{"x":null}],"amount":7}`, 201, `"id":"<>`, ""},
		{"GET /variables/$1", 200, `={"amount":7,"any":[1,{"x":null}],"friendlyName":"b","id":"$1","name":"a"}`, ""},
		{"GET /variables/name/a", 200, `"id":"$1"`, ""},
		{"GET /variables/name/b", 404, "Variable b does not exist", ""},
		{"GET /variables/$1/values", 200, `={"any":[1,{"x":null}]}`, ""},
		{`PATCH /variables/$1 [{"op":"test","path":"/friendlyName","value":"b"},{"op":"replace","path":"/friendlyName","value":"c"}]`, 204, "=", patch},
		{"GET /variables/$1", 200, `"friendlyName":"c"`, ""},
		{`PATCH /variables/$1 [{"op":"remove","path":"/friendlyName"},{"op":"remove","path":"/friendlyName"}]`, 400, "changes friendlyName, which is not set", patch},
		{"GET /variables/$1", 200, `"friendlyName":"c"`, ""}, // all of it or nothing
		{`PATCH /variables/$1 [{"op":"test","path":"/friendlyName","value":"x"}]`, 409, "expects another value of friendlyName", patch},
		{`PATCH /variables/$1 [{"op":"add","path":"/other","value":"x"}]`, 400, "other: unknown member", patch},
		{`PATCH /variables/$1 [{"op":"move","path":"/name"}]`, 400, "operation 0 of the JSON Patch is not supported", patch},
		{`PATCH /variables/$1 {"op":"add"}`, 400, "a JSON Patch is a list of operations", patch},
		{`PATCH /variables/$1 [{"op":"remove","path":"/friendlyName"}]`, 204, "", patch},
		{`POST /variables {"name":"z"}`, 201, "", ""},
		{`POST /variables/filter {"limit":1}`, 200, `=[{"amount":7,"any":[1,{"x":null}],"id":"$1","name":"a"}]`, ""},
		{`POST /variables/filter {"limit":1,"offset":1}`, 200, `"name":"z"}]`, ""},
		{`POST /teams {"settings":{"color":"red","pin":"1","hint":"2"}}`, 200, `"id":"T<>`, ""}, // by its pattern
		{`POST /teams/T$2 {"color":"blue"}`, 200, "", ""},
		{"GET /teams/T$2", 200, `"settings":{"color":"blue"}`, ""},
		{`PATCH /teams/T$2 {"labels":{"a":"1","b":"2"}}`, 200, "", ""},
		{`PATCH /teams/T$2 {"labels":{"c":"3"}}`, 200, "", ""}, // not a merge patch: members are replaced
		{"GET /teams/T$2", 200, `"labels":{"c":"3"},`, ""},
		{`PATCH /teams/T$2 {"labels":null}`, 200, "", ""},
		{"GET /teams/T$2", 200, `"settings":{"color":"blue"}}`, ""},
		{"POST /_stub/token", 200, `"access_token":"stub"`, ""},
	})
}

// TestScope checks resources that are in another one by a member that callers may leave out.
func TestScope(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.api#service
use aws.auth#sigv4
use aws.protocols#awsJson1_0
@awsJson1_0
@sigv4(name: "jobs")
@service(sdkId: "Jobs", arnNamespace: "jobs")
service Jobs { version: "1", resources: [Job, JobGroup] }
resource Job { identifiers: {name: String}, put: CreateJob, read: GetJob, update: UpdateJob, delete: DeleteJob, list: ListJobs }
resource JobGroup { identifiers: {name: String}, put: CreateJobGroup, read: GetJobGroup, delete: DeleteJobGroup }
@idempotent operation CreateJob { input := { @required name: String, groupName: String, size: Integer }, output := { @required arn: Arn } }
@readonly operation GetJob { input := { @required name: String, groupName: String }, output := { name: String, groupName: String, arn: Arn, size: Integer } }
@idempotent operation UpdateJob { input := { @required name: String, groupName: String, size: Integer } }
@idempotent operation DeleteJob { input := { @required name: String, groupName: String } }
@readonly operation ListJobs { input := { groupName: String }, output := { jobs: Names } }
@idempotent operation CreateJobGroup { input := { @required name: String } }
@readonly operation GetJobGroup { input := { @required name: String }, output := { name: String, arn: String } }
@idempotent operation DeleteJobGroup { input := { @required name: String } }
list Names { member: String }
@pattern("^arn:aws:jobs:[a-z0-9-]+:\\d{12}:job/[a-z]+/[a-z]+$") string Arn
`)})
	call := func(operation, input string, status int, want string) step {
		return step{"POST / " + input, status, want, "Content-Type=application/x-amz-json-1.0; X-Amz-Target=Jobs." + operation}
	}
	play(t, s, []step{
		call("CreateJob", `{"name":"a"}`, 200, `={"arn":"arn:aws:jobs:us-east-1:123456789012:job/default/a"}`),
		call("CreateJob", `{"name":"a"}`, 409, "Job a exists already"),
		call("CreateJob", `{"name":"a","groupName":"g"}`, 404, "JobGroup g does not exist"),
		call("CreateJobGroup", `{"name":"g"}`, 200, `={}`),
		call("CreateJob", `{"name":"a","groupName":"g"}`, 200, `={"arn":"arn:aws:jobs:us-east-1:123456789012:job/g/a"}`),
		call("UpdateJob", `{"name":"a","groupName":"g","size":2}`, 200, `={}`),
		call("GetJob", `{"name":"a","groupName":"g"}`, 200, `={"arn":"arn:aws:jobs:us-east-1:123456789012:job/g/a","groupName":"g","name":"a","size":2}`),
		call("GetJob", `{"name":"a"}`, 200, `={"arn":"arn:aws:jobs:us-east-1:123456789012:job/default/a","groupName":"default","name":"a"}`),
		call("ListJobs", `{"groupName":"g"}`, 200, `={"jobs":["a"]}`),
		call("ListJobs", `{}`, 200, `={"jobs":["a","a"]}`),
		call("DeleteJobGroup", `{"name":"g"}`, 200, `={}`),
		call("GetJob", `{"name":"a","groupName":"g"}`, 404, "Job a does not exist"),
	})
}

// TestSeeds checks that runs with the same seed are the same, and with others are not.
func TestSeeds(t *testing.T) {
	var bodies []string
	for _, seed := range []uint64{1, 1, 2} {
		s := newStub(t, Config{API: fromOpenAPI(t, odd), Seed: seed})
		play(t, s, []step{{`POST /teams {}`, 200, "", ""}})
		bodies = append(bodies, strings.Join(s.sorted(s.resources[1])[0].Key, "/"))
	}
	if bodies[0] != bodies[1] || bodies[1] == bodies[2] {
		t.Errorf("%q", bodies)
	}
}

// TestEndless checks structures that contain each other more often than can be made, and messages about secrets.
func TestEndless(t *testing.T) {
	wide := "{type: object, required: [a, b, c, d, e, f, g, h, i, j], properties: {"
	for _, name := range strings.Split("abcdefghij", "") {
		wide += name + `: {$ref: "#/components/schemas/Wide"}, `
	}
	s := newStub(t, Config{NoAuth: true, API: fromOpenAPI(t, `openapi: 3.0.3
info: {title: T, version: "1"}
paths:
  /things:
    post: {requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {pin: {type: integer}, size: {type: integer}}}}}}, responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}}
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}}
    delete: {responses: {"204": {description: d}}}
components:
  schemas:
    Wide: `+strings.TrimSuffix(wide, ", ")+`}}
    Thing: {type: object, required: [id, wide], properties: {id: {type: string}, size: {type: integer}, wide: {$ref: "#/components/schemas/Wide"}}}
`)})
	form := "Content-Type=application/x-www-form-urlencoded"
	play(t, s, []step{
		{"POST /things size=x", 400, `size: \"x\" is not a number`, form},
		{"POST /things size=1", 201, `"wide":{"a":{`, form},
	})
	if got := quoted(&api.Shape{Kind: api.Integer, Sensitive: true}, "4711x"); got != "the value" {
		t.Error(got)
	}
	deep := &api.Shape{Kind: api.Structure, Members: []*api.Member{{Name: "pass_phrase", WriteOnly: true, Shape: &api.Shape{Kind: api.String}}}}
	for range 10 {
		deep = &api.Shape{Kind: api.Structure, Members: []*api.Member{{Name: "inner", Shape: deep}}}
	}
	deep.Members = append(deep.Members, &api.Member{Name: "self", Shape: deep})
	if got := secrets(deep); !got["passphrase"] || len(got) != 1 {
		t.Error(got)
	}
}
