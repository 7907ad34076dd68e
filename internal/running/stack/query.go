package stack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The queries of this file are for Go callers: lists are filtered and bounded by the
// database, and one query reads what a page shows, where the operations of the API take
// several. No query returns a parameter with NoEcho, or the properties or the model of a
// resource other than as events show them.

// A Query selects stacks of one place.
type Query struct {
	awswire.Place

	Search  string // in the name, in any case; "" is every name
	Deleted bool   // stacks that were deleted instead of those that live

	// BeforeTime and BeforeID are CreatedAt and ID of the last stack of the previous page.
	BeforeTime time.Time
	BeforeID   string

	Limit int
}

// A Summary is a stack in a list.
type Summary struct {
	ID, Name, ARN  string
	Status         types.StackStatus
	DetailedStatus types.DetailedStatus
	Reason         string
	Description    string
	ParentARN      string // of a nested stack, else ""
	Resources      int
	OperationID    string // of the operation that runs, "" for none
	Drift          types.StackDriftStatus

	CreatedAt time.Time
	UpdatedAt time.Time // zero before the first update
	DeletedAt time.Time // zero while it lives
}

// Running reports whether an operation runs on the stack.
func (s *Summary) Running() bool { return inProgress(s.Status) }

// Stacks lists stacks, the newest first.
func (e *Engine) Stacks(ctx context.Context, q Query) ([]Summary, error) {
	var rows []stackRow
	var where store.Where
	where.And("account = ? AND region = ? AND live = ?", q.Account, q.Region, !q.Deleted)
	if q.Search != "" {
		where.And("lower(name) LIKE ? ESCAPE '!'", "%"+literal(strings.ToLower(q.Search))+"%")
	}
	if at := store.At(q.BeforeTime); !at.IsZero() {
		where.And("created_at < ? OR created_at = ? AND id < ?", at, at, q.BeforeID)
	}
	if err := store.List(ctx, e.store.Read(), &rows, where.Clause()+" ORDER BY created_at DESC, id DESC LIMIT ?", append(where.Args, q.Limit)...); err != nil {
		return nil, err
	}
	deployments, err := e.deploymentsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	counts, err := e.countResources(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]Summary, len(rows))
	for i := range rows {
		out[i] = summarized(&rows[i], deployments[rows[i].DeploymentID])
		out[i].Resources = counts[rows[i].ID]
	}
	return out, nil
}

// literal is a text within a pattern of LIKE with the escape character "!".
func literal(text string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text)
}

// summarized is what a list says of a stack. d may be nil: a stack in review.
func summarized(s *stackRow, d *deploymentRow) Summary {
	out := Summary{
		ID: s.ID, Name: s.Name, ARN: s.ARN, Status: s.Status, DetailedStatus: s.DetailedStatus, Reason: s.Reason,
		ParentARN: s.ParentID, OperationID: s.OperationID, Drift: driftOf(s).StackDriftStatus, CreatedAt: s.CreatedAt.Time, UpdatedAt: s.UpdatedAt.Time, DeletedAt: s.DeletedAt.Time,
	}
	if d != nil {
		out.Description = d.Description
	}
	return out
}

func (e *Engine) countResources(ctx context.Context, rows []stackRow) (map[string]int, error) {
	out := map[string]int{}
	if len(rows) == 0 {
		return out, nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var counts []struct {
		StackID string `db:"stack_id"`
		N       int    `db:"n"`
	}
	err := store.Query(ctx, e.store.Read(), &counts, "SELECT stack_id, COUNT(*) AS n FROM stack_resources WHERE stack_id IN (?) GROUP BY stack_id",
		store.In(ids))
	for _, c := range counts {
		out[c.StackID] = c.N
	}
	return out, err
}

// Places lists the accounts and regions that have or had stacks, in any order.
func (e *Engine) Places(ctx context.Context) ([]awswire.Place, error) {
	var out []awswire.Place
	err := store.Query(ctx, e.store.Read(), &out, "SELECT DISTINCT account, region FROM stacks")
	return out, err
}

// A Mark changes whenever a list or a stack does: equal marks mean that nothing happened in
// between. Sets is of the change sets and drift detections of one stack.
type Mark struct {
	Stacks  int64 `db:"stacks"`
	Changes int64 `db:"changes"`
	Events  int64
	Sets    int64
}

// ListMark is the mark of all stacks of a place.
func (e *Engine) ListMark(ctx context.Context, place awswire.Place) (Mark, error) {
	var m Mark
	err := store.Query(ctx, e.store.Read(), &m, "SELECT COUNT(*) AS stacks, COALESCE(SUM(row_version), 0) AS changes FROM stacks WHERE account = ? AND region = ?",
		place.Account, place.Region)
	return m, err
}

// StackMark is the mark of one stack, which a place has under a name or ARN.
func (e *Engine) StackMark(ctx context.Context, place awswire.Place, name string) (Mark, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return Mark{}, err
	}
	m := Mark{Stacks: 1, Changes: s.RowVersion}
	err = store.Query(ctx, e.store.Read(), &m.Events, "SELECT COALESCE(MAX(e.seq), 0) FROM stack_events AS e WHERE e.stack_id = ?", s.ID)
	if err == nil {
		m.Sets, err = changeMark(ctx, e.store.Read(), s.ID)
	}
	return m, err
}

// lookUp finds a stack as the API does: by the name of one that lives, or by the ARN.
func (e *Engine) lookUp(ctx context.Context, place awswire.Place, name string) (*stackRow, error) {
	return requireStack(ctx, e.store.Read(), awswire.Caller{Place: place}, &name, "missing-id")
}

// A StackState is one stack with its resources and its latest operations.
type StackState struct {
	Summary
	Protected    bool
	Parameters   []types.Parameter // as the API shows them: **** for NoEcho
	Outputs      []types.Output
	Tags         []types.Tag
	Capabilities []types.Capability
	Resources    []ResourceState  // sorted by logical id
	Operations   []OperationState // the latest first, at most maxOperations

	Context *template.Context // what the template says of itself, nil if that is nothing
}

// maxOperations is how many operations of a stack are listed.
const maxOperations = 20

// A ResourceState is the current state of a resource of a stack.
type ResourceState struct {
	LogicalID, PhysicalID string
	Path                  string               // of the construct in the app that made the template (aws:cdk:path), "" if it has none
	Type, TypeVersion     string               // the version that created it, or updated it last
	DefaultVersion        string               // the version that would provision it now
	Status                types.ResourceStatus // "" of one that waits for others to be created first
	Reason                string
	DependsOn             []string // logical ids, implied ones included
	Simulated             bool     // no handler made it
	Where                 string   // the emulator that it is in, "" if it is here
	UpdatedAt             time.Time

	Context *template.Context // what the template says of it, nil if that is nothing
}

// An OperationState is one operation on a stack.
type OperationState struct {
	ID        string
	Kind      types.OperationType
	Status    string // types.BeaconStackOperationStatus
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
}

// Stack returns the stack that a place has under a name or ARN.
func (e *Engine) Stack(ctx context.Context, place awswire.Place, name string) (*StackState, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return nil, err
	}
	deployments, err := e.deploymentsOf(ctx, []stackRow{*s})
	if err != nil {
		return nil, err
	}
	d := deployments[s.DeploymentID]
	shown := described(s, d)
	out := &StackState{
		Summary: summarized(s, d), Protected: s.Protected, Parameters: shown.Parameters, Outputs: shown.Outputs, Tags: shown.Tags, Capabilities: shown.Capabilities,
	}
	operations, err := e.latestOperations(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	for _, op := range operations {
		out.Operations = append(out.Operations, operationState(&op))
	}
	out.Resources, out.Context, err = e.resourceStates(ctx, s, operations)
	out.Summary.Resources = len(out.Resources)
	return out, err
}

// latestOperations are those on a stack, the latest first. The creation of a change set changes nothing.
func (e *Engine) latestOperations(ctx context.Context, stackID string) ([]operationRow, error) {
	var rows []operationRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[operationRow]("options")+" FROM stack_operations AS o WHERE o.stack_id = ? AND o.kind <> ? ORDER BY o.started_at DESC, o.id DESC LIMIT ?",
		stackID, types.OperationTypeCreateChangeset, maxOperations)
	return rows, err
}

func operationState(op *operationRow) OperationState {
	return OperationState{ID: op.ID, Kind: op.Kind, Status: op.Status, StartedAt: op.StartedAt.Time, EndedAt: op.EndedAt.Time}
}

// resourceStates are the resources that a stack has, and those that its operation is still
// to create. The context is that of the template.
func (e *Engine) resourceStates(ctx context.Context, s *stackRow, operations []operationRow) ([]ResourceState, *template.Context, error) {
	rows, err := e.resourceRows(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	var out []ResourceState
	for i := range rows {
		x := &rows[i]
		out = append(out, ResourceState{
			LogicalID: x.LogicalID, PhysicalID: schema.Ref(x.Type, x.PhysicalID), Type: x.Type, TypeVersion: x.TypeVersion, Status: x.Status, Reason: x.Reason,
			DependsOn: x.DependsOn.Get(), UpdatedAt: x.UpdatedAt.Time,
		})
	}
	known, whole, err := e.declared(ctx, s.DeploymentID)
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(operations, func(op operationRow) bool { return op.ID == s.OperationID }); i >= 0 {
		if out, err = e.addWaiting(ctx, &operations[i], known, out); err != nil {
			return nil, nil, err
		}
	}
	for i := range out {
		of := known[out[i].LogicalID]
		out[i].Path, out[i].Context = of.Path, of.Context
	}
	slices.SortFunc(out, func(a, b ResourceState) int { return cmp.Compare(a.LogicalID, b.LogicalID) })
	return out, whole, e.markTypes(ctx, s.caller(), out)
}

// addWaiting adds the resources of a template that do not exist yet, and the dependencies that
// each resource waits for.
func (e *Engine) addWaiting(ctx context.Context, op *operationRow, known map[string]declared, out []ResourceState) ([]ResourceState, error) {
	steps, err := store.FindAll[stepRow](ctx, e.store.Read(), "logical_id", "operation_id = ? AND stage = ?", op.ID, plan.PhaseMain)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if step.CleanupID != "" {
			continue
		}
		i := slices.IndexFunc(out, func(x ResourceState) bool { return x.LogicalID == step.LogicalID })
		if i < 0 {
			out = append(out, ResourceState{LogicalID: step.LogicalID, Type: known[step.LogicalID].Type})
			i = len(out) - 1
		}
		if after := resourceKeys(step.Plan.Get().After); len(out[i].DependsOn) == 0 {
			out[i].DependsOn = after
		}
	}
	return out, nil
}

// resourceKeys are the keys of steps that are logical ids.
func resourceKeys(after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(key string) bool { return strings.ContainsAny(key, "!/") })
}

// markTypes finds out which versions would provision the resources now, and which are simulated.
func (e *Engine) markTypes(ctx context.Context, caller awswire.Caller, resources []ResourceState) error {
	known := map[string]*operation.Type{}
	for i := range resources {
		x := &resources[i]
		typ, seen := known[x.Type]
		if !seen && x.Type != "" {
			var err error
			if typ, err = e.findType(ctx, caller, x.Type); err != nil {
				return err
			}
			known[x.Type] = typ
		}
		if typ != nil {
			x.DefaultVersion = typ.Version
			var err error
			if x.Simulated, err = typ.IsSimulated(ctx, caller, x.PhysicalID); err != nil {
				return err
			}
			if typ.Where != nil && x.PhysicalID != "" {
				if x.Where, err = typ.Where(ctx, x.PhysicalID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// An EventState is an event of a stack.
type EventState struct {
	Seq                            int64 // orders the events of all stacks
	OperationID                    string
	LogicalID, PhysicalID, Type    string
	Status                         string
	DetailedStatus                 types.DetailedStatus
	Reason                         string
	Validation                     string // name of the check that failed before the deployment, else ""
	HookType, HookStatus, HookSaid string
	OfStack                        bool // the event is the stack's own
	At                             time.Time
}

// EventQuery selects events of one stack.
type EventQuery struct {
	awswire.Place
	Stack       string // name or ARN
	OperationID string // "" is every operation
	Failed      bool   // only failures
	Before      int64  // EventState.Seq of the last event of the previous page, 0 for the first page
	Limit       int
}

// Events lists events, the newest first.
func (e *Engine) Events(ctx context.Context, q EventQuery) ([]EventState, error) {
	s, err := e.lookUp(ctx, q.Place, q.Stack)
	if err != nil {
		return nil, err
	}
	var rows []eventRow
	var where store.Where
	where.And("stack_id = ?", s.ID)
	if q.OperationID != "" {
		where.And("operation_id = ?", q.OperationID)
	}
	if q.Failed {
		where.And("status LIKE '%!_FAILED' ESCAPE '!' OR kind = ?", eventValidation)
	}
	if q.Before > 0 {
		where.And("seq < ?", q.Before)
	}
	err = store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[eventRow]("properties")+" FROM stack_events "+where.Clause()+" ORDER BY seq DESC LIMIT ?",
		append(where.Args, q.Limit)...)
	if err != nil {
		return nil, err
	}
	out := make([]EventState, len(rows))
	for i := range rows {
		out[i] = eventState(s, &rows[i])
	}
	return out, nil
}

func eventState(s *stackRow, row *eventRow) EventState {
	details := row.Details.Get()
	out := EventState{
		Seq: row.Seq, OperationID: row.OperationID, LogicalID: row.LogicalID, PhysicalID: schema.Ref(row.Type, row.PhysicalID), Type: row.Type, Status: row.Status,
		DetailedStatus: row.DetailedStatus, Reason: row.Reason, OfStack: row.PhysicalID == s.ARN, At: row.At.Time,
		HookType: details.HookType, HookStatus: details.HookStatus, HookSaid: details.HookStatusReason,
	}
	if row.Kind == eventValidation {
		out.Validation = details.ValidationName
	}
	return out
}

// A Timeline is one operation on a stack: what happened when, and what waited for what.
type Timeline struct {
	OperationState
	Events []EventState        // the oldest first, at most maxTimeline
	Needs  map[string][]string // by logical id: the resources that it is created after
}

// maxTimeline is how many events of an operation a timeline has.
const maxTimeline = 5000

// Timeline returns an operation on a stack, the latest one for the id ""; nil if it does not
// exist.
func (e *Engine) Timeline(ctx context.Context, place awswire.Place, name, operationID string) (*Timeline, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return nil, err
	}
	operations, err := e.latestOperations(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(operations, func(op operationRow) bool { return operationID == "" || op.ID == operationID })
	if i < 0 {
		return nil, nil
	}
	op := &operations[i]
	out := &Timeline{OperationState: operationState(op)}
	out.Events, err = e.Events(ctx, EventQuery{Place: place, Stack: s.ARN, OperationID: op.ID, Limit: maxTimeline})
	if err != nil {
		return nil, err
	}
	slices.Reverse(out.Events)
	known, _, err := e.declared(ctx, cmp.Or(op.DeploymentID, s.DeploymentID))
	if len(known) > 0 {
		out.Needs = make(map[string][]string, len(known))
	}
	for id, r := range known {
		out.Needs[id] = r.Needs
	}
	return out, err
}

// A Source is the template of a stack as text.
type Source struct {
	Text      string         // defaults of parameters with NoEcho are replaced with ****
	Lines     map[string]int // where resources are written, by logical id; from 1
	Processed bool
}

// Source returns the template of a stack, or that of an operation on it, as it was given or as its transforms left it.
func (e *Engine) Source(ctx context.Context, place awswire.Place, name, operationID string, processed bool) (*Source, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return nil, err
	}
	id := s.DeploymentID
	if operationID != "" {
		op, err := store.Find[operationRow](ctx, e.store.Read(), "id = ? AND stack_id = ?", operationID, s.ID)
		if err != nil || op == nil {
			return &Source{Processed: processed}, err
		}
		id = op.DeploymentID
	}
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", id)
	if err != nil || row == nil {
		return &Source{Processed: processed}, err
	}
	text := row.Original
	if processed {
		text = indentJSON(row.Processed)
	}
	out := &Source{Text: text, Lines: map[string]int{}, Processed: processed}
	parsed, err := template.Parse("", []byte(text), template.ParseOptions{Processed: processed})
	if parsed == nil {
		// Only what was read as a template became a deployment.
		return nil, errors.Join(errUnprepared, err)
	}
	for _, r := range parsed.Resources {
		out.Lines[r.LogicalID] = r.At.Start.Line
	}
	out.Text = hideDefaults(text, parsed)
	return out, nil
}

// indentJSON is a processed template as people read it.
func indentJSON(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// hideDefaults replaces the defaults of parameters with NoEcho.
func hideDefaults(text string, t *template.Template) string {
	var hidden []diag.Range
	for _, p := range t.Parameters {
		if value := p.Value.Get("Default"); p.NoEcho && value != nil {
			hidden = append(hidden, value.At)
		}
	}
	slices.SortFunc(hidden, func(a, b diag.Range) int { return cmp.Compare(b.Start.Offset, a.Start.Offset) })
	for _, at := range hidden {
		start, end := at.Start.Offset, at.End.Offset
		if end <= start || end > len(text) {
			end = len(text) // its end is not known: nothing after it is shown
		}
		text = text[:start] + `"****"` + text[end:]
	}
	return text
}
