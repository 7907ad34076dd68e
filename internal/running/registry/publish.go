package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Events of public types and of the activations of them.
const (
	TestStarted    Event = "test-started"
	TestProgressed Event = "test-progressed"
	TestEnded      Event = "test-ended"
	Published      Event = "published"
	Activated      Event = "activated" // or its settings or version changed
	Deactivated    Event = "deactivated"
)

// publishingWorkers are the workers of this half of the registry.
func (r *Registry) publishingWorkers() map[string]store.Worker {
	return map[string]store.Worker{
		workAutoUpdate: {Run: r.autoUpdate, Fail: func(context.Context, string, string) error { return nil }}, // the log has it
	}
}

// announce tells subscribers about a type, and ends the handlers of what is gone.
func (r *Registry) announce(caller awswire.Caller, kind schema.Kind, typeName, version string, what Event) {
	r.changes.send(Change{Place: caller.Place, Kind: kind, TypeName: typeName, Version: version, What: what})
	if ended := what == Deregistered || what == Deactivated; ended && r.config.Functions != nil {
		r.config.Functions.Remove(bundle.Spec{Place: caller.Place, Kind: kind, TypeName: typeName, Version: version})
	}
}

// plain refuses members, by their names, with what no database can hold.
func plain(members map[string]*string) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text := aws.ToString(members[name]); printable(text) != text || !utf8.ValidString(text) {
			return refuse("%s has control characters.", name)
		}
	}
	return nil
}

// PublishType puts a tested version of a private type among the public types of the region,
// where every account sees it. It publishes the default version, or the one that Arn
// names. All that makes up the version is copied: the public one stays when the private
// one is deregistered. Activated types that update automatically are woken.
//
// Public versions are numbered MAJOR.MINOR.PATCH. The first one is 1.0.0 and must not be
// named; later ones are greater than all before, the next minor one if not named.
//
// Refused: TypeNotFoundException for what the account does not have; CFNRegistryException
// for an account that is no publisher, a reserved namespace, a version that did not pass
// its tests or is published already, a number that does not fit, and a module that does not
// meet the requirements for public modules.
func (r *Registry) PublishType(ctx context.Context, caller awswire.Caller, in *cloudformation.PublishTypeInput) (*cloudformation.PublishTypeOutput, error) {
	asked := publicVersion{}
	if text := aws.ToString(in.PublicVersionNumber); text != "" {
		var ok bool
		if asked, ok = parsePublicVersion(text); !ok || asked == (publicVersion{}) {
			return nil, refuse("PublicVersionNumber '%s' is not a version of the form MAJOR.MINOR.PATCH, as in 1.2.3.", text)
		}
	}
	name, err := named(caller, in.Arn, types.RegistryType(in.Type), in.TypeName, nil)
	if err == nil {
		err = ownARN(caller, name)
	}
	if err != nil {
		return nil, err
	}
	var row *publicationRow
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		typ, version, err := r.findOwn(ctx, tx, caller, name)
		if err != nil {
			return err
		}
		publisher, err := ownPublisher(ctx, tx, caller)
		if err != nil {
			return err
		}
		if row, err = r.publication(ctx, tx, caller, publisher, typ, version, asked); err != nil {
			return err
		}
		return r.shelve(ctx, tx, caller, row, version)
	})
	if err != nil {
		return nil, err
	}
	r.announce(caller, schema.Kind(row.Kind), row.TypeName, versionID(row.Version), Published)
	return &cloudformation.PublishTypeOutput{PublicTypeArn: aws.String(row.arn(caller).String())}, nil
}

// publication creates the row of a new public version, or returns an error.
func (r *Registry) publication(ctx context.Context, tx *store.Tx, caller awswire.Caller, publisher *publisherRow, typ *typeRow, version *versionRow, asked publicVersion) (*publicationRow, error) {
	name := typ.TypeName
	if namespace, is := project.ReservedNamespace(name); is {
		return nil, refuse("The type '%s' cannot be published: the namespace '%s' is reserved.", name, namespace.Name)
	}
	if version.PublicVersion != "" {
		return nil, refuse("Version '%s' of the type '%s' is already published as public version %s.", versionID(version.Version), name, version.PublicVersion)
	}
	if version.TestStatus != string(types.TypeTestsStatusPassed) {
		return nil, refuse("Version '%s' of the type '%s' cannot be published: its test status is %s, and must be PASSED. Test it with TestType.",
			versionID(version.Version), name, version.TestStatus)
	}
	key := extensionKey{schema.Kind(typ.Kind), publisher.PublisherID, name}
	latest, err := findPublication(ctx, tx, caller.Region, key, "")
	if err != nil {
		return nil, err
	}
	number, public := int64(1), publicVersion{}
	if latest != nil {
		number, public = latest.Number+1, latest.public()
	}
	if public, err = follow(name, public, asked); err != nil {
		return nil, err
	}
	required, err := r.requiredFor(ctx, tx, caller, key, version)
	if err != nil {
		return nil, err
	}
	return &publicationRow{
		ID: r.config.NewID(), Region: caller.Region, Kind: typ.Kind, PublisherID: publisher.PublisherID, TypeName: name,
		Number: number, Major: public.Major, Minor: public.Minor, Patch: public.Patch, Latest: true,
		SourceID: version.ID, Account: caller.Account, Version: version.Version,
		Schema: version.Schema, PackageHash: version.PackageHash, PackageURL: version.PackageURL, Runtime: version.Runtime, Entrypoint: version.Entrypoint,
		Description: version.Description, SourceURL: version.SourceURL, DocumentationURL: version.DocumentationURL,
		ProvisioningType: version.ProvisioningType, ConfigurationSchema: version.ConfigurationSchema,
		RequiredTypes: required, Settings: version.Settings, CreatedAt: r.now(),
	}, nil
}

// follow chooses the number after the latest one; latest is zero for the first version, asked
// is zero if the request has no number.
func follow(name string, latest, asked publicVersion) (publicVersion, error) {
	switch {
	case asked == publicVersion{}:
		return latest.next(), nil
	case latest == publicVersion{}:
		return publicVersion{}, refuse("You cannot specify a version number the first time you publish a type: the first public version of '%s' is 1.0.0.", name)
	case asked.compare(latest) <= 0:
		return publicVersion{}, refuse("PublicVersionNumber %s must be greater than %s, the latest public version of '%s'.", asked, latest, name)
	}
	return asked, nil
}

// requiredFor lists what a module requires, "" for other kinds. It checks the requirements for
// public modules again: since the test, the account may have become a publisher, and other
// accounts may have published modules that contain this one.
func (r *Registry) requiredFor(ctx context.Context, tx *store.Tx, caller awswire.Caller, key extensionKey, version *versionRow) (string, error) {
	if key.Kind != schema.Module {
		return "", nil
	}
	required, err := decodeRequired(version.RequiredTypes)
	if err != nil {
		return "", err
	}
	check := moduleCheck{region: caller.Region, majors: regionShelf{tx, caller.Region}.majors, self: key, required: required}
	if err := check.shelved(ctx); err != nil {
		return "", err
	}
	if len(check.problems) > 0 {
		return "", refuse("The module '%s' does not meet the requirements for publishing a public module: %s", key.TypeName, strings.Join(check.problems, " "))
	}
	return version.RequiredTypes, nil
}

// shelve writes a new public version, marks its private version, and wakes the activations
// that follow it.
func (r *Registry) shelve(ctx context.Context, tx *store.Tx, caller awswire.Caller, row *publicationRow, version *versionRow) error {
	_, err := store.Exec(ctx, tx, "UPDATE publications SET latest = ? WHERE region = ? AND kind = ? AND publisher_id = ? AND type_name = ? AND latest = ?",
		false, row.Region, row.Kind, row.PublisherID, row.TypeName, true)
	var written int64
	if err == nil {
		written, err = store.InsertOr(ctx, tx, "ON CONFLICT DO NOTHING", row)
	}
	if err != nil {
		return fmt.Errorf("publish %s: %w", row.TypeName, err)
	}
	if err := store.RequireOneRow(written); err != nil {
		return err // another version got the number at the same moment
	}
	version.PublicVersion = row.public().String()
	if err := writeStatus(ctx, tx, version); err != nil {
		return err
	}
	if err := tx.Wake(ctx, workAutoUpdate, row.arn(caller).String(), time.Time{}); err != nil {
		return fmt.Errorf("publish %s: %w", row.TypeName, err)
	}
	return nil
}

// findOwn finds the private version that TestType or PublishType is about: by Arn, which may
// be that of a version, or by its names; the default version if none is named. What is
// deregistered is not found.
func (r *Registry) findOwn(ctx context.Context, db store.DB, caller awswire.Caller, arn schema.TypeARN) (*typeRow, *versionRow, error) {
	typ, version, err := r.privateVersion(ctx, db, caller, arn.Kind, arn.TypeName, arn.Version)
	switch {
	case err != nil:
		return nil, nil, err
	case typ == nil || typ.Deprecated:
		return nil, nil, typeNotFound(arn.TypeName)
	case version.Deprecated:
		return nil, nil, versionNotFound(arn.Kind, arn.TypeName, versionID(version.Version))
	}
	return typ, version, nil
}

// writeStatus writes the statuses of a version unless another transaction has written it since
// it was read, which is store.ErrStale.
func writeStatus(ctx context.Context, tx *store.Tx, version *versionRow) error {
	written, err := store.Exec(ctx, tx, "UPDATE type_versions SET test_status = ?, test_status_description = ?, public_version = ?, row_version = row_version + 1 WHERE id = ? AND row_version = ?",
		version.TestStatus, version.TestStatusDescription, version.PublicVersion, version.ID, version.RowVersion)
	if err != nil {
		return fmt.Errorf("write the status of version %d: %w", version.Version, err)
	}
	return store.RequireOneRow(written)
}
