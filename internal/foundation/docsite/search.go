package docsite

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// A section is what a search finds: the text below one heading.
type section struct {
	Page   int    `json:"p"`
	Anchor string `json:"a,omitempty"`
	Title  string `json:"t,omitempty"` // "" for the beginning of a page
	Text   string `json:"x"`
}

// sections cuts a document at its headings.
func sections(p *Page) []section {
	out := []section{{}}
	headings := p.headings
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && len(headings) > 0 {
			if h.Level > 1 {
				out = append(out, section{Anchor: headings[0].ID, Title: headings[0].Text})
			}
			headings = headings[1:]
			continue
		}
		if n.Kind() == ast.KindHTMLBlock {
			continue
		}
		last := &out[len(out)-1]
		last.Text = strings.Join(strings.Fields(last.Text+" "+plain(n, p.text)), " ")
	}
	return out
}

// searchScript is the index of the search. It is a script and not data, because pages that
// are opened from files cannot load data.
func searchScript(pages []*Page) []byte {
	index := struct {
		Pages    [][2]string `json:"pages"` // address and title
		Sections []section   `json:"sections"`
	}{}
	for i, p := range pages {
		index.Pages = append(index.Pages, [2]string{p.Name + ".html", p.Title})
		for _, s := range p.sections {
			s.Page = i
			index.Sections = append(index.Sections, s)
		}
	}
	var b bytes.Buffer
	b.WriteString("window.searchIndex = ")
	e := json.NewEncoder(&b)
	if err := e.Encode(index); err != nil {
		panic("docsite: " + err.Error()) // texts can be encoded
	}
	return b.Bytes()
}
