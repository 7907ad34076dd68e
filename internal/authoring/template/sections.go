package template

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

var sections = []string{
	"AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Rules", "Mappings",
	"Conditions", "Transform", "Resources", "Outputs", "Hooks",
}

// build fills the template from its document, in the order in which the service checks.
func (t *Template) build(r *report) {
	t.index()
	t.buildTransforms(r)
	pending := t.HasTransforms() && !t.asWritten
	if !pending {
		nulls(t.root, nil, r)
		t.buildUnknown(r)
	}
	t.buildHead(r)
	t.buildParameters(r)
	defer characters(t.root, nil, r) // what the service has words for comes first
	if pending {
		return // what the other sections hold is known after the transforms
	}
	t.buildMappings(r)
	t.buildConditions(r)
	t.buildRules(r)
	t.buildResources(r)
	t.buildOutputs(r)
	t.commonNames(r)
}

func (t *Template) index() {
	t.parameters, t.mappings = map[string]*Parameter{}, map[string]*Mapping{}
	t.conditions, t.resources = map[string]*Condition{}, map[string]*Resource{}
}

// nulls refuses null anywhere.
// characters refuses U+0000, which no database stores, but for the properties of resources: it
// fails the resource if a value has it when it is created.
func characters(v *document.Value, at document.Pointer, r *report) {
	if strings.ContainsRune(v.Text, 0) {
		r.add("character", v.At, at, at.String())
	}
	for i, item := range v.Items {
		characters(item, append(at, itoa(i)), r)
	}
	for _, m := range v.Members {
		if strings.ContainsRune(m.Key, 0) {
			r.add("character", m.KeyAt, at, at.Append(strings.ReplaceAll(m.Key, "\x00", "")).String())
			continue
		}
		if len(at) == 2 && at[0] == "Resources" && m.Key == "Properties" {
			continue
		}
		characters(m.Value, append(at, m.Key), r)
	}
}

func nulls(v *document.Value, at document.Pointer, r *report) {
	switch v.Kind {
	case document.Null:
		r.add("null", v.At, at, at.String())
	case document.Array:
		for i, item := range v.Items {
			nulls(item, append(at, itoa(i)), r)
		}
	case document.Object:
		for _, m := range v.Distinct() {
			nulls(m.Value, append(at, m.Key), r)
		}
	}
}

func (t *Template) buildUnknown(r *report) {
	var unknown []string
	var at diag.Range
	for _, m := range t.root.Distinct() {
		if !slices.Contains(sections, m.Key) {
			if unknown == nil {
				at = m.KeyAt
			}
			unknown = append(unknown, m.Key)
		}
	}
	if unknown != nil {
		r.add("unknown-section", at, nil, list(unknown))
	}
}

func (t *Template) buildHead(r *report) {
	if v := t.root.Get("AWSTemplateFormatVersion"); v != nil && v.Kind != document.Null {
		t.Version = v.Text
		if v.Kind != document.String || v.Text != "2010-09-09" {
			r.add("version", v.At, document.Pointer{"AWSTemplateFormatVersion"})
		}
	}
	if v := t.root.Get("Description"); v != nil && v.Kind != document.Null {
		t.Description = v.Text
		if v.Kind != document.String || len(v.Text) > MaxDescription {
			r.add("description", v.At, document.Pointer{"Description"})
		}
	}
	if v := t.root.Get("Metadata"); v != nil {
		t.Metadata = v
		if v.Kind != document.Object && v.Kind != document.Null {
			r.add("section-type", v.At, document.Pointer{"Metadata"}, "Metadata", "Metadata")
		}
	}
}

// section returns the members of a section; one that is not an object is refused.
func (t *Template) section(name string, r *report) []document.Member {
	v := t.root.Get(name)
	switch {
	case v == nil || v.Kind == document.Null:
		return nil
	case v.Kind != document.Object && name == "Resources":
		r.add("resource-object", v.At, document.Pointer{name})
		return nil
	case v.Kind != document.Object:
		r.add("section-type", v.At, document.Pointer{name}, name, name)
		return nil
	}
	return v.Distinct()
}

// alphanumeric reports whether a name has letters and digits of ASCII only.
func alphanumeric(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

func (t *Template) checkName(id, kind string, m document.Member, at document.Pointer, r *report) {
	switch {
	case !alphanumeric(m.Key):
		r.add(id, m.KeyAt, at, m.Key)
	default:
		t.checkNameLength(kind, m, at, r)
	}
}

// checkNameLength refuses a name that is too long, of whatever characters.
func (t *Template) checkNameLength(kind string, m document.Member, at document.Pointer, r *report) {
	if utf8.RuneCountInString(m.Key) > MaxName {
		r.add("name-length", m.KeyAt, at, kind, m.Key)
	}
}

func (t *Template) tooMany(id, section string, n, limit int, r *report) {
	if n > limit {
		r.add(id, t.root.Member(section).KeyAt, document.Pointer{section}, n)
	}
}

func (t *Template) buildMappings(r *report) {
	members := t.section("Mappings", r)
	t.tooMany("too-many-mappings", "Mappings", len(members), MaxMappings, r)
	for _, m := range members {
		at := document.Pointer{"Mappings", m.Key}
		t.checkName("mapping-name", "Mapping", m, at, r)
		mapping := &Mapping{Name: m.Key, At: m.KeyAt, Value: m.Value}
		t.Mappings = append(t.Mappings, mapping)
		t.mappings[m.Key] = mapping
		if m.Value.Kind != document.Object {
			r.add("mapping-member", m.Value.At, at, m.Key)
			continue
		}
		for _, key := range m.Value.Distinct() {
			t.buildAttributes(key, at.Append(key.Key), r)
		}
	}
}

func (t *Template) buildAttributes(key document.Member, at document.Pointer, r *report) {
	t.checkNameLength("Mapping key", key, at, r)
	if key.Value.Kind != document.Object {
		r.add("mapping-member", key.Value.At, at, key.Key)
		return
	}
	attributes := key.Value.Distinct()
	if len(attributes) > MaxMappings {
		r.add("too-many-attributes", key.KeyAt, at, len(attributes))
	}
	for _, m := range attributes {
		if strings.Trim(m.Key, attributeLetters) != "" || m.Key == "" {
			r.add("mapping-attribute-key", m.KeyAt, at.Append(m.Key), m.Key)
		}
		t.checkNameLength("Mapping attribute", m, at.Append(m.Key), r)
		items := []*document.Value{m.Value}
		if m.Value.Kind == document.Array {
			items = m.Value.Items
		}
		for _, item := range items {
			if item.Kind == document.Object || item.Kind == document.Array {
				r.add("mapping-attribute", item.At, at.Append(m.Key))
				break
			}
		}
	}
}

const attributeLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-."

func (t *Template) buildConditions(r *report) {
	for _, m := range t.section("Conditions", r) {
		t.checkNameLength("Condition", m, document.Pointer{"Conditions", m.Key}, r)
		condition := &Condition{Name: m.Key, At: m.KeyAt, Value: m.Value}
		t.Conditions = append(t.Conditions, condition)
		t.conditions[m.Key] = condition
	}
}

func (t *Template) buildRules(r *report) {
	for _, m := range t.section("Rules", r) {
		at := document.Pointer{"Rules", m.Key}
		t.checkNameLength("Rule", m, at, r)
		rule := &Rule{Name: m.Key, At: m.KeyAt, Condition: m.Value.Get("RuleCondition")}
		t.Rules = append(t.Rules, rule)
		assertions := m.Value.Get("Assertions")
		if assertions == nil || assertions.Kind != document.Array {
			r.add("rule-shape", m.Value.At, at, m.Key)
			continue
		}
		for i, item := range assertions.Items {
			a := Assertion{Assert: item.Get("Assert")}
			if a.Assert == nil {
				r.add("rule-shape", item.At, at.Append("Assertions", itoa(i)), m.Key)
				continue
			}
			if description := item.Get("AssertDescription"); description != nil {
				a.Description = description.Text
			}
			rule.Assertions = append(rule.Assertions, a)
		}
	}
}

// commonNames refuses resources that are called like a parameter.
func (t *Template) commonNames(r *report) {
	var common []string
	var at diag.Range
	for _, resource := range t.Resources {
		if t.parameters[resource.LogicalID] != nil {
			common = append(common, resource.LogicalID)
			at = resource.At
		}
	}
	if common != nil {
		r.add("common-names", at, nil, list(common))
	}
}
