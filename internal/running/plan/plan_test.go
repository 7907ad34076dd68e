package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// summary is a plan in few words: "Modify A True ReplaceAndDelete [Properties]".
func summary(p *Plan) string {
	var lines []string
	for _, c := range p.Changes {
		line := string(c.Action) + " " + c.LogicalID
		if c.Replacement != "" {
			line += " " + string(c.Replacement)
		}
		if c.PolicyAction != "" {
			line += " " + string(c.PolicyAction)
		}
		if c.Scope != nil {
			line += " [" + strings.Join(c.Scope, " ") + "]"
		}
		if c.Uncertain() {
			line += " uncertain"
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, p.Stack...), "; ")
}

func TestPlanOfPairs(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after string
		want          string
		done          string // what applying the plan does
	}{
		{"nothing", things("A: {Properties: {Size: 1}}"), things("A: {Properties: {Size: '1'}}"), "", ""},
		{"a scalar in place", things("A: {Properties: {Size: 1}}"), things("A: {Properties: {Size: 2}}"), "Modify A False [Properties]", "update A"},
		{"a create-only property", things("A: {Properties: {Name: a}}"), things("A: {Properties: {Name: b}}"),
			"Modify A True ReplaceAndDelete [Properties]", "replace A"},
		{"a create-only property appears", things("A: {Properties: {Size: 1}}"), things("A: {Properties: {Size: 1, Name: b}}"),
			"Modify A True ReplaceAndDelete [Properties]", "replace A"},
		{"below a create-only property's sibling", things("A: {Properties: {Network: {Zone: a, Speed: x}}}"),
			things("A: {Properties: {Network: {Zone: a, Speed: y}}}"), "Modify A False [Properties]", "update A"},
		{"a nested create-only property", things("A: {Properties: {Network: {Zone: a}}}"), things("A: {Properties: {Network: {Zone: b}}}"),
			"Modify A True ReplaceAndDelete [Properties]", "replace A"},
		{"a conditional create-only property", things("A: {Properties: {Class: a}}"), things("A: {Properties: {Class: b}}"),
			"Modify A Conditional ReplaceAndDelete [Properties]", "update A"},
		{"no update handler", things("A: {Type: 'Acme::Test::Fixed', Properties: {Size: 1}}"), things("A: {Type: 'Acme::Test::Fixed', Properties: {Size: 2}}"),
			"Modify A True ReplaceAndDelete [Properties]", "replace A"},
		{"delete_then_create", things("A: {Type: 'Acme::Test::Remade', Properties: {Name: a}}"), things("A: {Type: 'Acme::Test::Remade', Properties: {Name: b}}"),
			"Modify A True ReplaceAndDelete [Properties]", "remake A"},
		{"the policy of a replacement", things("A: {Properties: {Name: a}}"), things("A: {UpdateReplacePolicy: Retain, Properties: {Name: b}}"),
			"Modify A True ReplaceAndRetain [Properties UpdateReplacePolicy]", "replace A"},
		{"a policy alone", things("A: {Properties: {Size: 1}}"), things("A: {DeletionPolicy: Retain, Properties: {Size: 1}}"), "Modify A False [DeletionPolicy]", ""},
		{"a policy written out", things("A: {Properties: {Size: 1}}"), things("A: {DeletionPolicy: Delete, Properties: {Size: 1}}"), "Modify A False [DeletionPolicy]", ""},
		{"a policy removed", things("A: {UpdateReplacePolicy: Delete, Properties: {Size: 1}}"), things("A: {Properties: {Size: 1}}"), "Modify A False [UpdateReplacePolicy]", ""},
		{"metadata alone", things("A: {Metadata: {x: 1}}"), things("A: {Metadata: {x: 2}}"), "Modify A False [Metadata]", ""},
		{"a creation policy alone", things("A: {CreationPolicy: {ResourceSignal: {Count: 1}}}"), things("A: {CreationPolicy: {ResourceSignal: {Count: 2}}}"),
			"Modify A False [CreationPolicy]", ""},
		{"DependsOn alone", things("A: {}", "B: {}"), things("A: {}", "B: {DependsOn: A}"), "", ""},
		{"added and removed", things("A: {}", "B: {}"), things("B: {}", "C: {}"), "Remove A Delete; Add C", "create C, delete A"},
		{"removed but retained", things("A: {DeletionPolicy: RetainExceptOnCreate}", "B: {}"), things("B: {}"), "Remove A Retain", "delete A"},
		{"a condition turns false", "Conditions: {C: !Equals [a, a]}\n" + things("A: {Condition: C}", "B: {}"),
			"Conditions: {C: !Equals [a, b]}\n" + things("A: {Condition: C}", "B: {}"), "Remove A Delete", "delete A"},
		{"the id of what is replaced", things("A: {Properties: {Name: a}}", "B: {Properties: {Note: !Ref A}}"),
			things("A: {Properties: {Name: b}}", "B: {Properties: {Note: !Ref A}}"),
			"Modify A True ReplaceAndDelete [Properties]; Modify B False [Properties]", "replace A, update B"},
		{"an attribute of what is replaced, create-only", things("A: {Properties: {Name: a}}", "B: {Properties: {Name: !GetAtt A.Id}}"),
			things("A: {Properties: {Name: b}}", "B: {Properties: {Name: !GetAtt A.Id}}"),
			"Modify A True ReplaceAndDelete [Properties]; Modify B True ReplaceAndDelete [Properties]", "replace A, replace B"},
		{"the id of what stays", things("A: {Properties: {Size: 1}}", "B: {Properties: {Note: !Ref A}}"),
			things("A: {Properties: {Size: 2}}", "B: {Properties: {Note: !Ref A}}"), "Modify A False [Properties]", "update A"},
		{"an attribute of what is updated, three deep", things("A: {Properties: {Note: a}}", "B: {Properties: {Name: !GetAtt A.Note}}", "C: {Properties: {Note: !Ref B}}"),
			things("A: {Properties: {Note: b}}", "B: {Properties: {Name: !GetAtt A.Note}}", "C: {Properties: {Note: !Ref B}}"),
			"Modify A False [Properties]; Modify B Conditional ReplaceAndDelete [Properties] uncertain; Modify C False [Properties] uncertain",
			"update A, replace B, update C"},
		{"an attribute that stays the same", things("A: {Properties: {Note: a, Size: 1}}", "B: {Properties: {Name: !GetAtt A.Note}}"),
			things("A: {Properties: {Note: a, Size: 2}}", "B: {Properties: {Name: !GetAtt A.Note}}"),
			"Modify A False [Properties]; Modify B Conditional ReplaceAndDelete [Properties] uncertain", "update A"},
		{"an output alone", things("A: {}"), things("A: {}") + "Outputs: {O: {Value: !Ref A}}\n", "Outputs", ""},
		{"an export alone", things("A: {}") + "Outputs: {O: {Value: x}}\n", things("A: {}") + "Outputs: {O: {Value: x, Export: {Name: e}}}\n", "Outputs", ""},
		{"the description of the template", things("A: {}"), "Description: other\n" + things("A: {}"), "", ""},
		{"a nested stack is always visited", things("A: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}"),
			things("A: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}"), "Modify A False [Properties]", "update A"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newStackModel(testSchemas(t))
			first := deployment(t, tc.before, nil)
			m.apply(t, m.plan(t, first), first)
			next := deployment(t, tc.after, nil)
			plan := m.plan(t, next)
			if got := summary(plan); got != tc.want {
				t.Errorf("plan:\n got %s\nwant %s", got, tc.want)
			}
			m.apply(t, plan, next)
			if got := strings.Join(m.done, ", "); got != tc.done {
				t.Errorf("done: got %q, want %q", got, tc.done)
			}
		})
	}
}

func TestPlanRefusesAnotherType(t *testing.T) {
	m := newStackModel(testSchemas(t))
	first := deployment(t, things("A: {}", "B: {}", "C: {}"), nil)
	m.apply(t, m.plan(t, first), first)
	_, err := New(m.input(deployment(t, things("C: {Type: 'Acme::Test::Fixed'}", "B: {}", "A: {Type: 'Acme::Test::Fixed'}"), nil)))
	var refusal *awswire.Error
	want := "Update of resource type is not permitted. The new template modifies resource type of the following resources: [A, C]"
	if !errors.As(err, &refusal) || refusal.Code != "ValidationError" || refusal.Message != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestPlanOfTags(t *testing.T) {
	m := newStackModel(testSchemas(t))
	source := things("A: {Properties: {Size: 1}}", "B: {Type: 'Acme::Test::Fixed'}")
	first := deployment(t, source, nil)
	m.apply(t, m.plan(t, first), first)
	next := deployment(t, source, nil)
	next.Tags = map[string]string{"stage": "test"}
	plan := m.plan(t, next)
	if got, want := summary(plan), "Modify A False [Tags]; Tags"; got != want {
		t.Fatalf("got %s, want %s: only types with tags that can be updated change", got, want)
	}
	m.apply(t, plan, next)
	if got := strings.Join(m.done, ", "); got != "update A" {
		t.Errorf("done: %s", got)
	}
}

// TestPlanOfParameters names the parameter because of whose value a resource changes, also if that is another default.
func TestPlanOfParameters(t *testing.T) {
	source := func(value string) string {
		return "Parameters: {P: {Type: String, Default: " + value + "}}\n" + things("A: {Properties: {Note: !Sub 'x-${P}'}}")
	}
	for name, test := range map[string]struct{ before, after map[string]string }{
		"given": {map[string]string{"P": "one"}, map[string]string{"P": "two"}}, "another default": {},
		"given, then the default": {map[string]string{"P": "one"}, nil},
	} {
		m := newStackModel(testSchemas(t))
		first := deployment(t, source("d"), test.before)
		m.apply(t, m.plan(t, first), first)
		plan := m.plan(t, deployment(t, source("e"), test.after))
		var sources []string
		for _, c := range plan.Changes {
			for _, d := range c.Details {
				sources = append(sources, string(d.ChangeSource)+" "+string(d.Evaluation)+" "+d.CausingEntity)
			}
		}
		want := []string{"ParameterReference Static P", "DirectModification Dynamic "}
		if !slices.Equal(sources, want) {
			t.Errorf("%s: got %q, want %q", name, sources, want)
		}
		if plan := m.plan(t, deployment(t, source("d"), test.before)); !plan.Empty() {
			t.Errorf("%s: the same values: %s", name, summary(plan))
		}
	}
	m := newStackModel(testSchemas(t))
	first := deployment(t, source("d"), nil)
	m.apply(t, m.plan(t, first), first)
	unused := "Parameters: {P: {Type: String, Default: d}, Q: {Type: String}}\n" + things("A: {Properties: {Note: !Sub 'x-${P}'}}")
	if got := summary(m.plan(t, deployment(t, unused, map[string]string{"Q": "z"}))); got != "Parameters" {
		t.Errorf("a parameter that nothing uses: %q", got)
	}
}

func TestPlanMasksNoEcho(t *testing.T) {
	source := "Parameters: {P: {Type: String, NoEcho: true}}\n" + things("A: {Properties: {Secret: !Ref P, Note: !Sub 'a-${P}-b', Size: 1}}")
	m := newStackModel(testSchemas(t))
	first := deployment(t, source, map[string]string{"P": "hunter2"})
	created := m.plan(t, first)
	m.apply(t, created, first)
	changed := m.plan(t, deployment(t, source, map[string]string{"P": "hunter3"}))
	removed := m.plan(t, deployment(t, things("B: {}"), nil))
	for _, plan := range []*Plan{created, changed, removed} {
		var text bytes.Buffer
		if err := plan.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{JSONText(plan), JSONText(plan.Shown(true)), text.String()} {
			if strings.Contains(shown, "hunter") {
				t.Errorf("a NoEcho value is shown: %s", shown)
			}
		}
	}
	if got, want := string(changed.Changes[0].After), `{"Properties":{"Note":"a-****-b","Secret":"****","Size":"1"}}`; got != want {
		t.Errorf("after: got %s, want %s", got, want)
	}
	if got := summary(changed); got != "Modify A False [Properties]; Parameters" {
		t.Errorf("the change of a masked value: %s", got)
	}
}

func TestPlanAfterFailures(t *testing.T) {
	m := newStackModel(testSchemas(t))
	first := deployment(t, things("A: {Properties: {Size: 1}}", "B: {Properties: {Size: 1}}"), nil)
	m.apply(t, m.plan(t, first), first)
	for id, status := range map[string]types.ResourceStatus{"A": types.ResourceStatusCreateFailed, "B": types.ResourceStatusUpdateFailed} {
		r := m.resources[id]
		r.Status = status
		m.resources[id] = r
	}
	plan := m.plan(t, first)
	if got, want := summary(plan), "Add A; Modify B False"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m.apply(t, plan, first)
	if got := strings.Join(m.done, ", "); got != "create A, update B" {
		t.Errorf("done: %s", got)
	}
}

func TestKnownAttributes(t *testing.T) {
	k := Known{Resources: map[string]Resource{"A": {
		LogicalID: "A", Type: "Acme::Test::Thing", PhysicalID: "a-1",
		Properties: map[string]any{"Name": "asked", "Note": "asked"},
		Model: map[string]any{
			"Name": "told", "Outputs.X": "flat", "Network": map[string]any{"Zone": "z", "A.B": map[string]any{"C": "deep"}},
			"List": []any{map[string]any{"Id": "first"}},
		},
	}}}
	for name, want := range map[string]string{"Name": "told", "Note": "asked", "Outputs.X": "flat", "Network.Zone": "z", "Network.A.B.C": "deep", "List.0.Id": "first"} {
		got, known, err := k.GetAtt("A", name)
		if err != nil || !known || got != want {
			t.Errorf("%s: got %v, %t, %v, want %s", name, got, known, err, want)
		}
	}
	for _, name := range []string{"Missing", "Network.Missing", "List.1.Id", "List.x", "Name.x", ""} {
		_, _, err := k.GetAtt("A", name)
		var missing *AttributeError
		if !errors.As(err, &missing) || missing.Attribute != name {
			t.Errorf("%q: got %v, want an AttributeError", name, err)
		}
	}
	if _, known, err := k.GetAtt("B", "Name"); known || err != nil {
		t.Errorf("a resource that is not there: %t, %v", known, err)
	}
}

func TestPlanWritten(t *testing.T) {
	m := newStackModel(testSchemas(t))
	first := deployment(t, things("A: {Properties: {Name: a, Note: n}}", "B: {Properties: {Note: !GetAtt A.Note}}", "C: {}", "E: {DeletionPolicy: Retain}"), nil)
	m.apply(t, m.plan(t, first), first)
	next := deployment(t, things("A: {Properties: {Name: a, Note: m, Class: c}}", "B: {Properties: {Note: !GetAtt A.Note}}", "D: {}")+"Outputs: {O: {Value: x}}\n", nil)
	plan := m.plan(t, next)
	var b bytes.Buffer
	if err := plan.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `~ A (Acme::Test::Thing): update, may replace
    Class: add "c" (may replace)
    Note: "n" to "m"
? B (Acme::Test::Thing): may update
    Note, from A.Note
- C (Acme::Test::Thing): delete
+ D (Acme::Test::Thing): create
- E (Acme::Test::Thing): remove from the stack, keep the resource
~ outputs of the stack
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	var read Plan
	if err := json.Unmarshal([]byte(JSONText(plan)), &read); err != nil || JSONText(read) != JSONText(plan) {
		t.Errorf("the plan does not survive JSON: %v", err)
	}
	b.Reset()
	if err := (&Plan{}).WriteText(&b); err != nil || b.String() != "no changes\n" {
		t.Errorf("the empty plan: %q, %v", b.String(), err)
	}
}

func TestShownValues(t *testing.T) {
	m := newStackModel(testSchemas(t))
	first := deployment(t, things("A: {Properties: {Note: n, Network: {Speed: x}}}"), nil)
	m.apply(t, m.plan(t, first), first)
	plan := m.plan(t, deployment(t, things("A: {Properties: {Size: 1, Network: {Speed: y}}}"), nil))
	targets := map[string]*types.ResourceTargetDefinition{}
	for _, d := range plan.Shown(true)[0].ResourceChange.Details {
		targets[aws.ToString(d.Target.Name)] = d.Target
	}
	if d := targets["Size"]; d.AttributeChangeType != types.AttributeChangeTypeAdd || d.BeforeValue != nil || aws.ToString(d.AfterValue) != "1" {
		t.Errorf("Size: %s", JSONText(d))
	}
	if d := targets["Note"]; d.AttributeChangeType != types.AttributeChangeTypeRemove || d.AfterValue != nil || aws.ToString(d.BeforeValue) != "n" {
		t.Errorf("Note: %s", JSONText(d))
	}
	if d := targets["Network"]; aws.ToString(d.BeforeValue) != `{"Speed":"x"}` || aws.ToString(d.AfterValue) != `{"Speed":"y"}` || aws.ToString(d.Path) != "/Properties/Network" {
		t.Errorf("Network: %s", JSONText(d))
	}
	for _, d := range plan.Shown(false)[0].ResourceChange.Details {
		if d.Target.Path != nil || d.Target.BeforeValue != nil || d.Target.AfterValue != nil || d.Target.AttributeChangeType != "" {
			t.Errorf("values are shown though nobody asked: %s", JSONText(d))
		}
	}
}

func TestRefineNeedsKnownValues(t *testing.T) {
	next := deployment(t, things("A: {Properties: {Note: !Ref B}}", "B: {}"), nil)
	if _, err := (Step{LogicalID: "A"}).Refine(RefineInput{Next: next, Resources: map[string]Resource{}}); err == nil || !strings.Contains(err.Error(), "unknown value") {
		t.Errorf("B is not done: %v", err)
	}
	next = deployment(t, things("A: {Properties: {Note: !GetAtt B.Other}}", "B: {}"), nil)
	_, err := Step{LogicalID: "A"}.Refine(RefineInput{Next: next, Resources: map[string]Resource{"B": {LogicalID: "B", Type: "Acme::Test::Thing"}}})
	var missing *AttributeError
	var at *template.ReferenceError
	if !errors.As(err, &missing) || !errors.As(err, &at) || missing.Error() != "Resource type Acme::Test::Thing does not support attribute {Other}." {
		t.Errorf("B has no such attribute: %v", err)
	}
	if _, err := (Step{LogicalID: "C"}).Refine(RefineInput{Next: next}); err == nil {
		t.Error("a resource that the template does not have is decided")
	}
}

// TestReorderedList takes a list in another order for another value, also one whose order does not count for drift.
func TestReorderedList(t *testing.T) {
	s := schemaFrom(t, `{"typeName": "Acme::Test::Set", "description": "d", "additionalProperties": false,
		"properties": {"Id": {"type": "string"}, "Zones": {"type": "array", "insertionOrder": false, "uniqueItems": true, "items": {"type": "string"}}},
		"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Zones"],
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}}`)
	list := func(items ...any) map[string]any { return map[string]any{"Zones": items} }
	found := Differences(list("a", "b"), list("b", "a"), s)
	if len(found) != 1 || found[0].Recreation != types.RequiresRecreationAlways {
		t.Errorf("%+v", found)
	}
	if found := Differences(list("a", "b"), list("a", "b"), s); found != nil {
		t.Errorf("unchanged: %+v", found)
	}
}
