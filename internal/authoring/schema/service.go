package schema

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// serviceTypes are the types of JSON Schema as CloudFormation names them in its messages.
var serviceTypes = map[string]string{
	"array": "JSONArray", "boolean": "Boolean", "integer": "Integer", "null": "Null", "number": "Number",
	"object": "JSONObject", "string": "String",
}

// ServiceText is the violation in the words of CloudFormation:
// "#/Tags/0: extraneous key [Nam] is not permitted". Like the service it does not show what
// patterns and enumerations were compared with.
func (v Violation) ServiceText() string {
	at, text := v.Service()
	return "#" + at.String() + ": " + text
}

// Service is where CloudFormation sees the violation, and what it says of it: a key that should
// not be there is a fault of the object.
func (v Violation) Service() (at document.Pointer, text string) {
	at, n := v.Pointer, len(v.Pointer)
	text = fmt.Sprintf("failed validation constraint for keyword [%s]", v.Keyword)
	switch v.Keyword {
	case "":
		text = v.Message
	case "required":
		text = fmt.Sprintf("required key [%s] not found", v.Want)
	case "additionalProperties":
		if n > 0 {
			at, text = at[:n-1], fmt.Sprintf("extraneous key [%s] is not permitted", at[n-1])
		}
	case "type":
		want := strings.Split(v.Want, ", ")
		for i := range want {
			want[i] = serviceTypes[want[i]]
		}
		text = fmt.Sprintf("expected type: %s, found: %s", strings.Join(want, " or "), serviceTypes[v.Got])
	case "minLength", "maxLength":
		text = fmt.Sprintf("expected %s: %s, actual: %s", v.Keyword, v.Want, v.Got)
	case "minItems":
		text = fmt.Sprintf("expected minimum item count: %s, found: %s", v.Want, v.Got)
	case "maxItems":
		text = fmt.Sprintf("expected maximum item count: %s, found: %s", v.Want, v.Got)
	}
	return at, text
}
