package schema

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/document"
)

// maxForeign bounds how many foreign documents one schema may draw in.
const maxForeign = 64

// references knows where every $ref of a document leads. It is filled while loading and
// only read afterwards.
type references struct {
	cfg      Config
	own      *source
	foreign  map[string]*source // by URL; nil for one that cannot be loaded
	failed   map[string]error
	sites    []site
	pending  []pendingRef
	visited  map[*document.Value]bool
	source   map[*document.Value]*source // of the schemas in foreign documents
	targets  map[*document.Value]*document.Value
	broken   map[*document.Value]error
	patterns map[string]*pattern

	reachable []property // made when a rule first asks for it
}

// A pendingRef is a schema whose $ref is not followed yet.
type pendingRef struct {
	in   *source
	node *document.Value
}

// A source is one JSON document in which schemas stand.
type source struct {
	root *document.Value
	base *url.URL // what references are relative to
	dir  string   // where files beside it are, "" for a remote document
}

// A site is one schema in the user's own document or in one that it refers to.
type site struct {
	node    *document.Value
	pointer document.Pointer // from the root of its document
	own     bool             // stands in the user's own document
	pattern bool             // stands below patternProperties, where the meta-schema does not look
}

func newReferences(file string, root *document.Value, cfg Config) *references {
	r := &references{
		cfg:      cfg,
		foreign:  map[string]*source{},
		failed:   map[string]error{},
		visited:  map[*document.Value]bool{},
		source:   map[*document.Value]*source{},
		targets:  map[*document.Value]*document.Value{},
		broken:   map[*document.Value]error{},
		patterns: map[string]*pattern{},
	}
	r.own = &source{root: root}
	if file != "" {
		r.own.dir = filepath.Dir(file)
		r.own.base = &url.URL{Path: "/" + filepath.Base(file)}
	}
	if id := root.Get("$id"); id != nil && id.Kind == document.String {
		if u, err := url.Parse(id.Text); err == nil && u.IsAbs() {
			r.own.base = u
		}
	}
	r.walk(r.own, site{node: root, own: true})
	// A queue rather than recursion: a chain of references may be as long as the document.
	for len(r.pending) > 0 {
		next := r.pending[0]
		r.pending = r.pending[1:]
		r.follow(next.in, next.node)
	}
	return r
}

// The keywords of draft-07 that hold one schema, a list of them, or named ones. What is
// below any other keyword is data.
var (
	schemaKeywords      = []string{"items", "contains", "not", "if", "then", "else", "propertyNames", "additionalItems", "additionalProperties"}
	schemaListKeywords  = []string{"allOf", "anyOf", "oneOf", "items"}
	schemaNamedKeywords = []string{"properties", "patternProperties", "definitions", "dependencies"}
)

// walk visits a schema and all schemas below it, then what their references name.
func (r *references) walk(in *source, at site) {
	node := at.node
	if node == nil || node.Kind != document.Object || r.visited[node] {
		return
	}
	r.visited[node] = true
	if in != r.own {
		r.source[node] = in
	}
	r.sites = append(r.sites, at)
	below := func(child *document.Value, tokens ...string) {
		r.walk(in, site{
			node: child, pointer: at.pointer.Append(tokens...), own: at.own,
			pattern: at.pattern || tokens[0] == "patternProperties",
		})
	}
	for _, keyword := range schemaKeywords {
		below(node.Get(keyword), keyword)
	}
	for _, keyword := range schemaListKeywords {
		if list := node.Get(keyword); list != nil && list.Kind == document.Array {
			for i, child := range list.Items {
				below(child, keyword, fmt.Sprint(i))
			}
		}
	}
	for _, keyword := range schemaNamedKeywords {
		for _, m := range members(node.Get(keyword)) {
			below(m.Value, keyword, m.Key)
		}
	}
	for _, m := range members(node.Get("patternProperties")) {
		r.addPattern(m.Key)
	}
	if pattern := node.Get("pattern"); pattern != nil && pattern.Kind == document.String {
		r.addPattern(pattern.Text)
	}
	if len(at.pointer) == 0 {
		r.walkDocument(in, at, below)
	}
	if node.Get("$ref") != nil {
		r.pending = append(r.pending, pendingRef{in, node})
	}
}

// walkDocument visits the schemas that only the root of a document can hold.
func (r *references) walkDocument(in *source, at site, below func(*document.Value, ...string)) {
	root := at.node
	below(root.Get("typeConfiguration"), "typeConfiguration")
	for _, m := range members(root.Get("handlers")) {
		below(m.Value.Get("handlerSchema"), "handlers", m.Key, "handlerSchema")
	}
	for _, m := range members(root.Get("remote")) {
		below(m.Value, "remote", m.Key)
	}
}

// follow resolves the $ref of one schema and visits what it names.
func (r *references) follow(in *source, node *document.Value) {
	ref := node.Get("$ref")
	if ref == nil || ref.Kind != document.String {
		return
	}
	target, src, pointer, err := r.find(in, ref.Text)
	if err != nil {
		r.broken[node] = err
		return
	}
	r.targets[node] = target
	r.walk(src, site{node: target, pointer: pointer, own: src == r.own})
}

// find resolves the text of a reference that stands in a document.
func (r *references) find(in *source, ref string) (*document.Value, *source, document.Pointer, error) {
	location, fragment, _ := strings.Cut(ref, "#")
	src, err := r.open(in, location)
	if err != nil {
		return nil, nil, nil, err
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%q has a %% that begins no escape", "#"+fragment)
	}
	pointer, ok := document.ParsePointer(decoded)
	if !ok {
		return nil, nil, nil, fmt.Errorf("%q is no JSON pointer: it reads like #/definitions/Name", "#"+fragment)
	}
	target := src.root.Lookup(pointer)
	if target == nil {
		return nil, nil, nil, &danglingError{pointer: pointer, root: src.root}
	}
	if target.Kind != document.Object && target.Kind != document.Bool {
		return nil, nil, nil, fmt.Errorf("#%s is %s, not a schema", pointer, article(target.Kind))
	}
	return target, src, pointer, nil
}

// A danglingError is a pointer into a document that leads nowhere.
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
		return nil, fmt.Errorf("%q is no URL", location)
	}
	relative := !u.IsAbs()
	if in.base != nil {
		u = in.base.ResolveReference(u)
	}
	u.Fragment = ""
	key := u.String()
	if r.own.base != nil && key == r.own.base.String() {
		return r.own, nil
	}
	if src := r.foreign[key]; src != nil {
		return src, nil
	}
	if err := r.failed[key]; err != nil {
		return nil, err
	}
	src, err := r.load(in, u, location, relative)
	if err != nil {
		r.failed[key] = err
		return nil, err
	}
	r.foreign[key] = src
	return src, nil
}

func (r *references) load(in *source, u *url.URL, location string, relative bool) (*source, error) {
	if len(r.foreign) >= maxForeign {
		return nil, fmt.Errorf("the schema draws in more than %d other documents", maxForeign)
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	var data []byte
	var err error
	src := &source{base: u}
	switch {
	case web && r.cfg.Remote != nil:
		if data, err = r.cfg.Remote(u.String()); err != nil {
			return nil, fmt.Errorf("loading %s: %w", u, err)
		}
	case relative && in.dir != "":
		data, err = readBeside(in.dir, location, r.cfg.Limits)
		if errors.Is(err, os.ErrNotExist) {
			if web {
				return nil, &offlineError{url: u.String(), file: location}
			}
			return nil, fmt.Errorf("there is no file %s beside the schema", location)
		}
		if err != nil {
			return nil, err
		}
		src.dir = filepath.Dir(filepath.Join(in.dir, filepath.FromSlash(location)))
	case web:
		return nil, &offlineError{url: u.String(), file: lastSegment(u.Path)}
	case u.Scheme != "":
		return nil, fmt.Errorf("references of the form %s: are not followed", u.Scheme)
	default:
		return nil, fmt.Errorf("%q is relative, and where this schema stands is not known", location)
	}
	name := u.String()
	if src.dir != "" {
		name = filepath.Join(in.dir, filepath.FromSlash(location))
	}
	root, problems := document.ParseJSON(name, data, r.cfg.Limits)
	if root == nil || problems.HasErrors() {
		for _, p := range problems {
			return nil, fmt.Errorf("%s: %s", p.At, p.Message)
		}
	}
	src.root = root
	return src, nil
}

// An offlineError is a reference to a document that only the network has.
type offlineError struct{ url, file string }

func (e *offlineError) Error() string { return e.url + " is on the network, which was not asked for" }

// readBeside reads a file by its path relative to a folder. It stays inside the folder
// and reads regular files only: the schema may come from a stranger.
func readBeside(dir, location string, limits document.Limits) ([]byte, error) {
	name, err := url.PathUnescape(location)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("%q leads out of the folder of the schema", location)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the schema: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", location)
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	defer file.Close()
	limit := int64(limits.Bytes)
	if limit == 0 {
		limit = 8 << 20
	}
	return io.ReadAll(io.LimitReader(file, limit+1)) // the parser refuses what is over the limit
}

func lastSegment(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// Resolve follows $ref (local, resource-schema.json#…, foreign) until it reaches a schema
// that has none, and returns that. The same definition is always the same value, so that
// callers may key maps by it. A node that is nil stays nil.
//
// The errors: a reference that leads nowhere, which Load has reported, and references
// that only lead to each other.
func (s *Schema) Resolve(node *document.Value) (*document.Value, error) {
	for range 1 << 10 {
		ref := node.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return node, nil
		}
		target := s.refs.targets[node]
		if target == nil {
			if err := s.refs.broken[node]; err != nil {
				return nil, fmt.Errorf("reference %q: %w", ref.Text, err)
			}
			found, _, _, err := s.refs.findOwn(ref.Text)
			if err != nil {
				return nil, fmt.Errorf("reference %q: %w", ref.Text, err)
			}
			target = found
		}
		if target == node {
			break
		}
		node = target
	}
	return nil, errors.New("references lead only to each other")
}

// findOwn resolves a reference of a node that was not in the document when it was loaded,
// for which only the document itself is at hand.
func (r *references) findOwn(ref string) (*document.Value, *source, document.Pointer, error) {
	location, _, _ := strings.Cut(ref, "#")
	if location != "" && location != "resource-schema.json" {
		return nil, nil, nil, errors.New("it stands outside of the schema")
	}
	return r.find(r.own, ref)
}
