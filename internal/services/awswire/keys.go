package awswire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// A Key is an access key with its secret and account.
type Key struct {
	Secret  string
	Account string // 12 digits

	// SessionToken is what requests with a temporary key must bring along. Empty for keys
	// that are not temporary, whose requests must bring none.
	SessionToken string
	// Expires is when a temporary key ends. Zero means never.
	Expires time.Time

	// ARN and UserID are those of the session of a temporary key.
	ARN, UserID string
}

// String keeps secrets out of logs.
func (k Key) String() string { return "the key of account " + k.Account }

// GoString keeps secrets out of logs, too.
func (k Key) GoString() string { return k.String() }

// The bounds of a key file.
const (
	maxKeyLine = 1024
	maxKeys    = 10_000
)

// ParseKeys reads a key file: one key per line, as the access key id, the secret and the
// account of 12 digits, separated by blanks. Text after a # at the beginning of a line or
// after a blank is a comment. Errors name the line, and never a secret.
func ParseKeys(r io.Reader) (map[string]Key, error) {
	keys := map[string]Key{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxKeyLine)
	number := 0
	for lines.Scan() {
		number++
		var fields []string
		for _, field := range strings.Fields(strings.TrimPrefix(lines.Text(), "\uFEFF")) {
			if strings.HasPrefix(field, "#") {
				break
			}
			fields = append(fields, field)
		}
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %d: expected ACCESS_KEY SECRET ACCOUNT but got %d words", number, len(fields))
		}
		id, key := fields[0], Key{Secret: fields[1], Account: fields[2]}
		if !scopeKey.MatchString(id) || strings.Contains(id, "/") {
			return nil, fmt.Errorf("line %d: the access key id can only have letters, digits and - _ . = + @", number)
		}
		if !twelve.MatchString(key.Account) {
			return nil, fmt.Errorf("line %d: the third word must be an account of 12 digits", number)
		}
		if _, twice := keys[id]; twice {
			return nil, fmt.Errorf("line %d: duplicate access key %s", number, id)
		}
		if len(keys) == maxKeys {
			return nil, fmt.Errorf("line %d: more than %d keys", number, maxKeys)
		}
		keys[id] = key
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("line %d: longer than %d bytes", number+1, maxKeyLine)
		}
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	if len(keys) == 0 {
		return nil, errors.New("no keys; add lines of the form ACCESS_KEY SECRET ACCOUNT")
	}
	return keys, nil
}
