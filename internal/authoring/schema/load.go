package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Load parses, checks and decodes a document, JSON or YAML as in [document.Parse]. file is its
// name in messages, and relative references are resolved against its folder; data is its
// content.
//
// The Schema is nil only if the document cannot be read or is not a JSON object. With
// error-severity problems it is of use for further messages, not for running handlers.
// The problems are sorted; their IDs are those of [Rules] and of [document.Parse].
func Load(file string, data []byte, cfg Config) (*Schema, diag.List) {
	root, problems := document.Parse(file, data, cfg.Limits)
	if root == nil {
		return nil, problems
	}
	if root.Kind != document.Object {
		problems.Add(diag.Problem{
			ID: "schema/wrong-type", At: root.At,
			Message: fmt.Sprintf("a schema must be a JSON object, but this document is %s", root.Kind.WithArticle()),
		})
		return nil, problems
	}
	kind := cfg.Kind
	if kind == "" {
		kind = recognise(root)
	}
	s := &Schema{Kind: kind, File: file, Root: root}
	s.refs = newReferences(file, root, cfg)
	s.decode()
	problems.Add(s.check()...)
	problems.Sort()
	return s, problems
}

// recognise returns the kind of a document from its content. The default is a resource: most
// documents are, and its messages help most.
func recognise(root *document.Value) Kind {
	if declared := root.Get("type"); declared != nil && declared.Kind == document.String {
		switch kind := Kind(declared.Text); kind {
		case Resource, Hook, Module:
			return kind
		}
	}
	has := func(keys ...string) bool {
		for _, key := range keys {
			if root.Get(key) != nil {
				return true
			}
		}
		return false
	}
	handlers := root.Get("handlers")
	handles := func(actions ...string) bool {
		for _, action := range actions {
			if handlers.Get(action) != nil {
				return true
			}
		}
		return false
	}
	name := root.Get("typeName")
	switch {
	case name != nil && strings.HasSuffix(name.Text, "::MODULE"), handles("resolve"), has("moduleLink"):
		return Module
	case handles("preCreate", "preUpdate", "preDelete"):
		return Hook
	case has("primaryIdentifier") || handles("create", "read", "update", "delete", "list"):
		return Resource
	case has("typeConfiguration") && !has("properties"):
		return Hook
	case has("properties") && onlyKeys(root, configurationKeys):
		return TypeConfiguration
	}
	return Resource
}

// configurationKeys are the keys of a type configuration in a separate file. The official tool
// writes such files, with the type's name and definitions copied into them.
var configurationKeys = []string{
	"properties", "additionalProperties", "required", "deprecatedProperties", "definitions",
	"typeName", "allOf", "anyOf", "oneOf", "$schema", "$id", "$comment", "title",
}

func onlyKeys(v *document.Value, keys []string) bool {
	for _, m := range v.Members {
		found := false
		for _, key := range keys {
			found = found || m.Key == key
		}
		if !found {
			return false
		}
	}
	return true
}

func (s *Schema) decode() {
	root := s.Root
	s.TypeName = locatedString(root.Get("typeName"))
	s.Description = root.Get("description").Str()
	s.SourceURL = root.Get("sourceUrl").Str()
	s.DocumentationURL = root.Get("documentationUrl").Str()
	s.Required = root.Get("required").Strings()
	s.Handlers = decodeHandlers(root.Get("handlers"))
	s.ReplacementStrategy = root.Get("replacementStrategy").Str()
	if s.ReplacementStrategy == "" {
		s.ReplacementStrategy = "create_then_delete"
	}

	s.PrimaryIdentifier = s.paths(root.Get("primaryIdentifier"))
	if additional := root.Get("additionalIdentifiers"); additional != nil {
		for _, item := range additional.Items {
			s.AdditionalIdentifiers = append(s.AdditionalIdentifiers, s.paths(item))
		}
	}
	for key, into := range map[string]*[]Path{
		"readOnlyProperties":              &s.ReadOnly,
		"writeOnlyProperties":             &s.WriteOnly,
		"createOnlyProperties":            &s.CreateOnly,
		"conditionalCreateOnlyProperties": &s.ConditionalCreateOnly,
		"deprecatedProperties":            &s.Deprecated,
		"nonPublicProperties":             &s.NonPublic,
	} {
		*into = s.paths(root.Get(key))
	}
	s.Tagging = s.decodeTagging()
	for _, m := range root.Get("propertyTransform").Distinct() {
		if m.Value.Kind == document.String {
			s.PropertyTransform = append(s.PropertyTransform, Transform{
				Path: s.path(m.Key, m.KeyAt), Expression: locatedString(m.Value),
			})
		}
	}
	if configuration := root.Get("typeConfiguration"); configuration != nil && configuration.Kind == document.Object {
		s.TypeConfiguration = &Schema{Kind: TypeConfiguration, File: s.File, Root: configuration, refs: s.refs}
		s.TypeConfiguration.decode()
		s.TypeConfiguration.TypeName = s.TypeName
	}
}

func decodeHandlers(handlers *document.Value) []Handler {
	var out []Handler
	for _, m := range handlers.Distinct() {
		h := Handler{
			Action: m.Key, At: m.KeyAt, TimeoutInMinutes: 120,
			TargetNames: m.Value.Get("targetNames").Strings(),
			Schema:      m.Value.Get("handlerSchema"),
		}
		if permissions := m.Value.Get("permissions"); permissions != nil {
			for _, item := range permissions.Items {
				if item.Kind == document.String {
					h.Permissions = append(h.Permissions, locatedString(item))
				}
			}
		}
		if timeout := m.Value.Get("timeoutInMinutes"); timeout != nil && timeout.Kind == document.Number {
			if n, err := strconv.ParseFloat(timeout.Text, 64); err == nil && n >= 0 && n < 1<<20 {
				h.TimeoutInMinutes = int(n)
			}
		}
		out = append(out, h)
	}
	return out
}

func (s *Schema) decodeTagging() Tagging {
	t := Tagging{Taggable: true, TagOnCreate: true, TagUpdatable: true, CloudFormationSystemTags: true}
	tagging := s.Root.Get("tagging")
	t.Property = s.path("/properties/Tags", diag.Range{})
	short := s.Root.Get("taggable")
	switch {
	case tagging != nil && tagging.Kind == document.Object:
		t.Declared = true
		for key, into := range map[string]*bool{
			"taggable": &t.Taggable, "tagOnCreate": &t.TagOnCreate, "tagUpdatable": &t.TagUpdatable,
			"cloudFormationSystemTags": &t.CloudFormationSystemTags,
		} {
			if v := tagging.Get(key); v != nil && v.Kind == document.Bool {
				*into = v.Bool
			}
		}
		if property := tagging.Get("tagProperty"); property != nil && property.Kind == document.String {
			t.Property = s.path(property.Text, property.At)
		}
		t.Permissions = tagging.Get("permissions").Strings()
	case short != nil && short.Kind == document.Bool:
		t.Declared = true
		t.Taggable = short.Bool
	}
	if !t.Taggable {
		t.TagOnCreate, t.TagUpdatable, t.CloudFormationSystemTags = false, false, false
	}
	return t
}

// paths decodes a list of pointers; items that are no strings are left out.
func (s *Schema) paths(list *document.Value) []Path {
	if list == nil {
		return nil
	}
	var out []Path
	for _, item := range list.Items {
		if item.Kind == document.String {
			out = append(out, s.path(item.Text, item.At))
		}
	}
	return out
}

func locatedString(v *document.Value) Located[string] {
	if v == nil || v.Kind != document.String {
		return Located[string]{}
	}
	return Located[string]{Value: v.Text, At: v.At}
}
