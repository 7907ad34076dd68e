package contract

import (
	"fmt"
	"slices"
	"strings"
)

// An expectation is what the events of an operation on a stack have to show.
type expectation struct {
	what    string   // "the creation of the stack"
	status  string   // of the stack in the end
	history []string // the statuses of the resource, one after the other
	or      []string // or these, which another service writes
	anyWay  bool     // the order depends on the type
	clause  string
}

// The histories of the resource, repetitions left out.
var (
	createdHistory  = []string{"CREATE_IN_PROGRESS", "CREATE_COMPLETE"}
	updatedHistory  = []string{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}
	replacedHistory = []string{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"}
	deletedHistory  = []string{"DELETE_IN_PROGRESS", "DELETE_COMPLETE"}
	retainedHistory = []string{"DELETE_SKIPPED"}
	importedHistory = []string{"IMPORT_IN_PROGRESS", "IMPORT_COMPLETE"}
	undoneHistory   = slices.Concat(createdHistory, deletedHistory)
	restoredHistory = slices.Concat(updatedHistory, updatedHistory)
	// A replacement that is undone: the old resource is back, then the new one is deleted.
	unreplacedHistory = slices.Concat(updatedHistory, updatedHistory, deletedHistory)
	// An import after which the tags of the stack are applied.
	taggedHistory = slices.Concat(importedHistory, updatedHistory)
)

// judge holds the events of an operation against what they have to show.
func judge(out *StackOutcome, want expectation) *Violation {
	if out.Status != want.status {
		return violated(want.clause, "%s ended in %s; expected %s%s", want.what, out.Status, want.status, failureOf(out))
	}
	got, expected := historyOf(out.Events), want.history
	if want.anyWay {
		got, expected = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(expected))
	}
	if !slices.Equal(got, expected) && (want.or == nil || !slices.Equal(got, want.or)) {
		return violated(want.clause, "the events of the resource during %s were %s; expected %s%s", want.what, orNone(historyOf(out.Events)), orNone(want.history), failureOf(out))
	}
	return nil
}

func orNone(history []string) string {
	if len(history) == 0 {
		return "none"
	}
	return strings.Join(history, ", ")
}

// historyOf is what the events say of the resource under test, repetitions left out. Events
// that only announce what the service itself does are none of them.
func historyOf(events []StackEvent) []string {
	var out []string
	for _, e := range events {
		if e.LogicalID == subject {
			out = append(out, e.Status)
		}
	}
	return slices.Compact(out)
}

// failureOf is the first failure of a resource, as the end of a message; "" if there is none.
func failureOf(out *StackOutcome) string {
	for _, e := range out.Events {
		if e.LogicalID == subject && strings.HasSuffix(e.Status, "_FAILED") {
			return fmt.Sprintf(": %s %s: %s", e.LogicalID, e.Status, oneLine(e.Reason))
		}
	}
	if out.Reason != "" {
		return ": " + oneLine(out.Reason)
	}
	return ""
}

// identifiersOf are the physical IDs of the resource under test, each once.
func identifiersOf(events []StackEvent) []string {
	var out []string
	for _, e := range events {
		if e.LogicalID == subject && e.PhysicalID != "" && !slices.Contains(out, e.PhysicalID) {
			out = append(out, e.PhysicalID)
		}
	}
	return out
}

// identifierOf is the one physical ID that all events of the resource have.
func identifierOf(out *StackOutcome) (string, error) {
	switch ids := identifiersOf(out.Events); len(ids) {
	case 0:
		return "", violated(clauseText("create.identifier"), "no event of the resource has a physical ID")
	case 1:
		return ids[0], nil
	default:
		return "", violated(clauseText("create.identifier-stays"), "the resource had the physical ID %q, then %q in the same operation", ids[0], ids[1])
	}
}

// stays wants the resource to have the identifier that it had before.
func stays(out *StackOutcome, was, what string) *Violation {
	for _, id := range identifiersOf(out.Events) {
		if id != was {
			return violated(clauseText("update.identifier-stays"), "the physical ID was %q before %s and is %q now", was, what, id)
		}
	}
	return nil
}

// successor is the identifier of the resource that replaces another one.
func successor(out *StackOutcome, was string) (string, *Violation) {
	for _, e := range slices.Backward(out.Events) {
		if e.LogicalID == subject && e.Status == "UPDATE_COMPLETE" && e.PhysicalID != was {
			return e.PhysicalID, nil
		}
	}
	return "", violated(clauseReplaced, "the resource still has the physical ID %q after its replacement", was)
}

// deletedInstead wants the identifier of every resource that the events delete.
func deletedInstead(out *StackOutcome, want string) *Violation {
	for _, e := range out.Events {
		if e.LogicalID == subject && e.Status == "DELETE_COMPLETE" && e.PhysicalID != want {
			return violated(clauseReplaced, "the resource %q was deleted; expected %q to be", e.PhysicalID, want)
		}
	}
	return nil
}

const (
	clauseReplaced = "A change of a create-only property creates another resource, then deletes the old one."
	clauseUndone   = "An operation that fails is undone: the resource is as it was before."
)
