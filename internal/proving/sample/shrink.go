package sample

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Bounds of the search for a smaller model.
const (
	shrinkCalls      = 500      // of the caller's function, which may run a handler
	shrinkCandidates = 20_000   // models looked at
	shrinkBytes      = 12 << 20 // of the JSON text of all of them: about a second
)

// Shrink looks for a smaller model that still fails: without properties, items and characters
// that the failure does not need. The result is as valid as the model: it violates the same
// rules of the schema, usually none. It is equal to the model if nothing smaller fails. No
// candidate is passed to stillFails twice, and at most 500 in total. The search takes about a
// second beside stillFails, whatever the size of the model, and ends at once with the best
// model found when ctx ends. The model is not changed.
func (g *Generator) Shrink(ctx context.Context, model map[string]any, stillFails func(map[string]any) bool) map[string]any {
	s := &shrink{ctx: ctx, g: g, fails: stillFails, breaks: g.violations(model), asked: map[[sha256.Size]byte]bool{}}
	s.best, s.size = schema.Clone(model), sizeOf(model)
	s.asked[s.size.sum()] = true
	for !s.exhausted() {
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
	ctx           context.Context
	g             *Generator
	fails         func(map[string]any) bool
	breaks        map[string]bool
	asked         map[[sha256.Size]byte]bool
	best          map[string]any
	size          size
	calls, looked int
	bytes         int // of the candidates looked at
}

// exhausted reports whether the search has to end.
func (s *shrink) exhausted() bool {
	return s.calls >= shrinkCalls || s.looked >= shrinkCandidates || s.bytes >= shrinkBytes || s.ctx.Err() != nil
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

func (s size) sum() [sha256.Size]byte { return sha256.Sum256([]byte(s.text)) }

// try keeps a candidate if it is smaller, as valid as before and still fails.
func (s *shrink) try(candidate map[string]any) bool {
	if s.exhausted() {
		return false
	}
	s.looked++
	n := sizeOf(candidate)
	s.bytes += n.length
	if !n.less(s.size) || s.asked[n.sum()] {
		return false
	}
	s.asked[n.sum()] = true
	if !maps.Equal(s.g.violations(candidate), s.breaks) {
		return false
	}
	s.calls++
	if !s.fails(schema.Clone(candidate)) {
		return false
	}
	s.best, s.size = candidate, n
	return true
}

// edit tries the best model with another value at one place.
func (s *shrink) edit(at document.Pointer, change func(old any) any) bool {
	if s.exhausted() {
		return false
	}
	candidate, ok := edited(s.best, at, change)
	model, isModel := candidate.(map[string]any)
	return ok && isModel && s.try(model)
}

// edited is a copy of a value with a change at one place. It shares everything else with
// the value.
func edited(v any, at document.Pointer, change func(old any) any) (any, bool) {
	if len(at) == 0 {
		return change(v), true
	}
	child, ok := get(v, at[0])
	if !ok {
		return nil, false
	}
	changed, ok := edited(child, at[1:], change)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		out[at[0]] = changed
		return out, true
	case []any:
		i, err := strconv.Atoi(at[0])
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		out := slices.Clone(v)
		out[i] = changed
		return out, true
	}
	return nil, false
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

// remove takes away properties and items, the larger parts first.
func (s *shrink) remove() {
	queue := []document.Pointer{nil}
	for len(queue) > 0 && !s.exhausted() {
		p := queue[0]
		queue = queue[1:]
		v, ok := at(s.best, p)
		if !ok {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			s.thin(p, slices.Sorted(maps.Keys(v)))
		case []any:
			s.thin(p, indexes(len(v)))
		}
		v, _ = at(s.best, p)
		for _, token := range children(v) {
			queue = append(queue, p.Append(token))
		}
	}
}

func indexes(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// thin takes members away from one object or array: as many at once as the failure
// allows, first all of them, then one half, and in the end one by one.
func (s *shrink) thin(p document.Pointer, members []string) {
	for n := len(members); n > 0; n /= 2 {
		for start := 0; start < len(members); {
			end := min(start+n, len(members))
			if s.exhausted() {
				return
			}
			if !s.edit(p, func(old any) any { return without(old, members[start:end]) }) {
				start = end
				continue
			}
			rest := slices.Delete(slices.Clone(members), start, end)
			if v, _ := at(s.best, p); !isObject(v) {
				rest = indexes(len(rest)) // the items moved up
			}
			members = rest
		}
	}
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// without is a copy of an object or array without the named members.
func without(v any, names []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for _, name := range names {
			delete(out, name)
		}
		return out
	case []any: // the names of items follow each other
		first, err := strconv.Atoi(names[0])
		if err == nil && first+len(names) <= len(v) {
			return slices.Delete(slices.Clone(v), first, first+len(names))
		}
	}
	return v
}

// simplify replaces parts of the model by simpler ones.
func (s *shrink) simplify() {
	for _, p := range s.places() {
		v, ok := at(s.best, p)
		if !ok {
			continue
		}
		for again := true; again && !s.exhausted(); {
			again = false
			for _, simpler := range s.simpler(v, p) {
				if s.edit(p, func(any) any { return simpler }) {
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
