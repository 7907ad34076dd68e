package files

import (
	"strings"
	"testing"
)

func TestNameFault(t *testing.T) {
	part := strings.Repeat("n", MaxName)
	for path, want := range map[string]string{
		"": "", "a/b.py": "", part + "/" + part: "", strings.Repeat("é", 127): "",
		"a\x00.py":                            "has a null byte",
		"a/" + part + "n/b":                   "has a part of 256 bytes, more than the limit of 255",
		strings.Repeat("é", 128):              "has a part of 256 bytes, more than the limit of 255",
		strings.Repeat("a/", MaxPath/2) + "b": "has 3073 bytes, more than the limit of 3072",
	} {
		if got := NameFault(path); got != want {
			t.Errorf("%.40q: %q, want %q", path, got, want)
		}
	}
}
