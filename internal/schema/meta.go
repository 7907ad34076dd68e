package schema

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
)

//go:embed meta/*.json
var metaFiles embed.FS

// metaBase is the address under which the documents of the folder meta refer to each
// other. Nothing is ever fetched from it.
const metaBase = "embedded:///"

// metaNames are the meta-schemas for a whole document or a part of one.
var metaNames = map[Kind]string{
	Resource: "resource.json", Hook: "hook.json", Module: "module.json", TypeConfiguration: "configuration-file.json",
}

// A metaSchema is a compiled document of the folder meta.
type metaSchema struct {
	compiled map[Kind]*jsonschema.Schema
	parsed   map[string]*document.Value // by address, for what they say about failures
}

// loadMeta compiles the meta-schemas, once per process: they never change.
var loadMeta = sync.OnceValue(func() *metaSchema {
	m, err := compileMeta()
	if err != nil {
		panic(fmt.Sprintf("the embedded meta-schemas are broken: %v", err))
	}
	return m
})

func compileMeta() (*metaSchema, error) {
	m := &metaSchema{compiled: map[Kind]*jsonschema.Schema{}, parsed: map[string]*document.Value{}}
	compiler := jsonschema.NewCompiler()
	// "contains" may hold any schema of draft-07, whose own formats are not asserted; that
	// of patterns is asserted by the engine, so the engine never refuses one.
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return newMetaPattern(text), nil })
	for _, format := range []string{"uri", "uri-reference"} {
		compiler.RegisterFormat(&jsonschema.Format{Name: format, Validate: func(any) error { return nil }})
	}
	entries, err := metaFiles.ReadDir("meta")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		data, err := metaFiles.ReadFile("meta/" + entry.Name())
		if err != nil {
			return nil, err
		}
		root, problems := document.ParseJSON(entry.Name(), data, document.Limits{})
		if err := problems.Err(); err != nil {
			return nil, err
		}
		m.parsed[metaBase+entry.Name()] = root
		if err := compiler.AddResource(metaBase+entry.Name(), root.Any()); err != nil {
			return nil, err
		}
	}
	for k, name := range metaNames {
		if m.compiled[k], err = compiler.Compile(metaBase + name); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// metaPattern is a pattern of a meta-schema. Those are ours, match fast, and are anchored.
type metaPattern struct{ *pattern }

// newMetaPattern compiles a pattern of a meta-schema. It has no time-out: on a busy machine that
// would pass for no match, and valid schemas would be refused.
func newMetaPattern(text string) metaPattern {
	p := compile(text)
	if p.re != nil {
		p.re.MatchTimeout = regexp2.DefaultMatchTimeout
	}
	return metaPattern{p}
}

func (p metaPattern) MatchString(text string) bool { return p.match(text) == matches }
func (p metaPattern) String() string               { return p.text }

// checkStructure validates a document against the meta-schema of its kind.
func checkStructure(root *document.Value, k Kind) diag.List {
	m := loadMeta()
	err := m.compiled[k].Validate(plain(root))
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return nil
	}
	report := &structureReport{meta: m, root: root, of: k}
	report.add(failed)
	return report.problems
}

// plain is [document.Value.Any] with numbers that the validator can take: it multiplies
// exponents out and fails on very large ones.
func plain(v *document.Value) any {
	switch v.Kind {
	case document.Number:
		if d, ok := parseDecimal(v.Text); ok && (d.exponent > 400 || d.exponent < -400) {
			text := "1e400"
			if d.exponent < 0 {
				text = "1e-400"
			}
			if d.negative {
				text = "-" + text
			}
			return json.Number(text)
		}
	case document.Array:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = plain(item)
		}
		return out
	case document.Object:
		out := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			out[member.Key] = plain(member.Value)
		}
		return out
	}
	return v.Any()
}

// A structureReport turns the failures of the validator into problems.
type structureReport struct {
	meta     *metaSchema
	root     *document.Value
	of       Kind
	problems diag.List
	hints    int // how many unknown keys there were

	indexed *document.Value // the large object that index is of
	index   map[string]*document.Member
}

// A failure is one failed keyword with all that a message may need.
type failure struct {
	pointer document.Pointer // of the value that failed
	value   *document.Value
	rule    *document.Value // the schema, in our document, whose keyword failed
	keyword string
	key     string // the key that is meant, where it is one
	problem diag.Problem
}

func (r *structureReport) add(e *jsonschema.ValidationError) {
	f := failure{pointer: document.Pointer(e.InstanceLocation), value: r.root.Lookup(e.InstanceLocation), rule: r.rule(e.SchemaURL)}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		f.keyword = path[0]
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference:
		for _, cause := range e.Causes {
			r.add(cause)
		}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, key := range k.Properties {
			f.key = key
			r.unknownKey(f)
		}
	case *kind.Required:
		for _, key := range k.Missing {
			f.key = key
			r.missingKey(f)
		}
	case *kind.Dependency:
		f.keyword, f.key = "dependencies", k.Prop
		r.report(f, "schema/needs-type", "{key} requires another key that is missing")
	case *kind.Not:
		f.keyword = "not"
		r.report(f, "schema/not-allowed", "{name} is not allowed here")
	case *kind.Type:
		f.problem.Hint = typeHint(f, k)
		r.report(f, "schema/wrong-type", "{name} must be "+oneOf(k.Want)+", found {got}")
	case *kind.Const:
		r.report(f, "schema/not-allowed", "{name} must be "+jsonText(k.Want)+", found {value}")
	case *kind.Enum:
		f.problem.Hint = didYouMean(stringOf(f.value), texts(k.Want))
		if f.problem.Hint == "" {
			f.problem.Hint = "allowed are " + strings.Join(texts(k.Want), ", ")
		}
		r.report(f, "schema/not-allowed", "{name} does not allow {value}")
	case *kind.Pattern:
		r.report(f, "schema/malformed", "{name} has not the form "+k.Want)
	case *kind.MinItems, *kind.MinProperties:
		f.problem.Hint = "leave the key out if there is nothing to say"
		r.report(f, "schema/empty", "{name} is empty")
	case *kind.UniqueItems:
		f.problem.Hint = fmt.Sprintf("leave one of the items %d and %d out", k.Duplicates[0]+1, k.Duplicates[1]+1)
		r.report(f, "schema/repeated", "{name} has a duplicate item")
	case *kind.Minimum:
		r.report(f, "schema/out-of-range", fmt.Sprintf("{name} is {value}; the minimum is %s", k.Want.RatString()))
	case *kind.Maximum:
		r.report(f, "schema/out-of-range", fmt.Sprintf("{name} is {value}; the maximum is %s", k.Want.RatString()))
	case *kind.ExclusiveMinimum:
		r.report(f, "schema/out-of-range", fmt.Sprintf("{name} is {value}; it must be greater than %s", k.Want.RatString()))
	case *kind.MaxLength:
		r.report(f, "schema/too-long", fmt.Sprintf("{name} has %d characters; the maximum is %d", k.Got, k.Want))
	default: // inside "contains", where all of draft-07 is allowed
		r.report(f, "schema/not-allowed", "{name} is not a valid schema of draft-07")
	}
}

// rule finds the schema in our meta-schemas for an address of the validator.
func (r *structureReport) rule(address string) *document.Value {
	location, fragment, _ := strings.Cut(address, "#")
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	pointer, _ := document.ParsePointer(decoded)
	root := r.meta.parsed[location]
	if root == nil {
		return nil
	}
	return root.Lookup(pointer)
}

// report adds the problem of a failure. A text of our meta-schema for the keyword replaces the
// general text.
func (r *structureReport) report(f failure, id, message string) {
	p := f.problem
	p.ID, p.Message, p.Pointer = id, message, f.pointer.String()
	member := r.memberAt(f.pointer)
	if f.value != nil {
		p.At = f.value.At
	}
	special := f.rule.Get("problems").Get(f.keyword)
	for key, into := range map[string]*string{"id": &p.ID, "message": &p.Message, "hint": &p.Hint, "at": &f.key} {
		if text := special.Get(key); text != nil {
			*into = text.Text
		}
	}
	if m := r.member(f.value, f.key); m != nil {
		p.At, p.Pointer = m.KeyAt, f.pointer.Append(f.key).String()
	} else if (f.keyword == "minItems" || f.keyword == "minProperties" || f.keyword == "uniqueItems") && member != nil {
		p.At = member.KeyAt
	}
	p.Message = strings.NewReplacer("{key}", fmt.Sprintf("%q", f.key), "{name}", nameOf(f.pointer),
		"{got}", describe(f.value), "{value}", shortText(f.value)).Replace(p.Message)
	if p.ID == "schema/type-name" && f.value != nil && f.value.Kind == document.String {
		of := r.of
		if f.pointer.String() != "/typeName" {
			of = Resource // the target of a relationship
		}
		p.Hint = cmp.Or(TypeNameFault(of, f.value.Text), p.Hint)
	}
	r.problems.Add(p)
}

// member is [document.Value.Member] for objects in which many keys are invalid.
func (r *structureReport) member(v *document.Value, key string) *document.Member {
	if v == nil || len(v.Members) < 64 {
		return v.Member(key)
	}
	if r.indexed != v {
		r.indexed, r.index = v, make(map[string]*document.Member, len(v.Members))
		for i := range v.Members {
			r.index[v.Members[i].Key] = &v.Members[i]
		}
	}
	return r.index[key]
}

// memberAt returns the member of an object that a pointer names, nil if it names an item.
func (r *structureReport) memberAt(pointer document.Pointer) *document.Member {
	if len(pointer) == 0 {
		return nil
	}
	last := len(pointer) - 1
	return r.root.Lookup(pointer[:last]).Member(pointer[last])
}

func (r *structureReport) unknownKey(f failure) {
	f.keyword = "additionalProperties"
	where := "a property definition"
	if len(f.pointer) < 2 {
		where = "a schema"
	}
	if last := nameOf(f.pointer); len(f.pointer) > 0 && f.rule.Get("properties").Get("$ref") == nil {
		where = last
	}
	known := f.rule.Get("properties")
	r.hints++
	if hint := f.rule.Get("refused").Get(f.key); hint != nil {
		f.problem.Hint = hint.Text
	} else if known == nil {
		if name := properName(f.key); name != "" {
			f.problem.Hint = fmt.Sprintf("%q would be one", name)
		}
	} else if r.hints <= maxHints {
		words := make([]string, 0, 40)
		for _, m := range known.Distinct() {
			words = append(words, m.Key)
		}
		f.problem.Hint = didYouMean(f.key, words)
		if f.problem.Hint == "" && len(words) > 0 && len(words) <= 12 {
			f.problem.Hint = "known are " + strings.Join(words, ", ")
		}
	}
	r.report(f, "schema/unknown-key", "{key} is not a key of "+where)
}

func (r *structureReport) missingKey(f failure) {
	p := diag.Problem{
		ID: "schema/missing-key", Pointer: f.pointer.String(),
		Message: fmt.Sprintf("the key %q is missing", f.key),
		Hint:    missingHints[f.key],
	}
	if f.key == "additionalProperties" {
		p.Hint = `add "additionalProperties": false`
	}
	if len(f.pointer) > 0 {
		p.Message = fmt.Sprintf("%s lacks the key %q", nameOf(f.pointer), f.key)
	}
	if m := r.memberAt(f.pointer); m != nil {
		p.At = m.KeyAt
	} else if f.value != nil {
		p.At = f.value.At // of an object only its brace: the rest is not the cause
		p.At.End = p.At.Start
		p.At.End.Offset++
		p.At.End.Column++
	}
	r.problems.Add(p)
}

// missingHints are hints for keys that are often missing.
var missingHints = map[string]string{
	"typeName":          `add "typeName": "Organization::Service::Resource"`,
	"description":       `add "description": "What the type is for."`,
	"properties":        `add "properties" with at least one property`,
	"primaryIdentifier": `add "primaryIdentifier": ["/properties/…"] with the property that identifies a resource`,
	"permissions":       `add "permissions": [] with the API permissions that the handler needs, none if it calls none`,
	"targetNames":       `add "targetNames": ["AWS::S3::Bucket"] with the types that the hook inspects`,
	"taggable":          `add "taggable": false if the type has no tags`,
	"typeConfiguration": `add "typeConfiguration": {"properties": {}, "additionalProperties": false}`,
	"Resources":         "a module lists its resources under properties.Resources",
}

// typeHint helps where a wrong type is a common mistake.
func typeHint(f failure, k *kind.Type) string {
	last := ""
	if len(f.pointer) > 0 {
		last = f.pointer[len(f.pointer)-1]
	}
	switch {
	case k.Got == "boolean" && slices.Contains(k.Want, "object"):
		return "an empty object, {}, allows every value"
	case last == "items" && k.Got == "array":
		return "items takes one schema for all items; describe a tuple as an object with named properties"
	case len(k.Want) == 1 && k.Want[0] == "array" && k.Got == "string":
		return "put it into brackets: [" + shortText(f.value) + "]"
	case (k.Got == "string") && len(k.Want) == 1 && (k.Want[0] == "boolean" || k.Want[0] == "integer" || k.Want[0] == "number"):
		return "write it without quotes"
	}
	return ""
}
