package lsp

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Templates are what the templates of a workspace refer to. The server calls one function at a time.
type Templates struct {
	Types typecheck.Source

	// Modules expand the modules of a template.
	Modules func(file string) template.Modules

	// Fragments are the modules that a template can use, by type name.
	Fragments func(ctx context.Context, file string) map[string]*module.Fragment

	// Compare reports what an update of a stack with a template would replace, nothing without a stack. The name of the
	// stack is "" if it is that of the file. It may be nil.
	Compare func(ctx context.Context, file, stack string, text []byte) (diag.List, error)

	Close func() // may be nil
}

// A workspace is the [Templates] of a session, opened when the first template needs them.
type workspace struct {
	server *server

	mu      sync.Mutex
	opened  *Templates
	modules map[string]map[string]*module.Fragment // by template and type name
	stale   bool
}

// get returns the open templates; the caller has the mutex.
func (w *workspace) get() *Templates {
	if w.stale {
		w.close()
	}
	if w.opened != nil {
		return w.opened
	}
	w.stale, w.modules = false, map[string]map[string]*module.Fragment{}
	if open := w.server.cfg.Templates; open != nil {
		opened, err := open(w.server.ctx, w.server.folders)
		if err != nil {
			w.server.cfg.Logger.Warn("Types not read", "error", err)
		}
		w.opened = opened
	}
	if w.opened == nil {
		w.opened = &Templates{}
	}
	return w.opened
}

// close forgets the types: files may have changed. The caller has the mutex.
func (w *workspace) close() {
	if w.opened != nil && w.opened.Close != nil {
		w.opened.Close()
	}
	w.opened = nil
}

// forget makes the next use read the types again.
func (w *workspace) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale = true
}

func (w *workspace) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
}

// source are the types for a check. The schemas of open documents have precedence over the files.
func (w *workspace) source() typecheck.Source {
	return typecheck.Source{
		Schema: w.schema,
		Complete: func(typeName string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			complete := w.get().Types.Complete
			return complete != nil && complete(typeName)
		},
		Names: w.names,
	}
}

func (w *workspace) schema(typeName string) (*schema.Schema, error) {
	if open := w.server.openSchema(typeName); open != nil {
		return open, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if find := w.get().Types.Schema; find != nil {
		return find(typeName)
	}
	return nil, nil
}

// names lists the types of resources.
func (w *workspace) names() []string {
	var out []string
	w.mu.Lock()
	if list := w.get().Types.Names; list != nil {
		out = slices.Clone(list())
	}
	w.mu.Unlock()
	for _, d := range w.server.openSchemas() {
		out = append(out, d.analysis().schema().TypeName.Value)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fragments are the modules that a template can use.
func (w *workspace) fragments(file string) map[string]*module.Fragment {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.get().Fragments
	if list == nil || file == "" {
		return nil
	}
	known, ok := w.modules[file]
	if !ok {
		known = list(w.server.ctx, file)
		w.modules[file] = known
	}
	return known
}

// moduleExpander expands the modules of a template, nil without modules.
func (w *workspace) moduleExpander(file string) template.Modules {
	w.mu.Lock()
	defer w.mu.Unlock()
	if modules := w.get().Modules; modules != nil && file != "" {
		return &lockedModules{w, modules(file)}
	}
	return nil
}

// lockedModules expands the modules of one template at a time.
type lockedModules struct {
	w       *workspace
	modules template.Modules
}

func (l *lockedModules) Expand(ctx context.Context, root *document.Value, budget *template.Budget) (*document.Value, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.modules.Expand(ctx, root, budget)
}

// openSchemas are the documents that are schemas of resource types without errors.
func (s *server) openSchemas() []*snapshot {
	s.mu.Lock()
	var open []*snapshot
	for _, d := range s.open {
		if d.current != nil {
			open = append(open, d.current)
		}
	}
	s.mu.Unlock()
	return slices.DeleteFunc(open, func(d *snapshot) bool {
		return d.role() != schemaRole || d.kind() != schema.Resource || d.analysis().problems.HasErrors() || d.analysis().schema().TypeName.Value == ""
	})
}

// openSchema is the schema of a type that is being edited, nil without one.
func (s *server) openSchema(typeName string) *schema.Schema {
	for _, d := range s.openSchemas() {
		if loaded := d.analysis().schema(); loaded.TypeName.Value == typeName {
			return loaded
		}
	}
	return nil
}

// A typeShape is what a template can set of a type.
type typeShape struct {
	*shape

	schema   *schema.Schema   // nil for a module
	fragment *module.Fragment // nil for a resource type
}

// typeShape finds the type of a resource in a template, nil for an unknown one.
func (s *server) typeShape(d *snapshot, typeName string) *typeShape {
	if template.IsModuleType(typeName) {
		found := s.workspace.fragments(d.file)[typeName]
		if found == nil {
			return nil
		}
		parameters := parametersSchema(found.Root.Get("Parameters"))
		return &typeShape{&shape{root: parameters, base: parameters}, nil, found}
	}
	if typeName == "" || strings.HasPrefix(typeName, "Custom::") {
		typeName = strings.Replace(typeName, "Custom::", "", 1)
		if typeName == "" {
			return nil
		}
		typeName = "AWS::CloudFormation::CustomResource"
	}
	found, err := s.workspace.schema(typeName)
	if err != nil {
		s.cfg.Logger.Warn("Schema not read", "type", typeName, "error", err)
	}
	if found == nil {
		return nil
	}
	return &typeShape{&shape{root: found.Root, base: found.Root}, found, nil}
}

// attributes are the names that Fn::GetAtt can read.
func (t *typeShape) attributes() []string {
	if t == nil || t.schema == nil {
		return nil
	}
	var out []string
	for _, p := range t.schema.ReadOnly {
		name := strings.Join(p.Tokens, ".")
		if !strings.Contains(name, "*") && typecheck.HasAttribute(t.schema, name) {
			out = append(out, name)
		}
	}
	return out
}

// parametersSchema is the schema of the values that a module gets for its parameters.
func parametersSchema(parameters *document.Value) *document.Value {
	text := func(s string) *document.Value { return &document.Value{Kind: document.String, Text: s} }
	properties, required := &document.Value{Kind: document.Object}, &document.Value{Kind: document.Array}
	for _, m := range parameters.Distinct() {
		kind := "string"
		switch typ := m.Value.Get("Type"); {
		case typ == nil:
		case typ.Text == "Number":
			kind = "number"
		case typ.Text == "CommaDelimitedList" || strings.HasPrefix(typ.Text, "List<"):
			kind = "array"
		}
		node := &document.Value{Kind: document.Object, At: m.Value.At, Members: []document.Member{{Key: "type", Value: text(kind)}}}
		for key, keyword := range map[string]string{"Description": "description", "Default": "default", "AllowedValues": "enum", "AllowedPattern": "pattern"} {
			if v := m.Value.Get(key); v != nil {
				node.Members = append(node.Members, document.Member{Key: keyword, Value: v})
			}
		}
		properties.Members = append(properties.Members, document.Member{Key: m.Key, KeyAt: m.KeyAt, Value: node})
		if m.Value.Get("Default") == nil {
			required.Items = append(required.Items, text(m.Key))
		}
	}
	return &document.Value{Kind: document.Object, Members: []document.Member{{Key: "properties", Value: properties}, {Key: "required", Value: required}}}
}
