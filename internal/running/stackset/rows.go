package stackset

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A setRow is a stack set.
type setRow struct {
	store.Row `db:"stack_sets AS s"`

	ID      string `db:"id,pk"` // the UUID at the end of the id that clients see
	Account string `db:"account"`
	Region  string `db:"region"`
	Name    string `db:"name"`
	Live    bool   `db:"live"` // the name is taken

	Description  string                                           `db:"description"`
	Template     string                                           `db:"template" seal:"stack_sets.template"`
	Parameters   store.JSON[[]types.Parameter]                    `db:"parameters" seal:"stack_sets.parameters"`
	Capabilities store.JSON[[]types.Capability]                   `db:"capabilities"`
	Tags         store.JSON[[]types.Tag]                          `db:"tags"`
	AdminRole    string                                           `db:"admin_role"` // ARN, "" for the usual one
	Role         string                                           `db:"role"`       // name of the execution role
	Managed      bool                                             `db:"managed"`    // operations wait for each other
	Drift        store.JSON[*types.StackSetDriftDetectionDetails] `db:"drift"`      // nil before the first detection
	ClientToken  string                                           `db:"client_token"`
	RequestHash  string                                           `db:"request_hash"`
	CreatedAt    store.Time                                       `db:"created_at"`
	RowVersion   int64                                            `db:"row_version"`
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
	store.Row `db:"stack_set_instances AS i"`

	SetID   string `db:"set_id,pk"`
	Account string `db:"account,pk"`
	Region  string `db:"region,pk"`

	StackName string                            `db:"stack_name"`
	StackARN  string                            `db:"stack_arn"` // "" before the stack exists
	Overrides store.JSON[[]types.Parameter]     `db:"overrides" seal:"stack_set_instances.overrides"`
	Status    types.StackInstanceStatus         `db:"status"`
	Detailed  types.StackInstanceDetailedStatus `db:"detailed_status"`
	Reason    string                            `db:"reason"`
	Drift     types.StackDriftStatus            `db:"drift_status"`
	DriftAt   store.Time                        `db:"drift_at"`
	Operation string                            `db:"last_operation_id"`

	gone bool // it is to be removed
}

func (i *instanceRow) place() awswire.Place {
	return awswire.Place{Account: i.Account, Region: i.Region}
}

// An operationRow is an operation on a set.
type operationRow struct {
	store.Row `db:"stack_set_operations AS o"`

	SetID string `db:"set_id,pk"`
	ID    string `db:"id,pk"`

	Seq       int64                                            `db:"seq"` // orders the operations of the set
	Action    types.StackSetOperationAction                    `db:"action"`
	Status    types.StackSetOperationStatus                    `db:"status"`
	Reason    string                                           `db:"reason"`
	Input     store.JSON[input]                                `db:"input" seal:"stack_set_operations.input"`
	AdminRole string                                           `db:"admin_role"`
	Role      string                                           `db:"role"`
	Drift     store.JSON[*types.StackSetDriftDetectionDetails] `db:"drift"`
	Caller    string                                           `db:"caller"` // access key id
	CreatedAt store.Time                                       `db:"created_at"`
	EndedAt   store.Time                                       `db:"ended_at"`

	RowVersion int64 `db:"row_version"`
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
	store.Row `db:"stack_set_results AS r"`

	SetID       string `db:"set_id,pk"`
	OperationID string `db:"operation_id,pk"`
	Account     string `db:"account,pk"`
	Region      string `db:"region,pk"`

	Position int64                               `db:"position"`
	Status   types.StackSetOperationResultStatus `db:"status"`
	Reason   string                              `db:"reason"`
	Handle   string                              `db:"handle"`    // of a drift detection
	StackARN string                              `db:"stack_arn"` // of the stack that the result waits for
}

func (r *resultRow) place() awswire.Place {
	return awswire.Place{Account: r.Account, Region: r.Region}
}
