package lazyregexp

import (
	"regexp"
	"sync"
	"testing"
)

func TestNew(t *testing.T) {
	r := New(`(\w+)@(\w+)`)
	want := regexp.MustCompile(r.String())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := r.FindStringSubmatch("to a@b"); len(got) != 3 || got[2] != "b" {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
	if got, want := r.ReplaceAllString("a@b c@d", "$2"), want.ReplaceAllString("a@b c@d", "$2"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestWrong holds both times at which a wrong expression is found: in a test at once, otherwise at the first use.
func TestWrong(t *testing.T) {
	panics := func(f func()) (did bool) {
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	if !panics(func() { New("(") }) {
		t.Error("not found in a test")
	}
	defer func(was bool) { inTest = was }(inTest)
	inTest = false
	var r *Regexp
	if panics(func() { r = New("(") }) {
		t.Error("compiled at once")
	}
	if !panics(func() { r.MatchString("") }) {
		t.Error("not found at the first use")
	}
}
