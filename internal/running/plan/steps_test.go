package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// lines are steps in few words: "delete A after B C".
func lines(steps []Step) string {
	var out []string
	for _, s := range steps {
		line := string(s.Action) + " " + s.Key()
		if s.Rebound {
			line += " rebound"
		}
		if len(s.After) > 0 {
			line += " after " + strings.Join(slices.Sorted(slices.Values(s.After)), " ")
		}
		for _, action := range slices.Sorted(maps.Keys(s.Denied)) {
			line += " not " + string(action)
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func parsedPolicy(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMainSteps(t *testing.T) {
	next := deployment(t, things("A: {}", "B: {Properties: {Note: !Ref A}}", "N: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}"), nil)
	all := Have{Resources: []Held{{LogicalID: "A", Exists: true}, {LogicalID: "B"}, {LogicalID: "Old", Exists: true}}}
	denies := `{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
		{"Effect": "Deny", "Action": ["Update:Replace", "Update:Delete"], "Principal": "*", "Resource": ["LogicalResourceId/B", "LogicalResourceId/Old"]}]}`
	for _, tc := range []struct {
		name    string
		request Request
		want    string
	}{
		{"a template", Request{}, "deploy A; deploy B after A; deploy N"},
		{"an import changes nothing that exists", Request{OnlyImport: true, Import: map[string]string{"B": "b"}}, "none A; deploy B after A; deploy N"},
		{"what is skipped, if it exists", Request{Skip: []string{"A", "B"}}, "skip A; deploy B after A; deploy N"},
		{"a policy", Request{Policy: parsedPolicy(t, denies)}, "deploy A; deploy B after A not remake not replace; deploy N; refuse Old not refuse"},
		{"no replacement", Request{NoReplacement: "no"}, "deploy A not remake not replace; deploy B after A not remake not replace; deploy N not remake not replace"},
		{"the steps of a change set", Request{Planned: []Step{{LogicalID: "B", Action: Deploy, Most: Update}}, Policy: parsedPolicy(t, denies)},
			"deploy B not remake not replace; refuse Old not refuse"},
	} {
		tc.request.Next = next
		steps := all.Main(tc.request)
		if got := lines(steps); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
	for children, want := range map[string]bool{"N": false, "": true} {
		steps := all.Main(Request{Next: next, ChildrenPlanned: true, Children: map[string]string{children: "arn"}})
		if steps[2].Unvisited != want || steps[0].Unvisited {
			t.Errorf("change sets of %q: %+v", children, steps)
		}
	}
}

func TestStepsThatDelete(t *testing.T) {
	have := Have{
		Resources: []Held{
			{LogicalID: "A", New: true, DeletionPolicy: "RetainExceptOnCreate"}, {LogicalID: "B", DependsOn: []string{"A"}, DeletionPolicy: "Retain"},
			{LogicalID: "C", DependsOn: []string{"A", "B"}}, {LogicalID: "D", Deleted: true, DependsOn: []string{"C"}}, {LogicalID: "I", Imported: true, DependsOn: []string{"I"}},
		},
		Leftovers: []Leftover{{ID: "1", LogicalID: "A"}, {ID: "2", LogicalID: "C", DependsOn: []string{"A"}, Policy: "Retain"}},
	}
	next := deployment(t, things("B: {}", "C: {}", "I: {}"), nil)
	leftovers := "; delete A/1 after B C C/2; retain C/2"
	undone := "delete A after B C C/2; retain B after C; delete C; retain I" + leftovers
	for _, tc := range []struct{ name, got, want string }{
		{"the stack", lines(have.Deletion(Request{})), "retain A after B C C/2; retain B after C; delete C; delete I" + leftovers},
		{"a stack that was not created", lines(have.Deletion(Request{Undoes: true})), undone},
		{"the stack but some", lines(have.Deletion(Request{Retain: []string{"C"}})), "retain A after B C C/2; retain B after C; retain C; delete I" + leftovers},
		{"after an update", lines(have.Cleanup(Request{Next: next})), "retain A after C/2; delete A/1 after C/2; retain C/2"},
		{"after a rollback", lines(have.RollbackCleanup(Request{})), "delete A after C/2; retain I; delete A/1 after C/2; retain C/2"},
		{"a creation that failed", lines(have.Rollback(Request{Creates: true})), undone},
		{"a creation that failed, whose policies do not count", lines(Have{Resources: []Held{{LogicalID: "A", New: true, DeletionPolicy: "Retain"}}}.
			Rollback(Request{Creates: true, RetainExceptOnCreate: true})), "delete A"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, tc.got, tc.want)
		}
	}
}

func TestStepsThatTakeBack(t *testing.T) {
	have := Have{Resources: []Held{
		{LogicalID: "A", Changed: true, Gone: true, Before: []string{"Z"}}, {LogicalID: "B", DependsOn: []string{"A"}},
		{LogicalID: "C", Changed: true, Before: []string{"B"}, DependsOn: []string{"N"}}, {LogicalID: "D", Changed: true, Before: nil, DependsOn: []string{"A"}},
		{LogicalID: "E", DependsOn: []string{"D"}}, {LogicalID: "N", New: true, DependsOn: []string{"A"}}, {LogicalID: "I", Imported: true},
	}}
	want := "revert A after Z; revert B rebound after A; revert C rebound after B; revert D"
	if got := lines(have.Rollback(Request{})); got != want {
		t.Errorf("an update:\n got %s\nwant %s", got, want)
	}
	if got := lines(have.Rollback(Request{Imports: true})); got != want+"; release N; release I" {
		t.Errorf("an import: %s", got)
	}
}

// TestRefineKeepsToThePlan refuses what is larger than the plan of a change set says.
func TestRefineKeepsToThePlan(t *testing.T) {
	schemas := testSchemas(t)
	next := deployment(t, things("A: {Properties: {Note: new, Name: b}}"), nil)
	current := &Resource{LogicalID: "A", Type: "Acme::Test::Thing", PhysicalID: "a", Properties: map[string]any{"Note": "old", "Name": "b"}, Status: types.ResourceStatusCreateComplete}
	renamed := &Resource{LogicalID: "A", Type: "Acme::Test::Thing", PhysicalID: "a", Properties: map[string]any{"Note": "old", "Name": "a"}, Status: types.ResourceStatusCreateComplete}
	for _, tc := range []struct {
		step    Step
		current *Resource
		action  Action
		refused string
	}{
		{Step{}, current, Update, ""},
		{Step{Most: Update}, current, Update, ""},
		{Step{Most: Replace}, current, Update, ""},
		{Step{Most: None}, current, Update, "is updated"},
		{Step{Most: Update}, renamed, Replace, "is replaced"},
		{Step{Most: Remake}, renamed, Replace, ""},
		{Step{Most: Replace}, nil, Create, "is created"},
		{Step{Most: Create}, nil, Create, ""},
		{Step{Most: Import, Import: "i"}, nil, Import, ""},
		{Step{Denied: map[Action]string{Replace: "because"}}, renamed, Replace, "because"},
		{Step{Denied: map[Action]string{Replace: "because"}}, current, Update, ""},
		{Step{Action: None}, renamed, None, ""},
	} {
		tc.step.LogicalID = "A"
		if tc.step.Action == "" {
			tc.step.Action = Deploy
		}
		got, err := tc.step.Refine(RefineInput{Next: next, Current: tc.current, Schema: schemas["Acme::Test::Thing"]})
		if err != nil || got.Action != tc.action || !strings.Contains(got.Refused, tc.refused) || (got.Refused == "") != (tc.refused == "") {
			t.Errorf("%s: got %s %q %v, want %s %q", JSONText(tc.step), got.Action, got.Refused, err, tc.action, tc.refused)
		}
	}
}

// TestBounds has the steps of a change set leave open what is known only when they are done, and nothing else.
func TestBounds(t *testing.T) {
	for _, tc := range []struct{ before, after, want string }{
		{"A: {Properties: {Size: 1}}", "A: {Properties: {Size: 1}}", "A none certain"},
		{"A: {Properties: {Size: 1}}", "A: {Properties: {Size: 2}}", "A update certain"},
		{"A: {Properties: {Name: a}}", "A: {Properties: {Name: b}}", "A replace certain"},
		{"A: {Type: 'Acme::Test::Remade', Properties: {Name: a}}", "A: {Type: 'Acme::Test::Remade', Properties: {Name: b}}", "A remake certain"},
		{"A: {}", "A: {}\nB: {}", "A none certain, B create certain"},
		{"A: {Properties: {Size: 1}}\nB: {Properties: {Note: !Ref A}}", "A: {Properties: {Size: 2}}\nB: {Properties: {Note: !Ref A}}", "A update certain, B update"},
		{"A: {Properties: {Size: 1}}\nB: {Properties: {Name: !GetAtt A.Size}}", "A: {Properties: {Size: 2}}\nB: {Properties: {Name: !GetAtt A.Size}}", "A update certain, B replace"},
		{"A: {Properties: {Name: a}}\nB: {Properties: {Note: !Ref A}}\nC: {Properties: {Note: !GetAtt B.Note}}",
			"A: {Properties: {Name: b}}\nB: {Properties: {Note: !Ref A}}\nC: {Properties: {Note: !GetAtt B.Note}}", "A replace certain, B update, C update"},
		{"A: {Properties: {Note: '{{resolve:ssm:p}}'}}", "A: {Properties: {Note: '{{resolve:ssm:p}}'}}", "A update"},
		{"A: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}", "A: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}", "A update"},
	} {
		m := newStackModel(testSchemas(t))
		first := deployment(t, things(strings.Split(tc.before, "\n")...), nil)
		m.apply(t, m.plan(t, first), first)
		var got []string
		for _, s := range m.plan(t, deployment(t, things(strings.Split(tc.after, "\n")...), nil)).Main {
			line := s.LogicalID + " " + string(s.Most)
			if s.Certain {
				line += " certain"
			}
			got = append(got, line)
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s to %s:\n got %s\nwant %s", tc.before, tc.after, text, tc.want)
		}
	}
}

// TestRefineByTags updates what takes the tags of the stack, and what has other values of its dynamic references.
func TestRefineByTags(t *testing.T) {
	next := deployment(t, things("A: {Properties: {Note: n}}"), nil)
	current := &Resource{LogicalID: "A", Type: "Acme::Test::Thing", PhysicalID: "a", Properties: map[string]any{"Note": "n"}, Status: types.ResourceStatusCreateComplete}
	in := RefineInput{Next: next, Current: current, Schema: testSchemas(t)["Acme::Test::Thing"], References: template.NoReferences{}}
	for _, tc := range []struct {
		tags      map[string]string
		refreshed bool
		want      Action
	}{{nil, false, None}, {map[string]string{"k": "v"}, false, Update}, {nil, true, Update}} {
		in.PreviousTags, in.Refreshed = tc.tags, func(map[string]any) bool { return tc.refreshed }
		if got, err := (Step{LogicalID: "A", Action: Deploy}).Refine(in); err != nil || got.Action != tc.want {
			t.Errorf("%v %t: got %s %v, want %s", tc.tags, tc.refreshed, got.Action, err, tc.want)
		}
	}
}
