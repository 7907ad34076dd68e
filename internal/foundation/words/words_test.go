package words

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// texts have characters of one to four bytes, and bytes that are none.
var texts = []string{"", "a", "abc", "äöü", "日本語", "a𝄞b", "🙂🙂", "e\u0301e\u0301", "\xff\xfe", "ab\xc3", "\x80\x80\x80\x80"}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab…"}, {"abc", 0, "…"}, {"abc", -1, "…"}, {"", 0, ""}, {"", -1, "…"},
		{"äöü", 6, "äöü"}, {"äöü", 5, "äö…"}, {"äöü", 4, "äö…"}, {"äöü", 3, "ä…"}, {"äöü", 1, "…"},
		{"a𝄞b", 4, "a…"}, {"a𝄞b", 5, "a𝄞…"}, {"日本語", 8, "日本…"},
	} {
		if got := Cut(test.text, test.limit); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestCutRunes(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "a…"}, {"abc", 1, "…"}, {"abc", 0, ""}, {"abc", -1, ""}, {"", 0, ""},
		{"äöü", 3, "äöü"}, {"äöü", 2, "ä…"}, {"a𝄞bc", 3, "a𝄞…"}, {"日本語", 2, "日…"},
	} {
		if got := CutRunes(test.text, test.limit); got != test.want {
			t.Errorf("CutRunes(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestCutStart(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "…bc"}, {"abc", 0, "…"}, {"abc", -1, "…"},
		{"äöü", 5, "…öü"}, {"äöü", 4, "…öü"}, {"äöü", 1, "…"}, {"a𝄞b", 4, "…b"}, {"a𝄞b", 5, "…𝄞b"},
	} {
		if got := CutStart(test.text, test.limit); got != test.want {
			t.Errorf("CutStart(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

// TestBounds holds every cut to its limit, and a text that is valid stays so.
func TestBounds(t *testing.T) {
	for _, text := range texts {
		for limit := range 14 {
			cut, runes, start := Cut(text, limit), CutRunes(text, limit), CutStart(text, limit)
			if len(cut) > limit+len(mark) || len(start) > limit+len(mark) || utf8.RuneCountInString(runes) > limit {
				t.Errorf("%q to %d: %q, %q, %q", text, limit, cut, runes, start)
			}
			if valid := utf8.ValidString; valid(text) && !(valid(cut) && valid(runes) && valid(start)) {
				t.Errorf("%q to %d is not valid: %q, %q, %q", text, limit, cut, runes, start)
			}
			if !strings.HasPrefix(text, strings.TrimSuffix(cut, mark)) || !strings.HasSuffix(text, strings.TrimPrefix(start, mark)) {
				t.Errorf("%q to %d: %q, %q", text, limit, cut, start)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for _, test := range []struct {
		n    int
		noun string
		want string
	}{{0, "file", "0 files"}, {-1, "file", "-1 files"}, {1, "file", "1 file"}, {2, "file", "2 files"}, {1, "entry", "1 entry"}, {2, "entry", "2 entries"}, {2, "day", "2 days"}, {2, "y", "2 ys"}} {
		if got := Count(test.n, test.noun); got != test.want {
			t.Errorf("%d: %q, want %q", test.n, got, test.want)
		}
	}
}

func TestBounded(t *testing.T) {
	b := Bounded{Limit: 5}
	for _, part := range []string{"abc", "de", ""} {
		if n, err := b.Write([]byte(part)); n != len(part) || err != nil || b.Full() {
			t.Errorf("%q: %d, %v, full %t", part, n, err, b.Full())
		}
	}
	if n, err := b.Write([]byte("fg")); n != 2 || err != nil || !b.Full() || b.String() != "abcde" || string(b.Bytes()) != "abcde" {
		t.Errorf("%d, %v, full %t, %q", n, err, b.Full(), b.String())
	}
}
