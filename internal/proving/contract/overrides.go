package contract

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// overrides reads overrides.json, nil if it is missing or invalid.
func (l *loader) overrides() (*Overrides, error) {
	doc, err := l.read("overrides.json", 0)
	if doc == nil || err != nil {
		return nil, err
	}
	const shape = `the file is {"CREATE": {"/Property": value}, "UPDATE": {…}}; either may be left out`
	if doc.Kind != document.Object || len(doc.Members) == 0 {
		l.report(diag.Error, "overrides/structure", doc.At, "overrides.json has neither CREATE nor UPDATE", shape)
		return nil, nil
	}
	if l.cfg.Schema.Kind == schema.Hook {
		return l.hookOverrides(doc), nil
	}
	out := &Overrides{}
	for _, m := range doc.Members {
		var target *[]Override
		switch m.Key {
		case "CREATE":
			target = &out.Create
		case "UPDATE":
			target = &out.Update
		default:
			l.report(diag.Error, "overrides/structure", m.KeyAt, fmt.Sprintf("overrides do not apply to %q", m.Key), shape)
			continue
		}
		if m.Value.Kind != document.Object {
			l.report(diag.Error, "overrides/structure", m.Value.At, fmt.Sprintf("the overrides of %s must be an object but are a JSON %s", m.Key, m.Value.Kind), shape)
			continue
		}
		for _, entry := range m.Value.Members {
			if pointer := l.overridePointer(entry, m.Key); pointer != nil {
				*target = append(*target, Override{Pointer: pointer, Value: entry.Value.Any()})
			}
		}
	}
	if doc.Get("UPDATE") == nil {
		out.Update = out.Create
	}
	return out, nil
}

// overridePointer reads the place that an override names. A bare property name, as in the
// example of the user guide, is one too.
func (l *loader) overridePointer(entry document.Member, kind string) document.Pointer {
	pointer, ok := overrideText(entry.Key)
	if !ok {
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%q is not a JSON pointer", entry.Key), "start with a slash: /Property/Member")
		return nil
	}
	s := l.cfg.Schema
	switch {
	case s.Property(pointer) == nil:
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("the schema has no property %s", pointer), "start pointers inside the model, without /properties")
		return nil
	case s.IsReadOnly(pointer):
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%s is read-only and not allowed in inputs", pointer), "")
		return nil
	case kind == "UPDATE" && s.IsCreateOnly(pointer):
		// Many public projects have these. The official tool ignores them as well.
		l.report(diag.Warning, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%s is create-only and cannot be changed by an update: the override is ignored", pointer), "remove it from UPDATE")
		return nil
	}
	return pointer
}

// overrideText reads a pointer. A bare property name is one too.
func overrideText(text string) (document.Pointer, bool) {
	if text == "" {
		return nil, false
	}
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	return document.ParsePointer(text)
}

// apply puts overrides into a model, which it changes. Create-only places are left alone
// in an update.
func apply(s *schema.Schema, model map[string]any, overrides []Override, update bool) {
	for _, o := range overrides {
		if update && s.IsCreateOnly(o.Pointer) {
			continue
		}
		invoke.Put(model, o.Pointer, o.Value)
	}
}

// hookOverrideKeys are the members that the overrides of a hook may have.
var hookOverrideKeys = []string{
	"CREATE_PRE_PROVISION", "UPDATE_PRE_PROVISION", "DELETE_PRE_PROVISION",
	"INVALID_CREATE_PRE_PROVISION", "INVALID_UPDATE_PRE_PROVISION", "INVALID_DELETE_PRE_PROVISION", "INVALID",
}

// hookOverrides reads {point: {target name: {"resourceProperties": {pointer: value}}}}.
func (l *loader) hookOverrides(doc *document.Value) *Overrides {
	const shape = `the overrides of a hook are {"CREATE_PRE_PROVISION": {"TARGET NAME": {"resourceProperties": {"/Property": value}}}}`
	out := &Overrides{Hook: map[string]map[string][]Override{}}
	fault := func(at diag.Range, format string, args ...any) {
		l.report(diag.Error, "overrides/structure", at, fmt.Sprintf(format, args...), shape)
	}
	for _, point := range doc.Members {
		if !slices.Contains(hookOverrideKeys, point.Key) {
			fault(point.KeyAt, "overrides do not apply to %q", point.Key)
			continue
		}
		targets := map[string][]Override{}
		out.Hook[point.Key] = targets
		if point.Value.Kind != document.Object {
			fault(point.Value.At, "the overrides of %s must be an object but are a JSON %s", point.Key, point.Value.Kind)
		}
		for _, target := range point.Value.Members {
			if target.Value.Kind != document.Object {
				fault(target.Value.At, "the overrides of %s must be an object but are a JSON %s", target.Key, target.Value.Kind)
			}
			for _, part := range target.Value.Members {
				if part.Key != "resourceProperties" && part.Key != "previousResourceProperties" {
					fault(part.KeyAt, "a target has no %q", part.Key)
					continue
				}
				if part.Value.Kind != document.Object {
					fault(part.Value.At, "the overrides of %s must be an object but are a JSON %s", part.Key, part.Value.Kind)
				}
				for _, entry := range part.Value.Members {
					if at, ok := overrideText(entry.Key); ok {
						targets[target.Key] = append(targets[target.Key], Override{append(document.Pointer{part.Key}, at...), entry.Value.Any()})
					} else {
						fault(entry.KeyAt, "%q is not a JSON pointer", entry.Key)
					}
				}
			}
		}
	}
	return out
}
