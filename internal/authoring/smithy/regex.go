package smithy

import (
	"regexp"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// matchTime bounds one match of a pattern that only the backtracking engine takes.
const matchTime = 100 * time.Millisecond

// patterns finds patterns of the model in texts. It compiles each pattern once and is not
// safe for concurrent use.
type patterns struct {
	compiled map[string]func(text string) bool
	left     time.Duration // for matches
}

// match reports whether a pattern is found in a text. Patterns are those of ECMA 262 or
// Java; one that no engine here takes, or that takes too long, is given the benefit of
// the doubt.
func (p *patterns) match(pattern, text string) bool {
	find := p.compiled[pattern]
	if find == nil {
		find = compilePattern(pattern)
		p.compiled[pattern] = find
	}
	if p.left <= 0 {
		return true
	}
	start := time.Now()
	found := find(text)
	p.left -= time.Since(start)
	return found
}

func compilePattern(pattern string) func(text string) bool {
	if re, err := regexp.Compile(pattern); err == nil {
		return re.MatchString
	}
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return func(string) bool { return true }
	}
	re.MatchTimeout = matchTime
	return func(text string) bool {
		found, err := re.MatchString(text)
		return found || err != nil
	}
}
