package stack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// stackSchema says what an existing stack is imported by: nested stacks have no schema otherwise.
var stackSchema = sync.OnceValue(func() *schema.Schema {
	s, _ := schema.Load("", []byte(`{
		"typeName": "AWS::CloudFormation::Stack", "description": "A nested stack.", "additionalProperties": true,
		"properties": {"StackId": {"type": "string"}}, "readOnlyProperties": ["/properties/StackId"], "primaryIdentifier": ["/properties/StackId"],
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
	}`), schema.Config{})
	return s
})

// importSchema is the schema by which resources of a type are imported, nil for none.
func importSchema(typ *operation.Type) *schema.Schema {
	if typ != nil && typ.Schema == nil {
		if own := natureOf(typ.Name).schema; own != nil {
			return own()
		}
	}
	return schemaOf(typ)
}

// schemaOf is the schema of a type, nil for a type that is unknown or has none.
func schemaOf(typ *operation.Type) *schema.Schema {
	if typ == nil {
		return nil
	}
	return typ.Schema
}

// stackToNest returns why an existing stack cannot become a nested stack, "" if it can.
func (e *Engine) stackToNest(ctx context.Context, s *stackRow, input planInput, c *plan.Change) (string, error) {
	child, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", c.PhysicalID)
	switch {
	case err != nil || child == nil:
		return "", err // it was found a moment ago
	case child.ID == s.ID || child.ARN == s.RootID:
		return fmt.Sprintf("Stack %s cannot be nested in itself.", child.ARN), nil
	case child.ParentID != "":
		return fmt.Sprintf("%s already exists in stack %s", child.ARN, child.ParentID), nil
	case !slices.Contains(updatable, child.Status):
		return refuse("state", child.ARN, child.Status).Message, nil
	}
	children, err := store.Exists(ctx, e.store.Read(), "FROM stacks WHERE parent_id = ? AND live", child.ARN)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for nested stacks: %w", err)
	case children:
		return "Stacks to be imported cannot have any child stacks.", nil
	}
	return e.nestsAsIs(ctx, s, child, input, c)
}

// nestsAsIs returns how the definition of a nested stack differs from the stack that is to become it, "" if it
// does not: an import changes nothing.
func (e *Engine) nestsAsIs(ctx context.Context, s, child *stackRow, input planInput, c *plan.Change) (string, error) {
	value, err := input.Next.Scope.Properties(input.Next.Resource(c.LogicalID), plan.Known{Resources: input.Resources, Outside: input.References})
	if err != nil {
		return "", RefusedTemplate(err)
	}
	properties, _ := value.(map[string]any)
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", child.DeploymentID)
	if err != nil || row == nil {
		return "", err
	}
	nested := nestedInput(operation.Request{Desired: properties}, nil)
	body, err := e.TemplateText(ctx, s.caller(), nil, nested.URL)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(body) != strings.TrimSpace(row.Original) {
		return fmt.Sprintf("The template at the TemplateURL of %s differs from that of stack %s.", c.LogicalID, child.ARN), nil
	}
	bound := row.Parameters.Get()
	for _, p := range nested.Parameters {
		if is, ok := bound.Get(*p.ParameterKey); !ok || is.Value != *p.ParameterValue {
			return fmt.Sprintf("The parameter %s of %s differs from that of stack %s.", *p.ParameterKey, c.LogicalID, child.ARN), nil
		}
	}
	return "", nil
}

// nest makes an existing stack a nested stack of another one, or with nil one of its own again.
func nest(ctx context.Context, tx *store.Tx, arn string, parent *stackRow) error {
	child, err := store.Find[stackRow](ctx, tx, "arn = ?", arn)
	if err != nil || child == nil {
		return err
	}
	child.ParentID, child.RootID = "", ""
	if parent != nil {
		child.ParentID, child.RootID = parent.ARN, cmp.Or(parent.RootID, parent.ARN)
	}
	return store.Swap(ctx, tx, child, &child.RowVersion)
}
