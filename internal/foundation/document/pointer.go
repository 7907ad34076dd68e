package document

import (
	"strconv"
	"strings"
)

// A Pointer is a JSON Pointer (RFC 6901) as its decoded tokens. The empty Pointer names
// the whole document.
type Pointer []string

// ParsePointer decodes "/a/b~1c" into its tokens. It returns false if the text is neither
// empty nor starts with "/", or has a "~" that is not "~0" or "~1".
func ParsePointer(text string) (Pointer, bool) {
	if text == "" {
		return Pointer{}, true
	}
	if text[0] != '/' {
		return nil, false
	}
	parts := strings.Split(text[1:], "/")
	for i, part := range parts {
		token, ok := unescape(part)
		if !ok {
			return nil, false
		}
		parts[i] = token
	}
	return parts, true
}

func unescape(s string) (string, bool) {
	if !strings.Contains(s, "~") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '~' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch s[i] {
		case '0':
			b.WriteByte('~')
		case '1':
			b.WriteByte('/')
		default:
			return "", false
		}
	}
	return b.String(), true
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// String encodes the pointer.
func (p Pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(token))
	}
	return b.String()
}

// Append returns a new pointer that continues p; p itself is not changed.
func (p Pointer) Append(tokens ...string) Pointer {
	out := make(Pointer, 0, len(p)+len(tokens))
	return append(append(out, p...), tokens...)
}

// HasPrefix reports whether p names q's value or something inside it.
func (p Pointer) HasPrefix(q Pointer) bool {
	if len(q) > len(p) {
		return false
	}
	for i, token := range q {
		if p[i] != token {
			return false
		}
	}
	return true
}

// arrayIndex reads a token as an index below n, in the only spelling RFC 6901 allows.
func arrayIndex(token string, n int) (int, bool) {
	if token == "" || len(token) > 1 && token[0] == '0' || token[0] < '0' || token[0] > '9' {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	if err != nil || i >= n {
		return 0, false
	}
	return i, true
}

// Find returns the value that a pointer names in a decoded document, made of the types of
// encoding/json.
func (p Pointer) Find(in any) (any, bool) {
	for _, token := range p {
		switch node := in.(type) {
		case map[string]any:
			member, ok := node[token]
			if !ok {
				return nil, false
			}
			in = member
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(node) {
				return nil, false
			}
			in = node[index]
		default:
			return nil, false
		}
	}
	return in, true
}
