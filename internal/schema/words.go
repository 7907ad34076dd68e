package schema

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
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

// article names a kind of value in a sentence.
func article(kind document.Kind) string {
	switch kind {
	case document.Null:
		return "null"
	case document.Array, document.Object:
		return "an " + kind.String()
	}
	return "a " + kind.String()
}

func describe(v *document.Value) string {
	if v == nil {
		return "nothing"
	}
	return article(v.Kind)
}

// shortText is a value as JSON, cut where it would fill the line.
func shortText(v *document.Value) string {
	if v == nil {
		return "nothing"
	}
	if v.Kind == document.Array || v.Kind == document.Object {
		return article(v.Kind)
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

// didYouMean proposes the known word that is nearest to a wrong one, if one is near.
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known word that a misspelled one most likely means, "" if none is near.
func Nearest(word string, known []string) string { return nearest(word, known) }

// DidYouMean is a hint with the known word that is nearest to a misspelled one, "" if none
// is near.
func DidYouMean(word string, known []string) string { return didYouMean(word, known) }

// nearest returns the known word that takes the fewest edits, "" if all take too many.
func nearest(word string, known []string) string {
	if word == "" || len(word) > 64 {
		return ""
	}
	best, distance := "", max(1, len(word)/3)+1
	for _, candidate := range known {
		if len(candidate) > 64+distance {
			continue
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours
// between two words.
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
