package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Inline returns the document with every foreign document in it, as the official tool writes
// it: the first one in the order of references is in remote.schema0 as a whole, with its URL
// as $comment, the second one in remote.schema1; every $ref becomes a reference inside the
// document, "#/definitions/Tag" or "#/remote/schema0/definitions/Tag". The URL of a file
// beside the schema is its relative path.
//
// Unlike in the official tool, a "$ref" in data (default, enum, const, examples) is not
// changed, and an $id inside the document is removed, because it would change the meaning of
// the references below it; that of the document itself is kept. References in unreferenced
// parts of a foreign document are rewritten if they point into it, and not changed otherwise.
//
// The result is new; parts of it are shared with the Schema. For a type configuration it is
// the enclosing document. The errors: a reference cannot be resolved, which Load has reported;
// a foreign document is not an object; the document already has a key "remote".
func (s *Schema) Inline() (*document.Value, error) {
	in := newInliner(s.refs)
	own := s.refs.own.root
	if own.Get("remote") != nil {
		return nil, fmt.Errorf(`inline the references of %s: the key "remote" is reserved for CloudFormation`, s.File)
	}
	if err := in.visit(own); err != nil {
		return nil, fmt.Errorf("inline the references of %s: %w", s.File, err)
	}
	out := in.rewrite(own, nil)
	if len(in.foreign) == 0 {
		return out, nil
	}
	remote := &document.Value{Kind: document.Object}
	for i, root := range in.foreign {
		embedded := in.rewrite(root, in.pointer(root))
		comment := &document.Value{Kind: document.String, Text: in.documents[root].location}
		embedded.Members = append([]document.Member{{Key: "$comment", Value: comment}},
			slices.DeleteFunc(embedded.Members, func(m document.Member) bool { return m.Key == "$comment" })...)
		remote.Members = append(remote.Members, document.Member{Key: schemaName(i), Value: embedded})
	}
	out.Members = append(out.Members, document.Member{Key: "remote", Value: remote})
	return out, nil
}

func schemaName(i int) string { return "schema" + strconv.Itoa(i) }

// An inliner tracks the place of every value of the documents.
type inliner struct {
	refs      *references
	documents map[*document.Value]*foreignDocument // by root
	from      map[*document.Value]origin
	foreign   []*document.Value // roots in the order in which they were met
	schemas   map[*document.Value]bool
	named     map[*document.Value]bool // by an $id that is a fragment
}

type foreignDocument struct {
	location string // its URL, or its path from the schema
	number   int    // from 1 in the order in which they are met, 0 before
}

// An origin is the document of a value, and the last step of the way to the value.
type origin struct {
	root, parent *document.Value
	token        string
}

func newInliner(r *references) *inliner {
	in := &inliner{
		refs:      r,
		documents: map[*document.Value]*foreignDocument{},
		from:      map[*document.Value]origin{},
		schemas:   map[*document.Value]bool{},
		named:     map[*document.Value]bool{},
	}
	in.place(r.own.root, origin{root: r.own.root})
	for _, src := range r.opened {
		if in.documents[src.root] == nil {
			in.documents[src.root] = &foreignDocument{location: strings.TrimPrefix(src.base.String(), "/")}
			in.place(src.root, origin{root: src.root})
			in.mark(src.root)
		}
	}
	for _, node := range r.anchors {
		in.named[node] = true
	}
	return in
}

// place records the place of a value and those below it.
func (in *inliner) place(v *document.Value, at origin) {
	in.from[v] = at
	for i, item := range v.Items {
		in.place(item, origin{at.root, v, strconv.Itoa(i)})
	}
	for _, m := range v.Distinct() {
		in.place(m.Value, origin{at.root, v, m.Key})
	}
}

// mark notes which values of a foreign document are schemas.
func (in *inliner) mark(node *document.Value) {
	in.schemas[node] = true
	eachSchema(node, func(child *document.Value, _ ...string) { in.mark(child) })
}

// visit looks for references below a value and follows each when it finds it.
func (in *inliner) visit(v *document.Value) error {
	seen := map[*document.Value]bool{}
	// A stack rather than recursion: a chain of references may be as long as a document.
	for stack := []*document.Value{v}; len(stack) > 0; {
		v, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if err := in.refs.broken[v]; err != nil {
			return fmt.Errorf("the reference %q: %w", diag.Cut(v.Get("$ref").Str()), err)
		}
		below := slices.Clone(v.Items)
		for _, m := range v.Distinct() {
			below = append(below, m.Value)
		}
		slices.Reverse(below)
		stack = append(stack, below...)
		target := in.refs.direct[v]
		if target == nil {
			continue
		}
		root := in.from[target].root
		if doc := in.documents[root]; doc != nil && doc.number == 0 {
			if root.Kind != document.Object {
				return fmt.Errorf("the reference %q: %s is %s, not an object", diag.Cut(v.Get("$ref").Str()), doc.location, root.Kind.WithArticle())
			}
			in.foreign = append(in.foreign, root)
			doc.number = len(in.foreign)
		}
		stack = append(stack, target)
	}
	return nil
}

// pointer is the place of a value in the resulting document.
func (in *inliner) pointer(v *document.Value) document.Pointer {
	var out document.Pointer
	at := in.from[v]
	for ; at.parent != nil; at = in.from[at.parent] {
		out = append(out, at.token)
	}
	if doc := in.documents[at.root]; doc != nil {
		out = append(out, schemaName(doc.number-1), "remote")
	}
	slices.Reverse(out)
	return out
}

// rewrite copies a value with the references of the resulting document. Those that were not
// followed are relative to base.
func (in *inliner) rewrite(v *document.Value, base document.Pointer) *document.Value {
	identified := v != in.refs.own.root && (in.refs.scopes[v] != nil || in.named[v])
	if in.refs.scopes[v] != nil {
		base = in.pointer(v)
	}
	out := *v
	out.Items, out.Members = slices.Clone(v.Items), nil
	for i, item := range v.Items {
		out.Items[i] = in.rewrite(item, base)
	}
	for _, m := range v.Distinct() {
		followed := in.refs.direct[v]
		switch {
		case m.Key == "$id" && identified:
			continue
		case m.Key == "$ref" && followed != nil:
			m.Value = reference(m.Value.At, in.pointer(followed))
		case m.Key == "$ref" && in.schemas[v] && (m.Value.Text == "#" || strings.HasPrefix(m.Value.Text, "#/")):
			m.Value = &document.Value{Kind: document.String, At: m.Value.At, Text: reference(m.Value.At, base).Text + m.Value.Text[1:]}
		default:
			m.Value = in.rewrite(m.Value, base)
		}
		out.Members = append(out.Members, m)
	}
	return &out
}

// reference is the text of a $ref to a place of the document.
func reference(at diag.Range, to document.Pointer) *document.Value {
	fragment := url.URL{Fragment: to.String()}
	return &document.Value{Kind: document.String, At: at, Text: "#" + fragment.EscapedFragment()}
}
