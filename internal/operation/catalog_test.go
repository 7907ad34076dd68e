package operation

import (
	"context"
	"errors"
	"testing"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// listed are the types of one source: their hint, or an error instead, for all others.
type listed struct {
	names []string
	hint  string
	err   error
	label string
}

func (l listed) Type(_ context.Context, _ awswire.Caller, name, version string) (*Type, error) {
	for _, known := range l.names {
		if known == name {
			return &Type{Name: name, Version: l.label + version}, nil
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return nil, &UnknownTypeError{Name: name, Hint: l.hint}
}

func TestCatalogOrder(t *testing.T) {
	catalog := func(err error) *Catalog {
		return &Catalog{
			Registered: listed{label: "registered", names: []string{"all", "registered"}, hint: "register it", err: err},
			Stacks:     listed{label: "stacks", names: []string{"all", "not-registered", "stacks"}},
			Custom:     listed{label: "custom", names: []string{"all", "not-registered", "custom"}},
			Builtin:    listed{label: "builtin", names: []string{"all", "not-registered", "served", "named"}},
			Simulated:  listed{label: "simulated", names: []string{"all", "not-registered", "served", "named", "simulated"}, hint: "simulate it"},
			Preferred:  func(name string) bool { return name == "named" || name == "registered" || name == "missing" },
		}
	}
	for name, want := range map[string]string{
		"all": "registered", "registered": "registered", "not-registered": "stacks", "stacks": "stacks", "custom": "custom",
		"served": "builtin", "named": "simulated", "simulated": "simulated",
	} {
		typ, err := catalog(nil).Type(t.Context(), awswire.Caller{}, name, "-1")
		if err != nil || typ.Version != want+"-1" {
			t.Errorf("%s: %+v, %v, want that of %s", name, typ, err, want)
		}
	}
	for _, name := range []string{"missing", "unknown"} {
		_, err := catalog(nil).Type(t.Context(), awswire.Caller{}, name, "")
		var unknown *UnknownTypeError
		if !errors.As(err, &unknown) || unknown.Name != name || unknown.Hint != "simulate it" {
			t.Errorf("%s: %#v", name, err)
		}
	}
	// A source that cannot answer is not passed over: its type may be the one that counts.
	away := errors.New("the database is away")
	if typ, err := catalog(away).Type(t.Context(), awswire.Caller{}, "served", ""); !errors.Is(err, away) {
		t.Errorf("%+v, %v", typ, err)
	}
}
