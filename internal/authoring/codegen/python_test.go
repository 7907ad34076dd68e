package codegen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// officialPython is an interpreter with the library of the official Python plug-in.
func officialPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	if python == "" {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib").Run(); err != nil {
		t.Skipf("%s does not have cloudformation-cli-python-lib", python)
	}
	return python
}

// pythonExceptions lists schemas whose models in Python do not come back unchanged, with the reason.
var pythonExceptions = map[string]string{}

// TestPythonModelsOfPublishedSchemas generates the models of every published schema, compiles them, and
// sends values made from the schemas through the model of the resource.
func TestPythonModelsOfPublishedSchemas(t *testing.T) {
	python := officialPython(t)
	schemas := corpus(t)
	if testing.Short() {
		schemas = sample(schemas)
	}
	schemas = append(load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json"), schemas...)
	dir := t.TempDir()
	var cases bytes.Buffer
	for i, s := range schemas {
		name := fmt.Sprintf("p%03d", i)
		if s.Kind == schema.Hook {
			write(t, dir, name+".py", string(pythonModels(newReader(s), pythonHookRequest, pythonRoot{schema: s, class: "HookInputModel"}, pythonRoot{schema: s.TypeConfiguration, class: "TypeConfigurationModel"})))
			continue
		}
		write(t, dir, name+".py", string(pythonModels(newReader(s), pythonResourceRequest, pythonRoot{schema: s, class: "ResourceModel"}, pythonRoot{schema: s.TypeConfiguration, class: "TypeConfigurationModel"})))
		random := rand.New(rand.NewPCG(20260101, uint64(i)))
		rounds := 4
		if strings.HasPrefix(s.File, "testdata") {
			rounds = 300
		}
		for range rounds {
			g := &generator{schema: s, random: random}
			line, err := json.Marshal(map[string]any{"package": name, "file": filepath.Base(s.File), "value": g.value(s.Root, 0)})
			if err != nil {
				t.Fatal(err)
			}
			cases.Write(append(line, '\n'))
		}
	}
	loop, err := os.ReadFile("testdata/roundtrip.py.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "roundtrip.py", string(loop))
	compile := exec.CommandContext(t.Context(), python, "-W", "error", "-m", "compileall", "-q", ".")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	run := exec.CommandContext(t.Context(), python, "roundtrip.py")
	run.Dir, run.Stdin = dir, &cases
	var problems bytes.Buffer
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, &problems)
	}
	failed := map[string]bool{}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		file, what, _ := strings.Cut(scanner.Text(), "\t")
		failed[file] = true
		if pythonExceptions[file] == "" {
			t.Errorf("%s: %.500s", file, what)
		}
	}
	for file, reason := range pythonExceptions {
		if !failed[file] && !testing.Short() {
			t.Errorf("%s comes back unchanged: remove it from pythonExceptions (%s)", file, reason)
		}
	}
}

// The objects in a map are dicts whose values have the types of the schema, as with the official plugin.
func TestPythonMapOfObjects(t *testing.T) {
	python := officialPython(t)
	s := parse(t, `{"typeName": "Acme::Net::Zone", "description": "A zone.", "definitions": {"Dns": {"type": "object", "properties": {"Port": {"type": "integer"}, "Names": {"type": "array", "items": {"type": "string"}}}, "additionalProperties": false}},
		"properties": {"Id": {"type": "string"}, "Records": {"type": "object", "patternProperties": {".*": {"$ref": "#/definitions/Dns"}}, "additionalProperties": false}},
		"additionalProperties": false, "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"]}`)
	dir := t.TempDir()
	models := string(pythonModels(newReader(s), pythonResourceRequest, pythonRoot{schema: s, class: "ResourceModel"}, pythonRoot{schema: s.TypeConfiguration, class: "TypeConfigurationModel"}))
	if want := `Records: _typing.Optional[_typing.MutableMapping[str, "_Dns"]] = None`; !strings.Contains(models, want) {
		t.Errorf("the models lack %s:\n%s", want, models)
	}
	write(t, dir, "models.py", models)
	run := exec.CommandContext(t.Context(), python, "-c", `import models; m = models.ResourceModel._deserialize({"Records": {"a": {"Port": "5", "Names": ["x"]}, "b": {}}}); print(m.Records, m._serialize())`)
	run.Dir = dir
	out, err := run.CombinedOutput()
	want := "{'a': {'Port': 5, 'Names': ['x']}, 'b': {}} {'Records': {'a': {'Port': 5, 'Names': ['x']}, 'b': {}}}\n"
	if err != nil || string(out) != want {
		t.Errorf("got %s, want %s (%v)", out, want, err)
	}
}
