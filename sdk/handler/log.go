package handler

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
)

const (
	hiddenValue = "<redacted>"

	// shortSecret is the length under which a secret is looked for as a whole
	// value only: hiding every "a" would leave no log to read.
	shortSecret = 4
)

// A redactor takes the secrets of one invocation out of what is written.
type redactor struct {
	secrets   []string // longest first, so that no rest of one stays
	writeOnly [][]string
}

// newRedactor learns the secrets of an invocation: credentials, the values of
// write-only properties in the models, and the members of the type
// configuration whose names speak of secrets.
func newRedactor(s *schema, credentials []Credentials, models []any, configuration any) *redactor {
	r := &redactor{}
	for _, c := range credentials {
		r.learn(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
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
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r *redactor) learn(values ...string) {
	for _, value := range values {
		if value != "" {
			r.secrets = append(r.secrets, value)
		}
	}
}

func (r *redactor) learnTree(value any) {
	switch value := value.(type) {
	case string:
		r.learn(value)
	case json.Number:
		r.learn(value.String())
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

// text hides the secrets in a text.
func (r *redactor) text(text string) string {
	for _, secret := range r.secrets {
		if text == secret {
			return hiddenValue
		}
		if len(secret) >= shortSecret {
			text = strings.ReplaceAll(text, secret, hiddenValue)
		}
	}
	return text
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
			default:
				value[name] = r.leaves(member)
			}
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
	return redactingHandler{h.next.WithGroup(name), h.r}
}

func (h redactingHandler) attr(attr slog.Attr) slog.Attr {
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
