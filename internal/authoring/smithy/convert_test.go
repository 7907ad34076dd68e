package smithy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// loadFiles loads models and fails the test on events that make them unfit for use.
func loadFiles(t testing.TB, files ...string) *Model {
	t.Helper()
	var sources []Source
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, Source{File: file, Data: data})
	}
	m, events := Load(sources, Config{})
	for _, e := range events {
		if e.Severity == ErrorSeverity {
			t.Fatal(e)
		}
	}
	return m
}

// settingsOf reads the settings of a case as smithy-build.json would hold them.
func settingsOf(t testing.TB, service string, plugin map[string]any) Settings {
	t.Helper()
	settings := map[string]any{"service": service}
	for k, v := range plugin {
		settings[k] = v
	}
	data, err := json.Marshal(map[string]any{"plugins": map[string]any{"cloudformation": settings}})
	if err != nil {
		t.Fatal(err)
	}
	s, problems := ParseSettings("smithy-build.json", data, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

// sameSchemas compares what was converted with the documents that are expected.
func sameSchemas(t *testing.T, got []Converted, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d schemas were made, want %d", len(got), len(want))
	}
	byType := map[string]any{}
	for _, c := range got {
		var v any
		if err := json.Unmarshal(c.JSON(), &v); err != nil {
			t.Fatalf("%s: %v", c.TypeName, err)
		}
		byType[c.TypeName] = v
	}
	for _, file := range want {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var expected map[string]any
		if err := json.Unmarshal(data, &expected); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(expected["typeName"])
		if difference := firstDifference("", byType[name], expected); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

// firstDifference names the first place where two JSON values differ.
func firstDifference(at string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			break
		}
		for k, v := range want {
			if _, has := object[k]; !has {
				return fmt.Sprintf("%s/%s is missing", at, k)
			}
			if d := firstDifference(at+"/"+k, object[k], v); d != "" {
				return d
			}
		}
		for k := range object {
			if _, has := want[k]; !has {
				return fmt.Sprintf("%s/%s should not be there: %v", at, k, object[k])
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			break
		}
		for i := range want {
			if d := firstDifference(fmt.Sprintf("%s/%d", at, i), list[i], want[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// A conversion is a case of the fixtures.
type conversion struct {
	Name     string
	Models   []string
	Service  string
	Settings map[string]any
	Expected []string
}

func TestConvertFixtures(t *testing.T) {
	dir := fixtures.Dir(t, "smithy/converter")
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []conversion
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	within := func(names []string) []string {
		var out []string
		for _, name := range names {
			out = append(out, filepath.Join(dir, name))
		}
		return out
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			m := loadFiles(t, within(c.Models)...)
			if events := Validate(m, nil); events.Fatal() {
				t.Errorf("the model does not validate: %v", events)
			}
			got, problems := Convert(m, settingsOf(t, c.Service, c.Settings))
			if problems.HasErrors() {
				t.Fatal(problems.Err())
			}
			sameSchemas(t, got, within(c.Expected))
		})
	}
}

// TestConvertModels converts real models, from JSON AST and from the IDL, and compares
// whole files, order and spaces included.
func TestConvertModels(t *testing.T) {
	root, l := fixtures.Dir(t, "smithy/models"), openLedger(t)
	schemas := map[string]int{}
	for _, caseFile := range filesOf(t, root, "case.json") {
		dir := filepath.Join(root, filepath.Dir(filepath.FromSlash(caseFile)))
		var c conversion
		if err := json.Unmarshal(readSource(t, root, caseFile).Data, &c); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"model.json", "model.smithy"} {
			got, problems := Convert(loadFiles(t, filepath.Join(dir, file)), settingsOf(t, c.Service, c.Settings))
			wrong := ""
			if err := problems.Err(); err != nil {
				wrong = err.Error()
			}
			want := filesOf(t, filepath.Join(dir, "expected"), ".json")
			if wrong == "" && len(want) != len(got) {
				wrong = fmt.Sprintf("%d schemas, want %d", len(got), len(want))
			}
			for _, name := range want {
				if d := differentBytes(got, name, readSource(t, filepath.Join(dir, "expected"), name).Data); d != "" {
					wrong += d
				} else {
					schemas[file]++
				}
			}
			l.check(t, "models", filepath.Base(dir)+"/"+file, wrong)
		}
	}
	l.close(t, "models")
	t.Logf("models: %d schemas agree from model.json, %d from model.smithy", schemas["model.json"], schemas["model.smithy"])
}

// differentBytes says how the schema with that file name differs from what is expected.
func differentBytes(got []Converted, name string, want []byte) string {
	for _, c := range got {
		if c.File != name {
			continue
		}
		if bytes.Equal(bytes.TrimSpace(c.JSON()), bytes.TrimSpace(want)) {
			return ""
		}
		return name + ": " + firstLine(c.JSON(), want) + "\n"
	}
	return name + " was not made\n"
}

func firstLine(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, a[i], b[i])
		}
	}
	return "one is longer"
}
