package stack

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// callerModules are the modules of a caller.
type callerModules struct {
	engine *Engine
	caller awswire.Caller
}

// modules returns what expands the modules of a caller's templates.
func (e *Engine) modules(caller awswire.Caller) template.Modules {
	return &module.Expander{Fragments: callerModules{e, caller}}
}

// Fragment implements [module.Fragments].
func (m callerModules) Fragment(ctx context.Context, typeName string) (*module.Fragment, error) {
	if m.engine.config.Fragment == nil {
		return nil, nil
	}
	return m.engine.config.Fragment(ctx, m.caller, typeName)
}

// hasModule reports whether a caller has a module. One that cannot be looked up counts as known:
// its expansion fails then with the reason.
func (e *Engine) hasModule(ctx context.Context, caller awswire.Caller, typeName string) bool {
	f, err := callerModules{e, caller}.Fragment(ctx, typeName)
	return f != nil || err != nil
}

// preprocessError is the refusal of a template after it was accepted. That of one with modules
// says at which stage it was found.
func preprocessError(row *deploymentRow, err error) error {
	err = RefusedTemplate(err)
	var refused *awswire.Error
	if row.Processed != "" || !errors.As(err, &refused) {
		return err
	}
	parsed, parseErr := template.Parse("", []byte(row.Original), template.ParseOptions{})
	if parseErr != nil || parsed.Modules() == nil {
		return err
	}
	return awswire.ValidationErrorf("CloudFormation failed to preprocess the stack: %s", refused.Message)
}

// modulesOf returns the modules that the resources of a processed template come from, as a
// deployment stores them.
func modulesOf(t *template.Template) store.JSON[map[string]*types.ModuleInfo] {
	var found map[string]*types.ModuleInfo
	for _, r := range t.Resources {
		if r.Metadata == nil {
			continue
		}
		if info := plan.ModuleInfo(r.Metadata.Any()); info != nil {
			if found == nil {
				found = map[string]*types.ModuleInfo{}
			}
			found[r.LogicalID] = info
		}
	}
	return store.JSONOf(found)
}

// currentModules returns the modules that the resources of a stack's template come from.
func currentModules(ctx context.Context, db store.DB, s *stackRow) (map[string]*types.ModuleInfo, error) {
	if s.DeploymentID == "" {
		return nil, nil
	}
	var rows []deploymentRow
	err := store.Query(ctx, db, &rows, "SELECT modules FROM stack_deployments WHERE id = ?", s.DeploymentID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].Modules.Get(), nil
}
