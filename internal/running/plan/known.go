package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// Known answers references to the resources of a stack by what was provisioned.
type Known struct {
	Resources map[string]Resource

	// Open are the resources whose values are not known yet: a reference to one of them is
	// unknown. A resource that is neither here nor in Resources is unknown too.
	Open func(logicalID string) bool

	// Outside resolves exports and outputs of other stacks; nil resolves none.
	Outside template.References
}

// An AttributeError reports that a resource does not have the attribute.
type AttributeError struct {
	LogicalID, Type, Attribute string

	reason string // in the words of the service; "" for the usual ones
}

func (e *AttributeError) Error() string {
	if e.reason != "" {
		return e.reason
	}
	return typecheck.AttributeText(e.Type, e.Attribute)
}

// At is the reason of a resource whose template refers to the attribute at a pointer.
func (e *AttributeError) At(pointer string) string {
	if customresource.IsType(e.Type) {
		return e.Error()
	}
	return fmt.Sprintf("[Error] %s: %s", pointer, e)
}

func (k Known) resource(logicalID string) (Resource, bool) {
	if k.Open != nil && k.Open(logicalID) {
		return Resource{}, false
	}
	r, ok := k.Resources[logicalID]
	return r, ok
}

// Ref implements [template.References].
func (k Known) Ref(logicalID string) (any, bool) {
	r, ok := k.resource(logicalID)
	return schema.RefOf(r.Type, r.PhysicalID, r.Model), ok
}

// GetAtt implements [template.References]. What the handler reported counts before what the
// template asked for: a property that the handler does not report has the value of the template.
func (k Known) GetAtt(logicalID, attribute string) (any, bool, error) {
	r, ok := k.resource(logicalID)
	if !ok {
		return nil, false, nil
	}
	if customresource.IsType(r.Type) {
		if value, ok := attributeOf(customresource.Attributes(r.Model), attribute); ok {
			return value, true, nil
		}
		return nil, false, &AttributeError{LogicalID: logicalID, Type: r.Type, Attribute: attribute, reason: customresource.MissingAttribute(r.Model, attribute)}
	}
	for _, values := range []map[string]any{r.Model, r.Properties} {
		if value, ok := attributeOf(values, attribute); ok {
			return value, true, nil
		}
	}
	return nil, false, &AttributeError{LogicalID: logicalID, Type: r.Type, Attribute: attribute}
}

// ImportValue implements [template.References].
func (k Known) ImportValue(name string) (string, bool, error) {
	if k.Outside == nil {
		return "", false, nil
	}
	return k.Outside.ImportValue(name)
}

// StackOutput implements [template.References].
func (k Known) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	if k.Outside == nil {
		return "", false, nil
	}
	return k.Outside.StackOutput(ref)
}

// attributeOf returns the value of a dotted name in a model. A key that contains dots has
// precedence: the outputs of nested stacks and the data of custom resources have such keys.
func attributeOf(model any, name string) (any, bool) {
	switch v := model.(type) {
	case map[string]any:
		if value, ok := v[name]; ok {
			return value, value != nil
		}
		for i := range len(name) {
			if name[i] != '.' {
				continue
			}
			if value, ok := attributeOf(v[name[:i]], name[i+1:]); ok {
				return value, true
			}
		}
	case []any:
		first, rest, more := strings.Cut(name, ".")
		i, err := strconv.Atoi(first)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		if !more {
			return v[i], v[i] != nil
		}
		return attributeOf(v[i], rest)
	}
	return nil, false
}
