package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A plainTemplate is a template as text.
type plainTemplate string

func (p plainTemplate) String() string { return string(p) }

// thingsNamed is a template of things: "B: {DependsOn: A, Properties: {Note: n}}". Those whose
// name starts with Keep stay when their stack no longer has them.
func thingsNamed(lines ...string) plainTemplate {
	var b strings.Builder
	b.WriteString("Resources:\n")
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ": {")
		policy := ""
		if strings.HasPrefix(name, "Keep") {
			policy = "DeletionPolicy: Retain, "
		}
		fmt.Fprintf(&b, "  %s: {Type: %s, %s%s\n", name, thingType, policy, rest)
	}
	return plainTemplate(b.String())
}

// thing finds the only thing of the stacks with a logical ID at its creation.
func (d *driver) thing(logical string) (ledgerThing, error) {
	all := d.ledger.things(d.t, d.stack)
	i := slices.IndexFunc(all, func(t ledgerThing) bool { return t.Logical == logical })
	if i < 0 {
		return ledgerThing{}, fmt.Errorf("no thing %s", logical)
	}
	return all[i], nil
}

// alter changes the note of a thing behind the back of its stack.
func (d *driver) alter(logical, note string) error {
	found, err := d.thing(logical)
	if err != nil {
		return err
	}
	found.Note = note
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	file := filepath.Join(d.ledger.dir, "things", found.ID)
	own := filepath.Join(d.ledger.dir, "altered-"+found.ID)
	return errors.Join(os.WriteFile(own, data, 0o600), os.Rename(own, file))
}

// imported executes a change set that imports the thing Keep.
func imported(s fmt.Stringer) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		kept, err := d.thing("Keep")
		if err != nil {
			return err
		}
		return execute(types.ChangeSetTypeImport, s, types.ResourceToImport{
			LogicalResourceId: aws.String("Keep"), ResourceType: aws.String(thingType), ResourceIdentifier: map[string]string{"Id": kept.ID},
		})(ctx, c, d, token)
	}
}

// drifts detects the drift of the stack, and compares it with what it must be. With note, the
// thing A has that note meanwhile.
func drifts(note, want string) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, _ string) error {
		if note != "" {
			if err := d.alter("A", note); err != nil {
				return err
			}
		}
		begun, err := c.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: &d.stack})
		if codeOf(err) == "ValidationError" { // one runs whose answer was lost
			return errors.New("another detection runs")
		}
		if err != nil {
			return err
		}
		for {
			out, err := c.DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId})
			if err != nil {
				return err
			}
			if out.DetectionStatus == types.StackDriftDetectionStatusDetectionInProgress {
				letRun(20 * time.Millisecond)
				continue
			}
			if got := fmt.Sprintf("%s %s %d", out.DetectionStatus, out.StackDriftStatus, aws.ToInt32(out.DriftedStackResourceCount)); got != want {
				d.t.Errorf("stack %s: the drift is %s, want %s (%s)", d.stack, got, want, aws.ToString(out.DetectionStatusReason))
			}
			break
		}
		if note != "" {
			return d.alter("A", "first")
		}
		return nil
	}
}

// refactored moves resources between the stack and the second one.
func refactored(first, second fmt.Stringer) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		id, err := refactorOf(ctx, c, token)
		if err != nil {
			return err
		}
		if id == "" {
			in := &cloudformation.CreateStackRefactorInput{Description: &token, EnableStackCreation: aws.Bool(true), StackDefinitions: []types.StackDefinition{
				{StackName: &d.stack, TemplateBody: aws.String(first.String())}, {StackName: aws.String(d.second()), TemplateBody: aws.String(second.String())},
			}}
			out, err := c.CreateStackRefactor(ctx, in)
			if err != nil {
				return err
			}
			id = *out.StackRefactorId
		}
		for {
			out, err := c.DescribeStackRefactor(ctx, &cloudformation.DescribeStackRefactorInput{StackRefactorId: &id})
			switch {
			case err != nil:
				return err
			case out.Status == types.StackRefactorStatusCreateFailed:
				return fmt.Errorf("the refactor failed: %s", aws.ToString(out.StatusReason))
			case out.ExecutionStatus == types.StackRefactorExecutionStatusExecuteComplete:
				return nil
			case out.ExecutionStatus == types.StackRefactorExecutionStatusAvailable:
				if _, err := c.ExecuteStackRefactor(ctx, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: &id}); err != nil {
					return err
				}
			case out.Status == types.StackRefactorStatusCreateComplete && out.ExecutionStatus != types.StackRefactorExecutionStatusExecuteInProgress:
				return fmt.Errorf("the refactor is %s: %s", out.ExecutionStatus, aws.ToString(out.ExecutionStatusReason))
			}
			letRun(20 * time.Millisecond)
		}
	}
}

// refactorOf finds a refactor by its description, "" for none.
func refactorOf(ctx context.Context, c clients, description string) (string, error) {
	pages := cloudformation.NewListStackRefactorsPaginator(c, &cloudformation.ListStackRefactorsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, r := range page.StackRefactorSummaries {
			if aws.ToString(r.Description) == description && r.Status != types.StackRefactorStatusCreateFailed {
				return *r.StackRefactorId, nil
			}
		}
	}
	return "", nil
}

// removeSecond deletes the stack that resources were moved to.
func removeSecond(ctx context.Context, c clients, d *driver, _ string) error {
	name := d.second()
	for {
		out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
		switch {
		case codeOf(err) == "ValidationError":
			return nil // it is gone
		case err != nil:
			return err
		case out.Stacks[0].StackStatus != types.StackStatusDeleteInProgress:
			if _, err := c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
				return err
			}
		}
		letRun(20 * time.Millisecond)
	}
}

const (
	thingA = "A: {Properties: {Name: a, Note: first}}"
	thingB = "B: {Properties: {Note: !Ref A}}"
	kept   = "Keep: {Properties: {Note: stays}}"
)

// changeScripts are those of TestKillChanges.
var changeScripts = map[string][]turn{
	"moved": {
		{name: "change set for a new stack", send: execute(types.ChangeSetTypeCreate, thingsNamed(thingA, thingB, kept, "C: {Properties: {Note: c}}")), want: status("CREATE_COMPLETE")},
		{name: "drift of nothing", send: drifts("", "DETECTION_COMPLETE IN_SYNC 0"), want: status("CREATE_COMPLETE")},
		{name: "refactor into a new stack", send: refactored(thingsNamed(thingA, thingB), thingsNamed(kept, "Moved: {Properties: {Note: c}}")), want: status("UPDATE_COMPLETE")},
		{name: "refactor back", send: refactored(thingsNamed(thingA, thingB, "C: {Properties: {Note: c}}"), thingsNamed(kept)), want: status("UPDATE_COMPLETE")},
		{name: "change set after that", send: execute(types.ChangeSetTypeUpdate, thingsNamed(strings.Replace(thingA, "Name: a", "Name: b", 1), thingB)), want: status("UPDATE_COMPLETE")},
		{name: "delete the other stack", send: removeSecond, want: status("UPDATE_COMPLETE")},
		{name: "delete", send: remove, want: status("DELETE_COMPLETE")},
	},
	"imported": {
		{name: "create", send: create(thingsNamed(thingA, thingB, kept)), want: status("CREATE_COMPLETE")},
		{name: "drift of one thing", send: drifts("altered", "DETECTION_COMPLETE DRIFTED 1"), want: status("CREATE_COMPLETE")},
		{name: "change set that leaves one thing", send: execute(types.ChangeSetTypeUpdate, thingsNamed(thingA, thingB)), want: status("UPDATE_COMPLETE")},
		{name: "import", send: imported(thingsNamed(thingA, thingB, kept)), want: status("IMPORT_COMPLETE")},
		{name: "drift after the import", send: drifts("", "DETECTION_COMPLETE IN_SYNC 0"), want: status("IMPORT_COMPLETE")},
		{name: "change set that fails", send: execute(types.ChangeSetTypeUpdate, thingsNamed(thingA, thingB, "Keep: {Properties: {Note: other}}",
			"Z: {DependsOn: [B, Keep], Properties: {Trouble: create-late}}")), want: status("UPDATE_ROLLBACK_COMPLETE")},
		{name: "delete", send: remove, want: status("DELETE_COMPLETE")},
	},
}

// script returns the turns of a script.
func script(name string) []turn {
	if turns, ok := changeScripts[name]; ok {
		return turns
	}
	return scripts[name]
}
