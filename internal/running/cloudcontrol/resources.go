package cloudcontrol

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// CreateResource starts the creation of a resource. Errors: a type that does not exist or has
// no create handler, a desired state that violates the schema, read-only properties, a client
// token that was used for another request.
func (e *Engine) CreateResource(ctx context.Context, caller awswire.Caller, in *cloudcontrol.CreateResourceInput) (*cloudcontrol.CreateResourceOutput, error) {
	a, err := ask(in.ClientToken, types.OperationCreate, in.TypeName, in.TypeVersionId, in.RoleArn, in.DesiredState)
	if err != nil {
		return nil, err
	}
	event, err := e.again(ctx, caller, a)
	if event != nil || err != nil {
		return &cloudcontrol.CreateResourceOutput{ProgressEvent: event}, err
	}
	typ, err := e.typeOf(ctx, caller, in.TypeName, in.TypeVersionId, invoke.Create)
	if err != nil {
		return nil, err
	}
	model, err := object("DesiredState", *in.DesiredState)
	if err != nil {
		return nil, err
	}
	if set := changed(typ.Schema.ReadOnly, nil, model); len(set) > 0 {
		return nil, invalid("Model validation failed (readOnlyProperties [%s] cannot be set)", strings.Join(set, ", "))
	}
	if err := validate(typ.Schema, model); err != nil {
		return nil, err
	}
	event, err = e.begin(ctx, caller, a, typ, operation.Request{Action: invoke.Create, Desired: model}, types.OperationCreate, nil)
	return &cloudcontrol.CreateResourceOutput{ProgressEvent: event}, err
}

// UpdateResource reads a resource, applies a patch and starts the update. Errors: those of
// GetResource, a patch that cannot be applied, a change of create-only or read-only
// properties, a result that violates the schema, a second request for the same resource.
func (e *Engine) UpdateResource(ctx context.Context, caller awswire.Caller, in *cloudcontrol.UpdateResourceInput) (*cloudcontrol.UpdateResourceOutput, error) {
	a, err := ask(in.ClientToken, types.OperationUpdate, in.TypeName, in.TypeVersionId, in.RoleArn, in.Identifier, in.PatchDocument)
	if err != nil {
		return nil, err
	}
	event, err := e.again(ctx, caller, a)
	if event != nil || err != nil {
		return &cloudcontrol.UpdateResourceOutput{ProgressEvent: event}, err
	}
	typ, err := e.typeOf(ctx, caller, in.TypeName, in.TypeVersionId, invoke.Update)
	if err != nil {
		return nil, err
	}
	identifier, before, err := e.read(ctx, caller, typ, *in.Identifier)
	if err != nil {
		return nil, err
	}
	after, err := patched(before, *in.PatchDocument)
	if err != nil {
		return nil, err
	}
	if err := updatable(typ.Schema, before, after); err != nil {
		return nil, err
	}
	desired := writable(typ.Schema, after)
	if err := validate(typ.Schema, desired); err != nil {
		return nil, err
	}
	request := operation.Request{Action: invoke.Update, Identifier: identifier, Desired: desired, Previous: before}
	event, err = e.begin(ctx, caller, a, typ, request, types.OperationUpdate, desired)
	return &cloudcontrol.UpdateResourceOutput{ProgressEvent: event}, err
}

// updatable refuses changes of what an update cannot change.
func updatable(s *schema.Schema, before, after map[string]any) error {
	if paths := changed(s.ReadOnly, before, after); len(paths) > 0 {
		return invalid("Invalid patch update: readOnlyProperties [%s] cannot be updated", strings.Join(paths, ", "))
	}
	if paths := changed(s.CreateOnly, before, after); len(paths) > 0 {
		return awswire.Errorf("NotUpdatableException", 0, "Invalid patch update: createOnlyProperties [%s] cannot be updated", strings.Join(paths, ", "))
	}
	return nil
}

// DeleteResource starts the deletion of a resource. If it does not exist, the request fails.
// Errors: a second request for the same resource; with an additional identifier, for which the
// resource is read first, those of GetResource.
func (e *Engine) DeleteResource(ctx context.Context, caller awswire.Caller, in *cloudcontrol.DeleteResourceInput) (*cloudcontrol.DeleteResourceOutput, error) {
	a, err := ask(in.ClientToken, types.OperationDelete, in.TypeName, in.TypeVersionId, in.RoleArn, in.Identifier)
	if err != nil {
		return nil, err
	}
	event, err := e.again(ctx, caller, a)
	if event != nil || err != nil {
		return &cloudcontrol.DeleteResourceOutput{ProgressEvent: event}, err
	}
	typ, err := e.typeOf(ctx, caller, in.TypeName, in.TypeVersionId, invoke.Delete)
	if err != nil {
		return nil, err
	}
	who, err := identify(typ.Schema, *in.Identifier)
	if err != nil {
		return nil, err
	}
	if who.primary == "" { // requests for one resource are told apart by the primary identifier
		if who.primary, _, err = e.read(ctx, caller, typ, *in.Identifier); err != nil {
			return nil, err
		}
		who.model = operation.WithIdentifier(typ.Schema, nil, who.primary)
	}
	request := operation.Request{Action: invoke.Delete, Identifier: who.primary, Desired: who.model}
	event, err = e.begin(ctx, caller, a, typ, request, types.OperationDelete, nil)
	return &cloudcontrol.DeleteResourceOutput{ProgressEvent: event}, err
}

// again returns the state of the request with the same client token, nil if it is new.
func (e *Engine) again(ctx context.Context, caller awswire.Caller, a asked) (*types.ProgressEvent, error) {
	row, err := e.earlier(ctx, e.store.Read(), caller, a)
	if row == nil || err != nil {
		return nil, err
	}
	return row.event(), nil
}

// GetResource reads a resource. Refused: ResourceNotFoundException for one that does not
// exist, and the error of any other code with which the read handler fails.
func (e *Engine) GetResource(ctx context.Context, caller awswire.Caller, in *cloudcontrol.GetResourceInput) (*cloudcontrol.GetResourceOutput, error) {
	typ, err := e.typeOf(ctx, caller, in.TypeName, in.TypeVersionId, invoke.Read)
	if err != nil {
		return nil, err
	}
	identifier, model, err := e.read(ctx, caller, typ, *in.Identifier)
	if err != nil {
		return nil, err
	}
	shown, err := show(typ.Schema.WriteOnly, model)
	if err != nil {
		return nil, err
	}
	return &cloudcontrol.GetResourceOutput{
		TypeName: in.TypeName, ResourceDescription: &types.ResourceDescription{Identifier: &identifier, Properties: &shown},
	}, nil
}

// read calls the read handler.
func (e *Engine) read(ctx context.Context, caller awswire.Caller, typ *operation.Type, given string) (identifier string, model map[string]any, err error) {
	who, err := identify(typ.Schema, given)
	if err != nil {
		return "", nil, err
	}
	identifier = who.primary
	if typ.Schema.Handler(invoke.Read.Handler()) == nil && !typ.Simulated {
		return "", nil, awswire.Errorf("UnsupportedActionException", 0, "Resource type %s does not support READ action", typ.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.ReadTimeout)
	defer cancel()
	token := e.config.NewID()
	progress, err := typ.Provider.Call(ctx, operation.Request{
		Caller: caller, Action: invoke.Read, Token: token, Type: typ.Name, Version: typ.Version, Identifier: identifier,
		Desired: who.model,
	})
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("read a %s: %w", typ.Name, err)
	case progress.Status == cfn.OperationStatusFailed:
		return "", nil, handlerError(typ.Name, progress.ErrorCode, progress.Message, token)
	case progress.Status != cfn.OperationStatusSuccess || progress.Model == nil:
		return "", nil, handlerError(typ.Name, string(invoke.InternalFailure), "The read handler returned no model.", token)
	}
	if returned := operation.IdentifierOf(typ.Schema, progress.Model); returned != "" {
		identifier = returned
	}
	if identifier == "" {
		return "", nil, handlerError(typ.Name, string(invoke.InternalFailure), "The read handler returned a model without the primary identifier.", token)
	}
	model, _ = typ.Schema.Recast(progress.Model).(map[string]any)
	return identifier, model, nil
}

// ListResources returns a page of the resources of a type from its list handler. Errors: a
// type without one, and a resource model without the required properties.
func (e *Engine) ListResources(ctx context.Context, caller awswire.Caller, in *cloudcontrol.ListResourcesInput) (*cloudcontrol.ListResourcesOutput, error) {
	typ, err := e.typeOf(ctx, caller, in.TypeName, in.TypeVersionId, invoke.List)
	if err != nil {
		return nil, err
	}
	request := operation.ListRequest{Caller: caller, Type: typ.Name, Version: typ.Version, NextToken: text(in.NextToken)}
	if in.ResourceModel != nil {
		if request.Model, err = object("ResourceModel", *in.ResourceModel); err != nil {
			return nil, err
		}
	}
	if in.MaxResults != nil {
		request.MaxResults = int(*in.MaxResults)
	}
	if err := listable(typ, request.Model); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.ReadTimeout)
	defer cancel()
	page, err := typ.Provider.(operation.Lister).ListResources(ctx, request)
	switch {
	case err != nil:
		return nil, fmt.Errorf("list resources of %s: %w", typ.Name, err)
	case page.ErrorCode != "":
		return nil, handlerError(typ.Name, page.ErrorCode, page.Message, e.config.NewID())
	}
	out := &cloudcontrol.ListResourcesOutput{TypeName: in.TypeName, NextToken: present(page.NextToken), ResourceDescriptions: []types.ResourceDescription{}}
	for _, r := range page.Resources {
		shown, err := show(typ.Schema.WriteOnly, r.Model)
		if err != nil {
			return nil, err
		}
		out.ResourceDescriptions = append(out.ResourceDescriptions, types.ResourceDescription{Identifier: &r.Identifier, Properties: &shown})
	}
	return out, nil
}

// listable checks a resource model against the requirements of the list handler.
func listable(typ *operation.Type, model map[string]any) error {
	h := typ.Schema.Handler(invoke.List.Handler())
	if h == nil || h.Schema == nil {
		return nil
	}
	var faults []string
	if model == nil {
		model = map[string]any{}
	}
	for _, v := range typ.Schema.Check(model, schema.CheckConfig{Node: h.Schema}) {
		faults = append(faults, v.ServiceText())
	}
	if len(faults) == 0 {
		return nil
	}
	return awswire.Errorf("InvalidRequestException", 0,
		"Missing or invalid ResourceModel property in %s list handler request input. Required property: (%s)", typ.Name, strings.Join(faults, ", "))
}
