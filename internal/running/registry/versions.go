package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// named reads the members by which requests name a type or a version of it: an ARN, or kind
// and name, and a version with either. The result may be public, and may be of another account
// or region; ownARN checks that.
func named(caller awswire.Caller, arn *string, kind types.RegistryType, typeName, version *string) (schema.TypeARN, error) {
	if arn == nil {
		if kind == "" || aws.ToString(typeName) == "" {
			return schema.TypeARN{}, refuse("Either Arn, or Type and TypeName, must be specified.")
		}
		if err := validName(schema.Kind(kind), *typeName); err != nil {
			return schema.TypeARN{}, err
		}
		return privateARN(caller, schema.Kind(kind), *typeName).WithVersion(aws.ToString(version)), nil
	}
	parsed, err := parseTypeARN(*arn)
	if err != nil {
		return schema.TypeARN{}, err
	}
	switch {
	case kind != "" && schema.Kind(kind) != parsed.Kind, typeName != nil && *typeName != parsed.TypeName:
		return schema.TypeARN{}, refuse("Type and TypeName name another type than the ARN '%s'.", *arn)
	case version == nil:
	case parsed.Version == "":
		parsed.Version = *version
	case !sameVersion(parsed.Version, *version):
		return schema.TypeARN{}, refuse("VersionId '%s' names another version than the ARN '%s'.", *version, *arn)
	}
	return parsed, nil
}

func sameVersion(a, b string) bool {
	x, okX := versionNumber(a)
	y, okY := versionNumber(b)
	return a == b || okX && okY && x == y
}

// ownARN refuses ARNs of other accounts and regions: callers do not learn whether such a type
// exists.
func ownARN(caller awswire.Caller, arn schema.TypeARN) error {
	if arn.Account != caller.Account || arn.Region != caller.Region || arn.Partition != caller.Partition() || arn.Publisher != "" {
		return typeNotFound(arn.TypeName)
	}
	return nil
}

// findType returns the private type of an account, nil if it has none. A type does not exist
// until its first registration is complete.
func findType(ctx context.Context, db store.DB, caller awswire.Caller, kind schema.Kind, typeName string) (*typeRow, error) {
	row := &typeRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND kind = ? AND type_name = ? AND default_version IS NOT NULL",
		caller.Account, caller.Region, string(kind), typeName)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for the type %s: %w", typeName, err)
	}
	return row, nil
}

// findVersion returns a version of a type, nil if the number does not exist.
func findVersion(ctx context.Context, db store.DB, typeID string, number int64) (*versionRow, error) {
	row := &versionRow{}
	err := store.Get(ctx, db, row, "WHERE type_id = ? AND version = ?", typeID, number)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for version %d: %w", number, err)
	}
	return row, nil
}

// privateVersion returns a private type and the version that an id names, the default one
// for "". A type that the account does not have is nil without an error; a version that
// the type does not have is refused.
func (r *Registry) privateVersion(ctx context.Context, db store.DB, caller awswire.Caller, kind schema.Kind, typeName, version string) (*typeRow, *versionRow, error) {
	typ, err := findType(ctx, db, caller, kind, typeName)
	if typ == nil || err != nil {
		return nil, nil, err
	}
	number := *typ.DefaultVersion
	if version != "" {
		var ok bool
		if number, ok = versionNumber(version); !ok {
			return nil, nil, versionNotFound(kind, typeName, version)
		}
	}
	v, err := findVersion(ctx, db, typ.ID, number)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", typeName, err)
	case v == nil:
		return nil, nil, versionNotFound(kind, typeName, versionID(number))
	}
	return typ, v, nil
}

// SetTypeDefaultVersion sets the version that is used by default. Types and versions that do
// not exist are TypeNotFoundException; a request without a version and a deregistered version
// are CFNRegistryException.
func (r *Registry) SetTypeDefaultVersion(ctx context.Context, caller awswire.Caller, in *cloudformation.SetTypeDefaultVersionInput) (*cloudformation.SetTypeDefaultVersionOutput, error) {
	arn, err := named(caller, in.Arn, in.Type, in.TypeName, in.VersionId)
	if err != nil {
		return nil, err
	}
	if err := ownARN(caller, arn); err != nil {
		return nil, err
	}
	if arn.Version == "" {
		return nil, refuse("A version must be specified: the ARN of a version as Arn, or VersionId.")
	}
	var version string // as the registry writes it
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		typ, v, err := r.privateVersion(ctx, tx, caller, arn.Kind, arn.TypeName, arn.Version)
		switch {
		case err != nil:
			return err
		case typ == nil:
			return typeNotFound(arn.TypeName)
		case v.Deprecated:
			return refuse("Version '%s' of the type '%s' is deregistered and cannot be the default version.", versionID(v.Version), arn.TypeName)
		}
		typ.DefaultVersion, version = &v.Version, versionID(v.Version)
		return r.updateType(ctx, tx, typ)
	})
	if err != nil {
		return nil, err
	}
	r.changes.send(Change{Place: caller.Place, Kind: arn.Kind, TypeName: arn.TypeName, Version: version, What: DefaultChanged})
	return &cloudformation.SetTypeDefaultVersionOutput{}, nil
}

func kindOf(typ *typeRow) schema.Kind { return schema.Kind(typ.Kind) }

// updateType is the compare-and-set of types: store.ErrStale if others changed it since it was
// read.
func (r *Registry) updateType(ctx context.Context, tx *store.Tx, typ *typeRow) error {
	written, err := store.Exec(ctx, tx, "UPDATE types SET default_version = ?, deprecated = ?, updated_at = ?, row_version = row_version + 1 WHERE id = ? AND row_version = ?",
		typ.DefaultVersion, typ.Deprecated, r.now(), typ.ID, typ.RowVersion)
	if err != nil {
		return fmt.Errorf("update the type %s: %w", typ.TypeName, err)
	}
	return store.RequireOneRow(written)
}

// A Version is a version of a type as those who run it need it: a private one, or the one
// that an activated public type is at.
type Version struct {
	awswire.Place
	Kind          schema.Kind
	TypeName      string // in the account: of an activated type its alias
	SchemaName    string // in the schema; the same but for aliases
	TypeARN       string // in the account, without a version: what configurations belong to
	VersionID     string // "00000001"
	PublicVersion string // of an activated type: "1.0.0"; else ""

	Schema     *schema.Schema // shared: never changed
	SchemaText string

	ProvisioningType types.ProvisioningType // "" but for resource types
	ExecutionRole    string                 // "" for none
	LogGroup         string                 // "" without one
	LogRole          string

	// Package and what follows name the handler. Runtime is "" for modules and for types
	// without handlers.
	Package    string // hash of the blob
	Runtime    string
	Entrypoint string

	// ConfigurationSchema is that of the type itself, "" for none; see Registry.Configuration.
	ConfigurationSchema string
}

// Function names the handler of the version.
func (v *Version) Function() bundle.Spec {
	return bundle.Spec{
		Place: v.Place, Kind: v.Kind, TypeName: v.SchemaName, Version: v.VersionID,
		Package: v.Package, Runtime: v.Runtime, Entrypoint: v.Entrypoint, LogGroup: v.LogGroup, Role: v.ExecutionRole,
	}
}

// Handler names the handler of the version that Resolve returns.
func (r *Registry) Handler(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string) (bundle.Spec, error) {
	v, err := r.Resolve(ctx, caller, kind, typeName, version)
	if err != nil {
		return bundle.Spec{}, err
	}
	return v.Function(), nil
}

// Resolve returns a live version of a type in the account, the default one for the id "". A
// private type hides an activated one of the same name. Missing and deregistered types are
// TypeNotFoundException.
func (r *Registry) Resolve(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string) (*Version, error) {
	typ, v, err := r.privateVersion(ctx, r.store.Read(), caller, kind, typeName, version)
	switch {
	case err != nil:
		return nil, err
	case typ == nil || typ.Deprecated:
		activated, err := r.resolveActivated(ctx, caller, kind, typeName, version)
		if activated == nil && err == nil {
			err = typeNotFound(typeName)
		}
		return activated, err
	case v.Deprecated:
		return nil, versionNotFound(kind, typeName, versionID(v.Version))
	}
	return r.versionOf(caller, typ, v)
}

func (r *Registry) versionOf(caller awswire.Caller, typ *typeRow, v *versionRow) (*Version, error) {
	kind := schema.Kind(typ.Kind)
	s, err := r.loadSchema(kind, v.PackageHash, v.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s version %s: %w", typ.TypeName, versionID(v.Version), err)
	}
	return &Version{
		Place: awswire.Place{Account: typ.Account, Region: typ.Region}, Kind: kind, TypeName: typ.TypeName, SchemaName: typ.TypeName,
		TypeARN: privateARN(caller, kind, typ.TypeName).String(), VersionID: versionID(v.Version),
		Schema: s, SchemaText: v.Schema, ProvisioningType: types.ProvisioningType(v.ProvisioningType),
		ExecutionRole: v.ExecutionRole, LogGroup: v.LogGroup, LogRole: v.LogRole,
		Package: v.PackageHash, Runtime: v.Runtime, Entrypoint: v.Entrypoint, ConfigurationSchema: v.ConfigurationSchema,
	}, nil
}

// maxSchemas is how many decoded schemas are kept.
const maxSchemas = 256

// schemas keeps the schemas of packages decoded. The zero value is ready for use.
type schemas struct {
	mu     sync.Mutex
	loaded map[string]*schema.Schema
}

// loadSchema decodes the schema of a package that was found free of errors when it was
// registered.
func (r *Registry) loadSchema(kind schema.Kind, packageHash, text string) (*schema.Schema, error) {
	c := &r.schemas
	c.mu.Lock()
	s := c.loaded[packageHash]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, problems := schema.Load("schema.json", []byte(strings.TrimPrefix(text, "\ufeff")), schema.Config{Kind: kind})
	if s == nil {
		return nil, fmt.Errorf("read the schema: %w", problems.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil || len(c.loaded) >= maxSchemas {
		c.loaded = map[string]*schema.Schema{} // one read returns all of them that are in use
	}
	c.loaded[packageHash] = s
	return s, nil
}

// resolveActivated is Resolve for an activated public type, nil if none is activated under
// the name. Its only version is the one that it is at, named by its id or public number.
func (r *Registry) resolveActivated(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string) (*Version, error) {
	activation, at, err := findActivated(ctx, r.store.Read(), caller, kind, typeName)
	if activation == nil || err != nil {
		return nil, err
	}
	if version != "" && version != at.public().String() && !sameVersion(version, versionID(at.Number)) {
		return nil, versionNotFound(kind, typeName, version)
	}
	s, err := r.loadSchema(kind, at.PackageHash, at.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s version %s: %w", typeName, at.public(), err)
	}
	return &Version{
		Place: caller.Place, Kind: kind, TypeName: typeName, SchemaName: at.TypeName,
		TypeARN: privateARN(caller, kind, typeName).String(), VersionID: versionID(at.Number), PublicVersion: at.public().String(),
		Schema: s, SchemaText: at.Schema, ProvisioningType: types.ProvisioningType(at.ProvisioningType),
		ExecutionRole: activation.ExecutionRole, LogGroup: activation.LogGroup, LogRole: activation.LogRole,
		Package: at.PackageHash, Runtime: at.Runtime, Entrypoint: at.Entrypoint, ConfigurationSchema: at.ConfigurationSchema,
	}, nil
}
