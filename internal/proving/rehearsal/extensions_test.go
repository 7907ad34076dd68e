package rehearsal

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
)

// needHandlers skips a test where handlers do not run.
func needHandlers(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	if err := sandbox.Check(); err != nil {
		t.Skip(err)
	}
}

// loop is a handler: answer(event) returns what it answers.
const loop = `#!/usr/bin/env python3
import json, os, urllib.request
base = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
%s
while True:
    with urllib.request.urlopen(base + "next") as call:
        request, event = call.headers["Lambda-Runtime-Aws-Request-Id"], json.load(call)
    urllib.request.urlopen(base + request + "/response", json.dumps(answer(event)).encode())
`

// noSpam is a hook that refuses the word spam.
const noSpam = `
def answer(event):
    said = {"hookStatus": "SUCCESS", "message": "fine", "clientRequestToken": event.get("clientRequestToken")}
    value = (event["requestData"].get("targetModel") or {}).get("resourceProperties", {}).get("Value", "")
    if "crash" in value:
        os._exit(3)
    if "spam" in value:
        said.update(hookStatus="FAILED", errorCode="NonCompliant", message="no spam: " + value)
    return said
`

const hookSchema = `{"typeName": "Acme::No::Spam", "description": "d", "additionalProperties": false, "typeConfiguration": {"additionalProperties": false, "properties": {}},
	"handlers": {"preCreate": {"targetNames": ["AWS::SSM::Parameter"], "permissions": []}, "preUpdate": {"targetNames": ["AWS::SSM::Parameter"], "permissions": []}}}`

// boxes is a type whose handler knows a resource from its identifier if that begins with box-a; the others it has in memory. Some sizes are refused.
const boxes = `
made = set()
def answer(event):
    data = event["requestData"]
    model = data["resourceProperties"] or {}
    action, name = event["action"], model.get("Name", "")
    if action == "READ" and not name.startswith("box-a") and name not in made:
        return {"status": "FAILED", "errorCode": "NotFound", "message": name + " does not exist"}
    if model.get("Size") == "huge":
        return {"status": "FAILED", "errorCode": "InvalidRequest", "message": "huge is too large"}
    if model.get("Size", "") == "remote" or model.get("Size", "").startswith("http:"):
        try:
            reply = urllib.request.urlopen(model["Size"].replace("remote", "http://sizes.example.com/size"), timeout=5).read().decode()
        except Exception as err:
            return {"status": "FAILED", "errorCode": "NetworkFailure", "message": str(err)[:100]}
        model["Found"] = reply
    if action == "UPDATE":
        before = (data.get("previousResourceProperties") or {}).get("Size")
        if before == "large":
            return {"status": "FAILED", "errorCode": "InvalidRequest", "message": "a large box does not shrink"}
    if action == "DELETE":
        return {"status": "SUCCESS"}
    made.add(name)
    model.setdefault("Size", "small")
    return {"status": "SUCCESS", "resourceModel": model}
`

const boxSchema = `{"typeName": "Acme::Own::Box", "description": "d", "additionalProperties": false, "properties": {"Name": {"type": "string"}, "Size": {"type": "string"}, "Found": {"type": "string"}},
	"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"], "readOnlyProperties": ["/properties/Found"], "required": ["Name"], "tagging": {"taggable": false},
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`

// pack makes the package of an extension with a handler in Python.
func pack(t *testing.T, kind schema.Kind, text, handler string) *submit.Request {
	t.Helper()
	s, problems := schema.Load("schema.json", []byte(text), schema.Config{Kind: kind})
	if s == nil {
		t.Fatal(problems.Err())
	}
	name := s.TypeName.Value
	settings := fmt.Sprintf(`{"artifact_type": %q, "typeName": %q, "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`, kind, name)
	files := map[string]string{".rpdk-config": settings, "schema.json": text}
	files["ResourceProvider.zip"] = string(zipped(t, map[string]string{"bootstrap": fmt.Sprintf(loop, handler)}))
	return &submit.Request{Kind: kind, TypeName: name, Schema: s, Archive: zipped(t, files)}
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// register registers an extension in an account, and turns a hook on.
func (p *place) register(account string, request *submit.Request) {
	p.t.Helper()
	remote := p.remote(account)
	token, err := remote.Register(p.t.Context(), *request)
	if err == nil {
		_, err = remote.Wait(p.t.Context(), token, settleLimit, nil)
	}
	if err == nil && request.Kind == schema.Hook {
		_, err = remote.CloudFormation().SetTypeConfiguration(p.t.Context(), &cloudformation.SetTypeConfigurationInput{
			Type: types.ThirdPartyTypeHook, TypeName: &request.TypeName, Configuration: aws.String(everywhere), ConfigurationAlias: aws.String("default"),
		})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

const box = `{"Type": "Acme::Own::Box", "Properties": {"Name": "box-%s", "Size": "%s"}}`

func boxOf(name, size string) string { return fmt.Sprintf(box, name, size) }

// TestExtensions: with hooks and handlers, what the rehearsal says is what the engine then does, for each failure.
func TestExtensions(t *testing.T) {
	needHandlers(t)
	p := newPlace(t)
	both := []*submit.Request{pack(t, schema.Hook, hookSchema, noSpam), pack(t, schema.Resource, boxSchema, boxes)}
	compared := 0
	for i, test := range []struct {
		name, before, after string
		status, reason      string
	}{
		{"hook-passes", `"A": ` + of(param, "1"), `"A": ` + of(param, "2") + `, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "3"}}`, "UPDATE_COMPLETE", ""},
		{"hook-refuses", `"A": ` + of(param, "1"), `"A": ` + of(param, "2") + `, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "spam"}}`, "UPDATE_ROLLBACK_COMPLETE", "B: the hook Acme::No::Spam refuses it"},
		{"hook-in-nested", `"Net": ` + of(nested, "@one@"), `"Net": ` + of(nested, "@spam@"), "UPDATE_ROLLBACK_COMPLETE", "Net.C: the hook Acme::No::Spam refuses it"},
		{"handler-updates", `"A": ` + boxOf("a", "small"), `"A": ` + boxOf("a", "medium") + `, "B": {"Type": "Acme::Own::Box", "DependsOn": "A", "Properties": {"Name": "box-b"}}`, "UPDATE_COMPLETE", ""},
		{"handler-refuses", `"A": ` + boxOf("a", "small") + `, "P": ` + of(param, "1"), `"A": {"Type": "Acme::Own::Box", "DependsOn": "P", "Properties": {"Name": "box-a", "Size": "huge"}}, "P": ` + of(param, "2"), "UPDATE_ROLLBACK_COMPLETE", "A: "},
		// The handler does not set a size back: only running it shows that.
		{"handler-stuck", `"A": ` + boxOf("a", "small"), `"A": ` + boxOf("a", "large") + `, "P": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "spam"}}`, "UPDATE_ROLLBACK_FAILED", "P: the hook Acme::No::Spam refuses it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := p.in(t)
			before, after := `{"Resources": {`+test.before+`}}`, `{"Resources": {`+test.after+`}}`
			account := func(n int) string { return fmt.Sprintf("%012d", 700_000+i*100+n) }
			for _, request := range both {
				p.register(account(0), request)
			}
			if status := p.deploy(account(0), test.name, before, false); status != types.StackStatusCreateComplete {
				t.Fatal(status)
			}
			report := p.rehearse(account(0), test.name, after, func(c *Config) { c.Extensions = both })
			if report.Status != test.status || !strings.HasPrefix(report.Reason, test.reason) || report.Skipped > 0 {
				t.Fatalf("%+v", report)
			}
			for _, e := range report.Extensions {
				if !e.Runs && e.Reason != unused {
					t.Errorf("%+v", e)
				}
			}
			for n, f := range append([]Failure{{Status: report.Status, Left: report.Left, Lost: report.Lost}}, report.Failures...) {
				for _, request := range both {
					p.register(account(n+1), request)
				}
				p.compare(account(n+1), test.name, before, after, &f)
			}
			compared += len(report.Failures) + 1
			written(t, report)
		})
	}
	t.Logf("%d updates compared", compared)
}

// TestOffline: a handler that cannot run here is not run, and the report says why: what it calls is on no recording, it does not know
// the resource that is deployed, it crashes, or its hook is elsewhere.
func TestOffline(t *testing.T) {
	needHandlers(t)
	p := newPlace(t)
	box, spam := pack(t, schema.Resource, boxSchema, boxes), pack(t, schema.Hook, hookSchema, noSpam)
	const recording = `{"httptape":1,"typeName":"Acme::Own::Box"}` + "\n" + `{"method":"GET","url":"http://sizes.example.com/size","status":200,"body":"xxl"}` + "\n"
	account := func(n int) string { return fmt.Sprintf("%012d", 710_000+n) }
	before := `{"Resources": {"A": ` + boxOf("a", "small") + `}}`
	for i, test := range []struct {
		name, before, after string
		extensions          []*submit.Request
		recordings          []string
		runs                bool
		status, reason      string
	}{
		{"no recording", before, `{"Resources": {"A": ` + boxOf("a", "remote") + `}}`, []*submit.Request{box}, nil, false, "UPDATE_COMPLETE", "its handler failed in UPDATE of A: NetworkFailure: "},
		{"a recording", before, `{"Resources": {"A": ` + boxOf("a", "remote") + `}}`, []*submit.Request{box}, []string{recording}, true, "UPDATE_COMPLETE", ""},
		{
			"another recording", before, `{"Resources": {"A": ` + boxOf("a", "remote") + `}}`, []*submit.Request{box}, []string{`{"httptape":1}`, `{"httptape":1}`}, false, "UPDATE_COMPLETE",
			"the recording has no answer to GET http://sizes.example.com/size, which its handler calls in UPDATE of A",
		},
		{"unknown here", `{"Resources": {"A": ` + boxOf("z", "small") + `}}`, `{"Resources": {"A": ` + boxOf("z", "huge") + `}}`, []*submit.Request{box}, nil, false, "UPDATE_COMPLETE", "its handler does not know A: "},
		{"no start", before, `{"Resources": {"A": ` + boxOf("a", "huge") + `}}`, []*submit.Request{pack(t, schema.Resource, boxSchema, "raise SystemExit(1)")}, nil, false, "UPDATE_COMPLETE", "it could not be registered: "},
		{"unused", `{"Resources": {"P": ` + of(param, "1") + `}}`, `{"Resources": {"P": ` + of(param, "2") + `}}`, []*submit.Request{box}, nil, false, "UPDATE_COMPLETE", unused},
		{"a crash", before, `{"Resources": {"A": ` + boxOf("a", "small") + `, "P": ` + of(param, "crash") + `}}`, []*submit.Request{spam}, nil, false, "UPDATE_COMPLETE", "its handler failed: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := p.in(t)
			p.register(account(i), box)
			if status := p.deploy(account(i), "s", test.before, false); status != types.StackStatusCreateComplete {
				t.Fatal(status)
			}
			r := p.rehearse(account(i), "s", test.after, func(c *Config) {
				c.Extensions = test.extensions
				for _, text := range test.recordings {
					tape, err := httptape.Read(strings.NewReader(text))
					if err != nil {
						t.Fatal(err)
					}
					c.Recordings = append(c.Recordings, tape)
				}
			})
			if r.Status != test.status || len(r.Extensions) != 1 || r.Extensions[0].Runs != test.runs || !strings.HasPrefix(r.Extensions[0].Reason, test.reason) {
				t.Errorf("%+v", r)
			}
			if all := written(t, r); !test.runs && !strings.Contains(all, test.reason) {
				t.Error(all)
			}
		})
	}
	// Neither a service of this machine nor the proxy of the user is reached.
	var reached atomic.Int64
	machine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer machine.Close()
	r := p.rehearse(account(1), "s", `{"Resources": {"A": `+boxOf("a", machine.URL)+`, "B": `+boxOf("b", "remote")+`}}`, func(c *Config) {
		c.Extensions, c.Base.Environ = []*submit.Request{box}, append(c.Base.Environ, "HTTP_PROXY="+machine.URL, "http_proxy="+machine.URL)
	})
	if reached.Load() > 0 || r.Extensions[0].Runs || !r.Succeeds() {
		t.Errorf("%d requests: %+v", reached.Load(), r)
	}
	// The handlers of the account's hooks are elsewhere.
	p.register(account(9), spam)
	p.deploy(account(9), "s", `{"Resources": {"A": `+of(param, "1")+`}}`, false)
	after := `{"Resources": {"A": ` + of(param, "spam") + `}}`
	r = p.rehearse(account(9), "s", after, nil)
	if !r.Succeeds() || len(r.Extensions) != 1 || r.Extensions[0].Runs || r.Extensions[0].Reason != "its handler is not known: pass its project or package with --extension" {
		t.Errorf("%+v", r)
	}
	// A hook on the change set or the stack refuses all of it.
	for i, target := range []string{"CHANGE_SET", "STACK"} {
		whole := pack(t, schema.Hook, strings.ReplaceAll(hookSchema, "AWS::SSM::Parameter", target), `
def answer(event):
    return {"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "not today", "clientRequestToken": event.get("clientRequestToken")}
`)
		r := p.rehearse(account(9), "s", after, func(c *Config) { c.Extensions = []*submit.Request{whole} })
		if r.Succeeds() || r.Status != []string{"", "UPDATE_ROLLBACK_COMPLETE"}[i] || !strings.Contains(r.Reason, "Acme::No::Spam") || len(r.Verdicts) != 1 || r.Verdicts[0].Message != "not today" {
			t.Errorf("%s: %+v", target, r)
		}
	}
	// Hooks that cannot be listed are not run, which is said.
	p.mu.Lock()
	p.denied = "ListTypes"
	p.mu.Unlock()
	if r := p.rehearse(account(9), "s", after, nil); !slices.Contains(r.Unknown, "the hooks of the account could not be listed, so they are not run: AccessDenied") {
		t.Errorf("%+v", r)
	}
	// So is a type whose configuration cannot be read.
	p.mu.Lock()
	p.denied = "BatchDescribeTypeConfigurations"
	p.mu.Unlock()
	r = p.rehearse(account(1), "s", `{"Resources": {"A": `+boxOf("a", "huge")+`}}`, func(c *Config) { c.Extensions = []*submit.Request{box} })
	if !r.Succeeds() || r.Extensions[0].Runs || r.Extensions[0].Reason != "its configuration could not be read: AccessDenied" {
		t.Errorf("%+v", r)
	}
	p.mu.Lock()
	p.denied = ""
	p.mu.Unlock()
	// Without a sandbox, nothing of the user runs.
	defer sandbox.Forbid("a test")()
	r = p.rehearse(account(9), "s", after, func(c *Config) { c.Extensions = []*submit.Request{spam} })
	if !r.Succeeds() || len(r.Extensions) != 1 || r.Extensions[0].Runs || !strings.Contains(r.Extensions[0].Reason, "only in the sandbox") {
		t.Errorf("%+v", r)
	}
}

// TestManagedHooks: Guard Hooks of the account run with their rules, Lambda Hooks do not.
func TestManagedHooks(t *testing.T) {
	if _, err := exec.LookPath("cfn-guard"); err != nil {
		t.Skip("cfn-guard is not installed")
	}
	p := newPlace(t)
	const account = "000000720000"
	rules, err := p.remote(account).UploadTemplate(t.Context(), "", []byte("rule no_spam {\n  Resources.*[ Type == 'AWS::SSM::Parameter' ] {\n    Properties.Value != 'spam' <<buy something else>>\n  }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	uri := "s3:/" + strings.TrimPrefix(rules, p.server.URL)
	const managed = `"Alias": "Private::%s::Spam", "ExecutionRole": "arn:aws:iam::000000720000:role/hook", "FailureMode": "%s", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE", "CLOUD_CONTROL"]`
	hooks := `{"Resources": {
		"G": {"Type": "AWS::CloudFormation::GuardHook", "Properties": {` + fmt.Sprintf(managed, "Guard", "FAIL") + `, "RuleLocation": {"Uri": "` + uri + `"}}},
		"W": {"Type": "AWS::CloudFormation::GuardHook", "Properties": {` + fmt.Sprintf(managed, "Warning", "WARN") + `, "RuleLocation": {"Uri": "` + uri + `"}}},
		"Off": {"Type": "AWS::CloudFormation::GuardHook", "Properties": {` + strings.Replace(fmt.Sprintf(managed, "Off", "FAIL"), "ENABLED", "DISABLED", 1) + `, "RuleLocation": {"Uri": "` + uri + `"}}},
		"None": {"Type": "AWS::CloudFormation::GuardHook", "Properties": {` + fmt.Sprintf(managed, "None", "FAIL") + `, "RuleLocation": {"Uri": "s3://none/none"}, "TargetFilters": {"TargetNames": ["AWS::SQS::Queue"], "Actions": ["CREATE"]}}},
		"L": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {` + fmt.Sprintf(managed, "Lambda", "FAIL") + `, "LambdaFunction": "none", "TargetFilters": {"TargetNames": ["AWS::SQS::Queue"], "Actions": ["CREATE"]}}}}}`
	p.deploy(account, "s", `{"Resources": {"A": `+of(param, "1")+`}}`, false)
	if status := p.deploy(account, "hooks", hooks, false); status != types.StackStatusCreateComplete {
		t.Fatal(status)
	}
	r := p.rehearse(account, "s", `{"Resources": {"A": `+of(param, "spam")+`}}`, nil)
	var runs []string
	for _, e := range r.Extensions {
		runs = append(runs, fmt.Sprint(e.Name, " ", e.Runs))
	}
	if want := []string{"Private::Guard::Spam true", "Private::Lambda::Spam false", "Private::None::Spam false", "Private::Warning::Spam true"}; !slices.Equal(runs, want) {
		t.Errorf("%q, want %q", runs, want)
	}
	if r.Status != "UPDATE_ROLLBACK_COMPLETE" || len(r.Verdicts) != 2 || r.Reason != "A: the hook Private::Guard::Spam refuses it" {
		t.Errorf("%+v", r)
	}
	if all := written(t, r); !strings.Contains(all, "update: refused by Private::Guard::Spam") || !strings.Contains(all, "WARN") {
		t.Error(all)
	}
}
