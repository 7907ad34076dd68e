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

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/store"
)

// ListExports returns what the stacks of an account and region export.
func (e *Engine) ListExports(ctx context.Context, caller awswire.Caller, in *cloudformation.ListExportsInput) (*cloudformation.ListExportsOutput, error) {
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name  string `bun:"name"`
		Value string `bun:"value" seal:"stack_exports.value"`
		ARN   string `bun:"arn"`
	}
	err = e.store.Read().NewSelect().TableExpr("stack_exports AS x").Join("JOIN stacks AS s ON s.id = x.stack_id").ColumnExpr("x.name, x.value, s.arn").
		Where("x.account = ? AND x.region = ?", caller.Account, caller.Region).OrderExpr("x.name").Offset(from).Limit(pageSize+1).Scan(ctx, &rows)
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
	names, err := importers(ctx, e.store.Read(), &stackRow{Account: caller.Account, Region: caller.Region}, name)
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

// accountLimits are the quotas that the service answers for an account. This server does not
// enforce those on the number of stacks and of resources worked on at a time.
var accountLimits = []types.AccountLimit{
	{Name: aws.String("StackLimit"), Value: aws.Int32(2000)},
	{Name: aws.String("StackOutputsLimit"), Value: aws.Int32(200)},
	{Name: aws.String("ConcurrentResourcesLimit"), Value: aws.Int32(2500)},
}

// DescribeAccountLimits lists the quotas of an account, on one page.
func (e *Engine) DescribeAccountLimits(_ context.Context, _ awswire.Caller, in *cloudformation.DescribeAccountLimitsInput) (*cloudformation.DescribeAccountLimitsOutput, error) {
	if in.NextToken != nil {
		return nil, refuse("next-token")
	}
	return &cloudformation.DescribeAccountLimitsOutput{AccountLimits: accountLimits}, nil
}

// commitExports writes the exports of a stack, unless another stack has one of the names or
// imports what is to change.
func (r *run) commitExports(ctx context.Context, tx *store.Tx, outputs []stackOutput) (problem string, err error) {
	s := r.stack
	before, err := allRows[exportRow](ctx, tx, "name", "stack_id = ?", s.ID)
	if err != nil {
		return "", err
	}
	after := map[string]string{}
	for _, o := range outputs {
		if o.Export != "" {
			after[o.Export] = o.Value
		}
	}
	for _, row := range before {
		value, kept := after[row.Name]
		if kept && value == row.Value {
			continue
		}
		user, err := r.importer(ctx, tx, row.Name)
		if err != nil {
			return "", err
		}
		if user != "" && !kept {
			return fmt.Sprintf(reasonExportDelete, row.Name, user), nil
		}
		if user != "" {
			return fmt.Sprintf(reasonExportUpdate, row.Name, user), nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		taken, err := oneRow[exportRow](ctx, tx, "account = ? AND region = ? AND name = ? AND stack_id <> ?", s.Account, s.Region, name, s.ID)
		if err != nil {
			return "", err
		}
		if taken != nil {
			owner, err := oneRow[stackRow](ctx, tx, "id = ?", taken.StackID)
			if err != nil || owner == nil {
				return "", err
			}
			return strings.TrimSuffix(fmt.Sprintf(reasonExportTaken, name, owner.ARN), "."), nil
		}
	}
	if _, err := tx.NewDelete().Model((*exportRow)(nil)).Where("stack_id = ?", s.ID).Exec(ctx); err != nil {
		return "", fmt.Errorf("replace the exports: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		row := &exportRow{Account: s.Account, Region: s.Region, Name: name, StackID: s.ID, Value: after[name]}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return "", fmt.Errorf("write an export: %w", err)
		}
	}
	return "", nil
}

// importer returns the name of a stack that imports an export, "" for none.
func (r *run) importer(ctx context.Context, tx *store.Tx, name string) (string, error) {
	names, err := importers(ctx, tx, r.stack, name)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// importers are the names of the stacks that import an export, sorted.
func importers(ctx context.Context, db selecting, s *stackRow, name string) ([]string, error) {
	var names []string
	err := db.NewSelect().TableExpr("stack_imports AS i").Join("JOIN stacks AS s ON s.id = i.stack_id").ColumnExpr("s.name").
		Where("i.account = ? AND i.region = ? AND i.name = ? AND i.stack_id <> ?", s.Account, s.Region, name, s.ID).OrderExpr("s.name").Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("read the imports of %s: %w", name, err)
	}
	return names, nil
}

// commitImports writes which exports the stack uses.
func (r *run) commitImports(ctx context.Context, tx *store.Tx) error {
	s := r.stack
	if _, err := tx.NewDelete().Model((*importRow)(nil)).Where("stack_id = ?", s.ID).Exec(ctx); err != nil {
		return fmt.Errorf("replace the imports: %w", err)
	}
	names := map[string]bool{}
	record := recorder{values{run: r, ctx: ctx, tx: tx}, names}
	if strings.Contains(r.prepared.rows[s.DeploymentID].Processed, "Fn::ImportValue") {
		for _, res := range r.next.Scope.ActiveResources() {
			_, _ = r.next.Scope.Properties(res, record) // it was evaluated before
		}
		for _, o := range r.next.Template.Outputs {
			if r.next.Scope.OutputActive(o) {
				_, _ = r.next.Scope.Output(o, record)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := &importRow{Account: s.Account, Region: s.Region, Name: name, StackID: s.ID}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("write an import: %w", err)
		}
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
