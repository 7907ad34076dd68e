package lint

import (
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// facts is what several rules ask about one schema, found out once.
type facts struct {
	*schema.Schema
	sites   []schema.Site
	lists   map[string][]listed
	indexes map[string]map[string]listed // of lists, by what the paths name
	values  int                          // that were checked against their schemas
	hints   int                          // that were looked for
}

func newFacts(s *schema.Schema) *facts {
	return &facts{Schema: s, sites: s.Sites(), lists: map[string][]listed{}, indexes: map[string]map[string]listed{}}
}

// A listed is one path of a list with the place of its text in the document.
type listed struct {
	schema.Path
	pointer document.Pointer
}

// key is the same text for paths that name the same property.
func (l listed) key() string {
	if len(l.Tokens) == 0 {
		return l.Text
	}
	return l.Tokens.String()
}

// spelling is the path as the specification writes it.
func (l listed) spelling() string { return "/properties" + l.Tokens.String() }

// list returns the paths under a top-level key, in the order of the document.
func (f *facts) list(key string) []listed {
	if known, done := f.lists[key]; done {
		return known
	}
	var out []listed
	paths := f.paths(key)
	if v := f.Root.Get(key); v != nil && v.Kind == document.Array {
		next := 0
		for i, item := range v.Items {
			if item.Kind == document.String && next < len(paths) {
				out = append(out, listed{paths[next], document.Pointer{key, strconv.Itoa(i)}})
				next++
			}
		}
	}
	f.lists[key] = out
	return out
}

// paths is what the schema decoded from a top-level key.
func (f *facts) paths(key string) []schema.Path {
	switch key {
	case "primaryIdentifier":
		return f.PrimaryIdentifier
	case "readOnlyProperties":
		return f.ReadOnly
	case "writeOnlyProperties":
		return f.WriteOnly
	case "createOnlyProperties":
		return f.CreateOnly
	case "conditionalCreateOnlyProperties":
		return f.ConditionalCreateOnly
	case "deprecatedProperties":
		return f.Deprecated
	case "nonPublicProperties":
		return f.NonPublic
	}
	return nil
}

// additional returns the paths of additionalIdentifiers, one list for each of them.
func (f *facts) additional() [][]listed {
	v := f.Root.Get("additionalIdentifiers")
	if v == nil || v.Kind != document.Array || len(v.Items) != len(f.AdditionalIdentifiers) {
		return nil
	}
	out := make([][]listed, len(v.Items))
	for i, paths := range f.AdditionalIdentifiers {
		next := 0
		for j, item := range v.Items[i].Items {
			if item.Kind == document.String && next < len(paths) {
				out[i] = append(out[i], listed{paths[next], document.Pointer{"additionalIdentifiers", strconv.Itoa(i), strconv.Itoa(j)}})
				next++
			}
		}
	}
	return out
}

// find returns the entry of the list under a top-level key that names the same property.
func (f *facts) find(key string, p listed) (listed, bool) {
	index := f.indexes[key]
	if index == nil {
		index = map[string]listed{}
		for _, l := range f.list(key) {
			index[l.key()] = l
		}
		f.indexes[key] = index
	}
	other, found := index[p.key()]
	return other, found
}

// resolved follows $ref; a schema whose reference cannot be resolved, which schema.Load has
// reported, is nil.
func (f *facts) resolved(v *document.Value) *document.Value {
	if v == nil || v.Kind != document.Object {
		return nil
	}
	out, err := f.Resolve(v)
	if err != nil || out == nil || out.Kind != document.Object {
		return nil
	}
	return out
}

// maxWalk bounds how many schemas one walk looks at.
const maxWalk = 1 << 18

// eachProperty calls visit with every property of all objects that a model can contain,
// each object once: its name, the place of the name, and its schema after references.
// It stops when visit returns false.
func (f *facts) eachProperty(visit func(m document.Member) bool) {
	seen := map[*document.Value]bool{}
	queue := []*document.Value{f.Root}
	for steps := 0; len(queue) > 0 && steps < maxWalk; steps++ {
		node := f.resolved(queue[0])
		queue = queue[1:]
		if node == nil || seen[node] {
			continue
		}
		seen[node] = true
		for _, m := range membersOf(node.Get("properties")) {
			if !visit(m) {
				return
			}
			queue = append(queue, m.Value)
		}
		queue = append(queue, node.Get("items"))
		for _, m := range membersOf(node.Get("patternProperties")) {
			queue = append(queue, m.Value)
		}
		for _, keyword := range combiners {
			queue = append(queue, itemsOf(node.Get(keyword))...)
		}
	}
}

// combiners are the keywords that apply several schemas to one value.
var combiners = [...]string{"allOf", "anyOf", "oneOf"}

func membersOf(v *document.Value) []document.Member {
	if v == nil || v.Kind != document.Object {
		return nil
	}
	return v.Members
}

func itemsOf(v *document.Value) []*document.Value {
	if v == nil || v.Kind != document.Array {
		return nil
	}
	return v.Items
}

func isTrue(v *document.Value) bool  { return v != nil && v.Kind == document.Bool && v.Bool }
func isFalse(v *document.Value) bool { return v != nil && v.Kind == document.Bool && !v.Bool }

// typesOf returns the names under "type", none if there is no such key.
func typesOf(node *document.Value) []string {
	switch v := node.Get("type"); {
	case v == nil:
		return nil
	case v.Kind == document.String:
		return []string{v.Text}
	default:
		return v.Strings()
	}
}

func hasType(node *document.Value, name string) bool { return slices.Contains(typesOf(node), name) }

// quote puts a text of a document into a message: quoted, and cut where it would fill it.
func quote(text string) string { return strconv.Quote(diag.Cut(text)) }

// nameOf names the value at a pointer in a sentence.
func nameOf(pointer document.Pointer) string {
	if len(pointer) == 0 {
		return "the schema"
	}
	last := pointer[len(pointer)-1]
	if _, err := strconv.Atoi(last); err == nil && len(pointer) > 1 {
		return "an entry of " + quote(pointer[len(pointer)-2])
	}
	return quote(last)
}

func note(at diag.Range, message string) diag.Note { return diag.Note{At: at, Message: message} }
