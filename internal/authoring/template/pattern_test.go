package template

import (
	"strings"
	"testing"
)

// TestSlowPatterns holds that a template cannot have many patterns that backtrack: after some that took too long, no more are tried.
func TestSlowPatterns(t *testing.T) {
	p, err := compilePattern("(a+)+b?")
	if err != nil {
		t.Fatal(err)
	}
	slow := 0
	for _, step := range []struct {
		value   string
		matches bool
		slow    int
	}{{"aab", true, 0}, {"c", false, 0}, {strings.Repeat("a", 60) + "!", false, 1}, {"aab", true, 1}, {strings.Repeat("a", 60) + "!", false, 2}, {"aab", false, 2}} {
		if matches := p.matches(step.value, &slow); matches != step.matches || slow != step.slow {
			t.Errorf("%s: %t after %d slow matches; want %t, %d", step.value, matches, slow, step.matches, step.slow)
		}
	}
}
