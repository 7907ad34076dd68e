package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/template"
)

// conflictTime bounds the look-up of one resource by its name. One that takes longer is left
// to the handler that creates it.
const conflictTime = 10 * time.Second

// nameConflicts finds the resources that a deployment would create and whose names are taken:
// those that the template names and that can be read.
func (e *Engine) nameConflicts(ctx context.Context, s *stackRow, in PlanInput) ([]validationProblem, error) {
	cleanup, err := allRows[cleanupRow](ctx, e.store.Read(), "id", "stack_id = ?", s.ID)
	if err != nil {
		return nil, err
	}
	own := func(typeName, identifier string) bool {
		for _, r := range in.Resources {
			if r.Type == typeName && r.PhysicalID == identifier {
				return true
			}
		}
		return slices.ContainsFunc(cleanup, func(c cleanupRow) bool { return c.Type == typeName && c.PhysicalID == identifier })
	}
	resources := in.Next.Scope.ActiveResources()
	found := make([]*existing, len(resources))
	err = each(ctx, len(resources), func(ctx context.Context, i int) (err error) {
		r := resources[i]
		typ := in.Types[r.Type]
		if was, ok := in.Resources[r.LogicalID]; ok && was.exists() || !importable(typ) || unvalidated(r.Type) {
			return nil
		}
		found[i], err = e.conflictOf(ctx, s, in, r, typ)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []validationProblem
	for i, x := range found {
		if x == nil || own(resources[i].Type, x.identifier) {
			continue
		}
		shown := x.identifier
		if in.Next.Scope.HasNoEcho(resources[i]) {
			shown = template.Mask
		}
		out = append(out, validationProblem{
			check: checkNames, logicalID: x.logicalID, typeName: resources[i].Type, path: "/Resources/" + x.logicalID,
			reason: fmt.Sprintf(reasonExists, resources[i].Type, shown),
		})
	}
	return out, nil
}

// conflictOf looks up one resource, within a bounded time.
func (e *Engine) conflictOf(ctx context.Context, s *stackRow, in PlanInput, r *template.Resource, typ *operation.Type) (*existing, error) {
	within, cancel := context.WithTimeout(ctx, conflictTime)
	defer cancel()
	found, err := e.existingOf(within, s, in, r, typ)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return found, err
}

// prepareConflicts looks for name conflicts before an operation that creates or updates a
// stack, unless the validation is disabled or was that of a change set.
func (e *Engine) prepareConflicts(ctx context.Context, s *stackRow, p *prepared) error {
	if s.Status != types.StackStatusCreateInProgress && s.Status != types.StackStatusUpdateInProgress {
		return nil
	}
	op, err := oneRow[operationRow](ctx, e.store.Read(), "id = ?", s.OperationID)
	if err != nil || op == nil || op.Phase != phaseValidate || op.ChangeSetID != "" {
		return err
	}
	var options operationOptions
	if err := decode(op.Options, &options); err != nil || options.DisableValidation || options.Problem != "" || p.problem != "" {
		return err
	}
	in := PlanInput{Next: p.deployments[s.DeploymentID], Types: map[string]*operation.Type{}, References: outside{ctx, e, s}}
	for key, typ := range p.types {
		if key.version == "" {
			in.Types[key.name] = typ
		}
	}
	if in.Resources, err = e.resourcesOf(ctx, s); err != nil {
		return err
	}
	p.conflicts, err = e.nameConflicts(ctx, s, in)
	return err
}
