package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// end deletes a stack with the resource, which has to succeed.
func (r *stackRun) end(ctx context.Context, live *liveStack, history []string, clause string) error {
	out, err := r.operate(ctx, &StackOperation{Action: StackDelete, Stack: live.name}, nil)
	if err != nil {
		return refused(err, "delete the stack")
	}
	if v := judge(out, expectation{what: "the deletion of the stack", status: "DELETE_COMPLETE", history: history, clause: clause}); v != nil {
		return v
	}
	if r.live == live {
		r.live = nil
	}
	return nil
}

func stackDelete(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	if err := r.end(ctx, live, deletedHistory, clauseText("delete.success")); err != nil {
		return err
	}
	return r.gone(ctx, live.identifier, "the deletion of the stack")
}

func stackRollbackCreate(ctx context.Context, r *stackRun) error {
	if err := r.free(ctx); err != nil {
		return err
	}
	_, out, err := r.create(ctx, stackTemplate{properties: r.created, fails: true})
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the creation that fails", status: "ROLLBACK_COMPLETE", history: undoneHistory, clause: clauseUndone}); v != nil {
		return v
	}
	identifier, err := identifierOf(out)
	if err != nil {
		return err
	}
	return r.gone(ctx, identifier, "the rollback of the creation")
}

// free ends the shared stack before a test makes one of its own. If no stack could be created
// before, that is not tried again.
func (r *stackRun) free(ctx context.Context) error {
	if r.broken != nil {
		return r.broken
	}
	return r.without(ctx)
}

func stackDriftDeleted(ctx context.Context, r *stackRun) error {
	if err := r.free(ctx); err != nil {
		return err
	}
	live, err := r.fresh(ctx)
	if err != nil {
		return err
	}
	err = r.change(ctx, live.identifier, nil)
	var refusal *Refusal
	if errors.As(err, &refusal) || errors.Is(err, ErrNoResource) {
		return violated(clauseText("delete.success"), "DELETE outside of the stack failed: %s", err)
	}
	if err != nil {
		return err
	}
	found, err := r.detect(ctx, live.name)
	if err != nil {
		return refused(err, "detect the drift of the stack")
	}
	if found.Status != "DELETED" {
		return violated(clauseText("read.not-found"), "the drift after the resource was deleted outside of the stack is %s; expected DELETED", orUnknown(found.Status))
	}
	return r.end(ctx, live, deletedHistory, clauseText("delete.not-found"))
}

func stackImport(ctx context.Context, r *stackRun) error {
	if err := r.free(ctx); err != nil {
		return err
	}
	live, out, err := r.create(ctx, stackTemplate{properties: r.created, retain: true})
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the creation of the stack", status: "CREATE_COMPLETE", history: createdHistory, clause: clauseText("create.applied")}); v != nil {
		return v
	}
	if live.identifier, err = identifierOf(out); err != nil {
		return err
	}
	r.loose[live.identifier] = true // what happens now to its stack does not delete it
	before, err := r.settled(ctx, live.identifier, live.properties, "the creation of the stack")
	if err != nil {
		return err
	}
	const clause = "A resource with the DeletionPolicy Retain stays as it is when its stack is deleted."
	if err := r.end(ctx, live, retainedHistory, clause); err != nil {
		return err
	}
	if _, err := r.readAfter(ctx, live.identifier, "the deletion of a stack that retains it"); err != nil {
		return err
	}
	imported := &liveStack{name: r.newStack(), identifier: live.identifier, properties: live.properties}
	if err := r.importInto(ctx, imported); err != nil {
		return err
	}
	after, err := r.settled(ctx, imported.identifier, imported.properties, "the import")
	if err != nil {
		return err
	}
	if found := r.cfg.Schema.Compare(r.withoutStackTags(before), r.withoutStackTags(after), schema.CompareConfig{}); len(found) > 0 {
		v := mismatch(r.cfg.Schema, r.cfg.Redactor, found)
		return &Violation{Clause: clauseImported, Message: "READ after the import: " + v.Message, Differences: v.Differences}
	}
	if err := r.inSync(ctx, imported, "the import"); err != nil {
		return err
	}
	if err := r.end(ctx, imported, deletedHistory, clauseText("delete.success")); err != nil {
		return err
	}
	return r.gone(ctx, imported.identifier, "the deletion of the stack")
}

const clauseImported = "An import finds the resource by its primary identifier alone and does not change it."

// importInto imports the resource that belongs to no stack.
func (r *stackRun) importInto(ctx context.Context, into *liveStack) error {
	out, err := r.operate(ctx, &StackOperation{
		Action: StackImport, Stack: into.name, Template: r.text(stackTemplate{properties: into.properties, imported: true}),
		Identifier: identifierValues(r.cfg.Schema, into.identifier),
	}, into.properties)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return violated(clauseImported, "CloudFormation refused to import the resource %q: %s", into.identifier, refusal)
	}
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the import", status: "IMPORT_COMPLETE", history: importedHistory, or: taggedHistory, clause: clauseImported}); v != nil {
		return v
	}
	delete(r.loose, into.identifier) // the stack deletes it
	if v := stays(out, into.identifier, "the import"); v != nil {
		return v
	}
	return nil
}

// stackNothingLeft looks for everything that the tests have created.
func stackNothingLeft(ctx context.Context, r *stackRun) error {
	r.making = false
	if len(r.ever) == 0 {
		return skipped("No resource was created. Skipping test.")
	}
	if !r.canRead() && r.before == nil {
		return skipped("The type can neither be read nor listed. Skipping test.")
	}
	var left []string
	if r.canRead() {
		for _, id := range r.ever[max(0, len(r.ever)-maxRemembered):] {
			if _, err := r.read(ctx, id); err == nil {
				r.loose[id] = true
				left = append(left, fmt.Sprintf("%q can still be read", id))
			} else if ctx.Err() != nil {
				return err
			}
		}
	}
	if now := r.identifiers(ctx); r.before != nil {
		for _, id := range slices.Sorted(maps.Keys(now)) {
			switch {
			case r.before[id] || r.loose[id]:
			case slices.Contains(r.ever, id):
				r.loose[id] = true
				left = append(left, fmt.Sprintf("%q is still listed", id))
			default:
				r.leave("%s %s: it was not there before, and no event reported it", r.cfg.Schema.TypeName.Value, id)
				left = append(left, fmt.Sprintf("%q was not there before, and no event reported it", id))
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	return violated(clauseText("leak.delete"), "%s left behind: %s", words.Count(len(left), "resource"), left[0])
}
