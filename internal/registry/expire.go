package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/store"
)

// expireBatch is how many rows are deleted at once: others write in between.
const expireBatch = 1000

// Expire forgets registrations that ended before a time, whose versions stay.
//
// With its registration, a token is not known any more: DescribeTypeRegistration refuses
// it, and a RegisterType request with its ClientRequestToken is a new one.
func (r *Registry) Expire(ctx context.Context, before time.Time) error {
	for {
		left := false
		err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			ended := tx.NewSelect().Model((*registrationRow)(nil)).Column("token").
				Where("status <> ?", string(types.RegistrationStatusInProgress)).Where("updated_at < ?", store.At(before)).Limit(expireBatch)
			result, err := tx.NewDelete().Model((*registrationRow)(nil)).Where("token IN (?)", ended).Exec(ctx)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			left = n == expireBatch
			return err
		})
		if err != nil {
			return fmt.Errorf("forget old registrations: %w", err)
		}
		if !left {
			break
		}
	}
	return nil
}
