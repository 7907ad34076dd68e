package codegen

import (
	"bytes"
	"strings"
	"testing"
	"text/template"
)

// TestFill compares with text/template what it supports of it.
func TestFill(t *testing.T) {
	type item struct {
		Name string
		Tags []string
		Deep *struct{ Word string }
	}
	data := map[string]any{
		"Items": []item{{Name: "a", Tags: []string{"x", "y"}, Deep: &struct{ Word string }{"w"}}, {Name: "b"}},
		"None":  []string{}, "Yes": true, "N": 3, "Map": map[string]string{"k": "v"}, "Any": any("text"),
	}
	for _, text := range []string{
		"plain", "{{.N}} {{.Any}} {{.Map.k}} {{/* nothing */}}", "{{if .Yes}}1{{else}}2{{end}}{{if .None}}1{{else if eq .N 3}}3{{else}}2{{end}}",
		"{{range .Items}}{{.Name}}:{{range .Tags}}{{.}}{{$.N}}{{else}}-{{end}};{{end}}", "{{range $i, $x := .Items}}{{if $i}}, {{end}}{{$x.Name}}{{end}}",
		"{{with .Map}}{{.k}}{{end}}{{with .None}}no{{else}}none{{end}}", `{{printf "%q" .Any}}{{.Any | printf "%s!"}}{{len .Items}}{{not .Yes}}`,
		"{{range .Items}}{{with .Deep}}{{.Word}}{{end}}{{end}}", `{{$x := "1"}}{{if .Yes}}{{$x := "2"}}{{$x}}{{end}}{{$x}}`,
		`{{if and .Yes (eq .N 3)}}both{{end}}{{if or .None .Yes}}one{{end}}{{if ne .N 4}}other{{end}}`,
	} {
		var want bytes.Buffer
		if err := template.Must(template.New("t").Parse(text)).Execute(&want, data); err != nil {
			t.Fatal(err)
		}
		got, err := Fill("t", text, data)
		if err != nil || string(got) != want.String() {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want.String())
		}
	}
	for text, want := range map[string]string{
		"{{.Nothing}}": "there is no Nothing", "{{.N.Deep}}": "there is no Deep", "{{range .N}}{{end}}": "only slices", "{{.N 1}}": "is not a function",
		"{{not}}": "takes 1", `{{$x := 1}}{{$x = 2}}`: "not supported", `{{template "x"}}`: "not supported", "{{if": "unclosed", "{{1.5}}": "not supported",
		"{{shout 1}}": "not defined", "{{.None | .N}}": "is not a function",
	} {
		if _, err := Fill("t", text, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
