package invoke

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/schema"
)

// Hidden stands where a secret was.
const Hidden = "<hidden>"

// A Redactor takes secrets out of what is shown of requests and replies.
//
// Credentials, write-only values of models and the values of a type configuration are
// hidden by their place. Every such value that it has seen is hidden by its text as
// well, wherever it turns up: in a message, a callback context or a log. Several
// goroutines may use a Redactor.
type Redactor struct {
	writeOnly []document.Pointer

	mu      sync.RWMutex
	secrets []string // the longest first
}

// NewRedactor makes a Redactor for the models of a schema, which may be nil.
func NewRedactor(s *schema.Schema) *Redactor {
	r := &Redactor{}
	if s != nil {
		for _, path := range s.WriteOnly {
			r.writeOnly = append(r.writeOnly, path.Tokens)
		}
	}
	return r
}

// shortestSecret is how long a value must be to be hidden by its text. Shorter ones are
// words that everything is full of; by their place they are hidden all the same.
const shortestSecret = 4

// Learn makes the Redactor hide texts wherever they turn up.
func (r *Redactor) Learn(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) < shortestSecret || secret == Dummy.SecretAccessKey || slices.Contains(r.secrets, secret) {
			continue
		}
		r.secrets = append(r.secrets, secret)
	}
	slices.SortStableFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
}

// Text hides the secrets that the Redactor has seen, where they stand as whole words.
func (r *Redactor) Text(text string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, secret := range r.secrets {
		text = replaceWord(text, secret)
	}
	return text
}

func replaceWord(text, secret string) string {
	if !strings.Contains(text, secret) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, secret)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(secret):])
		first, _ := utf8.DecodeRuneInString(secret)
		last, _ := utf8.DecodeLastRuneInString(secret)
		if inWord(before) && inWord(first) || inWord(after) && inWord(last) {
			b.WriteString(text[:i+len(secret)])
		} else {
			b.WriteString(text[:i] + Hidden)
		}
		text = text[i+len(secret):]
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// JSON hides the secrets of a request or a reply and indents it by two spaces. What is
// not JSON is cut to its beginning.
func (r *Redactor) JSON(data []byte) []byte {
	doc, problems := document.ParseJSON("", data, replyLimits)
	if doc == nil || problems.HasErrors() {
		return []byte(r.Text(excerpt(data)))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, r.document(doc, "").AppendJSON(nil), "", "  "); err != nil {
		return []byte(r.Text(excerpt(data)))
	}
	return out.Bytes()
}

// Model returns a copy of a model with its secrets hidden.
func (r *Redactor) Model(model any) any {
	data, err := encode(model)
	if err != nil {
		return Hidden
	}
	doc, _ := document.ParseJSON("", data, document.Limits{Bytes: len(data), Depth: 1000})
	return r.texts(r.model(doc)).Any()
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

// document hides by place. Key is the member that v is the value of.
func (r *Redactor) document(v *document.Value, key string) *document.Value {
	switch key {
	case "callerCredentials", "providerCredentials", "credentials", "platformCredentials":
		if v.Kind != document.Null {
			return hidden()
		}
		return v
	case "typeConfiguration", "hookModel":
		return scalarsHidden(v)
	case "resourceProperties", "previousResourceProperties", "desiredResourceState", "previousResourceState", "resourceModel":
		return r.texts(r.model(v))
	case "resourceModels":
		out := *v
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = r.texts(r.model(item))
		}
		return &out
	}
	return r.each(v, func(key string, member *document.Value) *document.Value { return r.document(member, key) })
}

// texts hides by text only.
func (r *Redactor) texts(v *document.Value) *document.Value {
	return r.each(v, func(_ string, member *document.Value) *document.Value { return r.texts(member) })
}

// each copies v with its members and items replaced and the secrets in strings hidden.
func (r *Redactor) each(v *document.Value, replace func(string, *document.Value) *document.Value) *document.Value {
	out := *v
	switch v.Kind {
	case document.Object:
		out.Members = make([]document.Member, len(v.Members))
		for i, m := range v.Members {
			m.Value = replace(m.Key, m.Value)
			out.Members[i] = m
		}
	case document.Array:
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = replace("", item)
		}
	case document.String:
		out.Text = r.Text(v.Text)
	}
	return &out
}

func (r *Redactor) model(v *document.Value) *document.Value {
	for _, path := range r.writeOnly {
		v = atPath(v, path, func(*document.Value) *document.Value { return hidden() })
	}
	return v
}

// atPath copies v with what path names replaced. Arrays are crossed with and without "*".
func atPath(v *document.Value, path document.Pointer, replace func(*document.Value) *document.Value) *document.Value {
	if len(path) == 0 {
		if v.Kind == document.Null {
			return v
		}
		return replace(v)
	}
	out := *v
	switch v.Kind {
	case document.Object:
		out.Members = slices.Clone(v.Members)
		for i, m := range v.Members {
			if path[0] == m.Key || path[0] == "*" {
				out.Members[i].Value = atPath(m.Value, path[1:], replace)
			}
		}
	case document.Array:
		rest := path
		if path[0] == "*" || isIndex(path[0]) {
			rest = path[1:]
		}
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = atPath(item, rest, replace)
		}
	}
	return &out
}

func hidden() *document.Value { return &document.Value{Kind: document.String, Text: Hidden} }

func scalarsHidden(v *document.Value) *document.Value {
	out := *v
	switch v.Kind {
	case document.Null:
	case document.Object:
		out.Members = slices.Clone(v.Members)
		for i, m := range v.Members {
			out.Members[i].Value = scalarsHidden(m.Value)
		}
	case document.Array:
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = scalarsHidden(item)
		}
	default:
		return hidden()
	}
	return &out
}

// learn remembers the secrets of a request.
func (r *Redactor) learn(payload []byte) {
	doc, _ := document.ParseJSON("", payload, document.Limits{Bytes: len(payload), Depth: 1000})
	if doc == nil {
		return
	}
	r.learnIn(doc, "")
}

func (r *Redactor) learnIn(v *document.Value, key string) {
	switch key {
	case "callerCredentials", "providerCredentials", "credentials":
		if v.Kind == document.String { // of a hook
			if inner, _ := document.ParseJSON("", []byte(v.Text), replyLimits); inner != nil {
				v = inner
			}
		}
		r.learnScalars(v)
	case "typeConfiguration", "hookModel":
		r.learnScalars(v)
	case "resourceProperties", "previousResourceProperties", "desiredResourceState", "previousResourceState", "resourceModel":
		for _, path := range r.writeOnly {
			atPath(v, path, func(secret *document.Value) *document.Value {
				r.learnScalars(secret)
				return secret
			})
		}
	default:
		for _, m := range v.Members {
			r.learnIn(m.Value, m.Key)
		}
		for _, item := range v.Items {
			r.learnIn(item, "")
		}
	}
}

// learnScalars remembers the strings and long numbers within a value.
func (r *Redactor) learnScalars(v *document.Value) {
	switch v.Kind {
	case document.String, document.Number:
		r.Learn(v.Text)
	}
	for _, m := range v.Members {
		r.learnScalars(m.Value)
	}
	for _, item := range v.Items {
		r.learnScalars(item)
	}
}

// learnModel remembers the secrets that a handler itself returned.
func (r *Redactor) learnModel(e *Event) {
	if len(r.writeOnly) == 0 || e.RawModel == nil {
		return
	}
	if data, err := encode(map[string]any{"resourceModel": e.RawModel}); err == nil {
		r.learn(data)
	}
}
