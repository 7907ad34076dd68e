package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/project"
)

// pythonProject writes a project in Python whose handlers need nothing but a wheel of the test, and
// returns the environment in which pip finds the wheel without a network.
func pythonProject(t *testing.T) (dir string, environ []string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").Run(); err != nil {
		t.Skip("python3 with pip is not installed")
	}
	dir, wheels := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		".rpdk-config":                 `{"artifact_type": "RESOURCE", "typeName": "Acme::Foo::Bar", "language": "python312", "runtime": "python3.12", "entrypoint": "acme_foo_bar.handlers.resource", "testEntrypoint": "acme_foo_bar.handlers.test_entrypoint", "settings": {"protocolVersion": "2.0.0"}}`,
		"acme-foo-bar.json":            `{"typeName": "Acme::Foo::Bar", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "handlers": {"read": {"permissions": ["a:b"]}}, "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`,
		"request.json":                 `{"desiredResourceState": {"Id": "x"}}`,
		"requirements.txt":             "greeting==1.0\n",
		"resource-role.yaml":           "",
		"src/acme_foo_bar/data.txt":    "data",
		"src/acme_foo_bar/__init__.py": "",
		"src/acme_foo_bar/handlers.py": "import greeting\n\n\ndef resource(event, context):\n    if event['action'] == 'LIST':\n        raise RuntimeError('no list')\n    return {'status': 'SUCCESS', 'resourceModel': {'Id': greeting.WORD}}\n\n\ntest_entrypoint = resource\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeWheel(t, wheels, "1.0", "hello")
	writeWheel(t, wheels, "2.0", "good evening")
	environ = append(os.Environ(), "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+wheels, "PIP_CONFIG_FILE="+os.DevNull, "PYTHONPATH=",
		"PYENV_ROOT="+t.TempDir()) // the interpreter is that of the PATH
	return dir, environ
}

// writeWheel writes a wheel of the package greeting.
func writeWheel(t *testing.T, dir, version, word string) {
	t.Helper()
	writePackage(t, dir, "greeting", version, "WORD = '"+word+"'\n")
}

// writePackage writes a wheel of a package with one module.
func writePackage(t *testing.T, dir, name, version, module string) {
	t.Helper()
	writeTagged(t, dir, name, version, "py3-none-any", module)
}

// writeTagged writes a wheel for one platform.
func writeTagged(t *testing.T, dir, name, version, tag, module string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, name+"-"+version+"-"+tag+".whl"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	info := name + "-" + version + ".dist-info/"
	for _, entry := range [][2]string{
		{name + ".py", module},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + tag + "\n"},
		{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		f, err := w.Create(entry[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(entry[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func runIn(ctx context.Context, dir string, environ []string, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = Main(ctx, Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: environ, Dir: dir, Version: "1.2.3"}, args)
	return code, out.String(), errs.String()
}

// TestPythonLibraries: the libraries are installed once for each text of requirements.txt.
func TestPythonLibraries(t *testing.T) {
	dir, environ := pythonProject(t)
	read := func(args ...string) (int, string, string) {
		return runIn(t.Context(), dir, environ, append([]string{"invoke", "resource", "READ", "request.json"}, args...)...)
	}
	if code, _, errs := read("--no-build"); code == 0 || !strings.Contains(errs, "the libraries of requirements.txt are not installed") {
		t.Errorf("without libraries: %d\n%s", code, errs)
	}
	if code, out, errs := read(); code != 0 || !strings.Contains(out, "hello") || !strings.Contains(errs, "pip install") {
		t.Fatalf("the first call: %d\n%s%s", code, out, errs)
	}
	if found, err := filepath.Glob(filepath.Join(dir, ".formwork", "python", "libraries-*", "__pycache__", "*.pyc")); err != nil || len(found) == 0 {
		t.Errorf("the libraries are compiled at each start: %q, %v", found, err)
	}
	if code, out, errs := read(); code != 0 || !strings.Contains(out, "hello") || strings.Contains(errs, "pip install") {
		t.Errorf("the second call: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := read("--function-name", "TestEntrypoint"); code != 0 || !strings.Contains(out, "hello") {
		t.Errorf("the test entrypoint: %d\n%s%s", code, out, errs)
	}
	requirements := filepath.Join(dir, "requirements.txt")
	writeText(t, requirements, "greeting==2.0\n")
	if code, out, errs := read(); code != 0 || !strings.Contains(out, "good evening") {
		t.Errorf("other requirements: %d\n%s%s", code, out, errs)
	}
	if old, err := filepath.Glob(filepath.Join(dir, ".formwork", "python", "libraries-*")); err != nil || len(old) != 1 {
		t.Errorf("libraries: %q, %v", old, err)
	}
	writeText(t, requirements, "-r base.txt\n")
	for version, word := range map[string]string{"1.0": "hello", "2.0": "good evening"} {
		writeText(t, filepath.Join(dir, "base.txt"), "greeting=="+version+"\n")
		if code, out, errs := read(); code != 0 || !strings.Contains(out, word) {
			t.Errorf("included requirements %s: %d\n%s%s", version, code, out, errs)
		}
	}
	writeText(t, requirements, "-r requirements.txt\n")
	if code, _, errs := read(); code == 0 || !strings.Contains(errs, "requirements.txt includes itself") {
		t.Errorf("a loop: %d\n%s", code, errs)
	}
	writeText(t, requirements, "greeting==3.0\n")
	if code, _, errs := read(); code != 1 && code != 2 || !strings.Contains(errs, "could not be installed") || !strings.Contains(errs, "hint: check the name and the version") {
		t.Errorf("a version that does not exist: %d\n%s", code, errs)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".formwork", "python", ".cfn-*")); err != nil || len(left) != 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
	writeText(t, requirements, "")
	if code, _, errs := read(); code == 0 || !strings.Contains(errs, "No module named 'greeting'") {
		t.Errorf("without the library: %d\n%s", code, errs)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPythonFailures: what goes wrong names the line, or what to do.
func TestPythonFailures(t *testing.T) {
	dir, environ := pythonProject(t)
	writeText(t, filepath.Join(dir, "list.json"), `{"desiredResourceState": {}}`)
	if code, out, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "LIST", "list.json"); code == 0 || !strings.Contains(out+errs, `handlers.py", line 6`) {
		t.Errorf("an exception: %d\n%s%s", code, out, errs)
	}
	handlers, err := filepath.Glob(filepath.Join(dir, "src", "*", "handlers.py"))
	if err != nil || len(handlers) != 1 {
		t.Fatal(handlers, err)
	}
	for _, text := range []string{"1 / 0", "import nosuchthing", "def f(:"} {
		writeText(t, handlers[0], "\n"+text+"\n")
		if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(errs, handlers[0]) || !strings.Contains(errs, "ine 2") {
			t.Errorf("%s: %d\n%s", text, code, errs)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); code == 0 || !strings.Contains(errs, "no folder src") {
		t.Errorf("no sources: %d\n%s", code, errs)
	}
}

// TestPythonPackage: the layout is the official one, and the same sources are the same bytes.
func TestPythonPackage(t *testing.T) {
	dir, environ := pythonProject(t)
	archive := filepath.Join(dir, "acme-foo-bar.zip")
	var first []byte
	for range 2 {
		if code, _, errs := runIn(t.Context(), dir, environ, "package"); code != 0 {
			t.Fatalf("%d\n%s", code, errs)
		}
		data, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("two archives of the same project differ")
		}
		first = data
		if err := os.RemoveAll(filepath.Join(dir, ".formwork")); err != nil {
			t.Fatal(err)
		}
	}
	outer := unzip(t, first)
	for _, name := range []string{".rpdk-config", "schema.json", ".cfn_metadata.json", "src/acme_foo_bar/handlers.py", "src/acme_foo_bar/data.txt"} {
		if outer[name] == nil && name != "src/acme_foo_bar/__init__.py" {
			t.Errorf("the archive has no %s", name)
		}
	}
	inner := unzip(t, outer["ResourceProvider.zip"])
	if inner["greeting.py"] == nil || inner["acme_foo_bar/handlers.py"] == nil || inner["acme_foo_bar/data.txt"] == nil {
		t.Errorf("ResourceProvider.zip has %d files", len(inner))
	}
	for name := range inner {
		if strings.HasSuffix(name, ".pyc") {
			t.Errorf("%s is packaged", name)
		}
	}
}

func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range r.File {
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = append([]byte{}, content...)
	}
	return out
}

// TestPythonExample runs the contract tests against the example, with the library of the official
// plug-in that FORMWORK_OFFICIAL_PYTHON has.
func TestPythonExample(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	site, err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib as l, os; print(os.path.dirname(os.path.dirname(l.__file__)))").Output()
	if python == "" || err != nil {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	dir := filepath.Join(t.TempDir(), "example")
	if err := os.CopyFS(dir, os.DirFS("../../examples/tps-report-python")); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "requirements.txt"), "")
	environ := append(os.Environ(), "PYTHONPATH="+strings.TrimSpace(string(site)), "REPORTS_DIR="+t.TempDir())
	code, out, errs := runIn(t.Context(), dir, environ, "test", "--env", "REPORTS_DIR", "--time-scale", "1e6")
	if code != 0 || !strings.Contains(out, " 26 passed, 4 skipped ") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, _, errs := runIn(t.Context(), dir, environ, "generate", "--check"); code != 0 {
		t.Errorf("the generated files of the example are stale: %s", errs)
	}
}

// TestDoctorKnowsPython: every version of the language needs the interpreter.
func TestDoctorKnowsPython(t *testing.T) {
	for _, tool := range tools {
		if tool.name != "python3" {
			continue
		}
		for _, language := range project.Languages() {
			if strings.HasPrefix(language, "python") != slices.Contains(tool.languages, language) {
				t.Errorf("%s needs python3: %v", language, !strings.HasPrefix(language, "python"))
			}
		}
	}
}

// TestPythonLogs: what generated handlers log at the level INFO is seen.
func TestPythonLogs(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	site, err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib as l, os; print(os.path.dirname(os.path.dirname(l.__file__)))").Output()
	if python == "" || err != nil {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	dir, environ := t.TempDir(), append(os.Environ(), "PYTHONPATH="+strings.TrimSpace(string(site)))
	if code, _, errs := runIn(t.Context(), dir, environ, "init", "-a", "r", "-t", "Acme::Foo::Bar", "python"); code != 0 {
		t.Fatal(errs)
	}
	handlers := filepath.Join(dir, "src", "acme_foo_bar", "handlers.py")
	text, err := os.ReadFile(handlers)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, handlers, strings.Replace(string(text), "    LOG.warning(", "    LOG.info(\"seen at last\")\n    LOG.warning(", 1))
	writeText(t, filepath.Join(dir, "requirements.txt"), "")
	writeText(t, filepath.Join(dir, "request.json"), `{"desiredResourceState": {}}`)
	code, out, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json")
	if code != 0 || !strings.Contains(out+errs, "seen at last") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}

// TestConvertedCustomResource: a type that was made out of a custom resource runs in stacks. Another PhysicalResourceId after an update is
// a replacement.
func TestConvertedCustomResource(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	site, err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib as l, os; print(os.path.dirname(os.path.dirname(l.__file__)))").Output()
	if python == "" || err != nil {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	dir, environ := t.TempDir(), append(os.Environ(), "PYTHONPATH="+strings.TrimSpace(string(site)))
	writeText(t, filepath.Join(dir, "index.py"), `import cfnresponse
def handler(event, context):
    properties = event["ResourceProperties"]
    identifier = "thing-" + properties["Name"]
    if event["RequestType"] == "Delete" and event["PhysicalResourceId"] != identifier:
        return cfnresponse.send(event, context, cfnresponse.FAILED, {}, reason="not its properties")
    cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Address": properties["Name"] + "." + properties["Size"]}, identifier)
`)
	writeText(t, filepath.Join(dir, "template.yaml"), `
Resources:
  Thing: {Type: Custom::Thing, Properties: {ServiceToken: x, Name: mail, Size: 3}}
Outputs:
  Address: {Value: !GetAtt Thing.Address}
`)
	if code, _, errs := runIn(t.Context(), dir, environ, "cr", "convert", "template.yaml", "--handler", "index.py", "-t", "Acme::Mail::Thing", "--project", "thing"); code != 0 {
		t.Fatal(errs)
	}
	project := filepath.Join(dir, "thing")
	writeText(t, filepath.Join(project, "requirements.txt"), "")
	if err := os.Mkdir(filepath.Join(project, "inputs"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(project, "inputs", "inputs_1_create.json"), `{"Name": "mail", "Size": 3}`)
	writeText(t, filepath.Join(project, "inputs", "inputs_1_update.json"), `{"Name": "mail", "Size": 4}`)
	code, out, errs := runIn(t.Context(), project, environ, "test", "--in-stack", "--", "-k", "stack_create or attributes or update_in_place or stack_delete or drift_detect")
	if code != 0 || !strings.Contains(out, " 4 passed, 1 skipped in ") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	writeText(t, filepath.Join(project, "inputs", "inputs_1_update.json"), `{"Name": "post", "Size": 3}`)
	code, out, errs = runIn(t.Context(), project, environ, "test", "--in-stack", "--", "-k", "update_in_place or nothing_left")
	if code == 0 || !strings.Contains(out, "UPDATE_IN_PROGRESS, UPDATE_COMPLETE, DELETE_IN_PROGRESS, DELETE_COMPLETE; expected UPDATE_IN_PROGRESS, UPDATE_COMPLETE") || !strings.Contains(out, "nothing_left PASSED") {
		t.Errorf("a replacement: %d\n%s%s", code, out, errs)
	}
}

// TestPythonUnsent: what the official library cannot send, and answers with InternalFailure and no word, is said; frames of
// libraries are folded.
func TestPythonUnsent(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	site, err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib as l, os; print(os.path.dirname(os.path.dirname(l.__file__)))").Output()
	if python == "" || err != nil {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	dir, environ := t.TempDir(), append(os.Environ(), "PYTHONPATH="+strings.TrimSpace(string(site)))
	if code, _, errs := runIn(t.Context(), dir, environ, "init", "-a", "r", "-t", "Acme::Foo::Bar", "python"); code != 0 {
		t.Fatal(errs)
	}
	handlers := filepath.Join(dir, "src", "acme_foo_bar", "handlers.py")
	text, err := os.ReadFile(handlers)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "requirements.txt"), "")
	writeText(t, filepath.Join(dir, "request.json"), `{"desiredResourceState": {}}`)
	for statement, want := range map[string]string{
		`return ProgressEvent.failed("NoSuchCode", "x")`:                                                       "error: READ returned the error code 'NoSuchCode', which is not a HandlerErrorCode\n",
		`return ProgressEvent(status="SUCCESS")`:                                                               "error: READ returned the status 'SUCCESS', which is not an OperationStatus\n",
		`return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel={"Title": "x"})`:                   "error: READ returned a model of the type dict instead of a ResourceModel\n",
		`return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=ResourceModel(*[LOG] + [None]*6))`: "error: READ returned what cannot be sent: TypeError: Object of type Logger is not JSON serializable\n",
		`return None`: "  … 3 frames of libraries\nAttributeError: 'NoneType' object has no attribute 'status'\nerror: READ returned None instead of a ProgressEvent\n",
	} {
		writeText(t, handlers, strings.Replace(string(text), "    LOG.warning(", "    "+statement+"\n    LOG.warning(", 1))
		if _, out, errs := runIn(t.Context(), dir, environ, "invoke", "resource", "READ", "request.json"); !strings.Contains(errs, want) {
			t.Errorf("%s\n%s%s", statement, out, errs)
		}
	}
}
