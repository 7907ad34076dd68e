package operation

import (
	"context"
	"time"
)

// Hold waits until something has ended, for at most a time. Clients look at once at what they
// have begun, and then only after seconds. What cannot be found out is not waited for.
func Hold(ctx context.Context, most time.Duration, ended func(ctx context.Context) (bool, error)) {
	if most <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(min(most, 5*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if done, err := ended(ctx); done || err != nil {
				return
			}
		}
	}
}
