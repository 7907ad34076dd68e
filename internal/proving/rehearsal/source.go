package rehearsal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// The type of nested stacks, and the one that they have in a rehearsal if their templates are not known: one resource, which is not
// looked into.
const (
	stackType  = "AWS::CloudFormation::Stack"
	nestedType = "Formwork::Rehearsal::Stack"
)

// A source is a template as it is rehearsed.
type source struct {
	name     string
	bytes    int // of the template as it is
	root     map[string]any
	original []byte
	body     string // of what is deployed in the rehearsal, see text
	parsed   *template.Template
	nested   map[string]*source  // templates of nested stacks, by logical ID; nil for one that is one step
	uses     map[string][]string // attributes of resources that the template uses, by logical ID
	stored   map[string]bool     // parameters that name parameters of Systems Manager
	notes    []string            // what is otherwise than in the template
}

// dynamic is a dynamic reference in a text.
var dynamic = lazyregexp.New(`\{\{resolve:[^{}]*\}\}`)

// parseSource reads a template, and changes what a rehearsal cannot do. Transforms but AWS::LanguageExtensions must have run.
func parseSource(name string, body []byte) (*source, error) {
	if len(body) > template.MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, template.MaxBytes)
	}
	value, problems := template.ReadDocument(name, body)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	root, ok := value.Any().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", name)
	}
	s := &source{name: name, bytes: len(body), original: body, root: root, stored: map[string]bool{}, nested: map[string]*source{}}
	s.adapt(root)
	if err := s.parse(); err != nil {
		return nil, err
	}
	for _, transform := range s.parsed.UsedTransforms() {
		if transform != template.LanguageExtensions {
			return nil, fmt.Errorf("%s uses the transform %s, which a rehearsal does not run: pass the processed template, such as that of a change set", name, transform)
		}
	}
	return s, nil
}

// parse reads the template as it is rehearsed.
func (s *source) parse() error {
	text, err := json.Marshal(s.root)
	if err != nil {
		return err
	}
	s.body = string(text)
	if s.parsed, err = template.Parse(s.name, text, template.ParseOptions{}); err != nil {
		return err
	}
	s.uses = map[string][]string{}
	for _, use := range s.parsed.AttributeUses() {
		s.uses[use.LogicalID] = append(s.uses[use.LogicalID], use.Attribute)
	}
	return nil
}

func (s *source) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// adapt replaces what needs the outside: secrets and signals.
func (s *source) adapt(root map[string]any) {
	resources, _ := root["Resources"].(map[string]any)
	for id, value := range resources {
		r, ok := value.(map[string]any)
		if !ok {
			continue
		}
		if _, ok := r["CreationPolicy"]; ok {
			s.note("signals are taken to arrive: creation and update policies are not waited for")
		}
		delete(r, "CreationPolicy")
		delete(r, "UpdatePolicy")
		switch r["Type"] {
		case stackType:
			s.nested[id] = nil
		case "AWS::CloudFormation::WaitCondition":
			r["Type"] = "AWS::CloudFormation::WaitConditionHandle"
			delete(r, "Properties")
			s.note("wait conditions are taken to be fulfilled")
		}
		resources[id] = s.conceal(r)
	}
	parameters, _ := root["Parameters"].(map[string]any)
	for name, value := range parameters {
		p, ok := value.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := p["Type"].(string)
		secret := fmt.Sprint(p["NoEcho"]) == "true"
		stored := strings.HasPrefix(kind, "AWS::SSM::Parameter::Value<")
		if stored {
			s.stored[name] = true
			p["Type"] = "String"
			if strings.Contains(kind, "<List<") || strings.Contains(kind, "CommaDelimitedList") {
				p["Type"] = "CommaDelimitedList"
			}
		}
		if secret || stored { // the value is not the one that these are about
			for _, constraint := range []string{"AllowedPattern", "AllowedValues", "MinLength", "MaxLength", "MinValue", "MaxValue"} {
				delete(p, constraint)
			}
		}
	}
}

// conceal replaces dynamic references by texts that differ if the references do.
func (s *source) conceal(value any) any {
	switch v := value.(type) {
	case string:
		return dynamic.ReplaceAllStringFunc(v, func(ref string) string {
			s.note("dynamic references are not resolved: a new value behind the same reference is not seen")
			return concealed(ref)
		})
	case []any:
		for i := range v {
			v[i] = s.conceal(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = s.conceal(v[key])
		}
	}
	return value
}

// concealed stands for the value of a dynamic reference.
func concealed(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return "rehearsed-" + hex.EncodeToString(sum[:8])
}

// madeUpSecrets are the values that stand for secrets.
var madeUpSecrets = lazyregexp.New(`rehearsed-(secret-[12]|[0-9a-f]{16})|100000[12]`)

func encoded(value any) string {
	text, _ := json.Marshal(value) // of values that came from JSON or YAML
	return string(text)
}

// looseNested is the schema of nested stacks that are one step, with the outputs that templates use.
func looseNested(templates ...*source) string {
	outputs := map[string]any{}
	for t := range allOf(templates) {
		for _, r := range t.parsed.Resources {
			if r.Type != nestedType {
				continue
			}
			for _, name := range t.uses[r.LogicalID] {
				if output, ok := strings.CutPrefix(name, "Outputs."); ok {
					outputs[output] = map[string]any{"type": "string"}
				}
			}
		}
	}
	properties := map[string]any{
		"StackId": map[string]any{"type": "string"}, "Outputs": map[string]any{"type": "object", "properties": outputs, "additionalProperties": false},
	}
	for _, name := range []string{"TemplateURL", "Parameters", "Tags", "NotificationARNs", "TimeoutInMinutes"} {
		properties[name] = map[string]any{}
	}
	return encoded(map[string]any{
		"typeName": nestedType, "description": "A nested stack in a rehearsal", "additionalProperties": false, "properties": properties,
		"primaryIdentifier": []string{"/properties/StackId"}, "readOnlyProperties": []string{"/properties/StackId", "/properties/Outputs"},
		"tagging": map[string]any{"taggable": false}, "handlers": looseHandlers,
	})
}

// looseHandlers are those of types that can do everything.
var looseHandlers = map[string]any{
	"create": noPermissions, "read": noPermissions, "update": noPermissions, "delete": noPermissions, "list": noPermissions,
}

var noPermissions = map[string]any{"permissions": []string{}}

// types are the types of the resources, also of nested stacks.
func (s *source) types() []string {
	found := map[string]bool{}
	for of := range s.all() {
		for _, r := range of.parsed.Resources {
			found[r.Type] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ownType reports whether a type has no schema at the place of the stack.
func ownType(name string) bool {
	return customresource.IsType(name) || slices.Contains([]string{
		nestedType, stackType, "AWS::CloudFormation::WaitCondition", "AWS::CloudFormation::WaitConditionHandle",
	}, name)
}

// looseSchema accepts the properties that templates have for a type, and can change all of them.
func looseSchema(typeName string, templates ...*source) string {
	properties := map[string]any{"RehearsedId": map[string]any{"type": "string"}}
	for t := range allOf(templates) {
		for _, r := range t.parsed.Resources {
			if r.Type != typeName {
				continue
			}
			for _, m := range r.Properties.Distinct() {
				properties[m.Key] = map[string]any{}
			}
			for _, name := range t.uses[r.LogicalID] {
				name, _, _ = strings.Cut(name, ".")
				if properties[name] == nil {
					properties[name] = map[string]any{}
				}
			}
		}
	}
	return encoded(map[string]any{
		"typeName": typeName, "description": "Made for a rehearsal", "additionalProperties": false, "properties": properties,
		"primaryIdentifier": []string{"/properties/RehearsedId"}, "readOnlyProperties": []string{"/properties/RehearsedId"},
		"tagging": map[string]any{"taggable": false}, "handlers": looseHandlers,
	})
}
