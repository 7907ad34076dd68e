package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

func arnOfStack(name string) string {
	return "arn:aws:cloudformation:us-east-1:000000000000:stack/" + name + "/7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f"
}

// arnOfSet is the ARN of a change set.
func arnOfSet(name string) string {
	return "arn:aws:cloudformation:us-east-1:000000000000:changeSet/" + name + "/7a1d2c40-0000-11f0-9df5-0e1b2c3d4e5f"
}

const shopTemplate = `Description: The shop.
Parameters:
  Password: {Type: String, NoEcho: true, Default: geheim}
Resources:
  Queue:
    Type: AWS::SQS::Queue
  Billing:
    Type: MongoDB::Atlas::Cluster
    DependsOn: Queue
    Properties:
      Name: !Ref AWS::StackName # <script>alert(1)</script>
  Alarm:
    Type: AWS::CloudWatch::Alarm
    DependsOn: [Queue, Billing]
`

const processedShop = `{"Description": "The shop.", "Parameters": {"Password": {"Type": "String", "NoEcho": true, "Default": "geheim"}}, "Resources": {
	"Queue": {"Type": "AWS::SQS::Queue"}, "Billing": {"Type": "MongoDB::Atlas::Cluster", "DependsOn": "Queue", "Properties": {"Name": {"Ref": "AWS::StackName"}}},
	"Alarm": {"Type": "AWS::CloudWatch::Alarm", "DependsOn": ["Queue", "Billing"]}}}`

// declaredShop are its resources as the engine records them.
const declaredShop = `{"": {"type": "", "context": {"owner": "Team <i>Shop", "must": ["stay small"]}}, "Queue": {"type": "AWS::SQS::Queue", "context": {"why": "orders <b>wait", "must": ["keep"], "mutability": {"QueueName": "must-never-change", "DelaySeconds": "free-to-tune"}}}, "Billing": {"type": "MongoDB::Atlas::Cluster", "needs": ["Queue"]},
	"Alarm": {"type": "AWS::CloudWatch::Alarm", "needs": ["Billing", "Queue"]}}`

// stack writes a stack, whose id is its name, with the rows of its resources.
func (e *engines) stack(name string, status types.StackStatus, created time.Time, more row, resources ...row) {
	e.t.Helper()
	s := row{"id": name, "account": home.Account, "region": home.Region, "name": name, "arn": arnOfStack(name), "live": true, "status": status, "deployment_id": name, "created_at": store.At(created), "row_version": 1}
	maps.Copy(s, more)
	e.insert("stacks", s)
	for _, r := range resources {
		r["stack_id"], r["created_at"] = name, store.At(then)
		e.insert("stack_resources", r)
	}
}

// stacked writes a stack that failed, one that grows, one that was deployed, and one that was deleted.
func (e *engines) stacked() {
	e.failing()
	e.growing()
	e.changing()
	e.stack("old", types.StackStatusDeleteComplete, then.Add(-time.Hour), row{"live": false, "deleted_at": store.At(then), "deployment_id": ""})
}

// failing writes the stack "shop", whose creation failed.
func (e *engines) failing() {
	const (
		failure   = `Resource handler returned message: "the cluster billing did not reach the state IDLE within 30 seconds" (RequestToken: 8f1f0c2e-0c7c-4f0e-9df5-5b6dfb0a6a10, HandlerErrorCode: NotStabilized)`
		reason    = "The following resource(s) failed to create: [Billing]. "
		operation = "7a1d2c40-0000-11f0-9df5-0e1b2c3d4e60"
		queue     = "https://sqs.us-east-1.amazonaws.com/000000000000/shop-Queue"
	)
	e.stack("shop", types.StackStatusCreateFailed, then, row{
		"reason": reason, "outputs": `[{"key": "QueueUrl", "value": "` + queue + `", "description": "Where orders go.", "export": "shop-queue"}]`, "drift": `{"StackDriftStatus": "DRIFTED"}`,
	}, row{
		"logical_id": "Billing", "type": "MongoDB::Atlas::Cluster", "type_version": "00000002", "status": types.ResourceStatusCreateFailed, "reason": failure, "depends_on": `["Queue"]`,
		"updated_at": store.At(then.Add(39 * time.Second)),
	}, row{
		"logical_id": "Queue", "type": "AWS::SQS::Queue", "physical_id": queue, "status": types.ResourceStatusCreateComplete, "updated_at": store.At(then.Add(time.Second)),
	})
	e.insert("stack_deployments", row{
		"id": "shop", "stack_id": "shop", "original": shopTemplate, "processed": processedShop, "resources": declaredShop, "parameters": `{"bound": [{"key": "Password", "value": "geheim", "noEcho": true}]}`,
		"tags": asJSON([]types.Tag{{Key: aws.String("team"), Value: aws.String("<b>payments</b>")}}), "description": "The shop.", "created_at": store.At(then),
	})
	e.insert("stack_operations", row{
		"id": operation, "stack_id": "shop", "kind": types.OperationTypeCreateStack, "status": types.BeaconStackOperationStatusFailed, "deployment_id": "shop",
		"started_at": store.At(then), "ended_at": store.At(then.Add(40 * time.Second)), "row_version": 1,
	})
	for _, x := range []struct {
		seconds                  int
		id, kind, status, reason string
	}{
		{0, "shop", "AWS::CloudFormation::Stack", "CREATE_IN_PROGRESS", "User Initiated"},
		{0, "Queue", "AWS::SQS::Queue", "CREATE_IN_PROGRESS", ""},
		{1, "Queue", "AWS::SQS::Queue", "CREATE_COMPLETE", ""},
		{1, "Billing", "MongoDB::Atlas::Cluster", "CREATE_IN_PROGRESS", ""},
		{2, "Billing", "MongoDB::Atlas::Cluster", "CREATE_IN_PROGRESS", "Resource creation Initiated"},
		{39, "Billing", "MongoDB::Atlas::Cluster", "CREATE_FAILED", failure},
		{40, "shop", "AWS::CloudFormation::Stack", "CREATE_FAILED", reason},
	} {
		event := row{
			"id": fmt.Sprint(x.seconds, x.id, x.status), "stack_id": "shop", "operation_id": operation, "kind": "progress", "logical_id": x.id, "type": x.kind, "status": x.status, "reason": x.reason,
			"physical_id": "", "at": store.At(then.Add(time.Duration(x.seconds) * time.Second)),
		}
		if x.id == "shop" {
			event["physical_id"] = arnOfStack("shop")
		}
		e.insert("stack_events", event)
	}
}

// worker is the logical id of a resource of the stack "growing".
func worker(i int) string { return "Worker" + string(rune('A'+i)) }

// workers are how many resources the stack "growing" is to have, and how many of them exist.
const workers, startedWorkers = 12, 9

// growing writes the stack "growing", which is being created.
func (e *engines) growing() {
	const kind = "AWS::ElasticLoadBalancingV2::TargetGroup"
	var rows, steps []row
	declared, recorded := map[string]any{}, map[string]any{}
	for i := range workers {
		after := []string{}
		if i > 0 {
			after = append(after, worker(i/2))
		}
		declared[worker(i)] = map[string]any{"Type": kind, "DependsOn": after}
		recorded[worker(i)] = map[string]any{"type": kind, "needs": after}
		steps = append(steps, row{
			"id": "growing" + worker(i), "operation_id": "op-2", "stage": "main", "logical_id": worker(i), "plan": asJSON(plan.Step{LogicalID: worker(i), After: after}),
		})
		if i < startedWorkers {
			status := types.ResourceStatusCreateComplete
			if i > 5 {
				status = types.ResourceStatusCreateInProgress
			}
			rows = append(rows, row{"logical_id": worker(i), "type": kind, "status": status, "depends_on": asJSON(after), "updated_at": store.At(then)})
		}
	}
	e.stack("growing", types.StackStatusCreateInProgress, then.Add(-time.Minute), row{"operation_id": "op-2"}, rows...)
	e.insert("stack_steps", steps...)
	text := asJSON(map[string]any{"Resources": declared})
	e.insert("stack_deployments", row{"id": "growing", "stack_id": "growing", "original": text, "processed": text, "resources": asJSON(recorded), "created_at": store.At(then)})
	e.insert("stack_operations", row{
		"id": "op-2", "stack_id": "growing", "kind": types.OperationTypeCreateStack, "status": types.BeaconStackOperationStatusInProgress, "phase": "main", "deployment_id": "growing",
		"started_at": store.At(then.Add(-time.Minute)), "row_version": 1,
	})
}

// changing writes the stack "orders", which has drifted and has change sets and refactors.
func (e *engines) changing() {
	at := store.At(then.Add(-2 * time.Hour))
	resource := func(id, kind, physical string) row {
		return row{"logical_id": id, "type": kind, "physical_id": physical, "status": types.ResourceStatusCreateComplete, "updated_at": at}
	}
	e.stack("orders", types.StackStatusCreateComplete, at.Time, row{"drift": `{"StackDriftStatus": "DRIFTED"}`},
		resource("Alarm", "AWS::CloudWatch::Alarm", "alarm-1"), resource("Billing", "MongoDB::Atlas::Cluster", "billing-1"), resource("Queue", "AWS::SQS::Queue", "<i>queue-1"))
	e.stack("archive", types.StackStatusReviewInProgress, at.Time, row{"deployment_id": ""})
	for _, id := range []string{"orders", "orders-bigger", "orders-apart", "archive-apart"} {
		e.insert("stack_deployments", row{
			"id": id, "stack_id": strings.Split(id, "-")[0], "original": strings.ReplaceAll(shopTemplate, "shop", "orders"), "processed": processedShop, "resources": declaredShop,
			"parameters": `{"bound": [{"key": "Password", "value": "geheim", "noEcho": true}]}`, "created_at": at,
		})
	}
	set := func(name string, more row) row {
		out := row{
			"id": name, "stack_id": "orders", "account": home.Account, "region": home.Region, "name": name, "arn": arnOfSet(name), "live": true, "kind": types.ChangeSetTypeUpdate,
			"status": types.ChangeSetStatusCreateComplete, "execution_status": types.ExecutionStatusAvailable, "reason": "", "description": "", "deployment_id": "orders-bigger", "plan": "",
			"parent_id": "", "root_id": "", "created_at": store.At(then), "row_version": 1,
		}
		maps.Copy(out, more)
		return out
	}
	e.insert("change_sets",
		set("bigger", row{"description": "More <b>disk</b>", "plan": asJSON(plan.Plan{Changes: changesOf()})}),
		set("empty", row{"status": types.ChangeSetStatusFailed, "execution_status": types.ExecutionStatusUnavailable, "reason": "The submitted information didn't contain changes."}),
		set("inner", row{"parent_id": arnOfSet("outer"), "root_id": arnOfSet("outer")}))

	e.insert("stack_drift_detections", row{
		"id": "detection", "stack_id": "orders", "account": home.Account, "region": home.Region, "status": types.StackDriftDetectionStatusDetectionComplete, "stack_status": types.StackDriftStatusDrifted,
		"drifted": 1, "started_at": store.At(then), "ended_at": store.At(then), "row_version": 1,
	})
	drift := func(id, kind, physical string, status types.StackResourceDriftStatus, reason, differences string) row {
		return row{
			"stack_id": "orders", "logical_id": id, "type": kind, "physical_id": physical, "status": status, "reason": reason, "differences": differences, "checked_at": store.At(then),
		}
	}
	e.insert("stack_resource_drifts", drift("Alarm", "AWS::CloudWatch::Alarm", "alarm-1", types.StackResourceDriftStatusInSync, "", ""),
		drift("Billing", "MongoDB::Atlas::Cluster", "billing-1", types.StackResourceDriftStatusModified, "", asJSON([]types.PropertyDifference{{
			PropertyPath: aws.String("/Size/Disk"), ExpectedValue: aws.String("10"), ActualValue: aws.String("<i>40</i>"), DifferenceType: types.DifferenceTypeNotEqual,
		}})),
		drift("Queue", "AWS::SQS::Queue", "<i>queue-1", types.StackResourceDriftStatusNotChecked, "The type of the resource cannot be read.", ""))
	e.refactored()
}

// changesOf are changes of a resource, a new one, and one less.
func changesOf() []plan.Change {
	detail := func(name, before, after string, recreation types.RequiresRecreation, entity string) plan.Detail {
		d := plan.Detail{
			Attribute: types.ResourceAttributeProperties, Name: name, Path: "/Properties/" + name, RequiresRecreation: recreation, CausingEntity: entity, BeforeValue: before, AfterValue: after,
		}
		if before != "" {
			d.AttributeChangeType = types.AttributeChangeTypeModify
		}
		return d
	}
	return []plan.Change{
		{
			LogicalID: "Billing", Type: "MongoDB::Atlas::Cluster", Action: types.ChangeActionModify, Replacement: types.ReplacementTrue, PhysicalID: "billing-1",
			PolicyAction: types.PolicyActionReplaceAndRetain, Details: []plan.Detail{
				detail("Name", "old-name", "new-name", types.RequiresRecreationAlways, ""), detail("Size/Disk", "", "", types.RequiresRecreationNever, "Disk"),
				detail("Size/Disk", "10", "20", types.RequiresRecreationNever, ""),
			},
		},
		{LogicalID: "Mail", Type: "Acme::Mail::List", Action: types.ChangeActionAdd, After: json.RawMessage(`{"Properties":{"Address":"<img src=x>","Members":["a"]}}`)},
		{LogicalID: "Queue", Type: "AWS::SQS::Queue", Action: types.ChangeActionRemove, Before: json.RawMessage(`{"Properties":{"QueueName":"orders"}}`), PolicyAction: types.PolicyActionRetain},
	}
}

// refactored writes two refactors: one that can be executed, and one that failed.
func (e *engines) refactored() {
	e.insert("stack_refactors", row{
		"id": "refactor-2", "account": home.Account, "region": home.Region, "description": "Apart <b>now</b>", "status": types.StackRefactorStatusCreateComplete, "reason": "",
		"execution_status": types.StackRefactorExecutionStatusAvailable, "created_at": store.At(then), "row_version": 1,
		"moves": `[{"from": 0, "source": "Queue", "to": 1, "target": "Line", "type": "AWS::SQS::Queue", "physicalId": "<i>queue-1"}]`,
	}, row{
		"id": "refactor-1", "account": home.Account, "region": home.Region, "description": "", "status": types.StackRefactorStatusCreateFailed, "reason": "There are no resources to refactor.",
		"execution_status": types.StackRefactorExecutionStatusUnavailable, "created_at": store.At(then), "row_version": 1, "moves": "",
	})
	for _, id := range []string{"refactor-1", "refactor-2"} {
		for i, name := range []string{"orders", "archive"} {
			e.insert("stack_refactor_stacks", row{"refactor_id": id, "position": i, "stack_id": name, "name": name, "arn": arnOfStack(name), "fresh": i == 1, "deployment_id": name + "-apart"})
		}
	}
}
