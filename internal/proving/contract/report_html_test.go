package contract

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// htmlOf is the report of a mutant, with the longest of everything in it.
func htmlOf(t *testing.T, mutant string, args ...string) (string, *Summary) {
	t.Helper()
	_, summary := report(t, mutant, args...)
	var b strings.Builder
	if err := WriteHTML(&b, summary); err != nil {
		t.Fatal(err)
	}
	return b.String(), summary
}

var external = regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|url\(|\bsrc=|href="[^#]|https?://|\son[a-z]+=`)

func TestHTMLReport(t *testing.T) {
	page, summary := htmlOf(t, "read forgets")
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("the template put something where it must not stand")
	}
	if found := external.FindString(page); found != "" {
		t.Errorf("the page needs something from elsewhere: %q", found)
	}
	if strings.Contains(page, "correct horse") {
		t.Error("the page shows the write-only value")
	}
	for _, want := range []string{
		"The handlers break the contract", `<details class="test failed" id="handler-create-py--contract-create-read-2" open>`, `<details class="test passed" id="handler-create-py--contract-create-delete-0">`,
		"What a create or update was asked for is returned exactly as it was requested", `<pre class="want">&#34;first&#34;</pre>`, `/Title <span class="quiet">missing`,
		"IN_PROGRESS", `class="bar waiting"`, "&lt;hidden: credentials&gt;", "&lt;hidden: write-only /Password&gt;", "&#34;bearerToken&#34;: &#34;token&#34;", "Log of the handler",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(page, `<details class="test `); n != len(summary.Results) {
		t.Errorf("%d tests are shown, want %d", n, len(summary.Results))
	}
	if page, _ = htmlOf(t, ""); !strings.Contains(page, "The handlers keep the contract") || strings.Contains(page, "What is broken") {
		t.Error("the page of a correct handler has another verdict")
	}
}

// TestHTMLOfHostileText: what handlers say is text, wherever it stands.
func TestHTMLOfHostileText(t *testing.T) {
	hostile := `</pre></style><script>alert(1)</script><img src=x onerror=alert(1)> "'{{.}}`
	c := &Case{ID: "faults.py::contract_" + hostile, Clause: hostile}
	summary := &Summary{TypeName: hostile, Failed: 1, LeftBehind: []string{hostile}, Results: []*Result{{
		Case: c, Outcome: Failed, Phase: CallPhase, Message: hostile, Clause: hostile, More: []*Violation{{Clause: hostile, Message: hostile}},
		Calls: []Call{{Action: "CREATE", Status: "IN_PROGRESS", ErrorCode: "X<u>", Message: hostile, Err: hostile, Request: []byte(hostile), Response: []byte(hostile), Log: hostile}},
	}}}
	var b strings.Builder
	if err := WriteHTML(&b, summary); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"<script", "<img", "<u>", "</pre></style>"} {
		if strings.Contains(b.String(), tag) {
			t.Errorf("%s stands in the page", tag)
		}
	}
	b.Reset()
	if err := WriteHTML(&b, &Summary{TypeName: "A::B::C"}); err != nil || !strings.Contains(b.String(), "No tests ran") {
		t.Error(err)
	}
}

// browser finds the browser that the page is looked at with.
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

// TestHTMLInABrowser looks at the page as people do: on a phone and on a desk, in the
// light and in the dark, with the keyboard alone. CFN_SHOTS names a folder for pictures.
func TestHTMLInABrowser(t *testing.T) {
	path := browser(t)
	page, _ := htmlOf(t, "read forgets")
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, " ", scheme), func(t *testing.T) { lookAt(t, ctx, "file://"+file, width, scheme) })
		}
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func lookAt(t *testing.T, ctx context.Context, url string, width int64, scheme string) {
	dark := chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		_, err := cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 1600), dark, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	if !ask[bool](t, ctx, `document.querySelector("details.test.failed").open && !document.querySelector("details.test.passed").open`) {
		t.Error("what failed is not open, or what passed is")
	}
	ask[int](t, ctx, `[...document.querySelectorAll(".failed details.call")].map(d => d.open = true).length`)
	if inner, scrolled := ask[int](t, ctx, `innerWidth`), ask[int](t, ctx, `document.documentElement.scrollWidth`); scrolled > inner {
		t.Errorf("the page is %d pixels wide, %d fit", scrolled, inner)
	}
	want := map[string]string{"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 29)"}[scheme]
	if background := ask[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); background != want {
		t.Errorf("the page is %s, want %s", background, want)
	}
	if dir := os.Getenv("CFN_SHOTS"); dir != "" {
		shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", scheme, width)), shot, 0o600); err != nil {
			t.Error(err)
		}
	}
	// With the keyboard: the first test that can be reached is opened, and closed again.
	const open = `document.querySelector("details.test.passed").open`
	ask[bool](t, ctx, `document.querySelector("details.test.passed > summary").focus() || true`)
	for _, want := range []bool{true, false} {
		if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		if got := ask[bool](t, ctx, open); got != want {
			t.Errorf("after Enter the test is open: %v, want %v", got, want)
		}
	}
	if outline := ask[string](t, ctx, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("the focus is shown as %s", outline)
	}
	if n := ask[int](t, ctx, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the page loads %d things", n)
	}
}
