package stack

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// strict is a type whose schema says what values must be like.
const strict = `{
	"typeName": "Acme::Test::Strict", "description": "A strict thing.", "additionalProperties": false,
	"properties": {
		"Name": {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[a-z]+$"}, "Size": {"type": "integer", "minimum": 1, "maximum": 9},
		"Class": {"type": "string", "enum": ["low", "high"]},
		"Items": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true, "items": {"type": "string"}},
		"Network": {"type": "object", "properties": {"Zone": {"type": "string"}, "Speed": {"type": "string"}}, "required": ["Zone"], "additionalProperties": false}
	},
	"anyOf": [{"required": ["Name"]}, {"required": ["Class"]}],
	"createOnlyProperties": ["/properties/Name"], "primaryIdentifier": ["/properties/Name"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}
}`

// problems are the events of the validation of the operation before a rollback:
// "CHECK path: reason".
func (g *rig) problems(in *cloudformation.DescribeEventsInput) []string {
	g.t.Helper()
	in.Filters = &types.EventFilter{FailedEvents: aws.Bool(true)}
	out, err := g.DescribeEvents(g.t.Context(), owner, in)
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	for _, e := range out.OperationEvents {
		if e.EventType == types.EventTypeValidationError && e.ValidationStatus == types.ValidationStatusFailed {
			lines = append(lines, *e.ValidationName+" "+*e.ValidationPath+": "+*e.ValidationStatusReason)
		}
	}
	return lines
}

// TestPropertyValidation holds the properties against the whole schema before anything is
// touched, as far as their values are known.
func TestPropertyValidation(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	typ := typeOf(t, strict)
	typ.Provider = g.world
	g.world.types[typ.Name] = typ
	g.world.values["/size"] = "100"
	for i, test := range []struct{ properties, path, reason string }{
		{"{Class: high, Size: 3}", "", ""},
		{"{Class: medium}", "/Class", "#/Class: failed validation constraint for keyword [enum]"},
		{"{Name: Abc}", "/Name", "#/Name: failed validation constraint for keyword [pattern]"},
		{"{Name: a}", "/Name", "#/Name: expected minLength: 2, actual: 1"},
		{"{Name: abcdefghi}", "/Name", "#/Name: expected maxLength: 8, actual: 9"},
		{"{Class: low, Size: many}", "/Size", "#/Size: expected type: Integer, found: String"},
		{"{Class: low, Size: 10}", "/Size", "#/Size: failed validation constraint for keyword [maximum]"},
		{"{Class: low, Items: []}", "/Items", "#/Items: expected minimum item count: 1, found: 0"},
		{"{Class: low, Items: [a, b, c]}", "/Items", "#/Items: expected maximum item count: 2, found: 3"},
		{"{Class: low, Network: {Speed: x}}", "/Network", "#/Network: required key [Zone] not found"},
		{"{Class: low, Network: {Zone: x, Color: !Ref B}}", "/Network", "#/Network: extraneous key [Color] is not permitted"},
		{"{Size: 1}", "", "#: failed validation constraint for keyword [anyOf]"},
		{"{Class: low, Name: !Ref B}", "", ""},            // not known yet
		{"{Class: low, Size: !GetAtt B.Size}", "", ""},    // not known yet
		{"{Class: '{{resolve:ssm:/class}}'}", "", "late"}, // resolved when the resource is created
	} {
		if test.reason == "late" {
			g.world.values["/class"], test.reason = "low", ""
		}
		body := aws.String(things("A: {Type: 'Acme::Test::Strict', Properties: "+test.properties+"}", "B: {Properties: {Size: 5}}"))
		s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("s" + string(rune('a'+i))), TemplateBody: body, OnFailure: types.OnFailureDoNothing})
		got := strings.Join(g.problems(&cloudformation.DescribeEventsInput{OperationId: s.LastOperations[0].OperationId}), "\n")
		want := ""
		if test.reason != "" {
			want = "PROPERTY_VALIDATION /Resources/A/Properties" + test.path + ": " + test.reason
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%s %s)", test.properties, got, want, s.StackStatus, aws.ToString(s.StackStatusReason))
		}
		if touched := len(g.world.calls) > 0; touched != (want == "") {
			t.Errorf("%s: calls %v", test.properties, g.world.calls)
		}
		g.world.calls = nil
	}
	off := g.create(&cloudformation.CreateStackInput{StackName: aws.String("off"), DisableValidation: aws.Bool(true),
		TemplateBody: aws.String(things("A: {Type: 'Acme::Test::Strict', Properties: {Class: medium}}"))})
	if story := strings.Join(g.story(*off.StackId), "\n"); !strings.Contains(story, "A CREATE_FAILED (Properties validation failed for resource A with message:\n#/Class: failed validation constraint for keyword [enum])") ||
		len(g.world.calls) > 0 {
		t.Errorf("without the validation: %v\n%s", g.world.calls, story)
	}
}

// TestNameConflicts finds names that are taken before anything is touched.
func TestNameConflicts(t *testing.T) {
	named := func(lines ...string) *string {
		for i := range lines {
			lines[i] = strings.Replace(lines[i], "{", "{Type: 'Acme::Test::Named', ", 1)
		}
		return aws.String("Parameters: {P: {Type: String, Default: taken, NoEcho: true}}\n" + things(lines...))
	}
	taken := "NAME_CONFLICT_VALIDATION /Resources/A: Resource of type 'Acme::Test::Named' with identifier 'taken' already exists."
	for name, test := range map[string]struct {
		body    *string
		before  func(g *rig)
		disable bool
		want    string
		status  types.StackStatus
	}{
		"taken":  {body: named("A: {Properties: {Name: taken}}", "B: {Properties: {Name: free}}"), want: taken, status: types.StackStatusRollbackComplete},
		"secret": {body: named("A: {Properties: {Name: !Ref P}}"), want: strings.Replace(taken, "'taken'", "'****'", 1), status: types.StackStatusRollbackComplete},
		"both": {body: named("A: {Properties: {Name: taken, Other: 1}}"), status: types.StackStatusRollbackComplete,
			want: taken + "\nPROPERTY_VALIDATION /Resources/A/Properties: #: extraneous key [Other] is not permitted"},
		"free":      {body: named("A: {Properties: {Name: free}}"), status: types.StackStatusCreateComplete},
		"not known": {body: named("B: {Properties: {Name: free, Note: taken}}", "A: {Properties: {Name: !GetAtt B.Note}}"), status: types.StackStatusCreateComplete},
		"disabled":  {body: named("A: {Properties: {Name: taken}}"), disable: true, status: types.StackStatusCreateComplete},
		"cannot be read": {body: named("A: {Properties: {Name: taken}}"), status: types.StackStatusCreateComplete,
			before: func(g *rig) { g.world.script("READ A", behavior{code: "AccessDenied", message: "no"}) }},
		"does not answer": {body: named("A: {Properties: {Name: taken}}"), status: types.StackStatusCreateComplete,
			before: func(g *rig) { g.world.script("READ A", behavior{forever: true}) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *rig) {
				g.world.things["taken"] = map[string]any{"Name": "taken"}
				if test.before != nil {
					test.before(g)
				}
				began := time.Now()
				s := g.create(&cloudformation.CreateStackInput{TemplateBody: test.body, DisableValidation: aws.Bool(test.disable)})
				if s.StackStatus != test.status || time.Since(began) > time.Minute {
					t.Errorf("status %s (%s) after %s", s.StackStatus, aws.ToString(s.StackStatusReason), time.Since(began))
				}
				first := s.LastOperations[len(s.LastOperations)-1]
				if got := strings.Join(g.problems(&cloudformation.DescribeEventsInput{OperationId: first.OperationId}), "\n"); got != test.want {
					t.Errorf("problems:\n%s\nwant:\n%s", got, test.want)
				}
				if test.want != "" && len(g.world.calls) > 0 {
					t.Errorf("calls: %v", g.world.calls)
				}
			})
		})
	}
}

// TestNameConflictsOfUpdates looks at what an update adds, and not at what the stack has.
func TestNameConflictsOfUpdates(t *testing.T) {
	inBubble(t, func(g *rig) {
		template := func(more ...string) *string {
			return aws.String(things(append(more, "A: {Type: 'Acme::Test::Named', Properties: {Name: mine}}")...))
		}
		g.create(&cloudformation.CreateStackInput{TemplateBody: template()})
		if s := g.update(&cloudformation.UpdateStackInput{TemplateBody: template("C: {}")}); s.StackStatus != types.StackStatusUpdateComplete {
			t.Errorf("an update that adds nothing with a name: %s", s.StackStatus)
		}
		n := len(g.story("s"))
		g.world.things["taken"] = map[string]any{"Name": "taken"}
		s := g.update(&cloudformation.UpdateStackInput{TemplateBody: template("B: {Type: 'Acme::Test::Named', Properties: {Name: taken}}")})
		g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)",
			"s UPDATE_FAILED (Validation failed with 1 error(s). Call DescribeEvents to retrieve the full list of issues with resource and property details, resolve each error, then retry the operation.)",
			"s UPDATE_ROLLBACK_IN_PROGRESS (Validation failure detected. See the operation's FAILED event for details.)",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE")
		if left := strings.Join(g.world.ids(), " "); left != "c-1 mine taken" || s.StackStatus != types.StackStatusUpdateRollbackComplete {
			t.Errorf("left: %s, status %s", left, s.StackStatus)
		}
	})
}

// TestNameConflictsOfChangeSets fails a change set that would create what exists.
func TestNameConflictsOfChangeSets(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.things["taken"] = map[string]any{"Name": "taken"}
	body := things("A: {Type: 'Acme::Test::Named', DeletionPolicy: Retain, Properties: {Name: taken}}", "B: {Properties: {Other: 1}}")
	c := g.create("both", types.ChangeSetTypeCreate, body)
	want := "The following hook(s)/validation failed: [AWS::EarlyValidation::PropertyValidation, AWS::EarlyValidation::ResourceExistenceCheck]. " +
		"To troubleshoot Early Validation errors, use the DescribeEvents API for detailed failure information."
	if c.Status != types.ChangeSetStatusFailed || aws.ToString(c.StatusReason) != want {
		t.Errorf("%s: %s", c.Status, aws.ToString(c.StatusReason))
	}
	if got := g.problems(&cloudformation.DescribeEventsInput{ChangeSetName: c.ChangeSetId}); len(got) != 2 ||
		got[0] != "NAME_CONFLICT_VALIDATION /Resources/A: Resource of type 'Acme::Test::Named' with identifier 'taken' already exists." {
		t.Errorf("problems: %v", got)
	}
	body = strings.ReplaceAll(body, "Other: 1", "Size: 1")
	if c := g.create("import", types.ChangeSetTypeCreate, body, func(in *cloudformation.CreateChangeSetInput) { in.ImportExistingResources = aws.Bool(true) }); c.Status != types.ChangeSetStatusCreateComplete {
		t.Errorf("a change set that imports it: %s: %s", c.Status, aws.ToString(c.StatusReason))
	}
}
