package cfnlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
)

// secretMember finds a JSON member with the name of a secret and a string as its value. The
// backslashes let it find the members of JSON inside a JSON string, such as the credentials of
// a hook's request.
var secretMember = lazyregexp.New(`(?i)(\\*"(?:[a-z0-9_.-]*(?:secret|password|passwd|credential|apikey|api_key|private_?key)[a-z0-9_.-]*|access_?key_?id|session_?token|security_?token|auth_?token|bearer_?token|authorization)\\*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\\+"(?:[^"\\]|\\[^"\\]|\\\\\\+")*\\+")`)

// accessKey finds the ids of AWS access keys everywhere.
var accessKey = lazyregexp.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)

// secretWords make an attribute secret when its key contains one of them, letter case
// and punctuation aside. "token" alone is not among them: paging tokens are not secret.
var secretWords = []string{
	"secret", "password", "passwd", "credential", "apikey", "privatekey", "accesskeyid",
	"sessiontoken", "securitytoken", "authtoken", "bearertoken", "authorization",
}

// SecretName reports whether a name is that of a secret, such as DB_PASSWORD or apiKey.
func SecretName(key string) bool {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, key)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(plain, word) })
}

// A scrubber takes secrets out of text: those of the set, and what a name says is secret.
type scrubber struct{ secrets *secret.Set }

func (s *scrubber) clean(text string) string {
	text = s.secrets.Hide(text)
	text = secretMember.ReplaceAllString(text, `${1}"`+secret.Named.Mark()+`"`)
	return accessKey.ReplaceAllString(text, secret.Credentials.Mark())
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
	if SecretName(prefix + a.Key) {
		b.WriteString(secret.Named.Mark())
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
