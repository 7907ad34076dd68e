package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An Export is a value that a stack exports.
type Export struct {
	Name  string `db:"name"`
	Value string `db:"value" seal:"stack_exports.value"`
	ARN   string `db:"arn"` // of the stack
}

// exportsOf selects exports with the stacks that they are of.
const exportsOf = "SELECT x.name, x.value, s.arn FROM stack_exports AS x JOIN stacks AS s ON s.id = x.stack_id WHERE x.account = ? AND x.region = ?"

// Export returns what a place has under the name of an export, nil if none but stacks with the ids exports it.
func (e *Engine) Export(ctx context.Context, db store.DB, place awswire.Place, name string, but ...string) (*Export, error) {
	var rows []Export
	err := store.Query(ctx, db, &rows, exportsOf+" AND x.name = ? AND x.stack_id NOT IN (?)", place.Account, place.Region, name, store.In(but))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// ListExports returns what the stacks of an account and region export.
func (e *Engine) ListExports(ctx context.Context, caller awswire.Caller, in *cloudformation.ListExportsInput) (*cloudformation.ListExportsOutput, error) {
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	var rows []Export
	err = store.Query(ctx, e.store.Read(), &rows, exportsOf+" ORDER BY x.name LIMIT ? OFFSET ?", caller.Account, caller.Region, pageSize+1, from)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.ListExportsOutput{Exports: []types.Export{}}
	rows, out.NextToken = paged(rows, from)
	for _, row := range rows {
		out.Exports = append(out.Exports, types.Export{Name: aws.String(row.Name), Value: aws.String(row.Value), ExportingStackId: aws.String(row.ARN)})
	}
	return out, nil
}

// ListImports returns the names of the stacks that import an export.
func (e *Engine) ListImports(ctx context.Context, caller awswire.Caller, in *cloudformation.ListImportsInput) (*cloudformation.ListImportsOutput, error) {
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	name := aws.ToString(in.ExportName)
	names, err := importers(ctx, e.store.Read(), caller.Place, name, "")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, refuse("export-unused", name)
	}
	out := &cloudformation.ListImportsOutput{Imports: []string{}}
	if from < int64(len(names)) {
		out.Imports, out.NextToken = paged(names[from:], from)
	}
	return out, nil
}

// commitExports writes the exports of a stack, unless another stack has one of the names or
// imports what is to change.
func (r *run) commitExports(ctx context.Context, tx *store.Tx, outputs []stackOutput) (problem string, err error) {
	s := r.stack
	after := map[string]string{}
	for _, o := range outputs {
		if o.Export != "" {
			after[o.Export] = o.Value
		}
	}
	if problem, err := exportsInUse(ctx, tx, s.ID, after, s.ID); problem != "" || err != nil {
		return problem, err
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		taken, err := r.engine.Export(ctx, tx, s.caller().Place, name, s.ID)
		if err != nil {
			return "", err
		}
		if taken != nil {
			return strings.TrimSuffix(fmt.Sprintf(ReasonExportTaken, name, taken.ARN), "."), nil
		}
	}
	if err := forgetExports(ctx, tx, s); err != nil {
		return "", err
	}
	return "", writeExports(ctx, tx, s, outputs)
}

// ExportsInUse returns which export of a stack cannot become what it is to be after, "" if all can: a stack
// imports it that is not one of those with the ids.
func (e *Engine) ExportsInUse(ctx context.Context, db store.DB, m *Member, after map[string]string, but ...string) (problem string, err error) {
	return exportsInUse(ctx, db, m.ID, after, but...)
}

func exportsInUse(ctx context.Context, db store.DB, stackID string, after map[string]string, but ...string) (problem string, err error) {
	before, err := store.FindAll[exportRow](ctx, db, "name", "stack_id = ?", stackID)
	if err != nil {
		return "", err
	}
	for _, x := range before {
		value, kept := after[x.Name]
		if kept && value == x.Value {
			continue
		}
		users, err := importers(ctx, db, awswire.Place{Account: x.Account, Region: x.Region}, x.Name, but...)
		switch {
		case err != nil:
			return "", err
		case len(users) > 0 && kept:
			return fmt.Sprintf(reasonExportUpdate, x.Name, users[0]), nil
		case len(users) > 0:
			return fmt.Sprintf(reasonExportDelete, x.Name, users[0]), nil
		}
	}
	return "", nil
}

// keepExports answers the deletion of a stack whose exports are used: it keeps its status,
// with the reason.
func (e *Engine) keepExports(ctx context.Context, tx *store.Tx, s *stackRow) (bool, error) {
	exports, err := store.FindAll[exportRow](ctx, tx, "name", "stack_id = ?", s.ID)
	if err != nil {
		return false, err
	}
	for _, x := range exports {
		users, err := importers(ctx, tx, s.caller().Place, x.Name, s.ID)
		if err != nil {
			return false, err
		}
		if len(users) == 0 {
			continue
		}
		s.Reason = fmt.Sprintf(reasonDeleteCanceled, x.Name, users[0])
		if err := store.Swap(ctx, tx, s, &s.RowVersion); err != nil {
			return false, err
		}
		return true, e.insertEvents(ctx, tx, e.stackEvent(s, nil, e.now()))
	}
	return false, nil
}

// importers are the names of the stacks that import an export, sorted, but those with the ids.
func importers(ctx context.Context, db store.DB, place awswire.Place, name string, but ...string) ([]string, error) {
	var names []string
	err := store.Query(ctx, db, &names, "SELECT s.name FROM stack_imports AS i JOIN stacks AS s ON s.id = i.stack_id WHERE i.account = ? AND i.region = ? AND i.name = ? AND i.stack_id NOT IN (?) ORDER BY s.name",
		place.Account, place.Region, name, store.In(but))
	if err != nil {
		return nil, fmt.Errorf("read the imports of %s: %w", name, err)
	}
	return names, nil
}

// forgetExports deletes the exports of a stack.
func forgetExports(ctx context.Context, tx *store.Tx, s *stackRow) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM stack_exports WHERE stack_id = ?", s.ID); err != nil {
		return fmt.Errorf("replace the exports: %w", err)
	}
	return nil
}

// writeExports writes the exports among the outputs of a stack.
func writeExports(ctx context.Context, tx *store.Tx, s *stackRow, outputs []stackOutput) error {
	var rows []exportRow
	for _, o := range outputs {
		if o.Export != "" {
			rows = append(rows, exportRow{Account: s.Account, Region: s.Region, Name: o.Export, StackID: s.ID, Value: o.Value})
		}
	}
	slices.SortFunc(rows, func(a, b exportRow) int { return strings.Compare(a.Name, b.Name) })
	if err := store.Insert(ctx, tx, store.Pointers(rows)...); err != nil {
		return fmt.Errorf("write the exports: %w", err)
	}
	return nil
}

// commitImports writes which exports the stack uses.
func (r *run) commitImports(ctx context.Context, tx *store.Tx) error {
	names := map[string]bool{}
	record := recorder{values{run: r, ctx: ctx, tx: tx}, names}
	if strings.Contains(r.prepared.rows[r.stack.DeploymentID].Processed, "Fn::ImportValue") {
		for _, res := range r.next.Scope.ActiveResources() {
			_, _ = r.next.Scope.Properties(res, record) // it was evaluated before
		}
		for _, o := range r.next.Template.Outputs {
			if r.next.Scope.OutputActive(o) {
				_, _ = r.next.Scope.Output(o, record)
			}
		}
	}
	return replaceImports(ctx, tx, r.stack, slices.Sorted(maps.Keys(names)))
}

// replaceImports writes which exports a stack uses.
func replaceImports(ctx context.Context, tx *store.Tx, s *stackRow, names []string) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM stack_imports WHERE stack_id = ?", s.ID); err != nil {
		return fmt.Errorf("replace the imports: %w", err)
	}
	rows := make([]importRow, len(names))
	for i, name := range names {
		rows[i] = importRow{Account: s.Account, Region: s.Region, Name: name, StackID: s.ID}
	}
	if err := store.Insert(ctx, tx, store.Pointers(rows)...); err != nil {
		return fmt.Errorf("write the imports: %w", err)
	}
	return nil
}

// A recorder records which exports are used.
type recorder struct {
	values
	names map[string]bool
}

func (r recorder) ImportValue(name string) (string, bool, error) {
	value, known, err := r.values.ImportValue(name)
	if err == nil {
		r.names[name] = true
	}
	return value, known, err
}
