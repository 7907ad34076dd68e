package local

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/simulate"
)

// imported are the public types of AWS as the registry shows them: those whose schemas were
// imported, and those that this server has the services for.
type imported struct{ c *CloudFormation }

func (i imported) ImportedType(ctx context.Context, typeName string) (*registry.ImportedType, error) {
	t, err := i.c.shelf.Find(ctx, typeName)
	if err != nil {
		return nil, err
	}
	if t != nil {
		return importedType(t), nil
	}
	if text, ok := i.c.served.Schema(typeName); ok {
		return &registry.ImportedType{TypeName: typeName, Schema: text}, nil
	}
	return nil, nil
}

func (i imported) ImportedTypes(ctx context.Context, prefix, after string, limit int) ([]registry.ImportedType, error) {
	found, err := i.c.shelf.List(ctx, prefix, after, limit)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var out []registry.ImportedType
	for n := range found {
		names[found[n].TypeName] = true
		out = append(out, *importedType(&found[n]))
	}
	for _, name := range i.c.served.Names() {
		if text, ok := i.c.served.Schema(name); ok && !names[name] && name > after && strings.HasPrefix(name, prefix) {
			out = append(out, registry.ImportedType{TypeName: name, Schema: text})
		}
	}
	slices.SortFunc(out, func(a, b registry.ImportedType) int { return strings.Compare(a.TypeName, b.TypeName) })
	return out[:min(len(out), limit)], nil
}

func importedType(t *simulate.Published) *registry.ImportedType {
	by := map[simulate.Provisioned]registry.Provisioned{
		simulate.Unprovided: registry.Unprovided, simulate.ByServices: registry.ByServices, simulate.BySimulation: registry.BySimulation,
	}
	return &registry.ImportedType{TypeName: t.TypeName, Schema: t.Schema, Imported: t.Imported, By: by[t.By]}
}
