package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// alterations are those of two templates in few words: "A.Name Always a→b".
func alterations(t *testing.T, before, after *Deployment) []string {
	t.Helper()
	found, err := Alterations(before, after, testSchemas(t))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		line := f.Resource.LogicalID + "." + f.Name + " " + string(f.Recreation) + " " + f.Before + "→" + f.After
		if f.Removed {
			line = f.Resource.LogicalID + " removed"
		}
		if f.Secret {
			line += " secret"
		}
		out = append(out, line)
	}
	return out
}

func TestAlterations(t *testing.T) {
	const parts = "{Properties: {Name: !Select [3, !Split [':', !GetAtt A.Id]]}}"
	const parameter = "Parameters: {P: {Type: String, Default: '0'}}\n"
	const stored = "Parameters: {P: {Type: String, Default: x, NoEcho: true}}\n"
	for _, tc := range []struct{ before, after, want string }{
		{things("A: {Properties: {Size: 1}}"), things("A: {Properties: {Size: '1'}}"), ""},
		{things("A: {Properties: {Size: 1}}"), things("A: {Properties: {Size: 2}}"), "A.Size Never 1→2"},
		{things("A: {Properties: {Name: a}}"), things("A: {Properties: {Name: b}}"), "A.Name Always a→b"},
		{things("A: {Properties: {Name: a}}"), things("A: {}"), "A.Name Always a→"},
		{things("A: {Properties: {Class: a}}"), things("A: {Properties: {Class: b}}"), "A.Class Conditionally a→b"},
		{things("A: {}", "B: {}"), things("B: {}", "C: {}"), "A removed"},
		{things("A: {}"), things("A: {Type: 'Acme::Test::Fixed'}"), "A. Always Acme::Test::Thing→Acme::Test::Fixed"},
		{things("A: {Type: 'Acme::Test::Fixed', Properties: {Size: 1}}"), things("A: {Type: 'Acme::Test::Fixed', Properties: {Size: 2}}"), "A.Size Always 1→2"},
		// What refers to a resource that is replaced or new has another value for certain, or perhaps.
		{things("A: {Properties: {Name: a}}", "B: {Properties: {Name: !Ref A}}"), things("A: {Properties: {Name: b}}", "B: {Properties: {Name: !Ref A}}"),
			"A.Name Always a→b; B.Name Always {{A}}→" + Pending},
		{things("A: {Properties: {Class: a}}", "B: {Properties: {Name: !GetAtt A.Id}}"), things("A: {Properties: {Class: b}}", "B: {Properties: {Name: !GetAtt A.Id}}"),
			"A.Class Conditionally a→b; B.Name Conditionally {{A.Id}}→" + Pending},
		{things("B: {Properties: {Name: b}}"), things("A: {}", "B: {Properties: {Name: !Ref A}}"), "B.Name Always b→" + Pending},
		// An expression that needs the attribute itself.
		{things("A: {Properties: {Size: 1}}", "B: "+parts), things("A: {Properties: {Size: 2}}", "B: "+parts), "A.Size Never 1→2"},
		{things("A: {Properties: {Name: a}}", "B: "+parts), things("A: {Properties: {Name: b}}", "B: "+parts), "A.Name Always a→b; B.Name Always " + Pending + "→" + Pending},
		{parameter + things("A: {}", "B: {Properties: {Name: !Select [!Ref P, !Split [':', !GetAtt A.Id]]}}"),
			strings.ReplaceAll(parameter, "0", "7") + things("A: {}", "B: {Properties: {Name: !Select [!Ref P, !Split [':', !GetAtt A.Id]]}}"),
			"B.Name Conditionally {{A.Id}}→" + Pending},
		{stored + things("A: {Properties: {Name: !Ref P}}"), strings.ReplaceAll(stored, "x", "y") + things("A: {Properties: {Name: !Ref P}}"), "A.Name Always x→y secret"},
		{things("A: {Properties: {Note: '{{resolve:ssm:x:1}}'}}"), things("A: {Properties: {Note: '{{resolve:ssm:x:2}}'}}"),
			"A.Note Never {{resolve:ssm:x:1}}→{{resolve:ssm:x:2}} secret"},
	} {
		if got := strings.Join(alterations(t, deployment(t, tc.before, nil), deployment(t, tc.after, nil)), "; "); got != tc.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", tc.before, tc.after, got, tc.want)
		}
	}
}

// TestAlterationsAgreeWithPlans compares random templates with what a plan knows of a stack: each replacement that is
// certain is found.
func TestAlterationsAgreeWithPlans(t *testing.T) {
	replaced := 0
	for seed := range 400 {
		maker := fixtures.Templates{Rand: rand.New(rand.NewPCG(uint64(seed), 39))}
		m := newStackModel(testSchemas(t))
		first, next := deployment(t, maker.Template(), map[string]string{"P": maker.Pick("p", "q")}), deployment(t, maker.Template(), map[string]string{"P": maker.Pick("p", "q")})
		m.apply(t, m.plan(t, first), first)
		plan := m.plan(t, next)
		found, err := Alterations(first, next, m.schemas)
		if err != nil {
			t.Fatal(err)
		}
		always := map[string]bool{}
		for _, f := range found {
			always[f.Resource.LogicalID] = always[f.Resource.LogicalID] || f.Recreation == types.RequiresRecreationAlways
		}
		for _, c := range plan.Changes {
			if c.Replacement == types.ReplacementTrue {
				replaced++
				if !always[c.LogicalID] {
					t.Fatal(fmt.Sprint("seed ", seed, ": ", c.LogicalID, " is replaced: ", summary(plan), alterations(t, first, next)))
				}
			}
		}
	}
	if replaced < 50 {
		t.Errorf("only %d resources were replaced", replaced)
	}
}
