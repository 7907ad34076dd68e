package sample

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An object is an object in the making.
type object struct {
	*run
	sp        *spec
	at        document.Pointer
	st        state
	names     []string // declared properties, in the order of the schema
	required  map[string]bool
	forbidden map[string]bool // would make a refused schema hold, or cannot be made
	out       map[string]any
	least     int
	most      int
}

// object generates an object: required properties, then others for the profile, then keys of
// patterns and others until there are enough.
func (r *run) object(sp *spec, at document.Pointer, st state) (any, error) {
	o := &object{run: r, sp: sp, at: at, st: st, required: map[string]bool{}, forbidden: map[string]bool{}, out: map[string]any{}, most: many}
	if err := o.read(); err != nil {
		return nil, err
	}
	names, err := o.choose()
	if err != nil {
		return nil, err
	}
	if o.sp != sp { // a dependency added further schemas: they may require more
		return r.object(o.sp, at, st)
	}
	if err := o.fill(names); err != nil {
		return nil, err
	}
	if err := o.extend(); err != nil {
		return nil, err
	}
	return o.out, nil
}

// read sums up the keywords for objects.
func (o *object) read() error {
	known := map[string]bool{}
	for _, k := range o.sp.rules {
		o.least, o.most = max(o.least, k.minCount), atMost(o.most, k.maxCount)
		for _, m := range k.properties {
			if !known[m.Key] {
				known[m.Key] = true
				o.names = append(o.names, m.Key)
			}
		}
	}
	for _, k := range o.sp.rules {
		for _, name := range k.required {
			o.required[name] = true
			if !known[name] {
				known[name] = true
				o.names = append(o.names, name)
			}
		}
	}
	switch {
	case o.least > o.most || len(o.required) > o.most:
		return fault(o.at, "maxProperties", "it must have at least %d and at most %d properties", max(o.least, len(o.required)), o.most)
	case o.least > o.g.cfg.MaxItems+len(o.names):
		return fault(o.at, "minProperties", "it must have %d properties, more than the %d that are generated", o.least, o.g.cfg.MaxItems)
	}
	for i, node := range o.sp.refused {
		o.forbid(node, o.st.src.at(i))
	}
	return nil
}

// forbid leaves out a property that a refused schema requires: without it, that schema
// does not hold.
func (o *object) forbid(node *document.Value, src source) {
	resolved, err := o.g.schema.Resolve(node)
	if err != nil || resolved == nil {
		return
	}
	var candidates []string
	for _, name := range o.g.rulesOf(resolved).required {
		if o.forbidden[name] {
			return
		}
		if !o.required[name] {
			candidates = append(candidates, name)
		}
	}
	if len(candidates) > 0 {
		o.forbidden[candidates[src.below(len(candidates))]] = true
	}
}

// schemasOf are the schemas that the value of a key must fit. It reports false if the key
// is not allowed.
func (o *object) schemasOf(name string) ([]*document.Value, bool) {
	var out []*document.Value
	for _, k := range o.sp.rules {
		declared := false
		if child := k.property[name]; child != nil {
			declared = true
			out = append(out, child)
		}
		for _, m := range k.patterns {
			p := o.g.patternOf(m.Key)
			if p.err != nil {
				declared = true // as in the check: it decides nothing
			} else if p.matches(name) {
				declared = true
				out = append(out, m.Value)
			}
		}
		switch {
		case declared || k.additional == nil:
		case k.additional.Kind == document.Bool && !k.additional.Bool:
			return nil, false
		default:
			out = append(out, k.additional)
		}
		if k.names != nil && len(o.check(name, k.names)) > 0 {
			return nil, false
		}
	}
	return out, true
}

// isReadOnly reports whether a property is left to the handler.
func (o *object) isReadOnly(name string) bool {
	return !o.readOnly && len(o.g.schema.ReadOnly) > 0 && o.g.schema.IsReadOnly(o.at.Append(name))
}

// choose chooses the properties to make: the required ones, those that the profile adds,
// and those that they depend on.
func (o *object) choose() ([]string, error) {
	chosen := map[string]bool{}
	for _, name := range o.names {
		if !o.required[name] {
			continue
		}
		if more, err := o.need(name, chosen); err != nil || more {
			return nil, err
		}
	}
	var optional []string
	for _, name := range o.names {
		if !chosen[name] && !o.forbidden[name] && !o.isReadOnly(name) {
			optional = append(optional, name)
		}
	}
	enough := o.least
	if o.st.sparse {
		enough = max(enough, len(chosen)+o.st.more)
	}
	if o.st.sparse && enough > len(chosen) || o.most < len(chosen)+len(optional) {
		src := o.st.src.fork("optional")
		src.shuffle(len(optional), func(i, j int) { optional[i], optional[j] = optional[j], optional[i] })
	}
	for _, name := range optional {
		if len(chosen) >= o.most {
			break
		}
		if chosen[name] || !o.wants(name, enough-len(chosen)) {
			continue
		}
		trial := cloneSet(chosen)
		sp := o.sp
		more, err := o.need(name, trial)
		switch {
		case err != nil || len(trial) > o.most:
			o.sp = sp // what it depends on cannot be had
			o.forbidden[name] = true
		case more:
			return nil, nil
		default:
			chosen = trial
		}
	}
	var out []string
	for _, name := range o.names {
		if chosen[name] {
			out = append(out, name)
		}
	}
	return out, nil
}

func cloneSet(set map[string]bool) map[string]bool {
	out := make(map[string]bool, len(set)+1)
	for key := range set {
		out[key] = true
	}
	return out
}

// wants decides about an optional property.
func (o *object) wants(name string, short int) bool {
	switch {
	case o.st.sparse:
		return short > 0
	case o.profile == Full || short > 0:
		return true
	}
	draw := o.st.src.fork(name)
	return draw.oneIn(2)
}

// need adds a property and all that depends on its presence. It returns true if a schema was
// added to the spec, after which the choice restarts.
func (o *object) need(name string, chosen map[string]bool) (more bool, err error) {
	queue := []string{name}
	for len(queue) > 0 {
		name, queue = queue[0], queue[1:]
		if chosen[name] {
			continue
		}
		keyword := "dependencies"
		if o.required[name] {
			keyword = "required"
		}
		if _, allowed := o.schemasOf(name); !allowed || o.forbidden[name] {
			return false, fault(o.at.Append(name), keyword, "it is required but not allowed")
		}
		if !o.complete && o.isReadOnly(name) {
			return false, fault(o.at.Append(name), keyword, "it is required but read-only")
		}
		chosen[name] = true
		if !slices.Contains(o.names, name) {
			o.names = append(o.names, name)
		}
		for _, k := range o.sp.rules {
			for _, m := range k.dependencies {
				switch {
				case m.Key != name:
				case m.Value.Kind == document.Array:
					queue = append(queue, m.Value.Strings()...)
				default:
					if o.add(m.Value, name) {
						more = true
					}
				}
			}
		}
	}
	return more, nil
}

// add lets another schema apply to the object, because name is present. It reports false
// if it does already, or cannot.
func (o *object) add(node *document.Value, name string) bool {
	if slices.Contains(o.sp.sources, node) {
		return false
	}
	draw := o.st.src.fork("dependency")
	c := &chooser{ways: 1, src: draw, rest: draw.below(maxWays)}
	more, err := o.expand([]*document.Value{node, requiring(name)}, o.at, c, o.st.sparse)
	if err != nil || more.types&typeObject == 0 {
		o.forbidden[name] = true
		return false
	}
	merged := *o.sp
	merged.sources = append(slices.Clone(merged.sources), node)
	merged.rules = append(slices.Clone(merged.rules), more.rules...)
	merged.refused = append(slices.Clone(merged.refused), more.refused...)
	merged.verify = true
	o.sp = &merged
	return true
}

// requiring is a schema that requires one property.
func requiring(name string) *document.Value {
	list := &document.Value{Kind: document.Array, Items: []*document.Value{{Kind: document.String, Text: name}}}
	return &document.Value{Kind: document.Object, Members: []document.Member{{Key: "required", Value: list}}}
}

// fill makes the chosen properties. An optional one that cannot be made is left out.
func (o *object) fill(names []string) error {
	room := o.room
	nested := 0
	for _, name := range names {
		if o.isNested(name) {
			nested++
		}
	}
	for _, name := range names {
		schemas, _ := o.schemasOf(name)
		o.room = min(room, 1)
		if o.isNested(name) {
			o.room = share(room, nested)
			nested--
		}
		before := o.room
		v, err := o.child(schemas, o.at.Append(name), o.st, o.st.src.fork(name), !o.required[name])
		room -= before - o.room
		switch {
		case err == nil:
			o.out[name] = v
		case o.required[name]:
			return err
		default:
			o.forbidden[name] = true
		}
	}
	o.room = room
	return nil
}

// isNested reports whether the value of a property is an object or an array.
func (o *object) isNested(name string) bool {
	for _, k := range o.sp.rules {
		if child := k.property[name]; child != nil {
			resolved, err := o.g.schema.Resolve(child)
			return err == nil && resolved != nil && o.g.rulesOf(resolved).types&(typeObject|typeArray) != 0
		}
	}
	return true
}

// extend adds keys of a map: those that patternProperties describe, or any where
// additional ones are allowed.
func (o *object) extend() error {
	wanted := o.least
	if len(o.names) == 0 {
		wanted = max(wanted, 1)
		if !o.st.sparse {
			draw := o.st.src.fork("keys")
			wanted = max(wanted, draw.between(1, 3))
		} else if o.least == 0 {
			wanted = 0
		}
	}
	wanted = min(wanted, o.most)
	room := o.room
	for try := 0; len(o.out) < wanted && try < 8*wanted+16; try++ {
		name, ok := o.key(o.st.src.fork("key").at(try), try)
		if !ok || o.forbidden[name] {
			continue
		}
		if _, taken := o.out[name]; taken || slices.Contains(o.names, name) {
			continue
		}
		schemas, allowed := o.schemasOf(name)
		if !allowed {
			continue
		}
		o.room = share(room, wanted-len(o.out))
		before := o.room
		v, err := o.child(schemas, o.at.Append(name), o.st, o.st.src.fork(name), len(o.out) >= o.least)
		room -= before - o.room
		if err == nil {
			o.out[name] = v
			continue
		}
		if o.steps > o.run.most {
			return err
		}
	}
	o.room = room
	if len(o.out) < o.least {
		return fault(o.at, "minProperties", "it must have %d properties, but only %d were found", o.least, len(o.out))
	}
	return nil
}

// key makes a key that is not declared.
func (o *object) key(src source, try int) (string, bool) {
	var patterns []string
	for _, k := range o.sp.rules {
		for _, m := range k.patterns {
			patterns = append(patterns, m.Key)
		}
	}
	if len(patterns) > 0 && try%8 < 6 {
		return o.g.patternOf(patterns[try%len(patterns)]).generate(src, span{1, 64}, o.g.cfg.Unicode, o.g.cfg.MaxLength, func(string) bool { return true })
	}
	for _, k := range o.sp.rules {
		if k.names != nil {
			v, err := o.value([]*document.Value{k.names, stringSchema}, o.at, state{src: src, sparse: true})
			name, ok := v.(string)
			return name, err == nil && ok
		}
	}
	return string(word(&src, src.between(3, 8))), true
}

// stringSchema is {"type": "string"}.
var stringSchema = &document.Value{Kind: document.Object, Members: []document.Member{{Key: "type", Value: &document.Value{Kind: document.String, Text: "string"}}}}
