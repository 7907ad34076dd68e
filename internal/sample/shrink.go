package sample

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/document"
)

// Bounds of the search for a smaller model.
const (
	shrinkCalls      = 500   // of the caller's function, which may run a handler
	shrinkCandidates = 20000 // models looked at
)

// Shrink looks for a smaller model that still fails: without properties, items and
// characters that the failure does not need. The result is as valid as the model: it breaks
// the same rules of the schema, usually none. It is equal to the model when nothing smaller
// fails. No candidate is asked about twice, and at most 500 altogether. The model is not
// changed.
func (g *Generator) Shrink(model map[string]any, stillFails func(map[string]any) bool) map[string]any {
	s := &shrink{g: g, fails: stillFails, breaks: g.violations(model), asked: map[string]bool{}}
	s.best, s.size = copyOf(model).(map[string]any), sizeOf(model)
	s.asked[s.size.text] = true
	for s.calls < shrinkCalls && s.looked < shrinkCandidates {
		before := s.size
		s.remove()
		s.simplify()
		if s.size == before {
			break
		}
	}
	return s.best
}

// A shrink is the search for a smaller model.
type shrink struct {
	g             *Generator
	fails         func(map[string]any) bool
	breaks        map[string]bool
	asked         map[string]bool
	best          map[string]any
	size          size
	calls, looked int
}

// A size orders models: fewer characters, then more of them an "a", then numbers nearer to
// zero.
type size struct {
	length, others int
	text           string
}

func sizeOf(v any) size {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return size{many, many, ""}
	}
	return size{b.Len(), b.Len() - bytes.Count(b.Bytes(), []byte("a")), b.String()}
}

func (s size) less(other size) bool {
	return cmp.Or(cmp.Compare(s.length, other.length), cmp.Compare(s.others, other.others), cmp.Compare(s.text, other.text)) < 0
}

// try takes a candidate over if it is smaller, as valid as before and still fails.
func (s *shrink) try(candidate map[string]any) bool {
	if s.calls >= shrinkCalls || s.looked >= shrinkCandidates {
		return false
	}
	s.looked++
	n := sizeOf(candidate)
	if !n.less(s.size) || s.asked[n.text] {
		return false
	}
	s.asked[n.text] = true
	if !maps.Equal(s.g.violations(candidate), s.breaks) {
		return false
	}
	s.calls++
	if !s.fails(copyOf(candidate).(map[string]any)) {
		return false
	}
	s.best, s.size = candidate, n
	return true
}

// edit tries the best model with a change at one place.
func (s *shrink) edit(at document.Pointer, change func(parent any, token string) any) bool {
	candidate := copyOf(any(s.best))
	parent := candidate
	for _, token := range at[:len(at)-1] {
		next, ok := get(parent, token)
		if !ok {
			return false
		}
		parent = next
	}
	changed := change(parent, at[len(at)-1])
	if len(at) > 1 {
		put(candidate, at[:len(at)-1], changed)
	}
	model, ok := candidate.(map[string]any)
	return ok && s.try(model)
}

// places are the pointers of everything in the best model, the larger parts first.
func (s *shrink) places() []document.Pointer {
	var out []document.Pointer
	queue := []document.Pointer{nil}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		v, _ := at(s.best, p)
		for _, token := range children(v) {
			place := p.Append(token)
			queue = append(queue, place)
			out = append(out, place)
		}
	}
	return out
}

// remove takes away properties and items, of long arrays half of them at once.
func (s *shrink) remove() {
	optional := slices.Sorted(maps.Keys(s.best))
	for half := len(optional) / 2; half > 1; half /= 2 {
		for _, names := range [][]string{optional[:half], optional[half:]} {
			candidate, _ := copyOf(s.best).(map[string]any)
			for _, name := range names {
				delete(candidate, name)
			}
			if s.try(candidate) {
				optional = slices.Sorted(maps.Keys(s.best))
				half = len(optional)
				break
			}
		}
	}
	for _, p := range s.places() {
		v, ok := at(s.best, p)
		if !ok {
			continue
		}
		if list, isList := v.([]any); isList {
			s.halve(p, len(list))
		}
		s.edit(p, removed)
	}
}

// halve keeps the first or the last half of an array, again and again.
func (s *shrink) halve(p document.Pointer, n int) {
	for n > 1 {
		half := n / 2
		part := func(from, to int) bool {
			return s.edit(p, func(parent any, token string) any {
				v, _ := get(parent, token)
				list, _ := v.([]any)
				put(parent, document.Pointer{token}, slices.Clone(list[from:to]))
				return parent
			})
		}
		if !part(0, half) && !part(half, n) {
			return
		}
		v, _ := at(s.best, p)
		list, _ := v.([]any)
		n = len(list)
	}
}

// removed takes a key or an item away and returns what is left.
func removed(parent any, token string) any {
	switch parent := parent.(type) {
	case map[string]any:
		delete(parent, token)
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i < len(parent) {
			return slices.Delete(parent, i, i+1)
		}
	}
	return parent
}

// simplify replaces parts of the model by simpler ones.
func (s *shrink) simplify() {
	for _, p := range s.places() {
		v, ok := at(s.best, p)
		if !ok {
			continue
		}
		for again := true; again; {
			again = false
			for _, simpler := range s.simpler(v, p) {
				if s.edit(p, func(parent any, token string) any {
					put(parent, document.Pointer{token}, simpler)
					return parent
				}) {
					v, again = simpler, true
					break
				}
			}
		}
	}
}

// simpler lists candidates for a value, the simplest first.
func (s *shrink) simpler(v any, p document.Pointer) []any {
	var out []any
	if node := s.g.schema.Property(p); node != nil {
		r := s.g.start(Minimal)
		r.most = s.g.cfg.MaxSteps / 16
		if least, err := r.value([]*document.Value{node}, p, state{depth: len(p), sparse: true}); err == nil {
			out = append(out, least)
		}
		for _, value := range s.g.rulesOf(node).values[:min(len(s.g.rulesOf(node).values), 8)] {
			out = append(out, value.Any())
		}
	}
	switch v := v.(type) {
	case bool:
		out = append(out, true) // shorter than false
	case string:
		out = append(out, shorter(v)...)
	case json.Number:
		out = append(out, smaller(v)...)
	}
	return out
}

// shorter are texts with less in them: nothing, one half, all but one character, or an
// "a" in place of one.
func shorter(text string) []any {
	runes := []rune(text)
	n := len(runes)
	if n == 0 {
		return nil
	}
	out := []any{"", string(runes[:n/2]), string(runes[n/2:])}
	for i := range min(n, 64) {
		out = append(out, string(runes[:i])+string(runes[i+1:]))
	}
	for i := range min(n, 64) {
		if runes[i] != 'a' {
			out = append(out, string(runes[:i])+"a"+string(runes[i+1:]))
		}
	}
	return out
}

// smaller are numbers nearer to zero.
func smaller(n json.Number) []any {
	out := []any{json.Number("0"), json.Number("1")}
	value, ok := rational(string(n))
	if !ok {
		return out
	}
	if !value.IsInt() {
		return append(out, json.Number(value.FloatString(0)))
	}
	k := value.Num()
	half := bigHalf(k)
	return append(out, json.Number(half.String()), json.Number(bigTowardsZero(k).String()))
}
