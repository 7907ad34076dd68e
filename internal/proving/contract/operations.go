package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A run is what the cases of one file work with: the operations, and the resource that
// they share.
type run struct {
	*setRun
	cfg    *Config
	inputs *InputSet
	wire   invoke.Wire

	shared   shared
	prepared bool
	broken   error  // of the fixture: every further case that needs it ends with it
	making   []Call // of the fixture
	made     []Draw // inputs that were generated for the fixture
	ready    bool   // the fixture was made, or could not be
	teardown func(context.Context) error

	current  *Case // nil outside of cases
	start    time.Time
	calls    []Call
	drawn    []Draw // inputs that were generated for the case
	observed []*Violation
	note     string // of the case, see Result
	lenient  bool   // only the end of an operation matters, not the rules for its events

	notExercised []Untested // of the case

	// unsure and madeUnsure report whether the case and the fixture may have left a resource.
	unsure, madeUnsure bool
}

// shared is the resource of a fixture.
type shared struct {
	input, model    map[string]any // of the create: requested and returned
	update, updated map[string]any // of the update: requested and returned
}

// begin clears the records of the previous case.
func (r *run) begin(c *Case) {
	r.start, r.current = r.cfg.Now(), c
	r.calls, r.drawn, r.observed, r.note, r.unsure, r.notExercised = nil, nil, nil, "", false, nil
}

// untested records that the case cannot exercise a clause.
func (r *run) untested(clause, why string) {
	r.notExercised = append(r.notExercised, Untested{clause, why})
}

func (r *run) violation(clause, format string, args ...any) error {
	return violated(clause, format, args...)
}

// operate carries out an operation, checks every event by the rules that hold for all,
// and keeps the calls for the report. The error is a *Violation where the handler is to
// blame, whatever way it failed in.
func (r *run) operate(ctx context.Context, req invoke.Request) (*invoke.Event, error) {
	s := r.cfg.Schema
	key := 0
	if req.Action == invoke.Create {
		if req.Token == "" {
			req.Token = r.newToken()
		}
		key = r.live.add(req.Model)
	}
	req.TypeName = s.TypeName.Value
	req.TypeConfiguration = r.cfg.TypeConfiguration
	limit := r.callLimit(req.Action)
	clock := r.newClock(req.Action)
	watch := r.newWatch(&req)
	runner := invoke.New(invoke.Config{
		Function: r.cfg.Function, Schema: s,
		Credentials: r.cfg.Credentials, LogGroup: r.cfg.LogGroup, LogCredentials: r.cfg.LogCredentials,
		Region: r.cfg.Region, AccountID: r.cfg.AccountID, Wire: r.wire,
		CallTimeout: limit, Timeout: min(r.cfg.EnforceTimeout, 0), Redactor: r.redactor,
		Sleep: clock.sleep, NewToken: r.cfg.NewToken, Now: r.cfg.Now,
		AfterCall: func(c *invoke.Call) error {
			r.keep(c)
			if c.Event != nil {
				keepTexts(c.Event)
			}
			watch.call(c)
			if c.Event == nil {
				return nil
			}
			if req.Action == invoke.Create && c.Event.Model != nil {
				r.live.update(key, c.Event.Model)
				r.tellLiving()
			}
			if v := checkEvent(s, req.Action, c.Event); v != nil && !r.lenient {
				return v
			}
			return clock.late(c)
		},
	})
	event, err := runner.Run(ctx, req)
	if !req.Action.Hook() {
		if r.live.settle(s, &req, key, event) {
			r.unsure = true
		}
		r.tellLiving()
	}
	if err == nil && event.Status == invoke.Success && (req.Action == invoke.Create || req.Action == invoke.Update) {
		// An input that is made from that model would break the schema without a write-only member that a structure requires.
		inside := slices.DeleteFunc(slices.Clone(s.WriteOnly), func(p schema.Path) bool { return len(p.Tokens) < 2 })
		schema.PutBack(event.Model, req.Model, inside)
	}
	return event, r.blame(err)
}

// keepTexts takes back what was converted for strings in the models of an event: handlers may
// return strings for numbers and booleans, but not the reverse.
func keepTexts(e *invoke.Event) {
	if e.Model != nil {
		e.Model, _ = keptTexts(e.RawModel, e.Model).(map[string]any)
	}
	for i := range e.Models {
		e.Models[i], _ = keptTexts(e.RawModels[i], e.Models[i]).(map[string]any)
	}
}

func keptTexts(raw, converted any) any {
	switch v := converted.(type) {
	case map[string]any:
		before, _ := raw.(map[string]any)
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = keptTexts(before[key], value)
		}
		return out
	case []any:
		before, _ := raw.([]any)
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = keptTexts(before[i], item)
		}
		return out
	case string:
		return raw
	}
	return converted
}

// newToken makes the client request token of an operation that the ledger must know.
func (r *run) newToken() string {
	if r.cfg.NewToken != nil {
		return r.cfg.NewToken()
	}
	return invoke.NewToken()
}

// callLimit is how long a call may take.
func (r *run) callLimit(action invoke.Action) time.Duration {
	switch {
	case r.cfg.EnforceTimeout < 0:
		return -1
	case action.Synchronous(), action.Hook():
		return r.cfg.EnforceTimeout
	}
	return 2 * r.cfg.EnforceTimeout
}

// blame makes violations of the errors of an operation.
func (r *run) blame(err error) error {
	var (
		broken *Violation
		late   *invoke.TimeoutError
		silent *invoke.CallError
		odd    *invoke.ProtocolError
	)
	switch {
	case err == nil, errors.As(err, &broken):
		return err
	case errors.As(err, &late) && late.Operation:
		return violated(clauseStabilize, "%s", late)
	case errors.As(err, &late):
		return violated(clauseAnswer, "%s (--enforce-timeout sets the limit)", late)
	case errors.As(err, &silent), errors.As(err, &odd):
		return violated(clauseAnswer, "%s", r.redactor.Text(err.Error()))
	}
	return err
}

// keep records a call for the report.
func (r *run) keep(c *invoke.Call) {
	call := Call{
		Action: c.Action, Number: c.Index + 1, start: c.Start, Offset: max(0, c.Start.Sub(r.start)), Duration: c.Duration, Delay: c.Delay,
		Message: c.Message(), Request: c.Request(), Response: c.Response(), Log: c.Log(),
	}
	if c.Event != nil {
		r.answered.Store(true)
		call.Status, call.ErrorCode = c.Event.Status, c.Event.ErrorCode
	}
	if c.Err != nil {
		call.Err = r.redactor.Text(c.Err.Error())
	}
	r.calls = append(r.calls, call)
	r.report(Event{Kind: Called, Call: &call})
}

// succeeded carries out an operation that has to end in SUCCESS.
func (r *run) succeeded(ctx context.Context, req invoke.Request, clause string) (*invoke.Event, error) {
	event, err := r.operate(ctx, req)
	if err == nil && event.Status != invoke.Success {
		err = r.violation(clause, "%s %s; expected SUCCESS", req.Action, r.ending(event))
	}
	return event, err
}

// failed carries out an operation that has to end in FAILED with the code.
func (r *run) failed(ctx context.Context, req invoke.Request, code invoke.Code, clause string) (*invoke.Event, error) {
	event, err := r.operate(ctx, req)
	if err == nil && (event.Status != invoke.Failed || event.ErrorCode != code) {
		err = r.violation(clause, "%s %s; expected FAILED %s", req.Action, r.ending(event), code)
	}
	return event, err
}

func (r *run) fails(ctx context.Context, req invoke.Request, code invoke.Code, clause string) error {
	_, err := r.failed(ctx, req, code, clause)
	return err
}

// ending is how a handler ended: with an event, or with an exception that it did not catch.
func (r *run) ending(e *invoke.Event) string {
	if e.Raised != "" {
		return strings.TrimSuffix(e.Raised, ".")
	}
	return "ended with " + r.describe(e)
}

// describe is "FAILED NotFound: the message" of an event.
func (r *run) describe(e *invoke.Event) string {
	text := string(e.Status)
	if e.ErrorCode != "" {
		text += " " + string(e.ErrorCode)
	}
	if e.Message != "" {
		text += ": " + strings.TrimSuffix(r.redactor.Text(e.Message), ".")
	}
	return text
}

// create makes a resource and returns its model.
func (r *run) create(ctx context.Context, input map[string]any) (map[string]any, error) {
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Create, Model: input},
		"A create handler ends with SUCCESS once the resource is as requested; its input is valid.")
	if err != nil {
		return nil, err
	}
	return event.Model, nil
}

// read returns the model of a resource, which has all that the given one has.
func (r *run) read(ctx context.Context, model map[string]any) (map[string]any, error) {
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: model},
		"After a create or update has succeeded, a read of the primary identifier succeeds.")
	if err != nil {
		return nil, err
	}
	return event.Model, r.sameAsRequested(model, event.Model)
}

// delete deletes a resource.
func (r *run) delete(ctx context.Context, model map[string]any) error {
	_, err := r.succeeded(ctx, invoke.Request{Action: invoke.Delete, Model: model},
		"A delete handler ends with SUCCESS once the resource is gone.")
	return err
}

// maxPages bounds a LIST whose handler never runs out of tokens.
const maxPages = 10_000

// listed looks for a resource on all pages of a LIST.
func (r *run) listed(ctx context.Context, model map[string]any) (bool, error) {
	items, err := r.list(ctx, invoke.Request{Model: model})
	return slices.ContainsFunc(items, func(item map[string]any) bool { return r.sameIdentifier(item, model) }), err
}

// list is what all pages of a LIST hold.
func (r *run) list(ctx context.Context, req invoke.Request) ([]map[string]any, error) {
	req.Action = invoke.List
	var items []map[string]any
	seen := map[string]bool{}
	for {
		event, err := r.succeeded(ctx, req, "A list handler ends with SUCCESS, also where there is nothing to list.")
		if err != nil {
			return nil, err
		}
		for _, item := range event.Models {
			if _, ok := schema.Identifier(item, r.cfg.Schema.PrimaryIdentifier); !ok {
				return nil, r.violation(clauseIdentifier, "LIST returned a model without its primary identifier")
			}
			items = append(items, item)
		}
		if req.NextToken = event.NextToken; req.NextToken == "" {
			return items, nil
		}
		if seen[req.NextToken] || len(seen) >= maxPages {
			return nil, r.violation(clauseList, "LIST returned the same nextToken twice, or more than %d pages: it never ends", maxPages)
		}
		seen[req.NextToken] = true
	}
}

// sameIdentifier reports whether two models have the same primary identifier.
func (r *run) sameIdentifier(a, b map[string]any) bool {
	return sameIdentifier(r.cfg.Schema, a, b)
}

func sameIdentifier(s *schema.Schema, a, b map[string]any) bool {
	one, ok := schema.Identifier(a, s.PrimaryIdentifier)
	other, also := schema.Identifier(b, s.PrimaryIdentifier)
	if !ok || !also {
		return false
	}
	for i := range one {
		if fmt.Sprint(one[i]) != fmt.Sprint(other[i]) && !reflect.DeepEqual(one[i], other[i]) {
			return false
		}
	}
	return true
}

// name is how messages call a resource: the values of its identifier.
func (r *run) name(model map[string]any) string {
	text := ""
	for _, path := range r.cfg.Schema.PrimaryIdentifier {
		values, ok := schema.Identifier(model, []schema.Path{path})
		value := any("(none)")
		if ok {
			value = r.redactor.Text(fmt.Sprint(values[0]))
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s=%v", path.Tokens, value)
	}
	return text
}

// generated reports whether the inputs of the case are made from the schema.
func (r *run) generated() bool { return r.inputs.Number == 0 }

// createInput is a model to create.
func (r *run) createInput() (map[string]any, error) {
	if !r.generated() {
		return schema.Clone(r.inputs.Create), nil
	}
	model, err := r.draw()
	if err != nil {
		return nil, err
	}
	if o := r.cfg.Inputs.Overrides; o != nil {
		apply(r.cfg.Schema, model, o.Create, false)
	}
	return model, nil
}

// updateInput is a model to update a created one to. From an input file it differs in the
// identifiers, which are those of the created model, and in the read-only properties,
// which are added.
func (r *run) updateInput(created map[string]any) (map[string]any, error) {
	s := r.cfg.Schema
	if r.generated() {
		out := r.drawUpdate(created)
		if o := r.cfg.Inputs.Overrides; o != nil {
			apply(s, out, o.Update, true)
		}
		return out, nil
	}
	if r.inputs.Update == nil {
		return nil, fmt.Errorf("inputs/inputs_%d_update.json is missing; the tests of the update handler need it", r.inputs.Number)
	}
	out := schema.Clone(r.inputs.Update)
	for _, path := range s.PrimaryIdentifier {
		value, given := schema.Identifier(out, []schema.Path{path})
		was, known := schema.Identifier(created, []schema.Path{path})
		if exact := slices.ContainsFunc(s.CreateOnly, func(p schema.Path) bool { return slices.Equal(p.Tokens, path.Tokens) }); !given && exact {
			return nil, r.violation("The input of an update has the create-only identifiers of the resource.",
				"inputs_%d_update.json lacks %s, which is create-only and of the primary identifier: the official suite wants it with its value from the create input", r.inputs.Number, path.Tokens)
		}
		if given && known && s.IsCreateOnly(path.Tokens) && fmt.Sprint(value[0]) != fmt.Sprint(was[0]) {
			return nil, r.violation("An update does not change create-only properties.",
				"inputs_%d_update.json changes %s, which is create-only, from %v to %v", r.inputs.Number, path.Tokens, was[0], value[0])
		}
	}
	for _, paths := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		for _, path := range paths {
			if values, ok := schema.Identifier(created, []schema.Path{path}); ok && !slices.Contains(path.Tokens, "*") {
				invoke.Put(out, path.Tokens, values[0])
				if r.lastUpdated == nil {
					r.lastUpdated = map[string]any{}
				}
				invoke.Put(r.lastUpdated, path.Tokens, values[0])
			}
		}
	}
	for key, value := range created {
		if _, given := out[key]; !given && s.IsReadOnly(document.Pointer{key}) {
			out[key] = value
		}
	}
	return out, nil
}
