package s3

import (
	"context"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// keepUploads is how long an unfinished multipart upload is kept.
const keepUploads = 7 * 24 * time.Hour

// Expire aborts the multipart uploads to which no part has come for a week, so that a sweep
// finds their blobs. Until it is called, uploads are kept for ever, as S3 keeps them without
// a rule for their lifecycle.
func (s *Service) Expire(ctx context.Context, now time.Time) error {
	uploads, err := s.abortUploads(ctx, now.Add(-keepUploads))
	if uploads > 0 {
		s.log.InfoContext(ctx, "uploads to S3 that nobody completed were removed", "uploads", uploads)
	}
	return err
}

// abortUploads aborts the uploads that were begun before a time and to which no part has come
// since, and counts them, those before an error included.
func (s *Service) abortUploads(ctx context.Context, before time.Time) (uploads int, err error) {
	const most = 500 // in one transaction
	for {
		var aborted int
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			var err error
			aborted, err = abortOldUploads(ctx, tx, store.At(before), most)
			return err
		})
		if err != nil {
			return uploads, err
		}
		uploads += aborted
		if aborted < most {
			return uploads, nil
		}
	}
}

// abortOldUploads aborts abandoned uploads, the oldest first, and counts them.
func abortOldUploads(ctx context.Context, tx *store.Tx, before store.Time, most int) (int, error) {
	var ids []string
	err := store.Query(ctx, tx, &ids, "SELECT id FROM s3_uploads AS u WHERE u.created_at < ? AND NOT EXISTS (SELECT 1 FROM s3_parts AS p WHERE p.upload = u.id AND p.modified_at >= ?) ORDER BY u.created_at LIMIT ?",
		before, before, most)
	if err != nil {
		return 0, fmt.Errorf("looking for old uploads: %w", err)
	}
	return len(ids), dropUploads(ctx, tx, ids...)
}

// dropUploads deletes uploads and their parts.
func dropUploads(ctx context.Context, tx *store.Tx, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, table := range [][2]string{{"s3_parts", "upload"}, {"s3_uploads", "id"}} {
		if _, err := store.Exec(ctx, tx, "DELETE FROM "+table[0]+" WHERE "+table[1]+" IN (?)", store.In(ids)); err != nil {
			return fmt.Errorf("forgetting uploads: %w", err)
		}
	}
	return nil
}
