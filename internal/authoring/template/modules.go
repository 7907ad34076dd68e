package template

import (
	"context"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The metadata with which a processed template says which modules a resource comes from.
const (
	ModuleKey   = "AWS::Cloudformation::Module"
	ModuleTypes = "TypeHierarchy"      // types of the modules, the innermost first, separated by "/"
	ModuleIDs   = "LogicalIdHierarchy" // their logical IDs
)

// IsModuleType reports whether a type name is that of a module.
func IsModuleType(name string) bool { return strings.HasSuffix(name, "::MODULE") }

// Modules returns the types of the modules that the template has, in its order.
func (t *Template) Modules() []string {
	var out []string
	for _, m := range t.root.Get("Resources").Distinct() {
		if typ := m.Value.Get("Type"); typ != nil && typ.Kind == document.String && IsModuleType(typ.Text) {
			out = appendNew(out, typ.Text)
		}
	}
	return out
}

// UnknownTypes refuses types that are not known. [Template.Check] includes it; modules are
// checked before they are expanded.
func (t *Template) UnknownTypes(hasType func(typeName string) bool) error {
	var unknown []string
	var first *Resource
	for _, r := range t.Resources {
		if r.Type != "" && !hasType(r.Type) {
			if first == nil {
				first = r
			}
			unknown = appendNew(unknown, r.Type)
		}
	}
	if unknown == nil {
		return nil
	}
	return Errors{refuse("unknown-types", first.At, nil, list(unknown))}
}

// modules expands the modules in a template whose transforms have run.
func (x *expansion) modules(ctx context.Context, root *document.Value) (*document.Value, error) {
	t := &Template{name: x.t.name, root: root}
	if x.in.Modules == nil || t.Modules() == nil {
		return root, nil
	}
	return x.in.Modules.Expand(ctx, root, x.budget)
}
