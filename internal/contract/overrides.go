package contract

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/schema"
)

// overrides reads overrides.json, nil if there is none or it is faulty.
func (l *loader) overrides() (*Overrides, error) {
	doc, err := l.read("overrides.json")
	if doc == nil || err != nil {
		return nil, err
	}
	const shape = `the file is {"CREATE": {"/Property": value}, "UPDATE": {…}}; either may be left out`
	if doc.Kind != document.Object || len(doc.Members) == 0 {
		l.report(diag.Error, "overrides/structure", doc.At, "overrides.json has neither CREATE nor UPDATE", shape)
		return nil, nil
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
			l.report(diag.Error, "overrides/structure", m.KeyAt, fmt.Sprintf("overrides are not made for %q", m.Key), shape)
			continue
		}
		if m.Value.Kind != document.Object {
			l.report(diag.Error, "overrides/structure", m.Value.At, fmt.Sprintf("the overrides of %s are a JSON %s, not an object", m.Key, m.Value.Kind), shape)
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
	text := entry.Key
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	pointer, ok := document.ParsePointer(text)
	if !ok || entry.Key == "" {
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%q is no JSON pointer", entry.Key), "begin with a slash: /Property/Member")
		return nil
	}
	s := l.cfg.Schema
	switch {
	case s.Property(pointer) == nil:
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("the schema has no property %s", pointer), "pointers begin inside the model, without /properties")
		return nil
	case s.IsReadOnly(pointer):
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%s is read-only: no input may have it", pointer), "")
		return nil
	case kind == "UPDATE" && s.IsCreateOnly(pointer):
		l.report(diag.Error, "overrides/pointer", entry.KeyAt, fmt.Sprintf("%s is create-only: an update may not change it", pointer), "")
		return nil
	}
	return pointer
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
