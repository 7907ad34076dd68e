package contract

import (
	"context"
	"errors"
	"slices"
)

const clauseUpgradeMove = "A stack refactor calls no handler but READ: the resource stays as it is."

func upgradeRefactor(ctx context.Context, u *upgradeRun) error {
	properties := u.created
	was, err := u.existing(ctx, stackTemplate{properties: properties, moved: true})
	if err != nil {
		return err
	}
	live, renamed := u.live, "Moved"
	err = u.move(ctx, stackTemplate{properties: properties, moved: true, logicalID: renamed}, Move{From: subject, To: renamed}, "the change of the logical ID")
	if err != nil {
		return err
	}
	to := Move{From: renamed, To: subject, Stack: u.newStack(), Template: u.text(stackTemplate{properties: properties})}
	if err := u.move(ctx, stackTemplate{left: true}, to, "the move to another stack"); err != nil {
		return err
	}
	u.live = &liveStack{name: to.Stack, identifier: live.identifier, properties: properties}
	if err := u.readsAs(ctx, u.withoutStackTags(was), properties, "the refactor"); err != nil {
		return err
	}
	if err := u.inSync(ctx, u.live, "the refactor"); err != nil {
		return drifts(err)
	}
	return u.unchanged(ctx, stackTemplate{properties: properties}, "the same template after the refactor")
}

// move moves the resource by a stack refactor and wants it to be the same one afterwards. t is what its stack has then.
func (u *upgradeRun) move(ctx context.Context, t stackTemplate, to Move, what string) error {
	out, err := u.operate(ctx, &StackOperation{Action: StackMove, Stack: u.live.name, Template: u.text(t), Move: to}, nil)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return violated(clauseUpgradeMove, "%s failed: %s", what, refusal.Message)
	}
	if err != nil {
		return err
	}
	var history []string
	for _, e := range out.Events {
		if e.LogicalID == to.To {
			history = append(history, e.Status)
			if e.PhysicalID != u.live.identifier {
				return violated(clauseUpgradeMove, "the physical ID was %q before %s and is %q now", u.live.identifier, what, e.PhysicalID)
			}
		}
	}
	if !slices.Equal(slices.Compact(history), importedHistory) {
		return violated(clauseUpgradeMove, "the events of the resource during %s were %s; expected %s", what, orNone(history), orNone(importedHistory))
	}
	return nil
}
