package registry

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestTypes pages through types of all provisioning types, by what is in their names.
func TestTypes(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		ctx := t.Context()
		g.fill(owner, 250, `{}`)
		g.fill(awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: owner.Region}}, 3, `{}`)
		now := store.At(time.Now())
		err := g.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			more := &versionRow{ID: "more", TypeID: fmt.Sprintf("%s-%s-t7", owner.Account, owner.Region), Version: 2, Schema: "{}", ProvisioningType: "FULLY_MUTABLE",
				TestStatus: "PASSED", TestStatusDescription: "all", PublicVersion: "1.0.0", CreatedAt: now, UpdatedAt: now}
			gone := *more
			gone.ID, gone.Version, gone.Deprecated, gone.PublicVersion = "gone", 3, true, ""
			for _, row := range []*versionRow{more, &gone} {
				if err := store.Insert(ctx, tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pages := func(query TypeQuery) (names []string, states map[string]TypeState) {
			t.Helper()
			states = map[string]TypeState{}
			for range 100 {
				found, err := g.Types(ctx, owner, query)
				if err != nil || len(found) > query.Limit {
					t.Fatalf("%d types of at most %d, %v", len(found), query.Limit, err)
				}
				if len(found) == 0 {
					return names, states
				}
				for _, s := range found {
					names = append(names, *s.TypeName)
					states[*s.TypeName] = s
				}
				query.After = found[len(found)-1].Key()
			}
			t.Fatal("the list does not end")
			return nil, nil
		}
		for name, test := range map[string]struct {
			query TypeQuery
			want  int
			first string
		}{
			"all":          {TypeQuery{Limit: 49}, 248, "Acme::Fill::T00000"},
			"a text":       {TypeQuery{Search: "L::t0012", Limit: 3}, 10, "Acme::Fill::T00120"},
			"a wildcard":   {TypeQuery{Search: "T_0012", Limit: 3}, 0, ""},
			"deprecated":   {TypeQuery{Deprecated: true, Limit: 3}, 2, "Acme::Fill::T00099"},
			"hooks":        {TypeQuery{Kind: schema.Hook, Limit: 3}, 0, ""},
			"resources":    {TypeQuery{Kind: schema.Resource, Search: "T0000", Limit: 100}, 10, "Acme::Fill::T00000"},
			"registered":   {TypeQuery{Category: types.CategoryRegistered, Search: "T0000", Limit: 100}, 10, "Acme::Fill::T00000"},
			"activated":    {TypeQuery{Category: types.CategoryActivated, Limit: 3}, 0, ""},
			"public types": {TypeQuery{Public: true, Limit: 3}, 0, ""},
		} {
			names, states := pages(test.query)
			if len(names) != test.want || len(states) != test.want || test.want > 0 && names[0] != test.first {
				t.Errorf("%s: %d types, %d different ones, want %d: %v", name, len(names), len(states), test.want, names)
			}
			if s, ok := states["Acme::Fill::T00007"]; ok && s.Versions != 2 {
				t.Errorf("%s: %s has %d live versions, want 2", name, *s.TypeName, s.Versions)
			}
		}
		versions, err := g.TypeVersions(ctx, owner, schema.Resource, "Acme::Fill::T00007")
		if err != nil || len(versions) != 3 {
			t.Fatalf("%+v, %v", versions, err)
		}
		if v := versions[0]; v.ID != "00000003" || !v.Deprecated || v.Default {
			t.Errorf("the newest version is %+v", v)
		}
		if v := versions[1]; v.ID != "00000002" || v.Tests != types.TypeTestsStatusPassed || v.TestsReason != "all" || v.PublicVersion != "1.0.0" || !v.Created.Equal(now.Time) {
			t.Errorf("the second version is %+v", v)
		}
		if v := versions[2]; !v.Default || v.Description != "filled in" {
			t.Errorf("the first version is %+v", v)
		}
		if versions, err := g.TypeVersions(ctx, owner, schema.Resource, "Acme::No::Type"); err != nil || versions != nil {
			t.Errorf("a type that does not exist has versions: %v, %v", versions, err)
		}
	})
}
