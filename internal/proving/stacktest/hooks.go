package stacktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/stackview"
	"github.com/formwork-dev/formwork/local"
)

// hooksStack is the stack with the hooks that have no project.
const hooksStack = "stacktest-hooks"

// hook makes the hooks of rules and of messages.
func (c *cloud) hook(ctx context.Context) error {
	resources := map[string]any{}
	for i, rule := range c.suite.suite.Hooks {
		if rule.Project != "" {
			continue
		}
		filters := map[string]any{"Actions": []string{"CREATE", "UPDATE"}}
		if rule.Actions != nil {
			filters["Actions"] = rule.Actions
		}
		if rule.Targets != nil {
			filters["TargetNames"] = rule.Targets
		}
		properties := map[string]any{
			"Alias": rule.Type, "ExecutionRole": "arn:aws:iam::" + c.suite.suite.Account + ":role/stacktest", "FailureMode": "FAIL", "HookStatus": "ENABLED",
			"TargetOperations": []string{"RESOURCE"}, "TargetFilters": filters,
		}
		typeName := "AWS::CloudFormation::LambdaHook"
		if rule.Fail != "" {
			properties["LambdaFunction"] = "stacktest" // is never called: the answer is that of the file
		} else {
			typeName = "AWS::CloudFormation::GuardHook"
			at, err := c.remote.UploadTemplate(ctx, "", c.suite.rules[rule.Guard])
			if err != nil {
				return fmt.Errorf("upload the rules of %s: %w", rule.Type, err)
			}
			properties["RuleLocation"] = map[string]any{"Uri": "s3:/" + strings.TrimPrefix(at, c.remote.Endpoint)}
		}
		resources[fmt.Sprintf("Hook%d", i)] = map[string]any{"Type": typeName, "Properties": properties}
	}
	if len(resources) == 0 {
		return nil
	}
	return c.furnishStack(ctx, hooksStack, map[string]any{"Resources": resources})
}

// furnishStack makes a stack that no test sees.
func (c *cloud) furnishStack(ctx context.Context, name string, template map[string]any) error {
	body, err := encode(template)
	if err != nil {
		return err
	}
	if _, err := c.remote.CloudFormation().CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		return err
	}
	stack, events, err := c.follow(ctx, name, "")
	if err != nil || stack.StackStatus == types.StackStatusCreateComplete {
		return err
	}
	if cause := stackview.FindRootCause(events); cause != nil {
		return errors.New(cause.Message)
	}
	return errors.New(aws.ToString(stack.StackStatusReason))
}

// verdict is the answer of a hook of a message to a call; ok is false for another call.
func (c *calls) verdict(of local.ResourceCall) (_ local.ResourceAnswer, ok bool) {
	for _, rule := range c.hooks {
		if rule.Fail != "" && rule.Type == of.Type {
			// The verdict of a hook is the model of an answer that succeeded; a failed one is a hook that did not work.
			return local.ResourceAnswer{Status: "SUCCESS", Model: map[string]any{"Status": string(types.HookStatusHookCompleteFailed), "Message": rule.Fail}}, true
		}
	}
	return local.ResourceAnswer{}, false
}

// isHookCall reports whether a call is one of a hook, which is no call of a resource.
func isHookCall(of local.ResourceCall) bool { return strings.HasSuffix(of.Action, "_PRE_PROVISION") }

// A hookResult is what a hook said of a resource.
type hookResult struct {
	logical string
	failed  bool
	got     map[string]any
}

// hookResults are what the hooks said in a step.
func (o *outcome) hookResults() (out []hookResult) {
	for _, e := range o.events {
		if e.HookStatus == "" || e.HookStatus == types.HookStatusHookInProgress {
			continue
		}
		out = append(out, hookResult{
			logical: aws.ToString(e.LogicalResourceId), failed: e.HookStatus == types.HookStatusHookCompleteFailed || e.HookStatus == types.HookStatusHookFailed,
			got: map[string]any{"HookStatus": string(e.HookStatus), "HookType": aws.ToString(e.HookType), "message": aws.ToString(e.HookStatusReason)},
		})
	}
	return out
}

func (r *runner) judgeHooks(ctx context.Context, m document.Member, out *outcome) error {
	results := out.hookResults()
	if m.Value.Kind != document.Object {
		for _, of := range results {
			if of.failed {
				r.fail("expectation", m.Value.At, nil, "%s: the hook %s refused: %s", of.logical, of.got["HookType"], of.got["message"])
			}
		}
		return nil
	}
	for _, want := range m.Value.Distinct() {
		value, err := r.evaluate(ctx, want.Value, out)
		if err != nil {
			return err
		}
		whole := isResult(value)
		var nearest []mismatch
		met, seen := false, false
		for _, of := range results {
			if !r.job.suite.constructs.match(want.Key, of.logical) || !whole && !of.failed {
				continue
			}
			seen = true
			got := any(of.got)
			if !whole {
				got = of.got["message"]
			}
			differs := match(want.Key, value, got)
			met = met || differs == nil
			if nearest == nil {
				nearest = differs
			}
		}
		switch {
		case !seen:
			r.fail("expectation", want.KeyAt, out.notes(), "no hook %s %s", map[bool]string{true: "saw", false: "refused"}[whole], want.Key)
			r.hintName(want.Key, out)
		case !met:
			r.mismatched(want, out, nearest)
		}
	}
	return nil
}

// isResult reports whether an expected value is that of a whole result of a hook, not only of its message.
func isResult(v any) bool {
	of, ok := v.(map[string]any)
	return ok && slices.ContainsFunc([]string{"HookStatus", "HookType", "message"}, func(key string) bool { _, has := of[key]; return has })
}
