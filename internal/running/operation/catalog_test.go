package operation

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
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
			Left:       []Types{listed{label: "left", names: []string{"all", "left"}}, listed{label: "rest", names: []string{"all", "left", "rest"}}},
			Where:      nowhere,
			Served:     func(string) bool { return false },
			Preferred:  func(name string) bool { return name == "named" || name == "registered" || name == "missing" },
		}
	}
	for name, want := range map[string]string{
		"all": "registered", "registered": "registered", "not-registered": "stacks", "stacks": "stacks", "custom": "custom",
		"served": "builtin", "delegated": "delegated", "served-delegated": "delegated", "named": "simulated", "simulated": "simulated", "left": "left", "rest": "rest",
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

func nowhere(awswire.Caller, string) func(context.Context, string) (string, error) { return nil }

// kept are resources in one place, by identifier.
type kept struct {
	listed
	resources map[string]string // what is said of them
	rows      bool              // it knows which resources are its own
}

func (k *kept) Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	typ, err := k.listed.Type(ctx, caller, name, version)
	if typ != nil {
		typ.Provider = k
	}
	return typ, err
}

func (k *kept) Call(_ context.Context, request Request) (Progress, error) {
	if request.Action == invoke.Create && k.label == "builtin" && request.Identifier == "unserved" {
		return Progress{Status: types.OperationStatusFailed, ErrorCode: "InvalidRequest", Message: k.label, Simulable: true}, nil
	}
	said, found := k.resources[request.Identifier]
	switch {
	case k.rows && !found && (request.Action != invoke.Create || len(k.names) == 0 || request.Callback != nil):
		return Progress{}, ErrElsewhere
	case request.Action != invoke.Create && (!found || said != ""):
		return Progress{Status: types.OperationStatusFailed, ErrorCode: "NotFound", Message: k.label + said}, nil
	}
	return Progress{Status: types.OperationStatusSuccess, Message: k.label}, nil
}

// TestResourcesStay: a resource is found where it was made, whichever source has its type today.
func TestResourcesStay(t *testing.T) {
	shelved := map[string]string{"shelved": "", "twice": ""}
	type options struct{ preferred, delegated, unserved bool }
	catalog := func(o options) *Catalog {
		both, made, served := []string{"both"}, []string{}, []string{}
		if o.delegated {
			made = both
		}
		if !o.unserved {
			served = both
		}
		delegated := &kept{listed{label: "delegated", names: made}, map[string]string{"remote": "", "twice": " lost"}, true}
		return &Catalog{
			Registered: listed{}, Stacks: listed{}, Custom: listed{}, Delegated: delegated, Preferred: func(string) bool { return o.preferred },
			Left:      []Types{&kept{listed: listed{label: "left", names: both}}},
			Builtin:   &kept{listed: listed{label: "builtin", names: served}, resources: map[string]string{"served": "", "twice": ""}},
			Simulated: &kept{listed: listed{label: "simulated", names: served}, resources: shelved},
			Served:    func(name string) bool { return name == "both" },
			Shelved: func(_ context.Context, _ awswire.Caller, typeName, identifier string) (bool, error) {
				_, ok := shelved[identifier]
				return typeName == "both" && ok, nil
			},
			Where: func(awswire.Caller, string) func(context.Context, string) (string, error) {
				return func(context.Context, string) (string, error) { return "somewhere", nil }
			},
		}
	}
	var plain options
	for _, test := range []struct {
		options
		action     invoke.Action
		identifier string
		want       string
	}{
		{plain, invoke.Create, "new", "builtin"}, {options{preferred: true}, invoke.Create, "new", "simulated"},
		{plain, invoke.Update, "served", "builtin"}, {options{preferred: true}, invoke.Update, "served", "builtin"},
		{plain, invoke.Delete, "shelved", "simulated"}, {options{preferred: true}, invoke.Read, "shelved", "simulated"},
		{plain, invoke.Read, "nowhere", "builtin NotFound"}, {options{preferred: true}, invoke.Read, "nowhere", "simulated NotFound"},
		{plain, invoke.Update, "remote", "delegated"}, {options{delegated: true}, invoke.Create, "new", "delegated"},
		{options{delegated: true}, invoke.Create, "begun", "builtin"}, {options{delegated: true, preferred: true}, invoke.Create, "begun", "simulated"},
		{options{delegated: true}, invoke.Delete, "shelved", "simulated"}, {options{delegated: true, preferred: true}, invoke.Delete, "served", "builtin"},
		{options{delegated: true, unserved: true}, invoke.Delete, "served", "builtin"}, // its own type has gone
		{options{unserved: true}, invoke.Update, "remote", "delegated"}, {options{unserved: true}, invoke.Create, "new", "left"},
		// What an emulator has lost is not what has the same name here.
		{options{delegated: true}, invoke.Delete, "twice", "delegated lost NotFound"},
		{plain, invoke.Create, "unserved", "simulated"}, {options{preferred: true}, invoke.Create, "unserved", "simulated"},
	} {
		typ, err := catalog(test.options).Type(t.Context(), awswire.Caller{}, "both", "")
		if err != nil {
			t.Fatal(err)
		}
		request := Request{Action: test.action, Identifier: test.identifier, Type: "both"}
		if test.identifier == "begun" {
			request.Callback = []byte("{}")
		}
		progress, err := typ.Provider.Call(t.Context(), request)
		if got := strings.TrimSpace(progress.Message + " " + progress.ErrorCode); err != nil || got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
		if where, err := typ.Where(t.Context(), test.identifier); err != nil || where != "somewhere" {
			t.Errorf("%s, %v", where, err)
		}
		_, is := shelved[test.identifier]
		if simulated, err := typ.Simulates(t.Context(), awswire.Caller{}, test.identifier); err != nil || simulated != is {
			t.Errorf("%s is simulated: %t, %v", test.identifier, simulated, err)
		}
	}
	unmatched := catalog(plain)
	unmatched.Simulated = &kept{listed: listed{label: "simulated"}, resources: shelved}
	typ, err := unmatched.Type(t.Context(), awswire.Caller{}, "both", "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := typ.Provider.Call(t.Context(), Request{Action: invoke.Create, Identifier: "unserved", Type: "both"}); err != nil || p.Message != "builtin" || !p.Simulable {
		t.Errorf("without a simulation of the type: %+v, %v", p, err)
	}
}
