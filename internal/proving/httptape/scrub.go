package httptape

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Hidden replaces a secret.
const Hidden = "<hidden>"

// A scrubber takes secrets out of what is recorded: by the name of the header, parameter
// or member that holds them, and by the texts that redact knows.
type scrubber struct{ redact func(string) string }

// secretEndings are the ends of names whose values are secrets, in lower case, without
// "-" and "_". Names of page tokens and of idempotency tokens must not end so.
var secretEndings = []string{
	"authorization", "password", "passwd", "passphrase", "secret", "secretkey", "privatekey", "apikey", "accesskey", "accesskeyid",
	"secretstring", "secretbinary", "sessiontoken", "securitytoken", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken",
	"signature", "credential", "credentials", "cookie", "plaintext", "webidentitytoken", "samlassertion", "authtokens", "xvaulttoken", "privatetoken",
}

func secretName(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	for _, ending := range secretEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// text hides known secrets, also where they are coded in base64.
func (s scrubber) text(text string) string {
	if s.redact == nil {
		return text
	}
	out := s.redact(text)
	if len(text) >= 8 && len(text) < 1<<16 {
		for _, coding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if plain, err := coding.DecodeString(text); err == nil && utf8.Valid(plain) && s.redact(string(plain)) != string(plain) {
				return Hidden
			}
		}
	}
	return out
}

// url hides secrets in a URL.
func (s scrubber) url(u *url.URL) *url.URL {
	out := *u
	if out.User != nil {
		out.User = url.User(Hidden)
	}
	out.Host, out.Path, out.RawPath = s.text(out.Host), s.text(out.Path), s.text(out.RawPath)
	out.RawQuery = s.form(out.RawQuery)
	return &out
}

// form hides secrets in a query or a form, and keeps the order.
func (s scrubber) form(text string) string {
	if text == "" {
		return ""
	}
	pairs := strings.Split(text, "&")
	for i, pair := range pairs {
		name, value, has := strings.Cut(pair, "=")
		if !has {
			pairs[i] = s.text(pair)
			continue
		}
		plainName, err := url.QueryUnescape(name)
		plain, err2 := url.QueryUnescape(value)
		if err != nil || err2 != nil {
			pairs[i] = s.text(pair)
			continue
		}
		hidden := s.value(plainName, plain)
		if hidden != plain {
			pairs[i] = s.text(name) + "=" + url.QueryEscape(hidden)
		}
	}
	return strings.Join(pairs, "&")
}

// value hides a text by the name of what holds it. A JSON document in a text, as Secrets
// Manager keeps, stays one, so that what reads it in a replay still can.
func (s scrubber) value(name, text string) string {
	if text == "" {
		return text
	}
	secret := secretName(name)
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if doc, ok := decodeJSON([]byte(text)); ok {
			changed := secret
			if secret {
				doc = hideAll(doc)
			} else {
				doc, changed = s.document("", doc)
			}
			if out, err := encodeJSON(doc); err == nil && changed {
				return string(out)
			}
			return text
		}
	}
	if secret {
		return Hidden
	}
	return s.text(text)
}

// header hides secrets in headers, and leaves out what belongs to one connection or to
// the body as it was sent.
func (s scrubber) header(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if leftOut[name] {
			continue
		}
		for _, value := range values {
			switch {
			case secretName(name) || name == "Set-Cookie":
				value = Hidden
			case name == "Location" || name == "Content-Location":
				if u, err := url.Parse(value); err == nil {
					value = s.url(u).String()
				} else {
					value = Hidden
				}
			default:
				value = s.text(value)
			}
			out.Add(name, value)
		}
	}
	return out
}

var leftOut = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authenticate": true, "Proxy-Authorization": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Date": true, "Content-Encoding": true,
	"Alt-Svc": true, "Strict-Transport-Security": true, "Content-Md5": true, "Digest": true,
	"X-Amz-Crc32": true, "X-Amz-Checksum-Crc32": true, "X-Amz-Checksum-Crc32c": true, "X-Amz-Checksum-Crc64nvme": true,
	"X-Amz-Checksum-Sha1": true, "X-Amz-Checksum-Sha256": true,
}

// body hides secrets in a body. A body without secrets is not changed.
func (s scrubber) body(contentType string, body []byte) []byte {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return body
	case trimmed[0] == '{' || trimmed[0] == '[':
		if doc, ok := decodeJSON(body); ok {
			hidden, changed := s.document("", doc)
			if !changed {
				return body
			}
			if out, err := encodeJSON(hidden); err == nil {
				return out
			}
		}
	case trimmed[0] == '<':
		return []byte(s.text(s.xml(string(body))))
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		return []byte(s.form(string(body)))
	}
	return []byte(s.text(string(body)))
}

// document hides secrets in a JSON document.
func (s scrubber) document(name string, v any) (out any, changed bool) {
	switch v := v.(type) {
	case string:
		hidden := s.value(name, v)
		return hidden, hidden != v
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			hidden, ch := s.document(key, member)
			plainKey := s.text(key)
			out[plainKey] = hidden
			changed = changed || ch || plainKey != key
		}
		return out, changed
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			hidden, ch := s.document(name, item)
			out[i] = hidden
			changed = changed || ch
		}
		return out, changed
	case json.Number:
		if secretName(name) {
			return Hidden, true
		}
		hidden := s.text(v.String())
		if hidden != v.String() {
			return hidden, true
		}
	}
	return v, false
}

// hideAll hides every text and number.
func hideAll(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = hideAll(member)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = hideAll(item)
		}
		return v
	case nil, bool:
		return v
	}
	return Hidden
}

// element is a leaf of an XML document: <Name attributes>text</.
var element = lazyregexp.New(`<([A-Za-z_][\w:.-]*)((?:\s[^<>]*)?)>([^<]+)</`)

// xml hides secrets in the leaves of a document.
func (s scrubber) xml(text string) string {
	return element.ReplaceAllStringFunc(text, func(match string) string {
		parts := element.FindStringSubmatch(match)
		name := parts[1][strings.LastIndexByte(parts[1], ':')+1:]
		plain := html.UnescapeString(parts[3])
		hidden := s.value(name, plain)
		if hidden == plain {
			return match
		}
		var escaped bytes.Buffer
		if err := xml.EscapeText(&escaped, []byte(hidden)); err != nil {
			return "<" + parts[1] + ">" + "hidden" + "</"
		}
		return "<" + parts[1] + parts[2] + ">" + escaped.String() + "</"
	})
}

// maxNesting bounds the depth of a JSON document that is looked into.
const maxNesting = 500

func decodeJSON(data []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil || decoder.More() || tooDeep(v, 0) {
		return nil, false
	}
	return v, true
}

func tooDeep(v any, depth int) bool {
	if depth > maxNesting {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if tooDeep(member, depth+1) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if tooDeep(item, depth+1) {
				return true
			}
		}
	}
	return false
}

// encodeJSON writes members in the order of their names.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
