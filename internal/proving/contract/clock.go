package contract

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A clock is the time of one operation as the handler sees it: with its callback delays
// in full, although the suite may wait for a part of them only.
type clock struct {
	run    *run
	action invoke.Action
	limit  time.Duration // of the operation; 0 means none
	start  time.Time
	saved  time.Duration // that was not waited
}

func (r *run) newClock(action invoke.Action) *clock {
	c := &clock{run: r, action: action, start: r.cfg.Now()}
	if h := r.cfg.Schema.Handler(action.Handler()); h != nil {
		c.limit = time.Duration(h.TimeoutInMinutes) * time.Minute
	}
	return c
}

// sleep waits for the part of a delay that Config.TimeScale leaves.
func (c *clock) sleep(ctx context.Context, delay time.Duration) error {
	wait := c.run.scaled(delay)
	c.saved += delay - wait
	if c.run.cfg.Sleep != nil {
		return c.run.cfg.Sleep(ctx, wait)
	}
	return invoke.Sleep(ctx, wait)
}

// scaled is the part of a delay that Config.TimeScale asks to wait.
func (s *suite) scaled(delay time.Duration) time.Duration {
	if s.cfg.TimeScale == 1 {
		return delay
	}
	return time.Duration(float64(delay) / s.cfg.TimeScale)
}

// late is an error once the operation has taken longer than its handler may, by the clock
// of the suite and counting the time that was not waited. The runner counts real time.
func (c *clock) late(call *invoke.Call) error {
	if c.limit == 0 || call.Event.Terminal() || c.run.cfg.Now().Sub(c.start)+c.saved+call.Delay <= c.limit {
		return nil
	}
	return &invoke.TimeoutError{Action: c.action, Call: call.Index + 1, Operation: true, Limit: c.limit, Delay: call.Delay}
}
