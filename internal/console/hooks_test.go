package console

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/store"
)

const arnOfHook = "arn:aws:cloudformation:us-east-1:000000000000:type/hook/Acme-Security-Encryption"

// fakeHooks are results of two hooks on the stack "shop" and its change set "bigger".
type fakeHooks struct{}

func (fakeHooks) Results(_ context.Context, q hook.Query) ([]hook.Result, error) {
	all := []hook.Result{
		{
			ID: "1", TypeName: "Acme::Security::Encryption", TypeARN: arnOfHook, Version: "00000001", FailureMode: types.HookFailureModeFail,
			Status: types.HookStatusHookCompleteFailed, Reason: "<u>Billing</u> has no key", TargetKind: hook.Resource, TargetName: "AWS::S3::Bucket", LogicalID: "Billing", Action: "CREATE",
			StackID: arnOfStack("shop"), InvokedAt: store.At(then), EndedAt: store.At(then.Add(time.Second)),
			Annotations: "[" + strings.Repeat(`{"AnnotationName": "more", "Status": "PASSED"},`, 24) + `{"AnnotationName": "last", "Status": "FAILED"}]`,
		},
		{
			ID: "2", TypeName: "Acme::Security::Encryption", TypeARN: arnOfHook, Version: "00000001", FailureMode: types.HookFailureModeFail,
			Status: types.HookStatusHookCompleteSucceeded, TargetKind: hook.Resource, TargetName: "AWS::SQS::Queue", LogicalID: "Orders", Action: "UPDATE",
			StackID: arnOfStack("shop"), ChangeSetID: arnOfSet("bigger"), InvokedAt: store.At(then),
			Annotations: `[{"AnnotationName": "key rotation", "Status": "SKIPPED", "StatusMessage": "no <i>key"}]`,
		},
		{
			ID: "3", TypeName: "Private::Lambda::Check", OriginalName: hook.LambdaHook, Version: "00000001", FailureMode: types.HookFailureModeWarn,
			Status: types.HookStatusHookFailed, Reason: "timed out", TargetKind: hook.Stack, TargetName: "STACK", TargetID: arnOfStack("shop"), Action: "UPDATE",
			StackID: arnOfStack("shop"), InvokedAt: store.At(then),
		},
	}
	var out []hook.Result
	for _, r := range all {
		if (q.StackID == "" || q.StackID == r.StackID) && (q.ChangeSetID == "" || q.ChangeSetID == r.ChangeSetID) && (q.TypeARN == "" || q.TypeARN == r.TypeARN) && (!q.Refused || r.Refused()) {
			out = append(out, r)
		}
	}
	return out, nil
}

func TestHookPages(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	const typePage = "/types/HOOK/Acme::Security::Encryption"
	for _, test := range []struct {
		path      string
		want, not []string
	}{
		{"/stacks/shop/hooks", []string{"did not pass", "&lt;u&gt;Billing", ">Orders<", "key rotation", "no &lt;i&gt;key", "5 more annotations", "warn mode", "timed out", `href="/_cfn/types/HOOK/Acme::Security::Encryption`}, []string{"<u>Billing", "HOOK/Private"}},
		{"/stacks/growing/hooks", []string{"No hook has seen this stack"}, nil},
		{"/stacks/shop/changes/bigger", []string{">Hooks<", ">Orders<", "passed"}, []string{"timed out"}},
		{"/stacks/shop/changes/empty", nil, []string{">Orders<"}},
		{typePage, []string{typePage + "/results"}, nil},
		{typePage + "/results", []string{">Billing<", "All results", ">stack<"}, []string{">Orders<", "timed out"}},
		{typePage + "/results?all=1", []string{">Billing<", ">Orders<", "Only what it refused"}, []string{"timed out"}},
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
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
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
		{"/?kind=HOOK", 200, "Private::<wbr>Lambda::<wbr>Check", nil},
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
