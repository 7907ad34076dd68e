package schema

import (
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// matchTimeout bounds one match. A published pattern is known that backtracks for more
// than ten seconds on a short string.
const matchTimeout = 250 * time.Millisecond

// verdict is the outcome of a match: a pattern that cannot be used, or takes too long,
// says nothing about the string.
type verdict uint8

const (
	undecided verdict = iota
	matches
	noMatch
)

// A pattern is a regular expression of a schema. Its dialect is that of the published
// schemas: ECMAScript, where the Java idioms that occur mean what they mean in Java.
type pattern struct {
	text string
	re   *regexp2.Regexp
	err  error // why it cannot be used
}

func compile(text string) *pattern {
	p := &pattern{text: text}
	p.re, p.err = regexp2.Compile(rewrite(text), regexp2.ECMAScript)
	if p.err == nil {
		p.re.MatchTimeout = matchTimeout
	}
	return p
}

// match looks for the pattern anywhere in the text, as draft-07 has it.
func (p *pattern) match(text string) verdict {
	if p.err != nil {
		return undecided
	}
	found, err := p.re.MatchString(text)
	switch {
	case err != nil:
		return undecided
	case found:
		return matches
	}
	return noMatch
}

// rewrite turns three idioms of Java, the dialect that authors write in fact, into ones
// that ECMAScript compiles.
func rewrite(text string) string {
	return strings.ReplaceAll(text, `\p{Graph}`, `!-~`)
}

// addPattern compiles a pattern of the schema while it is loaded.
func (r *references) addPattern(text string) {
	if r.patterns[text] == nil {
		r.patterns[text] = compile(text)
	}
}

// pattern returns the compiled form of a pattern of the schema.
func (r *references) pattern(text string) *pattern {
	if p := r.patterns[text]; p != nil {
		return p
	}
	return compile(text)
}
