package stack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Fragment implements [Modules].
func (w *world) Fragment(_ context.Context, _ awswire.Caller, typeName string) (*module.Fragment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, ok := w.modules[typeName]
	if !ok {
		return nil, nil
	}
	f, problems := module.ParseFragment("f.yaml", typeName, []byte(text))
	return f, problems.Err()
}

// registers sets the default version of a module.
func (w *world) registers(typeName, fragment string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.modules == nil {
		w.modules = map[string]string{}
	}
	w.modules[typeName] = fragment
}

const (
	outerModule = "Acme::Test::Outer::MODULE"
	innerModule = "Acme::Test::Inner::MODULE"
)

// nests registers a module in a module.
func (w *world) nests(note string) {
	w.registers(innerModule, "Parameters: {Name: {Type: String}}\nResources:\n  T: {Type: 'Acme::Test::Thing', Properties: {Name: !Ref Name, Note: "+note+"}}\nOutputs:\n  Id: {Value: !Ref T}\n")
	w.registers(outerModule, "Parameters: {Prefix: {Type: String}}\nResources:\n  I: {Type: '"+innerModule+"', Properties: {Name: !Sub '${Prefix}-inner'}}\n  U: {Type: 'Acme::Test::Thing', Properties: {Name: !Sub '${Prefix}-u', Note: !Ref I.T}}\n")
}

const nestedUse = "Parameters: {P: {Type: String, Default: p}}\nResources:\n  M: {Type: '" + outerModule + "', Properties: {Prefix: !Ref P}}\n" +
	"  A: {Type: 'Acme::Test::Thing', DependsOn: M, Properties: {Name: a, Note: !Ref M.I.T}}\n"

var expand = []types.Capability{types.CapabilityCapabilityAutoExpand}

// shownModule is a path of modules in few words.
func shownModule(info *types.ModuleInfo) string {
	if info == nil {
		return "-"
	}
	return aws.ToString(info.LogicalIdHierarchy) + " " + aws.ToString(info.TypeHierarchy)
}

var nestedPaths = []string{
	"A -", "MIT I/M " + innerModule + "/" + outerModule, "MU M " + outerModule,
}

// expectPaths checks the modules in all answers about the resources of a stack.
func (g *rig) expectPaths(stack string, want []string) {
	g.t.Helper()
	var described, listed, single []string
	all, err := g.DescribeStackResources(g.t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, r := range all.StackResources {
		described = append(described, *r.LogicalResourceId+" "+shownModule(r.ModuleInfo))
		one, err := g.DescribeStackResource(g.t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: &stack, LogicalResourceId: r.LogicalResourceId})
		if err != nil {
			g.t.Fatal(err)
		}
		single = append(single, *r.LogicalResourceId+" "+shownModule(one.StackResourceDetail.ModuleInfo))
	}
	list, err := g.ListStackResources(g.t.Context(), owner, &cloudformation.ListStackResourcesInput{StackName: &stack})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, r := range list.StackResourceSummaries {
		listed = append(listed, *r.LogicalResourceId+" "+shownModule(r.ModuleInfo))
	}
	for what, got := range map[string][]string{"DescribeStackResources": described, "DescribeStackResource": single, "ListStackResources": listed} {
		if !slices.Equal(got, want) {
			g.t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

func TestModules(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.world.nests("one")
		s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(nestedUse), Capabilities: expand})
		g.expectStatus(s, types.StackStatusCreateComplete, "")
		g.expectPaths("s", nestedPaths)
		if len(s.Outputs) != 1 || *s.Outputs[0].OutputKey != "MIId" || *s.Outputs[0].OutputValue != "mit-1" {
			t.Errorf("outputs of modules: %s", encode(s.Outputs))
		}
		at := slices.IndexFunc(g.world.calls, func(call string) bool { return call == "CREATE A" })
		if at != 2 || g.world.calls[0] != "CREATE MIT" {
			t.Errorf("order: %v", g.world.calls)
		}
		template, err := g.GetTemplate(t.Context(), owner, &cloudformation.GetTemplateInput{StackName: aws.String("s"), TemplateStage: types.TemplateStageProcessed})
		if err != nil || strings.Contains(*template.TemplateBody, "::MODULE\",\"Properties") || !strings.Contains(*template.TemplateBody, `"MIT":{"Type":"Acme::Test::Thing"`) {
			t.Errorf("processed: %s, %v", aws.ToString(template.TemplateBody), err)
		}
		original, err := g.GetTemplate(t.Context(), owner, &cloudformation.GetTemplateInput{StackName: aws.String("s")})
		if err != nil || *original.TemplateBody != nestedUse {
			t.Errorf("original: %v, %v", original, err)
		}

		// A new default does not matter until the template is processed again.
		g.world.nests("two")
		previous := &cloudformation.UpdateStackInput{
			StackName: aws.String("s"), UsePreviousTemplate: aws.Bool(true), Capabilities: expand,
			Parameters: []types.Parameter{{ParameterKey: aws.String("P"), UsePreviousValue: aws.Bool(true)}},
		}
		_, err = g.UpdateStack(t.Context(), owner, previous)
		if refusal(t, err) != "ValidationError: No updates are to be performed." {
			t.Errorf("the previous template with a new default: %v", err)
		}
		s = g.update(&cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(nestedUse), Capabilities: expand})
		g.expectStatus(s, types.StackStatusUpdateComplete, "")
		if last := g.world.calls[len(g.world.calls)-1]; last != "UPDATE MIT" {
			t.Errorf("calls of the update: %v", g.world.calls)
		}
		g.expectPaths("s", nestedPaths)
		g.detect("s")
		drifts, err := g.DescribeStackResourceDrifts(t.Context(), owner, &cloudformation.DescribeStackResourceDriftsInput{StackName: aws.String("s")})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, d := range drifts.StackResourceDrifts {
			paths = append(paths, *d.LogicalResourceId+" "+shownModule(d.ModuleInfo))
		}
		if !slices.Equal(paths, nestedPaths) {
			t.Errorf("drifts: %q", paths)
		}
		one, err := g.DetectStackResourceDrift(t.Context(), owner, &cloudformation.DetectStackResourceDriftInput{StackName: aws.String("s"), LogicalResourceId: aws.String("MU")})
		if err != nil || shownModule(one.StackResourceDrift.ModuleInfo) != "M "+outerModule {
			t.Errorf("drift of one resource: %s, %v", encode(one), err)
		}
		g.expectStatus(g.delete(*s.StackId, &cloudformation.DeleteStackInput{StackName: s.StackId}), types.StackStatusDeleteComplete, "")
		if ids := g.world.ids(); len(ids) > 0 {
			t.Errorf("left: %v", ids)
		}
	})
}

// TestModulesInProgress looks at resources that failed and at those of the previous template.
func TestModulesInProgress(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.world.nests("one")
		g.world.script("CREATE MU", behavior{code: "InvalidRequest", message: "no"})
		s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(nestedUse), Capabilities: expand, OnFailure: types.OnFailureDoNothing})
		g.expectStatus(s, types.StackStatusCreateFailed, "The following resource(s) failed to create: [MU]")
		g.expectPaths("s", nestedPaths[1:])
		g.delete(*s.StackId, &cloudformation.DeleteStackInput{StackName: s.StackId})

		g.create(&cloudformation.CreateStackInput{StackName: aws.String("t"), TemplateBody: aws.String(nestedUse), Capabilities: expand})
		g.world.script("DELETE MU", slices.Repeat([]behavior{{code: "InvalidRequest", message: "no"}}, 9)...)
		g.update(&cloudformation.UpdateStackInput{StackName: aws.String("t"), TemplateBody: aws.String(things("A: {Properties: {Name: a}}"))})
		g.expectPaths("t", nestedPaths) // MU cannot be deleted, and needs MIT
	})
}

func TestModulesInChangeSets(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.nests("one")
		paths := func(c *cloudformation.DescribeChangeSetOutput) (out []string) {
			for _, change := range c.Changes {
				r := change.ResourceChange
				out = append(out, fmt.Sprint(r.Action, " ", *r.LogicalResourceId, " ", shownModule(r.ModuleInfo)))
			}
			return out
		}
		first := g.create("one", types.ChangeSetTypeCreate, nestedUse) // needs no capability
		want := []string{"Add A -", "Add MIT I/M " + innerModule + "/" + outerModule, "Add MU M " + outerModule}
		if got := paths(first); !slices.Equal(got, want) {
			t.Errorf("creation: %q %s", got, aws.ToString(first.StatusReason))
		}
		g.execute(*first.ChangeSetId)
		g.world.nests("two")
		second := g.create("two", types.ChangeSetTypeUpdate, nestedUse)
		if got := paths(second); !slices.Equal(got, []string{"Modify MIT I/M " + innerModule + "/" + outerModule}) {
			t.Errorf("a new default: %q", got)
		}
		third := g.create("three", types.ChangeSetTypeUpdate, things("A: {DependsOn: [], Properties: {Name: a, Note: x}}"))
		want = []string{"Modify A -", "Remove MIT I/M " + innerModule + "/" + outerModule, "Remove MU M " + outerModule}
		if got := paths(third); !slices.Equal(got, want) {
			t.Errorf("without modules: %q %s", got, aws.ToString(third.StatusReason))
		}
		// What is wrong inside of a module is found when the template is processed.
		g.world.registers(innerModule, "Resources:\n  T: {Type: 'Acme::Test::Thing', Properties: {Name: !Ref Nothing}}\n")
		fourth := g.create("four", types.ChangeSetTypeUpdate, "Resources:\n  M: {Type: '"+innerModule+"'}\n")
		reason := "CloudFormation failed to preprocess the stack: Template format error: Unresolved resource dependencies [MNothing] in the Resources block of the template"
		if fourth.Status != types.ChangeSetStatusFailed || aws.ToString(fourth.StatusReason) != reason {
			t.Errorf("a faulty module: %s", encode(fourth))
		}
	})
}

// TestModulesInNestedStacks has a nested stack whose template uses a module.
func TestModulesInNestedStacks(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.nests("one")
	g.world.offers("https://s3.amazonaws.com/b/child.yaml", nestedUse)
	s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(
		"Resources:\n  N: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: 'https://s3.amazonaws.com/b/child.yaml'}}\n")})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	child, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: aws.String("s"), LogicalResourceId: aws.String("N")})
	if err != nil {
		t.Fatal(err)
	}
	g.expectPaths(*child.StackResourceDetail.PhysicalResourceId, nestedPaths)
}

func TestModulesRefused(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.nests("one")
	body := "Resources:\n  M: {Type: '" + outerModule + "'}\n"
	in := func(name, body string, capabilities []types.Capability) *cloudformation.CreateStackInput {
		return &cloudformation.CreateStackInput{StackName: aws.String(name), TemplateBody: aws.String(body), Capabilities: capabilities}
	}
	_, err := g.CreateStack(t.Context(), owner, in("s", nestedUse, nil))
	refusedWith(t, err, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_AUTO_EXPAND]")
	_, err = g.CreateStack(t.Context(), owner, in("s", "Resources:\n  M: {Type: 'Acme::Test::None::MODULE'}\n  A: {Type: 'Acme::Test::Nil'}\n", expand))
	refusedWith(t, err, "ValidationError", "Template format error: Unrecognized resource types: [Acme::Test::None::MODULE, Acme::Test::Nil]")
	s := g.create(in("s", body, expand))
	if s.StackStatus != types.StackStatusRollbackComplete && s.StackStatus != types.StackStatusRollbackInProgress || len(g.world.calls) > 0 {
		t.Errorf("a missing parameter: %s", encode(s))
	}
	const reason = "CloudFormation failed to preprocess the stack: Parameters: [Prefix] must have values"
	if story := g.story("s"); !slices.ContainsFunc(story, func(row string) bool { return strings.Contains(row, reason) }) {
		t.Errorf("events: %q", story)
	}

	valid, err := g.ValidateTemplate(t.Context(), owner, &cloudformation.ValidateTemplateInput{TemplateBody: aws.String(nestedUse)})
	if err != nil || !slices.Equal(valid.Capabilities, expand) || *valid.CapabilitiesReason != "The following resource(s) require capabilities: ["+outerModule+"]" {
		t.Errorf("ValidateTemplate: %s, %v", encode(valid), err)
	}
	summary, err := g.GetTemplateSummary(t.Context(), owner, &cloudformation.GetTemplateSummaryInput{TemplateBody: aws.String(nestedUse)})
	if err != nil || !slices.Equal(summary.Capabilities, expand) || cmp.Or(slices.Index(summary.ResourceTypes, outerModule), 0) != 0 || len(summary.Parameters) != 1 {
		t.Errorf("GetTemplateSummary: %s, %v", encode(summary), err)
	}
}
