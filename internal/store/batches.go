package store

import (
	"context"

	"github.com/uptrace/bun"
)

// batchSize is how many rows are deleted at once: others write in between.
const batchSize = 1000

// DeleteInBatches deletes the rows of a model that a condition selects, in as many
// transactions as it takes. key is the column of its primary key.
func (s *Store) DeleteInBatches(ctx context.Context, model any, key, where string, args ...any) error {
	for {
		var deleted int64
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
			batch := tx.NewSelect().Model(model).Column(key).Where(where, args...).Limit(batchSize)
			result, err := tx.NewDelete().Model(model).Where("? IN (?)", bun.Ident(key), batch).Exec(ctx)
			if err != nil {
				return err
			}
			deleted, err = result.RowsAffected()
			return err
		})
		if err != nil || deleted < batchSize {
			return err
		}
	}
}
