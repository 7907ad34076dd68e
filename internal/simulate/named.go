package simulate

import (
	"context"
	"maps"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/schema"
)

// Named is the model of a new resource with the names that its template leaves out and the tags of its stack, as
// a simulated resource has them.
func Named(typ *schema.Schema, request operation.Request, model map[string]any) map[string]any {
	m := &maker{typ: typ, request: request, model: maps.Clone(model)}
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

// CreateOnlyChange names a create-only property whose value differs, "" for none. One that is left out keeps
// its value.
func CreateOnlyChange(typ *schema.Schema, before, desired map[string]any) string {
	return createOnlyChange(typ, before, desired)
}

// Schema returns the schema of an imported type, or of one that this server has the service for; nil if there is
// neither.
func (s *Shelf) Schema(ctx context.Context, typeName string) (*schema.Schema, error) {
	found, err := s.Find(ctx, typeName)
	if err != nil || found == nil {
		return nil, err
	}
	return s.load(&publishedRow{TypeName: typeName, Hash: hash([]byte(found.Schema)), Schema: found.Schema})
}
