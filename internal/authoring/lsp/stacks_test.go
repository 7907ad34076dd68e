package lsp

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// TestStackFor: the settings of a client name the stack of a template; of several patterns the longest counts.
func TestStackFor(t *testing.T) {
	s := &server{folders: []string{"/work"}, cfg: Config{}.withDefaults()}
	s.configure(json.RawMessage(`{"stacks": {"shop.yaml": "shop", "services/*/template.yaml": "service", "services/api/template.yaml": "api", "**/old/*.json": "", "a/**/b/**/x.yaml": "deep", "[": "bad"}}`))
	for _, test := range []struct {
		file, want string
		set        bool
	}{
		{"/work/shop.yaml", "shop", true},
		{"/work/any/shop.yaml", "shop", true},
		{"/work/services/web/template.yaml", "service", true},
		{"/work/services/api/template.yaml", "api", true},
		{"/work/services/api/more/template.yaml", "", false},
		{"/other/services/web/template.yaml", "", false},
		{"/work/old/x.json", "", true},
		{"/work/a/b/c/old/x.json", "", true},
		{"/work/a/1/2/b/x.yaml", "deep", true},
		{"/work/a/b/x.yaml", "deep", true},
		{"/work/a/1/x.yaml", "", false},
		{"/work/none.yaml", "", false},
	} {
		if got, set := s.stackFor(test.file); got != test.want || set != test.set {
			t.Errorf("%s: %q, %v", test.file, got, set)
		}
	}
	for _, raw := range []string{"", "null", "1", `{"stacks": {"a": 1}}`} { // a client may send anything
		s := &server{cfg: Config{}.withDefaults()}
		s.configure(json.RawMessage(raw))
		if _, set := s.stackFor("/work/a"); set {
			t.Errorf("%s names a stack", raw)
		}
	}
}

// TestLensSettings: the stack of the settings is the one that a template is compared with; without one there is no lens.
func TestLensSettings(t *testing.T) {
	compared := make(chan string, 1)
	cfg := Config{Templates: func(context.Context, []string) (*Templates, error) {
		return &Templates{Compare: func(_ context.Context, file, stack string, _ []byte) (diag.List, error) {
			compared <- file + " " + stack
			return nil, nil
		}}, nil
	}}
	c := dial(t, cfg)
	if _, err := c.call("initialize", `{"rootUri": "file:///work", "capabilities": {}, "initializationOptions": {"stacks": {"a.yaml": "prod", "b.yaml": ""}}}`); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, want string }{{"a.yaml", "/work/a.yaml prod"}, {"b.yaml", ""}, {"c.yaml", "/work/c.yaml "}} {
		uri := "file:///work/" + test.name
		c.opens(uri, "Resources:\n  A: {Type: AWS::SNS::Topic}\n")
		if _, err := c.call("textDocument/codeLens", `{"textDocument": {"uri": "`+uri+`"}}`); err != nil {
			t.Fatal(err)
		}
		got := ""
		select {
		case got = <-compared:
		default:
		}
		if got != test.want {
			t.Errorf("%s was compared as %q, want %q", test.name, got, test.want)
		}
	}
}
