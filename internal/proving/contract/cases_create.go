package contract

import (
	"context"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func createDelete(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	mismatch := r.sameAsRequested(input, model)
	if err := r.delete(ctx, model); err != nil && mismatch == nil {
		return err
	}
	return mismatch
}

func createCreate(ctx context.Context, r *run) error {
	return r.fails(ctx, invoke.Request{Action: invoke.Create, Model: r.shared.input}, invoke.AlreadyExists,
		"A create fails with AlreadyExists if the resource existed before; it never makes a second one.")
}

func createRead(ctx context.Context, r *run) error {
	read, err := r.read(ctx, r.shared.model)
	if err != nil {
		return err
	}
	return r.sameAsRequested(r.shared.input, read)
}

func createList(ctx context.Context, r *run) error {
	found, err := r.listed(ctx, r.shared.model)
	if err != nil {
		return err
	}
	if !found {
		return r.violation("After a create has succeeded, a list returns the primary identifier of the resource, on one of its pages.",
			"the created resource %s is not in the list", r.name(r.shared.model))
	}
	_, err = r.read(ctx, r.shared.model)
	return err
}

func createTaggable(_ context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	return r.hasTags(input, "create")
}

// hasTags looks for the tag property in an input.
func (r *run) hasTags(input map[string]any, kind string) error {
	tags := r.cfg.Schema.Tagging.Property
	if len(schema.Present(input, []schema.Path{tags})) > 0 {
		return nil
	}
	return r.violation("Handlers of a resource that can be tagged are tested with tags.",
		"Contract test %s input does not contain tags property: the schema names %s as the property with the tags", kind, tags.Tokens)
}
