package diag

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

func TestCutTo(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"abc", 0, "…"}, {"abc", -1, "…"},
		{"aéb", 2, "a…"}, {"aéb", 3, "aé…"}, {"\u65e5\u672c", 4, "\u65e5…"}, {"\x80\x80\x80", 2, "…"},
	} {
		if got := words.Cut(test.text, test.limit); got != test.want {
			t.Errorf("words.Cut(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
	if got := Cut(strings.Repeat("é", 60)); got != strings.Repeat("é", 40)+"…" || !utf8.ValidString(got) {
		t.Errorf("Cut of 60 letters of two bytes is %q", got)
	}
}
