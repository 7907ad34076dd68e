package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// maxTimelineCalls is how many calls of handlers a time line shows.
const maxTimelineCalls = 2000

// timelineView is one operation on a stack: a bar for each thing done to a resource.
type timelineView struct {
	*stackHead
	*stack.Timeline
	Spans   []*bracket
	Length  float64 // seconds, until now while it is in progress
	Current string  // id of the operation
	Divides float64 // what the server divides the delays of handlers by; 1 if it does not
}

// A tick is a time on the scale of a time line.
type tick struct {
	At   int // in thousandths of the operation
	Text string
}

// tickSteps are the distances between ticks, in seconds.
var tickSteps = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400}

// maxTicks is how many distances a scale has.
const maxTicks = 6

// Ticks are the scale of the time line: round times from its start.
func (v *timelineView) Ticks() []tick {
	step := v.Length / maxTicks
	for _, s := range tickSteps {
		if s >= step {
			step = s
			break
		}
	}
	var out []tick
	for i := 0; float64(i)*step <= v.Length; i++ {
		out = append(out, tick{int(float64(i) * step / v.Length * 1000), seconds(float64(i) * step)})
	}
	return out
}

// A bracket is what happens to one resource from an IN_PROGRESS event to its end.
type bracket struct {
	LogicalID, Type    string
	Status             string // of its last event
	Reason             string
	Start, End         time.Time // End is now while it runs
	Running            bool
	WaitedFor          []string // what had to end before, the last one first
	Left, Width        int      // in thousandths of the operation
	WaitLeft, WaitWide int      // from the end of what had to be done before, likewise
	Calls              []bracketCall
}

// A bracketCall is a call of the handler within a bracket.
type bracketCall struct {
	handlers.Invocation
	Left, Width int
}

func (c *Console) stackTimeline(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "timeline")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " timeline"
	id := bounded(p.query.Get("operation"), 200)
	if id == "" && len(h.Causes) > 0 {
		id = h.Causes[0].Top.Operation.ID // and not the rollback
	}
	timeline, err := c.config.Stacks.Timeline(r.Context(), p.Place, h.ARN, id)
	if err != nil {
		return nil, err
	}
	if timeline == nil {
		if id != "" {
			return nil, &fault{Status: http.StatusNotFound, Title: "Operation not found", Message: "It is too old or belongs to another stack."}
		}
		return p.timelineBody(&timelineView{stackHead: h}), nil
	}
	v := newTimeline(h, timeline, p.now)
	v.Divides = max(c.config.TimeScale, 1)
	calls, err := c.config.Calls.Invocations(r.Context(), handlers.InvocationQuery{Place: p.Place, StackID: h.ARN, Limit: maxTimelineCalls})
	if err != nil {
		return nil, err
	}
	v.addCalls(calls)
	return p.timelineBody(v), nil
}

// newTimeline makes the bars of an operation from its events.
func newTimeline(h *stackHead, t *stack.Timeline, now time.Time) *timelineView {
	end := t.EndedAt
	if end.IsZero() {
		end = now
	}
	v := &timelineView{stackHead: h, Timeline: t, Current: t.ID, Length: max(end.Sub(t.StartedAt).Seconds(), 0.001)}
	open := map[string]*bracket{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.OfStack || e.LogicalID == "" {
			continue
		}
		s := open[e.LogicalID]
		if s == nil || action(e.Status) != action(s.Status) {
			s = &bracket{LogicalID: e.LogicalID, Type: e.Type, Start: e.At, Running: true}
			open[e.LogicalID] = s
			v.Spans = append(v.Spans, s)
		}
		s.Status, s.End = e.Status, e.At
		s.Running = strings.HasSuffix(e.Status, "_IN_PROGRESS")
		if !s.Running {
			s.Reason = e.Reason
			delete(open, e.LogicalID)
		}
	}
	for _, s := range v.Spans {
		if s.Running && !t.EndedAt.IsZero() {
			s.Running = false // without an end event: the operation was canceled
		} else if s.Running {
			s.End = end
		}
	}
	needs := t.Needs
	if t.Kind == "DELETE_STACK" {
		needs = turned(needs)
	}
	for i, s := range v.Spans {
		s.Left, s.Width = v.place(s.Start, s.End)
		v.waiting(i, needs[s.LogicalID])
	}
	return v
}

// action is what a status is about: CREATE_COMPLETE and CREATE_FAILED are about CREATE.
func action(status string) string {
	for _, suffix := range []string{"_IN_PROGRESS", "_COMPLETE", "_FAILED", "_SKIPPED"} {
		if rest, found := strings.CutSuffix(status, suffix); found {
			return rest
		}
	}
	return status
}

// turned says of each resource which depend on it.
func turned(needs map[string][]string) map[string][]string {
	out := map[string][]string{}
	for id, list := range needs {
		for _, need := range list {
			out[need] = append(out[need], id)
		}
	}
	return out
}

// waiting finds the bars that had to end before another began.
func (v *timelineView) waiting(at int, needs []string) {
	s := v.Spans[at]
	last := map[string]time.Time{}
	for _, other := range v.Spans[:at] {
		if slices.Contains(needs, other.LogicalID) && !other.Running && !other.End.After(s.Start) {
			last[other.LogicalID] = other.End
		}
	}
	for id := range last {
		s.WaitedFor = append(s.WaitedFor, id)
	}
	slices.SortFunc(s.WaitedFor, func(a, b string) int { return cmp.Or(last[b].Compare(last[a]), cmp.Compare(a, b)) })
	s.WaitLeft, s.WaitWide = v.place(v.StartedAt, s.Start)
}

// place is the position of a time span on the line, and its length.
func (v *timelineView) place(start, end time.Time) (left, width int) {
	scale := 1000 / v.Length
	left = min(max(int(start.Sub(v.StartedAt).Seconds()*scale), 0), 997)
	return left, min(max(int(end.Sub(start).Seconds()*scale), 3), 1000-left)
}

// addCalls puts calls of handlers into the bars that they belong to.
func (v *timelineView) addCalls(calls []handlers.Invocation) {
	const early = 250 * time.Millisecond // clocks of nodes differ
	for _, call := range slices.Backward(calls) {
		at := call.StartedAt.Time
		for _, s := range slices.Backward(v.Spans) {
			if s.LogicalID != call.LogicalID || at.Before(s.Start.Add(-early)) || at.After(s.End) {
				continue
			}
			c := bracketCall{Invocation: call}
			c.Left, c.Width = v.place(at, at.Add(call.Duration))
			s.Calls = append(s.Calls, c)
			break
		}
	}
}

// percent is a place on the line, of thousandths.
func percent(thousandths int) string {
	return strconv.FormatFloat(float64(thousandths)/10, 'f', 1, 64) + "%"
}

// tickAnchor keeps the texts of a scale within it.
func tickAnchor(thousandths int) string {
	switch {
	case thousandths < 30:
		return "start"
	case thousandths > 940:
		return "end"
	}
	return "middle"
}

// factor is a number without what it does not need.
func factor(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

// Seconds is how long a bar is.
func (s *bracket) Seconds() float64 { return s.End.Sub(s.Start).Seconds() }

// Tone is the class of a bar.
func (s *bracket) Tone() string {
	if tone := tone(s.Status); tone != "plain" {
		return tone
	}
	return "done" // deleted
}
