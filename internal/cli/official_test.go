package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/project"
)

// officialCLI is the official cfn of FORMWORK_CLIENTS with the plug-ins of all languages.
type officialCLI struct {
	program string
	environ []string
	targets string // the schema of the target that its hooks start with
}

func needsOfficialCLI(t *testing.T) officialCLI {
	t.Helper()
	bin := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "cfncli", "bin")
	plugins := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), "-c", "import rpdk.core, rpdk.go, rpdk.python, rpdk.java, rpdk.typescript; print(rpdk.core.__path__[0])")
	core, err := plugins.Output()
	if err != nil || runtime.GOOS == "windows" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("FORMWORK_CLIENTS has no folder cfncli with the official cfn and its plug-ins: see .ci/run: %v", err)
		}
		t.Skip("FORMWORK_CLIENTS has no folder cfncli with the official cfn and its plug-ins")
	}
	return officialCLI{
		program: filepath.Join(bin, "cfn"),
		environ: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=y",
			"GOPATH="+goEnv("GOPATH"), "GOCACHE="+goEnv("GOCACHE"), "GOFLAGS=-mod=mod", "GOPROXY=off"),
		targets: filepath.Join(strings.TrimSpace(string(core)), "data", "examples", "hook", "targets", "aws-s3-bucket.json"),
	}
}

func (o officialCLI) run(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), o.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, o.environ, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "rpdk.log"))
		t.Fatalf("official cfn %s: %v\n%s\n%s", strings.Join(args, " "), err, out, log[max(0, len(log)-3000):])
	}
	return string(out)
}

// states are the files of "cfn generate --check" by state.
func states(t *testing.T, dir string, args ...string) (code int, byState map[project.State][]string) {
	t.Helper()
	code, out, errs := runIn(t.Context(), dir, os.Environ(), append([]string{"generate", "--check", "--format", "json"}, args...)...)
	var report struct {
		Files []struct {
			Name  string
			State project.State
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	byState = map[project.State][]string{}
	for _, file := range report.Files {
		byState[file.State] = append(byState[file.State], file.Name)
	}
	return code, byState
}

var officialStarts = []struct {
	name, typeName, schema, input string
	args                          []string
	stale                         string // what has to be changed before the project is built
}{
	{name: "go", typeName: "Acme::Desk::Lamp", args: []string{"-a", "RESOURCE", "go", "-p", "example.com/lamp"}, stale: "go.mod"},
	{name: "python", typeName: "Acme::Desk::Lamp", args: []string{"-a", "RESOURCE", "python312", "--no-docker"}},
	{name: "python-hook", typeName: "Acme::Desk::Guard", args: []string{"-a", "HOOK", "python312", "--no-docker"}},
	{name: "typescript", typeName: "Acme::Desk::Lamp", args: []string{"-a", "RESOURCE", "typescript", "--no-docker"}},
	// The plug-in for Java has no options, and asks.
	{name: "java", typeName: "Acme::Desk::Lamp", input: "r\nAcme::Desk::Lamp\n2\n\n1\n"},
	{name: "java-hook", typeName: "Acme::Desk::Guard", input: "h\nAcme::Desk::Guard\n1\n\n1\n"},
}

// TestOfficialProjects: what the official tool and its plug-ins have generated differs from ours only in
// wording, until the schema changes.
func TestOfficialProjects(t *testing.T) {
	official := needsOfficialCLI(t)
	for _, test := range officialStarts {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			initArgs := []string{"init"}
			if test.input == "" {
				initArgs = append(initArgs, append([]string{"-t", test.typeName}, test.args...)...)
			}
			withoutKeys := official // with keys, it asks the service for the targets of hooks
			withoutKeys.environ = append(slices.Clone(official.environ), "AWS_DEFAULT_REGION=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true")
			withoutKeys.run(t, dir, test.input, initArgs...)
			var targets []string
			if strings.HasSuffix(test.name, "-hook") { // init leaves out the configuration of the type
				targets = []string{"--target-schemas", official.targets}
				official.run(t, dir, "", append([]string{"generate", "--local-only"}, targets...)...)
			}

			code, found := states(t, dir, targets...)
			if left := append(append(found[project.Missing], found[project.Stale]...), append(found[project.Foreign], found[project.Leftover]...)...); strings.Join(left, " ") != test.stale || (code == 0) != (test.stale == "") {
				t.Errorf("untouched: exit code %d, not only wording differs in %s", code, left)
			}
			if len(found[project.Equivalent]) < 4 {
				t.Errorf("untouched: equivalent are only %s", found[project.Equivalent])
			}
			expectStaleAfterChange(t, dir, strings.ToLower(strings.ReplaceAll(test.typeName, "::", "-"))+".json", targets...)

			if code, out, errs := runIn(t.Context(), dir, os.Environ(), append([]string{"generate"}, targets...)...); code != 0 {
				t.Fatalf("generate: %d\n%s%s", code, out, errs)
			}
			if _, found := states(t, dir, targets...); len(found[project.Equivalent]) > 0 {
				t.Errorf("generate left %s as they were", found[project.Equivalent])
			}
		})
	}
}

// expectStaleAfterChange adds a property to the schema and removes it again.
func expectStaleAfterChange(t *testing.T, dir, schemaFile string, args ...string) {
	t.Helper()
	path := filepath.Join(dir, schemaFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	place := `"properties": {`
	if i := strings.Index(string(before), `"typeConfiguration"`); i >= 0 {
		i += strings.Index(string(before)[i:], place)
		writeText(t, path, string(before)[:i]+place+`"NewOne": {"type": "integer"},`+string(before)[i+len(place):])
	} else {
		i = strings.LastIndex(string(before), "\n    "+place)
		writeText(t, path, string(before)[:i+5]+place+`"NewOne": {"type": "integer"},`+string(before)[i+5+len(place):])
	}
	code, found := states(t, dir, args...)
	stale := strings.Join(found[project.Stale], " ")
	if code != 1 || !strings.Contains(stale, "odel") || !strings.Contains(stale, "docs/README.md") {
		t.Errorf("after a change of the schema: exit code %d, stale are %q", code, stale)
	}
	writeText(t, path, string(before))
}

// TestOfficialAcceptsOurs: the official tool continues with projects that cfn has started, and packs them.
func TestOfficialAcceptsOurs(t *testing.T) {
	official := needsOfficialCLI(t)
	wheels := t.TempDir()
	writePackage(t, wheels, "cloudformation_cli_python_lib", "2.1.20", "")
	official.environ = append(official.environ, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+wheels, "PIP_CONFIG_FILE="+os.DevNull)
	for _, test := range []struct {
		name string
		args []string
	}{
		{"go", []string{"-t", "Acme::Desk::Lamp", "-a", "RESOURCE", "go", "-p", "example.com/lamp"}},
		{"python", []string{"-t", "Acme::Desk::Lamp", "-a", "RESOURCE", "python312"}},
		{"python-hook", []string{"-t", "Acme::Desk::Guard", "-a", "HOOK", "python312"}},
		{"typescript", []string{"-t", "Acme::Desk::Lamp", "-a", "RESOURCE", "typescript"}},
		{"java", []string{"-t", "Acme::Desk::Lamp", "-a", "RESOURCE", "java", "--namespace", "com.acme.lamp"}},
		{"java-hook", []string{"-t", "Acme::Desk::Guard", "-a", "HOOK", "java", "--namespace", "com.acme.guard"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if code, out, errs := runIn(t.Context(), dir, os.Environ(), append([]string{"init"}, test.args...)...); code != 0 {
				t.Fatalf("init: %d\n%s%s", code, out, errs)
			}
			generate, submit := []string{"generate"}, []string{"submit", "--dry-run"}
			if strings.HasSuffix(test.name, "-hook") {
				generate = append(generate, "--local-only")
				if _, err := os.Stat(filepath.Join(dir, project.TargetsDir)); err != nil { // cfn-lint is not installed
					t.Skip("cfn-lint is not installed, which has the schemas of targets")
				}
			}
			official.run(t, dir, "", generate...)
			switch {
			case test.name == "typescript":
				official.run(t, dir, "", "validate") // npm and SAM would download what it packs
				return
			case test.name == "go":
				if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
					t.Fatal(err)
				}
				writeText(t, filepath.Join(dir, "bin", "bootstrap"), "not run")
			case strings.HasPrefix(test.name, "java"):
				writeJar(t, filepath.Join(dir, "target", strings.ToLower(strings.ReplaceAll(test.args[1], "::", "-"))+"-handler-1.0-SNAPSHOT.jar"), "hello")
			}
			official.run(t, dir, "", submit...)
			// docs/compatibility.md says whose archives name the plugin.
			metadata := metadataOf(t, dir)
			if strings.Contains(metadata, "plugin-name") != (test.name != "go") {
				t.Errorf("metadata: %s", metadata)
			}
		})
	}
}

// TestOfficialDifferences: differences of docs/compatibility.md, with the official tool beside ours.
func TestOfficialDifferences(t *testing.T) {
	official := needsOfficialCLI(t)
	theirs, ours := t.TempDir(), t.TempDir()
	mine := func(input string, args ...string) string {
		t.Helper()
		code, out, errs := runMain(t.Context(), ours, strings.NewReader(input), args...)
		if code != 0 {
			t.Fatalf("cfn %s: %d\n%s%s", strings.Join(args, " "), code, out, errs)
		}
		return out + errs
	}
	differ := func(text, theirs, ours string) {
		t.Helper()
		if !strings.Contains(theirs, text) || strings.Contains(ours, text) {
			t.Errorf("only the official tool prints %q:\n%s\n%s", text, theirs, ours)
		}
	}
	const answers = "r\nAcme::Desk::Lamp\n1\nexample.com/lamp\n"
	asked, answered := official.run(t, theirs, answers, "init"), mine(answers, "init")
	numbered := regexp.MustCompile(`\[[0-9]+\] \w+\n`).FindAllString(asked, -1)
	if len(numbered) < 8 {
		t.Errorf("the official languages: %q", numbered)
	}
	for _, language := range numbered {
		if !strings.Contains(answered, language) {
			t.Errorf("the official number of a language differs: %s%s", language, answered)
		}
	}
	differ("[9] python313", answered, asked)
	differ("Next steps:", answered, asked)

	differ("Resource schema is valid.", official.run(t, theirs, "", "generate"), mine("", "generate"))
	for _, dir := range []string{theirs, ours} {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(dir, "bin", "bootstrap"), "#!/bin/sh\n")
	}
	packed := mine("", "submit", "--dry-run", "--no-build", "-v")
	differ("Resource schema is valid.", official.run(t, theirs, "", "submit", "--dry-run"), packed)
	differ("Packaging Go project", official.run(t, theirs, "", "submit", "--dry-run", "-v"), packed)
	if got := metadataOf(t, ours); got != "{\n    \"cli-version\": \"1.2.3\"\n}\n" {
		t.Errorf("metadata: %s", got)
	}
}

// metadataOf is what the only archive in a folder says about the tool that made it.
func metadataOf(t *testing.T, dir string) string {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("archives: %q, %v", packed, err)
	}
	data, err := os.ReadFile(packed[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(unzip(t, data)[".cfn_metadata.json"])
}
