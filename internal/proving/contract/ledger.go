package contract

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A ledger lists resources that were created and not deleted since.
type ledger struct {
	entries []ledgerEntry
	made    int              // number of entries
	ever    []map[string]any // models with identifiers of all that was created
}

type ledgerEntry struct {
	key    int // of the operation
	model  map[string]any
	failed invoke.Code // of the CREATE, "" if it did not end with FAILED
	tried  bool        // its deletion failed before
}

func (l *ledger) add(model map[string]any) (key int) {
	l.made++
	l.entries = append(l.entries, ledgerEntry{key: l.made, model: model})
	return l.made
}

func (l *ledger) update(key int, model map[string]any) {
	l.ever = append(l.ever, model)
	for i := range l.entries {
		if l.entries[i].key == key {
			l.entries[i].model = model
		}
	}
}

// forget removes a deleted resource.
func (l *ledger) forget(s *schema.Schema, model map[string]any) {
	l.entries = slices.DeleteFunc(l.entries, func(e ledgerEntry) bool { return sameIdentifier(s, e.model, model) })
}

// remove strikes out what an operation has made.
func (l *ledger) remove(key int) {
	l.entries = slices.DeleteFunc(l.entries, func(e ledgerEntry) bool { return e.key == key })
}

// retry leaves the deletion of what an operation has made to the end of the set.
func (l *ledger) retry(key int) {
	for i := range l.entries {
		if l.entries[i].key == key {
			l.entries[i].tried = true
		}
	}
}

// settle strikes out what an operation has shown not to exist. It reports whether a CREATE ended
// without an identifier, so that nothing can be known about what it has made.
func (l *ledger) settle(s *schema.Schema, req *invoke.Request, key int, event *invoke.Event) (unsure bool) {
	if req.Action == invoke.Create && (event == nil || event.ErrorCode != invoke.AlreadyExists) {
		unsure = slices.ContainsFunc(l.entries, func(e ledgerEntry) bool {
			_, known := schema.Identifier(e.model, s.PrimaryIdentifier)
			return e.key == key && !known
		})
	}
	if event == nil || !event.Terminal() {
		return unsure
	}
	switch {
	case req.Action == invoke.Create && event.Status == invoke.Failed:
		l.entries = slices.DeleteFunc(l.entries, func(e ledgerEntry) bool {
			_, known := schema.Identifier(e.model, s.PrimaryIdentifier)
			return e.key == key && (event.ErrorCode == invoke.AlreadyExists || event.Model == nil && !known)
		})
		for i := range l.entries {
			if l.entries[i].key == key {
				l.entries[i].failed = event.ErrorCode
			}
		}
	case req.Action == invoke.Update && event.Status == invoke.Success && event.Model != nil:
		known := slices.ContainsFunc(l.entries, func(e ledgerEntry) bool { return sameIdentifier(s, e.model, event.Model) })
		if !known {
			l.ever = append(l.ever, event.Model)
			l.add(event.Model) // an update that made a resource
		}
	case req.Action == invoke.Delete && (event.Status == invoke.Success || event.ErrorCode == invoke.NotFound):
		l.forget(s, req.Model)
	}
	return unsure
}
