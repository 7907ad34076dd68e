package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
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

// runeStart is the last place at or before n where a character starts.
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

// spellings hands out a text as it may be spelled where nothing decodes it, the text itself
// first. Some come more than once. The rest is for decodings.
func spellings(text string, yield func(string)) {
	yield(text)
	if strings.Contains(text, "'") { // shells
		yield(strings.ReplaceAll(text, "'", `'\''`))
		yield(strings.ReplaceAll(text, "'", `'"'"'`))
	}
	if strings.Contains(text, " ") { // forms
		yield(strings.ReplaceAll(text, " ", "+"))
	}
	base64Spellings(text, yield)
	if strings.IndexFunc(text, inJSON) < 0 {
		return
	}
	plain, forHTML := encoded(text, false), encoded(text, true)
	if plain != text {
		yield(plain) // what is not UTF-8 cannot be decoded to what it was
		base64Spellings(plain, yield)
	}
	if forHTML != plain {
		base64Spellings(forHTML, yield)
	}
}

// inJSON reports whether JSON may have an escape for a character.
func inJSON(r rune) bool {
	return r < ' ' || strings.ContainsRune(`"\<>&`, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
}

// encoded is a text between the quotes of a JSON string.
func encoded(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		return s // a string always has a JSON form
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// base64Spellings returns a text in base64, and the parts of it that appear in the base64 of a
// longer text: every three bytes become four characters, so that there are three alignments,
// and only the characters at either end depend on the surrounding text. What remains visible
// is less than a character of the text at each end.
func base64Spellings(text string, yield func(string)) {
	if len(text) < shortest {
		return
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if len(text) < chunk/4 { // of more, the last character is all that follows would miss
			padded := encoding.EncodeToString([]byte(text))
			yield(padded)
			yield(strings.TrimRight(padded, "="))
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
