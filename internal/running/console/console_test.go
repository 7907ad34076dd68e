package console

import (
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"go.uber.org/goleak"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"), goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(made.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// get asks for a page below the prefix.
func get(t testing.TB, c http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:4566"+Prefix+path, nil))
	return w
}

const clusterPath = "/types/RESOURCE/MongoDB::Atlas::Cluster"

// allPages are addresses of every page.
var allPages = []string{
	"/", "/?in=123456789012/us-east-1", "/deploy", "/deploy?stack=shop", "/types", "/types?q=clus", "/types?kind=HOOK", "/types?shelf=public", "/types?shelf=activated", "/types?deprecated=1", "/types?in=123456789012/us-east-1",
	clusterPath, clusterPath + "/schema", clusterPath + "/schema?at=/ReplicationSpecs/*/AdvancedRegionConfigs", clusterPath + "/schema?q=region",
	clusterPath + "/compare", clusterPath + "/compare?from=00000003&to=00000002", clusterPath + "/logs", clusterPath + "/logs?q=error",
	"/types/HOOK/Acme::Security::Encryption", "/types/HOOK/Acme::Security::Encryption/schema", "/types/MODULE/Acme::Net::Vpc::MODULE", "/types/MODULE/Acme::Net::Vpc::MODULE/schema",
	"/types/RESOURCE/Acme::Mail::List", "/types/RESOURCE/Example::Mail::List?publisher=" + publisher, "/types/RESOURCE/Example::Chat::Room?publisher=" + publisher, "/types/RESOURCE/Acme::Queue::Thing",
	"/types/RESOURCE/Acme::Tasks::Definition/schema", "/registrations", "/tests", "/tests?kind=RESOURCE&type=MongoDB::Atlas::Cluster", "/tests/run-1", "/tests/run-2", "/logs", "/logs?group=/aws/lambda/other", "/contract",
	"/calls", "/calls?failed=1", "/calls?q=cluster&action=READ", callPath(4), callPath(24), "/calls/hook-call", "/calls/stack-call", clusterPath + "/calls?stack=x&resource=y", "/calls/aliased-call", clusterPath + "/calls", clusterPath + "/calls?v=00000003",
	streamPath, streamPath + "&q=error",
	"/stacks", "/stacks?deleted=1", "/stacks?q=none", "/stacks/shop", "/stacks/shop/timeline", "/stacks/growing/timeline", "/stacks/shop/events", "/stacks/shop/events?failed=1", "/stacks/shop/outputs", "/stacks/shop/template", "/stacks/shop/template?stage=processed",
	"/stacks/shop/hooks", "/stacks/growing/hooks", "/stacks/orders", "/types/HOOK/Acme::Security::Encryption/results", "/types/HOOK/Acme::Security::Encryption/results?all=1",
	"/stacks/shop/changes", "/stacks/orders/changes", "/stacks/orders/changes/bigger", "/stacks/orders/changes/empty", "/stacks/growing/changes", "/stacks/orders/drift", "/stacks/growing/drift", "/requests", "/requests?in=123456789012/us-east-1",
	"/stack-sets", "/stack-sets?deleted=1", "/stack-sets/settings", "/stack-sets/many", "/stack-sets/empty", "/stacks/growing", "/stacks/growing/events", "/stacks/growing/outputs", "/stacks/growing/template",
}

// callPath is the page of a call of the cluster.
func callPath(n int) string { return fmt.Sprintf("/calls/6f5f0c2e-0c7c-4f0e-9df5-%012d", n) }

const streamPath = "/logs?group=%2Faws%2Flambda%2Fmongodb-atlas-cluster-logs&stream=2026%2F11%2F20%2F%5B1%5D&since=1795167000500"

func TestPages(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
	for _, test := range []struct {
		path   string
		status int
		want   []string
		not    []string
	}{
		{"/", 200, []string{">Overview<", "growing", "create", "MongoDB::<wbr>Atlas::<wbr>Cluster", "contract tests", "did not reach the state IDLE", ">create failed<", `data-changes="/_cfn/stacks/events"`}, []string{"Nothing has been deployed"}},
		{"/types", 200, []string{"MongoDB::<wbr>Atlas::<wbr>Cluster", "Acme::<wbr>Tasks::<wbr>Definition", "starting the handler", `placeholder="Search by name"`, `data-changes="/_cfn/events"`, "000000000000 · eu-central-1"}, []string{"Example::<wbr>Mail::<wbr>List</a>", "cfn env"}},
		{"/registrations", 200, []string{"13 min ago", "took 2.0 s", "<code>00000004</code>"}, nil},
		{clusterPath, 200, []string{"published as 1.4.0"}, nil},
		{"/types?q=CLUSTER", 200, []string{"MongoDB::<wbr>Atlas"}, []string{"Acme::<wbr>Tasks"}},
		{"/types?q=zzz", 200, []string{"No types match <q>zzz</q>"}, nil},
		{"/types?kind=MODULE", 200, []string{"Acme::<wbr>Net"}, []string{"Acme::<wbr>Tasks"}},
		{"/types?shelf=activated", 200, []string{"alias of Example::Mail::List"}, []string{"Acme::<wbr>Net"}},
		{"/types?shelf=public", 200, []string{"publisher=" + publisher}, []string{"Acme::<wbr>Net"}},
		{"/types?kind=THING", 400, []string{"Unknown filter"}, nil},
		{"/types?next=nonsense", 400, []string{"The page token in the address is invalid"}, nil},
		{"/?in=123456789012/eu-west-1", 200, []string{"Nothing has been deployed", `eval &#34;$(cfn env)&#34;`, "cfn deploy template.yaml"}, nil},
		{"/deploy?stack=shop", 200, []string{`value="shop"`, "<code>Password</code>", "CAPABILITY_IAM", "keep the template of the stack"}, nil},
		{"/deploy?stack=none", 404, nil, nil},
		{"/types?in=somewhere", 400, []string{"Invalid account or region"}, nil},
		{"/types?in=123456789012/us-east-1", 200, []string{`eval &#34;$(cfn env)&#34;`, `aria-current="page" class="on">Types`, "cfn submit --set-default", `value="123456789012/us-east-1" selected`}, nil},
		{clusterPath, 200, []string{"00000004", "not tested", "Make default", "Execution role", "mongodb-<wbr>atlas-", "resolve:secretsmanager", "href=\"https://github.com/mongodb/", `rel="noopener noreferrer external"`}, []string{"geheim", "javascript:", "Activate"}},
		{clusterPath + "?v=00000009", 404, []string{"Type not found", "TypeNotFoundException"}, nil},
		{"/types/RESOURCE/No::Such::Type", 404, []string{"The type &#39;No::Such::Type&#39; cannot be found."}, nil},
		{"/types/THING/No::Such::Type", 404, []string{"Unknown kind of type"}, nil},
		{"/types/RESOURCE/Acme::Queue::Thing", 200, []string{"No version of this type has been registered yet", "thing.zip!/schema.json:12:3", "validating the package"}, []string{"Deployment is currently"}},
		{"/types/RESOURCE/Example::Chat::Room?publisher=" + publisher, 200, []string{"Activate in this account"}, []string{"Versions of"}},
		{"/types/RESOURCE/Example::Mail::List?publisher=" + publisher, 200, nil, []string{"Activate in this account", "Versions of"}},
		{"/types/RESOURCE/Acme::Mail::List", 200, []string{"Deactivate", "Original name"}, []string{"Activate in this account", "Deregister"}},
		{clusterPath + "/schema", 200, []string{"primary identifier", "create-only", "read-only", "required", `id="p-ReplicationSpecs.*.AdvancedRegionConfigs.*.RegionName"`, `<option value="00000003"`, "secretsmanager:GetSecretValue", `<i class="k">&#34;typeName&#34;</i>`}, nil},
		{clusterPath + "/schema?at=/ReplicationSpecs/*/AdvancedRegionConfigs", 200, []string{"list of advancedRegionConfig", "RegionName", `aria-current="true"`}, []string{"BackupEnabled"}},
		{clusterPath + "/schema?at=/Nothing", 404, []string{"has no property /Nothing"}, nil},
		{clusterPath + "/schema?at=Nothing", 404, []string{"has no property Nothing"}, nil},
		{clusterPath + "/schema?q=regionname", 200, []string{"1 property with", "RegionName"}, nil},
		{clusterPath + "/compare", 200, []string{"The two schemas are equivalent", `<option value="00000003" selected`}, nil},
		{clusterPath + "/compare?from=00000002&to=00000003", 200, []string{"/properties/PitWasEnabled", "breaking/PR001", "templates that set the property are refused"}, nil},
		{clusterPath + "/compare?from=00000002&to=00000019", 404, nil, nil},
		{"/types/HOOK/Acme::Security::Encryption/schema", 200, []string{"MinKeyLength", "from 128", "AWS::S3::Bucket", "s3:GetBucketEncryption"}, nil},
		{"/registrations", 200, []string{"In progress", "Failed", "Complete", "fetching", "thing.zip"}[:3], nil},
		{"/tests", 200, []string{"/_cfn/tests/run-2", "2 failed, 3 passed, 2 skipped"}, nil},
		{"/tests/run-3", 200, []string{"The tests are running", `<progress value="7" max="15"`, "7 of 15", "reducing the input"}, nil},
		{"/tests/run-2", 200, []string{"The handlers violate the contract", `href="/_cfn/contract#create.read"`, "/Title", `<div class="want">&#34;first&#34;</div>`, "the password is &lt;hidden: write-only /", "Core suite", "2 min 0 s"}, nil},
		{"/tests/run-1", 200, []string{"The handlers meet the contract"}, nil},
		{"/tests/run-9", 404, []string{"Test run not found"}, nil},
		{clusterPath + "/logs", 200, []string{`data-events="/_cfn/logs/events?group=%2Faws%2Flambda%2Fmongodb-atlas-cluster-logs&amp;after=`, `<span class="f2 bold">ERROR</span>`, "groups/&lt;script&gt;alert(1)&lt;/script&gt;", "Refresh"}, nil},
		{clusterPath + "/logs?q=retrying", 200, []string{"retrying in 2 s"}, []string{"RequestId"}},
		{"/logs", 200, []string{"group=%2Faws%2Flambda%2Fother"}, nil},
		{"/logs?group=/aws/lambda/other", 200, []string{"No log lines yet"}, nil},
		{"/calls", 200, []string{"MongoDB::<wbr>Atlas::<wbr>Cluster", "Acme::<wbr>Security", "NotStabilized", "signal: killed", "09:30:", "2026-11-19 03:30:00", `data-changes="/_cfn/calls/events?last=`, "49 ms"}, []string{"billing&#34;", "Older calls"}},
		{"/calls?failed=1", 200, []string{"NotStabilized", "signal: killed", `data-changes="/_cfn/calls/events?failed=1&amp;last=`}, []string{"hook-call", ">success<"}},
		{"/calls?action=READ&q=ATLAS", 200, []string{`<option value="READ" selected`, "<code>READ<"}, []string{"<code>CREATE<", "hook-call"}},
		{"/calls?action=ODD", 200, []string{"No matching calls", `<option value="ODD" selected`}, nil},
		{"/calls?in=123456789012/us-east-1", 200, []string{"No handler has been called in 123456789012"}, nil},
		{"/calls?before=nonsense", 400, []string{"The page token in the address is invalid"}, nil},
		{"/calls?before=5~x", 200, []string{"No matching calls", "Newest calls"}, []string{"data-changes=\"/"}},
		{callPath(4), 200, []string{"READ of MongoDB::", "did not reach the state IDLE", `<i class="k">&#34;ClusterType&#34;</i>`, "START RequestId: 6f5f0c2e-0c7c-4f0e-9df5-000000000004", "ERROR", "REPORT RequestId: 6f5f0c2e-0c7c-4f0e-9df5-000000000004", "&amp;stream=2026%2F11%2F20%2F%5B1%5D&amp;since=", clusterPath + "/calls"}, []string{"START RequestId: 6f5f0c2e-0c7c-4f0e-9df5-000000000005", "START RequestId: 6f5f0c2e-0c7c-4f0e-9df5-000000000003"}},
		{callPath(24), 200, []string{"signal: killed", "No response."}, nil},
		{"/calls/aliased-call", 200, []string{"2097152", "Truncated", "not in the request"}, []string{"/_cfn/types/RESOURCE/Example::Mail::List\""}},
		{"/calls/nothing", 404, []string{"Call not found"}, nil},
		{callPath(4) + "?in=123456789012/us-east-1", 404, []string{"Call not found"}, nil},
		{clusterPath + "/calls", 200, []string{"6f5f0c2e-0c7c-4f0e-9df5-000000000039", `class="on" aria-current="page">Calls`, "NotStabilized"}, []string{"hook-call", "Security"}},
		{clusterPath + "/calls?v=00000003", 200, []string{"9df5-000000000039", "all versions", "v=00000003"}, []string{"9df5-000000000004"}},
		{"/types/RESOURCE/Acme::Mail::List/calls", 200, []string{"aliased-call"}, []string{"hook-call"}},
		{"/types/RESOURCE/Acme::Tasks::Definition/calls", 200, []string{"No handler of this type has been called yet", "aws cloudformation test-type --type RESOURCE --type-name Acme::Tasks::Definition"}, nil},
		{"/types/HOOK/Acme::Security::Encryption/calls", 200, []string{"hook-call", "<code>CREATE_<wbr>PRE_<wbr>PROVISION", ">CREATE_PRE_PROVISION</option>"}, []string{">READ<"}},
		{"/types/HOOK/Acme::Security::Encryption", 200, []string{"not set", "lambda/<wbr>Acme-<wbr>Security-<wbr>Encryption"}, nil},
		{"/types/RESOURCE/Acme::Tasks::Definition", 200, []string{"not set"}, []string{"ResourceTypeDefault"}},
		{"/types/RESOURCE/Acme::Mail::List", 200, []string{"lambda/<wbr>Example-<wbr>Mail-<wbr>List"}, nil},
		{streamPath, 200, []string{"2026-11-20 09:30:00 UTC", "RequestId", "follow the log"}, []string{"data-log", "data-changes=\"/", "9df5-000000000001 "}},
		{streamPath + "&q=retrying", 200, []string{"retrying in 2 s"}, []string{"RequestId"}},
		{"/logs?group=/aws/lambda/other&stream=x", 200, []string{"No lines of this stream are stored"}, nil},
		{"/logs?group=/aws/lambda/other&stream=x&since=yesterday", 400, []string{"Invalid time"}, nil},
		{"/contract", 200, []string{`id="create.applied"`}, nil},
		{"/nothing", 404, []string{"Page not found"}, nil},
		{"/calls/a%00b", 404, []string{"The address contains characters that are not allowed in names."}, nil},
		{"/calls?before=1~%00", 404, []string{"The address contains characters that are not allowed in names."}, nil},
		{clusterPath + "%ff/calls", 404, []string{"The address contains characters that are not allowed in names."}, nil},
	} {
		t.Run(test.path, func(t *testing.T) {
			w := get(t, c, test.path)
			if w.Code != test.status {
				t.Errorf("status %d, want %d", w.Code, test.status)
			}
			for _, want := range test.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, not := range test.not {
				if strings.Contains(w.Body.String(), not) {
					t.Errorf("%q is there", not)
				}
			}
			if t.Failed() && testing.Verbose() {
				t.Log(w.Body)
			}
		})
	}
}

var inside = regexp.MustCompile(`(?i)<style|<script>|\sstyle="|\son[a-z]+="|<iframe|<base|javascript:|src="[^/]|src="//|<link[^>]*href="[^/]`)

// TestAllPages holds what is the same for all: headers, no inline code, nothing from
// elsewhere, valid references within the page.
func TestAllPages(t *testing.T) {
	t.Parallel()
	e := world(t)
	c, before := newConsole(t, e), e.contents()
	ids := regexp.MustCompile(`\sid="([^"]*)"`)
	for _, path := range allPages {
		w := get(t, c, path)
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, w.Code)
		}
		page := w.Body.String()
		if found := inside.FindString(page); found != "" {
			t.Errorf("%s: %q", path, found)
		}
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: duplicate id %s", path, m[1])
			}
			seen[m[1]] = true
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		csp := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "script-src 'self'", "style-src 'self'"} {
			if !strings.Contains(csp, want) || strings.Contains(csp, "unsafe") {
				t.Errorf("%s: the policy is %s", path, csp)
			}
		}
		for _, secret := range []string{"geheim", `"Retries": 3`} {
			if strings.Contains(page, secret) {
				t.Errorf("%s: shows %s", path, secret)
			}
		}
	}
	if e.contents() != before {
		t.Error("looking at pages changed something")
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t))
	page := get(t, c, "/").Body.String()
	for _, name := range []string{"console.css", "console.js", "scheme.js", "icon.svg"} {
		address := regexp.MustCompile(`/assets/` + regexp.QuoteMeta(name) + `\?v=[0-9a-f]+`).FindString(page)
		w := get(t, c, address)
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, %v", address, w.Code, w.Header())
		}
		if w := get(t, c, "/assets/"+name+"?v=other"); w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of another version may be kept", name)
		}
		if external := regexp.MustCompile(`url\(|@import|https?://[^w]`).FindString(w.Body.String()); external != "" {
			t.Errorf("%s: %s", name, external)
		}
	}
	for _, path := range []string{"/assets/none.js", "/assets/..%2fconsole.go"} {
		if w := get(t, c, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if w := get(t, c, ""); w.Code != http.StatusFound || w.Header().Get("Location") != "/_cfn/" {
		t.Errorf("without a slash: %d %s", w.Code, w.Header())
	}
}

// TestHostileText: what schemas, handlers and registrations say is text, wherever it stands.
func TestHostileText(t *testing.T) {
	hostile := `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202e\x00\x1b[2J`" + `<u>` + "`" + ` javascript:alert(1) [x](javascript:alert(1)) http://<b>`
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\u0000`, "\x1b", `\u001b`, "\u202e", `\u202e`).Replace(hostile)
	text := `{"typeName":"` + quoted + `","description":"` + quoted + `","sourceUrl":"javascript:alert(1)","properties":{"` + quoted + `":{"type":"string","description":"` + quoted + `","pattern":"` + quoted + `","enum":["` + quoted + `"],"default":"` + quoted + `"},
		"B":{"$ref":"#/definitions/` + quoted + `"}},"definitions":{"` + quoted + `":{"type":"object","title":"` + quoted + `","properties":{"` + quoted + `":{"type":"array","items":{"type":"` + quoted + `"}}}}},
		"handlers":{"create":{"permissions":["` + quoted + `"]},"` + quoted + `":{"permissions":[]}},"primaryIdentifier":["/properties/` + quoted + `"],"oneOf":[{"required":["` + quoted + `"]}]}`
	name := url.PathEscape(hostile)
	stored := strings.ReplaceAll(hostile, "\x00", "") // the store refuses it
	e := newEngines(t)
	const named = "Hostile::Text::Type" // the registry looks for no other names
	texts := row{"provisioning_type": types.ProvisioningTypeFullyMutable, "source_url": "javascript:alert(1)", "documentation_url": "data:text/html,<script>", "execution_role": stored, "log_group": stored, "public_version": stored}
	for _, name := range []string{stored, named} {
		e.typed(private{kind: "RESOURCE", name: name, description: stored, standard: 2, more: texts, versions: []row{
			{"schema": `{"typeName":"A::B::C","properties":{"` + quoted + `2":{"type":"string"}}}`}, {"schema": text},
		}})
		e.insert("registrations", registrationRow("t"+name, "RESOURCE", name, 1, types.RegistrationStatusInProgress, stored, stored), registrationRow("u"+name, "RESOURCE", name, 1, types.RegistrationStatusFailed, stored, stored))
	}
	e.insert("type_configurations", row{
		"account": home.Account, "region": home.Region, "type_arn": "arn:aws:cloudformation:us-east-1:000000000000:type/resource/Hostile-Text-Type", "alias": "default", "updated_at": store.At(then),
		"configuration": `{"` + quoted + `":"` + quoted + `"}`,
	})
	e.insert("test_runs", row{
		"id": "r", "account": home.Account, "region": home.Region, "kind": "RESOURCE", "type_name": stored, "version": 1, "description": stored, "status": stored, "started_at": store.At(then), "ended_at": store.At(then), "row_version": 1,
		"report_hash": e.blob(`{"tests":[{"id":"` + quoted + `","suite":"` + quoted + `","outcome":"failed","message":"` + quoted + `","clause":"` + quoted + `","clauses":["` + quoted + `"],"more":[{"message":"` + quoted + `"}],
			"differences":[{"pointer":"` + quoted + `","kind":"` + quoted + `","want":"` + quoted + `","got":{"` + quoted + `":1}}],"calls":[{"action":"` + quoted + `","status":"` + quoted + `","message":"` + quoted + `"}],"log":"` + quoted + `"}],"leftBehind":["` + quoted + `"]}`),
	})
	e.write("/aws/lambda/hostile", hostile)
	e.called(handlers.Invocation{
		ID: stored, Account: home.Account, Region: home.Region, Kind: "RESOURCE", TypeName: stored, Version: stored, Action: stored, Status: "ERROR", Error: stored, ErrorCode: stored,
		Request: text, Reply: stored, LogGroup: stored, LogStream: stored, StartedAt: store.At(then),
	})
	c := newConsole(t, e)
	own := url.PathEscape(stored)
	for _, path := range []string{
		"/calls", "/calls?action=" + url.QueryEscape(hostile), "/calls?q=script", "/calls/" + url.PathEscape(stored), "/calls/" + name, "/types/RESOURCE/" + named + "/calls", "/types/RESOURCE/" + name, "/types/RESOURCE/" + own, "/calls/" + name + "x", "/calls?before=1~" + url.QueryEscape(hostile),
		"/logs?group=/aws/lambda/hostile", "/logs?group=/aws/lambda/hostile&q=" + url.QueryEscape(hostile), "/logs?group=/aws/lambda/hostile&stream=" + url.QueryEscape("2026/11/20/[1]"),
		"/logs?group=" + url.QueryEscape(hostile) + "&stream=" + url.QueryEscape(hostile), "/logs?group=" + url.QueryEscape(hostile) + "&stream=" + url.QueryEscape("2026/11/20/[1]") + "&q=" + url.QueryEscape(hostile),
		"/", "/types", "/types?q=" + url.QueryEscape("script"), "/types?q=" + url.QueryEscape(hostile), "/types/RESOURCE/" + named, "/types/RESOURCE/" + named + "/schema", "/types/RESOURCE/" + named + "/schema?at=/B", "/types/RESOURCE/" + named + "/schema?q=script",
		"/types/RESOURCE/" + named + "/compare", "/types/RESOURCE/" + named + "/logs", "/tests", "/tests/r", "/registrations", "/logs?group=" + url.QueryEscape(hostile), "/logs", "/types?done=" + url.QueryEscape(hostile),
		"/types/RESOURCE/" + named + "?v=" + url.QueryEscape(hostile), "/types/RESOURCE/" + named + "/schema?at=" + url.QueryEscape("/"+hostile),
	} {
		w := get(t, c, path)
		if w.Code != http.StatusOK && w.Code != http.StatusNotFound && (w.Code != http.StatusBadRequest || path != "/types/RESOURCE/"+own) {
			t.Errorf("%s: status %d", path, w.Code)
		}
		page := w.Body.String()
		for _, bad := range []string{"<script>", "<img", "<u>", "<b>al", "\u202e", "\x00", "\x1b", `href="javascript`, `href="data`, "about:invalid"} {
			if i := strings.Index(page, bad); i >= 0 {
				t.Errorf("%s: %q stands in the page: …%s…", path, bad, page[max(0, i-80):min(len(page), i+80)])
			}
		}
	}
}

// submit sends a form as a page of the console does, changed by the test.
func submit(t *testing.T, c http.Handler, path string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	page := get(t, c, "/deploy")
	token := tokenInput.FindStringSubmatch(page.Body.String())
	if token == nil {
		t.Fatal("the page has no form")
	}
	values := url.Values{"token": {token[1]}}
	for k, v := range form {
		values[k] = v
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:4566"+Prefix+path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:4566")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, cookie := range page.Result().Cookies() {
		if cookie.SameSite != http.SameSiteStrictMode || !cookie.HttpOnly || cookie.Path != Prefix {
			t.Errorf("the cookie is %v", cookie)
		}
		r.AddCookie(cookie)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

func TestForms(t *testing.T) {
	t.Parallel()
	const (
		tasks   = "/types/RESOURCE/Acme::Tasks::Definition"
		room    = "/types/RESOURCE/Example::Chat::Room"
		refused = http.StatusBadRequest
	)
	activated := func(e *engines, name string) *cloudformation.DescribeTypeOutput {
		out, err := e.registry.DescribeType(t.Context(), caller, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: &name})
		if err != nil || !value(out.IsActivated) {
			return &cloudformation.DescribeTypeOutput{}
		}
		return out
	}
	deprecated := func(e *engines, path, version string) bool {
		name := path[strings.LastIndex(path, "/")+1:]
		out, err := e.registry.DescribeType(t.Context(), caller, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: &name, VersionId: &version})
		return err == nil && out.DeprecatedStatus == types.DeprecatedStatusDeprecated
	}
	for _, test := range []struct {
		path     string
		form     url.Values
		location string
		done     func(*engines) bool

		refused url.Values // a form of which the registry says why it is refused
		status  int
		reason  string
	}{
		{
			clusterPath + "/default", url.Values{"version": {"00000003"}}, clusterPath + "?done=default", func(e *engines) bool { return e.version() == "00000003" },
			url.Values{"version": {"00000001"}}, refused, "Version &#39;00000001&#39; of the type &#39;MongoDB::Atlas::Cluster&#39; is deregistered",
		},
		{
			clusterPath + "/test", url.Values{"version": {"00000004"}}, clusterPath + "?done=testing", func(e *engines) bool {
				runs, err := e.registry.TestRuns(t.Context(), caller, registry.TestQuery{TypeName: "MongoDB::Atlas::Cluster"})
				return err == nil && slices.ContainsFunc(runs, func(r registry.TestRun) bool {
					return r.Version == "00000004" && r.Status == types.TypeTestsStatusInProgress
				})
			},
			url.Values{"version": {"<9>"}}, http.StatusNotFound, "&lt;9&gt;",
		},
		{
			clusterPath + "/deregister", url.Values{"version": {"00000003"}}, clusterPath + "?done=deregistered", func(e *engines) bool { return deprecated(e, clusterPath, "00000003") },
			nil, refused, "This type has more than one active version.",
		},
		{
			tasks + "/deregister", nil, "/types?done=removed", func(e *engines) bool { return deprecated(e, tasks, "00000001") },
			url.Values{"version": {"00000001"}}, http.StatusNotFound, "cannot be found",
		},
		{
			room + "/activate", url.Values{"publisher": {publisher}, "alias": {"My::Chat::Room"}, "autoupdate": {"1"}}, "/types/RESOURCE/My::Chat::Room?done=activated",
			func(e *engines) bool { return value(activated(e, "My::Chat::Room").AutoUpdate) },
			url.Values{"publisher": {publisher}, "alias": {"Room"}}, refused, "TypeName is invalid",
		},
		{
			room + "/activate", url.Values{"publisher": {publisher}}, room + "?done=activated", func(e *engines) bool {
				out := activated(e, "Example::Chat::Room")
				return value(out.PublisherId) == publisher && !value(out.AutoUpdate)
			},
			url.Values{"publisher": {strings.Repeat("0", 40)}}, http.StatusNotFound, "Example::Chat::Room",
		},
		{
			"/types/RESOURCE/Acme::Mail::List/deactivate", nil, "/types?done=deactivated", func(e *engines) bool { return !value(activated(e, "Acme::Mail::List").IsActivated) },
			nil, http.StatusNotFound, "Acme::Mail::List",
		},
	} {
		e := world(t)
		c := newConsole(t, e)
		w := submit(t, c, test.path, test.form, nil)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != Prefix+test.location {
			t.Errorf("%s: %d to %s, want %s\n%s", test.path, w.Code, w.Header().Get("Location"), test.location, w.Body)
		}
		if !test.done(e) {
			t.Errorf("%s did nothing", test.path)
		}
		before := e.contents()
		w = submit(t, c, test.path, test.refused, nil)
		if page := w.Body.String(); w.Code != test.status || !strings.Contains(page, test.reason) || !strings.Contains(page, ">Back to ") || !regexp.MustCompile("CFNRegistryException|TypeNotFoundException|ValidationError").MatchString(page) || e.contents() != before {
			t.Errorf("%s refused: %d, %s", test.path, w.Code, regexp.MustCompile(`(?s)<main.*</main>`).FindString(page))
		}
		if w := get(t, c, test.location); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `role="status">The `) {
			t.Errorf("%s: the page does not say what was done", test.location)
		}
		// Looking at the address of an action does nothing.
		if w := get(t, c, test.path); w.Code != http.StatusMethodNotAllowed && w.Code != http.StatusNotFound || e.contents() != before {
			t.Errorf("GET %s: %d", test.path, w.Code)
		}
	}
}

func TestForgedForms(t *testing.T) {
	t.Parallel()
	e := world(t)
	c, other := newConsole(t, e), newConsole(t, e)
	set := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i+1] == "" {
					r.Header.Del(pairs[i])
				} else {
					r.Header.Set(pairs[i], pairs[i+1])
				}
			}
		}
	}
	for name, test := range map[string]struct {
		form   url.Values
		change func(*http.Request)
		status int
	}{
		"no cookie":          {nil, set("Cookie", ""), 403},
		"cookie of another":  {nil, set("Cookie", cookieName+"=00000000000000000000000000000000"), 403},
		"no token":           {url.Values{"token": {""}}, nil, 403},
		"other token":        {url.Values{"token": {strings.Repeat("0", 64)}}, nil, 403},
		"token is cookie":    {url.Values{"token": {"00000000000000000000000000000000"}}, set("Cookie", cookieName+"=00000000000000000000000000000000"), 403},
		"nobody":             {url.Values{"token": {c.sign("nobody")}}, set("Cookie", ""), 403},
		"other origin":       {nil, set("Origin", "http://evil.example"), 403},
		"other port":         {nil, set("Origin", "http://127.0.0.1:3000"), 403},
		"null origin":        {nil, set("Origin", "null"), 403},
		"other scheme":       {nil, set("Origin", "ftp://127.0.0.1:4566"), 403},
		"cross-site":         {nil, set("Sec-Fetch-Site", "cross-site"), 403},
		"same-site":          {nil, set("Sec-Fetch-Site", "same-site"), 403},
		"neither is told":    {nil, set("Sec-Fetch-Site", "", "Origin", ""), 403},
		"only origin":        {nil, set("Sec-Fetch-Site", ""), 303},
		"only site":          {nil, set("Origin", ""), 303},
		"too large":          {url.Values{"x": {strings.Repeat("x", maxForm)}}, nil, 413},
		"no form":            {nil, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 403},
		"malformed":          {nil, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("a=%zz")) }, 400},
		"token in the query": {url.Values{"token": {""}}, func(r *http.Request) { r.URL.RawQuery = "token=" + c.sign("x") }, 403},
	} {
		e.setVersion(caller, "MongoDB::Atlas::Cluster", "00000002")
		before := e.contents()
		w := submit(t, c, clusterPath+"/default", mergeForm(url.Values{"version": {"00000003"}}, test.form), test.change)
		if w.Code != test.status || (e.contents() != before) != (test.status == 303) {
			t.Errorf("%s: status %d, the version is %s; want %d", name, w.Code, e.version(), test.status)
		}
	}
	// A page of another server, or of this one before it was started anew.
	page := get(t, other, clusterPath)
	token := tokenInput.FindStringSubmatch(page.Body.String())[1]
	w := submit(t, c, clusterPath+"/default", url.Values{"token": {token}}, set("Cookie", page.Result().Cookies()[0].String()))
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "reload the page") {
		t.Errorf("a form of another server: %d", w.Code)
	}
}

func mergeForm(a, b url.Values) url.Values {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// TestForeignReads: pages of other origins may link here, and nothing else.
func TestForeignReads(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
	for _, test := range []struct {
		site, mode, dest, method string
		status                   int
	}{
		{"none", "navigate", "document", "GET", 200},
		{"same-origin", "cors", "empty", "GET", 200},
		{"", "", "", "GET", 200},
		{"cross-site", "navigate", "document", "GET", 200},
		{"cross-site", "navigate", "iframe", "GET", 403},
		{"cross-site", "no-cors", "image", "GET", 403},
		{"same-site", "cors", "empty", "GET", 403},
		{"cross-site", "navigate", "document", "POST", 403},
		{"same-origin", "cors", "empty", "PUT", 405},
		{"same-origin", "cors", "empty", "DELETE", 405},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, "http://127.0.0.1:4566"+Prefix+clusterPath, nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": test.site, "Sec-Fetch-Mode": test.mode, "Sec-Fetch-Dest": test.dest} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%v: status %d", test, w.Code)
		}
	}
}

// TestFailures: what fails inside is logged, not shown.
func TestFailures(t *testing.T) {
	t.Parallel()
	e := world(t)
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	c := newConsole(t, e, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	w := get(t, c, "/")
	const closed = "database is closed"
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), closed) || !strings.Contains(log.String(), closed) {
		t.Errorf("status %d, log %q", w.Code, log.String())
	}
	id := regexp.MustCompile(`See the log of the server for the request ([0-9a-f]{16})`).FindStringSubmatch(w.Body.String())
	if id == nil || !strings.Contains(log.String(), id[1]) {
		t.Errorf("page and log do not belong together: %v, %s", id, log.String())
	}
	for _, path := range []string{"/types", clusterPath, "/stacks", "/stacks/shop", "/stacks/orders/drift", "/tests/run-2", "/registrations", "/logs", "/calls", callPath(4), clusterPath + "/calls", "/requests", "/stack-sets"} {
		log.Reset()
		if w := get(t, c, path); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), closed) || !strings.Contains(log.String(), closed) {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

// many writes n types.
func (e *engines) many(n int) {
	e.t.Helper()
	var list []private
	for i := range n {
		provisioning := []types.ProvisioningType{types.ProvisioningTypeFullyMutable, types.ProvisioningTypeImmutable, types.ProvisioningTypeFullyMutable, types.ProvisioningTypeNonProvisionable}[i%4]
		list = append(list, private{
			kind: "RESOURCE", name: fmt.Sprintf("Acme::Service%03d::Thing%05d", i/100, i), description: "One of many things that a large company has.", standard: 1,
			more: row{"provisioning_type": provisioning}, versions: []row{{"schema": `{"typeName":"A::B::C"}`}},
		})
	}
	e.typed(list...)
}

var (
	rowPattern  = regexp.MustCompile(`href="/_cfn/types/RESOURCE/([^"/]*)" data-row`)
	nextPattern = regexp.MustCompile(`href="([^"]*)" rel="next"`)
)

// TestPaging walks through long lists: every type stands on one page, in order.
func TestPaging(t *testing.T) {
	const n = 1237
	e := newEngines(t)
	e.many(n)
	c := newConsole(t, e)
	for _, search := range []string{"", "thing00", "SERVICE003", "7"} {
		var names []string
		pages := 0
		for path := "/types?q=" + search; path != ""; pages++ {
			page := get(t, c, path).Body.String()
			rows := rowPattern.FindAllStringSubmatch(page, -1)
			for _, m := range rows {
				names = append(names, m[1])
			}
			path = ""
			if next := nextPattern.FindStringSubmatch(page); next != nil {
				if len(rows) != pageSize {
					t.Errorf("search %q: a page has %d types", search, len(rows))
				}
				path = strings.TrimPrefix(strings.ReplaceAll(next[1], "&amp;", "&"), Prefix)
			}
		}
		want := 0
		for i := range n {
			if strings.Contains(strings.ToLower(fmt.Sprintf("Acme::Service%03d::Thing%05d", i/100, i)), strings.ToLower(search)) {
				want++
			}
		}
		if len(names) != want || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != want {
			t.Errorf("search %q: %d types on %d pages, want %d", search, len(names), pages, want)
		}
	}
}

// TestRealRegistry: the pages work over the registry that is served.
func TestRealRegistry(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := New(Config{Registry: registry.New(registry.Config{Store: s}), Now: time.Now})
			defer c.Close()
			for path, want := range map[string]string{
				"/types": "No types yet", "/types?shelf=public": "No matching types", "/types?shelf=activated&kind=HOOK": "No matching types", "/types?deprecated=1": "No matching types", "/registrations": "No registrations yet",
				"/tests": "No test runs yet", "/tests/x": "Test run not found", "/types/RESOURCE/A1::B1::C1": "Type not found", "/types/RESOURCE/bad": "TypeName is invalid",
			} {
				if page := get(t, c, path).Body.String(); !strings.Contains(page, want) {
					t.Errorf("%s does not say %q:\n%s", path, want, regexp.MustCompile(`(?s)<main.*</main>`).FindString(page))
				}
			}
		})
	}
}

// BenchmarkTypesPage makes a page of the list of 10,000 types, and one of those with a
// text in their names, for which it goes through all.
func BenchmarkTypesPage(b *testing.B) {
	e := newEngines(b)
	e.many(10_000)
	c := newConsole(b, e)
	for _, path := range []string{"/types", "/types?q=thing099"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if w := get(b, c, path); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

func BenchmarkPages(b *testing.B) {
	c := newConsole(b, world(b))
	for _, path := range []string{clusterPath, clusterPath + "/schema", "/types/RESOURCE/Acme::Tasks::Definition/schema", clusterPath + "/compare?from=00000002&to=00000003", "/tests/run-2", clusterPath + "/logs"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if w := get(b, c, path); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

// TestStartPage: what the page says to type works for the server that it came from.
func TestStartPage(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t))
	for host, want := range map[string]string{
		"127.0.0.1:4566": `eval "$(cfn env)"`, "localhost:4566": `eval "$(cfn env)"`,
		"127.0.0.1:9000": `eval "$(cfn env --endpoint http://127.0.0.1:9000)"`, "cfn.example": `eval "$(cfn env --endpoint http://cfn.example)"`,
		"$(reboot)": `eval "$(cfn env)"`,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+Prefix+"/types", nil)
		r.Host = host
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if page := html.UnescapeString(w.Body.String()); !strings.Contains(page, "<code>"+want+"</code>") {
			t.Errorf("%s: %q is missing", host, want)
		}
	}
}

// TestCallPages walks back through many calls, several of which began at once.
func TestCallPages(t *testing.T) {
	t.Parallel()
	e := newEngines(t)
	const n = 163
	for i := range n {
		e.called(handlers.Invocation{ID: fmt.Sprintf("call-%03d", i), Account: home.Account, Region: home.Region, Kind: "RESOURCE", TypeName: "A::B::C", Action: "READ", Status: "SUCCESS", StartedAt: store.At(then.Add(time.Duration(i/7) * time.Millisecond))})
	}
	c := newConsole(t, e)
	var seen []string
	for path := "/calls?action=READ"; path != ""; {
		page := get(t, c, path).Body.String()
		for _, m := range regexp.MustCompile(`href="/_cfn/calls/(call-[0-9]+)" data-row`).FindAllStringSubmatch(page, -1) {
			seen = append(seen, m[1])
		}
		path = ""
		if next := nextPattern.FindStringSubmatch(page); next != nil {
			path = strings.TrimPrefix(html.UnescapeString(next[1]), Prefix)
		}
	}
	slices.Reverse(seen)
	if len(seen) != n || !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != n {
		t.Errorf("%d calls are listed: %v", len(seen), seen)
	}
}

// TestLinksOut: what strangers write leads to other machines, or nowhere.
func TestLinksOut(t *testing.T) {
	for host, links := range map[string]map[string]bool{
		"127.0.0.1:4566": {
			"https://example.com/x": true, "http://example.com": true, "https://sub.example.com:8443/?q#f": true, "https://[2001:db8::1]/": true, "http://10.1.2.3/": true,
			"http://127.0.0.1:4566/bkt/x.html": false, "http://127.0.0.1/": false, "http://127.9.9.9:80/": false, "https://localhost/": false, "http://LOCALHOST.:3000/x": false,
			"http://bkt.s3.localhost:4566/x.html": false, "http://[::1]/": false, "http://[::ffff:127.0.0.1]/": false, "http://0.0.0.0/": false, "http://[::]:4566/": false, "http://169.254.169.254/": false,
			"http://2130706433/": false, "http://0x7f.1/": false, "http://0177.0.0.1/": false, "http://127.1/": false, "http://0/": false, "http://127.0.0.1.:4566/": false,
			"http://\uff4cocalhost/": false, "http://127\u30020\u30020\u30021/": false, "http://loc%61lhost/": false, "http://127.0.0.1\\.example.com/": false, "http://example.com@127.0.0.1/": false,
			"http:///127.0.0.1": false, "http:127.0.0.1": false, "//127.0.0.1/": false, "javascript:alert(1)": false, "ftp://example.com/": false, "http://./": false,
		},
		"cfn.example:4566": {"https://cfn.example/": false, "http://bkt.CFN.example./x.html": false, "https://example/": true, "https://notcfn.example/": true},
		"[::1]:4566":       {"http://[0:0:0:0:0:0:0:1]/": false, "https://example.com/": true},
		"":                 {"https://example.com/": true, "http://localhost/": false},
	} {
		for link, want := range links {
			if got := (&page{Host: host}).outside(link); got != want {
				t.Errorf("at %s, %q is outside: %v", host, link, got)
			}
		}
	}

	e := world(t)
	e.exec("UPDATE type_versions SET source_url = ?, documentation_url = ?, description = ? WHERE log_group <> ''", "http://127.0.0.1:4566/bkt/x.html", "https://docs.example/",
		"See [the page](http://localhost:4566/bkt/x.html), http://[::1]/y or [elsewhere](https://example.com/z).")
	page := get(t, newConsole(t, e), clusterPath).Body.String()
	for _, want := range []string{`<span class="break">http://127.0.0.1:4566/bkt/x.html</span>`, `href="https://docs.example/"`, "See the page, http://", `<a href="https://example.com/z" rel="noopener noreferrer external">elsewhere</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, not := range []string{`href="http://127`, `href="http://localhost`, `href="http://[`} {
		if strings.Contains(page, not) {
			t.Errorf("%q is there", not)
		}
	}
}

// TestUnreadableReport: the page of a run says why its report is not there, and what is
// known without it.
func TestUnreadableReport(t *testing.T) {
	t.Parallel()
	e := world(t)
	c := newConsole(t, e)
	for what, test := range map[string]struct {
		report, want string
	}{
		"too large": {strings.Repeat(" ", 33<<20), "The report is too large to be shown."},
		"broken":    {`{"tests":`, "The report cannot be read: "},
	} {
		e.exec("UPDATE test_runs SET report_hash = ? WHERE id = 'run-2'", e.blob(test.report))
		w := get(t, c, "/tests/run-2")
		if page := w.Body.String(); w.Code != 200 || !strings.Contains(page, test.want) || !strings.Contains(page, "The handlers violate the contract") || !strings.Contains(page, "2 of 7 contract tests failed") {
			t.Errorf("%s: %d %s", what, w.Code, regexp.MustCompile(`(?s)<main.*</main>`).FindString(page))
		}
	}
}

// TestWarning: every page says what is not enforced, as text.
func TestWarning(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t))
	recorder := httptest.NewRecorder()
	c.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4566"+Prefix+"/", nil))
	if body := recorder.Body.String(); !strings.Contains(body, "<span>handlers run &lt;without&gt; a sandbox</span>") {
		t.Errorf("status %d, no warning in %s", recorder.Code, body)
	}
}
