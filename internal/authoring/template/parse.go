package template

import (
	"bytes"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// ParseOptions describe the template. The zero ParseOptions are for one that a user wrote.
type ParseOptions struct {
	// Processed means that the template comes from ProcessedJSON: functions of
	// AWS::LanguageExtensions that had to wait for a resource are accepted.
	Processed bool

	// AsWritten reads the sections of a template whose transforms have not run. What is wrong with them is not certain then.
	AsWritten bool
}

// Parse reads a template body, JSON or YAML. name is used in places only.
//
// The error is [Errors]. A template that has transforms is checked further when they have
// run: until then only its syntax, its parameters and its transforms are certain. With an
// error the template may be of use for further messages; it is nil if nothing could be read.
func Parse(name string, body []byte, opts ParseOptions) (*Template, error) {
	var r report
	root, warnings := read(name, body, &r)
	if root == nil {
		return nil, r.err()
	}
	t := &Template{name: name, root: root, processed: opts.Processed, asWritten: opts.AsWritten, Warnings: warnings}
	t.build(&r)
	return t, r.err()
}

// limits of a document. The values bound what a tree may take, which is more than its text.
var limits = document.Limits{Bytes: MaxBytes, Depth: 128, Values: 1 << 18}

func read(name string, body []byte, r *report) (*document.Value, diag.List) {
	if len(body) > MaxBytes {
		r.add("too-large", diag.Range{File: name}, nil)
		return nil, nil
	}
	root, problems := ReadDocument(name, body)
	var warnings diag.List
	json := isJSON(body)
	for _, p := range problems {
		switch {
		case p.Severity != diag.Error:
			warnings.Add(p)
		case p.ID == "document/too-large":
			r.add("too-large", p.At, nil)
		case p.ID == "document/alias":
			r.add("alias", p.At, nil)
		case json:
			r.syntax("json", p, p.At.Start.Column+consumed(p, body))
		default:
			r.syntax("yaml", p, p.At.Start.Column)
		}
	}
	if len(r.errs) > 0 {
		return nil, warnings
	}
	if root.Kind != document.Object {
		r.add("structure", root.At, nil)
		return nil, warnings
	}
	return root, warnings
}

// consumed is how many columns the service counts beyond the place of an error in JSON: it has read
// the character that does not fit, unless the text ends there.
func consumed(p diag.Problem, body []byte) int {
	if p.At.Start.Offset < len(body) {
		return 1
	}
	return 0
}

// ReadDocument reads a template as a tree: JSON if it starts with a bracket, else YAML with
// the short forms of functions, which are replaced by the long ones. The problems are those of
// the package document.
func ReadDocument(name string, body []byte) (*document.Value, diag.List) {
	return readDocument(name, body, limits)
}

func readDocument(name string, body []byte, limits document.Limits) (*document.Value, diag.List) {
	if isJSON(body) {
		return document.ParseJSON(name, body, limits)
	}
	return ReadYAML(name, body, limits)
}

// tooMany reports whether a document was not read to its end because it has too many values.
func tooMany(problems diag.List) bool {
	return slices.ContainsFunc(problems, func(p diag.Problem) bool { return p.ID == "document/too-large" })
}

// ReadYAML is [ReadDocument] for text that is YAML whatever it starts with.
func ReadYAML(name string, body []byte, limits document.Limits) (*document.Value, diag.List) {
	return document.ParseYAMLDialect(name, body, limits, document.Dialect{
		Tag: longForm, NoAliases: true, NoMerge: true, Booleans: true,
	})
}

func isJSON(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// shortForms are the tags of YAML templates, with their functions.
var shortForms = map[string]string{
	"!Ref": "Ref", "!Condition": "Condition",
	"!GetAtt": "Fn::GetAtt", "!Sub": "Fn::Sub", "!Join": "Fn::Join", "!Select": "Fn::Select", "!Split": "Fn::Split",
	"!FindInMap": "Fn::FindInMap", "!Base64": "Fn::Base64", "!Cidr": "Fn::Cidr", "!GetAZs": "Fn::GetAZs",
	"!ImportValue": "Fn::ImportValue", "!GetStackOutput": "Fn::GetStackOutput", "!Transform": "Fn::Transform",
	"!If": "Fn::If", "!Equals": "Fn::Equals", "!And": "Fn::And", "!Or": "Fn::Or", "!Not": "Fn::Not",
	"!Contains": "Fn::Contains", "!EachMemberEquals": "Fn::EachMemberEquals", "!EachMemberIn": "Fn::EachMemberIn",
	"!RefAll": "Fn::RefAll", "!ValueOf": "Fn::ValueOf", "!ValueOfAll": "Fn::ValueOfAll",
}

// LongName is the name of the function that a tag is the short form of: "Fn::Sub" for "!Sub", "" for another tag.
func LongName(tag string) string { return shortForms[tag] }

// ShortNames are the tags of YAML templates, sorted.
func ShortNames() []string { return slices.Sorted(maps.Keys(shortForms)) }

// longForm makes {"Fn::GetAtt": ["A", "B"]} of !GetAtt A.B. It returns nil for other tags.
func longForm(tag string, at diag.Range, v *document.Value) *document.Value {
	name, known := shortForms[tag]
	if !known {
		return nil
	}
	if name == "Fn::GetAtt" && v.Kind == document.String {
		v = splitAttribute(v)
	}
	whole := diag.Range{File: at.File, Start: at.Start, End: v.At.End}
	return &document.Value{Kind: document.Object, At: whole, Members: []document.Member{{Key: name, KeyAt: at, Value: v}}}
}

// splitAttribute splits "resource.attribute" at its first dot.
func splitAttribute(v *document.Value) *document.Value {
	out := &document.Value{Kind: document.Array, At: v.At}
	name, attribute, found := cut(v.Text)
	out.Items = append(out.Items, text(name, v.At))
	if found {
		out.Items = append(out.Items, text(attribute, v.At))
	}
	return out
}

func cut(s string) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func text(s string, at diag.Range) *document.Value {
	return &document.Value{Kind: document.String, Text: s, At: at}
}
