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

// A Worker handles wake-ups of its kind.
type Worker struct {
	// Run handles the wake-up for one id.
	//
	//	again    err   meaning
	//	zero     nil   done, until it is woken again
	//	set      nil   run again at that time, or earlier if woken
	//	ignored  set   failed: run again after a while, 1 s at first and at most 1 min,
	//	               or given up if that is pointless
	Run Run

	// Fail ends the work of an id that is given up: Run has met a permanent error, or has failed
	// too often. It writes the reason where the owner of the work looks, so that the work can be
	// deleted and begun anew. It does no more than it must: what made Run fail may make it fail,
	// too, and then both are repeated. Nil is for work that nobody waits for, which is never
	// given up.
	Fail func(ctx context.Context, id, reason string) error
}

// A Run is the function of a [Worker].
//
// No two run at a time for the same id, unless the node of one was silent for longer
// than its lease. A worker runs at least once for a wake-up and may run twice, or stop
// half way with the process: it moves the state of record by compare-and-set. It may run
// for as long as it needs; its context ends when the store closes and the time for that
// is up, or when the node has lost its lease. A panic counts as an error.
type Run func(ctx context.Context, id string) (again time.Time, err error)

const (
	// firstRetry and lastRetry bound the wait after a worker failed.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// transientRetry is the wait after a transient error, which does not count as a failure.
	transientRetry = 5 * time.Second
	// sharedPoll is how often a node of a shared database looks for wake-ups that others
	// made and have no worker free for.
	sharedPoll = 250 * time.Millisecond
)

// Work makes workers, by kind, run due wake-ups until Close. It returns when they are ready.
// ctx is for the start only.
func (s *Store) Work(ctx context.Context, workers map[string]Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("work: the store is closed")
	case s.dispatch != nil:
		return errors.New("work: the workers are already running")
	}
	d, err := startDispatcher(ctx, s, workers)
	if err != nil {
		return fmt.Errorf("work: %w", s.explain(err))
	}
	s.dispatch = d
	return nil
}

// ring notifies the clock of a new wake-up.
func (s *Store) ring() {
	s.mu.Lock()
	d := s.dispatch
	s.mu.Unlock()
	if d != nil {
		d.ring()
	}
}

// A dispatcher is the running part of a store. One goroutine, the clock, claims due wake-ups
// for as many workers as are free; each runs in a separate goroutine; another one, the
// settler, writes the outcomes of all that ended meanwhile at once.
type dispatcher struct {
	store    *Store
	workers  map[string]Worker
	lease    *lease
	bell     chan struct{}
	outcomes chan outcome

	mu     sync.Mutex
	active map[string]chan struct{} // what this process runs or has not written the outcome of: closed afterwards
	free   int                      // workers

	ctx    context.Context // of the clock
	cancel context.CancelFunc
	loops  sync.WaitGroup

	working     context.Context // of the workers
	stopWorking context.CancelFunc
	runs        sync.WaitGroup

	settling context.Context // ends after the workers
	settled  chan struct{}
	finish   context.CancelFunc
}

func startDispatcher(ctx context.Context, s *Store, workers map[string]Worker) (*dispatcher, error) {
	d := &dispatcher{
		store: s, workers: workers, bell: make(chan struct{}, 1), outcomes: make(chan outcome, s.config.Concurrency),
		active: map[string]chan struct{}{}, free: s.config.Concurrency, settled: make(chan struct{}),
	}
	background := context.WithoutCancel(ctx)
	d.ctx, d.cancel = context.WithCancel(background)
	d.working, d.stopWorking = context.WithCancel(background)
	d.settling, d.finish = context.WithCancel(background)
	var err error
	if d.lease, err = takeLease(ctx, s); err != nil {
		return nil, err
	}
	d.loops.Go(d.clock)
	d.loops.Go(func() { d.lease.keep(d.ctx, d.ring) })
	go func() {
		defer close(d.settled)
		d.settle()
	}()
	return d, nil
}

// stop ends everything within StopGrace and StopTimeout.
func (d *dispatcher) stop() error {
	d.cancel()
	d.loops.Wait()
	ended := make(chan struct{})
	go func() {
		d.runs.Wait()
		close(ended)
	}()
	err := within(ended, d.store.config.StopGrace)
	d.stopWorking()
	if err != nil {
		err = within(ended, d.store.config.StopTimeout)
	}
	if err != nil {
		err = fmt.Errorf("close store: workers are still running after %s: %w", d.store.config.StopGrace+d.store.config.StopTimeout, err)
	}
	d.finish()
	<-d.settled
	d.lease.end(context.Background())
	return err
}

func within(done <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return context.DeadlineExceeded
	}
}

func (d *dispatcher) ring() {
	select {
	case d.bell <- struct{}{}:
	default: // it rings already
	}
}

// clock claims wake-ups when they are due and a worker is free.
func (d *dispatcher) clock() {
	interval := d.store.config.Poll
	if d.store.isPostgres() {
		interval = min(interval, sharedPoll)
	}
	timer, poll := time.NewTimer(0), time.NewTicker(d.store.config.Poll)
	defer timer.Stop()
	defer poll.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-timer.C:
		case <-d.bell:
		case <-poll.C:
			d.warn(d.findLost(), "cannot find lost wake-ups; retrying")
			d.warn(d.pullBack(), "cannot read the times of wake-ups; retrying")
		}
		wait, err := d.dispatch(interval)
		d.warn(err, "cannot read wake-ups; retrying")
		timer.Reset(wait)
	}
}

func (d *dispatcher) warn(err error, message string) {
	if err != nil && d.ctx.Err() == nil {
		d.store.logger.WarnContext(d.ctx, message, "error", d.store.explain(err))
	}
}

// dispatch runs due wake-ups, and returns the time until the next one, at most limit.
func (d *dispatcher) dispatch(limit time.Duration) (time.Duration, error) {
	d.mu.Lock()
	free := d.free
	d.mu.Unlock()
	if free == 0 {
		return limit, nil // the next worker that ends rings
	}
	held := d.lease.tenure()
	if held.ctx.Err() != nil {
		return limit, nil // the lease rings when it has restarted
	}
	rows, err := d.store.claim(d.ctx, held.node, free)
	if err != nil {
		return limit, err
	}
	for _, row := range rows {
		d.begin(held, row)
	}
	if len(rows) == free {
		return limit, nil
	}
	next, err := d.store.nextDue(d.ctx)
	if err != nil || next.IsZero() {
		return limit, err
	}
	return min(limit, max(0, next.Sub(d.store.Now().Time))), nil
}

// findLost releases what this node has claimed without knowing: the answer was lost with
// a connection.
func (d *dispatcher) findLost() error {
	node := d.lease.tenure().node
	rows, err := d.store.claimed(d.ctx, node)
	if err != nil {
		return err
	}
	for _, row := range rows {
		d.mu.Lock()
		known := d.active[row.key()] != nil
		d.mu.Unlock()
		if !known {
			// Its outcome may have been written since the query: then this changes nothing.
			err = errors.Join(err, d.store.giveBack(d.ctx, node, row))
		}
	}
	return err
}

// pullBack makes wake-ups due whose time is far away because the clock has gone back.
func (d *dispatcher) pullBack() error {
	pulled, err := d.store.pullBack(d.ctx)
	if pulled > 0 {
		d.store.logger.WarnContext(d.ctx, "the clock has gone back; what was set before it is looked at now", "wake-ups", pulled)
	}
	return err
}

// begin runs the worker of a claimed wake-up. If the worker still runs from a lost lease,
// begin waits for it.
func (d *dispatcher) begin(held tenure, row wakeup) {
	done := make(chan struct{})
	d.mu.Lock()
	before := d.active[row.key()]
	d.active[row.key()] = done
	d.free--
	d.mu.Unlock()
	d.runs.Go(func() {
		ctx, leave := held.during(d.working)
		defer leave()
		if before != nil {
			<-before // even if this lease is lost meanwhile: the run after this one waits for it
		}
		out := outcome{wakeup: row, node: held.node, done: done}
		if ctx.Err() != nil {
			out.again = d.store.Now()
		} else {
			out.again, out.Attempts = d.run(ctx, row)
		}
		d.outcomes <- out
	})
}

// run calls the worker, and returns when it is to run again and how often it has failed.
func (d *dispatcher) run(ctx context.Context, row wakeup) (again Time, attempts int64) {
	s := d.store
	when, err := d.call(ctx, row.Kind, row.ID)
	switch {
	case err == nil:
		return At(when), 0
	case ctx.Err() != nil: // cut short, which is not its fault
		return s.Now(), row.Attempts
	}
	span, _ := spanOf(err)
	wait, attempts := retryAfter(row.Attempts), row.Attempts+1
	switch {
	case span == transient:
		wait, attempts = transientRetry, row.Attempts
	case d.workers[row.Kind].Fail == nil:
	case span == permanent, attempts >= maxFailures:
		failure := d.giveUp(ctx, row, err)
		if failure == nil {
			return Time{}, 0
		}
		err = errors.Join(err, failure)
	}
	s.logger.WarnContext(ctx, "worker failed; it will run again", "kind", row.Kind, "id", row.ID, "attempt", attempts, "in", wait, "error", err)
	return At(s.config.Now().Add(wait)), attempts
}

// giveUp has a worker end what can never succeed.
func (d *dispatcher) giveUp(ctx context.Context, row wakeup, cause error) (err error) {
	defer recovered(&err)
	if err = d.workers[row.Kind].Fail(ctx, row.ID, Reason(cause)); err != nil {
		return fmt.Errorf("give up: %w", err)
	}
	d.store.logger.ErrorContext(ctx, "work is given up", "kind", row.Kind, "id", row.ID, "attempts", row.Attempts+1, "error", cause)
	return nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
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
		return again, fmt.Errorf("no worker for %q; known workers: %q", kind, slices.Sorted(maps.Keys(d.workers)))
	}
	defer recovered(&err)
	return worker.Run(ctx, id)
}
