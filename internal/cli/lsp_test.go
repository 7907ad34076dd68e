package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lspProject is a project with one fault in its schema, two in an input, and one in a template.
var lspProject = map[string]string{
	".rpdk-config": `{"typeName": "Initech::TPS::Report", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`,
	"initech-tps-report.json": `{
  "typeName": "Initech::TPS::Report",
  "description": "A report.",
  "additionalProperties": false,
  "properties": {
    "Name": {"type": "string", "maxLength": 8},
    "Status": {"type": "string", "enum": ["DRAFT", "FINAL"]}
  },
  "required": ["Name"],
  "createOnlyProperties": ["/properties/Name"],
  "conditionalCreateOnlyProperties": ["/properties/Stats"],
  "primaryIdentifier": ["/properties/Name"],
  "tagging": {"taggable": false},
  "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}, "update": {"permissions": []}}
}
`,
	"inputs/inputs_1_create.json": `{
  "Name": "{{ReportName}}",
  "Status": "DRA",
  "Titel": "é😀"
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
}

// TestEditors lets real editors speak with the server. An editor that is not there is
// skipped, and the line says so.
func TestEditors(t *testing.T) {
	const want = `schema 11 lint/path-unresolved
hover createOnlyProperties — array; items: at least 1
input 3 inputs/schema
input 4 inputs/unknown-property
completion DRAFT FINAL
definition initech-tps-report.json 7
template 6 resource/enum
values DRAFT FINAL
rename 2 8
exit 0
`
	tests := []struct {
		name, program string
		find          func() (environment []string, missing string)
		args          func(cfn, dir string) []string
	}{
		{"Neovim", "nvim", func() ([]string, string) { return nil, "" }, func(string, string) []string {
			return []string{"--headless", "-u", "NONE", "-i", "NONE", "-n", "+luafile testdata/lsp_client.lua"}
		}},
		{"the client library of Visual Studio Code", "node", nodeModules, func(cfn, dir string) []string {
			return []string{"testdata/lsp_client.js", cfn, dir}
		}},
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.program); err != nil {
				t.Skipf("skipped: %s is not installed, so that %s was not tried", test.program, test.name)
			}
			environment, missing := test.find()
			if missing != "" {
				t.Skipf("skipped: %s, so that %s was not tried", missing, test.name)
			}
			dir := t.TempDir()
			for name, text := range lspProject {
				path := filepath.Join(dir, "project", filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfn := filepath.Join(dir, "cfn") // under this name the test's program is cfn, see TestMain
			if err := os.Symlink(self, cfn); err != nil {
				t.Skip("skipped: there are no symbolic links here")
			}
			cmd := exec.CommandContext(t.Context(), test.program, test.args(cfn, filepath.Join(dir, "project"))...)
			cmd.Env = append(os.Environ(), "CFN="+cfn, "PROJECT="+filepath.Join(dir, "project"), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
			cmd.Env = append(cmd.Env, environment...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if got := strings.ReplaceAll(string(out), "\r", ""); err != nil || got != want {
				t.Errorf("%v, the client saw\n%s\nwant\n%s\nstderr:\n%s", err, got, want, stderr.String())
			}
		})
	}
}

// nodeModules looks for the client library, beside this module or installed globally.
func nodeModules() (environment []string, missing string) {
	const library = "vscode-languageserver-protocol"
	folders := filepath.SplitList(os.Getenv("NODE_PATH"))
	if out, err := exec.Command("npm", "root", "-g").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, library)); err == nil {
			return []string{"NODE_PATH=" + folder}, ""
		}
	}
	return nil, "the npm package " + library + " is not in NODE_PATH and not installed globally"
}
