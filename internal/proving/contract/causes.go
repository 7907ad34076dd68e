package contract

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A Cause is what several tests failed for: the same violation, but for values that differ
// from test to test.
type Cause struct {
	Results []*Result // in the order in which they ran; the first one represents all
}

// First is the result that represents the cause.
func (c *Cause) First() *Result { return c.Results[0] }

// Causes groups the failures and errors of a summary, in the order in which each cause came
// up first. Results with differences belong together if the same properties differ in the
// same way, others if their clauses and messages are the same, generated values aside.
func (s *Summary) Causes() []*Cause {
	var causes []*Cause
	byKey := map[string]*Cause{}
	for _, r := range s.Results {
		if !r.broken() {
			continue
		}
		key := causeKey(r)
		if byKey[key] == nil {
			byKey[key] = &Cause{}
			causes = append(causes, byKey[key])
		}
		byKey[key].Results = append(byKey[key].Results, r)
	}
	return causes
}

// broken reports whether the result shows an error of the handlers.
func (r *Result) broken() bool { return r.Outcome == Failed || r.Outcome == Errored }

func causeKey(r *Result) string {
	if len(r.Differences) == 0 {
		return r.Clause + "\n" + withoutValues(r.Message)
	}
	lines := make([]string, len(r.Differences))
	for i, d := range r.Differences {
		lines[i] = starred(d.Pointer).String() + " " + d.Kind
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// values are the parts of a message that differ from run to run: quoted texts, values of
// identifiers, and words with a digit in them.
var values = lazyregexp.New(`"(?:[^"\\]|\\.)*"|(/[^\s=]+)=[^\s,;]+|[\pL\pN_.:+-]*\pN[\pL\pN_.:+-]*`)

// withoutValues is a message with an ellipsis in the place of each value.
func withoutValues(message string) string {
	return values.ReplaceAllString(message, "$1…")
}

// starred is a pointer with "*" in the place of the numbers of items.
func starred(pointer document.Pointer) document.Pointer {
	out := slices.Clone(pointer)
	for i, token := range out {
		if token != "" && strings.Trim(token, "0123456789") == "" {
			out[i] = "*"
		}
	}
	return out
}
