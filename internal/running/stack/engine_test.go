package stack

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestTokens has CreateStack called again with a token.
func TestTokens(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	hold := make(chan struct{})
	g.world.script("CREATE A", behavior{hold: hold})
	in := &cloudformation.CreateStackInput{StackName: aws.String("s"), ClientRequestToken: aws.String("t"), TemplateBody: aws.String(things("A: {}"))}
	first, err := g.CreateStack(t.Context(), owner, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.CreateStack(t.Context(), owner, in)
	if err != nil || *again.StackId != *first.StackId || again.OperationId != nil {
		t.Errorf("again: %v %v", again, err)
	}
	other := *in
	other.TemplateBody = aws.String(things("B: {}"))
	_, err = g.CreateStack(t.Context(), owner, &other)
	if got := refusal(t, err); got != "TokenAlreadyExistsException: The client request token t has already been used for this stack. Retry the request with a different client request token" {
		t.Error(got)
	}
	other.ClientRequestToken = aws.String("u")
	_, err = g.CreateStack(t.Context(), owner, &other)
	if got := refusal(t, err); got != "AlreadyExistsException: Stack [s] already exists" {
		t.Error(got)
	}
	close(hold)
	g.settled("s")
	events, err := g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: aws.String("s")})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if aws.ToString(e.ClientRequestToken) != "t" || aws.ToString(e.OperationId) != *first.OperationId {
			t.Errorf("event without the token or the operation: %v", e)
		}
	}
	if oldest := events.StackEvents[len(events.StackEvents)-1]; *oldest.EventId != *first.OperationId {
		t.Errorf("the first event is %s, want the id of the operation %s", *oldest.EventId, *first.OperationId)
	}
}

// TestNoEcho looks for a secret parameter wherever a stack is shown.
func TestNoEcho(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	const secret = "hunter2hunter2"
	s := g.create(&cloudformation.CreateStackInput{
		TemplateBody: aws.String("Parameters: {P: {Type: String, NoEcho: true}}\n" + things("A: {Properties: {Note: !Sub 'before-${P}-after', Name: !Base64 {Ref: P}}}")),
		Parameters:   []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(secret)}},
	})
	if g.world.things["a-1"]["Note"] != "before-"+secret+"-after" {
		t.Errorf("the handler got %v", g.world.things["a-1"])
	}
	events, err := g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackName})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal([]any{events, s})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), secret) {
		t.Error("the secret is shown")
	}
	for _, want := range []string{`before-****-after`, `KioqKg==`, `"ParameterValue":"****"`} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%s is not shown", want)
		}
	}
	g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	events, err = g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackId})
	if err != nil {
		t.Fatal(err)
	}
	if shown, err = json.Marshal(events); err != nil || strings.Contains(string(shown), secret) {
		t.Error("the secret is shown in events of the deletion")
	}
}

// TestExports locks what other stacks import.
func TestExports(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	exporter := func(note string) *string {
		return aws.String(things("A: {Properties: {Note: "+note+"}}") + "Outputs: {O: {Value: !GetAtt A.Note, Export: {Name: e}}}")
	}
	s := g.create(&cloudformation.CreateStackInput{StackName: aws.String("exporter"), TemplateBody: exporter("x")})
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("importer"), TemplateBody: aws.String(things("B: {Properties: {Note: !ImportValue e}}"))})
	if note := g.world.things["b-1"]["Note"]; note != "x" {
		t.Errorf("imported %v", note)
	}
	imports, err := g.ListImports(t.Context(), owner, &cloudformation.ListImportsInput{ExportName: aws.String("e")})
	if err != nil || !slices.Equal(imports.Imports, []string{"importer"}) {
		t.Errorf("imports: %v %v", imports, err)
	}
	_, err = g.ListImports(t.Context(), owner, &cloudformation.ListImportsInput{ExportName: aws.String("f")})
	if got := refusal(t, err); got != "ValidationError: Export 'f' is not imported by any stack." {
		t.Error(got)
	}
	again := g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	g.expectStatus(again, types.StackStatusCreateComplete, "Delete canceled. Cannot delete export e as it is in use by importer.")
	again = g.update(&cloudformation.UpdateStackInput{StackName: aws.String("exporter"), TemplateBody: exporter("y")})
	g.expectStatus(again, types.StackStatusUpdateRollbackComplete, "")
	if note := g.world.things["a-1"]["Note"]; note != "x" {
		t.Errorf("the exporter has %v", note)
	}
	taken := g.create(&cloudformation.CreateStackInput{StackName: aws.String("second"), TemplateBody: exporter("z")})
	g.expectStatus(taken, types.StackStatusRollbackComplete, "")
	if !slices.ContainsFunc(g.story("second"), func(line string) bool {
		return strings.Contains(line, "(Export with name e is already exported by stack "+*s.StackId+". Rollback requested by user.)")
	}) {
		t.Error(g.story("second"))
	}
}

// TestDescribeEvents reads the events of operations.
func TestDescribeEvents(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.script("CREATE A", behavior{code: "InvalidRequest", message: "no"})
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
	if len(s.LastOperations) != 2 || s.LastOperations[0].OperationType != types.OperationTypeRollback || s.LastOperations[1].OperationType != types.OperationTypeCreateStack {
		t.Fatalf("operations: %v", s.LastOperations)
	}
	read := func(in *cloudformation.DescribeEventsInput) (lines []string) {
		out, err := g.DescribeEvents(t.Context(), owner, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out.OperationEvents {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", e.EventType, *e.LogicalResourceId, e.ResourceStatus, e.OperationStatus))
		}
		return lines
	}
	failed := &types.EventFilter{FailedEvents: aws.Bool(true)}
	for _, test := range []struct {
		in   *cloudformation.DescribeEventsInput
		want []string
	}{
		{&cloudformation.DescribeEventsInput{OperationId: s.LastOperations[1].OperationId}, []string{
			"PROVISIONING_ERROR A CREATE_FAILED ", "PROGRESS A CREATE_IN_PROGRESS ", "STACK_EVENT s CREATE_IN_PROGRESS FAILED",
		}},
		{&cloudformation.DescribeEventsInput{OperationId: s.LastOperations[1].OperationId, Filters: failed}, []string{"PROVISIONING_ERROR A CREATE_FAILED "}},
		{&cloudformation.DescribeEventsInput{StackName: s.StackName, Filters: failed}, nil},
	} {
		if got := read(test.in); !slices.Equal(got, test.want) {
			t.Errorf("%v: %q, want %q", test.in, got, test.want)
		}
	}
}

// TestValidation refuses properties before anything is touched.
func TestValidation(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	body := aws.String(things("A: {Properties: {Nothing: 1}}"))
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: body})
	g.expectStatus(s, types.StackStatusRollbackComplete, "")
	g.expect("s", 0,
		"s CREATE_IN_PROGRESS (User Initiated)",
		"s CREATE_FAILED (Validation failed with 1 error(s). Call DescribeEvents to retrieve the full list of issues with resource and property details, resolve each error, then retry the operation.)",
		"s ROLLBACK_IN_PROGRESS (Validation failure detected. See the operation's FAILED event for details.)", "s ROLLBACK_COMPLETE")
	out, err := g.DescribeEvents(t.Context(), owner, &cloudformation.DescribeEventsInput{OperationId: s.LastOperations[1].OperationId, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)}})
	if err != nil || len(out.OperationEvents) != 1 {
		t.Fatalf("%v %v", out, err)
	}
	if e := out.OperationEvents[0]; *e.ValidationPath != "/Resources/A/Properties" || *e.ValidationStatusReason != "#: extraneous key [Nothing] is not permitted" {
		t.Errorf("%s %s", *e.ValidationPath, *e.ValidationStatusReason)
	}
	g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
	s = g.create(&cloudformation.CreateStackInput{TemplateBody: body, DisableValidation: aws.Bool(true)})
	g.expectStatus(s, types.StackStatusRollbackComplete, "")
	events, err := g.DescribeStackEvents(t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: s.StackId})
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(events.StackEvents, func(e types.StackEvent) bool {
		return e.ResourceStatus == types.ResourceStatusCreateFailed &&
			aws.ToString(e.ResourceStatusReason) == "Properties validation failed for resource A with message:\n#: extraneous key [Nothing] is not permitted"
	})
	if !found {
		t.Error("without validation, no resource fails")
	}
}

// TestSignals has a resource and a wait condition wait for signals.
func TestSignals(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	for _, name := range []string{waitConditionType, handleType} {
		typ, err := g.OwnTypes().Type(t.Context(), owner, name, "")
		if err != nil {
			t.Fatal(err)
		}
		g.world.types[name] = typ
	}
	out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things(
		"A: {CreationPolicy: {ResourceSignal: {Count: 2, Timeout: PT1M}}}",
		"G: {Type: 'AWS::CloudFormation::WaitCondition', CreationPolicy: {ResourceSignal: {Timeout: PT1M}}}", "H: {Type: 'AWS::CloudFormation::WaitConditionHandle'}",
		"W: {Type: 'AWS::CloudFormation::WaitCondition', Properties: {Handle: !Ref H, Timeout: 60}}"))})
	if err != nil {
		t.Fatal(err)
	}
	signalTo := func(resource, id string) error {
		_, err := g.SignalResource(t.Context(), owner, &cloudformation.SignalResourceInput{
			StackName: out.StackId, LogicalResourceId: aws.String(resource), UniqueId: aws.String(id), Status: types.ResourceSignalStatusSuccess})
		return err
	}
	signal := func(id string) error { return signalTo("A", id) }
	for _, row := range []string{"A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)", "G CREATE_IN_PROGRESS " + *out.StackId + "/G (Resource creation Initiated)"} {
		g.happens(row)
	}
	if err := signalTo("G", "1"); err != nil {
		t.Fatal(err)
	}
	if err := signal("1"); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, signal("1")); got != "ValidationError: Signal with ID 1 for resource A already exists.  Signals may only be updated with a FAILURE status." {
		t.Error(got)
	}
	if err := signal("2"); err != nil {
		t.Fatal(err)
	}
	var handle *url.URL
	fixtures.Await(t, "the URL of H", func() bool {
		found, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: out.StackId, LogicalResourceId: aws.String("H")})
		if err == nil {
			handle, _ = url.Parse(aws.ToString(found.StackResourceDetail.PhysicalResourceId))
		}
		return handle != nil && handle.Host != ""
	})
	body := []byte(`{"Status": "SUCCESS", "UniqueId": "u", "Data": "d"}`)
	wrong := handle.Query()
	wrong.Set("token", "guessed")
	if got := refusal(t, g.Signal(t.Context(), wrong, body)); got != "AccessDenied: Access Denied" {
		t.Error(got)
	}
	if err := g.Signal(t.Context(), handle.Query(), body); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.settled("s"), types.StackStatusCreateComplete, "")
}
