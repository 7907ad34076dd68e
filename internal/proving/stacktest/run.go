package stacktest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/local"
)

// Config is what tests are run with. Schema and Extension must be set.
type Config struct {
	Base local.Config // of each CloudFormation: environment, sandbox, clock

	// Schema returns the text of the schema of a type, "" if it is not known.
	Schema func(typeName string) (string, error)

	// Extension packages the project in a folder, or reads a package; one of them is "".
	Extension func(ctx context.Context, project, archive string) (*submit.Request, error)

	// Synthesize runs the CDK app in the folder dir, which writes its output into the folder out. Nil: none is run.
	Synthesize func(ctx context.Context, dir, out string) error

	// Shown is a path as the user would type it. Nil leaves it as it is.
	Shown func(path string) string

	// Selected reports whether a case of a file is run. Nil: all are.
	Selected func(file, name string) bool

	// WriteFile writes a golden file. Nil: golden files are compared and not written.
	WriteFile func(path string, data []byte) error

	// Done is called after each case, one at a time, in the order in which they end. Nil: it is not.
	Done func(*Result)

	Getenv   func(string) string
	Parallel int // cases at the same time; 0 is 1
	Logger   *slog.Logger
}

// A Result is the outcome of a case with one variant.
type Result struct {
	File, Case string // the case is "" in a file that has only steps
	Variant    string // "Stage=prod, Size=5"; "" without a matrix
	At         diag.Range

	Problems diag.List // expectations that were not met
	Err      error     // what kept the case from running
	Skipped  string    // why it was not run
	Took     time.Duration
}

// Name is how reports call the result.
func (r *Result) Name() string {
	name := r.Case
	if r.Variant != "" {
		name = strings.TrimSpace(name + " [" + r.Variant + "]")
	}
	return name
}

// Failed reports whether the case was run and did not pass.
func (r *Result) Failed() bool { return r.Err != nil || r.Problems.HasErrors() }

// A Summary is the outcome of a run.
type Summary struct {
	Results  []*Result // in the order of the files and of their cases
	Coverage []*Coverage
	Problems diag.List // of files, and of coverage that is too low
	Kinds    Kinds
	Took     time.Duration
}

// Kinds counts the types of resources by where they come from: a success of a simulated one says little about AWS.
type Kinds struct {
	Registered int `json:"registered"`
	Simulated  int `json:"simulated"`
	Delegated  int `json:"delegated"`
	BuiltIn    int `json:"builtIn"`
}

// Count counts the results.
func (s *Summary) Count() (passed, failed, skipped int) {
	for _, r := range s.Results {
		switch {
		case r.Skipped != "":
			skipped++
		case r.Failed():
			failed++
		default:
			passed++
		}
	}
	return passed, failed, skipped
}

// OK reports whether everything passed.
func (s *Summary) OK() bool {
	_, failed, _ := s.Count()
	return failed == 0 && !s.Problems.HasErrors()
}

// ErrNothingSelected is the error of a run without a case.
var ErrNothingSelected = errors.New("no case is selected")

// Run runs the cases of files. The error is that of the context, or ErrNothingSelected; what is wrong with one file does
// not keep the others from being run.
func Run(ctx context.Context, config Config, suites []*Suite) (*Summary, error) {
	if config.Shown == nil {
		config.Shown = func(path string) string { return path }
	}
	if config.Base.Now == nil {
		config.Base.Now = time.Now
	}
	began := config.Base.Now()
	summary := &Summary{}
	var jobs []*job
	for _, s := range suites {
		more, err := plan(ctx, &config, summary, s)
		if err != nil {
			return summary, err
		}
		jobs = append(jobs, more...)
	}
	if len(jobs) == 0 && !summary.Problems.HasErrors() {
		return summary, ErrNothingSelected
	}
	runJobs(ctx, &config, jobs)
	summary.conclude(&config, jobs)
	summary.Took = config.Base.Now().Sub(began)
	return summary, ctx.Err()
}

// A job is one run of a case.
type job struct {
	suite   *prepared
	of      *Case
	variant variant
	result  *Result
	seen    *seen
}

// plan makes the jobs of a file.
func plan(ctx context.Context, config *Config, summary *Summary, s *Suite) ([]*job, error) {
	if !slices.ContainsFunc(s.Cases, func(c *Case) bool { return config.selects(s, c) }) {
		return nil, nil
	}
	p, problems, err := prepare(ctx, config, s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		problems.Add(problemOf(err, diag.Range{File: s.File}))
	}
	var jobs []*job
	r := &reader{problems: problems}
	if !problems.HasErrors() {
		for _, c := range s.Cases {
			if !config.selects(s, c) {
				continue
			}
			of := c.Matrix
			if of == nil {
				of = s.Matrix
			}
			for _, v := range variants(ctx, r, of, p.find(""), p) {
				jobs = append(jobs, &job{suite: p, of: c, variant: v, seen: newSeen(), result: &Result{
					File: s.File, Case: c.Name, Variant: v.String(), At: c.At, Skipped: c.Skip,
				}})
			}
			if len(jobs) > maxCases {
				r.add("value", c.At, "", "the file has more than %d cases", maxCases)
				break
			}
		}
	}
	summary.Problems.Add(r.problems...)
	if r.problems.HasErrors() {
		return nil, nil
	}
	return jobs, nil
}

func (c *Config) selects(s *Suite, of *Case) bool {
	return c.Selected == nil || c.Selected(s.File, of.Name)
}

// runJobs runs jobs, as many at the same time as the configuration says.
func runJobs(ctx context.Context, config *Config, jobs []*job) {
	var running sync.WaitGroup
	var reporting sync.Mutex
	places := make(chan struct{}, max(1, config.Parallel))
	for _, j := range jobs {
		select {
		case <-ctx.Done():
			j.result.Skipped = "the run was interrupted"
			continue
		case places <- struct{}{}:
		}
		running.Go(func() {
			defer func() { <-places }()
			j.run(ctx, config)
			if ctx.Err() != nil {
				return
			}
			reporting.Lock()
			defer reporting.Unlock()
			if config.Done != nil {
				config.Done(j.result)
			}
		})
	}
	running.Wait()
}

// run runs a case.
func (j *job) run(ctx context.Context, config *Config) {
	if j.result.Skipped != "" {
		return
	}
	began := config.Base.Now()
	defer func() { j.result.Took = config.Base.Now().Sub(began) }()
	cloud, err := openCloud(ctx, config, j.suite, j.of)
	if err != nil {
		j.result.Err = err
		return
	}
	defer cloud.close()
	r := &runner{cloud: cloud, job: j, stacks: map[string]*stackState{}}
	for _, step := range j.of.Steps {
		if err := r.step(ctx, step); err != nil {
			if of := (*placed)(nil); !errors.As(err, &of) {
				err = &placed{step.At, fmt.Errorf("%s: %w", step.Action, err)}
			}
			j.result.Err = err
			break
		}
		if r.problems.HasErrors() {
			break // what follows would fail for the same reason
		}
	}
	if j.result.Err == nil && !r.problems.HasErrors() {
		if err := r.cleanUp(ctx); err != nil {
			j.result.Err = fmt.Errorf("delete the stacks of the case: %w", err)
		}
	}
	if j.result.Err == nil {
		j.result.Err = r.learnKinds(ctx)
	}
	for i := range r.problems { // before anything is printed
		p := &r.problems[i]
		p.Message = cloud.calls.secrets.Hide(p.Message)
		for k := range p.Related {
			p.Related[k].Message = cloud.calls.secrets.Hide(p.Related[k].Message)
		}
	}
	if j.result.Err != nil {
		p := problemOf(j.result.Err, j.of.At)
		j.result.Err = &placed{p.At, errors.New(cloud.calls.secrets.Hide(p.Message))}
	}
	j.result.Problems = r.problems
}

// conclude puts the results together.
func (s *Summary) conclude(config *Config, jobs []*job) {
	kinds := map[string]string{}
	var suites []*prepared
	for _, j := range jobs {
		s.Results = append(s.Results, j.result)
		for typeName, kind := range j.seen.kinds {
			kinds[typeName] = kind
		}
		if !slices.Contains(suites, j.suite) {
			suites = append(suites, j.suite)
		}
	}
	for _, kind := range kinds {
		switch kind {
		case "registered":
			s.Kinds.Registered++
		case "simulated":
			s.Kinds.Simulated++
		case "delegated":
			s.Kinds.Delegated++
		default:
			s.Kinds.BuiltIn++
		}
	}
	for _, p := range suites {
		all := newSeen()
		for _, j := range jobs {
			if j.suite == p {
				all.join(j.seen)
			}
		}
		c := measure(p, all)
		s.Coverage = append(s.Coverage, c)
		if !slices.ContainsFunc(p.suite.Cases, func(of *Case) bool { return !config.selects(p.suite, of) }) { // of some cases, nothing is demanded
			s.Problems.Add(c.lacks(p.suite.Coverage)...)
		}
	}
}
