package lint

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// child is the pointer of a property below a value: it contains the keyword only at the top of
// the document and of the schemas that are not properties themselves.
func child(at document.Pointer, name string) document.Pointer {
	if len(at) == 0 || len(at) == 1 && at[0] == "typeConfiguration" || len(at) == 3 && at[2] == "handlerSchema" && at[0] == "handlers" {
		return at.Append("properties", name)
	}
	return at.Append(name)
}

func (d *differ) required(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("required").Strings(), n.Get("required").Strings()
	for _, name := range missingExact(new, old) {
		d.add("breaking/RQ001", child(at, name), quote(name)+" is required now", keywordAt(o, n, "required"))
	}
	for _, name := range missingExact(old, new) {
		d.add("compatible/required-dropped", child(at, name), quote(name)+" is no longer required", keywordAt(o, n, "required"))
	}
}

func index(v *document.Value) map[string]document.Member {
	out := make(map[string]document.Member, len(membersOf(v)))
	for _, m := range membersOf(v) {
		out[m.Key] = m
	}
	return out
}

func (d *differ) properties(o, n *document.Value, at document.Pointer) {
	old, new := index(o.Get("properties")), index(n.Get("properties"))
	for _, name := range sortedKeys(old) {
		below := child(at, name)
		if m, stays := new[name]; stays {
			d.values(old[name].Value, m.Value, below)
			continue
		}
		// A property may have moved between the object itself and its combiners.
		if len(below) > 1 && below[0] == "properties" {
			if d.after.has(below[1:]) {
				d.values(old[name].Value, d.new.Property(below[1:]), below)
				continue
			}
		}
		c := d.add("breaking/PR001", below, quote(name)+" was removed", old[name].KeyAt)
		if len(below) > 1 && below[0] == "properties" && d.before.assigns(below[1:]) {
			c.Effect = "fails: templates that read the property by Fn::GetAtt are refused"
		}
	}
	for _, name := range sortedKeys(new) {
		if _, known := old[name]; known {
			continue
		}
		below := child(at, name)
		if len(below) > 1 && below[0] == "properties" && d.before.has(below[1:]) {
			continue // it has moved, and was compared where it was
		}
		d.add("compatible/property-added", below, quote(name)+" is new", new[name].KeyAt)
	}
}

// maps compares patternProperties. A single pattern that was rewritten still describes the
// same map, so its values are compared; how the two patterns overlap cannot be computed.
func (d *differ) maps(o, n *document.Value, at document.Pointer) {
	old, new := index(o.Get("patternProperties")), index(n.Get("patternProperties"))
	below := at.Append("*")
	if len(old) == 1 && len(new) == 1 && sortedKeys(old)[0] != sortedKeys(new)[0] {
		before, after := old[sortedKeys(old)[0]], new[sortedKeys(new)[0]]
		d.values(before.Value, after.Value, below)
		d.add("breaking/map-keys", at, fmt.Sprintf("keys had the pattern %s and have %s", quote(before.Key), quote(after.Key)), after.KeyAt).Severity = Risky
		return
	}
	for _, pattern := range sortedKeys(old) {
		if m, stays := new[pattern]; stays {
			d.values(old[pattern].Value, m.Value, below)
			continue
		}
		if len(new) == 0 && !isFalse(n.Get("additionalProperties")) && len(membersOf(n.Get("properties"))) == 0 {
			d.add("compatible/constraint-dropped", at, "the keys of the map can now be anything", old[pattern].KeyAt)
			continue
		}
		d.add("breaking/map-keys", at, "keys by the pattern "+quote(pattern)+" are no longer allowed", old[pattern].KeyAt)
	}
	for _, pattern := range sortedKeys(new) {
		if _, known := old[pattern]; !known {
			d.add("compatible/value-added", at, "keys by the pattern "+quote(pattern)+" are allowed now", new[pattern].KeyAt)
		}
	}
}

func (d *differ) items(o, n *document.Value, at document.Pointer) {
	old, new := o.Get("items"), n.Get("items")
	switch {
	case old == nil && new == nil:
	case old == nil:
		if hasType(o, "array") { // else the whole property is another one, which is reported
			d.add("breaking/items", at, "the items now have a description", keywordAt(o, n, "items"))
		}
	case new == nil:
		if hasType(n, "array") {
			d.add("compatible/constraint-dropped", at, "the items can now be anything", keywordAt(o, n, "items"))
		}
	default:
		d.values(old, new, at.Append("*"))
	}
	if old, new := o.Get("contains"), n.Get("contains"); canonicalText(old, false) != canonicalText(new, false) {
		c := d.add("breaking/contains", at, "contains "+came(old, new), keywordAt(o, n, "contains"))
		if new == nil {
			c.Severity, c.Effect = Compatible, ""
		}
	}
}

// combiner compares the entries of allOf, anyOf or oneOf, whose order has no meaning: equal
// entries are pairs, and the others are paired in order.
func (d *differ) combiner(keyword string, o, n *document.Value, at document.Pointer) {
	old, new := itemsOf(o.Get(keyword)), itemsOf(n.Get(keyword))
	where := keywordAt(o, n, keyword)
	place := at
	if len(at) == 0 {
		place = document.Pointer{keyword}
	}
	switch {
	case len(old) == 0 && len(new) == 0:
		return
	case len(old) == 0:
		d.add("breaking/combiner-added", place, keyword+" is new", where)
		return
	case len(new) == 0:
		d.add("compatible/constraint-dropped", place, keyword+" was removed", where)
		return
	}
	types := [2][]string{typesOf(o), typesOf(n)}
	restOld, restNew := d.pair(old, new, at, types)
	for i := range min(len(restOld), len(restNew)) {
		d.inherits = types
		d.values(restOld[i], restNew[i], at)
	}
	d.inherits = [2][]string{}
	if extra := len(restOld) - len(restNew); extra > 0 {
		id := map[string]string{"allOf": "compatible/constraint-dropped"}[keyword]
		if id == "" {
			id = "breaking/alternative-removed"
		}
		d.add(id, place, fmt.Sprintf("%s has %d entries, it had %d", keyword, len(new), len(old)), where)
	} else if extra < 0 {
		id := map[string]string{"allOf": "breaking/combiner-added", "anyOf": "compatible/value-added", "oneOf": "breaking/alternative-added"}[keyword]
		d.add(id, place, fmt.Sprintf("%s has %d entries, it had %d", keyword, len(new), len(old)), where)
	}
}

// pair compares the entries of two combiners that are written alike, and returns the rest.
// Entries that are references to the same definition are alike, and may yet differ.
func (d *differ) pair(old, new []*document.Value, at document.Pointer, types [2][]string) (restOld, restNew []*document.Value) {
	byText := map[string][]*document.Value{}
	for _, v := range new {
		key := canonicalText(v, false)
		byText[key] = append(byText[key], v)
	}
	paired := map[*document.Value]bool{}
	for _, v := range old {
		key := canonicalText(v, false)
		if list := byText[key]; len(list) > 0 {
			paired[list[0]] = true
			d.inherits = types
			d.values(v, list[0], at)
			byText[key] = list[1:]
			continue
		}
		restOld = append(restOld, v)
	}
	for _, v := range new {
		if !paired[v] {
			restNew = append(restNew, v)
		}
	}
	return restOld, restNew
}

func (d *differ) dependencies(o, n *document.Value, at document.Pointer) {
	old, new := index(o.Get("dependencies")), index(n.Get("dependencies"))
	for _, name := range sortedKeys(new) {
		before, known := old[name]
		if !known || before.Value.Kind != new[name].Value.Kind {
			d.add("breaking/dependency", child(at, name), quote(name)+" can no longer be set alone", new[name].KeyAt)
			continue
		}
		if before.Value.Kind == document.Object {
			d.values(before.Value, new[name].Value, at)
			continue
		}
		if added := missingExact(new[name].Value.Strings(), before.Value.Strings()); len(added) > 0 {
			d.add("breaking/dependency", child(at, name), fmt.Sprintf("%s can no longer be set without %s", quote(name), enumerate(added)), new[name].KeyAt)
		}
		if gone := missingExact(before.Value.Strings(), new[name].Value.Strings()); len(gone) > 0 {
			d.add("compatible/constraint-dropped", child(at, name), fmt.Sprintf("%s can now be set without %s", quote(name), enumerate(gone)), new[name].KeyAt)
		}
	}
	for _, name := range sortedKeys(old) {
		if _, stays := new[name]; !stays {
			d.add("compatible/constraint-dropped", child(at, name), quote(name)+" can now be set alone", old[name].KeyAt)
		}
	}
}

// missingExact returns the texts of a that b does not have, each once.
func missingExact(a, b []string) []string {
	have := make(map[string]bool, len(b))
	for _, text := range b {
		have[text] = true
	}
	var out []string
	for _, text := range a {
		if !have[text] {
			have[text] = true
			out = append(out, text)
		}
	}
	return out
}

// canonicalText is a text that equal values share: members in order of their keys, numbers
// by their value. With sets, lists whose order has no meaning in a schema are sorted: all
// but the primaryIdentifier and the items of values that are data.
func canonicalText(v *document.Value, sets bool) string {
	if v == nil {
		return ""
	}
	return string(appendCanonical(nil, v, sets))
}

// data are the keywords whose values are data: an array there is one value.
var data = map[string]bool{"default": true, "const": true, "examples": true, "primaryIdentifier": true}

func appendCanonical(b []byte, v *document.Value, sets bool) []byte {
	switch v.Kind {
	case document.Number:
		return append(b, canonicalNumber(v)...)
	case document.Array:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = string(appendCanonical(nil, item, sets))
		}
		if sets {
			sort.Strings(parts)
		}
		return append(append(append(b, '['), strings.Join(parts, ",")...), ']')
	case document.Object:
		members := index(v)
		b = append(b, '{')
		for _, key := range sortedKeys(members) {
			b = append(strconv.AppendQuote(b, key), ':')
			b = append(appendCanonical(b, members[key].Value, sets && !data[key]), ',')
		}
		return append(b, '}')
	}
	return v.AppendJSON(b)
}

func canonicalNumber(v *document.Value) string {
	if exact(v.Text) {
		if r, ok := newRat(v.Text); ok {
			return r.RatString()
		}
	}
	return v.Text
}
