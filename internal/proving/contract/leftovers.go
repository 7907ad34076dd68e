package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

const causeUnnamed = "CREATE ended without an identifier"

// leftovers are the resources that a set could not delete, by the cause.
type leftovers []leftover

type leftover struct {
	cause string
	names []string // of resources; none if there may only be some
	calls int      // of CREATE that may have made one
}

// add adds a resource, or with the name "" a CREATE that may have made one.
func (l *leftovers) add(cause, name string) {
	i := slices.IndexFunc(*l, func(o leftover) bool { return o.cause == cause && (len(o.names) == 0) == (name == "") })
	if i < 0 {
		i = len(*l)
		*l = append(*l, leftover{cause: cause})
	}
	of := &(*l)[i]
	switch {
	case name == "":
		of.calls++
	case !slices.Contains(of.names, name):
		of.names = append(of.names, name)
	}
}

// found takes back so many calls of CREATE without an identifier: what they made has a name now.
func (l *leftovers) found(calls int) {
	*l = slices.DeleteFunc(*l, func(o leftover) bool { return o.cause == causeUnnamed && o.calls <= calls })
}

// merge adds those of another set.
func (l *leftovers) merge(others leftovers) {
	for _, o := range others {
		for _, name := range o.names {
			l.add(o.cause, name)
		}
		for range o.calls {
			l.add(o.cause, "")
		}
	}
}

// lines are one line for each cause.
func (l leftovers) lines() []string {
	var out []string
	for _, o := range l {
		if len(o.names) > 0 {
			out = append(out, strings.Join(o.names, ", ")+": "+o.cause)
		} else {
			out = append(out, fmt.Sprintf("%s: a resource may be left (%s)", o.cause, words.Count(o.calls, "call")))
		}
	}
	return out
}

// clearAway deletes what a case has created and not deleted, so that the next ones can create the
// same. The resource that the cases of a file share stays. What cannot be deleted is tried
// again at the end of the set.
func (l *setRun) clearAway(ctx context.Context) {
	if ctx.Err() != nil || l.stuck || !l.answered.Load() {
		return // the sweep has to be enough
	}
	l.alone.RLock()
	defer l.alone.RUnlock()
	r := l.newRun(l.inputs)
	r.lenient = true
	for _, entry := range slices.Clone(l.live.entries) {
		if _, known := schema.Identifier(entry.model, l.cfg.Schema.PrimaryIdentifier); !known || entry.tried || l.shares(entry.model) {
			continue
		}
		reason, code := r.discard(l.cleaning, entry.model)
		if reason == "" || entry.impossible(code) {
			l.live.remove(entry.key)
			continue
		}
		l.undeleted, l.stuck = true, code == ""
		l.live.retry(entry.key)
	}
}

// shares reports whether a resource is the one that the cases of a file share.
func (l *setRun) shares(model map[string]any) bool {
	r := l.sharing
	return r != nil && r.teardown != nil && (r.sameIdentifier(r.shared.model, model) || r.sameIdentifier(r.shared.updated, model))
}

// sweep deletes what a set has left behind: resources of failed cases, and those that a
// handler created where it should have refused to.
func (l *setRun) sweep() {
	if len(l.live.entries) == 0 {
		return
	}
	l.alone.RLock()
	defer l.alone.RUnlock()
	r := l.newRun(l.inputs)
	r.lenient = true
	for _, entry := range slices.Clone(l.live.entries) {
		if _, known := schema.Identifier(entry.model, l.cfg.Schema.PrimaryIdentifier); !known {
			l.left.add(causeUnnamed, "")
			continue
		}
		switch reason, code := r.discard(l.cleaning, entry.model); {
		case reason == "", entry.impossible(code):
		case entry.failed != "":
			l.left.add("CREATE failed, and "+reason, "")
		default:
			l.left.add(reason, r.name(entry.model))
		}
	}
	l.live.entries = nil
}

// impossible reports whether CREATE and, with the given code, DELETE called the input invalid: no resource
// can have its identifier.
func (e *ledgerEntry) impossible(code invoke.Code) bool {
	return e.failed == invoke.InvalidRequest && code == invoke.InvalidRequest
}
