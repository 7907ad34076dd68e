package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/schema"
)

// A RegistrationQuery selects registrations of one account and region. What is empty selects
// all.
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
	Description string // as DescribeTypeRegistration has it
	Started     time.Time
	Updated     time.Time // of its latest step
}

// Registrations lists registrations, the newest first.
func (r *Registry) Registrations(ctx context.Context, caller awswire.Caller, query RegistrationQuery) ([]Registration, error) {
	var rows []registrationRow
	q := r.store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ?", caller.Account, caller.Region).
		Order("created_at DESC", "token").Limit(int64(query.Limit))
	for _, only := range []struct{ condition, value string }{
		{"kind = ?", string(query.Kind)}, {"type_name = ?", query.TypeName}, {"status = ?", string(query.Status)},
	} {
		if only.value != "" {
			q = q.Where(only.condition, only.value)
		}
	}
	if err := q.Scan(ctx); err != nil {
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

// PublishedVersions are the public version numbers of the versions of a private type that
// are published, by version: "00000001" to "1.0.0".
func (r *Registry) PublishedVersions(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName string) (map[string]string, error) {
	var rows []versionRow
	err := r.store.Read().NewSelect().Model(&rows).Column("version", "public_version").
		Where("public_version <> ''").
		Where("type_id IN (SELECT id FROM types WHERE account = ? AND region = ? AND kind = ? AND type_name = ?)", caller.Account, caller.Region, string(kind), typeName).
		Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list published versions: %w", err)
	}
	out := make(map[string]string, len(rows))
	for i := range rows {
		out[versionID(rows[i].Version)] = rows[i].PublicVersion
	}
	return out, nil
}
