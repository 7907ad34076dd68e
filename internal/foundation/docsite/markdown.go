package docsite

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// slugs gives headings the anchors that GitHub gives them.
type slugs struct{ used map[string]int }

func newSlugs() *slugs { return &slugs{map[string]int{}} }

// Generate is called with the source of a heading; code and links are their texts in the anchor.
func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	base := slug(string(value))
	n, again := s.used[base]
	s.used[base] = n + 1
	if !again {
		return []byte(base)
	}
	return fmt.Appendf(nil, "%s-%d", base, n)
}

func (s *slugs) Put(value []byte) { s.used[string(value)] = 1 }

var markup = lazyregexp.New("\\[([^\\]]*)\\]\\([^)]*\\)|<[^>]*>|`")

// slug is the anchor of a heading: letters, digits, - and _ in lower case, spaces as -.
func slug(heading string) string {
	heading = strings.TrimSpace(markup.ReplaceAllString(heading, "$1"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// parse reads the document of a page and its headings.
func (s *Site) parse(p *Page) {
	p.tree, p.headings = read(p.text)
}

func read(source []byte) (ast.Node, []heading) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	context := parser.NewContext(parser.WithIDs(newSlugs()))
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	var headings []heading
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			headings = append(headings, heading{ID: string(name), Text: strings.TrimSpace(plain(h, source)), Level: h.Level})
		}
		return ast.WalkContinue, nil
	})
	return tree, headings
}

// plain is the text of a node without markup; blocks are separated by spaces.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(util.UnescapePunctuations(n.Segment.Value(source)))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(lines(n, source))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func lines(n ast.Node, source []byte) []byte { return n.Lines().Value(source) }

// renderPage turns the document of a page into HTML and into sections for the search.
func (s *Site) renderPage(p *Page) {
	r := &rendering{site: s, page: p}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(r, 1))),
	)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.text, p.tree); err != nil {
		panic("docsite: " + p.Path + ": " + err.Error()) // a bytes.Buffer does not fail
	}
	// A wide table scrolls in a box of its own, which the keyboard reaches.
	wide := strings.NewReplacer("<table>", `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>")
	p.body = wide.Replace(b.String())
	p.sections = sections(p)
}

// rendering renders what is not as in any Markdown: links, headings, code, and raw HTML.
type rendering struct {
	site *Site
	page *Page
	open string // the end of the link that is open
}

func (r *rendering) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindLink, r.link)
	register.Register(ast.KindImage, r.image)
	register.Register(ast.KindHeading, r.heading)
	register.Register(ast.KindCodeSpan, r.codeSpan)
	register.Register(ast.KindFencedCodeBlock, r.codeBlock)
	register.Register(ast.KindRawHTML, r.rawHTML)
	register.Register(ast.KindHTMLBlock, r.htmlBlock)
}

func (r *rendering) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString(r.open) // a bytes.Buffer does not fail, nor do the others below
		return ast.WalkContinue, nil
	}
	address := r.site.resolve(r.page, string(node.(*ast.Link).Destination))
	switch {
	case address == "":
		r.open = ""
		return ast.WalkContinue, nil
	case strings.Contains(address, "://"):
		_, _ = fmt.Fprintf(w, `<a href="%s" rel="noreferrer">`, html.EscapeString(address))
	default:
		_, _ = fmt.Fprintf(w, `<a href="%s">`, html.EscapeString(address))
	}
	r.open = "</a>"
	return ast.WalkContinue, nil
}

func (r *rendering) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	alt := html.EscapeString(plain(node, source))
	file := path.Join(path.Dir(r.page.Path), string(node.(*ast.Image).Destination))
	if _, found := r.site.config.Files[file]; found {
		_, _ = fmt.Fprintf(w, `<img src="%s" alt="%s">`, html.EscapeString(path.Base(file)), alt)
	} else {
		_, _ = w.WriteString(alt)
	}
	return ast.WalkSkipChildren, nil
}

func (r *rendering) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h := node.(*ast.Heading)
	id, _ := h.AttributeString("id")
	name, _ := id.([]byte)
	if entering {
		_, _ = fmt.Fprintf(w, `<h%d id="%s">`, h.Level, html.EscapeString(string(name)))
		return ast.WalkContinue, nil
	}
	if h.Level > 1 {
		_, _ = fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a>`, html.EscapeString(string(name)))
	}
	_, _ = fmt.Fprintf(w, "</h%d>\n", h.Level)
	return ast.WalkContinue, nil
}

// codeSpan links what names a command or a rule, unless it is in a link or a heading.
func (r *rendering) codeSpan(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code := ""
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			code += strings.ReplaceAll(string(t.Segment.Value(source)), "\n", " ")
		}
	}
	target := ""
	if r.site.config.Target != nil && !within(node) {
		target = r.site.config.Target(code)
	}
	if file, anchor, _ := strings.Cut(target, "#"); target != "" && file != r.page.Path {
		if p := r.site.byPath[file]; p != nil {
			_, _ = fmt.Fprintf(w, `<a class="code" href="%s"><code>%s</code></a>`, html.EscapeString(pageAddress(p.Name, anchor)), html.EscapeString(code))
			return ast.WalkSkipChildren, nil
		}
	}
	_, _ = fmt.Fprintf(w, "<code>%s</code>", html.EscapeString(code))
	return ast.WalkSkipChildren, nil
}

func within(node ast.Node) bool {
	for n := node.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == ast.KindLink || n.Kind() == ast.KindHeading {
			return true
		}
	}
	return false
}

func (r *rendering) codeBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := string(node.(*ast.FencedCodeBlock).Language(source))
	_, _ = fmt.Fprintf(w, `<pre tabindex="0" data-language="%s"><code>%s</code></pre>`+"\n", html.EscapeString(language), html.EscapeString(string(lines(node, source))))
	return ast.WalkSkipChildren, nil
}

// rawTag is the HTML that documents may contain: line breaks and anchors. Anything else is text.
var rawTag = lazyregexp.New(`^(<br>|<br/>|<a id="[a-z0-9.-]+">|</a>)$`)

func (r *rendering) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	raw := string(node.(*ast.RawHTML).Segments.Value(source))
	switch {
	case strings.HasPrefix(raw, "<!--"):
	case rawTag.MatchString(raw):
		_, _ = w.WriteString(raw)
	default:
		_, _ = w.WriteString(html.EscapeString(raw))
	}
	return ast.WalkSkipChildren, nil
}

// htmlBlock leaves comments out and shows other blocks as text.
func (r *rendering) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	block := node.(*ast.HTMLBlock)
	raw := string(lines(node, source))
	if block.HasClosure() {
		raw += string(block.ClosureLine.Value(source))
	}
	if entering && !strings.HasPrefix(strings.TrimSpace(raw), "<!--") {
		_, _ = fmt.Fprintf(w, "<pre>%s</pre>\n", html.EscapeString(raw))
	}
	return ast.WalkContinue, nil
}

func pageAddress(name, anchor string) string {
	if anchor == "" {
		return name + ".html"
	}
	return name + ".html#" + anchor
}

// resolve turns the destination of a link into an address of the site: a page, a file of the
// repository, or an address on the web; "" if it is none of them.
func (s *Site) resolve(p *Page, destination string) string {
	u, err := url.Parse(destination)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "https" || u.Scheme == "http":
		return destination
	case u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/"):
		return ""
	case u.Path == "":
		return "#" + u.Fragment
	}
	file := path.Join(path.Dir(p.Path), u.Path)
	for _, candidate := range []string{file, file + "/README.md"} {
		if target := s.byPath[candidate]; target != nil {
			return pageAddress(target.Name, u.Fragment)
		}
	}
	if s.config.Source == "" || strings.HasPrefix(file, "../") {
		return ""
	}
	return s.config.Source + file
}

// Links lists the destinations of the links and images of a document, and Anchors what links to
// it can end with. They are for tests of documents.
func Links(source []byte) []string {
	tree, _ := read(source)
	var out []string
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				out = append(out, string(n.Destination))
			case *ast.Image:
				out = append(out, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

var anchorTag = lazyregexp.New(`<a id="([^"]+)">`)

// Anchors lists the anchors of a document: its headings, as GitHub names them, and explicit ones.
func Anchors(source []byte) []string {
	_, headings := read(source)
	var out []string
	for _, h := range headings {
		out = append(out, h.ID)
	}
	for _, m := range anchorTag.FindAllSubmatch(source, -1) {
		out = append(out, string(m[1]))
	}
	return out
}
