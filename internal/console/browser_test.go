package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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

func visit(t *testing.T, c *Console) *reader {
	t.Helper()
	path := browser(t)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // before the server, which waits for its requests
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	v := &reader{t: t, ctx: ctx, url: server.URL}
	// Without a bound in time: the browser ends with the context that it was started by.
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
	ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

func (v *reader) open(path string) {
	v.t.Helper()
	v.do(chromedp.Navigate(v.url + Prefix + path))
}

// is sees whether an expression of the page comes true.
func (v *reader) is(what, expression string) {
	v.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(v.ctx, 10*time.Second)
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && yes {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s: never true: %s (%v)\n%s", what, expression, err, ask[string](v, "document.body.innerText"))
		}
	}
}

// ask evaluates an expression in the page.
func ask[T any](v *reader, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 30*time.Second)
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

// TestPagesInABrowser looks at every page as people do: on a phone and on a desk, in the
// light and in the dark. FORMWORK_SCREENSHOTS names a folder for pictures.
func TestPagesInABrowser(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	v := visit(t, c)
	shots := os.Getenv("FORMWORK_SCREENSHOTS")
	const cluster, schemaOf = "/types/RESOURCE/MongoDB::Atlas::Cluster", "/types/RESOURCE/MongoDB::Atlas::Cluster/schema"
	pages := []struct{ name, path, before string }{
		{"types", "/", ""},
		{"types-none", "/?q=nothing", ""},
		{"types-public", "/?shelf=public", ""},
		{"start", "/?in=123456789012/us-east-1", ""},
		{"type", cluster, ""},
		{"type-menu", cluster, `document.querySelector("details.menu").open = true`},
		{"type-hook", "/types/HOOK/Acme::Security::Encryption", ""},
		{"type-public", "/types/RESOURCE/Example::Mail::List?publisher=c830e97710da0c9954d80ba8df021e5439e7134b", ""},
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
		{"logs", cluster + "/logs", ""},
		{"logs-choice", "/logs", ""},
		{"registrations", "/registrations", ""},
		{"contract", "/contract", ""},
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
	shot, err := chromedp.Run(v.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(file, shot, 0o600); err != nil {
		v.t.Error(err)
	}
}
