package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// groups is a service as older ones of AWS are: resources are read by lists, updates have new names, tags have calls of their own.
const groups = `$version: "2"
namespace t
use aws.api#service
use aws.auth#sigv4
use aws.protocols#awsQuery
@awsQuery
@sigv4(name: "groups")
@service(sdkId: "Groups", arnNamespace: "groups", endpointPrefix: "groups")
@xmlNamespace(uri: "urn:groups")
service Groups {
    version: "2014-10-31"
    operations: [CreateGroup, DescribeGroups, ModifyGroup, ModifyGroupMode, ModifyGroupMemberCount, DeleteGroup, CreateGroupMember, AddTagsToResource, RemoveTagsFromResource, ListTagsForResource]
}
operation CreateGroup {
    input := { @required GroupName: String, Path: String, Secret: Secret, Rules: Rules, Limits: Limits, Labels: Labels, Owner: String, Tags: TagList }
    output := { Group: Group }
}
operation DescribeGroups {
    input := { GroupName: String, Marker: String }
    output := { Marker: String, Groups: GroupList }
    errors: [GroupNotFoundFault]
}
operation ModifyGroup {
    input := { @required GroupName: String, NewGroupName: String, NewPath: String, Rules: Rules, Limits: Limits, Labels: Labels, Version: String }
    output := { Group: Group }
}
operation ModifyGroupMode {
    input := { @required GroupName: String, Mode: String }
}
operation ModifyGroupMemberCount {
    input := { @required GroupName: String, MemberCount: Integer }
}
operation CreateGroupMember { input := { @required GroupName: String } }
operation DeleteGroup {
    input := { @required GroupName: String }
    errors: [GroupNotFoundFault]
}
operation AddTagsToResource { input := { @required ResourceName: String, @required Tags: TagList } }
operation RemoveTagsFromResource { input := { @required ResourceName: String, @required TagKeys: Names } }
operation ListTagsForResource {
    input := { @required ResourceName: String }
    output := { TagList: TagList }
}
list GroupList { @xmlName("Group") member: Group }
structure Group {
    GroupName: String
    GroupArn: String
    Path: String
    Rules: ReadRules
    Limits: Limits
    @xmlFlattened Labels: Labels
    Owner: OwnerData
    Mode: String
    Version: String
}
structure OwnerData { Name: String }
list Rules { member: Rule }
structure Rule { Name: String, Hint: String }
list ReadRules { member: ReadRule }
structure ReadRule { Name: String }
map Limits { key: String, value: Integer }
list Labels { @xmlName("Label") member: String }
list TagList { @xmlName("Tag") member: Tag }
structure Tag { Key: String, Value: String }
list Names { member: String }
@sensitive string Secret
@error("client")
@httpError(404)
structure GroupNotFoundFault {}
`

// boundTo is the binding of a resource as JSON, with its schema.
func boundTo(t *testing.T, model, resource string) (binding, schema string) {
	t.Helper()
	a := readModel(t, model)
	r := a.Resource(resource)
	if r == nil {
		t.Fatalf("no resource %s, but %v", resource, a.Others)
	}
	d, problems := Derive(a, r, "Acme::T::"+resource, &Settings{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	b, problems := d.Bind()
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_ = json.NewEncoder(&out).Encode(json.RawMessage(d.schema.AppendJSON(nil)))
	return string(text), out.String()
}

// TestBindQuery: a type of a service with awsQuery whose resources are read by a list.
func TestBindQuery(t *testing.T) {
	binding, schema := boundTo(t, groups, "Group")
	for _, want := range []string{
		`"protocol":"awsQuery","version":"2014-10-31"`,
		`"name":"DescribeGroups","method":"POST","path":"/","result":"DescribeGroupsResult"`,
		`"items":["Groups","Group"]`,
		`{"property":"Path","in":"body","at":["NewPath"]`,
		`{"property":"Rules","in":"body","at":["Rules"],"shape":{"kind":"list","item":{"kind":"object","name":"Rule"},"element":"member"},"reset":[]}`,
		`"shape":{"kind":"map","item":{"kind":"integer"},"element":"entry","key":"key","value":"value"}`,
		`{"property":"Labels","in":"body","at":["Labels"],"shape":{"kind":"list","item":{"kind":"string"}}}`, // flat in the response
		`{"property":"Secret","in":"body","at":["Secret"],"shape":{"kind":"string"},"secret":true}`,
		`{"property":"Version","in":"body","at":["Version"],"shape":{"kind":"string"},"required":true,"live":true}`,
		`"at":["Tags","Tag"],"in":"body","form":{"kind":"list","key":"Key","value":"Value"}`,
		`"at":["TagKeys","member"],"in":"body","form":{"kind":"keys"}`,
		`"at":["TagList","Tag"],"in":"body","form":{"kind":"list","key":"Key","value":"Value"}`,
	} {
		if !strings.Contains(binding, want) {
			t.Errorf("the binding lacks %s", want)
		}
	}
	for _, not := range []string{"NewGroupName", "MemberCount"} {
		if strings.Contains(binding, not) {
			t.Errorf("the binding has %s", not)
		}
	}
	for _, want := range []string{
		`"writeOnlyProperties":["/properties/Secret","/properties/Rules/*/Hint","/properties/Owner"]`,
		`"readOnlyProperties":["/properties/Version","/properties/GroupArn"]`,
		`"minProperties":1`,
	} {
		if !strings.Contains(schema, want) {
			t.Errorf("the schema lacks %s:\n%s", want, schema)
		}
	}
}

// TestBindXML: what is in headers, in the host, and in a structure within the response.
func TestBindXML(t *testing.T) {
	binding, schema := boundTo(t, `$version: "2"
namespace t
use aws.api#service
use aws.auth#sigv4
use aws.protocols#restXml
@restXml
@sigv4(name: "keys")
@service(sdkId: "Keys", arnNamespace: "keys", endpointPrefix: "keys")
@xmlNamespace(uri: "urn:keys")
service Keys { version: "1", operations: [CreateKey, GetKey, UpdateKey, DeleteKey] }
@http(method: "POST", uri: "/keys", code: 201)
@endpoint(hostPrefix: "{AccountId}.")
operation CreateKey {
    input := { @required @hostLabel @httpHeader("x-account") AccountId: String, @required @httpPayload @xmlName("KeyConfig") Config: KeyConfig }
    output := { @httpPayload Key: Key }
}
@http(method: "GET", uri: "/keys/{Id}")
@endpoint(hostPrefix: "{AccountId}.")
operation GetKey {
    input := { @required @hostLabel @httpHeader("x-account") AccountId: String, @required @httpLabel Id: String }
    output := { @httpPayload Key: Key, @httpHeader("ETag") ETag: String }
}
@http(method: "PUT", uri: "/keys/{Id}/config")
@endpoint(hostPrefix: "{AccountId}.")
operation UpdateKey {
    input := { @required @hostLabel @httpHeader("x-account") AccountId: String, @required @httpLabel Id: String, @httpHeader("If-Match") IfMatch: String, @required @httpPayload @xmlName("KeyConfig") Config: KeyConfig }
}
@http(method: "DELETE", uri: "/keys/{Id}", code: 204)
@endpoint(hostPrefix: "{AccountId}.")
operation DeleteKey { input := { @required @hostLabel @httpHeader("x-account") AccountId: String, @required @httpLabel Id: String, @httpHeader("If-Match") IfMatch: String } }
structure Key { @required Id: String, KeyConfig: KeyConfig }
structure KeyConfig { @required Name: String, Comment: String, Sizes: Sizes }
map Sizes { key: Size, value: String }
enum Size { SMALL, LARGE }
`, "Key")
	for _, want := range []string{
		`"namespace":"urn:keys"`, `"identifier":["AccountId","Id"]`,
		`"host":"{AccountId}.","root":"KeyConfig"`,
		`{"property":"AccountId","in":"host","at":["AccountId"]`, `{"property":"AccountId","in":"header","at":["x-account"]`,
		`{"property":"Comment","in":"body","at":["KeyConfig","Comment"]`, // in the response
		`{"property":"Comment","in":"body","at":["Comment"]`,             // in the request
		`{"property":"ETag","in":"header","at":["ETag"],"shape":{"kind":"string"}}`,
		`{"property":"ETag","in":"header","at":["If-Match"],"shape":{"kind":"string"},"required":true,"live":true}`,
	} {
		if !strings.Contains(binding, want) {
			t.Errorf("the binding lacks %s:\n%s", want, binding)
		}
	}
	for _, want := range []string{`"readOnlyProperties":["/properties/Id","/properties/ETag"]`, `"^(SMALL|LARGE)$"`} {
		if !strings.Contains(schema, want) {
			t.Errorf("the schema lacks %s:\n%s", want, schema)
		}
	}
}

// TestOrderInXML: a request has its elements in the order of the model, wherever the identifier is.
func TestOrderInXML(t *testing.T) {
	binding, _ := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restXml
@restXml
service Keys { version: "1", operations: [CreateKey, GetKey, DeleteKey] }
@http(method: "POST", uri: "/keys", code: 201)
operation CreateKey { input := { @required @httpPayload Config: KeyConfig } }
@readonly
@http(method: "GET", uri: "/keys/{Id}")
operation GetKey { input := { @required @httpLabel Id: String }, output := { @httpPayload Key: KeyConfig } }
@idempotent
@http(method: "DELETE", uri: "/keys/{Id}", code: 204)
operation DeleteKey { input := { @required @httpLabel Id: String } }
structure KeyConfig { Size: String, @required Id: String, Comment: String }
`, "Key")
	create, _, _ := strings.Cut(binding, `"read":`)
	last := -1
	for _, name := range []string{"Size", "Id", "Comment"} {
		at := strings.Index(create, `{"property":"`+name+`","in":"body"`)
		if at <= last {
			t.Errorf("%s is missing, or before others:\n%s", name, create)
		}
		last = at
	}
}

// TestBindHosts: every operation sends what its host has, those that list and tag, too.
func TestBindHosts(t *testing.T) {
	binding, _ := boundTo(t, strings.ReplaceAll(`$version: "2"
namespace t
use aws.api#service
use aws.auth#sigv4
use aws.protocols#restJson1
@restJson1
@sigv4(name: "boxes")
@service(sdkId: "Boxes", arnNamespace: "boxes", endpointPrefix: "boxes")
service Boxes { version: "1", operations: [CreateBox, GetBox, DeleteBox, ListBoxes, TagResource, UntagResource, ListTagsForResource] }
@http(method: "POST", uri: "/boxes", code: 201)
@endpoint(hostPrefix: "{AccountId}.")
operation CreateBox { input := { ACCOUNT, @required Name: String, Tags: Tags }, output := { Id: String, Arn: String } }
@readonly
@http(method: "GET", uri: "/boxes/{Id}")
@endpoint(hostPrefix: "{AccountId}.")
operation GetBox { input := { ACCOUNT, @required @httpLabel Id: String }, output := { Id: String, Arn: String, Name: String } }
@http(method: "DELETE", uri: "/boxes/{Id}", code: 204)
@endpoint(hostPrefix: "{AccountId}.")
operation DeleteBox { input := { ACCOUNT, @required @httpLabel Id: String } }
@readonly
@http(method: "GET", uri: "/boxes")
@endpoint(hostPrefix: "{AccountId}.")
operation ListBoxes { input := { ACCOUNT }, output := { Boxes: BoxList } }
@http(method: "POST", uri: "/tags/{ResourceArn}")
@endpoint(hostPrefix: "{AccountId}.")
operation TagResource { input := { ACCOUNT, @required @httpLabel ResourceArn: String, @required Tags: Tags } }
@http(method: "DELETE", uri: "/tags/{ResourceArn}")
@endpoint(hostPrefix: "{AccountId}.")
operation UntagResource { input := { ACCOUNT, @required @httpLabel ResourceArn: String, @required @httpQuery("keys") TagKeys: Keys } }
@http(method: "GET", uri: "/tags/{ResourceArn}")
@endpoint(hostPrefix: "{AccountId}.")
operation ListTagsForResource { input := { ACCOUNT, @required @httpLabel ResourceArn: String }, output := { Tags: Tags } }
structure Box { Id: String, Name: String }
list BoxList { member: Box }
list Keys { member: String }
map Tags { key: String, value: String }
`, "ACCOUNT", `@required @hostLabel @httpHeader("x-account") AccountId: String`), "Box")
	hosts, sent := strings.Count(binding, `"host":"{AccountId}."`), strings.Count(binding, `{"property":"AccountId","in":"host","at":["AccountId"]`)
	if hosts != 7 || sent != hosts {
		t.Errorf("%d operations have a host, %d send its label:\n%s", hosts, sent, binding)
	}
}

// TestAttributes: what is an attribute in XML is refused by name.
func TestAttributes(t *testing.T) {
	a := readModel(t, strings.Replace(groups, "structure Rule {", "structure Rule { @xmlAttribute Kind: String,", 1))
	d, problems := Derive(a, a.Resource("Group"), "Acme::T::Group", &Settings{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	_, problems = d.Bind()
	if !problems.HasErrors() || !strings.Contains(fmt.Sprint(problems.Err()), "Kind is an attribute in XML, which clients cannot send") {
		t.Error(problems)
	}
}

// derived is the type of a resource of groups, after the replacements.
func derived(t *testing.T, resource, settings string, replacements ...string) *Derived {
	t.Helper()
	a := readModel(t, strings.NewReplacer(replacements...).Replace(groups))
	s, problems := ParseSettings("s.yaml", []byte(settings))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	d, problems := Derive(a, a.Resource(resource), "Acme::Test::"+resource, s)
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return d
}

// TestNoProtocol: the message does not end in an empty name.
func TestNoProtocol(t *testing.T) {
	_, problems := derived(t, "Group", "", "@awsQuery\n", "", "@sigv4(name: \"groups\")\n", "").Bind()
	if !problems.HasErrors() || !strings.Contains(problems.Err().Error(), "the service has no protocol") {
		t.Error(problems)
	}
}

// TestVersionsOfOtherThings: a version is the revision only of the resource.
func TestVersionsOfOtherThings(t *testing.T) {
	d := derived(t, "Group", "", "Version: String", "Version: String, EngineVersion: String")
	for _, p := range d.Properties {
		if p.Revision != (p.Name == "Version") {
			t.Errorf("%s is a revision: %v", p.Name, p.Revision)
		}
	}
}

// TestReadThatEndsInS: the settings name an operation that returns one resource, which has a list.
func TestReadThatEndsInS(t *testing.T) {
	const status = "operation GetGroupStatus {\n input := { @required GroupName: String }\n output := { GroupName: String, Path: String, Rules: ReadRules }\n}\n"
	for read, among := range map[string]string{"GetGroupStatus": "", "DescribeGroups": "Groups"} {
		d := derived(t, "Group", "operations: {read: "+read+"}", "DescribeGroups,", "DescribeGroups, GetGroupStatus,", "operation DeleteGroup ", status+"operation DeleteGroup ")
		if d.Resource.Among != among {
			t.Errorf("%s returns several in %q", read, d.Resource.Among)
		}
	}
}

// TestManyLackingMembers: structures that contain themselves in many ways are compared in little time.
func TestManyLackingMembers(t *testing.T) {
	var create, read strings.Builder
	for i := range 60 {
		fmt.Fprintf(&create, "M%d: Tree ", i)
		fmt.Fprintf(&read, "M%d: ReadTree ", i)
	}
	d := derived(t, "Group", "", "Path: String, Secret", "Path: String, Tree: Tree, Secret",
		"    GroupArn: String\n    Path: String\n", "    GroupArn: String\n    Path: String\n    Tree: ReadTree\n",
		"structure OwnerData ", "structure Tree { Leaf: String "+create.String()+"}\nstructure ReadTree { "+read.String()+"}\nstructure OwnerData ")
	if out := string(d.JSON()); !strings.Contains(strings.Join(strings.Fields(out), ""), `"/properties/Tree"`) {
		t.Error("the tree is not write-only as a whole")
	}
}

// TestBindOddNames: requests name the resource otherwise than responses and its shape, and one token is the identifier. What
// create requires is a property although it is marked as none; binary values are as long as their Base64.
func TestBindOddNames(t *testing.T) {
	binding, schema := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Plans { version: "1", operations: [CreatePlan, GetPlan, UpdatePlan, UpdatePlanPart, DeletePlan] }
@http(method: "PUT", uri: "/plans", code: 201)
operation CreatePlan {
    input := { @required @notProperty sourceId: String, @required data: Data, @httpQuery("owner") owner: String, size: Integer, @idempotencyToken @required token: String }
    output := { planArn: Arn }
}
@readonly
@http(method: "GET", uri: "/plans/{planIdentifier}")
operation GetPlan { input := { @required @httpLabel planIdentifier: PlanId, @httpQuery("owner") owner: String }, output := { planId: String, planArn: Arn, size: Integer, owner: String } }
@http(method: "POST", uri: "/plans")
operation UpdatePlan { input := { @required planIdentifier: String, @httpQuery("owner") owner: String, size: Integer } }
@http(method: "POST", uri: "/plans/{planIdentifier}/parts/{partId}")
operation UpdatePlanPart { input := { @required @httpLabel planIdentifier: String, @required @httpLabel partId: String, size: Integer, weight: Integer } }
@idempotent
@http(method: "DELETE", uri: "/plans", code: 204)
operation DeletePlan { input := { @required @idempotencyToken @httpQuery("id") planIdentifier: String } }
string Arn
@pattern("^plan-[0-9]+$")
string PlanId
@length(min: 1, max: 4)
blob Data
`, "Plan")
	for _, want := range []string{
		`"identifier":["PlanArn"]`, // create does not return PlanId
		`"send":[{"property":"PlanArn","in":"path","at":["planIdentifier"]`,
		`"send":[{"property":"PlanArn","in":"body","at":["planIdentifier"]`,
		`"send":[{"property":"PlanArn","in":"query","at":["id"]`,
		`"property":"SourceId","in":"body"`,
		`"find":{"by":"token"`,
		`"409":"AlreadyExists"`,
	} {
		if !strings.Contains(binding, want) {
			t.Errorf("the binding does not contain %s:\n%s", want, binding)
		}
	}
	if strings.Contains(binding, "UpdatePlanPart") {
		t.Errorf("a part is an update of the resource:\n%s", binding)
	}
	for _, want := range []string{
		`"PlanArn":{"type":"string","pattern":"^plan-[0-9]+$"}`, `"minLength":4,"maxLength":8`, `"required":["SourceId","Data"]`,
		`"createOnlyProperties":["/properties/Owner","/properties/SourceId","/properties/Data"]`,
	} {
		if !strings.Contains(schema, want) {
			t.Errorf("the schema does not contain %s:\n%s", want, schema)
		}
	}
}

// TestErrorsOfCreate: what exists already has another name in each service.
func TestErrorsOfCreate(t *testing.T) {
	for _, test := range []struct{ errors, want string }{
		{"ResourceInUseException", `"ResourceInUseException":"AlreadyExists"`},
		{"JobInUse", `"JobInUse":"AlreadyExists"`},
		{"SubnetInUse", `"SubnetInUse":"ResourceConflict"`},
		{"ResourceInUseException, TagsAlreadyExist", `"ResourceInUseException":"AlreadyExists"`},
		{"ResourceInUseException, JobAlreadyExists", `"ResourceInUseException":"ResourceConflict"`},
	} {
		var shapes string
		for _, name := range strings.Split(test.errors, ", ") {
			shapes += "@error(\"client\")\nstructure " + name + " {}\n"
		}
		binding, _ := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Jobs { version: "1", operations: [CreateJob, GetJob, DeleteJob] }
@http(method: "POST", uri: "/jobs", code: 201)
operation CreateJob { input := { @required name: String }, errors: [`+test.errors+`] }
@readonly
@http(method: "GET", uri: "/jobs/{name}")
operation GetJob { input := { @required @httpLabel name: String }, output := { name: String } }
@idempotent
@http(method: "DELETE", uri: "/jobs/{name}", code: 204)
operation DeleteJob { input := { @required @httpLabel name: String } }
`+shapes, "Job")
		if !strings.Contains(binding, test.want) {
			t.Errorf("%s: the binding does not contain %s:\n%s", test.errors, test.want, binding)
		}
	}
}

// TestCreateThatReplaces: a token does not say whether a Put makes a resource or replaces one.
func TestCreateThatReplaces(t *testing.T) {
	binding, _ := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Rules { version: "1", operations: [PutRule, GetRule, DeleteRule] }
@idempotent
@http(method: "PUT", uri: "/rules/{name}")
operation PutRule { input := { @required @httpLabel name: String, size: Integer, @idempotencyToken token: String } }
@readonly
@http(method: "GET", uri: "/rules/{name}")
operation GetRule { input := { @required @httpLabel name: String }, output := { name: String, size: Integer } }
@idempotent
@http(method: "DELETE", uri: "/rules/{name}", code: 204)
operation DeleteRule { input := { @required @httpLabel name: String } }
`, "Rule")
	if !strings.Contains(binding, `"find":{"by":"identifier"`) {
		t.Errorf("the first call does not look:\n%s", binding)
	}
}

// TestPutIsAnUpdate: a Put replaces what exists, if its request says which resource is meant.
func TestPutIsAnUpdate(t *testing.T) {
	for _, test := range []struct {
		name, put, created string
		has                []string // in the binding or the schema
		hasNot             []string
	}{
		{name: "chosen name", put: "@required name: String, size: Integer, tags: Tags",
			has: []string{`"update":[{"name":"PutRule"`, `"changes":["Size"]`, `"createOnlyProperties":["/properties/Name","/properties/Tags"]`, `"find":{"by":"identifier"`}},
		{name: "name that no response has", put: "rule: Rule", has: []string{`"update":[{"name":"PutRule"`, `"required":["Name"]`, `"find":{"by":"identifier"`}},
		{name: "made identifier and revision", put: "@required rule: Rule", created: "rule: Rule",
			has:    []string{`"readOnlyProperties":["/properties/Name","/properties/UpdateToken"]`, `"property":"UpdateToken","in":"body","at":["rule","updateToken"],"shape":{"kind":"string"},"required":true,"live":true`},
			hasNot: []string{`"createOnlyProperties"`}},
		{name: "no identifier in the request", put: "size: Integer", created: "rule: Rule", hasNot: []string{`"update"`}},
		{name: "the request says whether it replaces", put: "@required name: String, size: Integer, overwrite: Boolean", hasNot: []string{`"update"`}},
	} {
		binding, schema := boundTo(t, `$version: "2"
namespace t
use aws.protocols#awsJson1_1
@awsJson1_1
service Rules { version: "1", operations: [PutRule, GetRule, DeleteRule, TagResource, UntagResource] }
operation PutRule { input := { `+test.put+` }, output := { `+test.created+` } }
@readonly
operation GetRule { input := { @required name: String }, output := { rule: Rule } }
@idempotent
operation DeleteRule { input := { @required name: String } }
operation TagResource { input := { @required resourceArn: String, @required tags: Tags } }
operation UntagResource { input := { @required resourceArn: String, @required tagKeys: Keys } }
structure Rule { name: String, size: Integer, updateToken: String }
map Tags { key: String, value: String }
list Keys { member: String }
`, "Rule")
		text := binding + strings.ReplaceAll(schema, " ", "")
		for _, want := range test.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %s in\n%s", test.name, want, text)
			}
		}
		for _, wrong := range test.hasNot {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: there is %s in\n%s", test.name, wrong, text)
			}
		}
	}
}

// TestPutWithTwoNames: a Put that has the identifier twice sends both, as an update, too.
func TestPutWithTwoNames(t *testing.T) {
	binding, _ := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Rules { version: "1", operations: [PutRule, GetRule, DeleteRule] }
@idempotent
@http(method: "PUT", uri: "/rules")
operation PutRule { input := { @required @httpQuery("id") id: String, @required @httpPayload rule: Rule } }
@readonly
@http(method: "GET", uri: "/rules")
operation GetRule { input := { @required @httpQuery("id") id: String }, output := { @httpPayload rule: Rule } }
@idempotent
@http(method: "DELETE", uri: "/rules", code: 204)
operation DeleteRule { input := { @required @httpQuery("id") id: String } }
structure Rule { @required id: String, size: Integer }
`, "Rule")
	_, update, _ := strings.Cut(binding, `"update":`)
	for _, want := range []string{`"property":"Id","in":"query"`, `"property":"Id","in":"body","at":["id"]`} {
		if !strings.Contains(update, want) {
			t.Errorf("there is no %s in\n%s", want, update)
		}
	}
}

const groupsAndPlans = `$version: "2"
namespace t
use aws.protocols#awsJson1_1
@awsJson1_1
service Groups { version: "1", operations: [CreateGroup, GetGroup, UpdateGroup, UpdateGroupView, DeleteGroup, CreatePlan, GetPlan, UpdatePlan, DeletePlan] }
operation CreateGroup { input := { @required name: String, size: Integer, taints: Names, view: ViewData } }
operation GetGroup { input := { @required name: String }, output := { name: String, size: Integer, taints: Names, view: ViewData } }
operation UpdateGroup { input := { @required name: String, size: Integer, taints: Taints } }
operation UpdateGroupView { input := { @required name: String, @required view: ViewData } }
operation DeleteGroup { input := { @required name: String } }
operation CreatePlan { input := { @required plan: PlanData } }
operation GetPlan { input := { @required planName: String }, output := { plan: PlanData } }
operation UpdatePlan { input := { @required newPlan: PlanData } }
operation DeletePlan { input := { @required planName: String } }
list Names { member: String }
structure Taints { add: Names, remove: Names }
structure ViewData { title: String, text: String }
structure PlanData { @required planName: String, limit: Integer }
`

// TestFormsOfUpdates: an update that takes a property in another form does not update it, one with the resource in a structure as
// create has it does, and a structure that create has beside other members is a property.
func TestFormsOfUpdates(t *testing.T) {
	binding, schema := boundTo(t, groupsAndPlans, "Group")
	for _, want := range []string{`"changes":["Size"]`, `"changes":["View"]`} {
		if !strings.Contains(binding, want) {
			t.Errorf("there is no %s in\n%s", want, binding)
		}
	}
	if want := `"createOnlyProperties":["/properties/Name","/properties/Taints"]`; !strings.Contains(strings.ReplaceAll(schema, " ", ""), want) {
		t.Errorf("there is no %s in\n%s", want, schema)
	}
	plan, _ := boundTo(t, groupsAndPlans, "Plan")
	if want := `"at":["newPlan","limit"]`; !strings.Contains(plan, want) {
		t.Errorf("there is no %s in\n%s", want, plan)
	}
}

// TestScopeThatIsNoResource: what a resource is in may be no resource itself, because its read needs no name.
func TestScopeThatIsNoResource(t *testing.T) {
	_, schema := boundTo(t, `$version: "2"
namespace t
use aws.protocols#awsJson1_1
@awsJson1_1
service Events { version: "1", operations: [CreateBus, DescribeBus, DeleteBus, PutRule, DescribeRule, DeleteRule] }
operation CreateBus { input := { @required name: String } }
operation DescribeBus { input := { name: String }, output := { name: String } }
operation DeleteBus { input := { @required name: String } }
operation PutRule { input := { @required name: String, busName: String, roleName: String, state: String } }
operation DescribeRule { input := { @required name: String, busName: String, roleName: String }, output := { name: String, busName: String, state: String } }
operation DeleteRule { input := { @required name: String, busName: String, roleName: String } }
`, "Rule")
	if want := `"primaryIdentifier":["/properties/BusName","/properties/Name"]`; !strings.Contains(strings.ReplaceAll(schema, " ", ""), want) {
		t.Errorf("there is no %s in\n%s", want, schema)
	}
}

// TestWithinUnions: members within a union, too, are create-only and write-only.
func TestWithinUnions(t *testing.T) {
	_, schema := boundTo(t, `$version: "2"
namespace t
use aws.protocols#awsJson1_1
@awsJson1_1
service Jobs { version: "1", operations: [CreateJob, GetJob, UpdateJob, DeleteJob] }
operation CreateJob { input := { @required name: String, source: Source } }
operation GetJob { input := { @required name: String }, output := { name: String, source: SourceDetail } }
operation UpdateJob { input := { @required name: String, source: SourceChange } }
operation DeleteJob { input := { @required name: String } }
union Source { http: HTTPSource, file: String }
structure HTTPSource { url: String, port: Integer, password: String }
union SourceDetail { http: HTTPDetail, file: String }
structure HTTPDetail { url: String, port: Integer }
union SourceChange { http: HTTPChange, file: String }
structure HTTPChange { port: Integer, password: String }
`, "Job")
	for _, want := range []string{`"createOnlyProperties":["/properties/Name","/properties/Source/Http/Url"]`, `"writeOnlyProperties":["/properties/Source/Http/Password"]`} {
		if !strings.Contains(strings.ReplaceAll(schema, " ", ""), want) {
			t.Errorf("there is no %s in\n%s", want, schema)
		}
	}
}

func TestOnlyARN(t *testing.T) {
	for pattern, want := range map[string]bool{
		"^arn:aws:x:.*$": true, "arn:.*": true, "^(arn:aws:x:.*)$": true, "^arn:aws(-[a-z]+)?:x:.*$": true,
		"": false, "^[a-z]+$": false, "^(arn:(aws[a-zA-Z-]*)?:lambda:)?[a-z]+$": false, "^(arn:aws:.*|[a-z]+)$": false,
	} {
		if got := onlyARN(pattern); got != want {
			t.Errorf("%q: %t", pattern, got)
		}
	}
}

// TestIdentifierByItsPattern: of several members that may be the identifier, it is the one with the pattern that the read wants; an
// ARN, if only an ARN is taken.
func TestIdentifierByItsPattern(t *testing.T) {
	model := `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Snaps { version: "1", operations: [CreateGraphSnap, GetGraphSnap, DeleteGraphSnap] }
@http(method: "POST", uri: "/snaps", code: 201)
operation CreateGraphSnap { input := { @required snapName: String, limits: Limits }, output := { id: SnapId, arn: SnapArn, snapName: String } }
@readonly
@http(method: "GET", uri: "/snaps/{snapIdentifier}")
operation GetGraphSnap { input := { @required @httpLabel snapIdentifier: TAKEN }, output := { id: SnapId, arn: SnapArn, snapName: String, limits: Limits } }
@idempotent
@http(method: "DELETE", uri: "/snaps/{snapIdentifier}", code: 204)
operation DeleteGraphSnap { input := { @required @httpLabel snapIdentifier: TAKEN } }
@pattern("^gs-[a-z0-9]{10}$")
string SnapId
string SnapArn
@pattern("^arn:aws:snaps:.*$")
string TakenArn
map Limits { key: Word, value: Integer }
@length(min: 3, max: 9)
string Word
`
	binding, schema := boundTo(t, strings.ReplaceAll(model, "TAKEN", "SnapId"), "GraphSnap")
	if want := `"identifier":["Id"]`; !strings.Contains(binding, want) {
		t.Errorf("the binding does not contain %s:\n%s", want, binding)
	}
	if want := `{"^.{3,9}$":`; !strings.Contains(schema, want) {
		t.Errorf("the schema does not contain %s:\n%s", want, schema)
	}
	if binding, _ = boundTo(t, strings.ReplaceAll(model, "TAKEN", "TakenArn"), "GraphSnap"); !strings.Contains(binding, `"identifier":["Arn"]`) {
		t.Errorf("the identifier is not the ARN:\n%s", binding)
	}
}

// TestNumbersThatIdentify: identifiers are texts that the service can read as numbers of its size. The path of an update may have
// another name for them than that of the read.
func TestNumbersThatIdentify(t *testing.T) {
	for kind, want := range map[string]string{"Integer": `^(0|[1-9][0-9]{0,8})$`, "Long": `^(0|[1-9][0-9]{0,14})$`} {
		binding, schema := boundTo(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Turns { version: "1", operations: [CreateTurn, GetTurn, UpdateTurn, DeleteTurn] }
@http(method: "POST", uri: "/turns", code: 201)
operation CreateTurn { input := { size: Integer }, output := { number: `+kind+` } }
@readonly
@http(method: "GET", uri: "/turns/{turnNumber}")
operation GetTurn { input := { @required @httpLabel turnNumber: `+kind+` }, output := { number: `+kind+`, size: Integer } }
@http(method: "PATCH", uri: "/turns/{number}")
operation UpdateTurn { input := { @required @httpLabel number: `+kind+`, size: Integer } }
@idempotent
@http(method: "DELETE", uri: "/turns/{number}", code: 204)
operation DeleteTurn { input := { @required @httpLabel number: `+kind+` } }
`, "Turn")
		if !strings.Contains(schema, want) {
			t.Errorf("%s: the schema does not contain %s:\n%s", kind, want, schema)
		}
		if want := `"path":"/turns/{number}","send":[{"property":"Number","in":"path","at":["number"]`; !strings.Contains(binding, want) {
			t.Errorf("%s: the binding does not contain %s:\n%s", kind, want, binding)
		}
	}
}

// TestUnknownInRequests: handlers that would lack what read or delete require are not generated.
func TestUnknownInRequests(t *testing.T) {
	a := readModel(t, `$version: "2"
namespace t
use aws.protocols#restJson1
@restJson1
service Sets { version: "1", operations: [CreateSet, GetSet, DeleteSet] }
@http(method: "POST", uri: "/sets", code: 201)
operation CreateSet { input := { @required changeToken: String }, output := { id: String } }
@readonly
@http(method: "GET", uri: "/sets/{id}")
operation GetSet { input := { @required @httpLabel id: String }, output := { id: String } }
@http(method: "DELETE", uri: "/sets/{id}", code: 204)
operation DeleteSet { input := { @required @httpLabel id: String, @required @httpQuery("token") changeToken: String } }
`)
	d, _ := Derive(a, a.Resource("Set"), "Acme::T::Set", &Settings{})
	_, problems := d.Bind()
	if want := "DeleteSet requires changeToken, which is no identifier and in no response of GetSet"; problems == nil || !strings.Contains(problems.Err().Error(), want) {
		t.Errorf("got %v, want %s", problems, want)
	}
}
