package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/stackview"
	"github.com/formwork-dev/formwork/local"
)

// hookTrials run hooks on templates, for cfn template check --hooks: those of the projects in a local CloudFormation
// that ends with the command, those that are registered in cfn serve there.
type hookTrials struct {
	app     *app
	options *checkOptions
	schemas *schemaSource
	running *submit.Remote // nil if no server is named
	own     *submit.Remote // nil if there are no projects of hooks
	known   map[string]bool
	stop    func()
}

// hasErrors is why hooks do not see a template.
const hasErrors = "the template has errors"

// hookTime bounds the building and registration of one hook.
const hookTime = 10 * time.Minute

// openTrials starts what runs hooks. Nothing of it remains after close.
func (c *app) openTrials(ctx context.Context, o *checkOptions, schemas *schemaSource) (_ *hookTrials, err error) {
	t := &hookTrials{app: c, options: o, schemas: schemas, known: map[string]bool{}, stop: func() {}}
	if o.registry || o.against != "" || o.remote.endpoint != "" {
		if t.running, err = c.openRemote(ctx, &o.remote); err != nil {
			return nil, err
		}
		if !t.running.Local {
			return nil, withHint(errors.New("AWS runs hooks only for change sets and stacks"), "name cfn serve with --endpoint-url, or create a change set with cfn deploy --plan")
		}
	}
	if err := schemas.searchProjects(); err != nil {
		return nil, err
	}
	switch n := len(schemas.hooks); {
	case n == 0 && t.running == nil:
		return nil, withHint(errors.New("no hooks found: no project in the working folder or below is a hook"), "pass --registry or --endpoint-url for the hooks that are registered in cfn serve")
	case n == 0:
		return t, nil
	case n > 1 && o.hookConfiguration != "":
		return nil, withHint(fmt.Errorf("option --typeconfig: there are several hooks: %s", strings.Join(schemas.hooks, ", ")), "run the command in the folder of one")
	}
	if err := t.start(ctx); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

// start registers the hooks of the projects in a CloudFormation of their own.
func (t *hookTrials) start(ctx context.Context) error {
	c := t.app
	configuration, err := c.hookConfiguration(t.options.hookConfiguration)
	if err != nil {
		return err
	}
	config := local.ServerConfig{
		Address: "127.0.0.1:0", GracePeriod: time.Millisecond,
		Config: local.Config{
			Region: t.options.region, Account: checkAccount, Simulate: []string{"*::*::*"}, Version: c.Version, Environ: c.Environ, Logger: c.logger,
		},
	}
	if err := (&sandboxOptions{}).serve(c, c.projectDir(), &config.Config); err != nil {
		return err
	}
	remote, stop, err := c.serveOwn(ctx, config)
	if err != nil {
		return err
	}
	t.own, t.stop = remote, stop
	for _, dir := range t.schemas.hooks {
		request, err := c.suiteExtension(ctx, dir, "")
		if err != nil {
			return err
		}
		if _, err := c.registerOwn(ctx, remote, request, nil, hookTime); err != nil {
			return err
		}
		_, err = t.own.CloudFormation().SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
			Type: types.ThirdPartyTypeHook, TypeName: &request.TypeName, Configuration: &configuration, ConfigurationAlias: aws.String("default"),
		})
		if err != nil {
			return withHint(c.serviceError(err), "pass the configuration of the hook with --typeconfig FILE")
		}
	}
	return nil
}

// hookConfiguration is the configuration of the project's hook: its properties are those of a file, as for cfn test.
func (c *app) hookConfiguration(file string) (string, error) {
	var properties any = map[string]any{}
	if file != "" {
		var problems diag.List
		found, err := c.readTypeConfiguration(file, schema.Hook, &problems)
		if err := errors.Join(err, problems.Err()); err != nil {
			return "", err
		}
		properties = found
	}
	text, err := json.Marshal(map[string]any{"CloudFormationConfiguration": map[string]any{"HookConfiguration": map[string]any{
		"HookInvocationStatus": "ENABLED", "FailureMode": "FAIL", "Properties": properties,
	}}})
	return string(text), err
}

// close stops what was started.
func (t *hookTrials) close() { t.stop() }

// check runs the hooks on a template and returns what they refuse. broken says that other errors of the template are reported.
func (t *hookTrials) check(ctx context.Context, file string, data []byte, found *template.Inspection, broken bool, supplied []template.Supplied) (diag.List, error) {
	at := &trialTemplate{file: file, body: string(data), processed: found.Template}
	at.written, _ = template.Parse(file, data, template.ParseOptions{}) // the check reports what is wrong
	if found.Problems.HasErrors() || at.written == nil {
		return diag.List{at.notRun(hasErrors, "")}, nil
	}
	if at.written.Modules() != nil && found.Template != nil {
		at.body = string(found.Template.ProcessedJSON()) // the modules may be known only here
	}
	parameters := map[string]string{}
	for _, s := range supplied {
		parameters[s.Key] = s.Value
	}
	stack := t.options.against
	if stack == "" {
		stack = "stack"
	}
	var out diag.List
	for _, r := range []*submit.Remote{t.own, t.running} {
		if r == nil {
			continue
		}
		if r == t.own {
			if err := t.introduce(ctx, at); err != nil {
				return nil, err
			}
		}
		results, err := r.TryHooks(ctx, stack, at.body, parameters)
		var rejected *submit.RejectedError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &rejected) && broken:
			out.Add(at.notRun(hasErrors, ""))
			continue
		case errors.As(err, &rejected):
			out.Add(at.notRun(rejected.Message, "pass --parameter KEY=VALUE for each parameter, and --schemas or --registry for its types"))
			continue
		case err != nil: // nobody knows what the hooks say
			return nil, t.app.serviceError(fmt.Errorf("run the hooks: %w", err))
		}
		for i := range results {
			if results[i].Refused() {
				out.Add(at.problem(&results[i]))
			}
		}
	}
	return out, nil
}

// introduce imports the schemas of the types of a template. A type without one has any properties.
func (t *hookTrials) introduce(ctx context.Context, of *trialTemplate) error {
	var schemas []submit.TypeSchema
	for _, r := range of.shown().Resources {
		if t.known[r.Type] || r.Type == "" || customresource.IsType(r.Type) || strings.HasPrefix(r.Type, "AWS::CloudFormation::") || template.IsModuleType(r.Type) {
			continue
		}
		t.known[r.Type] = true
		parsed, err := t.schemas.schema(r.Type)
		if err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{
			"typeName": r.Type, "description": "unknown", "properties": map[string]any{"Id": map[string]string{"type": "string"}},
			"primaryIdentifier": []string{"/properties/Id"}, "readOnlyProperties": []string{"/properties/Id"},
		})
		if err != nil {
			return err
		}
		if parsed != nil {
			text = parsed.Root.AppendJSON(nil)
		}
		schemas = append(schemas, submit.TypeSchema{Name: r.Type, Schema: string(text)})
	}
	if len(schemas) == 0 {
		return nil
	}
	_, err := t.own.ImportTypes(ctx, schemas, nil)
	return err
}

// A trialTemplate is a template that hooks see.
type trialTemplate struct {
	file               string
	body               string
	written, processed *template.Template // processed is nil if it is not known here
}

// shown is what is known of the template.
func (t *trialTemplate) shown() *template.Template {
	if t.processed != nil {
		return t.processed
	}
	return t.written
}

// place is where a resource is written, the whole template without one.
func (t *trialTemplate) place(logicalID string) (diag.Range, string) {
	if r := t.shown().Resource(logicalID); r != nil {
		return r.At, document.Pointer{"Resources", logicalID}.String()
	}
	at := t.shown().Root().At
	at.End = at.Start
	return at, ""
}

// problem is the refusal of a hook.
func (t *trialTemplate) problem(r *submit.HookResult) diag.Problem {
	target := map[string]string{"STACK": "the stack", "CHANGE_SET": "the change set"}[r.TargetKind]
	if target == "" {
		target = r.LogicalID
	}
	reason := strings.TrimSuffix(r.Reason, ". Failure was ignored under WARN mode.")
	p := diag.Problem{ID: "hook/refused", Message: stackview.HookText(&types.StackEvent{
		HookType: &r.TypeName, LogicalResourceId: &target, HookStatus: r.Status, HookStatusReason: &reason, HookFailureMode: r.FailureMode,
	})}
	if r.Status == types.HookStatusHookFailed {
		p.ID = "hook/failed"
	}
	if r.FailureMode != types.HookFailureModeFail {
		p.Severity = diag.Warning
	}
	p.At, p.Pointer = t.place(r.LogicalID)
	var hints []string
	for _, a := range r.Annotations {
		if text := aws.ToString(a.RemediationMessage); a.Status == types.AnnotationStatusFailed && text != "" && !slices.Contains(hints, text) {
			hints = append(hints, words.Flat(text))
		}
	}
	p.Message, p.Hint = words.Flat(p.Message), strings.Join(hints, "; ")
	return p
}

// notRun is the remark that hooks did not see a template.
func (t *trialTemplate) notRun(why, hint string) diag.Problem {
	return diag.Problem{ID: "hook/not-run", Severity: diag.Info, At: diag.Range{File: t.file}, Message: "the hooks were not run: " + words.Flat(why), Hint: hint}
}
