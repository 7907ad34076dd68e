package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

func newHook(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Try the hook of the project on templates",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newHookTry(c))
	return cmd
}

// hookTryOptions are the options of cfn hook try.
type hookTryOptions struct {
	handlerOptions
	templateOptions
	action, configuration string
}

// templateOptions are how a template is evaluated without a stack.
type templateOptions struct{ parameters []string }

func (o *templateOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.parameters, "parameter", nil, "use `KEY=VALUE` as the value of a parameter (may be repeated)")
	annotate(flags, addition, "parameter")
}

func newHookTry(c *app) *cobra.Command {
	opts := &hookTryOptions{}
	cmd := &cobra.Command{
		Use:   "try TEMPLATE",
		Short: "Run the hook against every resource of a template, without a server",
		Long: `Run the handler of the hook against every resource of a template whose type is among its targets, as
CloudFormation would before it creates the stack. No server is needed and nothing is created. Each
resource that the hook refuses is printed with its reason and its line in the template.

Values that only exist after the creation, such as the attributes of other resources, are sent as
` + plan.Pending + `. Before an update or a deletion (--action), the resource has the
same properties.

Exit code: 0 if the hook lets all resources pass, 1 if it refuses one or did not answer, 2 for a usage error.`,
		Example: `  cfn hook try stack.yaml
  cfn hook try stack.yaml --parameter Environment=prod --format json
  cfn hook try stack.yaml --configuration properties.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{command: cmd, message: "expected one argument: TEMPLATE", hint: "pass the template to check"}
			}
			return c.tryHook(cmd, opts, args[0])
		},
	}
	opts.official(cmd)
	opts.handlerOptions.flags(cmd)
	opts.templateOptions.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.action, "action", "CREATE", "run the handler for the `ACTION`: CREATE, UPDATE or DELETE")
	flags.StringVar(&opts.configuration, "configuration", "", "read the properties of the hook from the JSON `FILE` (default: none)")
	annotate(flags, addition, "action", "configuration")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A hookVerdict is what a hook said of a resource.
type hookVerdict struct {
	LogicalID string `json:"logicalId"`
	Type      string `json:"type"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Status    string `json:"status"` // SUCCESS, FAILED, or ERROR without an answer
	ErrorCode string `json:"errorCode,omitempty"`
	Message   string `json:"message"`
}

func (c *app) tryHook(cmd *cobra.Command, opts *hookTryOptions, file string) error {
	ctx, action := cmd.Context(), invoke.Action(strings.ToUpper(opts.action)+"_PRE_PROVISION")
	if !slices.Contains(invoke.HookActions, action) {
		return &usageError{command: cmd, message: fmt.Sprintf("option --action: invalid choice: %q (choose from CREATE, UPDATE, DELETE)", opts.action)}
	}
	if err := opts.checkDebug(); err != nil {
		return err
	}
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return err
	}
	if p.Kind != schema.Hook {
		return fmt.Errorf("%s is not a hook: its artifact type is %s", p.TypeName, p.Kind)
	}
	handler := s.Handler(action.Handler())
	if handler == nil {
		return fmt.Errorf("the schema declares no %s handler", action.Handler())
	}
	resources, err := c.resourcesOf(cmd, file, opts.templateOptions, opts.region)
	if err != nil {
		return err
	}
	configuration, err := c.hookProperties(ctx, opts.configuration)
	if err != nil {
		return err
	}
	aws, err := invoke.LoadAWS(ctx, c.awsOfHandlers(p, opts.profile, opts.region))
	if err != nil {
		return err
	}
	function, stop, err := opts.function(ctx, c, p, s, aws, nil)
	if err != nil {
		return err
	}
	defer stop()
	verdicts, skipped := []hookVerdict{}, 0
	redactors := map[string]*invoke.Redactor{} // by type
	for _, r := range resources {
		if !slices.ContainsFunc(handler.TargetNames, func(pattern string) bool { return schema.MatchTarget(pattern, r.Type) }) {
			skipped++
			continue
		}
		request := r.request(action, p, configuration)
		redactor := redactors[r.Type]
		if redactor == nil {
			if redactor, err = c.redactor(p, s, &request); err != nil {
				return err
			}
			redactors[r.Type] = redactor
		}
		config := invoke.Config{
			Function: function, Schema: s, Redactor: redactor, Credentials: aws, Region: opts.region, AccountID: aws.AccountID,
			CallTimeout: hookCallTimeout, Now: c.Now,
		}
		opts.unlimited(&config)
		event, err := invoke.New(config).Run(ctx, request)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdicts = append(verdicts, r.verdict(event, err, redactor))
	}
	return c.printVerdicts(file, verdicts, skipped)
}

// hookProperties reads the properties of the hook's configuration.
func (c *app) hookProperties(ctx context.Context, file string) (any, error) {
	if file == "" {
		return map[string]any{}, nil
	}
	data, err := c.readInput(ctx, file)
	if err != nil {
		return nil, err
	}
	root, problems := document.ParseJSON(file, data, document.Limits{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if root.Kind != document.Object {
		return nil, fmt.Errorf("%s: expected an object with the properties of the hook but got %s", file, root.Kind)
	}
	return root.Any(), nil
}

// A templateResource is a resource of a template with its evaluated properties.
type templateResource struct {
	ID, Type   string
	At         diag.Range
	Properties map[string]any
}

// resourcesOf evaluates the resources of a template, in the order in which they are created.
// What is not known before that is [plan.Pending].
func (c *app) resourcesOf(cmd *cobra.Command, file string, o templateOptions, region string) ([]templateResource, error) {
	ctx := cmd.Context()
	supplied, err := suppliedParameters(cmd, o.parameters)
	if err != nil {
		return nil, err
	}
	data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
	if err != nil {
		return nil, missingFile(err, file, hintTemplate)
	}
	if region == "" {
		region = invoke.DefaultRegion
	}
	pseudo := template.Pseudo{
		AccountID: "123456789012", Region: region, StackName: "stack",
		StackID: "arn:aws:cloudformation:" + region + ":123456789012:stack/stack/00000000-0000-0000-0000-000000000000",
	}
	problems, err := template.Inspect(ctx, file, data, template.InspectInput{Supplied: supplied, Pseudo: pseudo})
	if err != nil {
		return nil, err
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	t, err := template.Parse(file, data, template.ParseOptions{})
	if err != nil {
		return nil, err
	}
	bound, err := t.Bind(ctx, template.BindInput{Supplied: supplied})
	if err != nil {
		return nil, err
	}
	budget := template.NewBudget()
	if t, err = t.Expand(ctx, template.ExpandInput{Parameters: bound, Pseudo: pseudo, Budget: budget}); err != nil {
		return nil, err
	}
	scope, err := t.NewScope(template.ScopeInput{Parameters: bound, Pseudo: pseudo, Budget: budget})
	if err != nil {
		return nil, err
	}
	ordered, err := scope.Order()
	if err != nil {
		return nil, err
	}
	var out []templateResource
	for _, r := range ordered {
		value, err := scope.Properties(r, template.NoReferences{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.LogicalID, err)
		}
		properties, _ := template.ReplaceUnknown(value, plan.Pending).(map[string]any)
		out = append(out, templateResource{ID: r.LogicalID, Type: r.Type, At: r.At, Properties: properties})
	}
	return out, nil
}

// request is the request of a hook for the resource.
func (r *templateResource) request(action invoke.Action, p *project.Project, configuration any) invoke.Request {
	return invoke.Request{
		Action: action, TypeName: p.TypeName, TypeConfiguration: configuration, LogicalID: r.ID,
		Target: invoke.Target{Name: r.Type, LogicalID: r.ID, Model: hook.TargetModel(action, r.Properties, r.Properties)},
	}
}

// verdict is what came of a call for the resource.
func (r *templateResource) verdict(event *invoke.Event, err error, redactor *invoke.Redactor) hookVerdict {
	v := hookVerdict{LogicalID: r.ID, Type: r.Type, Line: r.At.Start.Line, Column: r.At.Start.Column}
	switch {
	case err != nil:
		v.Status, v.Message = "ERROR", redactor.Text(err.Error())
	case event.Status == invoke.Failed:
		v.Status, v.ErrorCode, v.Message = "FAILED", string(event.ErrorCode), cmp.Or(event.Raised, redactor.Text(event.Message), "the hook gives no message")
	default:
		v.Status, v.Message = "SUCCESS", redactor.Text(event.Message)
	}
	return v
}

// printVerdicts prints what the hook said.
func (c *app) printVerdicts(file string, verdicts []hookVerdict, skipped int) error {
	refused := 0
	for _, v := range verdicts {
		if v.Status != "SUCCESS" {
			refused++
		}
	}
	if c.format == "json" {
		if err := c.printJSON(map[string]any{"template": file, "resources": verdicts, "skipped": skipped}); err != nil {
			return err
		}
	} else {
		for _, v := range verdicts {
			if v.Status == "SUCCESS" {
				continue
			}
			message := v.Message
			if v.ErrorCode != "" {
				message += " (" + v.ErrorCode + ")"
			}
			c.printf("%s:%d:%d: %s (%s): %s\n", file, v.Line, v.Column, v.LogicalID, v.Type, message)
		}
		c.printf("%s checked, %d refused; %s not among the targets of the hook.\n", words.Count(len(verdicts), "resource"), refused, words.Count(skipped, "resource"))
	}
	if refused > 0 {
		return &exitError{code: exitFailure}
	}
	return nil
}

// templateRequest is the request of cfn invoke hook for a resource of a template.
func (c *app) templateRequest(cmd *cobra.Command, opts *invokeOptions, action invoke.Action) (*invoke.EventFile, error) {
	resources, err := c.resourcesOf(cmd, opts.template, opts.templateOptions, opts.region)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range resources {
		if r.ID == opts.logicalID {
			return &invoke.EventFile{Request: r.request(action, &project.Project{}, map[string]any{})}, nil
		}
		ids = append(ids, r.ID)
	}
	return nil, withHint(fmt.Errorf("the template %s has no resource %q", opts.template, opts.logicalID), "its resources are: %s", strings.Join(ids, ", "))
}

// targetFlags are the options of hooks whose target is in a template.
func (o *invokeOptions) targetFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.template, "template", "", "take the target from the template `FILE`")
	flags.StringVar(&o.logicalID, "logical-id", "", "the logical `ID` of the target in the template")
	annotate(flags, addition, "template", "logical-id")
	o.templateOptions.flags(cmd)
}

// withoutRequest completes the arguments of a call whose target is in a template: they have no
// REQUEST.
func (o *invokeOptions) withoutRequest(what string, args []string) ([]string, error) {
	switch {
	case (o.template == "") != (o.logicalID == ""):
		return nil, errors.New("--template and --logical-id must be specified together")
	case o.template == "":
		return args, nil
	case len(args) != 1:
		return nil, fmt.Errorf("with --template, expected one argument: %s", what)
	}
	return []string{args[0], "-"}, nil
}
