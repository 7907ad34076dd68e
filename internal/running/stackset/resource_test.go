package stackset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

type (
	object = map[string]any
	list   = []any
)

const resourceType = "AWS::CloudFormation::StackSet"

// A desk is the resource type over stack sets.
type desk struct {
	*rig
	types *builtin.Types
	token int
	stack string // name of the stack that the resource is in, "" outside of stacks

	before func() // runs once, when an operation on a set is about to advance
}

func newDesk(t *testing.T, r *rig) *desk {
	t.Helper()
	all, err := builtin.New(builtin.Config{StackSets: &awswire.Table{Service: "cloudformation", Protocol: awswire.Query, Operations: []awswire.Operation{
		awswire.Op("CreateStackInstances", r.CreateStackInstances), awswire.Op("CreateStackSet", r.CreateStackSet), awswire.Op("DeleteStackInstances", r.DeleteStackInstances),
		awswire.Op("DeleteStackSet", r.DeleteStackSet), awswire.Op("DescribeStackSet", r.DescribeStackSet), awswire.Op("DescribeStackSetOperation", r.DescribeStackSetOperation),
		awswire.Op("ListStackInstances", r.ListStackInstances), awswire.Op("ListStackSetOperationResults", r.ListStackSetOperationResults), awswire.Op("ListStackSets", r.ListStackSets),
		awswire.Op("UpdateStackInstances", r.UpdateStackInstances), awswire.Op("UpdateStackSet", r.UpdateStackSet),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{rig: r, types: all, stack: "front"}
}

// run makes the calls of an operation until it ends, each twice, as if the process had died before the
// first answer was written down. Between them the operations on sets advance.
func (d *desk) run(action invoke.Action, identifier string, desired, previous object) operation.Progress {
	d.t.Helper()
	d.token++
	request := operation.Request{
		Caller: admin, Type: resourceType, Action: action, Identifier: identifier, Desired: desired, Previous: previous, Token: fmt.Sprintf("token-%d", d.token), LogicalID: "Set",
		StackTags: map[string]string{"team": "x"}, PreviousStackTags: map[string]string{"team": "x"},
	}
	if d.stack != "" {
		request.StackName, request.StackID = d.stack, "arn:aws:cloudformation:us-east-1:111111111111:stack/"+d.stack+"/1"
	}
	for range 100 {
		var answers [2]operation.Progress
		for i := range answers {
			var err error
			if answers[i], err = d.types.Call(d.t.Context(), request); err != nil {
				d.t.Fatal(err)
			}
		}
		if answers[0].Terminal() {
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" && action != invoke.Delete {
				d.t.Errorf("the same call again (-first +second):\n%s", diff)
			}
			return answers[0]
		}
		request.Callback, request.Identifier = answers[1].Callback, answers[1].Identifier
		d.work()
	}
	d.t.Fatalf("%s does not end", action)
	return operation.Progress{}
}

// work takes all operations on sets to their end.
func (d *desk) work() {
	d.t.Helper()
	var rows []operationRow
	if err := store.List(d.t.Context(), d.config.Store.Read(), &rows, "WHERE ended_at IS NULL"); err != nil {
		d.t.Fatal(err)
	}
	if len(rows) > 0 && d.before != nil {
		d.before()
	}
	for i := range rows {
		d.rig.run(rows[i].ID)
	}
}

func (d *desk) must(action invoke.Action, identifier string, desired, previous object) operation.Progress {
	d.t.Helper()
	p := d.run(action, identifier, desired, previous)
	if p.Status != types.OperationStatusSuccess {
		d.t.Fatalf("%s: %+v", action, p)
	}
	return p
}

// expectCalls checks what was asked of stacks since the last time, in any order.
func (d *desk) expectCalls(want ...string) {
	d.t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(d.calls))); diff != "" {
		d.t.Errorf("calls of stacks (-want +got):\n%s", diff)
	}
	d.calls = nil
}

func group(accounts, regions list, overrides ...string) object {
	out := object{"DeploymentTargets": object{"Accounts": accounts}, "Regions": regions}
	var parameters list
	for i := 0; i < len(overrides); i += 2 {
		parameters = append(parameters, object{"ParameterKey": overrides[i], "ParameterValue": overrides[i+1]})
	}
	if parameters != nil {
		out["ParameterOverrides"] = parameters
	}
	return out
}

// with is a model with some properties changed; nil removes one.
func with(model object, changes object) object {
	out := maps.Clone(model)
	for name, value := range changes {
		out[name] = value
		if value == nil {
			delete(out, name)
		}
	}
	return out
}

const (
	one1, two2 = "111111111111", "222222222222"
	east, west = "us-east-1", "eu-west-1"
)

func model() object {
	return object{
		"StackSetName": "s", "PermissionModel": "SELF_MANAGED", "TemplateBody": body, "Description": "d", "Capabilities": list{"CAPABILITY_IAM"},
		"Parameters": list{object{"ParameterKey": "V", "ParameterValue": "b"}}, "Tags": list{object{"Key": "own", "Value": "1"}},
		"ExecutionRoleName": "role", "ManagedExecution": object{"Active": "true"}, "OperationPreferences": object{"MaxConcurrentCount": "2", "RegionOrder": list{west, east}},
		"StackInstancesGroup": list{group(list{one1}, list{east, west}), group(list{two2}, list{west}, "V", "c")},
	}
}

// TestResource takes AWS::CloudFormation::StackSet through its life.
func TestResource(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		old := model()
		created := d.must(invoke.Create, "", old, nil)
		if !strings.HasPrefix(created.Identifier, "s:") {
			t.Errorf("identifier %s", created.Identifier)
		}
		d.expectCalls("create 1/eu-west-1 V=b", "create 1/us-east-1 V=b", "create 2/eu-west-1 V=c")
		want := with(old, object{
			"StackSetId": created.Identifier, "OperationPreferences": nil, "StackInstancesGroup": nil, "ManagedExecution": object{"Active": true},
			"Tags":                  list{object{"Key": "own", "Value": "1"}, object{"Key": "team", "Value": "x"}},
			"AdministrationRoleARN": "arn:aws:iam::111111111111:role/AWSCloudFormationStackSetAdministrationRole",
		})
		if diff := cmp.Diff(want, created.Model); diff != "" {
			t.Errorf("model (-want +got):\n%s", diff)
		}
		if p := d.run(invoke.Create, "", old, nil); p.ErrorCode != "AlreadyExists" || p.Message != "Resource of type 'AWS::CloudFormation::StackSet' with identifier 's' already exists." {
			t.Errorf("a second one: %+v", p)
		}

		// One instance goes, one comes, one gets other parameters; the set itself stays.
		next := with(old, object{"StackInstancesGroup": list{group(list{one1}, list{west}), group(list{two2}, list{west, east}, "V", "d")}})
		d.must(invoke.Update, created.Identifier, next, old)
		d.expectCalls("delete 1/us-east-1", "create 2/us-east-1 V=d", "update 2/eu-west-1 V=d")

		// The set changes, and with it all instances, whose overrides stay.
		last := with(next, object{"Parameters": list{object{"ParameterKey": "V", "ParameterValue": "z"}}})
		if p := d.must(invoke.Update, created.Identifier, last, next); p.Model["Parameters"].(list)[0].(object)["ParameterValue"] != "z" {
			t.Errorf("updated: %+v", p.Model)
		}
		d.expectCalls("update 1/eu-west-1 V=z")

		// Overrides that are taken away, and nothing but preferences.
		plain := with(last, object{"StackInstancesGroup": list{group(list{one1, two2}, list{west}), group(list{two2}, list{east})}})
		d.must(invoke.Update, created.Identifier, plain, last)
		d.expectCalls("update 2/eu-west-1 V=z", "update 2/us-east-1 V=z")
		d.must(invoke.Update, created.Identifier, with(plain, object{"OperationPreferences": nil}), plain)
		d.expectCalls()

		page, err := d.types.ListResources(t.Context(), operation.ListRequest{Caller: admin, Type: resourceType})
		if err != nil || len(page.Resources) != 1 || page.Resources[0].Identifier != created.Identifier {
			t.Errorf("listed: %+v, %v", page, err)
		}
		if p := d.must(invoke.Read, "s", nil, nil); p.Model["StackSetId"] != created.Identifier {
			t.Errorf("read by its name: %+v", p)
		}
		d.must(invoke.Delete, created.Identifier, plain, nil)
		d.expectCalls("delete 1/eu-west-1", "delete 2/eu-west-1", "delete 2/us-east-1")
		for _, action := range []invoke.Action{invoke.Read, invoke.Update, invoke.Delete} {
			if p := d.run(action, created.Identifier, plain, plain); p.ErrorCode != "NotFound" {
				t.Errorf("%s of what is deleted: %+v", action, p)
			}
		}
	})
}

// TestResourceInstances deletes sets with instances that the template does not declare.
func TestResourceInstances(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		declared := with(model(), object{"StackInstancesGroup": nil, "ManagedExecution": nil})
		id := d.must(invoke.Create, "", declared, nil).Identifier
		d.rig.run(d.create(nil, threeAccounts, []string{east}))
		if p := d.run(invoke.Delete, id, declared, nil); p.Status != types.OperationStatusFailed || p.Message != "StackSet is not empty" {
			t.Errorf("a template without the instances: %+v", p)
		}
		d.stack = "" // a request of the Cloud Control API knows the identifier only
		d.must(invoke.Delete, id, object{"StackSetId": id}, nil)
		if len(d.instanceStatesOf(id)) > 0 {
			t.Error("instances are left")
		}
	})
}

// instanceStatesOf are the instances of a set that may be deleted.
func (d *desk) instanceStatesOf(id string) []types.StackInstanceSummary {
	d.t.Helper()
	out, err := d.ListStackInstances(d.t.Context(), admin, &cloudformation.ListStackInstancesInput{StackSetName: &id})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.Summaries
}

// TestResourceBusy waits for an operation that somebody else has begun.
func TestResourceBusy(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		old := with(model(), object{"ManagedExecution": nil})
		id := d.must(invoke.Create, "", old, nil).Identifier
		d.create(nil, threeAccounts, []string{east}) // runs until the first wait
		d.must(invoke.Update, id, with(old, object{"Parameters": list{object{"ParameterKey": "V", "ParameterValue": "z"}}}), old)
	})
}

// TestResourceFails: an operation that fails or is stopped fails the resource with its reasons, and
// what was created can be deleted.
func TestResourceFails(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		d.fails = func(place awswire.Place, action string) string {
			if place.Account == two2 && action == "create" {
				return "it is broken"
			}
			return ""
		}
		p := d.run(invoke.Create, "", model(), nil)
		if p.Status != types.OperationStatusFailed || p.ErrorCode != "NotStabilized" || !strings.HasPrefix(p.Identifier, "s:") ||
			!strings.HasPrefix(p.Message, "Resource of type 'Stack set operation [") ||
			!strings.HasSuffix(p.Message, "] was unexpectedly stopped or failed. status reason(s): [ResourceLogicalId:Thing, ResourceType:A::B::C, ResourceStatusReason:it is broken.]' with identifier '"+p.Identifier+"' did not stabilize.") {
			t.Fatalf("created: %+v", p)
		}
		d.must(invoke.Delete, p.Identifier, model(), nil)
		for _, f := range d.all {
			if f.Live {
				t.Errorf("%s is left", f.ARN)
			}
		}

		// Somebody stops the operation between two calls.
		d.fails = func(awswire.Place, string) string { return "" }
		d.before = func() {
			d.before = nil
			var op operationRow
			if err := store.Get(t.Context(), d.config.Store.Read(), &op, "WHERE ended_at IS NULL"); err != nil {
				t.Fatal(err)
			}
			sets, err := d.ListStackSets(t.Context(), admin, &cloudformation.ListStackSetsInput{Status: types.StackSetStatusActive})
			if err != nil || len(sets.Summaries) != 1 {
				t.Fatal(sets, err)
			}
			if _, err := d.StopStackSetOperation(t.Context(), admin, &cloudformation.StopStackSetOperationInput{StackSetName: sets.Summaries[0].StackSetId, OperationId: &op.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if p = d.run(invoke.Create, "", model(), nil); p.ErrorCode != "NotStabilized" || !strings.Contains(p.Message, "status reason(s): [Cancelled since the operation was stopped]'") {
			t.Errorf("stopped: %+v", p)
		}
	})
}

// TestResourceRefusals: what this server does not have is refused by name, before anything is made.
func TestResourceRefusals(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		for name, test := range map[string]struct {
			changes object
			message string
		}{
			"service-managed":  {object{"PermissionModel": "SERVICE_MANAGED"}, "requires AWS Organizations, which this server does not support; use SELF_MANAGED, or start cfn serve with --simulate AWS::CloudFormation::StackSet"},
			"auto-deployment":  {object{"AutoDeployment": object{"Enabled": true}}, "AutoDeployment is not supported"},
			"its dependencies": {object{"AutoDeployment": object{"DependsOn": list{"arn"}}}, "AutoDeployment is not supported"},
			"delegated":        {object{"CallAs": "DELEGATED_ADMIN"}, "You can only operate on SERVICE_MANAGED StackSets as a delegated administrator"},
			"units": {
				object{"StackInstancesGroup": list{object{"DeploymentTargets": object{"OrganizationalUnitIds": list{"ou-abcd-12345678"}}, "Regions": list{east}}}},
				"require AWS Organizations",
			},
			"accounts elsewhere": {object{"StackInstancesGroup": list{object{"DeploymentTargets": object{"AccountsUrl": "s3://b/k"}, "Regions": list{east}}}}, "list the accounts in Accounts"},
			"no accounts":        {object{"StackInstancesGroup": list{object{"DeploymentTargets": object{}, "Regions": list{east}}}}, "Accounts should be specified in DeploymentTargets in [SELF_MANAGED] model"},
			"an instance twice":  {object{"StackInstancesGroup": list{group(list{one1}, list{east}), group(list{one1}, list{east}, "V", "x")}}, "Stack instance [111111111111,us-east-1] is duplicated"},
			"two templates":      {object{"TemplateURL": "https://b.s3.amazonaws.com/k"}, "Property validation failure"},
			"no template":        {object{"TemplateBody": nil}, "Property validation failure"},
			"concurrency":        {object{"OperationPreferences": object{"MaxConcurrentCount": 0.0}}, "Property validation failure"},
			"parameters":         {object{"Parameters": list{object{"ParameterKey": "Nothing", "ParameterValue": "x"}}}, "Parameters: [Nothing] do not exist in the template"},
		} {
			p := d.run(invoke.Create, "", with(model(), test.changes), nil)
			if p.Status != types.OperationStatusFailed || p.ErrorCode != "InvalidRequest" || !strings.Contains(p.Message, test.message) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		d.stack = "StackSet-s-12345678-1234-1234-1234-123456789012"
		if p := d.run(invoke.Create, "", model(), nil); p.Message != "Nested AWS::CloudFormation::StackSet is not allowed" {
			t.Errorf("in an instance of a set: %+v", p)
		}
		sets, err := d.ListStackSets(t.Context(), admin, &cloudformation.ListStackSetsInput{})
		if err != nil || len(sets.Summaries) > 0 {
			t.Errorf("sets are left: %+v, %v", sets, err)
		}
	})
}

// TestResourceSecrets: a masked parameter that goes back unchanged keeps its value.
func TestResourceSecrets(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDesk(t, r)
		d.stack = ""
		created := d.must(invoke.Create, "", with(model(), object{
			"Parameters": list{object{"ParameterKey": "Secret", "ParameterValue": "hush"}}, "StackInstancesGroup": list{group(list{one1}, list{east})},
		}), nil)
		if p := created.Model["Parameters"].(list)[0].(object); p["ParameterValue"] != "****" {
			t.Errorf("a secret is shown: %v", p)
		}
		d.must(invoke.Update, created.Identifier, with(created.Model, object{"Description": "e"}), created.Model)
		stacks := slices.Collect(func(yield func(string) bool) {
			for _, f := range d.all {
				yield(f.parameters)
			}
		})
		if diff := cmp.Diff([]string{"Secret=hush"}, stacks); diff != "" {
			t.Errorf("parameters of the stacks (-want +got):\n%s", diff)
		}
		out, err := d.DescribeStackSet(t.Context(), admin, &cloudformation.DescribeStackSetInput{StackSetName: aws.String("s")})
		if err != nil || aws.ToString(out.StackSet.Description) != "e" {
			t.Errorf("described: %+v, %v", out, err)
		}
	})
}
