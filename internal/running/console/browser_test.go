package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

// browser finds the browser that the pages are looked at with.
func browser(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CFN_BROWSER"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("skipped: there is no browser; install the package chromium, or set CFN_BROWSER to the path of one")
	return ""
}

// A reader is a browser that looks at a console.
type reader struct {
	t   *testing.T
	ctx context.Context
	url string

	mu         sync.Mutex
	complaints []string // what the browser said in its own console
}

// TestInABrowser looks at the pages, and works with them, as people do. All of it is done by
// one browser, which takes longer to start than any of it.
func TestInABrowser(t *testing.T) {
	ctx := startBrowser(t, browser(t))
	for _, test := range []struct {
		name string
		test func(*testing.T, context.Context)
	}{
		{"pages", testLook}, {"checks", testChecks}, {"walk", testWalk}, {"keyboard", testKeyboard}, {"live", testLivePages}, {"live stack", testLiveStack}, {"logs", testLiveLogs}, {"without script", testWithoutScript}, {"signing in", testSignIn}, {"picture", testPicture}, {"colors", testColors},
	} {
		t.Run(test.name, func(t *testing.T) { test.test(t, ctx) })
	}
}

// patience is how long a test waits for what a browser does on a machine that does much
// else at the same time. Nothing is ever waited for that long where it works.
const patience = 2 * time.Minute

// startBrowser starts a browser, once more where it does not start the first time. It ends
// with the test.
func startBrowser(t *testing.T, path string) context.Context {
	t.Helper()
	for attempt := 1; ; attempt++ {
		// A folder of its own each time: one that is half made keeps the next from starting.
		dir, err := os.MkdirTemp("", "console-browser-")
		if err != nil {
			t.Fatal(err)
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir), chromedp.WSURLReadTimeout(patience))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(allocator)
		finish := func() {
			end()
			stop()
			_ = os.RemoveAll(dir) // what the browser still writes when it ends is left to the system
		}
		// Without a bound in time: the browser ends with the context that it was started by.
		if err = chromedp.Do(ctx, chromedp.Navigate("about:blank")); err == nil {
			t.Cleanup(finish)
			return ctx
		}
		finish()
		if attempt == 2 {
			t.Fatal(err)
		}
		t.Logf("the browser is started again: %v", err)
	}
}

// visit opens a console in a tab of its own.
func visit(t *testing.T, browser context.Context, c *Console) *reader {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // before the server, which waits for its requests
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	v := &reader{t: t, ctx: ctx, url: server.URL}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			v.complaints = append(v.complaints, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			v.complaints = append(v.complaints, fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded:
			v.complaints = append(v.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, log.Enable, cdp.Empty{})
		return err
	}))
	return v
}

// do takes steps, with a bound in time.
func (v *reader) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

func (v *reader) open(path string) {
	v.t.Helper()
	v.do(chromedp.Navigate(v.url + Prefix + path))
}

// is sees whether an expression of the page comes true, once the page and its script are
// there: a key that is pressed before is lost.
func (v *reader) is(what, expression string) {
	v.t.Helper()
	var err error
	if !fixtures.Happens(patience, func() (yes bool) {
		ctx, cancel := context.WithTimeout(v.ctx, patience)
		defer cancel()
		yes, err = chromedp.Run(ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && !!(`+expression+")"))
		return err == nil && yes
	}) {
		v.t.Fatalf("%s: never true: %s (%v)\nfocus: %s", what, expression, err, ask[string](v, "document.activeElement.outerHTML.slice(0, 300) + ' ' + document.activeElement.value + ' ' + location.href"))
	}
}

// ask evaluates an expression in the page.
func ask[T any](v *reader, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func (v *reader) quiet() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.complaints {
		v.t.Errorf("the browser complains: %s", c)
	}
	v.complaints = nil
}

// look sets how a page is looked at.
func (v *reader) look(width int64, scheme string) {
	v.t.Helper()
	v.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
		_, err := cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}

// faint lists texts that contrast less with what is behind them than WCAG 2.2 asks for at
// level AA (success criterion 1.4.3).
const faint = `(() => {
	const channel = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const parse = (text) => text.match(/[\d.]+/g).map(Number);
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length < 4 || c[3] === 1) return c;
		}
		return [255, 255, 255];
	};
	const out = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true })) continue;
		if (e.closest("script, .unseen, .skip")) continue;
		const style = getComputedStyle(e), a = light(parse(style.color)), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.add(ratio.toFixed(2) + " " + e.tagName + "." + e.className + " " + walk.currentNode.data.trim().slice(0, 40));
	}
	return [...out].slice(0, 12).join("\n");
})()`

// unnamed lists what can be operated but has no name.
const unnamed = `[...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")].filter((e) =>
	e.checkVisibility() && !(e.textContent.trim() || e.getAttribute("aria-label") || (e.labels && e.labels.length))).map((e) => e.outerHTML).join("\n")`

// wide lists what stands out of the page.
const wide = `document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")].filter((e) =>
	e.getBoundingClientRect().right > innerWidth + 1).slice(0, 8).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).join("\n")`

// testLook looks at every page as people do: on a phone and on a desk, in the
// light and in the dark. FORMWORK_SCREENSHOTS names a folder for pictures.
func testLook(t *testing.T, browser context.Context) {
	v := visit(t, browser, newConsole(t, world(t)))
	shots := os.Getenv("FORMWORK_SCREENSHOTS")
	const cluster, schemaOf = "/types/RESOURCE/MongoDB::Atlas::Cluster", "/types/RESOURCE/MongoDB::Atlas::Cluster/schema"
	pages := []struct{ name, path, before string }{
		{"home", "/", ""},
		{"home-empty", "/?in=123456789012/eu-west-1", ""},
		{"deploy", "/deploy?stack=shop", ""},
		{"types", "/types", ""},
		{"types-none", "/types?q=nothing", ""},
		{"types-public", "/types?shelf=public", ""},
		{"start", "/types?in=123456789012/us-east-1", ""},
		{"type", cluster, ""},
		{"type-menu", cluster, `document.querySelector("details.menu").open = true`},
		{"type-hook", "/types/HOOK/Acme::Security::Encryption", ""},
		{"type-public", "/types/RESOURCE/Example::Chat::Room?publisher=" + publisher, ""},
		{"type-activated", "/types/RESOURCE/Acme::Mail::List", ""},
		{"type-unfinished", "/types/RESOURCE/Acme::Queue::Thing", ""},
		{"type-missing", "/types/RESOURCE/No::Such::Type", ""},
		{"schema", schemaOf, ""},
		{"schema-open", schemaOf + "?v=00000003", `document.querySelectorAll("details").forEach((d) => { d.open = true; })`},
		{"schema-search", schemaOf + "?q=region", ""},
		{"schema-at", "/types/RESOURCE/Acme::Tasks::Definition/schema?at=/ContainerDefinitions", ""},
		{"schema-hook", "/types/HOOK/Acme::Security::Encryption/schema", ""},
		{"compare", cluster + "/compare?from=00000002&to=00000003", ""},
		{"tests", "/tests", ""},
		{"test", "/tests/run-2", ""},
		{"test-running", "/tests/run-3", ""},
		{"calls", "/calls", ""},
		{"calls-type", cluster + "/calls?v=00000003", ""},
		{"calls-none", "/types/RESOURCE/Acme::Tasks::Definition/calls", ""},
		{"call", callPath(4), ""},
		{"call-broken", callPath(24), ""},
		{"call-hook", "/calls/hook-call", ""},
		{"stream", streamPath, ""},
		{"logs", cluster + "/logs", ""},
		{"logs-choice", "/logs", ""},
		{"registrations", "/registrations", ""},
		{"contract", "/contract", ""},
		{"stacks", "/stacks", ""},
		{"stacks-none", "/stacks?q=none", ""},
		{"stack", "/stacks/shop", ""},
		{"stack-growing", "/stacks/growing", ""},
		{"stack-timeline", "/stacks/shop/timeline", ""},
		{"stack-events", "/stacks/shop/events", ""},
		{"stack-outputs", "/stacks/shop/outputs", ""},
		{"stack-template", "/stacks/shop/template", ""},
		{"stack-changes", "/stacks/orders/changes", ""},
		{"stack-change-set", "/stacks/orders/changes/bigger", ""},
		{"stack-drift", "/stacks/orders/drift", ""},
		{"stack-hooks", "/stacks/shop/hooks", ""},
		{"hook-results", "/types/HOOK/Acme::Security::Encryption/results?all=1", ""},
		{"requests", "/requests", ""},
		{"stack-sets", "/stack-sets", ""},
		{"stack-set", "/stack-sets/settings", ""},
		{"stack-set-many", "/stack-sets/many", ""},
	}
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			v.look(width, scheme)
			for _, p := range pages {
				t.Run(fmt.Sprintf("%d %s %s", width, scheme, p.name), func(t *testing.T) {
					v.t = t
					v.open(p.path)
					if p.before != "" {
						ask[any](v, p.before)
					}
					for what, expression := range map[string]string{"too wide": wide, "too faint": faint, "without a name": unnamed} {
						if found := ask[string](v, expression); found != "" {
							t.Errorf("%s: %s", what, found)
						}
					}
					if n := ask[int](v, `document.querySelectorAll("h1").length`); n != 1 {
						t.Errorf("the page has %d titles", n)
					}
					want := map[string]string{"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 29)"}[scheme]
					if got := ask[string](v, `getComputedStyle(document.body).backgroundColor`); got != want {
						t.Errorf("the page is %s, want %s", got, want)
					}
					if foreign := ask[string](v, `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin + "/_cfn/")).join(" ")`); foreign != "" {
						t.Errorf("the page loads %s", foreign)
					}
					if p.name == "type-missing" { // the browser tells of the status
						v.mu.Lock()
						v.complaints = nil
						v.mu.Unlock()
					}
					v.quiet()
					if shots != "" {
						shoot(v, filepath.Join(shots, fmt.Sprintf("%s-%d-%s.png", p.name, width, scheme)))
					}
				})
			}
		}
	}
	v.t = t
}

func shoot(v *reader, file string) {
	v.t.Helper()
	var shot []byte
	v.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		whole := true
		captured, err := cdp.Call(ctx, target, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{CaptureBeyondViewport: &whole, OptimizeForSpeed: &whole})
		shot = captured.Data
		return err
	}))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(file, shot, 0o600); err != nil {
		v.t.Error(err)
	}
}

// maxPicture is how many bytes the picture in README.md has at most.
const maxPicture = 150 << 10

// testPicture takes the picture of README.md, of a stack that failed. FORMWORK_PICTURE is the file that it is written to.
func testPicture(t *testing.T, browser context.Context) {
	s := newShop(t)
	s.message = "no space left: 40 of 40 GB are in use"
	s.create("orders", types.StackStatusRollbackComplete, "Network: {}", "Queue: {Note: !Ref Network}", "Table: {Note: !Ref Network}", "Disk: {Fail: CREATE, Note: !Sub '${Queue}${Table}'}", "Worker: {Note: !Ref Disk}")
	c := newConsole(t, s.engines, func(c *Config) { c.Warning = "" })
	v := visit(t, browser, c)
	v.look(1280, "light")
	v.open("/stacks/orders")
	file := cmp.Or(os.Getenv("FORMWORK_PICTURE"), filepath.Join(t.TempDir(), "console.png"))
	shoot(v, file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, picture); err != nil {
		t.Fatal(err)
	}
	if small.Len() > maxPicture {
		t.Errorf("the picture has %d bytes, at most %d", small.Len(), maxPicture)
	}
	if err := os.WriteFile(file, small.Bytes(), 0o644); err != nil {
		t.Error(err)
	}
}

// testColors changes the color scheme, which later pages keep, and comes back to that of the system.
func testColors(t *testing.T, browser context.Context) {
	v := visit(t, browser, newConsole(t, world(t)))
	v.look(1280, "light")
	v.open("/stacks")
	const background, button = `getComputedStyle(document.body).backgroundColor`, `document.querySelector("[data-scheme-switch]")`
	for _, want := range []struct{ label, color string }{{"light", "rgb(246, 247, 249)"}, {"dark", "rgb(18, 22, 29)"}, {"system", "rgb(246, 247, 249)"}} {
		v.do(chromedp.Click(chromedp.CSS("[data-scheme-switch]")))
		v.is(want.label, fmt.Sprintf(`%s.textContent === "Colors: %s" && %s === %q`, button, want.label, background, want.color))
		v.open("/types")
		v.is(want.label+" on the next page", fmt.Sprintf(`%s.textContent === "Colors: %s" && %s === %q`, button, want.label, background, want.color))
	}
	v.look(390, "light")
	v.open("/stacks/orders/drift")
	v.is("the tab that is shown is in view", `(() => { const r = document.querySelector(".tabs .on").getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })()`)
	v.quiet()
}

// press types keys.
func (v *reader) press(keys ...string) {
	v.t.Helper()
	for _, k := range keys {
		if k != "/" {
			v.do(chromedp.KeyEvent(k))
			continue
		}
		// As browsers do it: the character is not typed if the page has taken the key.
		v.do(chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
			_, err := cdp.Call(ctx, page, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k, Text: k})
			return err
		}))
	}
}

// follow clicks a link or a button and waits for the page that it leads to.
func (v *reader) follow(selector, title string) {
	v.t.Helper()
	v.is(selector+" is there", fmt.Sprintf("document.querySelector(%q)", selector))
	v.do(chromedp.Click(chromedp.CSS(selector)))
	v.is("the page "+title, fmt.Sprintf("document.title === %q", title+" · cfn"))
}

// touch changes a stack as its engine does.
func (e *engines) touch(name string) {
	e.t.Helper()
	e.exec("UPDATE stacks SET row_version = row_version + 1 WHERE name = ?", name)
}

// testLiveStack sees a resource change its colour in the graph while the page is open.
func testLiveStack(t *testing.T, browser context.Context) {
	e := world(t)
	v := visit(t, browser, newConsole(t, e))
	v.look(1280, "light")
	v.open("/stacks")
	v.follow(`a[href$="/stacks/growing"][data-row]`, "growing")
	v.is("the page follows", `document.body.dataset.following === "live"`)
	v.is("L waits", `document.querySelector('a.node[href="#r-WorkerL"]').classList.contains("plain")`)
	e.insert("stack_resources", row{"stack_id": "growing", "logical_id": "WorkerL", "type": "AWS::SQS::Queue", "status": types.ResourceStatusCreateInProgress, "created_at": store.At(then), "updated_at": store.At(then)})
	e.touch("growing")
	v.is("L is being created", `document.querySelector('a.node[href="#r-WorkerL"]').classList.contains("wait")`)
	e.exec("UPDATE stack_resources SET status = 'CREATE_FAILED', reason = 'no room' WHERE logical_id = 'WorkerL'")
	e.touch("growing")
	v.is("L failed", `document.querySelector('a.node[href="#r-WorkerL"]').classList.contains("bad") && document.querySelector("#r-WorkerL").textContent.includes("no room")`)
	v.open("/stacks/shop")
	v.follow(`.cause a[href$="/template#line-Billing"]`, "shop template")
	v.is("the line is in view and marked", `document.querySelector(".source .failed:target") && document.querySelector(".source .failed").textContent.includes("did not reach the state IDLE")`)
	v.quiet()
}

// testWalk clicks through the pages as one does who works with them.
func testWalk(t *testing.T, browser context.Context) {
	v := visit(t, browser, newConsole(t, world(t)))
	v.look(1280, "light")
	v.open("/types")
	v.follow(`a[href$="MongoDB::Atlas::Cluster"][data-row]`, "MongoDB::Atlas::Cluster")
	v.follow(`a[href$="/schema?v=00000003"]`, "MongoDB::Atlas::Cluster schema")

	// A property deep inside is opened by its address.
	v.open(clusterPath + "/schema#p-ReplicationSpecs.*.AdvancedRegionConfigs.*.RegionName")
	v.is("the property is shown", `document.getElementById("p-ReplicationSpecs.*.AdvancedRegionConfigs.*.RegionName").checkVisibility()`)
	v.is("the property is in view", `(() => { const r = document.getElementById("p-ReplicationSpecs.*.AdvancedRegionConfigs.*.RegionName").getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; })()`)

	// Another version is shown once it is chosen.
	v.do(chromedp.SetValue(chromedp.CSS("select#v"), "00000004"))
	v.is("another version", `location.search === "?v=00000004"`)

	// The raw schema is copied whole.
	ask[any](v, `navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`)
	ask[any](v, `document.querySelector("#raw").open = true`)
	v.do(chromedp.Click(chromedp.CSS("#raw [data-copy]")))
	v.is("it is copied", `JSON.parse(window.copied).typeName === "MongoDB::Atlas::Cluster" && document.querySelector("#said").textContent === "Copied"`)

	// Forms: the version becomes the default one, and the page says so once.
	v.open(clusterPath)
	v.follow(`button[aria-label="Make 00000003 the default"]`, "MongoDB::Atlas::Cluster")
	v.is("it is said", `document.querySelector(".notice").textContent === "The default version was changed." && location.search === ""`)
	v.is("it is the default", `document.querySelector("#versions tr:nth-child(2)").textContent.includes("default")`)
	v.do(chromedp.Reload())
	v.is("it is not said again", `!document.querySelector(".notice") && document.readyState === "complete"`)
	ask[any](v, `document.querySelector("#deregister-00000002 summary").click()`)
	v.is("the menu is open", `document.querySelector("#deregister-00000002 .danger").checkVisibility()`)
	v.press(kb.Escape)
	v.is("the menu is closed", `!document.querySelector("#deregister-00000002").open && document.activeElement.tagName === "SUMMARY"`)

	// A report: from the list to the test that failed, to the clause.
	v.open("/tests")
	v.follow(`a[href$="/tests/run-2"]`, "Tests of MongoDB::Atlas::Cluster")
	v.do(chromedp.Click(chromedp.CSS(`.rows.bad a`)))
	v.is("the test is shown", `location.hash === "#t-3" && document.querySelector("#t-3").open`)
	v.follow(`a[href$="/contract#create.read"]`, "Handler contract")

	// Another place.
	v.open("/types")
	v.do(chromedp.SetValue(chromedp.CSS("select#place"), "123456789012/us-east-1"))
	v.is("the other place is empty", `document.querySelector("h1").textContent === "No types yet"`)
	v.quiet()
}

// testKeyboard goes from the first key to a type and back without a mouse.
func testKeyboard(t *testing.T, browser context.Context) {
	v := visit(t, browser, newConsole(t, world(t)))
	v.look(1280, "dark")
	v.open("/types")
	v.press(kb.Tab)
	v.is("the way past the navigation is first and seen", `document.activeElement.className === "skip" && document.activeElement.getBoundingClientRect().left >= 0`)
	v.press(kb.Enter)
	v.is("the content has the focus", `location.hash === "#main" && document.activeElement.id === "main"`)
	v.press("j", "j", "k", "j")
	v.is("the second type has the focus", `document.activeElement === document.querySelectorAll("[data-row]")[1]`)
	if outline := ask[string](v, `getComputedStyle(document.activeElement).outlineStyle + " " + getComputedStyle(document.activeElement).outlineWidth`); outline != "solid 2px" {
		t.Errorf("the focus is shown as %s", outline)
	}
	v.press("/")
	v.is("the search has the focus", `document.activeElement.id === "q"`)
	v.press("c", "l", "u", "j", kb.Backspace, kb.Enter)
	v.is("the search is done", `location.search === "?q=clu" && document.querySelectorAll("[data-row]").length === 1`)
	v.press("j", kb.Enter)
	v.is("the type is open", `document.title === "MongoDB::Atlas::Cluster · cfn"`)

	// Every control is reached with Tab and shows that it is.
	v.press(kb.Tab)
	count := 0
	for range 60 {
		state := ask[string](v, `(() => { const e = document.activeElement, s = getComputedStyle(e); return e === document.body ? "end" : s.outlineStyle + " " + e.tagName; })()`)
		if state == "end" {
			break
		}
		if !strings.HasPrefix(state, "solid") {
			t.Errorf("the focus on %s is not seen", state)
		}
		count++
		v.press(kb.Tab)
	}
	if want := ask[int](v, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, pre[tabindex]")].filter((e) => e.checkVisibility()).length`); count != want {
		t.Errorf("%d controls are reached, there are %d", count, want)
	}
	v.quiet()
}

// testLivePages: pages change while one looks at them, and nothing is lost by it.
func testLivePages(t *testing.T, browser context.Context) {
	e := world(t)
	v := visit(t, browser, newConsole(t, e))
	v.look(1280, "light")
	v.open(clusterPath)
	v.is("the page follows", `document.body.dataset.following === "live"`)
	ask[any](v, `document.querySelector("#deregister-00000004").open = true; document.querySelector("#deregister-00000004 summary").focus(); window.stays = 1`)
	e.exec("UPDATE registrations SET status = 'COMPLETE' WHERE status = 'IN_PROGRESS'")
	e.insert("type_versions", row{
		"id": "fifth", "type_id": home.String() + " RESOURCE MongoDB::Atlas::Cluster", "version": 5, "schema": "{}", "test_status": types.TypeTestsStatusInProgress,
		"created_at": store.At(then), "updated_at": store.At(then), "row_version": 1,
	})
	changed := func() { e.setVersion(caller, "Acme::Tasks::Definition", "00000001") } // which notifies the pages
	changed()
	v.is("the new version is there", `document.querySelector("#versions").textContent.includes("00000005") && !document.querySelector("#registrations").textContent.trim()`)
	v.is("the page is the same one", `window.stays === 1 && document.querySelector("#deregister-00000004").open && document.querySelector("#versions").contains(document.activeElement)`)

	v.open("/calls?failed=1")
	v.is("the calls follow", `document.body.dataset.following === "live"`)
	ask[any](v, `document.querySelector("[data-row]").focus(); window.stays = 1`)
	e.called(handlers.Invocation{
		ID: "new-call", Account: home.Account, Region: home.Region, Kind: schema.Hook, TypeName: "Acme::New::Hook", Version: "00000001", Action: "CREATE_PRE_PROVISION", Status: "FAILED",
		Request: "{}", Reply: `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no <b>key</b>"}`, StartedAt: store.At(then.Add(2 * time.Minute)),
	})
	v.is("the call is there", `document.querySelector("#calls tbody tr").textContent.includes("no <b>key</b>")`)
	v.is("the page is the same one, and the focus where it was", `window.stays === 1 && document.activeElement === document.querySelectorAll("[data-row]")[1]`)
	v.press("k", kb.Enter)
	v.is("the call is shown", `document.title === "Call of Acme::New::Hook · cfn" && document.querySelector("#reply pre").textContent.includes("FAILED")`)

	v.open("/tests/run-3")
	v.is("the run follows", `document.body.dataset.following === "live" && document.querySelector("progress").value === 7`)
	e.exec("UPDATE test_runs SET notes = ? WHERE id = 'run-3'", noteOf(registry.TestProgress{Test: "handler_delete.py::contract_delete_read", Number: 8, Total: 15}))
	changed()
	v.is("the run has come further", `document.querySelector("progress").value === 8 && document.querySelector("#run").textContent.includes("contract_delete_read")`)

	v.open("/types?in=000000000000/eu-central-1")
	v.is("the page is empty and follows", `document.querySelector("#start") && document.body.dataset.following === "live"`)
	v.open("/registrations")
	v.is("it follows", `document.body.dataset.following === "live"`)
	e.insert("registrations", registrationRow("new-token", "HOOK", "Acme::New::Hook", 1, types.RegistrationStatusInProgress, "FETCH_STAGE", ""))
	changed()
	v.is("the registration is there", `document.querySelector("#all").textContent.includes("new-token")`)
	v.quiet()
}

// testLiveLogs: lines appear as they are written; pausing, filtering, bounds.
func testLiveLogs(t *testing.T, browser context.Context) {
	logs := newEngines(t)
	for i := range 100 {
		logs.write("g", fmt.Sprintf("line %d", i))
	}
	v := visit(t, browser, newConsole(t, logs))
	v.look(390, "dark")
	v.open("/logs?group=g")
	const last, items = `document.querySelector(".log").lastElementChild.textContent`, `document.querySelectorAll(".log li").length`
	v.is("the end is in view", last+`.endsWith("line 99") && document.querySelector("[data-state]").textContent === "live" && document.querySelector(".log").scrollTop > 0`)
	logs.write("g", "\x1b[31mboom\x1b[0m <img src=x onerror=alert(1)>")
	v.is("the line appears", last+`.endsWith("boom <img src=x onerror=alert(1)>") && document.querySelector(".log li:last-child .f2").textContent === "boom"`)
	v.is("it is text", `!document.querySelector(".log img")`)

	v.do(chromedp.Click(chromedp.CSS("[data-pause]")))
	for i := range 5 {
		logs.write("g", fmt.Sprintf("while paused %d", i))
	}
	v.is("what comes is counted", `document.querySelector("[data-state]").textContent === "paused, 5 new" && document.querySelector("[data-pause]").getAttribute("aria-pressed") === "true"`)
	if n := ask[int](v, items); n != 101 {
		t.Errorf("%d lines are shown while paused", n)
	}
	v.do(chromedp.Click(chromedp.CSS("[data-pause]")))
	v.is("they are shown", items+` === 106 && document.querySelector("[data-state]").textContent === "live"`)

	v.press("/", "b", "o", "o", "m")
	v.is("only what matches is seen", `[...document.querySelectorAll(".log li")].filter((e) => e.checkVisibility()).length === 1`)
	logs.write("g", "another boom")
	logs.write("g", "another line")
	v.is("new lines are filtered too", items+` === 108 && [...document.querySelectorAll(".log li")].filter((e) => e.checkVisibility()).length === 2`)

	// A reader who has gone up is not carried away.
	ask[any](v, `document.querySelector("#q").value = ""; document.querySelector("#q").dispatchEvent(new Event("input")); document.querySelector(".log").scrollTop = 0`)
	logs.write("g", "newest")
	v.is("it is said that there is more", last+`.endsWith("newest") && !document.querySelector("[data-newer]").hidden && document.querySelector(".log").scrollTop === 0`)
	v.do(chromedp.Click(chromedp.CSS("[data-newer]")))
	v.is("and one gets there", `document.querySelector("[data-newer]").hidden && document.querySelector(".log").scrollTop > 0`)

	// Only so many lines stay.
	for i := range 2300 {
		logs.write("g", fmt.Sprintf("many %d", i))
	}
	v.is("the oldest go", last+`.endsWith("many 2299") && `+items+` === 2000`)
	v.quiet()
}

// testChecks puts the checks of testLook to the test: each finds what it is for.
func testChecks(t *testing.T, browser context.Context) {
	v := visit(t, browser, newConsole(t, world(t)))
	v.look(390, "light")
	for what, check := range map[string]struct{ change, check string }{
		"faint":   {`const p = document.createElement("p"); p.textContent = "faint"; p.style.color = "#999"; document.body.append(p)`, faint},
		"wide":    {`const p = document.createElement("p"); p.style.width = "800px"; p.style.height = "1px"; document.body.append(p)`, wide},
		"unnamed": {`const p = document.createElement("button"); document.body.append(p)`, unnamed},
	} {
		v.open("/contract")
		ask[any](v, "(() => { "+check.change+" })()")
		if ask[string](v, check.check) == "" {
			t.Errorf("what is %s is not found", what)
		}
	}
}

// testWithoutScript: everything can be read and done where scripts are off.
// testSignIn signs in with the token, by typing it and by its URL, and loses the session: the page that
// follows changes becomes the page to sign in, which follows nothing.
func testSignIn(t *testing.T, browser context.Context) {
	now := then
	locked, e := lockedConsole(t, &now)
	c := locked.c
	v := visit(t, browser, c)
	v.look(390, "light")
	v.open("/stacks?deleted=1")
	v.is("the page is for signing in", `document.querySelector("#signin") === document.activeElement && document.title.startsWith("Sign in")`)
	for _, check := range []string{faint, wide, unnamed} {
		if found := ask[string](v, check); found != "" {
			t.Error(found)
		}
	}
	v.do(chromedp.SendKeys(chromedp.CSS("#signin"), "wrong"+kb.Enter))
	v.is("the token is wrong", `document.querySelector("[role=alert]").textContent.startsWith("The token is wrong")`)
	v.do(chromedp.SendKeys(chromedp.CSS("#signin"), c.Token()+kb.Enter))
	v.is("the page is shown", `location.pathname + location.search === "/_cfn/stacks?deleted=1" && document.querySelector("h1").textContent === "Stacks"`)
	v.open("/?token=" + c.TokenFor(home.Account))
	v.is("the address has no token", `location.search === "" && document.body.dataset.following === "live"`)
	v.mu.Lock()
	v.complaints = nil // the answers 401 above
	v.mu.Unlock()

	c.door.mu.Lock()
	c.door.sessions = nil
	c.door.mu.Unlock()
	e.touch("shop")
	v.is("the page is for signing in again", `document.querySelector("#signin") && !document.body.dataset.following`)
	v.open("/?token=" + c.Token())
	v.is("the session begins again", `document.querySelector("h1").textContent === "Overview"`)
	v.mu.Lock()
	v.complaints = nil // as above
	v.mu.Unlock()
}

func testWithoutScript(t *testing.T, browser context.Context) {
	logs := world(t)
	v := visit(t, browser, newConsole(t, logs))
	v.look(1280, "light")
	v.do(chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	v.open("/types")
	v.do(chromedp.SendKeys(chromedp.CSS("#q"), "cluster"+kb.Enter))
	v.is("the search is done", `location.search === "?q=cluster" && document.querySelectorAll("[data-row]").length === 1`)
	v.follow(`[data-row]`, "MongoDB::Atlas::Cluster")
	v.follow(`button[aria-label="Make 00000003 the default"]`, "MongoDB::Atlas::Cluster")
	v.is("it is said", `document.querySelector(".notice")`)
	v.open("/types")
	v.do(chromedp.SetValue(chromedp.CSS("select#place"), "123456789012/us-east-1"), chromedp.Click(chromedp.CSS(".place button")))
	v.is("the other place is empty", `document.querySelector("h1").textContent === "No types yet"`)
	v.open("/calls")
	v.do(chromedp.SetValue(chromedp.CSS("select#action"), "DELETE"), chromedp.Click(chromedp.CSS(".calls-search button")))
	v.is("the calls are filtered", `location.search === "?q=&action=DELETE" && document.querySelectorAll("[data-row]").length === 5`)
	v.follow(`[data-row]`, "Call of MongoDB::Atlas::Cluster")
	v.open(clusterPath + "/logs")
	v.do(chromedp.SendKeys(chromedp.CSS("#q"), "retrying"), chromedp.Click(chromedp.CSS("[data-filter] button")))
	v.is("the log is filtered", `location.search.startsWith("?q=retrying") && document.querySelectorAll(".log li").length === 4`)
	logs.write("/aws/lambda/mongodb-atlas-cluster-logs", "something new")
	v.do(chromedp.Click(chromedp.CSS(`.tools a[href$="/logs"]`)))
	v.is("the log is read again", `document.querySelector(".log").lastElementChild.textContent.endsWith("something new")`)
	if hidden := ask[int](v, `[...document.querySelectorAll("[data-pause], [data-copy], [data-clear]")].filter((e) => e.checkVisibility()).length`); hidden != 0 {
		t.Errorf("%d buttons do nothing", hidden)
	}
}
