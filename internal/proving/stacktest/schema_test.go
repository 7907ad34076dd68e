package stacktest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/stacktest"
)

var update = flag.Bool("update", false, "write the published schema")

// published is the schema for editors that do not run cfn.
const published = "../../../docs/stacktest.schema.json"

// TestPublishedSchema: the file in the documentation is the format that is read.
func TestPublishedSchema(t *testing.T) {
	var want bytes.Buffer
	if err := json.Indent(&want, stacktest.Schema().AppendJSON(nil), "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteString("\n")
	if *update {
		if err := os.WriteFile(published, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(published)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("docs/stacktest.schema.json is not the schema of the format, %v; go test ./internal/proving/stacktest -run PublishedSchema -update writes it", err)
	}
}

// TestDocumented: the page names every key of the format.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/stack-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	root := stacktest.Schema()
	steps := root.Get("definitions").Get("steps").Get("items")
	for _, of := range []*document.Value{
		root, steps, steps.Get("properties").Get("expect"), root.Get("definitions").Get("expected"), steps.Get("properties").Get("fail"),
		root.Get("properties").Get("given"), root.Get("properties").Get("hooks").Get("additionalProperties"), root.Get("definitions").Get("matrix"),
	} {
		properties := of.Get("properties")
		if properties == nil || len(properties.Members) == 0 {
			t.Fatalf("no properties: %s", of.AppendJSON(nil))
		}
		for _, m := range properties.Members {
			if !regexp.MustCompile("[`{, ]" + regexp.QuoteMeta(m.Key) + "[`:,}]").Match(page) {
				t.Errorf("docs/stack-tests.md does not name %s", m.Key)
			}
			if text := m.Value.Get("description"); text == nil || !strings.HasSuffix(text.Text, ".") {
				t.Errorf("%s has no description", m.Key)
			}
		}
	}
}

// TestSchemaAgrees: an independent validator takes the files that the reader takes, and refuses those that break a form.
func TestSchemaAgrees(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	if python == "" {
		t.Skip("skipped: FORMWORK_OFFICIAL_PYTHON is not set, whose jsonschema validates the files")
	}
	good, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names []string
	for name, test := range map[string]struct {
		text string
		good bool
	}{
		"cases":    {regexp.MustCompile(`!Ref (\S+?)([,}\s])`).ReplaceAllString(string(good), `{Ref: $1}$2`), true},
		"key":      {head + "stepps: []", false},
		"missing":  {"template: a\nsteps: [{deploy: {}}]", false},
		"expect":   {head + "steps: [{deploy: {}, expect: {Output: {A: 1}}}]", false},
		"change":   {head + "steps: [{update: {}, expect: {changes: {A: Replaced}}}]", false},
		"kind":     {head + "steps: [{deploy: []}]", false},
		"fault":    {head + "steps: [{deploy: {}, fail: {action: CREATE}}]", false},
		"matcher":  {head + "steps: [{deploy: {}, expect: {result: {$unordered: 1}}}]", false},
		"function": {head + "steps: [{call: {payload: 1}}]", false},
	} {
		file := filepath.Join(dir, map[bool]string{true: "good-", false: "bad-"}[test.good]+name+".yaml")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, problems := stacktest.Read("x.stacktest.yaml", []byte(test.text)); problems.HasErrors() == test.good {
			t.Errorf("%s: %v", name, problems.Err())
		}
		names = append(names, file)
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{"-c", `
import json, os, sys, jsonschema, yaml
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
for name in sys.argv[2:]:
    errors = list(jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(open(name))))
    if bool(errors) == os.path.basename(name).startswith("good-"):
        print(os.path.basename(name), errors)
`, published}, names...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
