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

// board has names that are easily taken for each other, an envelope whose name a part has, too, and calls with several credentials.
const board = `openapi: 3.0.3
info: {title: Board, version: "1"}
security: [{key: [], team: []}, {token: []}]
paths:
  /boards:
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}, owner: {type: object, properties: {id: {type: string}}}, item: {type: object, properties: {title: {type: string}}}}}}}}, responses: {"201": {$ref: "#/components/responses/Board"}}}
  /boards/{id}:
    get: {responses: {"200": {$ref: "#/components/responses/Board"}}}
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {owner: {type: object, properties: {id: {type: string}}}}}}}}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /boards/{id}/posts:
    post: {requestBody: {$ref: "#/components/requestBodies/Post"}, responses: {"201": {$ref: "#/components/responses/Post"}}}
  /boards/{id}/posts/{board_post}:
    get: {responses: {"200": {$ref: "#/components/responses/Post"}}}
    put: {requestBody: {$ref: "#/components/requestBodies/Change"}, responses: {"200": {$ref: "#/components/responses/Post"}}}
    delete: {responses: {"204": {description: d}}}
  /boards/{id}/posts/{board_post}/end:
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {post: {type: object, properties: {id: {type: string}}}, note: {type: string}}}}}}, responses: {"200": {description: d}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    team: {type: apiKey, in: query, name: team}
    token: {type: http, scheme: bearer}
  requestBodies:
    Post: {content: {application/json: {schema: {type: object, required: [post], properties: {post: {type: object, properties: {type: {type: string, enum: [news]}, post_type: {type: string, enum: [a, b]}, name: {type: string}, pin: {type: boolean, default: true}, item: {type: object, properties: {kind: {type: string, enum: [x]}}}}}}}}}}
    Change: {content: {application/json: {schema: {type: object, required: [post], properties: {post: {type: object, properties: {name: {type: string}, pin: {type: boolean}}}}}}}}
  responses:
    Board: {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}, title: {type: string}, owner: {type: object, properties: {id: {type: string}}}, item: {type: object, properties: {title: {type: string}}}}}}}}
    Post: {description: d, content: {application/json: {schema: {type: object, properties: {post: {type: object, properties: {id: {type: string}, type: {type: string, enum: [news]}, post_type: {type: string, enum: [a, b]}, name: {type: string}, pin: {type: boolean}, kind: {type: string, enum: [y]}}}}}}}}
`

func TestNamesBesideEachOther(t *testing.T) {
	token := "Authorization=Bearer t"
	play(t, newStub(t, Config{API: fromOpenAPI(t, board)}), []step{
		{`POST /boards {"title":"b","owner":{"id":"o"},"item":{"title":"i"}}`, 201, `"id":"<>`, token},
		{`PUT /boards/$1 {"owner":{"id":"p"}}`, 200, "", token}, // no envelope, although it is alone
		{"GET /boards/$1", 200, `={"id":"$1","item":{"title":"i"},"owner":{"id":"p"},"title":"b"}`, token},
		{`POST /boards/$1/posts {"post":{"type":"news","post_type":"b","name":"n","pin":false,"item":{"kind":"x"}}}`, 201, `"id":"<>`, token},
		{"GET /boards/$1/posts/$2", 200, `={"post":{"id":"$2","kind":"y","name":"n","pin":false,"post_type":"b","type":"news"}}`, token},
		{`PUT /boards/$1/posts/$2 {"post":{"name":"m"}}`, 200, `"name":"m","pin":true,"post_type":"b"`, token}, // as create would
		{`PUT /boards/$1/posts/$2 {"post":{}}`, 200, `={"post":{"id":"$2","kind":"y","pin":true,"post_type":"b","type":"news"}}`, token},
		{"GET /boards/$1", 401, "the request has no credentials: send query team or Authorization: Bearer", "X-Key=k"},
		{"GET /boards/$1?team=a", 401, "the request has no credentials: send header X-Key or Authorization: Bearer", "-X-Key"},
		{"GET /boards/$1?team=a", 200, `"title":"b"`, "X-Key=k"},
	})
}
