// Package customtype makes a resource type out of a custom resource: the schema from the templates that use it, and
// handlers around the code of its provider.
//
// [Find] collects the uses of a custom resource in templates, [Derive] makes the schema, with the reason of each
// decision, and [Derived.Adapt] the sources of a project that calls the code as it is.
package customtype

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A Template is a template that may use the custom resource.
type Template struct {
	Name string // as messages call it
	*template.Template
}

// A Use is a custom resource in a template.
type Use struct {
	In       *Template
	Resource *template.Resource
}

// A CustomResource is a custom resource with all of its uses, in the order of the templates.
type CustomResource struct {
	Type      string // Custom::NAME, or that of all custom resources
	Uses      []Use
	Templates []*Template
}

// An UnclearError means that templates have several custom resources, or not the one that was named.
type UnclearError struct {
	Name  string   // "" for none
	Known []string // what could be named
}

func (e *UnclearError) Error() string {
	switch {
	case len(e.Known) == 0:
		return "the templates have no custom resource"
	case e.Name == "":
		return "the templates have several custom resources: " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("the templates have no custom resource %q; they have %s", e.Name, strings.Join(e.Known, ", "))
}

// Find finds the uses of the custom resource that has a type or a logical ID; "" is the only one. Resources of the type that all custom
// resources share belong together if they have the same provider.
func Find(templates []*Template, name string) (*CustomResource, error) {
	var all []Use
	for _, t := range templates {
		for _, r := range t.Resources {
			if customresource.IsType(r.Type) {
				all = append(all, Use{t, r})
			}
		}
	}
	groups := map[string]*CustomResource{}
	var order []string
	var chosen *CustomResource
	for _, u := range all {
		key := u.Resource.Type
		if key == customresource.TypeName {
			key = u.providerKey()
		}
		g := groups[key]
		if g == nil {
			g = &CustomResource{Type: u.Resource.Type, Templates: templates}
			groups[key], order = g, append(order, key)
		}
		g.Uses = append(g.Uses, u)
		if u.Resource.LogicalID == name || u.Resource.Type == name && name != customresource.TypeName {
			if chosen != nil && chosen != g {
				return nil, fmt.Errorf("%q names several custom resources: name the type, or convert one template", name)
			}
			chosen = g
		}
	}
	if chosen == nil && len(order) == 1 && (name == "" || name == customresource.TypeName) {
		chosen = groups[order[0]]
	}
	if chosen != nil {
		return chosen, nil
	}
	unclear := &UnclearError{Name: name}
	for _, key := range order {
		label := groups[key].Type
		if label == customresource.TypeName {
			label = groups[key].Uses[0].Resource.LogicalID
		}
		if !slices.Contains(unclear.Known, label) {
			unclear.Known = append(unclear.Known, label)
		}
	}
	return nil, unclear
}

// providerKey names the provider of a resource without a type of its own.
func (u Use) providerKey() string {
	token := u.Resource.Properties.Get(customresource.PropertyToken)
	if token == nil {
		return ""
	}
	return string(token.AppendJSON(nil))
}

// A Provider is the function that a custom resource calls, as far as templates have it.
type Provider struct {
	Function *template.Resource // nil if the templates have none
	In       *Template
	Runtime  string // "" if it is not written out
	Handler  string // index.handler
	Source   string // the code in the template, "" for none
	Folder   string // of SAM templates and before packaging, relative to the template; "" for none
}

// Provider finds the function of the custom resource.
func (c *CustomResource) Provider() Provider {
	for _, u := range c.Uses {
		token := u.Resource.Properties.Get(customresource.PropertyToken)
		r := u.In.Template.Resource(target(token))
		if r == nil || !strings.HasPrefix(r.Type, "AWS::Lambda::Function") && r.Type != "AWS::Serverless::Function" {
			continue
		}
		p := Provider{Function: r, In: u.In, Runtime: u.In.setting(r, "Runtime").Str(), Handler: u.In.setting(r, "Handler").Str()}
		code := r.Properties.Get("Code")
		p.Source = cmp.Or(code.Get("ZipFile").Str(), r.Properties.Get("InlineCode").Str())
		p.Folder = cmp.Or(u.In.setting(r, "CodeUri").Str(), code.Str())
		return p
	}
	return Provider{}
}

// setting is a property of a function, or that of the section Globals of SAM.
func (t *Template) setting(r *template.Resource, key string) *document.Value {
	return cmp.Or(r.Properties.Get(key), t.Root().Get("Globals").Get("Function").Get(key))
}

// number is a number that is written out, "" for anything else.
func number(v *document.Value) string {
	if v == nil || v.Kind != document.Number && v.Kind != document.String {
		return ""
	}
	return v.Text
}

// target is the logical ID that a reference names, "" for none.
func target(v *document.Value) string {
	if v == nil {
		return ""
	}
	switch template.FunctionName(v) {
	case "Ref":
		return v.Get("Ref").Str()
	case "Fn::GetAtt":
		at := v.Get("Fn::GetAtt")
		if at.Kind == document.Array && len(at.Items) > 0 {
			at = at.Items[0]
		}
		name, _, _ := strings.Cut(at.Str(), ".")
		return name
	case "Fn::Sub":
		name, ok := strings.CutPrefix(v.Get("Fn::Sub").Str(), "${")
		if name, _, found := strings.Cut(name, "}"); ok && found {
			name, _, _ = strings.Cut(name, ".")
			return name
		}
	}
	return ""
}

// A Change is a place of a template that has to change for the type to take the place of the custom resource.
type Change struct {
	At   diag.Range
	Text string // what to write there
}

// Changes are the places to change, in the order of the templates.
func (d *Derived) Changes() []Change {
	var out []Change
	for _, u := range d.of.Uses {
		out = append(out, Change{u.Resource.Value.Get("Type").At, fmt.Sprintf("%s: write Type: %s", u.Resource.LogicalID, d.TypeName)})
		for _, m := range u.Resource.Properties.Distinct() {
			switch name := d.Names[m.Key]; {
			case isOwn(m.Key):
				out = append(out, Change{m.KeyAt, fmt.Sprintf("%s: remove the property %s", u.Resource.LogicalID, m.Key)})
			case name != m.Key:
				out = append(out, Change{m.KeyAt, fmt.Sprintf("%s: rename the property %s to %s", u.Resource.LogicalID, m.Key, name)})
			}
		}
	}
	for _, a := range d.attributes {
		for _, at := range a.places {
			if a.path != a.wire {
				out = append(out, Change{at, fmt.Sprintf("read the attribute %s instead of %s", a.path, a.wire)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Start.Offset, b.At.Start.Offset))
	})
	return out
}

// isOwn reports whether a property of a custom resource is CloudFormation's, not the provider's.
func isOwn(name string) bool {
	return name == customresource.PropertyToken || name == customresource.PropertyTimeout
}

var errTooMany = errors.New("the custom resource has too many properties")

// listed is a list of names for a reason, cut to a length.
func listed(names []string) string { return words.Cut(strings.Join(names, ", "), 200) }
