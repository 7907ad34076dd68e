package lsp

import (
	"strings"
	"testing"
)

func TestPositions(t *testing.T) {
	const text = "a\r\né😀b\rc\n\nd"
	tests := []struct {
		offset                int
		line                  uint32
		utf8, utf16, utf32col uint32
	}{
		{0, 0, 0, 0, 0}, {1, 0, 1, 1, 1}, {3, 1, 0, 0, 0}, {5, 1, 2, 1, 1}, {9, 1, 6, 3, 2}, {10, 1, 7, 4, 3},
		{11, 2, 0, 0, 0}, {12, 2, 1, 1, 1}, {13, 3, 0, 0, 0}, {14, 4, 0, 0, 0}, {15, 4, 1, 1, 1},
	}
	l := newLines(text)
	for _, test := range tests {
		for e, column := range map[encoding]uint32{utf8Encoding: test.utf8, utf16Encoding: test.utf16, utf32Encoding: test.utf32col} {
			want := position{test.line, column}
			if got := l.position(test.offset, e); got != want {
				t.Errorf("%s: offset %d is at %v, want %v", e, test.offset, got, want)
			}
			if got := l.offset(want, e); got != test.offset {
				t.Errorf("%s: %v is offset %d, want %d", e, want, got, test.offset)
			}
		}
	}
	for _, test := range []struct {
		at   position
		want int
	}{{position{0, 99}, 1}, {position{1, 2}, 5}, {position{9, 9}, len(text)}, {position{1<<32 - 1, 1<<32 - 1}, len(text)}} {
		if got := l.offset(test.at, utf16Encoding); got != test.want {
			t.Errorf("%v is offset %d, want %d", test.at, got, test.want)
		}
	}
}

func TestReplace(t *testing.T) {
	l := newLines("one\ntwo\n")
	if got := l.replace(span{position{1, 0}, position{0, 3}}, ", ", utf16Encoding); got != "one, two\n" {
		t.Errorf("a range the wrong way round: %q", got)
	}
	if got := l.replace(span{position{9, 0}, position{9, 0}}, "three", utf16Encoding); got != "one\ntwo\nthree" {
		t.Errorf("behind the end: %q", got)
	}
}

// FuzzPositions: every place of a text has a position that leads back to it, in a text
// with marks as in one without.
func FuzzPositions(f *testing.F) {
	f.Add("a\r\né😀b\rc\n\nd")
	f.Add(strings.Repeat("é😀", 800) + "\n" + strings.Repeat("x", 3000))
	f.Add("\xff\xfe\xf0\x9f")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		text = strings.ToValidUTF8(text, "?") // as it comes out of JSON
		l := newLines(text)
		for _, e := range []encoding{utf8Encoding, utf16Encoding, utf32Encoding} {
			for offset := range text {
				if offset > 0 && text[offset-1] == '\r' && text[offset] == '\n' {
					continue // between the two there is no position
				}
				if got := l.offset(l.position(offset, e), e); got != offset {
					t.Fatalf("%s: offset %d leads to %d", e, offset, got)
				}
			}
		}
	})
}
