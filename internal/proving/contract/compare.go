package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// sameAsRequested compares what was requested with what was returned. Read-only and
// write-only properties do not count; what was returned beyond the request does not
// either. Collections compare as the schema says: in order, or in any.
func (r *run) sameAsRequested(requested, returned map[string]any) error {
	differences := r.differences(requested, returned)
	if len(differences) > 0 {
		return r.mismatch(differences)
	}
	if r.current != nil && r.current.suite() != SuiteCore {
		return nil
	}
	if v := officialMismatch(r.cfg.Schema, requested, returned); v != nil {
		return v
	}
	return nil
}

// mismatch describes differences, secrets hidden.
func (r *run) mismatch(differences []schema.Difference) *Violation {
	return mismatch(r.cfg.Schema, r.redactor, differences)
}

func mismatch(s *schema.Schema, redactor *invoke.Redactor, differences []schema.Difference) *Violation {
	message := fmt.Sprintf("%d properties differ", len(differences))
	if len(differences) == 1 {
		message = "one property differs"
	}
	shown := make([]schema.Difference, len(differences))
	for i, d := range differences {
		d.Want, d.Got = hide(redactor, d.Want), hide(redactor, d.Got)
		shown[i] = d
	}
	message += ": " + shown[0].String()
	if name := transformed(s, differences); name != nil {
		message += fmt.Sprintf(" (the schema has a propertyTransform for %s, which does not give what was returned)", name)
	}
	return &Violation{Clause: clauseMatch, Message: message, Differences: shown}
}

// differences are those between requested and returned properties. A property whose returned
// value matches the transforms of the schema does not differ.
func (r *run) differences(requested, returned map[string]any) []schema.Difference {
	return differences(r.running, r.cfg.Schema, r.drift, requested, returned)
}

func differences(ctx context.Context, s *schema.Schema, detector *drift.Detector, requested, returned map[string]any) []schema.Difference {
	want := schema.Without(schema.Without(requested, s.ReadOnly), s.WriteOnly)
	// That write-only values are not returned is another rule; here they would only be shown.
	got := schema.Without(schema.Without(returned, s.ReadOnly), s.WriteOnly)
	differences := s.Compare(want, got, schema.CompareConfig{AllowExtra: true})
	if len(differences) == 0 || len(s.PropertyTransform) == 0 {
		return differences
	}
	result, err := detector.Compare(ctx, want, got)
	if err != nil {
		return differences
	}
	differences = nil
	for _, d := range result.Differences {
		differences = append(differences, asDifference(d))
	}
	return differences
}

// asDifference is a difference of package drift in the words of package schema.
func asDifference(d drift.Difference) schema.Difference {
	kind := map[string]string{drift.Add: "extra", drift.Remove: "missing", drift.NotEqual: "changed"}[d.DifferenceType]
	return schema.Difference{Pointer: d.PropertyPath, Kind: kind, Want: d.ExpectedValue, Got: d.ActualValue}
}

// hide removes secrets of other properties from a value that differs.
func hide(redactor *invoke.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return redactor.Text(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = hide(redactor, item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = hide(redactor, value)
		}
		return out
	}
	return v
}

// transformed names a property that differs and that the schema has a transform for.
func transformed(s *schema.Schema, differences []schema.Difference) document.Pointer {
	for _, d := range differences {
		for _, t := range s.PropertyTransform {
			if slices.Equal(t.Path.Tokens, d.Pointer) || d.Pointer.HasPrefix(t.Path.Tokens) {
				return d.Pointer
			}
		}
	}
	return nil
}
