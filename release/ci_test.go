package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// runner does what the machines of GitHub and GitLab do with a job: it runs shell scripts one after
// the other in a clone of the repository.
type runner struct {
	*testing.T
	dir, temp string
	env       []string
}

// newRunner makes a repository with a project on the branch main and on a branch "change",
// which is checked out, and serves a release of this repository.
func newRunner(t *testing.T) *runner {
	t.Helper()
	for _, tool := range []string{"git", "bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	r := &runner{T: t, dir: filepath.Join(t.TempDir(), "clone"), temp: t.TempDir()}
	r.env = append(os.Environ(), "HOME="+r.temp, "RUNNER_TEMP="+r.temp, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOPATH="+goEnv(t, "GOPATH"))
	release := hostRelease(t)
	server := httptest.NewServer(http.FileServer(http.Dir(release)))
	t.Cleanup(server.Close)
	r.env = append(r.env, "RELEASE="+server.URL)
	origin := filepath.Join(r.temp, "origin")
	r.sh(r.temp, "git init -q -b main origin && tar -xzf "+release+"/cfn_linux_*.tar.gz cfn && ./cfn init --project origin/site --type-name Acme::Web::Site --artifact-type RESOURCE go --import-path example.com/site >/dev/null")
	r.sh(origin, "git add -A && git commit -qm main")
	r.sh(r.temp, "git clone -q "+origin+" "+r.dir)
	r.sh(r.dir, "git checkout -q -b change")
	return r
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (r *runner) write(path, text string) {
	r.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// try runs a script as both services do: it ends at the first command that fails.
func (r *runner) try(dir, script string, env ...string) (string, error) {
	cmd := exec.CommandContext(r.Context(), "bash", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(r.env), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *runner) sh(dir, script string) {
	r.Helper()
	if out, err := r.try(dir, script); err != nil {
		r.Fatalf("%s: %v\n%s", script, err, out)
	}
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// action runs the steps of action.yml, and returns the output of all of them.
func (r *runner) action(inputs map[string]string) (string, error) {
	r.Helper()
	data, err := os.ReadFile("../action.yml")
	if err != nil {
		r.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Name, Shell, Run string
				Env              map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		r.Fatal(err)
	}
	top, err := filepath.Abs("..")
	if err != nil {
		r.Fatal(err)
	}
	known := map[string]string{"github.action_path": top, "github.base_ref": inputs["github.base_ref"]}
	for name, input := range action.Inputs {
		known["inputs."+name] = input.Default
		if value, ok := inputs[name]; ok {
			known["inputs."+name] = value
		}
	}
	var all strings.Builder
	paths := filepath.Join(r.temp, "path")
	for _, step := range action.Runs.Steps {
		if strings.Contains(step.Run, "${{") {
			r.Errorf("step %s: an expression in a script can be a script itself; hand it on in env", step.Name)
		}
		env := []string{"GITHUB_PATH=" + paths}
		if added, err := os.ReadFile(paths); err == nil {
			env = append(env, "PATH="+strings.ReplaceAll(string(added), "\n", ":")+os.Getenv("PATH"))
		}
		for name, value := range step.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
				for _, term := range strings.Split(expression.FindStringSubmatch(e)[1], " || ") {
					value, ok := known[term]
					if !ok {
						r.Errorf("step %s: %s is not known", step.Name, term)
					}
					if value != "" {
						return value
					}
				}
				return ""
			}))
		}
		out, err := r.try(r.dir, step.Run, env...)
		fmt.Fprintf(&all, "== %s\n%s", step.Name, out)
		if err != nil {
			return all.String(), fmt.Errorf("step %s: %w", step.Name, err)
		}
	}
	return all.String(), nil
}

const schemaFile = "site/acme-web-site.json"

// replace changes the schema of the project.
func (r *runner) replace(old, text string) {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, schemaFile))
	if err != nil || !strings.Contains(string(data), old) {
		r.Fatalf("the schema has no %q, %v", old, err)
	}
	r.write(filepath.Join(r.dir, schemaFile), strings.ReplaceAll(string(data), old, text))
}

func TestAction(t *testing.T) {
	r := newRunner(t)
	release := r.env[len(r.env)-1][len("RELEASE="):]
	inputs := map[string]string{"from": release, "project": "site", "github.base_ref": "main"}
	out, err := r.action(inputs)
	if err != nil || !strings.Contains(out, "Installed cfn ") {
		t.Fatalf("a project that is in order: %v\n%s", err, out)
	}
	if sarif, err := os.ReadFile(filepath.Join(r.dir, "cfn.sarif")); err != nil || !strings.Contains(string(sarif), `"version": "2.1.0"`) {
		t.Errorf("SARIF: %v\n%s", err, sarif)
	}
	inputs["test"] = "true"
	out, err = r.action(inputs)
	if err == nil || !strings.Contains(out, "::error") || !strings.Contains(err.Error(), "step Test") {
		t.Errorf("handlers that are not written: %v\n%s", err, out)
	}
	if junit, err := os.ReadFile(filepath.Join(r.dir, "cfn-junit.xml")); err != nil || !strings.Contains(string(junit), "<failure") {
		t.Errorf("JUnit: %v", err)
	}
	delete(inputs, "test")
	r.replace(`"Title"`, `"Heading"`)
	out, err = r.action(inputs)
	if err == nil || !strings.Contains(err.Error(), "step Compare") || !strings.Contains(out, "::error file=") {
		t.Errorf("a breaking change: %v\n%s", err, out)
	}
	inputs["allow-breaking"] = "true"
	if out, err = r.action(inputs); err != nil {
		t.Errorf("a breaking change that is allowed: %v\n%s", err, out)
	}
	r.replace(`"Acme::Web::Site"`, `"Acme"`)
	out, err = r.action(inputs)
	if err == nil || !strings.Contains(err.Error(), "step Validate") || !strings.Contains(out, "::error file=site/acme-web-site.json,") {
		t.Errorf("a schema with an error: %v\n%s", err, out)
	}
}

func TestGitLab(t *testing.T) {
	r := newRunner(t)
	data, err := os.ReadFile("templates/gitlab-ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var variables map[string]string
	node := file["variables"]
	if err := node.Decode(&variables); err != nil {
		t.Fatal(err)
	}
	release := r.env[len(r.env)-1][len("RELEASE="):]
	variables["CFN_INSTALLER"], variables["CFN_FROM"], variables["CFN_PROJECT"] = release+"/install.sh", release, "site"
	type job struct {
		Before []string `yaml:"before_script"`
		Script []string
	}
	run := func(name string) (string, error) {
		t.Helper()
		var base, own job
		for key, to := range map[string]*job{".cfn": &base, name: &own} {
			node, ok := file[key]
			if !ok {
				t.Fatalf("there is no job %s", key)
			}
			if err := node.Decode(to); err != nil {
				t.Fatal(err)
			}
		}
		env := []string{"CI_PROJECT_DIR=" + r.dir, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main"}
		for name, value := range variables {
			env = append(env, name+"="+value)
		}
		return r.try(r.dir, strings.Join(slices.Concat(base.Before, own.Script), "\n"), env...)
	}
	for _, name := range []string{"cfn validate", "cfn diff"} {
		if out, err := run(name); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if out, err := run("cfn test"); err == nil || !strings.Contains(out, "not written yet") {
		t.Errorf("handlers that are not written: %v\n%s", err, out)
	}
	r.replace(`"Title"`, `"Heading"`)
	if out, err := run("cfn diff"); err == nil {
		t.Errorf("a breaking change: %s", out)
	}
	r.replace(`"Acme::Web::Site"`, `"Acme"`)
	if out, err := run("cfn validate"); err == nil || !strings.Contains(out, "acme-web-site.json") {
		t.Errorf("a schema with an error: %v\n%s", err, out)
	}
}

// TestPreCommit runs the hooks as pre-commit does: with the staged files that match as arguments.
func TestPreCommit(t *testing.T) {
	r := newRunner(t)
	data, err := os.ReadFile("../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Files string
		PassFilenames    *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	r.sh(r.dir, `curl -fsSL "$RELEASE/install.sh" | sh -s -- --from "$RELEASE" --to "$RUNNER_TEMP/bin"`)
	run := func(id, dir string) (string, error) {
		t.Helper()
		for _, hook := range hooks {
			if hook.ID != id {
				continue
			}
			script := hook.Entry
			matches := regexp.MustCompile(hook.Files)
			if !matches.MatchString(schemaFile) || matches.MatchString("site/package-lock.yaml") {
				t.Errorf("%s: files %s", id, hook.Files)
			}
			if hook.PassFilenames == nil || *hook.PassFilenames {
				script += " " + schemaFile
			}
			return r.try(dir, script, "PATH="+r.temp+"/bin:"+os.Getenv("PATH"))
		}
		t.Fatalf("there is no hook %s", id)
		return "", nil
	}
	project := filepath.Join(r.dir, "site")
	if out, err := run("cfn-validate", r.dir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run("cfn-generate", project); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	r.replace(`"Title"`, `"Heading"`)
	if out, err := run("cfn-generate", project); err == nil {
		t.Errorf("stale code: %s", out)
	}
	r.replace(`"Acme::Web::Site"`, `"Acme"`)
	if out, err := run("cfn-validate", r.dir); err == nil {
		t.Errorf("a schema with an error: %s", out)
	}
}
