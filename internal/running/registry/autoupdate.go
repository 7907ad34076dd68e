package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// updateBatch is how many activations are moved on in one transaction.
const updateBatch = 100

// autoUpdate moves the activations of a public extension, which the ARN names, on to the
// latest version of the major version that they are at, where they want that. It is a
// store.Run, woken when a version is published.
//
// A module is not updated if its new version requires extensions that the account has not
// activated: the update would break it. ActivateType with VersionBump reports what is missing.
func (r *Registry) autoUpdate(ctx context.Context, arn string) (time.Time, error) {
	extension, err := parseTypeARN(arn)
	if err != nil {
		r.log.ErrorContext(ctx, "a public extension to follow has no proper name", "arn", arn)
		return time.Time{}, nil
	}
	key := extensionKey{extension.Kind, extension.Publisher, extension.TypeName}
	var account, typeName string
	for {
		var moved []Change
		var done bool
		err := r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			moved, account, typeName, done, err = r.updateSome(ctx, tx, extension.Region, key, account, typeName)
			return err
		})
		if err != nil {
			return time.Time{}, fmt.Errorf("update what is activated of %s: %w", key, err)
		}
		for _, change := range moved {
			r.changes.send(change)
		}
		if done {
			return time.Time{}, nil
		}
	}
}

// updateSome moves the activations after an account and name on, a batch of them. It
// returns how far it came, and done when there are no more.
func (r *Registry) updateSome(ctx context.Context, tx *store.Tx, region string, key extensionKey, account, typeName string) (moved []Change, lastAccount, lastName string, done bool, err error) {
	versions, err := findPublications(ctx, tx, region, key)
	if err != nil {
		return nil, "", "", false, err
	}
	var rows []activationRow
	err = store.List(ctx, tx, &rows, "WHERE region = ? AND kind = ? AND publisher_id = ? AND original_type_name = ? AND auto_update AND (account > ? OR (account = ? AND type_name > ?)) ORDER BY account, type_name LIMIT ?",
		region, string(key.Kind), key.Publisher, key.TypeName, account, account, typeName, updateBatch)
	if err != nil {
		return nil, "", "", false, fmt.Errorf("list the activations: %w", err)
	}
	for i := range rows {
		row := &rows[i]
		account, typeName = row.Account, row.TypeName
		version, err := r.updateOne(ctx, tx, row, versions)
		if err != nil {
			return nil, "", "", false, err
		}
		if version != nil {
			moved = append(moved, Change{
				Place: awswire.Place{Account: row.Account, Region: row.Region}, Kind: schema.Kind(row.Kind), TypeName: row.TypeName, Version: versionID(version.Number), What: Activated,
			})
		}
	}
	return moved, account, typeName, len(rows) < updateBatch, nil
}

// updateOne moves one activation on and returns its new version, nil if it stays.
func (r *Registry) updateOne(ctx context.Context, tx *store.Tx, row *activationRow, versions []publicationRow) (*publicationRow, error) {
	version := newestMinor(versions, row.PublicationID)
	if version == nil {
		return nil, nil
	}
	caller := awswire.Caller{Place: awswire.Place{Account: row.Account, Region: row.Region}}
	missing, err := missingFor(ctx, tx, caller, version)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		r.log.WarnContext(ctx, "a module is not updated: what its new version requires is not activated",
			"account", row.Account, "region", row.Region, "type", row.TypeName, "version", version.public().String(), "missing", missing)
		return nil, nil
	}
	row.PublicationID, row.UpdatedAt = version.ID, r.now()
	return version, store.Swap(ctx, tx, row, &row.RowVersion)
}

// newestMinor is the latest version with the major version of the present one, nil if that
// is the present one. versions come the latest first.
func newestMinor(versions []publicationRow, present string) *publicationRow {
	newest := map[int64]*publicationRow{}
	for i := range versions {
		v := &versions[i]
		if newest[v.Major] == nil {
			newest[v.Major] = v
		}
		if v.ID == present {
			if newest[v.Major] == v {
				return nil
			}
			return newest[v.Major]
		}
	}
	return nil
}
