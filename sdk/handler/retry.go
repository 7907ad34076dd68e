package handler

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/sdk/internal/pause"
)

// RetryDelay is used by [Retry] where the policy sets no other: 250 ms, twice as
// long each time, at most 4 s, together no longer than 20 s.
func RetryDelay(attempt int) time.Duration {
	return CappedExponential(250*time.Millisecond, 4*time.Second, 20*time.Second)(attempt)
}

// Retry calls a service until it succeeds, for READ and LIST, which must end in
// one call and therefore have no [Chain]:
//
//	desk, err := handler.Retry(ctx, handler.Policy{}, func(ctx context.Context) (Desk, error) {
//		return desks.Find(ctx, arn)
//	})
//
// It tries again after the errors that a chain tries again after, and waits
// inside the call. When Backoff gives up, or the deadline of ctx does not leave
// the wait and a second on top, it returns the last error. Policy.HandleError
// sees the error that Retry would return; WaitLocally has no effect.
func Retry[Out any](ctx context.Context, policy Policy, call func(ctx context.Context) (Out, error)) (Out, error) {
	backoff := policy.Backoff
	if backoff == nil {
		backoff = RetryDelay
	}
	for attempt := 1; ; attempt++ {
		out, err := call(ctx)
		if err == nil {
			return out, nil
		}
		if policy.retries(err) {
			if delay := backoff(attempt); delay > 0 && fits(ctx, delay) && pause.For(ctx, delay) == nil {
				continue
			}
		}
		if policy.HandleError != nil {
			err = policy.HandleError(err)
		}
		return out, err
	}
}
