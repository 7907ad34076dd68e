package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A publicationRow is one public version of a type in a region. It holds all that a
// private version does, so that it stays when that one is deregistered; nothing but Latest
// changes after it is written.
type publicationRow struct {
	store.Row `db:"publications AS p"`

	ID          string `db:"id,pk"`
	Region      string `db:"region"`
	Kind        string `db:"kind"`
	PublisherID string `db:"publisher_id"`
	TypeName    string `db:"type_name"`

	Number int64 `db:"number"` // 1, 2, …: the version id
	Major  int64 `db:"major"`  // the public version number
	Minor  int64 `db:"minor"`
	Patch  int64 `db:"patch"`
	Latest bool  `db:"latest"` // no later version is published

	SourceID string `db:"source_id"` // of the private version
	Account  string `db:"account"`   // that published it
	Version  int64  `db:"version"`   // there

	Schema      string `db:"schema"`
	PackageHash string `db:"package_hash"`
	PackageURL  string `db:"package_url"`
	Runtime     string `db:"runtime"`
	Entrypoint  string `db:"entrypoint"`

	Description         string     `db:"description"`
	SourceURL           string     `db:"source_url"`
	DocumentationURL    string     `db:"documentation_url"`
	ProvisioningType    string     `db:"provisioning_type"`
	ConfigurationSchema string     `db:"configuration_schema"`
	RequiredTypes       string     `db:"required_types"`
	Settings            string     `db:"settings"`
	CreatedAt           store.Time `db:"created_at"`
}

func (p *publicationRow) key() extensionKey {
	return extensionKey{schema.Kind(p.Kind), p.PublisherID, p.TypeName}
}

// public is the number that the version is published under.
func (p *publicationRow) public() publicVersion {
	return publicVersion{p.Major, p.Minor, p.Patch}
}

// arn is the ARN of the type, not of the version.
func (p *publicationRow) arn(caller awswire.Caller) schema.TypeARN {
	return publicARN(caller, schema.Kind(p.Kind), p.PublisherID, p.TypeName)
}

// required lists the extensions that a module needs, empty for other kinds.
func (p *publicationRow) required() ([]types.RequiredActivatedType, error) {
	return decodeRequired(p.RequiredTypes)
}

func decodeRequired(text string) ([]types.RequiredActivatedType, error) {
	if text == "" {
		return nil, nil
	}
	var list []types.RequiredActivatedType
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read the types that a module requires: %w", err)
	}
	return list, nil
}

// findPublications returns the published versions of an extension, the latest first.
func findPublications(ctx context.Context, db store.DB, region string, key extensionKey) ([]publicationRow, error) {
	var rows []publicationRow
	err := store.List(ctx, db, &rows, "WHERE region = ? AND kind = ? AND publisher_id = ? AND type_name = ? ORDER BY number DESC",
		region, string(key.Kind), key.Publisher, key.TypeName)
	if err != nil {
		return nil, fmt.Errorf("look up the public type %s: %w", key, err)
	}
	return rows, nil
}

// findPublication returns one published version of an extension, the latest for "". A version
// is named by its id or its public number. It returns nil if it does not exist.
func findPublication(ctx context.Context, db store.DB, region string, key extensionKey, version string) (*publicationRow, error) {
	row := &publicationRow{}
	var where store.Where
	where.And("region = ? AND kind = ? AND publisher_id = ? AND type_name = ?", region, string(key.Kind), key.Publisher, key.TypeName)
	if version == "" {
		where.And("latest")
	} else if number, ok := versionNumber(version); ok {
		where.And("number = ?", number)
	} else if v, ok := parsePublicVersion(version); ok {
		where.And("major = ? AND minor = ? AND patch = ?", v.Major, v.Minor, v.Patch)
	} else {
		return nil, nil
	}
	err := store.Get(ctx, db, row, where.Clause(), where.Args...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up the public type %s: %w", key, err)
	}
	return row, nil
}

// regionShelf is the public shelf of a region as modules are held against it.
type regionShelf struct {
	db     store.DB
	region string
}

func (s regionShelf) majors(ctx context.Context, key extensionKey) (map[int64][]types.RequiredActivatedType, error) {
	rows, err := findPublications(ctx, s.db, s.region, key)
	if err != nil {
		return nil, err
	}
	majors := map[int64][]types.RequiredActivatedType{}
	for i := range rows {
		if _, later := majors[rows[i].Major]; later {
			continue
		}
		if majors[rows[i].Major], err = rows[i].required(); err != nil {
			return nil, err
		}
	}
	return majors, nil
}

// A publicRef is what a caller means by the ARN or the names of a public extension.
type publicRef struct {
	key     extensionKey
	version string // an id or a public number, "" for the latest
}

// publicRefOf reads the members of a request that name a public extension of a third
// party. It reports false where they name something else: an extension that the account
// has, or one of Amazon.
func publicRefOf(caller awswire.Caller, arn, publisher, kind, typeName, version, public *string) (publicRef, bool, error) {
	ref := publicRef{version: aws.ToString(public)}
	if ref.version == "" {
		ref.version = aws.ToString(version)
	}
	if text := aws.ToString(arn); text != "" {
		parsed, err := parseTypeARN(text)
		if err != nil || !parsed.Public() || parsed.Publisher == "" {
			return publicRef{}, false, err
		}
		if parsed.Region != caller.Region {
			return publicRef{}, true, typeNotFound(text)
		}
		if parsed.Version != "" {
			ref.version = parsed.Version
		}
		ref.key = extensionKey{parsed.Kind, parsed.Publisher, parsed.TypeName}
		return ref, true, nil
	}
	ref.key = extensionKey{schema.Kind(aws.ToString(kind)), aws.ToString(publisher), aws.ToString(typeName)}
	return ref, ref.key.Publisher != "", nil
}

// describePublic answers DescribeType for a type that is public or activated in the account.
// Other types are not found.
//
// The members follow the rules of the API: a public extension has no default version, no role
// and no log; its number and the latest one are returned if the request names no version.
func (r *Registry) describePublic(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	kind := string(in.Type)
	ref, public, err := publicRefOf(caller, in.Arn, in.PublisherId, &kind, in.TypeName, in.VersionId, in.PublicVersionNumber)
	if err != nil {
		return nil, err
	}
	if !public {
		return r.describeActivated(ctx, caller, in)
	}
	db := r.store.Read()
	row, err := findPublication(ctx, db, caller.Region, ref.key, ref.version)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, ref.notFound(in.Arn)
	}
	out, err := r.publicDescription(caller, row)
	if err != nil {
		return nil, err
	}
	out.Arn = aws.String(row.arn(caller).WithVersion(versionID(row.Number)).String())
	if ref.version == "" {
		out.LatestPublicVersion, out.PublicVersionNumber = aws.String(row.public().String()), aws.String(row.public().String())
	}
	activated, err := store.Exists(ctx, db, "FROM activations WHERE account = ? AND region = ? AND kind = ? AND publisher_id = ? AND original_type_name = ?",
		caller.Account, caller.Region, row.Kind, row.PublisherID, row.TypeName)
	if err != nil {
		return nil, fmt.Errorf("look up what is activated: %w", err)
	}
	out.IsActivated = &activated
	return out, nil
}

// notFound is the error for a type that is not public.
func (ref publicRef) notFound(arn *string) error {
	switch {
	case ref.version != "":
		return versionNotFound(ref.key.Kind, ref.key.TypeName, ref.version)
	case aws.ToString(arn) != "":
		return typeNotFound(*arn)
	}
	return typeNotFound(ref.key.TypeName)
}

// publicDescription is what a public extension and its activations have in common.
func (r *Registry) publicDescription(caller awswire.Caller, row *publicationRow) (*cloudformation.DescribeTypeOutput, error) {
	required, err := row.required()
	if err != nil {
		return nil, err
	}
	configuration, err := describedConfigurationSchema(schema.Kind(row.Kind), row.TypeName, row.ConfigurationSchema, caller.Region)
	if err != nil {
		return nil, err
	}
	return &cloudformation.DescribeTypeOutput{
		Type: types.RegistryType(row.Kind), TypeName: &row.TypeName, Visibility: types.VisibilityPublic, Schema: &row.Schema,
		ConfigurationSchema: absent(configuration), Description: absent(row.Description), SourceUrl: absent(row.SourceURL), DocumentationUrl: absent(row.DocumentationURL),
		ProvisioningType: types.ProvisioningType(row.ProvisioningType), PublisherId: &row.PublisherID, RequiredActivatedTypes: required,
	}, nil
}

// absent is nil for "".
func absent(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// publicVersions answers ListTypeVersions for a public or activated extension: every version
// of a public one, the active version of an activated one. Public versions are never
// deprecated.
func (r *Registry) publicVersions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput) ([]types.TypeVersionSummary, error) {
	kind := string(in.Type)
	ref, public, err := publicRefOf(caller, in.Arn, in.PublisherId, &kind, in.TypeName, nil, nil)
	if err != nil {
		return nil, err
	}
	if !public {
		return r.activatedVersions(ctx, caller, in)
	}
	rows, err := findPublications(ctx, r.store.Read(), caller.Region, ref.key)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ref.notFound(in.Arn)
	}
	summaries := []types.TypeVersionSummary{}
	if in.DeprecatedStatus == types.DeprecatedStatusDeprecated {
		return summaries, nil
	}
	for i := len(rows) - 1; i >= 0; i-- {
		row := &rows[i]
		summaries = append(summaries, types.TypeVersionSummary{
			Arn:  aws.String(row.arn(caller).WithVersion(versionID(row.Number)).String()),
			Type: types.RegistryType(row.Kind), TypeName: &row.TypeName, VersionId: aws.String(versionID(row.Number)),
			Description: absent(row.Description), PublicVersionNumber: aws.String(row.public().String()), TimeCreated: &row.CreatedAt.Time,
		})
	}
	return summaries, nil
}
