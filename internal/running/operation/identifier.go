package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// IdentifierOf returns the physical id of a model: the values of the primary identifier,
// joined with "|". It is "" if one of them is missing or is not a scalar.
func IdentifierOf(s *schema.Schema, model map[string]any) string {
	values, ok := schema.Identifier(model, s.PrimaryIdentifier)
	if !ok {
		return ""
	}
	texts := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case string:
			texts[i] = value
		case json.Number, bool, float64:
			texts[i] = fmt.Sprint(value)
		default:
			return ""
		}
	}
	return strings.Join(texts, "|")
}

// WithIdentifier returns a model with the values of a physical id where it has none itself.
// The model is returned as it is if the id has not as many parts as the primary identifier.
func WithIdentifier(s *schema.Schema, model map[string]any, identifier string) map[string]any {
	paths := s.PrimaryIdentifier
	if _, known := schema.Identifier(model, paths); known || identifier == "" {
		return model
	}
	texts := []string{identifier}
	if len(paths) > 1 {
		texts = strings.Split(identifier, "|")
	}
	if len(texts) != len(paths) {
		return model
	}
	filled := maps.Clone(model)
	if filled == nil {
		filled = map[string]any{}
	}
	for i, path := range paths {
		if _, known := schema.Identifier(filled, paths[i:i+1]); !known {
			copied, _ := schema.Without(filled, nil).(map[string]any) // Put changes in place
			filled, _ = invoke.Put(copied, path.Tokens, texts[i]).(map[string]any)
		}
	}
	filled, _ = s.Recast(filled).(map[string]any)
	return filled
}
