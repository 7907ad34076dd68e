package contract

import (
	"context"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// An upsetFunction is a Function whose calls go wrong by a schedule.
type upsetFunction struct {
	run      *run
	next     invoke.Function
	action   invoke.Action
	schedule schedule
	token    string

	calls    int
	payloads [][]byte
	known    map[string]any // the resource, from the first event with its identifier
	second   map[string]any // another resource in an event; may be nil
}

// A reply is what a function answered, or did not.
type reply struct {
	payload, log []byte
	err          error
	event        *invoke.Event // may be nil
}

// Call sends a payload.
func (f *upsetFunction) Call(ctx context.Context, payload []byte) ([]byte, error) {
	reply, _, err := f.CallLogged(ctx, payload)
	return reply, err
}

// CallLogged sends a payload, with what the schedule says of this call.
func (f *upsetFunction) CallLogged(ctx context.Context, payload []byte) (answer, log []byte, err error) {
	call := f.calls
	f.calls++
	f.payloads = append(f.payloads, payload)
	upsets := f.schedule.upsets(call)
	if upsets[killed] {
		f.run.cfg.Faults.Restarter.Renew()
	}
	if upsets[lost] {
		f.extra(ctx, payload, call, "the answer was lost")
	}
	var kept reply
	if upsets[atOnce] {
		kept = f.atOnce(ctx, payload, call)
	} else {
		kept = f.send(ctx, payload)
	}
	f.learn(kept.event)
	if upsets[twice] {
		f.extra(ctx, payload, call, "delivered a second time")
	}
	if upsets[late] && call > 0 {
		f.extra(ctx, f.payloads[call-1], call-1, "delivered late, a second time")
	}
	return kept.payload, kept.log, kept.err
}

// send makes one call of the function.
func (f *upsetFunction) send(ctx context.Context, payload []byte) reply {
	var r reply
	if logged, ok := f.next.(invoke.LoggedFunction); ok {
		r.payload, r.log, r.err = logged.CallLogged(ctx, payload)
	} else {
		r.payload, r.err = f.next.Call(ctx, payload)
	}
	if r.err == nil {
		r.event, _ = invoke.Decode(r.payload, f.action, f.run.cfg.Schema) // the operation reports what is wrong with it
	}
	return r
}

// extra makes a call whose answer is dropped, and adds it to the report.
func (f *upsetFunction) extra(ctx context.Context, payload []byte, call int, why string) {
	start := f.run.cfg.Now()
	r := f.send(ctx, payload)
	f.learn(r.event)
	f.show(payload, r, call, start, why)
}

// atOnce makes a call twice at the same time. The caller gets the better answer: one that
// did not fail.
func (f *upsetFunction) atOnce(ctx context.Context, payload []byte, call int) reply {
	start := f.run.cfg.Now()
	var one, other reply
	var both sync.WaitGroup
	both.Go(func() { one = f.send(ctx, payload) })
	other = f.send(ctx, payload)
	both.Wait()
	if one.event == nil || one.event.Status == invoke.Failed {
		one, other = other, one
	}
	f.learn(one.event)
	f.learn(other.event)
	f.show(payload, other, call, start, "delivered at the same time")
	return one
}

// learn compares the resource of an event with that of the previous events. Another one is
// added to the ledger, so that it is deleted at the end.
func (f *upsetFunction) learn(e *invoke.Event) {
	if e == nil || e.Status == invoke.Failed || e.Model == nil {
		return
	}
	s := f.run.cfg.Schema
	if _, ok := schema.Identifier(e.Model, s.PrimaryIdentifier); !ok {
		return
	}
	switch {
	case f.known == nil:
		f.known = e.Model
	case sameIdentifier(s, f.known, e.Model):
		return
	default:
		f.second = e.Model
	}
	if f.action == invoke.Create {
		f.run.live.add(e.Model)
	}
}

// show puts an extra call into the report.
func (f *upsetFunction) show(payload []byte, r reply, index int, start time.Time, why string) {
	redactor := f.run.redactor
	call := Call{
		Action: f.action, Number: index + 1, start: start, Offset: max(0, start.Sub(f.run.start)), Duration: max(0, f.run.cfg.Now().Sub(start)), Err: why,
		Request: redactor.JSON(payload), Log: redactor.Text(string(r.log)),
	}
	if r.payload != nil {
		call.Response = redactor.JSON(r.payload)
	}
	if r.event != nil {
		call.Status, call.ErrorCode, call.Message, call.Delay = r.event.Status, r.event.ErrorCode, redactor.Text(r.event.Message), 0
	}
	if r.err != nil {
		call.Err += "; " + redactor.Text(r.err.Error())
	}
	f.run.calls = append(f.run.calls, call)
	f.run.report(Event{Kind: Called, Call: &call})
}
