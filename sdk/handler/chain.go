package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/sdk/internal/pause"
)

// A Chain runs the steps of one operation over as many calls as it takes. A
// step that is done is remembered in the callback context with its result and
// is not run again; a step that has to wait ends this call with IN_PROGRESS,
// and the next call returns to the same step. E is the event: Event[Model]
// for resources, [HookEvent] for hooks.
//
//	chain := req.Chain(ctx, &model)
//	handler.Call(chain, "create-stream", createStream)  // once
//	chain.Stabilize("stream-active", streamIsActive)    // until true
//	chain.Do("add-tags", addTags)                       // once
//	return chain.Done(func(ctx context.Context) Event { return req.Success(model) })
//
// As long as the model of a CREATE lacks the primary identifier of the schema,
// an IN_PROGRESS event would break the contract: the chain then waits inside the
// call, as far as its deadline allows. A first step that is still refused at the
// end, by throttling for example, fails the operation with the code of the error.
//
// After a step that waits or fails, all further steps do nothing and Done
// returns the event, so the steps can be written one after the other. What
// is between them runs on every call: keep calls of services inside steps,
// and use the result of [Call] only when its second value is true.
//
// Every step has a name of its own, chosen by the author. It is the key of the
// memory: renaming a step in a new version of the handler makes operations
// that are in progress run it again.
type Chain[E any] struct {
	*chainState[E]
	policy Policy
}

// A Policy says how the steps of a chain wait and what they do about errors.
// The zero Policy is the default of each field.
type Policy struct {
	// Backoff is the wait between two tries. Nil means [DefaultDelay]. When it
	// gives up, the operation fails with NotStabilized.
	Backoff Delay

	// Retry picks errors to try again after a wait, besides those that always
	// are: throttling, and the HTTP statuses 429, 503 and 504. Nil picks none.
	Retry func(error) bool

	// HandleError sees each error that is not retried. It returns nil to take
	// the step as done (without a result), or the error to fail with, by the
	// rules of [FromError]. Nil returns the error as it is.
	HandleError func(error) error

	// WaitLocally spends waits of up to this length inside the call instead of
	// ending it, as long as the deadline leaves as much again and a second on
	// top. Zero means never.
	WaitLocally time.Duration
}

type chainEvents[E any] struct {
	wait    func(delay time.Duration) E
	fail    func(err error, begun bool) E
	unnamed func() bool // reports whether an event in progress would lack the primary identifier
	subject string      // "Resource of type 'T'"
}

type chainState[E any] struct {
	chainEvents[E]
	ctx     context.Context // of this call only; chains do not outlive it
	started time.Time
	memory  *Memory
	seen    map[string]bool
	stopped bool
	event   E
}

func newChain[E any](ctx context.Context, memory *Memory, events chainEvents[E]) *Chain[E] {
	if memory == nil {
		memory = NewMemory()
	}
	return &Chain[E]{chainState: &chainState[E]{chainEvents: events, ctx: ctx, started: time.Now(), memory: memory, seen: map[string]bool{}}}
}

// With is the same chain with another policy, for the steps called on it.
func (c *Chain[E]) With(policy Policy) *Chain[E] {
	return &Chain[E]{chainState: c.chainState, policy: policy}
}

// Call runs a step with a result. The step runs until it succeeds once; later
// calls of the operation get the stored result, as JSON gives it back. The
// second value is false when the chain stops or has stopped here.
//
// The result is stored in the callback context, which leaves the process as
// plain JSON and which the caller may keep and log. It must not be a secret:
// return what names it, and fetch it in the step that needs it.
func Call[Out, E any](c *Chain[E], name string, call func(ctx context.Context) (Out, error)) (Out, bool) {
	var out Out
	known, ok := c.enter(name)
	if !ok {
		return out, false
	}
	if known.Done {
		if len(known.Result) > 0 {
			if err := json.Unmarshal(known.Result, &out); err != nil {
				c.failStep(fmt.Errorf("step %q: read the stored result: %w", name, err))
				return out, false
			}
		}
		return out, true
	}
	finished := c.try(name, func(ctx context.Context) (bool, error) {
		result, err := call(ctx)
		if err == nil {
			out = result
		}
		return true, err
	}, func() (json.RawMessage, error) { return json.Marshal(out) })
	if !finished {
		var none Out
		return none, false
	}
	return out, true
}

// Do runs a step without a result, until it succeeds once. It returns false
// when the chain stops or has stopped here.
func (c *Chain[E]) Do(name string, do func(ctx context.Context) error) bool {
	return c.Stabilize(name, func(ctx context.Context) (bool, error) { return true, do(ctx) })
}

// Stabilize asks again and again, with the waits of the policy in between,
// until ready gives true once. It returns false when the chain stops or has
// stopped here.
//
// Each time that ready gives false, or an error that is tried again, counts as
// one attempt, whether the wait after it ends the call or not. The chain counts
// by itself: what ready does with the [Memory] of the request has no part in
// it, and is found by the next try.
func (c *Chain[E]) Stabilize(name string, ready func(ctx context.Context) (bool, error)) bool {
	known, ok := c.enter(name)
	if !ok {
		return false
	}
	return known.Done || c.try(name, ready, func() (json.RawMessage, error) { return nil, nil })
}

// Done ends the operation: with the event of the step that waits or failed,
// and else with what end returns.
func (c *Chain[E]) Done(end func(ctx context.Context) E) E {
	if c.stopped {
		return c.event
	}
	return end(c.ctx)
}

// Fail stops the chain with an error found between two steps.
func (c *Chain[E]) Fail(err error) {
	if !c.stopped {
		c.failStep(err)
	}
}

// enter looks a step up; ok is false if it must not run.
func (c *Chain[E]) enter(name string) (known step, ok bool) {
	if c.stopped {
		return step{}, false
	}
	if name == "" || c.seen[name] {
		c.failStep(fmt.Errorf("the handler has two steps named %q: each needs a name of its own", name))
		return step{}, false
	}
	c.seen[name] = true
	return c.memory.steps[name], true
}

// try runs a step until it is done, the chain has to wait, or it fails.
func (c *Chain[E]) try(name string, run func(context.Context) (bool, error), result func() (json.RawMessage, error)) bool {
	for {
		done, err := run(c.ctx)
		if err != nil && !c.policy.retries(err) {
			if c.policy.HandleError != nil {
				err = c.policy.HandleError(err)
			}
			if err != nil {
				c.failStep(err)
				return false
			}
			c.memory.steps[name] = step{Done: true}
			return true
		}
		if err == nil && done {
			text, err := result()
			if err != nil {
				c.failStep(fmt.Errorf("step %q: store the result: %w", name, err))
				return false
			}
			c.memory.steps[name] = step{Done: true, Result: text}
			return true
		}
		if !c.pause(name, err) {
			return false
		}
	}
}

// retries reports whether an error is worth another try.
func (p Policy) retries(err error) bool {
	if p.Retry != nil && p.Retry(err) {
		return true
	}
	if FromError(err).Code == CodeThrottling {
		return true
	}
	var status statusError
	if errors.As(err, &status) {
		switch status.HTTPStatusCode() {
		case 429, 503, 504:
			return true
		}
	}
	return false
}

// pause counts a try and waits: locally and then gives true, or by ending the
// call and then gives false.
func (c *Chain[E]) pause(name string, cause error) bool {
	attempt := c.memory.steps[name].Attempts + 1
	backoff := c.policy.Backoff
	if backoff == nil {
		backoff = DefaultDelay
	}
	delay := backoff(attempt)
	if delay <= 0 {
		failure := Errorf(CodeNotStabilized, "%s did not stabilize. Step %q was not finished after %d attempts.", c.subject, name, attempt)
		if cause != nil {
			failure.Message += " Last error: " + FromError(cause).Error()
			failure.Err = cause
		}
		c.failStep(failure)
		return false
	}
	c.memory.steps[name] = step{Attempts: attempt}
	unnamed := c.unnamed != nil && c.unnamed()
	if c.waitsHere(delay, unnamed) && pause.For(c.ctx, delay) == nil {
		return true
	}
	if unnamed && cause != nil && !c.begun() {
		c.failStep(cause)
		return false
	}
	c.stopped, c.event = true, c.wait(delay)
	return false
}

func (c *Chain[E]) waitsHere(delay time.Duration, unnamed bool) bool {
	if _, bounded := c.ctx.Deadline(); unnamed && !bounded {
		return time.Since(c.started)+delay < maxUnnamed
	}
	if unnamed {
		return fits(c.ctx, delay)
	}
	return delay <= c.policy.WaitLocally && fits(c.ctx, 2*delay)
}

// maxUnnamed bounds the waits of a call that has no deadline and whose model
// lacks the identifier: it is what the handler contract grants a call.
const maxUnnamed = time.Minute

// fits reports whether the deadline of a call leaves a time, and a second on top.
func fits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > wait+time.Second
}

// begun reports whether a step is done, so that something may exist.
func (c *Chain[E]) begun() bool {
	for _, known := range c.memory.steps {
		if known.Done {
			return true
		}
	}
	return false
}

// failStep stops the chain. Once a step is done something may exist, and the
// event carries the model so that the caller can clean it up.
func (c *Chain[E]) failStep(err error) {
	c.stopped, c.event = true, c.fail(err, c.begun())
}
