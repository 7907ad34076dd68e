package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
)

const clusters = `$version: "2"
namespace t
use aws.api#service
use aws.api#arnReference
use aws.auth#sigv4
use aws.protocols#restJson1

@restJson1
@sigv4(name: "clusters")
@service(sdkId: "Clusters", endpointPrefix: "api.clusters")
service Clusters {
    version: "1"
    operations: [CreateUser, GetUser, DeleteUser, UpdateUserEmail, CreateToken, ListTokens, CreateUserGroup, DeleteUserGroup, TagResource, UntagResource, ListTagsForResource]
    resources: [Cluster, Settings]
}
resource Cluster {
    identifiers: {clusterId: String}
    create: CreateCluster
    read: GetCluster
    update: UpdateCluster
    delete: DeleteCluster
    list: ListClusters
}
resource Settings {
    read: GetSettings
}

/// Makes a cluster. It takes a while.
@http(method: "POST", uri: "/clusters", code: 201)
operation CreateCluster {
    input := {
        @required
        @length(min: 1, max: 20)
        name: Name
        @idempotencyToken
        clientToken: String
        @httpQuery("dryRun")
        dryRun: Boolean
        roleArn: RoleArn
        size: Integer = 3
        secret: Secret
        tags: Tags
        source: Source
        created: Timestamp
        odd: Document
    }
    output := { @required clusterId: String, status: Status }
    errors: [Throttled, Missing]
}
@readonly
@http(method: "GET", uri: "/clusters/{clusterId}")
@examples([{title: "one", input: {clusterId: "c1"}, output: {cluster: {name: "n"}}}])
operation GetCluster {
    input := { @required @httpLabel clusterId: String }
    output := { @httpHeader("ETag") etag: String, cluster: ClusterData }
}
@http(method: "PATCH", uri: "/clusters/{clusterId}")
operation UpdateCluster {
    input := { @required @httpLabel clusterId: String, size: Integer, maintenance: Window }
}
@idempotent
@http(method: "DELETE", uri: "/clusters/{clusterId}")
operation DeleteCluster {
    input := { @required @httpLabel clusterId: String }
}
@readonly
@paginated(inputToken: "next", outputToken: "next", items: "clusters", pageSize: "max")
@http(method: "GET", uri: "/clusters")
operation ListClusters {
    input := { @httpQuery("next") next: String, @httpQuery("max") max: Integer }
    output := { next: String, clusters: Clusterlist }
}
@readonly
@http(method: "GET", uri: "/settings")
operation GetSettings {
    output := { mode: String }
}

@http(method: "POST", uri: "/users")
operation CreateUser {
    input := { @required userName: String, email: String }
    output := { @required userId: String }
}
@readonly
@http(method: "GET", uri: "/users/{userId}")
operation GetUser {
    input := { @required @httpLabel userId: String }
    output := { id: String, name: String, email: String }
}
@idempotent
@http(method: "DELETE", uri: "/users/{userId}")
operation DeleteUser {
    input := { @required @httpLabel userId: String }
}
@http(method: "POST", uri: "/users/{userId}/email")
operation UpdateUserEmail {
    input := { @required @httpLabel userId: String, email: String }
}
@http(method: "POST", uri: "/tokens")
operation CreateToken {
    output := { token: String }
}
@readonly
@http(method: "GET", uri: "/tokens")
operation ListTokens {
    output := { tokens: Names }
}
@http(method: "POST", uri: "/groups")
operation CreateUserGroup {
    output := { id: String }
}
@idempotent
@http(method: "DELETE", uri: "/groups/{id}")
operation DeleteUserGroup {
    input := { @required @httpLabel id: String }
}
@http(method: "POST", uri: "/tags")
operation TagResource {
    input := { @required arn: String, tags: Tags }
}
@http(method: "POST", uri: "/untag")
operation UntagResource {
    input := { @required arn: String, tagKeys: Names }
}
@http(method: "GET", uri: "/tags")
operation ListTagsForResource {
    input := { @required @httpQuery("arn") arn: String }
    output := { tags: Tags }
}

@error("client")
@httpError(429)
@retryable(throttling: true)
structure Throttled {}
@error("client")
@httpError(404)
structure Missing {}
@pattern("^[a-z]+$")
string Name
@arnReference(type: "AWS::IAM::Role")
string RoleArn
@sensitive
string Secret
enum Status {
    CREATING
    ACTIVE = "active"
}
map Tags { key: String, value: String }
list Names { member: String }
list Clusterlist { member: ClusterData }
union Source { snapshot: String, region: String }
structure Window { day: Integer, next: Window }
structure ClusterData {
    clusterId: String
    clusterArn: String
    name: Name
    roleArn: String
    size: Integer
    status: Status
    maintenance: Window
    created: Timestamp
}
`

func readClusters(t *testing.T) *API { return readModel(t, clusters) }

func readModel(t *testing.T, text string) *API {
	t.Helper()
	m, events := smithy.Load([]smithy.Source{{File: "t.smithy", Data: []byte(text)}}, smithy.Config{})
	for _, e := range smithy.Validate(m, events) {
		if e.Severity >= smithy.DangerSeverity {
			t.Fatalf("%s %s", e.Shape, e.Message)
		}
	}
	a, err := FromSmithy(m, "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// summary is what a resource is found by and its operations, in one line.
func summary(r *Resource) string {
	out := r.Name + " by " + r.By + " [" + strings.Join(r.Identifiers, " ") + "]"
	for _, s := range r.Steps() {
		out += " " + s.Action + "=" + s.Operation.Name
	}
	return out
}

func TestSmithyResources(t *testing.T) {
	a := readClusters(t)
	var got []string
	for _, r := range a.Resources {
		got = append(got, summary(r))
	}
	for _, o := range a.Others {
		got = append(got, o.Name+": "+o.Reason)
	}
	want := []string{
		"Cluster by shapes [clusterId] create=CreateCluster read=GetCluster update=UpdateCluster delete=DeleteCluster list=ListClusters",
		"User by names [userId] create=CreateUser read=GetUser update=UpdateUserEmail delete=DeleteUser",
		"Settings: it has no operation to create or delete",
		"Token: it is read only by ListTokens, which returns several and takes no identifier",
		"UserGroup: it has no operation to read",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if a.Protocol != "restJson1" || a.Prefix != "clusters" || a.Servers[0] != "https://api.clusters.{Region}.amazonaws.com" || a.Auth[0].Kind != "sigv4" {
		t.Errorf("service: %+v", a)
	}
}

func TestSmithyOperations(t *testing.T) {
	r := readClusters(t).Resource("Cluster")
	create := r.Create
	if create.Method != "POST" || create.Path != "/clusters" || create.Status[0] != 201 || create.Token != "clientToken" {
		t.Errorf("create: %+v", create)
	}
	if p := create.Param(InQuery, "dryRun"); p == nil || create.Body.Member("dryRun") != nil {
		t.Error("dryRun is not in the query alone")
	}
	if !create.Errors[0].Retry || create.Errors[0].Status != 429 || create.Errors[1].Retry || create.Errors[1].Status != 404 {
		t.Errorf("errors: %+v", create.Errors)
	}
	if want := (Paging{"next", "next", "clusters", "max"}); *r.List.Paging != want {
		t.Errorf("paging: %+v", r.List.Paging)
	}
	if r.Read.Output.Member("etag") != nil {
		t.Error("a header is in the body of the response")
	}
	if e := r.Read.Examples; len(e) != 1 || e[0].Title != "one" || e[0].Input.Get("clusterId").Str() != "c1" {
		t.Errorf("examples: %+v", e)
	}
	name := create.Body.Member("name")
	if !name.Required || *name.Shape.MaxLen != 20 || name.Shape.Pattern != "^[a-z]+$" {
		t.Errorf("name: %+v", name.Shape)
	}
	if s := create.Output.Member("status").Shape; !slices.Equal(s.Enum, []string{"CREATING", "active"}) {
		t.Errorf("enum: %v", s.Enum)
	}
	window := r.Update[0].Body.Member("maintenance").Shape
	if window.Member("next").Shape != window {
		t.Error("a recursive shape is not itself")
	}
}

func TestSmithyService(t *testing.T) {
	two := "$version: \"2\"\nnamespace t\nservice A { version: \"1\" }\nservice B { version: \"1\" }\n"
	for _, test := range []struct{ model, service, message string }{
		{two, "", "the model has several services"},
		{two, "t#C", "the model has no service t#C"},
		{"$version: \"2\"\nnamespace t\n", "", "the model has no service"},
		{two, "t#B", "<nil>"},
	} {
		m, _ := smithy.Load([]smithy.Source{{File: "m.smithy", Data: []byte(test.model)}}, smithy.Config{})
		_, err := FromSmithy(m, smithy.ID(test.service))
		if got := fmt.Sprint(err); got != test.message {
			t.Errorf("%q: %s, want %s", test.service, got, test.message)
		}
		var unknown *ServiceError
		if err != nil && !errors.As(err, &unknown) {
			t.Errorf("%T is not a ServiceError", err)
		}
	}
}

// decisions are those about one property.
func decisions(list []Decision, property string) (out []string) {
	for _, d := range list {
		if d.Subject == property {
			out = append(out, d.Choice+": "+d.Reason)
		}
	}
	return out
}

func TestSmithyDecisions(t *testing.T) {
	a := readClusters(t)
	d, problems := Derive(a, a.Resource("Cluster"), "Acme::Db::Cluster", &Settings{})
	if problems != nil {
		t.Fatal(problems.Err())
	}
	for property, want := range map[string]string{
		"ClusterId":   "identifier: GetCluster needs it|readOnly: it is only in responses",
		"ClusterArn":  "readOnly: it is only in responses|additionalIdentifier: it is the ARN of the resource",
		"Name":        "createOnly: it is in CreateCluster but in no update|required: CreateCluster requires it",
		"ClientToken": "ignored: it makes calls idempotent",
		"Size":        "",
		"Secret":      "createOnly: it is in CreateCluster but in no update|writeOnly: GetCluster does not return it",
		"Tags":        "readable: operations of the service list the tags|tagging: it contains the tags of the resource",
		"Maintenance": "updatable: only updates set it: UpdateCluster|optional: the service may set a default, because responses have it",
		"RoleArn":     "createOnly: it is in CreateCluster but in no update|optional: the service may set a default, because responses have it|relation to AWS::IAM::Role: the model says that it is the ARN of one",
	} {
		if got := strings.Join(decisions(d.Decisions, property), "|"); got != want {
			t.Errorf("%s: %s\nwant %s", property, got, want)
		}
	}
	if got := decisions(d.Lost, "Secret"); len(got) != 1 || !strings.HasPrefix(got[0], "sensitive") {
		t.Errorf("Secret is sensitive, lost: %v", got)
	}
	s, problems := schema.Load("cluster.json", d.JSON(), schema.Config{Kind: schema.Resource})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	for pointer, want := range map[string]string{
		"Size":    `{"type":"integer","default":3}`,
		"Created": `{"type":"string","format":"date-time"}`,
		"Tags":    `{"type":"object","patternProperties":{".*":{"type":"string"}},"additionalProperties":false}`,
		"RoleArn": `{"type":"string","relationshipRef":{"typeName":"AWS::IAM::Role","propertyPath":"/properties/Arn"}}`,
		"Odd":     `{"type":"object"}`,
	} {
		if got := string(s.Root.Get("properties").Get(pointer).AppendJSON(nil)); got != want {
			t.Errorf("%s: %s\nwant %s", pointer, got, want)
		}
	}
	if got := string(s.Root.Get("definitions").Get("Source").Get("oneOf").AppendJSON(nil)); got != `[{"required":["Snapshot"]},{"required":["Region"]}]` {
		t.Errorf("union: %s", got)
	}
	if got := strings.Join(s.Root.Get("handlers").Get("update").Get("permissions").Strings(), " "); got != "clusters:UpdateCluster clusters:GetCluster clusters:TagResource clusters:UntagResource clusters:ListTagsForResource" {
		t.Errorf("permissions: %s", got)
	}
	if text := s.Root.Get("description").Str(); text != "Makes a cluster. It takes a while." {
		t.Errorf("description: %q", text)
	}
}
