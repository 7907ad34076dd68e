package envvar

import "testing"

// TestLookup takes the last entry of exactly this name.
func TestLookup(t *testing.T) {
	environ := []string{"A=1", "AB=2", "A=3=4", "EMPTY=x", "EMPTY=", `=C:=C:\work`, "lonely"}
	for _, test := range []struct {
		name, value string
		set         bool
	}{
		{"A", "3=4", true}, {"AB", "2", true}, {"EMPTY", "", true}, {"=C:", `C:\work`, true},
		{"a", "", false}, {"B", "", false}, {"lonely", "", false},
	} {
		value, set := Lookup(environ, test.name)
		if value != test.value || set != test.set || Get(environ, test.name) != test.value {
			t.Errorf("%s: %q, %v; want %q, %v", test.name, value, set, test.value, test.set)
		}
	}
}
