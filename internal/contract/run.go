package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/schema"
)

// Defaults of Config.
const (
	DefaultEnforceTimeout = 240 * time.Second
	DefaultCleanupTimeout = 5 * time.Minute
)

// Config says what is tested, and how. Schema and Function must be set.
type Config struct {
	Schema   *schema.Schema
	Function invoke.Function

	// Inputs of the project. Without sets, inputs are generated from the schema by Seed,
	// with the overrides applied.
	Inputs Inputs
	Seed   uint64

	// TypeConfiguration is handed to the handlers as it is. Nil means none.
	TypeConfiguration any

	// What handlers are told, as invoke.Config has it.
	Credentials    invoke.Source
	LogGroup       string
	LogCredentials invoke.Source
	Region         string
	AccountID      string
	Wire           invoke.Wire

	// EnforceTimeout bounds every call of a read or list handler; create, update and
	// delete handlers get twice as long. Zero means [DefaultEnforceTimeout], which is the
	// official tool's and more generous than the contract; a negative value means no bound.
	EnforceTimeout time.Duration

	// CleanupTimeout bounds the deletion of what is left when the context has ended. Zero
	// means [DefaultCleanupTimeout].
	CleanupTimeout time.Duration

	Selection Selection

	// Faults adds the tests of handlers under faults. Nil means none.
	Faults *Faults

	// Reporter is told what happens. Nil means nobody.
	Reporter Reporter

	// Sleep, NewToken and Now are those of invoke.Config.
	Sleep    func(context.Context, time.Duration) error
	NewToken func() string
	Now      func() time.Time
}

// ErrNothingSelected says that the selection leaves no test.
var ErrNothingSelected = errors.New("no contract test is selected")

// Run runs the selected cases once for each set of inputs.
//
//	summary  err                  meaning
//	set      nil                  all cases were run; inspect Summary.OK
//	set      of ctx               ctx ended; what had been created was deleted
//	nil      ErrNothingSelected   the selection leaves no case
//	nil      other                nothing can be tested: the schema lacks handlers that
//	                              every test needs, or no inputs can be generated
func Run(ctx context.Context, cfg Config) (*Summary, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	complete(&cfg)
	cases, deselected := cfg.selected()
	sets := cfg.Inputs.Sets
	if len(sets) == 0 {
		sets = []InputSet{{}}
	}
	s := &suite{cfg: cfg, summary: &Summary{TypeName: cfg.Schema.TypeName.Value}, start: cfg.Now(), redactor: invoke.NewRedactor(cfg.Schema)}
	if sets[0].Number == 0 {
		s.summary.Seed = &cfg.Seed
	}
	s.report(Event{Kind: Planned, Plan: &Plan{Cases: cases, Deselected: deselected, Sets: sets, TypeName: s.summary.TypeName, Seed: s.summary.Seed}})
	for i := range sets {
		if s.stop(ctx) {
			break
		}
		s.runSet(ctx, &sets[i], cases)
	}
	s.summary.Duration = cfg.Now().Sub(s.start)
	s.report(Event{Kind: Ended, Summary: s.summary})
	return s.summary, ctx.Err()
}

// Check tells what keeps a run from beginning: ErrNothingSelected, handlers that the schema
// lacks, or inputs that cannot be generated. The Function is not looked at.
func Check(cfg Config) error {
	for _, handler := range []string{"create", "read", "delete"} {
		if cfg.Schema.Handler(handler) == nil {
			return fmt.Errorf("%s: the schema declares no %s handler: the contract tests need create, read and delete handlers", cfg.Schema.TypeName.Value, handler)
		}
	}
	if cases, _ := cfg.selected(); len(cases) == 0 {
		return ErrNothingSelected
	}
	if len(cfg.Inputs.Sets) == 0 {
		if _, err := newGenerator(cfg.Schema, cfg.Seed, "").model(false); err != nil {
			return err
		}
	}
	return nil
}

func complete(cfg *Config) {
	if cfg.EnforceTimeout == 0 {
		cfg.EnforceTimeout = DefaultEnforceTimeout
	}
	if cfg.CleanupTimeout == 0 {
		cfg.CleanupTimeout = DefaultCleanupTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
}

// Select returns the cases that a schema's handlers allow and a selection takes, in the
// order in which they run, and how many of those that the handlers allow it leaves out.
func Select(s *schema.Schema, selection Selection) (cases []Case, deselected int) {
	for _, c := range Cases {
		switch {
		case !c.applies(s):
		case selection.Picks(&c):
			cases = append(cases, c)
		default:
			deselected++
		}
	}
	if selection.Shuffle {
		shuffle(cases, selection.Seed)
	}
	return cases, deselected
}

// shuffle mixes the files, and the cases within each: those of a file share a resource.
func shuffle(cases []Case, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	var files []string
	for _, c := range cases {
		if !slices.Contains(files, c.File()) {
			files = append(files, c.File())
		}
	}
	random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	slices.SortStableFunc(cases, func(a, b Case) int { return slices.Index(files, a.File()) - slices.Index(files, b.File()) })
}

// A suite is one Run.
type suite struct {
	cfg      Config
	summary  *Summary
	start    time.Time
	redactor *invoke.Redactor
}

func (s *suite) report(e Event) {
	if s.cfg.Reporter != nil {
		s.cfg.Reporter.Report(e)
	}
}

// stop tells whether no further case is to be run.
func (s *suite) stop(ctx context.Context) bool {
	limit := s.cfg.Selection.MaxFailures
	return ctx.Err() != nil || limit > 0 && s.summary.Failed+s.summary.Errors >= limit
}

// runSet runs the cases with one set of inputs. Cases of one file share a fixture, which
// is made when the first of them needs it and torn down after the last.
func (s *suite) runSet(ctx context.Context, inputs *InputSet, cases []Case) {
	var live ledger
	for len(cases) > 0 && !s.stop(ctx) {
		file := cases[0].File()
		n := slices.IndexFunc(cases, func(c Case) bool { return c.File() != file })
		if n < 0 {
			n = len(cases)
		}
		s.runFile(ctx, inputs, cases[:n], &live)
		cases = cases[n:]
	}
	s.sweep(ctx, inputs, &live)
}

func (s *suite) runFile(ctx context.Context, inputs *InputSet, cases []Case, live *ledger) {
	r := &run{suite: s, cfg: &s.cfg, inputs: inputs, live: live}
	if len(s.cfg.Inputs.Sets) == 0 {
		r.generator = newGenerator(s.cfg.Schema, s.cfg.Seed, cases[0].File())
	}
	var last *Case
	for i := range cases {
		if s.stop(ctx) {
			break
		}
		last = &cases[i]
		s.record(s.runCase(ctx, r, last))
	}
	if r.teardown == nil {
		return
	}
	r.begin()
	within, cancel := s.afterwards(ctx)
	defer cancel()
	if err := r.teardown(within); err != nil {
		s.record(r.result(last, Teardown, err))
	}
}

// afterwards is a context for cleaning up. It outlives the end of ctx by CleanupTimeout:
// what is cleaned up must not be lost because somebody stops the run.
func (s *suite) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(s.cfg.CleanupTimeout, cancel)
		context.AfterFunc(within, func() { timer.Stop() })
	})
	return within, func() { stop(); cancel() }
}

func (s *suite) runCase(ctx context.Context, r *run, c *Case) *Result {
	r.begin()
	s.report(Event{Kind: Started, Case: c, Set: r.inputs.Number})
	if c.Skip != nil {
		if reason := c.Skip(s.cfg.Schema); reason != "" {
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

// record counts a result and reports it.
func (s *suite) record(result *Result) {
	switch result.Outcome {
	case Passed:
		s.summary.Passed++
	case Failed:
		s.summary.Failed++
	case Skipped:
		s.summary.Skipped++
	case Errored:
		s.summary.Errors++
	}
	s.summary.Results = append(s.summary.Results, result)
	s.report(Event{Kind: Finished, Result: result})
}

// sweep deletes what a set has left behind: resources of failed cases, and those that a
// handler created where it should have refused to.
func (s *suite) sweep(ctx context.Context, inputs *InputSet, live *ledger) {
	if len(live.entries) == 0 {
		return
	}
	within, cancel := s.afterwards(ctx)
	defer cancel()
	r := &run{suite: s, cfg: &s.cfg, inputs: inputs, live: live, lenient: true}
	for _, entry := range slices.Clone(live.entries) {
		if _, known := schema.Identifier(entry.model, s.cfg.Schema.PrimaryIdentifier); !known {
			s.summary.LeftBehind = append(s.summary.LeftBehind, "a CREATE ended without telling an identifier: what it made, if anything, could not be deleted")
			continue
		}
		r.begin()
		event, err := r.operate(within, invoke.Request{Action: invoke.Delete, Model: entry.model})
		gone := err == nil && (event.Status == invoke.Success || event.ErrorCode == invoke.NotFound)
		if gone {
			continue
		}
		reason := "its delete handler did not answer"
		switch {
		case err != nil:
			reason = s.redactor.Text(err.Error())
		case event != nil:
			reason = fmt.Sprintf("DELETE answered %s %s", event.Status, event.ErrorCode)
		}
		s.summary.LeftBehind = append(s.summary.LeftBehind, fmt.Sprintf("%s: %s", r.name(entry.model), reason))
	}
}
