package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/operation"
)

// TestOnStackFailure executes change sets that say what becomes of a stack whose creation fails.
func TestOnStackFailure(t *testing.T) {
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
	g := onSQLite(t)
	remade := strings.NewReplacer("Acme::Test::Thing", "Acme::Test::Remade", `"additionalProperties": false,
`, `"additionalProperties": false, "replacementStrategy": "delete_then_create",
`)
	g.world.knows(t, remade.Replace(thing))
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

// TestTypeVersions moves the default version of a type: a resource keeps the version with which it was
// created or last updated, whatever is done with it afterwards.
func TestTypeVersions(t *testing.T) {
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
	g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	expect("deleted", "DELETE A 00000001, DELETE B 00000002, DELETE C 00000002")
}
