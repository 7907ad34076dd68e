package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// PageToken returns the opaque token for the next page of a list: the keys of the last result
// of a page. query is everything else that the list depends on, such as the operation, the
// account and the filters: a token is invalid in another list.
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
	if len(keys) != count+1 || keys[0] != fingerprint(query) || slices.ContainsFunc(keys, func(key string) bool { return !Storable(key) }) {
		return nil, false
	}
	return keys[1:], true
}

// KeyToken is the token of a list that continues after one key and depends on nothing else.
func KeyToken(key string) string { return PageToken([]string{key}) }

// ReadKeyToken returns the key in a token that KeyToken made.
func ReadKeyToken(token string) (key string, ok bool) {
	keys, ok := ReadPageToken(token, 1)
	if !ok {
		return "", false
	}
	return keys[0], true
}

func fingerprint(query []any) string {
	text, err := json.Marshal(query)
	if err != nil {
		panic(err) // queries are strings and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
