package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	hiddenValue = "<redacted>"

	// shortSecret is the length under which a secret is looked for as a whole
	// value only: hiding every "a" would leave no log to read.
	shortSecret = 4
)

// dummySecrets are secret access keys that everybody knows: those of cfn test without credentials, and of clients of cfn serve. Nothing
// that belongs to them is secret, and hiding it would take words and account numbers out of the log.
var dummySecrets = map[string]bool{"test": true, "unchecked-8f3kq2vz7mxw": true} // the second one is that of "cfn env"

// A redactor takes the secrets of one invocation out of what is written. The
// zero redactor knows none.
type redactor struct {
	values    map[string]bool   // the secrets as they are
	spelled   *strings.Replacer // of all spellings of those that are not short; nil for none
	writeOnly [][]string
}

// newRedactor learns the secrets of an invocation: credentials, the values of
// write-only properties in the models, and the members of the type
// configuration whose names refer to secrets.
func newRedactor(s *schema, credentials []Credentials, models []any, configuration any) *redactor {
	r := &redactor{values: map[string]bool{}}
	for _, c := range credentials {
		if !dummySecrets[c.SecretAccessKey] {
			r.learn(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
		}
	}
	if s != nil {
		r.writeOnly = s.writeOnly
		for _, model := range models {
			for _, path := range s.writeOnly {
				visit(model, path, func(parent map[string]any, name string) { r.learnTree(parent[name]) })
			}
		}
	}
	r.learnNamed(configuration)
	r.spell()
	return r
}

// spell prepares the search for the secrets in all their spellings.
func (r *redactor) spell() {
	known := map[string]bool{}
	for value := range r.values {
		if len(value) >= shortSecret {
			spellings(value, func(text string) { known[text] = len(text) >= shortSecret })
		}
	}
	if len(known) == 0 {
		return
	}
	texts := slices.Collect(maps.Keys(known))
	// The longest first, so that no rest of one stays.
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		if known[text] {
			pairs = append(pairs, text, hiddenValue)
		}
	}
	r.spelled = strings.NewReplacer(pairs...)
}

func (r *redactor) learn(values ...string) {
	for _, value := range values {
		if value != "" {
			r.values[value] = true
		}
	}
}

func (r *redactor) learnTree(value any) {
	switch value := value.(type) {
	case string:
		r.learn(value)
	case json.Number:
		r.learn(value.String())
		if number, err := value.Float64(); err == nil { // as programs print it
			for _, form := range []byte("gfe") {
				r.learn(strconv.FormatFloat(number, form, -1, 64))
			}
		}
	case []any:
		for _, item := range value {
			r.learnTree(item)
		}
	case map[string]any:
		for _, member := range value {
			r.learnTree(member)
		}
	}
}

func (r *redactor) learnNamed(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			r.learnNamed(item)
		}
	case map[string]any:
		for name, member := range value {
			if secretName(name) {
				r.learnTree(member)
				continue
			}
			r.learnNamed(member)
		}
	}
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"secret", "password", "passphrase", "token", "credential", "apikey", "api_key", "privatekey", "private_key", "accesskey"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// text hides the secrets in a text. One that is short is hidden if it is all of it.
func (r *redactor) text(text string) string {
	if r.values[text] {
		return hiddenValue
	}
	return r.within(text)
}

// within hides the secrets in a text that may be a short one by chance, as names are.
func (r *redactor) within(text string) string {
	if r.spelled == nil {
		return text
	}
	return r.spelled.Replace(text)
}

// tree hides the secrets in a decoded JSON value, in place where it can.
func (r *redactor) tree(value any) any {
	for _, path := range r.writeOnly {
		visit(value, path, func(parent map[string]any, name string) { parent[name] = hiddenValue })
	}
	return r.leaves(value)
}

func (r *redactor) leaves(value any) any {
	switch value := value.(type) {
	case string:
		return r.text(value)
	case json.Number:
		if text := r.text(value.String()); text != value.String() {
			return text
		}
	case []any:
		for i, item := range value {
			value[i] = r.leaves(item)
		}
	case map[string]any:
		for name, member := range value {
			switch name {
			case "accessKeyId", "secretAccessKey", "sessionToken":
				value[name] = hiddenValue
				continue
			}
			shown := r.within(name)
			if shown != name {
				delete(value, name)
			}
			value[shown] = r.leaves(member)
		}
	}
	return value
}

// A redactingHandler hides the secrets in every record before it reaches the
// next handler.
type redactingHandler struct {
	next slog.Handler
	r    *redactor
}

func (h redactingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h redactingHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.r.text(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(h.attr(attr))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		clean[i] = h.attr(attr)
	}
	return redactingHandler{h.next.WithAttrs(clean), h.r}
}

func (h redactingHandler) WithGroup(name string) slog.Handler {
	return redactingHandler{h.next.WithGroup(h.r.within(name)), h.r}
}

func (h redactingHandler) attr(attr slog.Attr) slog.Attr {
	attr.Key = h.r.within(attr.Key)
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(attr.Key, h.r.text(value.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(value.Group()))
		for i, member := range value.Group() {
			group[i] = h.attr(member)
		}
		return slog.Attr{Key: attr.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		return slog.Any(attr.Key, h.any(value.Any()))
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if text := h.r.text(value.String()); text != value.String() {
			return slog.String(attr.Key, text)
		}
	}
	return slog.Attr{Key: attr.Key, Value: value}
}

// any hides the secrets in a value that is logged as JSON.
func (h redactingHandler) any(value any) any {
	if err, ok := value.(error); ok {
		return h.r.text(err.Error())
	}
	// JSON has bytes in base64, where a secret that they spell in another way is lost.
	if raw, ok := value.([]byte); ok && h.r.text(string(raw)) != string(raw) {
		return hiddenValue
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "!ERROR: a value that has no JSON form"
	}
	tree, err := decodeTree(text)
	if err != nil {
		return "!ERROR: a value that has no JSON form"
	}
	return h.r.tree(tree)
}
