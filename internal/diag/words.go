package diag

import (
	"fmt"
	"unicode/utf8"
)

// quoted bounds what a message quotes of a document, in bytes.
const quoted = 80

// Cut shortens a text of a document to what fits into a message, and marks that it did.
func Cut(text string) string { return CutTo(text, quoted) }

// CutTo shortens a text that is longer than limit bytes, between two characters, and marks
// that it did with "…".
func CutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Count is a number of things in a sentence: "1 file", "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
