package contract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A suite is one Run. What several sets of inputs may use at the same time is guarded.
type suite struct {
	cfg      Config
	summary  *Summary // of the sets that are over
	start    time.Time
	redactor *invoke.Redactor
	drift    *drift.Detector
	order    ordered
	failures atomic.Int64
	answered atomic.Bool // some call, with a progress event
	silent   atomic.Bool // a case has failed, and no call was ever answered

	shrinking shrinkBudget
	running   context.Context // of the run
	cleaning  context.Context // of all that is cleaned up, see afterwards

	// alone is held by a case that looks at all resources that exist, and shared by all
	// other cases.
	alone sync.RWMutex

	mu       sync.Mutex
	setRuns  []*setRun
	returned map[string]bool // top-level properties that models of SUCCESS have had
}

// A setRun is the run of one set of inputs.
type setRun struct {
	*suite
	number  int // from 0
	inputs  *InputSet
	live    ledger
	sharing *run // of the cases of the current file
	results []*Result
	left    leftovers

	undeleted bool // what was created could not be deleted
	stuck     bool // because DELETE gave no answer

	quiet  bool   // of trials, which are not reported
	replay []Draw // inputs to use instead of new ones

	lastUpdated map[string]any // identifiers of the resource that was last updated with the set's inputs

	living int // how many resources Living was last called with

	before map[string]bool // identifiers that LIST returned before the set; nil if not asked
	told   map[string]bool // observations that were reported
}

// ordered passes events on in the order of the sets: those of a later set wait until the
// earlier sets have ended.
type ordered struct {
	to      Reporter
	mu      sync.Mutex
	current int
	waiting map[int][]Event
	over    map[int]bool
}

func (o *ordered) report(set int, e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.to == nil:
	case set <= o.current:
		o.to.Report(e)
	default:
		if o.waiting == nil {
			o.waiting = map[int][]Event{}
		}
		o.waiting[set] = append(o.waiting[set], e)
	}
}

// end marks a set as complete and reports the events that waited for it.
func (o *ordered) end(set int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over == nil {
		o.over = map[int]bool{}
	}
	o.over[set] = true
	for o.over[o.current] {
		o.current++
		for _, e := range o.waiting[o.current] {
			if o.to != nil {
				o.to.Report(e)
			}
		}
		delete(o.waiting, o.current)
	}
}

// runSets runs all cases with every set, so many sets at a time as Parallel says.
func (s *suite) runSets(ctx context.Context, sets []InputSet, cases []Case) {
	var cleaned context.CancelFunc
	s.running = ctx
	s.cleaning, cleaned = s.afterwards(ctx)
	defer cleaned()
	for i := range sets {
		s.setRuns = append(s.setRuns, &setRun{suite: s, number: i, inputs: &sets[i], told: map[string]bool{}, replay: s.cfg.replay()})
	}
	free := make(chan struct{}, max(1, s.cfg.Parallel))
	var all sync.WaitGroup
	for _, l := range s.setRuns {
		free <- struct{}{}
		if s.stop(ctx) {
			<-free
			break
		}
		all.Go(func() {
			defer func() { <-free }()
			l.runSet(ctx, cases)
			s.order.end(l.number)
		})
	}
	all.Wait()
	s.summary.Silent = s.silent.Load()
	for _, l := range s.setRuns {
		for _, r := range l.results {
			s.summary.Add(r)
		}
		s.summary.LeftBehind = append(s.summary.LeftBehind, l.left.lines()...)
	}
}

// stop reports whether no further case is to be run.
func (s *suite) stop(ctx context.Context) bool {
	limit := s.cfg.Selection.MaxFailures
	return ctx.Err() != nil || s.silent.Load() || limit > 0 && s.failures.Load() >= int64(limit)
}

func (l *setRun) report(e Event) {
	if !l.quiet {
		l.order.report(l.number, e)
	}
}

// wire is how scalars travel in this set.
func (l *setRun) wire() invoke.Wire {
	if l.inputs.Wire != "" {
		return l.inputs.Wire
	}
	return l.cfg.Wire
}

// runSet runs the cases with one set of inputs. Cases of one file share a fixture, which
// is made when the first of them needs it and torn down after the last.
func (l *setRun) runSet(ctx context.Context, cases []Case) {
	first := slices.IndexFunc(cases, func(c Case) bool { return c.last })
	if first < 0 {
		first = len(cases)
	}
	if first < len(cases) {
		l.lookAround(ctx)
	}
	l.runFiles(ctx, cases[:first])
	l.sweep()
	l.runFiles(ctx, cases[first:])
	l.sweep()
}

func (l *setRun) runFiles(ctx context.Context, cases []Case) {
	for len(cases) > 0 && !l.stop(ctx) {
		file := cases[0].File()
		n := slices.IndexFunc(cases, func(c Case) bool { return c.File() != file })
		if n < 0 {
			n = len(cases)
		}
		l.runFile(ctx, cases[:n])
		cases = cases[n:]
	}
}

// newRun is what cases of a file work with.
func (l *setRun) newRun(inputs *InputSet) *run {
	return &run{setRun: l, cfg: &l.cfg, inputs: inputs, wire: l.wire()}
}

func (l *setRun) runFile(ctx context.Context, cases []Case) {
	shared := l.newRun(l.inputs)
	l.sharing = shared
	var last *Case
	for i := range cases {
		if l.stop(ctx) {
			break
		}
		c := &cases[i]
		if own := l.inputs.of(c); own != nil {
			r := l.newRun(own)
			l.record(l.runCase(ctx, r, c))
			l.tearDown(r, c)
			l.clearAway(ctx)
			continue
		}
		last = c
		result := l.runCase(ctx, shared, c)
		l.clearAway(ctx)
		l.shrink(ctx, shared, result)
		l.record(result)
	}
	l.tearDown(shared, last)
	l.sharing = nil
}

// of is the set with the inputs that a case has for itself, nil if it has none.
func (s *InputSet) of(c *Case) *InputSet {
	own := s.Tests[c.Name()]
	if own == nil {
		return nil
	}
	out := *s
	for kind, target := range map[string]*map[string]any{"create": &out.Create, "update": &out.Update, "invalid": &out.Invalid} {
		if model := own[kind]; model != nil {
			*target = model
		}
	}
	return &out
}

// tearDown ends the fixture of a file.
func (l *setRun) tearDown(r *run, last *Case) {
	if r.teardown == nil {
		return
	}
	r.begin(nil)
	l.alone.RLock()
	defer l.alone.RUnlock()
	if result := r.result(last, Teardown, r.teardown(l.cleaning)); result.Outcome != Passed {
		l.record(result)
	}
}

// afterwards is a context for cleaning up. It outlives the end of ctx by CleanupTimeout, so
// that resources are deleted even if the run is stopped. All cleanups share that time. A
// negative CleanupTimeout leaves none.
func (s *suite) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return afterwards(ctx, s.cfg.CleanupTimeout)
}

func (l *setRun) runCase(ctx context.Context, r *run, c *Case) *Result {
	if c.alone {
		l.alone.Lock()
		defer l.alone.Unlock()
	} else {
		l.alone.RLock()
		defer l.alone.RUnlock()
	}
	r.begin(c)
	l.report(Event{Kind: Started, Case: c, Set: r.inputs.Number, Wire: l.inputs.Wire})
	if l.cfg.Inapplicable != nil {
		if reason := l.cfg.Inapplicable(c); reason != "" {
			return r.result(c, CallPhase, skipped("Not applicable: "+reason))
		}
	}
	if c.Skip != nil {
		if reason := c.Skip(l.cfg.Schema); reason != "" {
			return r.result(c, CallPhase, skipped(reason))
		}
	}
	if c.fixture != nil {
		if err := r.prepare(ctx, c.fixture); err != nil {
			return r.result(c, Setup, err)
		}
	}
	return r.result(c, CallPhase, c.run(ctx, r))
}

// record keeps a result and reports it.
func (l *setRun) record(result *Result) {
	if result.broken() {
		l.failures.Add(1)
		if len(result.Calls) > 0 && !l.answered.Load() {
			l.silent.Store(true)
		}
	}
	l.results = append(l.results, result)
	l.report(Event{Kind: Finished, Result: result})
}

// Discard deletes the resources that a run with the same Config has left behind, by the models
// that [Config.Living] was called with. It returns which could not be deleted, and why.
// Resources that no longer exist count as deleted.
func Discard(ctx context.Context, cfg Config, models []map[string]any) (left []string) {
	complete(&cfg)
	s := &suite{cfg: cfg, summary: &Summary{TypeName: cfg.Schema.TypeName.Value}, start: cfg.Now(), redactor: cfg.Redactor, running: ctx}
	s.cfg.Living = nil
	l := &setRun{suite: s, inputs: &InputSet{}, told: map[string]bool{}, quiet: true}
	for _, model := range models {
		r := l.newRun(l.inputs)
		r.lenient = true
		if reason, _ := r.discard(ctx, model); reason != "" {
			left = append(left, fmt.Sprintf("%s: %s", r.name(model), reason))
		}
	}
	return left
}

// tellLiving calls Living, unless no resource existed before and none exists now.
func (r *run) tellLiving() {
	if r.cfg.Living == nil {
		return
	}
	identifier := r.cfg.Schema.PrimaryIdentifier
	var models []map[string]any
	for _, entry := range r.live.entries {
		if _, known := schema.Identifier(entry.model, identifier); known {
			models = append(models, r.identity(entry.model, identifier))
		}
	}
	if len(models) == 0 && r.living == 0 {
		return
	}
	r.living = len(models)
	r.cfg.Living(r.number, models)
}

// discard deletes a resource and returns why it failed, "" after a success, with the error code if there is one.
func (r *run) discard(ctx context.Context, model map[string]any) (reason string, code invoke.Code) {
	r.begin(nil)
	event, err := r.operate(ctx, invoke.Request{Action: invoke.Delete, Model: model})
	switch {
	case err != nil:
		return r.redactor.Text(err.Error()), ""
	case event.Status == invoke.Success || event.ErrorCode == invoke.NotFound:
		return "", ""
	}
	return fmt.Sprintf("DELETE answered %s %s", event.Status, event.ErrorCode), event.ErrorCode
}
