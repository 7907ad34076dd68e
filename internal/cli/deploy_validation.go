package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

// attributeError is the reason of a stack that names an attribute which a type does not have.
var attributeError = lazyregexp.New(`^\[Error\] (/\S+): (Resource type (\S+) does not support attribute \{(.+)\})\.`)

// attributeFault explains the reason of a failed stack with the template and the schema of the type.
func (c *app) attributeFault(ctx context.Context, r *submit.Remote, graph *stackview.Graph, reason string) []stackview.Fault {
	m := attributeError.FindStringSubmatch(reason)
	if m == nil || graph == nil {
		return nil
	}
	for _, use := range graph.Attributes {
		node := graph.Node(use.LogicalID)
		if use.Attribute != m[4] || node == nil || node.Type != m[3] || use.Path.String() != m[1] {
			continue
		}
		fault := stackview.Fault{Place: use.At.String(), LogicalID: use.Path[1], Message: m[2]}
		if path := use.Path[2:]; path[0] == "Properties" {
			fault.Path = path[1 : len(path)-1].String() // without Fn::GetAtt
		}
		v := &validation{remote: r, graph: graph, schemas: map[string]*schema.Schema{}}
		if s := v.schemaOf(ctx, node.Type); s != nil {
			if hint := typecheck.AttributeHint(s, node.Type, use.Attribute); hint != "" {
				fault.Message += ": " + hint
			}
		}
		return []stackview.Fault{fault}
	}
	return nil
}

// maxFaults bounds how many problems of a validation are shown.
const maxFaults = 20

// templateFaults explains the events of a validation with the template and the schemas of the
// types. Events only say #/A: expected type: Boolean, found: String.
func (c *app) templateFaults(ctx context.Context, r *submit.Remote, graph *stackview.Graph, events []types.OperationEvent) []stackview.Fault {
	v := &validation{remote: r, graph: graph, schemas: map[string]*schema.Schema{}}
	found := []stackview.Fault{}
	for i := range events {
		e := &events[i]
		if e.EventType == types.EventTypeValidationError && e.ValidationFailureMode != types.HookFailureModeWarn && len(found) < maxFaults {
			found = append(found, v.explain(ctx, e))
		}
	}
	slices.SortStableFunc(found, func(a, b stackview.Fault) int { return strings.Compare(a.LogicalID+a.Path, b.LogicalID+b.Path) })
	return slices.Compact(found)
}

// A validation explains the events of a validation.
type validation struct {
	remote  *submit.Remote
	graph   *stackview.Graph
	schemas map[string]*schema.Schema // by type, nil if it is not known
}

func (v *validation) explain(ctx context.Context, e *types.OperationEvent) stackview.Fault {
	id, reason := aws.ToString(e.LogicalResourceId), aws.ToString(e.ValidationStatusReason)
	_, path, _ := strings.Cut(aws.ToString(e.ValidationPath), "/Properties")
	fault := stackview.Fault{LogicalID: id, Path: path, Message: reason}
	if _, text, found := strings.Cut(reason, ": "); found && strings.HasPrefix(reason, "#") {
		fault.Message = text // the place is said already
	}
	node := v.graph.Node(id)
	if node == nil {
		return fault
	}
	fault.Place = node.At.String()
	if at, ok := document.ParsePointer(path); ok {
		fault.Place = node.Place(at, fault.Place)
	}
	s := v.schemaOf(ctx, node.Type)
	if s == nil {
		return fault
	}
	written := node.Properties.Any()
	if written == nil {
		written = map[string]any{}
	}
	for _, violation := range s.Check(s.Recast(written), schema.CheckConfig{}) {
		if violation.ServiceText() == reason {
			fault.Path, fault.Message = violation.Pointer.String(), violation.Message
			fault.Place = node.Place(violation.Pointer, fault.Place)
			if value := node.Properties.Lookup(violation.Pointer); quotable(s, violation, value) {
				fault.Message += ": " + short(string(value.AppendJSON(nil)))
			}
			break
		}
	}
	return fault
}

// quotable reports whether a value of a template is worth quoting, and is not a secret.
func quotable(s *schema.Schema, violation schema.Violation, value *document.Value) bool {
	return value != nil && value.Kind != document.Object && value.Kind != document.Array &&
		violation.Keyword != "additionalProperties" && !s.IsWriteOnly(violation.Pointer)
}

// schemaOf is the schema of a type, nil if the service does not tell it.
func (v *validation) schemaOf(ctx context.Context, typeName string) *schema.Schema {
	if s, known := v.schemas[typeName]; known {
		return s
	}
	v.schemas[typeName] = nil
	ref, err := submit.ParseReference(typeName, types.RegistryTypeResource)
	if err != nil {
		return nil
	}
	out, err := v.remote.Describe(ctx, &ref, "")
	if err != nil || !json.Valid([]byte(aws.ToString(out.Schema))) {
		return nil
	}
	s, _ := schema.Load(typeName, []byte(aws.ToString(out.Schema)), schema.Config{})
	v.schemas[typeName] = s
	return s
}

// invalidTemplate is the error of a template whose resources the validation refused.
func invalidTemplate(faults []stackview.Fault) string {
	return "the template has " + words.Count(len(faults), "problem")
}
