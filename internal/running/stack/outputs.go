package stack

import (
	"context"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// commitOutputs evaluates the outputs, exports and imports of a stack that was deployed, and
// returns what is wrong with them.
func (r *run) commitOutputs(ctx context.Context, tx *store.Tx) (problem string, err error) {
	v := values{run: r, ctx: ctx, tx: tx}
	var values []template.OutputValue
	for _, o := range r.next.Template.Outputs {
		if !r.next.Scope.OutputActive(o) {
			continue
		}
		value, err := r.next.Scope.Output(o, plan.Conceal(v, r.known()))
		if err != nil {
			if failure := unevaluated(ctx, err); failure != nil {
				return "", failure
			}
			return EvaluationProblem(err), nil
		}
		values = append(values, value)
	}
	outputs := outputsOf(values)
	if problem, err = r.commitExports(ctx, tx, outputs); problem != "" || err != nil {
		return problem, err
	}
	if err := r.commitImports(ctx, tx); err != nil {
		return "", err
	}
	r.stack.Outputs = store.JSONOf(outputs)
	return "", nil
}

// outputsOf are outputs as a stack has them.
func outputsOf(values []template.OutputValue) []stackOutput {
	var out []stackOutput
	for _, v := range values {
		out = append(out, stackOutput{Key: v.Name, Value: v.Value, Description: v.Description, Export: v.ExportName})
	}
	return out
}
