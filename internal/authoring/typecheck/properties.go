package typecheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Unvalidated reports whether the properties of a type are not validated before a deployment.
func Unvalidated(typeName string) bool {
	return typeName == "AWS::CDK::Metadata" || strings.HasPrefix(typeName, "Custom::") || strings.HasPrefix(typeName, "AWS::CloudFormation::")
}

// A Violation is one way in which properties break the schema of their type.
type Violation struct {
	schema.Violation

	At   document.Pointer // where CloudFormation sees it, from the properties
	Text string           // in the words of CloudFormation
}

// String is the message of the service: #/A/0: extraneous key [Z] is not permitted.
func (v Violation) String() string { return "#" + v.At.String() + ": " + v.Text }

// keysOnly are the keywords that judge which keys an object has, whatever their values are.
var keysOnly = map[string]bool{"required": true, "additionalProperties": true}

// Properties lists how evaluated properties violate a schema. Unknown values, values of dynamic
// references, and values that contain them are not checked.
func Properties(s *schema.Schema, properties any) []Violation {
	if properties == nil {
		properties = map[string]any{}
	}
	var out []Violation
	for _, v := range s.Check(s.Recast(template.ReplaceUnknown(properties, placeholder)), schema.CheckConfig{}) {
		if v.Keyword == "" {
			continue // the check was stopped: the schema is too complex
		}
		if value, found := valueAt(properties, v.Pointer); found && (template.HasUnknown(value) || len(template.DynamicReferences(value)) > 0) && !keysOnly[v.Keyword] && !(v.Keyword == "type" && isContainer(value)) {
			continue
		}
		at, text := v.Service()
		out = append(out, Violation{Violation: v, At: at, Text: text})
	}
	return out
}

// isContainer reports whether a value is an object or a list, whatever is in it.
func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// HasAttribute reports whether Fn::GetAtt can name an attribute of a type: not one that can only be written.
func HasAttribute(s *schema.Schema, attribute string) bool {
	return s.Property(strings.Split(attribute, ".")) != nil && !Hides(s, attribute)
}

// Hides reports whether an attribute of a type can only be written.
func Hides(s *schema.Schema, attribute string) bool {
	at := strings.Split(attribute, ".")
	return s.IsWriteOnly(at) && !s.IsReadOnly(at)
}

// AttributeText is the refusal of an attribute that a type does not have.
func AttributeText(typeName, attribute string) string {
	return fmt.Sprintf("Resource type %s does not support attribute {%s}.", typeName, attribute)
}

// placeholder replaces what is not known yet, which no schema accepts, by a text.
const placeholder = "{{unknown}}"

// valueAt finds a value by its pointer.
func valueAt(value any, at document.Pointer) (any, bool) {
	for _, token := range at {
		switch v := value.(type) {
		case map[string]any:
			var ok bool
			if value, ok = v[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return v, true // below what is not known
		}
	}
	return value, true
}
