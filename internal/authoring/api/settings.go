package api

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// Settings override decisions of [Derive]. The zero Settings override nothing.
type Settings struct {
	Source     SourceSettings
	Resource   string
	Operations map[string][]string // by action: names or "METHOD /path"; an empty list means none
	Identifier []string            // properties
	Additional [][]string
	Envelope   map[string]string // by action: the member that contains the resource, "" for none
	Properties []PropertySettings

	Auth   string // the name of a scheme
	Wait   *Wait
	NoWait bool // Wait is empty: handlers do not wait
	Find   *Find
	Errors map[string]map[string]string // by action: handler error codes by the names of errors or statuses

	at map[string]diag.Range // of the keys
}

// SourceSettings name the description that the settings are about. Paths are relative to the
// file of the settings.
type SourceSettings struct{ OpenAPI, Smithy, Service string }

// PropertySettings override what is decided about one property.
type PropertySettings struct {
	Property string // the name in the schema or in the API
	At       diag.Range

	Name                                      string
	Ignore                                    bool
	ReadOnly, CreateOnly, WriteOnly, Required *bool
	RelationType, RelationPath                string
}

// ParseSettings reads a file of settings in YAML or JSON. Problems have the IDs of
// [document.Parse] and api/setting.
func ParseSettings(file string, data []byte) (*Settings, diag.List) {
	var root *document.Value
	if len(bytes.TrimSpace(data)) > 0 {
		var problems diag.List
		if root, problems = document.Parse(file, data, document.Limits{Bytes: 1 << 20, Depth: 32}); problems.HasErrors() {
			return nil, problems
		}
	}
	p := &settingsReader{s: &Settings{Operations: map[string][]string{}, Envelope: map[string]string{}, at: map[string]diag.Range{}}}
	p.object(root, "settings", map[string]func(document.Member){
		"source": func(m document.Member) {
			p.object(m.Value, "source", map[string]func(document.Member){
				"openapi": func(m document.Member) { p.s.Source.OpenAPI = p.text(m) },
				"smithy":  func(m document.Member) { p.s.Source.Smithy = p.text(m) },
				"service": func(m document.Member) { p.s.Source.Service = p.text(m) },
			})
		},
		"resource":   func(m document.Member) { p.s.Resource = p.text(m) },
		"operations": func(m document.Member) { p.actions(m, func(a document.Member) { p.s.Operations[a.Key] = p.list(a) }) },
		"identifier": func(m document.Member) { p.s.Identifier = p.list(m) },
		"additional": func(m document.Member) {
			if m.Value.Kind != document.Array {
				p.wrong(m, "a list of lists of properties")
				return
			}
			for _, item := range m.Value.Items {
				p.s.Additional = append(p.s.Additional, p.list(document.Member{Key: m.Key, KeyAt: m.KeyAt, Value: item}))
			}
		},
		"envelope":   func(m document.Member) { p.actions(m, func(a document.Member) { p.s.Envelope[a.Key] = p.text(a) }) },
		"properties": p.properties,
		"auth":       func(m document.Member) { p.s.Auth = p.text(m) },
		"wait":       p.wait,
		"find":       p.find,
		"errors": func(m document.Member) {
			p.s.Errors = map[string]map[string]string{}
			p.actions(m, func(a document.Member) { p.s.Errors[a.Key] = p.codes(a) })
		},
	})
	return p.s, p.problems
}

type settingsReader struct {
	s        *Settings
	problems diag.List
}

func (p *settingsReader) wrong(m document.Member, expected string) {
	p.problems.Add(diag.Problem{ID: "api/setting", At: m.Value.At, Message: fmt.Sprintf("%s: expected %s but got %s", m.Key, expected, m.Value.Kind.WithArticle())})
}

// object calls the reader of each key, and reports unknown ones.
func (p *settingsReader) object(v *document.Value, what string, keys map[string]func(document.Member)) {
	if v == nil || v.Kind == document.Null {
		return
	}
	if v.Kind != document.Object {
		p.wrong(document.Member{Key: what, Value: v}, "an object")
		return
	}
	for _, m := range v.Distinct() {
		read := keys[m.Key]
		if read == nil {
			var known []string
			for key := range keys {
				known = append(known, key)
			}
			slices.Sort(known)
			p.problems.Add(diag.Problem{ID: "api/setting", At: m.KeyAt, Message: fmt.Sprintf("unknown setting %q", diag.Cut(m.Key)), Hint: cmp.Or(words.DidYouMean(m.Key, known), "use one of "+strings.Join(known, ", "))})
			continue
		}
		p.s.at[what+"."+m.Key] = m.KeyAt
		read(m)
	}
}

var actions = []string{"create", "read", "update", "delete", "list"}

func (p *settingsReader) actions(m document.Member, read func(document.Member)) {
	keys := map[string]func(document.Member){}
	for _, action := range actions {
		keys[action] = read
	}
	p.object(m.Value, m.Key, keys)
}

func (p *settingsReader) text(m document.Member) string {
	if m.Value.Kind != document.String && m.Value.Kind != document.Null {
		p.wrong(m, "a string")
	}
	return m.Value.Text
}

// list is a list of strings, or one string.
func (p *settingsReader) list(m document.Member) []string {
	switch m.Value.Kind {
	case document.String:
		return []string{m.Value.Text}
	case document.Null:
		return []string{}
	case document.Array:
		out := m.Value.Strings()
		if len(out) == len(m.Value.Items) {
			return out
		}
	}
	p.wrong(m, "a list of strings")
	return nil
}

func (p *settingsReader) flag(m document.Member) *bool {
	if m.Value.Kind != document.Bool {
		p.wrong(m, "true or false")
	}
	return &m.Value.Bool
}

func (p *settingsReader) properties(m document.Member) {
	if m.Value.Kind != document.Object {
		p.wrong(m, "an object")
		return
	}
	for _, entry := range m.Value.Distinct() {
		s := PropertySettings{Property: entry.Key, At: entry.KeyAt}
		p.object(entry.Value, entry.Key, map[string]func(document.Member){
			"name":       func(m document.Member) { s.Name = p.text(m) },
			"ignore":     func(m document.Member) { s.Ignore = *p.flag(m) },
			"readOnly":   func(m document.Member) { s.ReadOnly = p.flag(m) },
			"createOnly": func(m document.Member) { s.CreateOnly = p.flag(m) },
			"writeOnly":  func(m document.Member) { s.WriteOnly = p.flag(m) },
			"required":   func(m document.Member) { s.Required = p.flag(m) },
			"relation": func(m document.Member) {
				p.object(m.Value, "relation", map[string]func(document.Member){
					"typeName":     func(m document.Member) { s.RelationType = p.text(m) },
					"propertyPath": func(m document.Member) { s.RelationPath = p.text(m) },
				})
			},
		})
		p.s.Properties = append(p.s.Properties, s)
	}
}

// wait is an object, or false: handlers do not wait.
func (p *settingsReader) wait(m document.Member) {
	p.s.Wait = &Wait{Delay: 5}
	if m.Value.Kind == document.Bool && !m.Value.Bool {
		p.s.NoWait = true
		return
	}
	p.object(m.Value, "wait", map[string]func(document.Member){
		"property": func(m document.Member) { p.s.Wait.Property = p.text(m) },
		"pending":  func(m document.Member) { p.s.Wait.Pending = p.list(m) },
		"success":  func(m document.Member) { p.s.Wait.Success = p.list(m) },
		"failure":  func(m document.Member) { p.s.Wait.Failure = p.list(m) },
		"deleting": func(m document.Member) { p.s.Wait.Deleting = p.list(m) },
		"gone":     func(m document.Member) { p.s.Wait.Gone = p.list(m) },
		"delay": func(m document.Member) {
			if p.s.Wait.Delay = number(m.Value); m.Value.Kind != document.Number || p.s.Wait.Delay < 1 || p.s.Wait.Delay > 3600 {
				p.wrong(m, "a number of seconds from 1 to 3600")
			}
		},
	})
}

// find is a list of properties that are unique together, or none.
func (p *settingsReader) find(m document.Member) {
	p.s.Find = &Find{By: "list", Reason: "the settings say so"}
	if m.Value.Kind == document.String && m.Value.Text == "none" {
		p.s.Find.By = "none"
		return
	}
	p.s.Find.Properties = p.list(m)
}

// codes are handler error codes by the names of errors or statuses.
func (p *settingsReader) codes(m document.Member) map[string]string {
	out := map[string]string{}
	if m.Value.Kind != document.Object {
		p.wrong(m, "an object")
		return out
	}
	for _, entry := range m.Value.Distinct() {
		if out[entry.Key] = p.text(entry); !slices.Contains(handlerCodes, out[entry.Key]) {
			p.wrong(entry, "a handler error code, such as AlreadyExists or NotFound")
		}
	}
	return out
}

// property returns the settings of a property by its names, or nil.
func (s *Settings) property(names ...string) *PropertySettings {
	for i := range s.Properties {
		for _, name := range names {
			if norm(s.Properties[i].Property) == norm(name) {
				return &s.Properties[i]
			}
		}
	}
	return nil
}

// NewSettings is the text of a file of settings for a type: its source and what can be overridden.
func NewSettings(source SourceSettings, d *Derived) []byte {
	var b strings.Builder
	b.WriteString("# How the schema is made from the API. After a change: cfn init --schema-only --force\n")
	quoted := func(text string) string { return string(document.NewString(text).AppendJSON(nil)) }
	switch {
	case source.OpenAPI != "":
		fmt.Fprintf(&b, "source: {openapi: %s}\n", quoted(source.OpenAPI))
	default:
		fmt.Fprintf(&b, "source: {smithy: %s, service: %s}\n", quoted(source.Smithy), quoted(source.Service))
	}
	fmt.Fprintf(&b, "resource: %s\n", quoted(d.Resource.Name))
	b.WriteString("operations:\n")
	byAction := map[string][]string{}
	for _, step := range d.Resource.Steps() {
		byAction[step.Action] = append(byAction[step.Action], quoted(step.Operation.Name))
	}
	for _, action := range actions {
		if names := byAction[action]; names != nil {
			fmt.Fprintf(&b, "  %s: [%s]\n", action, strings.Join(names, ", "))
		}
	}
	var identifier []string
	for _, p := range d.Properties {
		if p.Identifier {
			identifier = append(identifier, p.Name)
		}
	}
	fmt.Fprintf(&b, "identifier: [%s]\n", strings.Join(identifier, ", "))
	b.WriteString("# properties:\n#   Password: {writeOnly: true}\n#   Links: {ignore: true}\n")
	return []byte(b.String())
}
