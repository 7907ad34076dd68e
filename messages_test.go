package formwork_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A message is a text that a user of cfn may read, as the sources have it.
type message struct {
	file string
	line int
	kind string // the function that takes it, or the field that it is assigned to
	text string // what is computed is "{…}"
}

// Functions and fields that take texts for users, with the position of the first one: the
// arguments before it are something else.
var (
	messageCalls = map[string]int{
		"New": 0, "Errorf": 0, "usagef": 0, "withHint": 1, "notef": 0, "printf": 0, "hint": 0, "failf": 0, "fail": 0, "fault": 0,
		"report": 0, "warn": 0, "invalid": 0, "refusef": 0, "add": 0, "addf": 0, "problem": 0, "progress": 0, "StringVar": 0, "StringVarP": 0,
		"BoolVar": 0, "BoolVarP": 0, "StringArrayVar": 0, "IntVar": 0, "DurationVar": 0, "choice": 0, "Var": 0,
	}
	messageFields = []string{"Message", "Hint", "message", "hint", "Purpose", "Why", "Short", "Long", "Text", "text"}
)

// messages lists the texts of the sources in order. Tests, generated pages and texts of one
// word are left out.
func messages(t *testing.T) []message {
	t.Helper()
	var out []message
	positions := token.NewFileSet()
	for _, root := range []string{"internal", "local", "cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			name := entry.Name()
			if err != nil || entry.IsDir() {
				if name == "testdata" || name == "fixtures" {
					return filepath.SkipDir
				}
				return err
			}
			if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
				return nil
			}
			file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			add := func(kind string, e ast.Expr) {
				if text := literal(e); strings.Contains(strings.TrimSpace(text), " ") {
					out = append(out, message{filepath.ToSlash(path), positions.Position(e.Pos()).Line, kind, text})
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					name := callee(n.Fun)
					if first, ok := messageCalls[name]; ok && len(n.Args) > first {
						for _, arg := range n.Args[first:] {
							add(name, arg)
						}
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(messageFields, key.Name) {
						add(key.Name, n.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// callee is the last name of what is called.
func callee(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literal is the text of a string, also of a sum of strings; "" if none of it is written in
// the source.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err == nil {
				return text
			}
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, right := literal(e.X), literal(e.Y)
			switch {
			case left == "" && right == "":
				return ""
			case left == "":
				left = "{…}"
			case right == "":
				right = "{…}"
			}
			return left + right
		}
	case *ast.ParenExpr:
		return literal(e.X)
	case *ast.CallExpr:
		if callee(e.Fun) == "Sprintf" && len(e.Args) > 0 {
			return literal(e.Args[0])
		}
	}
	return ""
}

// TestMessages finds every message of cfn and checks what a program can check of it:
// docs/style.md has the rules. CFN_MESSAGES=FILE writes the list, for people to read.
func TestMessages(t *testing.T) {
	all := messages(t)
	if len(all) < 1500 {
		t.Errorf("only %d messages were found", len(all))
	}
	var list strings.Builder
	for _, m := range all {
		fmt.Fprintf(&list, "%s:%d\t%s\t%s\n", m.file, m.line, m.kind, strconv.Quote(m.text))
		if strings.Contains(m.text, "  ") && m.kind == "Errorf" && !strings.Contains(m.text, "\n") {
			t.Errorf("%s:%d: two blanks in a message: %q", m.file, m.line, m.text)
		}
	}
	if name := os.Getenv("CFN_MESSAGES"); name != "" {
		if err := os.WriteFile(name, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
