package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// TestOnStackFailure executes change sets that say what becomes of a stack whose creation fails.
func TestOnStackFailure(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	for choice, want := range map[types.OnStackFailure]struct {
		status types.StackStatus
		left   string // of the resource that was created
	}{
		"":                            {types.StackStatusRollbackComplete, ""},
		types.OnStackFailureRollback:  {types.StackStatusRollbackComplete, ""},
		types.OnStackFailureDelete:    {types.StackStatusDeleteComplete, ""},
		types.OnStackFailureDoNothing: {types.StackStatusCreateFailed, "a"},
	} {
		g.world.script("CREATE B", behavior{code: "InvalidRequest", message: "no"})
		name := "on-" + strings.ToLower(strings.ReplaceAll(string(choice), "_", "-"))
		set := g.create("one", types.ChangeSetTypeCreate, things("A: {}", "B: {DependsOn: A}"), func(in *cloudformation.CreateChangeSetInput) {
			in.StackName, in.OnStackFailure = &name, choice
		})
		if set.OnStackFailure != choice {
			t.Errorf("%q is described as %q", choice, set.OnStackFailure)
		}
		in := &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId}
		if choice != "" {
			in.DisableRollback = aws.Bool(true)
			_, err := g.ExecuteChangeSet(t.Context(), owner, in)
			refusedWith(t, err, "ValidationError", "DisableRollback cannot be specified for a change set that has OnStackFailure.")
			in.DisableRollback = aws.Bool(false) // clients always send it
		}
		if _, err := g.ExecuteChangeSet(t.Context(), owner, in); err != nil {
			t.Fatal(err)
		}
		stack := g.settledOf(*set.StackId)
		left := strings.TrimRight(strings.Join(g.world.ids(), " "), "-0123456789")
		if stack.StackStatus != want.status || left != want.left {
			t.Errorf("%q: %s with %q, want %s with %q", choice, stack.StackStatus, left, want.status, want.left)
		}
		if stack.StackStatus == types.StackStatusCreateFailed {
			g.delete(*set.StackId, &cloudformation.DeleteStackInput{})
		}
	}
}

// TestDeleteThenCreate replaces a resource of a type that must be deleted before it is created again. A
// rollback creates the old one again.
func TestDeleteThenCreate(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	remade := strings.NewReplacer("Acme::Test::Thing", "Acme::Test::Remade", `"additionalProperties": false,
`, `"additionalProperties": false, "replacementStrategy": "delete_then_create",
`)
	g.world.knows(t, remade.Replace(fixtures.Thing))
	body := func(name string) *string {
		return aws.String("Resources: {A: {Type: 'Acme::Test::Remade', Properties: {Name: " + name + "}}}")
	}
	calls := func() string {
		g.world.mu.Lock()
		defer g.world.mu.Unlock()
		made := strings.Join(g.world.calls, ", ")
		g.world.calls = nil
		return made
	}
	g.create(&cloudformation.CreateStackInput{TemplateBody: body("a")})
	calls()
	if s := g.update(&cloudformation.UpdateStackInput{TemplateBody: body("b")}); s.StackStatus != types.StackStatusUpdateComplete {
		t.Errorf("replaced: %s %s", s.StackStatus, aws.ToString(s.StackStatusReason))
	}
	if got := calls(); got != "DELETE A, CREATE A" || len(g.world.ids()) != 1 {
		t.Errorf("replaced by %s: %v", got, g.world.ids())
	}
	g.world.script("CREATE A", behavior{code: "InvalidRequest", message: "no"})
	if s := g.update(&cloudformation.UpdateStackInput{TemplateBody: body("c")}); s.StackStatus != types.StackStatusUpdateRollbackComplete {
		t.Errorf("not replaced: %s %s", s.StackStatus, aws.ToString(s.StackStatusReason))
	}
	ids := g.world.ids()
	if got := calls(); got != "DELETE A, CREATE A, CREATE A" || len(ids) != 1 || g.world.things[ids[0]]["Name"] != "b" {
		t.Errorf("after the rollback by %s: %v", got, g.world.things)
	}
	resources, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: aws.String("s")})
	if err != nil || *resources.StackResources[0].PhysicalResourceId != ids[0] {
		t.Errorf("the stack has %+v, %v", resources, err)
	}
}

// TestTypeVersions moves the default version of a type: whatever is done with a resource afterwards is done
// with that version, also with what another one created.
func TestTypeVersions(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	const name = "Acme::Test::Thing"
	release := func(version string) {
		g.world.mu.Lock()
		defer g.world.mu.Unlock()
		typ := *g.world.types[name]
		typ.Version = version
		g.world.types[name], g.world.types[name+" "+version] = &typ, &typ
	}
	// versions are those of the calls since the last time: "CREATE A 00000001".
	versions := func() string {
		g.world.mu.Lock()
		defer g.world.mu.Unlock()
		var all []string
		for _, request := range g.world.seen {
			all = append(all, string(request.Action)+" "+request.LogicalID+" "+request.Version)
		}
		g.world.seen = []operation.Request{}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	expect := func(what, want string) {
		t.Helper()
		if got := versions(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	release("00000001")
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}", "B: {Properties: {Note: n}}"))})
	expect("created", "CREATE A 00000001, CREATE B 00000001")
	release("00000002")
	g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {}", "B: {Properties: {Note: m}}", "C: {}"))})
	expect("updated", "CREATE C 00000002, UPDATE B 00000002")
	release("00000003")
	versionsOf := func() string {
		t.Helper()
		state, err := g.Stack(t.Context(), owner.Place, *s.StackId)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, x := range state.Resources {
			all = append(all, x.LogicalID+" "+x.TypeVersion+" "+x.DefaultVersion)
		}
		return strings.Join(all, ", ")
	}
	if got, want := versionsOf(), "A 00000001 00000003, B 00000002 00000003, C 00000002 00000003"; got != want {
		t.Errorf("the state of the stack has %s, want %s", got, want)
	}
	if _, err := g.DetectStackResourceDrift(t.Context(), owner, &cloudformation.DetectStackResourceDriftInput{StackName: s.StackId, LogicalResourceId: aws.String("A")}); err != nil {
		t.Fatal(err)
	}
	if got := g.world.reads[len(g.world.reads)-1]; got != "A 00000003" {
		t.Errorf("the drift was detected with %s", got)
	}
	g.world.script("UPDATE B", behavior{}, behavior{})
	g.world.script("CREATE D", behavior{code: "InvalidRequest", message: "no"})
	g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {}", "B: {Properties: {Note: l}}", "C: {}", "D: {DependsOn: B}"))})
	expect("rolled back", "CREATE D 00000003, UPDATE B 00000003, UPDATE B 00000003")
	g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	expect("deleted", "DELETE A 00000003, DELETE B 00000003, DELETE C 00000003")
}

// TestSingletons rolls updates back of resources of which there may be only one at a time: the successor is
// deleted before the old one is created again, and what refers to it is set back with its new identifier.
func TestSingletons(t *testing.T) {
	t.Parallel()
	remade := strings.NewReplacer("Acme::Test::Thing", "Acme::Test::Remade", `"additionalProperties": false,
`, `"additionalProperties": false, "replacementStrategy": "delete_then_create",
`)
	no := behavior{code: "InvalidRequest", message: "no"}
	body := func(name string, more ...string) *string {
		return aws.String(things(append([]string{"A: {Type: 'Acme::Test::Remade', Properties: {Name: " + name + "}}"}, more...)...))
	}
	refers := "B: {Properties: {Note: !GetAtt A.Id}}"
	for name, test := range map[string]struct {
		script map[string][]behavior
		more   []string // besides A and B, in the update
		status types.StackStatus
		then   *cloudformation.ContinueUpdateRollbackInput
		calls  string
		story  []string // of A
	}{
		"successor made": {
			script: map[string][]behavior{"CREATE C": {no}}, more: []string{"C: {DependsOn: B}"}, status: types.StackStatusUpdateRollbackComplete,
			calls: "DELETE A, CREATE A, UPDATE B, CREATE C, DELETE A, CREATE A, UPDATE B",
			story: []string{
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"A UPDATE_IN_PROGRESS a-2", "A DELETE_IN_PROGRESS a-2", "A DELETE_COMPLETE a-2", "A UPDATE_IN_PROGRESS a-3 (Resource creation Initiated)", "A UPDATE_COMPLETE a-3",
			},
		},
		"not reached by the update": {
			script: map[string][]behavior{"CREATE A": {{}, no}}, status: types.StackStatusUpdateRollbackComplete,
			calls: "DELETE A, CREATE A, CREATE A, UPDATE B",
		},
		"successor left behind": {
			script: map[string][]behavior{"CREATE A": {{}, {code: "InternalFailure", message: "no", keep: true}}}, status: types.StackStatusUpdateRollbackComplete,
			calls: "DELETE A, CREATE A, DELETE A, CREATE A, UPDATE B",
		},
		"skipped": {
			script: map[string][]behavior{"CREATE C": {no}, "DELETE A": {{}, no}}, more: []string{"C: {DependsOn: B}"}, status: types.StackStatusUpdateRollbackFailed,
			then:  &cloudformation.ContinueUpdateRollbackInput{ResourcesToSkip: []string{"A"}},
			calls: "DELETE A, CREATE A, UPDATE B, CREATE C, DELETE A",
		},
		"continued": {
			script: map[string][]behavior{"CREATE C": {no}, "CREATE A": {{}, {}, no}}, more: []string{"C: {DependsOn: B}"}, status: types.StackStatusUpdateRollbackFailed,
			then:  &cloudformation.ContinueUpdateRollbackInput{},
			calls: "DELETE A, CREATE A, UPDATE B, CREATE C, DELETE A, CREATE A, CREATE A, UPDATE B",
		},
		"forced": { // B goes back to the identifier of what is there, although nothing has read it
			script: map[string][]behavior{"CREATE C": {no}, "CREATE A": {{}, {}, {code: "InternalFailure", message: "no", keep: true}}, "DELETE A": {{}, {}, no}},
			more:   []string{"C: {DependsOn: B}"}, status: types.StackStatusUpdateRollbackFailed,
			then:  &cloudformation.ContinueUpdateRollbackInput{ForceRollback: aws.Bool(true)},
			calls: "DELETE A, CREATE A, UPDATE B, CREATE C, DELETE A, CREATE A, DELETE A, UPDATE B",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := onSQLite(t)
			g.world.knows(t, remade.Replace(fixtures.Thing))
			for call, behaviors := range test.script {
				g.world.script(call, behaviors...)
			}
			g.create(&cloudformation.CreateStackInput{TemplateBody: body("one", refers)})
			g.world.mu.Lock()
			g.world.calls = nil
			g.world.mu.Unlock()
			n := len(g.story("s"))
			s := g.update(&cloudformation.UpdateStackInput{TemplateBody: body("two", append([]string{refers}, test.more...)...)})
			if s.StackStatus != test.status {
				t.Fatalf("the update ended with %s: %q", s.StackStatus, g.story("s"))
			}
			if test.then != nil {
				test.then.StackName = s.StackId
				if _, err := g.ContinueUpdateRollback(t.Context(), owner, test.then); err != nil {
					t.Fatal(err)
				}
				g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
			}
			if got := strings.Join(g.world.calls, ", "); got != test.calls {
				t.Errorf("the calls are %s, want %s", got, test.calls)
			}
			story := slices.DeleteFunc(g.story("s")[n:], func(row string) bool { return !strings.HasPrefix(row, "A ") })
			if test.story != nil && !slices.Equal(story, test.story) {
				t.Errorf("the events are %q, want %q", story, test.story)
			}
			resources, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: s.StackId})
			if err != nil {
				t.Fatal(err)
			}
			identifiers := map[string]string{}
			for _, x := range resources.StackResources {
				identifiers[*x.LogicalResourceId] = aws.ToString(x.PhysicalResourceId)
			}
			if left := g.world.ids(); len(left) != 2 || g.world.things[identifiers["A"]] == nil || g.world.things[identifiers["B"]]["Note"] != identifiers["A"] {
				t.Errorf("the stack has %v, there are %v", identifiers, g.world.things)
			}
		})
	}
}

// TestOtherIdentifier has a creation end with another identifier than the one that it reported first: both
// resources are deleted, since nobody knows which of them exist.
func TestOtherIdentifier(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	for name, test := range map[string]struct {
		script map[string][]behavior
		story  string
	}{
		"fails":               {map[string][]behavior{"CREATE A": {{as: "first", wait: 1}, {as: "other", code: "InternalFailure", message: "no"}}}, "A CREATE_FAILED other"},
		"succeeds, then back": {map[string][]behavior{"CREATE A": {{as: "first", wait: 1}, {as: "other"}}, "CREATE B": {no}}, "A CREATE_COMPLETE other"},
	} {
		t.Run(name, func(t *testing.T) {
			g := onSQLite(t)
			for call, behaviors := range test.script {
				g.world.script(call, behaviors...)
			}
			g.expectStatus(g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}", "B: {DependsOn: A}"))}), types.StackStatusRollbackComplete, "")
			story := g.story("s")
			for _, want := range []string{"A CREATE_IN_PROGRESS first (Resource creation Initiated)", test.story, "A DELETE_COMPLETE first", "A DELETE_COMPLETE other"} {
				if !slices.ContainsFunc(story, func(row string) bool { return strings.HasPrefix(row, want) }) {
					t.Errorf("no event %q in %q", want, story)
				}
			}
			if left := g.world.ids(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
