package sample

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A run is the making of one model.
type run struct {
	g        *Generator
	profile  Profile
	readOnly bool // read-only properties are made too
	complete bool // required ones are generated, and removed at the end
	steps    int
	most     int // steps
	room     int // optional values that may still be made here
}

func (g *Generator) start(profile Profile) *run {
	return &run{g: g, profile: profile, readOnly: g.cfg.ReadOnly, most: g.cfg.MaxSteps, room: g.cfg.MaxValues}
}

// A state is the context of a value on the way down the schema.
type state struct {
	src    source
	depth  int
	sparse bool // nothing optional, the least nesting
	more   int  // optional properties that a sparse object has all the same
	object bool // the model itself: an object, whatever its schema says
	around *frame
}

// A frame is a schema that is being followed, for finding those that contain themselves.
type frame struct {
	node *document.Value
	up   *frame
}

// Schemas may contain themselves, and the making of values follows them so deep. Below
// sparseDepth only what is required is made, with the least nesting.
const (
	sparseDepth = 16
	deepest     = 100
)

// value makes a value that fits all of the schemas.
func (r *run) value(nodes []*document.Value, at document.Pointer, st state) (any, error) {
	repeated := 0
	for _, node := range nodes {
		resolved, err := r.g.schema.Resolve(node)
		if err != nil || resolved == nil {
			continue
		}
		n := 0
		for f := st.around; f != nil; f = f.up {
			if f.node == resolved {
				n++
			}
		}
		repeated = max(repeated, n)
		st.around = &frame{resolved, st.around}
	}
	if repeated > 0 || st.depth >= sparseDepth || r.room <= 0 || r.profile == Minimal {
		st.sparse = true
	}
	if st.depth > deepest || repeated > 0 && r.endless(nodes) {
		return nil, fault(at, "$ref", "it requires a value that contains itself infinitely")
	}
	r.room--
	var first error
	src, sparse := st.src, st.sparse
	for attempt := 0; ; attempt++ {
		if r.steps++; r.steps > r.most {
			return nil, r.exhausted(at, first)
		}
		c := &chooser{rest: attempt, ways: 1, src: src.fork("branches")}
		st.src = src.at(attempt)
		v, verify, err := r.attempt(nodes, at, c, st)
		if err == nil {
			return v, nil
		}
		if first == nil {
			first = err
		}
		limit := c.ways
		if verify {
			limit = c.ways + 8
		}
		if beyond := attempt + 1 - c.ways; beyond >= 0 { // the same choices, but less or more in them
			st.sparse = sparse || beyond%2 == 0
			st.more = beyond / 2
			if sparse {
				st.more = beyond + 1
			}
		}
		if attempt+1 >= limit {
			return nil, first
		}
	}
}

func (r *run) exhausted(at document.Pointer, first error) error {
	if first != nil {
		return first
	}
	return fault(at, "", "its schema took more than %d attempts", r.most)
}

// endless reports whether one of the schemas cannot be fulfilled by anything finite.
func (r *run) endless(nodes []*document.Value) bool {
	return slices.ContainsFunc(nodes, func(node *document.Value) bool {
		resolved, err := r.g.schema.Resolve(node)
		return err == nil && resolved != nil && r.g.height(resolved) >= endless
	})
}

// attempt makes a value for one way of choosing among the branches. It also reports
// whether another attempt with the same choices may do better.
func (r *run) attempt(nodes []*document.Value, at document.Pointer, c *chooser, st state) (any, bool, error) {
	sp, err := r.expand(nodes, at, c, st.sparse)
	if err != nil {
		return nil, false, err
	}
	if st.object {
		if sp.types &= typeObject; sp.types == 0 {
			return nil, false, fault(at, "type", "its schema does not allow an object")
		}
	}
	v, err := r.make(sp, at, c, st)
	if err != nil {
		return nil, sp.verify, err
	}
	if !sp.verify {
		return v, false, nil
	}
	return v, true, r.verify(v, sp, at)
}

// make makes a value for a spec.
func (r *run) make(sp *spec, at document.Pointer, c *chooser, st state) (any, error) {
	for _, k := range sp.rules {
		if k.listed {
			return r.listed(sp, at, st)
		}
	}
	// A default need not follow its own format, as published ones show.
	if draw := st.src.fork("hints"); len(sp.hints) > 0 && !sp.formatted() && !st.sparse && !st.object && draw.oneIn(4) {
		if v, ok := r.hint(sp, st); ok {
			return v, nil
		}
	}
	v, err := r.makeKind(sp, at, c, st)
	if err != nil && !st.object {
		if v, ok := r.hint(sp, st); ok {
			return v, nil
		}
	}
	return v, err
}

// scalarTries is how often a scalar is drawn, until no refused schema accepts it.
const scalarTries = 32

// makeKind generates a value of one of the allowed types.
func (r *run) makeKind(sp *spec, at document.Pointer, c *chooser, st state) (any, error) {
	kind := r.kind(sp, c, st)
	switch kind {
	case typeObject:
		return r.object(sp, at, st)
	case typeArray:
		return r.array(sp, at, st)
	}
	v, err := r.scalar(sp, kind, at, st)
	for try := range scalarTries {
		if err != nil || len(sp.refused) == 0 || r.fits(v, sp) {
			break
		}
		r.steps++
		again := st
		again.src, again.sparse = st.src.fork("again").at(try), false
		v, err = r.scalar(sp, kind, at, again)
	}
	return v, err
}

func (r *run) scalar(sp *spec, kind types, at document.Pointer, st state) (any, error) {
	switch kind {
	case typeString:
		return r.text(sp, at, st)
	case typeBoolean:
		return st.src.oneIn(2), nil
	case typeNull:
		return nil, nil
	}
	return r.number(sp, kind == typeInteger, at, st)
}

// kind chooses one of the allowed types. A model has no nulls, as long as anything else
// is possible.
func (r *run) kind(sp *spec, c *chooser, st state) types {
	allowed := sp.types
	if allowed == anyType { // the types of the keywords, else a text
		var about types
		for _, k := range sp.rules {
			about |= k.about()
		}
		if allowed = about; about == 0 {
			allowed = typeString
		}
	}
	if allowed&typeFraction != 0 {
		allowed &^= typeInteger
	}
	var kinds []types
	for _, t := range []types{typeString, typeInteger, typeFraction, typeBoolean, typeObject, typeArray, typeNull} {
		if allowed&t != 0 {
			kinds = append(kinds, t)
		}
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	return kinds[c.pick(len(kinds), func(i int) int {
		switch {
		case kinds[i] == typeNull:
			return 2
		case st.sparse && kinds[i]&(typeObject|typeArray) != 0:
			return 1
		}
		return 0
	})]
}

// listed picks one of the values that enum or const allow and everything else accepts.
func (r *run) listed(sp *spec, at document.Pointer, st state) (any, error) {
	var list []*document.Value
	keyword := "enum"
	for _, k := range sp.rules {
		if k.listed && (list == nil || len(k.values) < len(list)) {
			list = k.values
			if k.node.Get("const") != nil {
				keyword = "const"
			}
		}
	}
	if len(list) == 0 {
		return nil, fault(at, keyword, "its list of values is empty")
	}
	start := st.src.below(len(list))
	for i := range min(len(list), 1000) {
		v := list[(start+i)%len(list)].Any()
		if v == nil && len(list) > 1 {
			continue
		}
		r.steps++
		if r.fits(v, sp) {
			return v, nil
		}
	}
	return nil, fault(at, keyword, "none of its %d enum values is valid for its other keywords", len(list))
}

// formatted reports whether there is a format that is followed.
func (sp *spec) formatted() bool {
	return slices.ContainsFunc(sp.rules, func(k *rules) bool { return formats[k.format] != nil })
}

// hint picks a default or an example that fits.
func (r *run) hint(sp *spec, st state) (any, bool) {
	if len(sp.hints) == 0 {
		return nil, false
	}
	src := st.src.fork("hint")
	start := src.below(len(sp.hints))
	for i := range min(len(sp.hints), 16) {
		v := sp.hints[(start+i)%len(sp.hints)].Any()
		r.steps++
		if v != nil && r.fits(v, sp) {
			return v, true
		}
	}
	return nil, false
}

func (r *run) number(sp *spec, integer bool, at document.Pointer, st state) (any, error) {
	iv := &interval{}
	for _, k := range sp.rules {
		iv.narrow(k)
	}
	for _, candidate := range iv.literals {
		if r.fits(candidate, sp) {
			return candidate, nil
		}
	}
	if n, ok := iv.draw(integer, &st.src, st.sparse); ok {
		return n, nil
	}
	keyword := "minimum"
	if iv.step != nil {
		keyword = "multipleOf"
	}
	return nil, fault(at, keyword, "no number is within its limits")
}

// array makes an array. Its length is bounded by the keywords first, then by the profile.
func (r *run) array(sp *spec, at document.Pointer, st state) (any, error) {
	least, most, unique := 0, many, false
	var contains []*document.Value
	for _, k := range sp.rules {
		least, most = max(least, k.minItems), atMost(most, k.maxItems)
		unique = unique || k.unique
		if k.contains != nil {
			contains = append(contains, k.contains)
		}
	}
	least = max(least, len(contains))
	if least > most {
		return nil, fault(at, "maxItems", "it must have at least %d and at most %d items", least, most)
	}
	if least > r.g.cfg.MaxItems {
		return nil, fault(at, "minItems", "it must have %d items, more than the %d that are generated", least, r.g.cfg.MaxItems)
	}
	wanted := 1
	if !st.sparse {
		wanted = st.src.between(1, 3)
	}
	wanted = min(max(wanted, least), most)
	out := []any{}
	seen := map[string]bool{}
	room := r.room
	for failed := 0; len(out) < wanted; {
		i := len(out)
		nodes := itemsAt(sp, i)
		if i < len(contains) {
			nodes = append(nodes, contains[i])
		}
		r.room = share(room, wanted-i)
		before := r.room
		item, err := r.child(nodes, at.Append(strconv.Itoa(i)), st, st.src.at(failed).at(i), i >= least)
		room -= before - r.room
		key := ""
		if err == nil && unique {
			key = canonical(item)
		}
		if err == nil && !seen[key] {
			if unique {
				seen[key] = true
			}
			out = append(out, item)
			continue
		}
		if failed++; err != nil || failed > 20*(i+2) {
			if i >= least {
				break
			}
			if err == nil {
				err = fault(at, "uniqueItems", "it must have %d different items, but only %d were found", least, i)
			}
			return nil, err
		}
		if r.steps > r.most {
			return nil, r.exhausted(at, nil)
		}
	}
	r.room = room
	return out, nil
}

// itemsAt are the schemas of the item at an index.
func itemsAt(sp *spec, i int) []*document.Value {
	var out []*document.Value
	for _, k := range sp.rules {
		switch {
		case k.items != nil:
			out = append(out, k.items)
		case i < len(k.tuple):
			out = append(out, k.tuple[i])
		case len(k.tuple) > 0 && k.additionalItems != nil:
			out = append(out, k.additionalItems)
		}
	}
	return out
}

func atMost(most, bound int) int {
	if bound < 0 {
		return most
	}
	return min(most, bound)
}

// share is what one of n parts may use of the room.
func share(room, n int) int { return room / max(n, 1) }

// child makes a value below the current one. What is optional may use only a part of the
// steps that are left, so that it does not use up those of what is required.
func (r *run) child(nodes []*document.Value, at document.Pointer, st state, src source, optional bool) (any, error) {
	below := state{src: src, depth: st.depth + 1, sparse: st.sparse, around: st.around}
	if !optional {
		return r.value(nodes, at, below)
	}
	most := r.most
	r.most = min(most, r.steps+max(0, most-r.steps)/4)
	v, err := r.value(nodes, at, below)
	r.most = most
	return v, err
}

// canonical is a text that equal values share.
func canonical(v any) string {
	data, err := json.Marshal(normal(v))
	if err != nil {
		return "" // no value that was made here
	}
	return string(data)
}

// normal writes numbers in one way.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := rational(string(v)); ok {
			return map[string]any{"": n.RatString()}
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = normal(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out["k"+key] = normal(value)
		}
		return out
	}
	return v
}
