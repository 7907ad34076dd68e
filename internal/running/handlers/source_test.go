package handlers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindSource(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"py/index.py": "def handler(event, context):\n    pass\n\ndef other(event, context):\n    pass\n",
		"odd.py:name": "text", "go/bootstrap": "\x7fELF", "go/main.go": "package main", "sources/go.mod": "module m\n", "program": "\x7fELF",
		"two/a.js": "exports.handler = 1", "two/b.js": "exports.handler = 1", "none.mjs": "export const x = 1",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]Source{
		"py":                    {Dir: "py", Runtime: "python3", Entrypoint: "index.handler"},
		"py/index.py":           {Dir: "py", Runtime: "python3", Entrypoint: "index.handler"},
		"py/index.py:other":     {Dir: "py", Runtime: "python3", Entrypoint: "index.other"},
		"none.mjs:x":            {Dir: ".", Runtime: "nodejs", Entrypoint: "none.x"},
		"go":                    {Dir: "go", Runtime: "provided.al2023", Entrypoint: "bootstrap"},
		"program":               {Dir: ".", Runtime: "go1.x", Entrypoint: "program"},
		"odd.py:name":           {Dir: ".", Runtime: "go1.x", Entrypoint: "odd.py:name"}, // a file of that name wins
		"http://127.0.0.1:3001": {URL: "http://127.0.0.1:3001", Function: "handler"},
		"http://h:1/2015-03-31/functions/mine/invocations": {URL: "http://h:1", Function: "mine"},
	} {
		if want.Dir != "" {
			want.Dir = filepath.Join(dir, want.Dir)
		}
		if got, err := FindSource(text, dir); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"missing":             "missing does not exist",
		"missing.py:handler":  "missing.py does not exist",
		"program:handler":     "is not a source in Python or JavaScript",
		"py:handler":          "is not a source in Python or JavaScript",
		"sources":             "build the Go program first",
		"two":                 "several files",
		"none.mjs":            "has no function called handler",
		"https://example.com": "expected the URL of a Lambda Invoke API",
		"http://u:p@h/":       "must not have a user",
	} {
		if got, err := FindSource(text, dir); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "function handler:") {
			t.Errorf("%s: %+v, %v; want %q", text, got, err, want)
		}
	}
}
