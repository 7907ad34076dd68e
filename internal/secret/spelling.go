package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parts hands out the pieces of a value that are searched for: the value, or its chunks
// if it is long, and its lines. It stops when yield returns false.
func parts(value string, yield func(string) bool) {
	whole := []string{value}
	if trimmed := strings.TrimSpace(value); trimmed != value {
		whole = append(whole, trimmed)
	}
	for _, text := range whole {
		for text != "" {
			piece := text
			if len(text) > chunk {
				piece = text[:runeStart(text, chunk)]
			}
			if !yield(piece) {
				return
			}
			text = text[len(piece):]
		}
	}
	if !strings.ContainsAny(value, "\r\n") {
		return
	}
	for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line = strings.TrimSpace(line)
		if utf8.RuneCountInString(line) < short {
			continue
		}
		for line != "" {
			piece := line[:runeStart(line, chunk)]
			if !yield(piece) {
				return
			}
			line = line[len(piece):]
		}
	}
}

// runeStart is the last place at or before n where a character begins.
func runeStart(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for at := n; at > n-utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return n // no UTF-8
}

// spellings hands out a text as it may be spelled, the text itself first. Some come more
// than once.
func spellings(text string, yield func(string)) {
	yield(text)
	for _, escape := range escapes {
		if once := escape(text); once != text {
			yield(once)
			for _, around := range []func(string) string{jsonEscape, jsonHTMLEscape} {
				twice := around(once)
				yield(twice)
				yield(jsonEscape(twice))
			}
		}
	}
	base64Spellings(text, yield)
	plain, forHTML := jsonEscape(text), jsonHTMLEscape(text)
	if plain != text {
		base64Spellings(plain, yield)
	}
	if forHTML != plain {
		base64Spellings(forHTML, yield)
	}
}

// escapes are the ways to write a text into another one.
var escapes = []func(string) string{
	jsonEscape,
	jsonHTMLEscape,
	func(s string) string { return asciiEscape(s, `\u%04x`) }, // json.dumps of Python
	func(s string) string { return asciiEscape(s, `\u%04X`) },
	gsonEscape,
	func(s string) string { return unquoted(strconv.Quote(s)) },
	func(s string) string { return unquoted(strconv.QuoteToASCII(s)) },
	func(s string) string { return reprEscaper.Replace(s) }, // Python takes the quotes that the text lacks
	func(s string) string { return strings.ReplaceAll(reprEscaper.Replace(s), "'", `\'`) },
	func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }, // shells
	func(s string) string { return strings.ReplaceAll(s, "'", `'"'"'`) },
	url.QueryEscape,
	url.PathEscape,
	func(s string) string { return lowerHex(url.QueryEscape(s)) },
	func(s string) string { return lowerHex(url.PathEscape(s)) },
	func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	func(s string) string { return componentUnescaper.Replace(url.QueryEscape(s)) }, // encodeURIComponent
	html.EscapeString,
	xmlEscaper.Replace,
	xmlNumberEscaper.Replace,
}

var (
	gsonEscaper        = strings.NewReplacer("=", `\u003d`, "'", `\u0027`)
	reprEscaper        = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	componentUnescaper = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	xmlEscaper         = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	xmlNumberEscaper   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\n", "&#xA;", "\r", "&#xD;", "\t", "&#x9;")
)

func unquoted(s string) string { return s[1 : len(s)-1] }

func jsonHTMLEscape(s string) string { return encoded(s, true) }

func jsonEscape(s string) string { return encoded(s, false) }

// encoded is a text as it stands between the quotes of a JSON string.
func encoded(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		return s // a string always has a JSON form
	}
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

// asciiEscape is a text as JSON without a byte beyond ASCII. Form is that of one escape.
func asciiEscape(s, form string) string {
	var b strings.Builder
	for _, r := range jsonEscape(s) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, form+form, high, low)
		default:
			fmt.Fprintf(&b, form, r)
		}
	}
	return b.String()
}

// gsonEscape is JSON as Java's Gson writes it.
func gsonEscape(s string) string { return gsonEscaper.Replace(jsonHTMLEscape(s)) }

// lowerHex turns %2F into %2f.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// base64Spellings hands out a text in base64, and what of it shows in the base64 of a
// longer text: every three bytes become four characters, so that there are three ways in
// which the text can be cut, and only the characters at either end depend on its
// neighbours. What is left of these tells less than a character of the text at each end.
func base64Spellings(text string, yield func(string)) {
	if len(text) < shortest {
		return
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(text))
		yield(padded)
		yield(strings.TrimRight(padded, "="))
		if escaped := url.QueryEscape(padded); escaped != padded {
			yield(escaped)
		}
		for before := range 3 {
			inside := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte("\x00\x00"[:before] + text))
			first := (before*8 + 5) / 6
			last := (before + len(text)) * 8 / 6
			if last-first >= minInside {
				yield(inside[first:last])
			}
		}
	}
}

// minInside is how many characters of base64 say for sure whose they are.
const minInside = 8
