// Package pause waits inside of a call. Tests of handlers count such waits, as they count those
// between calls.
package pause

import (
	"context"
	"time"
)

type key struct{}

// With is a context in which For calls wait, and does not wait itself.
func With(ctx context.Context, wait func(time.Duration)) context.Context {
	return context.WithValue(ctx, key{}, wait)
}

// For waits. The error is that of a context that ends before.
func For(ctx context.Context, delay time.Duration) error {
	if wait, ok := ctx.Value(key{}).(func(time.Duration)); ok {
		wait(delay)
		return ctx.Err()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
