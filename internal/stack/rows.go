package stack

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/plan"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
)

// A stackRow is a stack. One live stack has a name in an account and region; deleted stacks
// remain and are found by their ARN.
type stackRow struct {
	bun.BaseModel `bun:"table:stacks,alias:s"`

	ID      string `bun:"id,pk"` // the UUID at the end of the ARN
	Account string `bun:"account"`
	Region  string `bun:"region"`
	Name    string `bun:"name"`
	ARN     string `bun:"arn"`
	Live    bool   `bun:"live"` // the name is taken

	Status         types.StackStatus    `bun:"status"`
	DetailedStatus types.DetailedStatus `bun:"detailed_status"`
	Reason         string               `bun:"reason"`

	OperationID        string `bun:"operation_id"`         // that runs, "" for none
	DeploymentID       string `bun:"deployment_id"`        // as described
	StableDeploymentID string `bun:"stable_deployment_id"` // to roll back to, "" for none
	ChangeSetID        string `bun:"change_set_id"`        // ARN of the one executed last

	RoleARN   string                                  `bun:"role_arn"`
	Settings  store.JSON[stackSettings]               `bun:"settings"`
	Protected bool                                    `bun:"protected"`
	Outputs   store.JSON[[]stackOutput]               `bun:"outputs" seal:"stacks.outputs"`
	Policy    string                                  `bun:"policy"`
	ParentID  string                                  `bun:"parent_id"` // ARN
	RootID    string                                  `bun:"root_id"`   // ARN
	Drift     store.JSON[types.StackDriftInformation] `bun:"drift"`

	CreatedAt  store.Time `bun:"created_at"`
	UpdatedAt  store.Time `bun:"updated_at"`
	DeletedAt  store.Time `bun:"deleted_at"`
	RowVersion int64      `bun:"row_version"`
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
	bun.BaseModel `bun:"table:stack_deployments,alias:d"`

	ID               string                                   `bun:"id,pk"`
	StackID          string                                   `bun:"stack_id"`
	Original         string                                   `bun:"original" seal:"stack_deployments.original"`   // byte for byte
	Processed        string                                   `bun:"processed" seal:"stack_deployments.processed"` // JSON
	Parameters       store.JSON[template.Parameters]          `bun:"parameters" seal:"stack_deployments.parameters"`
	Tags             store.JSON[[]types.Tag]                  `bun:"tags"`
	Capabilities     store.JSON[[]types.Capability]           `bun:"capabilities"`
	NotificationARNs store.JSON[[]string]                     `bun:"notification_arns"`
	Description      string                                   `bun:"description"`
	Modules          store.JSON[map[string]*types.ModuleInfo] `bun:"modules"`   // by logical ID
	Resources        store.JSON[map[string]declared]          `bun:"resources"` // by logical ID
	CreatedAt        store.Time                               `bun:"created_at"`

	transforms bool // run on the template for this deployment
}

// An operationRow is one operation on a stack.
type operationRow struct {
	bun.BaseModel `bun:"table:stack_operations,alias:o"`

	ID           string                       `bun:"id,pk"`
	StackID      string                       `bun:"stack_id"`
	Kind         types.OperationType          `bun:"kind"`
	Status       string                       `bun:"status"` // types.BeaconStackOperationStatus
	Phase        phase                        `bun:"phase"`
	ClientToken  string                       `bun:"client_token"`
	RequestHash  string                       `bun:"request_hash"`
	Options      store.JSON[operationOptions] `bun:"options"`
	DeploymentID string                       `bun:"deployment_id"`
	ChangeSetID  string                       `bun:"change_set_id"`
	Cancelled    bool                         `bun:"cancelled"`
	Caller       string                       `bun:"caller"` // access key id
	Deadline     store.Time                   `bun:"deadline"`
	StartedAt    store.Time                   `bun:"started_at"`
	EndedAt      store.Time                   `bun:"ended_at"`
	RowVersion   int64                        `bun:"row_version"`
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

	// Parent is the id of the operation of the parent that updates a nested stack, and Before that
	// of the deployment that the nested stack had until then.
	Parent string `json:"parent,omitempty"`
	Before string `json:"before,omitempty"`

	// Refactor is the id of the refactor that the operation belongs to, which moves it on.
	Refactor string `json:"refactor,omitempty"`
}

// express reports whether an operation does not wait for resources to become consistent.
func (o *operationOptions) express() bool { return o.Mode == types.DeploymentConfigModeExpress }

// A resourceRow is a resource of a stack.
type resourceRow struct {
	bun.BaseModel `bun:"table:stack_resources,alias:r"`

	StackID             string               `bun:"stack_id,pk"`
	LogicalID           string               `bun:"logical_id,pk"`
	Type                string               `bun:"type"`
	TypeVersion         string               `bun:"type_version"`
	PhysicalID          string               `bun:"physical_id"`
	Status              types.ResourceStatus `bun:"status"`
	Reason              string               `bun:"reason"`
	Properties          object               `bun:"properties" seal:"stack_resources.properties"` // as sent, dynamic references in place
	Model               object               `bun:"model" seal:"stack_resources.model"`           // as reported
	Metadata            store.JSON[any]      `bun:"metadata" seal:"stack_resources.metadata"`
	DependsOn           store.JSON[[]string] `bun:"depends_on"`
	DeletionPolicy      string               `bun:"deletion_policy"`
	UpdateReplacePolicy string               `bun:"update_replace_policy"`
	ReferencesHash      string               `bun:"references_hash"`                    // of the values of its ssm references
	Shown               object               `bun:"shown" seal:"stack_resources.shown"` // Properties as events show them, NoEcho values masked

	// Origin is the resource as it was in the last stable state.
	Origin store.JSON[origin] `bun:"origin" seal:"stack_resources.origin"`

	Drift     store.JSON[types.StackResourceDriftInformation] `bun:"drift"`
	CreatedAt store.Time                                      `bun:"created_at"`
	UpdatedAt store.Time                                      `bun:"updated_at"`

	Module *types.ModuleInfo `bun:"-"` // for what is shown; see resourceRows
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
	bun.BaseModel `bun:"table:stack_cleanup,alias:c"`

	ID          string                        `bun:"id,pk"`
	StackID     string                        `bun:"stack_id"`
	LogicalID   string                        `bun:"logical_id"`
	Type        string                        `bun:"type"`
	TypeVersion string                        `bun:"type_version"`
	PhysicalID  string                        `bun:"physical_id"`
	Status      types.ResourceStatus          `bun:"status"`
	Reason      string                        `bun:"reason"`
	Properties  object                        `bun:"properties" seal:"stack_cleanup.properties"`
	Model       object                        `bun:"model" seal:"stack_cleanup.model"`
	DependsOn   store.JSON[[]string]          `bun:"depends_on"`
	Policy      string                        `bun:"policy"` // Retain: only reported
	Module      store.JSON[*types.ModuleInfo] `bun:"module"`
	UpdatedAt   store.Time                    `bun:"updated_at"`
}

// A stepRow is what an operation does to one resource in one of its stages.
type stepRow struct {
	bun.BaseModel `bun:"table:stack_steps,alias:st"`

	ID          string                `bun:"id,pk"`
	OperationID string                `bun:"operation_id"`
	Stage       phase                 `bun:"stage"`
	LogicalID   string                `bun:"logical_id"`
	CleanupID   string                `bun:"cleanup_id"` // of the row that it deletes, "" for a resource
	Plan        store.JSON[plan.Step] `bun:"plan"`
	Action      plan.Action           `bun:"action"` // of the plan, until that is refined
	State       stepState             `bun:"state"`
	Reason      string                `bun:"reason"`
	PhysicalID  string                `bun:"physical_id"`                              // as known at this step
	Properties  string                `bun:"properties" seal:"stack_steps.properties"` // of its events, masked
	Pending     store.JSON[snapshot]  `bun:"pending" seal:"stack_steps.pending"`       // what the resource becomes if it succeeds
	CallID      string                `bun:"call_id"`                                  // of its operation of package operation
	Seen        bool                  `bun:"seen"`                                     // the stack has taken note of State
	StartedAt   store.Time            `bun:"started_at"`
	EndedAt     store.Time            `bun:"ended_at"`
}

// key names a step within its stage.
func (s *stepRow) key() string {
	switch {
	case s.Stage == phaseStopping:
		return stoppingKey(s.LogicalID)
	case s.CleanupID != "":
		return s.LogicalID + "/" + s.CleanupID
	}
	return s.LogicalID
}

func stoppingKey(logicalID string) string { return "!" + logicalID }

// An eventRow is an event of a stack. Events are only appended.
type eventRow struct {
	bun.BaseModel `bun:"table:stack_events,alias:e"`

	Seq            int64                    `bun:"seq,pk,autoincrement"`
	ID             string                   `bun:"id"`
	StackID        string                   `bun:"stack_id"`
	OperationID    string                   `bun:"operation_id"`
	Kind           string                   `bun:"kind"`
	ClientToken    string                   `bun:"client_token"`
	LogicalID      string                   `bun:"logical_id"`
	PhysicalID     string                   `bun:"physical_id"`
	Type           string                   `bun:"type"`
	Status         string                   `bun:"status"`
	Reason         string                   `bun:"reason"`
	DetailedStatus types.DetailedStatus     `bun:"detailed_status"`
	Properties     string                   `bun:"properties" seal:"stack_events.properties"`
	Details        store.JSON[eventDetails] `bun:"details"`
	At             store.Time               `bun:"at"`
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
	bun.BaseModel `bun:"table:stack_exports,alias:x"`

	Account string `bun:"account,pk"`
	Region  string `bun:"region,pk"`
	Name    string `bun:"name,pk"`
	StackID string `bun:"stack_id"`
	Value   string `bun:"value" seal:"stack_exports.value"`
}

type importRow struct {
	bun.BaseModel `bun:"table:stack_imports,alias:i"`

	Account string `bun:"account,pk"`
	Region  string `bun:"region,pk"`
	Name    string `bun:"name,pk"`
	StackID string `bun:"stack_id,pk"`
}

type signalRow struct {
	bun.BaseModel `bun:"table:stack_signals,alias:g"`

	StackID   string     `bun:"stack_id,pk"`
	LogicalID string     `bun:"logical_id,pk"`
	UniqueID  string     `bun:"unique_id,pk"`
	Status    string     `bun:"status"`
	Data      string     `bun:"data"`
	At        store.Time `bun:"at"`
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
