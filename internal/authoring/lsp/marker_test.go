package lsp

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

var update = flag.Bool("update", false, "rewrite the expected results of marker tests")

// testTemplates have the types and the module of testdata/types.
func testTemplates(t testing.TB) func(context.Context, []string) (*Templates, error) {
	t.Helper()
	dir, err := filepath.Abs("testdata/types")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*schema.Schema{}
	for _, name := range []string{"queue.json", "host.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		loaded, problems := schema.Load(filepath.Join(dir, name), data, schema.Config{})
		if loaded == nil || problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		types[loaded.TypeName.Value] = loaded
	}
	data, err := os.ReadFile(filepath.Join(dir, "fragment.json"))
	if err != nil {
		t.Fatal(err)
	}
	fragment, problems := module.ParseFragment(filepath.Join(dir, "fragment.json"), "fragment.json", data)
	if fragment == nil {
		t.Fatal(problems.Err())
	}
	fragments := testFragments{"Acme::App::Queue::MODULE": fragment}
	return func(context.Context, []string) (*Templates, error) {
		return &Templates{
			Types: typecheck.Source{
				Schema:   func(name string) (*schema.Schema, error) { return types[name], nil },
				Complete: func(name string) bool { return strings.HasPrefix(name, "AWS::SQS::") },
				Names: func() []string {
					return []string{"AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "Acme::Net::Host"}
				},
			},
			Modules:   func(string) template.Modules { return fragments },
			Fragments: func(context.Context, string) map[string]*module.Fragment { return fragments },
		}, nil
	}
}

type testFragments map[string]*module.Fragment

func (f testFragments) Fragment(_ context.Context, typeName string) (*module.Fragment, error) {
	return f[typeName], nil
}

func (f testFragments) Expand(ctx context.Context, root *document.Value, budget *template.Budget) (*document.Value, error) {
	expanded, err := module.Expand(ctx, root, f, budget)
	if err != nil {
		return nil, err
	}
	return expanded.Root, nil
}

// TestMarkers runs the files of testdata/template and testdata/stacktest. Each has documents in which marks of the form
//
//	#@ name(argument, …); name(…)
//
// say what the server answers; the server does not see them. The first argument is a place: text on the line of the
// mark before it, or the name of a place that loc declared. In a place, | is the cursor; without it, the cursor is at
// its end for completions and renames, else at its start.
//
//	loc(name, place)                declares a place
//	diag(place, regexp)             a problem; each problem has one mark
//	complete(place, label…)         exactly these completions, in their order
//	rank(place, label…, "!label")   these completions in this order, and not those with "!"
//	accept(place, label, golden)    the changed lines with a completion
//	hover(place, text…)             the help contains the texts; "!text" is not in it
//	def(place, name)                the declaration; "none", or the name of a file and a text in it: "host.json Name"
//	refs(place, name…)              the declaration and the uses
//	rename(place, name, golden)     the changed lines after a rename
//	renameerr(place, name, regexp)  why it cannot be renamed
//	quickfix(place, title, golden)  the changed lines after a quick fix
//	nofix(place, title)             there is no such quick fix
//	symbols(golden)                 the outline
//
// A golden is a section of the file whose name begins with @, which -update writes. Other files that the server reads are
// such sections, too.
func TestMarkers(t *testing.T) {
	files, err := filepath.Glob("testdata/[ts]*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no marker tests: ", err)
	}
	for _, file := range files {
		for _, encoding := range []encoding{utf8Encoding, utf16Encoding} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+string(encoding), func(t *testing.T) {
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				run := &markerRun{t: t, archive: archive, encoding: encoding}
				for _, f := range slices.Clone(archive.Files) {
					if !strings.HasPrefix(f.Name, "@") {
						run.file(f.Name, string(f.Data))
					}
				}
				if *update && run.changed {
					if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

type markerRun struct {
	t        *testing.T
	archive  *txtar.Archive
	encoding encoding
	changed  bool

	c         *client
	uri       string
	text      string // without marks
	locations map[string][2]int
	found     []diagnostic
}

// A markCall is one call in a comment.
type markCall struct {
	line, start int // the line from 1, and the offset of its start
	before      string
	name        string
	args        []string
}

var (
	callPattern = regexp.MustCompile(`^\s*([a-z]+)\(`)
	argPattern  = regexp.MustCompile("^\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|[@A-Za-z0-9_.-]+)\\s*(,|\\))")
)

// marksOf takes the marks out of a text.
func (r *markerRun) marksOf(text string) []markCall {
	var marks []markCall
	var out strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		before, calls, marked := strings.Cut(line, "#@")
		if !marked {
			out.WriteString(line)
			continue
		}
		if strings.TrimSpace(before) != "" {
			before = strings.TrimSuffix(before, " ")
		}
		for calls = strings.TrimSpace(calls); calls != ""; calls = strings.TrimLeft(calls, "; ") {
			m := callPattern.FindStringSubmatch(calls)
			if m == nil {
				r.t.Fatalf("line %d: not a mark: %s", i+1, calls)
			}
			call := markCall{line: i + 1, start: out.Len(), before: before, name: m[1]}
			calls = calls[len(m[0]):]
			for {
				a := argPattern.FindStringSubmatch(calls)
				if a == nil {
					r.t.Fatalf("line %d: not an argument: %s", i+1, calls)
				}
				arg := a[1]
				if arg[0] == '"' || arg[0] == '`' {
					arg, _ = strconv.Unquote(arg)
					arg = "\"" + arg // a literal
				}
				call.args = append(call.args, arg)
				calls = calls[len(a[0]):]
				if a[2] == ")" {
					break
				}
			}
			marks = append(marks, call)
		}
		out.WriteString(before + "\n")
	}
	r.text = out.String()
	return marks
}

// literal is an argument that is not a place.
func literal(arg string) string { return strings.TrimPrefix(arg, `"`) }

// place finds the place of an argument; cursor is -1 without |.
func (r *markerRun) place(m markCall, arg string) (start, end, cursor int) {
	r.t.Helper()
	if !strings.HasPrefix(arg, `"`) {
		at, ok := r.locations[arg]
		if !ok {
			r.t.Fatalf("line %d: no place %s", m.line, arg)
		}
		return at[0], at[1], -1
	}
	text, cursor := literal(arg), -1
	if i := strings.Index(text, "|"); i >= 0 {
		text, cursor = text[:i]+text[i+1:], i
	}
	i := strings.Index(m.before, text)
	if i < 0 {
		r.t.Fatalf("line %d: %q is not in %q", m.line, text, m.before)
	}
	start = m.start + i
	if cursor >= 0 {
		cursor += start
	}
	return start, start + len(text), cursor
}

func (r *markerRun) file(name, body string) {
	capabilities := strings.Replace(everything, `"utf-16"`, strconv.Quote(string(r.encoding)), 1)
	r.c = connect(r.t, Config{Templates: testTemplates(r.t), StackTests: testStackTests(r.t), ReadFile: r.read}, capabilities)
	r.uri, r.locations = "file:///work/"+name, map[string][2]int{}
	marks := r.marksOf(body)
	r.c.opens(r.uri, r.text)
	r.found = r.c.published(r.uri).Diagnostics
	for _, m := range marks {
		if m.name == "loc" {
			start, end, _ := r.place(m, m.args[1])
			r.locations[m.args[0]] = [2]int{start, end}
		}
	}
	checked := false
	for _, m := range marks {
		checked = checked || m.name == "diag"
		r.do(m)
	}
	if checked || len(marks) == 0 {
		for _, d := range r.found {
			r.t.Errorf("%s:%d: %s: %s has no mark", name, d.Range.Start.Line+1, d.Code, d.Message)
		}
	}
}

// read reads a section of the archive, else a file.
func (r *markerRun) read(path string) ([]byte, error) {
	for _, f := range r.archive.Files {
		if f.Name == "@"+filepath.Base(path) {
			return f.Data, nil
		}
	}
	return os.ReadFile(path)
}

// testStackTests have the published schema, and know one problem.
func testStackTests(t testing.TB) StackTests {
	t.Helper()
	data, err := os.ReadFile("../../../docs/stacktest.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	published, problems := document.ParseJSON("stacktest.schema.json", data, document.Limits{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return StackTests{
		IsFile: func(name string) bool { return strings.Contains(name, ".stacktest.") }, Schema: published, Names: "x-cfn-names",
		Check: func(name string, text []byte) diag.List {
			root, _ := template.ReadYAML(name, text, document.Limits{})
			if m := root.Lookup(document.Pointer{"cases", "one", "steps", "1", "expect"}).Member("Output"); m != nil {
				return diag.List{{ID: "stacktest/unknown-key", At: m.KeyAt, Message: `expect has no key "Output"`, Hint: `did you mean "Outputs"?`}}
			}
			return nil
		},
	}
}

// params are those of a request at an offset.
func (r *markerRun) params(offset int, more string) string {
	p := newLines(r.text).position(offset, r.encoding)
	return fmt.Sprintf(`{"textDocument": {"uri": %q}, "position": {"line": %d, "character": %d}%s}`, r.uri, p.Line, p.Character, more)
}

func (r *markerRun) do(m markCall) {
	r.t.Helper()
	fail := func(format string, args ...any) {
		r.t.Helper()
		r.t.Errorf("%s:%d: %s: %s", r.uri, m.line, m.name, fmt.Sprintf(format, args...))
	}
	var start, end, cursor int
	if m.name != "loc" && m.name != "symbols" {
		start, end, cursor = r.place(m, m.args[0])
	}
	switch m.name {
	case "loc":
	case "diag":
		r.diagnosed(start, literal(m.args[1]), fail)
	case "complete", "rank", "accept":
		if cursor < 0 {
			cursor = end
		}
		r.completed(m, cursor, fail)
	case "hover":
		raw, err := r.c.call("textDocument/hover", r.params(max(start, cursor), ""))
		h := decode[*hover](r.t, raw, err)
		for _, want := range m.args[1:] {
			want, absent := strings.CutPrefix(literal(want), "!")
			if h == nil || strings.Contains(h.Contents.Value, want) == absent {
				fail("%q: %+v", want, h)
			}
		}
	case "def":
		r.defined(m, max(start, cursor), fail)
	case "refs":
		raw, err := r.c.call("textDocument/references", r.params(max(start, cursor), `, "context": {"includeDeclaration": true}`))
		var want []string
		for _, name := range m.args[1:] {
			want = append(want, r.lineColumn(r.locations[name][0])+"-"+r.lineColumn(r.locations[name][1]))
		}
		var got []string
		for _, l := range decode[[]location](r.t, raw, err) {
			got = append(got, fmt.Sprintf("%d:%d-%d:%d", l.Range.Start.Line+1, l.Range.Start.Character, l.Range.End.Line+1, l.Range.End.Character))
		}
		if !slices.Equal(got, want) {
			fail("%v, want %v", got, want)
		}
	case "rename", "renameerr":
		r.renames(m, max(start, cursor), fail)
	case "quickfix", "nofix":
		r.fixed(m, start, end, fail)
	case "symbols":
		raw, err := r.c.call("textDocument/documentSymbol", r.params(0, ""))
		r.golden(m.args[0], outlineText(decode[[]documentSymbol](r.t, raw, err), ""), fail)
	default:
		r.t.Fatalf("line %d: no mark %s", m.line, m.name)
	}
}

func (r *markerRun) lineColumn(offset int) string {
	p := newLines(r.text).position(offset, r.encoding)
	return fmt.Sprintf("%d:%d", p.Line+1, p.Character)
}

func (r *markerRun) diagnosed(start int, pattern string, fail func(string, ...any)) {
	r.t.Helper()
	at := newLines(r.text).position(start, r.encoding)
	for i, d := range r.found {
		if d.Range.Start == at && regexp.MustCompile(pattern).MatchString(d.Code+": "+d.Message) {
			r.found = slices.Delete(r.found, i, i+1)
			return
		}
	}
	fail("no problem %s at %d:%d; there are %+v", pattern, at.Line+1, at.Character, r.found)
}

func (r *markerRun) completed(m markCall, cursor int, fail func(string, ...any)) {
	r.t.Helper()
	raw, err := r.c.call("textDocument/completion", r.params(cursor, ""))
	items := decode[completionList](r.t, raw, err).Items
	sort.SliceStable(items, func(i, j int) bool { return items[i].SortText < items[j].SortText })
	var labels []string
	for _, item := range items {
		labels = append(labels, item.Label)
	}
	switch m.name {
	case "complete":
		var want []string
		for _, arg := range m.args[1:] {
			want = append(want, literal(arg))
		}
		if !slices.Equal(labels, want) {
			fail("%q, want %q", labels, want)
		}
	case "rank":
		last := -1
		for _, arg := range m.args[1:] {
			label, absent := strings.CutPrefix(literal(arg), "!")
			i := slices.Index(labels, label)
			if absent != (i < 0) || !absent && i <= last {
				fail("%s is item %d of %q", label, i, labels)
			}
			last = max(last, i)
		}
	case "accept":
		i := slices.Index(labels, literal(m.args[1]))
		if i < 0 {
			fail("%s is not in %q", m.args[1], labels)
			return
		}
		r.golden(m.args[2], r.changes(r.apply([]textEdit{items[i].TextEdit})), fail)
	}
}

// apply makes edits, the last one first.
func (r *markerRun) apply(edits []textEdit) string {
	text := r.text
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i].Range.Start, edits[j].Range.Start
		return a.Line > b.Line || a.Line == b.Line && a.Character > b.Character
	})
	for _, edit := range edits {
		text = newLines(text).replace(edit.Range, edit.NewText, r.encoding)
	}
	return text
}

// changes are the lines that differ, with their numbers: all in which texts of as many lines differ, else those between
// the first and the last one.
func (r *markerRun) changes(text string) string {
	before, after := strings.Split(r.text, "\n"), strings.Split(text, "\n")
	var b strings.Builder
	if len(before) == len(after) {
		for i, line := range after {
			if line != before[i] {
				fmt.Fprintf(&b, "%d: %s\n", i+1, line)
			}
		}
		return b.String()
	}
	first := 0
	for first < min(len(before), len(after)) && before[first] == after[first] {
		first++
	}
	last := 0
	for last < min(len(before), len(after))-first && before[len(before)-1-last] == after[len(after)-1-last] {
		last++
	}
	for i, line := range before[first : len(before)-last] {
		fmt.Fprintf(&b, "%d- %s\n", first+i+1, line)
	}
	for i, line := range after[first : len(after)-last] {
		fmt.Fprintf(&b, "%d+ %s\n", first+i+1, line)
	}
	return b.String()
}

func (r *markerRun) defined(m markCall, offset int, fail func(string, ...any)) {
	r.t.Helper()
	raw, err := r.c.call("textDocument/definition", r.params(offset, ""))
	got := decode[*location](r.t, raw, err)
	want := literal(m.args[1])
	if file, text, ok := strings.Cut(want, " "); ok {
		data, err := r.read("testdata/types/" + file)
		if err != nil {
			r.t.Fatal(err)
		}
		l := newLines(string(data))
		if got == nil || filepath.Base(pathOf(got.URI)) != file || !strings.HasPrefix(string(data)[l.offset(got.Range.Start, r.encoding):], text) {
			fail("%+v, want %s", got, want)
		}
		return
	}
	if want == "none" {
		if got != nil {
			fail("%+v", got)
		}
		return
	}
	at := newLines(r.text).span(r.locations[want][0], r.locations[want][1], r.encoding)
	if got == nil || got.Range != at {
		fail("%+v, want %+v", got, at)
	}
}

func (r *markerRun) renames(m markCall, offset int, fail func(string, ...any)) {
	r.t.Helper()
	raw, err := r.c.call("textDocument/rename", r.params(offset, `, "newName": `+strconv.Quote(literal(m.args[1]))))
	if m.name == "renameerr" {
		if err == nil || !regexp.MustCompile(literal(m.args[2])).MatchString(err.Error()) {
			fail("%s, %v", raw, err)
		}
		return
	}
	if err != nil {
		fail("%v", err)
		return
	}
	if _, err := r.c.call("textDocument/prepareRename", r.params(offset, "")); err != nil {
		fail("prepareRename: %v", err)
	}
	r.golden(m.args[2], r.changes(r.apply(decode[workspaceEdit](r.t, raw, err).Changes[r.uri])), fail)
}

func (r *markerRun) fixed(m markCall, start, end int, fail func(string, ...any)) {
	r.t.Helper()
	at := newLines(r.text).span(start, end, r.encoding)
	raw, err := r.c.call("textDocument/codeAction", fmt.Sprintf(`{"textDocument": {"uri": %q}, "context": {}, "range": {"start": {"line": %d, "character": %d}, "end": {"line": %d, "character": %d}}}`,
		r.uri, at.Start.Line, at.Start.Character, at.End.Line, at.End.Character))
	var titles []string
	for _, action := range decode[[]codeAction](r.t, raw, err) {
		titles = append(titles, action.Title)
		if action.Title == literal(m.args[1]) {
			if m.name == "nofix" {
				fail("%+v", action)
				return
			}
			r.golden(m.args[2], r.changes(r.apply(action.Edit.Changes[r.uri])), fail)
			return
		}
	}
	if m.name == "quickfix" {
		fail("the fixes are %q", titles)
	}
}

// golden compares a text with a section of the archive.
func (r *markerRun) golden(name, got string, fail func(string, ...any)) {
	r.t.Helper()
	if !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	for i := range r.archive.Files {
		f := &r.archive.Files[i]
		if f.Name != name {
			continue
		}
		if *update && string(f.Data) != got {
			f.Data, r.changed = []byte(got), true
		}
		if !bytes.Equal(f.Data, []byte(got)) {
			fail("%s is\n%s\nwant\n%s", name, got, f.Data)
		}
		return
	}
	if !*update {
		fail("there is no section %s", name)
		return
	}
	r.archive.Files, r.changed = append(r.archive.Files, txtar.File{Name: name, Data: []byte(got)}), true
}

// outlineText is an outline, a line for each symbol.
func outlineText(symbols []documentSymbol, indent string) string {
	var b strings.Builder
	for _, s := range symbols {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s%s %s", indent, s.Name, s.Detail), " ") + "\n" + outlineText(s.Children, indent+"  "))
	}
	return b.String()
}
