package codegen

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func example(t testing.TB, kind schema.Kind, typeName string) *schema.Schema {
	t.Helper()
	files, err := Example(kind, typeName)
	if err != nil {
		t.Fatal(err)
	}
	s, problems := schema.Load(files[0].Path, files[0].Data, schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

// TestBuildFlagsAgree: the Makefiles of projects and cfn itself build with the same flags, so that
// Go compiles nothing twice.
func TestBuildFlagsAgree(t *testing.T) {
	makefiles, err := filepath.Glob("../../../examples/*/Makefile")
	if err != nil || len(makefiles) < 3 {
		t.Fatal(makefiles, err)
	}
	want := "go build " + strings.NewReplacer("-ldflags=-s -w", `-ldflags="-s -w"`).Replace(strings.Join(BuildFlags(), " ")) + " -o bin/"
	for _, file := range append(makefiles, "templates/Makefile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not build with %q", file, want)
		}
	}
}

// TestExampleProject keeps the whole output for the two examples as golden files: what a
// newcomer sees, and what a change of a template does.
func TestExampleProject(t *testing.T) {
	for kind, name := range map[schema.Kind]string{schema.Resource: "Initech::TPS::Report", schema.Hook: "Initech::TPS::Policy"} {
		files, err := Generate(Input{Schema: example(t, kind, name), Language: "go", ImportPath: "example.com/project", Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for _, f := range files {
			if strings.HasPrefix(f.Path, ".formwork/sdk/") {
				continue // TestSDKCopy
			}
			got.WriteString("-- " + f.Path + map[Mode]string{Once: " (once)", Generated: ""}[f.Mode] + " --\n")
			got.Write(f.Data)
		}
		golden := filepath.Join("testdata", strings.ToLower(string(kind))+".golden")
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s differs (go test -update writes it again): %s", golden, firstDifference(string(want), got.String()))
		}
	}
}

// TestProjectsBuild builds new projects as they are, with no network and no module cache.
func TestProjectsBuild(t *testing.T) {
	bare := parse(t, `{"typeName": "Aa::Bb::Cc", "description": "d", "properties": {"A": {"type": "string"}}, "primaryIdentifier": ["/properties/A"], "additionalProperties": false}`)
	nasty := load(t, "testdata/schemas/names.json")[0]
	for _, c := range []struct {
		name string
		in   Input
	}{
		{"resource", Input{Schema: example(t, schema.Resource, "Initech::TPS::Report")}},
		{"hook", Input{Schema: example(t, schema.Hook, "Initech::TPS::Policy"), Targets: []*schema.Schema{example(t, schema.Resource, "Initech::TPS::Report"), nasty}}},
		{"resource of a released cfn", Input{Schema: bare, Version: "1.2.3"}},
		{"resource without handlers", Input{Schema: bare, Version: "0.1.0-dev"}},
		{"hook without handlers", Input{Version: "0.0.0", Schema: parse(t, `{"typeName": "Aa::Bb::Hook", "description": "d", "typeConfiguration": {"properties": {}, "additionalProperties": false}, "additionalProperties": false}`)}},
		{"nasty names", Input{Schema: nasty, Version: "v1.0.1-0.20260101000000-abcdef123456"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Language, c.in.ImportPath = "go", "example.com/project"
			files, err := Generate(c.in)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range files {
				write(t, dir, f.Path, string(f.Data))
				if generated := IsGenerated(f.Path, f.Data); generated != (f.Mode == Generated) {
					t.Errorf("%s: mode %d, recognised as generated: %t", f.Path, f.Mode, generated)
				}
			}
			env := []string{"GOMODCACHE=" + filepath.Join(dir, "no-cache"), "GOFLAGS=-modcacherw"}
			if c.in.Version == "" { // linking takes long; the others are compiled only
				gocmd(t, dir, env, "build", "-trimpath", "-o", "bin/bootstrap", "./cmd")
			}
			gocmd(t, dir, env, "vet", "-trimpath", "./...")
			out, err := exec.Command("gofmt", "-l", dir).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("gofmt would change %s (%v)", out, err)
			}
		})
	}
}

// TestStubsFail runs what is generated, before anything is written by hand: every action
// answers FAILED, says where to write the handler, and no null or error reaches the caller.
func TestStubsFail(t *testing.T) {
	files, err := Generate(Input{Schema: example(t, schema.Resource, "Initech::TPS::Report"), Language: "go", ImportPath: "example.com/project"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		write(t, dir, f.Path, string(f.Data))
	}
	test, err := os.ReadFile("testdata/stubs_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cmd/resource/stubs_test.go", string(test))
	gocmd(t, dir, nil, "test", "-trimpath", "./cmd/resource")
}

// TestGoPluginProject compiles what is regenerated for the library of the official tool
// against that library, if the module cache has it.
func TestGoPluginProject(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: the library takes a while to compile (run without -short)")
	}
	const library = "github.com/aws-cloudformation/cloudformation-cli-go-plugin v1.2.0"
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(cache)), strings.Replace(library, " ", "@", 1))
	if _, err := os.Stat(source); err != nil {
		t.Skipf("skipped: the module cache has no %s (go mod download fetches it)", library)
	}
	schemas := append(load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json"), example(t, schema.Resource, "Initech::TPS::Report"))
	corpus := corpus(t)
	for i := 0; i < len(corpus); i += 120 {
		if corpus[i].Kind == schema.Resource {
			schemas = append(schemas, corpus[i])
		}
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/plugin\n\ngo 1.26\n\nrequire "+library+"\n")
	for i, s := range schemas {
		name := "p" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		files, err := Generate(Input{Schema: s, Language: "go", ImportPath: "example.com/plugin/" + name, Flavour: FlavourGoPlugin})
		if err != nil {
			t.Fatalf("%s: %v", s.File, err)
		}
		for _, f := range files {
			if filepath.Ext(f.Path) == ".go" {
				write(t, dir, name+"/"+f.Path, string(f.Data))
			}
		}
		write(t, dir, name+"/cmd/resource/resource.go", pluginHandlers)
	}
	test, err := os.ReadFile("testdata/plugin_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "pab/cmd/resource/plugin_test.go", string(test))
	cmd := exec.Command("go", "build", "-trimpath", "./...")
	env := []string{"GOFLAGS=-mod=mod", "GONOSUMDB=*", "GOSUMDB=off"}
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off"), env...)
	if out, err := cmd.CombinedOutput(); err != nil && bytes.Contains(out, []byte("module lookup disabled by GOPROXY=off")) {
		t.Skipf("skipped: the module cache has not everything that %s needs", library)
	} else if err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	gocmd(t, dir, env, "vet", "-trimpath", "./...")
	gocmd(t, dir, env, "test", "-trimpath", "./pab/cmd/resource")
}

const pluginHandlers = `package resource

import (
	"errors"

	"github.com/aws-cloudformation/cloudformation-cli-go-plugin/cfn/handler"
)

func Create(req handler.Request, prev *Model, current *Model) (handler.ProgressEvent, error) {
	if _, err := Configuration(req); err != nil {
		return handler.ProgressEvent{}, err
	}
	return handler.ProgressEvent{OperationStatus: handler.Success, ResourceModel: current}, nil
}

func Read(req handler.Request, prev *Model, current *Model) (handler.ProgressEvent, error)   { return Create(req, prev, current) }
func Update(req handler.Request, prev *Model, current *Model) (handler.ProgressEvent, error) { return Create(req, prev, current) }
func Delete(req handler.Request, prev *Model, current *Model) (handler.ProgressEvent, error) { return Create(req, prev, current) }
func List(req handler.Request, prev *Model, current *Model) (handler.ProgressEvent, error) {
	return handler.ProgressEvent{}, errors.New("not written")
}
`

// Older versions of the library have no configuration of types.
func TestGoPluginTypeConfiguration(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	for version, want := range map[string]bool{
		"v0.1.6": false, "v1.0.3": false, "v1.1.0": true, "v1.2.0": true, "v2.2.0": true,
		"v1.0.4-0.20210101000000-0123456789ab": false, "v1.0.4-0.20230101000000-0123456789ab": true,
	} {
		goMod := "module x.test/y\n\nrequire (\n\texample.com/other v0.0.1\n\tgithub.com/aws-cloudformation/cloudformation-cli-go-plugin " + version + "\n)\n"
		files, err := Generate(Input{Schema: s, Language: "go", ImportPath: "x.test/y", Flavour: FlavourGoPlugin, GoMod: []byte(goMod)})
		if err != nil {
			t.Fatal(err)
		}
		if text := fileNamed(t, files, "cmd/resource/config.go"); strings.Contains(text, "UnmarshalTypeConfig") != want || !strings.Contains(text, "package resource") {
			t.Errorf("%s: %s", version, text)
		}
	}
}

func TestGoPluginBuildFile(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	for _, c := range []struct{ entrypoint, want string }{
		{"", `-tags="lambda.norpc,$(TAGS)" -o bin/bootstrap cmd/main.go`},
		{"handler", `-tags="$(TAGS)" -o bin/handler cmd/main.go`},
	} {
		files, err := Generate(Input{Schema: s, Language: "go", ImportPath: "x.test/y", Flavour: FlavourGoPlugin, Entrypoint: c.entrypoint})
		if err != nil {
			t.Fatal(err)
		}
		if text := fileNamed(t, files, "makebuild"); !strings.Contains(text, c.want) {
			t.Errorf("entrypoint %q: %s", c.entrypoint, text)
		}
	}
	if _, err := Generate(Input{Schema: parse(t, hookSchema), Language: "go", ImportPath: "x.test/y", Flavour: FlavourGoPlugin}); err == nil || !strings.Contains(err.Error(), "no hooks") {
		t.Error("the library has no hooks, and nobody says so")
	}
}

func TestLanguage(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	files, err := Generate(Input{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path != "resource-role.yaml" && !strings.HasPrefix(f.Path, "docs/") {
			t.Errorf("%s is written for a project in another language", f.Path)
		}
	}
	if _, err := Generate(Input{Schema: s, Language: "cobol"}); err == nil || !strings.Contains(err.Error(), "cobol") {
		t.Errorf("an unknown language: %v", err)
	}
}

func TestIsGenerated(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       bool
	}{
		{"cmd/main.go", "// Code generated by cfn generate. DO NOT EDIT.\n\npackage main\n", true},
		{"cmd/main.go", "// Code generated by 'cfn generate', changes will be undone by the next invocation. DO NOT EDIT.\npackage main\n", true},
		{"cmd/resource/model.go", "// Code generated by 'cfn generate', changes will be undone by the next invocation. DO NOT EDIT.\n", true},
		{"cmd/resource/resource.go", "// Code generated by 'cfn generate', changes will be undone by the next invocation. DO NOT EDIT.\n", false},
		{"cmd/main.go", "package main\n", false},
		{"cmd/main.go", "package main\n" + strings.Repeat("// x\n", 400) + "// Code generated by cfn generate. DO NOT EDIT.\n", false},
		{"makebuild", "# This file is autogenerated, do not edit;\n# changes will be undone by the next 'generate' command.\n", true},
		{"Makefile", "# This file is autogenerated, do not edit;\n", false},
		{"resource-role.yaml", "AWSTemplateFormatVersion: \"2010-09-09\"\nDescription: >\n  This CloudFormation template creates a role assumed by CloudFormation\n", true},
		{"resource-role.yaml", "AWSTemplateFormatVersion: \"2010-09-09\"\nDescription: my own role\n", false},
		{"docs/README.md", "# A::B::C\n\n## Syntax\n\nTo declare this entity in your AWS CloudFormation template, use the following syntax:\n", true},
		{"docs/README.md", "# My own words\n", false},
		{"docs/guide/README.md", "To declare this entity in your AWS CloudFormation template, use the following syntax:", false},
		{"README.md", "To declare this entity in your AWS CloudFormation template, use the following syntax:", false},
		{"docs/x.md", "", false},
	} {
		if got := IsGenerated(c.path, []byte(c.text)); got != c.want {
			t.Errorf("%s: %t\n%.80s", c.path, got, c.text)
		}
	}
}

func TestStale(t *testing.T) {
	files := []File{{Path: "docs/README.md"}, {Path: "docs/Tag.md"}, {Path: "cmd/main.go"}}
	existing := []string{"docs/readme.md", "docs/tag.md", "docs/old.md", "docs/guide/own.md", "docs/logo.png", "cmd/main.go", "cmd/old.go",
		".formwork/sdk/handler/doc.go", "cmd/hook/targets/x/model_gen.go", "hook-role.yaml"}
	want := []string{"docs/old.md", "cmd/hook/targets/x/model_gen.go", "hook-role.yaml"}
	if got := Stale(files, existing); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	files = append(files, File{Path: ".formwork/sdk/go.mod"})
	want = []string{"docs/old.md", ".formwork/sdk/handler/doc.go", "cmd/hook/targets/x/model_gen.go", "hook-role.yaml"}
	if got := Stale(files, existing); !slices.Equal(got, want) {
		t.Errorf("with a copy of the SDK: got %v, want %v", got, want)
	}
}

// A project keeps the copy of the SDK as long as its go.mod refers to it, and only then.
func TestSDKCopy(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	for _, c := range []struct {
		version, goMod string
		want           bool
	}{
		{"1.0.0", "", true},
		{"1.1.0-dev", "", true},
		{"1.1.0", "replace github.com/formwork-dev/formwork/sdk => ./.formwork/sdk\n", true},
		{"1.1.0", "require github.com/formwork-dev/formwork/sdk v1.0.0\n", false},
		{"1.1.0-dev", "require github.com/formwork-dev/formwork/sdk v1.0.0\n", false},
	} {
		in := Input{Schema: s, Language: "go", ImportPath: "x.test/y", Version: c.version}
		if c.goMod != "" {
			in.GoMod = []byte(c.goMod)
		}
		files, err := Generate(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(files, func(f File) bool { return f.Path == ".formwork/sdk/go.mod" }); got != c.want {
			t.Errorf("version %q, go.mod %q: copy %t", c.version, c.goMod, got)
		}
	}
}

// Published projects have import paths with a slash at the end.
func TestImportPathWithSlash(t *testing.T) {
	files, err := Generate(Input{Schema: example(t, schema.Resource, "Initech::TPS::Report"), Language: "go", ImportPath: "x.test/y/"})
	if err != nil {
		t.Fatal(err)
	}
	if main := fileNamed(t, files, "cmd/main.go"); !strings.Contains(main, "\"x.test/y/cmd/resource\"") {
		t.Error(main)
	}
}

// Names from settings end up in sources and build files.
func TestNamesAreChecked(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	for _, c := range []struct {
		in   Input
		want string
	}{
		{Input{ImportPath: ""}, `"" is not a Go import path`},
		{Input{ImportPath: "a\"\nb"}, "is not a Go import path"},
		{Input{ImportPath: "a//b"}, "is not a Go import path"},
		{Input{ImportPath: "a/b", Entrypoint: "x; rm -rf ~"}, "is not a file name"},
		{Input{ImportPath: "a/b", TypeName: "Aa::Bb::Cc\n"}, "is not the name of a type"},
	} {
		c.in.Schema, c.in.Language = s, "go"
		if _, err := Generate(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q %q: %v", c.in.ImportPath, c.in.Entrypoint, c.in.TypeName, err)
		}
	}
}

func TestFlavourOf(t *testing.T) {
	for _, c := range []struct {
		mod, handlers string
		want          Flavour
	}{
		{"require github.com/formwork-dev/formwork/sdk v1.0.0\n", "", FlavourSDK},
		{"require github.com/aws-cloudformation/cloudformation-cli-go-plugin v1.2.0\n", "", FlavourGoPlugin},
		{"module x\n", `import "github.com/aws-cloudformation/cloudformation-cli-go-plugin/cfn/handler"`, FlavourGoPlugin},
		{"", "", FlavourSDK},
	} {
		if got := FlavourOf([]byte(c.mod), []byte(c.handlers)); got != c.want {
			t.Errorf("%q %q: %q", c.mod, c.handlers, got)
		}
	}
}

func TestReleased(t *testing.T) {
	for version, want := range map[string]string{
		"1.4.0": "v1.4.0", "v1.4.0": "v1.4.0", "1.4.0-dev": "", "": "", "v0.0.0": "", "(devel)": "",
		"v1.4.1-0.20260101000000-abcdef123456": "", "1.4.0-rc.1": "", "1.4.0+dirty": "",
	} {
		got, released := released(version)
		if released != (want != "") || released && got != want {
			t.Errorf("%q: %q, %t", version, got, released)
		}
	}
}

// Handlers carry their schema and know no other document.
func TestSelfContainedSchema(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "common.json", `{"definitions": {
		"Name": {"type": "string"},
		"Tag": {"type": "object", "properties": {"Key": {"$ref": "#/definitions/Name"}, "Next": {"$ref": "#/definitions/Tag"}}, "additionalProperties": false}}}`)
	text := `{"typeName": "Aa::Bb::Cc", "$comment": "ours", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/Id"],
		"definitions": {"Tag": {"type": "string"}},
		"properties": {
			"Id": {"$ref": "#/definitions/Tag"},
			"Self": {"$ref": "resource-schema.json#/properties/Id"},
			"Tags": {"type": "array", "items": {"$ref": "common.json#/definitions/Tag"}}}}`
	write(t, dir, "schema.json", text)
	file := filepath.Join(dir, "schema.json")
	s, problems := schema.Load(file, []byte(text), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	var got map[string]any
	if err := json.Unmarshal(selfContained(s), &got); err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) any {
		var v any = got
		for _, key := range path {
			v = v.(map[string]any)[key]
		}
		return v
	}
	for _, c := range []struct {
		path []string
		want any
	}{
		{[]string{"$comment"}, marker + " ours"},
		{[]string{"properties", "Id", "$ref"}, "#/definitions/Tag"},
		{[]string{"properties", "Self", "$ref"}, "#/properties/Id"},
		{[]string{"properties", "Tags", "items", "$ref"}, "#/definitions/Tag2"},
		{[]string{"definitions", "Tag2", "properties", "Key", "$ref"}, "#/definitions/Name"},
		{[]string{"definitions", "Tag2", "properties", "Next", "$ref"}, "#/definitions/Tag2"},
		{[]string{"definitions", "Name", "type"}, "string"},
		{[]string{"definitions", "Tag", "type"}, "string"},
	} {
		if found := at(c.path...); found != c.want {
			t.Errorf("%v is %v, want %v", c.path, found, c.want)
		}
	}
	again, problems := schema.Load("schema_gen.json", selfContained(s), schema.Config{})
	if problems.HasErrors() || again == nil {
		t.Errorf("the copy is not a schema: %v", problems.Err())
	}
}

func TestExampleInputs(t *testing.T) {
	s := example(t, schema.Resource, "Initech::TPS::Report")
	files, err := Generate(Input{Schema: s, Language: "go", ImportPath: "x.test/y"})
	if err != nil {
		t.Fatal(err)
	}
	var create, invalid map[string]any
	if err := json.Unmarshal([]byte(fileNamed(t, files, "example_inputs/inputs_1_create.json")), &create); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(fileNamed(t, files, "example_inputs/inputs_1_invalid.json")), &invalid); err != nil {
		t.Fatal(err)
	}
	if _, found := create["ReportNumber"]; found || create["Title"] != "..." || create["CoverSheet"] != true {
		t.Errorf("create: %v", create)
	}
	if len(invalid) != 1 || invalid["ReportNumber"] == nil {
		t.Errorf("invalid: %v", invalid)
	}
	if violations := s.Check(create, schema.CheckConfig{Shape: true}); len(violations) > 0 {
		for _, v := range violations {
			if v.Keyword == "type" || v.Keyword == "required" || v.Keyword == "additionalProperties" {
				t.Errorf("%s: %s", v.Pointer, v.Message)
			}
		}
	}
}

// The same schema gives the same bytes.
// TestExampleInputsEnd has a type that requires itself ten times: there is no complete example.
func TestExampleInputsEnd(t *testing.T) {
	var members, names []string
	for _, name := range strings.Split("abcdefghij", "") {
		members, names = append(members, `"`+name+`": {"$ref": "#/definitions/Wide"}`), append(names, `"`+name+`"`)
	}
	s := parse(t, `{"typeName": "Acme::Test::Wide", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/Id"],
		"properties": {"Id": {"type": "string"}, "Wide": {"$ref": "#/definitions/Wide"}}, "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}},
		"definitions": {"Wide": {"type": "object", "additionalProperties": false, "required": [`+strings.Join(names, ",")+`], "properties": {`+strings.Join(members, ",")+`}}}}`)
	files, err := Generate(Input{Schema: s, Language: "go", ImportPath: "x.test/y"})
	if err != nil {
		t.Fatal(err)
	}
	if size := len(fileNamed(t, files, "example_inputs/inputs_1_create.json")); size > 1<<20 {
		t.Errorf("the example has %d bytes", size)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	for range 5 {
		var texts []string
		for range 2 {
			files, err := Generate(Input{Schema: load(t, "testdata/schemas/shapes.json")[0], Language: "go", ImportPath: "x.test/y"})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, f := range files {
				b.WriteString(f.Path + "\n" + string(f.Data))
			}
			texts = append(texts, b.String())
		}
		if texts[0] != texts[1] {
			t.Fatal(firstDifference(texts[0], texts[1]))
		}
	}
}

// FuzzGenerate gives the generators schemas of any kind: they may refuse, but not panic,
// and their Go is always Go.
func FuzzGenerate(f *testing.F) {
	for _, name := range []string{"testdata/schemas/names.json", "testdata/schemas/shapes.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add(docsSchema)
	f.Add(hookSchema)
	f.Add(`{"properties": {"A": {"$ref": "#"}, "B": {"$ref": "#/properties"}, "C": {"anyOf": [{"$ref": "#/properties/C"}]}}}`)
	f.Add(`{"properties": {"a,b": {"type": "string"}}}`)
	f.Add(`{"properties": {"A": {"properties": {"\"": {}}, "oneOf": [{"patternProperties": {"": {}}}]}}, "definitions": 5, "readOnlyProperties": ["", "/", "x", "/properties/A/*/*"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := schema.Load("fuzz.json", []byte(text), schema.Config{})
		if s == nil || len(text) > 1<<14 {
			return
		}
		for _, flavour := range []Flavour{FlavourSDK, FlavourGoPlugin} {
			_, err := Generate(Input{Schema: s, TypeName: "Aa::Bb::Cc", Language: "go", ImportPath: "example.com/x", Flavour: flavour, Version: "1.0.0"})
			if err != nil && !strings.Contains(err.Error(), "struct tag") && !strings.Contains(err.Error(), "has no hooks") {
				t.Error(err)
			}
		}
	})
}

func BenchmarkGenerate(b *testing.B) {
	s := example(b, schema.Resource, "Initech::TPS::Report")
	for b.Loop() {
		if _, err := Generate(Input{Schema: s, Language: "go", ImportPath: "x.test/y"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenerateLargest(b *testing.B) {
	all := corpus(b)
	slices.SortFunc(all, func(x, y *schema.Schema) int { return y.Root.At.End.Offset - x.Root.At.End.Offset })
	for b.Loop() {
		if _, err := Generate(Input{Schema: all[0], Language: "go", ImportPath: "x.test/y"}); err != nil {
			b.Fatal(err)
		}
	}
}
