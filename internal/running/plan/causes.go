package plan

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// A cause is something outside of a part of a resource that its value is made of.
type cause struct {
	parameter string
	resource  string
	attribute string // "" is Ref
}

// entity is the cause as CausingEntity names it.
func (c cause) entity() string {
	switch {
	case c.parameter != "":
		return c.parameter
	case c.attribute != "":
		return c.resource + "." + c.attribute
	}
	return c.resource
}

// A part is a property of a resource, or one of its other attributes if name is "".
type part struct{ attribute, name string }

// causes are what the parts of a resource are made of, each once.
type causes map[part][]cause

// of returns the causes of a part: those of a function that makes all of the properties
// count for each of them.
func (c causes) of(attribute, name string) []cause {
	found := c[part{attribute, name}]
	if name != "" {
		for _, all := range c[part{attribute, ""}] {
			if !slices.Contains(found, all) {
				found = append(slices.Clip(found), all)
			}
		}
	}
	return found
}

// causesOf finds the causes of all parts of a resource. Of Fn::If only the branch counts
// that is taken, and the parameters of its condition.
func (d *Deployment) causesOf(r *template.Resource) causes {
	out := causes{}
	add := func(at part, c cause) {
		if !slices.Contains(out[at], c) {
			out[at] = append(out[at], c)
		}
	}
	for _, use := range d.Scope.Dependencies(r) {
		if len(use.Path) == 0 {
			continue // DependsOn
		}
		at := part{attribute: use.Path[0]}
		if at.attribute == "Properties" && len(use.Path) > 1 {
			at.name = use.Path[1]
		}
		switch use.Kind {
		case template.DependsOnID:
			add(at, cause{resource: use.Name})
		case template.DependsOnAttribute:
			add(at, cause{resource: use.Name, attribute: use.Attribute})
		case template.DependsOnParameter:
			add(at, cause{parameter: use.Name})
		case template.DependsOnCondition:
			for _, name := range d.Template.ConditionParameters(use.Name) {
				add(at, cause{parameter: name})
			}
		}
	}
	return out
}

// parameterChanged reports whether a parameter has another value than before: that of the request or
// of the default. A changed value in the parameter store is none.
func parameterChanged(previous, next *Deployment, name string) bool {
	is, has := next.Parameters.Get(name)
	if !has {
		return false
	}
	if previous == nil {
		return true
	}
	was, had := previous.Parameters.Get(name)
	if !had {
		return true
	}
	return is.Unknown || was.Value != is.Value
}
