package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// values answer for the resources of a running stack and for other stacks.
type values struct {
	run *run
	ctx context.Context
	tx  *store.Tx
}

// Ref implements [template.References].
func (v values) Ref(logicalID string) (any, bool) { return v.known().Ref(logicalID) }

// GetAtt implements [template.References]. The name of an attribute may come from a parameter, which no check saw.
func (v values) GetAtt(logicalID, attribute string) (any, bool, error) {
	if typ := v.run.typeOf(logicalID); typ != nil && typecheck.Hides(typ, attribute) {
		return nil, false, &plan.AttributeError{LogicalID: logicalID, Type: v.run.next.Template.Resource(logicalID).Type, Attribute: attribute}
	}
	return v.known().GetAtt(logicalID, attribute)
}

func (v values) known() plan.Known { return plan.Known{Resources: v.run.known()} }

// resource is the row as plans know it.
func (r *resourceRow) resource() plan.Resource {
	return plan.Resource{
		LogicalID: r.LogicalID, Type: r.Type, Version: r.TypeVersion, PhysicalID: r.PhysicalID, Properties: r.Properties.Get(),
		Model: r.Model.Get(), Metadata: r.Metadata.Get(), DependsOn: r.DependsOn.Get(), DeletionPolicy: r.DeletionPolicy,
		UpdateReplacePolicy: r.UpdateReplacePolicy, Status: r.Status,
	}
}

// ImportValue implements [template.References].
func (v values) ImportValue(name string) (string, bool, error) {
	if value, ok := v.run.imports[name]; ok {
		return value, true, nil
	}
	s := v.run.stack
	row, err := store.Find[exportRow](v.ctx, v.tx, "account = ? AND region = ? AND name = ?", s.Account, s.Region, name)
	switch {
	case err != nil:
		return "", false, &lookupError{err}
	case row == nil || row.StackID == s.ID:
		return "", false, template.ServiceError(fmt.Sprintf(ReasonNoExport, name))
	}
	if v.run.imports == nil {
		v.run.imports = map[string]string{}
	}
	v.run.imports[name] = row.Value
	return row.Value, true, nil
}

// StackOutput implements [template.References].
func (v values) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	value, known, err := stackOutputOf(v.ctx, v.tx, v.run.stack, ref)
	var missing template.ServiceError
	if err != nil && !errors.As(err, &missing) {
		err = &lookupError{err}
	}
	return value, known, err
}

// A lookupError reports that the store failed while a value was computed: it says nothing about
// the template.
type lookupError struct{ err error }

func (e *lookupError) Error() string { return e.err.Error() }
func (e *lookupError) Unwrap() error { return e.err }

// unevaluated returns the error of the store or of the context because of which a value could
// not be computed, nil if the template is at fault.
func unevaluated(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var lookup *lookupError
	if errors.As(err, &lookup) {
		return lookup.err
	}
	return nil
}

// stackOutputOf reads an output of another stack.
func stackOutputOf(ctx context.Context, db store.DB, s *stackRow, ref template.StackOutputRef) (string, bool, error) {
	account, region := s.Account, cmp.Or(ref.Region, s.Region)
	if awswire.PartitionOf(region) != awswire.PartitionOf(s.Region) {
		return "", false, template.ServiceError(fmt.Sprintf("Stack [%s] does not exist", ref.StackName))
	}
	if parts := strings.Split(ref.RoleARN, ":"); len(parts) > 4 {
		account = parts[4]
	}
	source, err := store.Find[stackRow](ctx, db, "account = ? AND region = ? AND live AND (name = ? OR arn = ?)", account, region, ref.StackName, ref.StackName)
	switch {
	case err != nil:
		return "", false, err
	case source == nil:
		return "", false, template.ServiceError(fmt.Sprintf("Stack [%s] does not exist", ref.StackName))
	}
	for _, o := range source.Outputs.Get() {
		if o.Key == ref.OutputName {
			return o.Value, true, nil
		}
	}
	return "", false, template.ServiceError(fmt.Sprintf("Output [%s] does not exist in stack [%s]", ref.OutputName, ref.StackName))
}

// systemTags are the tags that the service puts on the resources of a stack; none for types
// that refuse them.
func systemTags(s *stackRow, logicalID string, of *schema.Schema) map[string]string {
	if of != nil && of.Tagging.Declared && !of.Tagging.CloudFormationSystemTags {
		return nil
	}
	return SystemTags(s.Name, s.ARN, logicalID)
}

// SystemTags are the tags that the service puts on a resource of a stack, if its type allows them.
func SystemTags(name, arn, logicalID string) map[string]string {
	return map[string]string{
		"aws:cloudformation:stack-name": name, "aws:cloudformation:stack-id": arn, "aws:cloudformation:logical-id": logicalID,
	}
}

// exists reports whether a row is a resource that an update starts from.
func (r *resourceRow) exists() bool {
	return r != nil && plan.Resource{PhysicalID: r.PhysicalID, Status: r.Status}.Exists()
}
