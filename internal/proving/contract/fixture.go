package contract

import (
	"context"
	"slices"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// prepare makes the fixture of a file once. If it cannot be made, every further case that
// needs it ends with the same error.
func (r *run) prepare(ctx context.Context, fixture func(*run, context.Context) error) error {
	if !r.prepared {
		r.prepared = true
		r.broken = fixture(r, ctx)
		r.making, r.calls = r.calls, nil
		r.made, r.drawn = r.drawn, nil
		r.ready, r.madeUnsure = true, r.unsure
		if r.broken != nil {
			r.teardown = nil // the resource is deleted after the case
		}
	}
	return r.broken
}

// createdResource is a resource that exists. It is deleted in the end.
func (r *run) createdResource(ctx context.Context) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	r.shared.input = input
	model, err := r.create(ctx, input)
	if err != nil {
		return err // what may exist all the same is for the sweep
	}
	r.shared.model = model
	r.teardown = func(ctx context.Context) error { return r.delete(ctx, r.shared.model) }
	return r.sameAsRequested(input, model)
}

// deletedResource is a resource that existed. At the end the run checks that it is deleted.
func (r *run) deletedResource(ctx context.Context) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	r.shared.input = input
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	r.shared.model = model
	r.teardown = r.deleteAgain
	if err := r.sameAsRequested(input, model); err != nil {
		return err
	}
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Delete, Model: model},
		"A delete handler ends with SUCCESS once the resource is gone.")
	if err != nil {
		return err
	}
	if event.Model != nil {
		return r.violation(clauseNoModel, "DELETE answered SUCCESS with a resourceModel")
	}
	if slices.Contains(event.Members, "resourceModel") {
		return r.violation(clauseNoModel, "DELETE answered SUCCESS with null as resourceModel: leave it out")
	}
	return nil
}

// deleteAgain deletes a resource that should already be deleted.
func (r *run) deleteAgain(ctx context.Context) error {
	event, err := r.operate(ctx, invoke.Request{Action: invoke.Delete, Model: r.shared.model})
	if err == nil && event.Status == invoke.Failed && event.ErrorCode != invoke.NotFound {
		err = r.violation("A delete fails with NotFound if the resource did not exist before.",
			"DELETE of the deleted resource ended with %s; expected SUCCESS or FAILED NotFound", r.describe(event))
	}
	return err
}

// updatedResource is a resource that was created and then changed. It is deleted in the
// end.
func (r *run) updatedResource(ctx context.Context) error {
	if err := r.createdResource(ctx); err != nil {
		return err
	}
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	r.shared.update = update
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Update, Model: update, Previous: r.shared.model},
		"An update handler ends with SUCCESS once the resource is as requested; its input is valid.")
	if err != nil {
		return err
	}
	r.shared.updated = event.Model
	return r.sameAsRequested(update, event.Model)
}
