package stackset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/store"
)

// A setRow is a stack set.
type setRow struct {
	bun.BaseModel `bun:"table:stack_sets,alias:s"`

	ID      string `bun:"id,pk"` // the UUID at the end of the id that clients see
	Account string `bun:"account"`
	Region  string `bun:"region"`
	Name    string `bun:"name"`
	Live    bool   `bun:"live"` // the name is taken

	Description  string                                           `bun:"description"`
	Template     string                                           `bun:"template" seal:"stack_sets.template"`
	Parameters   store.JSON[[]types.Parameter]                    `bun:"parameters" seal:"stack_sets.parameters"`
	Capabilities store.JSON[[]types.Capability]                   `bun:"capabilities"`
	Tags         store.JSON[[]types.Tag]                          `bun:"tags"`
	AdminRole    string                                           `bun:"admin_role"` // ARN, "" for the usual one
	Role         string                                           `bun:"role"`       // name of the execution role
	Managed      bool                                             `bun:"managed"`    // operations wait for each other
	Drift        store.JSON[*types.StackSetDriftDetectionDetails] `bun:"drift"`      // nil before the first detection
	ClientToken  string                                           `bun:"client_token"`
	RequestHash  string                                           `bun:"request_hash"`
	CreatedAt    store.Time                                       `bun:"created_at"`
	RowVersion   int64                                            `bun:"row_version"`
}

// id is what clients call the set: NAME:UUID.
func (s *setRow) id() string { return s.Name + ":" + s.ID }

func (s *setRow) status() types.StackSetStatus {
	if s.Live {
		return types.StackSetStatusActive
	}
	return types.StackSetStatusDeleted
}

// arn is the ARN of the set.
func (s *setRow) arn() string {
	return fmt.Sprintf("arn:%s:cloudformation:%s:%s:stackset/%s", awswire.PartitionOf(s.Region), s.Region, s.Account, s.id())
}

// adminRole is the ARN of the administration role.
func (s *setRow) adminRole() string {
	if s.AdminRole != "" {
		return s.AdminRole
	}
	return fmt.Sprintf("arn:%s:iam::%s:role/AWSCloudFormationStackSetAdministrationRole", awswire.PartitionOf(s.Region), s.Account)
}

// An instanceRow is the stack of a set in one account and region.
type instanceRow struct {
	bun.BaseModel `bun:"table:stack_set_instances,alias:i"`

	SetID   string `bun:"set_id,pk"`
	Account string `bun:"account,pk"`
	Region  string `bun:"region,pk"`

	StackName string                            `bun:"stack_name"`
	StackARN  string                            `bun:"stack_arn"` // "" before the stack exists
	Overrides store.JSON[[]types.Parameter]     `bun:"overrides" seal:"stack_set_instances.overrides"`
	Status    types.StackInstanceStatus         `bun:"status"`
	Detailed  types.StackInstanceDetailedStatus `bun:"detailed_status"`
	Reason    string                            `bun:"reason"`
	Drift     types.StackDriftStatus            `bun:"drift_status"`
	DriftAt   store.Time                        `bun:"drift_at"`
	Operation string                            `bun:"last_operation_id"`

	gone bool // it is to be removed
}

func (i *instanceRow) place() awswire.Place {
	return awswire.Place{Account: i.Account, Region: i.Region}
}

// An operationRow is an operation on a set.
type operationRow struct {
	bun.BaseModel `bun:"table:stack_set_operations,alias:o"`

	SetID string `bun:"set_id,pk"`
	ID    string `bun:"id,pk"`

	Seq       int64                                            `bun:"seq"` // orders the operations of the set
	Action    types.StackSetOperationAction                    `bun:"action"`
	Status    types.StackSetOperationStatus                    `bun:"status"`
	Reason    string                                           `bun:"reason"`
	Input     store.JSON[input]                                `bun:"input" seal:"stack_set_operations.input"`
	AdminRole string                                           `bun:"admin_role"`
	Role      string                                           `bun:"role"`
	Drift     store.JSON[*types.StackSetDriftDetectionDetails] `bun:"drift"`
	Caller    string                                           `bun:"caller"` // access key id
	CreatedAt store.Time                                       `bun:"created_at"`
	EndedAt   store.Time                                       `bun:"ended_at"`

	RowVersion int64 `bun:"row_version"`
}

// input is what an operation was asked to do.
type input struct {
	Preferences types.StackSetOperationPreferences
	Targets     []awswire.Place   `json:",omitempty"` // in the order of the request
	Overrides   []types.Parameter `json:",omitempty"`
	Override    bool              `json:",omitempty"` // Overrides replace those of the instances
	Changed     bool              `json:",omitempty"` // the set itself was changed
	Retain      *bool             `json:",omitempty"`
	Imports     []string          `json:",omitempty"` // ARNs of stacks
}

// A resultRow is what an operation did to one instance.
type resultRow struct {
	bun.BaseModel `bun:"table:stack_set_results,alias:r"`

	SetID       string `bun:"set_id,pk"`
	OperationID string `bun:"operation_id,pk"`
	Account     string `bun:"account,pk"`
	Region      string `bun:"region,pk"`

	Position int64                               `bun:"position"`
	Status   types.StackSetOperationResultStatus `bun:"status"`
	Reason   string                              `bun:"reason"`
	Handle   string                              `bun:"handle"`    // of a drift detection
	StackARN string                              `bun:"stack_arn"` // of the stack that the result waits for
}

func (r *resultRow) place() awswire.Place {
	return awswire.Place{Account: r.Account, Region: r.Region}
}

// one reads a row, nil if it does not exist.
func one[T any](ctx context.Context, db bun.IDB, where string, args ...any) (*T, error) {
	row := new(T)
	err := db.NewSelect().Model(row).Where(where, args...).Limit(1).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T: %w", *row, err)
	}
	return row, nil
}

// all reads rows in an order.
func all[T any](ctx context.Context, db bun.IDB, order, where string, args ...any) ([]T, error) {
	var rows []T
	if err := db.NewSelect().Model(&rows).Where(where, args...).OrderExpr(order).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read %T: %w", rows, err)
	}
	return rows, nil
}
