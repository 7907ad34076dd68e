package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// unpackedExtension is the folder of an unpacked extension.
func unpackedExtension(t *testing.T, version string) (dir string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	name, err := writeExtension(dir, "..", version)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(filepath.Join(dir, "unpacked"), archive); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "unpacked"), data
}

// TestExtension: the package has the files that its manifests name, types for all of them, the version of the release, and
// the same bytes each time.
func TestExtension(t *testing.T) {
	dir, data := unpackedExtension(t, "1.2.3-rc.1")
	if _, again := unpackedExtension(t, "1.2.3-rc.1"); !bytes.Equal(data, again) {
		t.Error("a second package has other bytes")
	}
	var of struct {
		Name, Version, Publisher, Main string
		Contributes                    struct {
			Configuration struct {
				Properties map[string]struct{ Scope string }
			}
		}
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if err := json.Unmarshal(read("extension/package.json"), &of); err != nil || of.Version != "1.2.3" || of.Publisher != "formwork" {
		t.Errorf("package.json: %v, %+v", err, of)
	}
	read(filepath.Join("extension", of.Main))
	for _, name := range []string{"cfn.path", "cfn.arguments"} { // a workspace must not choose what is run
		if scope := of.Contributes.Configuration.Properties[name].Scope; scope != "machine" {
			t.Errorf("the scope of %s is %q", name, scope)
		}
	}
	var manifest struct {
		Metadata struct {
			Identity struct {
				ID        string `xml:"Id,attr"`
				Version   string `xml:",attr"`
				Publisher string `xml:",attr"`
			}
			Properties struct {
				Property []struct {
					ID    string `xml:"Id,attr"`
					Value string `xml:",attr"`
				}
			}
		}
		Assets struct {
			Asset []struct {
				Path string `xml:",attr"`
			}
		}
	}
	if err := xml.Unmarshal(read("extension.vsixmanifest"), &manifest); err != nil {
		t.Fatal(err)
	}
	if id := manifest.Metadata.Identity; id.ID != of.Name || id.Version != of.Version || id.Publisher != of.Publisher {
		t.Errorf("the manifest is of %+v", id)
	}
	if len(manifest.Assets.Asset) != 3 || !slices.ContainsFunc(manifest.Metadata.Properties.Property, func(p struct {
		ID    string `xml:"Id,attr"`
		Value string `xml:",attr"`
	}) bool {
		return p.ID == "Microsoft.VisualStudio.Code.PreRelease"
	}) {
		t.Errorf("%+v", manifest)
	}
	for _, asset := range manifest.Assets.Asset {
		read(asset.Path)
	}
	types := string(read("[Content_Types].xml"))
	for _, name := range []string{".js", ".json", ".md", ".txt", ".vsixmanifest"} {
		if !strings.Contains(types, `Extension="`+name+`" ContentType="`) {
			t.Errorf("no type for %s: %s", name, types)
		}
	}
	if _, err := writeExtension(t.TempDir(), "..", "1.2"); err == nil || !strings.Contains(err.Error(), `the version "1.2"`) {
		t.Error(err)
	}
}

// extensionProject has a fault in a template, in a stack test and in a schema.
var extensionProject = map[string]string{
	".rpdk-config": `{"typeName": "Initech::TPS::Report", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`,
	"initech-tps-report.json": `{
  "typeName": "Initech::TPS::Report", "description": "A report.", "additionalProperties": false,
  "properties": {"Name": {"type": "string"}, "Status": {"type": "string", "enum": ["DRAFT", "FINAL"]}},
  "required": ["Name"], "createOnlyProperties": ["/properties/Name"], "primaryIdentifier": ["/properties/Name"], "tagging": {"taggable": false},
  "conditionalCreateOnlyProperties": ["/properties/Stats"],
  "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}, "update": {"permissions": []}}
}
`,
	"stack.yaml": `Resources:
  Report:
    Type: Initech::TPS::Report
    Properties:
      Name: weekly
      Status: DRAFTY
Outputs:
  Name: {Value: !Ref Report}
`,
	"stack.stacktest.yaml": "stacktest: 1\ntemplate: stack.yaml\nsteps:\n- deploy: {}\n  expect: {Output: {Name: weekly}}\n",
}

// TestExtensionSession unpacks the extension and runs it with the language server of a release.
func TestExtensionSession(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: node is not installed")
	}
	dir, _ := unpackedExtension(t, "1.2.3")
	binary, project := filepath.Join(t.TempDir(), "cfn"), t.TempDir()
	eachFile(t, filepath.Join(hostRelease(t), "cfn_linux_"+runtime.GOARCH+".tar.gz"), func(h *tar.Header, content []byte) {
		if h.Name == "cfn" {
			if err := os.WriteFile(binary, content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	})
	for name, text := range extensionProject {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/vscode_session.js", filepath.Join(dir, "extension"), binary, project)
	cmd.Env = append(os.Environ(), "HOME="+project, "AWS_ENDPOINT_URL=http://127.0.0.1:1")
	var stderr strings.Builder
	cmd.Stderr = io.Writer(&stderr)
	out, err := cmd.Output()
	const want = `problems 6:resource/enum cfn 0
completion DRAFT FINAL !Ref
hover Status — string
definition stack.yaml 2
references 2 8
rename Report 2 8
refused true
symbols Resources Outputs Report
actions replace with DRAFT (1)
lenses 0
stack test 5:stacktest/unknown-key
schema 5:lint/path-unresolved
repaired 0
closed false
in the workspace false
watches true logs true
restarted 8
restarted twice 8 running 1
missing 1 /no-such-program was not found. Install cfn, or set its path. 0
found again 8
stopped 0 running 0
`
	if err != nil || string(out) != want {
		t.Errorf("%v, the user saw\n%s\nwant\n%s\nstderr:\n%s", err, out, want, &stderr)
	}
}
