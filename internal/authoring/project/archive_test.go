package project

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// elfHeader is as much of a program for Linux on a processor as is looked at.
func elfHeader(machine byte) string {
	head := make([]byte, 64)
	copy(head, "\x7fELF\x02\x01\x01")
	head[16], head[18], head[20], head[52] = 2, machine, 1, 64
	return string(head)
}

const (
	x86 = 0x3e
	arm = 0xb7
)

const archivedSchema = `{"typeName": "Aa::Bb::Cc", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}},
 "definitions": {"D": {"type": "string"}}, "typeConfiguration": {"properties": {"Key": {"$ref": "#/definitions/D"}}, "additionalProperties": false},
 "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`

// goProject writes a project in Go and opens it.
func goProject(t *testing.T, kind schema.Kind, files map[string]string) (*Project, *schema.Schema) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, SettingsFile, `{"artifact_type": "`+string(kind)+`", "typeName": "Aa::Bb::Cc", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)
	for name, text := range files {
		write(t, dir, name, text)
	}
	p, problems, err := Open(dir, "")
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	s, problems, err := p.Schema(schema.Config{})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	return p, s
}

func entries(t *testing.T, data []byte) (names []string, texts map[string]string, files []*zip.File) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for _, f := range r.File {
		names = append(names, f.Name)
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Name] = string(text)
	}
	return names, texts, r.File
}

func TestArchiveOfAResource(t *testing.T) {
	files := map[string]string{
		"aa-bb-cc.json": archivedSchema, "bin/bootstrap": elfHeader(x86), "bin/data.txt": "d", "Makefile": "build:", "cmd/main.go": "package main", "cmd/resource/resource.go": "package resource",
		"internal/x/x.go": "package x", "inputs/inputs_2_create.json": "{}", "inputs/inputs_1_create.json": "{}", "overrides.json": "{}",
		"docs/README.md": "no", "resource-role.yaml": "no", "rpdk.log": "no", "example_inputs/inputs_1_create.json": "no", "aa-bb-cc.zip": "no",
	}
	p, s := goProject(t, schema.Resource, files)
	a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	names, texts, list := entries(t, a.Data)
	want := []string{
		"configuration-schema.json", ".rpdk-config", "schema.json", "inputs/inputs_1_create.json", "inputs/inputs_2_create.json",
		"handler.zip", "Makefile", "cmd/main.go", "cmd/resource/resource.go", "internal/x/x.go", ".cfn_metadata.json", "overrides.json",
	}
	if !slices.Equal(names, want) || !slices.Equal(a.Files, want) {
		t.Errorf("entries %v", names)
	}
	if texts["schema.json"] != archivedSchema {
		t.Error("schema.json is not the file as it is")
	}
	if got := texts[".cfn_metadata.json"]; got != "{\n    \"cli-version\": \"1.2.3\"\n}\n" {
		t.Errorf("metadata %s", got)
	}
	for _, part := range []string{`"typeName": "Aa::Bb::Cc"`, `"D": {`, `"$ref": "#/definitions/D"`} {
		if !strings.Contains(texts["configuration-schema.json"], part) {
			t.Errorf("the configuration's schema lacks %s:\n%s", part, texts["configuration-schema.json"])
		}
	}
	for _, f := range list {
		if !f.Modified.Equal(epoch()) || f.Mode() != 0o644 {
			t.Errorf("%s: %v %v", f.Name, f.Modified, f.Mode())
		}
	}
	names, _, list = entries(t, []byte(texts["handler.zip"]))
	if !slices.Equal(names, []string{"bootstrap", "data.txt"}) || list[0].Mode() != 0o755 {
		t.Errorf("handler.zip has %v, %v", names, list[0].Mode())
	}
}

// The same files give the same bytes, whenever and with whatever times they were written.
func TestArchiveIsReproducible(t *testing.T) {
	files := map[string]string{"aa-bb-cc.json": archivedSchema, "bin/bootstrap": elfHeader(x86), "cmd/main.go": "package main", "inputs/inputs_1_create.json": "{}"}
	var sums []string
	for i := range 2 {
		p, s := goProject(t, schema.Resource, files)
		when := time.Unix(int64(i)*1_000_000, 0)
		for name := range files {
			if err := os.Chtimes(p.Path(name), when, when); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.Path(name), []fs.FileMode{0o600, 0o777}[i]); err != nil {
				t.Fatal(err)
			}
		}
		a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, a.SHA256)
	}
	if sums[0] != sums[1] {
		t.Errorf("two archives of the same files differ: %v", sums)
	}
}

func TestArchiveOfAHook(t *testing.T) {
	const hook = `{"typeName": "Aa::Bb::Cc", "description": "d", "additionalProperties": false, "typeConfiguration": {"properties": {}, "additionalProperties": false},
 "handlers": {"preCreate": {"targetNames": ["Tt::*::Uu", "No::Such::Type", "STACK"], "permissions": []}}}`
	target := strings.Replace(archivedSchema, "Aa::Bb::Cc", "Tt::Ss::Uu", 1)
	p, s := goProject(t, schema.Hook, map[string]string{
		"aa-bb-cc.json": hook, "bin/bootstrap": "#!/bin/sh\n", "target-schemas/any.json": target,
		"target-info.json": `{"Tt::Rr::Uu": {"ProvisioningType": "IMMUTABLE"}, "Xx::Yy::Zz": {}}`,
	})
	targets, missing, problems, err := p.Targets(s, nil)
	if err != nil || len(problems) > 0 || len(targets) != 2 || targets[0].Name != "Tt::Rr::Uu" || targets[1].Schema == nil || !slices.Equal(missing, []string{"No::Such::Type"}) {
		t.Fatalf("targets %v, missing %v, %v, %v", targets, missing, problems, err)
	}
	a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	names, texts, _ := entries(t, a.Data)
	want := []string{"configuration-schema.json", ".rpdk-config", "schema.json", "target-info.json", "target-schemas/tt-ss-uu.json", "handler.zip", ".cfn_metadata.json"}
	if !slices.Equal(names, want) {
		t.Errorf("entries %v", names)
	}
	for _, part := range []string{`"ProvisioningType": "IMMUTABLE"`, `"TargetType": "RESOURCE"`, `"SchemaFileAvailable": false`, `"SchemaFileAvailable": true`} {
		if !strings.Contains(texts["target-info.json"], part) {
			t.Errorf("target-info.json lacks %s:\n%s", part, texts["target-info.json"])
		}
	}
}

func TestTwoSchemasOfOneTarget(t *testing.T) {
	target := strings.Replace(archivedSchema, "Aa::Bb::Cc", "Tt::Ss::Uu", 1)
	p, s := goProject(t, schema.Resource, map[string]string{"aa-bb-cc.json": archivedSchema, "target-schemas/a.json": target, "target-schemas/b.json": strings.Replace(target, `"d"`, `"e"`, 1)})
	_, _, problems, err := p.Targets(s, nil)
	if err != nil || len(problems) != 1 || problems[0].ID != "project/target-twice" {
		t.Errorf("got %v %v", problems, err)
	}
	if _, _, _, err := p.Targets(s, []string{p.Path("nowhere.json")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestArchiveOfAModule(t *testing.T) {
	p := moduleProject(t, "Aa::Bb::Cc::MODULE", map[string]string{"fragments/deep/f.yaml": "Resources:\n  A: {Type: T}\n"})
	f, problems, err := p.Fragment()
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Fragment: f})
	if err != nil {
		t.Fatal(err)
	}
	names, texts, _ := entries(t, a.Data)
	if !slices.Equal(names, []string{".rpdk-config", "schema.json", "fragments/f.yaml"}) || texts["schema.json"] != string(f.Schema(p.TypeName)) {
		t.Errorf("entries %v", names)
	}
}

func TestHandlersThatCannotBePacked(t *testing.T) {
	tests := []struct{ name, binary, want string }{
		{"not built", "", "the handlers are not built: bin/bootstrap does not exist"},
		{"built for a Mac", "\xcf\xfa\xed\xfe" + strings.Repeat("\x00", 60), "bin/bootstrap is not a program for Linux, on which the handlers run"},
		{"empty", "\n", "bin/bootstrap is not a program for Linux, on which the handlers run"},
		{"built for ARM", elfHeader(arm), "bin/bootstrap is built for another processor than x86-64, on which the handlers run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"aa-bb-cc.json": archivedSchema}
			if test.binary != "" {
				files["bin/bootstrap"] = test.binary
			}
			p, s := goProject(t, schema.Resource, files)
			_, err := p.Archive(t.Context(), ArchiveConfig{Schema: s})
			var build *BuildError
			if !errors.As(err, &build) || err.Error() != test.want || !strings.Contains(build.Hint, "GOARCH=amd64") {
				t.Errorf("got %v", err)
			}
		})
	}
	p, s := goProject(t, schema.Resource, map[string]string{"aa-bb-cc.json": archivedSchema})
	p.Language = "cobol"
	var language *UnsupportedLanguageError
	if _, err := p.Archive(t.Context(), ArchiveConfig{Schema: s}); !errors.As(err, &language) {
		t.Errorf("cobol: %v", err)
	}
}

// The official plugin for Java packs what Maven built, the sources and the generated sources.
func TestArchiveOfJava(t *testing.T) {
	const jar = "target/aa-bb-cc-handler-1.0-SNAPSHOT.jar"
	files := map[string]string{
		"aa-bb-cc.json": archivedSchema, jar: "PK", "target/original-aa-bb-cc-handler-1.0-SNAPSHOT.jar": "no", "target/classes/A.class": "no", "pom.xml": "<project/>",
		"src/main/java/a/Create.java": "class", "target/generated-sources/rpdk/a/Model.java": "class", "lombok.config": "no", "inputs/inputs_1_create.json": "{}",
	}
	p, s := goProject(t, schema.Resource, files)
	p.Language, p.Runtime = "java", "java17"
	a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"configuration-schema.json", ".rpdk-config", "schema.json", "inputs/inputs_1_create.json",
		jar, "pom.xml", "src/main/java/a/Create.java", "target/generated-sources/rpdk/a/Model.java", ".cfn_metadata.json",
	}
	if names, _, _ := entries(t, a.Data); !slices.Equal(names, want) {
		t.Errorf("entries %v", names)
	}
	for _, test := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"several", func() error { return os.WriteFile(p.Path("target/aa-bb-cc-handler-1.1.jar"), nil, 0o600) }, "several jars"},
		{"none", func() error { return os.RemoveAll(p.Path("target")) }, "the handlers are not built: target/aa-bb-cc-*.jar does not exist"},
	} {
		if err := test.change(); err != nil {
			t.Fatal(err)
		}
		var build *BuildError
		if _, err := p.Archive(t.Context(), ArchiveConfig{Schema: s}); !errors.As(err, &build) || !strings.Contains(err.Error(), test.want) || !strings.Contains(build.Hint, "mvn") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestWriteArchiveLeavesNothingHalf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.zip")
	if err := WriteArchive(path, &Archive{Data: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	if err := WriteArchive(filepath.Join(dir, "no", "a.zip"), &Archive{}); err == nil {
		t.Error("wrote into a folder that is not there")
	}
	if err := os.MkdirAll(filepath.Join(dir, "b.zip", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteArchive(filepath.Join(dir, "b.zip"), &Archive{Data: []byte("x")}); err == nil {
		t.Error("replaced a folder")
	}
	if got := tree(t, dir); len(got) != 1 || got["a.zip"] != "new" {
		t.Errorf("got %v", got)
	}
}

// TestArchiveAndLinks packs what links within the project lead to, and nothing outside.
func TestArchiveAndLinks(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "passwd", "root:x:0:0")
	tests := []struct {
		link, target string
		want         string // a part of the error; "" is none
	}{
		{"inputs/inputs_2_create.json", "inputs_1_create.json", ""},
		{"inputs/x.json", filepath.Join(outside, "passwd"), "pack inputs/x.json: inputs/x.json is a link that leads out of the project, to " + filepath.Join(outside, "passwd")},
		{"inputs/x.json", "/dev/null", "leads out of the project, to /dev/null"},
		{"cmd/shared", outside, "pack cmd: cmd/shared is a link to a folder; links are not packaged"},
		{"cmd/shared", "../inputs", "cmd/shared is a link to a folder"},
		{"internal", outside, "pack internal: internal is a link that leads out of the project, to " + outside},
		{"bin/data", filepath.Join(outside, "passwd"), "bin/data is a link that leads out of the project"},
		{"overrides.json", filepath.Join(outside, "passwd"), "overrides.json is a link that leads out of the project"},
		{"inputs/x.json", "nowhere", "inputs/x.json is a link to nowhere, which does not exist"},
	}
	for _, test := range tests {
		t.Run(test.link+" to "+test.target, func(t *testing.T) {
			p, s := goProject(t, schema.Resource, map[string]string{
				"aa-bb-cc.json": archivedSchema, "inputs/inputs_1_create.json": `{"a": 1}`, "cmd/main.go": "package main", "bin/bootstrap": elfHeader(x86),
			})
			if err := os.Symlink(test.target, p.Path(test.link)); err != nil {
				t.Skip(err)
			}
			a, err := p.Archive(t.Context(), ArchiveConfig{Version: "1.2.3", Schema: s})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, texts, _ := entries(t, a.Data); texts[test.link] != `{"a": 1}` {
				t.Errorf("packed is %q", texts[test.link])
			}
		})
	}
}
