package module

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// parseTemplate reads a template, YAML or JSON, into one tree. The short forms of the
// intrinsic functions get their long ones: !Sub is Fn::Sub, !GetAtt a.b a list of two.
//
// JSON is read as JSON, so that its problems are those of JSON. A file that is called
// .json and is not JSON may still be YAML, as in the official tool.
func parseTemplate(file string, data []byte) (*document.Value, diag.List) {
	limits := document.Limits{Bytes: maxDocument, Depth: 128}
	looksLikeJSON := strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n\ufeff"), "{")
	var jsonProblems diag.List
	if looksLikeJSON {
		root, problems := document.ParseJSON(file, data, limits)
		if !problems.HasErrors() {
			return root, problems
		}
		jsonProblems = problems
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return &document.Value{At: diag.Range{File: file}}, nil
	}
	root, problems := template.ReadYAML(file, data, limits)
	if looksLikeJSON && problems.HasErrors() {
		return nil, jsonProblems
	}
	for i, p := range problems {
		if own, ok := templateProblems[p.ID]; ok && p.Severity == diag.Error {
			problems[i].ID = own.id
			if own.message != "" {
				problems[i].Message = own.message
			}
		}
	}
	if problems.HasErrors() {
		return nil, problems // the value is unknown
	}
	return root, problems
}

// templateProblems are what the reader finds, as the check of a fragment reports it.
var templateProblems = map[string]struct{ id, message string }{
	"document/syntax":   {"module/syntax", ""},
	"document/tag":      {"module/syntax", ""},
	"document/too-deep": {"module/too-deep", ""},
	"document/key":      {"module/key", ""},
	"document/alias":    {"module/alias", "CloudFormation does not allow YAML aliases in templates"},
	"document/merge":    {"module/merge", "CloudFormation does not allow YAML merge keys (<<) in templates"},
}
