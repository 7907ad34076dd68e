package handler

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// shortLine is how many characters a line of a secret must have to be one itself.
	shortLine = 8

	// spelledBytes is the length up to which a secret is looked for in all spellings. A
	// longer one is looked for as it is and inside JSON.
	spelledBytes = 64 << 10
)

// spellings hands out a secret as a log may have it: as it is, escaped as JSON once or
// twice, quoted with %q or %+q, escaped for a URL, in base64 also within a longer text,
// and each line of it in the same ways. Encodings beyond these are not covered:
// hexadecimal, compressed or encrypted text, a part of a line.
func spellings(secret string, yield func(string)) {
	spellLine(secret, yield)
	if trimmed := strings.TrimSpace(secret); trimmed != secret {
		spellLine(trimmed, yield)
	}
	if !strings.ContainsAny(secret, "\r\n") {
		return
	}
	for line := range strings.FieldsFuncSeq(secret, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(line); utf8.RuneCountInString(line) >= shortLine {
			spellLine(line, yield)
		}
	}
}

func spellLine(text string, yield func(string)) {
	yield(text)
	plain, forHTML := inJSON(text, false), inJSON(text, true)
	escaped := []string{plain, forHTML}
	if len(text) <= spelledBytes {
		quoted, ascii := strconv.Quote(text), strconv.QuoteToASCII(text)
		escaped = append(escaped, quoted[1:len(quoted)-1], ascii[1:len(ascii)-1])
		for _, inside := range []string{text, plain, forHTML} {
			inBase64(inside, yield)
		}
		query := url.QueryEscape(text)
		yield(query)
		yield(strings.ReplaceAll(query, "+", "%20"))
		yield(url.PathEscape(text))
	}
	for _, once := range escaped {
		if once == text {
			continue
		}
		yield(once)
		yield(inJSON(once, false))
		yield(inJSON(once, true))
	}
}

// inJSON is a text as it is between the quotes of a JSON string.
func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(text); err != nil {
		return text // a string always has a JSON form
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// inBase64 hands out a text in base64, and those characters of it that show in the base64
// of a longer text such as "user:secret": where the text begins among the groups of three
// bytes makes three forms, without the characters that the neighbours share.
func inBase64(text string, yield func(string)) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(text))
		yield(padded)
		yield(strings.TrimRight(padded, "="))
		yield(url.QueryEscape(padded))
		for before := range 3 {
			shifted := encoding.EncodeToString([]byte("\x00\x00"[:before] + text))
			first, last := (before*8+5)/6, (before+len(text))*8/6
			if last-first >= 8 {
				yield(shifted[first:last])
			}
		}
	}
}
