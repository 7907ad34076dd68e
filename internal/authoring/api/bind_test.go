package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

const shop = `openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://api.example.com/v1/"}]
components:
  securitySchemes: {odd: {type: http, scheme: digest}, key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Order:
      type: object
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string}
        note: {type: [string, "null"]}
        labels: {type: object, additionalProperties: {type: string}}
        size: {type: integer, default: 1}
        due: {type: string, format: date-time}
        status: {type: string, enum: [creating, ready, failed, deleting, deleted], readOnly: true}
        line_items: {type: array, items: {type: object, properties: {sku_no: {type: string}, count: {type: integer}}}}
paths:
  /shops/{shop_id}/orders:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: integer}}]
    get:
      parameters: [{name: page, in: query, schema: {type: integer}}, {name: per_page, in: query, schema: {type: integer, maximum: 50}}]
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {orders: {type: array, items: {$ref: "#/components/schemas/Order"}}, links: {type: object, properties: {next: {type: string}}}}}}}}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [order], properties: {order: {$ref: "#/components/schemas/Order"}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {type: object, properties: {order: {$ref: "#/components/schemas/Order"}}}}}}, "409": {description: d}}
  /shops/{shop}/orders/{order_id}:
    get:
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {order: {$ref: "#/components/schemas/Order"}}}}}}}
    patch:
      requestBody: {content: {application/json: {schema: {type: object, properties: {note: {type: [string, "null"]}, labels: {type: object, additionalProperties: {type: string}}, size: {type: integer, default: 1}}}}}}
      responses: {"204": {description: d}}
    delete: {responses: {"204": {description: d}}}
  /shops/{shop}/orders/{order_id}/due:
    put:
      requestBody: {content: {application/json: {schema: {type: object, required: [due], properties: {due: {type: string, format: date-time}, size: {type: integer}}}}}}
      responses: {"204": {description: d}}
  /notes:
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [value], properties: {value: {type: [string, object]}, extra: {oneOf: [{type: string}, {type: array, items: {type: string}}]}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}
  /notes/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}
    delete: {responses: {"204": {description: d}}}
  /lost:
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [value], properties: {value: {oneOf: [{type: string}, {type: array, items: {type: string}}]}}}}}}
      responses: {"204": {description: d}}
  /lost/{id}:
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}}}}
    delete: {responses: {"204": {description: d}}}
`

// bindingOf is the binding of a resource of the shop.
func bindingOf(t *testing.T, resource, settings string) *Binding {
	t.Helper()
	return bindingIn(t, shop, resource, settings)
}

func bindingIn(t *testing.T, description, resource, settings string) *Binding {
	t.Helper()
	a, problems := FromOpenAPI("shop.yaml", []byte(description))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	s, problems := ParseSettings("api.yaml", []byte(settings))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	d, problems := Derive(a, a.Resource(resource), "Acme::Shop::Order", s)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	b, problems := d.Bind()
	if b == nil {
		t.Fatal(problems)
	}
	return b
}

// line is a call on one line.
func line(c *Call) string {
	values := func(list []Bound) string {
		var out []string
		for _, v := range list {
			text := v.Property + "=" + v.In + ":" + strings.Join(v.At, ".") + " " + v.Shape.Kind
			if v.Shape.Text {
				text += " as text"
			}
			if v.Required {
				text += "!"
			}
			if v.Reset != nil {
				text += " or " + string(v.Reset)
			}
			out = append(out, text)
		}
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("%s [%s] -> [%s]", c.Name, values(c.Send), values(c.Receive))
}

func TestBinding(t *testing.T) {
	b := bindingOf(t, "Order", "")
	for _, test := range []struct{ what, got, want string }{
		{"endpoint", b.Endpoint, "https://api.example.com/v1"},
		{"auth", fmt.Sprint(b.Auth.Kind, b.Auth.Keys[0].Name, b.Auth.Keys[0].Property), "noneX-KeyApiKey"},
		{"identifier", fmt.Sprint(b.Identifier), "[Shop Id]"},
		{"create", line(b.Create), "POST /shops/{shop_id}/orders [Shop=path:shop_id integer as text!, Name=body:order.name string, " +
			"Note=body:order.note string or null, Labels=body:order.labels map or {}, Size=body:order.size integer or 1, Due=body:order.due timestamp, " +
			"LineItems=body:order.line_items list or []] -> [Id=body:order.id integer as text, Name=body:order.name string, Note=body:order.note string, " +
			"Labels=body:order.labels map, Size=body:order.size integer, Due=body:order.due timestamp, LineItems=body:order.line_items list, Status=body:order.status string]"},
		{"read", strings.SplitAfter(line(b.Read), "]")[0], "GET /shops/{shop}/orders/{order_id} [Shop=path:shop string!, Id=path:order_id string!]"},
		{"delete", line(b.Delete), "DELETE /shops/{shop}/orders/{order_id} [Shop=path:shop string!, Id=path:order_id string!] -> []"},
		{"updates", fmt.Sprint(len(b.Update), b.Update[0].Partial, b.Update[0].Changes, b.Update[1].Partial, b.Update[1].Changes), "2 true [Note Labels Size] false [Due]"},
		{"patch", line(b.Update[0]), "PATCH /shops/{shop}/orders/{order_id} [Shop=path:shop string!, Id=path:order_id string!, " +
			"Note=body:note string or null, Labels=body:labels map or {}, Size=body:size integer or 1] -> []"},
		{"list", fmt.Sprint(b.List.Items, " ", line(b.List))[:70], "[orders] GET /shops/{shop_id}/orders [Shop=path:shop_id integer as text!"[:70]},
		{"page", fmt.Sprintf("%s %v %v %d %d", b.List.Page.Style, b.List.Page.Spot, *b.List.Page.Size, b.List.Page.Count, b.List.Page.First), "number {query [page]} {query [per_page]} 50 1"},
		{"wait", fmt.Sprint(*b.Wait), "{Status [creating] [] [failed] [deleting] [deleted] 5}"},
		{"find", fmt.Sprint(b.Find.By, b.Find.Properties), "list[Name]"},
		{"errors", fmt.Sprint(b.Create.Errors, b.Read.Errors, b.Statuses["409"]), "map[409:AlreadyExists] map[]ResourceConflict"},
		{"members", fmt.Sprint(b.Shapes["LineItem"]), "[{SkuNo sku_no"},
	} {
		if test.what == "members" {
			test.got = test.got[:min(len(test.got), len(test.want))]
		}
		if test.got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.what, test.got, test.want)
		}
	}
	if text, err := json.Marshal(b); err != nil || !strings.HasPrefix(string(text), `{"$comment":"Code generated by cfn generate. DO NOT EDIT."`) {
		t.Errorf("%v %.100s", err, text)
	}
}

// TestMergePatch: a merge patch removes by null, and changes nothing by an empty map.
func TestMergePatch(t *testing.T) {
	before, patch, _ := strings.Cut(shop, "    patch:")
	b := bindingIn(t, before+"    patch:"+strings.Replace(patch, "application/json", "application/merge-patch+json", 1), "Order", "")
	got := line(b.Update[0])
	for _, want := range []string{"Note=body:note string or null", "Labels=body:labels map or null", "Size=body:size integer or null"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestBindingSettings(t *testing.T) {
	b := bindingOf(t, "Order", `
wait: {property: Status, success: [ready], delay: 30}
find: none
errors: {create: {"422": AlreadyExists}}
auth: key
`)
	if got := fmt.Sprint(*b.Wait, b.Find.By, b.Create.Errors); got != "{Status [] [ready] [] [] [] 30}nonemap[409:AlreadyExists 422:AlreadyExists]" {
		t.Error(got)
	}
	if b := bindingOf(t, "Order", "wait: false"); b.Wait != nil {
		t.Error(b.Wait)
	}
	for _, test := range []struct{ settings, want string }{
		{"wait: {property: Missing}", `the resource has no property "Missing"`},
		{"auth: bearer", `the API has no scheme "bearer"`},
		{"errors: {create: {\"409\": Exists}}", "a handler error code"},
		{"wait: {property: Status, delay: 0}", "a number of seconds from 1 to 3600"},
		{"find: {a: b}", "a list of strings"},
	} {
		s, problems := ParseSettings("api.yaml", []byte(test.settings))
		if !problems.HasErrors() {
			a, _ := FromOpenAPI("shop.yaml", []byte(shop))
			_, problems = Derive(a, a.Resource("Order"), "Acme::Shop::Order", s)
		}
		if !slices.ContainsFunc(problems, func(p diag.Problem) bool { return strings.Contains(p.Message, test.want) }) {
			t.Errorf("%s: %v", test.settings, problems)
		}
	}
}

// TestUnbound has types that handlers cannot be generated for.
func TestUnbound(t *testing.T) {
	a, _ := FromOpenAPI("shop.yaml", []byte(shop))
	for _, test := range []struct{ resource, settings, want string }{
		{"Note", "properties: {Value: {ignore: true}}", "POST /notes requires value, which is not a property"},
		{"Lost", "", "POST /lost requires value, which is not a property"},
		{"Order", "auth: odd", "handlers cannot authenticate by odd"},
	} {
		s, _ := ParseSettings("api.yaml", []byte(test.settings))
		d, problems := Derive(a, a.Resource(test.resource), "Acme::Shop::Order", s)
		if problems.HasErrors() {
			t.Errorf("%s: %v", test.resource, problems)
			continue
		}
		b, problems := d.Bind()
		if b != nil || !slices.ContainsFunc(problems, func(p diag.Problem) bool { return p.ID == "api/handlers" && strings.Contains(p.Message, test.want) }) {
			t.Errorf("%s: %v %v", test.resource, b, problems)
		}
	}
}

func TestMeaningOfStatus(t *testing.T) {
	for value, want := range map[string]string{
		"CREATING": "pending", "update-in-progress": "pending", "Pending": "pending", "DELETE_IN_PROGRESS": "deleting", "deleting": "deleting", "DELETED": "gone",
		"CREATE_FAILED": "failure", "error": "failure", "ACTIVE": "", "running": "", "Ready": "",
	} {
		if got := meaning(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestHandlerCodes(t *testing.T) {
	for name, want := range map[string]string{
		"ResourceNotFoundException": "NotFound", "NoSuchBucket": "NotFound", "ConflictException": "ResourceConflict", "ResourceAlreadyExistsException": "AlreadyExists",
		"ThrottlingException": "Throttling", "ServiceQuotaExceededException": "ServiceLimitExceeded", "AccessDeniedException": "AccessDenied",
		"ValidationException": "InvalidRequest", "InternalServerException": "ServiceInternalError", "Teapot": "",
	} {
		if got := handlerCode(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// pets is an API that names a resource in the body of an update, and whose lists contain themselves.
const pets = `openapi: 3.0.3
info: {title: Pets, version: "1"}
paths:
  /pet:
    post: {requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}, responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}}
    put: {requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}, responses: {"200": {description: d}}}
  /pet/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}}
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}, responses: {"200": {description: d}}}
    delete: {responses: {"204": {description: d}}}
  /pet/{petId}/secret:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {phrase: {type: string}}}}}}, responses: {"200": {description: d}}}
components:
  schemas:
    Deep: {type: array, items: {$ref: "#/components/schemas/Wide"}}
    Wide: {type: object, additionalProperties: {$ref: "#/components/schemas/Deep"}}
    Pet: {type: object, properties: {id: {type: string}, name: {type: string}, deep: {$ref: "#/components/schemas/Deep"}}}
`

func TestBindingOfPets(t *testing.T) {
	a, problems := FromOpenAPI("pets.yaml", []byte(pets))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	for _, test := range []struct{ settings, want string }{
		{"operations: {update: [\"PUT /pet\"]}", "PUT /pet [Id=body:id string!, Name=body:name string] -> []"},
		{"", "PUT /pet/{petId} [Id=path:petId string!, Name=body:name string] -> []"}, // nor what only an update has
	} {
		s, _ := ParseSettings("api.yaml", []byte(test.settings))
		d, problems := Derive(a, a.Resource("Pet"), "Acme::Pet::Pet", s)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		b, problems := d.Bind()
		if b == nil || len(b.Update) != 1 || line(b.Update[0]) != test.want {
			t.Errorf("%q: %v %v", test.settings, b, problems)
		} else if strings.Contains(string(d.JSON()), `"Deep"`) || strings.Contains(string(d.JSON()), `"Phrase"`) {
			t.Errorf("%s", d.JSON())
		}
	}
}
