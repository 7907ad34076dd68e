package operation

import (
	"context"
	"errors"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// A Catalog finds types in the order in which the engines of this server look for them:
//
//  1. registered and activated types,
//  2. those of the stack engine, such as nested stacks, and custom resources,
//  3. those that are simulated because they are named in full,
//  4. those that this server has the service for,
//  5. those that are simulated because a pattern matches their names.
//
// A type of which only the schema was imported is none of these: it is unknown here, and the
// error says what to do about that. All members must be set.
type Catalog struct {
	Registered, Stacks, Custom, Builtin, Simulated Types

	// Preferred reports whether a simulated type is named in full.
	Preferred func(name string) bool
}

// Type implements Types. Of the hints of those who do not know the type, the last one counts,
// but for one of this server's own: that says how to have the type served.
func (c *Catalog) Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	type source struct {
		Types
		knows bool // its hint, if it has one, is the one that counts
	}
	order := []source{{c.Registered, false}, {c.Stacks, false}, {c.Custom, false}, {c.Builtin, true}, {c.Simulated, false}}
	if c.Preferred(name) {
		order[3], order[4] = order[4], order[3]
	}
	hint, final := "", false
	for _, types := range order {
		typ, err := types.Type(ctx, caller, name, version)
		var unknown *UnknownTypeError
		if !errors.As(err, &unknown) {
			return typ, err
		}
		if unknown.Hint != "" && !final {
			hint, final = unknown.Hint, types.knows
		}
	}
	return nil, &UnknownTypeError{Name: name, Hint: hint}
}
