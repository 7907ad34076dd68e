package secret

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoders undo the encodings of a text in another one. Each appends the value of an escape at
// the beginning of a text, and returns the length of the escape: 0 if it is not one.
var decoders = []struct {
	mark   byte
	decode func(to []byte, text string) ([]byte, int)
}{
	{'\\', backslash},
	{'%', percent},
	{'&', entity},
}

// nested is how many times a text may have been written into another one: JSON in a string
// of JSON in a log line that is JSON.
const nested = 3

// decodings hands out a text as it was before it was written into others, and where each of
// its bytes was in the text; at has one more, the end of the text. Languages and libraries
// differ in which characters they escape and how, so that the text is decoded rather than
// every spelling of a secret learned.
func decodings(text string, yield func(decoded string, at []int32)) {
	type level struct {
		text string
		at   []int32
	}
	levels := []level{{text: text}}
	for range nested {
		var deeper []level
		for _, l := range levels {
			for _, d := range decoders {
				if strings.IndexByte(l.text, d.mark) < 0 {
					continue
				}
				decoded, at := decodedBy(d.mark, d.decode, l.text, l.at)
				if len(decoded) == len(l.text) {
					continue
				}
				yield(decoded, at)
				if d.mark == '%' && strings.Contains(decoded, "+") { // of a form: a space
					yield(strings.ReplaceAll(decoded, "+", " "), at)
				}
				deeper = append(deeper, level{decoded, at})
			}
		}
		levels = deeper
	}
}

// decodedBy undoes one encoding. A nil at means that the text was not decoded yet.
func decodedBy(mark byte, decode func([]byte, string) ([]byte, int), text string, at []int32) (string, []int32) {
	place := func(i int) int32 {
		if at == nil {
			return int32(i)
		}
		return at[i]
	}
	decoded, places := make([]byte, 0, len(text)), make([]int32, 0, len(text)+1)
	for i := 0; i < len(text); {
		size := 0
		if text[i] == mark {
			decoded, size = decode(decoded, text[i:])
		}
		if size == 0 {
			decoded, size = append(decoded, text[i]), 1
		}
		for len(places) < len(decoded) {
			places = append(places, place(i))
		}
		i += size
	}
	return string(decoded), append(places, place(len(text)))
}

// percent decodes the escapes of URLs.
func percent(to []byte, text string) ([]byte, int) {
	if n, ok := hex(text, 1, 2); ok {
		return append(to, byte(n)), 3
	}
	return to, 0
}

// hex is the number that some digits of a text are.
func hex(text string, from, digits int) (n uint64, ok bool) {
	if len(text) < from+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(text[from:from+digits], 16, 32)
	return n, err == nil
}

const (
	letters = `abefnrtv"'/\?` + "`"
	meaning = "\a\b\x1b\f\n\r\t\v\"'/\\?" + "`"
)

// backslash decodes the escapes of strings, of JSON and of the languages alike.
func backslash(to []byte, text string) ([]byte, int) {
	if len(text) < 2 {
		return to, 0
	}
	if i := strings.IndexByte(letters, text[1]); i >= 0 {
		return append(to, meaning[i]), 2
	}
	switch text[1] {
	case 'x':
		if n, ok := hex(text, 2, 2); ok {
			return append(to, byte(n)), 4
		}
	case 'U':
		if n, ok := hex(text, 2, 8); ok {
			return utf8.AppendRune(to, rune(n)), 10
		}
	case 'u':
		high, ok := hex(text, 2, 4)
		if !ok {
			return to, 0
		}
		if utf16.IsSurrogate(rune(high)) && strings.HasPrefix(text[6:], `\u`) {
			if low, ok := hex(text, 8, 4); ok {
				return utf8.AppendRune(to, utf16.DecodeRune(rune(high), rune(low))), 12
			}
		}
		return utf8.AppendRune(to, rune(high)), 6
	}
	return to, 0
}

var entities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity decodes the escapes of HTML and XML.
func entity(to []byte, text string) ([]byte, int) {
	end := strings.IndexByte(text[:min(len(text), 12)], ';')
	if end < 2 {
		return to, 0
	}
	name := text[1:end]
	if c, ok := entities[name]; ok {
		return append(to, c), end + 1
	}
	number, isNumber := strings.CutPrefix(name, "#")
	digits, radix := number, 10
	if len(number) > 1 && number[0]|0x20 == 'x' {
		digits, radix = number[1:], 16
	}
	n, err := strconv.ParseUint(digits, radix, 21)
	if !isNumber || err != nil {
		return to, 0
	}
	return utf8.AppendRune(to, rune(n)), end + 1
}
