package docsite

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func testSite(t *testing.T, documents []Document, config Config) *Site {
	t.Helper()
	s, err := New(documents, config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// body renders a document that has the neighbors docs/other.md and sdk/README.md.
func body(t *testing.T, text string) string {
	t.Helper()
	s := testSite(t, []Document{
		{Path: "README.md", Section: "Start", Text: []byte("# Start")},
		{Path: "docs/page.md", Section: "Start", Text: []byte(text)},
		{Path: "docs/other.md", Section: "Start", Text: []byte("# Other")},
		{Path: "docs/decisions/0001-x.md", Section: "More", Text: []byte("# 1")},
		{Path: "sdk/README.md", Section: "More", Text: []byte("# SDK")},
	}, Config{
		Source: "https://example.com/blob/", Files: map[string][]byte{"docs/demo.svg": []byte("<svg/>")},
		Target: func(code string) string {
			return map[string]string{"cfn test": "docs/other.md#tests", "cfn page": "docs/page.md", "cfn gone": "docs/gone.md"}[code]
		},
	})
	s.rendered()
	return strings.TrimSpace(s.byName["page"].body)
}

func TestRender(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"link to a page", "[o](other.md)", `<p><a href="other.html">o</a></p>`},
		{"link to a section", "[o](other.md#a-b)", `<p><a href="other.html#a-b">o</a></p>`},
		{"link in the page", "[o](#a)", `<p><a href="#a">o</a></p>`},
		{"link to the first page", "[o](../README.md#x)", `<p><a href="index.html#x">o</a></p>`},
		{"link to a page in a folder", "[o](decisions/0001-x.md)", `<p><a href="decisions-0001-x.html">o</a></p>`},
		{"link to a folder with a page", "[o](../sdk)", `<p><a href="sdk.html">o</a></p>`},
		{"link to a file that is no page", "[o](../internal/cli)", `<p><a href="https://example.com/blob/internal/cli" rel="noreferrer">o</a></p>`},
		{"link out of the repository", "[o](../../../etc/passwd)", `<p>o</p>`},
		{"link to the web", "[o](https://example.org/?a&b)", `<p><a href="https://example.org/?a&amp;b" rel="noreferrer">o</a></p>`},
		{"link to a script", "[o](javascript:alert%281%29)", `<p>o</p>`},
		{"link to a host", "[o](//evil.example/x)", `<p>o</p>`},
		{"image", "![a \"demo\"](demo.svg)", `<p><img src="demo.svg" alt="a &#34;demo&#34;"></p>`},
		{"image that is missing", "![a](no.svg)", `<p>a</p>`},
		{"image from the web", "![a](https://example.org/a.png)", `<p>a</p>`},
		{"command", "run `cfn test`", `<p>run <a class="code" href="other.html#tests"><code>cfn test</code></a></p>`},
		{"command in a link", "[`cfn test`](other.md)", `<p><a href="other.html"><code>cfn test</code></a></p>`},
		{"command of this page", "`cfn page`", `<p><code>cfn page</code></p>`},
		{"command without a page", "`cfn gone`", `<p><code>cfn gone</code></p>`},
		{"code is escaped", "`<b>`", `<p><code>&lt;b&gt;</code></p>`},
		{"block is escaped", "```sh\na <b> && c\n```", `<pre tabindex="0" data-language="sh"><code>a &lt;b&gt; &amp;&amp; c` + "\n</code></pre>"},
		{"heading", "## A `b` & C", `<h2 id="a-b--c">A <code>b</code> &amp; C <a class="anchor" href="#a-b--c" aria-label="Link to this section">#</a></h2>`},
		{"line break", "a<br>b", `<p>a<br>b</p>`},
		{"anchor", `<a id="four-walks"></a>`, `<p><a id="four-walks"></a></p>`},
		{"other HTML is text", "a <script>b</script>", `<p>a &lt;script&gt;b&lt;/script&gt;</p>`},
		{"block of HTML is text", "<script>\nb\n</script>", "<pre>&lt;script&gt;\nb\n&lt;/script&gt;</pre>"},
		{"comment", "<!-- x -->\n\na <!-- y --> b", "<p>a  b</p>"},
		{"table", "| a |\n|---|\n| b |", `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>` + "\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table></div>"},
	} {
		if got := body(t, test.text); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestAnchors: headings have the anchors that GitHub gives them.
func TestAnchors(t *testing.T) {
	got := Anchors([]byte("# The `cfn` way\n\n## Types, without handlers\n\n## Same\n\n### Same\n\n## lint/PR006\n\n## `a_b` [link](x.md) – Ümläut\n\n```text\n# not one\n```\n\n<a id=\"named\"></a>\n"))
	want := []string{"the-cfn-way", "types-without-handlers", "same", "same-1", "lintpr006", "a_b-link--ümläut", "named"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Links([]byte("[a](b.md#c) ![d](e.svg) `[f](g)`\n\n```text\n[h](i)\n```\n")); !slices.Equal(got, []string{"b.md#c", "e.svg"}) {
		t.Errorf("links: %q", got)
	}
}

func TestSameName(t *testing.T) {
	_, err := New([]Document{{Path: "docs/a.md"}, {Path: "a.md"}}, Config{Index: "README.md"})
	if err == nil || !strings.Contains(err.Error(), "docs/a.md and a.md have the same name a") {
		t.Errorf("got %v", err)
	}
}

func TestSearchSections(t *testing.T) {
	s := testSite(t, []Document{{Path: "README.md", Text: []byte("# Title\n\nBegin *here*.\n\n## One\n\nText\nof one: `code`.\n\n- item\n\n| a | b |\n|---|---|\n| c | d |\n\n```sh\nrun </script> it\n```\n")}}, Config{})
	files, err := s.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, found := strings.CutPrefix(string(files["search.js"]), "window.searchIndex = ")
	if !found || strings.Contains(text, "</script>") {
		t.Fatalf("not a script: %s", text)
	}
	var index struct {
		Pages    [][]string
		Sections []section
	}
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	want := []section{{Text: "Begin here."}, {Anchor: "one", Title: "One", Text: "Text of one: code. item a b c d run </script> it"}}
	if !slices.Equal(index.Sections, want) {
		t.Errorf("got  %+v\nwant %+v", index.Sections, want)
	}
	if len(index.Pages) != 1 || index.Pages[0][0] != "index.html" || index.Pages[0][1] != "Title" {
		t.Errorf("pages: %v", index.Pages)
	}
}

var reference = regexp.MustCompile(`(?:src|href|data-search)="([^"]*)"`)

// TestServe: each reference of each page leads to something, and nothing is loaded from elsewhere.
func TestServe(t *testing.T) {
	s := testSite(t, []Document{
		{Path: "README.md", Section: "A", Text: []byte("# Start\n\n[o](docs/other.md) ![d](docs/d.svg)")},
		{Path: "docs/other.md", Section: "B", Text: []byte("# Other <b>\n\n## One\n\n## Two\n\n## Three\n")},
	}, Config{Files: map[string][]byte{"docs/d.svg": []byte("<svg/>")}, Version: "1.2.3"})
	get := func(method, host, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+path, nil)
		s.ServeHTTP(w, r)
		return w
	}
	references := 0
	for _, path := range []string{"/", "/index.html", "/other.html", "/other"} {
		w := get(http.MethodGet, "127.0.0.1:1", path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(w.Body.String(), "cfn 1.2.3") {
			t.Fatalf("%s: %d %s\n%s", path, w.Code, w.Header(), w.Body)
		}
		for _, m := range reference.FindAllStringSubmatch(w.Body.String(), -1) {
			if strings.HasPrefix(m[1], "#") {
				continue
			}
			references++
			if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") {
				t.Errorf("%s refers to %s", path, m[1])
			} else if w := get(http.MethodGet, "127.0.0.1:1", "/"+m[1]); w.Code != http.StatusOK {
				t.Errorf("%s: %s: %d", path, m[1], w.Code)
			}
		}
	}
	if references < 20 {
		t.Errorf("only %d references", references)
	}
	for _, test := range []struct {
		method, host, path string
		code               int
	}{
		{http.MethodGet, "localhost:8080", "/", http.StatusOK},
		{http.MethodHead, "[::1]:8080", "/other.html", http.StatusOK},
		{http.MethodGet, "evil.example", "/", http.StatusForbidden},
		{http.MethodGet, "localhost.evil.example", "/", http.StatusForbidden},
		{http.MethodPost, "127.0.0.1", "/", http.StatusMethodNotAllowed},
		{http.MethodGet, "127.0.0.1", "/missing.html", http.StatusNotFound},
		{http.MethodGet, "127.0.0.1", "/../../etc/passwd", http.StatusNotFound},
		{http.MethodGet, "127.0.0.1", "/assets/site.css", http.StatusNotFound},
	} {
		w := get(test.method, test.host, test.path)
		if w.Code != test.code {
			t.Errorf("%s %s%s: %d, want %d", test.method, test.host, test.path, w.Code, test.code)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s %s%s: policy %q", test.method, test.host, test.path, policy)
		}
	}
}

// TestFind finds pages by name and by path.
func TestFind(t *testing.T) {
	s := testSite(t, []Document{{Path: "README.md"}, {Path: "docs/stacks.md"}, {Path: "docs/decisions/0001-x.md"}, {Path: Generated + "cfn-docs.md"}}, Config{})
	for name, want := range map[string]string{
		"index": "index", "README.md": "index", "stacks": "stacks", "Stacks": "stacks", "stacks.md": "stacks", "docs/stacks.md": "stacks",
		"decisions-0001-x": "decisions-0001-x", "docs/decisions/0001-x.md": "decisions-0001-x", "cfn-docs": "cfn-docs", "other": "", "": "",
	} {
		if got, _ := s.Find(name); got.Name != want {
			t.Errorf("%q: %q, want %q", name, got.Name, want)
		}
	}
	if s.Markdown("nothing") != nil {
		t.Error("a page that does not exist has a text")
	}
}
