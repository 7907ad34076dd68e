package schema

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// nameOf names the value at a pointer in a sentence: its key, quoted, or the document.
func nameOf(pointer document.Pointer) string {
	if len(pointer) == 0 {
		return "the schema"
	}
	last := pointer[len(pointer)-1]
	if isIndex(last) && len(pointer) > 1 {
		return fmt.Sprintf("an item of %q", pointer[len(pointer)-2])
	}
	return fmt.Sprintf("%q", last)
}

func describe(v *document.Value) string {
	if v == nil {
		return "nothing"
	}
	return v.Kind.WithArticle()
}

// shortText is a value as JSON, cut where it would fill the line.
func shortText(v *document.Value) string {
	if v == nil {
		return "nothing"
	}
	if v.Kind == document.Array || v.Kind == document.Object {
		return v.Kind.WithArticle()
	}
	return diag.Cut(string(v.AppendJSON(nil)))
}

// oneOf joins names of types: "a string or an array".
func oneOf(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "a " + name
		if name != "" && strings.IndexByte("aio", name[0]) >= 0 {
			out[i] = "an " + name
		}
		if name == "null" {
			out[i] = name
		}
	}
	return strings.Join(out, " or ")
}

// properName derives the name of a property from a text: "cover_sheet" becomes "CoverSheet".
// It is empty if nothing usable remains.
func properName(text string) string {
	var b strings.Builder
	capital := true
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' && capital:
			b.WriteRune(r - 'a' + 'A')
			capital = false
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			b.WriteRune(r)
			capital = false
		default:
			capital = true
		}
	}
	name := strings.TrimPrefix(b.String(), "CloudFormation")
	if len(name) > 64 {
		name = name[:64]
	}
	return name
}

// isName reports whether a text can be the name of a property.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// maxHints bounds for how many wrong words of one document a near one is looked for.
const maxHints = 100
