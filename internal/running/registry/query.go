package registry

import (
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

// A RegistrationQuery selects registrations of one account and region. Empty fields match all.
type RegistrationQuery struct {
	Kind     schema.Kind
	TypeName string
	Status   types.RegistrationStatus
	Limit    int
}

// A Registration is one request to register a type, as Go callers see it.
type Registration struct {
	Token       string
	Kind        schema.Kind
	TypeName    string
	Version     string // "00000001"
	Status      types.RegistrationStatus
	Description string // as in DescribeTypeRegistration
	Started     time.Time
	Updated     time.Time // of its latest step
}

// Registrations lists registrations, the newest first.
func (r *Registry) Registrations(ctx context.Context, caller awswire.Caller, query RegistrationQuery) ([]Registration, error) {
	var rows []registrationRow
	var where store.Where
	where.And("account = ? AND region = ?", caller.Account, caller.Region)
	for _, only := range []struct{ condition, value string }{
		{"kind = ?", string(query.Kind)}, {"type_name = ?", query.TypeName}, {"status = ?", string(query.Status)},
	} {
		if only.value != "" {
			where.And(only.condition, only.value)
		}
	}
	if err := store.List(ctx, r.store.Read(), &rows, where.Clause()+" ORDER BY created_at DESC, token LIMIT ?", append(where.Args, query.Limit)...); err != nil {
		return nil, fmt.Errorf("list registrations: %w", err)
	}
	out := make([]Registration, len(rows))
	for i := range rows {
		row := &rows[i]
		out[i] = Registration{
			Token: row.Token, Kind: schema.Kind(row.Kind), TypeName: row.TypeName, Version: versionID(row.Version), Status: types.RegistrationStatus(row.Status),
			Description: r.describeStage(row), Started: row.CreatedAt.Time, Updated: row.UpdatedAt.Time,
		}
	}
	return out, nil
}

// A TypeQuery selects types of one account and region, of all provisioning types. Empty fields
// match all.
type TypeQuery struct {
	Search     string // anywhere in the name, in upper or lower case
	Kind       schema.Kind
	Category   types.Category // CategoryRegistered or CategoryActivated
	Public     bool           // those that every account can activate, instead of the account's own
	Deprecated bool           // deprecated ones, instead of live ones
	After      TypeKey        // only types behind this one in the list
	Limit      int
}

// A TypeKey is the place of a type in lists, which are ordered by name, kind and publisher.
type TypeKey struct {
	TypeName  string
	Kind      schema.Kind
	Publisher string
}

// A TypeState is a type as Go callers see it.
type TypeState struct {
	types.TypeSummary
	Versions int // live ones; 0 for types of others
}

// Key is the place of the type in lists.
func (t *TypeState) Key() TypeKey {
	key := keyOfSummary(t.TypeSummary)
	return TypeKey{key.typeName, schema.Kind(key.kind), key.publisher}
}

// Types lists types in the order of their keys, at most query.Limit of them.
func (r *Registry) Types(ctx context.Context, caller awswire.Caller, query TypeQuery) ([]TypeState, error) {
	in := &cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate}
	if query.Public {
		in.Visibility = types.VisibilityPublic
	}
	if query.Deprecated {
		in.DeprecatedStatus = types.DeprecatedStatusDeprecated
	}
	summaries, err := r.summaries(ctx, caller, in, query.Category, summaryQuery{
		kind: string(query.Kind), search: strings.ToLower(query.Search), limit: query.Limit,
		after: summaryKey{query.After.TypeName, string(query.After.Kind), query.After.Publisher},
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(summaries, func(a, b types.TypeSummary) int { return compareKeys(keyOfSummary(a), keyOfSummary(b)) })
	summaries, _ = cut(summaries, query.Limit)
	counts, err := r.countVersions(ctx, caller, summaries)
	if err != nil {
		return nil, err
	}
	out := make([]TypeState, len(summaries))
	for i, s := range summaries {
		out[i] = TypeState{TypeSummary: s}
		if s.PublisherId == nil {
			out[i].Versions = counts[[2]string{string(s.Type), aws.ToString(s.TypeName)}]
		}
	}
	return out, nil
}

// countVersions counts the live versions of private types, by kind and name.
func (r *Registry) countVersions(ctx context.Context, caller awswire.Caller, summaries []types.TypeSummary) (map[[2]string]int, error) {
	counts := map[[2]string]int{}
	var names []string
	for _, s := range summaries {
		if s.PublisherId == nil {
			names = append(names, aws.ToString(s.TypeName))
		}
	}
	if len(names) == 0 {
		return counts, nil
	}
	var rows []struct {
		Kind     string `db:"kind"`
		TypeName string `db:"type_name"`
		N        int    `db:"n"`
	}
	err := store.Query(ctx, r.store.Read(), &rows, "SELECT t.kind, t.type_name, COUNT(*) AS n FROM types AS t JOIN type_versions AS v ON v.type_id = t.id AND NOT v.deprecated WHERE t.account = ? AND t.region = ? AND t.type_name IN (?) GROUP BY t.kind, t.type_name",
		caller.Account, caller.Region, store.In(names))
	if err != nil {
		return nil, fmt.Errorf("count versions: %w", err)
	}
	for _, row := range rows {
		counts[[2]string{row.Kind, row.TypeName}] = row.N
	}
	return counts, nil
}

// A VersionState is a version of a private type, as Go callers see it.
type VersionState struct {
	ID            string // "00000001"
	Description   string
	Created       time.Time
	Default       bool
	Deprecated    bool
	Tests         types.TypeTestsStatus
	TestsReason   string
	PublicVersion string // the number that it is published under, "" for none
}

// TypeVersions lists the versions of a private type, deprecated ones too, the newest first.
// A type that does not exist has none.
func (r *Registry) TypeVersions(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName string) ([]VersionState, error) {
	typ, err := findType(ctx, r.store.Read(), caller, kind, typeName)
	if err != nil || typ == nil {
		return nil, err
	}
	var rows []versionRow
	err = store.Query(ctx, r.store.Read(), &rows, "SELECT version, description, created_at, deprecated, test_status, test_status_description, public_version FROM type_versions WHERE type_id = ? ORDER BY version DESC",
		typ.ID)
	if err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", typeName, err)
	}
	out := make([]VersionState, len(rows))
	for i := range rows {
		row := &rows[i]
		out[i] = VersionState{
			ID: versionID(row.Version), Description: row.Description, Created: row.CreatedAt.Time,
			Default: typ.DefaultVersion != nil && *typ.DefaultVersion == row.Version, Deprecated: row.Deprecated,
			Tests: types.TypeTestsStatus(row.TestStatus), TestsReason: row.TestStatusDescription, PublicVersion: row.PublicVersion,
		}
	}
	return out, nil
}
