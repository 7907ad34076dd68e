package hook

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const locked = `
let buckets = Resources.*[ Type == 'AWS::S3::Bucket' ]
rule LOCKED when %buckets !empty {
  %buckets.Properties.ObjectLockEnabled == true
  <<
    Violation: the bucket must have locks.
    Fix: set ObjectLockEnabled.
  >>
}
rule NAMED when %buckets !empty { %buckets.Properties.BucketName exists }
`

// objects are those of S3, by their URIs.
type objects map[string][]byte

func (o objects) read(_ context.Context, _ awswire.Caller, uri, _ string, _ int64) ([]byte, error) {
	data, ok := o[uri]
	if !ok {
		return nil, awswire.Errorf("NoSuchKey", 404, "The specified key does not exist.")
	}
	return data, nil
}

// fakeGuard is a program that prints what cfn-guard 3.2.1 has printed, and keeps its input.
func fakeGuard(t *testing.T, out, complaint string, code int) (program, input string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: cfn-guard is replaced by a shell script")
	}
	dir := t.TempDir()
	program, input = filepath.Join(dir, "cfn-guard"), filepath.Join(dir, "input")
	for name, text := range map[string]string{"out": out, "complaint": complaint} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("#!/bin/sh\n/bin/cat >'%s/input'\n/bin/cat '%s/complaint' >&2\n/bin/cat '%s/out'\nexit %d\n", dir, dir, dir, code)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return program, input
}

// call calls a Guard Hook.
func (g Guard) call(t *testing.T, rules GuardRules, request string) (event guardEvent, err error) {
	t.Helper()
	text, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	f, err := g.function(awswire.Caller{}, string(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Call(t.Context(), []byte(request))
	if err == nil {
		err = json.Unmarshal(out, &event)
	}
	return event, err
}

func bucketRequest(point, target string) string {
	return `{"awsAccountId": "123456789012", "stackId": "arn:stack", "hookTypeName": "Private::Guard::Check", "hookTypeVersion": "00000001", "actionInvocationPoint": "` + point + `",
		"requestData": {"targetName": "AWS::S3::Bucket", "targetType": "RESOURCE", "targetLogicalId": "B", "targetModel": ` + target + `}}`
}

func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		entry, err := w.Create(name)
		if err == nil {
			_, err = entry.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Typeflag: tar.TypeReg, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGuardInput checks what rules evaluate for each kind of target.
func TestGuardInput(t *testing.T) {
	context := func(point string) map[string]any {
		return map[string]any{
			"AWSAccountID": "123456789012", "AwsAccountId": "123456789012", "StackId": "arn:stack", "HookTypeName": "Private::Guard::Check", "HookTypeVersion": "00000001",
			"InvocationPoint": point, "TargetName": "AWS::S3::Bucket", "TargetType": "RESOURCE", "TargetLogicalId": "B", "ChangeSetId": "",
		}
	}
	resource := func(properties map[string]any) map[string]any {
		return map[string]any{"B": map[string]any{"Type": "AWS::S3::Bucket", "ResourceType": "AWS::S3::Bucket", "Properties": properties, "ResourceProperties": properties}}
	}
	stack := `{"awsAccountId": "123456789012", "stackId": "arn:stack", "changeSetId": "arn:set", "hookTypeName": "Private::Guard::Check", "hookTypeVersion": "00000001", "actionInvocationPoint": "UPDATE_PRE_PROVISION",
		"requestData": {"targetName": "CHANGE_SET", "targetType": "CHANGE_SET", "targetLogicalId": "arn:set", "targetModel": null, "payload": ` + quoted(`{"template": "Resources: {B: {Type: AWS::S3::Bucket, Properties: {BucketName: !Ref AWS::StackName}}}",
		"previousTemplate": "{\"Resources\": {\"A\": {\"Type\": \"A::B::C\"}}}", "changedResources": [{"logicalResourceId": "B"}]}`) + `}}`
	about := context("UPDATE_PRE_PROVISION")
	about["TargetName"], about["TargetType"], about["TargetLogicalId"], about["ChangeSetId"] = "CHANGE_SET", "CHANGE_SET", "arn:set", "arn:set"
	for name, test := range map[string]struct {
		request string
		want    map[string]any
	}{
		"create": {bucketRequest("CREATE_PRE_PROVISION", `{"resourceProperties": {"Size": 1}}`), map[string]any{
			"HookContext": context("CREATE_PRE_PROVISION"), "Resources": resource(map[string]any{"Size": 1.0}), "Owner": "tps",
		}},
		"update": {bucketRequest("UPDATE_PRE_PROVISION", `{"resourceProperties": {"Size": 2}, "previousResourceProperties": {"Size": 1}}`), map[string]any{
			"HookContext": context("UPDATE_PRE_PROVISION"), "Resources": resource(map[string]any{"Size": 2.0}), "Previous": resource(map[string]any{"Size": 1.0}), "Owner": "tps",
		}},
		"delete": {bucketRequest("DELETE_PRE_PROVISION", `{"resourceProperties": {"Size": 2}, "previousResourceProperties": {"Size": 2}}`), map[string]any{
			"HookContext": context("DELETE_PRE_PROVISION"), "Resources": resource(map[string]any{}), "Previous": resource(map[string]any{}), "Owner": "tps",
		}},
		"change set": {stack, map[string]any{
			"HookContext": about, "Owner": "tps", "Changes": []any{map[string]any{"logicalResourceId": "B"}},
			"Resources": map[string]any{"B": map[string]any{"Type": "AWS::S3::Bucket", "Properties": map[string]any{"BucketName": map[string]any{"Ref": "AWS::StackName"}}}},
			"Previous":  map[string]any{"Resources": map[string]any{"A": map[string]any{"Type": "A::B::C"}}},
		}},
	} {
		program, input := fakeGuard(t, `[{"status": "PASS", "compliant": ["NAMED"], "not_compliant": []}]`, "", 0)
		g := Guard{Program: func() (string, error) { return program, nil }, Object: objects{"s3://b/r.guard": []byte(locked), "s3://b/p.yaml": []byte("Owner: tps")}.read}
		rules := GuardRules{RuleLocation: Location{URI: "s3://b/r.guard"}}
		rules.Options.InputParams = &Location{URI: "s3://b/p.yaml"}
		event, err := g.call(t, rules, test.request)
		if err != nil || event.HookStatus != invoke.Success {
			t.Fatalf("%s: %+v, %v", name, event, err)
		}
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		var sent struct{ Rules, Data []string }
		var got map[string]any
		if err := errors.Join(json.Unmarshal(text, &sent), json.Unmarshal([]byte(sent.Data[0]), &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(sent.Rules) != 1 || sent.Rules[0] != locked {
			t.Errorf("%s: rules %q, input %s", name, sent.Rules, diff)
		}
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// guardRefusal is what cfn-guard 3.2.1 prints for a bucket without locks.
const guardRefusal = `[{"name": "DATA_STDIN[1]", "metadata": {}, "status": "FAIL", "not_compliant": [{"Rule": {"name": "LOCKED", "metadata": {}, "messages": {"custom_message": null, "error_message": null},
	"checks": [{"Clause": {"Binary": {"context": " %buckets[*].Properties.ObjectLockEnabled EQUALS  true", "messages": {
		"custom_message": "\n    Violation: the bucket must have locks.\n    Fix: set ObjectLockEnabled.\n  ", "error_message": "Check was not compliant … Value={\"BucketName\":\"canary\"}"}, "check": {}}}}]}}],
	"not_applicable": [], "compliant": ["NAMED"]}]`

// TestGuardVerdicts checks what comes of the reports and the failures of cfn-guard.
func TestGuardVerdicts(t *testing.T) {
	request := bucketRequest("CREATE_PRE_PROVISION", `{"resourceProperties": {"BucketName": "canary"}}`)
	many := map[string]string{}
	for n := range maxRuleFiles + 1 {
		many[fmt.Sprint(n, ".guard")] = "rule X { a exists }"
	}
	store := objects{
		"s3://b/r.guard": []byte(locked), "s3://b/r.zip": zipOf(t, map[string]string{"../../x.guard": locked, "README.md": "x"}), "s3://b/r.tar.gz": tarOf(t, map[string]string{"a/r.ruleset": locked, "x": "y"}),
		"s3://b/none.zip": zipOf(t, map[string]string{"README.md": "x"}), "s3://b/many.zip": zipOf(t, many), "s3://b/bad.zip": []byte("PK"), "s3://b/bad.tar.gz": []byte("x"),
		"s3://b/list.json": []byte("[1]"), "s3://b/taken.json": []byte(`{"Resources": {}}`),
	}
	refusal := guardEvent{HookStatus: invoke.Failed, ErrorCode: "NonCompliant", Message: "Template failed validation, the following rule(s) failed: LOCKED.", Annotations: []guardAnnotation{
		{AnnotationName: "NAMED", Status: "PASSED"}, {AnnotationName: "LOCKED", Status: "FAILED", StatusMessage: "Violation: the bucket must have locks. Fix: set ObjectLockEnabled."},
	}}
	broken := func(message string) guardEvent {
		return guardEvent{HookStatus: invoke.Failed, ErrorCode: invoke.InternalFailure, Message: message}
	}
	for name, test := range map[string]struct {
		rules, parameters string
		out, complaint    string
		code              int
		want              guardEvent
	}{
		"refused":            {rules: "s3://b/r.guard", out: guardRefusal, code: 19, want: refusal},
		"a zip":              {rules: "s3://b/r.zip", out: guardRefusal, code: 19, want: refusal},
		"a tar":              {rules: "s3://b/r.tar.gz", out: guardRefusal, code: 19, want: refusal},
		"no rules there":     {rules: "s3://b/none.guard", want: broken("The rules cannot be read: The specified key does not exist.")},
		"no rules in it":     {rules: "s3://b/none.zip", want: broken("The archive s3://b/none.zip has no rules: no file ends with .guard or .ruleset")},
		"too many":           {rules: "s3://b/many.zip", want: broken("The archive s3://b/many.zip cannot be read, or has more than 200 files or 10485760 bytes of rules")},
		"no zip":             {rules: "s3://b/bad.zip", want: broken("The archive s3://b/bad.zip cannot be read")},
		"no tar":             {rules: "s3://b/bad.tar.gz", want: broken("The archive s3://b/bad.tar.gz cannot be read")},
		"parameters missing": {rules: "s3://b/r.guard", parameters: "s3://b/p.json", want: broken("The rules cannot be read: The specified key does not exist.")},
		"parameters a list":  {rules: "s3://b/r.guard", parameters: "s3://b/list.json", want: broken("The input parameters in s3://b/list.json are not an object in JSON or YAML")},
		"parameters taken":   {rules: "s3://b/r.guard", parameters: "s3://b/taken.json", want: broken("The input parameters in s3://b/taken.json contain Resources, which the input of the rules has already")},
		"rules that do not parse": {rules: "s3://b/r.guard", out: `[{"name": "DATA_STDIN[1]", "status": "SKIP", "not_compliant": [], "compliant": []}]`, complaint: "Parsing error handling rule file = RULES_STDIN[1]\nmore\n", code: 5,
			want: broken("cfn-guard cannot evaluate the rules: Parsing error handling rule file = RULES_STDIN[1]")},
		"another report": {rules: "s3://b/r.guard", out: "PASS", want: broken("the report of cfn-guard cannot be read; Guard Hooks need version 3")},
	} {
		program, _ := fakeGuard(t, test.out, test.complaint, test.code)
		g := Guard{Program: func() (string, error) { return program, nil }, Object: store.read}
		rules := GuardRules{RuleLocation: Location{URI: test.rules}}
		if test.parameters != "" {
			rules.Options.InputParams = &Location{URI: test.parameters}
		}
		got, err := g.call(t, rules, request)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	g := Guard{Program: func() (string, error) { return "", errors.New("install cfn-guard") }}
	if got, err := g.call(t, GuardRules{}, request); err != nil || got.Message != "install cfn-guard" {
		t.Errorf("not installed: %+v, %v", got, err)
	}
}

// TestGuard runs the real program.
func TestGuard(t *testing.T) {
	program, err := exec.LookPath("cfn-guard")
	if err != nil {
		t.Skip("skipped: cfn-guard is not installed")
	}
	g := Guard{Program: func() (string, error) { return program, nil }, Object: objects{"s3://b/r.guard": []byte(locked)}.read}
	rules := GuardRules{RuleLocation: Location{URI: "s3://b/r.guard"}}
	for properties, want := range map[string]string{
		`{"BucketName": "x"}`: "Template failed validation, the following rule(s) failed: LOCKED.",
		`{}`:                  "Template failed validation, the following rule(s) failed: LOCKED, NAMED.",
		`{"BucketName": "x", "ObjectLockEnabled": true}`: "Template passed validation.",
	} {
		event, err := g.call(t, rules, bucketRequest("CREATE_PRE_PROVISION", `{"resourceProperties": `+properties+`}`))
		if err != nil || event.Message != want {
			t.Errorf("%s: %+v, %v", properties, event, err)
		}
		if strings.Contains(want, "LOCKED") && !strings.Contains(fmt.Sprint(event.Annotations), "the bucket must have locks") {
			t.Errorf("%s: the annotations are %v", properties, event.Annotations)
		}
	}
	g.Object = objects{"s3://b/r.guard": []byte("rule X {")}.read
	if event, err := g.call(t, rules, bucketRequest("CREATE_PRE_PROVISION", `{"resourceProperties": {}}`)); err != nil || !strings.HasPrefix(event.Message, "cfn-guard cannot evaluate the rules: Parsing error") {
		t.Errorf("bad rules: %+v, %v", event, err)
	}
}
