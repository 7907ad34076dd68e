package submit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// Names that the official CLI shares with this one: whichever of the two has made a stack,
// the other one uses it.
const (
	uploadStackName = "CloudFormationManagedUploadInfrastructure"
	roleStackSuffix = "-role-stack"
	bucketOutput    = "CloudFormationManagedUploadBucketName"
	logRoleOutput   = "LogAndMetricsDeliveryRoleArn"
	roleOutput      = "ExecutionRoleArn"
)

//go:embed upload-stack.yaml
var uploadStackTemplate string

// stackTimeout is how long a stack may take, about as long as the official CLI waits.
const stackTimeout = 17 * time.Minute

// A StackError says that a stack that registering needs is of no use.
type StackError struct {
	Name, Region string
	Status       types.StackStatus
	Reason       string // what the stack says of itself, or its first failed resource; may be empty
	Hint         string
}

func (e *StackError) Error() string {
	text := fmt.Sprintf("the stack %s in %s is in %s", e.Name, e.Region, e.Status)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// uploadStack finds the stack with the bucket for packages, or creates it. A suitable stack is
// used unchanged: it may be the official CLI's, of any version, and registering an extension
// is no reason to change what others share.
func (r *Remote) uploadStack(ctx context.Context, q *Request) (storage, error) {
	stack, err := r.settled(ctx, uploadStackName, q)
	if err != nil {
		return storage{}, err
	}
	if found := uploadsOf(stack); found.bucket != "" && found.logRole != "" {
		return found, nil
	}
	if stack == nil {
		stack, err = r.createStack(ctx, uploadStackName, uploadStackTemplate, q)
		var exists *types.AlreadyExistsException
		if errors.As(err, &exists) { // another client has started to create it meanwhile
			stack, err = r.settled(ctx, uploadStackName, q)
		}
	} else {
		stack, err = r.updateStack(ctx, uploadStackName, uploadStackTemplate, q)
	}
	found := uploadsOf(stack)
	switch {
	case err != nil:
		return storage{}, err
	case stack == nil:
		return storage{}, disappeared(uploadStackName)
	case found.bucket == "":
		return storage{}, r.stackError(stack, "it has no output "+bucketOutput)
	}
	return found, nil
}

// findUploadStack looks for the stack without making it; the zero storage is that of an
// account without it, or of a caller who may not see it.
func (r *Remote) findUploadStack(ctx context.Context) (storage, error) {
	stack, err := r.describeStack(ctx, uploadStackName)
	if err != nil && code(err) != "" {
		return storage{}, nil
	}
	return uploadsOf(stack), err
}

func uploadsOf(stack *types.Stack) storage {
	return storage{bucket: output(stack, bucketOutput), logRole: output(stack, logRoleOutput)}
}

func output(stack *types.Stack, key string) string {
	if stack == nil {
		return ""
	}
	for _, o := range stack.Outputs {
		if aws.ToString(o.OutputKey) == key {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}

// roleStack creates or updates the stack of the execution role: its permissions follow from
// the schema, which may have changed.
func (r *Remote) roleStack(ctx context.Context, q *Request) (arn string, err error) {
	name := schema.Hyphenated(q.TypeName) + roleStackSuffix
	stack, err := r.createStack(ctx, name, string(q.RoleTemplate), q)
	var exists *types.AlreadyExistsException
	if errors.As(err, &exists) {
		if _, err = r.settled(ctx, name, q); err == nil {
			stack, err = r.updateStack(ctx, name, string(q.RoleTemplate), q)
		}
	}
	if err != nil {
		return "", err
	}
	if arn = output(stack, roleOutput); arn == "" {
		return "", r.stackError(stack, "it has no output "+roleOutput)
	}
	return arn, nil
}

// describeStack returns nil for a stack that does not exist.
func (r *Remote) describeStack(ctx context.Context, name string) (*types.Stack, error) {
	out, err := r.cloudformation.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if code(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	if err != nil || len(out.Stacks) == 0 {
		return nil, err
	}
	return &out.Stacks[0], nil
}

// settled waits until nothing changes a stack any more. It returns nil for a stack that
// does not exist, and a *StackError for one that can only be deleted.
func (r *Remote) settled(ctx context.Context, name string, q *Request) (*types.Stack, error) {
	stack, err := r.waitForStack(ctx, name, q)
	if err != nil || stack == nil {
		return nil, err
	}
	switch stack.StackStatus {
	case types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusCreateFailed,
		types.StackStatusDeleteFailed, types.StackStatusReviewInProgress:
		return nil, r.deadStack(ctx, stack)
	case types.StackStatusDeleteComplete:
		return nil, nil
	}
	return stack, nil
}

func (r *Remote) waitForStack(ctx context.Context, name string, q *Request) (stack *types.Stack, err error) {
	err = r.poll(ctx, "the stack "+name, stackTimeout, func(ctx context.Context) (bool, error) {
		if stack, err = r.describeStack(ctx, name); err != nil || stack == nil {
			return stack == nil, err
		}
		q.report("stack %s %s", aws.ToString(stack.StackName), stack.StackStatus)
		return stack.StackStatus == types.StackStatusReviewInProgress || !strings.HasSuffix(string(stack.StackStatus), "_IN_PROGRESS"), nil
	})
	return stack, err
}

func (r *Remote) createStack(ctx context.Context, name, template string, q *Request) (*types.Stack, error) {
	q.report("creating the stack %s", name)
	out, err := r.cloudformation.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, EnableTerminationProtection: aws.Bool(true), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err != nil {
		return nil, err
	}
	return r.finished(ctx, aws.ToString(out.StackId), types.StackStatusCreateComplete, q)
}

func (r *Remote) updateStack(ctx context.Context, name, template string, q *Request) (*types.Stack, error) {
	q.report("updating the stack %s", name)
	out, err := r.cloudformation.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &name, TemplateBody: &template, Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err != nil && strings.Contains(err.Error(), "No updates are to be performed") {
		return r.describeStack(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return r.finished(ctx, aws.ToString(out.StackId), types.StackStatusUpdateComplete, q)
}

// finished waits for the end of an operation, which must have the wanted status.
func (r *Remote) finished(ctx context.Context, id string, want types.StackStatus, q *Request) (*types.Stack, error) {
	if id == "" {
		return nil, r.noStack()
	}
	stack, err := r.waitForStack(ctx, id, q)
	if err != nil {
		return nil, err
	}
	if stack == nil {
		return nil, disappeared(id)
	}
	if stack.StackStatus != want {
		return nil, r.deadStack(ctx, stack)
	}
	return stack, nil
}

func disappeared(stack string) error {
	return fmt.Errorf("the stack %s was deleted while it was being created", stack)
}

func (r *Remote) stackError(stack *types.Stack, reason string) *StackError {
	return &StackError{Name: aws.ToString(stack.StackName), Region: r.Region, Status: stack.StackStatus, Reason: reason}
}

// deadStack explains a stack that something has failed in.
func (r *Remote) deadStack(ctx context.Context, stack *types.Stack) *StackError {
	e := r.stackError(stack, aws.ToString(stack.StackStatusReason))
	if cause := r.firstFailure(ctx, aws.ToString(stack.StackId)); cause != "" {
		e.Reason = cause
	}
	if strings.HasPrefix(string(stack.StackStatus), "UPDATE_") {
		e.Hint = fmt.Sprintf("what went wrong: aws cloudformation describe-stack-events --region %s --stack-name %s", r.Region, e.Name)
		return e
	}
	e.Hint = fmt.Sprintf("delete it and try again: aws cloudformation update-termination-protection --region %s --no-enable-termination-protection --stack-name %s"+
		" && aws cloudformation delete-stack --region %s --stack-name %s", r.Region, e.Name, r.Region, e.Name)
	return e
}

// firstFailure is the first resource that failed in the last operation on a stack; "" if
// that cannot be determined.
func (r *Remote) firstFailure(ctx context.Context, id string) string {
	out, err := r.cloudformation.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		return ""
	}
	first := ""
	for _, e := range out.StackEvents { // the newest one comes first
		own := aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId)
		switch {
		case own && (e.ResourceStatus == types.ResourceStatusCreateInProgress || e.ResourceStatus == types.ResourceStatusUpdateInProgress):
			return first
		case !own && strings.HasSuffix(string(e.ResourceStatus), "_FAILED") && !strings.Contains(aws.ToString(e.ResourceStatusReason), "cancelled"):
			first = fmt.Sprintf("%s (%s): %s", aws.ToString(e.LogicalResourceId), aws.ToString(e.ResourceType), aws.ToString(e.ResourceStatusReason))
		}
	}
	return first
}
