package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

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
