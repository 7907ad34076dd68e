package cfnlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Hidden stands in the log where a secret was.
const Hidden = "<hidden>"

// secretMember finds a JSON member whose name says that it is secret, with a string as
// its value. The backslashes let it find the members of JSON inside a JSON string, as
// the credentials of a hook's request are.
var secretMember = regexp.MustCompile(`(?i)(\\*"(?:[a-z0-9_.-]*(?:secret|password|passwd|credential|apikey|api_key|private_?key)[a-z0-9_.-]*|access_?key_?id|session_?token|security_?token|auth_?token|bearer_?token|authorization)\\*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\\+"(?:[^"\\]|\\[^"\\]|\\\\\\+")*\\+")`)

// accessKey finds the ids of AWS access keys wherever they stand.
var accessKey = regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)

// secretWords make an attribute secret when its key contains one of them, letter case
// and punctuation aside. "token" alone is not among them: paging tokens are not secret.
var secretWords = []string{
	"secret", "password", "passwd", "credential", "apikey", "privatekey", "accesskeyid",
	"sessiontoken", "securitytoken", "authtoken", "bearertoken", "authorization",
}

func secretKey(key string) bool {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, key)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(plain, word) })
}

// A scrubber takes secrets out of text. The zero scrubber knows the names only.
type scrubber struct {
	mu       sync.RWMutex
	values   map[string]bool
	replacer *strings.Replacer
}

func (s *scrubber) add(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]bool{}
	}
	for _, value := range values {
		if len(value) < 4 {
			continue
		}
		s.values[value] = true
		if quoted, err := json.Marshal(value); err == nil {
			s.values[string(quoted[1:len(quoted)-1])] = true
		}
	}
	longest := make([]string, 0, len(s.values))
	for value := range s.values {
		longest = append(longest, value)
	}
	// A longer value first, so that one that begins another does not leave its rest.
	slices.SortFunc(longest, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(longest))
	for _, value := range longest {
		pairs = append(pairs, value, Hidden)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

func (s *scrubber) clean(text string) string {
	s.mu.RLock()
	replacer := s.replacer
	s.mu.RUnlock()
	if replacer != nil {
		text = replacer.Replace(text)
	}
	text = secretMember.ReplaceAllString(text, `${1}"`+Hidden+`"`)
	return accessKey.ReplaceAllString(text, Hidden)
}

// appendAttr renders " key=value". Values that are no text are rendered as JSON, so that
// the names inside them are seen by clean.
func (s *scrubber) appendAttr(b *strings.Builder, prefix string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range value.Group() {
			s.appendAttr(b, prefix, member)
		}
		return
	}
	if a.Key == "" {
		return
	}
	fmt.Fprintf(b, " %s%s=", prefix, a.Key)
	if secretKey(prefix + a.Key) {
		b.WriteString(Hidden)
		return
	}
	if value.Kind() != slog.KindAny {
		b.WriteString(value.String())
		return
	}
	switch v := value.Any().(type) {
	case error:
		b.WriteString(v.Error())
	case []byte:
		b.Write(v)
	case json.RawMessage:
		b.Write(v)
	case fmt.Stringer:
		b.WriteString(v.String())
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Appendf(nil, "%T", v)
		}
		b.Write(text)
	}
}
