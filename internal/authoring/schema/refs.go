package schema

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxForeign bounds how many foreign documents one schema may draw in.
const maxForeign = 64

// references knows where every $ref of a document leads. It is filled while loading and
// only read afterwards.
type references struct {
	cfg     Config
	dir     string // where files next to the schema are, "" if there is no such place
	own     *source
	sources map[string]*source // by URL, the own one and schemas with an $id included
	failed  map[string]error   // by URL, for those that cannot be loaded
	foreign int                // number of requested documents
	opened  []*source          // the foreign documents by the requested URL

	scopes   map[*document.Value]*source // of the schemas at the root of a source
	anchors  map[string]*document.Value  // by URL and fragment
	sites    []site
	pending  []pendingRef
	visited  map[*document.Value]bool
	targets  map[*document.Value]*document.Value // at the end of the references
	direct   map[*document.Value]*document.Value // after one of them
	broken   map[*document.Value]error           // references that cannot be resolved
	behind   map[*document.Value]error           // references whose target is a broken reference
	circular map[*document.Value]bool            // references that lead only to each other
	patterns map[string]*pattern
	paths    map[pathKey]pathMeaning
	indexes  map[*document.Value]map[string]*document.Value // of large objects

	loaded    bool // from now on nothing here changes but timeouts
	pathSteps int
	timeouts  atomic.Int32 // of all patterns together
	reachable []property   // created when a rule first needs it
}

// A source is a schema that references can be relative to: a document, or a schema
// within one that has an $id.
type source struct {
	root *document.Value
	base *url.URL
}

// A site is one schema in the user's own document or in one that it refers to.
type site struct {
	node    *document.Value
	pointer document.Pointer // from the root of its document
	own     bool             // is in the user's document
	pattern bool             // is below patternProperties, which the meta-schema does not check
}

// A pendingRef is a schema whose $ref is not followed yet.
type pendingRef struct {
	in   *source
	node *document.Value
	own  bool
}

func newReferences(file string, root *document.Value, cfg Config) *references {
	r := &references{
		cfg:      cfg,
		sources:  map[string]*source{},
		failed:   map[string]error{},
		scopes:   map[*document.Value]*source{},
		anchors:  map[string]*document.Value{},
		visited:  map[*document.Value]bool{},
		targets:  map[*document.Value]*document.Value{},
		direct:   map[*document.Value]*document.Value{},
		broken:   map[*document.Value]error{},
		behind:   map[*document.Value]error{},
		circular: map[*document.Value]bool{},
		patterns: map[string]*pattern{},
		paths:    map[pathKey]pathMeaning{},
		indexes:  map[*document.Value]map[string]*document.Value{},
	}
	base := &url.URL{}
	if file != "" {
		r.dir = filepath.Dir(file)
		base.Path = "/" + filepath.Base(file)
	}
	r.own = r.begin(root, base)
	r.walk(r.own, site{node: root, own: true})
	// A queue rather than recursion: a chain of references may be as long as the document.
	for len(r.pending) > 0 {
		next := r.pending[0]
		r.pending = r.pending[1:]
		r.follow(next)
	}
	r.settle()
	r.loaded = true
	return r
}

// settle resolves every reference to a schema that is not a reference: chains of references
// are followed once, and references that only refer to each other are broken.
func (r *references) settle() {
	for node := range r.targets {
		var way []*document.Value
		on := map[*document.Value]bool{}
		end := node
		for r.targets[end] != nil && !on[end] {
			on[end] = true
			way = append(way, end)
			end = r.targets[end]
		}
		for _, passed := range way {
			switch {
			case on[end] || r.circular[end]:
				delete(r.targets, passed)
				r.circular[passed] = true
			case r.broken[end] != nil || r.behind[end] != nil:
				delete(r.targets, passed)
				r.behind[passed] = cmp.Or(r.broken[end], r.behind[end])
			default:
				r.targets[passed] = end
			}
		}
	}
}

// begin registers a document under its URL, with the schemas in it that have an $id.
func (r *references) begin(root *document.Value, base *url.URL) *source {
	src := &source{root: root, base: base}
	r.sources[base.String()] = src
	r.scopes[root] = src
	r.identify(src, root)
	return r.scopes[root]
}

// identify looks for $id, which makes a schema a separate source or gives it a name. Beside a
// $ref it is ignored.
func (r *references) identify(in *source, node *document.Value) {
	if node.Kind != document.Object {
		return
	}
	id, ref := node.Get("$id"), node.Get("$ref")
	if id != nil && id.Kind == document.String && (ref == nil || ref.Kind != document.String) {
		if u, err := url.Parse(id.Text); err == nil && id.Text != "" {
			resolved := in.base.ResolveReference(u)
			name := resolved.Fragment
			resolved.Fragment = ""
			if name != "" {
				r.anchors[resolved.String()+"#"+name] = node
			}
			if id.Text[0] != '#' {
				in = &source{root: node, base: resolved}
				r.scopes[node] = in
				if r.sources[resolved.String()] == nil {
					r.sources[resolved.String()] = in
				}
			}
		}
	}
	eachSchema(node, func(child *document.Value, _ ...string) { r.identify(in, child) })
}

// The keywords of draft-07 that contain one schema, a list of them, or named ones. Everything
// below any other keyword is data.
var (
	schemaKeywords      = []string{"items", "contains", "not", "if", "then", "else", "propertyNames", "additionalItems", "additionalProperties"}
	schemaListKeywords  = []string{"allOf", "anyOf", "oneOf", "items"}
	schemaNamedKeywords = []string{"properties", "patternProperties", "definitions", "dependencies"}
)

// eachSchema calls f for the schemas directly below a schema, with the way to them.
func eachSchema(node *document.Value, f func(child *document.Value, tokens ...string)) {
	for _, keyword := range schemaKeywords {
		if child := node.Get(keyword); child != nil {
			f(child, keyword)
		}
	}
	for _, keyword := range schemaListKeywords {
		if list := node.Get(keyword); list != nil && list.Kind == document.Array {
			for i, child := range list.Items {
				f(child, keyword, strconv.Itoa(i))
			}
		}
	}
	for _, keyword := range schemaNamedKeywords {
		for _, m := range node.Get(keyword).Distinct() {
			f(m.Value, keyword, m.Key)
		}
	}
}

// walk visits a schema and all schemas below it, and notes their references.
func (r *references) walk(in *source, at site) {
	node := at.node
	if node == nil || node.Kind != document.Object || r.visited[node] {
		return
	}
	r.visited[node] = true
	r.sites = append(r.sites, at)
	if own := r.scopes[node]; own != nil {
		in = own
	}
	below := func(child *document.Value, tokens ...string) {
		r.walk(in, site{
			node: child, pointer: at.pointer.Append(tokens...), own: at.own,
			pattern: at.pattern || tokens[0] == "patternProperties",
		})
	}
	eachSchema(node, below)
	for _, m := range node.Get("patternProperties").Distinct() {
		r.addPattern(m.Key)
	}
	if pattern := node.Get("pattern"); pattern != nil && pattern.Kind == document.String {
		r.addPattern(pattern.Text)
	}
	if len(at.pointer) == 0 {
		r.walkDocument(at, below)
	}
	if node.Get("$ref") != nil {
		r.pending = append(r.pending, pendingRef{in, node, at.own})
	}
}

// walkDocument visits the schemas that only the root of a document can hold.
func (r *references) walkDocument(at site, below func(*document.Value, ...string)) {
	root := at.node
	below(root.Get("typeConfiguration"), "typeConfiguration")
	for _, m := range root.Get("handlers").Distinct() {
		below(m.Value.Get("handlerSchema"), "handlers", m.Key, "handlerSchema")
	}
	for _, m := range root.Get("remote").Distinct() {
		below(m.Value, "remote", m.Key)
	}
}

// follow resolves the $ref of one schema and visits what it names.
func (r *references) follow(from pendingRef) {
	ref := from.node.Get("$ref")
	if ref.Kind != document.String {
		return
	}
	found, err := r.find(from.in, ref.Text)
	if err != nil {
		r.broken[from.node] = err
		return
	}
	r.targets[from.node], r.direct[from.node] = found.node, found.node
	r.walk(found.in, site{node: found.node, pointer: found.pointer, own: from.own && found.document == r.own})
}

// A target is what a reference names.
type target struct {
	node     *document.Value
	pointer  document.Pointer // in the document that was opened
	document *source
	in       *source // what the references of the node are relative to
}

// find resolves the text of a reference.
func (r *references) find(in *source, ref string) (target, error) {
	location, fragment, _ := strings.Cut(ref, "#")
	src, err := r.open(in, location)
	if err != nil {
		return target{}, err
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return target{}, fmt.Errorf("%q has a %% that does not start an escape", "#"+fragment)
	}
	if node := r.anchors[src.base.String()+"#"+decoded]; node != nil && decoded != "" {
		return target{node: node, document: src, in: src}, nil
	}
	pointer, ok := document.ParsePointer(decoded)
	if !ok {
		return target{}, fmt.Errorf("%q is not a JSON pointer such as #/definitions/Name", "#"+fragment)
	}
	out := target{node: src.root, pointer: pointer, document: src, in: src}
	for i := range pointer {
		if out.node = r.lookup(out.node, pointer[i:i+1]); out.node == nil {
			return target{}, &danglingError{pointer: pointer, root: src.root}
		}
		if inner := r.scopes[out.node]; inner != nil {
			out.in = inner
		}
	}
	if out.node.Kind != document.Object && out.node.Kind != document.Bool {
		return target{}, fmt.Errorf("#%s is %s, not a schema", pointer, out.node.Kind.WithArticle())
	}
	return out, nil
}

// lookup descends one token. Large objects are indexed: many references into one object of
// definitions would otherwise take quadratic time.
func (r *references) lookup(v *document.Value, token document.Pointer) *document.Value {
	if v.Kind != document.Object || len(v.Members) < 64 {
		return v.Lookup(token)
	}
	index := r.indexes[v]
	if index == nil && r.loaded {
		return v.Lookup(token)
	}
	if index == nil {
		index = make(map[string]*document.Value, len(v.Members))
		for _, m := range v.Members {
			index[m.Key] = m.Value
		}
		r.indexes[v] = index
	}
	return index[token[0]]
}

// A danglingError is a pointer into a document that cannot be resolved.
type danglingError struct {
	pointer document.Pointer
	root    *document.Value
}

func (e *danglingError) Error() string { return "there is nothing at #" + e.pointer.String() }

// open returns the document that the part of a reference before "#" names.
func (r *references) open(in *source, location string) (*source, error) {
	if location == "" {
		return in, nil
	}
	if location == "resource-schema.json" {
		return r.own, nil // how handlerSchema calls the document around it
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%q is not a URL", location)
	}
	beside := ""
	if !u.IsAbs() && u.Host == "" && r.dir != "" {
		beside = u.Path
		if in.base.Scheme == "" {
			beside = path.Join(strings.TrimPrefix(path.Dir(in.base.Path), "/"), u.Path)
		}
	}
	u = in.base.ResolveReference(u)
	u.Fragment = ""
	key := u.String()
	if src := r.sources[key]; src != nil {
		return src, nil
	}
	if err := r.failed[key]; err != nil {
		return nil, err
	}
	src, err := r.load(u, location, beside)
	if err != nil {
		r.failed[key] = err
		return nil, err
	}
	return src, nil
}

// load reads a foreign document: a relative reference in a schema without an $id is to a file
// beside it; otherwise the registry is tried, then the network if that is allowed. Without
// either, the name of a URL may be that of a file beside the schema.
func (r *references) load(u *url.URL, location, beside string) (*source, error) {
	if r.foreign++; r.foreign > maxForeign {
		return nil, fmt.Errorf("the schema refers to more than %d other documents", maxForeign)
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	var missing error
	if beside != "" && !web {
		src, err := r.loadBeside(u, beside)
		if !errors.Is(err, os.ErrNotExist) {
			return src, err
		}
		missing = fmt.Errorf("file %s does not exist next to the schema", location)
	}
	if root, err := r.cfg.Registry.find(u); root != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return r.beginForeign(root, u), nil
	}
	switch {
	case missing != nil:
		return nil, missing
	case web && r.cfg.Remote != nil:
		data, err := r.cfg.Remote(u.String())
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", u, err)
		}
		return r.read(u, u.String(), data)
	case web && beside != "":
		src, err := r.loadBeside(u, beside)
		if errors.Is(err, os.ErrNotExist) {
			return nil, &offlineError{url: u.String(), file: location}
		}
		return src, err
	case web:
		return nil, &offlineError{url: u.String(), file: path.Base(u.Path)}
	case u.Scheme != "":
		return nil, fmt.Errorf("references with the scheme %s: are not followed", u.Scheme)
	}
	return nil, fmt.Errorf("%q is relative, and the location of this schema is unknown", location)
}

// loadBeside reads a file by its path from the folder of the schema.
func (r *references) loadBeside(u *url.URL, beside string) (*source, error) {
	data, err := readBeside(r.dir, beside, r.cfg.Limits)
	if err != nil {
		return nil, err
	}
	return r.read(u, filepath.Join(r.dir, filepath.FromSlash(beside)), data)
}

// read parses a foreign document and registers it under its URL.
func (r *references) read(u *url.URL, name string, data []byte) (*source, error) {
	root, err := parseForeign(name, data, r.cfg.Limits)
	if err != nil {
		return nil, err
	}
	return r.beginForeign(root, u), nil
}

func (r *references) beginForeign(root *document.Value, u *url.URL) *source {
	r.opened = append(r.opened, &source{root: root, base: u})
	return r.begin(root, u)
}

// parseForeign parses a document that is not the user's own: its first fault is an error.
func parseForeign(name string, data []byte, limits document.Limits) (*document.Value, error) {
	root, problems := document.Parse(name, data, limits)
	for _, p := range problems {
		if p.Severity == diag.Error {
			return nil, fmt.Errorf("%s: %s", p.At, p.Message)
		}
	}
	return root, nil
}

// An offlineError is a reference to a document that only the network has.
type offlineError struct{ url, file string }

func (e *offlineError) Error() string { return e.url + " is on the network, which was not asked for" }

// readBeside reads a file by its path relative to a folder. It does not leave the folder and
// reads only regular files: the schema may be hostile.
func readBeside(dir, location string, limits document.Limits) ([]byte, error) {
	name, err := url.PathUnescape(location)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("%q is outside the folder of the schema", location)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the schema: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", location)
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	defer func() { _ = file.Close() }()
	limit := int64(limits.Bytes)
	if limit == 0 {
		limit = 8 << 20
	}
	return io.ReadAll(io.LimitReader(file, limit+1)) // the parser reports the exceeded limit
}

// Resolve follows $ref (local, resource-schema.json#…, foreign) until it reaches a schema
// that has none, and returns that. The same definition is always the same value, so that
// callers may key maps by it. A node that is nil stays nil.
//
// The errors: a reference that cannot be resolved, which Load has reported, and references
// that only refer to each other.
func (s *Schema) Resolve(node *document.Value) (*document.Value, error) {
	for range maxUnknown {
		ref := node.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return node, nil
		}
		if end := s.refs.targets[node]; end != nil {
			return end, nil
		}
		if s.refs.circular[node] {
			break
		}
		if err := cmp.Or(s.refs.broken[node], s.refs.behind[node]); err != nil {
			return nil, fmt.Errorf("reference %q: %w", ref.Text, err)
		}
		found, err := s.refs.findOwn(ref.Text)
		if err != nil {
			return nil, fmt.Errorf("reference %q: %w", ref.Text, err)
		}
		node = found.node
	}
	return nil, ErrCircular
}

// maxUnknown bounds a chain of references between schemas that Load did not see, such as
// one that a caller made.
const maxUnknown = 64

// findOwn resolves a reference of a node that was not in the document when it was loaded,
// for which only the document itself is at hand.
func (r *references) findOwn(ref string) (target, error) {
	location, _, _ := strings.Cut(ref, "#")
	if location != "" && location != "resource-schema.json" {
		return target{}, errors.New("it is outside the schema")
	}
	return r.find(r.own, ref)
}
