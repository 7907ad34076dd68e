package customresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// workKind is the kind of the wake-ups of requests; their id is the token of the operation.
const workKind = "custom-resource"

const (
	// maxFailures is how often a function may fail: Lambda repeats an asynchronous
	// invocation twice.
	maxFailures = 3
	// longestRun is the longest that a function may run: that of Lambda.
	longestRun = 15 * time.Minute
	// slotRetry is how long a request that waits for a slot is not looked at again, if
	// nothing wakes it.
	slotRetry = 10 * time.Second
)

// subject is that of the messages to topics.
const subject = "AWS CloudFormation custom resource request"

// Workers returns what the store is to run, by kind.
func (p *Provider) Workers() map[string]store.Worker {
	return map[string]store.Worker{workKind: {Run: p.send, Fail: p.giveUp}}
}

// send is a store.Run: it makes the invocation of a request. If the process is killed, the
// next one makes it again, unless the response has come.
func (p *Provider) send(ctx context.Context, token string) (time.Time, error) {
	found, err := store.Find[row](ctx, p.config.Store.Read(), "token = ?", token)
	if err != nil || found == nil || found.Status != waiting || found.Invocation == over {
		p.wakeNext(ctx, p.slots.forget(token))
		return time.Time{}, err
	}
	if now := p.config.Now(); found.NextAt.After(now) {
		return found.NextAt.Time, nil
	}
	if !p.slots.enter(token) {
		return p.config.Now().Add(slotRetry), nil
	}
	defer func() { p.wakeNext(ctx, p.slots.leave(token)) }()
	return p.invoke(ctx, token)
}

// invoke makes one invocation, and notes how it ended.
func (p *Provider) invoke(ctx context.Context, token string) (time.Time, error) {
	found, o, err := p.start(ctx, token)
	if err != nil || found == nil {
		return time.Time{}, err
	}
	err = p.deliver(ctx, found.place(), o)
	if ctx.Err() != nil || errors.Is(err, lambda.ErrClosed) {
		return time.Time{}, fmt.Errorf("invoke the function of %s: %w", o.Request.LogicalResourceID, cmp.Or(context.Cause(ctx), err))
	}
	return p.finish(ctx, token, o, err)
}

// giveUp fails a request that can never be sent.
func (p *Provider) giveUp(ctx context.Context, token, reason string) error {
	return p.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := store.Find[row](ctx, tx, "token = ?", token)
		if err != nil || found == nil || found.Status != waiting {
			return err
		}
		found.Status, found.Invocation, found.Response = gaveUp, over, reason
		if err := store.Swap(ctx, tx, found, &found.RowVersion, "status", "invocation", "response"); err != nil {
			return err
		}
		return p.config.Resume(ctx, tx, token)
	})
}

// start notes that an invocation begins. It returns nil if none is to be made any more.
func (p *Provider) start(ctx context.Context, token string) (started *row, o *order, err error) {
	err = p.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		started, o = nil, nil
		found, err := store.Find[row](ctx, tx, "token = ?", token)
		if err != nil || found == nil || found.Status != waiting || found.Invocation == over {
			return err
		}
		needed, err := p.config.InProgress(ctx, tx, token)
		if err != nil {
			return err
		}
		made, err := found.order()
		if err != nil {
			return err
		}
		if !needed || found.Invocation == running && !made.Local {
			// The operation is over, or an endpoint got the request from a process that was
			// killed: it may be working on it.
			found.Invocation = over
			return store.Swap(ctx, tx, found, &found.RowVersion, "invocation")
		}
		if found.Failures == 0 { // the time begins with the invocation, also after an interruption
			found.DeadlineAt = store.At(p.config.Now().Add(made.Timeout))
		}
		found.Invocation = running
		if err := store.Swap(ctx, tx, found, &found.RowVersion, "invocation", "deadline_at"); err != nil {
			return err
		}
		started, o = found, made
		return nil
	})
	return started, o, err
}

// deliver invokes the function of a request, or those that subscribe to its topic.
func (p *Provider) deliver(ctx context.Context, place awswire.Place, o *order) error {
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	o.Request.ResponseURL = p.responseURL(o)
	payload, err := o.Request.Encode()
	if err != nil {
		return err
	}
	caller := awswire.Caller{Place: place, AccessKeyID: o.AccessKey}
	secrets := append([]string{o.Signature}, o.Secrets...)
	events := map[string][]byte{o.Request.ServiceToken: payload}
	if isTopic(o.Request.ServiceToken) {
		if events, err = p.config.Topics.Deliveries(ctx, caller, o.Request.ServiceToken, subject, string(payload)); err != nil {
			return err
		}
	}
	failures := make([]error, 0, len(events))
	var all sync.WaitGroup
	var mu sync.Mutex
	for arn, event := range events {
		all.Go(func() {
			if _, err := p.config.Functions.Call(ctx, caller, arn, event, secrets); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// isTopic reports whether the ARN of a service token is that of a topic.
func isTopic(arn string) bool {
	parts := strings.SplitN(arn, ":", 4)
	return len(parts) == 4 && parts[2] == "sns"
}

// finish notes how an invocation ended, and returns when the next one is due.
func (p *Provider) finish(ctx context.Context, token string, o *order, failure error) (again time.Time, err error) {
	logger := p.config.Logger.With("stack", o.Request.StackID, "resource", o.Request.LogicalResourceID, "request", o.Request.RequestID, "function", o.Request.ServiceToken)
	var left string
	err = p.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		again, left = time.Time{}, ""
		found, err := store.Find[row](ctx, tx, "token = ?", token)
		if err != nil || found == nil || found.Invocation != running {
			return err
		}
		found.Invocation = over
		if failure != nil && found.Status == waiting {
			if left, err = p.fail(found, o, failure); err != nil {
				return err
			}
			if found.Invocation == queued {
				again = found.NextAt.Time
			}
		}
		if failure == nil && found.Status == waiting {
			left = "the function has returned, and the response of the custom resource has not come yet"
		}
		if err := store.Swap(ctx, tx, found, &found.RowVersion, "invocation", "failures", "next_at", "status", "response"); err != nil {
			return err
		}
		if found.Status == gaveUp {
			return p.config.Resume(ctx, tx, token)
		}
		return nil
	})
	switch {
	case err != nil || left == "":
	case failure != nil:
		logger.WarnContext(ctx, left, "error", kindOfFailure(failure))
	default:
		logger.WarnContext(ctx, left)
	}
	return again, err
}

// fail notes the failure of an invocation: it is made again, or nothing is left that could
// answer.
func (p *Provider) fail(found *row, o *order, failure error) (note string, err error) {
	var refused *lambda.RefusedError
	var throttled *lambda.ThrottledError
	switch {
	case errors.As(failure, &refused):
		found.Status, found.Response = gaveUp, p.notFound(failure).Error()
		return "the function of a custom resource cannot be invoked", nil
	case errors.As(failure, &throttled):
	default:
		found.Failures++
	}
	if found.Failures >= maxFailures {
		found.Status, found.Response = gaveUp, NoResponseReason(o.Request.RequestID)
		return "the function of a custom resource failed and has not responded", nil
	}
	wait := p.config.RetryAfter << max(0, found.Failures-1)
	found.Invocation, found.NextAt = queued, store.At(p.config.Now().Add(wait))
	return "the function of a custom resource failed and is invoked again", nil
}

// kindOfFailure is a failure for the log of the server, without what the function printed.
func kindOfFailure(err error) string {
	var failed *lambda.FunctionError
	var crash *lambda.CrashError
	var late *lambda.TimeoutError
	switch {
	case errors.As(err, &failed):
		return "the function reported an error of type " + failed.Type
	case errors.As(err, &crash):
		return "the process of the function ended: " + crash.Status
	case errors.As(err, &late):
		return "the function timed out"
	}
	return err.Error()
}

// wakeNext has a request sent that waited for a slot. A failure costs time and no more.
func (p *Provider) wakeNext(ctx context.Context, token string) {
	if token == "" {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := p.config.Store.Write(within, func(ctx context.Context, tx *store.Tx) error {
		return tx.Wake(ctx, workKind, token, time.Time{})
	})
	if err != nil {
		p.config.Logger.WarnContext(ctx, "a request of a custom resource waits longer than it has to", "error", err)
	}
}

// slots bound the invocations at once: those that get none wait in the order in which they came.
type slots struct {
	mu      sync.Mutex
	free    int
	active  map[string]bool
	waiting []string
}

// enter takes a slot. Without one, the request waits.
func (s *slots) enter(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 {
		s.free--
		if s.active == nil {
			s.active = map[string]bool{}
		}
		s.active[token] = true
		s.remove(token)
		return true
	}
	if !slices.Contains(s.waiting, token) {
		s.waiting = append(s.waiting, token)
	}
	return false
}

func (s *slots) remove(token string) {
	s.waiting = slices.DeleteFunc(s.waiting, func(other string) bool { return other == token })
}

// leave frees a slot, and returns the request that is next, "" for none.
func (s *slots) leave(token string) (next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	delete(s.active, token)
	return s.next()
}

func (s *slots) next() string {
	if s.free == 0 || len(s.waiting) == 0 {
		return ""
	}
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	return next
}

// forget removes a request that needs no slot any more, and returns the one that is next.
func (s *slots) forget(token string) (next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.waiting, token) {
		return ""
	}
	s.remove(token)
	return s.next()
}

// has reports whether the invocation of a request is being made by this process.
func (s *slots) has(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[token]
}
