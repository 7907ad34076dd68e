package secret

import (
	"math/bits"
	"slices"
)

// minDigits is how many digits of hexadecimal are decoded: those of the shortest secret.
const minDigits = 2 * shortest

// classes of the characters of hexadecimal.
const (
	otherByte = iota
	digit
	separator // between bytes, as in 68:75, "68 75", 68-75 or 0x68, 0x75, and at the end of a line
	prefix    // the x of 0x
)

var classes = func() (out [256]byte) {
	for _, c := range "0123456789abcdefABCDEF" {
		out[c] = digit
	}
	for _, c := range " :-,._\n\r\t" {
		out[c] = separator
	}
	out['x'], out['X'] = prefix, prefix
	return out
}()

// hexadecimals hands out what hexadecimal parts of a text say if they may have a secret, of either case,
// with and without separators, and where the two digits of each byte are in the text. A text may have a
// digit before a part that does not belong to it: each part is decoded from its first digits and from its
// second ones.
func (s *Set) hexadecimals(text string, yield func(decoded string, at []int32)) {
	var decoded []byte
	var at []int32
	// A part has at least minDigits characters: it has one of those that are looked at.
	for i := minDigits - 1; i < len(text); i += minDigits {
		if classes[text[i]] == otherByte {
			continue
		}
		from := i
		for from > 0 && ofHex(text, from-1) {
			from--
		}
		to, may := s.beginsIn(text, from)
		for skip := range 2 {
			if !may {
				break
			}
			decoded, at = undoHex(text, from, to, skip, slices.Grow(decoded[:0], (to-from)/2), slices.Grow(at[:0], (to-from)/2))
			if len(decoded) >= shortest {
				yield(string(decoded), at)
			}
		}
		i = max(i, to) // what begins at to is no part
	}
}

// beginsIn is the end of a part that begins at a place, and whether a secret may begin in it.
func (s *Set) beginsIn(text string, from int) (to int, may bool) {
	var last uint32 // 8 digits
	digits := 0
	for to = from; to < len(text); to++ {
		switch c := text[to]; classes[c] {
		case digit:
			last = last<<4 | uint32(value(c))
			if digits++; digits >= minDigits && !may {
				word, bit := filterAt(uint64(bits.ReverseBytes32(last)))
				may = s.starts[word]&bit != 0
			}
		case prefix:
			if to == 0 || text[to-1] != '0' {
				return to, may
			}
			may = true // 0x9 is a byte as well
		case otherByte:
			return to, may
		}
	}
	return to, may
}

// ofHex reports whether a character may be one of hexadecimal.
func ofHex(text string, i int) bool {
	c := classes[text[i]]
	return c == digit || c == separator || c == prefix && i > 0 && text[i-1] == '0'
}

// undoHex appends the bytes of text[from:to] to decoded, and their places to at. skip is how many
// digits after each separator are left out.
func undoHex(text string, from, to, skip int, decoded []byte, at []int32) ([]byte, []int32) {
	left := skip
	for i := from; i < to; {
		switch {
		case classes[text[i]] != digit:
			left = skip
			i++
		case i+1 < to && classes[text[i+1]] == prefix:
			left = skip
			i += 2
			if skip == 0 && single(text, i, to) { // 0x9
				decoded, at = append(decoded, value(text[i])), append(at, int32(i-1))
				i++
			}
		case left > 0:
			left--
			i++
		case i+1 < to && classes[text[i+1]] == digit:
			decoded, at = append(decoded, value(text[i])<<4|value(text[i+1])), append(at, int32(i))
			i += 2
		default:
			i++
		}
	}
	return decoded, at
}

// single reports whether one digit is at a place, and not two.
func single(text string, i, to int) bool {
	return i < to && classes[text[i]] == digit && (i+1 == to || classes[text[i+1]] != digit)
}

// value is that of a digit.
func value(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
