package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/template"
)

// stackStory makes events of a stack, one second apart, from lines "ID STATUS REASON". The
// stack itself is called stack.
func stackStory(lines ...string) (events []types.StackEvent) {
	for i, line := range lines {
		part := append(strings.SplitN(line, " ", 3), "")
		e := types.StackEvent{
			StackId: aws.String("arn:stack"), StackName: aws.String("stack"), LogicalResourceId: aws.String(part[0]), PhysicalResourceId: aws.String(""),
			ResourceType: aws.String("Acme::Web::Site"), ResourceStatus: types.ResourceStatus(part[1]), ResourceStatusReason: aws.String(part[2]),
			Timestamp: aws.Time(time.Unix(int64(i), 0)), EventId: aws.String(fmt.Sprint(i)),
		}
		if part[0] == "stack" {
			e.ResourceType, e.PhysicalResourceId = aws.String("AWS::CloudFormation::Stack"), e.StackId
		}
		events = append(events, e)
	}
	return events
}

func TestRootCause(t *testing.T) {
	tests := map[string]struct {
		events                      []types.StackEvent
		id, message, code, alsoFail string
	}{
		"nothing failed": {events: stackStory("stack CREATE_IN_PROGRESS", "A CREATE_COMPLETE", "stack CREATE_COMPLETE")},
		"the first of two, not what was cancelled": {
			events: stackStory("stack CREATE_IN_PROGRESS", "C CREATE_FAILED Resource creation cancelled",
				`A CREATE_FAILED Resource handler returned message: "it said "no"" (RequestToken: 1-2, HandlerErrorCode: InvalidRequest)`,
				"B CREATE_FAILED other", "stack ROLLBACK_IN_PROGRESS The following resource(s) failed to create: [A, B, C].", "B DELETE_FAILED x"),
			id: "A", message: `it said "no"`, code: "InvalidRequest", alsoFail: "B",
		},
		"only the stack says why": {
			events: stackStory("stack CREATE_IN_PROGRESS User Initiated", "A CREATE_FAILED Resource creation cancelled", "stack ROLLBACK_IN_PROGRESS Stack creation time exceeded"),
			id:     "stack", message: "Stack creation time exceeded",
		},
		"without an error code": {
			events: stackStory(`A UPDATE_FAILED Resource handler returned message: "m" (RequestToken: 1)`), id: "A", message: "m",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cause := findRootCause(test.events)
			if cause == nil {
				cause = &rootCause{}
			}
			if cause.LogicalID != test.id || cause.Message != test.message || cause.ErrorCode != test.code || strings.Join(cause.AlsoFailed, ",") != test.alsoFail {
				t.Errorf("got %+v", cause)
			}
		})
	}
}

func treeText(lines []treeLine) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.text, " "))
	}
	return strings.Join(out, "\n")
}

func TestTree(t *testing.T) {
	g := readTemplateGraph(t.Context(), "t.yaml", []byte(`Resources:
  B: {Type: "Acme::Web::Site", Properties: {Name: !Ref A}}
  A: {Type: "Acme::Web::Site"}
  C: {Type: "Acme::Web::Site", DependsOn: [A, B]}
`), template.ParseOptions{}, template.InspectInput{})
	if place := g.placeIn("Template error: [C] is wrong"); place != "t.yaml:4:3" {
		t.Errorf("placeIn returns %q", place)
	}
	v := newStackView("stack", g, g.rows())
	v.add(stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS"))
	if got, want := treeText(drawTree(v, time.Unix(9, 0), 80, 24)), `stack  CREATE_IN_PROGRESS  9s
├─ … A  Acme::Web::Site  CREATE_IN_PROGRESS  8s
├─ · B  Acme::Web::Site  waits for A
└─ · C  Acme::Web::Site  waits for A, B`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v.add(stackStory("A CREATE_COMPLETE", "B CREATE_IN_PROGRESS", "B CREATE_FAILED bad \x1b[2J\nline", "stack ROLLBACK_IN_PROGRESS"))
	if got, want := treeText(drawTree(v, time.Unix(9, 0), 70, 24)), `stack  ROLLBACK_IN_PROGRESS  9s
├─ ✓ A  Acme::Web::Site  CREATE_COMPLETE  0s
├─ ✗ B  Acme::Web::Site  CREATE_FAILED  1s  bad \u001b[2J line
└─ · C  Acme::Web::Site  not started`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Without room for all, failed ones are shown first, and no line is wider than the terminal.
	small := drawTree(v, time.Unix(9, 0), 20, 3)
	if got := treeText(small); !strings.Contains(got, "✗ B") || !strings.HasSuffix(got, "└─ 2 more resources") {
		t.Errorf("got\n%s", got)
	}
	for _, line := range small {
		if n := len([]rune(line.text)); n > 20 {
			t.Errorf("%q has %d characters", line.text, n)
		}
	}
}

// TestTreeOfDeletion: a resource waits for those that use it.
func TestTreeOfDeletion(t *testing.T) {
	g := readTemplateGraph(t.Context(), "", []byte(`{"Resources": {"A": {"Type": "T::T::T"}, "B": {"Type": "T::T::T", "DependsOn": "A"}}}`), template.ParseOptions{}, template.InspectInput{})
	v := newStackView("stack", g, g.rows())
	v.add(stackStory("stack DELETE_IN_PROGRESS", "B DELETE_IN_PROGRESS"))
	if got := v.waitsFor(v.row("A")); !slices.Equal(got, []string{"B"}) {
		t.Errorf("A waits for %v", got)
	}
	v.add(stackStory("B DELETE_COMPLETE"))
	if got := v.waitsFor(v.row("A")); len(got) > 0 {
		t.Errorf("A waits for %v", got)
	}
}

func TestScreenDrawsOverItself(t *testing.T) {
	var out strings.Builder
	s := &treeScreen{to: &out, width: 80, height: 24, color: true}
	v := newStackView("stack", nil, nil)
	v.add(stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS"))
	s.draw(v, time.Unix(5, 0), false)
	v.add(stackStory("A CREATE_COMPLETE"))
	s.draw(v, time.Unix(5, 0), true)
	if got := out.String(); strings.Count(got, "\x1b[2A\r\x1b[J") != 1 || !strings.Contains(got, "\x1b[32m└─ ✓ A") {
		t.Errorf("got %q", got)
	}
}

func TestParamsFormats(t *testing.T) {
	for text, want := range map[string]string{
		`[{"ParameterKey": "A", "ParameterValue": "x"}, {"ParameterKey": "B", "UsePreviousValue": true}]`: "A=x B=previous",
		`["A=x=y", "B="]`: "A=x=y B=",
		`{"Parameters": {"A": "x", "N": 007e1}, "Tags": {"t": "v"}}`:     "error",
		`{"Parameters": {"A": "x", "N": 1.50}, "Tags": {"t": "v"}}`:      "A=x N=1.50 tag:t=v",
		`{"Parameters": [{"ParameterKey": "A", "ParameterValue": "x"}]}`: "A=x",
		`{"A": true, "B": "x"}`:                      "A=true B=x",
		`{"Parameters": "a parameter of this name"}`: "Parameters=a parameter of this name",
		"A: x\nB: 0123\n":                            "A=x B=0123",
		"- A=1\n- A=2\n":                             "A=2",
		`[{"ParameterKey": "A"}]`:                    "error",
		`[["A"]]`:                                    "error",
		`"A"`:                                        "error",
		`{"A": [1]}`:                                 "error",
		`{"Parameters": {}, "Tags": ["a"]}`:          "error",
	} {
		value, problems := document.Parse("params", []byte(text), document.Limits{})
		parameters, tags, err := parseParams(value)
		var got []string
		for _, p := range parameters {
			if p.previous {
				p.value = "previous"
			}
			got = append(got, p.key+"="+p.value)
		}
		for _, tag := range tags {
			got = append(got, "tag:"+*tag.Key+"="+*tag.Value)
		}
		if err != nil || problems.HasErrors() {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q (%v)", text, got, want, err)
		}
	}
}

func TestStackNameOfFile(t *testing.T) {
	for file, want := range map[string]string{"stack.yaml": "stack", "dir/my_app.template.json": "my-app", "a b.yml": "a-b", "x": "x", "7.yaml": "7"} {
		if got := stackNameOf(file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
