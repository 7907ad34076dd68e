package awswire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// PageToken returns the opaque token of where a list goes on: the keys of the last result
// of a page. query is everything else that the list depends on, such as the operation, the
// account and the filters: a token is of no use in another list.
func PageToken(keys []string, query ...any) string {
	text, err := json.Marshal(append([]string{fingerprint(query)}, keys...))
	if err != nil {
		panic(err) // strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// ReadPageToken returns the keys in a token. It reports false unless PageToken made the
// token, of so many keys and for the same query, and a database can hold the keys.
func ReadPageToken(token string, count int, query ...any) (keys []string, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(text, &keys) != nil {
		return nil, false
	}
	if len(keys) != count+1 || keys[0] != fingerprint(query) || slices.ContainsFunc(keys, unstorable) {
		return nil, false
	}
	return keys[1:], true
}

func unstorable(key string) bool {
	return !utf8.ValidString(key) || strings.ContainsRune(key, 0)
}

func fingerprint(query []any) string {
	text, err := json.Marshal(query)
	if err != nil {
		panic(err) // queries are strings and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
