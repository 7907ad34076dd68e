package template

import (
	"fmt"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// The bounds of an AllowedPattern and of one match: patterns exist that backtrack for hours.
const (
	maxPattern   = 4 << 10 // bytes
	maxStack     = 1 << 20 // words
	matchTimeout = 100 * time.Millisecond

	// maxSlow is after how many matches of a request that took too long no more are tried.
	maxSlow = 2
)

// A pattern is an AllowedPattern: a regular expression of Java that matches the whole value.
type pattern struct{ re *regexp2.Regexp }

func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, more than %d", len(text), maxPattern)
	}
	re, err := regexp2.Compile(`\A(?:`+text+`)\z`, regexp2.None, regexp2.OptionMaxBacktrackingStackSize(maxStack))
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchTimeout
	return &pattern{re}, nil
}

// matches reports whether the pattern matches. A match that takes too long fails, and is counted.
func (p *pattern) matches(value string, slow *int) bool {
	if *slow >= maxSlow {
		return false
	}
	ok, err := p.re.MatchString(value)
	if err != nil {
		*slow++
	}
	return ok && err == nil
}
