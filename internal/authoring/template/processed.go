package template

import (
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// ProcessedJSON is the template as JSON, in the order written, the short forms of functions
// written long: what GetTemplate answers for the stage Processed. [Parse] reads it again with
// ParseOptions.Processed.
func (t *Template) ProcessedJSON() []byte { return t.root.AppendJSON(nil) }

// StringifyScalars returns a copy of a value in which numbers and booleans are text, as the
// service shows values in events and change sets. Unknown becomes the given text.
func StringifyScalars(value any, unknownText string) any {
	switch v := value.(type) {
	case unknown:
		return unknownText
	case json.Number:
		return v.String()
	case bool:
		s, _ := toText(v)
		return s
	case float64, int:
		return scalar(v, document.Value{}.At).Text
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = StringifyScalars(item, unknownText)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = StringifyScalars(item, unknownText)
		}
		return out
	}
	return value
}
