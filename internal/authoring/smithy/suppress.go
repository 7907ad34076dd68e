package smithy

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A decorator changes severities according to the model.
type decorator struct {
	suppressions []eventMatch
	overrides    []eventMatch
}

// An eventMatch picks events by id and namespace.
type eventMatch struct {
	id, namespace, reason string
	severity              Severity
}

func (m eventMatch) matches(e *Event) bool {
	return e.contains(m.id) && (m.namespace == "*" || e.Shape != "" && e.Shape.Namespace() == m.namespace)
}

// contains reports whether an id is the event's or one above it.
func (e *Event) contains(id string) bool {
	rest, found := strings.CutPrefix(e.ID, id)
	return found && id != "" && (rest == "" || rest[0] == '.')
}

// readDecorator reads the metadata "suppressions" and "severityOverrides".
func (c *check) readDecorator() decorator {
	return decorator{
		suppressions: c.eventMatches("suppressions", false),
		overrides:    c.eventMatches("severityOverrides", true),
	}
}

func (c *check) eventMatches(key string, severity bool) []eventMatch {
	var out []eventMatch
	v := c.m.metadata(key)
	if v == nil {
		return nil
	}
	fail := func(v *document.Value, message string) {
		c.events = append(c.events, Event{ID: modelError, Severity: ErrorSeverity, Message: message, At: v.At})
	}
	if v.Kind != document.Array {
		fail(v, "Expected array, but found "+kindName(v.Kind)+".")
		return nil
	}
	for _, item := range v.Items {
		if item.Kind != document.Object {
			fail(item, "Expected object, but found "+kindName(item.Kind)+".")
			continue
		}
		m := eventMatch{reason: item.Get("reason").Str()}
		ok := true
		for name, into := range map[string]*string{"id": &m.id, "namespace": &m.namespace} {
			member := item.Get(name)
			switch {
			case member == nil:
				fail(item, "Missing expected member `"+name+"`.")
				ok = false
			case member.Kind != document.String:
				fail(member, "Expected `"+name+"` member to be a string, but found "+kindName(member.Kind)+".")
				ok = false
			default:
				*into = member.Text
			}
		}
		if severity {
			name := item.Get("severity").Str()
			m.severity, _ = parseSeverity(name)
			if name != "WARNING" && name != "DANGER" {
				fail(item, "Expected one of `DANGER`, `WARNING`; got `"+name+"`.")
				ok = false
			}
		}
		if ok {
			out = append(out, m)
		}
	}
	return out
}

// decorate suppresses an event or raises its severity. Errors stay what they are.
func (d decorator) decorate(m *Model, e *Event) {
	if e.Severity == ErrorSeverity || e.Severity == SuppressedSeverity {
		return
	}
	if s := m.Shape(e.Shape); s != nil {
		if t := s.Trait(traitSuppress); t != nil {
			for _, id := range t.Value.Strings() {
				if e.contains(id) {
					e.Severity = SuppressedSeverity
					return
				}
			}
		}
	}
	for _, s := range d.suppressions {
		if s.matches(e) {
			e.Severity, e.Reason = SuppressedSeverity, s.reason
			return
		}
	}
	for _, o := range d.overrides {
		if o.matches(e) && o.severity > e.Severity {
			e.Severity = o.severity
		}
	}
}
