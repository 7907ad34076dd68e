package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// testProgress shows on a terminal which contract test is running. Its line is erased
// before anything else is printed.
type testProgress struct {
	*app
	total, started int
	erase          func()
}

// testReporters are what cfn test reports to: first the progress, because it makes room.
func (c *app) testReporters(opts *testOptions, text *contract.Text) contract.Reporters {
	var reporters contract.Reporters
	quiet := opts.arguments.Verbosity < 0 && c.Terminal.Stdout // its letters share a line
	if !opts.arguments.Live && !quiet {
		reporters = append(reporters, &testProgress{app: c})
	}
	reporters = append(reporters, callLog{c})
	if c.format == "text" {
		reporters = append(reporters, text)
	}
	return reporters
}

// Report shows the running test, and that its inputs are being made smaller.
func (p *testProgress) Report(e contract.Event) {
	switch e.Kind {
	case contract.Planned:
		p.total = len(e.Plan.Cases) * max(1, len(e.Plan.Sets))
	case contract.Started:
		p.started++
		p.show("[%d/%d] %s", p.started, p.total, e.Case.Name())
	case contract.Shrinking:
		p.show("[%d/%d] %s failed: finding smaller inputs", p.started, p.total, e.Case.Name())
	case contract.Finished, contract.Ended:
		p.clear()
	}
}

func (p *testProgress) show(format string, args ...any) {
	p.clear()
	p.erase = p.progress(format, args...)
}

func (p *testProgress) clear() {
	if p.erase != nil {
		p.erase()
		p.erase = nil
	}
}

// shrinkTime is the value of --shrink: a duration or "off".
type shrinkTime time.Duration

func (s *shrinkTime) String() string {
	if *s < 0 {
		return "off"
	}
	return time.Duration(*s).String()
}

func (s *shrinkTime) Type() string { return "string" }

func (s *shrinkTime) Set(text string) error {
	if text == "off" {
		*s = -1
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("expected a duration such as 30s or 5m, or off")
	case d < 0:
		return fmt.Errorf("the duration cannot be negative; use off to turn shrinking off")
	case d == 0:
		d = -1
	}
	*s = shrinkTime(d)
	return nil
}

// shrinkFlag adds --shrink.
func (opts *testOptions) shrinkFlag(flags *pflag.FlagSet) {
	opts.shrink = shrinkTime(contract.DefaultShrinkTime)
	flags.Var(&opts.shrink, "shrink", "spend up to `TIME` on finding smaller inputs for failed tests, or off")
	annotate(flags, addition, "shrink")
}

// wordsOf are the values of an option that takes one of a few words.
func wordsOf[T ~string](values []T) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return words
}
