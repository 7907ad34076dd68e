package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An activationRow is a public extension that an account uses in a region, under the account's
// name for it.
type activationRow struct {
	store.Row `db:"activations AS a"`

	Account  string `db:"account,pk"`
	Region   string `db:"region,pk"`
	Kind     string `db:"kind,pk"`
	TypeName string `db:"type_name,pk"` // the alias, or the original name

	PublisherID      string `db:"publisher_id"`
	OriginalTypeName string `db:"original_type_name"`
	PublicationID    string `db:"publication_id"` // the version in use

	AutoUpdate    bool   `db:"auto_update"`
	ExecutionRole string `db:"execution_role"`
	LogGroup      string `db:"log_group"`
	LogRole       string `db:"log_role"`

	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"` // of the settings or the version
	RowVersion int64      `db:"row_version"`
}

// original is the public extension that is activated.
func (a *activationRow) original() extensionKey {
	return extensionKey{schema.Kind(a.Kind), a.PublisherID, a.OriginalTypeName}
}

// arn is the ARN of the activated type in the account.
func (a *activationRow) arn() schema.TypeARN {
	return privateARN(awswire.Caller{Place: awswire.Place{Account: a.Account, Region: a.Region}}, schema.Kind(a.Kind), a.TypeName)
}

// findActivation returns the activation under a name, nil if there is no such activation.
func findActivation(ctx context.Context, db store.DB, caller awswire.Caller, kind schema.Kind, typeName string) (*activationRow, error) {
	row := &activationRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND kind = ? AND type_name = ?", caller.Account, caller.Region, string(kind), typeName)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up the activation of %s: %w", typeName, err)
	}
	return row, nil
}

// findActivated returns the activation under a name and its public version, nil if there is no
// such activation.
func findActivated(ctx context.Context, db store.DB, caller awswire.Caller, kind schema.Kind, typeName string) (*activationRow, *publicationRow, error) {
	row, err := findActivation(ctx, db, caller, kind, typeName)
	if row == nil || err != nil {
		return nil, nil, err
	}
	version := &publicationRow{}
	if err := store.Get(ctx, db, version, "WHERE id = ?", row.PublicationID); err != nil {
		return nil, nil, fmt.Errorf("look up the public version of %s: %w", typeName, err)
	}
	return row, version, nil
}

// ActivateType activates a public extension of a third party in the caller's account and
// region, under an alias if one is given. It uses the latest version, or the latest one of
// MajorVersion.
//
// Activated again under the same name, the settings that are given are changed, and the
// version only as far as asked for: by MajorVersion, or by VersionBump to the latest of all
// versions or of the present major version. With automatic updates the latest version of
// the present major version is taken in any case.
//
// Errors: TypeNotFoundException for types that are not public; CFNRegistryException for
// contradictory members, an alias that is taken, and a module whose required extensions are
// not activated.
func (r *Registry) ActivateType(ctx context.Context, caller awswire.Caller, in *cloudformation.ActivateTypeInput) (*cloudformation.ActivateTypeOutput, error) {
	ref, err := activationRef(caller, in)
	if err != nil {
		return nil, err
	}
	if err := checkSettings(in); err != nil {
		return nil, err
	}
	alias := aws.ToString(in.TypeNameAlias)
	if alias == "" {
		alias = ref.key.TypeName
	}
	if err := validName(ref.key.Kind, alias); err != nil {
		return nil, err
	}
	if ofAmazon(alias) {
		return nil, refuse("TypeNameAlias '%s' is in a namespace that is reserved.", alias)
	}
	var row *activationRow
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		versions, err := findPublications(ctx, tx, caller.Region, ref.key)
		if err != nil {
			return err
		}
		if len(versions) == 0 {
			return ref.notFound(in.PublicTypeArn)
		}
		if row, err = findActivation(ctx, tx, caller, ref.key.Kind, alias); err != nil {
			return err
		}
		if row == nil {
			row, err = r.activate(ctx, tx, caller, alias, versions, in)
			return err
		}
		return r.reactivate(ctx, tx, caller, row, versions, in)
	})
	if err != nil {
		return nil, err
	}
	r.announce(caller, schema.Kind(row.Kind), row.TypeName, "", Activated)
	return &cloudformation.ActivateTypeOutput{Arn: aws.String(row.arn().String())}, nil
}

// activationRef reads which extension is meant, and refuses members that contradict each
// other.
func activationRef(caller awswire.Caller, in *cloudformation.ActivateTypeInput) (publicRef, error) {
	if in.MajorVersion != nil && in.VersionBump != "" {
		return publicRef{}, refuse("You can specify MajorVersion or VersionBump, but not both.")
	}
	kind := string(in.Type)
	ref, public, err := publicRefOf(caller, in.PublicTypeArn, in.PublisherId, &kind, in.TypeName, nil, nil)
	switch {
	case err != nil:
		return publicRef{}, err
	case !public && aws.ToString(in.PublicTypeArn) != "":
		return publicRef{}, refuse("'%s' is not the ARN of a public third-party extension.", *in.PublicTypeArn)
	case !public || ref.key.Kind == "" || ref.key.TypeName == "":
		return publicRef{}, refuse("You must specify either PublicTypeArn, or TypeName, Type, and PublisherId.")
	case aws.ToString(in.PublicTypeArn) == "":
		return ref, nil
	}
	// Given together, the names must be those of the ARN.
	if in.Type != "" && kind != string(ref.key.Kind) || given(in.TypeName, ref.key.TypeName) || given(in.PublisherId, ref.key.Publisher) {
		return publicRef{}, refuse("PublicTypeArn '%s' and TypeName, Type, or PublisherId name different extensions.", *in.PublicTypeArn)
	}
	ref.version = "" // an ARN with a version names the extension all the same
	return ref, nil
}

// checkSettings refuses settings that cannot be kept.
func checkSettings(in *cloudformation.ActivateTypeInput) error {
	members := map[string]*string{"ExecutionRoleArn": in.ExecutionRoleArn}
	if in.LoggingConfig != nil {
		members["LogGroupName"], members["LogRoleArn"] = in.LoggingConfig.LogGroupName, in.LoggingConfig.LogRoleArn
	}
	return plain(members)
}

// given reports whether a member is set to something else than value.
func given(member *string, value string) bool {
	return aws.ToString(member) != "" && *member != value
}

// activate writes a new activation. versions are those of the extension, the latest first.
func (r *Registry) activate(ctx context.Context, tx *store.Tx, caller awswire.Caller, alias string, versions []publicationRow, in *cloudformation.ActivateTypeInput) (*activationRow, error) {
	private, err := hasPrivate(ctx, tx, caller, versions[0].Kind, alias)
	if err != nil {
		return nil, err
	}
	if private {
		return nil, refuse("A private type named '%s' is registered in this account and Region. Specify another TypeNameAlias.", alias)
	}
	version, err := chooseVersion(versions, publicVersion{}, in)
	if err != nil {
		return nil, err
	}
	if err := checkActivated(ctx, tx, caller, version); err != nil {
		return nil, err
	}
	now := r.now()
	row := &activationRow{
		Account: caller.Account, Region: caller.Region, Kind: version.Kind, TypeName: alias,
		PublisherID: version.PublisherID, OriginalTypeName: version.TypeName, PublicationID: version.ID,
		AutoUpdate: true, CreatedAt: now, UpdatedAt: now, RowVersion: 1,
	}
	row.set(in)
	written, err := store.InsertOr(ctx, tx, "ON CONFLICT DO NOTHING", row)
	if err != nil {
		return nil, fmt.Errorf("activate %s: %w", alias, err)
	}
	return row, store.RequireOneRow(written) // the alias may have been taken at the same moment
}

// hasPrivate reports whether an account has a private type of a name, or soon will.
func hasPrivate(ctx context.Context, db store.DB, caller awswire.Caller, kind, typeName string) (bool, error) {
	const of = "account = ? AND region = ? AND kind = ? AND type_name = ?"
	has, err := store.Exists(ctx, db, "FROM types WHERE NOT deprecated AND default_version IS NOT NULL AND "+of, caller.Account, caller.Region, kind, typeName)
	if err == nil && !has {
		has, err = store.Exists(ctx, db, "FROM registrations WHERE status = ? AND "+of, types.RegistrationStatusInProgress, caller.Account, caller.Region, kind, typeName)
	}
	if err != nil {
		return false, fmt.Errorf("look for a private type %s: %w", typeName, err)
	}
	return has, nil
}

// reactivate changes an activation to the request.
func (r *Registry) reactivate(ctx context.Context, tx *store.Tx, caller awswire.Caller, row *activationRow, versions []publicationRow, in *cloudformation.ActivateTypeInput) error {
	if row.original() != versions[0].key() {
		return refuse("The type name '%s' is already in use for %s in this account and Region. Specify another TypeNameAlias.", row.TypeName, row.original())
	}
	i := slices.IndexFunc(versions, func(v publicationRow) bool { return v.ID == row.PublicationID })
	if i < 0 {
		return fmt.Errorf("activate %s: its public version %s no longer exists", row.TypeName, row.PublicationID)
	}
	before := *row
	row.set(in)
	version, present := &versions[i], versions[i].public()
	if row.AutoUpdate || in.MajorVersion != nil || in.VersionBump != "" {
		var err error
		if version, err = chooseVersion(versions, present, in); err != nil {
			return err
		}
	}
	if row.PublicationID = version.ID; *row == before {
		return nil
	}
	if row.PublicationID != before.PublicationID {
		if err := checkActivated(ctx, tx, caller, version); err != nil {
			return err
		}
	}
	row.UpdatedAt = r.now()
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// set copies the settings of the request.
func (a *activationRow) set(in *cloudformation.ActivateTypeInput) {
	if in.AutoUpdate != nil {
		a.AutoUpdate = *in.AutoUpdate
	}
	if in.ExecutionRoleArn != nil {
		a.ExecutionRole = *in.ExecutionRoleArn
	}
	if in.LoggingConfig != nil {
		a.LogGroup, a.LogRole = aws.ToString(in.LoggingConfig.LogGroupName), aws.ToString(in.LoggingConfig.LogRoleArn)
	}
}

// chooseVersion picks one of an extension's versions, which come the latest first. present
// is the version in use, zero if none is.
func chooseVersion(versions []publicationRow, present publicVersion, in *cloudformation.ActivateTypeInput) (*publicationRow, error) {
	major := present.Major
	switch {
	case in.MajorVersion != nil:
		major = *in.MajorVersion
	case in.VersionBump == types.VersionBumpMajor || present == publicVersion{}:
		return &versions[0], nil
	}
	for i := range versions {
		if versions[i].Major == major {
			return &versions[i], nil
		}
	}
	return nil, refuse("Major version %d of the type '%s' is not published. The latest version is %s.", major, versions[0].TypeName, versions[0].public())
}

// checkActivated refuses a version of a module whose required extensions are not activated
// under the names that it uses, in a major version that it supports.
func checkActivated(ctx context.Context, db store.DB, caller awswire.Caller, version *publicationRow) error {
	missing, err := missingFor(ctx, db, caller, version)
	if err != nil || len(missing) == 0 {
		return err
	}
	return refuse("The module '%s' requires extensions that are not activated in this account and Region: %s. Activate them first, with these names as TypeNameAlias.",
		version.TypeName, strings.Join(missing, "; "))
}

// missingFor lists what must be activated before a version can be.
func missingFor(ctx context.Context, db store.DB, caller awswire.Caller, version *publicationRow) ([]string, error) {
	required, err := version.required()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, one := range required {
		key := keyOf(one)
		row, at, err := findActivated(ctx, db, caller, key.Kind, *one.TypeNameAlias)
		if err != nil {
			return nil, err
		}
		if row == nil || row.original() != key || !slices.Contains(one.SupportedMajorVersions, int32(min(at.Major, maxMajor))) {
			missing = append(missing, fmt.Sprintf("%s (%s, major version %s)", *one.TypeNameAlias, key, listOf(one.SupportedMajorVersions)))
		}
	}
	return missing, nil
}

// DeactivateType deactivates an extension and deletes its configuration. If it is not
// activated, the error is TypeNotFoundException; a Lambda Hook or Guard Hook, which only its stack
// deactivates, is CFNRegistryException.
func (r *Registry) DeactivateType(ctx context.Context, caller awswire.Caller, in *cloudformation.DeactivateTypeInput) (*cloudformation.DeactivateTypeOutput, error) {
	name, err := named(caller, in.Arn, types.RegistryType(in.Type), in.TypeName, nil)
	if err == nil {
		err = ownARN(caller, name)
	}
	if err != nil {
		return nil, err
	}
	err = r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findActivation(ctx, tx, caller, name.Kind, name.TypeName)
		if err != nil {
			return err
		}
		if row == nil {
			return typeNotFound(name.TypeName)
		}
		if err := store.Delete(ctx, tx, row); err != nil {
			return fmt.Errorf("deactivate %s: %w", name.TypeName, err)
		}
		return r.removeConfigurations(ctx, tx, caller, row.arn())
	})
	if err != nil {
		return nil, r.notManaged(ctx, caller, name, err)
	}
	r.announce(caller, name.Kind, name.TypeName, "", Deactivated)
	return &cloudformation.DeactivateTypeOutput{}, nil
}
