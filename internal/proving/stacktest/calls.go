package stacktest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// A call is one operation on a resource as its provider saw it.
type call struct {
	Stack, LogicalID, Type, Action string
	Rollback                       bool
	Desired, Previous              map[string]any

	token      string
	identifier string               // before the call
	answer     local.ResourceAnswer // the latest
}

// calls are what providers of resources were called with, and what the step at hand does to them.
type calls struct {
	functions []function
	hooks     []hookRule
	types     []typeRule
	named     func(pattern, logical string) bool
	schemas   func(typeName string) *schema.Schema // nil for a type whose schema is not known
	secrets   *secret.Set

	mu      sync.Mutex
	made    []*call // of the case so far
	live    map[string]made
	step    *Step
	failed  int             // calls that the fault of the step has met
	delayed map[string]bool // tokens
	kill    chan struct{}   // is closed when the call at which the server is killed has come; nil without
	killing bool
}

// made is a resource that exists.
type made struct{ Stack, LogicalID, Type, Identifier string }

// begin makes the faults of a step the current ones.
func (c *calls) begin(step *Step) (from int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step, c.failed, c.killing = step, 0, false
	c.kill = nil
	if step != nil && step.Kill != "" {
		c.kill = make(chan struct{})
	}
	return len(c.made)
}

// since are the calls from the one with an index on.
func (c *calls) since(from int) []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.made[from:])
}

// left are the resources that exist and are not among those kept, in order.
func (c *calls) left(kept func(made) bool) (out []made) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(c.live)) {
		if !kept(c.live[key]) {
			out = append(out, c.live[key])
		}
	}
	return out
}

// around is [local.Config.Around].
func (c *calls) around(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if isHookCall(of) {
		if answer, ok := c.verdict(of); ok {
			return answer, nil
		}
		return next(ctx)
	}
	if of.LogicalID == "" {
		return next(ctx)
	}
	if stop := c.killed(of); stop {
		<-ctx.Done() // the server is being killed
		return local.ResourceAnswer{}, ctx.Err()
	}
	recorded := c.record(of)
	answer, err := c.answer(ctx, of, next)
	if err == nil {
		c.note(of, recorded, answer)
	}
	return answer, err
}

// killed reports whether the server is killed at a call.
func (c *calls) killed(of local.ResourceCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kill == nil || !c.names(c.step.Kill, of) {
		return false
	}
	if !c.killing {
		c.killing = true
		close(c.kill)
	}
	return true
}

// names reports whether a name in a test, LOGICALID or STACK.LOGICALID, is that of a resource.
func (c *calls) names(name string, of local.ResourceCall) bool {
	stack, logical, found := strings.Cut(name, ".")
	if !found || c.named(name, of.LogicalID) {
		return c.named(name, of.LogicalID)
	}
	return c.named(logical, of.LogicalID) && (stack == of.StackName || strings.HasPrefix(of.StackName, stack+"-") || strings.Contains(of.StackName, "-"+stack+"-"))
}

// record keeps a call once per operation.
func (c *calls) record(of local.ResourceCall) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets.Add(of.Secrets...)
	c.secrets.Add(c.writeOnly(of.Type, of.Desired)...)
	c.secrets.Add(c.writeOnly(of.Type, of.Previous)...)
	for _, known := range slices.Backward(c.made) {
		if known.token == of.Token {
			return known
		}
	}
	made := &call{
		Stack: of.StackName, LogicalID: of.LogicalID, Type: of.Type, Action: of.Action, Rollback: of.Rollback,
		Desired: schema.Clone(of.Desired), Previous: schema.Clone(of.Previous), token: of.Token, identifier: of.Identifier,
	}
	c.made = append(c.made, made)
	return made
}

// writeOnly are the texts of a model that its schema says are written and never read.
func (c *calls) writeOnly(typeName string, model map[string]any) (out []string) {
	if s := c.schemas(typeName); s != nil {
		for _, at := range schema.Present(model, s.WriteOnly) {
			value, _ := at.Find(model)
			out = append(out, customresource.Texts(value)...)
		}
	}
	return out
}

// answer makes a call, or answers in the place of the provider.
func (c *calls) answer(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	fault, delay := c.disturbance(of)
	switch {
	case delay > 0:
		return local.ResourceAnswer{Status: "IN_PROGRESS", Delay: delay, Identifier: of.Identifier}, nil
	case fault != nil && !fault.After:
		return failedAnswer(fault, of.Identifier), nil
	}
	answer, own := c.functionAnswer(of)
	if !own {
		var err error
		if answer, err = next(ctx); err != nil {
			return answer, err
		}
	}
	if answer.Status != "SUCCESS" {
		return answer, nil
	}
	c.attributes(of.Type, answer.Model)
	if fault != nil {
		return failedAnswer(fault, answer.Identifier), nil
	}
	return answer, nil
}

func failedAnswer(f *fault, identifier string) local.ResourceAnswer {
	return local.ResourceAnswer{Status: "FAILED", ErrorCode: f.Code, Message: f.Message, Identifier: identifier}
}

// disturbance is what the step does to a call.
func (c *calls) disturbance(of local.ResourceCall) (*fault, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.step == nil {
		return nil, 0
	}
	for name, delay := range c.step.Delay {
		if c.names(name, of) && of.Action != "READ" && !c.delayed[of.Token] {
			c.delayed[of.Token] = true
			return nil, delay
		}
	}
	f := c.step.Fail
	if f == nil || !c.names(f.At, of) || !f.meets(of) || f.Times > 0 && c.failed >= f.Times {
		return nil, 0
	}
	c.failed++
	return f, 0
}

// meets reports whether a call is one that the fault is about. The rollback is left alone unless the fault is about it: a
// test that has an update fail wants to see the way back.
func (f *fault) meets(of local.ResourceCall) bool {
	switch f.Action {
	case "ROLLBACK":
		return of.Rollback && of.Action != "READ"
	case "":
		return !of.Rollback && of.Action != "READ"
	}
	return of.Action == f.Action && !of.Rollback
}

// functionAnswer is the answer of a function of a custom resource that only answers.
func (c *calls) functionAnswer(of local.ResourceCall) (local.ResourceAnswer, bool) {
	token, ok := of.Desired["ServiceToken"].(string)
	if !ok || !customresource.IsType(of.Type) {
		return local.ResourceAnswer{}, false
	}
	_, name, _ := strings.Cut(token, ":function:")
	name, _, _ = strings.Cut(name, ":")
	for _, f := range c.functions {
		if f.Answer == nil || !schema.MatchTarget(f.Name, name) {
			continue
		}
		text := func(key, otherwise string) string {
			if v := f.Answer.Get(key); v != nil {
				value, _ := scalar(v)
				return value
			}
			return otherwise
		}
		identifier := text("PhysicalResourceId", cmp.Or(of.Identifier, of.StackName+"-"+of.LogicalID))
		if text("Status", "SUCCESS") == "FAILED" {
			return local.ResourceAnswer{Status: "FAILED", Message: text("Reason", "the function "+f.Name+" answers FAILED"), Identifier: identifier}, true
		}
		if of.Action == "DELETE" {
			return local.ResourceAnswer{Status: "SUCCESS"}, true
		}
		data, _ := f.Answer.Get("Data").Any().(map[string]any)
		return local.ResourceAnswer{Status: "SUCCESS", Identifier: identifier, Model: map[string]any{"Data": schema.Clone(data)}}, true
	}
	return local.ResourceAnswer{}, false
}

// attributes sets what the file says simulated resources have.
func (c *calls) attributes(typeName string, model map[string]any) {
	for _, rule := range c.types {
		if !schema.MatchTarget(rule.Pattern, typeName) {
			continue
		}
		for _, m := range rule.Attributes {
			if model != nil {
				model[m.Key] = m.Value.Any()
			}
		}
		return
	}
}

// note keeps the answer to a call and which resources exist.
func (c *calls) note(of local.ResourceCall, recorded *call, answer local.ResourceAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	recorded.answer = answer
	c.secrets.Add(c.writeOnly(of.Type, answer.Model)...)
	identifier := answer.Identifier
	if identifier == "" {
		identifier = of.Identifier
	}
	key := of.Type + "|" + identifier
	switch {
	case identifier == "":
	case of.Action == "DELETE" && answer.Status == "SUCCESS", of.Action == "DELETE" && answer.ErrorCode == "NotFound":
		delete(c.live, key)
	case of.Action == "CREATE" && answer.ErrorCode != "AlreadyExists" && (answer.Status != "FAILED" || c.step != nil && c.step.Fail != nil && c.step.Fail.After):
		c.live[key] = made{of.StackName, of.LogicalID, of.Type, identifier}
	}
}

// move notes which stack and logical ID resources have after a refactor.
func (c *calls) move(stack string, resources map[string]types.StackResourceSummary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for logical, resource := range resources {
		for key, of := range c.live {
			if of.Type == aws.ToString(resource.ResourceType) && of.Identifier == aws.ToString(resource.PhysicalResourceId) {
				of.Stack, of.LogicalID = stack, logical
				c.live[key] = of
			}
		}
	}
}
