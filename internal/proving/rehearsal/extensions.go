package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	control "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/local"
)

// Handlers of hooks and of resource types run in the sandbox, without a network: what they call is answered from a recording, or fails.
// What turns out not to run is left out, and the rehearsal begins anew: a type is simulated, a hook does not run, and the report says so.

// An Extension is a hook or a resource type, and whether its handler runs in the rehearsal.
type Extension struct {
	Name   string `json:"typeName"`
	Kind   string `json:"kind"` // HOOK, RESOURCE
	Runs   bool   `json:"runs"`
	Reason string `json:"reason"` // why it does not
}

// A Verdict is what a hook said, if it did not let its target pass.
type Verdict struct {
	LogicalID string `json:"logicalId"` // "" of the stack or the change set
	Hook      string `json:"hook"`
	Mode      string `json:"failureMode"` // FAIL; WARN: the update continues
	Message   string `json:"message"`
}

// A hooked is a hook that sees the stack.
type hooked struct {
	name          string
	configuration string         // of one with a handler
	properties    map[string]any // of a Guard Hook: those of its resource
	rules         []byte         // of a Guard Hook
	mode          types.HookFailureMode
}

// maxGuardRules bounds the rules of a Guard Hook, in bytes.
const maxGuardRules = 10 << 20

// A brokenError reports that the handler of an extension does not run here.
type brokenError struct{ name, why string }

func (e *brokenError) Error() string { return e.name + ": " + e.why }

// extension is the package of a type, nil if there is none or its handler does not run.
func (c *Config) extension(name string, kind schema.Kind) *submit.Request {
	for _, request := range c.Extensions {
		if request.TypeName == name && request.Kind == kind && c.aside[name] == "" {
			return request
		}
	}
	return nil
}

// setAside notes why an extension does not run. It reports whether that is news.
func (c *Config) setAside(name, why string) bool {
	if c.aside[name] != "" {
		return false
	}
	c.aside[name] = cmp.Or(strings.TrimSpace(words.Flat(why)), "no reason was given")
	return true
}

// checkExtensions sets aside what cannot run on this machine.
func (c *Config) checkExtensions() {
	if err := sandbox.Check(); err != nil {
		for _, request := range c.Extensions {
			c.setAside(request.TypeName, "handlers of a rehearsal run only in the sandbox, which this system does not have: "+err.Error())
		}
	}
}

// extensions are those of the report.
func (c *Config) extensions(d *deployed) []Extension {
	out := []Extension{}
	add := func(name, kind string) {
		if !slices.ContainsFunc(out, func(e Extension) bool { return e.Name == name }) {
			out = append(out, Extension{name, kind, c.aside[name] == "", c.aside[name]})
		}
	}
	for _, h := range d.hooks {
		add(h.name, string(schema.Hook))
	}
	for _, request := range c.Extensions {
		add(request.TypeName, string(request.Kind))
	}
	slices.SortFunc(out, func(a, b Extension) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// readHooks reads the hooks of the account, and adds those that are only among the extensions.
func (d *deployed) readHooks(ctx context.Context, config *Config) error {
	found := map[string]types.TypeSummary{}
	for _, in := range []cloudformation.ListTypesInput{
		{Type: types.RegistryTypeHook}, {Type: types.RegistryTypeHook, Visibility: types.VisibilityPublic, Filters: &types.TypeFilters{Category: types.CategoryActivated}},
	} {
		for summary, err := range config.Remote.Types(ctx, in) {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				d.remark("the hooks of the account could not be listed, so they are not run: %s", reasonOf(err))
			case len(found) < maxHooks:
				found[aws.ToString(summary.TypeName)] = summary
			}
			if err != nil {
				break
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		h, err := d.readHook(ctx, config, found[name])
		if err != nil {
			return err
		}
		if h != nil {
			d.hooks = append(d.hooks, h)
		}
	}
	for _, request := range config.Extensions {
		if request.Kind == schema.Hook && !slices.ContainsFunc(d.hooks, func(h *hooked) bool { return h.name == request.TypeName }) {
			d.hooks = append(d.hooks, &hooked{name: request.TypeName, configuration: everywhere, mode: types.HookFailureModeFail})
		}
	}
	return nil
}

// maxHooks bounds the hooks of an account.
const maxHooks = 200

// everywhere is the configuration of a hook that the account does not have, or has off.
const everywhere = `{"CloudFormationConfiguration":{"HookConfiguration":{"HookInvocationStatus":"ENABLED","FailureMode":"FAIL","Properties":{}}}}`

// readHook reads a hook of the account. The result is nil for one that is off.
func (d *deployed) readHook(ctx context.Context, config *Config, summary types.TypeSummary) (*hooked, error) {
	h := &hooked{name: aws.ToString(summary.TypeName)}
	switch aws.ToString(summary.OriginalTypeName) {
	case hook.GuardHook:
		return h, d.readGuard(ctx, config, h, aws.ToString(summary.TypeArn))
	case hook.LambdaHook:
		config.setAside(h.name, "it is a Lambda Hook, whose function is not called")
		return h, nil
	}
	var err error
	if h.configuration, err = typeConfiguration(ctx, config, types.ThirdPartyTypeHook, h.name); err != nil {
		config.setAside(h.name, "its configuration could not be read: "+reasonOf(err))
		return h, ctx.Err()
	}
	settings, _, err := hook.ParseSettings([]byte(cmp.Or(h.configuration, "{}")))
	if err != nil || h.configuration == "" || !settings.Enabled() {
		return nil, nil
	}
	h.mode = settings.Mode()
	if !slices.ContainsFunc(config.Extensions, func(q *submit.Request) bool { return q.TypeName == h.name && q.Kind == schema.Hook }) {
		config.setAside(h.name, "its handler is not here: pass its project or package with --extension")
	}
	return h, nil
}

// readGuard reads the properties and rules of a Guard Hook.
func (d *deployed) readGuard(ctx context.Context, config *Config, h *hooked, arn string) error {
	out, err := config.Remote.Resource(ctx, "AWS::CloudFormation::GuardHook", arn)
	if err == nil {
		err = decode(aws.ToString(out.Properties), &h.properties)
	}
	if err == nil {
		location, _ := h.properties["RuleLocation"].(map[string]any)
		uri, _ := location["Uri"].(string)
		h.rules, err = config.Remote.Object(ctx, uri, maxGuardRules)
	}
	if err != nil {
		config.setAside(h.name, "its rules could not be read: "+reasonOf(err))
		return ctx.Err()
	}
	if options, _ := h.properties["Options"].(map[string]any); options["InputParams"] != nil {
		config.setAside(h.name, "it has parameters in S3, which are not read")
	}
	h.mode = types.HookFailureMode(fmt.Sprint(h.properties["FailureMode"]))
	delete(h.properties, "HookArn")
	delete(h.properties, "LogBucket")
	return nil
}

// typeConfiguration is the default configuration of a type, "" if it has none. Dynamic references are made-up values in it.
func typeConfiguration(ctx context.Context, config *Config, kind types.ThirdPartyType, name string) (string, error) {
	out, err := config.Remote.CloudFormation().BatchDescribeTypeConfigurations(ctx, &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{Type: kind, TypeName: &name}},
	})
	if err != nil {
		return "", err
	}
	for _, found := range out.TypeConfigurations {
		if text := aws.ToString(found.Configuration); text != "" {
			return dynamic.ReplaceAllStringFunc(text, concealed), nil
		}
	}
	return "", nil
}

// confine has handlers of the run reach nothing but the recording and the CloudFormation of the run.
func (r *run) confine(server *local.ServerConfig) error {
	server.Sandbox, server.Network = string(sandbox.On), string(sandbox.Named)
	proxies := []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
	server.Environ = slices.DeleteFunc(slices.Clone(server.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(proxies, strings.ToUpper(name))
	})
	if len(r.config.Recordings) == 0 {
		return nil
	}
	var err error
	r.proxy, err = httptape.Start(httptape.Config{Mode: httptape.Replay, Tape: httptape.Join(r.config.Recordings...), Environ: server.Environ, Dir: r.dir, Report: func(e httptape.Exchange) {
		if e.Unmatched {
			r.world.missed.Store(&e.Name)
		}
	}})
	if err != nil {
		return err
	}
	server.Environ = append(server.Environ, r.proxy.Env()...)
	server.HandlerEnv = append(slices.Clone(server.HandlerEnv), "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true")
	return nil
}

// register registers the extensions in the CloudFormation of the run. Hooks are off until hook.
func (r *run) register(ctx context.Context) error {
	d := r.world.deployed
	for _, request := range r.config.Extensions {
		used := request.Kind == schema.Hook || d.schemas[request.TypeName] != nil
		if !used || r.config.extension(request.TypeName, request.Kind) == nil {
			continue
		}
		token, err := r.remote.Register(ctx, *request)
		if err == nil {
			_, err = r.remote.Wait(ctx, token, settleLimit, nil)
		}
		if err == nil && request.Kind == schema.Resource {
			r.world.handled[request.TypeName] = true
			if settings := d.settings[request.TypeName]; settings != "" {
				err = r.configure(ctx, types.ThirdPartyTypeResource, request.TypeName, settings)
			}
		}
		if err != nil {
			return r.broken(ctx, request.TypeName, "it could not be registered: "+refusal(err))
		}
	}
	return nil
}

// broken is that an extension does not run, or that the run has ended.
func (r *run) broken(ctx context.Context, name, why string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &brokenError{name, why}
}

func (r *run) configure(ctx context.Context, kind types.ThirdPartyType, name, configuration string) error {
	_, err := r.remote.CloudFormation().SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
		Type: kind, TypeName: &name, Configuration: &configuration, ConfigurationAlias: aws.String("default"),
	})
	return err
}

// guardType is the type of Guard Hooks as resources.
const guardType = "AWS::CloudFormation::GuardHook"

// hook turns the hooks on, Guard Hooks first: none of them is to see how another one is made.
func (r *run) hook(ctx context.Context) error {
	own := func(h *hooked) bool { return r.config.aside[h.name] == "" }
	for _, h := range r.world.deployed.hooks {
		if own(h) && h.rules != nil {
			if err := r.guard(ctx, h); err != nil {
				return r.broken(ctx, h.name, refusal(err))
			}
		}
	}
	for _, h := range r.world.deployed.hooks {
		if own(h) && h.rules == nil {
			if err := r.configure(ctx, types.ThirdPartyTypeHook, h.name, h.configuration); err != nil {
				return r.broken(ctx, h.name, refusal(err))
			}
		}
	}
	return nil
}

// guard makes a Guard Hook.
func (r *run) guard(ctx context.Context, h *hooked) error {
	if r.world.deployed.schemas[guardType] != nil {
		return errors.New("the stack has Guard Hooks itself")
	}
	at, err := r.remote.UploadTemplate(ctx, "", h.rules)
	if err != nil {
		return err
	}
	properties := maps.Clone(h.properties)
	properties["RuleLocation"] = map[string]any{"Uri": "s3:/" + strings.TrimPrefix(at, r.remote.Endpoint)}
	event, err := r.remote.CreateResource(ctx, guardType, encoded(properties))
	if err == nil {
		event, err = r.remote.FollowResourceRequest(ctx, aws.ToString(event.RequestToken), func(*control.ProgressEvent) {})
	}
	if err == nil && event.OperationStatus != control.OperationStatusSuccess {
		err = errors.New(aws.ToString(event.StatusMessage))
	}
	return err
}

// probe has the handlers read the resources that are deployed: what a handler does not know here, it cannot update.
func (r *run) probe(ctx context.Context) error {
	for _, of := range r.world.sorted() {
		if !r.world.handled[of.Type] {
			continue
		}
		if _, err := r.remote.Resource(ctx, of.Type, of.Identifier); err != nil {
			return r.broken(ctx, of.Type, fmt.Sprintf("its handler does not know %s: %s", of.LogicalID, refusal(err)))
		}
	}
	return nil
}

// offline are the codes with which a handler fails that has no network.
var offline = []string{"NetworkFailure", "ServiceTimeout", "ServiceInternalError", "InvalidCredentials", "AccessDenied", "Throttling", "InternalFailure", "HandlerInternalFailure", "InvalidTypeConfiguration"}

// own makes a call of a handler of the user, whose resources it notes.
func (w *world) own(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if of.Action == "CREATE" && w.exists[w.at(of)] && !of.Rollback {
		return failed("AlreadyExists", "the name of %s is in use", of.LogicalID), nil
	}
	w.missed.Store(nil)
	answer, err := next(ctx)
	if err != nil {
		return answer, err
	}
	missed := w.missed.Load()
	switch {
	case answer.Status != "FAILED":
	case missed != nil:
		w.breaks(of.Type, fmt.Sprintf("the recording has no answer to %s, which its handler calls in %s of %s", *missed, of.Action, w.at(of)))
	case slices.Contains(offline, answer.ErrorCode):
		w.breaks(of.Type, fmt.Sprintf("its handler failed in %s of %s: %s: %s", of.Action, w.at(of), answer.ErrorCode, answer.Message))
	}
	answer.Message = masked(answer.Message)
	key := of.Type + "|" + cmp.Or(answer.Identifier, of.Identifier)
	switch {
	case of.Action == "CREATE" && answer.Identifier != "" && answer.Status != "FAILED":
		w.things[key] = &thing{LogicalID: w.at(of), Type: of.Type, Identifier: answer.Identifier, model: schema.Clone(answer.Model)}
	case of.Action == "UPDATE" && answer.Status == "SUCCESS" && w.things[key] != nil:
		w.things[key].model = schema.Clone(answer.Model)
	case of.Action == "DELETE" && (answer.Status == "SUCCESS" || answer.ErrorCode == "NotFound"):
		w.lose(key)
	}
	return answer, nil
}

// lose notes that a resource is deleted.
func (w *world) lose(key string) {
	if t := w.things[key]; t != nil {
		delete(w.things, key)
		if t.before {
			w.gone = append(w.gone, t)
		}
	}
}

// breaks notes that an extension does not run. The first one counts.
func (w *world) breaks(name, why string) {
	if w.broken == nil {
		w.broken = &brokenError{name, masked(why)}
	}
}

// isHookCall reports whether a call is one of a hook.
func isHookCall(of local.ResourceCall) bool { return strings.HasSuffix(of.Action, "_PRE_PROVISION") }

// judge makes a call of a hook, and notes what it refuses.
func (w *world) judge(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	w.missed.Store(nil)
	answer, err := next(ctx)
	if err != nil || answer.Status == "IN_PROGRESS" {
		return answer, err
	}
	status, _ := answer.Model["Status"].(string)
	message, _ := answer.Model["Message"].(string)
	missed := w.missed.Load()
	switch {
	case answer.Status != "SUCCESS", status == "", status == string(types.HookStatusHookFailed):
		w.breaks(of.Type, "its handler failed: "+cmp.Or(message, answer.Message, "no message"))
	case status == string(types.HookStatusHookCompleteFailed) && missed != nil:
		w.breaks(of.Type, fmt.Sprintf("the recording has no answer to %s, which its handler calls", *missed))
	case status == string(types.HookStatusHookCompleteFailed):
		at := ""
		if of.LogicalID != "" {
			at = w.at(of)
		}
		v := Verdict{LogicalID: at, Hook: of.Type, Mode: string(w.modeOf(of.Type)), Message: masked(message)}
		if !slices.Contains(w.verdicts, v) {
			w.verdicts = append(w.verdicts, v)
		}
		if at != "" && v.Mode == string(types.HookFailureModeFail) {
			w.calls = append(w.calls, Call{LogicalID: at, Type: w.typeOf(at), Action: strings.TrimSuffix(of.Action, "_PRE_PROVISION"), Identifier: of.Identifier, Failed: true, Hook: of.Type})
		}
	}
	return answer, nil
}

func (w *world) modeOf(hook string) types.HookFailureMode {
	for _, h := range w.deployed.hooks {
		if h.name == hook {
			return h.mode
		}
	}
	return types.HookFailureModeFail
}

// typeOf is the type of a resource before or after the update.
func (w *world) typeOf(path string) string {
	for _, of := range []*source{w.next, w.deployed.template} {
		if r := of.resource(path); r != nil {
			return r.Type
		}
	}
	return ""
}

// masked hides the values that stand for secrets.
func masked(text string) string { return madeUpSecrets.ReplaceAllString(text, "****") }
