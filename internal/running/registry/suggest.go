package registry

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Suggestion is what an unknown type may have been meant to be.
type Suggestion struct {
	Regions []string // other ones in which the account has registered a type of the name, sorted
	Near    string   // the registered type of the region with the nearest name, "" if none is near
}

// Suggest finds out what an unknown resource type may have been meant to be.
func (r *Registry) Suggest(ctx context.Context, caller awswire.Caller, name string) (Suggestion, error) {
	var found []typeRow
	err := store.Query(ctx, r.store.Read(), &found, `SELECT region, type_name FROM types WHERE account = ? AND kind = ? AND NOT deprecated
		AND default_version IS NOT NULL AND (type_name = ? OR region = ?) ORDER BY region LIMIT ?`, caller.Account, schema.Resource, name, caller.Region, maxSuggested)
	if err != nil {
		return Suggestion{}, fmt.Errorf("list the types of an account: %w", err)
	}
	var out Suggestion
	var names []string
	for _, row := range found {
		if row.Region == caller.Region {
			names = append(names, row.TypeName)
		} else {
			out.Regions = append(out.Regions, row.Region)
		}
	}
	out.Near = words.Nearest(name, names)
	return out, nil
}

// maxSuggested bounds how many types are compared with a name.
const maxSuggested = 1000
