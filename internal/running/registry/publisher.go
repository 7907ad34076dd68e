package registry

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A publisherRow is an account that publishes in a region.
type publisherRow struct {
	store.Row `db:"publishers AS p"`

	Account          string     `db:"account,pk"`
	Region           string     `db:"region,pk"`
	PublisherID      string     `db:"publisher_id"`
	IdentityProvider string     `db:"identity_provider"` // types.IdentityProvider
	ConnectionARN    string     `db:"connection_arn"`    // "" with AWS_Marketplace
	CreatedAt        store.Time `db:"created_at"`
}

// name is what lists call the publisher. The service takes it from the profile at the
// identity provider; offline the account has to do.
func (p *publisherRow) name() string { return p.Account }

var connectionARN = lazyregexp.New(`\Aarn:aws(?:-[\w]+)*:(?:codestar-connections|codeconnections):[a-z0-9-]+:([0-9]{12}):(.+)\z`)

// RegisterPublisher makes the caller's account a publisher in the region, under the same id in each
// region. The identity counts as verified, because there is no service to verify it. A registered
// account keeps its identity: the operation is idempotent, as the user guide documents for
// AWS::CloudFormation::Publisher.
//
// Refused with CFNRegistryException: terms that are not accepted, and a ConnectionArn that
// is not the ARN of a connection of the account.
func (r *Registry) RegisterPublisher(ctx context.Context, caller awswire.Caller, in *cloudformation.RegisterPublisherInput) (*cloudformation.RegisterPublisherOutput, error) {
	if !aws.ToBool(in.AcceptTermsAndConditions) {
		return nil, refuse("You must accept the terms and conditions in order to register as a publisher. Set AcceptTermsAndConditions to true.")
	}
	if err := plain(map[string]*string{"ConnectionArn": in.ConnectionArn}); err != nil {
		return nil, err
	}
	provider := types.IdentityProviderAwsMarketplace
	if connection := aws.ToString(in.ConnectionArn); connection != "" {
		var err error
		if provider, err = providerOf(caller, connection); err != nil {
			return nil, err
		}
	}
	row := &publisherRow{
		Account: caller.Account, Region: caller.Region, PublisherID: publisherID(caller.Account), IdentityProvider: string(provider),
		ConnectionARN: aws.ToString(in.ConnectionArn), CreatedAt: r.now(),
	}
	err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region) DO NOTHING", row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("register the publisher: %w", err)
	}
	return &cloudformation.RegisterPublisherOutput{PublisherId: &row.PublisherID}, nil
}

// providerOf returns the service that verifies an identity through a connection. Connections
// exist only on AWS, so the ARN decides: one that mentions Bitbucket is a connection to
// Bitbucket, any other one to GitHub.
func providerOf(caller awswire.Caller, connection string) (types.IdentityProvider, error) {
	m := connectionARN.FindStringSubmatch(connection)
	switch {
	case m == nil:
		return "", refuse("ConnectionArn '%s' is not the ARN of a connection, as in arn:%s:codestar-connections:%s:%s:connection/ID.",
			connection, caller.Partition(), caller.Region, caller.Account)
	case m[1] != caller.Account:
		return "", refuse("The connection '%s' belongs to another account.", connection)
	case strings.Contains(strings.ToLower(m[2]), "bitbucket"):
		return types.IdentityProviderBitbucket, nil
	}
	return types.IdentityProviderGitHub, nil
}

// publisherID is the id of an account as a publisher: 40 digits and letters. It follows
// from the account, so that what mentions it (the metadata of modules) stays true when the
// store is made anew.
func publisherID(account string) string {
	sum := sha256.Sum256([]byte("publisher of extensions " + account))
	return hex.EncodeToString(sum[:20])
}

// DescribePublisher returns the publisher of the region with an id, or the caller's own. It has no profile,
// because no identity provider is called. An unknown id and an account that is not a publisher
// are CFNRegistryException.
func (r *Registry) DescribePublisher(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribePublisherInput) (*cloudformation.DescribePublisherOutput, error) {
	var row *publisherRow
	var err error
	if id := aws.ToString(in.PublisherId); id != "" {
		if row, err = findPublisher(ctx, r.store.Read(), caller.Region, "publisher_id", id); err == nil && row == nil {
			err = refuse("The publisher '%s' cannot be found.", id)
		}
	} else {
		row, err = ownPublisher(ctx, r.store.Read(), caller)
	}
	if err != nil {
		return nil, err
	}
	return &cloudformation.DescribePublisherOutput{
		PublisherId: &row.PublisherID, IdentityProvider: types.IdentityProvider(row.IdentityProvider), PublisherStatus: types.PublisherStatusVerified,
	}, nil
}

// ownPublisher returns the caller as a publisher, or an error if it is not one.
func ownPublisher(ctx context.Context, db store.DB, caller awswire.Caller) (*publisherRow, error) {
	row, err := findPublisher(ctx, db, caller.Region, "account", caller.Account)
	if err == nil && row == nil {
		err = refuse("This account is not registered as a publisher. Register it in %s with RegisterPublisher.", caller.Region)
	}
	return row, err
}

// findPublisher returns nil if the publisher does not exist.
func findPublisher(ctx context.Context, db store.DB, region, column, value string) (*publisherRow, error) {
	row := &publisherRow{}
	err := store.Get(ctx, db, row, "WHERE region = ? AND "+column+" = ?", region, value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up the publisher: %w", err)
	}
	return row, nil
}
