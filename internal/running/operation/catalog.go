package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Catalog finds types in the order in which the engines of this server look for them:
//
//  1. registered and activated types,
//  2. those of the stack engine, such as nested stacks, and custom resources,
//  3. those whose resources are made in an emulator,
//  4. those that are simulated because they are named in full,
//  5. those that this server has the service for,
//  6. those that are simulated because a pattern matches their names,
//  7. those of resources that a server with other options made.
//
// A type of which only the schema was imported is none of these: it is unknown here, and the
// error says what to do about that. All members must be set.
//
// A resource stays where it was made: types of the kinds 3 to 7 also find the resources that another of them made.
type Catalog struct {
	Registered, Stacks, Custom, Delegated, Builtin, Simulated Types

	// Left are asked one after the other.
	Left []Types

	// Preferred reports whether a simulated type is named in full.
	Preferred func(name string) bool

	// Where returns Type.Where of a type whose resources may be in an emulator, nil for any other.
	Where func(caller awswire.Caller, name string) func(ctx context.Context, identifier string) (string, error)

	// Served reports whether this server may have the service for a type. Shelved reports whether a resource of such a type is
	// simulated; the identifier may be the last part of the primary one.
	Served  func(name string) bool
	Shelved func(ctx context.Context, caller awswire.Caller, typeName, identifier string) (bool, error)
}

// ErrElsewhere is what a provider returns that keeps a list of its resources, for one that is not in it.
var ErrElsewhere = errors.New("the resource is in another place")

// Type implements Types. Of the hints of those who do not know the type, the last one counts,
// but for one of this server's own: that says how to have the type served.
func (c *Catalog) Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	type source struct {
		Types
		knows bool // its hint, if it has one, is the one that counts
	}
	order := []source{{c.Registered, false}, {c.Stacks, false}, {c.Custom, false}, {c.Delegated, true}, {c.Builtin, true}, {c.Simulated, false}}
	const delegated, builtin, simulated = 3, 4, 5
	simulates := simulated // where the simulation is in the order
	if c.Preferred(name) {
		order[builtin], order[simulated] = order[simulated], order[builtin]
		simulates = builtin
	}
	for _, left := range c.Left {
		order = append(order, source{left, false})
	}
	hint, final := "", false
	for i, from := range order {
		typ, err := from.Type(ctx, caller, name, version)
		var unknown *UnknownTypeError
		if !errors.As(err, &unknown) {
			if err == nil && i >= delegated {
				typ = c.staying(typ, caller, i == simulates, order[builtin].Types, order[simulated].Types)
			}
			return typ, err
		}
		if unknown.Hint != "" && !final {
			hint, final = unknown.Hint, from.knows
		}
	}
	return nil, &UnknownTypeError{Name: name, Hint: hint}
}

// Schema is the schema of a type, nil if the type is unknown or has none.
func (c *Catalog) Schema(ctx context.Context, place awswire.Place, name string) *schema.Schema {
	typ, err := c.Type(ctx, awswire.Caller{Place: place}, name, "")
	if err != nil {
		return nil
	}
	return typ.Schema
}

// staying is a type that finds the resources of other sources, too. simulated says that it comes from the simulation.
func (c *Catalog) staying(typ *Type, caller awswire.Caller, simulated bool, others ...Types) *Type {
	out := *typ
	p := places{lists: typ.Provider}
	p.delegated, _ = c.Delegated.(Provider)
	for _, other := range others {
		if provider, ok := other.(Provider); ok && provider != typ.Provider {
			p.here = append(p.here, provider)
		}
	}
	if typ.Provider != nil && typ.Provider != p.delegated {
		p.here = slices.Insert(p.here, 0, typ.Provider)
	}
	if !simulated {
		p.simulation = c.Simulated
	}
	out.Provider, out.Where = p, c.Where(caller, typ.Name)
	if c.Served(typ.Name) {
		out.Simulates = func(ctx context.Context, caller awswire.Caller, identifier string) (bool, error) {
			return c.Shelved(ctx, caller, typ.Name, identifier)
		}
	}
	return &out
}

// places are where the resources of a type may be.
type places struct {
	delegated Provider   // decides by its list which resources are in emulators
	here      []Provider // the first one creates what is not delegated, and all others have what they made earlier
	lists     Provider

	simulation Types // makes what the first one does not have the service for, if it has the type; nil if it simulates
}

// Call implements [Provider].
func (p places) Call(ctx context.Context, request Request) (Progress, error) {
	if p.delegated != nil {
		if progress, err := p.delegated.Call(ctx, request); !errors.Is(err, ErrElsewhere) {
			return progress, err
		}
	}
	first := Progress{
		Status: types.OperationStatusFailed, ErrorCode: string(invoke.NotFound),
		Message: fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", request.Type, request.Identifier),
	}
	for i, place := range p.here {
		progress, err := place.Call(ctx, request)
		if err == nil && request.Action == invoke.Create && progress.Simulable && p.simulation != nil {
			return p.simulate(ctx, request, progress)
		}
		if err != nil || request.Action == invoke.Create || progress.ErrorCode != string(invoke.NotFound) {
			return progress, err
		}
		if i == 0 {
			first = progress
		}
	}
	return first, nil
}

// simulate makes a create in the simulation that the service of this server does not have, if the simulation has the type.
func (p places) simulate(ctx context.Context, request Request, refused Progress) (Progress, error) {
	_, err := p.simulation.Type(ctx, request.Caller, request.Type, "")
	var unknown *UnknownTypeError
	switch provider, ok := p.simulation.(Provider); {
	case errors.As(err, &unknown) || err == nil && !ok:
		return refused, nil
	case err != nil:
		return Progress{}, err
	default:
		return provider.Call(ctx, request)
	}
}

// ListResources implements [Lister].
func (p places) ListResources(ctx context.Context, request ListRequest) (*Page, error) {
	lister, ok := p.lists.(Lister)
	if !ok {
		return &Page{ErrorCode: string(invoke.InvalidRequest), Message: "The resource type " + request.Type + " has no list handler."}, nil
	}
	return lister.ListResources(ctx, request)
}
