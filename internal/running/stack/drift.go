package stack

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
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A detectionRow is one run of drift detection on a stack. A wake-up makes it; what was
// interrupted is made anew, as reading changes nothing.
type detectionRow struct {
	store.Row `db:"stack_drift_detections AS dd"`

	ID          string                          `db:"id,pk"`
	StackID     string                          `db:"stack_id"`
	Account     string                          `db:"account"`
	Region      string                          `db:"region"`
	Status      types.StackDriftDetectionStatus `db:"status"`
	Reason      string                          `db:"reason"`
	StackStatus types.StackDriftStatus          `db:"stack_status"`
	Drifted     int64                           `db:"drifted"`
	Resources   store.JSON[[]string]            `db:"resources"` // logical ids, none for all
	Caller      string                          `db:"caller"`    // access key id
	StartedAt   store.Time                      `db:"started_at"`
	EndedAt     store.Time                      `db:"ended_at"`
	RowVersion  int64                           `db:"row_version"`
}

// A driftRow is what the latest detection found of a resource.
type driftRow struct {
	store.Row `db:"stack_resource_drifts AS rd"`

	StackID     string                                 `db:"stack_id,pk"`
	LogicalID   string                                 `db:"logical_id,pk"`
	PhysicalID  string                                 `db:"physical_id"`
	Type        string                                 `db:"type"`
	Status      types.StackResourceDriftStatus         `db:"status"`
	Reason      string                                 `db:"reason"`
	Expected    string                                 `db:"expected"` // JSON, secrets masked
	Actual      string                                 `db:"actual"`
	Differences store.JSON[[]types.PropertyDifference] `db:"differences"`
	CheckedAt   store.Time                             `db:"checked_at"`

	Module *types.ModuleInfo `db:"-"` // for what is shown
}

// driftKind is the kind of wake-up that detects the drift of a stack.
const driftKind = "drift"

// keepDetections is how long the results of a detection are kept.
const keepDetections = 90 * 24 * time.Hour

// detectable are the statuses in which a stack can have drifted.
var detectable = append(slices.Clone(updatable), types.StackStatusUpdateRollbackFailed)

// DetectStackDrift starts the drift detection of a stack.
func (e *Engine) DetectStackDrift(ctx context.Context, caller awswire.Caller, in *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error) {
	row := &detectionRow{
		ID: e.newID(), Account: caller.Account, Region: caller.Region, Status: types.StackDriftDetectionStatusDetectionInProgress,
		StackStatus: types.StackDriftStatusNotChecked, Resources: store.JSONOf(in.LogicalResourceIds), Caller: caller.AccessKeyID, StartedAt: e.now(), RowVersion: 1,
	}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := e.stackToDetect(ctx, tx, caller, in.StackName)
		if err != nil {
			return err
		}
		for _, id := range in.LogicalResourceIds {
			x, err := store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", s.ID, id)
			if err != nil {
				return err
			}
			if x == nil {
				return refuse("missing-resource", id, s.Name)
			}
		}
		running, err := store.Find[detectionRow](ctx, tx, "stack_id = ? AND ended_at IS NULL", s.ID)
		if err != nil {
			return err
		}
		if running != nil {
			return refuse("drift-running", s.ARN)
		}
		if _, err := store.Exec(ctx, tx, "DELETE FROM stack_drift_detections WHERE stack_id = ? AND ended_at < ?",
			s.ID, store.At(row.StartedAt.Add(-keepDetections))); err != nil {
			return fmt.Errorf("forget old detections: %w", err)
		}
		fresh := *row
		fresh.StackID = s.ID
		if err := store.Insert(ctx, tx, &fresh); err != nil {
			return fmt.Errorf("write the detection: %w", err)
		}
		return tx.Wake(ctx, driftKind, row.ID, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		d, err := store.Find[detectionRow](ctx, e.store.Read(), "id = ?", row.ID)
		return d == nil || !d.EndedAt.IsZero(), err
	})
	return &cloudformation.DetectStackDriftOutput{StackDriftDetectionId: aws.String(row.ID)}, nil
}

// stackToDetect finds a stack whose drift can be detected now.
func (e *Engine) stackToDetect(ctx context.Context, db store.DB, caller awswire.Caller, name *string) (*stackRow, error) {
	s, err := requireStack(ctx, db, caller, name, "missing")
	if err == nil && !slices.Contains(detectable, s.Status) {
		err = refuse("drift-state", s.Status)
	}
	return s, err
}

// detect is the worker of drift detections.
func (e *Engine) detect(ctx context.Context, id string) (time.Time, error) {
	d, err := store.Find[detectionRow](ctx, e.store.Read(), "id = ?", id)
	if err != nil || d == nil || !d.EndedAt.IsZero() {
		return time.Time{}, err
	}
	s, err := store.Find[stackRow](ctx, e.store.Read(), "id = ? AND live", d.StackID)
	if err != nil {
		return time.Time{}, err
	}
	var found []driftRow
	if s != nil {
		if found, err = e.driftsOf(ctx, s, d.Resources.Get()); err != nil {
			return time.Time{}, fmt.Errorf("detect the drift of %s: %w", s.ARN, err)
		}
	}
	return time.Time{}, e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return e.writeDetection(ctx, tx, id, found) })
}

// writeDetection writes what a detection found. What has changed since it was read is left
// out.
func (e *Engine) writeDetection(ctx context.Context, tx *store.Tx, id string, found []driftRow) error {
	d, err := store.Find[detectionRow](ctx, tx, "id = ?", id)
	if err != nil || d == nil || !d.EndedAt.IsZero() {
		return err
	}
	s, err := store.Find[stackRow](ctx, tx, "id = ? AND live", d.StackID)
	if err != nil {
		return err
	}
	d.EndedAt, d.Status = e.now(), types.StackDriftDetectionStatusDetectionComplete
	if s == nil {
		d.Status, d.Reason, d.StackStatus = types.StackDriftDetectionStatusDetectionFailed, reasonDriftGone, types.StackDriftStatusUnknown
		return store.Swap(ctx, tx, d, &d.RowVersion)
	}
	if err := writeDrifts(ctx, tx, s.ID, found); err != nil {
		return err
	}
	var failed []string
	d.StackStatus, d.Drifted, failed = stackDrift(found)
	if failed != nil {
		d.Status, d.Reason = types.StackDriftDetectionStatusDetectionFailed, fmt.Sprintf(reasonDriftFailed, bracketed(failed))
	}
	if err := store.Swap(ctx, tx, d, &d.RowVersion); err != nil {
		return err
	}
	if len(d.Resources.Get()) > 0 { // the others count as they were found before
		all, err := store.FindAll[driftRow](ctx, tx, "logical_id", "stack_id = ?", s.ID)
		if err != nil {
			return err
		}
		d.StackStatus, _, _ = stackDrift(all)
	}
	s.Drift = store.JSONOf(types.StackDriftInformation{StackDriftStatus: d.StackStatus, LastCheckTimestamp: &d.StartedAt.Time})
	return store.Swap(ctx, tx, s, &s.RowVersion)
}

// stackDrift is the state of a stack by that of its resources: how many drifted, and those
// that could not be checked although their type can.
func stackDrift(found []driftRow) (status types.StackDriftStatus, drifted int64, failed []string) {
	status = types.StackDriftStatusNotChecked
	for i := range found {
		switch found[i].Status {
		case types.StackResourceDriftStatusModified, types.StackResourceDriftStatusDeleted:
			drifted++
		case types.StackResourceDriftStatusUnknown:
			failed = append(failed, found[i].LogicalID)
		case types.StackResourceDriftStatusInSync:
			status = types.StackDriftStatusInSync
		}
	}
	switch {
	case drifted > 0:
		status = types.StackDriftStatusDrifted
	case failed != nil:
		status = types.StackDriftStatusUnknown
	}
	return status, drifted, failed
}

// writeDrifts writes what was found of resources that are still the same.
func writeDrifts(ctx context.Context, tx *store.Tx, stackID string, found []driftRow) error {
	rows, err := store.FindAll[resourceRow](ctx, tx, "logical_id", "stack_id = ?", stackID)
	if err != nil {
		return err
	}
	physical := make(map[string]string, len(rows))
	for i := range rows {
		physical[rows[i].LogicalID] = rows[i].PhysicalID
	}
	var current []*driftRow
	for i := range found {
		f := &found[i]
		if id, ok := physical[f.LogicalID]; !ok || id != f.PhysicalID {
			continue
		}
		current = append(current, f)
		information := store.JSONOf(types.StackResourceDriftInformation{StackResourceDriftStatus: f.Status, LastCheckTimestamp: &f.CheckedAt.Time})
		if _, err := store.Exec(ctx, tx, "UPDATE stack_resources SET drift = ? WHERE stack_id = ? AND logical_id = ?", information, stackID, f.LogicalID); err != nil {
			return fmt.Errorf("write the drift of a resource: %w", err)
		}
	}
	return store.Upsert(ctx, tx, current, driftColumns...)
}

var driftColumns = []string{"physical_id", "type", "status", "reason", "expected", "actual", "differences", "checked_at"}

// DescribeStackDriftDetectionStatus returns the progress of a detection.
func (e *Engine) DescribeStackDriftDetectionStatus(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackDriftDetectionStatusInput) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error) {
	id := aws.ToString(in.StackDriftDetectionId)
	d, err := store.Find[detectionRow](ctx, e.store.Read(), "id = ? AND account = ? AND region = ?", id, caller.Account, caller.Region)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, refuse("drift-missing", id)
	}
	s, err := store.Find[stackRow](ctx, e.store.Read(), "id = ?", d.StackID)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, refuse("drift-missing", id)
	}
	out := &cloudformation.DescribeStackDriftDetectionStatusOutput{
		StackId: aws.String(s.ARN), StackDriftDetectionId: aws.String(d.ID), DetectionStatus: d.Status, DetectionStatusReason: optional(d.Reason),
		Timestamp: timePtr(d.StartedAt),
	}
	if !d.EndedAt.IsZero() {
		out.StackDriftStatus, out.DriftedStackResourceCount = d.StackStatus, aws.Int32(int32(d.Drifted))
	}
	return out, nil
}

// DetectStackResourceDrift detects the drift of one resource and waits for it.
func (e *Engine) DetectStackResourceDrift(ctx context.Context, caller awswire.Caller, in *cloudformation.DetectStackResourceDriftInput) (*cloudformation.DetectStackResourceDriftOutput, error) {
	s, err := e.stackToDetect(ctx, e.store.Read(), caller, in.StackName)
	if err != nil {
		return nil, err
	}
	id := aws.ToString(in.LogicalResourceId)
	found, err := e.driftsOf(ctx, s, []string{id})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, refuse("missing-resource", id, s.Name)
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error { return writeDrifts(ctx, tx, s.ID, found) })
	if err != nil {
		return nil, err
	}
	modules, err := currentModules(ctx, e.store.Read(), s)
	if err != nil {
		return nil, err
	}
	found[0].Module = modules[id]
	return &cloudformation.DetectStackResourceDriftOutput{StackResourceDrift: found[0].shown(s)}, nil
}

// DescribeStackResourceDrifts lists the results of detections for the resources of a stack.
// Resources of types that cannot be read are only listed if the request has their status.
func (e *Engine) DescribeStackResourceDrifts(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackResourceDriftsInput) (*cloudformation.DescribeStackResourceDriftsOutput, error) {
	db := e.store.Read()
	s, err := requireStack(ctx, db, caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	rows, err := currentDrifts(ctx, db, s)
	if err != nil {
		return nil, err
	}
	all := make([]types.StackResourceDrift, 0, len(rows))
	for i := range rows {
		listed := rows[i].Status != types.StackResourceDriftStatusNotChecked
		if len(in.StackResourceDriftStatusFilters) > 0 {
			listed = slices.Contains(in.StackResourceDriftStatusFilters, rows[i].Status)
		}
		if !listed {
			continue
		}
		all = append(all, *rows[i].shown(s))
	}
	out := &cloudformation.DescribeStackResourceDriftsOutput{}
	out.StackResourceDrifts, out.NextToken, err = PageUpTo(all, in.NextToken, aws.ToInt32(in.MaxResults))
	return out, err
}

// currentDrifts reads what detections found of the resources that a stack has now.
func currentDrifts(ctx context.Context, db store.DB, s *stackRow) ([]driftRow, error) {
	rows, err := store.FindAll[driftRow](ctx, db, "logical_id",
		"stack_id = ? AND EXISTS (SELECT 1 FROM stack_resources AS r WHERE r.stack_id = rd.stack_id AND r.logical_id = rd.logical_id AND r.physical_id = rd.physical_id)", s.ID)
	if err != nil {
		return nil, err
	}
	modules, err := currentModules(ctx, db, s)
	for i := range rows {
		rows[i].Module = modules[rows[i].LogicalID]
	}
	return rows, err
}

// shown is a result as the service shows it.
func (d *driftRow) shown(s *stackRow) *types.StackResourceDrift {
	out := &types.StackResourceDrift{
		StackId: aws.String(s.ARN), LogicalResourceId: aws.String(d.LogicalID), PhysicalResourceId: optional(schema.Ref(d.Type, d.PhysicalID)), ResourceType: aws.String(d.Type),
		StackResourceDriftStatus: d.Status, DriftStatusReason: optional(d.Reason), Timestamp: timePtr(d.CheckedAt),
		ExpectedProperties: optional(d.Expected), ActualProperties: optional(d.Actual), PropertyDifferences: []types.PropertyDifference{},
		ModuleInfo: d.Module,
	}
	if differences := d.Differences.Get(); differences != nil {
		out.PropertyDifferences = differences
	}
	return out
}

// comparePaths sorts differences by their place.
func comparePaths(a, b types.PropertyDifference) int {
	return strings.Compare(aws.ToString(a.PropertyPath), aws.ToString(b.PropertyPath))
}
