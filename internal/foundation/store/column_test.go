package store

import "testing"

func TestSuccessor(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a/": "a0", "z\U0010FFFF": "{", "\uD7FF": "\uE000", "": "", "\U0010FFFF": "", "é": "ê"} {
		got, found := Successor(prefix)
		if got != want || found != (want != "") {
			t.Errorf("%q: got %q, %v", prefix, got, found)
		}
	}
}
