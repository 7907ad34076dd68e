package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Defaults of Config.
const (
	DefaultEnforceTimeout = 240 * time.Second
	DefaultCleanupTimeout = 5 * time.Minute
	DefaultShrinkTries    = 40
	DefaultShrinkTime     = 10 * time.Second
)

// Config configures a run. Schema and Function must be set.
type Config struct {
	Schema   *schema.Schema
	Function invoke.Function

	// Inputs of the project. Without sets, inputs are generated from the schema by Seed,
	// with the overrides applied.
	Inputs Inputs
	Seed   uint64

	// TypeConfiguration is passed to the handlers unchanged. It may be nil.
	TypeConfiguration any

	// HookTargets are the types that match the wildcards of a hook, and whose schemas inputs
	// are generated from. Only for hooks.
	HookTargets []HookTarget

	// Passed to handlers, see invoke.Config.
	Credentials    invoke.Source
	LogGroup       string
	LogCredentials invoke.Source
	Region         string
	AccountID      string

	// Wire is the encoding of scalars. [WireBoth] runs everything once in each encoding.
	Wire invoke.Wire

	// TimeScale is what callback delays are divided by. Zero means 1, infinity means not to wait at all.
	// What timeoutInMinutes allows is still counted in the time that the handler asked for.
	TimeScale float64

	// Parallel is how many sets of inputs run at the same time. Zero means one. Results
	// are reported in the order of the sets all the same.
	Parallel int

	// Cleanup deletes resources that appeared during the run and that no event named. Without
	// it they are only reported: another program may have created them.
	Cleanup bool

	// Replay, if not nil, is the failing example to run again: its case alone, with its
	// inputs. Selection and Seed do not count.
	Replay *Example

	// EnforceTimeout bounds every call of a read or list handler; create, update and
	// delete handlers get twice as long. Zero means [DefaultEnforceTimeout], which is the
	// official tool's and more generous than the contract; a negative value means no bound,
	// neither of calls nor of operations.
	EnforceTimeout time.Duration

	// CleanupTimeout bounds the deletion of the remaining resources when the context has
	// ended. Zero means [DefaultCleanupTimeout]. A negative value means that nothing is
	// deleted then: [Discard] deletes later what Living was called with.
	CleanupTimeout time.Duration

	// Living is called with the primary identifiers of all resources that a set has created
	// and not yet deleted, as models, whenever they change. It may be nil.
	Living func(set int, models []map[string]any)

	Selection Selection

	// Inapplicable returns why a case cannot pass, whatever the handlers do, "" if it can. Such a case is
	// skipped with the reason. Nil means that all can.
	Inapplicable func(c *Case) string

	Unremovable []string // properties that no update of the service can remove
	Absent      []string // read-only properties that the service does not return during the tests, such as reasons of failures

	// Faults adds the tests of handlers under faults. Nil means none.
	Faults *Faults

	// Redactor is what everything is shown through. Nil means one of the run's own.
	Redactor *invoke.Redactor

	// ShrinkTries is how often a case that failed with generated inputs is run again to make
	// them smaller. Zero means [DefaultShrinkTries], a negative value means never.
	ShrinkTries int

	// ShrinkTime bounds the time that the whole run spends on smaller inputs. Zero means
	// [DefaultShrinkTime], a negative value disables shrinking. Cases whose handlers request
	// long delays are never run again.
	ShrinkTime time.Duration

	// Reporter is notified of the events of the run. It may be nil.
	Reporter Reporter

	// Sleep, NewToken and Now are those of invoke.Config.
	Sleep    func(context.Context, time.Duration) error
	NewToken func() string
	Now      func() time.Time
}

// WireBoth as [Config.Wire] runs every set twice: with scalars as JSON types, and as
// strings.
const WireBoth invoke.Wire = "both"

// ErrNothingSelected reports that no test matches the selection.
var ErrNothingSelected = errors.New("no contract tests selected")

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
	slices.SortStableFunc(cases, func(a, b Case) int { return order(a) - order(b) })
	sets := cfg.sets()
	s := &suite{cfg: cfg, summary: &Summary{TypeName: cfg.Schema.TypeName.Value}, start: cfg.Now(), redactor: cfg.Redactor, shrinking: shrinkBudget{limit: cfg.ShrinkTime}, returned: map[string]bool{}}
	s.drift, _ = drift.New(cfg.Schema, drift.Config{}) // transforms that cannot be compiled are for cfn validate
	if sets[0].Number == 0 || cfg.Selection.Shuffle {
		s.summary.Seed, s.summary.Shuffled = &cfg.Seed, cfg.Selection.Shuffle
	}
	s.order.to = cfg.Reporter
	s.order.report(0, Event{Kind: Planned, Plan: &Plan{Cases: cases, Deselected: deselected, Sets: sets, TypeName: s.summary.TypeName, Seed: s.summary.Seed, Suite: cfg.Selection.Suite}})
	s.runSets(ctx, sets, cases)
	s.summary.Duration = cfg.Now().Sub(s.start)
	s.summary.Untested = untested(cfg.Schema, cfg.Selection, s.summary.Results)
	s.order.report(len(sets)-1, Event{Kind: Ended, Summary: s.summary})
	return s.summary, ctx.Err()
}

// sets are the sets of inputs of the run: generated ones are a single set without a number,
// and both encodings of scalars make two of each.
func (cfg *Config) sets() []InputSet {
	sets := cfg.Inputs.Sets
	if len(sets) == 0 || cfg.Replay != nil {
		sets = []InputSet{{}}
	}
	if cfg.Wire != WireBoth || cfg.Schema.Kind == schema.Hook {
		return sets
	}
	var out []InputSet
	for _, set := range sets {
		for _, wire := range []invoke.Wire{invoke.WireTyped, invoke.WireStrings} {
			set.Wire = wire
			out = append(out, set)
		}
	}
	return out
}

// Check reports what prevents a run: ErrNothingSelected, handlers that the schema lacks, or
// inputs that cannot be generated. The Function is not called.
func Check(cfg Config) error {
	s := cfg.Schema
	if s.Kind == schema.Hook {
		if len(s.Handlers) == 0 {
			return fmt.Errorf("%s: the schema declares no handlers: the contract tests need a preCreate, preUpdate or preDelete handler", s.TypeName.Value)
		}
	} else {
		for _, handler := range []string{"create", "read", "delete"} {
			if s.Handler(handler) == nil {
				return fmt.Errorf("%s: the schema declares no %s handler: the contract tests need create, read and delete handlers", s.TypeName.Value, handler)
			}
		}
	}
	complete(&cfg)
	if cases, _ := cfg.selected(); len(cases) == 0 {
		return ErrNothingSelected
	}
	if len(cfg.Inputs.Sets) == 0 && s.Kind != schema.Hook && cfg.Replay == nil {
		if _, err := newSource(s, cfg.Seed, "", 0).Create(); err != nil {
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
	if cfg.ShrinkTries == 0 {
		cfg.ShrinkTries = DefaultShrinkTries
	}
	if cfg.ShrinkTime == 0 {
		cfg.ShrinkTime = DefaultShrinkTime
	}
	if cfg.TimeScale == 0 {
		cfg.TimeScale = 1
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Redactor == nil {
		cfg.Redactor = invoke.NewRedactor(cfg.Schema)
	}
	if cfg.Replay != nil {
		cfg.Seed = cfg.Replay.Seed
		cfg.Selection = Selection{Suite: SuiteAll, IDs: []string{cfg.Replay.Test}}
		if cfg.Replay.Wire != "" {
			cfg.Wire = cfg.Replay.Wire
		}
	}
}

// Select returns the cases that a schema's handlers allow and a selection takes, in the
// order in which they run, and how many of those that the handlers allow it leaves out.
func Select(s *schema.Schema, selection Selection) (cases []Case, deselected int) {
	for _, c := range Cases {
		switch {
		case !c.applies(s) || !selection.Suite.has(c.Suite):
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

func order(c Case) int {
	if c.last {
		return 1
	}
	return 0
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
