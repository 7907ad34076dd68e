package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// A Worker does what a wake-up of its kind asks for, for one id.
//
//	again    err   meaning
//	zero     nil   done, until it is woken again
//	set      nil   run again at that time, or earlier if woken
//	ignored  set   failed: run again after a while, 1 s at first and at most 1 min
//
// No two run at a time for the same id, unless the node of one was silent for longer
// than its lease. A worker runs at least once for a wake-up and may run twice, or stop
// half way with the process: it moves the state of record by compare-and-set. It may run
// for as long as it needs; its context ends when the store closes and the time for that
// is up, or when the node has lost its lease. A panic counts as an error.
type Worker func(ctx context.Context, id string) (again time.Time, err error)

const (
	// firstRetry and lastRetry bound the wait after a worker failed.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// lostAfter is how long a wake-up takes at most from River's queue to its worker.
	lostAfter = 5 * time.Second
	// batch is how many wake-ups River is given at once.
	batch = 500
)

// Work has workers, by kind, run what is due, until Close. It returns when they are
// ready. ctx is for the start only.
func (s *Store) Work(ctx context.Context, workers map[string]Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("work: the store is closed")
	case s.dispatch != nil:
		return errors.New("work: the workers run already")
	}
	d, err := startDispatcher(ctx, s, workers)
	if err != nil {
		return fmt.Errorf("work: %w", s.explain(err))
	}
	s.dispatch = d
	return nil
}

// ring tells the clock that something was woken.
func (s *Store) ring() {
	s.mu.Lock()
	d := s.dispatch
	s.mu.Unlock()
	if d != nil {
		d.ring()
	}
}

// A dispatcher is the running part of a store: a clock that gives River what is due, and
// what River calls back.
type dispatcher struct {
	store   *Store
	workers map[string]Worker
	carrier *carrier
	lease   *lease
	bell    chan struct{}
	busy    sync.Map // what this process is at: key → chan struct{}, closed afterwards

	ctx    context.Context // of the loops
	cancel context.CancelFunc
	loops  sync.WaitGroup

	working     context.Context // of the workers
	stopWorking context.CancelFunc
}

func startDispatcher(ctx context.Context, s *Store, workers map[string]Worker) (*dispatcher, error) {
	d := &dispatcher{store: s, workers: workers, bell: make(chan struct{}, 1)}
	background := context.WithoutCancel(ctx)
	d.ctx, d.cancel = context.WithCancel(background)
	d.working, d.stopWorking = context.WithCancel(background)
	var err error
	if d.lease, err = takeLease(ctx, s); err != nil {
		return nil, err
	}
	if d.carrier, err = startCarrier(d.working, s, d.run); err != nil {
		d.lease.end(background)
		return nil, err
	}
	d.loops.Go(d.clock)
	d.loops.Go(func() { d.lease.keep(d.ctx, d.ring) })
	return d, nil
}

// stop ends everything within StopGrace and StopTimeout.
func (d *dispatcher) stop() error {
	d.cancel()
	d.loops.Wait()
	grace, cancel := context.WithTimeout(context.Background(), d.store.config.StopGrace)
	defer cancel()
	err := d.carrier.stop(grace)
	d.stopWorking()
	if err != nil {
		last, cancel := context.WithTimeout(context.Background(), d.store.config.StopTimeout)
		defer cancel()
		err = d.carrier.stop(last)
	}
	if err != nil {
		err = fmt.Errorf("close store: workers still run after %s: %w", d.store.config.StopGrace+d.store.config.StopTimeout, err)
	}
	d.lease.end(context.Background())
	return err
}

func (d *dispatcher) ring() {
	select {
	case d.bell <- struct{}{}:
	default: // it rings already
	}
}

// clock gives River what is due, when it is due.
func (d *dispatcher) clock() {
	s := d.store
	timer, poll := time.NewTimer(0), time.NewTicker(s.config.Poll)
	defer timer.Stop()
	defer poll.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-timer.C:
		case <-d.bell:
		case <-poll.C:
			d.findLost()
		}
		wait := s.config.Poll
		rows, err := s.due(d.ctx, batch)
		if err == nil && len(rows) > 0 {
			err = d.carrier.give(d.ctx, rows)
		}
		if err == nil && len(rows) == batch {
			wait = 0
		} else if err == nil {
			wait, err = d.untilNext(wait)
		}
		if err != nil && d.ctx.Err() == nil {
			s.logger.WarnContext(d.ctx, "wake-ups cannot be looked at; trying again", "error", s.explain(err))
		}
		timer.Reset(wait)
	}
}

func (d *dispatcher) findLost() {
	found, err := d.store.requeue(d.ctx)
	switch {
	case err != nil && d.ctx.Err() == nil:
		d.store.logger.WarnContext(d.ctx, "lost wake-ups cannot be looked for; trying again", "error", d.store.explain(err))
	case found > 0:
		d.store.logger.InfoContext(d.ctx, "wake-ups were lost on their way and are sent again", "count", found)
	}
}

// untilNext is how long the clock may wait, at most limit.
func (d *dispatcher) untilNext(limit time.Duration) (time.Duration, error) {
	next, err := d.store.nextDue(d.ctx)
	if err != nil || next.IsZero() {
		return limit, err
	}
	return min(limit, max(0, next.Sub(d.store.Now().Time))), nil
}

// run is what River calls for a wake-up. It returns when the outcome is in the table.
func (d *dispatcher) run(ctx context.Context, kind, id string) {
	s := d.store
	lease := d.lease.tenure()
	ctx, leave := lease.during(ctx)
	defer leave()
	done, ok := d.alone(ctx, kind+"\x00"+id)
	if !ok {
		return
	}
	defer done()
	var attempts int64
	var claimed bool
	err := d.insist(ctx, kind, id, func() (err error) {
		attempts, claimed, err = s.claim(ctx, kind, id, lease.node)
		return err
	})
	if err != nil || !claimed {
		return
	}
	again, err := d.call(ctx, kind, id)
	switch {
	case err != nil && ctx.Err() != nil:
		again = s.config.Now() // cut short, which is not its fault
	case err != nil:
		wait := retryAfter(attempts)
		s.logger.WarnContext(ctx, "worker failed; it will run again", "kind", kind, "id", id, "attempt", attempts+1, "in", wait, "error", err)
		again = s.config.Now().Add(wait)
		attempts++
	default:
		attempts = 0
	}
	d.settle(lease, kind, id, At(again), attempts)
}

// alone waits until nobody else in this process is at a wake-up, which happens when River
// carries it twice. It says false when ctx ended before.
func (d *dispatcher) alone(ctx context.Context, key string) (done func(), ok bool) {
	mine := make(chan struct{})
	for {
		other, busy := d.busy.LoadOrStore(key, mine)
		if !busy {
			return func() {
				d.busy.Delete(key)
				close(mine)
			}, true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-other.(chan struct{}):
		}
	}
}

// settle writes the outcome of a worker. It tries for as long as the wake-up is this
// node's: nobody else would.
func (d *dispatcher) settle(lease tenure, kind, id string, again Time, attempts int64) {
	err := d.insist(lease.ctx, kind, id, func() error {
		held, err := d.store.unclaim(lease.ctx, kind, id, lease.node, again, attempts)
		if err == nil && !held {
			err = errLeaseLost
		}
		return err
	})
	if err != nil {
		d.store.logger.Warn("outcome of a worker is lost; it will run again", "kind", kind, "id", id, "error", err)
	}
	d.ring()
}

// insist does f again, while the database cannot be reached, until ctx ends.
func (d *dispatcher) insist(ctx context.Context, kind, id string, f func() error) error {
	for attempt := 0; ; attempt++ {
		err := f()
		if err == nil || errors.Is(err, errLeaseLost) {
			return err
		}
		if ctx.Err() == nil {
			d.store.logger.WarnContext(ctx, "wake-up cannot be kept account of; trying again", "kind", kind, "id", id, "error", d.store.explain(err))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)):
		}
	}
}

// retryAfter is the wait after a failure that came after so many others.
func retryAfter(failures int64) time.Duration {
	if failures > 10 {
		return lastRetry
	}
	return min(firstRetry<<failures, lastRetry)
}

func (d *dispatcher) call(ctx context.Context, kind, id string) (again time.Time, err error) {
	worker, ok := d.workers[kind]
	if !ok {
		return again, fmt.Errorf("no worker for %q; there are %q", kind, slices.Sorted(maps.Keys(d.workers)))
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return worker(ctx, id)
}
