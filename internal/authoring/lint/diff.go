package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Diff lists what changed from an older version of a schema to a newer one, the breaking
// changes first; nil if nothing did. Parts that could not be compared, because a referenced
// document is not available, count as changed. Neither schema is nil. The order of the
// arguments matters: additions in one direction are removals in the other, and a schema does
// not contain its age.
//
// Only meaningful differences count: the order of members, of lists of paths, of required,
// enum and permissions is ignored, that of primaryIdentifier is not. References are followed,
// so that it makes no difference whether a definition is used or written out, and a change in
// a definition is one change, at the first property that uses it. Parts that are not reachable
// from the properties are ignored.
//
// The severities are those of [ChangeRules], or lower where a particular change is
// harmless. Diff changes neither schema and may run on any number of pairs at once.
func Diff(old, new *schema.Schema) []Change {
	if canonicalText(old.Root, true) == canonicalText(new.Root, true) && sameForeign(old, new) {
		return nil
	}
	d := newDiffer(old, new)
	d.documents()
	if len(d.changes) == 0 && canonicalText(old.Root, true) != canonicalText(new.Root, true) {
		d.add("compatible/other", nil, "the differences have no effect", new.Root.At)
	}
	sortChanges(d.changes)
	return d.changes
}

// sameForeign reports whether the documents draw in no other documents, which might differ
// where the texts of the references are the same.
func sameForeign(old, new *schema.Schema) bool {
	for _, s := range []*schema.Schema{old, new} {
		for _, site := range s.Sites() {
			if foreign(site.Node.Get("$ref").Str()) {
				return false
			}
		}
	}
	return true
}

// foreign reports whether a reference is to another document.
func foreign(ref string) bool {
	location, _, _ := strings.Cut(ref, "#")
	return location != "" && location != "resource-schema.json"
}

// A differ is one comparison.
type differ struct {
	old, new *schema.Schema
	before   version // of old
	after    version // of new
	changes  []Change
	visits   map[[2]*document.Value]*visit
	inherits [2][]string // the types around the entries of a combiner, while one is compared
	depth    int
	steps    int
	gaveUp   bool
}

func newDiffer(old, new *schema.Schema) *differ {
	return &differ{old: old, new: new, before: newVersion(old), after: newVersion(new), visits: map[[2]*document.Value]*visit{}}
}

// changeRules are the rows by their IDs.
var changeRules = func() map[string]ChangeRule {
	rules := map[string]ChangeRule{}
	for _, rule := range ChangeRules() {
		rules[rule.ID] = rule
	}
	return rules
}()

// add records a change by the rule, which fills in severity and effect.
func (d *differ) add(id string, at document.Pointer, message string, where diag.Range) *Change {
	rule := changeRules[id]
	effect := rule.Effect
	if strings.HasPrefix(effect, "fails") && effect == failsWhenOutside && d.assigned(at) {
		effect = "fails: the service sets the property; where its values do not satisfy the new constraint, handlers break their contract"
	}
	d.changes = append(d.changes, Change{
		ID: id, Severity: rule.Severity, Pointer: at.String(), Message: message, Effect: effect, At: where,
	})
	return &d.changes[len(d.changes)-1]
}

// assigned reports whether users cannot set what a pointer names.
func (d *differ) assigned(at document.Pointer) bool {
	return len(at) > 1 && at[0] == "properties" && d.before.assigns(at[1:]) && d.after.assigns(at[1:])
}

// documents compares everything at the top of the documents.
func (d *differ) documents() {
	d.identity()
	d.identifiers()
	d.lists()
	d.values(d.old.Root, d.new.Root, nil)
	d.handlers()
	d.tagging()
	d.transforms()
	d.configuration()
	if d.old.ReplacementStrategy != d.new.ReplacementStrategy {
		d.add("breaking/replacement-strategy", document.Pointer{"replacementStrategy"},
			fmt.Sprintf("replacementStrategy was %s and is %s", diag.Cut(d.old.ReplacementStrategy), diag.Cut(d.new.ReplacementStrategy)), memberAt(d.new.Root, "replacementStrategy"))
	}
}

// memberAt is the place of a member's key, or of the start of the object.
func memberAt(v *document.Value, key string) diag.Range {
	if m := v.Member(key); m != nil {
		return m.KeyAt
	}
	if v == nil {
		return diag.Range{}
	}
	at := v.At
	at.End = at.Start
	return at
}

func (d *differ) identity() {
	if d.old.Kind != d.new.Kind {
		d.add("breaking/type-name", nil, fmt.Sprintf("the document described a %s and now describes a %s", kindName(d.old.Kind), kindName(d.new.Kind)), memberAt(d.new.Root, "typeName"))
	}
	if old, new := d.old.TypeName, d.new.TypeName; old.Value != new.Value {
		d.add("breaking/type-name", document.Pointer{"typeName"}, fmt.Sprintf("the type was %s and is %s", quote(old.Value), quote(new.Value)), new.At)
	}
	for _, key := range []string{"sourceUrl", "documentationUrl", "resourceLink", "nonPublicDefinitions", "$id", "$schema", "remote", "taggable"} {
		o, n := d.old.Root.Get(key), d.new.Root.Get(key)
		if canonicalText(o, false) == canonicalText(n, false) {
			continue
		}
		if key == "taggable" && (d.old.Tagging.Taggable != d.new.Tagging.Taggable || d.old.Root.Get("tagging") != nil || d.new.Root.Get("tagging") != nil) {
			continue // what it means is compared with tagging
		}
		d.add("compatible/documentation", document.Pointer{key}, quote(key)+" changed", memberAt(d.new.Root, key))
	}
}

func kindName(k schema.Kind) string { return strings.ToLower(strings.ReplaceAll(string(k), "_", " ")) }

// A place is a path in a list with where it is written.
type place struct {
	key, text string
	tokens    document.Pointer
	at        diag.Range
}

func places(paths []schema.Path) []place {
	out := make([]place, 0, len(paths))
	seen := map[string]bool{}
	for _, p := range paths {
		l := place{key: p.Text, text: p.Text, tokens: p.Tokens, at: p.At}
		if len(p.Tokens) > 0 {
			l.key = "/properties" + p.Tokens.String()
		}
		if !seen[l.key] {
			seen[l.key] = true
			out = append(out, l)
		}
	}
	return out
}

func (p place) pointer() document.Pointer {
	if len(p.tokens) > 0 {
		return append(document.Pointer{"properties"}, p.tokens...)
	}
	return document.Pointer{p.text}
}

// without returns the places of a that b does not have.
func without(a, b []place) []place {
	have := make(map[string]bool, len(b))
	for _, p := range b {
		have[p.key] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(p place) bool { return have[p.key] })
}

func (d *differ) identifiers() {
	// The members are written one after the other into one text: their places count.
	old, new := places(d.old.PrimaryIdentifier), places(d.new.PrimaryIdentifier)
	for i := range max(len(old), len(new)) {
		if i < len(old) && i < len(new) && old[i].key == new[i].key {
			continue
		}
		if i < len(new) {
			d.add("breaking/PID001", new[i].pointer(), fmt.Sprintf("member %d of the primaryIdentifier is now %s", i+1, quote(new[i].key)), new[i].at)
		}
		if i < len(old) {
			d.add("breaking/PID002", old[i].pointer(), fmt.Sprintf("member %d of the primaryIdentifier is no longer %s", i+1, quote(old[i].key)), old[i].at)
		}
	}
	keys := func(identifiers [][]schema.Path) map[string]place {
		out := map[string]place{}
		for _, paths := range identifiers {
			var all []string
			var first diag.Range
			for i, p := range places(paths) {
				if i == 0 {
					first = p.at
				}
				all = append(all, p.key)
			}
			slices.Sort(all)
			out[strings.Join(all, ", ")] = place{at: first}
		}
		return out
	}
	before, after := keys(d.old.AdditionalIdentifiers), keys(d.new.AdditionalIdentifiers)
	for _, key := range sortedKeys(before) {
		if _, stays := after[key]; !stays {
			d.add("breaking/additional-identifier", document.Pointer{"additionalIdentifiers"}, "the additional identifier "+quote(key)+" was removed", before[key].at)
		}
	}
	for _, key := range sortedKeys(after) {
		if _, known := before[key]; !known {
			d.add("compatible/additional-identifier-added", document.Pointer{"additionalIdentifiers"}, quote(key)+" is an additional identifier now", after[key].at)
		}
	}
}

// pathChanges are the lists of properties with the rules for joining and leaving them.
var pathChanges = []struct {
	key            string
	of             func(*schema.Schema) []schema.Path
	joined, left   string
	is             string // what a property in the list is
	leavesByItself bool   // a removed property is reported as leaving too
}{
	{"createOnlyProperties", func(s *schema.Schema) []schema.Path { return s.CreateOnly }, "breaking/PR002", "compatible/list-dropped", "create-only", false},
	{"writeOnlyProperties", func(s *schema.Schema) []schema.Path { return s.WriteOnly }, "breaking/PR003", "compatible/list-dropped", "write-only", false},
	{"readOnlyProperties", func(s *schema.Schema) []schema.Path { return s.ReadOnly }, "breaking/PR004", "breaking/PR005", "read-only", true},
	{"conditionalCreateOnlyProperties", func(s *schema.Schema) []schema.Path { return s.ConditionalCreateOnly }, "breaking/conditional-create-only", "compatible/list-dropped", "create-only under conditions", false},
	{"nonPublicProperties", func(s *schema.Schema) []schema.Path { return s.NonPublic }, "breaking/non-public", "compatible/list-dropped", "non-public", false},
	{"deprecatedProperties", func(s *schema.Schema) []schema.Path { return s.Deprecated }, "breaking/deprecated", "compatible/list-dropped", "deprecated", false},
}

func (d *differ) lists() {
	for _, list := range pathChanges {
		old, new := places(list.of(d.old)), places(list.of(d.new))
		for _, p := range without(new, old) {
			if !d.before.has(p.tokens) && d.after.has(p.tokens) {
				continue // a new property: already reported as new
			}
			d.add(list.joined, p.pointer(), fmt.Sprintf("%s is %s now", quote(p.key), list.is), p.at)
		}
		for _, p := range without(old, new) {
			if !list.leavesByItself && !d.after.has(p.tokens) {
				continue // a removed property: already reported as removed
			}
			d.add(list.left, p.pointer(), fmt.Sprintf("%s is no longer %s", quote(p.key), list.is), p.at)
		}
	}
}

// A version is one of the two schemas with cached data.
type version struct {
	*schema.Schema
	top      map[string]document.Member // its properties
	assigned map[string]bool            // the read-only ones
	open     bool                       // it may have properties elsewhere
}

func newVersion(s *schema.Schema) version {
	v := version{Schema: s, top: index(s.Root.Get("properties")), assigned: map[string]bool{}}
	for _, p := range s.ReadOnly {
		v.assigned[p.Tokens.String()] = true
	}
	for _, keyword := range []string{"$ref", "patternProperties", "items", "allOf", "anyOf", "oneOf"} {
		v.open = v.open || s.Root.Get(keyword) != nil
	}
	return v
}

// has reports whether the tokens name a property.
func (v version) has(tokens document.Pointer) bool {
	if len(tokens) == 0 {
		return false
	}
	_, found := v.top[tokens[0]]
	switch {
	case found && len(tokens) == 1:
		return true
	case !found && !v.open:
		return false
	}
	return v.Property(tokens) != nil
}

// assigns reports whether the tokens name a read-only property, or something inside one.
func (v version) assigns(tokens document.Pointer) bool {
	for n := 1; n <= len(tokens) && len(v.assigned) > 0; n++ {
		if v.assigned[tokens[:n].String()] {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
