package logs

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A filterPattern is a filter for unstructured events: terms that must all occur, terms of
// which one must occur, and terms that must not. Terms match as they are written, within words
// too. The zero filterPattern matches everything.
type filterPattern struct {
	all, any, none []string
}

// parseFilter reads a filter pattern: word "several words" ?either ?or -not. Terms of
// other characters than letters, digits and _ are quoted. Patterns for JSON ({ $.a = 1 }),
// for columns ([a, b]) and regular expressions (%a%) are refused by name.
func parseFilter(text string) (filterPattern, error) {
	var p filterPattern
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "{") {
		return p, awswire.NotOffered("A filter pattern for JSON")
	}
	if strings.HasPrefix(rest, "[") {
		return p, awswire.NotOffered("A filter pattern for space-delimited events")
	}
	for rest != "" {
		into := &p.all
		switch rest[0] {
		case '?':
			into, rest = &p.any, rest[1:]
		case '-':
			into, rest = &p.none, rest[1:]
		}
		var term string
		var err error
		if term, rest, err = cutTerm(rest); err != nil {
			return filterPattern{}, err
		}
		*into = append(*into, term)
		rest = strings.TrimLeft(rest, " \t\r\n")
	}
	if len(p.all) > 0 {
		p.any = nil // as in CloudWatch Logs
	}
	return p, nil
}

// cutTerm takes the first term off a pattern.
func cutTerm(text string) (term, rest string, err error) {
	invalid := func(what string) error {
		return awswire.Errorf("InvalidParameterException", 0, "Invalid filter pattern: %s", what)
	}
	if strings.HasPrefix(text, "%") {
		return "", "", awswire.NotOffered("A filter pattern with a regular expression")
	}
	if strings.HasPrefix(text, `"`) {
		var b strings.Builder
		for i := 1; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\' && i+1 < len(text):
				i++
				b.WriteByte(text[i])
			case c == '"':
				rest = text[i+1:]
				if rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") {
					return "", "", invalid("a quoted term ends before a space")
				}
				return b.String(), rest, nil
			default:
				b.WriteByte(c)
			}
		}
		return "", "", invalid("a quotation mark is not closed")
	}
	end := strings.IndexAny(text, " \t\r\n")
	if end < 0 {
		end = len(text)
	}
	term = text[:end]
	if term == "" {
		return "", "", invalid("a term is empty")
	}
	for _, c := range []byte(term) {
		if c < 0x80 && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", "", invalid("Invalid character(s) in term '" + words.Cut(term, 100) + "': put it in quotation marks")
		}
	}
	return term, text[end:], nil
}

// matches reports whether a message satisfies the pattern.
func (p filterPattern) matches(message string) bool {
	for _, term := range p.all {
		if !strings.Contains(message, term) {
			return false
		}
	}
	for _, term := range p.none {
		if strings.Contains(message, term) {
			return false
		}
	}
	for _, term := range p.any {
		if strings.Contains(message, term) {
			return true
		}
	}
	return len(p.any) == 0
}
