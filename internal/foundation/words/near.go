package words

import (
	"fmt"
	"strings"
)

// DidYouMean is a hint with the known word that is nearest to a misspelled one, "" if none is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known word that takes the fewest edits, "" if all take too many.
func Nearest(word string, known []string) string {
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
