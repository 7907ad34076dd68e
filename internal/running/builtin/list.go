package builtin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// A lister is a kind whose service lists its resources.
type lister interface {
	// list returns the primary identifiers of a page and the token of the next one, "" after
	// the last. The service decides how long pages are.
	list(c *call, next *string) (identifiers []string, token string, err error)
}

// ListResources implements operation.Lister. The models have the primary identifier only.
func (t *Types) ListResources(ctx context.Context, request operation.ListRequest) (*operation.Page, error) {
	k, ok := kinds[request.Type].(lister)
	if !ok {
		return &operation.Page{ErrorCode: string(invoke.InvalidRequest), Message: "The resource type " + request.Type + " has no list handler."}, nil
	}
	c := &call{ctx: ctx, types: t, request: operation.Request{Caller: request.Caller, Type: request.Type}, desired: request.Model}
	var next *string
	if request.NextToken != "" {
		next = &request.NextToken
	}
	found, token, err := k.list(c, next)
	if err != nil {
		failed, err := failure(c, err)
		return &operation.Page{ErrorCode: failed.ErrorCode, Message: failed.Message}, err
	}
	page := &operation.Page{NextToken: token}
	for _, identifier := range found {
		page.Resources = append(page.Resources, operation.Listed{
			Identifier: identifier, Model: operation.WithIdentifier(t.types[request.Type].Schema, nil, identifier),
		})
	}
	return page, nil
}

func (parameters) list(c *call, next *string) (found []string, token string, err error) {
	out, err := do[ssm.DescribeParametersOutput](c, "ssm", "DescribeParameters", &ssm.DescribeParametersInput{NextToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, p := range out.Parameters {
		found = append(found, aws.ToString(p.Name))
	}
	return found, aws.ToString(out.NextToken), nil
}

func (secrets) list(c *call, next *string) (found []string, token string, err error) {
	out, err := do[secretsmanager.ListSecretsOutput](c, "secretsmanager", "ListSecrets", &secretsmanager.ListSecretsInput{NextToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, s := range out.SecretList {
		found = append(found, aws.ToString(s.ARN))
	}
	return found, aws.ToString(out.NextToken), nil
}

func (logGroups) list(c *call, next *string) (found []string, token string, err error) {
	out, err := do[cloudwatchlogs.DescribeLogGroupsOutput](c, "logs", "DescribeLogGroups", &cloudwatchlogs.DescribeLogGroupsInput{NextToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, g := range out.LogGroups {
		found = append(found, aws.ToString(g.LogGroupName))
	}
	return found, aws.ToString(out.NextToken), nil
}

func (logStreams) list(c *call, next *string) (found []string, token string, err error) {
	group := c.text("LogGroupName")
	if group == "" {
		return nil, "", invalid("Missing or invalid ResourceModel property in AWS::Logs::LogStream list handler request input. Required property: [LogGroupName]")
	}
	out, err := do[cloudwatchlogs.DescribeLogStreamsOutput](c, "logs", "DescribeLogStreams", &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: &group, NextToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, s := range out.LogStreams {
		found = append(found, group+"|"+aws.ToString(s.LogStreamName))
	}
	return found, aws.ToString(out.NextToken), nil
}

func (buckets) list(c *call, next *string) (found []string, token string, err error) {
	out, err := c.s3().ListBuckets(c.ctx, &s3.ListBucketsInput{ContinuationToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, b := range out.Buckets {
		found = append(found, aws.ToString(b.Name))
	}
	return found, aws.ToString(out.ContinuationToken), nil
}
