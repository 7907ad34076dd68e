package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// invokeOptions are the options of cfn invoke.
type invokeOptions struct {
	handlerOptions
	maxReinvoke  int // -1: as often as the handler requests
	set          []string
	printRequest bool
	event        string

	// Of hooks: a resource of a template instead of a request.
	templateOptions
	template, logicalID string
}

func newInvoke(c *app) *cobra.Command {
	opts := &invokeOptions{}
	cmd := &cobra.Command{
		Use:   "invoke",
		Short: "Call one handler of the project",
		Long: `Call one handler with a request from a file, and call it again while it returns IN_PROGRESS, as
CloudFormation does. Every request and response is printed without secrets: credentials, write-only
values and secrets of the type configuration are replaced with <hidden: REASON>.

The action alone says which kind is meant: cfn invoke CREATE FILE is cfn invoke resource CREATE FILE.

Without --endpoint, the handlers of the project run as local processes. They are built first if a source
has changed. With --debug, they wait for a debugger before the first call, and no time limits apply.

Handlers receive the AWS credentials of the environment or of --profile, or dummy credentials if there
are none. STS is called only with --profile, and only if the profile does not contain the account ID.

Exit code: 0 if the handler returned a response, even FAILED, or Ctrl-C stopped the wait; 1 if it did
not; 130 if cfn was stopped by another signal (SIGTERM).`,
		Args: func(*cobra.Command, []string) error {
			return errors.New("the following arguments are required: resource or hook")
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args never lets it run
	}
	opts.official(cmd)
	cmd.AddCommand(newInvokeKind(c, opts, "resource", "ACTION", invoke.ResourceActions), newInvokeKind(c, opts, "hook", "POINT", invoke.HookActions))
	return cmd
}

func newInvokeKind(c *app, opts *invokeOptions, kind, what string, actions []invoke.Action) *cobra.Command {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}
	long := `Call a handler of a resource type. REQUEST is a file, or - for the standard input, with
{"desiredResourceState": {…}, "previousResourceState": {…}, "typeConfiguration": {…}}; the last
two may be left out.

With --event, ACTION and REQUEST are left out and the file is an event: one of the sam-tests folder
of the user guide, {"action", "request", "callbackContext", "credentials"}, or a whole request
of CloudFormation, {"action", "requestData", …}. Which of both it is does not matter: to the
function TypeFunction it is sent as a request of CloudFormation, to --function-name
TestEntrypoint in the form of the user guide.`
	example := `  cfn invoke resource CREATE create.json
  cfn invoke resource UPDATE update.json --set /Title=Memo --set /Pages=3
  cfn invoke resource --event sam-tests/create.json --debug`
	if kind == "hook" {
		long = `Call a handler of a hook. REQUEST is a file, or - for the standard input, with
{"targetName": "AWS::S3::Bucket", "targetModel": {"resourceProperties": {…}}}.`
		long += `

With --template and --logical-id, REQUEST is left out: the target is a resource of the template, with
its properties evaluated.`
		example = `  cfn invoke hook CREATE_PRE_PROVISION bucket.json
  cfn invoke hook CREATE_PRE_PROVISION --template stack.yaml --logical-id Bucket`
	}
	cmd := &cobra.Command{
		Use:         fmt.Sprintf("%s {%s} REQUEST", kind, strings.Join(words, ",")),
		Short:       fmt.Sprintf("Call a handler of a %s", map[string]string{"resource": "resource type", "hook": "hook"}[kind]),
		Long:        long,
		Example:     example,
		ValidArgs:   words,
		Annotations: map[string]string{impliedBy: strings.Join(words, " ")},
		Args: func(_ *cobra.Command, args []string) error {
			args, err := opts.withoutRequest(what, args)
			if err != nil {
				return err
			}
			switch {
			case opts.event != "" && len(args) > 0:
				return fmt.Errorf("--event cannot be combined with %s or REQUEST", what)
			case opts.event != "":
				return nil
			case len(args) < 2:
				return fmt.Errorf("the following arguments are required: %s", strings.Join([]string{what, "REQUEST"}[len(args):], ", "))
			case len(args) > 2:
				return fmt.Errorf("unrecognized arguments: %s", strings.Join(args[2:], " "))
			case !slices.Contains(words, args[0]):
				return fmt.Errorf("argument %s: invalid choice: %q (choose from %s)", what, args[0], strings.Join(words, ", "))
			}
			return c.checkRequestFile(args[1])
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.invoke(cmd, opts, kind, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&opts.maxReinvoke, "max-reinvoke", -1, "call the handler again at most `N` times (default: no limit)")
	flags.Lookup("max-reinvoke").DefValue = "0" // which the help leaves out
	flags.StringVar(&opts.dockerImage, "docker-image", "", "not supported: cfn runs handlers as local processes, not in an `IMAGE`")
	flags.StringArrayVar(&opts.set, "set", nil, "set a value of the desired state: `/POINTER=VALUE`, where VALUE is JSON or text (may be repeated)")
	flags.BoolVar(&opts.printRequest, "print-request", false, "print the complete first request without calling the handler")
	annotate(flags, addition, "set", "print-request")
	if kind == "resource" {
		flags.StringVar(&opts.event, "event", "", "read the action and the request from the event `FILE`")
		annotate(flags, addition, "event")
	} else {
		opts.targetFlags(cmd)
	}
	opts.handlerOptions.flags(cmd)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// checkRequestFile rejects a missing file before anything is started.
func (c *app) checkRequestFile(name string) error {
	if name == "-" {
		return nil
	}
	file, err := files.Open(c.path(name))
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, files.ErrIrregular) {
		return fmt.Errorf("argument REQUEST: can't open %q: %w", name, errors.Unwrap(err))
	}
	return &usageError{
		message: fmt.Sprintf("argument REQUEST: %s is not a regular file", name), hint: "to pass a request through a pipe, use - to read standard input",
	}
}

func (c *app) invoke(cmd *cobra.Command, opts *invokeOptions, kind string, args []string) error {
	ctx := cmd.Context()
	if err := opts.checkDocker(); err != nil {
		return err
	}
	if err := opts.checkDebug(); err != nil {
		return err
	}
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return err
	}
	want := map[string]schema.Kind{"resource": schema.Resource, "hook": schema.Hook}[kind]
	if p.Kind != want {
		return withHint(fmt.Errorf("%s is not a %s: its artifact type is %s", p.TypeName, kind, p.Kind), "%s", map[schema.Kind]string{
			schema.Resource: "cfn invoke resource calls its handlers", schema.Hook: "cfn invoke hook calls its handlers", schema.Module: "a module has no handlers",
		}[p.Kind])
	}
	var event *invoke.EventFile
	if opts.template != "" {
		event, err = c.templateRequest(cmd, opts, invoke.Action(args[0]))
	} else {
		event, err = c.readRequest(ctx, opts, args)
	}
	if err != nil {
		return err
	}
	if s.Handler(event.Request.Action.Handler()) == nil {
		fmt.Fprintf(c.Stderr, "warning: the schema declares no %s handler\n", event.Request.Action.Handler())
	}
	for _, at := range invoke.Undeclared(s, event.Request.Model) {
		fmt.Fprintf(c.Stderr, "warning: the schema has no property %s: it is not sent\n", at)
	}
	aws, err := invoke.LoadAWS(ctx, c.awsOfHandlers(p, opts.profile, opts.region))
	if err != nil {
		return err
	}
	return c.call(ctx, opts, p, s, event, aws)
}

// readRequest reads the request file, or the event file, and applies --set.
func (c *app) readRequest(ctx context.Context, opts *invokeOptions, args []string) (*invoke.EventFile, error) {
	name := opts.event
	if name == "" {
		name = args[1]
	}
	data, err := c.readInput(ctx, name)
	if err != nil {
		return nil, err
	}
	var event *invoke.EventFile
	var problems diag.List
	if opts.event != "" {
		event, problems = invoke.ReadEvent(name, data)
	} else {
		event, problems = invoke.ReadState(name, data, invoke.Action(args[0]))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	for _, assignment := range opts.set {
		pointer, text, ok := strings.Cut(assignment, "=")
		at, valid := document.ParsePointer(pointer)
		if !ok || !valid || len(at) == 0 {
			err := &usageError{message: fmt.Sprintf("option --set: expected /POINTER=VALUE but got %q", assignment)}
			if ok && pointer != "" && pointer[0] != '/' {
				err.hint = "a pointer begins with a slash: --set /" + assignment
			}
			return nil, err
		}
		var value any = text
		if parsed, problems := document.ParseJSON("--set", []byte(text), document.Limits{}); !problems.HasErrors() {
			value = parsed.Any()
		}
		if event.Request.Action.Hook() {
			event.Request.Target.Model = invoke.Put(event.Request.Target.Model, at, value)
		} else {
			event.Request.Model, _ = invoke.Put(event.Request.Model, at, value).(map[string]any)
		}
	}
	return event, nil
}

// maxRequest bounds a request file; Lambda takes no more.
const maxRequest = 6 << 20

// limits of one call, as the official tool has them.
const (
	resourceCallTimeout = 15 * time.Minute
	hookCallTimeout     = 5 * time.Minute
)

// call carries the operation out and shows it.
func (c *app) call(ctx context.Context, opts *invokeOptions, p *project.Project, s *schema.Schema, event *invoke.EventFile, aws *invoke.AWS) error {
	request := event.Request
	if request.TypeName == "" {
		request.TypeName = p.TypeName
	}
	redactor, err := c.redactor(p, s, &request)
	if err != nil {
		return err
	}
	config := invoke.Config{
		Schema: s, Redactor: redactor, Credentials: aws, Region: opts.region, AccountID: aws.AccountID, CallTimeout: resourceCallTimeout,
		TestEntrypoint: opts.functionName == testEntrypoint, Now: c.Now,
	}
	if event.Credentials != nil {
		config.Credentials = invoke.Static(*event.Credentials)
	}
	if event.Region != "" {
		config.Region = event.Region
	}
	if event.AccountID != "" {
		config.AccountID = event.AccountID
	}
	if request.Action.Hook() {
		config.CallTimeout = hookCallTimeout
	}
	opts.unlimited(&config)
	switch {
	case opts.maxReinvoke == 0:
		config.MaxReinvoke = -1
	case opts.maxReinvoke > 0:
		config.MaxReinvoke = opts.maxReinvoke
	}
	if opts.printRequest {
		payload, err := invoke.New(config).Payload(ctx, request)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s\n", redactor.JSON(payload))
		return nil
	}
	function, stop, err := opts.function(ctx, c, p, s, aws, nil)
	if err != nil {
		return err
	}
	defer stop()
	show := &invocation{app: c, hook: request.Action.Hook(), whole: config.TestEntrypoint}
	config.Function, config.BeforeCall, config.AfterCall = function, show.before, show.after
	last, err := invoke.New(config).Run(ctx, request)
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errTerminated) {
			return ctx.Err()
		}
		return nil // Ctrl-C is how one stops waiting; see Signals
	}
	if errors.Is(err, invoke.ErrReinvokeLimit) {
		err = nil
	}
	if c.format == "json" {
		if printed := show.json(request.Action, last, err, redactor); printed != nil {
			return printed
		}
	}
	if err != nil {
		return errors.New(redactor.Text(err.Error() + javaTrace(err)))
	}
	return nil
}

// redactor hides what the schema of the type, or those of a hook's targets, say is secret,
// from here on in the log as well.
func (c *app) redactor(p *project.Project, s *schema.Schema, request *invoke.Request) (*invoke.Redactor, error) {
	config := invoke.RedactorConfig{Schema: s, Secrets: c.log.Secrets()}
	if !request.Action.Hook() {
		return config.New(), nil
	}
	targets, _, problems, err := p.Targets(s, nil)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	schemas := map[string]*schema.Schema{}
	for _, target := range targets {
		schemas[target.Name] = target.Schema
	}
	config.Targets = func(name string) *schema.Schema { return schemas[name] }
	if schemas[request.Target.Name] == nil && request.Target.Model != nil {
		c.notef("warning: no schema for the target %s: all values of its model are hidden\nhint: add its schema to %s/\n",
			request.Target.Name, project.TargetsDir)
	}
	return config.New(), nil
}

// An invocation shows the calls of one operation.
type invocation struct {
	*app
	hook, whole bool
	calls       []jsonInvocation
}

type jsonInvocation struct {
	Request   json.RawMessage `json:"request"`
	Response  any             `json:"response"` // text if it is not JSON, null without a response
	Seconds   float64         `json:"seconds"`
	Delay     float64         `json:"delaySeconds"`
	Log       string          `json:"log"`
	ErrorText string          `json:"error"`
}

func (i *invocation) before(call *invoke.Call) {
	if i.format == "text" {
		fmt.Fprintf(i.Stdout, "=== Handler input ===\n%s\n", i.input(call.Request()))
	}
}

func (i *invocation) after(call *invoke.Call) error {
	response := call.Response()
	i.logger.Debug("Handler called", "action", call.Action, "number", call.Index+1, "duration", call.Duration, "error", call.Failure(),
		"request", json.RawMessage(call.Request()), "response", string(response))
	if i.format == "text" {
		if response != nil {
			fmt.Fprintf(i.Stdout, "=== Handler response ===\n%s\n", response)
		}
		printLog(i.Stderr, call.Log())
		if call.Event != nil && call.Event.Raised != "" {
			i.notef("error: %s %s\n", call.Action, words.Flat(call.Event.Raised))
		}
		if call.Delay > 0 && i.Terminal.Stderr {
			fmt.Fprintf(i.Stderr, "calling again in %s\n", call.Delay)
		}
		return nil
	}
	shown := jsonInvocation{Request: call.Request(), Seconds: call.Duration.Seconds(), Delay: call.Delay.Seconds(), Log: call.Log()}
	switch {
	case json.Valid(response):
		shown.Response = json.RawMessage(response)
	case response != nil:
		shown.Response = string(response)
	}
	shown.ErrorText = call.Failure()
	i.calls = append(i.calls, shown)
	return nil
}

// input is the part of a request that the official tool shows.
func (i *invocation) input(request []byte) []byte {
	doc, problems := document.ParseJSON("", request, document.Limits{})
	if problems.HasErrors() || i.whole {
		return request
	}
	data, members := []string{"resourceProperties", "previousResourceProperties"}, []string{"callbackContext", "action", "requestData", "region", "awsAccountId", "bearerToken"}
	if i.hook {
		data, members = []string{"targetName", "targetLogicalId", "targetModel"}, []string{"hookTypeName", "actionInvocationPoint", "requestData", "awsAccountId", "clientRequestToken"}
	}
	shown := only(doc, members)
	for k, m := range shown.Members {
		if m.Key == "requestData" {
			shown.Members[k].Value = only(m.Value, data)
		}
	}
	var text bytes.Buffer
	if err := json.Indent(&text, shown.AppendJSON(nil), "", "  "); err != nil {
		return request
	}
	return text.Bytes()
}

// only is an object with some of its members, in the given order.
func only(v *document.Value, names []string) *document.Value {
	out := &document.Value{Kind: document.Object}
	for _, name := range names {
		if value := v.Get(name); value != nil {
			out.Members = append(out.Members, document.Member{Key: name, Value: value})
		}
	}
	return out
}

// json prints the whole operation as one document.
func (i *invocation) json(action invoke.Action, last *invoke.Event, err error, redactor *invoke.Redactor) error {
	out := struct {
		Action    invoke.Action    `json:"action"`
		Status    invoke.Status    `json:"status"` // "" if the handler never answered
		ErrorCode invoke.Code      `json:"errorCode"`
		Message   string           `json:"message"`
		Model     any              `json:"resourceModel"`
		Models    any              `json:"resourceModels"`
		NextToken string           `json:"nextToken"`
		Error     string           `json:"error"`
		Calls     []jsonInvocation `json:"calls"`
	}{Action: action, Calls: append([]jsonInvocation{}, i.calls...)}
	if last != nil {
		out.Status, out.ErrorCode = last.Status, invoke.Code(redactor.Text(string(last.ErrorCode)))
		out.Message, out.NextToken = redactor.Text(last.Message), redactor.Text(last.NextToken)
		if last.Model != nil {
			out.Model = redactor.Model(last.Model)
		}
		if last.Models != nil {
			models := make([]any, len(last.Models))
			for k, m := range last.Models {
				models[k] = redactor.Model(m)
			}
			out.Models = models
		}
	}
	if err != nil {
		out.Error = redactor.Text(err.Error())
	}
	return i.printJSON(out)
}

// javaTrace is where a handler in Java failed, "" for another error. Lambda's client prints it after its
// answer; the process has ended then.
func javaTrace(err error) string {
	var function *lambda.FunctionError
	if errors.As(err, &function) && strings.Contains(function.Trace(), ".java:") {
		return "\n" + function.Trace()
	}
	return ""
}
