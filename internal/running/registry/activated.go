package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// activatedNamed finds the activation that a request names by ARN or by its names. What
// there is not is refused.
func (r *Registry) activatedNamed(ctx context.Context, caller awswire.Caller, arn *string, kind types.RegistryType, typeName, version *string) (*activationRow, *publicationRow, schema.TypeARN, error) {
	name, err := named(caller, arn, kind, typeName, version)
	if err == nil {
		err = ownARN(caller, name)
	}
	if err != nil {
		return nil, nil, name, err
	}
	row, at, err := findActivated(ctx, r.store.Read(), caller, name.Kind, name.TypeName)
	switch {
	case err != nil:
		return nil, nil, name, err
	case row == nil:
		return nil, nil, name, typeNotFound(name.TypeName)
	case name.Version != "" && name.Version != at.public().String() && !sameVersion(name.Version, versionID(at.Number)):
		return nil, nil, name, versionNotFound(name.Kind, name.TypeName, name.Version)
	}
	return row, at, name, nil
}

// describeActivated answers DescribeType for an activated extension under its name in the
// account. Like every public type, it has no default version, role and log; the time of the
// last change is returned if it updates automatically.
func (r *Registry) describeActivated(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	version := in.VersionId
	if version == nil {
		version = in.PublicVersionNumber
	}
	row, at, name, err := r.activatedNamed(ctx, caller, in.Arn, in.Type, in.TypeName, version)
	if err != nil {
		return nil, err
	}
	out, err := r.publicDescription(caller, at)
	if err != nil {
		return nil, err
	}
	out.Arn = aws.String(row.arn().WithVersion(versionID(at.Number)).String())
	out.TypeName, out.OriginalTypeName, out.OriginalTypeArn = &row.TypeName, &row.OriginalTypeName, aws.String(at.arn(caller).String())
	out.IsActivated, out.AutoUpdate = aws.Bool(true), &row.AutoUpdate
	out.PublicVersionNumber, out.TimeCreated = aws.String(at.public().String()), &row.CreatedAt.Time
	if row.AutoUpdate {
		out.LastUpdated = &row.UpdatedAt.Time
	}
	if name.Version == "" {
		latest, err := findPublication(ctx, r.store.Read(), caller.Region, row.original(), "")
		if err != nil {
			return nil, err
		}
		if latest != nil {
			out.LatestPublicVersion = aws.String(latest.public().String())
		}
	}
	return out, nil
}

// activatedVersions lists the one version that an activated extension is at.
func (r *Registry) activatedVersions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput) ([]types.TypeVersionSummary, error) {
	row, at, _, err := r.activatedNamed(ctx, caller, in.Arn, in.Type, in.TypeName, nil)
	if err != nil {
		return nil, err
	}
	if in.DeprecatedStatus == types.DeprecatedStatusDeprecated {
		return []types.TypeVersionSummary{}, nil
	}
	id := versionID(at.Number)
	return []types.TypeVersionSummary{{
		Arn: aws.String(row.arn().WithVersion(id).String()), Type: types.RegistryType(row.Kind), TypeName: &row.TypeName, VersionId: &id,
		Description: absent(at.Description), PublicVersionNumber: aws.String(at.public().String()), TimeCreated: &row.UpdatedAt.Time,
	}}, nil
}

// A listed is a public extension in a list. AutoUpdate, UpdatedAt and the latest version are
// only set in lists of activated extensions; Name is the alias then.
type listed struct {
	store.Row `db:"publications AS p"`

	Name        string     `db:"name"`
	Kind        string     `db:"kind"`
	PublisherID string     `db:"publisher_id"`
	TypeName    string     `db:"type_name"`
	Description string     `db:"description"`
	Major       int64      `db:"major"`
	Minor       int64      `db:"minor"`
	Patch       int64      `db:"patch"`
	AutoUpdate  bool       `db:"auto_update"`
	UpdatedAt   store.Time `db:"updated_at"`
	LatestMajor int64      `db:"latest_major"`
	LatestMinor int64      `db:"latest_minor"`
	LatestPatch int64      `db:"latest_patch"`
}

// listedColumns are those of publications.
const listedColumns = "p.kind, p.publisher_id, p.type_name, p.description, p.major, p.minor, p.patch"

func (l *listed) key() extensionKey {
	return extensionKey{schema.Kind(l.Kind), l.PublisherID, l.TypeName}
}

func (l *listed) public() publicVersion { return publicVersion{l.Major, l.Minor, l.Patch} }

func (l *listed) latest() publicVersion {
	return publicVersion{l.LatestMajor, l.LatestMinor, l.LatestPatch}
}

// summariesOf returns the list entries of public extensions. The publishers are looked up
// separately: a join would make the database sort what an index has in order.
func (r *Registry) summariesOf(ctx context.Context, region string, rows []listed) ([]types.TypeSummary, error) {
	ids := map[string]bool{}
	for i := range rows {
		ids[rows[i].PublisherID] = true
	}
	publishers := map[string]publisherRow{}
	if len(ids) > 0 {
		var found []publisherRow
		err := store.List(ctx, r.store.Read(), &found, "WHERE region = ? AND publisher_id IN (?)", region, store.In(slices.Collect(maps.Keys(ids))))
		if err != nil {
			return nil, fmt.Errorf("look up publishers: %w", err)
		}
		for _, one := range found {
			publishers[one.PublisherID] = one
		}
	}
	summaries := make([]types.TypeSummary, len(rows))
	for i := range rows {
		row := &rows[i]
		publisher := publishers[row.PublisherID]
		summaries[i] = types.TypeSummary{
			Type: types.RegistryType(row.Kind), Description: absent(row.Description),
			PublisherId: &row.PublisherID, PublisherIdentity: types.IdentityProvider(publisher.IdentityProvider), PublisherName: absent(publisher.name()),
		}
	}
	return summaries, nil
}

// publicSummaries lists the public extensions of the region, or with Category ACTIVATED those
// that the account has activated. Amazon's own types are not included.
func (r *Registry) publicSummaries(ctx context.Context, caller awswire.Caller, category types.Category, q summaryQuery) ([]types.TypeSummary, error) {
	if category == types.CategoryAwsTypes {
		return []types.TypeSummary{}, nil
	}
	var rows []listed
	var where store.Where
	where.And("p.region = ? AND p.latest", caller.Region)
	if q.publisher != "" {
		where.And("p.publisher_id = ?", q.publisher)
	}
	if q.after != (summaryKey{}) {
		where.And("(p.type_name, p.kind, p.publisher_id) > (?, ?, ?)", q.after.typeName, q.after.kind, q.after.publisher)
	}
	if category == types.CategoryActivated {
		where.And(`EXISTS (SELECT 1 FROM activations AS a WHERE a.account = ? AND a.region = p.region
			AND a.kind = p.kind AND a.publisher_id = p.publisher_id AND a.original_type_name = p.type_name)`, caller.Account)
	}
	q.where(&where, "p.kind", "p.type_name", "p.provisioning_type")
	err := store.Query(ctx, r.store.Read(), &rows, "SELECT "+listedColumns+" FROM publications AS p "+where.Clause()+" ORDER BY p.type_name, p.kind, p.publisher_id LIMIT ?",
		append(where.Args, q.limit)...)
	if err != nil {
		return nil, fmt.Errorf("list public types: %w", err)
	}
	inUse, err := r.inUse(ctx, caller, rows)
	if err != nil {
		return nil, err
	}
	summaries, err := r.summariesOf(ctx, caller.Region, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row, s := &rows[i], &summaries[i]
		s.TypeName, s.TypeArn = &row.TypeName, aws.String(publicARN(caller, schema.Kind(row.Kind), row.PublisherID, row.TypeName).String())
		version, activated := inUse[row.key()]
		s.IsActivated = &activated
		if activated {
			s.OriginalTypeName, s.LatestPublicVersion, s.PublicVersionNumber = &row.TypeName, aws.String(row.public().String()), aws.String(version.String())
		}
	}
	return summaries, nil
}

// inUse returns the versions of extensions that the account has activated; the greatest
// where it has activated one several times.
func (r *Registry) inUse(ctx context.Context, caller awswire.Caller, rows []listed) (map[extensionKey]publicVersion, error) {
	inUse := map[extensionKey]publicVersion{}
	if len(rows) == 0 {
		return inUse, nil
	}
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].TypeName
	}
	var found []publicationRow
	err := store.Query(ctx, r.store.Read(), &found, "SELECT p.kind, p.publisher_id, p.type_name, p.major, p.minor, p.patch FROM publications AS p JOIN activations AS a ON a.publication_id = p.id WHERE a.account = ? AND a.region = ? AND a.original_type_name IN (?)",
		caller.Account, caller.Region, store.In(names))
	if err != nil {
		return nil, fmt.Errorf("list what is activated: %w", err)
	}
	for i := range found {
		v := &found[i]
		if before, has := inUse[v.key()]; !has || before.compare(v.public()) < 0 {
			inUse[v.key()] = v.public()
		}
	}
	return inUse, nil
}

// activatedSummaries lists what the account has activated, under its names there.
func (r *Registry) activatedSummaries(ctx context.Context, caller awswire.Caller, q summaryQuery) ([]types.TypeSummary, error) {
	var rows []listed
	var where store.Where
	where.And("a.account = ? AND a.region = ?", caller.Account, caller.Region)
	if q.publisher != "" {
		where.And("a.publisher_id = ?", q.publisher)
	}
	if q.after != (summaryKey{}) {
		where.And("(a.type_name, a.kind, a.publisher_id) > (?, ?, ?)", q.after.typeName, q.after.kind, q.after.publisher)
	}
	q.where(&where, "p.kind", "a.type_name", "p.provisioning_type")
	err := store.Query(ctx, r.store.Read(), &rows, "SELECT "+listedColumns+`, a.type_name AS name, a.auto_update, a.updated_at,
			l.major AS latest_major, l.minor AS latest_minor, l.patch AS latest_patch
		FROM publications AS p JOIN activations AS a ON a.publication_id = p.id
		JOIN publications AS l ON l.region = p.region AND l.kind = p.kind AND l.publisher_id = p.publisher_id AND l.type_name = p.type_name AND l.latest `+
		where.Clause()+" ORDER BY a.type_name, a.kind, a.publisher_id LIMIT ?", append(where.Args, q.limit)...)
	if err != nil {
		return nil, fmt.Errorf("list activated types: %w", err)
	}
	summaries, err := r.summariesOf(ctx, caller.Region, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row, s := &rows[i], &summaries[i]
		s.TypeName, s.TypeArn = &row.Name, aws.String(privateARN(caller, schema.Kind(row.Kind), row.Name).String())
		s.IsActivated, s.OriginalTypeName = aws.Bool(true), &row.TypeName
		s.PublicVersionNumber, s.LatestPublicVersion = aws.String(row.public().String()), aws.String(row.latest().String())
		if row.AutoUpdate {
			s.LastUpdated = &row.UpdatedAt.Time
		}
	}
	return summaries, nil
}
