package registry

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// KeepsBlob reports whether the registry needs a blob: the package of a registration, of a
// private or of a public version, or the report of a test. It is for store.Blobs.Sweep.
func (r *Registry) KeepsBlob(ctx context.Context, hash string) (bool, error) {
	var keeps bool
	err := store.Query(ctx, r.store.Read(), &keeps, "SELECT\n\t\tEXISTS (SELECT 1 FROM type_versions WHERE package_hash = ?) OR\n\t\tEXISTS (SELECT 1 FROM publications WHERE package_hash = ?) OR\n\t\tEXISTS (SELECT 1 FROM registrations WHERE package_hash = ? AND status = 'IN_PROGRESS') OR\n\t\tEXISTS (SELECT 1 FROM test_runs WHERE report_hash = ?)",
		hash, hash, hash, hash)
	if err != nil {
		return false, fmt.Errorf("find uses of the blob %s: %w", hash, err)
	}
	return keeps, nil
}
