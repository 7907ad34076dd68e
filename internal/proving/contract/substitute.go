package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// mark matches a placeholder. The name of an export follows the official pattern: names with
// other characters stay text.
var mark = lazyregexp.New(`\{\{(\s*env:[A-Za-z_][A-Za-z0-9_]*\s*|[-A-Za-z0-9:\s]+?)\}\}`)

// substitute replaces marks by values: {{uuid}} is a random text that is the same in all files
// of a set, {{env:NAME}} a variable of the environment, {{Name}} an export. Inside a string a
// value is escaped as JSON; outside of one it is inserted unchanged, so that a number may come
// from an export.
func (l *loader) substitute(name string, set int, data []byte) ([]byte, bool) {
	var out []byte
	complete, inString, last := true, false, 0
	for _, match := range mark.FindAllSubmatchIndex(data, -1) {
		inString = endsInString(data[last:match[0]], inString)
		out = append(out, data[last:match[0]]...)
		last = match[1]
		value, found := l.value(strings.TrimSpace(string(data[match[2]:match[3]])), set, placeIn(l.cfg.Label+name, data, match[0], match[1]))
		if !found {
			complete = false
			continue
		}
		if inString {
			escaped, _ := json.Marshal(value) // a string
			value = string(escaped[1 : len(escaped)-1])
		}
		out = append(out, value...)
	}
	return append(out, data[last:]...), complete
}

// value is the value of a mark.
func (l *loader) value(mark string, set int, at diag.Range) (string, bool) {
	if mark == "uuid" {
		if l.uuids[set] == "" {
			l.uuids[set] = l.newToken()
		}
		return l.uuids[set], true
	}
	if name, found := strings.CutPrefix(mark, "env:"); found {
		if l.cfg.Env != nil {
			if value, set := l.cfg.Env(name); set {
				return value, true
			}
		}
		l.report(diag.Error, "inputs/environment", at, fmt.Sprintf("the environment variable %s is not set", name), "set it, or write the value to the file")
		return "", false
	}
	if l.cfg.Exports != nil {
		if value, found := l.cfg.Exports(mark); found {
			return value, true
		}
	}
	l.report(diag.Error, "inputs/export", at, fmt.Sprintf("unknown export %q", mark),
		fmt.Sprintf("pass --cloudformation-endpoint-url URL to read the exports of stacks, --exports FILE with {%q: \"…\"}, or set %s in the environment", mark, ExportVariable(mark)))
	return "", false
}

// newToken makes a random text.
func (l *loader) newToken() string {
	if l.cfg.NewToken != nil {
		return l.cfg.NewToken()
	}
	return invoke.NewToken()
}

// endsInString reports whether a JSON text that starts inside a string, or outside, ends
// inside one.
func endsInString(text []byte, inside bool) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			inside = !inside
		}
	}
	return inside
}

func placeIn(file string, data []byte, start, end int) diag.Range {
	at := func(offset int) diag.Position {
		before := string(data[:offset])
		line := strings.Count(before, "\n")
		return diag.Position{Offset: offset, Line: line + 1, Column: offset - strings.LastIndex(before, "\n")}
	}
	return diag.Range{File: file, Start: at(start), End: at(end)}
}

// ExportVariable is the environment variable that holds the value of an export:
// CFN_EXPORT_ and the name, with _ for every character that is not a letter or digit.
func ExportVariable(name string) string {
	return "CFN_EXPORT_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
