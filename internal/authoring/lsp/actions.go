package lsp

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

const quickFix = "quickfix"

// codeAction offers what a hint says to type, where it says it plainly.
func (s *server) codeAction(ctx context.Context, d *snapshot, params documentParams) (any, error) {
	actions := []codeAction{}
	only := params.Context.Only
	if len(only) > 0 && !slices.ContainsFunc(only, func(kind string) bool { return kind == "" || kind == quickFix }) {
		return actions, nil
	}
	from, to := d.lines.offset(params.Range.Start, s.encoding), d.lines.offset(params.Range.End, s.encoding)
	for _, p := range s.problems(d) {
		start, end := d.extent(p)
		if end < from || start > to || ctx.Err() != nil {
			continue
		}
		fixes := s.fixesOf(d, p)
		for _, f := range fixes {
			actions = append(actions, codeAction{
				Title: f.title, Kind: quickFix, IsPreferred: len(fixes) == 1, Diagnostics: []diagnostic{s.diagnostic(d, p)},
				Edit: workspaceEdit{map[string][]textEdit{d.uri: {{d.lines.span(f.start, f.end, s.encoding), f.text}}}},
			})
		}
	}
	return actions, ctx.Err()
}

// A fix replaces one stretch of a document.
type fix struct {
	title      string
	start, end int
	text       string
}

// The forms of hints that say exactly what to do.
var (
	quotedWord  = `"(?:[^"\\]|\\.)*"`
	replaceHint = lazyregexp.New(`^(?:did you mean|write) (` + quotedWord + `(?: or ` + quotedWord + `)*)\??$|^(` + quotedWord + `) would be one$`)
	word        = lazyregexp.New(quotedWord)
	addHint     = lazyregexp.New(`^add (` + quotedWord + `: .+)$`)
)

// fixesOf turns the hint of a problem into edits, each of which repairs it.
func (s *server) fixesOf(d *snapshot, p diag.Problem) []fix {
	if d.role() == templateRole || d.role() == stackTestRole {
		return s.templateFixes(d, p)
	}
	start, end := p.At.Start.Offset, p.At.End.Offset
	if !p.At.Start.Known() || d.isOther(p.At.File) || end > len(d.text()) || start >= end {
		return nil
	}
	text := d.text()
	if p.Hint == "remove the comma" && text[start:end] == "," {
		return []fix{{"remove the comma", start, end, ""}}
	}
	if m := replaceHint.FindStringSubmatch(p.Hint); m != nil {
		if stop, closed := stringEnd(text, start); !closed || stop != end || text[start] != '"' {
			return nil
		}
		var out []fix
		for _, literal := range word.FindAllString(m[1]+m[2], -1) {
			if plain, err := strconv.Unquote(literal); err == nil {
				out = append(out, fix{"replace with " + quote(plain), start, end, quote(plain)})
			}
		}
		return out
	}
	if m := addHint.FindStringSubmatch(p.Hint); m != nil {
		return insertion(d, p, m[1])
	}
	return nil
}

// insertion adds a member to the object that lacks it, as its first.
func insertion(d *snapshot, p diag.Problem, member string) []fix {
	if _, problems := document.ParseJSON("", []byte("{"+member+"}"), document.Limits{}); problems.HasErrors() {
		return nil
	}
	pointer, ok := document.ParsePointer(p.Pointer)
	object := d.tree().Lookup(pointer)
	if !ok || object == nil || object.Kind != document.Object {
		return nil
	}
	at := object.At.Start.Offset + 1
	text := member
	if len(object.Members) > 0 {
		space := d.text()[at:object.Members[0].KeyAt.Start.Offset]
		if strings.TrimSpace(space) != "" {
			space = " "
		}
		text = space + member + ","
		if space == "" {
			text += " "
		}
	}
	return []fix{{"add " + member, at, at, text}}
}
