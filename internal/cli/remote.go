package cli

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A regionFailure is an error in one region, for commands that have several.
type regionFailure struct {
	Error string `json:"error"` // "" if nothing did
	Hint  string `json:"hint"`

	err error
}

func (f *regionFailure) fail(err error) {
	var hinted *diag.Hinted
	f.err, f.Error = err, err.Error()
	if errors.As(err, &hinted) {
		f.Hint = hinted.Hint
	}
}

// complain prints the error of a region, if it has one.
func (c *app) complain(region string, f *regionFailure) {
	if f.err != nil {
		c.notef("%s: %s\n", region, f.Error)
		c.hint(f.Hint)
	}
}

// kindFlag adds --type.
func kindFlag(flags *pflag.FlagSet, kind *string) {
	flags.Var(&enum{kind, []string{"RESOURCE", "MODULE", "HOOK"}}, "type", "the kind of type, if its name is ambiguous: `RESOURCE|MODULE|HOOK`")
}

// typeReference reads the TYPE of a command; without one, that of the project counts.
func (c *app) typeReference(args []string, kind string) (submit.Reference, error) {
	if len(args) == 0 {
		p, problems, err := c.openProject()
		if err == nil {
			err = problems.Err()
		}
		var none *project.NotFoundError
		if errors.As(err, &none) {
			return submit.Reference{}, usagef("missing argument: TYPE (optional only in a project)")
		}
		if err != nil {
			return submit.Reference{}, err
		}
		return submit.Reference{Name: p.TypeName, Kind: types.RegistryType(p.Kind)}, nil
	}
	ref, err := submit.ParseReference(args[0], types.RegistryType(kind))
	if err != nil {
		return ref, usagef("%s", err)
	}
	return ref, nil
}

// atMost lets a command have up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("unexpected argument: %s", strings.Join(args[n:], " "))
		}
		return nil
	}
}

// status shows on a terminal what several things are doing, in one line below the results.
// Without a terminal it shows nothing, and results are written all the same. It may be used
// from several goroutines.
type status struct {
	*app
	shown bool // on a terminal
	start time.Time

	mu    sync.Mutex
	names []string
	parts map[string]string
}

func (c *app) newStatus(names ...string) *status {
	return &status{
		app: c, names: names, parts: map[string]string{}, start: c.Now(),
		shown: c.Terminal.Stderr && c.verbose == 0 && c.Getenv("TERM") != "dumb",
	}
}

// set sets the current activity of one of them; "" for none.
func (s *status) set(name, text string) {
	s.logger.Debug(text, "region", name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[name] = text
	s.draw()
}

// printf writes a result, with the line out of the way.
func (s *status) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.app.printf(format, args...)
	s.draw()
}

// eachRegion does something in all regions at once, and shows how far each of them is.
func (c *app) eachRegion(remotes []*submit.Remote, f func(i int, r *submit.Remote, show *status)) {
	regions := make([]string, len(remotes))
	for i, r := range remotes {
		regions[i] = r.Region
	}
	show := c.newStatus(regions...)
	defer show.end()
	var group sync.WaitGroup
	for i, r := range remotes {
		group.Go(func() {
			f(i, r, show)
			show.set(r.Region, "")
		})
	}
	group.Wait()
}

// end takes the line away.
func (s *status) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.shown = false
}

func (s *status) wipe() {
	if s.shown {
		s.wipeLine()
	}
}

// statusWidth is that of the line, in characters: one that wraps could not be wiped.
const statusWidth = 79

func (s *status) draw() {
	var parts []string
	for _, name := range s.names {
		text := s.parts[name]
		switch {
		case text == "":
		case len(s.names) == 1:
			parts = append(parts, text)
		default:
			word, _, _ := strings.Cut(text, "  ")
			parts = append(parts, name+": "+word)
		}
	}
	if !s.shown || len(parts) == 0 {
		return
	}
	line := []rune(words.Visible(words.OneLine(fmt.Sprintf("%s … %s", s.Now().Sub(s.start).Round(time.Second), strings.Join(parts, " · ")))))
	if len(line) > statusWidth {
		line = append(line[:statusWidth-1], '…')
	}
	s.wipeLine()
	s.notef("%s", string(line))
}

// roleFile is the template of the role that the handlers of a kind run with.
func roleFile(kind schema.Kind) string {
	if kind == schema.Hook {
		return "hook-role.yaml"
	}
	return "resource-role.yaml"
}
