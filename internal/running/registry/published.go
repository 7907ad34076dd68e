package registry

import (
	"context"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Published returns a public version: the one that a private version of the caller is
// published as, or the latest of a public type of the caller. private is the version in the
// account. number is "" if it is not published.
func (r *Registry) Published(ctx context.Context, caller awswire.Caller, arn schema.TypeARN) (public, private schema.TypeARN, number string, err error) {
	db := r.store.Read()
	version := arn.Version
	if !arn.Public() {
		if ownARN(caller, arn) != nil {
			return public, private, "", nil
		}
		typ, v, err := r.privateVersion(ctx, db, caller, arn.Kind, arn.TypeName, arn.Version)
		if err != nil || typ == nil || v.PublicVersion == "" {
			return public, private, "", err
		}
		version = v.PublicVersion
	} else if arn.Publisher != publisherID(caller.Account) || arn.Region != caller.Region {
		return public, private, "", nil
	}
	row, err := findPublication(ctx, db, caller.Region, extensionKey{arn.Kind, publisherID(caller.Account), arn.TypeName}, version)
	if err != nil || row == nil {
		return public, private, "", err
	}
	private = privateARN(caller, arn.Kind, arn.TypeName).WithVersion(versionID(row.Version))
	return row.arn(caller), private, row.public().String(), nil
}

// PublisherOf returns the caller as a publisher: the id, "" for an account that is not one,
// and the connection that identifies it, "" without one.
func (r *Registry) PublisherOf(ctx context.Context, caller awswire.Caller) (id, connection string, err error) {
	row, err := findPublisher(ctx, r.store.Read(), caller.Region, "account", caller.Account)
	if err != nil || row == nil {
		return "", "", err
	}
	return row.PublisherID, row.ConnectionARN, nil
}
