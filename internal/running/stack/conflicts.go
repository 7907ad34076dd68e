package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// lookUpTime bounds how long one resource is looked up. One that takes longer is left
// to the handler that creates it.
const lookUpTime = 10 * time.Second

// nameConflicts finds the resources that a deployment would create and whose names are taken:
// those that the template names and that can be read.
func (e *Engine) nameConflicts(ctx context.Context, s *stackRow, in planInput) ([]validationProblem, error) {
	cleanup, err := store.FindAll[cleanupRow](ctx, e.store.Read(), "id", "stack_id = ?", s.ID)
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
		if was, ok := in.Resources[r.LogicalID]; ok && was.Exists() || !importable(typ) || typecheck.Unvalidated(r.Type) {
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
		if in.Next.Conceals(resources[i], in.Resources) {
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
func (e *Engine) conflictOf(ctx context.Context, s *stackRow, in planInput, r *template.Resource, typ *operation.Type) (*existing, error) {
	within, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	found, err := e.existingOf(within, s, in, r, typ)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return found, err
}

// filledBuckets warns of buckets that a plan deletes although something is in them: the deletion
// would fail.
func (e *Engine) filledBuckets(ctx context.Context, s *stackRow, planned *plan.Plan) ([]validationProblem, error) {
	var out []validationProblem
	for i := range planned.Changes {
		c := &planned.Changes[i]
		removed := c.Action == types.ChangeActionRemove && c.PolicyAction == types.PolicyActionDelete
		replaced := c.Replacement == types.ReplacementTrue && c.PolicyAction == types.PolicyActionReplaceAndDelete
		if e.config.HasObjects == nil || c.Type != bucketType || c.PhysicalID == "" || !removed && !replaced {
			continue
		}
		filled, err := e.config.HasObjects(ctx, s.caller(), c.PhysicalID)
		if err != nil {
			return nil, fmt.Errorf("look into the bucket %s: %w", c.PhysicalID, err)
		}
		if filled {
			out = append(out, validationProblem{
				check: checkBuckets, logicalID: c.LogicalID, typeName: c.Type, path: "/Resources/" + c.LogicalID, reason: reasonFilled,
			})
		}
	}
	return out, nil
}

const bucketType = "AWS::S3::Bucket"

// prepareValidation looks up what an operation names before it begins: what its parameters
// refer to, and whether the names of new resources are taken. The latter was checked with the
// change set if there is one, and is not if the validation is disabled.
func (e *Engine) prepareValidation(ctx context.Context, s *stackRow, p *prepared) error {
	op, err := store.Find[operationRow](ctx, e.store.Read(), "id = ?", s.OperationID)
	if err != nil || op == nil || op.Phase != plan.PhaseValidate && op.Phase != plan.PhaseHooks && op.Phase != plan.PhaseHooked {
		return err
	}
	if p.main, err = e.plannedMain(ctx, s, op, p); err != nil || op.Phase == plan.PhaseHooks {
		return err
	}
	if p.problem, err = e.danglingParameter(ctx, s, p.deployments[s.DeploymentID]); err != nil || op.ChangeSetID != "" {
		return err
	}
	if s.Status != types.StackStatusCreateInProgress && s.Status != types.StackStatusUpdateInProgress {
		return nil
	}
	if options := op.Options.Get(); options.DisableValidation || options.Problem != "" || p.problem != "" {
		return nil
	}
	in := planInput{plan.Input{Next: p.deployments[s.DeploymentID], References: outside{ctx, e, s}}, p.types}
	if in.Resources, err = e.resourcesOf(ctx, s); err != nil {
		return err
	}
	p.conflicts, err = e.nameConflicts(ctx, s, in)
	return err
}
