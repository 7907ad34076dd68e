package stub

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
)

// shop is an API with parents, envelopes, a status, secrets and pages with numbers.
const shop = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example.com/v1"}]
security: [{key: []}]
paths:
  /shops:
    get:
      security: []
      parameters:
        - {name: cursor, in: query, schema: {type: string}}
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 50}}
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {shops: {type: array, items: {$ref: "#/components/schemas/Shop"}}, next_cursor: {type: string}}}}}}}
    post:
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/ShopInput"}}}}
      responses:
        "201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Shop"}}}}
        "422": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Problem"}}}}
        "429": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Problem"}}}}
  /shops/{shop_id}:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string, format: uuid}}]
    get:
      responses:
        "200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Shop"}}}}
        "404": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Problem"}}}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/ShopInput"}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Shop"}}}}}
    patch:
      requestBody: {content: {application/merge-patch+json: {schema: {$ref: "#/components/schemas/ShopInput"}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Shop"}}}}}
    delete: {responses: {"204": {description: d}}}
  /shops/{shop_id}/resize:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string}}]
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [size], properties: {size: {type: integer}}}}}}
      responses: {"202": {description: d}}
  /shops/{shop_id}/orders:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string}}]
    get:
      parameters: [{name: page, in: query, schema: {type: integer}}, {name: per_page, in: query, schema: {type: integer}}]
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {orders: {type: array, items: {$ref: "#/components/schemas/Order"}}, meta: {type: object, properties: {total: {type: integer}}}, links: {type: object, properties: {next: {type: string}}}}}}}}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [order], properties: {order: {$ref: "#/components/schemas/OrderInput"}}}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {type: object, properties: {order: {$ref: "#/components/schemas/Order"}}}}}}}
  /shops/{shop_id}/orders/{number}:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string}}, {name: number, in: path, required: true, schema: {type: integer}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {order: {$ref: "#/components/schemas/Order"}}}}}}}}
    delete: {responses: {"204": {description: d}}}
  /coupons/{code}:
    parameters: [{name: code, in: path, required: true, schema: {type: string, pattern: "^[A-Z]+$"}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Coupon"}}}}}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Coupon"}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Coupon"}}}}}
    delete: {responses: {"204": {description: d}}}
  /tags:
    get:
      parameters: [{name: X-Key, in: header, schema: {type: string}}, {name: offset, in: query, schema: {type: integer}}, {name: limit, in: query, schema: {type: integer}}]
      responses: {"200": {description: d, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Tag"}}}}}}
    post:
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {$ref: "#/components/schemas/Tag"}}}}
      responses:
        "201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Tag"}}}}
        "409": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Problem"}}}}
  /tags/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Tag"}}}}}}
    delete: {responses: {"204": {description: d}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    ShopInput:
      type: object
      required: [name]
      properties:
        name: {type: string, minLength: 2, maxLength: 10}
        kind: {type: string, enum: [food, books], default: books}
        size: {type: integer, minimum: 1, maximum: 9}
        note: {type: string, nullable: true}
        password: {type: string, format: password}
        opening: {type: object, properties: {from: {type: integer}, to: {type: integer}}}
        labels: {type: array, uniqueItems: true, items: {type: string, pattern: "^[a-z]+$"}}
    Shop:
      allOf: [{$ref: "#/components/schemas/ShopInput"}]
      required: [id, status]
      properties:
        id: {type: string, format: uuid, readOnly: true}
        status: {type: string, enum: [creating, open, deleting, failed], readOnly: true}
        created_at: {type: string, format: date-time, readOnly: true}
        url: {type: string, format: uri, readOnly: true}
        region: {type: string, readOnly: true, example: eu-1}
    OrderInput: {type: object, required: [item], properties: {item: {type: string}}}
    Order: {type: object, properties: {number: {type: integer}, item: {type: string}}}
    Coupon: {type: object, properties: {code: {type: string, readOnly: true}, percent: {type: integer}}}
    Tag: {type: object, required: [name], properties: {name: {type: string}, color: {type: string}, words: {type: array, items: {type: string}}}}
    Problem: {type: object, required: [code, message], properties: {code: {type: string}, message: {type: string}, status: {type: integer}}}
`

func fromOpenAPI(t testing.TB, text string) *api.API {
	t.Helper()
	a, problems := api.FromOpenAPI("t.yaml", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return a
}

func fromSmithy(t testing.TB, text string) *api.API {
	t.Helper()
	m, events := smithy.Load([]smithy.Source{{File: "t.smithy", Data: []byte(text)}}, smithy.Config{})
	for _, e := range smithy.Validate(m, events) {
		if e.Severity >= smithy.DangerSeverity {
			t.Fatalf("%s %s", e.Shape, e.Message)
		}
	}
	a, err := api.FromSmithy(m, "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newStub(t testing.TB, c Config) *Stub {
	t.Helper()
	c.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A step is one request of a session, and what its response is like.
type step struct {
	request string // method, path and body
	status  int
	want    string // in the body, or with "=" the whole body; "$1" in requests is the first group
	headers string // of the request, as A=b; C=d
}

// play sends the requests of a session. What a response has between < and > in want is kept, and
// replaces $1, $2 … in later requests.
func play(t *testing.T, s http.Handler, steps []step) {
	t.Helper()
	var kept []string
	for n, at := range steps {
		fill := func(text string) string {
			for i, value := range kept {
				text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), value)
			}
			return text
		}
		parts := strings.SplitN(fill(at.request), " ", 3)
		parts = append(parts, "")
		r := httptest.NewRequest(parts[0], parts[1], bytes.NewReader([]byte(parts[2])))
		r.Header.Set("X-Key", "k")
		if parts[2] != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		for pair := range strings.SplitSeq(at.headers, "; ") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				r.Header.Set(name, value)
			}
			if name, ok := strings.CutPrefix(pair, "-"); ok {
				r.Header.Del(name)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != at.status {
			t.Fatalf("step %d: %s: status %d %s, want %d", n+1, fill(at.request), w.Code, body, at.status)
		}
		want := fill(at.want)
		before, rest, keep := strings.Cut(want, "<>")
		if keep {
			at := strings.Index(body, before)
			if at < 0 {
				t.Fatalf("step %d: %s: %s, want %s", n+1, fill(steps[n].request), body, before)
			}
			value := body[at+len(before):]
			kept = append(kept, value[:strings.IndexAny(value, `"},<`)])
			want = rest
		}
		if all, whole := strings.CutPrefix(want, "="); whole && body != all || !strings.Contains(body, strings.TrimPrefix(want, "=")) {
			t.Errorf("step %d: %s:\n got %s\nwant %s", n+1, fill(at.request), body, want)
		}
		for _, name := range []string{"Link", "Retry-After", "Allow", "ETag"} {
			if strings.HasPrefix(at.headers, name+":") && !strings.Contains(w.Header().Get(name), strings.TrimPrefix(at.headers, name+":")) {
				t.Errorf("step %d: %s: header %s is %q", n+1, fill(at.request), name, w.Header().Get(name))
			}
		}
	}
}

// TestShop checks what happens to resources from their creation to their end.
func TestShop(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop)})
	play(t, s, []step{
		{"POST /shops {\"name\":\"one\",\"size\":2,\"password\":\"hidden\",\"opening\":{\"from\":8,\"to\":9},\"note\":null}", 201, `"id":"<>`, ""},
		{"GET /shops/$1", 200, `{"created_at":"2026-01-02T03:04:05Z","id":"$1","kind":"books","name":"one","note":null,"opening":{"from":8,"to":9},"region":"eu-1","size":2,"status":"open","url":"https://example.com/shop/`, ""},
		{"GET /v1/shops/$1/", 200, `"id":"$1"`, ""},
		{"PATCH /shops/$1 {\"size\":3,\"note\":null,\"opening\":{\"to\":null}}", 200, `"name":"one","opening":{"from":8},"region":"eu-1","size":3`, "Content-Type=application/merge-patch+json"},
		{"POST /shops/$1/resize {\"size\":7}", 202, "=", ""},
		{"GET /shops/$1", 200, `"size":7`, ""},
		{"PUT /shops/$1 {\"name\":\"two\"}", 200, `"id":"$1","kind":"books","name":"two","region":"eu-1","status":"open"`, ""},
		{"GET /shops/$1/orders", 200, `={"links":{},"meta":{"total":0},"orders":[]}`, ""},
		{"POST /shops/$1/orders {\"order\":{\"item\":\"pen\"}}", 201, `"number":<>`, ""},
		{"GET /shops/$1/orders/$2", 200, `={"order":{"item":"pen","number":$2}}`, ""},
		{"POST /shops/00000000-0000-4000-a000-000000000000/orders {\"order\":{\"item\":\"pen\"}}", 404, "Shop 00000000-0000-4000-a000-000000000000 does not exist", ""},
		{"GET /shops/00000000-0000-4000-a000-000000000000/orders", 404, "", ""},
		{"DELETE /shops/$1", 204, "=", ""},
		{"GET /shops/$1/orders/$2", 404, "", ""},
		{"GET /shops/$1", 404, `={"code":"not_found","message":"Shop $1 does not exist","status":404}`, ""},
		{"DELETE /shops/$1", 404, "", ""},
		{"PUT /shops/$1 {\"name\":\"two\"}", 404, "", ""},
	})
}

// TestClientIdentifiers checks resources that callers name: with PUT, and in the body.
func TestClientIdentifiers(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop)})
	play(t, s, []step{
		{"PUT /coupons/SALE {\"percent\":5}", 200, `={"code":"SALE","percent":5}`, ""},
		{"PUT /coupons/SALE {}", 200, `={"code":"SALE"}`, ""},
		{"PUT /coupons/sale {}", 400, "path code: the value does not match the pattern", ""},
		{"POST /tags name=a&color=red&words[]=x&words[]=y", 201, `={"color":"red","name":"a","words":["x","y"]}`, "Content-Type=application/x-www-form-urlencoded"},
		{"POST /tags name=a", 409, `={"code":"conflict","message":"Tag a exists already","status":409}`, "Content-Type=application/x-www-form-urlencoded"},
		{"POST /tags name=b%2F&words=x", 201, `={"name":"b/","words":["x"]}`, "Content-Type=application/x-www-form-urlencoded"},
		{"GET /tags/b%2F", 200, `"name":"b/"`, ""},
		{"POST /tags nam=a", 400, `nam: unknown member: did you mean \"name\"?`, "Content-Type=application/x-www-form-urlencoded"},
	})
}

// TestInvalidRequests checks what is refused by the shapes of the description, and how.
func TestInvalidRequests(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop)})
	for _, test := range []struct{ request, want, headers string }{
		{`POST /shops {}`, "name: missing value", ""},
		{`POST /shops`, "name: missing value", ""},
		{`POST /shops [1]`, "expected an object but got an array", ""},
		{`POST /shops {"name":`, "the body is not JSON", ""},
		{`POST /shops {"name":"x"}`, "name: has 1 characters; the minimum is 2", ""},
		{`POST /shops {"name":"xxxxxxxxxxx"}`, "name: has 11 characters; the maximum is 10", ""},
		{`POST /shops {"name":"xx","kind":"cars"}`, "kind: the value is not one of food, books", ""},
		{`POST /shops {"name":"xx","size":10}`, "size: 10 is more than the maximum of 9", ""},
		{`POST /shops {"name":"xx","size":0}`, "size: 0 is less than the minimum of 1", ""},
		{`POST /shops {"name":"xx","size":1.5}`, "size: 1.5 is not a whole number", ""},
		{`POST /shops {"name":"xx","size":"1"}`, "size: expected a number but got a string", ""},
		{`POST /shops {"name":null}`, "name: null is not allowed", ""},
		{`POST /shops {"name":"xx","labels":["a","a"]}`, "labels[1]: the value is in the list already", ""},
		{`POST /shops {"name":"xx","labels":["A"]}`, "labels[0]: the value does not match the pattern", ""},
		{`POST /shops {"name":"xx","nam":1}`, `nam: unknown member: did you mean "name"?`, ""},
		{`POST /shops {"name":"xx","opening":{"till":1}}`, "opening.till: unknown member", ""},
		{`POST /shops name=x`, "the media type \"text/plain\" is not application/json", "Content-Type=text/plain"},
		{`POST /shops name=x`, "the media type", "Content-Type=application/x-www-form-urlencoded"},
		{`GET /shops?limit=0`, "query limit: 0 is less than the minimum of 1", ""},
		{`GET /shops?limit=x`, `query limit: "x" is not a number`, ""},
		{`GET /shops?limits=1`, `query limits: unknown parameter: did you mean "limit"?`, ""},
		{`GET /shops?cursor=zz`, "cursor: the token is not one of this service", ""},
		{`GET /shops/x`, "path shop_id: the value is not in the format uuid", ""},
	} {
		status := 400
		switch {
		case test.headers != "":
			status = 415
		case strings.HasPrefix(test.request, "POST /shops"):
			status = 422 // the only error that the operation declares for it
		}
		play(t, s, []step{{test.request, status, strings.ReplaceAll(test.want, `"`, `\"`), test.headers}})
	}
}

// TestPaths checks what has no operation.
func TestPaths(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop)})
	play(t, s, []step{
		{"GET /shop", 404, "no operation has the path /shop: the nearest are /", ""},
		{"GET /shops/1/order", 404, "the nearest are /shops", ""},
		{"DELETE /shops", 405, "DELETE is not an operation of /shops: it has GET, POST", ""},
		{"GET /v2/shops", 404, "no operation has the path", ""},
		{"GET /_stub/other", 404, "the stub has POST /_stub/reset", ""},
	})
}

// TestLists checks all ways to split a list, down to pages of one item.
func TestLists(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop), PageSize: 2})
	var steps []step
	for _, name := range []string{"s1", "s2", "s3"} {
		steps = append(steps, step{`POST /shops {"name":"` + name + `"}`, 201, `"id":"<>`, ""})
	}
	for _, item := range []string{"a", "b", "c"} {
		steps = append(steps, step{`POST /shops/$1/orders {"order":{"item":"` + item + `"}}`, 201, "", ""})
		steps = append(steps, step{"POST /tags name=" + item, 201, "", "Content-Type=application/x-www-form-urlencoded"})
	}
	play(t, s, append(steps, []step{
		{"GET /shops?limit=1", 200, `"next_cursor":"<>`, ""},
		{"GET /shops?limit=1&cursor=$4", 200, `"next_cursor":"<>`, ""},
		{"GET /shops?limit=1&cursor=$5", 200, `"name":"s3"`, ""},
		{"GET /shops", 200, `"next_cursor":"0000000000000002"`, ""},
		{"GET /shops/$1/orders", 200, `={"links":{"next":"http://example.com/shops/$1/orders?page=2"},"meta":{"total":3},"orders":[{"item":"a","number":1004},{"item":"b","number":1006}]}`, ""},
		{"GET /shops/$1/orders?page=2", 200, `={"links":{},"meta":{"total":3},"orders":[{"item":"c","number":1008}]}`, ""},
		{"GET /shops/$1/orders?page=3&per_page=1", 200, `"orders":[{"item":"c","number":1008}]`, ""},
		{"GET /shops/$1/orders?page=9", 200, `"orders":[]`, ""},
		{"GET /shops/$1/orders?page=0", 400, `page: there is no page 0`, ""},
		{"GET /tags", 200, `=[{"name":"a"},{"name":"b"}]`, "Link:<http://example.com/tags?offset=2>; rel=\"next\""},
		{"GET /tags?offset=2", 200, `=[{"name":"c"}]`, "Link:"},
		{"GET /tags?offset=7", 200, `=[]`, ""},
		{"GET /tags?offset=-1", 400, `the offset is less than 0`, ""},
		{"DELETE /shops/$2", 204, "", ""},
		{"GET /shops?limit=1&cursor=$4", 200, `"name":"s3"`, ""}, // a token is good after what it names is gone
	}...))
}

// TestSlow checks transitional states: they last for some reads.
func TestSlow(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop), Slow: 2})
	play(t, s, []step{
		{`POST /shops {"name":"one"}`, 201, `"id":"<>`, ""},
		{"GET /shops/$1", 200, `"status":"creating"`, ""},
		{"GET /shops", 200, `"status":"creating"`, ""},
		{"GET /shops/$1", 200, `"status":"creating"`, ""},
		{"GET /shops/$1", 200, `"status":"open"`, ""},
		{"DELETE /shops/$1", 204, "", ""},
		{"GET /shops/$1", 200, `"status":"deleting"`, ""},
		{"GET /shops/$1", 200, `"status":"deleting"`, ""},
		{"GET /shops/$1", 404, "", ""},
	})
}

// TestEventual checks that reads and lists see a new resource late, and calls that change it do not.
func TestEventual(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop), Eventual: 2})
	play(t, s, []step{
		{`POST /shops {"name":"one"}`, 201, `"id":"<>`, ""},
		{"GET /shops/$1", 404, "", ""},
		{"PUT /shops/$1 {\"name\":\"two\"}", 200, "", ""},
		{"GET /shops", 200, `={"shops":[]}`, ""},
		{"GET /shops/$1", 200, `"name":"two"`, ""},
	})
}

// TestTokens checks calls that are sent twice.
func TestTokens(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop)})
	play(t, s, []step{
		{`POST /shops {"name":"one"}`, 201, `"id":"<>`, "Idempotency-Key=a"},
		{`POST /shops {"name":"one"}`, 201, `"id":"$1"`, "Idempotency-Key=a"},
		{`POST /shops {"name":"two"}`, 409, `Idempotency-Key was used with other parameters`, "Idempotency-Key=a"},
		{`POST /shops {"name":"one"}`, 201, `"id":"<>`, "Idempotency-Key=b"},
		{"GET /shops", 200, `"$2"`, ""},
		{"DELETE /shops/$1", 204, "", ""},
		{`POST /shops {"name":"one"}`, 201, `"id":"<>`, "Idempotency-Key=a"},
		{"GET /shops/$3", 200, "", ""},
	})
}

// TestMisbehavior checks throttling, failures at a call, credentials and what is gone.
func TestMisbehavior(t *testing.T) {
	a := fromOpenAPI(t, shop)
	play(t, newStub(t, Config{API: a, Throttle: 1}), []step{
		{"POST /shops {}", 429, `={"code":"too_many_requests","message":"too many requests: try again later","status":429}`, "Retry-After:1"},
		{"GET /shops", 429, `={"code":"too_many_requests","message":"too many requests: try again later","status":429}`, ""},
	})
	play(t, newStub(t, Config{API: a, Fail: []Failure{{"GET /shops", 2}}}), []step{
		{"GET /shops", 200, "", ""},
		{"GET /shops", 500, "call 2 of GET /shops fails", ""},
		{"GET /shops", 200, "", ""},
		{"POST /_stub/reset", 204, "", ""},
		{"GET /shops", 200, "", ""},
		{"GET /shops", 500, "", ""},
	})
	play(t, newStub(t, Config{API: a}), []step{
		{"POST /shops {}", 401, "the request has no credentials: send header X-Key", "-X-Key"},
		{"GET /shops", 200, "", "-X-Key"},
	})
	play(t, newStub(t, Config{API: a, NoAuth: true, DeleteTwice: 204}), []step{
		{"DELETE /tags/a", 204, "", "-X-Key"},
	})
	seen := map[int]int{}
	s := newStub(t, Config{API: a, Throttle: 0.2, Seed: 7})
	for range 1000 {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/shops", nil))
		seen[w.Code]++
	}
	if seen[429] < 150 || seen[429] > 250 {
		t.Errorf("%d of 1000 calls were throttled", seen[429])
	}
	for config, want := range map[*Config]string{
		{API: a, Fail: []Failure{{"GET /shop", 1}}}: `the API has no operation "GET /shop": did you mean "GET /shops"?`,
		{API: a, Resource: "Sho"}:                   `the API has no resource Sho: did you mean "Shop"?`,
		{API: &api.API{Protocol: "rpcv2Cbor"}}:      "the protocol rpcv2Cbor is not supported",
		{API: &api.API{}}:                           "the service has no protocol",
	} {
		if _, err := New(*config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAnyParent checks that nothing needs what it is in to exist, if the caller says so.
func TestAnyParent(t *testing.T) {
	play(t, newStub(t, Config{API: fromOpenAPI(t, shop), AnyParent: true}), []step{
		{`POST /shops/x/orders {"order":{"item":"pen"}}`, 201, `"number":<>`, ""},
		{"GET /shops/x/orders/$1", 200, "", ""},
		{"GET /shops/x/orders", 200, `"item":"pen"`, ""},
		{"GET /shops/y/orders", 200, `"orders":[]`, ""},
		{"GET /shops/x", 400, "", ""},
	})
}

// TestOneResource checks that only one resource and what it is in are served.
func TestOneResource(t *testing.T) {
	s := newStub(t, Config{API: fromOpenAPI(t, shop), Resource: "Order"})
	if got := strings.Join(s.Resources(), " "); got != "Shop Order" {
		t.Errorf("resources: %s", got)
	}
	play(t, s, []step{{"GET /tags", 501, "GET /tags belongs to no resource of the API", ""}})
}

// TestState checks the data file, the report and the journal; none has secrets.
func TestState(t *testing.T) {
	var journal bytes.Buffer
	file := filepath.Join(t.TempDir(), "state.json")
	c := Config{API: fromOpenAPI(t, shop), Data: file, Journal: &journal}
	play(t, newStub(t, c), []step{
		{`POST /shops {"name":"one","password":"topsecret"}`, 201, `"id":"<>`, "Idempotency-Key=a"},
		{"GET /_stub/state", 200, `"calls":{"POST /shops":1}`, ""},
		{"GET /_stub/state", 200, `"name":"one"`, ""},
		{"GET /tags", 200, "", "X-Key=topsecret"},
	})
	if !strings.Contains(journal.String(), `{"n":1,"time":"2026-01-02T03:04:05Z","method":"POST","path":"/shops","operation":"POST /shops","action":"create","resource":"Shop","status":201,"input":{"Idempotency-Key":"a","name":"one","password":"***"}}`) {
		t.Errorf("journal: %s", journal.String())
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v %v", info.Mode(), err)
	}
	for _, text := range []string{journal.String(), string(kept)} {
		if strings.Contains(text, "topsecret") {
			t.Errorf("a secret in %s", text)
		}
	}
	play(t, newStub(t, c), []step{
		{`POST /shops {"name":"one","password":"topsecret"}`, 201, `"id":"<>`, "Idempotency-Key=a"},
		{"GET /shops/$1", 200, `"name":"one"`, ""},
		{"GET /shops?limit=1", 200, `"name":"one"`, ""},
		{"POST /_stub/reset", 204, "", ""},
		{"GET /shops", 200, `={"shops":[]}`, ""},
	})
	play(t, newStub(t, c), []step{{"GET /shops", 200, `={"shops":[]}`, ""}})
	for text, want := range map[string]string{
		"{":               "read the state in",
		`{"api":"Other"}`: `is of another API: "Other" instead of "Shop"`,
		`{"api":"Shop","items":{"x":{"resource":"Shop"}}}`:                                    "has an item that is not valid",
		`{"api":"Shop","items":{"x":null}}`:                                                   "has an item that is not valid",
		`{"api":"Shop","items":{"Order\u0000a":{"resource":"Order","key":["a"],"props":{}}}}`: "has an item that is not valid",
		`{"api":"Shop","tokens":null}`:                                                        "is not complete",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
