package operation

import (
	"context"
	"errors"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
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
// A resource stays where it was made: a served type also finds the resources that were simulated, and
// the other way around.
type Catalog struct {
	Registered, Stacks, Custom, Delegated, Builtin, Simulated, Left Types

	// Preferred reports whether a simulated type is named in full.
	Preferred func(name string) bool

	// Served reports whether this server may have the service for a type. Shelved reports whether a resource of such a type is
	// simulated; the identifier may be the last part of the primary one.
	Served  func(name string) bool
	Shelved func(ctx context.Context, caller awswire.Caller, typeName, identifier string) (bool, error)
}

// Type implements Types. Of the hints of those who do not know the type, the last one counts,
// but for one of this server's own: that says how to have the type served.
func (c *Catalog) Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	type source struct {
		Types
		knows bool // its hint, if it has one, is the one that counts
	}
	order := []source{{c.Registered, false}, {c.Stacks, false}, {c.Custom, false}, {c.Delegated, true}, {c.Builtin, true}, {c.Simulated, false}, {c.Left, false}}
	const builtin, simulated = 4, 5
	if c.Preferred(name) {
		order[builtin], order[simulated] = order[simulated], order[builtin]
	}
	hint, final := "", false
	for i, types := range order {
		typ, err := types.Type(ctx, caller, name, version)
		var unknown *UnknownTypeError
		if !errors.As(err, &unknown) {
			if err == nil && (i == builtin || i == simulated) {
				typ = c.staying(typ, i == simulated, order[builtin+simulated-i].Types)
			}
			return typ, err
		}
		if unknown.Hint != "" && !final {
			hint, final = unknown.Hint, types.knows
		}
	}
	return nil, &UnknownTypeError{Name: name, Hint: hint}
}

// staying is a type that finds the resources of another source, too. Of the two sources, one simulates.
func (c *Catalog) staying(typ *Type, simulated bool, other Types) *Type {
	second, ok := other.(Provider)
	if !ok {
		return typ
	}
	out := *typ
	places := twoPlaces{first: typ.Provider, second: second}
	if !simulated {
		places.simulation = other
	}
	out.Provider = places
	if c.Served(typ.Name) {
		out.Simulates = func(ctx context.Context, caller awswire.Caller, identifier string) (bool, error) {
			return c.Shelved(ctx, caller, typ.Name, identifier)
		}
	}
	return &out
}

// twoPlaces creates and lists resources in one place, and finds those that are in another one. Creates that the first one
// does not have the service for are made in the simulation, if that has the type.
type twoPlaces struct {
	first, second Provider
	simulation    Types // nil if the first place simulates
}

// Call implements [Provider].
func (p twoPlaces) Call(ctx context.Context, request Request) (Progress, error) {
	progress, err := p.first.Call(ctx, request)
	switch {
	case err != nil:
		return progress, err
	case request.Action == invoke.Create:
		if !progress.Simulable || p.simulation == nil {
			return progress, nil
		}
		_, err := p.simulation.Type(ctx, request.Caller, request.Type, "")
		var unknown *UnknownTypeError
		switch {
		case errors.As(err, &unknown):
			return progress, nil
		case err != nil:
			return Progress{}, err
		}
		return p.second.Call(ctx, request)
	case progress.ErrorCode != string(invoke.NotFound):
		return progress, nil
	}
	found, err := p.second.Call(ctx, request)
	if err != nil || found.ErrorCode != string(invoke.NotFound) {
		return found, err
	}
	return progress, nil
}

// ListResources implements [Lister].
func (p twoPlaces) ListResources(ctx context.Context, request ListRequest) (*Page, error) {
	lister, ok := p.first.(Lister)
	if !ok {
		return &Page{ErrorCode: string(invoke.InvalidRequest), Message: "The resource type " + request.Type + " has no list handler."}, nil
	}
	return lister.ListResources(ctx, request)
}
