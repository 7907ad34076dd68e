package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var (
	owner  = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIDEXAMPLE"}
	reader = awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: "eu-west-1"}}
)

const thing = "Acme::Test::Thing"

const thingSchema = `{
	"typeName": "Acme::Test::Thing", "description": "d", "additionalProperties": false,
	"properties": {"Id": {"type": "string"}, "Size": {"type": "integer"}, "Secret": {"type": "string"}},
	"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "writeOnlyProperties": ["/properties/Secret"],
	"handlers": {"create": {"permissions": [], "timeoutInMinutes": 10}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}
}`

// A rig is an engine over a store, with a clock, a provider and an owner of its own.
type rig struct {
	*Engine
	t      *testing.T
	place  fixtures.Place
	store  *store.Store
	tokens *Tokens

	mu      sync.Mutex
	clock   time.Time
	calls   []Request
	answers []any // Progress, error or func(Request) (Progress, error), one for each call
	heard   []State
	refuse  int // how often the owner still fails
	typ     *Type
	unknown error // of Types
}

func eachStore(t *testing.T, test func(t *testing.T, g *rig)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, place))
		})
	}
}

func newRig(t *testing.T, place fixtures.Place) *rig {
	t.Helper()
	g := &rig{t: t, place: place, clock: time.Now()}
	s, problems := schema.Load("thing.json", []byte(thingSchema), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	g.typ = &Type{Name: thing, Version: "00000001", Schema: s, Provider: g}
	var err error
	if g.store, err = store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, Sealer: rot{}, Poll: 20 * time.Millisecond, Lease: time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.store.Close() })
	g.configure(func(*Config) {})
	return g
}

// configure makes the engine anew.
func (g *rig) configure(change func(*Config)) {
	config := Config{Store: g.store, Types: g, Now: g.now}
	change(&config)
	g.Engine = New(config)
	g.Own("test", g)
	g.tokens = NewTokens(TokensConfig{Store: g.store, Now: g.now})
}

func (g *rig) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

func (g *rig) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = g.clock.Add(d)
}

// Type implements Types.
func (g *rig) Type(_ context.Context, _ awswire.Caller, name, version string) (*Type, error) {
	if g.unknown != nil {
		return nil, g.unknown
	}
	if name != thing || version != "" && version != g.typ.Version {
		return nil, &UnknownTypeError{Name: name}
	}
	return g.typ, nil
}

// Call implements Provider.
func (g *rig) Call(ctx context.Context, request Request) (Progress, error) {
	g.mu.Lock()
	g.calls = append(g.calls, request)
	if len(g.answers) == 0 {
		g.mu.Unlock()
		return Progress{}, errors.New("a call too many")
	}
	answer := g.answers[0]
	g.answers = g.answers[1:]
	g.mu.Unlock()
	switch answer := answer.(type) {
	case error:
		return Progress{}, answer
	case Progress:
		return answer, nil
	}
	return answer.(func(context.Context, Request) (Progress, error))(ctx, request)
}

// Progressed implements Owner.
func (g *rig) Progressed(_ context.Context, _ *store.Tx, state State) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse > 0 {
		g.refuse--
		return errors.New("away")
	}
	g.heard = append(g.heard, state)
	return nil
}

func (g *rig) begin(spec Spec) string {
	g.t.Helper()
	spec.Owner = "test"
	spec.Request.Caller = owner
	if spec.Request.Type == "" {
		spec.Request.Type = thing
	}
	var ids []string
	err := g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = g.Begin(ctx, tx, spec)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return ids[0]
}

func (g *rig) cancel(id string) {
	g.t.Helper()
	if err := g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) error { return g.Cancel(ctx, tx, id) }); err != nil {
		g.t.Fatal(err)
	}
}

// turn runs the worker once, as the store would, and returns how long it wants to wait.
func (g *rig) turn(id string) time.Duration {
	g.t.Helper()
	again, err := g.run(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	if again.IsZero() {
		return -1
	}
	return again.Sub(g.now())
}

// finish runs the worker until the operation ends, and returns the waits.
func (g *rig) finish(id string) (waits []time.Duration) {
	g.t.Helper()
	for range 100 {
		wait := g.turn(id)
		if wait < 0 {
			return waits
		}
		waits = append(waits, wait.Round(time.Millisecond))
		g.pass(wait)
	}
	g.t.Fatal("the operation does not end")
	return nil
}

// story is what the owner heard, in short.
func (g *rig) story() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for _, s := range g.heard {
		line := string(s.Progress.Status)
		for _, part := range []string{s.Progress.Identifier, s.Progress.ErrorCode, s.Progress.Message} {
			if part != "" {
				line += " " + part
			}
		}
		if s.Progress.Configured {
			line += " configured"
		}
		if s.Cancelled {
			line += " cancelled"
		}
		lines = append(lines, line)
	}
	return lines
}

func (g *rig) expectStory(want ...string) {
	g.t.Helper()
	if got := g.story(); !slices.Equal(got, want) {
		g.t.Errorf("the owner heard\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

func (g *rig) expectCalls(want ...string) {
	g.t.Helper()
	var got []string
	for _, c := range g.calls {
		line := fmt.Sprintf("%s id=%q callback=%s attempts=%d", c.Action, c.Identifier, c.Callback, c.Attempts)
		got = append(got, line)
		if c.Token != g.calls[0].Token || c.Token == "" {
			g.t.Errorf("a call has the token %q, the first one has %q", c.Token, g.calls[0].Token)
		}
	}
	if !slices.Equal(got, want) {
		g.t.Errorf("calls\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

func busy(delay time.Duration, callback string) Progress {
	return Progress{Status: cfn.OperationStatusInProgress, Identifier: "i", Delay: delay, Callback: []byte(callback), Model: map[string]any{"Id": "i", "Size": "7"}}
}

func done() Progress {
	return Progress{Status: cfn.OperationStatusSuccess, Identifier: "i", Model: map[string]any{"Id": "i"}}
}

func failed(code invoke.Code) Progress {
	return Progress{Status: cfn.OperationStatusFailed, ErrorCode: string(code), Message: "m"}
}

func refused(t testing.TB, err error, code, message string) {
	t.Helper()
	var refusal *awswire.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want the refusal %s: %s", err, code, message)
	}
	if refusal.Code != code || !strings.Contains(refusal.Message, message) {
		t.Errorf("refused with\n %s: %s\nwant\n %s: %s", refusal.Code, refusal.Message, code, message)
	}
}

func clientToken(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

func atOnce(n int, f func(context.Context) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(context.Background()) })
	}
	all.Wait()
	return errs
}
