package invoke

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
)

// Hidden replaces a secret, unless the reason is known: see [secret.Reason].
const Hidden = secret.Hidden

// withoutSchema is why the values of a hook's target are hidden that has no schema.
const withoutSchema secret.Reason = "target without schema"

// RedactorConfig configures a [Redactor]. The zero value has no schema.
type RedactorConfig struct {
	// Schema of the type: which values of models are write-only, and which of a type configuration
	// are secret. Nil means that none is known to be.
	Schema *schema.Schema

	// Targets finds the schema of a hook's target by its type name. If it returns nil, all
	// scalars of the target are secret. A nil Targets finds no target.
	Targets func(typeName string) *schema.Schema

	// Secrets is where secrets are remembered, and may be shared with a log. Nil means a
	// set of the Redactor's own.
	Secrets *secret.Set
}

// A Redactor takes secrets out of what is shown of requests and replies.
//
// Credentials, write-only values of models and of the targets of hooks, and the secrets in
// a type configuration are hidden by their place. Every such value that it has seen is
// hidden by its text as well, wherever it turns up: in a message, a callback context or a
// log, in all the spellings that [secret.Set.Add] lists. Several goroutines may use a
// Redactor.
//
// The other values of a type configuration are settings, which messages quote. What a dynamic
// reference in it stands for is not known here: the caller passes it to [Redactor.LearnFor].
type Redactor struct {
	writeOnly []secretPath
	schema    *schema.Schema // of the type; nil without one
	settings  *schema.Schema // of the type configuration; nil without one
	targets   func(string) *schema.Schema
	secrets   *secret.Set
}

// NewRedactor makes a Redactor for the models of a schema, which may be nil.
func NewRedactor(s *schema.Schema) *Redactor { return RedactorConfig{Schema: s}.New() }

// New makes a Redactor.
func (c RedactorConfig) New() *Redactor {
	r := &Redactor{schema: c.Schema, writeOnly: writeOnly(c.Schema), targets: c.Targets, secrets: c.Secrets}
	if c.Schema != nil {
		r.settings = c.Schema.TypeConfiguration
	}
	if r.targets == nil {
		r.targets = func(string) *schema.Schema { return nil }
	}
	if r.secrets == nil {
		r.secrets = &secret.Set{}
	}
	return r
}

// A secretPath is where models have a secret, and why it is one.
type secretPath struct {
	document.Pointer
	why secret.Reason
}

func writeOnly(s *schema.Schema) []secretPath {
	if s == nil {
		return nil
	}
	var paths []secretPath
	for _, path := range s.WriteOnly {
		paths = append(paths, secretPath{path.Tokens, secret.Reason("write-only " + path.Tokens.String())})
	}
	return paths
}

// Learn makes the Redactor hide texts wherever they turn up. Texts under four bytes are
// words that everything is full of: by their place they are hidden all the same.
func (r *Redactor) Learn(secrets ...string) { r.LearnFor("", secrets...) }

// LearnFor is Learn with the reason that is given where they are hidden.
func (r *Redactor) LearnFor(why secret.Reason, secrets ...string) {
	for _, text := range secrets {
		if !IsDummy(text) {
			r.secrets.AddFor(why, text)
		}
	}
}

// Observe makes the Redactor hide the secrets of a request or a reply in all later texts. A
// [Runner] does so for its requests and replies; other callers use this. Data that is not JSON
// contains no identifiable secrets.
func (r *Redactor) Observe(payload []byte) { r.learn(payload) }

// Text hides the secrets that the Redactor has seen. Those under eight characters are hidden
// only as whole words.
func (r *Redactor) Text(text string) string { return r.secrets.Hide(text) }

// excerpt is the beginning of a text without its secrets. They are hidden before the cut,
// because a truncated secret would not be found.
func (r *Redactor) excerpt(data []byte) string { return excerpt([]byte(r.Text(string(data)))) }

// JSON hides the secrets of a request or a reply and indents it by two spaces. Data that is
// not JSON is cut to its beginning.
func (r *Redactor) JSON(data []byte) []byte {
	doc, problems := document.ParseJSON("", data, replyLimits)
	if doc == nil || problems.HasErrors() {
		return []byte(r.excerpt(data))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, r.document(doc, "", "").AppendJSON(nil), "", "  "); err != nil {
		return []byte(r.excerpt(data))
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
	return r.texts(hideAt(doc, r.writeOnly)).Any()
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

// document hides by place. Key is the member that v is the value of, and target the type
// name that the nearest targetName around it holds.
func (r *Redactor) document(v *document.Value, key, target string) *document.Value {
	switch key {
	case "callerCredentials", "providerCredentials", "credentials", "platformCredentials":
		if v.Kind != document.Null {
			return hidden(secret.Credentials)
		}
		return v
	case "typeConfiguration", "hookModel":
		return r.configuration(v, nil)
	case "targetModel":
		return r.target(v, target)
	case "resourceProperties", "previousResourceProperties", "desiredResourceState", "previousResourceState", "resourceModel":
		return r.texts(hideAt(v, r.writeOnly))
	case "resourceModels":
		out := *v
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = r.texts(hideAt(item, r.writeOnly))
		}
		return r.texts(&out) // what is not an array has no items
	}
	target = targetName(v, target)
	return r.each(v, func(key string, member *document.Value) *document.Value { return r.document(member, key, target) })
}

// secretSetting returns why a value of a type configuration is a secret, "" if it is none: the schema
// marks it as write-only, requires a dynamic reference in its place, or its name is that of a secret.
func (r *Redactor) secretSetting(at document.Pointer) secret.Reason {
	if r.settings != nil {
		if r.settings.IsWriteOnly(at) {
			return secret.Reason("write-only " + at.String())
		}
		if r.settings.IsReference(at) {
			return secret.Reference
		}
	}
	if len(at) > 0 && cfnlog.SecretName(at[len(at)-1]) {
		return secret.Named
	}
	return ""
}

// configuration hides the secrets of a type configuration.
func (r *Redactor) configuration(v *document.Value, at document.Pointer) *document.Value {
	if why := r.secretSetting(at); why != "" {
		return scalarsHidden(v, why)
	}
	return r.each(v, func(key string, member *document.Value) *document.Value {
		return r.configuration(member, at.Append(cmp.Or(key, "*")))
	})
}

// learnConfiguration remembers the secrets of a type configuration.
func (r *Redactor) learnConfiguration(v *document.Value, at document.Pointer) {
	if why := r.secretSetting(at); why != "" {
		r.learnScalars(v, why)
		return
	}
	for _, m := range v.Members {
		r.learnConfiguration(m.Value, at.Append(m.Key))
	}
	for _, item := range v.Items {
		r.learnConfiguration(item, at.Append("*"))
	}
}

// targetName is the targetName of an object, or the one around it.
func targetName(v *document.Value, around string) string {
	if name := v.Get("targetName"); name != nil && name.Kind == document.String {
		return name.Text
	}
	return around
}

// target hides what the schema of a hook's target says is write-only, and all scalars if
// there is no schema.
func (r *Redactor) target(v *document.Value, name string) *document.Value {
	s := r.targets(name)
	if s == nil || v.Kind != document.Object {
		return scalarsHidden(v, withoutSchema)
	}
	paths := writeOnly(s)
	return r.each(v, func(key string, member *document.Value) *document.Value {
		if isTargetState(key) {
			member = hideAt(member, paths)
		}
		return r.texts(member)
	})
}

func isTargetState(key string) bool {
	return key == "resourceProperties" || key == "previousResourceProperties"
}

// texts hides by text only.
func (r *Redactor) texts(v *document.Value) *document.Value {
	return r.each(v, func(_ string, member *document.Value) *document.Value { return r.texts(member) })
}

// each copies v with its members and items replaced, and the secrets hidden that are in
// its own text or its names.
func (r *Redactor) each(v *document.Value, replace func(string, *document.Value) *document.Value) *document.Value {
	out := *v
	switch v.Kind {
	case document.Object:
		out.Members = make([]document.Member, len(v.Members))
		for i, m := range v.Members {
			m.Value = replace(m.Key, m.Value)
			m.Key = r.Text(m.Key)
			out.Members[i] = m
		}
	case document.Array:
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = replace("", item)
		}
	case document.String:
		out.Text = r.Text(v.Text)
	case document.Number:
		if text := r.Text(v.Text); text != v.Text {
			out.Kind, out.Text = document.String, text
		}
	}
	return &out
}

// hideAt copies v with what the paths name hidden.
func hideAt(v *document.Value, paths []secretPath) *document.Value {
	for _, path := range paths {
		v = atPath(v, path.Pointer, func(*document.Value) *document.Value { return hidden(path.why) })
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

func hidden(why secret.Reason) *document.Value {
	return &document.Value{Kind: document.String, Text: why.Mark()}
}

func scalarsHidden(v *document.Value, why secret.Reason) *document.Value {
	out := *v
	switch v.Kind {
	case document.Null:
	case document.Object:
		out.Members = slices.Clone(v.Members)
		for i, m := range v.Members {
			out.Members[i].Value = scalarsHidden(m.Value, why)
		}
	case document.Array:
		out.Items = make([]*document.Value, len(v.Items))
		for i, item := range v.Items {
			out.Items[i] = scalarsHidden(item, why)
		}
	default:
		return hidden(why)
	}
	return &out
}

// learn remembers the secrets of a request.
func (r *Redactor) learn(payload []byte) {
	if !r.mayTeach(payload) {
		return
	}
	doc, _ := document.ParseJSON("", payload, document.Limits{Bytes: len(payload), Depth: 1000})
	if doc == nil {
		return
	}
	r.learnIn(doc, "", "")
}

func (r *Redactor) learnIn(v *document.Value, key, target string) {
	switch key {
	case "callerCredentials", "providerCredentials", "credentials", "platformCredentials":
		if v.Kind == document.String { // of a hook
			if inner, _ := document.ParseJSON("", []byte(v.Text), replyLimits); inner != nil {
				v = inner
			}
		}
		if key := v.Get("secretAccessKey"); key == nil || key.Kind != document.String || !IsDummy(key.Text) {
			r.learnScalars(v, secret.Credentials)
		}
	case "typeConfiguration", "hookModel":
		r.learnConfiguration(v, nil)
	case "targetModel":
		s := r.targets(target)
		if s == nil {
			r.learnScalars(v, withoutSchema)
			return
		}
		for _, m := range v.Members {
			if isTargetState(m.Key) {
				r.learnAt(m.Value, s, writeOnly(s))
			}
		}
	case "resourceProperties", "previousResourceProperties", "desiredResourceState", "previousResourceState", "resourceModel":
		r.learnAt(v, r.schema, r.writeOnly)
	case "resourceModels":
		for _, item := range v.Items {
			r.learnAt(item, r.schema, r.writeOnly)
		}
	default:
		target = targetName(v, target)
		for _, m := range v.Members {
			r.learnIn(m.Value, m.Key, target)
		}
		for _, item := range v.Items {
			r.learnIn(item, "", target)
		}
	}
}

// teaching are ends of the names of members that may have secrets, whatever the schema.
var teaching = [][]byte{[]byte(`redentials"`), []byte(`typeConfiguration"`), []byte(`hookModel"`), []byte(`targetModel"`)}

// mayTeach reports whether a document may have secrets: it has the name of such a member, or an escape
// that a name may be written with. Most replies of handlers need not be read for that.
func (r *Redactor) mayTeach(document []byte) bool {
	return len(r.writeOnly) > 0 || bytes.IndexByte(document, '\\') >= 0 ||
		slices.ContainsFunc(teaching, func(name []byte) bool { return bytes.Contains(document, name) })
}

// learnAt remembers what the paths name, except for one of the values that the schema lists there: all of them are public.
func (r *Redactor) learnAt(v *document.Value, s *schema.Schema, paths []secretPath) {
	var below func(v *document.Value, at document.Pointer, why secret.Reason)
	below = func(v *document.Value, at document.Pointer, why secret.Reason) {
		for _, m := range v.Members {
			below(m.Value, at.Append(m.Key), why)
		}
		for _, item := range v.Items {
			below(item, at.Append("*"), why)
		}
		public := v.Kind == document.String && slices.Contains(s.Property(at).Get("enum").Strings(), v.Text)
		if len(v.Members)+len(v.Items) == 0 && !public {
			r.learnScalars(v, why)
		}
	}
	for _, path := range paths {
		atPath(v, path.Pointer, func(found *document.Value) *document.Value {
			below(found, path.Pointer, path.why)
			return found
		})
	}
}

// learnScalars remembers the strings and long numbers within a value. Numbers are learned
// as programs print them, too: 91827364 is 9.1827364e+07 to many.
func (r *Redactor) learnScalars(v *document.Value, why secret.Reason) {
	switch v.Kind {
	case document.String:
		r.LearnFor(why, v.Text)
	case document.Number:
		r.LearnFor(why, v.Text)
		if number, err := strconv.ParseFloat(v.Text, 64); err == nil && len(v.Text) >= 4 {
			for _, form := range []byte("gfe") {
				r.LearnFor(why, strconv.FormatFloat(number, form, -1, 64))
			}
		}
	}
	for _, m := range v.Members {
		r.learnScalars(m.Value, why)
	}
	for _, item := range v.Items {
		r.learnScalars(item, why)
	}
}

// learnReply remembers the secrets that a handler itself returned, also in an answer that
// turns out to be no progress event.
func (r *Redactor) learnReply(reply []byte) {
	if len(reply) <= replyLimits.Bytes {
		r.learn(reply)
	}
}
