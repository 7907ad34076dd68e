package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A family is a kind of fault that create, update and delete handlers are tested with.
type family struct {
	name   string
	clause string
	upsets []upset
	kinds  []httptape.Kind
	times  int
	pairs  bool // two faults at a time, of all families
}

const (
	clauseOnce     = "The same client request token makes one resource, however often and however close together a call with it is delivered."
	clauseLost     = "An operation whose answer was lost ends as it would have, when it is asked for again with the same token."
	clauseKilled   = "Nothing that an operation needs lives in the memory of a process between two of its calls."
	clauseLate     = "A call that arrives late, with the callback context of an earlier one, undoes nothing and makes nothing again."
	clauseOutbound = "A call to another service that fails for a moment does not end the operation, or ends it with an error code that allows another try."
	clauseOutage   = "An operation that cannot reach another service leaves nothing behind that no event has named."
	clausePairs    = "Two faults in one operation do it no more harm than one."
)

var families = []family{
	{name: "same_token_twice", clause: clauseOnce, upsets: []upset{twice}},
	{name: "same_token_at_once", clause: clauseOnce, upsets: []upset{atOnce}},
	{name: "lost_response", clause: clauseLost, upsets: []upset{lost}},
	{name: "killed", clause: clauseKilled, upsets: []upset{killed}},
	{name: "late_context", clause: clauseLate, upsets: []upset{late}},
	{name: "throttled", clause: clauseOutbound, kinds: []httptape.Kind{httptape.Throttle}},
	{name: "server_error", clause: clauseOutbound, kinds: []httptape.Kind{httptape.ServerError}},
	{name: "cut", clause: clauseOutbound, kinds: []httptape.Kind{httptape.CutBefore, httptape.CutAfter}},
	{name: "outage", clause: clauseOutage, kinds: []httptape.Kind{httptape.ServerError}, times: outage},
	{name: "two_faults", clause: clausePairs, upsets: []upset{twice, atOnce, lost, killed, late}, kinds: []httptape.Kind{httptape.Throttle, httptape.ServerError, httptape.CutBefore, httptape.CutAfter}, pairs: true},
}

// FaultCases are the tests of handlers under [Faults], in the order in which they run,
// after all others.
var FaultCases = faultCases()

func faultCases() []Case {
	var out []Case
	for _, action := range []invoke.Action{invoke.Create, invoke.Update, invoke.Delete} {
		for _, f := range families {
			out = append(out, Case{
				ID: "faults.py::contract_" + action.Handler() + "_" + f.name, Needs: []string{action.Handler()}, Clause: f.clause, alone: true,
				run: func(ctx context.Context, r *run) error { return r.underFaults(ctx, action, f) },
			})
		}
	}
	return out
}

// underFaults plays an operation with every schedule of a family, until one of them
// breaks the handler.
func (r *run) underFaults(ctx context.Context, action invoke.Action, f family) error {
	faults := r.cfg.Faults
	switch {
	case !f.pairs && slices.Contains(f.upsets, killed) && faults.Restarter == nil:
		return skipped("The handlers run elsewhere: only local processes can be killed.")
	case f.upsets == nil && faults.Network == nil:
		return skipped("The outbound calls of the handlers do not go through cfn.")
	}
	f = faults.possible(f)
	without, err := r.play(ctx, action, f.clause, nil)
	if err != nil {
		return prefixed("even without a fault", err)
	}
	schedules := f.singles(action, without)
	if f.pairs {
		count := faults.Pairs
		if count == 0 {
			count = DefaultPairs
		}
		schedules = pairs(schedules, max(count, 0), r.cfg.Seed)
	}
	if len(schedules) == 0 {
		if f.upsets == nil {
			return skipped(fmt.Sprintf("cfn saw no network calls from %s.", action))
		}
		return skipped(fmt.Sprintf("%s ends in one call.", action))
	}
	for _, s := range schedules {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if _, err := r.play(ctx, action, f.clause, s); err != nil {
			return r.withFewerFaults(ctx, action, f.clause, s, err)
		}
	}
	return nil
}

// possible leaves out of a family what cannot be done here.
func (f *Faults) possible(of family) family {
	if f.Restarter == nil {
		of.upsets = slices.DeleteFunc(slices.Clone(of.upsets), func(u upset) bool { return u == killed })
	}
	if f.Network == nil {
		of.kinds = nil
	}
	return of
}

// withFewerFaults removes faults from a schedule as long as the handler still breaks and
// the time for it lasts, and returns how it breaks with those that are left.
func (r *run) withFewerFaults(ctx context.Context, action invoke.Action, clause string, s schedule, err error) error {
	calls := r.calls
	for i := 0; i < len(s) && len(s) > 1; {
		expected, waiting := r.cost(r.calls)
		if waiting > longestShrinkDelay || !r.shrinking.allows(expected) || ctx.Err() != nil {
			break
		}
		r.shrinking.spend(expected)
		fewer := slices.Delete(slices.Clone(s), i, i+1)
		if _, again := r.play(ctx, action, clause, fewer); again != nil && ctx.Err() == nil {
			s, err, calls, i = fewer, again, r.calls, 0
			continue
		}
		i++
	}
	r.calls = calls
	return prefixed(s.describe(action), err)
}

// prefixed puts the schedule before what happened.
func prefixed(schedule string, err error) error {
	var broken *Violation
	if errors.As(err, &broken) {
		out := *broken
		out.Message = schedule + ": " + out.Message
		return &out
	}
	return fmt.Errorf("%s: %w", schedule, err)
}

// play takes a resource through its life with one operation upset, and looks at what
// came of it: the operation converged, on one resource, and in the end nothing is left.
func (r *run) play(ctx context.Context, action invoke.Action, clause string, s schedule) (extent, error) {
	r.calls = nil
	input, err := r.createInput()
	if err != nil {
		return extent{}, err
	}
	p := &play{run: r, clause: clause, schedule: s, listing: input}
	if err := p.lookAround(ctx); err != nil {
		return extent{}, err
	}
	switch action {
	case invoke.Create:
		err = p.create(ctx, input)
	case invoke.Update:
		err = p.update(ctx, input)
	default:
		err = p.delete(ctx, input)
	}
	return p.extent, err
}

// A play is one run of an upset operation with what belongs to it.
type play struct {
	*run
	clause   string
	schedule schedule
	extent   extent

	listing map[string]any            // the input model of LIST
	before  map[string]map[string]any // what LIST returned at first, by name; nil without a list handler
}

// lookAround lists what exists before.
func (p *play) lookAround(ctx context.Context) (err error) {
	p.before, err = p.everything(ctx)
	return err
}

// everything is what LIST returns on all of its pages, by the names of the resources.
func (p *play) everything(ctx context.Context) (map[string]map[string]any, error) {
	if p.cfg.Schema.Handler("list") == nil {
		return nil, nil
	}
	found := map[string]map[string]any{}
	token := ""
	for range maxPages {
		event, err := p.succeeded(ctx, invoke.Request{Action: invoke.List, Model: p.listing, NextToken: token}, clauseList)
		if err != nil {
			return nil, err
		}
		for _, model := range event.Models {
			found[p.name(model)] = model
		}
		if token = event.NextToken; token == "" {
			return found, nil
		}
	}
	return nil, p.violation(clauseList, "LIST never ends")
}

// others fails if resources have appeared besides the one, which may be nil.
func (p *play) others(ctx context.Context, model map[string]any) error {
	now, err := p.everything(ctx)
	if err != nil || now == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, was := p.before[name]; !was && (model == nil || name != p.name(model)) {
			return p.violation(p.clause, "%s exists afterwards, although it was not there before and was not requested", name)
		}
	}
	if model != nil && now[p.name(model)] == nil {
		return p.violation(p.clause, "%s is not in the list afterwards", p.name(model))
	}
	return nil
}

// upset executes the operation of the play, and retries as often as its error codes allow.
func (p *play) upset(ctx context.Context, req invoke.Request, expected map[string]any) (*invoke.Event, error) {
	token := p.newToken()
	f := &upsetFunction{run: p.run, next: p.cfg.Function, action: req.Action, schedule: p.schedule, known: expected, token: token}
	cfg := *p.cfg
	cfg.Function, cfg.NewToken = f, func() string { return token }
	plain := p.run.cfg
	p.run.cfg = &cfg
	defer func() { p.run.cfg = plain }()
	network := p.cfg.Faults.Network
	if network != nil {
		network.Inject(p.schedule.outbound()...)
		defer network.Inject()
	}
	var event *invoke.Event
	var err error
	for range maxTries {
		event, err = p.operate(ctx, req)
		if err != nil || event.Status == invoke.Success || !event.ErrorCode.Retriable() || len(p.schedule) == 0 {
			break
		}
	}
	p.extent.calls = f.calls
	if network != nil {
		p.extent.outbound = len(network.Exchanges())
	}
	if err == nil && f.second != nil {
		err = p.violation(p.clause, "%s answered with two resources: %s and %s", req.Action, p.name(f.known), p.name(f.second))
	}
	return event, err
}

// maxTries is how often an operation is tried that fails with a retryable error code.
const maxTries = 4

// create is the play of CREATE.
func (p *play) create(ctx context.Context, input map[string]any) error {
	event, err := p.upset(ctx, invoke.Request{Action: invoke.Create, Model: input}, nil)
	if err != nil {
		return err
	}
	if event.Status != invoke.Success {
		if !p.schedule.mayFail() {
			return p.violation(p.clause, "CREATE ended with %s; expected SUCCESS", p.describe(event))
		}
		return p.remains(ctx)
	}
	read, err := p.readBack(ctx, event.Model)
	if err != nil {
		return err
	}
	if err := p.sameAsRequested(input, read); err != nil {
		return err
	}
	if err := p.others(ctx, event.Model); err != nil {
		return err
	}
	return p.end(ctx, event.Model)
}

// remains deletes resources that a failed create has reported, as the service does, and looks
// for unreported ones.
func (p *play) remains(ctx context.Context) error {
	for _, entry := range slices.Clone(p.live.entries) {
		if _, known := schema.Identifier(entry.model, p.cfg.Schema.PrimaryIdentifier); !known {
			continue
		}
		if _, err := p.operate(ctx, invoke.Request{Action: invoke.Delete, Model: entry.model}); err != nil {
			return err
		}
	}
	return p.others(ctx, nil)
}

// update is the play of UPDATE.
func (p *play) update(ctx context.Context, input map[string]any) error {
	model, err := p.run.create(ctx, input)
	if err != nil {
		return err
	}
	update, err := p.updateInput(model)
	if err != nil {
		return errors.Join(err, p.run.delete(ctx, model))
	}
	event, err := p.upset(ctx, invoke.Request{Action: invoke.Update, Model: update, Previous: model}, model)
	if err != nil {
		return err
	}
	failed := event.Status != invoke.Success
	if failed && !p.schedule.mayFail() {
		return p.violation(p.clause, "UPDATE ended with %s; expected SUCCESS", p.describe(event))
	}
	read, err := p.readBack(ctx, model)
	if err != nil {
		return err
	}
	if !failed {
		if err := p.sameAsRequested(update, read); err != nil {
			return err
		}
	}
	if err := p.others(ctx, model); err != nil {
		return err
	}
	return p.end(ctx, model)
}

// delete is the play of DELETE. A repetition that no longer finds the resource has
// reached what it was to.
func (p *play) delete(ctx context.Context, input map[string]any) error {
	model, err := p.run.create(ctx, input)
	if err != nil {
		return err
	}
	event, err := p.upset(ctx, invoke.Request{Action: invoke.Delete, Model: model}, model)
	if err != nil {
		return err
	}
	if gone := event.Status == invoke.Success || event.ErrorCode == invoke.NotFound && len(p.schedule) > 0; !gone {
		if !p.schedule.mayFail() {
			return p.violation(p.clause, "DELETE ended with %s; expected SUCCESS", p.describe(event))
		}
		if err := p.run.delete(ctx, model); err != nil {
			return err
		}
	}
	return p.gone(ctx, model)
}

// readBack reads the resource, which has kept its identifier.
func (p *play) readBack(ctx context.Context, model map[string]any) (map[string]any, error) {
	event, err := p.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: model}, p.clause)
	if err != nil {
		return nil, err
	}
	if !p.sameIdentifier(model, event.Model) {
		return nil, p.violation(p.clause, "READ of %s returned %s", p.name(model), p.name(event.Model))
	}
	return event.Model, nil
}

// end deletes the resource and looks whether anything is left.
func (p *play) end(ctx context.Context, model map[string]any) error {
	if err := p.run.delete(ctx, model); err != nil {
		return err
	}
	return p.gone(ctx, model)
}

func (p *play) gone(ctx context.Context, model map[string]any) error {
	event, err := p.operate(ctx, invoke.Request{Action: invoke.Read, Model: model})
	if err != nil {
		return err
	}
	if event.ErrorCode != invoke.NotFound {
		p.live.add(model) // so that it is deleted in the end
		return p.violation(p.clause, "READ of %s ended with %s after its deletion; expected FAILED NotFound", p.name(model), p.describe(event))
	}
	return p.others(ctx, nil)
}
