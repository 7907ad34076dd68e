package delegate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestGeneratedNames checks that a resource without a name has one that its service takes, in an update, too.
func TestGeneratedNames(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	r := request(invoke.Create, "c1", "", map[string]any{"FifoQueue": true})
	r.LogicalID = strings.Repeat("Orders", 30)
	made := b.must(r)
	name, _ := made.Model["QueueName"].(string)
	if len(name) != 80 || !strings.HasPrefix(name, "shop-Orders") || !strings.HasSuffix(name, ".fifo") || made.Identifier != "http://queue/"+name {
		t.Errorf("%s: %q", made.Identifier, name)
	}
	r = request(invoke.Update, "u1", made.Identifier, map[string]any{"FifoQueue": true, "Size": 2})
	if updated := b.must(r); updated.Model["QueueName"] != name {
		t.Errorf("%v", updated.Model)
	}
}

// TestFunctions checks that functions in an emulator are found and invoked there, those of the account.
func TestFunctions(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.rules = []string{"AWS::Lambda::*=" + b.fake.URL}
	b.restart()
	b.fake.Invoked = func(function string, payload []byte) string { return function + string(payload) }
	r := request(invoke.Create, "c1", "", map[string]any{"FunctionName": "greet"})
	r.Type = "AWS::Lambda::Function"
	made := b.must(r)
	other := caller
	other.Account = "444455556666"
	for _, of := range []struct {
		caller          awswire.Caller
		name, qualifier string
		want            string
	}{
		{caller, made.Identifier, "", `"111122223333 /2015-03-31/functions/greet/invocations{}"`},
		{caller, made.Identifier, "2", `"111122223333 /2015-03-31/functions/greet:2/invocations{}"`},
		{caller, "other", "", ""}, {other, made.Identifier, "", ""},
	} {
		function, err := b.Function(t.Context(), of.caller, of.name, of.qualifier)
		switch {
		case err != nil, (function == nil) != (of.want == ""):
			t.Errorf("%+v: %v, %v", of, function, err)
		case function != nil:
			if result, err := function.Invoke(t.Context(), []byte("{}")); err != nil || string(result.Payload) != of.want {
				t.Errorf("%+v: %s, %v", of, result.Payload, err)
			}
		}
	}
	b.rules = nil
	b.restart()
	var refused *lambda.RefusedError
	if _, err := b.Function(t.Context(), caller, made.Identifier, ""); !errors.As(err, &refused) || !strings.Contains(refused.Message, "start cfn serve with --delegate 'AWS::Lambda::Function="+b.fake.URL+"'") {
		t.Errorf("%v", err)
	}
}

// TestAttributesOfSomeResources checks attributes that a resource only has with some properties: that another one lacks
// them says nothing, and an update may add and remove them.
func TestAttributesOfSomeResources(t *testing.T) {
	for _, slow := range []int{0, 20} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			t.Parallel()
			b := open(t, fixtures.Stores(t)[0])
			b.fake.Needs["Endpoint.Address"] = "Policy"
			with, without := map[string]any{"QueueName": "with", "Policy": map[string]any{"a": "b"}}, map[string]any{"QueueName": "without"}
			other := b.must(request(invoke.Create, "c1", "", without))
			made := b.must(request(invoke.Create, "c2", "", with))
			address := func(p operation.Progress) any {
				endpoint, _ := p.Model["Endpoint"].(map[string]any)
				return endpoint["Address"]
			}
			if address(other) != nil || address(made) != "Endpoint.Address of with" {
				t.Errorf("%v, %v", other.Model, made.Model)
			}
			without["QueueName"] = "with"
			removed := b.must(request(invoke.Update, "u1", made.Identifier, without))
			without["Size"] = 3
			changed := b.must(request(invoke.Update, "u2", made.Identifier, without))
			b.fake.Slow["UpdateStack"] = slow
			added := b.must(request(invoke.Update, "u3", made.Identifier, with))
			if address(removed) != nil || address(changed) != nil || address(added) != "Endpoint.Address of with" || changed.Model["Arn"] != "Arn of with" {
				t.Errorf("%v, %v, %v", removed.Model, changed.Model, added.Model)
			}
			b.fake.Slow["UpdateStack"], b.fake.Refuses = 0, "too large" // what is refused is not taken for an attribute
			with["Size"], with["Policy"] = 9, nil
			b.fails(request(invoke.Update, "u4", made.Identifier, with), "GeneralServiceException", "too large")
		})
	}
}

// TestChangedSecret checks that an update is sent in which only a secret differs.
func TestChangedSecret(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	with := func(action invoke.Action, token, identifier, password string) operation.Request {
		r := request(action, token, identifier, map[string]any{"QueueName": "orders", "Password": password})
		r.Secrets = map[secret.Reason][]string{"": {password}}
		return r
	}
	made := b.must(with(invoke.Create, "c1", "", "hunter2"))
	b.must(with(invoke.Update, "u1", made.Identifier, "hunter3"))
	for _, s := range b.fake.Stacks {
		if s.Resource == "orders" && s.Parameters["Secret0"] != "hunter3" {
			t.Errorf("%v", s.Parameters)
		}
	}
}

// TestGivenUpFiles checks that the files of an operation that never ended are deleted with the resource, and those of others
// stay until then.
func TestGivenUpFiles(t *testing.T) {
	t.Parallel()
	b := open(t, fixtures.Stores(t)[0])
	code := func(key string) map[string]any { return map[string]any{"S3Bucket": "ours", "S3Key": key} }
	first := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Code": code("1.zip")}))
	second := b.must(request(invoke.Create, "c2", "", map[string]any{"QueueName": "bills", "Code": code("2.zip")}))
	b.fake.Slow = map[string]int{"UpdateStack": 1000}
	for identifier, name := range map[string]string{first.Identifier: "orders", second.Identifier: "bills"} {
		progress, err := b.Call(t.Context(), request(invoke.Update, "u"+name, identifier, map[string]any{"QueueName": name, "Code": code("new.zip")}))
		if err != nil || progress.Status != types.OperationStatusInProgress {
			t.Fatalf("%+v, %v", progress, err)
		}
	}
	b.fake.Slow = map[string]int{}
	b.fake.Change(func() {
		for _, s := range b.fake.Stacks {
			s.Remaining = 0
		}
	})
	for _, left := range []struct {
		identifier string
		objects    int
	}{{first.Identifier, 2}, {second.Identifier, 0}} {
		b.must(request(invoke.Delete, "d"+left.identifier, left.identifier, nil))
		if len(b.fake.Objects) != left.objects {
			t.Errorf("%v are left, want %d", b.fake.Objects, left.objects)
		}
	}
	b.empty()
}
