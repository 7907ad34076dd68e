package smithy

import (
	"regexp"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// matchTime bounds one match of a pattern that only the backtracking engine takes.
const matchTime = 100 * time.Millisecond

// matchesPattern tells whether a pattern of the model is found in a text. Patterns are
// those of ECMA 262 or Java; one that no engine here takes, or that takes too long, is
// given the benefit of the doubt.
func matchesPattern(pattern, text string) bool {
	if re, err := regexp.Compile(pattern); err == nil {
		return re.MatchString(text)
	}
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return true
	}
	re.MatchTimeout = matchTime
	found, err := re.MatchString(text)
	return found || err != nil
}
