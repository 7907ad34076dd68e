package cli

import (
	"bytes"
	"encoding/json"
)

// printJSON writes a result for a script.
func (c *app) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// compactJSON is a value as JSON in one line, for people: & and < are written as they are.
func compactJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
