package cli

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/foundation/docsite"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/console"
)

func siteFiles(t *testing.T) (*docsite.Site, map[string][]byte) {
	t.Helper()
	site, err := newDocSite(Commands("1.2.3"), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	files, err := site.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return site, files
}

var tag = regexp.MustCompile(`<[^>]*>`)

// visibleText is the text of a page, without the white space that tells nothing.
func visibleText(page []byte) string {
	_, body, _ := strings.Cut(string(page), "<article>")
	body, _, _ = strings.Cut(body, "</article>")
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(body, ""))), " ")
}

// TestDocsInTheConsole: the pages of the console link to pages of the documentation, which the server has below it.
func TestDocsInTheConsole(t *testing.T) {
	c := &app{Env: &Env{Version: "1.2.3"}}
	server := console.New(console.Config{Docs: c.docsHandler(Commands("1.2.3"))})
	t.Cleanup(server.Close)
	for _, name := range console.HelpPages() {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://cfn.example"+console.Prefix+"/docs/"+name+".html", nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<article>") {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

// TestDocsOfCommands: each command has a page with all of its help.
func TestDocsOfCommands(t *testing.T) {
	_, files := siteFiles(t)
	seen := 0
	eachCommand(Commands("1.2.3"), func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		seen++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".html"
		page := files[name]
		if page == nil {
			t.Errorf("%s is missing", name)
			return
		}
		text := visibleText(page)
		has := func(what, part string) {
			if part = strings.Join(strings.Fields(part), " "); !strings.Contains(text, part) {
				t.Errorf("%s lacks the %s %q", name, what, part)
			}
		}
		has("synopsis", usageLine(cmd))
		for paragraph := range strings.SplitSeq(cmd.Long, "\n\n") {
			has("paragraph", paragraph)
		}
		has("example", cmd.Example)
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(flag)
			has("option", "--"+flag.Name)
			has("meaning of --"+flag.Name, usage)
		})
		for _, sub := range cmd.Commands() {
			if link := `href="` + strings.ReplaceAll(sub.CommandPath(), " ", "-") + `.html"`; !sub.Hidden && !strings.Contains(string(page), link) {
				t.Errorf("%s does not link to %s", name, sub.CommandPath())
			}
		}
	})
	if seen < 60 {
		t.Errorf("only %d commands", seen)
	}
}

var reference = regexp.MustCompile(`(?:src|href|data-search)="([^"]*)"`)

// TestDocsReferences: every page is complete without a network, and each link within the site
// leads to a page and an anchor that exist.
func TestDocsReferences(t *testing.T) {
	_, files := siteFiles(t)
	ids := map[string]map[string]bool{}
	id := regexp.MustCompile(` id="([^"]+)"`)
	for name, data := range files {
		ids[name] = map[string]bool{}
		for _, m := range id.FindAllSubmatch(data, -1) {
			ids[name][html.UnescapeString(string(m[1]))] = true
		}
	}
	loads := regexp.MustCompile(`(?i)<(script|link|img|iframe|source|video)\b[^>]*(//|http)|@import|url\(|\son[a-z]+=`)
	checked := 0
	for name, data := range files {
		if filepath.Ext(name) == ".css" && loads.Match(data) {
			t.Errorf("%s loads %s", name, loads.Find(data))
		}
		if filepath.Ext(name) != ".html" {
			continue
		}
		head, _, _ := strings.Cut(string(data), "<article>")
		if found := loads.FindString(head); found != "" {
			t.Errorf("%s loads %s", name, found)
		}
		for _, m := range reference.FindAllStringSubmatch(string(data), -1) {
			to := html.UnescapeString(m[1])
			if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") {
				continue
			}
			file, anchor, _ := strings.Cut(to, "#")
			file, _, _ = strings.Cut(file, "?")
			if file == "" {
				file = name
			}
			checked++
			if files[file] == nil {
				t.Errorf("%s refers to %s, which does not exist", name, to)
			} else if anchor != "" && !ids[file][anchor] {
				t.Errorf("%s refers to %s, which has no such anchor", name, to)
			}
		}
	}
	if checked < 5000 {
		t.Errorf("only %d references were checked", checked)
	}
	for _, e := range allExplanations() {
		if !ids["rules.html"][ruleAnchor(e.ID)] {
			t.Errorf("the rule %s has no anchor", e.ID)
		}
	}
	for _, c := range contract.Clauses {
		if !ids["contract.html"][c.ID] {
			t.Errorf("the clause %s has no anchor", c.ID)
		}
	}
}

// TestDocsPages: every document of the repository is a page, in the section that it belongs to.
func TestDocsPages(t *testing.T) {
	site, _ := siteFiles(t)
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			name, err := filepath.Rel(filepath.Join("..", ".."), f)
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, filepath.ToSlash(name))
		}
	}
	for _, d := range documents {
		page, found := site.Find(d)
		if !found {
			t.Errorf("%s is not a page", d)
			continue
		}
		want, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(d)))
		if got := site.Markdown(page.Name); err != nil || string(got) != string(want) {
			t.Errorf("%s is not the text of the page %s (%v)", d, page.Name, err)
		}
	}
	for _, section := range docSections {
		for _, d := range section.documents {
			if !slices.Contains(documents, d) {
				t.Errorf("the section %s lists %s, which does not exist", section.name, d)
			}
		}
	}
	if page, _ := site.Find("tutorial"); page.Section != "Start" || page.Title != "Tutorial in Go: a resource type in one evening" {
		t.Errorf("tutorial: %+v", page)
	}
}

func TestFindPage(t *testing.T) {
	site, err := newDocSite(Commands("1.2.3"), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"": "index", "tutorial": "tutorial", "docs/stacks.md": "stacks", "stack drift": "cfn-stack-drift", "cfn stack drift": "cfn-stack-drift",
		"validate": "cfn-validate", "lint/PR006": "rules#lintpr006", "create.read": "contract#create.read", "stack-drift": "cfn-stack-drift", "cfn": "cfn",
	} {
		page, anchor, err := findPage(site, strings.Fields(args))
		if err != nil || page.Name+anchor != want {
			t.Errorf("%q: %s%s, %v; want %s", args, page.Name, anchor, err, want)
		}
	}
	for name, want := range map[string]string{
		"tutorail": "did you mean tutorial?", "decision": "did you mean decisions-0001", "validat": "did you mean cfn-validate or cfn-smithy-validate?", "tepmlates": "did you mean templates?", "statck": "did you mean stacks", "qqqqq": "run cfn docs --list to list the pages",
	} {
		code, stdout, stderr := runMain(t.Context(), t.TempDir(), nil, "docs", name)
		if code != 1 || stdout != "" || !strings.Contains(stderr, `error: the documentation has no page "`+name+`"`) || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

func TestDocsPrint(t *testing.T) {
	dir := t.TempDir()
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "stacks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runMain(t.Context(), dir, nil, "docs", "--print", "stacks"); code != 0 || stdout != string(want) || stderr != "" {
		t.Errorf("code %d, %d bytes, want %d\n%s", code, len(stdout), len(want), stderr)
	}
	var page struct{ Name, Title, Section, Path, Markdown string }
	if code, stdout, _ := runMain(t.Context(), dir, nil, "docs", "stacks", "--print", "--format", "json"); code != 0 || json.Unmarshal([]byte(stdout), &page) != nil || page.Markdown != string(want) || page.Title != "Stacks" {
		t.Errorf("code %d, %+v", code, page)
	}
	var list struct{ Pages []docsite.Page }
	if code, stdout, _ := runMain(t.Context(), dir, nil, "docs", "--list", "--format", "json"); code != 0 || json.Unmarshal([]byte(stdout), &list) != nil || len(list.Pages) < 100 || list.Pages[0].Name != "index" {
		t.Errorf("code %d, %d pages", code, len(list.Pages))
	}
	for _, args := range [][]string{{"--list", "--print"}, {"--write", "x", "--list"}, {"--port", "-1"}, {"--port", "65536"}} {
		if code, stdout, _ := runMain(t.Context(), dir, nil, append([]string{"docs"}, args...)...); code != exitUsage || stdout != "" {
			t.Errorf("%v: code %d\n%s", args, code, stdout)
		}
	}
}

func TestDocsWrite(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := runMain(t.Context(), dir, nil, "docs", "--write", "site")
	if code != 0 || !strings.HasSuffix(strings.TrimSpace(stdout), "open "+filepath.Join("site", "index.html")) {
		t.Fatalf("code %d\n%s%s", code, stdout, stderr)
	}
	_, files := siteFiles(t)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, "site", name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runMain(t.Context(), dir, nil, "docs", "--write", "file"); code != 1 || !strings.Contains(stderr, "error: write the documentation: ") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, _ := runMain(canceled, dir, nil, "docs", "--write", "never"); code == 0 {
		t.Error("a canceled command wrote the site")
	}
}

// TestDocsServes starts the server without a terminal, reads a page and stops it.
func TestDocsServes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := Main(ctx, Env{Stdin: strings.NewReader(""), Stdout: writer, Stderr: io.Discard, Environ: []string{"DISPLAY=:0"}, Dir: t.TempDir(), Version: "1.2.3"}, []string{"docs", "lint/PR006", "--format", "json"})
		_ = writer.Close()
		done <- code
	}()
	var printed struct{ URL string }
	if err := json.NewDecoder(reader).Decode(&printed); err != nil || !strings.HasPrefix(printed.URL, "http://127.0.0.1:") || !strings.HasSuffix(printed.URL, "/rules.html#lintpr006") {
		t.Fatalf("%q, %v", printed.URL, err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, printed.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), `id="lintpr006"`) {
		t.Errorf("status %d, %v", response.StatusCode, err)
	}
	port := strings.TrimPrefix(strings.TrimSuffix(printed.URL, "/rules.html#lintpr006"), "http://127.0.0.1:")
	if code, _, stderr := runMain(t.Context(), t.TempDir(), nil, "docs", "--port", port); code != 1 || !strings.Contains(stderr, "hint: pass --port 0 to use a free port") {
		t.Errorf("a port in use: code %d\n%s", code, stderr)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("code %d after Ctrl-C", code)
	}
}

func TestBrowserCommand(t *testing.T) {
	for _, test := range []struct {
		system  string
		environ map[string]string
		want    string
	}{
		{"linux", nil, ""},
		{"linux", map[string]string{"DISPLAY": ":0"}, "xdg-open U"},
		{"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open U"},
		{"linux", map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "1"}, ""},
		{"darwin", nil, "open U"},
		{"windows", nil, "rundll32 url.dll,FileProtocolHandler U"},
		{"windows", map[string]string{"CI": "true"}, ""},
	} {
		if got := strings.Join(browserCommandOf(test.system, getenvOf(test.environ), "U"), " "); got != test.want {
			t.Errorf("%s %v: %q, want %q", test.system, test.environ, got, test.want)
		}
	}
}
