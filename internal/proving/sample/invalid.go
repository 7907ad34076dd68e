package sample

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Broken is a model that breaks exactly one rule of the schema, for a test that a
// handler, or the service in front of it, refuses it.
type Broken struct {
	Model map[string]any
	schema.Violation
}

// Invalid generates an input for a create that violates exactly one rule: Check finds that one
// violation and no other. Keywords take turns: successive calls violate different keywords if
// possible, then other places. The error is an *[Error]: no valid input could be generated to
// start with, or no keyword of the schema can be violated alone.
func (g *Generator) Invalid() (Broken, error) {
	valid, err := g.Create()
	if err != nil {
		return Broken{}, err
	}
	if len(g.violations(valid)) > 0 { // it lacks what is required and read-only
		return Broken{}, fault(nil, "required", "it requires read-only properties, so that no input is valid")
	}
	b := &breaker{g: g, model: valid, src: g.draw(), run: g.start(g.cfg.Profile)}
	b.collect(nil, valid)
	draw := b.src.fork("order")
	draw.shuffle(len(b.faults), func(i, j int) { b.faults[i], b.faults[j] = b.faults[j], b.faults[i] })
	slices.SortStableFunc(b.faults, func(x, y breach) int { return g.broken[x.keyword] - g.broken[y.keyword] })
	for _, f := range b.faults[:min(len(b.faults), maxBreaches)] {
		for try := range 4 {
			model, ok := f.apply(b, try)
			if !ok {
				break
			}
			found := g.schema.Check(model, schema.CheckConfig{})
			if len(found) == 1 && found[0].Keyword == f.keyword {
				g.broken[f.keyword]++
				return Broken{model, found[0]}, nil
			}
		}
	}
	return Broken{}, fault(nil, "", "no keyword of the schema can be violated alone")
}

// maxBreaches bounds how many ways of breaking a model are tried.
const maxBreaches = 2000

// A breach is one way of breaking a model at one place.
type breach struct {
	keyword string
	at      document.Pointer
	change  func(b *breaker, v any, try int) (any, bool)
}

// apply returns a copy of the model with the violation.
func (f breach) apply(b *breaker, try int) (map[string]any, bool) {
	model := schema.Clone(any(b.model))
	v, found := at(model, f.at)
	if !found {
		return nil, false
	}
	v, ok := f.change(b, v, try)
	if !ok {
		return nil, false
	}
	if len(f.at) == 0 {
		model = v
	} else {
		put(model, f.at, v)
	}
	out, ok := model.(map[string]any)
	return out, ok
}

// A breaker looks for the ways in which a valid model can be broken.
type breaker struct {
	g      *Generator
	model  map[string]any
	src    source
	run    *run
	faults []breach
}

func (b *breaker) add(keyword string, at document.Pointer, change func(b *breaker, v any, try int) (any, bool)) {
	b.faults = append(b.faults, breach{keyword, at, change})
}

// collect lists what can be broken at a place and below it.
func (b *breaker) collect(at document.Pointer, v any) {
	node := b.g.schema.Root
	if len(at) > 0 {
		node = b.g.schema.Property(at)
	}
	if node == nil || len(b.faults) > maxBreaches {
		return
	}
	k := b.g.rulesOf(node)
	if len(at) > 0 {
		b.anyValue(k, at)
	}
	switch v := v.(type) {
	case string:
		b.texts(k, at)
	case json.Number:
		b.numbers(k, at)
	case []any:
		b.arrays(k, at, v)
	case map[string]any:
		b.objects(k, at, v)
	}
	for _, token := range children(v) {
		child, _ := get(v, token)
		b.collect(at.Append(token), child)
	}
}

// anyValue violates keywords for values of all types.
func (b *breaker) anyValue(k *rules, at document.Pointer) {
	if k.types != anyType {
		b.add("type", at, func(_ *breaker, _ any, try int) (any, bool) {
			// None of these reads as another type when it is written as a text.
			for _, wrong := range []struct {
				kind  types
				value any
			}{{typeObject, map[string]any{"Unexpected": "value"}}, {typeArray, []any{"unexpected"}}, {typeString, "unexpected"}, {typeBoolean, true}}[try:] {
				if k.types&wrong.kind == 0 {
					return wrong.value, true
				}
			}
			return nil, false
		})
	}
	if !k.listed {
		return
	}
	keyword := "enum"
	if k.node.Get("const") != nil {
		keyword = "const"
	}
	b.add(keyword, at, func(b *breaker, v any, try int) (any, bool) {
		switch v := v.(type) {
		case string:
			return []string{v + "x", "Not" + v, strings.ToLower(v), string(word(&b.src, max(1, utf8.RuneCountInString(v))))}[try], true
		case json.Number:
			n, ok := rational(string(v))
			if !ok {
				return nil, false
			}
			return literal(n.Add(n, big.NewRat([]int64{1, -1, 1000, -1000}[try], 1))), true
		}
		return nil, false
	})
}

// texts violates keywords for strings. If only the length is to be wrong, the pattern still
// matches, and vice versa.
func (b *breaker) texts(k *rules, at document.Pointer) {
	resize := func(n int) func(*breaker, any, int) (any, bool) {
		return func(b *breaker, _ any, try int) (any, bool) {
			src := b.src.fork(at.String()).at(try)
			if k.pattern == "" {
				return string(word(&src, n)), true
			}
			return b.g.patternOf(k.pattern).generate(src, span{n, n}, false, b.g.cfg.MaxLength, func(string) bool { return true })
		}
	}
	if k.minLength > 0 {
		b.add("minLength", at, resize(k.minLength-1))
	}
	if k.maxLength >= 0 && k.maxLength < b.g.cfg.MaxLength {
		b.add("maxLength", at, resize(k.maxLength+1))
	}
	if k.pattern != "" {
		b.add("pattern", at, func(b *breaker, v any, try int) (any, bool) {
			text, _ := v.(string)
			runes := []rune(text)
			wrong := []rune(" !\u00A7\n")[try]
			if len(runes) == 0 || k.maxLength < 0 || len(runes) < k.maxLength {
				return string(wrong) + text, true
			}
			runes[b.src.below(len(runes))] = wrong
			return string(runes), true
		})
	}
}

// numbers breaks bounds by one step, so that multiples stay multiples.
func (b *breaker) numbers(k *rules, at document.Pointer) {
	step := big.NewRat(1, 1)
	if k.multiple != nil {
		if n, ok := rational(k.multiple.Text); ok && n.Sign() > 0 {
			step = n
		}
	}
	iv := &interval{}
	iv.narrow(k)
	beyond := func(from *big.Rat, open, high bool) func(*breaker, any, int) (any, bool) {
		return func(_ *breaker, _ any, _ int) (any, bool) {
			side := &interval{high: from, highOpen: !open}
			if high {
				side = &interval{low: from, lowOpen: !open}
			}
			first, last := side.ends(step)
			n := first
			if !high {
				n = last
			}
			return literal(new(big.Rat).Mul(new(big.Rat).SetInt(n), step)), true
		}
	}
	if iv.low != nil {
		keyword := "minimum"
		if iv.lowOpen {
			keyword = "exclusiveMinimum"
		}
		b.add(keyword, at, beyond(iv.low, iv.lowOpen, false))
	}
	if iv.high != nil {
		keyword := "maximum"
		if iv.highOpen {
			keyword = "exclusiveMaximum"
		}
		b.add(keyword, at, beyond(iv.high, iv.highOpen, true))
	}
	if k.multiple != nil {
		b.add("multipleOf", at, func(_ *breaker, v any, try int) (any, bool) {
			text, _ := v.(json.Number)
			n, ok := rational(string(text))
			if !ok {
				return nil, false
			}
			off := big.NewRat([]int64{1, -1, 1, -1}[try], []int64{1, 1, 2, 2}[try])
			return literal(n.Add(n, off)), true
		})
	}
}

// arrays violates keywords for arrays.
func (b *breaker) arrays(k *rules, at document.Pointer, list []any) {
	if k.minItems > 0 {
		b.add("minItems", at, func(_ *breaker, v any, _ int) (any, bool) {
			list, _ := v.([]any)
			return list[:min(len(list), k.minItems-1)], true
		})
	}
	if k.maxItems >= 0 && k.maxItems < b.g.cfg.MaxItems {
		b.add("maxItems", at, func(b *breaker, v any, try int) (any, bool) {
			list, _ := v.([]any)
			return b.lengthened(k, at, list, k.maxItems+1, try)
		})
	}
	if k.unique && len(list) > 0 {
		b.add("uniqueItems", at, func(_ *breaker, v any, _ int) (any, bool) {
			list, _ := v.([]any)
			if k.maxItems >= 0 && len(list) >= k.maxItems {
				list = list[:len(list)-1]
			}
			if len(list) == 0 {
				return nil, false
			}
			return append(list, schema.Clone(list[0])), true
		})
	}
}

// lengthened adds items to an array.
func (b *breaker) lengthened(k *rules, at document.Pointer, list []any, n, try int) (any, bool) {
	seen := map[string]bool{}
	for _, item := range list {
		seen[canonical(item)] = true
	}
	sp := &spec{rules: []*rules{k}, types: typeArray}
	for i := 0; len(list) < n && i < 4*n+16; i++ {
		b.run.room, b.run.most = 64, b.run.steps+1000
		src := b.src.fork(at.String()).at(try).at(i)
		item, err := b.run.value(itemsAt(sp, len(list)), at.Append("0"), state{src: src, depth: len(at), sparse: true})
		if err != nil {
			return nil, false
		}
		if key := canonical(item); !k.unique || !seen[key] {
			seen[key] = true
			list = append(list, item)
		}
	}
	return list, len(list) == n
}

// objects violates keywords for objects, and the rules of combiners for their keys.
func (b *breaker) objects(k *rules, at document.Pointer, values map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		without := func(_ *breaker, v any, try int) (any, bool) {
			values, _ := v.(map[string]any)
			delete(values, name)
			return values, try == 0
		}
		keywords := []string{}
		if slices.Contains(k.required, name) {
			keywords = append(keywords, "required")
		}
		for _, rule := range []struct {
			keyword string
			present bool
		}{{"anyOf", len(k.anyOf) > 0}, {"oneOf", len(k.oneOf) > 0}, {"dependencies", len(k.dependencies) > 0}, {"minProperties", k.minCount > 0}} {
			if rule.present {
				keywords = append(keywords, rule.keyword)
			}
		}
		for _, keyword := range keywords {
			b.add(keyword, at, without)
		}
	}
	if k.additional != nil && k.additional.Kind == document.Bool && !k.additional.Bool {
		b.add("additionalProperties", at, func(b *breaker, v any, _ int) (any, bool) {
			values, _ := v.(map[string]any)
			values["Unexpected"+strings.ToUpper(string(word(&b.src, 2)))] = "value"
			return values, true
		})
	}
	if len(k.oneOf) > 0 || k.maxCount >= 0 || k.not != nil {
		b.additions(k, at, values)
	}
}

// additions break a rule by adding a property that is allowed, but not together with the
// others.
func (b *breaker) additions(k *rules, at document.Pointer, values map[string]any) {
	for _, m := range k.properties {
		if _, present := values[m.Key]; present || b.g.schema.IsReadOnly(at.Append(m.Key)) {
			continue
		}
		with := func(b *breaker, v any, try int) (any, bool) {
			values, _ := v.(map[string]any)
			b.run.room, b.run.most = 64, b.run.steps+1000
			src := b.src.fork(m.Key).at(try)
			child, err := b.run.value([]*document.Value{m.Value}, at.Append(m.Key), state{src: src, depth: len(at), sparse: true})
			if err != nil {
				return nil, false
			}
			values[m.Key] = child
			return values, true
		}
		for _, keyword := range []string{"oneOf", "maxProperties", "not"} {
			b.add(keyword, at, with)
		}
	}
	if k.maxCount >= 0 && k.maxCount < b.g.cfg.MaxItems && (len(k.patterns) > 0 || k.additional == nil) {
		b.add("maxProperties", at, func(b *breaker, v any, try int) (any, bool) {
			values, _ := v.(map[string]any)
			return b.filled(k, at, values, k.maxCount+1, try)
		})
	}
}

// filled adds keys to a map.
func (b *breaker) filled(k *rules, at document.Pointer, values map[string]any, n, try int) (any, bool) {
	o := &object{run: b.run, sp: &spec{rules: []*rules{k}, types: typeObject}, at: at, out: values, most: n, least: n,
		st: state{src: b.src.fork(at.String()).at(try), depth: len(at), sparse: true}, required: map[string]bool{}, forbidden: map[string]bool{}}
	b.run.room, b.run.most = 64, b.run.steps+10000
	return values, o.extend() == nil && len(values) == n
}

// String reads: minLength of /Name is broken: has 2 characters; the minimum is 3.
func (b Broken) String() string {
	at := b.Pointer.String()
	if at == "" {
		at = "the model"
	}
	return fmt.Sprintf("%s of %s is broken: %s", b.Keyword, at, b.Message)
}
