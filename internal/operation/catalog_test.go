package operation

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
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
			Delegated:  listed{label: "delegated", names: []string{"all", "not-registered", "delegated", "served-delegated"}, hint: "delegate it"},
			Builtin:    listed{label: "builtin", names: []string{"all", "not-registered", "served", "served-delegated", "named"}},
			Simulated:  listed{label: "simulated", names: []string{"all", "not-registered", "served", "named", "simulated"}, hint: "simulate it"},
			Left:       listed{label: "left", names: []string{"all", "left"}},
			Served:     func(string) bool { return false },
			Preferred:  func(name string) bool { return name == "named" || name == "registered" || name == "missing" },
		}
	}
	for name, want := range map[string]string{
		"all": "registered", "registered": "registered", "not-registered": "stacks", "stacks": "stacks", "custom": "custom",
		"served": "builtin", "delegated": "delegated", "served-delegated": "delegated", "named": "simulated", "simulated": "simulated", "left": "left",
	} {
		typ, err := catalog(nil).Type(t.Context(), awswire.Caller{}, name, "-1")
		if err != nil || typ.Version != want+"-1" {
			t.Errorf("%s: %+v, %v, want that of %s", name, typ, err, want)
		}
	}
	for _, name := range []string{"missing", "unknown"} {
		_, err := catalog(nil).Type(t.Context(), awswire.Caller{}, name, "")
		var unknown *UnknownTypeError
		if !errors.As(err, &unknown) || unknown.Name != name || unknown.Hint != "delegate it" {
			t.Errorf("%s: %#v", name, err)
		}
	}
	// A source that cannot answer is not passed over: its type may be the one that counts.
	away := errors.New("the database is away")
	if typ, err := catalog(away).Type(t.Context(), awswire.Caller{}, "served", ""); !errors.Is(err, away) {
		t.Errorf("%+v, %v", typ, err)
	}
}

// kept are resources in one place, by identifier.
type kept struct {
	listed
	resources map[string]bool
}

func (k kept) Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	typ, err := k.listed.Type(ctx, caller, name, version)
	if typ != nil {
		typ.Provider = k
	}
	return typ, err
}

func (k kept) Call(_ context.Context, request Request) (Progress, error) {
	if request.Action == invoke.Create && k.label == "builtin" && request.Identifier == "unserved" {
		return Progress{Status: types.OperationStatusFailed, ErrorCode: "InvalidRequest", Message: k.label, Simulable: true}, nil
	}
	if request.Action != invoke.Create && !k.resources[request.Identifier] {
		return Progress{Status: types.OperationStatusFailed, ErrorCode: "NotFound", Message: k.label}, nil
	}
	return Progress{Status: types.OperationStatusSuccess, Message: k.label}, nil
}

// TestResourcesStay: a resource is found where it was made, whichever source has its type today.
func TestResourcesStay(t *testing.T) {
	names := []string{"both"}
	shelved := map[string]bool{"shelved": true}
	catalog := func(preferred bool) *Catalog {
		return &Catalog{
			Registered: listed{}, Stacks: listed{}, Custom: listed{}, Delegated: listed{}, Left: listed{}, Preferred: func(string) bool { return preferred },
			Served: func(name string) bool { return name == "both" },
			Shelved: func(_ context.Context, _ awswire.Caller, typeName, identifier string) (bool, error) {
				return typeName == "both" && shelved[identifier], nil
			},
			Builtin:   kept{listed{label: "builtin", names: names}, map[string]bool{"served": true}},
			Simulated: kept{listed{label: "simulated", names: names}, shelved},
		}
	}
	for _, test := range []struct {
		preferred  bool
		action     invoke.Action
		identifier string
		want       string
	}{
		{false, invoke.Create, "new", "builtin"}, {true, invoke.Create, "new", "simulated"},
		{false, invoke.Create, "unserved", "simulated"}, {true, invoke.Create, "unserved", "simulated"},
		{false, invoke.Update, "served", "builtin"}, {true, invoke.Update, "served", "builtin"},
		{false, invoke.Delete, "shelved", "simulated"}, {true, invoke.Read, "shelved", "simulated"},
		{false, invoke.Read, "nowhere", "builtin NotFound"}, {true, invoke.Read, "nowhere", "simulated NotFound"},
	} {
		typ, err := catalog(test.preferred).Type(t.Context(), awswire.Caller{}, "both", "")
		if err != nil {
			t.Fatal(err)
		}
		progress, err := typ.Provider.Call(t.Context(), Request{Action: test.action, Identifier: test.identifier, Type: "both"})
		if got := strings.TrimSpace(progress.Message + " " + progress.ErrorCode); err != nil || got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
		if simulated, err := typ.Simulates(t.Context(), awswire.Caller{}, test.identifier); err != nil || simulated != shelved[test.identifier] {
			t.Errorf("%s is simulated: %t, %v", test.identifier, simulated, err)
		}
	}
	unmatched := catalog(false)
	unmatched.Simulated = kept{listed{label: "simulated"}, shelved}
	typ, err := unmatched.Type(t.Context(), awswire.Caller{}, "both", "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := typ.Provider.Call(t.Context(), Request{Action: invoke.Create, Identifier: "unserved", Type: "both"}); err != nil || p.Message != "builtin" || !p.Simulable {
		t.Errorf("without a simulation of the type: %+v, %v", p, err)
	}
}
