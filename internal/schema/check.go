package schema

import "github.com/formwork-dev/formwork/internal/document"

// A Violation is one way in which a model breaks its schema. The message never reveals
// the model's values, which may be secrets; it may name what the schema asks for.
type Violation struct {
	Pointer document.Pointer // into the model
	Keyword string           // of JSON Schema: "maxLength"
	Message string
}

// CheckConfig says by which rules a model is judged. The zero CheckConfig is all of draft-07.
type CheckConfig struct {
	// Shape applies only what the handler contract demands of returned models: not
	// required, dependencies, propertyNames, if/then/else and the combiners.
	Shape bool
}

// Check lists how the model breaks the schema.
func (s *Schema) Check(model any, cfg CheckConfig) []Violation { return nil }
