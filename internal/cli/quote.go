package cli

import (
	"regexp"
	"strings"
)

// shellQuote quotes a word for sh and fish where it needs it.
func shellQuote(s string) string {
	if plain := regexp.MustCompile(`^[A-Za-z0-9_:/.,@%+=-]+$`); plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
