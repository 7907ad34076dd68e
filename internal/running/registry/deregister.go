package registry

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// DeregisterType deregisters a version, or a type whose default version is the only live one.
// Deregistered types and versions can still be described and listed.
//
// Types and versions that do not exist, or are deregistered already, are
// TypeNotFoundException. The default version, and a type with several live versions, are
// CFNRegistryException in the words of the service. The configurations of a deregistered type
// are removed: a type that is registered again under the name must not get them.
func (r *Registry) DeregisterType(ctx context.Context, caller awswire.Caller, in *cloudformation.DeregisterTypeInput) (*cloudformation.DeregisterTypeOutput, error) {
	arn, err := named(caller, in.Arn, in.Type, in.TypeName, in.VersionId)
	if err != nil {
		return nil, err
	}
	if err := ownARN(caller, arn); err != nil {
		return nil, err
	}
	var version string // as the registry writes it; "" for the type
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		typ, v, err := r.privateVersion(ctx, tx, caller, arn.Kind, arn.TypeName, arn.Version)
		switch {
		case err != nil:
			return err
		case typ == nil || typ.Deprecated:
			return typeNotFound(arn.TypeName)
		case arn.Version == "":
			return r.deregisterType(ctx, tx, caller, typ, v)
		}
		version = versionID(v.Version)
		return r.deregisterVersion(ctx, tx, typ, v)
	})
	if err != nil {
		return nil, err
	}
	r.announce(caller, arn.Kind, arn.TypeName, version, Deregistered)
	return &cloudformation.DeregisterTypeOutput{}, nil
}

func (r *Registry) deregisterVersion(ctx context.Context, tx *store.Tx, typ *typeRow, v *versionRow) error {
	switch {
	case v.Deprecated:
		return versionNotFound(kindOf(typ), typ.TypeName, versionID(v.Version))
	case v.Version == *typ.DefaultVersion:
		return refuse("Version '%s' is the default version and cannot be deregistered. Deregister the resource type '%s' instead.", versionID(v.Version), typ.TypeName)
	}
	// Updating the type as well is what keeps the version from becoming the default one
	// at the same moment.
	if err := r.updateType(ctx, tx, typ); err != nil {
		return err
	}
	return r.deprecate(ctx, tx, v)
}

func (r *Registry) deregisterType(ctx context.Context, tx *store.Tx, caller awswire.Caller, typ *typeRow, v *versionRow) error {
	live, err := store.Count(ctx, tx, "FROM type_versions WHERE type_id = ? AND NOT deprecated", typ.ID)
	switch {
	case err != nil:
		return fmt.Errorf("count the versions of %s: %w", typ.TypeName, err)
	case live > 1:
		return refuse("This type has more than one active version. Please deregister non-default active versions before attempting to deregister the type.")
	}
	typ.Deprecated = true
	if err := r.updateType(ctx, tx, typ); err != nil {
		return err
	}
	if err := r.deprecate(ctx, tx, v); err != nil {
		return err
	}
	return r.removeConfigurations(ctx, tx, caller, privateARN(caller, kindOf(typ), typ.TypeName))
}

func (r *Registry) deprecate(ctx context.Context, tx *store.Tx, v *versionRow) error {
	written, err := store.Exec(ctx, tx, "UPDATE type_versions SET deprecated = ?, updated_at = ?, row_version = row_version + 1 WHERE id = ? AND row_version = ?",
		true, r.now(), v.ID, v.RowVersion)
	if err != nil {
		return fmt.Errorf("deregister version %d: %w", v.Version, err)
	}
	return store.RequireOneRow(written)
}
