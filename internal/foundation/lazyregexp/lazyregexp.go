// Package lazyregexp delays the compilation of the regular expressions of the program until they are used. The
// program has about 190 of them; most commands use few, and compiling all of them took 8 ms at each start.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// inTest is whether this is the program of a test: there, New compiles at once, so that any test of a package
// finds a wrong expression in it.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// Regexp is a regular expression that is compiled at its first use. It is safe for concurrent use, and its methods
// are those of [regexp.Regexp].
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New returns the expression of a source that is known to be valid. The first use of an invalid one panics, as
// [regexp.MustCompile] does; in tests New itself panics.
func New(source string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
	if inTest {
		r.compiled()
	}
	return r
}

func (r *Regexp) FindAllString(s string, n int) []string {
	return r.compiled().FindAllString(s, n)
}

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

func (r *Regexp) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return r.compiled().FindAllSubmatchIndex(b, n)
}

func (r *Regexp) FindString(s string) string {
	return r.compiled().FindString(s)
}

func (r *Regexp) FindStringIndex(s string) []int {
	return r.compiled().FindStringIndex(s)
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.compiled().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindSubmatch(b []byte) [][]byte {
	return r.compiled().FindSubmatch(b)
}

func (r *Regexp) FindSubmatchIndex(b []byte) []int {
	return r.compiled().FindSubmatchIndex(b)
}

func (r *Regexp) Match(b []byte) bool {
	return r.compiled().Match(b)
}

func (r *Regexp) MatchString(s string) bool {
	return r.compiled().MatchString(s)
}

func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}

func (r *Regexp) String() string {
	return r.compiled().String()
}
