package stack

import (
	"cmp"
	"context"

	"github.com/formwork-dev/formwork/internal/plan"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/store"
)

// allows returns why the policy of the stack does not allow an action, "" if it does.
func (r *run) allows(logicalID, typeName, what string) string {
	text := cmp.Or(r.options.PolicyDuringUpdate, r.stack.Policy)
	if what == "" || text == "" || r.options.Backward {
		return ""
	}
	p, err := plan.ParsePolicy(text)
	if err != nil {
		return "" // what is kept was parsed before
	}
	return p.Denies(what, logicalID, typeName)
}

// SetStackPolicy sets the policy of a stack.
func (e *Engine) SetStackPolicy(ctx context.Context, caller awswire.Caller, in *cloudformation.SetStackPolicyInput) (*cloudformation.SetStackPolicyOutput, error) {
	text, err := e.policyOf(ctx, caller, in.StackPolicyBody, in.StackPolicyURL, "policy-both")
	if err != nil {
		return nil, err
	}
	if _, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing"); err != nil {
		return nil, err
	}
	return &cloudformation.SetStackPolicyOutput{}, e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		s.Policy = text
		return store.Swap(ctx, tx, s, &s.RowVersion)
	})
}

// GetStackPolicy returns the policy of a stack.
func (e *Engine) GetStackPolicy(ctx context.Context, caller awswire.Caller, in *cloudformation.GetStackPolicyInput) (*cloudformation.GetStackPolicyOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	out := &cloudformation.GetStackPolicyOutput{}
	if s.Policy != "" {
		out.StackPolicyBody = aws.String(s.Policy)
	}
	return out, nil
}
