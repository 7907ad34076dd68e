package stub

import "testing"

// fleet has devices that are created below a project, and roles that a group is given.
const fleet = `openapi: 3.0.3
info: {title: Fleet, version: "1"}
paths:
  /projects/{id}/devices:
    post:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {"*/*": {schema: {type: object, properties: {note: {type: string, nullable: true}, spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Device"}}}}}
  /devices/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Device"}}}}}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {note: {type: string, nullable: true}, spec: {type: object, properties: {a: {type: string}}}}}}}}
      responses: {"204": {description: d}}
    delete: {responses: {"204": {description: d}}}
  /pages:
    post:
      responses: {"201": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}
  /pages/{id}:
    parameters: [{name: Version, in: header, schema: {type: string}}, {name: id, in: path, required: true, schema: {type: integer}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}
    delete: {responses: {"204": {description: d}}}
  /groups/{group}/roles:
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [role_id], properties: {role_id: {type: string}}}}}}
      responses: {"204": {description: d}}
  /groups/{group}/roles/{role_id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}, title: {type: string}}}}}}}}
    delete: {responses: {"204": {description: d}}}
components:
  schemas:
    Device: {type: object, properties: {id: {type: string}, project_id: {type: integer}, note: {type: string}, spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}
`

// TestPlaces checks resources that are created elsewhere than they are read, and updates of what create alone sets.
func TestPlaces(t *testing.T) {
	play(t, newStub(t, Config{API: fromOpenAPI(t, fleet)}), []step{
		{`POST /projects/7/devices {"note":"n","spec":{"a":"1","b":"2"}}`, 201, `"id":"<>`, ""},
		{"GET /devices/$1", 200, `={"id":"$1","note":"n","project_id":7,"spec":{"a":"1","b":"2"}}`, ""},
		{`POST /devices/$1 {"note":null,"spec":{"a":"3"}}`, 204, "", ""},
		{"GET /devices/$1", 200, `={"id":"$1","project_id":7,"spec":{"a":"3","b":"2"}}`, ""},
		{"POST /pages", 201, `"id":"<>`, ""},
		{"GET /pages/$2", 200, `"id":"$2"`, ""}, // which the path takes as a number
		{`POST /groups/g/roles {"role_id":"r"}`, 204, "", ""},
		{"GET /groups/g/roles/r", 200, `"id":"r"`, ""},
		{"DELETE /groups/g/roles/r", 204, "", ""},
	})
}
