package document

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Parse reads a document that is JSON or YAML, by its name and its first characters:
//
//	.json          JSON
//	.yaml, .yml    YAML
//	.template      JSON if it can be read as JSON, else YAML
//	anything else  JSON if it begins with a bracket, else YAML
//
// YAML that starts with a bracket is mostly JSON, and read as JSON if possible: that is
// faster, and JSON has an escape that YAML lacks. The problems of a template that is neither
// are those of JSON if it starts with a bracket.
func Parse(file string, data []byte, limits Limits) (*Value, diag.List) {
	begins := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	bracket := len(begins) > 0 && (begins[0] == '{' || begins[0] == '[')
	extension := strings.ToLower(filepath.Ext(file))
	switch extension {
	case ".json":
		return ParseJSON(file, data, limits)
	case ".yaml", ".yml", ".template":
	default:
		if bracket {
			return ParseJSON(file, data, limits)
		}
	}
	if !bracket {
		return ParseYAML(file, data, limits)
	}
	v, problems := ParseJSON(file, data, limits)
	if !problems.HasErrors() {
		return v, problems
	}
	flow, flowProblems := ParseYAML(file, data, limits)
	if extension == ".template" && flowProblems.HasErrors() {
		return v, problems
	}
	return flow, flowProblems
}

const byteOrderMark = "\xef\xbb\xbf"
