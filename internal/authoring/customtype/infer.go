package customtype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A shape is what all uses of a custom resource have in one place.
type shape struct {
	kinds   []string // "string", "integer", "number", "boolean", "array", "object"
	reasons []string // of the kinds that no value says by itself
	secret  string   // why it is a secret, "" if it is not
	objects int      // how many of the values are objects
	members []*member
	item    *shape
	absent  bool // Ref of AWS::NoValue
}

// A member is a key of objects.
type member struct {
	name  string
	count int // of the objects that always have it
	shape *shape
}

const (
	maxMembers = 500
	maxDepth   = 12
)

func (s *shape) member(name string) *member {
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		s.members = append(s.members, &member{name: name, shape: &shape{}})
		i = len(s.members) - 1
	}
	return s.members[i]
}

// is notes that a value has a kind. A reason is given if the value does not say so by itself.
func (s *shape) is(kind, reason string) {
	if !slices.Contains(s.kinds, kind) {
		s.kinds = append(s.kinds, kind)
	}
	if reason != "" && !slices.Contains(s.reasons, reason) {
		s.reasons = append(s.reasons, reason)
	}
}

// items is the shape of the items of a list.
func (s *shape) items() *shape {
	if s.item == nil {
		s.item = &shape{}
	}
	return s.item
}

// add adds a value of a template.
func (s *shape) add(t *Template, v *document.Value, depth int) error {
	if depth > maxDepth {
		s.is("object", "it has more than 12 levels, of which the schema has the first")
		return nil
	}
	if name := template.FunctionName(v); name != "" {
		return s.call(t, name, v, depth)
	}
	switch v.Kind {
	case document.Bool:
		s.is("boolean", "")
	case document.Number:
		s.is(numberKind(v.Text), "")
	case document.String:
		s.is("string", "")
		s.refersToSecret(v.Text)
	case document.Array:
		s.is("array", "")
		for _, item := range v.Items {
			if err := s.items().add(t, item, depth+1); err != nil {
				return err
			}
		}
	case document.Object:
		return s.object(t, v, depth)
	}
	return nil
}

func numberKind(text string) string {
	if strings.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}

func (s *shape) object(t *Template, v *document.Value, depth int) error {
	s.is("object", "")
	s.objects++
	for _, m := range v.Distinct() {
		to := s.member(m.Key)
		if len(s.members) > maxMembers {
			return errTooMany
		}
		to.shape.absent = false
		if err := to.shape.add(t, m.Value, depth+1); err != nil {
			return err
		}
		if !to.shape.absent {
			to.count++
		}
	}
	return nil
}

// call adds the value of a function.
func (s *shape) call(t *Template, name string, v *document.Value, depth int) error {
	arg := v.Get(name)
	switch name {
	case "Ref":
		s.reference(t, arg.Str())
		return nil
	case "Fn::If":
		if len(arg.Items) != 3 {
			return nil
		}
		absent := false
		for _, branch := range arg.Items[1:] {
			s.absent = false
			if err := s.add(t, branch, depth); err != nil {
				return err
			}
			absent = absent || s.absent
		}
		s.absent = absent
		return nil
	case "Fn::FindInMap":
		return s.mapped(t, arg, depth)
	case "Fn::Length":
		s.is("integer", "Fn::Length is a number")
		return nil
	case "Fn::GetAtt":
		s.is("string", fmt.Sprintf("the type of the attribute %s of %s is not known; attributes mostly are strings", attributeName(arg), target(v)))
		return nil
	}
	s.hides(t, v)
	if kind, _ := t.Result(v); kind == template.ListResult {
		s.is("array", name+" makes a list")
		s.items().is("string", "")
		return nil
	}
	s.is("string", name+" makes a string")
	return nil
}

func attributeName(arg *document.Value) string {
	if arg != nil && arg.Kind == document.Array && len(arg.Items) == 2 {
		return arg.Items[1].Str()
	}
	_, name, _ := strings.Cut(arg.Str(), ".")
	return name
}

// reference adds what a Ref returns.
func (s *shape) reference(t *Template, name string) {
	p := t.Parameter(name)
	switch {
	case name == "AWS::NoValue":
		s.absent = true
	case name == "AWS::NotificationARNs":
		s.is("array", "AWS::NotificationARNs is a list")
		s.items().is("string", "")
	case p == nil:
		s.is("string", "Ref of "+name+" is a string")
	default:
		kind := "string"
		if strings.Contains(p.Type, "Number") {
			kind = "number"
		}
		why := fmt.Sprintf("the parameter %s is a %s", name, p.Type)
		if p.IsList() {
			s.is("array", why)
			s.items().is(kind, "")
		} else {
			s.is(kind, why)
		}
		if p.NoEcho {
			s.secret = "the parameter " + name + " has NoEcho"
		}
	}
}

// mapped adds the values of a mapping: those of the keys that are written out, else all.
func (s *shape) mapped(t *Template, arg *document.Value, depth int) error {
	if arg == nil || len(arg.Items) < 3 {
		return nil
	}
	m := t.Mapping(arg.Items[0].Str())
	if m == nil {
		s.is("string", "the mapping is not known")
		return nil
	}
	for _, top := range m.Value.Distinct() {
		if key := arg.Items[1].Str(); key != "" && key != top.Key {
			continue
		}
		for _, second := range top.Value.Distinct() {
			if key := arg.Items[2].Str(); key != "" && key != second.Key {
				continue
			}
			if err := s.add(t, second.Value, depth+1); err != nil {
				return err
			}
		}
	}
	if len(s.kinds) == 0 {
		s.is("string", "the mapping "+m.Name+" has no such key")
	}
	return nil
}

var substitution = lazyregexp.New(`\$\{([A-Za-z0-9]+)\}`)

// refersToSecret notes a dynamic reference to a secret in a text, of which a function may have the other parts.
func (s *shape) refersToSecret(text string) {
	if strings.Contains(text, "{{resolve:secretsmanager:") || strings.Contains(text, "{{resolve:ssm-secure:") {
		s.secret = "it has a dynamic reference to a secret"
	}
}

// hides notes secrets in the arguments of a function: parameters with NoEcho, and dynamic references.
func (s *shape) hides(t *Template, v *document.Value) {
	var names []string
	var collect func(v *document.Value)
	collect = func(v *document.Value) {
		if v == nil {
			return
		}
		if v.Kind == document.String {
			s.refersToSecret(v.Text)
			for _, m := range substitution.FindAllStringSubmatch(v.Text, -1) {
				names = append(names, m[1])
			}
		}
		names = append(names, v.Get("Ref").Str())
		for _, item := range v.Items {
			collect(item)
		}
		for _, m := range v.Members {
			collect(m.Value)
		}
	}
	collect(v)
	for _, name := range names {
		if p := t.Parameter(name); p != nil && p.NoEcho {
			s.secret = "it contains the parameter " + name + ", which has NoEcho"
		}
	}
}

// kind is the type in the schema; "" accepts any value. The reason is "" if the values say it by themselves.
func (s *shape) kind() (kind, reason string) {
	has := func(kind string) bool { return slices.Contains(s.kinds, kind) }
	switch {
	case len(s.kinds) == 0:
		return "string", "no template has a value"
	case len(s.kinds) == 1:
		return s.kinds[0], strings.Join(s.reasons, "; ")
	case has("array") || has("object"):
		return "", "the templates have values of several types: " + listed(s.kinds)
	case len(s.kinds) == 2 && has("integer") && has("number"):
		return "number", "the templates have integers and other numbers"
	}
	return "string", "the templates have values of several types, which the handler gets as strings: " + listed(s.kinds)
}
