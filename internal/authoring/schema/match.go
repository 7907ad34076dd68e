package schema

import (
	"strings"
	"unicode/utf8"
)

// The target names of a hook that are not resource types.
const (
	StackTarget     = "STACK"
	ChangeSetTarget = "CHANGE_SET"
)

// HasWildcard reports whether a target name may match more than one type.
func HasWildcard(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// MatchTarget reports whether a target name of a hook, or of its filters, matches a type
// name: "*" matches any text, "?" one character, and everything else itself. Upper and
// lower case differ.
//
// The time is proportional to the length of the pattern, and at most to the square of that
// of the name, which is short: a pattern that needs more characters than the name has
// is refused first, and only the latest "*" is ever tried again. What an earlier one could
// take more of, the latest one can, too.
func MatchTarget(pattern, name string) bool {
	if utf8.RuneCountInString(pattern)-strings.Count(pattern, "*") > utf8.RuneCountInString(name) {
		return false
	}
	p, n := 0, 0
	star, retry := -1, 0 // where the latest "*" is in pattern, and what it gives way to in name
	for n < len(name) {
		_, size := utf8.DecodeRuneInString(name[n:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			n += size
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			_, size = utf8.DecodeRuneInString(name[retry:])
			retry += size
			p, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
