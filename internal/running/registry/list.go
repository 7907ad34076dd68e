package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxResults is the maximum and default number of results of a page.
const maxResults = 100

// pageSize reads MaxResults. The server has rejected values that are out of bounds.
func pageSize(asked *int32) int {
	if asked == nil {
		return maxResults
	}
	return min(max(1, int(*asked)), maxResults)
}

// startAt returns where a list continues: the given number of keys of a NextToken, nil without
// a token.
func startAt(token *string, keys int, query ...any) ([]string, error) {
	if token == nil {
		return nil, nil
	}
	from, ok := store.ReadPageToken(*token, keys, query...)
	if !ok {
		return nil, badToken()
	}
	return from, nil
}

// badToken refuses a NextToken that no answer had.
func badToken() error {
	return refuse("NextToken is invalid: it must come from the answer before, and the other parameters must be those of that request.")
}

// cut removes a page from results that were queried with one more than fits.
func cut[T any](results []T, size int) (page []T, more bool) {
	if len(results) > size {
		return results[:size], true
	}
	return results, false
}

// ListTypes lists types in the order of their names: those of the account, which are
// registered or activated, or with Visibility PUBLIC those that every account can activate.
// Without other filters it lists live types; of resource types, as in the API, those that are
// FULLY_MUTABLE. Filters that exclude each other return an empty list.
func (r *Registry) ListTypes(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypesInput) (*cloudformation.ListTypesOutput, error) {
	size := pageSize(in.MaxResults)
	filters := types.TypeFilters{}
	if in.Filters != nil {
		filters = *in.Filters
	}
	query := []any{"ListTypes", caller.Account, caller.Region, in.Visibility, in.ProvisioningType, in.DeprecatedStatus, in.Type, filters.Category, filters.PublisherId, filters.TypeNamePrefix}
	from, err := startAt(in.NextToken, 3, query...)
	if err != nil {
		return nil, err
	}
	q := summaryQuery{
		kind: string(in.Type), prefix: aws.ToString(filters.TypeNamePrefix), publisher: aws.ToString(filters.PublisherId),
		provisioning: []string{string(types.ProvisioningTypeFullyMutable), ""}, limit: size + 1,
	}
	if in.ProvisioningType != "" {
		q.provisioning = []string{string(in.ProvisioningType)}
	}
	if from != nil {
		q.after = summaryKey{from[0], from[1], from[2]}
	}
	summaries, err := r.summaries(ctx, caller, in, filters.Category, q)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(summaries, func(a, b types.TypeSummary) int { return compareKeys(keyOfSummary(a), keyOfSummary(b)) })
	page, more := cut(summaries, size)
	out := &cloudformation.ListTypesOutput{TypeSummaries: page}
	if more {
		last := keyOfSummary(page[len(page)-1])
		out.NextToken = aws.String(store.PageToken([]string{last.typeName, last.kind, last.publisher}, query...))
	}
	return out, nil
}

// A summaryQuery is the part of ListTypes that one table answers: which rows, and from
// where on.
type summaryQuery struct {
	kind         string   // "" for all
	prefix       string   // of the type name, "" for all
	publisher    string   // "" for all
	provisioning []string // the provisioning types wanted, nil for all; "" is that of modules and hooks
	search       string   // anywhere in the type name, in lower case, "" for all
	after        summaryKey
	limit        int
}

// A summaryKey is the place of a type in a list: by name, then by kind, then by publisher. The
// zero key is before all others.
type summaryKey struct{ typeName, kind, publisher string }

// where adds the conditions that are the same in every table. kind, name and provisioning are
// the columns that have those.
func (q summaryQuery) where(where *store.Where, kind, name, provisioning string) {
	if q.provisioning != nil {
		where.And(provisioning+" IN (?)", store.In(q.provisioning))
	}
	if q.search != "" {
		where.And("lower("+name+") LIKE ? ESCAPE '!'", "%"+likeLiteral.Replace(q.search)+"%")
	}
	if q.kind != "" {
		where.And(kind+" = ?", q.kind)
	}
	if q.prefix != "" { // names are ASCII: the prefix, and everything up to what follows it
		where.And(name+" >= ? AND "+name+" < ?", q.prefix, q.prefix+"\x7f")
	}
}

// likeLiteral escapes a text for a pattern of LIKE with the escape character "!".
var likeLiteral = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

func keyOfSummary(s types.TypeSummary) summaryKey {
	return summaryKey{aws.ToString(s.TypeName), string(s.Type), aws.ToString(s.PublisherId)}
}

func compareKeys(a, b summaryKey) int {
	return cmp.Or(cmp.Compare(a.typeName, b.typeName), cmp.Compare(a.kind, b.kind), cmp.Compare(a.publisher, b.publisher))
}

// summaries queries the tables for the requested types; each query returns up to a full page.
func (r *Registry) summaries(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypesInput, category types.Category, q summaryQuery) ([]types.TypeSummary, error) {
	deprecated := in.DeprecatedStatus == types.DeprecatedStatusDeprecated
	summaries := []types.TypeSummary{}
	if in.Visibility == types.VisibilityPublic {
		if deprecated || category == types.CategoryRegistered {
			return summaries, nil // nothing public is ever deprecated
		}
		imported, err := r.importedSummaries(ctx, caller, category, q)
		if err != nil {
			return nil, err
		}
		published, err := r.publicSummaries(ctx, caller, category, q)
		return append(published, imported...), err
	}
	if category == types.CategoryAwsTypes {
		return summaries, nil
	}
	if category != types.CategoryActivated && q.publisher == "" {
		registered, err := r.registeredSummaries(ctx, caller, deprecated, q)
		if err != nil {
			return nil, err
		}
		summaries = append(summaries, registered...)
	}
	if category != types.CategoryRegistered && !deprecated {
		activated, err := r.activatedSummaries(ctx, caller, q)
		if err != nil {
			return nil, err
		}
		managed, err := r.managedSummaries(ctx, caller, q)
		if err != nil {
			return nil, err
		}
		summaries = append(append(summaries, activated...), managed...)
	}
	return summaries, nil
}

// registeredSummaries lists private types with what their default version says of them.
func (r *Registry) registeredSummaries(ctx context.Context, caller awswire.Caller, deprecated bool, q summaryQuery) ([]types.TypeSummary, error) {
	var rows []struct {
		Kind           string     `db:"kind"`
		TypeName       string     `db:"type_name"`
		DefaultVersion int64      `db:"default_version"`
		UpdatedAt      store.Time `db:"updated_at"`
		Description    string     `db:"description"`
	}
	var where store.Where
	where.And("t.account = ? AND t.region = ? AND t.deprecated = ?", caller.Account, caller.Region, deprecated)
	if q.after != (summaryKey{}) {
		where.And("(t.type_name, t.kind) > (?, ?)", q.after.typeName, q.after.kind)
	}
	q.where(&where, "t.kind", "t.type_name", "v.provisioning_type")
	err := store.Query(ctx, r.store.Read(), &rows, `SELECT t.kind, t.type_name, t.default_version, v.updated_at, v.description
		FROM types AS t JOIN type_versions AS v ON v.type_id = t.id AND v.version = t.default_version `+
		where.Clause()+" ORDER BY t.type_name, t.kind LIMIT ?", append(where.Args, q.limit)...)
	if err != nil {
		return nil, fmt.Errorf("list types: %w", err)
	}
	summaries := make([]types.TypeSummary, len(rows))
	for i := range rows {
		row := &rows[i]
		summaries[i] = types.TypeSummary{
			Type: types.RegistryType(row.Kind), TypeName: &row.TypeName, DefaultVersionId: aws.String(versionID(row.DefaultVersion)),
			TypeArn:     aws.String(privateARN(caller, schema.Kind(row.Kind), row.TypeName).String()),
			LastUpdated: &row.UpdatedAt.Time, Description: absent(row.Description),
		}
	}
	return summaries, nil
}

// ListTypeVersions lists the versions of a type in ascending order, by default live ones. A
// missing type is CFNRegistryException: the operation has no other error.
func (r *Registry) ListTypeVersions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput) (*cloudformation.ListTypeVersionsOutput, error) {
	size := pageSize(in.MaxResults)
	query := []any{"ListTypeVersions", caller.Account, caller.Region, in.Arn, in.Type, in.TypeName, in.PublisherId, in.DeprecatedStatus}
	from, err := startAt(in.NextToken, 1, query...)
	if err != nil {
		return nil, err
	}
	var after int64
	if from != nil {
		var ok bool
		if after, ok = versionNumber(from[0]); !ok {
			return nil, badToken()
		}
	}
	summaries, err := r.versionSummaries(ctx, caller, in, after, size+1)
	if err != nil {
		return nil, registryError(err)
	}
	page, more := cut(summaries, size)
	out := &cloudformation.ListTypeVersionsOutput{TypeVersionSummaries: page}
	if more {
		out.NextToken = aws.String(store.PageToken([]string{*page[len(page)-1].VersionId}, query...))
	}
	return out, nil
}

func (r *Registry) versionSummaries(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeVersionsInput, after int64, limit int) ([]types.TypeVersionSummary, error) {
	if in.PublisherId == nil {
		arn, err := named(caller, in.Arn, in.Type, in.TypeName, nil)
		if err != nil {
			return nil, err
		}
		if !arn.Public() {
			if err := ownARN(caller, arn); err != nil {
				return nil, err
			}
			typ, err := findType(ctx, r.store.Read(), caller, arn.Kind, arn.TypeName)
			if err != nil {
				return nil, err
			}
			if typ != nil {
				return r.privateVersions(ctx, caller, typ, in.DeprecatedStatus == types.DeprecatedStatusDeprecated, after, limit)
			}
		}
	}
	all, err := r.publicVersions(ctx, caller, in)
	for _, find := range []func(context.Context, awswire.Caller, *cloudformation.ListTypeVersionsInput) ([]types.TypeVersionSummary, error){r.managedVersions, r.importedVersions} {
		if !isTypeNotFound(err) || in.PublisherId != nil {
			break
		}
		if found, lookup := find(ctx, caller, in); lookup != nil || found != nil {
			all, err = found, lookup
		}
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s types.TypeVersionSummary) bool {
		number, _ := versionNumber(aws.ToString(s.VersionId))
		return number <= after
	}), nil
}

func (r *Registry) privateVersions(ctx context.Context, caller awswire.Caller, typ *typeRow, deprecated bool, after int64, limit int) ([]types.TypeVersionSummary, error) {
	var rows []versionRow
	err := store.Query(ctx, r.store.Read(), &rows, "SELECT version, description, created_at FROM type_versions WHERE type_id = ? AND deprecated = ? AND version > ? ORDER BY version LIMIT ?",
		typ.ID, deprecated, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", typ.TypeName, err)
	}
	arn := privateARN(caller, kindOf(typ), typ.TypeName)
	summaries := make([]types.TypeVersionSummary, len(rows))
	for i := range rows {
		row := &rows[i]
		id := versionID(row.Version)
		summaries[i] = types.TypeVersionSummary{
			Arn: aws.String(arn.WithVersion(id).String()), Description: absent(row.Description),
			IsDefaultVersion: aws.Bool(row.Version == *typ.DefaultVersion), TimeCreated: &row.CreatedAt.Time,
			Type: types.RegistryType(typ.Kind), TypeName: &typ.TypeName, VersionId: &id,
		}
	}
	return summaries, nil
}

// ListTypeRegistrations lists the tokens of registrations, newest first, by default those in
// progress.
func (r *Registry) ListTypeRegistrations(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeRegistrationsInput) (*cloudformation.ListTypeRegistrationsOutput, error) {
	size := pageSize(in.MaxResults)
	status := cmp.Or(in.RegistrationStatusFilter, types.RegistrationStatusInProgress)
	query := []any{"ListTypeRegistrations", caller.Account, caller.Region, status, in.Type, in.TypeName, in.TypeArn}
	from, err := startAt(in.NextToken, 2, query...)
	if err != nil {
		return nil, err
	}
	kind, typeName := string(in.Type), aws.ToString(in.TypeName)
	if in.TypeArn != nil {
		arn, err := named(caller, in.TypeArn, in.Type, in.TypeName, nil)
		if err != nil {
			return nil, err
		}
		if ownARN(caller, arn) != nil {
			return &cloudformation.ListTypeRegistrationsOutput{RegistrationTokenList: []string{}}, nil
		}
		kind, typeName = string(arn.Kind), arn.TypeName
	}
	var rows []registrationRow
	var where store.Where
	where.And("account = ? AND region = ? AND status = ?", caller.Account, caller.Region, status)
	if kind != "" {
		where.And("kind = ?", kind)
	}
	if typeName != "" {
		where.And("type_name = ?", typeName)
	}
	if from != nil {
		created, err := time.Parse(time.RFC3339Nano, from[0])
		if err != nil {
			return nil, badToken()
		}
		where.And("(created_at, token) < (?, ?)", created.UnixMicro(), from[1])
	}
	err = store.Query(ctx, r.store.Read(), &rows, "SELECT token, created_at FROM registrations "+where.Clause()+" ORDER BY created_at DESC, token DESC LIMIT ?",
		append(where.Args, size+1)...)
	if err != nil {
		return nil, fmt.Errorf("list registrations: %w", err)
	}
	page, more := cut(rows, size)
	out := &cloudformation.ListTypeRegistrationsOutput{RegistrationTokenList: make([]string, len(page))}
	for i := range page {
		out.RegistrationTokenList[i] = page[i].Token
	}
	if more {
		last := page[len(page)-1]
		out.NextToken = aws.String(store.PageToken([]string{last.CreatedAt.Format(time.RFC3339Nano), last.Token}, query...))
	}
	return out, nil
}
