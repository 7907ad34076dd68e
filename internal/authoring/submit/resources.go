package submit

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// withoutResult is the error of an answer that lacks what every answer of Cloud Control has.
func (r *Remote) withoutResult(operation string) error {
	return &invoke.AnswerError{Server: cmp.Or(r.Endpoint, "Cloud Control"), Problem: "answered " + operation + " without its result; check that Cloud Control answers there"}
}

// CreateResource begins to create a resource. state is JSON.
func (r *Remote) CreateResource(ctx context.Context, typeName, state string) (*types.ProgressEvent, error) {
	out, err := r.control.CreateResource(ctx, &cloudcontrol.CreateResourceInput{TypeName: &typeName, DesiredState: &state})
	if err == nil && out.ProgressEvent == nil {
		err = r.withoutResult("CreateResource")
	}
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// UpdateResource begins to update a resource by a JSON patch.
func (r *Remote) UpdateResource(ctx context.Context, typeName, identifier, patch string) (*types.ProgressEvent, error) {
	out, err := r.control.UpdateResource(ctx, &cloudcontrol.UpdateResourceInput{TypeName: &typeName, Identifier: &identifier, PatchDocument: &patch})
	if err == nil && out.ProgressEvent == nil {
		err = r.withoutResult("UpdateResource")
	}
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// DeleteResource begins to delete a resource.
func (r *Remote) DeleteResource(ctx context.Context, typeName, identifier string) (*types.ProgressEvent, error) {
	out, err := r.control.DeleteResource(ctx, &cloudcontrol.DeleteResourceInput{TypeName: &typeName, Identifier: &identifier})
	if err == nil && out.ProgressEvent == nil {
		err = r.withoutResult("DeleteResource")
	}
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// Resource reads a resource.
func (r *Remote) Resource(ctx context.Context, typeName, identifier string) (*types.ResourceDescription, error) {
	out, err := r.control.GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &typeName, Identifier: &identifier})
	if err == nil && out.ResourceDescription == nil {
		err = r.withoutResult("GetResource")
	}
	if err != nil {
		return nil, err
	}
	return out.ResourceDescription, nil
}

// Resources lists the resources of a type, with as many requests as necessary. model is JSON
// with the properties that the list handler requires, or "".
func (r *Remote) Resources(ctx context.Context, typeName, model string) iter.Seq2[types.ResourceDescription, error] {
	in := &cloudcontrol.ListResourcesInput{TypeName: &typeName}
	if model != "" {
		in.ResourceModel = &model
	}
	return pages(func(token *string) ([]types.ResourceDescription, *string, error) {
		in.NextToken = token
		out, err := r.control.ListResources(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.ResourceDescriptions, out.NextToken, nil
	})
}

// ResourceRequest returns the status of a request.
func (r *Remote) ResourceRequest(ctx context.Context, token string) (*types.ProgressEvent, error) {
	out, err := r.control.GetResourceRequestStatus(ctx, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: &token})
	if err == nil && out.ProgressEvent == nil {
		err = r.withoutResult("GetResourceRequestStatus")
	}
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// CancelResourceRequest ends a request early.
func (r *Remote) CancelResourceRequest(ctx context.Context, token string) (*types.ProgressEvent, error) {
	out, err := r.control.CancelResourceRequest(ctx, &cloudcontrol.CancelResourceRequestInput{RequestToken: &token})
	if err == nil && out.ProgressEvent == nil {
		err = r.withoutResult("CancelResourceRequest")
	}
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// ResourceRequests lists requests, the latest first.
func (r *Remote) ResourceRequests(ctx context.Context, filter *types.ResourceRequestStatusFilter) iter.Seq2[types.ProgressEvent, error] {
	return pages(func(token *string) ([]types.ProgressEvent, *string, error) {
		out, err := r.control.ListResourceRequests(ctx, &cloudcontrol.ListResourceRequestsInput{ResourceRequestStatusFilter: filter, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return out.ResourceRequestStatusSummaries, out.NextToken, nil
	})
}

// FollowResourceRequest calls changed for each new status of a request and returns the last
// one, with which the request has ended.
func (r *Remote) FollowResourceRequest(ctx context.Context, token string, changed func(*types.ProgressEvent)) (*types.ProgressEvent, error) {
	last := types.OperationStatus("")
	for {
		event, err := r.ResourceRequest(ctx, token)
		if err != nil {
			return nil, err
		}
		if event.OperationStatus == "" {
			return nil, r.withoutResult("GetResourceRequestStatus")
		}
		if event.OperationStatus != last {
			last = event.OperationStatus
			changed(event)
		}
		switch last {
		case types.OperationStatusSuccess, types.OperationStatusFailed, types.OperationStatusCancelComplete:
			return event, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(r.pause):
		}
	}
}
