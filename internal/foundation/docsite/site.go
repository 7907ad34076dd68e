// Package docsite renders a set of Markdown documents as web pages with navigation and search.
// The pages are the same on a server and as files: all addresses are relative, all pages are in
// one folder, and nothing is loaded from elsewhere. docs/decisions/0023-one-renderer-for-docs.md
// has the reasons.
//
// The documents are those of this program: they are trusted, and are rendered on first use.
package docsite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate -path .

// A Document is one Markdown file.
type Document struct {
	Path    string // slash-separated, from the top of the repository: "docs/stacks.md"
	Section string // of the navigation; documents of a section stay in their order
	Label   string // in the navigation; "" is the title
	Text    []byte
}

// Config sets up a Site. All fields may be zero.
type Config struct {
	// Index is the path of the first page. Empty means the first document.
	Index string

	// Files are the images of the documents, by their paths.
	Files map[string][]byte

	// Source is the address of the files of the repository that are not documents, such as
	// "https://example.com/blob/main/". Without it, links to them are text.
	Source string

	// Target returns the path of the document that a code span is about, such as a command,
	// with an anchor after a #; "" for none. Nil finds none.
	Target func(code string) string

	// Version of the program, for the foot of the pages.
	Version string
}

// A Page is one document of a site.
type Page struct {
	Name    string `json:"name"` // as in its address: "stacks"
	Title   string `json:"title"`
	Section string `json:"section"`
	Path    string `json:"path"` // of the document

	label    string
	text     []byte
	tree     ast.Node
	headings []heading
	body     string
	sections []section // for the search
}

// A heading is one that links can lead to.
type heading struct {
	ID, Text string
	Level    int
}

// A Site renders documents. It is safe for concurrent use.
type Site struct {
	config   Config
	pages    []*Page
	byName   map[string]*Page
	byPath   map[string]*Page
	assets   map[string][]byte // by name
	versions map[string]string

	render sync.Once // the bodies of the pages and the index of the search
}

// New reads the documents; it fails if two have the same name.
func New(documents []Document, config Config) (*Site, error) {
	s := &Site{config: config, byName: map[string]*Page{}, byPath: map[string]*Page{}}
	if config.Index == "" && len(documents) > 0 {
		s.config.Index = documents[0].Path
	}
	for _, d := range documents {
		p := &Page{Name: s.name(d.Path), Section: d.Section, Path: d.Path, label: d.Label, text: d.Text}
		if other := s.byName[p.Name]; other != nil {
			return nil, fmt.Errorf("the documents %s and %s have the same name %s", other.Path, d.Path, p.Name)
		}
		p.Title = title(d.Text)
		p.label = cmp.Or(p.label, p.Title, p.Name)
		s.byName[p.Name], s.byPath[d.Path] = p, p
		s.pages = append(s.pages, p)
	}
	s.loadAssets()
	return s, nil
}

// name is a path as the name of a page: "docs/stacks.md" is stacks, "docs/decisions/0001-x.md"
// is decisions-0001-x, "sdk/README.md" is sdk.
func (s *Site) name(file string) string {
	if file == s.config.Index {
		return "index"
	}
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(file, Generated), "docs/"), ".md")
	name = strings.TrimSuffix(name, "/README")
	return strings.ToLower(strings.ReplaceAll(name, "/", "-"))
}

var firstTitle = lazyregexp.New(`(?m)^# +(.+?) *$`)

// title is the first heading of a document as plain text, "" without one.
func title(text []byte) string {
	m := firstTitle.FindSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.NewReplacer("`", "", `\`, "").Replace(string(m[1]))
}

// Pages lists the pages in the order of the navigation.
func (s *Site) Pages() []Page {
	out := make([]Page, len(s.pages))
	for i, p := range s.pages {
		out[i] = Page{Name: p.Name, Title: p.Title, Section: p.Section, Path: p.Path}
	}
	return out
}

// Find returns the page with a name, or for a path such as "docs/stacks.md".
func (s *Site) Find(name string) (Page, bool) {
	p := s.byPath[name]
	if p == nil {
		p = s.byName[strings.ToLower(strings.TrimSuffix(path.Base(name), ".md"))]
	}
	if p == nil {
		return Page{}, false
	}
	return Page{Name: p.Name, Title: p.Title, Section: p.Section, Path: p.Path}, true
}

// Markdown is the source of a page, nil if there is no such page.
func (s *Site) Markdown(name string) []byte {
	if p := s.byName[name]; p != nil {
		return p.text
	}
	return nil
}

// rendered renders all pages: the index of the search needs them.
func (s *Site) rendered() {
	s.render.Do(func() {
		for _, p := range s.pages {
			s.parse(p)
		}
		for _, p := range s.pages {
			s.renderPage(p)
		}
		s.assets["search.js"] = searchScript(s.pages)
		s.versions["search.js"] = version(s.assets["search.js"])
	})
}

// Files returns the whole site as files, by their names: pages, style, scripts and images.
func (s *Site) Files(ctx context.Context) (map[string][]byte, error) {
	s.rendered()
	out := map[string][]byte{}
	for name, data := range s.assets {
		out[name] = data
	}
	for _, p := range s.pages {
		data, err := s.page(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", p.Path, err)
		}
		out[p.Name+".html"] = data
	}
	return out, nil
}

// page is a whole page as HTML.
func (s *Site) page(ctx context.Context, p *Page) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.rendered()
	var b bytes.Buffer
	err := s.document(p).Render(ctx, &b)
	return b.Bytes(), err
}

// A group is one section of the navigation.
type group struct {
	Name  string
	Pages []*Page
}

// groups is the navigation: sections in the order of their first documents.
func (s *Site) groups() []group {
	var out []group
	for _, p := range s.pages {
		i := slices.IndexFunc(out, func(g group) bool { return g.Name == p.Section })
		if i < 0 {
			out = append(out, group{Name: p.Section})
			i = len(out) - 1
		}
		out[i].Pages = append(out[i].Pages, p)
	}
	return out
}

// outline lists the second-level headings of a page, for pages with more than two.
func (p *Page) outline() []heading {
	var out []heading
	for _, h := range p.headings {
		if h.Level == 2 {
			out = append(out, h)
		}
	}
	if len(out) < 3 {
		return nil
	}
	return out
}

// neighbors are the pages before and after a page, nil at the ends.
func (s *Site) neighbors(p *Page) (before, after *Page) {
	i := slices.Index(s.pages, p)
	if i > 0 {
		before = s.pages[i-1]
	}
	if i+1 < len(s.pages) {
		after = s.pages[i+1]
	}
	return before, after
}

// generated reports whether the document of a page is not a file of the repository.
func (p *Page) generated() bool { return strings.HasPrefix(p.Path, Generated) }

// Generated begins the paths of documents that are made by the program, such as the pages of
// its commands.
const Generated = "docs/commands/"

func current(yes bool) string {
	if yes {
		return "page"
	}
	return "false"
}
