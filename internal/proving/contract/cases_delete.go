package contract

import (
	"context"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func deleteRead(ctx context.Context, r *run) error {
	return r.fails(ctx, invoke.Request{Action: invoke.Read, Model: r.shared.model}, invoke.NotFound,
		"A read fails with NotFound if the resource does not exist.")
}

func deleteList(ctx context.Context, r *run) error {
	found, err := r.listed(ctx, r.shared.model)
	if err != nil {
		return err
	}
	if found {
		return r.violation("A list never returns the primary identifier of a deleted resource.",
			"the deleted resource %s is still in the list", r.name(r.shared.model))
	}
	return nil
}

func deleteUpdate(ctx context.Context, r *run) error {
	input, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	return r.fails(ctx, invoke.Request{Action: invoke.Update, Model: input, Previous: r.shared.model}, invoke.NotFound,
		"An update fails with NotFound if the resource did not exist before; it never creates one.")
}

func deleteDelete(ctx context.Context, r *run) error {
	return r.fails(ctx, invoke.Request{Action: invoke.Delete, Model: r.shared.model}, invoke.NotFound,
		"A delete fails with NotFound if the resource did not exist before.")
}

func deleteCreate(ctx context.Context, r *run) error {
	model, err := r.create(ctx, r.shared.input)
	if err != nil {
		return err
	}
	return r.delete(ctx, model)
}
