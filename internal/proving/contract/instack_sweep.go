package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// sweep deletes the stacks and resources that the tests left, and names what remains. When
// the run was interrupted and the CloudFormation ends with it, the resources are deleted at
// once, without their stacks.
func (r *stackRun) sweep(ctx context.Context, interrupted bool) {
	r.calls, r.live = nil, nil
	r.start = r.cfg.Now()
	if interrupted && r.cfg.Again == "" {
		clear(r.stacks)
		maps.Copy(r.loose, r.alive)
	}
	for _, name := range slices.Sorted(maps.Keys(r.stacks)) {
		if reason := r.discardStack(ctx, name); reason != "" {
			delete(r.stacks, name)
			r.leave("the stack %s: %s%s", name, reason, r.hint("cfn destroy %s --yes", name))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.loose)) {
		if reason := r.discard(ctx, id); reason != "" {
			delete(r.loose, id)
			r.leave("%s %s: %s%s", r.cfg.Schema.TypeName.Value, id, reason, r.hint("cfn resource delete %s %s --yes", r.cfg.Schema.TypeName.Value, id))
		}
	}
}

func (r *stackRun) leave(format string, args ...any) {
	line := r.cfg.Redactor.Text(fmt.Sprintf(format, args...))
	if !slices.Contains(r.summary.LeftBehind, line) {
		r.summary.LeftBehind = append(r.summary.LeftBehind, line)
	}
}

// hint is the command that deletes what is left, if there is a CloudFormation to send it to.
func (r *stackRun) hint(format string, args ...any) string {
	if r.cfg.Again == "" {
		return ""
	}
	return "; run " + fmt.Sprintf(format, args...) + r.cfg.Again
}

// discardStack deletes a stack and says why it could not be, "" if it is gone. A resource
// that cannot be deleted is left to be deleted by itself.
func (r *stackRun) discardStack(ctx context.Context, name string) string {
	out, err := r.operate(ctx, &StackOperation{Action: StackDelete, Stack: name}, nil)
	if err == nil && out.Status != "DELETE_COMPLETE" {
		failed := failureOf(out)
		for _, id := range identifiersOf(out.Events) {
			r.loose[id] = true
		}
		out, err = r.operate(ctx, &StackOperation{Action: StackDelete, Stack: name, Retain: []string{subject}}, nil)
		if err == nil && out.Status != "DELETE_COMPLETE" {
			return fmt.Sprintf("its deletion ended in %s%s", out.Status, failed)
		}
	}
	if err != nil {
		return oneLine(err.Error())
	}
	return ""
}

// discard deletes a resource that is in no stack and says why it could not be.
func (r *stackRun) discard(ctx context.Context, identifier string) string {
	err := r.change(ctx, identifier, nil)
	var refusal *Refusal
	switch {
	case err == nil, errors.Is(err, ErrNoResource), errors.As(err, &refusal) && refusal.Code == "NotFound":
	default:
		return oneLine(err.Error())
	}
	if r.canRead() {
		if _, err := r.read(ctx, identifier); err == nil {
			return "it can still be read after it was deleted"
		}
	}
	delete(r.loose, identifier)
	return ""
}

// identifiers are those that LIST returns, nil if they are not known.
func (r *stackRun) identifiers(ctx context.Context) map[string]bool {
	if r.cfg.Schema.Handler("list") == nil {
		return nil
	}
	found, err := r.list(ctx)
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, id := range found {
		out[id] = true
	}
	return out
}
