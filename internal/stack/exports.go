package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
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
