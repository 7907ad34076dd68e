package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

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
		name := item.Get("name").Str()
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
			v.unreferenced(fail)
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
		if sel := v.definition.Get("selector").Str(); sel != "" && !v.pick(sel)[v.m.Shape(e.Shape)] {
			return
		}
	}
	e.ID = v.name
	if id := v.definition.Get("id").Str(); id != "" {
		e.ID = id
	}
	if name := v.definition.Get("severity").Str(); name != "" {
		e.Severity, _ = parseSeverity(name)
	}
	if message := v.definition.Get("message").Str(); message != "" {
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
	bind := ID(v.definition.Get("configuration").Get("bindToTrait").Str())
	var parts []scopedValue
	if text := v.definition.Get("configuration").Get("messageTemplate"); text != nil {
		var err error
		if parts, err = parseTemplate(text.Text); err != nil {
			fail(text, "Error creating `EmitEachSelector` validator: %s", err)
			return
		}
	}
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
		if parts != nil {
			message = v.selection.expand(parts, s)
		} else if seen[s] {
			return
		}
		seen[s] = true
		if !s.builtin {
			v.emit(Event{Severity: DangerSeverity, Shape: s.ID, At: at, Message: message})
		}
	})
}

// parseTemplate splits the template of a message into texts and paths, which are written
// "@{trait|documentation}"; "@@" is "@".
func parseTemplate(template string) ([]scopedValue, error) {
	p := &selectorParser{text: template, sel: &selector{}}
	var out []scopedValue
	for p.err == nil && p.pos < len(p.text) {
		from := p.pos
		for p.pos < len(p.text) && p.peek() != '@' {
			p.pos++
		}
		text := p.text[from:p.pos]
		switch {
		case strings.HasPrefix(p.text[p.pos:], "@@"):
			text += "@"
			p.pos += 2
		case strings.HasPrefix(p.text[p.pos:], "@{"):
			out = append(out, scopedValue{text: text}, p.scopedPath())
			continue
		case p.pos < len(p.text):
			p.fail("Expected: '{', but found '@'")
		}
		out = append(out, scopedValue{text: text})
	}
	return out, p.err
}

// expand fills in the paths of a message template.
func (c *selection) expand(parts []scopedValue, s *Shape) string {
	var b strings.Builder
	for _, part := range parts {
		if part.path == nil {
			b.WriteString(part.text)
			continue
		}
		b.WriteString(c.path(attribute{kind: attrShape, shape: s}, part.path).forMessage())
	}
	return b.String()
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
	v.emit(Event{Severity: DangerSeverity, At: v.definition.At, Message: "Expected at least one shape to match selector: " + sel.text})
}

func (v modelValidator) unreferenced(fail func(*document.Value, string, ...any)) {
	text := "service"
	if own := v.definition.Get("configuration").Get("rootShapeSelector"); own != nil {
		text = own.Text
		if _, err := parseSelector(text); err != nil {
			fail(own, "Error creating `UnreferencedShape` validator: Error parsing `rootShapeSelector`: %s", err)
			return
		}
	}
	roots, reached := v.pick(text), map[ID]bool{}
	for _, s := range v.m.roots {
		if roots[s] || s.Has(traitTrait) || s.Has(traitMetadata) {
			for _, id := range v.closure(s.ID) {
				reached[id] = true
			}
		}
	}
	for _, s := range v.m.roots {
		if !reached[s.ID] {
			v.emit(Event{Severity: NoteSeverity, Shape: s.ID, At: s.At, Message: "This shape is unreferenced. It has no modeled connections to " +
				"shapes that match the following selector: `" + text + "`"})
		}
	}
}
