package stacktest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
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
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/inprocess"
	"github.com/formwork-dev/formwork/local"
)

// timeScale divides the delays of handlers: a test does not wait for what a handler would wait for.
const timeScale = 1000

// settleLimit bounds one operation on a stack, in real time.
const settleLimit = 2 * time.Minute

// A cloud is the local CloudFormation of one case.
type cloud struct {
	config *Config
	suite  *prepared
	calls  *calls
	remote *submit.Remote
	key    aws.Credentials // of its requests
	server local.ServerConfig
	stop   func()
	dir    string
}

// openCloud starts the CloudFormation of a case, with the types, hooks and values that its file names.
func openCloud(ctx context.Context, config *Config, p *prepared, of *Case) (_ *cloud, err error) {
	dir, err := os.MkdirTemp("", "formwork-stacktest-")
	if err != nil {
		return nil, err
	}
	s := p.suite
	c := &cloud{config: config, suite: p, dir: dir, calls: &calls{
		functions: s.Functions, hooks: s.Hooks, types: s.Types, named: p.constructs.match, schemas: func(typeName string) *schema.Schema { return p.known[typeName] }, secrets: &secret.Set{}, live: map[string]made{}, delayed: map[string]bool{},
	}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	c.server = local.ServerConfig{Config: config.Base, Address: "127.0.0.1:0", GracePeriod: time.Millisecond}
	c.server.Dir, c.server.Account, c.server.Region, c.server.TimeScale, c.server.Around = dir, s.Account, s.Region, timeScale, c.calls.around
	c.server.AwaitSignals = slices.ContainsFunc(of.Steps, func(step *Step) bool { return len(step.Signals) > 0 })
	for _, rule := range s.Types {
		switch {
		case rule.Simulate:
			c.server.Simulate = append(c.server.Simulate, rule.Pattern)
		case rule.Delegate != "":
			c.server.Delegate = append(c.server.Delegate, rule.Pattern+"="+rule.Delegate)
		}
	}
	if len(c.server.Simulate) == 0 && len(c.server.Delegate) == 0 {
		c.server.Simulate = []string{"AWS::*"}
	}
	for _, f := range s.Functions {
		if f.Answer == nil {
			c.server.Functions = append(c.server.Functions, f.Name+"="+p.path(f.Run))
		}
	}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, c.furnish(ctx)
}

// start starts the server on its folder, at the address that it had before.
func (c *cloud) start(ctx context.Context) error {
	own, err := inprocess.Start(ctx, c.server, submit.Config{
		Getenv: c.config.Getenv, Now: c.config.Base.Now, Logger: slog.New(slog.DiscardHandler), Pause: 5 * time.Millisecond,
	}, c.config.Logger)
	if err != nil {
		return err
	}
	c.server.Address = strings.TrimPrefix(own.URL, "http://")
	c.remote, c.key, c.stop = own.Remote, own.Key, own.Stop
	return nil
}

func (c *cloud) close() {
	if c.stop != nil {
		c.stop()
	}
	if err := files.RemoveTemp(c.dir); err != nil {
		c.config.Logger.Debug("the folder of a test is left", "folder", c.dir, "error", err)
	}
}

// restart ends the server as a kill does for its clients, and starts it again on the same data.
func (c *cloud) restart(ctx context.Context) error {
	c.stop()
	c.stop = nil
	return c.start(ctx)
}

// furnish makes what the cases of the file find.
func (c *cloud) furnish(ctx context.Context) error {
	if schemas := c.suite.schemas; len(schemas) > 0 {
		if _, err := c.remote.ImportTypes(ctx, schemas, nil); err != nil {
			return fmt.Errorf("import the schemas of the types: %w", err)
		}
	}
	for _, request := range c.suite.extensions {
		token, err := c.remote.Register(ctx, *request)
		if err != nil {
			return fmt.Errorf("register %s: %w", request.TypeName, err)
		}
		if _, err := c.remote.Wait(ctx, token, settleLimit, nil); err != nil {
			return fmt.Errorf("register %s: %w", request.TypeName, err)
		}
		if request.Kind == schema.Hook {
			_, err = c.remote.CloudFormation().SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
				Type: types.ThirdPartyTypeHook, TypeName: &request.TypeName, ConfigurationAlias: aws.String("default"),
				Configuration: aws.String(`{"CloudFormationConfiguration":{"HookConfiguration":{"HookInvocationStatus":"ENABLED","FailureMode":"FAIL","Properties":{}}}}`),
			})
			if err != nil {
				return fmt.Errorf("configure %s: %w", request.TypeName, err)
			}
		}
	}
	if err := c.give(ctx); err != nil {
		return fmt.Errorf("make what is given: %w", err)
	}
	if err := c.hook(ctx); err != nil {
		return fmt.Errorf("make the hooks: %w", err)
	}
	return nil
}

// givenStack is the stack that has what a file gives.
const givenStack = "stacktest-given"

// give makes the exports, parameters and secrets that a file gives, by a stack.
func (c *cloud) give(ctx context.Context) error {
	bootstrapped := c.suite.bootstrap()
	if len(c.suite.suite.Given) == 0 && len(bootstrapped) == 0 {
		return nil
	}
	resources := map[string]any{"Nothing": map[string]any{"Type": "AWS::CloudFormation::WaitConditionHandle"}}
	outputs := map[string]any{}
	for i, name := range bootstrapped {
		resources[fmt.Sprintf("bootstrap%d", i)] = parameter(name, bootstrapVersion)
	}
	for _, section := range c.suite.suite.Given {
		for i, m := range section.Value.Distinct() {
			id := fmt.Sprintf("%s%d", section.Key, i)
			value, ok := scalar(m.Value)
			switch {
			case section.Key == "exports":
				outputs[id] = map[string]any{"Value": value, "Export": map[string]any{"Name": m.Key}}
			case section.Key == "ssm":
				resources[id] = parameter(m.Key, value)
			default:
				if !ok { // an object is the JSON of the secret
					value = string(m.Value.AppendJSON(nil))
				}
				c.calls.secrets.Add(secretTexts(m.Value)...)
				resources[id] = map[string]any{"Type": "AWS::SecretsManager::Secret", "Properties": map[string]any{"Name": m.Key, "SecretString": value}}
			}
		}
	}
	return c.furnishStack(ctx, givenStack, map[string]any{"Resources": resources, "Outputs": outputs})
}

// parameter is a resource of a template: a parameter of Systems Manager.
func parameter(name, value string) map[string]any {
	return map[string]any{"Type": "AWS::SSM::Parameter", "Properties": map[string]any{"Name": name, "Type": "String", "Value": value}}
}

func secretTexts(v *document.Value) (out []string) {
	if text, ok := scalar(v); ok {
		out = append(out, text)
	}
	for _, m := range v.Members {
		out = append(out, secretTexts(m.Value)...)
	}
	return out
}

// follow waits until an operation on a stack has ended, and returns the stack with the events after one.
func (c *cloud) follow(ctx context.Context, name, after string) (*types.Stack, []types.StackEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	var events []types.StackEvent
	stack, err := c.remote.FollowStack(ctx, name, after, func(_ *types.Stack, more []types.StackEvent) error {
		events = append(events, more...)
		return nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the operation on stack %s has not ended after %s", name, settleLimit)
	}
	return stack, events, err
}

// awaitKill waits for the call at which the server is killed, and restarts it. It reports false if the operation ended
// without such a call.
func (c *cloud) awaitKill(ctx context.Context, name string) (bool, error) {
	c.calls.mu.Lock()
	kill := c.calls.kill
	c.calls.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-kill:
			c.calls.mu.Lock()
			c.calls.kill = nil // the call is made when the server is back
			c.calls.mu.Unlock()
			return true, c.restart(ctx)
		case <-time.After(20 * time.Millisecond):
		}
		stack, err := c.remote.Stack(ctx, name)
		if err != nil || stack == nil || submit.Settled(stack.StackStatus) {
			return false, err
		}
	}
}

// resourcesOf are the resources of a stack by logical ID.
func (c *cloud) resourcesOf(ctx context.Context, stack string) (map[string]types.StackResourceSummary, error) {
	out := map[string]types.StackResourceSummary{}
	for r, err := range c.remote.StackResources(ctx, stack) {
		if err != nil {
			return nil, err
		}
		out[aws.ToString(r.LogicalResourceId)] = r
	}
	return out, nil
}

// exports are the names and values of all exports, without those that the file gives.
func (c *cloud) exports(ctx context.Context) (map[string]any, error) {
	out := map[string]any{}
	pages := cloudformation.NewListExportsPaginator(c.remote.CloudFormation(), &cloudformation.ListExportsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Exports {
			if !strings.Contains(aws.ToString(e.ExportingStackId), ":stack/"+givenStack+"/") {
				out[aws.ToString(e.Name)] = aws.ToString(e.Value)
			}
		}
	}
	return out, nil
}

// offer puts the template of a request into the request, or into a bucket if it is too large for that.
func (c *cloud) offer(ctx context.Context, in *request) error {
	body := in.of.root.AppendJSON(nil)
	if len(body) <= template.MaxBody {
		in.body = aws.String(string(body))
		return nil
	}
	at, err := c.remote.UploadTemplate(ctx, "", body)
	if err != nil {
		return fmt.Errorf("upload the template: %w", err)
	}
	in.url = &at
	return nil
}

// validation is what the validation before a deployment found, whose events of the stack say only how much it is.
func (c *cloud) validation(ctx context.Context, out *outcome) (notes []diag.Note, err error) {
	i := slices.IndexFunc(out.events, func(e types.StackEvent) bool {
		return strings.HasPrefix(aws.ToString(e.ResourceStatusReason), "Validation failed with ")
	})
	if i < 0 {
		return nil, nil
	}
	found, err := c.remote.CloudFormation().DescribeEvents(ctx, &cloudformation.DescribeEventsInput{
		OperationId: out.events[i].OperationId, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)},
	})
	if err != nil {
		return nil, err
	}
	for _, e := range found.OperationEvents {
		if e.EventType == types.EventTypeValidationError {
			notes = append(notes, diag.Note{At: out.at(aws.ToString(e.LogicalResourceId)), Message: aws.ToString(e.LogicalResourceId) + ": " + aws.ToString(e.ValidationStatusReason)})
		}
	}
	return notes, nil
}
