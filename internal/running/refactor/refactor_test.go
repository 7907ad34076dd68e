package refactor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// definitions are stacks with the templates that they are to have: "name", body.
func definitions(texts ...string) []types.StackDefinition {
	var out []types.StackDefinition
	for i := 0; i < len(texts); i += 2 {
		out = append(out, types.StackDefinition{StackName: &texts[i], TemplateBody: &texts[i+1]})
	}
	return out
}

// mapped is where a resource is to be: "from/A", "to/B".
func mapped(from, to string) types.ResourceMapping {
	location := func(text string) *types.ResourceLocation {
		stack, id, _ := strings.Cut(text, "/")
		return &types.ResourceLocation{StackName: &stack, LogicalResourceId: &id}
	}
	return types.ResourceMapping{Source: location(from), Destination: location(to)}
}

// refactored makes a refactor and waits until it is there.
func (g *rig) refactored(in *cloudformation.CreateStackRefactorInput) *cloudformation.DescribeStackRefactorOutput {
	g.t.Helper()
	out, err := g.CreateStackRefactor(g.t.Context(), owner, in)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.refactorWhen(*out.StackRefactorId, func(r *cloudformation.DescribeStackRefactorOutput) bool {
		return r.Status != types.StackRefactorStatusCreateInProgress
	})
}

// refactorWhen waits for a state of a refactor.
func (g *rig) refactorWhen(id string, is func(*cloudformation.DescribeStackRefactorOutput) bool) *cloudformation.DescribeStackRefactorOutput {
	g.t.Helper()
	var found *cloudformation.DescribeStackRefactorOutput
	fixtures.Await(g.t, "the refactor", func() bool {
		var err error
		if found, err = g.DescribeStackRefactor(g.t.Context(), owner, &cloudformation.DescribeStackRefactorInput{StackRefactorId: &id}); err != nil {
			g.t.Fatal(err)
		}
		return is(found)
	})
	return found
}

// executeRefactored executes a refactor and waits for its end.
func (g *rig) executeRefactored(id string) *cloudformation.DescribeStackRefactorOutput {
	g.t.Helper()
	if _, err := g.ExecuteStackRefactor(g.t.Context(), owner, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: &id}); err != nil {
		g.t.Fatal(err)
	}
	return g.refactorWhen(id, func(r *cloudformation.DescribeStackRefactorOutput) bool {
		return !strings.HasSuffix(string(r.ExecutionStatus), "_IN_PROGRESS")
	})
}

// actionsOf are the actions of a refactor: "MOVE from/A to/A a-1 AUTO".
func (g *rig) actionsOf(id string) string {
	g.t.Helper()
	out, err := g.ListStackRefactorActions(g.t.Context(), owner, &cloudformation.ListStackRefactorActionsInput{StackRefactorId: &id})
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	name := func(l *types.ResourceLocation) string {
		return strings.Split(*l.StackName, "/")[1] + "/" + *l.LogicalResourceId
	}
	for _, a := range out.StackRefactorActions {
		line := string(a.Action) + " " + string(a.Entity)
		if m := a.ResourceMapping; m != nil {
			line += " " + name(m.Source) + " " + name(m.Destination) + " " + *a.PhysicalResourceId + " " + string(a.Detection)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// resourcesOf are the resources of a stack: "A a-1 CREATE_COMPLETE".
func (g *rig) has(stack string) string {
	g.t.Helper()
	out, err := g.stacks.DescribeStackResources(g.t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	for _, r := range out.StackResources {
		lines = append(lines, fmt.Sprintf("%s %s %s", *r.LogicalResourceId, *r.PhysicalResourceId, r.ResourceStatus))
	}
	return strings.Join(lines, ", ")
}

// TestRefactor moves a resource from one stack to another: the reference to it becomes an
// export and an import. Afterwards both stacks are updated and deleted.
func TestRefactor(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.create("from", things("A: {Properties: {Note: n, Secret: s}}", "B: {Properties: {Note: !Ref A}}"))
		g.create("to", things("K: {Properties: {Note: k}}"))
		g.world.done()
		from := things("B: {Properties: {Note: !ImportValue the-a}}")
		to := things("K: {Properties: {Note: k}}", "A: {Properties: {Note: n, Secret: s}}") + "Outputs: {A: {Value: !Ref A, Export: {Name: the-a}}}\n"
		r := g.refactored(&cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("from", from, "to", to), Description: aws.String("apart")})
		if r.Status != types.StackRefactorStatusCreateComplete || r.ExecutionStatus != types.StackRefactorExecutionStatusAvailable || *r.Description != "apart" ||
			len(r.StackIds) != 2 || r.StackIds[0] != *g.settled("from").StackId {
			t.Fatalf("the refactor: %s", encode(r))
		}
		id := *r.StackRefactorId
		g.same("actions", g.actionsOf(id), "MOVE RESOURCE from/A to/A a-1 AUTO")
		for _, of := range []string{"from", "to"} {
			shown, err := g.Refactors(t.Context(), owner.Place, of, 10)
			if err != nil || len(shown) != 1 || !shown[0].Executable() || encode(shown[0].Moves) != `[{"FromStack":"from","FromID":"A","ToStack":"to","ToID":"A","Type":"Acme::Test::Thing","PhysicalID":"a-1"}]` {
				t.Errorf("the refactors of %s: %s %v", of, encode(shown), err)
			}
		}
		mark, err := g.Mark(t.Context(), owner.Place, "from")
		if err != nil {
			t.Fatal(err)
		}
		before := len(g.story("from"))
		beforeTo := len(g.story("to"))
		r = g.executeRefactored(id)
		if r.ExecutionStatus != types.StackRefactorExecutionStatusExecuteComplete || r.ExecutionStatusReason != nil {
			t.Fatalf("executed: %s", encode(r))
		}
		if after, err := g.Mark(t.Context(), owner.Place, "from"); err != nil || after == mark {
			t.Errorf("the mark has not changed: %d %v", after, err)
		}
		g.same("calls", g.world.done(), "")
		g.same("from", g.has("from"), "B b-1 CREATE_COMPLETE")
		g.same("to", g.has("to"), "A a-1 IMPORT_COMPLETE, K k-1 CREATE_COMPLETE")
		g.expect("from", before, "from UPDATE_IN_PROGRESS (User Initiated)", "A EXPORT_IN_PROGRESS a-1", "A EXPORT_COMPLETE a-1",
			"from UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "from UPDATE_COMPLETE")
		g.expect("to", beforeTo, "to UPDATE_IN_PROGRESS (User Initiated)", "A IMPORT_IN_PROGRESS a-1 (Resource import started.)", "A IMPORT_COMPLETE a-1",
			"to UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "to UPDATE_COMPLETE")
		g.expectStatus(g.settled("to"), types.StackStatusUpdateComplete)
		if s := g.settled("to"); len(s.Outputs) != 1 || *s.Outputs[0].OutputValue != "a-1" {
			t.Errorf("outputs: %s", encode(s.Outputs))
		}
		imports, err := g.stacks.ListImports(t.Context(), owner, &cloudformation.ListImportsInput{ExportName: aws.String("the-a")})
		if err != nil || len(imports.Imports) != 1 || imports.Imports[0] != "from" {
			t.Errorf("imports: %v %v", imports, err)
		}
		g.afterwards(from, to)
	})
}

// afterwards updates both stacks of TestRefactor, detects drift and deletes them.
func (g *rig) afterwards(from, to string) {
	g.t.Helper()
	_, err := g.stacks.UpdateStack(g.t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("to"), TemplateBody: &to})
	refusedWith(g.t, err, "ValidationError", "No updates are to be performed.")
	_, err = g.stacks.UpdateStack(g.t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("from"), TemplateBody: &from})
	refusedWith(g.t, err, "ValidationError", "No updates are to be performed.")
	drift, err := g.stacks.DetectStackResourceDrift(g.t.Context(), owner, &cloudformation.DetectStackResourceDriftInput{StackName: aws.String("to"), LogicalResourceId: aws.String("A")})
	if err != nil || drift.StackResourceDrift.StackResourceDriftStatus != types.StackResourceDriftStatusInSync {
		g.t.Errorf("drift: %s %v", encode(drift), err)
	}
	g.update("to", strings.Replace(to, "Note: n", "Note: other", 1))
	g.same("update", g.world.done(), "UPDATE A")
	g.world.mu.Lock()
	last := g.world.last
	g.world.mu.Unlock()
	if last.Identifier != "a-1" || last.StackName != "to" || last.SystemTags["aws:cloudformation:stack-name"] != "to" {
		g.t.Errorf("the update: %s", encode(last))
	}
	g.delete("from")
	g.same("deleted", g.world.done(), "DELETE B")
	g.delete("to")
	g.same("deleted", g.world.done(), "DELETE A, DELETE K")
	g.same("left", g.world.ids(), "")
}

// TestRefactorNewStack moves resources into a stack that does not exist yet.
func TestRefactorNewStack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.create("from", things("A: {Properties: {Note: !Ref K}}", "B: {Properties: {Note: !Ref A}}", "K: {}")+"Outputs: {K: {Value: !Ref K, Export: {Name: k}}}\n")
		g.world.done()
		in := &cloudformation.CreateStackRefactorInput{StackDefinitions: definitions(
			"from", things("K: {}")+"Outputs: {K: {Value: !Ref K, Export: {Name: k}}}\n",
			"new", things("First: {Properties: {Note: !ImportValue k}}", "B: {Properties: {Note: !Ref First}}"))}
		_, err := g.CreateStackRefactor(t.Context(), owner, in)
		refusedWith(t, err, "ValidationError", "Stack [new] does not exist")
		in.EnableStackCreation = aws.Bool(true)
		r := g.refactored(in)
		if r.Status != types.StackRefactorStatusCreateComplete {
			t.Fatal(encode(r))
		}
		g.same("actions", g.actionsOf(*r.StackRefactorId), "CREATE STACK, MOVE RESOURCE from/B new/B b-1 AUTO, MOVE RESOURCE from/A new/First a-1 AUTO")
		if s := g.settled("new"); s.StackStatus != types.StackStatusReviewInProgress || *s.StackId != r.StackIds[1] {
			t.Errorf("the new stack: %s", encode(s))
		}
		if r = g.executeRefactored(*r.StackRefactorId); r.ExecutionStatus != types.StackRefactorExecutionStatusExecuteComplete {
			t.Fatal(encode(r))
		}
		g.same("calls", g.world.done(), "")
		g.same("from", g.has("from"), "K k-1 CREATE_COMPLETE")
		g.same("new", g.has("new"), "B b-1 IMPORT_COMPLETE, First a-1 IMPORT_COMPLETE")
		g.expect("new", 0, "new REVIEW_IN_PROGRESS (User Initiated)", "new CREATE_IN_PROGRESS (User Initiated)", "B IMPORT_IN_PROGRESS b-1 (Resource import started.)", "B IMPORT_COMPLETE b-1",
			"First IMPORT_IN_PROGRESS a-1 (Resource import started.)", "First IMPORT_COMPLETE a-1", "new CREATE_COMPLETE")
		// What depends on what is that of the new templates: B is deleted first.
		g.delete("new")
		g.same("calls", strings.Join(g.world.inOrder(), ", "), "DELETE B, DELETE First")
	})
}

// TestRefactorRenames renames resources within one stack, two of them crosswise.
func TestRefactorRenames(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.create("app", things("A: {Properties: {Note: one}}", "B: {Properties: {Note: two}}", "C: {Properties: {Note: !Ref B}}"))
		g.world.done()
		r := g.refactored(&cloudformation.CreateStackRefactorInput{
			StackDefinitions: definitions("app", things("A: {Properties: {Note: two}}", "B: {Properties: {Note: one}}", "D: {Properties: {Note: !Ref A}}")),
			ResourceMappings: []types.ResourceMapping{mapped("app/A", "app/B"), mapped("app/B", "app/A")},
		})
		if r.Status != types.StackRefactorStatusCreateComplete {
			t.Fatal(encode(r))
		}
		g.same("actions", g.actionsOf(*r.StackRefactorId), "MOVE RESOURCE app/B app/A b-1 MANUAL, MOVE RESOURCE app/A app/B a-1 MANUAL, MOVE RESOURCE app/C app/D c-1 AUTO")
		g.executeRefactored(*r.StackRefactorId)
		g.same("app", g.has("app"), "A b-1 IMPORT_COMPLETE, B a-1 IMPORT_COMPLETE, D c-1 IMPORT_COMPLETE")
		g.same("calls", g.world.done(), "")
		g.update("app", things("A: {Properties: {Note: two}}"))
		g.same("left", g.world.ids(), "b-1")
	})
}

// TestRefactorRefusals are refactors that are refused at the call.
func TestRefactorRefusals(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create("one", things("A: {}", "B: {Properties: {Note: n}}"))
	body := things("A: {}")
	for _, tc := range []struct {
		in      cloudformation.CreateStackRefactorInput
		message string
	}{
		{cloudformation.CreateStackRefactorInput{}, "Must provide at least one stack definition to refactor."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("a", body, "b", body, "c", body, "d", body, "e", body, "f", body)},
			"The number of stacks to refactor, 6, is greater than maximum allowed, 5"},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("one", body, "one", body)}, "Stack [one] must not be in the stack definitions more than once."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("none", body)}, "Stack [none] does not exist"},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: []types.StackDefinition{{TemplateBody: &body}}}, "StackName is a required parameter."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: []types.StackDefinition{{StackName: aws.String("one")}}}, "Either Template URL or Template Body must be specified."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: []types.StackDefinition{{StackName: aws.String("one"), TemplateBody: &body, TemplateURL: aws.String("https://x")}}},
			"Only one of Template URL or Template Body may be specified."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("one", body), ResourceMappings: []types.ResourceMapping{mapped("one/A", "two/A")}},
			"Stack [two] of the resource mappings is not in the stack definitions."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("one", body), ResourceMappings: []types.ResourceMapping{{}}},
			"A resource mapping must have the stack name and the logical resource id of its source and of its destination."},
		{cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("one", body), ResourceMappings: []types.ResourceMapping{mapped("one/A", "one/C"), mapped("one/A", "one/D")}},
			"A resource must not be the source or the destination of more than one resource mapping."},
	} {
		_, err := g.CreateStackRefactor(t.Context(), owner, &tc.in)
		refusedWith(t, err, "ValidationError", tc.message)
	}
	none := aws.String("none")
	for _, call := range []func() error{
		func() error {
			_, err := g.DescribeStackRefactor(t.Context(), owner, &cloudformation.DescribeStackRefactorInput{StackRefactorId: none})
			return err
		},
		func() error {
			_, err := g.ExecuteStackRefactor(t.Context(), owner, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: none})
			return err
		},
		func() error {
			_, err := g.ListStackRefactorActions(t.Context(), owner, &cloudformation.ListStackRefactorActionsInput{StackRefactorId: none})
			return err
		},
	} {
		refusedWith(t, call(), "StackRefactorNotFoundException", "StackRefactor [none] does not exist")
	}
}

// TestRefactorFailures are refactors that are accepted and cannot be made.
func TestRefactorFailures(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create("one", things("A: {Properties: {Note: a}}", "B: {Properties: {Note: same}}", "C: {Properties: {Note: same}}", "K: {}",
		"F: {Type: Acme::Test::Fixed}", "N: {Type: Acme::Test::Named, Properties: {Name: named}}", "H: {Type: AWS::CloudFormation::WaitConditionHandle}")+
		"Parameters: {P: {Type: String, Default: p}}\nOutputs: {A: {Value: !Ref A, Export: {Name: used}}}\n")
	g.create("two", things("X: {Properties: {Note: x}}"))
	g.create("user", things("U: {Properties: {Note: !ImportValue used}}")+"Outputs: {U: {Value: u, Export: {Name: taken}}}\n")
	const head = "Parameters: {P: {Type: String, Default: p}}\n"
	const out = "Outputs: {A: {Value: !Ref A, Export: {Name: used}}}\n"
	all := map[string]string{
		"A": "{Properties: {Note: a}}", "B": "{Properties: {Note: same}}", "C": "{Properties: {Note: same}}", "K": "{}",
		"F": "{Type: Acme::Test::Fixed}", "N": "{Type: Acme::Test::Named, Properties: {Name: named}}", "H": "{Type: AWS::CloudFormation::WaitConditionHandle}",
	}
	one := func(without string, more ...string) string {
		var lines []string
		for _, id := range strings.Split("A B C K F N H", " ") {
			if !strings.Contains(without, id) {
				lines = append(lines, id+": "+all[id])
			}
		}
		return things(append(lines, more...)...) + head
	}
	two := func(more ...string) string { return things(append([]string{"X: {Properties: {Note: x}}"}, more...)...) }
	for name, tc := range map[string]struct {
		one, two string
		mappings []types.ResourceMapping
		creates  bool
		reason   string // after the ARN of the stack that it begins with
	}{
		"nothing":            {one: one("") + out, two: two(), reason: "There are no resources to refactor."},
		"creation":           {one: one("", "Z: {Properties: {Note: z}}") + out, two: two(), reason: "ONE: Stack Refactor does not support creation of resources: [Z]."},
		"deletion":           {one: one("K") + out, two: two(), reason: "ONE: Stack Refactor does not support deletion of resources: [K]."},
		"modification":       {one: one("K") + out, two: two("K: {Properties: {Note: k}}"), reason: "TWO: Stack Refactor does not support modification of resources: [K]."},
		"large number":       {one: one("K") + out, two: two("K: {Properties: {Note: 1e999999999}}"), reason: "TWO: Stack Refactor does not support modification of resources: [K]."},
		"policy":             {one: one("K") + out, two: two("K: {DeletionPolicy: Retain}"), reason: "TWO: Stack Refactor does not support modification of resources: [K]."},
		"kept and modified":  {one: one("K") + out, two: things("X: {Properties: {Note: y}}", "K: {}"), reason: "TWO: Stack Refactor does not support modification of resources: [X]."},
		"immutable type":     {one: one("F") + out, two: two("F: {Type: Acme::Test::Fixed}"), reason: "ONE: Stack Refactor does not support Acme::Test::Fixed."},
		"own type":           {one: one("H") + out, two: two("H: {Type: AWS::CloudFormation::WaitConditionHandle}"), reason: "ONE: Stack Refactor does not support AWS::CloudFormation::WaitConditionHandle."},
		"tags":               {one: one("N") + out, two: two("N: {Type: Acme::Test::Named, Properties: {Name: named}}"), reason: "ONE: Stack Refactor does not support Acme::Test::Named because the resource type does not allow tag updates after creation."},
		"ambiguous":          {one: one("BC") + out, two: two("Y: {Properties: {Note: same}}", "Z: {Properties: {Note: same}}"), reason: "TWO: The resources [Y, Z] have several possible sources. Specify them in the resources mapping."},
		"unmoved":            {one: one("") + out, two: two("Y: {Properties: {Note: same}}"), mappings: []types.ResourceMapping{mapped("one/B", "two/Y")}, reason: "ONE: The resource B defined in the resources mapping did no move from its original stack one. Review your stack template desired state."},
		"unmoved elsewhere":  {one: one("") + out, two: two("Y: {}"), mappings: []types.ResourceMapping{mapped("user/U", "two/Y")}, reason: "TWO: The resource U defined in the resources mapping did no move from its original stack user. Review your stack template desired state."},
		"mapped source":      {one: one("") + out, two: two("Y: {}"), mappings: []types.ResourceMapping{mapped("one/Q", "two/Y")}, reason: "ONE: The resource Q defined in the resources mapping does not exist in stack one."},
		"mapped destination": {one: one("K") + out, two: two(), mappings: []types.ResourceMapping{mapped("one/K", "two/Y")}, reason: "TWO: The resource Y defined in the resources mapping does not exist in the template of stack two."},
		"another type":       {one: one("K") + out, two: two("Y: {Type: Acme::Test::Remade}"), mappings: []types.ResourceMapping{mapped("one/K", "two/Y")}, reason: "TWO: Stack Refactor does not support modification of resources: [Y]."},
		"export in use":      {one: one("K"), two: two("K: {}"), reason: "ONE: Export used cannot be deleted as it is in use by user"},
		"export changed":     {one: one("K") + strings.Replace(out, "!Ref A", "!Ref B", 1), two: two("K: {}"), reason: "ONE: Export used cannot be updated as it is in use by user"},
		"export taken":       {one: one("K") + out, two: two("K: {}") + "Outputs: {K: {Value: !Ref K, Export: {Name: taken}}}\n", reason: "TWO: Export with name taken is already exported by stack USER."},
		"export twice":       {one: one("K") + out, two: two("K: {}") + "Outputs: {K: {Value: !Ref K, Export: {Name: used}}}\n", reason: "TWO: Export with name used is already exported by stack ONE."},
		"import of nothing":  {one: one("K") + out, two: two("K: {}") + "Outputs: {K: {Value: !ImportValue none}}\n", reason: "TWO: No export named none found"},
		"new parameter":      {one: one("K") + out, two: two("K: {}") + "Parameters: {Q: {Type: String, Default: q}}\n", reason: "TWO: Following template sections are not allowed to change while refactoring: Parameters"},
		"conditions":         {one: one("K") + out + "Conditions: {C: !Equals [a, b]}\n", two: two("K: {}"), reason: "ONE: Following template sections are not allowed to change while refactoring: Conditions"},
		"sections": {one: one("K") + out, two: things("K: {}") + "Conditions: {C: !Equals [a, b]}\nRules: {R: {Assertions: [{Assert: !Equals [a, a]}]}}\n", creates: true,
			reason: "NEW: Following template sections are not allowed when creating a stack while refactoring: Conditions, Rules"},
		"invalid template": {one: "{", two: two(), reason: "ONE: Template format error"},
		"no resources":     {one: one("K") + out, two: "Conditions: {C: !Equals [a, b]}\nResources: {X: {Type: Acme::Test::Thing, Condition: C}}\n", creates: true, reason: "NEW: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := &rig{g.Engine, g.stacks, t, g.world}
			second := "two"
			if tc.creates {
				second = "new"
			}
			r := g.refactored(&cloudformation.CreateStackRefactorInput{
				StackDefinitions: definitions("one", tc.one, second, tc.two), ResourceMappings: tc.mappings, EnableStackCreation: &tc.creates,
			})
			reason := aws.ToString(r.StatusReason)
			for _, stack := range []string{"one", "two", "user"} {
				reason = strings.ReplaceAll(reason, *g.settled(stack).StackId, strings.ToUpper(stack))
			}
			if tc.creates {
				if rest, ok := strings.CutPrefix(reason, "arn:aws:cloudformation:eu-west-1:123456789012:stack/new/"); ok {
					_, reason, _ = strings.Cut(rest, ": ")
					reason = "NEW: " + reason
				}
				if r.StackIds[1] != "new" {
					t.Errorf("ids: %v", r.StackIds)
				}
				if _, err := g.stacks.DescribeStacks(t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: &second}); err == nil {
					t.Error("a refactor that failed made a stack")
				}
			}
			if r.Status != types.StackRefactorStatusCreateFailed || r.ExecutionStatus != types.StackRefactorExecutionStatusUnavailable ||
				reason != tc.reason && (!strings.HasPrefix(reason, tc.reason) || name != "invalid template" && name != "no resources") {
				t.Errorf("%s %s %s\nwant: %s", r.Status, r.ExecutionStatus, reason, tc.reason)
			}
			_, err := g.ExecuteStackRefactor(t.Context(), owner, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: r.StackRefactorId})
			refusedWith(t, err, "ValidationError", fmt.Sprintf("StackRefactor [%s] cannot be executed in its current execution status of [UNAVAILABLE]", *r.StackRefactorId))
		})
	}
}

// TestRefactorOfNestedStacks refuses to rename a nested stack.
func TestRefactorOfNestedStacks(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	const nested = "{Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: 'https://t/x'}}"
	g.create("one", things("A: {}", "N: "+nested))
	r := g.refactored(&cloudformation.CreateStackRefactorInput{
		StackDefinitions: definitions("one", things("A: {}", "M: "+nested)), ResourceMappings: []types.ResourceMapping{mapped("one/N", "one/M")},
	})
	g.same("reason", aws.ToString(r.StatusReason), *g.settled("one").StackId+": Stack Refactor does not support AWS::CloudFormation::Stack.")
}

// TestRefactorStates are stacks that cannot be refactored as they are, and refactors that
// something else has made obsolete.
func TestRefactorStates(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.create("one", things("A: {}", "B: {}"))
		g.create("two", things("X: {}"))
		in := &cloudformation.CreateStackRefactorInput{StackDefinitions: definitions("one", things("B: {}"), "two", things("X: {}", "A: {}"))}
		r := g.refactored(in)
		if r.Status != types.StackRefactorStatusCreateComplete {
			t.Fatal(encode(r))
		}
		// A change set that was there is obsolete after the execution, and a refactor after an update.
		g.update("two", things("X: {Properties: {Note: n}}"))
		r = g.refactorWhen(*r.StackRefactorId, func(*cloudformation.DescribeStackRefactorOutput) bool { return true })
		if r.Status != types.StackRefactorStatusCreateComplete || r.ExecutionStatus != types.StackRefactorExecutionStatusObsolete ||
			aws.ToString(r.ExecutionStatusReason) != *g.settled("two").StackId+": Stack was updated." {
			t.Errorf("obsolete: %s", encode(r))
		}
		if _, err := g.stacks.SetStackPolicy(t.Context(), owner, &cloudformation.SetStackPolicyInput{
			StackName: aws.String("two"), StackPolicyBody: aws.String(`{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}`),
		}); err != nil {
			t.Fatal(err)
		}
		r = g.refactored(in)
		g.same("policy", aws.ToString(r.StatusReason), *g.settled("two").StackId+": Stack Refactor does not support stacks with a stack policy.")
		hold := make(chan struct{})
		g.world.script("UPDATE A", behavior{hold: hold})
		if _, err := g.stacks.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("one"), TemplateBody: aws.String(things("A: {Properties: {Note: n}}", "B: {}"))}); err != nil {
			t.Fatal(err)
		}
		r = g.refactored(in)
		g.same("busy", aws.ToString(r.StatusReason), r.StackIds[0]+": Stack is in UPDATE_IN_PROGRESS state and can not be refactored.")
		close(hold)
		g.settled("one")
		list, err := g.ListStackRefactors(t.Context(), owner, &cloudformation.ListStackRefactorsInput{ExecutionStatusFilter: []types.StackRefactorExecutionStatus{"OBSOLETE"}})
		if err != nil || len(list.StackRefactorSummaries) == 0 {
			t.Errorf("the list: %s %v", encode(list), err)
		}
		page, err := g.ListStackRefactors(t.Context(), owner, &cloudformation.ListStackRefactorsInput{MaxResults: aws.Int32(2)})
		if err != nil || len(page.StackRefactorSummaries) != 2 || page.NextToken == nil || *page.StackRefactorSummaries[0].StackRefactorId != *r.StackRefactorId {
			t.Errorf("a page: %s %v", encode(page), err)
		}
	})
}

// TestRefactorRollsBack executes refactors whose resources are gone, or whose exports somebody
// else has taken meanwhile.
func TestRefactorRollsBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.create("one", things("A: {}", "B: {Properties: {Note: b}}"))
		create := func() *cloudformation.DescribeStackRefactorOutput {
			return g.refactored(&cloudformation.CreateStackRefactorInput{EnableStackCreation: aws.Bool(true), StackDefinitions: definitions(
				"one", things("B: {Properties: {Note: b}}"), "new", things("A: {}")+"Outputs: {A: {Value: !Ref A, Export: {Name: e}}}\n")})
		}
		r := create()
		from := len(g.story("one"))
		g.world.script("READ A", behavior{code: "NotFound", message: "a-1 is gone"})
		r = g.executeRefactored(*r.StackRefactorId)
		one := *g.settled("one").StackId
		if r.ExecutionStatus != types.StackRefactorExecutionStatusRollbackComplete || aws.ToString(r.ExecutionStatusReason) != one+": a-1 is gone" {
			t.Errorf("rolled back: %s", encode(r))
		}
		g.expect("one", from, "one UPDATE_IN_PROGRESS (User Initiated)", "one UPDATE_ROLLBACK_IN_PROGRESS ("+one+": a-1 is gone)",
			"one UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "one UPDATE_ROLLBACK_COMPLETE")
		g.same("one", g.has("one"), "A a-1 CREATE_COMPLETE, B b-1 CREATE_COMPLETE")
		template, err := g.stacks.GetTemplate(t.Context(), owner, &cloudformation.GetTemplateInput{StackName: &one})
		if err != nil || !strings.Contains(*template.TemplateBody, "A:") {
			t.Errorf("the template: %s %v", encode(template), err)
		}
		g.expectStatus(g.settled("new"), types.StackStatusRollbackComplete)
		g.delete("new")
		r = create()
		g.create("taker", things("T: {}")+"Outputs: {T: {Value: t, Export: {Name: e}}}\n")
		r = g.executeRefactored(*r.StackRefactorId)
		if want := r.StackIds[1] + ": Export with name e is already exported by stack " + *g.settled("taker").StackId + "."; aws.ToString(r.ExecutionStatusReason) != want {
			t.Errorf("taken: %s\nwant %s", encode(r), want)
		}
		g.delete("new")
		g.delete(one)
		g.same("left", g.world.ids(), "t-1")
	})
}

// TestRefactorIsAlone holds off what would disturb an execution.
func TestRefactorIsAlone(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create("one", things("A: {}", "B: {Properties: {Note: b}}"))
	r := g.refactored(&cloudformation.CreateStackRefactorInput{EnableStackCreation: aws.Bool(true), StackDefinitions: definitions(
		"one", things("B: {Properties: {Note: b}}"), "new", things("A: {}"))})
	hold := make(chan struct{})
	g.world.script("READ A", behavior{hold: hold})
	if _, err := g.ExecuteStackRefactor(t.Context(), owner, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: r.StackRefactorId}); err != nil {
		t.Fatal(err)
	}
	_, err := g.stacks.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: aws.String("one")})
	refusedWith(t, err, "ValidationError", "CancelUpdateStack cannot be called from current stack status")
	_, err = g.stacks.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: aws.String("new")})
	refusedWith(t, err, "ValidationError", "Stack [new] cannot be deleted while in status CREATE_IN_PROGRESS")
	_, err = g.stacks.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: aws.String("one")})
	refusedWith(t, err, "ValidationError", "Stack [one] cannot be deleted while in status UPDATE_IN_PROGRESS")
	_, err = g.ExecuteStackRefactor(t.Context(), owner, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: r.StackRefactorId})
	refusedWith(t, err, "ValidationError", fmt.Sprintf("StackRefactor [%s] cannot be executed in its current execution status of [EXECUTE_IN_PROGRESS]", *r.StackRefactorId))
	close(hold)
	g.refactorWhen(*r.StackRefactorId, func(r *cloudformation.DescribeStackRefactorOutput) bool {
		return r.ExecutionStatus == types.StackRefactorExecutionStatusExecuteComplete
	})
	g.same("new", g.has("new"), "A a-1 IMPORT_COMPLETE")
}

const gaveUp = "Internal failure: the content is larger than 7 bytes"

// breaks has the worker fail with a permanent error while the execution of a refactor has one of some statuses. It
// does not count runs: one that ended before may be repeated when the workers start again.
func (g *rig) breaks(statuses ...types.StackRefactorExecutionStatus) (heal func()) {
	g.t.Helper()
	if err := g.store.StopWork(); err != nil {
		g.t.Fatal(err)
	}
	healed := &atomic.Bool{}
	g.work(func(workers map[string]store.Worker) {
		worker := workers[wakeKind]
		run := worker.Run
		worker.Run = func(ctx context.Context, id string) (time.Time, error) {
			row, err := store.Find[refactorRow](ctx, g.store.Read(), "id = ?", id)
			switch {
			case err != nil:
				return time.Time{}, err
			case !healed.Load() && row != nil && slices.Contains(statuses, row.ExecutionStatus):
				return time.Time{}, &store.TooLargeError{Max: 7}
			}
			return run(ctx, id)
		}
		workers[wakeKind] = worker
	})
	return func() { healed.Store(true) }
}

// TestGiveUpRefactor fails a stack refactor, rolls its execution back, and ends a rollback that fails, too.
func TestGiveUpRefactor(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create("from", things("A: {}", "B: {Properties: {Note: b}}"))
	g.create("to", things("K: {}"))
	create := func() *cloudformation.DescribeStackRefactorOutput {
		return g.refactored(&cloudformation.CreateStackRefactorInput{
			StackDefinitions: definitions("from", things("B: {Properties: {Note: b}}"), "to", things("K: {}", "A: {}"))})
	}
	heal := g.breaks(types.StackRefactorExecutionStatusUnavailable)
	if r := create(); r.Status != types.StackRefactorStatusCreateFailed || aws.ToString(r.StatusReason) != gaveUp {
		t.Errorf("the creation: %s", encode(r))
	}
	heal()
	const executing, back = types.StackRefactorExecutionStatusExecuteInProgress, types.StackRefactorExecutionStatusRollbackInProgress
	for _, tc := range []struct {
		broken []types.StackRefactorExecutionStatus
		want   types.StackRefactorExecutionStatus
	}{
		{[]types.StackRefactorExecutionStatus{executing}, types.StackRefactorExecutionStatusRollbackComplete},
		{[]types.StackRefactorExecutionStatus{executing, back}, types.StackRefactorExecutionStatusRollbackFailed}, // its stacks cannot be updated after it
	} {
		r := create()
		heal := g.breaks(tc.broken...)
		r = g.executeRefactored(*r.StackRefactorId)
		heal()
		if r.ExecutionStatus != tc.want || aws.ToString(r.ExecutionStatusReason) != gaveUp {
			t.Errorf("the execution, want %s: %s", tc.want, encode(r))
		}
		g.settled("from")
		g.settled("to")
		g.same("from", g.has("from"), "A a-1 CREATE_COMPLETE, B b-1 CREATE_COMPLETE")
	}
}
