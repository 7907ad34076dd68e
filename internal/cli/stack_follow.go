package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/term"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

// deployed follows an operation on a stack and shows how it ends.
type deployed struct {
	*app
	remote  *submit.Remote
	options *remoteOptions
	name    string
	id      string // the ARN
	verb    string // of the command: "deploy", "destroy", "follow", "cancel", "continue", "rollback"
	graph   *stackview.Graph
	rows    []*stackview.Resource // that the operation is known to touch

	Changed bool
}

// A stackResult is the end of an operation with --format json.
type stackResult struct {
	StackName string               `json:"stackName"`
	StackID   string               `json:"stackId"`
	Region    string               `json:"region"`
	Status    string               `json:"status"`
	Changed   bool                 `json:"changed"` // false if there was nothing to do
	Outputs   map[string]string    `json:"outputs"`
	Simulated []string             `json:"simulatedTypes"` // types of resources that cfn serve only simulates
	Failure   *stackview.RootCause `json:"failure"`        // null if nothing failed
}

// follow shows the operation until it ends. after is the last event before it.
func (d *deployed) follow(ctx context.Context, after string) error {
	view := stackview.New(d.name, d.graph, d.rows)
	screen := d.newTreeScreen()
	stack, err := d.remote.FollowStack(ctx, d.id, after, func(stack *types.Stack, events []types.StackEvent) error {
		view.Add(events)
		fresh := d.retries(ctx, view)
		switch {
		case screen != nil:
			screen.Draw(view, d.Now(), submit.Settled(stack.StackStatus))
		case d.format == "text":
			for i := range events {
				d.printf("%s\n", stackview.EventLine(&events[i]))
			}
			for _, r := range fresh {
				d.notef("%s: %s\n", words.Flat(r.LogicalID), stackview.RetryText(r))
			}
		}
		return d.out.err
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return d.interrupted()
	case err != nil && d.out.err != nil:
		return err
	case err != nil:
		return d.serviceError(err)
	}
	return d.ended(ctx, stack, view)
}

// retries updates which calls are made again, and returns those that are new. They are only shown:
// an error is no reason to stop.
func (d *deployed) retries(ctx context.Context, view *stackview.View) []submit.Retry {
	if !slices.ContainsFunc(view.Resources, func(row *stackview.Resource) bool { return stackview.StateOf(row.Status) == stackview.Running }) {
		return nil
	}
	found, err := d.remote.Retries(ctx, d.id)
	if err != nil {
		d.logger.Debug("cannot list the retries", "error", err)
		return nil
	}
	return view.Retry(found)
}

// interrupted reports how to follow the operation, which continues.
func (d *deployed) interrupted() error {
	return &exitError{exitInterrupted, fmt.Sprintf("interrupted; the operation on stack %s continues. To follow it, run: cfn stack events %s --follow%s", d.name, d.name, d.options.again(d.remote.Region))}
}

// operationNames are the nouns of the verbs of commands.
var operationNames = map[string]string{
	"deploy": "deployment", "destroy": "deletion", "cancel": "rollback", "continue": "rollback", "rollback": "rollback",
}

// begun prints how to follow a deployment that is not waited for.
func (d *deployed) begun() error {
	if d.format == "json" {
		return d.printJSON(stackResult{StackName: d.name, StackID: d.id, Region: d.remote.Region, Changed: true, Outputs: map[string]string{}, Simulated: []string{}})
	}
	d.printf("The %s of stack %s has started. To follow it, run: cfn stack events %s --follow%s\n", operationNames[d.verb], d.name, d.name, d.options.again(d.remote.Region))
	return nil
}

// unchanged is the end of a deployment that had nothing to do.
func (d *deployed) unchanged(ctx context.Context) error {
	stack, err := d.remote.Stack(ctx, d.id)
	if err != nil {
		return d.serviceError(err)
	}
	if d.format == "text" {
		d.printf("Stack %s is up to date: no changes.\n", d.name)
	}
	return d.ended(ctx, stack, stackview.New(d.name, d.graph, nil))
}

// ended shows how the operation has ended: the root cause first if it failed.
func (d *deployed) ended(ctx context.Context, stack *types.Stack, view *stackview.View) error {
	if stack == nil {
		return &downstreamError{&submit.GoneError{Stack: d.name}}
	}
	out := stackResult{
		StackName: d.name, StackID: d.id, Region: d.remote.Region, Status: string(stack.StackStatus), Changed: d.Changed,
		Outputs: map[string]string{}, Simulated: d.simulatedTypes(ctx),
	}
	for _, o := range stack.Outputs {
		out.Outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	if d.failed(stack.StackStatus) {
		out.Failure = d.explainFailure(ctx, stack, view)
	}
	if d.format == "json" {
		if err := d.printJSON(out); err != nil {
			return err
		}
		if out.Failure != nil {
			return &exitError{code: exitDownstream}
		}
		return nil
	}
	if out.Failure != nil {
		return &exitError{exitDownstream, failureText(out.Failure, &out, d.hints(out.Failure, &out))}
	}
	d.showSuccess(&out, stack, view)
	return nil
}

// failed reports whether a status is not what the command is for.
func (d *deployed) failed(status types.StackStatus) bool {
	switch d.verb {
	case "cancel", "continue", "rollback":
		return strings.HasSuffix(string(status), "_FAILED")
	case "deploy":
		return d.Changed && (stackview.StateOf(string(status)) == stackview.Failed || status == types.StackStatusDeleteComplete)
	}
	return stackview.StateOf(string(status)) == stackview.Failed
}

func (d *deployed) showSuccess(out *stackResult, stack *types.Stack, view *stackview.View) {
	took := ""
	if !view.Started.IsZero() {
		took = " after " + stackview.Elapsed(view.Started, view.Ended, out.Status, d.Now())
	}
	d.printf("Stack %s in %s: %s%s\n", d.name, d.remote.Region, out.Status, took)
	if len(out.Simulated) > 0 {
		d.printf("Simulated resources (nothing was created): %s\n", strings.Join(out.Simulated, ", "))
	}
	if stack.StackStatus == types.StackStatusDeleteComplete {
		return
	}
	for _, o := range stack.Outputs {
		d.printf("  %s = %s\n", aws.ToString(o.OutputKey), words.Flat(aws.ToString(o.OutputValue)))
	}
}

// explainFailure finds the root cause of a failed operation, with its place and its log.
func (d *deployed) explainFailure(ctx context.Context, stack *types.Stack, view *stackview.View) *stackview.RootCause {
	cause := stackview.FindRootCause(view.Events)
	if cause == nil {
		cause = &stackview.RootCause{LogicalID: d.name, ResourceType: "AWS::CloudFormation::Stack", Stack: d.name, Status: string(stack.StackStatus),
			Message: aws.ToString(stack.StackStatusReason), Log: []string{}, AlsoFailed: []string{}, Problems: []stackview.Fault{}}
	}
	if n := d.graph.Node(cause.LogicalID); n != nil {
		cause.Place = n.At.String()
	}
	cause = d.innermost(ctx, cause)
	switch {
	case strings.Contains(cause.Message, "DescribeEvents"):
		cause.Problems = d.validationFaults(ctx, cause)
	case cause.Stack == d.name:
		cause.Problems = append(cause.Problems, d.attributeFault(ctx, d.remote, d.graph, cause.Message)...)
	}
	if len(cause.Problems) > 0 {
		cause.Message = invalidTemplate(cause.Problems)
	}
	if d.remote.Local && (cause.Function != "" || cause.ErrorCode != "" && !strings.HasPrefix(cause.ResourceType, "AWS::")) {
		written := d.lastLog(ctx, cause)
		event := &invoke.Event{Status: invoke.Failed, ErrorCode: invoke.Code(cause.ErrorCode), Message: cause.Message}
		if raised := invoke.Raised(event, written); raised != "" && written != "" {
			cause.Message = raised
		}
		for line := range strings.Lines(invoke.PrintedLog(written)) {
			cause.Log = append(cause.Log, words.Flat(line))
		}
		cause.Log = cause.Log[max(0, len(cause.Log)-maxLogLines):]
	}
	return cause
}

// innermost follows the failure of a nested stack to the resource that failed in it. The place
// stays that of the nested stack in our template.
func (d *deployed) innermost(ctx context.Context, cause *stackview.RootCause) *stackview.RootCause {
	place, within := cause.Place, ""
	for depth := 0; cause.Nested != "" && depth < 10; depth++ {
		within = cause.Nested
		events, err := d.remote.EventsSince(ctx, within, cause.Started) // a rollback may have deleted it since
		inner := stackview.FindRootCause(events)
		if err != nil || inner == nil {
			return cause
		}
		cause = inner
		cause.Place = place
	}
	if within != "" {
		cause.NestedPlace = d.placeInNested(ctx, within, cause)
	}
	return cause
}

// placeInNested is where a resource is in the template of a nested stack, "" if that is not
// known: a stack whose update was rolled back no longer shows the template that failed.
func (d *deployed) placeInNested(ctx context.Context, stack string, cause *stackview.RootCause) string {
	if strings.HasPrefix(cause.Status, "UPDATE_") {
		return ""
	}
	out, err := d.remote.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &stack, TemplateStage: types.TemplateStageOriginal})
	if err != nil {
		return ""
	}
	t, _ := template.Parse("", []byte(aws.ToString(out.TemplateBody)), template.ParseOptions{})
	if t == nil {
		return ""
	}
	r := t.Resource(cause.LogicalID)
	if r == nil || r.Type != cause.ResourceType {
		return ""
	}
	return fmt.Sprintf("%d:%d", r.At.Start.Line, r.At.Start.Column)
}

// validationFaults are what the validation before the operation has found.
func (d *deployed) validationFaults(ctx context.Context, cause *stackview.RootCause) []stackview.Fault {
	in := &cloudformation.DescribeEventsInput{OperationId: &cause.Operation, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)}}
	if cause.Operation == "" {
		in.OperationId, in.StackName = nil, &d.id
	}
	out, err := d.remote.CloudFormation().DescribeEvents(ctx, in)
	if err != nil {
		return nil
	}
	graph := d.graph
	if cause.Stack != d.name {
		graph = nil // of the template of a nested stack
	}
	return d.templateFaults(ctx, d.remote, graph, out.OperationEvents)
}

// maxLogLines is how many lines of a handler's log a failure shows, and logTime how long
// it waits for them.
const (
	maxLogLines = 10
	logTime     = time.Second
)

// lastLog are the last lines that the handler of a type, or the function of a custom
// resource, has logged before it failed.
func (d *deployed) lastLog(ctx context.Context, cause *stackview.RootCause) string {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	groups := []string{handlers.FunctionLogGroup(cause.Function)}
	if cause.Function == "" {
		ref, err := submit.ParseReference(cause.ResourceType, types.RegistryTypeResource)
		if err != nil {
			return ""
		}
		if groups, _, err = d.remote.LogGroupsOf(ctx, &ref, handlers.DefaultLogGroup); err != nil {
			return ""
		}
	}
	var written []string
	since := cause.Started
	if since.IsZero() {
		since = cause.Ended.Add(-time.Minute)
	}
	complete := false
	read := func(e submit.LogEvent) error {
		text := words.Flat(e.Message)
		complete = complete || strings.HasPrefix(text, "REPORT RequestId: ")
		if text != "" && !lambda.IsFrame(text) && !e.Time.After(cause.Ended.Add(time.Second)) {
			written = append(written, strings.TrimRight(e.Message, "\r\n"))
			written = written[max(0, len(written)-10*maxLogLines):]
		}
		return nil
	}
	for { // the server writes the end of a log after the answer of the handler
		written = nil
		// Without its log the failure is shown all the same.
		_ = d.remote.Logs(ctx, submit.LogQuery{Groups: groups, Since: since.Add(-time.Second)}, read)
		if complete || ctx.Err() != nil {
			return strings.Join(written, "\n")
		}
		select {
		case <-ctx.Done():
		case <-time.After(logTime / 20):
		}
	}
}

// hints are what one can do after a failure.
func (d *deployed) hints(cause *stackview.RootCause, out *stackResult) (hints []string) {
	again := d.options.again(d.remote.Region)
	if cause.ErrorCode != "" && d.remote.Local && !strings.HasPrefix(cause.ResourceType, "AWS::") {
		hints = append(hints, fmt.Sprintf("to see the complete log, run: cfn logs %s%s", cause.ResourceType, again))
	}
	if cause.Function != "" && d.remote.Local {
		hints = append(hints, fmt.Sprintf("to see the complete log, run: cfn logs %s%s", cause.Function, again))
	}
	hints = append(hints, fmt.Sprintf("to see all events, run: cfn stack events %s%s", d.id, again))
	switch {
	case strings.HasPrefix(out.Status, "ROLLBACK_"):
		hints = append(hints, fmt.Sprintf("before you deploy again, run: cfn destroy %s%s", d.name, again))
	case out.Status == string(types.StackStatusUpdateRollbackFailed):
		hints = append(hints, fmt.Sprintf("when the cause is fixed, run: cfn stack continue %s%s", d.name, again))
	case out.Status == string(types.StackStatusCreateFailed) || out.Status == string(types.StackStatusUpdateFailed):
		hints = append(hints, fmt.Sprintf("to undo what was done, run: cfn stack rollback %s%s", d.name, again))
	}
	return hints
}

// failureText is the failure as text.
func failureText(cause *stackview.RootCause, out *stackResult, hints []string) string {
	var b strings.Builder
	for _, fault := range cause.Problems {
		b.WriteString(fault.String() + "\n")
	}
	what := fmt.Sprintf("%s (%s)", words.Flat(cause.LogicalID), cause.ResourceType)
	if cause.Stack != "" && cause.Stack != out.StackName {
		what += " of the nested stack " + cause.Stack
	}
	fmt.Fprintf(&b, "error: %s: %s: %s", what, cause.Status, cmp.Or(words.Flat(cause.Message), "no reason given"))
	if cause.ErrorCode != "" {
		fmt.Fprintf(&b, " [%s]", cause.ErrorCode)
	}
	b.WriteString("\n")
	if cause.Place != "" {
		fmt.Fprintf(&b, "  at %s\n", cause.Place)
	}
	if cause.NestedPlace != "" {
		fmt.Fprintf(&b, "  at %s of the template of the nested stack\n", cause.NestedPlace)
	}
	if len(cause.Log) > 0 {
		b.WriteString("  last lines of the log:\n")
		for _, line := range cause.Log {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if len(cause.AlsoFailed) > 0 {
		fmt.Fprintf(&b, "  also failed: %s\n", strings.Join(cause.AlsoFailed, ", "))
	}
	fmt.Fprintf(&b, "Stack %s in %s is in %s.", out.StackName, out.Region, out.Status)
	for _, hint := range hints {
		fmt.Fprintf(&b, "\nhint: %s", hint)
	}
	return b.String()
}

// simulatedTypes are the types of the resources of the stack that a local server simulates.
func (d *deployed) simulatedTypes(ctx context.Context) []string {
	out := []string{}
	if !d.remote.Local {
		return out
	}
	var names []submit.ResourceName
	for x, err := range d.remote.StackResources(ctx, d.id) {
		if err != nil {
			return out // the summary is worth more than this line of it
		}
		names = append(names, submit.ResourceName{TypeName: aws.ToString(x.ResourceType), Identifier: aws.ToString(x.PhysicalResourceId)})
	}
	found, err := d.remote.Simulated(ctx, names)
	if err != nil {
		return out
	}
	for _, x := range found {
		out = append(out, x.TypeName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// serverNotes prints how a local server differs from AWS because of its options.
func (c *app) serverNotes(r *submit.Remote) {
	if scale := r.TimeScale(); scale != 1 {
		c.notef("note: this cfn serve divides the delays of handlers by %g\n", scale)
	}
}

// errNoStack is the error of a command about a stack that does not exist.
func errNoStack(name, region string) error {
	return withHint(&downstreamError{fmt.Errorf("stack %s does not exist in %s", name, region)}, "run cfn stacks to list stacks, or pass --region for another region")
}

// newTreeScreen returns a screen for a tree, nil if results do not go to a terminal that can draw.
func (c *app) newTreeScreen() *stackview.Screen {
	if !c.Terminal.Stdout || !c.Terminal.Stderr || c.verbose > 0 || c.format != "text" || c.Getenv("TERM") == "dumb" {
		return nil
	}
	s := &stackview.Screen{To: c.screen, Width: 80, Height: 24, Color: c.Getenv("NO_COLOR") == ""}
	for name, size := range map[string]*int{"COLUMNS": &s.Width, "LINES": &s.Height} {
		if n, err := strconv.Atoi(c.Getenv(name)); err == nil && n > 0 {
			*size = n
		}
	}
	if file, ok := c.screen.(*os.File); ok {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			s.Width, s.Height = width, height
		}
	}
	return s
}
