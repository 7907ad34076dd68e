package stack

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A driftFinder compares the resources of a stack with what their read handlers return.
type driftFinder struct {
	engine     *Engine
	stack      *stackRow
	deployment *plan.Deployment // nil if it cannot be read any more
}

// driftsOf finds the drift of some resources of a stack, of all without a list, in the order
// of their logical ids.
func (e *Engine) driftsOf(ctx context.Context, s *stackRow, only []string) ([]driftRow, error) {
	rows, err := store.FindAll[resourceRow](ctx, e.store.Read(), "logical_id", "stack_id = ?", s.ID)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(x resourceRow) bool {
		return !x.exists() || len(only) > 0 && !slices.Contains(only, x.LogicalID)
	})
	f := driftFinder{engine: e, stack: s}
	if s.DeploymentID != "" {
		if _, f.deployment, err = e.loadDeployment(ctx, e.store.Read(), s, s.DeploymentID, nil); err != nil {
			return nil, err
		}
	}
	out := make([]driftRow, len(rows))
	err = each(ctx, len(rows), func(ctx context.Context, i int) (err error) {
		out[i], _, err = f.find(ctx, &rows[i])
		return err
	})
	return out, err
}

// find reads a resource and compares it. The model is nil if it could not be read.
func (f driftFinder) find(ctx context.Context, x *resourceRow) (driftRow, map[string]any, error) {
	out := driftRow{
		StackID: x.StackID, LogicalID: x.LogicalID, PhysicalID: x.PhysicalID, Type: x.Type, CheckedAt: f.engine.now(),
		Status: types.StackResourceDriftStatusNotChecked,
	}
	typ, err := f.engine.findType(ctx, f.stack.caller(), x.Type)
	switch {
	case err != nil:
		return out, nil, err
	case typ == nil:
		out.Reason = "Unrecognized resource type"
		return out, nil, nil
	case !readable(typ):
		out.Reason = "The type of the resource cannot be read."
		return out, nil, nil
	}
	progress, err := f.engine.config.Operations.Read(ctx, readRequest(f.stack, x.LogicalID, typ, x.PhysicalID, knownModel(x)))
	switch {
	case err != nil:
		return out, nil, err
	case progress.Status != types.OperationStatusSuccess && progress.ErrorCode == string(invoke.NotFound):
		out.Status = types.StackResourceDriftStatusDeleted
		return out, nil, nil
	case progress.Status != types.OperationStatusSuccess:
		out.Status, out.Reason = types.StackResourceDriftStatusUnknown, cmp.Or(progress.Message, "The resource could not be read.")
		return out, nil, nil
	}
	if progress.Stored {
		out.Reason = reasonNotRead
		return out, progress.Model, nil
	}
	model := progress.Model
	if model == nil {
		model = map[string]any{}
	}
	return out, model, f.compare(ctx, &out, x, typ, model)
}

// readable reports whether the drift of resources of a type can be detected.
func readable(typ *operation.Type) bool {
	if typ.Schema == nil {
		return natureOf(typ.Name).schema != nil
	}
	return typ.Schema.Handler("read") != nil
}

// knownModel is the known model of a resource when it is read.
func knownModel(x *resourceRow) map[string]any {
	if x.Model.IsZero() {
		return map[string]any{}
	}
	return maps.Clone(x.Model.Get())
}

// compare compares the actual resource with its template.
func (f driftFinder) compare(ctx context.Context, out *driftRow, x *resourceRow, typ *operation.Type, model map[string]any) error {
	expected, err := f.expected(ctx, x)
	if err != nil {
		return err
	}
	of := typ.Schema
	if of == nil { // a nested stack
		expected, model, err = f.nested(ctx, x, expected)
		if err != nil {
			return err
		}
		of = nestedSchema()
	}
	model = withoutStackTags(of, expected, model, f.tags(x.LogicalID))
	found, err := drift.Compare(ctx, of, expected, model, drift.Config{})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Status, out.Reason = types.StackResourceDriftStatusUnknown, err.Error()
		return nil
	}
	out.Status = types.StackResourceDriftStatusInSync
	hidden := f.hidden(x)
	var differences []types.PropertyDifference
	for _, d := range found.Differences {
		out.Status = types.StackResourceDriftStatusModified
		shown := types.PropertyDifference{
			PropertyPath: aws.String(d.PropertyPath.String()), DifferenceType: types.DifferenceType(d.DifferenceType),
			ExpectedValue: aws.String(driftText(d.ExpectedValue)), ActualValue: aws.String(driftText(d.ActualValue)),
		}
		if len(d.PropertyPath) > 0 && hidden[d.PropertyPath[0]] {
			shown.ExpectedValue, shown.ActualValue = aws.String(template.Mask), aws.String(template.Mask)
		}
		differences = append(differences, shown)
	}
	slices.SortFunc(differences, comparePaths)
	var failed []string
	for _, p := range found.Problems {
		failed = append(failed, p.Message)
	}
	out.Reason = strings.Join(failed, "; ")
	out.Differences = store.JSONOf(differences)
	shown := schema.Without(of.Recast(expected), slices.Concat(of.WriteOnly, of.ReadOnly))
	out.Expected = encode(masked(shown, hidden))
	out.Actual = encode(masked(overlap(shown, of.Recast(model)), hidden))
	return nil
}

// expected are the properties that the template sets, as they were sent to the handler.
// Secrets are omitted; references to parameters are resolved.
func (f driftFinder) expected(ctx context.Context, x *resourceRow) (map[string]any, error) {
	properties := x.Properties.Get()
	if properties == nil {
		return map[string]any{}, nil
	}
	open, _ := withoutSecrets(properties).(map[string]any)
	resolved, err := template.ResolveDynamic(ctx, any(open), resolver{f.engine.config.Resolve, f.stack.caller()})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		resolved = withoutReferences(open) // the parameter was deleted: there is nothing to compare with
	}
	out, _ := resolved.(map[string]any)
	return out, nil
}

// withoutSecrets leaves out what has a dynamic reference to a secret in it.
func withoutSecrets(v any) any {
	return pruned(v, func(ref template.DynamicReference) bool { return ref.Service != "ssm" })
}

func withoutReferences(v any) any {
	return pruned(v, func(template.DynamicReference) bool { return true })
}

// pruned is a copy without the members of objects whose texts have references of a kind.
func pruned(v any, kind func(template.DynamicReference) bool) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(object))
	for key, value := range object {
		if _, nested := value.(map[string]any); !nested && slices.ContainsFunc(template.DynamicReferences(value), kind) {
			continue
		}
		out[key] = pruned(value, kind)
	}
	return out
}

// hidden are the properties that come from NoEcho parameters.
func (f driftFinder) hidden(x *resourceRow) map[string]bool {
	out := map[string]bool{}
	properties, shown := x.Properties.Get(), x.Shown.Get()
	if shown == nil && f.deployment != nil {
		if r := f.deployment.Resource(x.LogicalID); r != nil && f.deployment.Scope.HasNoEcho(r) {
			for name := range properties {
				out[name] = true
			}
		}
		return out
	}
	for name, value := range properties {
		if shown != nil && !plan.Equal(value, shown[name]) {
			out[name] = true
		}
	}
	return out
}

// masked shows properties without what must not be shown.
func masked(v any, hidden map[string]bool) any {
	object, ok := v.(map[string]any)
	if !ok || len(hidden) == 0 {
		return v
	}
	out := maps.Clone(object)
	for name := range out {
		if hidden[name] {
			out[name] = template.Mask
		}
	}
	return out
}

// overlap is what of an actual value an expected one has: the same members at every depth.
func overlap(expected, actual any) any {
	object, ok := expected.(map[string]any)
	is, also := actual.(map[string]any)
	if !ok || !also {
		return actual
	}
	out := map[string]any{}
	for key, value := range object {
		if found, ok := is[key]; ok {
			out[key] = overlap(value, found)
		}
	}
	return out
}

// tags are those that a resource has from its stack.
func (f driftFinder) tags(logicalID string) map[string]string {
	out := systemTags(f.stack, logicalID, nil)
	if f.deployment != nil {
		maps.Copy(out, f.deployment.Tags)
	}
	return out
}

// withoutStackTags leaves out the tags that a resource has from its stack or the service, and
// not from its properties.
func withoutStackTags(s *schema.Schema, expected, model map[string]any, ofStack map[string]string) map[string]any {
	if len(s.Tagging.Property.Tokens) != 1 {
		return model
	}
	name := s.Tagging.Property.Tokens[0]
	foreign := func(wanted map[string]bool, key string) bool {
		_, own := ofStack[key]
		return !wanted[key] && (own || strings.HasPrefix(key, "aws:"))
	}
	wanted := map[string]bool{}
	model = maps.Clone(model)
	switch tags := model[name].(type) {
	case map[string]any:
		asked, _ := expected[name].(map[string]any)
		for key := range asked {
			wanted[key] = true
		}
		tags = maps.Clone(tags)
		maps.DeleteFunc(tags, func(key string, _ any) bool { return foreign(wanted, key) })
		model[name] = tags
	case []any:
		asked, _ := expected[name].([]any)
		for _, tag := range asked {
			wanted[tagKey(tag)] = true
		}
		model[name] = slices.DeleteFunc(slices.Clone(tags), func(tag any) bool { return foreign(wanted, tagKey(tag)) })
	}
	return model
}

// tagKey is the key of a tag in a list.
func tagKey(tag any) string {
	object, _ := tag.(map[string]any)
	key, _ := plan.Scalar(object["Key"])
	return key
}

// nested compares the parameters of a nested stack with those that its parent set.
func (f driftFinder) nested(ctx context.Context, x *resourceRow, expected map[string]any) (map[string]any, map[string]any, error) {
	asked, _ := expected["Parameters"].(map[string]any)
	want, is := map[string]any{}, map[string]any{}
	for key, value := range asked {
		want[key] = parameterText(value)
	}
	child, err := store.Find[stackRow](ctx, f.engine.store.Read(), "arn = ? AND live", x.PhysicalID)
	if err != nil {
		return nil, nil, err
	}
	if child != nil && child.DeploymentID != "" {
		_, d, err := f.engine.loadDeployment(ctx, f.engine.store.Read(), child, child.DeploymentID, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range d.Parameters.Bound {
			if _, ok := want[b.Key]; !ok {
				continue
			}
			if b.NoEcho {
				delete(want, b.Key)
				continue
			}
			is[b.Key] = b.Value
		}
	}
	if len(want) == 0 {
		return map[string]any{}, map[string]any{}, nil
	}
	return map[string]any{"Parameters": want}, map[string]any{"Parameters": is}, nil
}

// nestedSchema describes what is compared of a nested stack.
var nestedSchema = sync.OnceValue(func() *schema.Schema {
	s, _ := schema.Load("stack.json", []byte(`{
		"typeName": "AWS::CloudFormation::Stack", "description": "A nested stack.", "additionalProperties": false,
		"properties": {
			"Parameters": {"type": "object", "patternProperties": {"^.*$": {"type": "string"}}, "additionalProperties": false},
			"Id": {"type": "string"}
		},
		"readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"]
	}`), schema.Config{})
	return s
})

// driftText is a value in a difference: text unchanged, others as JSON.
func driftText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return plan.JSONText(v)
}
