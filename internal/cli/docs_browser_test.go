package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// browserTimeout bounds what one step of a browser may take on a machine that does much else.
const browserTimeout = 2 * time.Minute

// startDocsBrowser starts a browser, which ends with the test.
func startDocsBrowser(t *testing.T) context.Context {
	t.Helper()
	program := os.Getenv("CFN_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && program == "" {
			program = found
		}
	}
	if program == "" {
		t.Skip("skipped: there is no browser; install the package chromium, or set CFN_BROWSER to the path of one")
	}
	for attempt := 1; ; attempt++ {
		dir, err := os.MkdirTemp("", "docs-browser-")
		if err != nil {
			t.Fatal(err)
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir), chromedp.WSURLReadTimeout(browserTimeout))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(allocator)
		finish := func() {
			end()
			stop()
			_ = os.RemoveAll(dir) // what the browser still writes when it ends is left to the system
		}
		if err = chromedp.Do(ctx, chromedp.Navigate("about:blank")); err == nil {
			t.Cleanup(finish)
			return ctx
		}
		finish()
		if attempt == 2 {
			t.Fatal(err)
		}
	}
}

func docsAsk[T any](t *testing.T, browser context.Context, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, browserTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func docsDo(t *testing.T, browser context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, browserTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// docsWait waits until an expression of the page is true. A page that is being replaced cannot be asked.
func docsWait(t *testing.T, browser context.Context, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, browserTimeout)
	defer cancel()
	var err error
	if !fixtures.Happens(browserTimeout, func() (is bool) {
		is, err = chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		return err == nil && is
	}) {
		t.Fatalf("never true: %s (%v)", expression, err)
	}
}

// tooWide lists what a reader can only see by scrolling the page sideways.
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")].filter((e) =>
	e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, pre")).slice(0, 8).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).join("\n") || "the page"`

// tooFaint lists texts that contrast less with what is behind them than WCAG 2.2 AA requires.
const tooFaint = `(() => {
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
	for (const e of document.querySelectorAll("p, li, a, code, h1, h2, h3, td, th, summary, button, input, b, small, footer")) {
		if (!e.textContent.trim() || !e.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true }) || e.closest(".unseen, .skip")) continue;
		const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.add(ratio.toFixed(2) + " " + e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40));
	}
	return [...out].slice(0, 8).join("\n");
})()`

// TestDocsInABrowser reads every page from files, without a server, as on a phone and on a desk. In
// the light and in the dark, the kinds of pages are looked at. FORMWORK_SCREENSHOTS names a
// folder for pictures of them.
func TestDocsInABrowser(t *testing.T) {
	browser := startDocsBrowser(t)
	dir := t.TempDir()
	_, files := siteFiles(t)
	var pages []string
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".html" {
			pages = append(pages, name)
		}
	}
	slices.Sort(pages)
	address := func(page string) string { return "file://" + filepath.ToSlash(filepath.Join(dir, page)) }
	kinds := []string{"index.html", "tutorial.html", "cfn-serve.html", "contract.html", "decisions-0021-no-methods-by-name.html"}
	for _, scheme := range []string{"light", "dark"} {
		docsDo(t, browser, chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
			_, err := cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
			return err
		}))
		for _, page := range pages {
			looked := slices.Contains(kinds, page)
			if scheme == "dark" && !looked {
				continue // the widths are the same
			}
			docsDo(t, browser, chromedp.Navigate(address(page)))
			for _, width := range []int64{390, 1280} {
				docsDo(t, browser, chromedp.EmulateViewport(width, 900))
				at := fmt.Sprintf("%s at %d px, %s", page, width, scheme)
				checkDocsPage(t, browser, at)
				if looked {
					lookAtDocsPage(t, browser, at, scheme)
					shootDocs(t, browser, fmt.Sprintf("docs-%s-%d-%s.png", strings.TrimSuffix(page, ".html"), width, scheme))
				}
			}
		}
	}
	t.Run("search", func(t *testing.T) { testDocsSearch(t, browser, address) })
	t.Run("pages", func(t *testing.T) { testDocsNavigation(t, browser, address) })
}

func checkDocsPage(t *testing.T, browser context.Context, at string) {
	t.Helper()
	if found := docsAsk[string](t, browser, tooWide); found != "" {
		t.Errorf("%s: too wide: %s", at, found)
	}
	const others = `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("file:")).join(" ")`
	if found := docsAsk[string](t, browser, `document.querySelectorAll("h1").length === 1 ? `+others+` : "no single title"`); found != "" {
		t.Errorf("%s: loads %s", at, found)
	}
}

func lookAtDocsPage(t *testing.T, browser context.Context, at, scheme string) {
	t.Helper()
	if found := docsAsk[string](t, browser, tooFaint); found != "" {
		t.Errorf("%s: too faint: %s", at, found)
	}
	want := map[string]string{"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 29)"}[scheme]
	if got := docsAsk[string](t, browser, `getComputedStyle(document.body).backgroundColor`); got != want {
		t.Errorf("%s: the page is %s, want %s", at, got, want)
	}
}

func shootDocs(t *testing.T, browser context.Context, name string) {
	t.Helper()
	folder := os.Getenv("FORMWORK_SCREENSHOTS")
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(browser, browserTimeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), picture, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// typed enters a text into the search as a person does.
func typed(t *testing.T, browser context.Context, text string) {
	t.Helper()
	docsAsk[any](t, browser, fmt.Sprintf(`(() => { const i = document.getElementById("find"); i.focus(); i.value = %q; i.dispatchEvent(new Event("input")); return null; })()`, text))
	docsWait(t, browser, `!document.getElementById("found").hidden && document.getElementById("said").textContent`)
}

func testDocsSearch(t *testing.T, browser context.Context, address func(string) string) {
	for query, want := range map[string]string{
		"lint/PR006":      "rules.html#lintpr006",
		"cfn stack drift": "cfn-stack-drift.html",
		"tutorial":        "tutorial.html",
		"create.read":     "contract.html",
		"--handler-env":   "cfn-serve.html",
	} {
		docsDo(t, browser, chromedp.Navigate(address("index.html")))
		typed(t, browser, query)
		links := docsAsk[string](t, browser, `[...document.querySelectorAll("#found a")].slice(0, 5).map((a) => a.getAttribute("href")).join(" ")`)
		if !strings.Contains(links, want) {
			t.Errorf("%q finds %s, want %s", query, links, want)
		}
	}
	typed(t, browser, `.*+?^${}()|[]\ "<img>`) // no pattern, no markup
	if got := docsAsk[string](t, browser, `document.getElementById("found").textContent`); got != "Nothing found." {
		t.Errorf("found %s", got)
	}
	for _, width := range []int64{390, 1280} {
		docsDo(t, browser, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address("tutorial.html")))
		typed(t, browser, "cfn serve")
		at := fmt.Sprintf("results at %d px", width)
		checkDocsPage(t, browser, at)
		const outside = `(() => { const r = document.getElementById("found").getBoundingClientRect(); return r.left < 0 || r.right > innerWidth ? r.left + " to " + r.right : ""; })()`
		if found := docsAsk[string](t, browser, outside); found != "" {
			t.Errorf("%s: from %s", at, found)
		}
		lookAtDocsPage(t, browser, at, "dark")
		shootDocs(t, browser, fmt.Sprintf("docs-search-%d.png", width))
	}
	typed(t, browser, "lint/PR006")
	docsAsk[any](t, browser, `document.querySelector("#found a").click()`)
	docsWait(t, browser, `location.href.endsWith("rules.html#lintpr006") && document.readyState === "complete"`)
	if top := docsAsk[float64](t, browser, `document.getElementById("lintpr006").getBoundingClientRect().top`); top < 40 || top > 400 {
		t.Errorf("the rule is at %v", top)
	}
}

// testDocsNavigation: on a phone the list of pages is folded, on a desk it is beside the page.
func testDocsNavigation(t *testing.T, browser context.Context, address func(string) string) {
	const link = `document.querySelector('.pages a[href="stacks.html"]').checkVisibility({ contentVisibilityAuto: true })`
	docsDo(t, browser, chromedp.EmulateViewport(390, 900), chromedp.Navigate(address("index.html")))
	if docsAsk[bool](t, browser, link) {
		t.Error("the list of pages covers a phone")
	}
	docsAsk[any](t, browser, `document.querySelector(".pages summary").click()`)
	docsWait(t, browser, link)
	docsDo(t, browser, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address("index.html")))
	docsWait(t, browser, link)
	if at := docsAsk[string](t, browser, `document.querySelector('.pages a[aria-current="page"]').getAttribute("href")`); at != "index.html" {
		t.Errorf("the current page is %s", at)
	}
}
