package stack

import (
	"context"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A declared resource is what is shown of a resource of a template. It is recorded with the deployment, because
// reading a large template takes longer than all else that a page shows.
type declared struct {
	Type  string   `json:"type"`
	Path  string   `json:"path,omitempty"`  // of its construct, see constructPath
	Needs []string `json:"needs,omitempty"` // logical ids of the resources that it depends on

	Context *template.Context `json:"context,omitempty"`
}

// wholeTemplate is the key of what a template says of itself, beside the logical ids of its resources.
const wholeTemplate = ""

// declaredOf are the active resources of a deployment, by logical id, and its template.
func declaredOf(d *plan.Deployment) store.JSON[map[string]declared] {
	out := map[string]declared{}
	for _, r := range d.Scope.ActiveResources() {
		out[r.LogicalID] = declared{Type: r.Type, Path: constructPath(r), Needs: d.Scope.Needs(r), Context: r.Context()}
	}
	if context := d.Template.Context(); context != nil {
		out[wholeTemplate] = declared{Context: context}
	}
	return store.JSONOf(out)
}

// constructPath is the path of the construct that made a resource, "" if its metadata has none. It is read as written: a
// value with parameters could contain a secret.
func constructPath(r *template.Resource) string {
	if path := r.Metadata.Get("aws:cdk:path"); path != nil && path.Kind == document.String {
		return path.Text
	}
	return ""
}

// declared returns the active resources of a deployment as recorded, and the context of its template. There are none if
// the template was not processed.
func (e *Engine) declared(ctx context.Context, deploymentID string) (map[string]declared, *template.Context, error) {
	if deploymentID == "" {
		return nil, nil, nil
	}
	var rows []deploymentRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT resources FROM stack_deployments WHERE id = ?", deploymentID)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	resources := rows[0].Resources.Get()
	context := resources[wholeTemplate].Context
	delete(resources, wholeTemplate)
	return resources, context, nil
}
