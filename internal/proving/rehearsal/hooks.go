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
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/local"
)

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
			case len(found) == maxHooks && found[aws.ToString(summary.TypeName)].TypeName == nil:
				d.remark("there are more than %d hooks; the others are not run", maxHooks)
			default:
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
	if kind := managedTypes[aws.ToString(summary.OriginalTypeName)]; kind != "" {
		return d.readManaged(ctx, config, h, kind, aws.ToString(summary.TypeArn))
	}
	var err error
	if h.configuration, err = typeConfiguration(ctx, config, types.ThirdPartyTypeHook, h.name); err != nil {
		config.setAside(h.name, "its configuration could not be read: "+reasonOf(err))
		return h, ctx.Err()
	}
	if h.configuration == "" {
		return nil, nil // which is off
	}
	settings, _, err := hook.ParseSettings([]byte(h.configuration))
	switch {
	case err != nil:
		config.setAside(h.name, "its configuration could not be read")
		return h, nil
	case !settings.Enabled():
		return nil, nil
	}
	h.mode = settings.Mode()
	if !slices.ContainsFunc(config.Extensions, func(q *submit.Request) bool { return q.TypeName == h.name && q.Kind == schema.Hook }) {
		config.setAside(h.name, "its handler is not known: pass its project or package with --extension")
	}
	return h, nil
}

// managedTypes are the types of Guard Hooks and Lambda Hooks as resources, by the public names of these hooks.
var managedTypes = map[string]string{hook.GuardHook: guardType, hook.LambdaHook: "AWS::CloudFormation::LambdaHook"}

// readManaged reads a Guard Hook, with its rules, or a Lambda Hook. The result is nil for one that is off.
func (d *deployed) readManaged(ctx context.Context, config *Config, h *hooked, kind, arn string) (*hooked, error) {
	out, err := config.Remote.Resource(ctx, kind, arn)
	if err == nil {
		err = decode(aws.ToString(out.Properties), &h.properties)
	}
	switch {
	case err != nil:
		config.setAside(h.name, "it could not be read: "+reasonOf(err))
		return h, ctx.Err()
	case h.properties["HookStatus"] == "DISABLED":
		return nil, nil
	case kind != guardType:
		config.setAside(h.name, "it is a Lambda Hook, whose function is not called")
		return h, nil
	}
	if options, _ := h.properties["Options"].(map[string]any); options["InputParams"] != nil {
		config.setAside(h.name, "it has parameters in S3, which are not read")
	}
	location, _ := h.properties["RuleLocation"].(map[string]any)
	uri, _ := location["Uri"].(string)
	if h.rules, err = config.Remote.Object(ctx, uri, maxGuardRules); err != nil {
		config.setAside(h.name, "its rules could not be read: "+reasonOf(err))
	}
	h.mode = types.HookFailureMode(fmt.Sprint(h.properties["FailureMode"]))
	delete(h.properties, "HookArn")
	delete(h.properties, "LogBucket")
	return h, ctx.Err()
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

// isHookCall reports whether a call is one of a hook.
func isHookCall(of local.ResourceCall) bool { return strings.HasSuffix(of.Action, "_PRE_PROVISION") }

// judge makes a call of a hook, and notes what it refuses.
func (w *world) judge(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	answer, err := w.call(ctx, of, next)
	if err != nil || answer.Status == "IN_PROGRESS" {
		return answer, err
	}
	status, _ := answer.Model["Status"].(string)
	message, _ := answer.Model["Message"].(string)
	switch {
	case answer.Status != "SUCCESS", status == "", status == string(types.HookStatusHookFailed):
		w.breaks(of.Type, "its handler failed: "+cmp.Or(message, answer.Message, "no message"))
	case status == string(types.HookStatusHookCompleteFailed):
		at := "" // of a stack and its change set, whose properties nobody has
		if of.Desired != nil || of.Previous != nil {
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
