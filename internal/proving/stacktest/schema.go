package stacktest

import (
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// NamesKeyword is the keyword of the schema that says what keys, or a text, are names of in the template: "resources",
// "parameters", "conditions" or "outputs". Other programs ignore it.
const NamesKeyword = "x-cfn-names"

// Schema returns the format as a JSON schema, for editors.
func Schema() *document.Value { return wholeSchema() }

var wholeSchema = sync.OnceValue(func() *document.Value {
	w := &schemaWriter{definitions: &document.Value{Kind: document.Object}, begun: map[string]bool{}}
	root := w.body(fileForm())
	root.Members = append([]document.Member{
		member("$schema", stringValue("http://json-schema.org/draft-07/schema#")),
		member("title", stringValue("Stack tests of cfn")),
	}, root.Members...)
	root.Members = append(root.Members, member("definitions", w.definitions))
	return root
})

// A schemaWriter writes forms as JSON schemas.
type schemaWriter struct {
	definitions *document.Value
	begun       map[string]bool // names of definitions
}

func member(key string, v *document.Value) document.Member {
	return document.Member{Key: key, Value: v}
}

func stringValue(text string) *document.Value {
	return &document.Value{Kind: document.String, Text: text}
}

func listValue(items ...*document.Value) *document.Value {
	return &document.Value{Kind: document.Array, Items: items}
}

func objectValue(members ...document.Member) *document.Value {
	return &document.Value{Kind: document.Object, Members: members}
}

// of is a form, or a reference to its definition.
func (w *schemaWriter) of(f *form) *document.Value {
	if f.def == "" {
		return w.either(f)
	}
	if !w.begun[f.def] {
		w.begun[f.def] = true
		v := w.either(f)
		w.definitions.Members = append(w.definitions.Members, member(f.def, v))
	}
	return objectValue(member("$ref", stringValue("#/definitions/"+f.def)))
}

func (w *schemaWriter) either(f *form) *document.Value {
	if f.or == nil {
		return w.body(f)
	}
	alone := *f
	alone.or, alone.def = nil, ""
	or := w.of(f.or)
	if f.or.is == anything { // but not what the first one takes
		or = objectValue(member("type", listValue(stringValue("object"), stringValue("array"), stringValue("null"))), member("allOf", listValue(or)))
	}
	return objectValue(member("anyOf", listValue(w.body(&alone), or)))
}

// body is what a form says of a value.
func (w *schemaWriter) body(f *form) *document.Value {
	out := objectValue()
	add := func(key string, v *document.Value) { out.Members = append(out.Members, member(key, v)) }
	switch f.is {
	case textKind:
		if f.words != nil {
			var words []*document.Value
			for _, word := range f.words {
				words = append(words, literal(word))
			}
			add("enum", listValue(words...))
			break
		}
		add("type", listValue(stringValue("string"), stringValue("number"), stringValue("boolean")))
		if f.names != noNames {
			add(NamesKeyword, stringValue(string(f.names)))
		}
	case listKind:
		add("type", stringValue("array"))
		add("items", w.of(f.items))
	case objectKind:
		add("type", stringValue("object"))
	}
	w.keys(f, add)
	return out
}

// keys adds those of an object; any value may have those of a matcher.
func (w *schemaWriter) keys(f *form, add func(string, *document.Value)) {
	properties, required := objectValue(), listValue()
	for _, k := range f.keys {
		described := objectValue(member("description", stringValue(k.text)))
		if v := w.of(k.of); v.Get("$ref") != nil {
			described.Members = append(described.Members, member("allOf", listValue(v)))
		} else {
			described.Members = append(described.Members, v.Members...)
		}
		properties.Members = append(properties.Members, member(k.name, described))
		if k.need != "" {
			required.Items = append(required.Items, stringValue(k.name))
		}
	}
	if len(properties.Members) > 0 {
		add("properties", properties)
	}
	if len(required.Items) > 0 {
		add("required", required)
	}
	switch {
	case f == expected: // below it as well
		add("items", w.of(f))
		add("additionalProperties", w.of(f))
	case f.is != objectKind:
	case f.other == nil:
		add("additionalProperties", &document.Value{Kind: document.Bool})
	default:
		if f.names != noNames {
			add("propertyNames", objectValue(member(NamesKeyword, stringValue(string(f.names)))))
		}
		add("additionalProperties", w.of(f.other))
	}
}

// literal is a word as YAML reads it without quotes.
func literal(word string) *document.Value {
	switch {
	case word == "true" || word == "false":
		return &document.Value{Kind: document.Bool, Bool: word == "true"}
	case strings.Trim(word, "0123456789") == "":
		return &document.Value{Kind: document.Number, Text: word}
	}
	return stringValue(word)
}
