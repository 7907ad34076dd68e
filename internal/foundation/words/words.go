// Package words shortens and counts for messages. Every text that a message, a report or a
// table has no room for is cut here.
package words

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// mark stands for what was cut off.
const mark = "…"

// Cut shortens a text that is longer than limit bytes, between two characters, and marks that
// it did with "…", which comes on top.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// CutRunes shortens a text that is longer than limit characters to so many, the mark included.
func CutRunes(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	if limit <= 0 {
		return ""
	}
	n := 0
	for at := range text {
		if n == limit-1 {
			return text[:at] + mark
		}
		n++
	}
	return text // not reached: the text has more characters
}

// CutStart keeps the last limit bytes of a text that is longer, from a character on, and marks
// what is missing before them.
func CutStart(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	start := len(text) - max(limit, 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return mark + text[start:]
}

// Count is a number of things in a sentence: "1 file", "2 files", "3 entries".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, y := strings.CutSuffix(noun, "y"); y && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
