package jsonata

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// fnBase64Encode encodes the low byte of each code unit, as the reference does.
func fnBase64Encode(c *call, s string) (any, error) {
	u := units(s)
	raw := make([]byte, len(u))
	for i, unit := range u {
		raw[i] = byte(unit)
	}
	return c.made(base64.StdEncoding.EncodeToString(raw))
}

// fnBase64Decode gives one character up to U+00FF for each byte. It reads both alphabets,
// stops at the padding and passes over everything else.
func fnBase64Decode(c *call, s string) (any, error) {
	var b strings.Builder
	bits, count := uint32(0), 0
	for i := 0; i < len(s) && s[i] != '='; i++ {
		var value int
		switch ch := s[i]; ch {
		case '-':
			value = 62
		case '_':
			value = 63
		default:
			value = strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", ch)
		}
		if value < 0 {
			continue
		}
		bits, count = bits<<6|uint32(value), count+6
		if count >= 8 {
			count -= 8
			b.WriteRune(rune(bits >> count & 0xFF))
		}
	}
	return c.made(b.String())
}

const (
	unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()"
	reserved   = ";/?:@&=+$,#"
)

// encodeURL makes $encodeUrl and $encodeUrlComponent: all but the characters in keep is
// written as %XX of its UTF-8 bytes.
func encodeURL(keep string) func(c *call, s string) (any, error) {
	return func(c *call, s string) (any, error) {
		if hasLoneSurrogate(s) {
			return nil, newError("D3140", unplaced, c.name)
		}
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if strings.IndexByte(keep, s[i]) >= 0 {
				b.WriteByte(s[i])
				continue
			}
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[s[i]>>4], digits[s[i]&15]})
		}
		return c.made(b.String())
	}
}

// decodeURL makes $decodeUrl and $decodeUrlComponent: %XX of the characters in keep stays.
func decodeURL(keep string) func(c *call, s string) (any, error) {
	return func(c *call, s string) (any, error) {
		var b strings.Builder
		for i := 0; i < len(s); {
			if s[i] != '%' {
				b.WriteByte(s[i])
				i++
				continue
			}
			start := i
			var raw []byte
			for want := 1; len(raw) < want; i += 3 {
				value, ok := hexByte(s, i)
				if !ok {
					return nil, newError("D3140", unplaced, c.name)
				}
				raw = append(raw, value)
				if len(raw) == 1 {
					want = sequenceLength(value)
				}
			}
			if !utf8.Valid(raw) {
				return nil, newError("D3140", unplaced, c.name)
			}
			if len(raw) == 1 && strings.IndexByte(keep, raw[0]) >= 0 {
				b.WriteString(s[start:i])
				continue
			}
			b.Write(raw)
		}
		return c.made(b.String())
	}
}

// hexByte reads %XX at s[i:].
func hexByte(s string, i int) (byte, bool) {
	if i+3 > len(s) || s[i] != '%' {
		return 0, false
	}
	value := byte(0)
	for _, c := range []byte(s[i+1 : i+3]) {
		switch {
		case c >= '0' && c <= '9':
			value = value<<4 | (c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			value = value<<4 | (c | 0x20 - 'a' + 10)
		default:
			return 0, false
		}
	}
	return value, true
}

// sequenceLength is the number of bytes of the UTF-8 sequence that starts with lead.
func sequenceLength(lead byte) int {
	switch {
	case lead >= 0xF0:
		return 4
	case lead >= 0xE0:
		return 3
	case lead >= 0xC0:
		return 2
	}
	return 1
}
