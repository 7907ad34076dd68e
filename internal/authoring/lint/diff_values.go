package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The bounds of one comparison: how deep properties nest, and how many pairs of schemas
// are looked at. Published schemas have a depth of some tens, and some thousand pairs.
const (
	maxDepth = 256
	maxPairs = 1 << 17
	maxAlso  = 20
)

// A visit is one pair of schemas that were compared, with what came of it.
type visit struct {
	at       document.Pointer
	from, to int // of the changes
	done     bool
}

// values compares two schemas of the same value. The pointer is that of the value, in the
// notation of the lists of paths.
func (d *differ) values(oldNode, newNode *document.Value, at document.Pointer) {
	if d.depth >= maxDepth || d.steps >= maxPairs {
		if !d.gaveUp {
			d.gaveUp = true
			d.add("breaking/incomplete", at, "the comparison stopped here: the schemas are nested too deeply", newNode.At)
		}
		return
	}
	o, oldErr := d.old.Resolve(oldNode)
	n, newErr := d.new.Resolve(newNode)
	if oldErr != nil || newErr != nil {
		// What cannot be resolved in both is a fault of both, unless it is in another document,
		// which may well have changed.
		switch {
		case oldErr == nil || newErr == nil:
			d.add("breaking/unresolved", at, "a reference cannot be resolved in one of the versions: its target was not compared", newNode.At)
		case foreign(newNode.Get("$ref").Str()):
			d.add("breaking/unresolved", at, "another document is not available: its content was not compared", newNode.At)
		}
		return
	}
	if o.Kind != document.Object || n.Kind != document.Object {
		if canonicalText(o, false) != canonicalText(n, false) {
			d.add("breaking/TP003", at, "the description of the value changed", n.At)
		}
		return
	}
	d.steps++
	key := [2]*document.Value{o, n}
	if v := d.visits[key]; v != nil {
		if v.done {
			d.repeat(v, at)
		}
		return
	}
	v := &visit{at: at, from: len(d.changes)}
	d.visits[key] = v
	d.depth++
	d.schemas(o, n, at)
	d.depth--
	v.to, v.done = len(d.changes), true
}

// repeat notes at the changes of a pair of schemas that they concern another property too.
func (d *differ) repeat(v *visit, at document.Pointer) {
	first, other := v.at.String(), at.String()
	for i := v.from; i < v.to && d.steps < maxPairs; i++ {
		d.steps++
		c := &d.changes[i]
		if suffix, below := strings.CutPrefix(c.Pointer, first); below && len(c.Also) < maxAlso && first != other && !slices.Contains(c.Also, other+suffix) {
			c.Also = append(c.Also, other+suffix)
		}
	}
}

// schemas compares two objects, keyword by keyword.
func (d *differ) schemas(o, n *document.Value, at document.Pointer) {
	inherited := d.inherits
	d.inherits = [2][]string{}
	top := len(at) == 0
	if !top {
		d.types(o, n, at, inherited)
		d.enums(o, n, at)
	}
	d.constants(o, n, at)
	d.bounds(o, n, at)
	d.patterns(o, n, at)
	d.defaults(o, n, at)
	d.flags(o, n, at, top)
	d.required(o, n, at)
	d.properties(o, n, at)
	d.maps(o, n, at)
	d.items(o, n, at)
	for _, keyword := range combiners {
		d.combiner(keyword, o, n, at)
	}
	d.dependencies(o, n, at)
	for _, keyword := range []string{"description", "title", "$comment", "examples", "relationshipRef"} {
		if canonicalText(o.Get(keyword), false) != canonicalText(n.Get(keyword), false) {
			place := at
			if top {
				place = document.Pointer{keyword}
			}
			d.add("compatible/documentation", place, keyword+" "+came(o.Get(keyword), n.Get(keyword)), keywordAt(o, n, keyword))
		}
	}
}

// came describes what happened to the value of a keyword.
func came(o, n *document.Value) string {
	switch {
	case o == nil:
		return "is new"
	case n == nil:
		return "was removed"
	}
	return "changed"
}

// keywordAt is the place of a keyword: in the new schema, else in the old one.
func keywordAt(o, n *document.Value, keyword string) diag.Range {
	if m := n.Member(keyword); m != nil {
		return m.KeyAt
	}
	return memberAt(o, keyword)
}

// types compares the types. An entry of a combiner that has none has the one around it.
func (d *differ) types(o, n *document.Value, at document.Pointer, inherited [2][]string) {
	old, new := typesOf(o), typesOf(n)
	if len(old) == 0 {
		old = inherited[0]
	}
	if len(new) == 0 {
		new = inherited[1]
	}
	where := keywordAt(o, n, "type")
	switch {
	case slices.Equal(slices.Sorted(slices.Values(old)), slices.Sorted(slices.Values(new))):
	case len(old) == 0:
		d.add("breaking/TP001", at, "the property has the type "+enumerate(new)+" now", where)
	case len(new) == 0:
		d.add("breaking/TP002", at, "the property no longer has a type; it was "+enumerate(old), where)
	default:
		c := d.add("breaking/TP003", at, fmt.Sprintf("the type was %s and is %s", enumerate(old), enumerate(new)), where)
		if wider(old, new) {
			c.Effect = "fails: no template by itself, but code and references that read the property meet another type"
		}
	}
}

// wider reports whether every value of the old types has one of the new ones.
func wider(old, new []string) bool {
	for _, name := range old {
		if !slices.Contains(new, name) && (name != "integer" || !slices.Contains(new, "number")) {
			return false
		}
	}
	return true
}

func (d *differ) enums(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("enum"), n.Get("enum")
	where := keywordAt(o, n, "enum")
	switch {
	case old == nil && new == nil:
		return
	case old == nil:
		d.add("breaking/enum-added", at, "only these values are allowed now: "+enumerate(texts(new.Items)), where)
		return
	case new == nil:
		c := d.add("breaking/ENM001", at, "the enum was removed", where)
		c.Effect = "fails: no template by itself, but code that knows only the listed values meets others"
		return
	}
	have := func(items []*document.Value) map[string]bool {
		out := map[string]bool{}
		for _, v := range items {
			out[canonicalText(v, false)] = true
		}
		return out
	}
	before, after := have(old.Items), have(new.Items)
	gone := slices.DeleteFunc(slices.Clone(old.Items), func(v *document.Value) bool { return after[canonicalText(v, false)] })
	added := slices.DeleteFunc(slices.Clone(new.Items), func(v *document.Value) bool { return before[canonicalText(v, false)] })
	if len(gone) > 0 {
		d.add("breaking/ENM001", at, "no longer allowed: "+enumerate(texts(gone)), where)
	}
	if len(added) > 0 {
		d.add("compatible/value-added", at, "newly allowed: "+enumerate(texts(added)), where)
	}
}

// texts are values of a schema in a message.
func texts(values []*document.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if out[i] = v.Str(); v.Kind != document.String {
			out[i] = string(v.AppendJSON(nil))
		}
	}
	return out
}

func (d *differ) constants(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("const"), n.Get("const")
	switch {
	case canonicalText(old, false) == canonicalText(new, false):
	case new == nil:
		d.add("compatible/constraint-dropped", at, "const was removed", keywordAt(o, n, "const"))
	default:
		d.add("breaking/const", at, "const "+came(old, new), keywordAt(o, n, "const"))
	}
}

func (d *differ) bounds(o, n *document.Value, at document.Pointer) {
	for _, b := range bounds {
		old, new := o.Get(b.keyword), n.Get(b.keyword)
		ids := [3]string{"compatible/constraint-dropped", "breaking/bound-added", "breaking/bound-narrowed"}
		if b.ids != ([3]string{}) {
			ids = [3]string{"breaking/" + b.ids[0], "breaking/" + b.ids[1], "breaking/" + b.ids[2]}
		}
		d.bound(b, ids, old, new, at, keywordAt(o, n, b.keyword))
	}
	old, new := o.Get("multipleOf"), n.Get("multipleOf")
	where := keywordAt(o, n, "multipleOf")
	switch {
	case canonicalText(old, false) == canonicalText(new, false):
	case new == nil:
		d.add("compatible/constraint-dropped", at, "multipleOf was removed", where)
	case old == nil:
		d.add("breaking/bound-added", at, "multipleOf is new: "+diag.Cut(new.Text), where)
	default:
		d.add("breaking/bound-narrowed", at, fmt.Sprintf("multipleOf was %s and is %s", diag.Cut(old.Text), diag.Cut(new.Text)), where)
	}
}

func (d *differ) bound(b bound, ids [3]string, old, new *document.Value, at document.Pointer, where diag.Range) {
	switch {
	case old == nil && new == nil:
	case new == nil:
		c := d.add(ids[0], at, fmt.Sprintf("%s %s was removed", b.keyword, diag.Cut(old.Text)), where)
		if b.vacuous(old) {
			c.Severity = Compatible
		}
	case old == nil:
		c := d.add(ids[1], at, fmt.Sprintf("%s is new: %s", b.keyword, diag.Cut(new.Text)), where)
		if b.vacuous(new) {
			c.Severity, c.Effect = Compatible, "" // it refuses nothing
		}
	default:
		order, ok := compareNumbers(old, new)
		message := fmt.Sprintf("%s was %s and is %s", b.keyword, diag.Cut(old.Text), diag.Cut(new.Text))
		switch {
		case ok && order == 0:
		case ok && (order < 0) != b.lower:
			d.add("compatible/bound-widened", at, message, where)
		default:
			d.add(ids[2], at, message, where)
		}
	}
}

// vacuous reports whether a bound refuses nothing: no text is shorter than 0.
func (b bound) vacuous(v *document.Value) bool {
	return strings.HasPrefix(b.keyword, "min") && b.keyword != "minimum" && v.Kind == document.Number && v.Text == "0"
}

func (d *differ) patterns(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("pattern").Str(), n.Get("pattern").Str()
	where := keywordAt(o, n, "pattern")
	switch {
	case old == new:
	case old == "":
		d.add("breaking/PAT001", at, "the pattern "+quote(new)+" is new", where)
	case new == "":
		d.add("breaking/PAT002", at, "the pattern "+quote(old)+" was removed", where)
	default:
		d.add("breaking/PAT003", at, fmt.Sprintf("the pattern was %s and is %s", quote(old), quote(new)), where)
	}
	old, new = o.Get("format").Str(), n.Get("format").Str()
	where = keywordAt(o, n, "format")
	switch {
	case old == new:
	case new == "":
		d.add("compatible/constraint-dropped", at, "the format "+quote(old)+" was removed", where)
	default:
		d.add("breaking/format", at, "the format is "+quote(new)+" now", where)
	}
}

func (d *differ) defaults(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("default"), n.Get("default")
	where := keywordAt(o, n, "default")
	show := func(v *document.Value) string { return diag.Cut(string(v.AppendJSON(nil))) }
	switch {
	case canonicalText(old, false) == canonicalText(new, false):
	case new == nil:
		d.add("breaking/TFDF001", at, "the default "+show(old)+" was removed", where)
	case old == nil:
		d.add("breaking/default-added", at, "the default "+show(new)+" is new", where)
	default:
		d.add("breaking/TFDF002", at, fmt.Sprintf("the default was %s and is %s", show(old), show(new)), where)
	}
}

// flags compares the keywords that are on or off.
func (d *differ) flags(o, n *document.Value, at document.Pointer, top bool) {
	if old, new := isTrue(o.Get("uniqueItems")), isTrue(n.Get("uniqueItems")); old != new {
		if new {
			d.add("breaking/unique-items", at, "items must now be unique", keywordAt(o, n, "uniqueItems"))
		} else {
			d.add("compatible/constraint-dropped", at, "items no longer need to be unique", keywordAt(o, n, "uniqueItems"))
		}
	}
	if old, new := !isFalse(o.Get("insertionOrder")), !isFalse(n.Get("insertionOrder")); old != new && hasType(n, "array") && hasType(o, "array") {
		c := d.add("breaking/insertion-order", at, fmt.Sprintf("insertionOrder was %v and is %v", old, new), keywordAt(o, n, "insertionOrder"))
		if new {
			c.Effect = "drifts: arrays that the service returns in its own order show drift"
		} else {
			c.Severity, c.Effect = Compatible, "drifts: less than before, the order of the items is no longer compared"
		}
	}
	standard := func(v *document.Value) string {
		if text := v.Str(); text != "" {
			return text
		}
		return "Standard"
	}
	if old, new := standard(o.Get("arrayType")), standard(n.Get("arrayType")); old != new {
		d.add("breaking/array-type", at, fmt.Sprintf("arrayType was %s and is %s", diag.Cut(old), diag.Cut(new)), keywordAt(o, n, "arrayType"))
	}
	if old, new := isFalse(o.Get("additionalProperties")), isFalse(n.Get("additionalProperties")); old != new && !top {
		if new {
			d.add("breaking/closed", at, "only declared properties are now allowed", keywordAt(o, n, "additionalProperties"))
		} else {
			d.add("compatible/constraint-dropped", at, "undeclared properties are now allowed", keywordAt(o, n, "additionalProperties"))
		}
	}
}
