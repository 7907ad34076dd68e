package document

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/diag"
)

// Parse reads a document that is JSON or YAML, by its name and by what it begins with:
//
//	.json          JSON
//	.yaml, .yml    YAML
//	anything else  JSON if it begins with a bracket, else YAML
//
// YAML that begins with a bracket is mostly JSON, and read as such where it can be: that is
// faster, and JSON has an escape that YAML lacks. What is neither is reported in the terms
// of the language that the name calls for, and without such a name in those of JSON.
func Parse(file string, data []byte, limits Limits) (*Value, diag.List) {
	extension := strings.ToLower(filepath.Ext(file))
	begins := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	bracket := len(begins) > 0 && (begins[0] == '{' || begins[0] == '[')
	if extension == ".json" {
		return ParseJSON(file, data, limits)
	}
	if !bracket {
		return ParseYAML(file, data, limits)
	}
	v, problems := ParseJSON(file, data, limits)
	if !problems.HasErrors() {
		return v, problems
	}
	flow, flowProblems := ParseYAML(file, data, limits)
	if !flowProblems.HasErrors() || extension == ".yaml" || extension == ".yml" {
		return flow, flowProblems
	}
	return v, problems
}

const byteOrderMark = "\xef\xbb\xbf"
