package smithy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/document"
)

var serviceRules = []rule{
	{"Service", further, checkServices},
	{"AuthTrait", further, checkAuth},
	{"ServiceAuthDefinitions", further, checkAuthOrder},
	{"CorsTrait", further, checkCORS},
	{"HttpApiKeyAuthTrait", further, checkAPIKeys},
	{"NoInlineDocumentSupport", further, checkInlineDocuments},
}

func checkServices(c *check) {
	for _, s := range c.m.ofType(Service) {
		closure := c.closure(s.ID)
		renamed := func(id ID) (string, bool) {
			for _, r := range s.Rename {
				if r.Target == id {
					return r.Name, true
				}
			}
			return id.Name(), false
		}
		byName := map[string][]ID{}
		for _, id := range closure {
			if id.Member() == "" {
				name, _ := renamed(id)
				byName[strings.ToLower(name)] = append(byName[strings.ToLower(name)], id)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			for _, id := range byName[name] {
				for _, other := range byName[name] {
					if id != other {
						c.reportNameConflict(s, c.m.Shape(id), c.m.Shape(other), renamed)
					}
				}
			}
		}
		c.checkRenames(s, closure)
	}
}

func (c *check) reportNameConflict(service, s, other *Shape, renamed func(ID) (string, bool)) {
	severity, conflict := c.nameConflict(s, other, 0)
	if !conflict {
		return
	}
	text := "Shape name `" + string(s.ID) + "`"
	if name, is := renamed(s.ID); is {
		text = `Renamed shape name "` + name + `"`
	}
	text += " conflicts with `" + string(other.ID) + "` "
	if name, is := renamed(other.ID); is {
		text += `(renamed to "` + name + `") `
	}
	should := "should"
	if severity >= DangerSeverity {
		should = "must"
	}
	c.add(severity, s, s.At, "", "%sin the `%s` service closure. Shapes in the closure of a service %s have case-insensitively unique names "+
		"regardless of their namespaces. Use the `rename` property of the service to disambiguate shape names.", text, service.ID, should)
}

// nameConflict says how bad it is that two shapes have the same name.
func (c *check) nameConflict(a, b *Shape, depth int) (Severity, bool) {
	if a == nil || b == nil || depth > maxNesting {
		return 0, false
	}
	forbidden := func(s *Shape) bool { return !s.Type.simple() && !s.Type.collection() && s.Type != Member }
	if forbidden(a) || forbidden(b) || a.Type != b.Type || !sameTraits(a, b) {
		return ErrorSeverity, true
	}
	var inner Severity
	nested := false
	switch {
	case a.Type == Member:
		inner, nested = c.nameConflict(c.m.target(a), c.m.target(b), depth+1)
	case a.Type.collection():
		inner, nested = c.nameConflict(a.Member("member"), b.Member("member"), depth+1)
	}
	switch {
	case nested && inner >= WarningSeverity:
		return inner, true
	case a.Type.simple():
		return NoteSeverity, true
	}
	return WarningSeverity, true
}

func sameTraits(a, b *Shape) bool {
	if len(a.Traits) != len(b.Traits) {
		return false
	}
	return !slices.ContainsFunc(a.Traits, func(t *Trait) bool {
		other := b.Trait(t.ID)
		return other == nil || !equalValues(t.Value, other.Value)
	})
}

func (c *check) checkRenames(s *Shape, closure []ID) {
	for _, r := range s.Rename {
		switch {
		case !validIdentifier(r.Name):
			c.error(s, "Service attempts to rename `%s` to an invalid identifier, \"%s\"", r.Target, r.Name)
		case r.Name == r.Target.Name():
			c.error(s, "Service rename for `%s` does not actually change the name from `%s`", r.Target, r.Name)
		}
		if !slices.Contains(closure, r.Target) {
			c.error(s, "Service attempts to rename a shape not in the service: %s", r.Target)
			continue
		}
		if t := c.m.Shape(r.Target).Type; t == Member || t == Resource || t == Operation {
			c.error(s, "Service attempts to rename a %s shape from `%s` to \"%s\"; %ss cannot be renamed", t, r.Target, r.Name, t)
		}
	}
}

func checkAuth(c *check) {
	c.services(func(service *Shape, operations []*Shape) {
		schemes := names(c.authSchemes(service))
		for _, s := range append([]*Shape{service}, operations...) {
			t := s.Trait(traitAuth)
			if t == nil {
				continue
			}
			var missing []string
			for _, id := range t.Value.Strings() {
				if !slices.Contains(schemes, ID(id)) {
					missing = append(missing, id)
				}
			}
			if missing != nil {
				slices.Sort(missing)
				c.traitDanger(s, t, "auth trait applies authentication that is not configured on the service shape, `%s`: %s",
					service.ID, bracketed(slices.Compact(missing)))
			}
		}
	})
}

func checkAuthOrder(c *check) {
	for _, s := range c.m.ofType(Service) {
		if !s.Has(traitAuth) && len(c.authSchemes(s)) > 1 {
			c.warning(s, "This service uses multiple authentication schemes but does not have the `@auth` trait applied. The `@auth` trait "+
				"defines a priority ordering of auth schemes for a client to use. Without it, the ordering of auth schemes is alphabetical based on "+
				"the absolute shape ID of the auth schemes.")
		}
	}
}

func checkCORS(c *check) {
	for _, s := range c.shapesWith("smithy.api#cors", Service) {
		t := s.Trait("smithy.api#cors")
		if origins := t.Value.Get("origins"); t.Value.Get("origin") != nil && origins != nil && len(origins.Members) > 0 {
			c.traitError(s, t, "The `origin` and `origins` members of the `cors` trait are mutually exclusive.")
		}
	}
}

func checkAPIKeys(c *check) {
	const id = ID("smithy.api#httpApiKeyAuth")
	for _, s := range c.shapesWith(id, Service) {
		t := s.Trait(id)
		if in := textOf(t.Value, "in"); t.Value.Get("scheme") != nil && in != "header" {
			c.traitError(s, t, "The httpApiKeyAuth trait must have an `in` value of `header` when a `scheme` is provided, found: %s", in)
		}
	}
}

func checkInlineDocuments(c *check) {
	for _, s := range c.m.ofType(Service) {
		for _, protocol := range c.protocols(s) {
			if !isTrue(protocol.Trait("smithy.api#protocolDefinition").Value, "noInlineDocumentSupport") {
				continue
			}
			var found []*Shape
			for _, id := range c.closure(s.ID) {
				if d := c.m.Shape(id); d.Type == Document {
					found = append(found, d)
				}
			}
			slices.SortFunc(found, func(a, b *Shape) int { return cmp.Compare(compareIDs(a.ID, b.ID), 0) })
			var texts []string
			for _, d := range found {
				texts = append(texts, fmt.Sprintf("%s @ %s", d.ID, d.At))
			}
			if texts != nil {
				c.traitError(s, s.Trait(protocol.ID), "This service uses the `%s` protocol which does not support inline document types, but the "+
					"following document types were found in the closure of the service: %s", protocol.ID, bracketed(texts))
			}
		}
	}
}

// --- validators that a model asks for by name

// runModelValidators runs the validators of the metadata "validators". Those that select
// shapes are run; the linters of the reference implementation are not part of this
// package and are named as unknown.
func (c *check) runModelValidators() {
	list := c.m.metadata("validators")
	if list == nil {
		return
	}
	fail := func(v *document.Value, format string, args ...any) {
		c.events = append(c.events, Event{ID: modelError, Severity: ErrorSeverity, Message: fmt.Sprintf(format, args...), At: v.At})
	}
	if list.Kind != document.Array {
		fail(list, "validators must be an array. Found %s.", kindName(list.Kind))
		return
	}
	for _, item := range list.Items {
		if item.Kind != document.Object {
			fail(item, "Each element of `validators` must be an object. Found %s.", kindName(item.Kind))
			continue
		}
		name := textOf(item, "name")
		if name == "" {
			fail(item, "Missing expected member `name`.")
			continue
		}
		v := modelValidator{check: c, name: name, definition: item}
		switch name {
		case "EmitEachSelector":
			v.emitEach(fail)
		case "EmitNoneSelector":
			v.emitNone(fail)
		case "UnreferencedShape":
			v.unreferenced()
		default:
			c.events = append(c.events, Event{ID: "UnknownValidator_" + name, Severity: WarningSeverity, At: item.At,
				Message: "Unable to locate a validator named `" + name + "`"})
		}
	}
}

// A modelValidator is an entry of the metadata "validators".
type modelValidator struct {
	*check
	name       string
	definition *document.Value
}

// emit reports an event as the definition wants it: id, severity, message, and only for
// the shapes it is about.
func (v modelValidator) emit(e Event) {
	if e.Shape != "" {
		if only := v.definition.Get("namespaces").Strings(); len(only) > 0 && !slices.Contains(only, e.Shape.Namespace()) {
			return
		}
		if sel := textOf(v.definition, "selector"); sel != "" && !v.pick(sel)[v.m.Shape(e.Shape)] {
			return
		}
	}
	e.ID = v.name
	if id := textOf(v.definition, "id"); id != "" {
		e.ID = id
	}
	if name := textOf(v.definition, "severity"); name != "" {
		e.Severity, _ = parseSeverity(name)
	}
	if message := textOf(v.definition, "message"); message != "" {
		e.Message = strings.ReplaceAll(message, "{super}", e.Message)
	}
	v.events = append(v.events, e)
}

func (v modelValidator) selector(fail func(*document.Value, string, ...any)) *selector {
	text := v.definition.Get("configuration").Get("selector")
	if text == nil || text.Kind != document.String {
		fail(v.definition, "Error creating `%s` validator: selector is required", v.name)
		return nil
	}
	sel, err := parseSelector(text.Text)
	if err != nil {
		fail(text, "Error creating `%s` validator: %s", v.name, err)
		return nil
	}
	return sel
}

func (v modelValidator) emitEach(fail func(*document.Value, string, ...any)) {
	sel := v.selector(fail)
	if sel == nil {
		return
	}
	bind := ID(textOf(v.definition.Get("configuration"), "bindToTrait"))
	template := textOf(v.definition.Get("configuration"), "messageTemplate")
	seen := map[*Shape]bool{}
	v.selection.pick(sel, func(s *Shape) {
		at := s.At
		if bind != "" {
			t := s.Trait(bind)
			if t == nil {
				return
			}
			at = t.At
		}
		message := "Selector capture matched selector: " + sel.text
		if template != "" {
			message = v.selection.expand(template, s)
		} else if seen[s] {
			return
		}
		seen[s] = true
		if !s.builtin {
			v.emit(Event{Severity: DangerSeverity, Shape: s.ID, At: at, Message: message})
		}
	})
}

// expand fills in the paths of a message template: "@{trait|documentation}"; "@@" is "@".
func (c *selection) expand(template string, s *Shape) string {
	var b strings.Builder
	for rest := template; ; {
		i := strings.IndexByte(rest, '@')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:i])
		if strings.HasPrefix(rest[i:], "@@") {
			b.WriteByte('@')
			rest = rest[i+2:]
			continue
		}
		p := &selectorParser{text: rest, pos: i, sel: &selector{}}
		value := p.scopedValue()
		if p.err != nil || value.path == nil {
			b.WriteString(rest[i:])
			return b.String()
		}
		b.WriteString(c.path(attribute{kind: attrShape, shape: s}, value.path).forMessage())
		end := strings.IndexByte(rest[i:], '}')
		rest = rest[i+end+1:]
	}
}

func (v modelValidator) emitNone(fail func(*document.Value, string, ...any)) {
	sel := v.selector(fail)
	if sel == nil {
		return
	}
	for s := range v.selection.pick(sel, nil) {
		if s.ID.Namespace() != preludeNamespace {
			return
		}
	}
	v.emit(Event{Severity: DangerSeverity, Message: "Expected at least one shape to match selector: " + sel.text})
}

func (v modelValidator) unreferenced() {
	services := v.m.ofType(Service)
	if services == nil {
		return
	}
	reached := map[ID]bool{}
	for _, s := range services {
		for _, id := range v.closure(s.ID) {
			reached[id] = true
		}
	}
	traits := map[ID]bool{}
	for _, s := range v.m.roots {
		if s.Has(traitTrait) {
			for _, id := range v.closure(s.ID) {
				traits[id] = true
			}
		}
	}
	for _, s := range v.m.roots {
		if !reached[s.ID] && !traits[s.ID] && !s.Has(traitMixin) {
			v.emit(Event{Severity: NoteSeverity, Shape: s.ID, At: s.At,
				Message: fmt.Sprintf("The %s shape is not connected to from any service shape.", s.Type)})
		}
	}
}
