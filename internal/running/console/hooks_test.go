package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

func TestHookPages(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
	const typePage = "/types/HOOK/Acme::Security::Encryption"
	for _, test := range []struct {
		path      string
		want, not []string
	}{
		{"/stacks/shop/hooks", []string{"did not pass", "&lt;u&gt;Billing", ">Orders<", "key rotation", "no &lt;i&gt;key", "5 more annotations", "warn mode", "timed out", `href="/_cfn/types/HOOK/Acme::Security::Encryption`}, []string{"<u>Billing", "HOOK/Private"}},
		{"/stacks/growing/hooks", []string{"No hook has been called for this stack"}, nil},
		{"/stacks/orders/changes/bigger", []string{">Hooks<", ">Orders<", "passed"}, []string{"timed out"}},
		{"/stacks/orders/changes/empty", nil, []string{">Orders<"}},
		{typePage, []string{typePage + "/results"}, nil},
		{typePage + "/results", []string{">Billing<", "All results", ">stack<"}, []string{">Orders<", "timed out"}},
		{typePage + "/results?all=1", []string{">Billing<", ">Orders<", "Only refusals"}, []string{"timed out"}},
		{"/types/MODULE/Acme::Net::Vpc::MODULE", nil, []string{"/results"}},
	} {
		w := get(t, c, test.path)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", test.path, w.Code)
		}
		for _, want := range test.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q", test.path, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s has %q", test.path, not)
			}
		}
	}
}

// TestManagedHook: a Lambda Hook has the pages of what is known of it.
func TestManagedHook(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{Dir: fixtures.TempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	managed := &hook.ManagedHooks{Store: s}
	if err := managed.Create(t.Context(), home, hook.Managed{Kind: hook.LambdaHook, Alias: "Private::Lambda::Check"}); err != nil {
		t.Fatal(err)
	}
	c := New(Config{Registry: registry.New(registry.Config{Store: s, ManagedHooks: managed}), Now: time.Now})
	defer c.Close()
	const path = "/types/HOOK/Private::Lambda::Check"
	for _, test := range []struct {
		path   string
		status int
		want   string
		not    []string
	}{
		{"/types?kind=HOOK", 200, "Private::<wbr>Lambda::<wbr>Check", nil},
		{path, 200, "AWS::<wbr>Hooks::<wbr>LambdaHook", []string{"Deactivate", path + "/schema", path + "/calls", path + "/logs", "lambda/"}},
		{path + "/schema", 404, "The schema of AWS::Hooks::LambdaHook is not published.", nil},
		{path + "/schema.json", 404, "The schema of AWS::Hooks::LambdaHook is not published.", nil},
	} {
		w := get(t, c, test.path)
		page := regexp.MustCompile(`(?s)<main.*</main>`).FindString(w.Body.String())
		if w.Code != test.status || !strings.Contains(page, test.want) {
			t.Errorf("%s: %d\n%s", test.path, w.Code, page)
		}
		for _, not := range test.not {
			if strings.Contains(page, not) {
				t.Errorf("%s: has %q\n%s", test.path, not, page)
			}
		}
	}
}
