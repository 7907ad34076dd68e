package simulate

import (
	"context"
	"maps"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// Named is the model of a new resource with the names that its template leaves out and the tags of its stack, as
// a simulated resource has them.
func Named(typ *schema.Schema, request operation.Request, model map[string]any) map[string]any {
	m := &maker{typ: typ, request: request, model: maps.Clone(model), drawn: map[string]int{}, budget: maxValues}
	m.names()
	m.tags()
	return m.model
}

// Tagged is a model with the tags of the stack.
func Tagged(typ *schema.Schema, request operation.Request, model map[string]any) map[string]any {
	m := &maker{typ: typ, request: request, model: maps.Clone(model)}
	m.tags()
	return m.model
}

// Schema returns the schema of an imported type, or of one that this server has the service for; nil if there is
// neither.
func (s *Shelf) Schema(ctx context.Context, typeName string) (*schema.Schema, error) {
	row, err := s.row(ctx, typeName)
	if served := s.config.Served[typeName]; err == nil && row == nil && served != "" {
		row = &publishedRow{TypeName: typeName, Hash: hash([]byte(served)), Schema: served}
	}
	if err != nil || row == nil {
		return nil, err
	}
	return s.load(row)
}
