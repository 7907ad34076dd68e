package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
)

func TestCheckGoMod(t *testing.T) {
	const (
		module  = "module example.com/bar\n"
		require = "require github.com/formwork-dev/formwork/sdk v0.0.0\n"
		replace = "replace github.com/formwork-dev/formwork/sdk => ./.formwork/sdk\n"
	)
	tests := []struct {
		name    string
		files   map[string]string // "../" leads out of the project
		flavour codegen.Flavour
		want    string // "place: message; hint" of each problem, a part of it; "" is none
	}{
		{"as init writes it", map[string]string{"go.mod": module + require + replace}, "", ""},
		{"released", map[string]string{"go.mod": module + "require github.com/formwork-dev/formwork/sdk v1.2.0\n"}, "", ""},
		{"in a block, with a comment", map[string]string{"go.mod": "module \"example.com/bar\" // ours\nrequire (\n github.com/formwork-dev/formwork/sdk v1.2.0 // indirect\n)\ntool example.com/x\n"}, "", ""},
		{"none", nil, "", "go.mod: go.mod does not exist: the sources cannot be built; run go mod init example.com/bar, then cfn generate"},
		{"no replace", map[string]string{"go.mod": module + require}, "",
			"go.mod:2:1: the handler SDK has no version v0.0.0; it stands for the copy in .formwork/sdk, but go.mod has no replace directive for it; run go mod edit -replace github.com/formwork-dev/formwork/sdk=./.formwork/sdk, then cfn generate"},
		{"replace of another version", map[string]string{"go.mod": module + require + "replace github.com/formwork-dev/formwork/sdk v1.0.0 => ./.formwork/sdk\n"}, "", "go.mod has no replace directive for it"},
		{"no require", map[string]string{"go.mod": module + replace}, "", "go.mod: go.mod does not require the handler SDK: github.com/formwork-dev/formwork/sdk; run go mod edit -require github.com/formwork-dev/formwork/sdk@v0.0.0"},
		{"neither", map[string]string{"go.mod": module}, "", "run go mod edit -require github.com/formwork-dev/formwork/sdk@v0.0.0 && go mod edit -replace github.com/formwork-dev/formwork/sdk=./.formwork/sdk, then cfn generate"},
		{"replaced by nothing", map[string]string{"go.mod": module + require + "replace github.com/formwork-dev/formwork/sdk => ../sdk\n"}, "", "go.mod:3:1: go.mod replaces the handler SDK with a folder without a go.mod: ../sdk; run"},
		{"replaced by a folder", map[string]string{"../sdk/go.mod": "module github.com/formwork-dev/formwork/sdk\n", "go.mod": module + require + "replace github.com/formwork-dev/formwork/sdk => ../sdk\n"}, "", ""},
		{"replaced by a fork", map[string]string{"go.mod": module + require + "replace github.com/formwork-dev/formwork/sdk => example.com/fork v1.0.0\n"}, "", ""},
		{"another module", map[string]string{"go.mod": "module example.com/other\n" + require + replace}, "",
			`go.mod:1:1: the import path of the project is example.com/other/…, but the sources import example.com/bar/…; add "import_path": "example.com/other" to the settings in .rpdk-config and run cfn generate, or run go mod edit -module example.com/bar`},
		{"no module", map[string]string{"go.mod": require + replace}, "", "go.mod has no module path; run go mod edit -module example.com/bar"},
		{"broken", map[string]string{"go.mod": module + "require (\n"}, "", "go.mod cannot be understood"},
		{"words of a newer Go", map[string]string{"go.mod": module + require + "future x\n"}, "", ""},
		{"module above", map[string]string{"../go.mod": "module example.com\n" + require + "replace github.com/formwork-dev/formwork/sdk => ./bar/.formwork/sdk\n"}, "", ""},
		{"module above, no replace", map[string]string{"../go.mod": "module example.com\n" + require}, "", "run go mod edit -replace github.com/formwork-dev/formwork/sdk=./bar/.formwork/sdk, then cfn generate"},
		{"another module above", map[string]string{"../go.mod": "module example.com/y\n" + require + "replace github.com/formwork-dev/formwork/sdk => ./bar/.formwork/sdk\n"}, "", `add "import_path": "example.com/y/bar" to the settings in .rpdk-config and run cfn generate`},
		{"workspace", map[string]string{"../go.work": "go 1.26\n", "go.mod": module}, "", ""},
		{"the official library", map[string]string{"go.mod": module + "require github.com/aws-cloudformation/cloudformation-cli-go-plugin v1.2.0\n"}, codegen.FlavourGoPlugin, ""},
		{"the official library, not required", map[string]string{"go.mod": module}, codegen.FlavourGoPlugin, "run go get github.com/aws-cloudformation/cloudformation-cli-go-plugin"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bar")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, SettingsFile, `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0", "import_path": "example.com/bar/"}}`)
			for name, text := range test.files {
				write(t, dir, name, text)
			}
			p, problems, err := Open(dir, "")
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			problems, err = p.CheckGoMod(test.flavour)
			if err != nil || problems.HasErrors() {
				t.Fatal(problems, err)
			}
			var got []string
			for _, problem := range problems {
				got = append(got, problem.At.String()+": "+problem.Message+"; "+problem.Hint)
			}
			if all := strings.Join(got, "\n"); !strings.Contains(all, test.want) || len(got) > 1 || (len(got) > 0) != (test.want != "") {
				t.Errorf("got\n%s\nwant\n%s", all, test.want)
			}
		})
	}
}

// TestImportPath: the settings of the first official plugins for Go have no import_path.
func TestImportPath(t *testing.T) {
	for _, test := range []struct {
		name, option string
		files        map[string]string
		want         string
	}{
		{"set", `, "import_path": "example.com/set/"`, map[string]string{"go.mod": "module example.com/bar\n"}, "example.com/set"},
		{"go.mod", "", map[string]string{"go.mod": "module example.com/bar\n"}, "example.com/bar"},
		{"go.mod above", "", map[string]string{"../go.mod": "module example.com/all\n"}, "example.com/all/bar"},
		{"no module path", "", map[string]string{"go.mod": "go 1.22\n"}, ""},
		{"nothing", "", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bar")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, SettingsFile, `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "go1.x", "entrypoint": "handler", "settings": {"protocolVersion": "2.0.0", "importpath": "example.com/old"`+test.option+`}}`)
			for name, text := range test.files {
				write(t, dir, name, text)
			}
			p, _, err := Open(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := p.ImportPath(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
