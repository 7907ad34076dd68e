package words

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for _, test := range []struct{ word, want string }{
		{"maxLenght", "maxLength"}, {"MAXLENGTH", "maxLength"}, {"minlen", ""}, {"", ""}, {"x", ""}, {"types", "type"}, {"tpye", "type"}, {strings.Repeat("m", 100), ""},
	} {
		if got := Nearest(test.word, []string{"type", "maxLength", "minLength", "title"}); got != test.want {
			t.Errorf("%q: %q, want %q", test.word, got, test.want)
		}
	}
}
