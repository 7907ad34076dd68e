package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

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
