package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Stack returns a stack by its name or ARN, nil if it does not exist.
func (r *Remote) Stack(ctx context.Context, name string) (*types.Stack, error) {
	return r.describeStack(ctx, name)
}

// Stacks lists the stacks of the account in this region, the newest first, without deleted
// ones unless all is set.
func (r *Remote) Stacks(ctx context.Context, all bool) iter.Seq2[types.StackSummary, error] {
	in := cloudformation.ListStacksInput{}
	for _, status := range types.StackStatus("").Values() {
		if !all && status != types.StackStatusDeleteComplete {
			in.StackStatusFilter = append(in.StackStatusFilter, status)
		}
	}
	return pages(func(token *string) ([]types.StackSummary, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStacks(ctx, &in)
		if err != nil {
			return nil, nil, err
		}
		return out.StackSummaries, out.NextToken, nil
	})
}

// StackEvents lists the events of a stack, newest first, and reads them page by page.
func (r *Remote) StackEvents(ctx context.Context, stack string) iter.Seq2[types.StackEvent, error] {
	return pages(func(token *string) ([]types.StackEvent, *string, error) {
		out, err := r.cloudformation.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stack, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return out.StackEvents, out.NextToken, nil
	})
}

// LastStackEvent returns the ID of the newest event of a stack, "" if it has no events.
func (r *Remote) LastStackEvent(ctx context.Context, stack string) (string, error) {
	for e, err := range r.StackEvents(ctx, stack) {
		return aws.ToString(e.EventId), err
	}
	return "", nil
}

// StackResources lists the resources of a stack.
func (r *Remote) StackResources(ctx context.Context, stack string) iter.Seq2[types.StackResourceSummary, error] {
	return pages(func(token *string) ([]types.StackResourceSummary, *string, error) {
		out, err := r.cloudformation.ListStackResources(ctx, &cloudformation.ListStackResourcesInput{StackName: &stack, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return out.StackResourceSummaries, out.NextToken, nil
	})
}

// BeginsOperation reports whether an event is the first one of an operation on its stack.
func BeginsOperation(e *types.StackEvent) bool {
	if aws.ToString(e.PhysicalResourceId) != aws.ToString(e.StackId) {
		return false
	}
	return slices.Contains([]types.ResourceStatus{
		types.ResourceStatusCreateInProgress, types.ResourceStatusUpdateInProgress, types.ResourceStatusDeleteInProgress,
		types.ResourceStatusImportInProgress, "REVIEW_IN_PROGRESS",
	}, e.ResourceStatus)
}

// EventsAfter returns the events of a stack that are newer than the event with an ID, the
// oldest first. Without an ID these are the events of the last operation.
func (r *Remote) EventsAfter(ctx context.Context, stack, id string) ([]types.StackEvent, error) {
	var out []types.StackEvent
	for e, err := range r.StackEvents(ctx, stack) {
		if err != nil {
			return nil, err
		}
		if id != "" && aws.ToString(e.EventId) == id {
			break
		}
		out = append(out, e)
		if id == "" && BeginsOperation(&e) {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// maxEventsSince bounds how many events of a stack EventsSince reads.
const maxEventsSince = 10000

// EventsSince returns the events of a stack from a time on, the oldest first; without a time,
// those of its last operation.
func (r *Remote) EventsSince(ctx context.Context, stack string, since time.Time) ([]types.StackEvent, error) {
	if since.IsZero() {
		return r.EventsAfter(ctx, stack, "")
	}
	var out []types.StackEvent
	for e, err := range r.StackEvents(ctx, stack) {
		if err != nil {
			return nil, err
		}
		if aws.ToTime(e.Timestamp).Before(since) || len(out) == maxEventsSince {
			break
		}
		out = append(out, e)
	}
	slices.Reverse(out)
	return out, nil
}

// Settled reports whether nothing changes a stack with this status.
func Settled(status types.StackStatus) bool {
	return status == types.StackStatusReviewInProgress || !strings.HasSuffix(string(status), "_IN_PROGRESS")
}

// A GoneError reports that a stack has disappeared while it was followed.
type GoneError struct{ Stack string }

func (e *GoneError) Error() string { return fmt.Sprintf("the stack %s no longer exists", e.Stack) }

// noStack is the error of a response to an operation on a stack that does not name the stack.
func (r *Remote) noStack() error {
	return &invoke.AnswerError{Server: cmp.Or(r.Endpoint, "CloudFormation"), Problem: "answered without a stack; check that CloudFormation answers there"}
}

// FollowStack calls each with new events and the state of a stack, the events oldest first,
// until its operation has finished. It starts after the event with the ID after, "" for the
// start of the last operation. each is called at every poll, even without news, so that it can
// show the elapsed time.
func (r *Remote) FollowStack(ctx context.Context, stack, after string, each func(*types.Stack, []types.StackEvent) error) (*types.Stack, error) {
	if stack == "" {
		return nil, r.noStack()
	}
	misses := 0
	pause := min(r.pause, time.Second)
	for {
		// The status is read before the events: those of a settled stack are complete.
		found, err := r.describeStack(ctx, stack)
		var events []types.StackEvent
		if err == nil && found != nil {
			events, err = r.EventsAfter(ctx, aws.ToString(found.StackId), after)
		}
		switch {
		case stopped(ctx, err):
			return nil, ctx.Err()
		case err != nil && (misses == maxMisses || !passing(err)):
			return nil, err
		case err != nil:
			misses++
		case found == nil:
			return nil, &GoneError{stack}
		default:
			misses = 0
			if len(events) > 0 {
				after = aws.ToString(events[len(events)-1].EventId)
			}
			if err := each(found, events); err != nil || Settled(found.StackStatus) {
				return found, err
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// ErrNoBucket is the error of a template that is too large for a request and has no bucket
// to be uploaded to.
var ErrNoBucket = errors.New("no bucket to upload the template to")

// UploadTemplate uploads a template to a bucket and returns its URL for TemplateURL. The
// default bucket is the one for packages, if it exists; at a local server it creates it.
func (r *Remote) UploadTemplate(ctx context.Context, bucket string, body []byte) (string, error) {
	var found storage
	var err error
	switch {
	case r.Local:
		found, err = r.localUploads(ctx, bucket)
	case bucket != "":
		found.bucket = bucket
	default:
		found, err = r.findUploadStack(ctx)
	}
	if err != nil {
		return "", err
	}
	if found.bucket == "" {
		return "", ErrNoBucket
	}
	key := "templates/" + Sum(body) + ".template"
	if err := r.put(ctx, found.bucket, key, body); err != nil {
		return "", err
	}
	if r.Local {
		return fmt.Sprintf("%s/%s/%s", strings.TrimSuffix(r.Endpoint, "/"), found.bucket, key), nil
	}
	suffix := "amazonaws.com"
	if strings.HasPrefix(r.Region, "cn-") {
		suffix += ".cn"
	}
	return fmt.Sprintf("https://%s.s3.%s.%s/%s", found.bucket, r.Region, suffix, key), nil
}

// TimeScale is what a local server divides the delays of handlers by; 1 elsewhere.
func (r *Remote) TimeScale() float64 {
	if r.server == nil || r.server.TimeScale == 0 {
		return 1
	}
	return r.server.TimeScale
}

// A Retry is a call of a handler for a resource that a local server makes again after it failed.
type Retry struct {
	LogicalID string `json:"LogicalResourceID"`
	ErrorCode string
	Retry     int // the number of the retry, of at most Limit
	Limit     int
	WaitMS    int64 // until then
}

// Retries lists the calls for resources of a stack that are waited for after they failed. AWS does
// not say it.
func (r *Remote) Retries(ctx context.Context, stack string) ([]Retry, error) {
	if r.server == nil {
		return nil, nil
	}
	var out struct{ Retries []Retry }
	err := r.formwork(ctx, "ListRetries", map[string]string{"StackName": stack}, &out)
	return out.Retries, err
}

// A HookResult is what a hook said of a template. Target is the logical ID of a resource, "" for the stack or the
// change set as a whole.
type HookResult struct {
	TypeName    string
	FailureMode types.HookFailureMode
	Status      types.HookStatus
	Reason      string
	TargetKind  string
	LogicalID   string
	Annotations []types.Annotation
}

// Refused reports whether the hook did not let the target pass, or did not answer.
func (r *HookResult) Refused() bool {
	return r.Status == types.HookStatusHookCompleteFailed || r.Status == types.HookStatusHookFailed
}

// TryHooks invokes the hooks of a local server that see the creation of a stack from a template, or the update of one
// that exists. Nothing is created.
func (r *Remote) TryHooks(ctx context.Context, stack, body string, parameters map[string]string) ([]HookResult, error) {
	type parameter struct{ Key, Value string }
	given := []parameter{}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		given = append(given, parameter{key, parameters[key]})
	}
	var out struct{ Results []HookResult }
	err := r.formwork(ctx, "TryHooks", map[string]any{"StackName": stack, "TemplateBody": body, "Parameters": given}, &out)
	return out.Results, err
}

// Module returns the fragment of the default version of a module, and its file name. It is "" on AWS, which does not
// show it, and if a local server does not have the module.
func (r *Remote) Module(ctx context.Context, typeName string) (file, fragment string, err error) {
	if r.server == nil {
		return "", "", nil
	}
	var out struct{ File, Fragment string }
	err = r.formwork(ctx, "GetModule", map[string]string{"TypeName": typeName}, &out)
	return out.File, out.Fragment, err
}
