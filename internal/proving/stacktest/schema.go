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
	w := &schemaWriter{definitions: document.NewObject(), begun: map[string]bool{}}
	root := w.body(fileForm())
	root.Members = append([]document.Member{
		member("$schema", document.NewString("http://json-schema.org/draft-07/schema#")),
		member("title", document.NewString("Stack tests of cfn")),
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
	return document.NewObject(member("$ref", document.NewString("#/definitions/"+f.def)))
}

func (w *schemaWriter) either(f *form) *document.Value {
	if f.or == nil {
		return w.body(f)
	}
	alone := *f
	alone.or, alone.def = nil, ""
	or := w.of(f.or)
	if f.or.is == anything { // but not what the first one takes
		or = document.NewObject(member("type", document.NewArray(document.NewString("object"), document.NewString("array"), document.NewString("null"))), member("allOf", document.NewArray(or)))
	}
	return document.NewObject(member("anyOf", document.NewArray(w.body(&alone), or)))
}

// body is what a form says of a value.
func (w *schemaWriter) body(f *form) *document.Value {
	out := document.NewObject()
	add := func(key string, v *document.Value) { out.Members = append(out.Members, member(key, v)) }
	switch f.is {
	case textKind:
		if f.words != nil {
			var words []*document.Value
			for _, word := range f.words {
				words = append(words, literal(word))
			}
			add("enum", document.NewArray(words...))
			break
		}
		add("type", document.NewArray(document.NewString("string"), document.NewString("number"), document.NewString("boolean")))
		if f.names != noNames {
			add(NamesKeyword, document.NewString(string(f.names)))
		}
	case listKind:
		add("type", document.NewString("array"))
		add("items", w.of(f.items))
	case objectKind:
		add("type", document.NewString("object"))
	}
	w.keys(f, add)
	return out
}

// keys adds those of an object; any value may have those of a matcher.
func (w *schemaWriter) keys(f *form, add func(string, *document.Value)) {
	properties, required := document.NewObject(), document.NewArray()
	for _, k := range f.keys {
		described := document.NewObject(member("description", document.NewString(k.text)))
		if v := w.of(k.of); v.Get("$ref") != nil {
			described.Members = append(described.Members, member("allOf", document.NewArray(v)))
		} else {
			described.Members = append(described.Members, v.Members...)
		}
		properties.Members = append(properties.Members, member(k.name, described))
		if k.need != "" {
			required.Items = append(required.Items, document.NewString(k.name))
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
		add("additionalProperties", document.NewBool(false))
	default:
		if f.names != noNames {
			add("propertyNames", document.NewObject(member(NamesKeyword, document.NewString(string(f.names)))))
		}
		add("additionalProperties", w.of(f.other))
	}
}

// literal is a word as YAML reads it without quotes.
func literal(word string) *document.Value {
	switch {
	case word == "true" || word == "false":
		return document.NewBool(word == "true")
	case strings.Trim(word, "0123456789") == "":
		return &document.Value{Kind: document.Number, Text: word}
	}
	return document.NewString(word)
}
