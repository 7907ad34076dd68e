package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A ChangeSet is a change set that was made, with all of its changes.
type ChangeSet struct {
	ID, StackID string
	Status      types.ChangeSetStatus
	Reason      string
	Changes     []types.Change
	Parameters  []types.Parameter
}

// Empty reports whether the change set failed because there is nothing to change.
func (c *ChangeSet) Empty() bool {
	return c.Status == types.ChangeSetStatusFailed &&
		(strings.HasPrefix(c.Reason, "The submitted information didn't contain changes") || strings.HasPrefix(c.Reason, "No updates are to be performed"))
}

// CreateChangeSet creates a change set and waits until it is ready.
func (r *Remote) CreateChangeSet(ctx context.Context, in *cloudformation.CreateChangeSetInput) (*ChangeSet, error) {
	out, err := r.cloudformation.CreateChangeSet(ctx, in)
	if err != nil {
		return nil, err
	}
	for {
		found, err := r.ReadChangeSet(ctx, aws.ToString(out.Id))
		if err != nil {
			return nil, err
		}
		if found.Status != types.ChangeSetStatusCreatePending && found.Status != types.ChangeSetStatusCreateInProgress {
			return found, nil
		}
		if err := r.waitAgain(ctx); err != nil {
			return found, err
		}
	}
}

// waitAgain waits before the next request for the status.
func (r *Remote) waitAgain(ctx context.Context) error {
	timer := time.NewTimer(r.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ReadChangeSet reads a change set with the values of properties.
func (r *Remote) ReadChangeSet(ctx context.Context, id string) (*ChangeSet, error) {
	in := &cloudformation.DescribeChangeSetInput{ChangeSetName: &id, IncludePropertyValues: aws.Bool(true)}
	found := &ChangeSet{ID: id}
	changes := pages(func(token *string) ([]types.Change, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.DescribeChangeSet(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		found.StackID, found.Status, found.Reason, found.Parameters = aws.ToString(out.StackId), out.Status, aws.ToString(out.StatusReason), out.Parameters
		return out.Changes, out.NextToken, nil
	})
	for change, err := range changes {
		if err != nil {
			return nil, err
		}
		found.Changes = append(found.Changes, change)
	}
	return found, nil
}

// DetectDrift detects the drift of a stack and waits for the end.
func (r *Remote) DetectDrift(ctx context.Context, stack string) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error) {
	begun, err := r.cloudformation.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: &stack})
	if err != nil {
		return nil, err
	}
	for {
		out, err := r.cloudformation.DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId})
		if err != nil || out.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress {
			return out, err
		}
		if err := r.waitAgain(ctx); err != nil {
			return nil, err
		}
	}
}

// ResourceDrifts lists what the latest detection found of the resources of a stack, in the
// order of their logical IDs, with those that it could not check.
func (r *Remote) ResourceDrifts(ctx context.Context, stack string) ([]types.StackResourceDrift, error) {
	var found []types.StackResourceDrift
	for _, filter := range [][]types.StackResourceDriftStatus{nil, {types.StackResourceDriftStatusNotChecked}} {
		in := cloudformation.DescribeStackResourceDriftsInput{StackName: &stack, StackResourceDriftStatusFilters: filter}
		drifts := pages(func(token *string) ([]types.StackResourceDrift, *string, error) {
			in.NextToken = token
			out, err := r.cloudformation.DescribeStackResourceDrifts(ctx, &in)
			if err != nil {
				return nil, nil, err
			}
			return out.StackResourceDrifts, out.NextToken, nil
		})
		for drift, err := range drifts {
			if err != nil {
				return nil, err
			}
			found = append(found, drift)
		}
	}
	id := func(d types.StackResourceDrift) string { return aws.ToString(d.LogicalResourceId) }
	slices.SortStableFunc(found, func(a, b types.StackResourceDrift) int { return strings.Compare(id(a), id(b)) })
	return slices.CompactFunc(found, func(a, b types.StackResourceDrift) bool { return id(a) == id(b) }), nil
}

// Identifiers are the names of the properties that identify the resources of a template, by
// the type of the resource.
func (r *Remote) Identifiers(ctx context.Context, body, url *string) (map[string][]string, map[string]string, error) {
	out, err := r.cloudformation.GetTemplateSummary(ctx, &cloudformation.GetTemplateSummaryInput{TemplateBody: body, TemplateURL: url})
	if err != nil {
		return nil, nil, fmt.Errorf("read the identifiers of the template's resources: %w", err)
	}
	names, typeOf := map[string][]string{}, map[string]string{}
	for _, s := range out.ResourceIdentifierSummaries {
		names[aws.ToString(s.ResourceType)] = s.ResourceIdentifiers
		for _, id := range s.LogicalResourceIds {
			typeOf[id] = aws.ToString(s.ResourceType)
		}
	}
	return names, typeOf, nil
}
