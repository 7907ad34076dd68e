package smithy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Converted is the schema of one resource.
type Converted struct {
	Resource ID
	TypeName string          // "AWS::Service::Resource"
	File     string          // the name that the reference implementation gives the file
	Schema   *document.Value // in the order in which it is written

	// Lost lists what the model contains and the schema cannot express: ids
	// smithy/lost-constraint, smithy/lost-text and smithy/lost-trait, all of severity info.
	Lost diag.List
}

// JSON is the schema as the reference implementation writes it: indented by four spaces.
func (c Converted) JSON() []byte { return append(appendIndented(nil, c.Schema, 0), '\n') }

// Convert makes the schemas of all resources with the trait cfnResource in the closure of
// a service, sorted by type name. The model must be free of errors ([Events.Fatal]).
//
// Problems are reported where the reference implementation fails, at the place in the model
// that causes them: smithy/service, smithy/setting, smithy/no-properties, smithy/identifier,
// smithy/name-conflict, smithy/no-tag-operation, smithy/tag-property, smithy/recursive-list
// and smithy/pointer. Those of severity warning and info do not prevent the schema:
// smithy/same-name, smithy/same-type and smithy/recursive-structure.
func Convert(m *Model, settings Settings) ([]Converted, diag.List) {
	c := &converter{m: m, settings: &settings}
	if !c.prepare() {
		return nil, c.problems
	}
	byType := map[string]Converted{}
	resources, _ := m.TopDown(c.service)
	for _, resource := range resources {
		if !resource.Has(traitCFNResource) {
			continue
		}
		before := c.problems.Count(diag.Error)
		out := c.resource(resource)
		if c.problems.Count(diag.Error) > before {
			continue
		}
		if previous, taken := byType[out.TypeName]; taken {
			c.warn("smithy/same-type", resource.At, fmt.Sprintf("the resources %s and %s both become %s; the last one is used", previous.Resource, resource.ID, out.TypeName),
				"set `name` in the trait cfnResource of one of them")
		}
		byType[out.TypeName] = out
	}
	var out []Converted
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		out = append(out, byType[name])
	}
	return out, c.problems
}

// A converter contains what the resources of one conversion share.
type converter struct {
	m        *Model
	settings *Settings
	service  *Shape
	problems diag.List

	organization, serviceName string
	index                     *propertyIndex
	names                     map[ID]string // of definitions, as the whole model settles them
	conflicts                 map[ID]ID     // shapes whose preferred name is taken, with its owner
	unit                      bool          // Unit becomes a definition
}

func (c *converter) fail(id string, at diag.Range, message, hint string) {
	c.problems.Add(diag.Problem{ID: id, At: at, Message: message, Hint: hint})
}

func (c *converter) warn(id string, at diag.Range, message, hint string) {
	c.problems.Add(diag.Problem{ID: id, Severity: diag.Warning, At: at, Message: message, Hint: hint})
}

func (c *converter) prepare() bool {
	id := c.settings.Service
	if id == "" {
		c.fail("smithy/service", diag.Range{}, "cloudformation is missing required property, `service`", "set the service, such as ns#Service; the model has "+c.servicesHint())
		return false
	}
	c.service = c.m.Shape(id)
	if c.service == nil || c.service.Type != Service {
		message := "Shape not found in model: " + string(id)
		if c.service != nil {
			message = fmt.Sprintf("%s is a %s, not a service", id, c.service.Type)
		}
		c.fail("smithy/service", diag.Range{}, message, "the model has "+c.servicesHint())
		return false
	}
	trait := c.service.Trait(traitAPIService)
	c.organization, c.serviceName = c.settings.OrganizationName, c.settings.ServiceName
	if c.organization == "" {
		if trait == nil {
			c.fail("smithy/setting", c.service.At, "cloudformation is missing required property, `organizationName`",
				"set organizationName, because a service without the trait aws.api#service has none")
			return false
		}
		c.organization = "AWS"
	}
	if c.serviceName == "" {
		if trait != nil {
			c.serviceName = trait.Value.Get("cloudFormationName").Str()
		}
		if c.serviceName == "" {
			c.serviceName = id.Name()
		}
	}
	c.index = newPropertyIndex(c.m)
	c.nameDefinitions()
	return true
}

func (c *converter) servicesHint() string {
	var names []ID
	for _, s := range c.m.OfType(Service) {
		names = append(names, s.ID)
	}
	if names == nil {
		return "no service"
	}
	return ticked(names)
}

// contextualName is the name that the service knows a shape by.
func (c *converter) contextualName(id ID) string {
	for _, r := range c.service.Rename {
		if r.Target == id {
			return r.Name
		}
	}
	return id.Name()
}

// nameDefinitions gives every shape that may become a definition its name. As in the
// reference implementation all shapes of the model have a say; but a conflict is kept
// for later, for only shapes of the service can do harm.
func (c *converter) nameDefinitions() {
	c.names, c.conflicts = map[ID]string{}, map[ID]ID{}
	inService := c.serviceClosure()
	owners := map[string]*Shape{}
	for _, s := range c.m.roots {
		if c.settings.InServiceReferences && !inService[s.ID] {
			continue
		}
		if s.Type == Union && slices.ContainsFunc(s.Members, func(m *Shape) bool { return m.Target == unitID }) {
			c.unit = true
		}
		name := alphanumeric(c.contextualName(s.ID))
		if s.Has(traitMixin) || typeClasses[s.Type] == serviceType || s.Type.simple() && s.Type != Enum && !s.Has(traitEnum) {
			c.names[s.ID] = name
			continue
		}
		owner := owners[name]
		switch {
		case owner == nil:
			owners[name] = s
		case owner.Has(traitTrait):
		case s.Type.collection() || s.Type == Map:
			name += namespaceSuffix(s.ID)
			if taken := owners[name]; taken != nil {
				c.conflicts[s.ID] = taken.ID
			}
			owners[name] = s
		case !inService[owner.ID] || owner.Type.collection():
			owners[name] = s
		default:
			c.conflicts[s.ID] = owner.ID
		}
		c.names[s.ID] = name
	}
	c.names[unitID] = "Unit"
}

// serviceClosure contains the shapes that are reachable from the service, including the
// structures that its resources name in additionalSchemas.
func (c *converter) serviceClosure() map[ID]bool {
	out := map[ID]bool{}
	from := []ID{c.service.ID}
	resources, _ := c.m.TopDown(c.service)
	for _, r := range resources {
		if t := r.Trait(traitCFNResource); t != nil {
			for _, id := range t.Value.Get("additionalSchemas").Strings() {
				from = append(from, ID(id))
			}
		}
	}
	for _, id := range from {
		for _, id := range c.m.closure(id) {
			out[id] = true
		}
	}
	return out
}

// alphanumeric removes every character that is not allowed in a reference.
func alphanumeric(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (isLetter(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return -1
	}, name)
}

func namespaceSuffix(id ID) string {
	out := ""
	for part := range strings.SplitSeq(id.Namespace(), ".") {
		out += titleCase(part)
	}
	return out
}

// appendIndented writes a value with four spaces a level; empty objects and arrays stay
// on one line.
func appendIndented(b []byte, v *document.Value, level int) []byte {
	indent := func(level int) { b = append(append(b, '\n'), strings.Repeat("    ", level)...) }
	switch {
	case v.Kind == document.Array && len(v.Items) > 0:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			indent(level + 1)
			b = appendIndented(b, item, level+1)
		}
		indent(level)
		return append(b, ']')
	case v.Kind == document.Object && len(v.Members) > 0:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			indent(level + 1)
			b = append(document.NewString(m.Key).AppendJSON(b), ": "...)
			b = appendIndented(b, m.Value, level+1)
		}
		indent(level)
		return append(b, '}')
	}
	return v.AppendJSON(b)
}
