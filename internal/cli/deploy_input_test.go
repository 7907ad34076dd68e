package cli

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func TestParamsFormats(t *testing.T) {
	for text, want := range map[string]string{
		`[{"ParameterKey": "A", "ParameterValue": "x"}, {"ParameterKey": "B", "UsePreviousValue": true}]`: "A=x B=previous",
		`["A=x=y", "B="]`: "A=x=y B=",
		`{"Parameters": {"A": "x", "N": 007e1}, "Tags": {"t": "v"}}`:     "error",
		`{"Parameters": {"A": "x", "N": 1.50}, "Tags": {"t": "v"}}`:      "A=x N=1.50 tag:t=v",
		`{"Parameters": [{"ParameterKey": "A", "ParameterValue": "x"}]}`: "A=x",
		`{"A": true, "B": "x"}`:                      "A=true B=x",
		`{"Parameters": "a parameter of this name"}`: "Parameters=a parameter of this name",
		"A: x\nB: 0123\n":                            "A=x B=0123",
		"- A=1\n- A=2\n":                             "A=2",
		`[{"ParameterKey": "A"}]`:                    "error",
		`[["A"]]`:                                    "error",
		`"A"`:                                        "error",
		`{"A": [1]}`:                                 "error",
		`{"Parameters": {}, "Tags": ["a"]}`:          "error",
	} {
		value, problems := document.Parse("params", []byte(text), document.Limits{})
		parameters, tags, err := parseParams(value)
		var got []string
		for _, p := range parameters {
			if p.previous {
				p.value = "previous"
			}
			got = append(got, p.key+"="+p.value)
		}
		for _, tag := range tags {
			got = append(got, "tag:"+*tag.Key+"="+*tag.Value)
		}
		if err != nil || problems.HasErrors() {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q (%v)", text, got, want, err)
		}
	}
}

func TestStackNameOfFile(t *testing.T) {
	for file, want := range map[string]string{"stack.yaml": "stack", "dir/my_app.template.json": "my-app", "a b.yml": "a-b", "x": "x", "7.yaml": "7"} {
		if got := stackNameOf(file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
