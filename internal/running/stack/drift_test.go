package stack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// drifting is a type whose service changes what it is given.
const drifting = `{
	"typeName": "Acme::Test::Drifting", "description": "A thing.", "additionalProperties": false,
	"properties": {
		"Id": {"type": "string"}, "Name": {"type": "string"}, "Broken": {"type": "string"}, "Size": {"type": "integer"}, "Secret": {"type": "string"},
		"Ports": {"type": "array", "insertionOrder": false, "items": {"type": "integer"}},
		"Inner": {"type": "object", "properties": {"A": {"type": "string"}, "B": {"type": "string"}}, "additionalProperties": false},
		"Tags": {"type": "array", "insertionOrder": false, "items": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}, "additionalProperties": false}}
	},
	"propertyTransform": {"/properties/Name": "$lowercase(Name)", "/properties/Broken": "$error('always')"},
	"readOnlyProperties": ["/properties/Id"], "writeOnlyProperties": ["/properties/Secret"], "primaryIdentifier": ["/properties/Id"],
	"tagging": {"taggable": true, "tagOnCreate": true, "tagUpdatable": true, "cloudFormationSystemTags": true, "tagProperty": "/properties/Tags"},
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}
}`

// knows adds a type to the world.
func (w *world) knows(t testing.TB, source string) {
	typ := typeOf(t, source)
	typ.Provider = w
	w.types[typ.Name] = typ
}

// changes changes what a thing is, behind the back of its stack.
func (w *world) changes(identifier string, properties map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, value := range properties {
		if value == nil {
			delete(w.things[identifier], name)
			continue
		}
		w.things[identifier][name] = value
	}
}

func (w *world) loses(identifier string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.things, identifier)
}

// detect detects the drift of a stack and waits for the end.
func (g *rig) detect(stack string, only ...string) *cloudformation.DescribeStackDriftDetectionStatusOutput {
	g.t.Helper()
	out, err := g.DetectStackDrift(g.t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: &stack, LogicalResourceIds: only})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.detected(*out.StackDriftDetectionId)
}

func (g *rig) detected(id string) *cloudformation.DescribeStackDriftDetectionStatusOutput {
	g.t.Helper()
	var out *cloudformation.DescribeStackDriftDetectionStatusOutput
	fixtures.Await(g.t, "the end of the detection", func() bool {
		var err error
		if out, err = g.DescribeStackDriftDetectionStatus(g.t.Context(), owner, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: &id}); err != nil {
			g.t.Fatal(err)
		}
		return out.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	})
	return out
}

// drifts are the results of a stack: "A MODIFIED NOT_EQUAL /Note a b", sorted.
func (g *rig) drifts(stack string, only ...types.StackResourceDriftStatus) string {
	g.t.Helper()
	out, err := g.DescribeStackResourceDrifts(g.t.Context(), owner, &cloudformation.DescribeStackResourceDriftsInput{StackName: &stack, StackResourceDriftStatusFilters: only})
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	for _, d := range out.StackResourceDrifts {
		line := *d.LogicalResourceId + " " + string(d.StackResourceDriftStatus)
		for _, p := range d.PropertyDifferences {
			line += " " + string(p.DifferenceType) + " " + *p.PropertyPath + " " + *p.ExpectedValue + " " + *p.ActualValue
		}
		if d.DriftStatusReason != nil {
			line += " (" + *d.DriftStatusReason + ")"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestDrift(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.world.knows(t, drifting)
		g.world.knows(t, strings.NewReplacer("Drifting", "Hidden", `"read": {"permissions": []}, `, "").Replace(drifting))
		g.world.values["p"], g.world.values["s:SecretString:::"] = "stored", "secret"
		g.world.values["s"] = "secret"
		body := `
Parameters: {P: {Type: String, NoEcho: true, Default: quiet}}
Resources:
  Same: {Type: Acme::Test::Drifting, Properties: {Name: UPPER, Size: '5', Ports: [1, 2], Secret: s, Inner: {A: a}, Tags: [{Key: k, Value: v}]}}
  Moved: {Type: Acme::Test::Drifting, Properties: {Name: n, Size: 5, Inner: {A: a, B: b}, Ports: [1]}}
  Quiet: {Type: Acme::Test::Drifting, Properties: {Name: !Ref P, Broken: b}}
  Lost: {Type: Acme::Test::Drifting}
  Hidden: {Type: Acme::Test::Hidden}
  Stored: {Type: Acme::Test::Drifting, Properties: {Name: '{{resolve:ssm:p}}', Inner: {A: '{{resolve:secretsmanager:s}}', B: b}}}
`
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body, Tags: []types.Tag{{Key: aws.String("stage"), Value: aws.String("test")}}})
		g.expectStatus(s, types.StackStatusCreateComplete, "")
		if s.DriftInformation.StackDriftStatus != types.StackDriftStatusNotChecked {
			t.Errorf("before: %s", encode(s.DriftInformation))
		}
		tag := func(key, value string) map[string]any { return map[string]any{"Key": key, "Value": value} }
		g.world.changes("same-1", map[string]any{"Name": "upper", "Ports": []any{json.Number("2"), json.Number("1")}, "Secret": nil, "Inner": map[string]any{"A": "a", "B": "default"},
			"Tags": []any{tag("aws:cloudformation:stack-name", "s"), tag("stage", "test"), tag("k", "v")}})
		g.world.changes("stored-1", map[string]any{"Name": "stored", "Inner": map[string]any{"A": "other", "B": "b"}})
		if d := g.detect("s"); d.StackDriftStatus != types.StackDriftStatusInSync || *d.DriftedStackResourceCount != 0 || d.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete {
			t.Errorf("without a change: %s\n%s", encode(d), g.drifts("s"))
		}
		if got := g.drifts("s"); got != "Lost IN_SYNC\nMoved IN_SYNC\nQuiet IN_SYNC\nSame IN_SYNC\nStored IN_SYNC" {
			t.Errorf("without a change:\n%s", got)
		}
		if got := g.drifts("s", types.StackResourceDriftStatusNotChecked); got != "Hidden NOT_CHECKED (The type of the resource cannot be read.)" {
			t.Errorf("what cannot be read: %s", got)
		}

		g.world.changes("moved-1", map[string]any{"Size": 7, "Inner": map[string]any{"A": "a"}, "Ports": []any{json.Number("1"), json.Number("3")}})
		g.world.changes("quiet-1", map[string]any{"Name": "roaring", "Broken": "c"})
		g.world.changes("same-1", map[string]any{"Tags": []any{tag("k", "v"), tag("stage", "test"), tag("mine", "m")}})
		g.world.loses("lost-1")
		d := g.detect("s")
		if d.StackDriftStatus != types.StackDriftStatusDrifted || *d.DriftedStackResourceCount != 4 {
			t.Errorf("after changes: %s", encode(d))
		}
		want := []string{
			"Lost DELETED",
			"Moved MODIFIED REMOVE /Inner/B b null ADD /Ports/1 null 3 NOT_EQUAL /Size 5 7",
			`Quiet MODIFIED NOT_EQUAL /Broken b c NOT_EQUAL /Name **** **** (the transform "$error('always')" of /properties/Broken fails: `,
			`Same MODIFIED ADD /Tags/1 null {"Key":"mine","Value":"m"}`,
			"Stored IN_SYNC",
		}
		got := strings.Split(g.drifts("s"), "\n")
		if len(got) != len(want) {
			t.Fatalf("after changes:\n%s", strings.Join(got, "\n"))
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) || !strings.HasSuffix(want[i], ": ") && got[i] != want[i] {
				t.Errorf("got  %s\nwant %s", got[i], want[i])
			}
		}
		checkDriftState(t, g)
		checkShownDrift(t, g)
	})
}

// checkDriftState looks at a stack that has drifted as Go callers see it.
func checkDriftState(t *testing.T, g *rig) {
	t.Helper()
	d, err := g.Drift(t.Context(), owner.Place, "s")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, x := range d.Resources {
		found = append(found, *x.LogicalResourceId+" "+string(x.StackResourceDriftStatus))
	}
	want := "Hidden NOT_CHECKED, Lost DELETED, Moved MODIFIED, Quiet MODIFIED, Same MODIFIED, Stored IN_SYNC"
	if got := strings.Join(found, ", "); got != want || d.Status != types.StackDriftStatusDrifted || d.Running || !d.Detectable || d.CheckedAt.IsZero() {
		t.Errorf("the drift is %+v: %s", d, got)
	}
	if text := encode(d); strings.Contains(text, "roaring") || strings.Contains(text, "secret") {
		t.Errorf("a secret is shown: %s", text)
	}
	before, err := g.StackMark(t.Context(), owner.Place, "s")
	if err != nil {
		t.Fatal(err)
	}
	g.detect("s")
	if after, err := g.StackMark(t.Context(), owner.Place, "s"); err != nil || after == before {
		t.Errorf("a detection does not change the mark %+v, %v", after, err)
	}
	if _, err := g.Drift(t.Context(), owner.Place, "none"); err == nil {
		t.Error("the drift of a stack that does not exist")
	}
}

// checkShownDrift looks at a stack that has drifted.
func checkShownDrift(t *testing.T, g *rig) {
	t.Helper()
	out, err := g.DescribeStackResourceDrifts(t.Context(), owner, &cloudformation.DescribeStackResourceDriftsInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range out.StackResourceDrifts {
		switch *d.LogicalResourceId {
		case "Lost":
			if d.ExpectedProperties != nil || d.ActualProperties != nil {
				t.Errorf("what is gone has properties: %s", encode(d))
			}
		case "Moved":
			if *d.ExpectedProperties != `{"Inner":{"A":"a","B":"b"},"Name":"n","Ports":[1],"Size":5}` || *d.ActualProperties != `{"Inner":{"A":"a"},"Name":"n","Ports":[1,3],"Size":7}` {
				t.Errorf("properties: %s and %s", *d.ExpectedProperties, *d.ActualProperties)
			}
		}
		if text := encode(d); strings.Contains(text, `quiet\"`) || strings.Contains(text, `"quiet"`) || strings.Contains(text, "roaring") || strings.Contains(text, "secret") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	if s := g.settled("s"); s.DriftInformation.StackDriftStatus != types.StackDriftStatusDrifted || s.DriftInformation.LastCheckTimestamp == nil {
		t.Errorf("the stack: %s", encode(s.DriftInformation))
	}
	moved := func() *types.StackResourceDriftInformation {
		out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: aws.String("s"), LogicalResourceId: aws.String("Moved")})
		if err != nil {
			t.Fatal(err)
		}
		return out.StackResourceDetail.DriftInformation
	}
	if d := moved(); d.StackResourceDriftStatus != types.StackResourceDriftStatusModified || d.LastCheckTimestamp == nil {
		t.Errorf("the resource: %s", encode(d))
	}
	// One resource, at once.
	one, err := g.DetectStackResourceDrift(t.Context(), owner, &cloudformation.DetectStackResourceDriftInput{StackName: aws.String("s"), LogicalResourceId: aws.String("Moved")})
	if err != nil || len(one.StackResourceDrift.PropertyDifferences) != 3 {
		t.Errorf("one resource: %s, %v", encode(one), err)
	}
	g.world.changes("moved-1", map[string]any{"Size": 5, "Inner": map[string]any{"A": "a", "B": "b"}, "Ports": []any{1}})
	if d := g.detect("s", "Moved"); d.StackDriftStatus != types.StackDriftStatusInSync || *d.DriftedStackResourceCount != 0 {
		t.Errorf("only what is back: %s", encode(d))
	}
	if s := g.settled("s"); s.DriftInformation.StackDriftStatus != types.StackDriftStatusDrifted {
		t.Errorf("the others have still drifted: %s", encode(s.DriftInformation))
	}
	if d := moved(); d.StackResourceDriftStatus != types.StackResourceDriftStatusInSync {
		t.Errorf("the resource that is back: %s", encode(d))
	}
}

func TestDriftFailures(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}", "B: {}"))})
	g.world.script("READ A", behavior{code: "InternalFailure", message: "broken"})
	d := g.detect("s")
	if d.DetectionStatus != types.StackDriftDetectionStatusDetectionFailed || d.StackDriftStatus != types.StackDriftStatusUnknown ||
		aws.ToString(d.DetectionStatusReason) != "Failed to detect drift on the following resource(s): [A]" {
		t.Errorf("a handler that fails: %s", encode(d))
	}
	if got := g.drifts("s"); got != "A UNKNOWN (broken)\nB IN_SYNC" {
		t.Errorf("a handler that fails:\n%s", got)
	}
	hold := make(chan struct{})
	g.world.script("READ A", behavior{hold: hold})
	out, err := g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	arn := *g.settled("s").StackId
	for message, err := range map[string]error{
		"Drift detection is already in progress for stack [" + arn + "]": ignore(g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("s")})),
		"Resource C does not exist for stack s":                          ignore(g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("s"), LogicalResourceIds: []string{"C"}})),
		"Resource D does not exist for stack s":                          ignore(g.DetectStackResourceDrift(t.Context(), owner, &cloudformation.DetectStackResourceDriftInput{StackName: aws.String("s"), LogicalResourceId: aws.String("D")})),
		"Stack [none] does not exist":                                    ignore(g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("none")})),
		"Drift detection [x] does not exist":                             ignore(g.DescribeStackDriftDetectionStatus(t.Context(), owner, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: aws.String("x")})),
	} {
		refusedWith(t, err, "ValidationError", message)
	}
	// A stack that goes in the meantime ends the detection.
	g.delete(arn, &cloudformation.DeleteStackInput{})
	close(hold)
	if d := g.detected(*out.StackDriftDetectionId); d.DetectionStatus != types.StackDriftDetectionStatusDetectionFailed || aws.ToString(d.DetectionStatusReason) != "The stack was deleted." {
		t.Errorf("a stack that goes: %s", encode(d))
	}
	_, err = g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: &arn})
	refusedWith(t, err, "ValidationError", "Drift detection cannot be performed on stack with status: DELETE_COMPLETE")
}

// TestDriftAfterRestart: a detection that was interrupted is made anew.
func TestDriftAfterRestart(t *testing.T) {
	t.Parallel()
	place, w := fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)}, newWorld(t)
	g := newRigIn(t, place, w)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: n}}", "B: {}"))})
	w.changes("a-1", map[string]any{"Note": "other"})
	w.script("READ B", behavior{hold: make(chan struct{})}) // until the process stops
	out, err := g.DetectStackDrift(t.Context(), owner, &cloudformation.DetectStackDriftInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	fixtures.Await(t, "the read of B", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.scripts["READ B"]) == 0
	})
	g.store.Close()
	again := newRigIn(t, place, w)
	if d := again.detected(*out.StackDriftDetectionId); d.StackDriftStatus != types.StackDriftStatusDrifted || *d.DriftedStackResourceCount != 1 {
		t.Errorf("after the restart: %s", encode(d))
	}
}

func TestDriftOfNestedStack(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.offers("https://t/child", "Parameters: {P: {Type: CommaDelimitedList}, Q: {Type: String, NoEcho: true}}\n"+things("C: {}"))
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(nests("N", "child", "P: [a, b]", "Q: q"), nests("M", "child", "P: c", "Q: q")))})
	if d := g.detect("s"); d.StackDriftStatus != types.StackDriftStatusInSync {
		t.Errorf("at first: %s\n%s", encode(d), g.drifts("s"))
	}
	ids := map[string]string{}
	resources, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.StackResources {
		ids[*r.LogicalResourceId] = *r.PhysicalResourceId
	}
	n, m := ids["N"], ids["M"]
	g.update(&cloudformation.UpdateStackInput{StackName: &n, UsePreviousTemplate: aws.Bool(true), Parameters: []types.Parameter{
		{ParameterKey: aws.String("P"), ParameterValue: aws.String("a,c")}, {ParameterKey: aws.String("Q"), ParameterValue: aws.String("other")},
	}})
	g.delete(m, &cloudformation.DeleteStackInput{})
	g.detect("s")
	if got := g.drifts("s"); got != "M DELETED\nN MODIFIED NOT_EQUAL /Parameters/P a,b a,c" {
		t.Errorf("drifted:\n%s", got)
	}
}
