package schema

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dlclark/regexp2/v2"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

//go:embed meta/*.json draft-07.json
var metaFiles embed.FS

// draft07 is the address of draft-07 itself, which "contains" refers to.
const draft07 = "http://json-schema.org/draft-07/schema"

// metaBase is the address under which the documents of the folder meta refer to each
// other. Nothing is ever fetched from it.
const metaBase = "embedded:///"

// metaNames are the meta-schemas for a whole document or a part of one.
var metaNames = map[Kind]string{
	Resource: "resource.json", Hook: "hook.json", Module: "module.json", TypeConfiguration: "configuration-file.json",
}

// A metaSchema is the compiled documents of the folder meta.
type metaSchema struct {
	compiled map[Kind]*metaRule
	parsed   map[string]*document.Value // by address, for what they say about failures
	draft07  *document.Value
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
	m := &metaSchema{compiled: map[Kind]*metaRule{}, parsed: map[string]*document.Value{}}
	parse := func(name string) (*document.Value, error) {
		data, err := metaFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		root, problems := document.ParseJSON(name, data, document.Limits{})
		return root, problems.Err()
	}
	entries, err := metaFiles.ReadDir("meta")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if m.parsed[metaBase+entry.Name()], err = parse("meta/" + entry.Name()); err != nil {
			return nil, err
		}
	}
	if m.draft07, err = parse("draft-07.json"); err != nil {
		return nil, err
	}
	compiler := metaCompiler{meta: m, rules: map[*document.Value]*metaRule{}}
	for k, name := range metaNames {
		if m.compiled[k], err = compiler.compile(m.parsed[metaBase+name], name); err != nil {
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

// checkStructure validates a document against the meta-schema of its kind.
func checkStructure(root *document.Value, k Kind) diag.List {
	report := &structureReport{root: root, of: k}
	checker := metaChecker{report: report.add}
	checker.valid(loadMeta().compiled[k], root)
	return report.problems
}

// A structureReport turns failures into problems.
type structureReport struct {
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

	want   []string          // the keys, the types or the pattern of the keyword
	got    types             // where the type is wrong
	values []*document.Value // the values of const and enum, the limit of a number
	items  [2]int            // which are equal
	limit  int               // of characters
	count  int
}

func (r *structureReport) add(f failure) {
	switch f.keyword {
	case "additionalProperties":
		for _, key := range f.want {
			f.key = key
			r.unknownKey(f)
		}
	case "required":
		for _, key := range f.want {
			f.key = key
			r.missingKey(f)
		}
	case "dependencies":
		r.report(f, "schema/needs-type", "{key} requires another key that is missing")
	case "not":
		r.report(f, "schema/not-allowed", "{name} is not allowed here")
	case "type":
		f.problem.Hint = typeHint(f)
		r.report(f, "schema/wrong-type", "{name} must be "+oneOf(f.want)+", found {got}")
	case "const":
		r.report(f, "schema/not-allowed", "{name} must be "+jsonText(f.values[0].Any())+", found {value}")
	case "enum":
		allowed := make([]string, len(f.values))
		for i, v := range f.values {
			allowed[i] = v.Text
		}
		f.problem.Hint = words.DidYouMean(f.value.Str(), allowed)
		if f.problem.Hint == "" {
			f.problem.Hint = "allowed are " + strings.Join(allowed, ", ")
		}
		r.report(f, "schema/not-allowed", "{name} does not allow {value}")
	case "pattern":
		r.report(f, "schema/malformed", "{name} has not the form "+f.want[0])
	case "minItems", "minProperties":
		f.problem.Hint = "leave the key out if there is nothing to say"
		r.report(f, "schema/empty", "{name} is empty")
	case "uniqueItems":
		f.problem.Hint = fmt.Sprintf("leave one of the items %d and %d out", f.items[0]+1, f.items[1]+1)
		r.report(f, "schema/repeated", "{name} has a duplicate item")
	case "minimum":
		r.report(f, "schema/out-of-range", "{name} is {value}; the minimum is "+f.values[0].Text)
	case "maximum":
		r.report(f, "schema/out-of-range", "{name} is {value}; the maximum is "+f.values[0].Text)
	case "exclusiveMinimum":
		r.report(f, "schema/out-of-range", "{name} is {value}; it must be greater than "+f.values[0].Text)
	case "maxLength":
		r.report(f, "schema/too-long", fmt.Sprintf("{name} has %d characters; the maximum is %d", f.count, f.limit))
	default: // inside "contains", where all of draft-07 is allowed
		r.report(f, "schema/not-allowed", "{name} is not a valid schema of draft-07")
	}
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
		keys := make([]string, 0, 40)
		for _, m := range known.Distinct() {
			keys = append(keys, m.Key)
		}
		f.problem.Hint = words.DidYouMean(f.key, keys)
		if f.problem.Hint == "" && len(keys) > 0 && len(keys) <= 12 {
			f.problem.Hint = "known are " + strings.Join(keys, ", ")
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
func typeHint(f failure) string {
	last := ""
	if len(f.pointer) > 0 {
		last = f.pointer[len(f.pointer)-1]
	}
	got := func(t types) bool { return f.got&t != 0 }
	switch {
	case got(typeBoolean) && slices.Contains(f.want, "object"):
		return "an empty object, {}, allows every value"
	case last == "items" && got(typeArray):
		return "items takes one schema for all items; describe a tuple as an object with named properties"
	case len(f.want) == 1 && f.want[0] == "array" && got(typeString):
		return "put it into brackets: [" + shortText(f.value) + "]"
	case got(typeString) && len(f.want) == 1 && slices.Contains([]string{"boolean", "integer", "number"}, f.want[0]):
		return "write it without quotes"
	}
	return ""
}
