package stack

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A stackRow is a stack. One live stack has a name in an account and region; deleted stacks
// remain and are found by their ARN.
type stackRow struct {
	store.Row `db:"stacks AS s"`

	ID      string `db:"id,pk"` // the UUID at the end of the ARN
	Account string `db:"account"`
	Region  string `db:"region"`
	Name    string `db:"name"`
	ARN     string `db:"arn"`
	Live    bool   `db:"live"` // the name is taken

	Status         types.StackStatus    `db:"status"`
	DetailedStatus types.DetailedStatus `db:"detailed_status"`
	Reason         string               `db:"reason"`

	OperationID        string `db:"operation_id"`         // that runs, "" for none
	DeploymentID       string `db:"deployment_id"`        // as described
	StableDeploymentID string `db:"stable_deployment_id"` // to roll back to, "" for none
	ChangeSetID        string `db:"change_set_id"`        // ARN of the one executed last

	RoleARN   string                                  `db:"role_arn"`
	Settings  store.JSON[stackSettings]               `db:"settings"`
	Protected bool                                    `db:"protected"`
	Outputs   store.JSON[[]stackOutput]               `db:"outputs" seal:"stacks.outputs"`
	Policy    string                                  `db:"policy"`
	ParentID  string                                  `db:"parent_id"` // ARN
	RootID    string                                  `db:"root_id"`   // ARN
	Drift     store.JSON[types.StackDriftInformation] `db:"drift"`

	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"`
	DeletedAt  store.Time `db:"deleted_at"`
	RowVersion int64      `db:"row_version"`
}

// caller acts for the owner of the stack in the background.
func (s *stackRow) caller() awswire.Caller {
	return awswire.Caller{Place: awswire.Place{Account: s.Account, Region: s.Region}}
}

// stackSettings are the options of a stack that its answers show.
type stackSettings struct {
	DisableRollback      bool                         `json:"disableRollback,omitempty"`
	RetainExceptOnCreate bool                         `json:"retainExceptOnCreate,omitempty"`
	TimeoutInMinutes     int32                        `json:"timeoutInMinutes,omitempty"`
	Rollback             *types.RollbackConfiguration `json:"rollback,omitempty"`
	Mode                 types.DeploymentConfigMode   `json:"mode,omitempty"`
	DeletionMode         types.DeletionMode           `json:"deletionMode,omitempty"`
	LastOperations       []types.OperationEntry       `json:"lastOperations,omitempty"` // newest first

	// Resources is how many resources the template of a nested stack has.
	Resources int `json:"resources,omitempty"`
}

// A stackOutput is an output of a stack.
type stackOutput struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Export      string `json:"export,omitempty"`
}

// A deploymentRow is a template with what it is evaluated with. It does not change.
type deploymentRow struct {
	store.Row `db:"stack_deployments AS d"`

	ID               string                                   `db:"id,pk"`
	StackID          string                                   `db:"stack_id"`
	Original         string                                   `db:"original" seal:"stack_deployments.original"`   // byte for byte
	Processed        string                                   `db:"processed" seal:"stack_deployments.processed"` // JSON
	Parameters       store.JSON[template.Parameters]          `db:"parameters" seal:"stack_deployments.parameters"`
	Tags             store.JSON[[]types.Tag]                  `db:"tags"`
	Capabilities     store.JSON[[]types.Capability]           `db:"capabilities"`
	NotificationARNs store.JSON[[]string]                     `db:"notification_arns"`
	Description      string                                   `db:"description"`
	Modules          store.JSON[map[string]*types.ModuleInfo] `db:"modules"`   // by logical ID
	Resources        store.JSON[map[string]declared]          `db:"resources"` // by logical ID
	CreatedAt        store.Time                               `db:"created_at"`

	transforms bool // run on the template for this deployment
}

// An operationRow is one operation on a stack.
type operationRow struct {
	store.Row `db:"stack_operations AS o"`

	ID           string                       `db:"id,pk"`
	StackID      string                       `db:"stack_id"`
	Kind         types.OperationType          `db:"kind"`
	Status       string                       `db:"status"` // types.BeaconStackOperationStatus
	Phase        plan.Phase                   `db:"phase"`
	ClientToken  string                       `db:"client_token"`
	RequestHash  string                       `db:"request_hash"`
	Options      store.JSON[operationOptions] `db:"options"`
	DeploymentID string                       `db:"deployment_id"`
	ChangeSetID  string                       `db:"change_set_id"`
	Cancelled    bool                         `db:"cancelled"`
	Caller       string                       `db:"caller"` // access key id
	Deadline     store.Time                   `db:"deadline"`
	StartedAt    store.Time                   `db:"started_at"`
	EndedAt      store.Time                   `db:"ended_at"`
	RowVersion   int64                        `db:"row_version"`
}

// shownKind is the type that the API has for an operation.
func (op *operationRow) shownKind() types.OperationType {
	if op.Kind == plan.ImportOperation {
		return types.OperationTypeUpdateStack
	}
	return op.Kind
}

// operationOptions are the options of one operation.
type operationOptions struct {
	OnFailure            types.OnFailure            `json:"onFailure,omitempty"` // DO_NOTHING, ROLLBACK or DELETE
	RetainExceptOnCreate bool                       `json:"retainExceptOnCreate,omitempty"`
	RetainResources      []string                   `json:"retainResources,omitempty"`
	SkipResources        []string                   `json:"skipResources,omitempty"`
	ForceRollback        bool                       `json:"forceRollback,omitempty"`
	ForceDelete          bool                       `json:"forceDelete,omitempty"`
	DisableValidation    bool                       `json:"disableValidation,omitempty"`
	PolicyDuringUpdate   string                     `json:"policyDuringUpdate,omitempty"`
	ResourceTypes        []string                   `json:"resourceTypes,omitempty"`
	CancelToken          string                     `json:"cancelToken,omitempty"` // of the request that canceled it
	Mode                 types.DeploymentConfigMode `json:"mode,omitempty"`
	Import               map[string]string          `json:"import,omitempty"`  // logical ids to identifiers
	Problem              string                     `json:"problem,omitempty"` // found after the call: the operation fails with it
	UserInitiated        bool                       `json:"userInitiated,omitempty"`
	WasReview            bool                       `json:"wasReview,omitempty"`

	// Nested are the ARNs of the change sets of nested stacks, by logical id. With
	// NestedPlanned those without one do not change.
	Nested        map[string]string `json:"nested,omitempty"`
	NestedPlanned bool              `json:"nestedPlanned,omitempty"`

	// HooksFailed is the reason of an operation that hooks on the stack stopped.
	HooksFailed string `json:"hooksFailed,omitempty"`

	// Backward means that a rollback of the parent deploys what the nested stack had before. If
	// that fails, the stack stays as it is.
	Backward bool `json:"backward,omitempty"`

	// Undoes is the id of the operation that a rollback undoes.
	Undoes string `json:"undoes,omitempty"`

	// Parent is the id of the operation of the parent that updates a nested stack.
	Parent string `json:"parent,omitempty"`

	// Before is the id of the deployment that the stack had until an operation that has another one.
	Before string `json:"before,omitempty"`

	// Refactor is the id of the refactor that the operation belongs to, which moves it on.
	Refactor string `json:"refactor,omitempty"`
}

// A resourceRow is a resource of a stack.
type resourceRow struct {
	store.Row `db:"stack_resources AS r"`

	StackID             string               `db:"stack_id,pk"`
	LogicalID           string               `db:"logical_id,pk"`
	Type                string               `db:"type"`
	TypeVersion         string               `db:"type_version"`
	PhysicalID          string               `db:"physical_id"`
	Status              types.ResourceStatus `db:"status"`
	Reason              string               `db:"reason"`
	Properties          object               `db:"properties" seal:"stack_resources.properties"` // as sent, dynamic references in place
	Model               object               `db:"model" seal:"stack_resources.model"`           // as reported
	Metadata            store.JSON[any]      `db:"metadata" seal:"stack_resources.metadata"`
	DependsOn           store.JSON[[]string] `db:"depends_on"`
	DeletionPolicy      string               `db:"deletion_policy"`
	UpdateReplacePolicy string               `db:"update_replace_policy"`
	ReferencesHash      string               `db:"references_hash"`                    // of the values of its ssm references
	Shown               object               `db:"shown" seal:"stack_resources.shown"` // Properties as events show them, NoEcho values masked

	// Origin is the resource as it was in the last stable state.
	Origin store.JSON[origin] `db:"origin" seal:"stack_resources.origin"`

	Drift     store.JSON[types.StackResourceDriftInformation] `db:"drift"`
	CreatedAt store.Time                                      `db:"created_at"`
	UpdatedAt store.Time                                      `db:"updated_at"`

	Module *types.ModuleInfo `db:"-"` // for what is shown; see resourceRows
}

// An object is a column with an object of JSON, such as the properties of a resource.
type object = store.JSON[map[string]any]

// An origin is what the last stable state has of a resource.
type origin struct {
	Kind   originKind `json:"kind"`
	Before snapshot   `json:"before,omitzero"` // of originChanged
}

// An originKind says whether the last stable state has a resource.
type originKind string

// The kinds of origins.
const (
	originSame     originKind = ""         // the resource has not been touched since
	originChanged  originKind = "changed"  // a rollback restores what it was
	originNew      originKind = "new"      // it did not exist
	originImported originKind = "imported" // it existed, outside of the stack: it is never deleted to go back
)

// fresh reports whether the last stable state does not have the resource.
func (r *resourceRow) fresh() bool {
	kind := r.Origin.Get().Kind
	return kind == originNew || kind == originImported
}

// before is the resource in the last stable state, if it has changed since.
func (r *resourceRow) before() (snapshot, bool) {
	o := r.Origin.Get()
	return o.Before, o.Kind == originChanged
}

// setBefore changes what the resource was in the last stable state, if it has changed since.
func (r *resourceRow) setBefore(change func(before *snapshot)) {
	if before, changed := r.before(); changed {
		change(&before)
		r.Origin = store.JSONOf(origin{Kind: originChanged, Before: before})
	}
}

// A snapshot is a resource in an earlier state.
type snapshot struct {
	Type                string               `json:"type"`
	TypeVersion         string               `json:"typeVersion,omitempty"`
	PhysicalID          string               `json:"physicalId"`
	Properties          object               `json:"properties,omitzero"`
	Model               object               `json:"model,omitzero"`
	Metadata            store.JSON[any]      `json:"metadata,omitzero"`
	DependsOn           store.JSON[[]string] `json:"dependsOn,omitzero"`
	DeletionPolicy      string               `json:"deletionPolicy,omitempty"`
	UpdateReplacePolicy string               `json:"updateReplacePolicy,omitempty"`
	ReferencesHash      string               `json:"referencesHash,omitempty"`
	Shown               object               `json:"shown,omitzero"`

	// Attempted are the properties of an update that failed or was cancelled.
	Attempted object `json:"attempted,omitzero"`

	// Gone means that the resource was deleted before its successor was created: a rollback
	// creates it again.
	Gone bool `json:"gone,omitempty"`

	// Rebound means that a rollback evaluates the properties again, because what the resource refers
	// to is created again and has another identifier.
	Rebound bool `json:"rebound,omitempty"`

	// Signals are those that the resource waits for after its creation, nil for none.
	Signals *signalPolicy `json:"signals,omitempty"`
}

// A signalPolicy is how many signals a resource waits for, and for how long.
type signalPolicy struct {
	Count  int64         `json:"count"`
	Within time.Duration `json:"within"`

	// Simulated means that nothing could send the signals, and that they are not waited for.
	Simulated bool `json:"simulated,omitempty"`
}

func (r *resourceRow) snapshot() snapshot {
	return snapshot{
		Type: r.Type, TypeVersion: r.TypeVersion, PhysicalID: r.PhysicalID, Properties: r.Properties, Model: r.Model,
		Metadata: r.Metadata, DependsOn: r.DependsOn, DeletionPolicy: r.DeletionPolicy,
		UpdateReplacePolicy: r.UpdateReplacePolicy, ReferencesHash: r.ReferencesHash, Shown: r.Shown,
	}
}

// restore sets a resource back to a snapshot.
func (r *resourceRow) restore(s snapshot) {
	r.Type, r.TypeVersion, r.PhysicalID, r.Properties, r.Model = s.Type, s.TypeVersion, s.PhysicalID, s.Properties, s.Model
	r.Metadata, r.DependsOn, r.DeletionPolicy = s.Metadata, s.DependsOn, s.DeletionPolicy
	r.UpdateReplacePolicy, r.ReferencesHash, r.Shown = s.UpdateReplacePolicy, s.ReferencesHash, s.Shown
}

// A cleanupRow is a resource that its stack no longer has and that is still to be deleted:
// one that was replaced, or removed from the template.
type cleanupRow struct {
	store.Row `db:"stack_cleanup AS c"`

	ID          string                        `db:"id,pk"`
	StackID     string                        `db:"stack_id"`
	LogicalID   string                        `db:"logical_id"`
	Type        string                        `db:"type"`
	TypeVersion string                        `db:"type_version"`
	PhysicalID  string                        `db:"physical_id"`
	Status      types.ResourceStatus          `db:"status"`
	Reason      string                        `db:"reason"`
	Properties  object                        `db:"properties" seal:"stack_cleanup.properties"`
	Model       object                        `db:"model" seal:"stack_cleanup.model"`
	DependsOn   store.JSON[[]string]          `db:"depends_on"`
	Policy      string                        `db:"policy"` // Retain: only reported
	Module      store.JSON[*types.ModuleInfo] `db:"module"`
	UpdatedAt   store.Time                    `db:"updated_at"`
}

// A stepRow is what an operation does to one resource in one of its stages.
type stepRow struct {
	store.Row `db:"stack_steps AS st"`

	ID          string                `db:"id,pk"`
	OperationID string                `db:"operation_id"`
	Stage       plan.Phase            `db:"stage"`
	LogicalID   string                `db:"logical_id"`
	CleanupID   string                `db:"cleanup_id"` // of the row that it deletes, "" for a resource
	Plan        store.JSON[plan.Step] `db:"plan"`
	Action      plan.Action           `db:"action"` // of the plan, until that is refined
	State       plan.State            `db:"state"`
	Reason      string                `db:"reason"`
	PhysicalID  string                `db:"physical_id"`                              // as known at this step
	Properties  string                `db:"properties" seal:"stack_steps.properties"` // of its events, masked
	Pending     store.JSON[snapshot]  `db:"pending" seal:"stack_steps.pending"`       // what the resource becomes if it succeeds
	CallID      string                `db:"call_id"`                                  // of its operation of package operation
	Seen        bool                  `db:"seen"`                                     // the stack has taken note of State
	StartedAt   store.Time            `db:"started_at"`
	EndedAt     store.Time            `db:"ended_at"`
}

// key names a step within its stage.
func (s *stepRow) key() string {
	switch {
	case s.Stage == plan.PhaseStopping:
		return stoppingKey(s.LogicalID)
	case s.CleanupID != "":
		return s.LogicalID + "/" + s.CleanupID
	}
	return s.LogicalID
}

func stoppingKey(logicalID string) string { return "!" + logicalID }

// An eventRow is an event of a stack. Events are only appended.
type eventRow struct {
	store.Row `db:"stack_events AS e"`

	Seq            int64                    `db:"seq,serial"`
	ID             string                   `db:"id"`
	StackID        string                   `db:"stack_id"`
	OperationID    string                   `db:"operation_id"`
	Kind           string                   `db:"kind"`
	ClientToken    string                   `db:"client_token"`
	LogicalID      string                   `db:"logical_id"`
	PhysicalID     string                   `db:"physical_id"`
	Type           string                   `db:"type"`
	Status         string                   `db:"status"`
	Reason         string                   `db:"reason"`
	DetailedStatus types.DetailedStatus     `db:"detailed_status"`
	Properties     string                   `db:"properties" seal:"stack_events.properties"`
	Details        store.JSON[eventDetails] `db:"details"`
	At             store.Time               `db:"at"`
}

// The kinds of events.
const (
	eventProgress   = "progress"   // of a resource or the stack
	eventHook       = "hook"       // of a hook on a change set; only in DescribeEvents
	eventValidation = "validation" // of the validation before a deployment; only in DescribeEvents
)

// eventDetails are members that few events have.
type eventDetails struct {
	ValidationName string `json:"validationName,omitempty"`
	ValidationPath string `json:"validationPath,omitempty"`
	ValidationMode string `json:"validationMode,omitempty"` // "" is FAIL

	HookType            string `json:"hookType,omitempty"`
	HookStatus          string `json:"hookStatus,omitempty"`
	HookStatusReason    string `json:"hookStatusReason,omitempty"`
	HookInvocationPoint string `json:"hookInvocationPoint,omitempty"`
	HookFailureMode     string `json:"hookFailureMode,omitempty"`
	HookInvocationID    string `json:"hookInvocationId,omitempty"`
}

type exportRow struct {
	store.Row `db:"stack_exports AS x"`

	Account string `db:"account,pk"`
	Region  string `db:"region,pk"`
	Name    string `db:"name,pk"`
	StackID string `db:"stack_id"`
	Value   string `db:"value" seal:"stack_exports.value"`
}

type importRow struct {
	store.Row `db:"stack_imports AS i"`

	Account string `db:"account,pk"`
	Region  string `db:"region,pk"`
	Name    string `db:"name,pk"`
	StackID string `db:"stack_id,pk"`
}

type signalRow struct {
	store.Row `db:"stack_signals AS g"`

	StackID   string     `db:"stack_id,pk"`
	LogicalID string     `db:"logical_id,pk"`
	UniqueID  string     `db:"unique_id,pk"`
	Status    string     `db:"status"`
	Data      string     `db:"data"`
	At        store.Time `db:"at"`
}

// encode is JSON of what always can be written as such.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return string(text)
}

func timePtr(t store.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}
