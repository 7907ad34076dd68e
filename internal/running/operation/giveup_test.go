package operation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// TestUnfitResults has handlers return what cannot be kept. The operation fails, and its owner
// learns all that the deletion needs.
func TestUnfitResults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", store.MaxKey+1)
	for name, c := range map[string]struct {
		identifier string
		model      map[string]any
		status     cfn.OperationStatus
		want       string // the message; "" is success
		kept       string // the identifier
	}{
		"longest identifier": {identifier: long[1:], status: cfn.OperationStatusSuccess, kept: long[1:]},
		"long identifier":    {identifier: long, status: cfn.OperationStatusSuccess, want: "The create handler of Acme::Test::Thing returned an identifier of 2049 bytes; at most 2048 are allowed.", kept: long[1:]},
		"cut in a letter": {
			identifier: long[2:] + "é", status: cfn.OperationStatusSuccess,
			want: "The create handler of Acme::Test::Thing returned an identifier of 2049 bytes; at most 2048 are allowed.", kept: long[2:],
		},
		"in progress":       {identifier: long, status: cfn.OperationStatusInProgress, want: "The create handler of Acme::Test::Thing returned an identifier of 2049 bytes; at most 2048 are allowed.", kept: long[1:]},
		"of a failure":      {identifier: long, status: cfn.OperationStatusFailed, want: "m", kept: long[1:]},
		"NUL in identifier": {identifier: "a\x00b", status: cfn.OperationStatusSuccess, want: "The create handler of Acme::Test::Thing returned an identifier with the character U+0000.", kept: "ab"},
		"NUL in model": {
			identifier: "i", model: map[string]any{"Secret": "s", "Size": []any{"\x00"}}, status: cfn.OperationStatusSuccess,
			want: "The create handler of Acme::Test::Thing returned the character U+0000 at /Size/0.", kept: "i",
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				model := c.model
				if model == nil {
					model = map[string]any{"Id": c.identifier}
				}
				p := Progress{Status: c.status, Identifier: c.identifier, Model: model}
				if c.status == cfn.OperationStatusFailed {
					p.ErrorCode, p.Message = string(invoke.InvalidRequest), "m"
				}
				g.answers = []any{p}
				g.finish(g.begin(Spec{Request: Request{Action: invoke.Create}}))
				last := g.heard[len(g.heard)-1].Progress
				if last.Message != c.want || last.Identifier != c.kept || (last.Status == cfn.OperationStatusFailed) != (c.want != "") {
					t.Errorf("%s %q, identifier of %d bytes", last.Status, last.Message, len(last.Identifier))
				}
				if c.want != "" && last.Model == nil {
					t.Error("the owner has no model")
				}
			})
		})
	}
}

// TestPermanentErrors end operations with their reasons, whoever meets them.
func TestPermanentErrors(t *testing.T) {
	t.Parallel()
	permanent := &store.TooLargeError{Max: 7}
	for name, c := range map[string]struct {
		prepare func(g *rig)
		want    []string
	}{
		"the provider": {func(g *rig) { g.answers = []any{permanent} }, []string{"FAILED InternalFailure Internal failure: the content is larger than 7 bytes"}},
		"the type":     {func(g *rig) { g.unknown = permanent }, []string{"FAILED InternalFailure Internal failure: the content is larger than 7 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				c.prepare(g)
				id := g.begin(Spec{Request: Request{Action: invoke.Create}})
				g.works(t, id)
				g.expectStory(c.want...)
			})
		})
	}
}

// TestPlaceholderOfWhatIsGivenUp has what a lost creation may have made deleted.
func TestPlaceholderOfWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		for action, want := range map[invoke.Action]string{invoke.Create: "FAILED p InternalFailure why", invoke.Delete: "FAILED i InternalFailure why"} {
			request := Request{Action: action, Placeholder: "p"}
			if action == invoke.Delete {
				request.Identifier = "i"
			}
			g.heard = nil
			id := g.begin(Spec{Request: request})
			for range 2 { // the second time it has ended
				if err := g.Workers()[workOperation].Fail(t.Context(), id, "why"); err != nil {
					t.Fatal(err)
				}
			}
			g.expectStory(want)
		}
	})
}

// TestPermanentErrorOfTheOwner has an owner refuse the result of a call, but not that the operation
// failed.
func TestPermanentErrorOfTheOwner(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		picky := &pickyOwner{rig: g}
		g.Own("test", picky)
		g.answers = []any{done()}
		g.works(t, g.begin(Spec{Request: Request{Action: invoke.Create}}))
		g.expectStory("FAILED InternalFailure Internal failure: the content is larger than 7 bytes")
		if len(g.calls) != 1 {
			t.Errorf("%d calls", len(g.calls))
		}
	})
}

type pickyOwner struct{ *rig }

func (o *pickyOwner) Progressed(ctx context.Context, tx *store.Tx, state State) error {
	if state.Progress.Status == cfn.OperationStatusSuccess {
		return &store.TooLargeError{Max: 7}
	}
	return o.rig.Progressed(ctx, tx, state)
}

// works has the store run the workers until an operation has ended and nothing waits.
func (g *rig) works(t *testing.T, id string) {
	t.Helper()
	if err := g.store.Work(t.Context(), g.Workers()); err != nil {
		t.Fatal(err)
	}
	fixtures.Await(t, "the end of the operation", func() bool {
		state, err := g.Get(t.Context(), id)
		if err != nil || state == nil {
			t.Fatalf("%+v, %v", state, err)
		}
		return state.Progress.Terminal()
	})
}

// TestRepeatedCalls finds out which calls may have been made before.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	lost := errors.New("the answer was lost")
	for name, c := range map[string]struct {
		noted   bool
		answers []any
		want    bool
	}{
		"first call":          {true, []any{failed(invoke.NotFound)}, false},
		"after a lost answer": {true, []any{lost, failed(invoke.NotFound)}, true},
		"after an answer":     {true, []any{busy(0, `1`), failed(invoke.NotFound)}, false},
		"lost after answers":  {true, []any{busy(0, `1`), lost, lost, failed(invoke.NotFound)}, true},
		"not noted":           {false, []any{lost, failed(invoke.NotFound)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				g.answers = slices.Clone(c.answers)
				id := g.begin(Spec{Request: Request{Action: invoke.Delete, Identifier: "i"}, NoteCalls: c.noted})
				for range len(c.answers) {
					if _, err := g.run(t.Context(), id); err != nil && !errors.Is(err, lost) {
						t.Fatal(err)
					}
				}
				if last := g.heard[len(g.heard)-1]; last.Repeated != c.want || last.Progress.ErrorCode != string(invoke.NotFound) {
					t.Errorf("repeated %v, %+v", last.Repeated, last.Progress)
				}
			})
		})
	}
}
