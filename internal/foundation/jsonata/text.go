package jsonata

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The reference works on JavaScript strings, sequences of UTF-16 code units in which a
// surrogate may be unpaired. Here a string is UTF-8, and a lone surrogate is written in the
// three bytes that UTF-8 would give its number (WTF-8). A pair of surrogates is always joined:
// all concatenation uses joinText.

// runeAt decodes the code point at the start of s, lone surrogates included.
func runeAt(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && isSurrogate(s) {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

// isSurrogate reports whether s starts with a lone surrogate.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

// writeRune appends a code point, lone surrogates included.
func writeRune(b *strings.Builder, r rune) {
	if utf16.IsSurrogate(r) {
		b.WriteByte(0xE0 | byte(r>>12))
		b.WriteByte(0x80 | byte(r>>6)&0x3F)
		b.WriteByte(0x80 | byte(r)&0x3F)
		return
	}
	b.WriteRune(r)
}

// joinText is a + b; a high surrogate at the end of a and a low one at the start of b become
// their code point.
func joinText(a, b string) string {
	if len(a) < 3 || len(b) < 3 || !isSurrogate(b) || !isSurrogate(a[len(a)-3:]) {
		return a + b
	}
	high, _ := runeAt(a[len(a)-3:])
	low, _ := runeAt(b)
	if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
		return a[:len(a)-3] + string(r) + b[3:]
	}
	return a + b
}

// ascii reports whether bytes, code units and code points are the same in s.
func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// codePoints counts the code points of s, a lone surrogate being one.
func codePoints(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := runeAt(s[i:])
		i += size
	}
	return n
}

// sliceCodePoints is the part of s from code point start up to end.
func sliceCodePoints(s string, start, end int) string {
	if start >= end {
		return ""
	}
	if ascii(s) {
		return s[min(start, len(s)):min(end, len(s))]
	}
	from, n := len(s), 0
	for i := 0; i < len(s); n++ {
		if n == start {
			from = i
		}
		if n == end {
			return s[from:i]
		}
		_, size := runeAt(s[i:])
		i += size
	}
	return s[from:]
}

// units gives the UTF-16 code units of s, one in each rune: the form in which regular
// expressions without the flag u see a string.
func units(s string) []rune {
	out := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			out = append(out, rune(s[i]))
			i++
			continue
		}
		r, size := runeAt(s[i:])
		i += size
		if r >= 0x10000 {
			high, low := utf16.EncodeRune(r)
			out = append(out, high, low)
			continue
		}
		out = append(out, r)
	}
	return out
}

// fromUnits is the string of the code units u.
func fromUnits(u []rune) string {
	var b strings.Builder
	b.Grow(len(u))
	for i := 0; i < len(u); i++ {
		r := u[i]
		if utf16.IsSurrogate(r) && i+1 < len(u) {
			if joined := utf16.DecodeRune(r, u[i+1]); joined != utf8.RuneError {
				r = joined
				i++
			}
		}
		writeRune(&b, r)
	}
	return b.String()
}

// sliceUnits is the part of s from code unit start up to end, both cut to the string.
func sliceUnits(s string, start, end int) string {
	if ascii(s) {
		start = max(0, min(start, len(s)))
		return s[start:max(start, min(end, len(s)))]
	}
	u := units(s)
	start = max(0, min(start, len(u)))
	return fromUnits(u[start:max(start, min(end, len(u)))])
}

// unitLength counts the UTF-16 code units of s.
func unitLength(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := runeAt(s[i:])
		i += size
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// compareText orders strings by their UTF-16 code units. It differs from the order of
// the bytes only between U+E000–U+FFFF and the code points that need two units.
func compareText(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	if a[i] < 0xEE && b[i] < 0xEE || a[i] < utf8.RuneSelf || b[i] < utf8.RuneSelf {
		return int(a[i]) - int(b[i])
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := runeAt(a[i:])
	y, _ := runeAt(b[i:])
	if x >= 0x10000 != (y >= 0x10000) {
		if x >= 0x10000 {
			x, _ = utf16.EncodeRune(x)
		} else {
			y, _ = utf16.EncodeRune(y)
		}
	}
	return int(x - y)
}

// wellFormed replaces lone surrogates and other broken bytes by U+FFFD, one for each,
// as encoding/json does.
func wellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := runeAt(s[i:])
		i += size
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hasLoneSurrogate reports whether s cannot be written in UTF-8.
func hasLoneSurrogate(s string) bool {
	return strings.IndexByte(s, 0xED) >= 0 && !utf8.ValidString(s)
}
