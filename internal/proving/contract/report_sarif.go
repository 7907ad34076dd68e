package contract

import (
	"io"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Problems are the failures of a summary as problems of the schema: each is at the handler
// that the schema declares for it, has the ID "contract/" and the name of the test, and the
// broken clause as its hint. Remaining resources are warnings.
func Problems(s *Summary, of *schema.Schema) diag.List {
	var out diag.List
	for _, r := range s.Results {
		if !r.broken() {
			continue
		}
		p := diag.Problem{ID: "contract/" + r.Case.Name(), Message: strings.TrimSuffix(firstLine(r.Message), "."), Hint: r.Clause}
		if r.Phase != CallPhase {
			p.Message = "at " + string(r.Phase) + ": " + p.Message
		}
		if h := handlerOf(r, of); h != nil {
			p.At, p.Pointer = h.At, document.Pointer{"handlers", h.Action}.String()
		} else {
			p.At = diag.Range{File: of.File}
		}
		for _, d := range r.Differences {
			p.Related = append(p.Related, diag.Note{At: placeOf(of, d.Pointer), Message: d.String()})
		}
		out.Add(p)
		for _, more := range r.More {
			out.Add(diag.Problem{ID: p.ID, At: p.At, Pointer: p.Pointer, Message: firstLine(more.Message), Hint: more.Clause})
		}
	}
	for _, left := range s.LeftBehind {
		out.Add(diag.Problem{ID: "contract/left-behind", Severity: diag.Warning, At: diag.Range{File: of.File}, Message: "left behind: " + left, Hint: "delete it manually"})
	}
	return out
}

// handlerOf is the handler that a failure is about: that of the last call which was made
// for the case, else the first that the case needs.
func handlerOf(r *Result, of *schema.Schema) *schema.Handler {
	if len(r.Calls) > 0 && !strings.HasPrefix(r.Case.Name(), "contract_check") {
		action := r.Calls[len(r.Calls)-1].Action
		if f := r.Case; strings.HasPrefix(f.ID, "faults.py::") && len(f.Needs) > 0 {
			return of.Handler(f.Needs[0]) // what came after the fault only shows its effect
		}
		if h := of.Handler(action.Handler()); h != nil {
			return h
		}
	}
	for _, need := range r.Case.Needs {
		if h := of.Handler(need); h != nil {
			return h
		}
	}
	return of.Handler(invoke.Create.Handler())
}

// placeOf is where the schema defines what a pointer into a model names.
func placeOf(of *schema.Schema, pointer document.Pointer) diag.Range {
	for n := len(pointer); n > 0; n-- {
		if v := of.Property(pointer[:n]); v != nil {
			return v.At
		}
	}
	return diag.Range{File: of.File}
}

// WriteSARIF writes the failures of a summary as SARIF 2.1.0, at their places in the schema.
func WriteSARIF(w io.Writer, s *Summary, of *schema.Schema) error {
	return diag.Print(w, Problems(s, of), "sarif")
}
