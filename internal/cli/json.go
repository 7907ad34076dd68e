package cli

import "encoding/json"

// printJSON writes a result for a script.
func (c *app) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
