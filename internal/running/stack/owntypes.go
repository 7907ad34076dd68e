package stack

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The types of the engine itself.
const (
	stackType         = plan.NestedStack // also of the events of a stack
	waitConditionType = "AWS::CloudFormation::WaitCondition"
	handleType        = "AWS::CloudFormation::WaitConditionHandle"
	metadataType      = "AWS::CDK::Metadata"
)

// A nature is what is special about the resources of a type. What carries out operations asks for it, and not for
// the names of types. Most types have the zero value.
type nature struct {
	// call provisions a resource: the type is one of the engine itself.
	call func(e *Engine, ctx context.Context, request operation.Request) (operation.Progress, error)

	// contains means that a resource is a stack. It is complete only with all of its resources, also in Express mode, and an
	// update of it that failed has changed what its properties do not show.
	contains bool

	// waits means that the creation of a resource waits for signals, and does nothing else.
	waits bool

	// handle means that a resource takes the signals that another one waits for.
	handle bool

	// bare means that handlers are not told again what they reported: a deletion gets the properties of the template.
	bare bool

	// schema is that by which resources are imported, if the type has none.
	schema func() *schema.Schema

	// adoptable returns why an existing resource cannot be imported, "" if it can.
	adoptable func(e *Engine, ctx context.Context, s *stackRow, in planInput, c *plan.Change) (problem string, err error)

	// adopt makes a resource that is imported part of a stack, or with nil again of none.
	adopt func(ctx context.Context, tx *store.Tx, identifier string, by *stackRow) error
}

// natureOf returns the nature of the resources of a type.
func natureOf(typeName string) nature {
	n := nature{adoptable: ownedByOther, adopt: adoptNothing}
	switch typeName {
	case stackType:
		n.call, n.contains, n.schema, n.adoptable, n.adopt = (*Engine).callStack, true, stackSchema, (*Engine).stackToNest, nest
	case waitConditionType:
		n.call, n.waits = (*Engine).callWait, true
	case handleType:
		n.call, n.handle = (*Engine).callHandle, true
	case metadataType:
		n.call = (*Engine).callMetadata
	}
	n.bare = customresource.IsType(typeName)
	return n
}

func ownedByOther(e *Engine, ctx context.Context, s *stackRow, _ planInput, c *plan.Change) (string, error) {
	return ownedElsewhere(ctx, e.store.Read(), s, c.Type, c.PhysicalID)
}

func adoptNothing(context.Context, *store.Tx, string, *stackRow) error { return nil }

// OwnTypes are the types that the engine provisions itself.
func (e *Engine) OwnTypes() operation.Types { return ownTypes{e} }

type ownTypes struct{ engine *Engine }

// Type implements [operation.Types].
func (o ownTypes) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	call := natureOf(name).call
	if call == nil {
		return nil, &operation.UnknownTypeError{Name: name}
	}
	return &operation.Type{Name: name, Provider: providerFunc(func(ctx context.Context, request operation.Request) (operation.Progress, error) {
		return call(o.engine, ctx, request)
	})}, nil
}

// A providerFunc is a provider that is a function.
type providerFunc func(ctx context.Context, request operation.Request) (operation.Progress, error)

// Call implements [operation.Provider].
func (f providerFunc) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	return f(ctx, request)
}

// finished is a call that succeeded.
func finished(identifier string, model map[string]any) (operation.Progress, error) {
	return operation.Progress{Status: types.OperationStatusSuccess, Identifier: identifier, Model: model}, nil
}

// refused is a call that failed, in the engine's own words.
func refused(identifier, format string, args ...any) (operation.Progress, error) {
	return operation.Progress{
		Status: types.OperationStatusFailed, Identifier: identifier, ErrorCode: "GeneralServiceException",
		Message: fmt.Sprintf(format, args...), Own: true,
	}, nil
}
