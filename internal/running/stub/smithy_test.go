package stub

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// clusters is a service with a resource in another one, states, tags, tokens, examples and
// secrets, in the protocol that replaces PROTOCOL.
const clusters = `$version: "2"
namespace t
use aws.api#service
use aws.auth#sigv4
use aws.protocols#PROTOCOL
use smithy.waiters#waitable

@PROTOCOL
@sigv4(name: "clusters")
@service(sdkId: "Clusters", arnNamespace: "clusters")
@xmlNamespace(uri: "urn:clusters")
service Clusters {
    version: "2020-01-01"
    resources: [Cluster]
    operations: [TagResource, UntagResource, ListTagsForResource, Ping]
}
resource Cluster {
    identifiers: {clusterId: String}
    create: CreateCluster
    read: GetCluster
    update: UpdateCluster
    delete: DeleteCluster
    list: ListClusters
    resources: [Node]
}
resource Node {
    identifiers: {clusterId: String, nodeName: String}
    put: CreateNode
    read: GetNode
    delete: DeleteNode
}
@http(method: "POST", uri: "/clusters", code: 201)
@examples([{
    title: "Create", input: {name: "first", size: 3},
    output: {clusterId: "c-1", clusterArn: "arn:aws:clusters:us-east-1:1:cluster/c-1", status: "CREATING", size: 3}
}])
operation CreateCluster {
    input := {
        @required @length(min: 1, max: 20) name: String
        @idempotencyToken clientToken: String
        size: Integer = 2
        secret: Secret
        until: Timestamp
        data: Blob
        names: Names
        tags: Tags
    }
    output: ClusterData
    errors: [Invalid, Taken, Busy]
}
@readonly
@http(method: "GET", uri: "/clusters/{clusterId}", code: 200)
@waitable(ClusterActive: {acceptors: [{state: "success", matcher: {output: {path: "status", expected: "ACTIVE", comparator: "stringEquals"}}}]})
@examples([{title: "Get", input: {clusterId: "c-9"}, output: {clusterId: "c-9", status: "ACTIVE", created: 1}}])
operation GetCluster {
    input := { @required @httpLabel clusterId: String }
    output: ClusterData
    errors: [Missing]
}
@http(method: "PATCH", uri: "/clusters/{clusterId}", code: 200)
operation UpdateCluster {
    input := { @required @httpLabel clusterId: String, size: Integer }
    output := { cluster: ClusterData }
    errors: [Missing, Invalid]
}
@idempotent
@http(method: "DELETE", uri: "/clusters/{clusterId}", code: 200)
operation DeleteCluster { input := { @required @httpLabel clusterId: String }, output := {}, errors: [Missing] }
@readonly
@paginated(inputToken: "nextToken", outputToken: "nextToken", items: "clusters", pageSize: "maxResults")
@http(method: "GET", uri: "/clusters", code: 200)
operation ListClusters {
    input := { @httpQuery("maxResults") @range(min: 1) maxResults: Integer, @httpQuery("nextToken") nextToken: String }
    output := { @required clusters: Summaries, nextToken: String }
}
@idempotent
@http(method: "POST", uri: "/clusters/{clusterId}/nodes", code: 200)
operation CreateNode { input := { @required @httpLabel clusterId: String, @required nodeName: String }, output := { nodeName: String }, errors: [Missing, Taken] }
@readonly
@http(method: "GET", uri: "/clusters/{clusterId}/nodes/{nodeName}", code: 200)
operation GetNode { input := { @required @httpLabel clusterId: String, @required @httpLabel nodeName: String }, output := { nodeName: String, clusterArn: String }, errors: [Missing] }
@idempotent
@http(method: "DELETE", uri: "/clusters/{clusterId}/nodes/{nodeName}", code: 200)
operation DeleteNode { input := { @required @httpLabel clusterId: String, @required @httpLabel nodeName: String }, errors: [Missing] }
@http(method: "POST", uri: "/tags/{resourceArn}", code: 200)
operation TagResource { input := { @required @httpLabel resourceArn: String, @required tags: Tags }, errors: [Missing] }
@idempotent
@http(method: "DELETE", uri: "/tags/{resourceArn}", code: 200)
operation UntagResource { input := { @required @httpLabel resourceArn: String, @required @httpQuery("tagKeys") tagKeys: Names }, errors: [Missing] }
@readonly
@http(method: "GET", uri: "/tags/{resourceArn}", code: 200)
operation ListTagsForResource { input := { @required @httpLabel resourceArn: String }, output := { tags: Tags }, errors: [Missing] }
@readonly
@http(method: "GET", uri: "/ping", code: 200)
operation Ping {}

structure ClusterData {
    @required clusterId: String
    clusterArn: String
    @required status: Status
    name: String
    size: Integer
    created: Timestamp
    until: Timestamp
    data: Blob
    names: Names
}
enum Status { CREATING, ACTIVE, DELETING }
list Summaries { member: Summary }
structure Summary { @required clusterId: String, status: Status }
list Names { member: String }
map Tags { key: String, value: String }
@sensitive
string Secret
@error("client") @httpError(404)
structure Missing { @required message: String }
@error("client") @httpError(409)
structure Taken { @required message: String, resourceId: String }
@error("client") @httpError(400)
structure Invalid { message: String }
@error("client") @httpError(429) @retryable(throttling: true)
structure Busy { message: String }
`

func clustersOf(t testing.TB, protocol string, c Config) *Stub {
	c.API = fromSmithy(t, strings.ReplaceAll(clusters, "PROTOCOL", protocol))
	return newStub(t, c)
}

const signed = "Authorization=AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/clusters/aws4_request"

// TestRestJSON checks the protocol restJson1: labels, queries, timestamps, errors, tags, tokens.
func TestRestJSON(t *testing.T) {
	s := clustersOf(t, "restJson1", Config{Slow: 1})
	play(t, s, []step{
		{`POST /clusters {"name":"one","until":1700000000,"secret":"s","data":"YQ==","tags":{"a":"b"},"clientToken":"t"}`, 201, `"clusterId":"<>`, signed},
		{`POST /clusters {"name":"one","until":1700000000,"secret":"s","data":"YQ==","tags":{"a":"b"},"clientToken":"t"}`, 201, `"clusterId":"$1"`, signed},
		{`POST /clusters {"name":"two","clientToken":"t"}`, 409, `={"__type":"Taken","message":"clientToken was used with other parameters"}`, signed},
		{"GET /clusters/$1", 200, `"status":"CREATING"`, signed},
		{"GET /clusters/$1", 200, `={"clusterArn":"arn:aws:clusters:us-east-1:123456789012:cluster/$1","clusterId":"$1","created":1767323045,"data":"YQ==","name":"one","size":2,"status":"ACTIVE","until":1700000000}`, signed},
		{`PATCH /clusters/$1 {"size":7}`, 200, `{"cluster":{`, signed},
		{"GET /clusters/$1", 200, `"size":7`, signed},
		{"GET /tags/arn:aws:clusters:us-east-1:123456789012:cluster%2F$1", 200, `={"tags":{"a":"b"}}`, signed},
		{`POST /tags/arn:aws:clusters:us-east-1:123456789012:cluster%2F$1 {"tags":{"c":"d"}}`, 200, "=", signed},
		{"DELETE /tags/arn:aws:clusters:us-east-1:123456789012:cluster%2F$1?tagKeys=a&tagKeys=x", 200, "=", signed},
		{"GET /tags/arn:aws:clusters:us-east-1:123456789012:cluster%2F$1", 200, `={"tags":{"c":"d"}}`, signed},
		{"GET /tags/other", 404, `={"__type":"Missing","message":"no resource has the ARN other"}`, signed},
		{`POST /clusters/$1/nodes {"nodeName":"n"}`, 200, `={"nodeName":"n"}`, signed},
		{`POST /clusters/$1/nodes {"nodeName":"n"}`, 409, `{"__type":"Taken"`, signed},
		{`POST /clusters/x/nodes {"nodeName":"n"}`, 404, `"message":"Cluster x does not exist"`, signed},
		{"GET /clusters/$1/nodes/n", 200, `={"clusterArn":"arn:aws:clusters:us-east-1:123456789012:cluster/$1","nodeName":"n"}`, signed},
		{`POST /clusters {"name":""}`, 400, `={"__type":"Invalid","message":"name: has 0 characters; the minimum is 1"}`, signed},
		{`POST /clusters {"name":"x","size":2147483648}`, 400, "size: 2147483648 does not fit into 32 bits", signed},
		{`POST /clusters {"name":"x","until":"2026"}`, 400, "until: ", signed},
		{`POST /clusters {"name":"x","data":"?"}`, 400, "data: the value is not Base64", signed},
		{`POST /clusters {"name":"x","names":[null]}`, 400, "names[0]: null is not allowed", signed},
		{`POST /clusters {"name":"x"}`, 415, "the media type", signed + "; Content-Type=text/plain"},
		{"GET /clusters?maxResults=1", 200, `={"clusters":[{"clusterId":"$1","status":"ACTIVE"}]}`, signed},
		{"GET /ping", 501, "Ping belongs to no resource", signed},
		{"DELETE /clusters/$1", 200, "=", signed},
		{"GET /clusters/$1", 200, `"status":"DELETING"`, signed},
		{"GET /clusters/$1/nodes/n", 404, "", signed},
		{"GET /clusters/$1", 404, `={"__type":"Missing","message":"Cluster $1 does not exist"}`, signed},
		{"GET /clusters/$1", 401, "send a signature of AWS", ""},
	})
}

// TestExamples checks that examples are answered as they are written until something changes.
func TestExamples(t *testing.T) {
	s := clustersOf(t, "restJson1", Config{NoAuth: true})
	play(t, s, []step{
		{"GET /clusters/c-9", 200, `={"clusterId":"c-9","created":1,"status":"ACTIVE"}`, ""},
		{`POST /clusters {"name":"first","size":3,"clientToken":"t"}`, 201, `={"clusterArn":"arn:aws:clusters:us-east-1:1:cluster/c-1","clusterId":"c-1","size":3,"status":"CREATING"}`, ""},
		{"GET /clusters/c-1", 200, `"clusterArn":"arn:aws:clusters:us-east-1:1:cluster/c-1"`, ""},
		{`POST /clusters {"name":"first","size":3}`, 201, `"clusterId":"<>`, ""}, // the identifier is taken
		{"GET /clusters/$1", 200, `"name":"first"`, ""},
		{"DELETE /clusters/c-1", 200, "", ""},
		{"GET /clusters/c-1", 404, "", ""},
	})
	text := strings.Replace(shop, `{name: number, in: path, required: true, schema: {type: integer}}]
    get: {responses: {"200": {description: d, content: {application/json: {`, `{name: number, in: path, required: true, schema: {type: integer}, example: 7}]
    get: {responses: {"200": {description: d, content: {application/json: {example: {order: {number: 7, item: cup}}, `, 1)
	text = strings.Replace(text, `shop_id}/orders/{number}:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string}}`, `shop_id}/orders/{number}:
    parameters: [{name: shop_id, in: path, required: true, schema: {type: string}, example: a}`, 1)
	text = strings.Replace(text, `schema: {$ref: "#/components/schemas/Coupon"}}}}
      responses: {"200": {description: d, content: {application/json: {`, `examples: {half: {value: {percent: 50}}}, schema: {$ref: "#/components/schemas/Coupon"}}}}
      responses: {"200": {description: d, content: {application/json: {examples: {half: {value: {code: HALF, percent: 50}}}, `, 1)
	play(t, newStub(t, Config{API: fromOpenAPI(t, text)}), []step{
		{"GET /shops/a/orders/7", 200, `={"order":{"item":"cup","number":7}}`, ""},
		{"GET /shops/b/orders/7", 404, "", ""},
		{`PUT /coupons/HALF {"percent":50}`, 200, `={"code":"HALF","percent":50}`, ""},
		{`PUT /coupons/OTHER {"percent":50}`, 200, `={"code":"OTHER","percent":50}`, ""},
	})
}

// TestAWSJSON checks the protocols awsJson1_0 and awsJson1_1.
func TestAWSJSON(t *testing.T) {
	for protocol, media := range map[string]string{"awsJson1_0": "application/x-amz-json-1.0", "awsJson1_1": "application/x-amz-json-1.1"} {
		target := func(operation string) string { return "Content-Type=" + media + "; X-Amz-Target=Clusters." + operation }
		s := clustersOf(t, protocol, Config{NoAuth: true, PageSize: 1})
		play(t, s, []step{
			{`POST / {"name":"one","until":1.5}`, 200, `"clusterId":"<>`, target("CreateCluster")},
			{`POST / {"name":"two"}`, 200, ``, target("CreateCluster")},
			{`POST / {"clusterId":"$1"}`, 200, `"status":"ACTIVE","until":1.5}`, target("GetCluster")},
			{`POST / {"clusterId":"$1","size":9}`, 200, `"size":9`, target("UpdateCluster")},
			{`POST / {}`, 200, `"nextToken":"<>`, target("ListClusters")},
			{`POST / {"nextToken":"$2"}`, 200, `{"clusters":[{"clusterId":`, target("ListClusters")},
			{`POST / {"clusterId":"$1"}`, 200, `={}`, target("DeleteCluster")},
			{`POST / {"clusterId":"$1"}`, 404, `={"__type":"Missing","message":"Cluster $1 does not exist"}`, target("DeleteCluster")},
			{`POST / {}`, 400, `={"__type":"ValidationException","message":"clusterId: missing value"}`, target("GetCluster")},
			{`POST / {}`, 404, `X-Amz-Target names no operation of the service: \"GetClusters\": did you mean \"GetCluster\"?`, target("GetClusters")},
			{`GET /`, 404, "the service takes POST requests to /", target("GetCluster")},
			{`POST / {}`, 415, "is not application/x-amz-json-1.0 or 1.1", "X-Amz-Target=Clusters.GetCluster"},
		})
	}
}

// TestAWSQuery checks the protocol awsQuery.
func TestAWSQuery(t *testing.T) {
	s := clustersOf(t, "awsQuery", Config{NoAuth: true})
	form := "Content-Type=application/x-www-form-urlencoded"
	play(t, s, []step{
		{`POST / Action=CreateCluster&Version=2020-01-01&name=one&until=2026-01-01T00:00:00Z&names.member.1=a&names.member.2=%3Cb%3E&tags.entry.1.key=k&tags.entry.1.value=v`, 200, "<clusterId><>", form},
		{"POST / Action=GetCluster&clusterId=$1", 200, "<names><member>a</member><member>&lt;b&gt;</member></names></GetClusterResult>", form},
		{"POST / Action=GetCluster&clusterId=$1", 200, `<GetClusterResponse xmlns="urn:clusters"><GetClusterResult><clusterId>$1</clusterId>`, form},
		{"POST / Action=GetCluster&clusterId=$1", 200, "<until>2026-01-01T00:00:00Z</until>", form},
		{"POST / Action=ListTagsForResource&resourceArn=arn:aws:clusters:us-east-1:123456789012:cluster/$1", 200, "<tags><entry><key>k</key><value>v</value></entry></tags>", form},
		{"POST / Action=ListClusters", 200, "<clusters><member><clusterId>$1" + "</clusterId>", form},
		{"POST / Action=GetCluster&clusterId=x", 404, `<ErrorResponse xmlns="urn:clusters"><Error><Type>Sender</Type><Code>Missing</Code><Message>Cluster x does not exist</Message></Error>`, form},
		{"POST / Action=GetCluster&cluster=x", 400, "cluster: unknown member: did you mean &#34;clusterId&#34;?", form},
		{"POST / Action=GetClusters", 404, "Action names no operation of the service", form},
		{"POST / Action=CreateCluster&name=a&size=x", 400, "size: &#34;x&#34; is not a number", form},
		{"POST / %zz", 400, "the body is not a form", form},
	})
}

// TestRestXML checks the protocol restXml.
func TestRestXML(t *testing.T) {
	s := clustersOf(t, "restXml", Config{NoAuth: true})
	xml := "Content-Type=application/xml"
	play(t, s, []step{
		{`POST /clusters <CreateClusterInput xmlns="urn:clusters"><name>one</name><names><member>a</member></names><tags><entry><key>k</key><value>v</value></entry></tags></CreateClusterInput>`, 201, "<ClusterData xmlns=\"urn:clusters\"><clusterId><>", xml},
		{"GET /clusters/$1", 200, "<names><member>a</member></names></ClusterData>", ""},
		{"GET /clusters/x", 404, "<Code>Missing</Code><Message>Cluster x does not exist</Message>", ""},
		{"POST /clusters <a><b></a>", 400, "the body is not XML", xml},
		{"POST /clusters <a><name>x</name></a>", 400, "the body is the element &#34;a&#34;, not &#34;CreateClusterInput&#34;", xml},
		{"POST /clusters <CreateClusterInput><nam>x</nam></CreateClusterInput>", 400, "nam: unknown member: did you mean &#34;name&#34;?", xml},
		{"POST /clusters <!DOCTYPE a [<!ENTITY e \"x\">]><a><name>&e;</name></a>", 400, "the body is not XML", xml},
		{"DELETE /clusters/$1", 200, "", ""},
	})
}

// TestHostileRequests checks that requests of any size and depth are refused, and that nothing of
// them breaks the form of a response.
func TestHostileRequests(t *testing.T) {
	deep := strings.Repeat("[", 100)
	fields := strings.Repeat("a&", 5000)
	for _, test := range []struct {
		stub              *Stub
		method, path      string
		body, media, want string
		status            int
	}{
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/shops", strings.Repeat(" ", 4<<20+1), "application/json", "the body has more than 4194304 bytes", 413},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/shops", deep, "application/json", "the body is not JSON", 422},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/shops", `{"name":"a","name":"b"}`, "application/json", "duplicate key", 422},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/shops", `{"size":1e999999999}`, "application/json", "is not a number", 422},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/shops", "{\"name\":\"\xff\"}", "application/json", "the body is not JSON", 422},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/tags", fields, "application/x-www-form-urlencoded", "the form has more than 2000 fields", 400},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "POST", "/tags", "name" + strings.Repeat("[a", 100) + "=1", "application/x-www-form-urlencoded", "more than 64 parts", 400},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "GET", "/shops/" + strings.Repeat("x", 70_000), "", "", "the headers are too large", 431},
		{newStub(t, Config{API: fromOpenAPI(t, shop)}), "GET", "/tags/%0d%0aSet-Cookie:%20x", "", "", `Tag \r\nSet-Cookie: x does not exist`, 404},
		{clustersOf(t, "restXml", Config{NoAuth: true}), "POST", "/clusters", strings.Repeat("<a>", 100), "application/xml", "more than 64 levels", 400},
		{clustersOf(t, "awsQuery", Config{NoAuth: true}), "POST", "/", "Action=CreateCluster&names.member." + strings.Repeat("1.", 100) + "=1", "", "more than 64 parts", 400},
	} {
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		r.Header.Set("X-Key", "k")
		r.Header.Set("Content-Type", test.media)
		w := httptest.NewRecorder()
		test.stub.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) || len(w.Header()["Set-Cookie"]) > 0 {
			t.Errorf("%.40s %.40s: %d %.300s, want %d %s", test.path, test.body, w.Code, w.Body, test.status, test.want)
		}
	}
}

// FuzzRequests sends bodies and paths to a service of each protocol: nothing may panic, and what is
// refused is not the fault of the stub.
func FuzzRequests(f *testing.F) {
	stubs := []*Stub{newStub(f, Config{API: fromOpenAPI(f, shop), NoAuth: true})}
	for _, protocol := range []string{"restJson1", "awsJson1_0", "awsQuery", "restXml"} {
		stubs = append(stubs, clustersOf(f, protocol, Config{NoAuth: true}))
	}
	for _, body := range []string{
		`{"name":"one","labels":["a"],"opening":{"from":1}}`, `{"name":"one","until":1,"tags":{"a":"b"},"names":["x"],"data":"YQ=="}`,
		"Action=CreateCluster&name=a&names.member.1=x&tags.entry.1.key=k&tags.entry.1.value=v", "name=a&words[]=x&words[1]=y",
		"<a><name>x</name><names><member>a</member></names></a>", `[{"op":"add","path":"/name","value":"x"}]`, "null", "",
	} {
		f.Add("POST", "/shops", body)
		f.Add("POST", "/clusters", body)
		f.Add("POST", "/", body)
		f.Add("POST", "/tags", body)
		f.Add("GET", "/shops?limit=1&cursor=a", body)
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		for _, s := range stubs {
			for _, media := range []string{"application/json", "application/x-www-form-urlencoded", "application/json-patch+json"} {
				r := httptest.NewRequest("POST", "/", strings.NewReader(body))
				r.Method = method
				if u, err := r.URL.Parse(path); err == nil {
					r.URL = u
				}
				r.Header.Set("Content-Type", media)
				r.Header.Set("X-Amz-Target", "Clusters.CreateCluster")
				if _, ok := s.protocol.(awsJSON); ok {
					r.Header.Set("Content-Type", "application/x-amz-json-1.0")
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code == 500 {
					t.Errorf("%s %s: %s", method, path, w.Body)
				}
			}
		}
	})
}

// TestRevisions: changes with an old revision are refused, and revisions have the form that the model wants.
func TestRevisions(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Nodes { version: "1", operations: [CreateNode, GetNode, UpdateNode, DeleteNode] }
@http(method: "POST", uri: "/nodes", code: 201)
operation CreateNode { input := { @required @httpPayload Config: NodeData }, output := { Name: String } }
@http(method: "GET", uri: "/nodes/{Name}")
operation GetNode { input := { @required @httpLabel Name: String }, output := { LockToken: Token, Node: NodeData } }
@http(method: "PATCH", uri: "/nodes/{Name}")
operation UpdateNode { input := { @required @httpLabel Name: String, @required LockToken: Token, Size: Integer } }
@http(method: "DELETE", uri: "/nodes/{Name}", code: 204)
operation DeleteNode { input := { @required @httpLabel Name: String, @required @httpHeader("x-lock") LockToken: Token } }
structure NodeData { @required Name: String, Size: Integer }
@pattern("^[0-9a-f]{8}-[0-9a-f]{4}$")
string Token
`)})
	play(t, s, []step{
		{"POST /nodes {\"Name\": \"a\", \"Size\": 1}", 201, "", ""},
		{"GET /nodes/a", 200, `"LockToken":"<>`, ""},
		{"PATCH /nodes/a {\"LockToken\": \"$1\", \"Size\": 2}", 200, "", ""},
		{"PATCH /nodes/a {\"LockToken\": \"$1\", \"Size\": 3}", 409, "LockToken is not that of Node a", ""},
		{"DELETE /nodes/a", 409, "LockToken is not that of Node a", "x-lock=00000000-0000"},
		{"GET /nodes/a", 200, `"LockToken":"<>`, ""},
		{"GET /nodes/a", 200, `"Size":2`, ""},
	})
}

// TestETags: in descriptions of both formats, If-Match must be the ETag or *.
func TestETags(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromOpenAPI(t, `openapi: 3.0.3
info: {title: Nodes, version: "1"}
paths:
  /nodes:
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}
      responses: {"201": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}}
  /nodes/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      responses: {"200": {description: d, headers: {ETag: {schema: {type: string}}}, content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}}
    put:
      parameters: [{name: If-Match, in: header, required: true, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}
      responses: {"200": {description: d}}
    delete: {parameters: [{name: If-Match, in: header, schema: {type: string}}], responses: {"204": {description: d}}}
components: {schemas: {Node: {type: object, properties: {id: {type: string, readOnly: true}, size: {type: integer}}}}}
`)})
	play(t, s, []step{
		{"POST /nodes {\"size\": 1}", 201, `"id":"<>`, ""},
		{"GET /nodes/$1", 200, "", `ETag:"1-0"`},
		{"PUT /nodes/$1 {\"size\": 2}", 200, "", `If-Match="1-0"`},
		{"PUT /nodes/$1 {\"size\": 3}", 409, "If-Match is not the ETag of Node", `If-Match="1-0"`},
		{"GET /nodes/$1", 200, `"size":2`, `ETag:"1-1"`},
		{"DELETE /nodes/$1", 204, "", "If-Match=*"},
	})
}

// TestListsThatRead: a list with identifiers returns these resources, and none of them is an error of the model.
func TestListsThatRead(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, Slow: 1, API: fromSmithy(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Groups { version: "1", operations: [CreateGroup, DescribeGroups, DeleteGroup] }
@http(method: "POST", uri: "/groups", code: 201)
operation CreateGroup { input := { @required GroupName: String, Size: Integer } }
@http(method: "GET", uri: "/groups")
operation DescribeGroups { input := { @httpQuery("name") GroupNames: Names }, output := { Groups: GroupList }, errors: [GroupNotFound] }
@http(method: "DELETE", uri: "/groups/{GroupName}", code: 204)
operation DeleteGroup { input := { @required @httpLabel GroupName: String } }
list Names { member: String }
list GroupList { member: Group }
structure Group { GroupName: String, Size: Integer, Status: Status }
enum Status { CREATING, ACTIVE, DELETING }
@error("client")
@httpError(404)
structure GroupNotFound {}
`)})
	play(t, s, []step{
		{`POST /groups {"GroupName": "a", "Size": 1}`, 201, "", ""},
		{`POST /groups {"GroupName": "b", "Size": 2}`, 201, "", ""},
		{"GET /groups?name=b", 200, `={"Groups":[{"GroupName":"b","Size":2,"Status":"CREATING"}]}`, ""},
		{"GET /groups", 200, `={"Groups":[{"GroupName":"a","Size":1,"Status":"CREATING"},{"GroupName":"b","Size":2,"Status":"ACTIVE"}]}`, ""},
		{"GET /groups?name=a&name=b", 200, `{"GroupName":"a","Size":1`, ""},
		{"GET /groups?name=c", 404, "Group c does not exist", ""},
		{"DELETE /groups/b", 204, "", ""},
	})
}

// TestNamesOfEnvelopes: the member of a response with the whole resource may be called as the identifier or a property in requests.
func TestNamesOfEnvelopes(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.auth#sigv4
use aws.protocols#restJson1
@restJson1
@sigv4(name: "domains")
service Domains { version: "1", operations: [CreateDomain, GetDomain, DeleteDomain, CreateRulePolicy, GetRulePolicy, DeleteRulePolicy] }
@http(method: "POST", uri: "/domain", code: 201)
operation CreateDomain { input := { @required @httpQuery("domain") domain: String, size: Integer }, output := { domain: DomainData } }
@http(method: "GET", uri: "/domain")
operation GetDomain { input := { @required @httpQuery("domain") domain: String }, output := { domain: DomainData } }
@http(method: "DELETE", uri: "/domain", code: 204)
operation DeleteDomain { input := { @required @httpQuery("domain") domain: String } }
structure DomainData { name: String, arn: String, size: Integer }
@http(method: "PUT", uri: "/policies/{policyName}")
operation CreateRulePolicy { input := { @required @httpLabel policyName: String, policy: Texts }, output := { policy: PolicyData } }
@http(method: "GET", uri: "/policies/{policyName}")
operation GetRulePolicy { input := { @required @httpLabel policyName: String }, output := { policy: PolicyData } }
@http(method: "DELETE", uri: "/policies/{policyName}", code: 204)
operation DeleteRulePolicy { input := { @required @httpLabel policyName: String } }
structure PolicyData { policyName: String, policy: Texts }
map Texts { key: String, value: String }
`)})
	play(t, s, []step{
		{`POST /domain?domain=a {"size": 2}`, 201, "", ""},
		{"GET /domain?domain=a", 200, `={"domain":{"arn":"arn:aws:domains:us-east-1:123456789012:domain/a","name":"a","size":2}}`, ""},
		{`PUT /policies/p {"policy": {"a": "b"}}`, 200, `={"policy":{"policy":{"a":"b"},"policyName":"p"}}`, ""},
	})
}

// TestIdentifiersThatFit: what the stub makes fits what requests want of it, where responses leave it open; a create by PUT refuses
// what exists, one called Put replaces it; what is in the path or beside an envelope is kept.
func TestIdentifiersThatFit(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.auth#sigv4
use aws.protocols#restJson1
@restJson1
@sigv4(name: "hooks")
service Hooks { version: "1", operations: [CreateHook, GetHook, MoveHook, DeleteHook, TagResource, UntagResource, CreateMesh, GetMesh, DeleteMesh, PutRule, GetRule, DeleteRule, CreateUnit, GetUnit, DeleteUnit] }
@http(method: "POST", uri: "/apps/{appId}/hooks", code: 201)
operation CreateHook { input := { @required @httpLabel appId: String, @required hook: HookConfig, origin: String, @notProperty rate: String }, output := { id: String } }
structure HookConfig { size: Integer }
@readonly
@http(method: "GET", uri: "/hooks/{hookIdentifier}")
operation GetHook { input := { @required @httpLabel hookIdentifier: HookId }, output := { id: String, arn: String, appId: String, origin: String, size: Integer, rate: String, zone: String } }
@http(method: "POST", uri: "/hooks/{hookIdentifier}/part")
operation MoveHook { input := { @required @httpLabel hookIdentifier: HookId, @required part: String, zone: String } }
@idempotent
@http(method: "DELETE", uri: "/hooks/{hookIdentifier}", code: 204)
operation DeleteHook { input := { @required @httpLabel hookIdentifier: HookId } }
@http(method: "POST", uri: "/tags/{resourceArn}", code: 204)
operation TagResource { input := { @required @httpLabel resourceArn: HookArn, @required tags: Tags } }
@http(method: "DELETE", uri: "/tags/{resourceArn}", code: 204)
operation UntagResource { input := { @required @httpLabel resourceArn: HookArn, @required @httpQuery("keys") tagKeys: Keys } }
map Tags { key: String, value: String }
list Keys { member: String }
@pattern("^h-[0-9a-f]{9}$")
string HookId
@pattern("^arn:aws:hooks:::[a-z]{3}-[a-z0-9]+$")
@length(min: 60)
string HookArn
@pattern("^u-[0-9a-f]{4}$")
string UnitArn
@pattern("^v-")
string UnitId
@idempotent
@http(method: "PUT", uri: "/meshes", code: 201)
operation CreateMesh { input := { @required meshName: String } }
@readonly
@http(method: "GET", uri: "/meshes/{meshName}")
operation GetMesh { input := { @required @httpLabel meshName: String }, output := { meshName: String } }
@idempotent
@http(method: "DELETE", uri: "/meshes/{meshName}", code: 204)
operation DeleteMesh { input := { @required @httpLabel meshName: String } }
@idempotent
@http(method: "PUT", uri: "/rules/{name}")
operation PutRule { input := { @required @httpLabel name: String, size: Integer } }
@readonly
@http(method: "GET", uri: "/rules/{name}")
operation GetRule { input := { @required @httpLabel name: String }, output := { name: String, size: Integer } }
@idempotent
@http(method: "DELETE", uri: "/rules/{name}", code: 204)
operation DeleteRule { input := { @required @httpLabel name: String } }
@http(method: "POST", uri: "/units", code: 201)
operation CreateUnit { input := { size: Integer }, output := { unitArn: UnitArn } }
@readonly
@http(method: "GET", uri: "/units/{unitId}")
operation GetUnit { input := { @required @httpLabel unitId: UnitId }, output := { unitArn: UnitArn, size: Integer } }
@idempotent
@http(method: "DELETE", uri: "/units/{unitId}", code: 204)
operation DeleteUnit { input := { @required @httpLabel unitId: String } }
`)})
	play(t, s, []step{
		{`POST /apps/a1/hooks {"hook": {"size": 1}, "origin": "o"}`, 201, `"id":"<>`, ""},
		{"GET /hooks/$1", 200, `"appId":"a1","arn":"<>`, ""},
		{"GET /hooks/$1", 200, `"origin":"o","rate":"`, ""}, // which create does not have to set
		{"GET /hooks/$1", 200, `"size":1,"zone":"`, ""},     // which only an operation on a part sets
		{`POST /tags/$2 {"tags": {"a": "b"}}`, 204, "", ""},
		{`POST /tags/arn:aws:other {"tags": {"a": "b"}}`, 400, "does not match the pattern", ""},
		{`PUT /meshes {"meshName": "m"}`, 201, "", ""},
		{`PUT /meshes {"meshName": "m"}`, 409, "Mesh m exists already", ""},
		{`PUT /rules/r {"size": 1}`, 200, "", ""},
		{`PUT /rules/r {"size": 2}`, 200, "", ""},
		{"GET /rules/r", 200, `"size":2`, ""},
		{`POST /units {"size": 3}`, 201, `"unitArn":"<>`, ""},
		{"GET /units/$3", 200, `"size":3`, ""}, // the patterns contradict each other
		{"GET /units/u-1", 400, "does not match the pattern ^v-", ""},
	})
}

// TestPutReplaces: a Put that names a resource replaces it, whatever the HTTP method, if it has the revision that was read; without
// the identifier it makes another one.
func TestPutReplaces(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Rules { version: "1", operations: [PutRule, GetRule, DeleteRule, PutNote, GetNote, DeleteNote] }
@http(method: "POST", uri: "/rules")
operation PutRule { input := { @required rule: RuleData }, output := { rule: RuleData } }
@http(method: "GET", uri: "/rules/{RuleId}")
operation GetRule { input := { @required @httpLabel RuleId: String }, output := { rule: RuleData } }
@http(method: "DELETE", uri: "/rules/{RuleId}", code: 204)
operation DeleteRule { input := { @required @httpLabel RuleId: String } }
structure RuleData { RuleId: String, RuleUpdateToken: String, size: Integer, color: String }
@http(method: "POST", uri: "/put-note")
operation PutNote { input := { @httpQuery("owner") owner: String, @required bucket: String, @required id: String, text: String } }
@http(method: "GET", uri: "/notes/{id}")
operation GetNote { input := { @httpQuery("owner") owner: String, @required @httpQuery("bucket") bucket: String, @required @httpLabel id: String }, output := { note: NoteData } }
@http(method: "DELETE", uri: "/notes/{id}", code: 204)
operation DeleteNote { input := { @required @httpQuery("bucket") bucket: String, @required @httpLabel id: String } }
structure NoteData { id: String, details: Details }
structure Details { owner: String, text: String }
`)})
	play(t, s, []step{
		{`POST /rules {"rule": {"size": 1, "color": "red"}}`, 200, `"RuleId":"<>`, ""},
		{"GET /rules/$1", 200, `"RuleUpdateToken":"<>`, ""},
		{`POST /rules {"rule": {"RuleId": "$1", "RuleUpdateToken": "old", "size": 2}}`, 409, "RuleUpdateToken is not that of Rule $1", ""},
		{`POST /rules {"rule": {"RuleId": "$1", "RuleUpdateToken": "$2", "size": 2}}`, 200, `"RuleId":"$1"`, ""},
		{"GET /rules/$1", 200, `"size":2`, ""},
		{"GET /rules/$1", 200, `={"rule":{"RuleId":"$1","RuleUpdateToken":"2","size":2}}`, ""},
		{`POST /put-note?owner=o {"bucket": "b", "id": "n", "text": "one"}`, 200, "", ""},
		{"GET /notes/n?bucket=b", 200, `={"note":{"details":{"owner":"o","text":"one"},"id":"n"}}`, ""},
		{`POST /put-note {"bucket": "b", "id": "n"}`, 200, "", ""},
		{"GET /notes/n?bucket=b", 200, `={"note":{"details":{"owner":"o"},"id":"n"}}`, ""},
	})
}

// TestFormsThatDiffer: what a response has in another form than the request is left out; the default of a response is returned; an
// operation for tags may call the ARN by another name.
func TestFormsThatDiffer(t *testing.T) {
	s := newStub(t, Config{NoAuth: true, API: fromSmithy(t, `$version: "2"
namespace t
use aws.auth#sigv4
use aws.protocols#restJson1
@restJson1
@sigv4(name: "jobs")
service Jobs { version: "1", operations: [CreateJob, GetJob, UpdateJob, DeleteJob, TagResource, UntagResource] }
@http(method: "PUT", uri: "/jobs/{name}")
operation CreateJob { input := { @required @httpLabel name: String, layers: Names, limits: Texts, source: Source } }
@readonly
@http(method: "GET", uri: "/jobs/{name}")
operation GetJob { input := { @required @httpLabel name: String }, output := { name: String, arn: String, config: JobConfig, @default(0) links: Integer, source: Source, tags: Texts } }
@http(method: "POST", uri: "/jobs/{name}")
operation UpdateJob { input := { @required @httpLabel name: String, links: Integer, source: SourceChange } }
@idempotent
@http(method: "DELETE", uri: "/jobs/{name}", code: 204)
operation DeleteJob { input := { @required @httpLabel name: String } }
@http(method: "POST", uri: "/tag")
operation TagResource { input := { @required jobId: String, @required tags: Texts } }
@http(method: "POST", uri: "/untag")
operation UntagResource { input := { @required jobId: String, @required tagKeys: Names } }
union Source { http: HTTPSource, file: String }
structure HTTPSource { url: String, port: Integer }
union SourceChange { http: HTTPChange, file: String }
structure HTTPChange { port: Integer }
structure JobConfig { layers: Layers, limits: Limits }
list Names { member: String }
list Layers { member: Layer }
map Texts { key: String, value: String }
map Limits { key: String, value: Layer }
structure Layer { arn: String }
`)})
	play(t, s, []step{
		{`PUT /jobs/a {"layers": ["x"], "limits": {"a": "b"}}`, 200, "", ""},
		{"GET /jobs/a", 200, `"config":{"layers":[],"limits":{}},"links":0`, ""},
		{"GET /jobs/a", 200, `"arn":"<>`, ""},
		{`POST /tag {"jobId": "$1", "tags": {"k": "v"}}`, 200, "", ""},
		{"GET /jobs/a", 200, `"tags":{"k":"v"}`, ""},
		{`PUT /jobs/b {"source": {"http": {"url": "u", "port": 1}}}`, 200, "", ""},
		{`POST /jobs/b {"source": {"http": {"port": 2}}}`, 200, "", ""},
		{"GET /jobs/b", 200, `"source":{"http":{"port":2,"url":"u"}}`, ""},
		{`POST /jobs/b {"source": {"file": "f"}}`, 200, "", ""},
		{"GET /jobs/b", 200, `"source":{"file":"f"}`, ""},
	})
}
