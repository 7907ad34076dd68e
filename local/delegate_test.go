package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// keysTemplate is a template with some keys, whose schema this program has.
func keysTemplate(n int) string {
	var b strings.Builder
	b.WriteString("Resources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  Key%d: {Type: AWS::KMS::Key, Properties: {Description: key}}\n", i)
	}
	b.WriteString("Outputs: {Arn: {Value: !GetAtt Key0.Arn}}\n")
	return b.String()
}

func TestDelegatedStack(t *testing.T) {
	emulator := fixtures.NewEmulator(t)
	c := newClients(t, startWith(t, local.Config{Delegate: []string{"AWS::KMS::*=" + emulator.URL}, Simulate: []string{"AWS::KMS::Key"}}))
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("keys"), TemplateBody: aws.String(keysTemplate(1))}); err != nil {
		t.Fatal(err)
	}
	made := endOf(t, c, "keys")
	if made.StackStatus != types.StackStatusCreateComplete || len(made.Outputs) != 1 || !strings.HasPrefix(*made.Outputs[0].OutputValue, "Arn of ") {
		t.Fatalf("%s: %s, %+v", made.StackStatus, aws.ToString(made.StackStatusReason), made.Outputs)
	}
	described, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::KMS::Key")})
	if want := "[delegated to ministack 1.5.33 at " + emulator.URL + "]"; err != nil || !strings.HasPrefix(*described.Description, want) {
		t.Errorf("%+v, %v, want %s", described, err, want)
	}
	drift, err := c.DetectStackResourceDrift(t.Context(), &cloudformation.DetectStackResourceDriftInput{StackName: aws.String("keys"), LogicalResourceId: aws.String("Key0")})
	if err != nil || drift.StackResourceDrift.StackResourceDriftStatus != types.StackResourceDriftStatusNotChecked {
		t.Errorf("%+v, %v: what was not read is not in sync", drift, err)
	}
	if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("keys")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the stack is deleted", func() bool { return gone(t, c, "keys") })
	if stacks, resources := emulator.Left(); stacks != 0 || resources != 0 {
		t.Errorf("%d stacks and %d resources are left", stacks, resources)
	}
}

// TestDelegatedFunction checks that the function of a custom resource is invoked in the emulator that it is in, and that its
// response is found there if the function left the port out of the URL.
func TestDelegatedFunction(t *testing.T) {
	for name, stray := range map[string]bool{"responds here": false, "responds there": true} {
		t.Run(name, func(t *testing.T) { delegatedFunction(t, stray) })
	}
}

func delegatedFunction(t *testing.T, stray bool) {
	emulator := fixtures.NewEmulator(t)
	emulator.Invoked = func(function string, payload []byte) string {
		var request struct{ ResponseURL, StackId, RequestId, LogicalResourceId string } //nolint:revive // as they are sent
		if err := json.Unmarshal(payload, &request); err != nil {
			t.Error(err)
		}
		answer, _ := json.Marshal(map[string]any{
			"Status": "SUCCESS", "PhysicalResourceId": "seeded", "StackId": request.StackId, "RequestId": request.RequestId, "LogicalResourceId": request.LogicalResourceId,
			"Data": map[string]any{"By": function},
		})
		if at, err := url.Parse(request.ResponseURL); stray && err == nil {
			if at.Query().Has("X-Amz-Signature") {
				t.Error("the emulator refuses this signature")
			}
			emulator.Objects[at.Path] = string(answer)
			return "done"
		}
		put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, request.ResponseURL, bytes.NewReader(answer))
		if err != nil {
			t.Error(err)
			return ""
		}
		response, err := http.DefaultClient.Do(put)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", response, err)
			return ""
		}
		_ = response.Body.Close()
		return "done"
	}
	server := startWith(t, local.Config{Delegate: []string{"AWS::Lambda::*=" + emulator.URL}})
	schema := filepath.Join(t.TempDir(), "aws-lambda-function.json")
	text := `{"typeName": "AWS::Lambda::Function", "description": "A function.", "additionalProperties": false, "properties": {"FunctionName": {"type": "string"}},
		"primaryIdentifier": ["/properties/FunctionName"], "createOnlyProperties": ["/properties/FunctionName"]}`
	if err := os.WriteFile(schema, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	place{url: server, account: account}.importTypes(t, schema)
	c := newClients(t, server)
	_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("seeds"), TemplateBody: aws.String(`{"Resources": {
		"Seeder": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "seeder"}},
		"Seed": {"Type": "Custom::Seed", "Properties": {"ServiceToken": {"Fn::Sub": "arn:aws:lambda:${AWS::Region}:${AWS::AccountId}:function:${Seeder}"}}}
	}, "Outputs": {"By": {"Value": {"Fn::GetAtt": ["Seed", "By"]}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	made := endOf(t, c, "seeds")
	if want := account + " /2015-03-31/functions/seeder/invocations"; len(made.Outputs) != 1 || *made.Outputs[0].OutputValue != want {
		t.Errorf("%s: %s, %+v, want %s", made.StackStatus, aws.ToString(made.StackStatusReason), made.Outputs, want)
	}
	if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("seeds")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the stack is deleted", func() bool { return gone(t, c, "seeds") })
	if stacks, resources := emulator.Left(); stacks != 0 || resources != 0 || len(emulator.Objects) != 0 {
		t.Errorf("%d stacks, %d resources and %v are left", stacks, resources, emulator.Objects)
	}
}

// TestDelegatedUntilTheEnd checks that a server without lasting data leaves nothing in an emulator, and that one does not
// delegate to itself.
func TestDelegatedUntilTheEnd(t *testing.T) {
	emulator := fixtures.NewEmulator(t)
	server, err := local.Open(t.Context(), local.Config{Delegate: []string{"AWS::KMS::*=" + emulator.URL}, Simulate: []string{"AWS::KMS::Key"}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	defer front.Close()
	c := newClients(t, front.URL)
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("keys"), TemplateBody: aws.String(keysTemplate(2))}); err != nil {
		t.Fatal(err)
	}
	endOf(t, c, "keys")
	if _, resources := emulator.Left(); resources != 2 {
		t.Errorf("%d resources, want 2", resources)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if stacks, resources := emulator.Left(); stacks != 0 || resources != 0 {
		t.Errorf("%d stacks and %d resources are left", stacks, resources)
	}
	_, err = local.Open(t.Context(), local.Config{URL: "http://127.0.0.1:4566", Delegate: []string{"AWS::*=http://localhost:4566"}})
	if err == nil || !strings.Contains(err.Error(), "is the address of this server") {
		t.Errorf("%v", err)
	}
}

// TestDelegatedKill kills the server at each request to the emulator in turn: nothing is lost, doubled or left.
func TestDelegatedKill(t *testing.T) {
	const resources = 3
	kills, _ := number(t, "FORMWORK_KILLS", 8)
	emulator := fixtures.NewEmulator(t)
	emulator.Slow = map[string]int{"CreateStack": 2}
	options := serverOptions{Dir: t.TempDir(), Delegate: []string{"AWS::KMS::*=" + emulator.URL}, Simulate: []string{"AWS::KMS::Key"}, TimeScale: 10}
	p := mustStart(t, options)
	defer func() { p.kill() }()
	// killAt has the server killed at a request after something has begun, and started again.
	killAt := func(nth int, begin func(c clients)) {
		hit, count := make(chan struct{}), 0
		emulator.Change(func() {
			emulator.Broken = func(http.ResponseWriter, *http.Request) bool {
				if count++; count == nth {
					close(hit)
				}
				return false
			}
		})
		begin(newClients(t, p.url))
		select {
		case <-hit:
		case <-time.After(30 * time.Second):
			t.Logf("there are fewer than %d requests", nth)
		}
		p.kill()
		p = mustStart(t, options)
	}
	for n := range (kills + 2) / 3 {
		name := fmt.Sprint("keys", n)
		killAt(1+(n*3)%20, func(c clients) {
			if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(keysTemplate(resources))}); err != nil {
				t.Fatal(err)
			}
		})
		if made := endOf(t, newClients(t, p.url), name); made.StackStatus != types.StackStatusCreateComplete {
			t.Errorf("%s: %s", made.StackStatus, aws.ToString(made.StackStatusReason))
		}
		emulator.Change(func() {
			if emulator.Made != (n+1)*resources {
				t.Errorf("round %d: %d resources were made, want %d", n, emulator.Made, (n+1)*resources)
			}
		})
		changed := strings.ReplaceAll(keysTemplate(resources), "key}", "changed}")
		killAt(1+(n*2)%9, func(c clients) {
			if _, err := c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &changed}); err != nil {
				t.Fatal(err)
			}
		})
		if updated := endOf(t, newClients(t, p.url), name); updated.StackStatus != types.StackStatusUpdateComplete {
			t.Errorf("%s: %s", updated.StackStatus, aws.ToString(updated.StackStatusReason))
		}
		emulator.Change(func() {
			if all := fmt.Sprint(emulator.Resources); emulator.Made != (n+1)*resources || strings.Count(all, "changed") != resources {
				t.Errorf("round %d: after the update: %d resources were made: %s", n, emulator.Made, all)
			}
		})
		killAt(1+(n*2)%12, func(c clients) {
			if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
				t.Fatal(err)
			}
		})
		c := newClients(t, p.url)
		eventually(t, time.Minute, "the stack is deleted", func() bool { return gone(t, c, name) })
		if _, left := emulator.Left(); left != 0 {
			t.Errorf("round %d: %d resources are left", n, left)
		}
	}
}

// endOf waits for the end of an operation on a stack.
func endOf(t *testing.T, c clients, name string) types.Stack {
	t.Helper()
	var last types.Stack
	eventually(t, 2*time.Minute, "the operation on "+name+" ends", func() bool {
		out, err := c.DescribeStacks(context.WithoutCancel(t.Context()), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			t.Fatal(err)
		}
		last = out.Stacks[0]
		return !strings.HasSuffix(string(last.StackStatus), "_IN_PROGRESS")
	})
	return last
}

// gone reports whether a stack does not exist.
func gone(t *testing.T, c clients, name string) bool {
	t.Helper()
	_, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	return err != nil
}

// A host is allowed for emulators in the form in which it is allowed for the proxy.
func TestDelegateToAllowedAddress(t *testing.T) {
	config := local.Config{Delegate: []string{"AWS::SQS::*=http://[fd00::1]:4567"}}
	if cloud, err := local.Open(t.Context(), config); err == nil {
		cloud.Close()
		t.Fatal("an emulator on another machine was accepted")
	}
	config.AllowHosts = []string{"[fd00::1]"}
	cloud, err := local.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Close(); err != nil {
		t.Fatal(err)
	}
}
