package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// keepRegistrations is how long a registration that has ended is known.
const keepRegistrations = 90 * 24 * time.Hour

// Expire forgets registrations that ended 90 days ago, whose versions stay.
//
// With its registration, a token is not known any more: DescribeTypeRegistration refuses
// it, and a RegisterType request with its ClientRequestToken is a new one.
func (r *Registry) Expire(ctx context.Context, now time.Time) error {
	err := r.store.DeleteInBatches(ctx, "registrations", "token", "status <> ? AND updated_at < ?",
		string(types.RegistrationStatusInProgress), store.At(now.Add(-keepRegistrations)))
	if err != nil {
		return fmt.Errorf("forget old registrations: %w", err)
	}
	return nil
}
