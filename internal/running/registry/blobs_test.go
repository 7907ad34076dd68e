package registry

import (
	"context"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

func TestKeepsBlob(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		s.publisher(owner)
		s.offer(owner, thingName, "one", "")
		var version versionRow
		if err := store.Get(t.Context(), s.store.Read(), &version, ""); err != nil {
			t.Fatal(err)
		}
		var run testRunRow
		if err := store.Get(t.Context(), s.store.Read(), &run, ""); err != nil {
			t.Fatal(err)
		}
		kept := func(hash string, want bool) {
			t.Helper()
			if keeps, err := s.KeepsBlob(t.Context(), hash); err != nil || keeps != want {
				t.Errorf("blob %s is kept: %t, %v", hash, keeps, err)
			}
		}
		kept(version.PackageHash, true)
		kept(run.ReportHash, true)
		kept("0123", false)
		for _, table := range []string{"type_versions", "publications"} { // whatever is left needs it
			kept(version.PackageHash, true)
			if err := s.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				_, err := store.Exec(ctx, tx, "DELETE FROM "+table+" WHERE package_hash = ?", version.PackageHash)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		kept(version.PackageHash, false)
	})
}
