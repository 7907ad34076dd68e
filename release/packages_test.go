package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "0.1.0-rc.1": "0.1.0rc1", "1.0.0-beta.12": "1.0.0b12", "1.0.0-alpha": "1.0.0a0", "0.1.1-snapshot": "0.1.1.dev0",
		"1.2": "", "1.2.3-dirty": "", "1.2.3+x": "", "": "",
	} {
		if got, err := pythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
}

// fakeRelease is a folder with an archive for each platform, whose program is a script.
func fakeRelease(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		entries := []entry{{name: p.binary, content: []byte("#!/bin/sh\necho " + p.archive + "\n"), executable: true}, {name: "LICENSE", content: []byte("the license")}, {name: "licenses/go/LICENSE", content: []byte("its license")}, {name: "man/cfn.1"}}
		err := create(filepath.Join(dir, p.archive), func(w io.Writer) error {
			if strings.HasSuffix(p.archive, ".zip") {
				return writeZip(w, entries)
			}
			return writeTar(w, "", entries)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cfn_linux_amd64.cdx.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPackagesOfAllPlatforms holds that there is a wheel and an npm package for each archive, with the same bytes each time, and
// that all are named, tagged and described as pip and npm expect.
func TestPackagesOfAllPlatforms(t *testing.T) {
	read := func() map[string]string {
		dir := fakeRelease(t)
		if err := packages(dir, "1.2.3-rc.1"); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, pattern := range []string{"*.whl", "*.tgz"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is valid
			for _, file := range found {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				files[filepath.Base(file)] = string(data)
			}
		}
		return files
	}
	first, second := read(), read()
	if len(first) != 2*len(platforms)+1 {
		t.Errorf("%d packages", len(first))
	}
	for name, data := range first {
		if second[name] != data {
			t.Errorf("%s is not the same each time", name)
		}
	}
	const wheel = "formwork_cfn-1.2.3rc1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
	z, err := zip.NewReader(strings.NewReader(first[wheel]), int64(len(first[wheel])))
	if err != nil {
		t.Fatal(err)
	}
	const info = "formwork_cfn-1.2.3rc1.dist-info/"
	for name, want := range map[string]string{
		info + "WHEEL":    "Root-Is-Purelib: false\nTag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n",
		info + "METADATA": "Name: formwork-cfn\nVersion: 1.2.3rc1\n",
		info + "RECORD":   info + "RECORD,,\n",
		info + "licenses/dependencies/go/LICENSE": "its license",
		info + "sboms/cfn.cdx.json":               "{}",
		"formwork_cfn-1.2.3rc1.data/scripts/cfn":  "cfn_linux_amd64.tar.gz",
		"formwork_cfn/__init__.py":                "def find_cfn",
		info + "entry_points.txt":                 "formwork-cfn = formwork_cfn.__main__:main",
	} {
		if data, err := fs.ReadFile(z, name); err != nil || !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
	if windows := "formwork_cfn-1.2.3rc1-py3-none-win_arm64.whl"; !strings.Contains(first[windows], "formwork_cfn-1.2.3rc1.data/scripts/cfn.exe") {
		t.Errorf("%s has no cfn.exe", windows)
	}
	if err := packages(t.TempDir(), "1.2.3"); err == nil {
		t.Error("a folder without archives makes packages")
	}
}

// programs is a folder with links to programs, and nothing else: a PATH without Go.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("skipped: %v", err)
		}
		if path, err = filepath.EvalSymlinks(path); err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// evening is what a newcomer does with cfn, once it is installed: a handler of a custom resource is written and tested, and a
// stack is deployed to a server.
const evening = `
cfn --version
cfn cr init "$LANGUAGE" site
cd site
cfn cr test . --create create.json --update update.json --replace replace.json
cfn serve --temporary --address 127.0.0.1:0 --lambda-address '' --function site=. -- cfn deploy template.yaml --yes
`

// tutorial is what a newcomer does with a resource type: the tutorial in a language, without the lines for the aws CLI.
func tutorial(t *testing.T, language string) string {
	t.Helper()
	script := commandsOf(t, "tutorial-"+language+".md", "cfn init", "cfn test", "cfn serve", "cfn submit", "cfn deploy site.yaml\n", "cfn destroy")
	stop := "trap 'jobs -p > \"$HOME/.jobs\"; kill $(cat \"$HOME/.jobs\") 2>&- || true' EXIT\nset -ux\n"
	return stop + regexp.MustCompile(`(?m)^aws .*$`).ReplaceAllString(script, "cfn stack resources site")
}

// caches are the variables with which pip and npm use the caches of the user.
func caches(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PIP_CACHE_DIR=" + filepath.Join(home, ".cache/pip"), "npm_config_cache=" + filepath.Join(home, ".npm"), "npm_config_registry=https://registry.npmjs.org/"}
}

// TestWheel installs the wheel into an empty environment without Go, with pip, from a folder; the program is the one of the archive.
func TestWheel(t *testing.T) {
	dist := hostRelease(t)
	python, err := exec.Command("python3", "-c", "import sys, ensurepip; print(sys.executable)").Output()
	if err != nil {
		t.Skipf("skipped: no Python with virtual environments: %v", err)
	}
	dir := t.TempDir()
	r := &runner{T: t, env: []string{"HOME=" + dir, "DIST=" + dist, "PYTHON=" + strings.TrimSpace(string(python)), "LANGUAGE=python", "PATH=" + filepath.Join(dir, "venv/bin") + ":/usr/bin:/bin"}}
	r.sh(dir, `"$PYTHON" -m venv venv && pip install -q --no-index --find-links "$DIST" formwork-cfn`)
	files, err := readArchive(filepath.Join(dist, "cfn_linux_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "venv/bin/cfn")); err != nil || !bytes.Equal(got, files["cfn"]) {
		t.Errorf("the installed program is not the one of the archive: %d bytes, %v", len(got), err)
	}
	for _, command := range []string{"cfn", "formwork-cfn", "python -m formwork_cfn"} {
		if out, err := r.try(dir, command+" --version"); err != nil || out != "cfn 1.2.3\n" {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
	if out, err := r.try(dir, "set -eux\n"+evening); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.try(dir, tutorial(t, "python"), caches(t)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.try(dir, "pip show -f formwork-cfn && pip check && pip uninstall -q -y formwork-cfn && ! ls venv/bin/cfn"); err != nil || !strings.Contains(out, "License-Expression: Apache-2.0") && !strings.Contains(out, "bin/cfn") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.try(dir, `pip install -q --no-index --find-links "$DIST" --target inside formwork-cfn && PYTHONPATH=inside python -m formwork_cfn --version && rm inside/bin/cfn && PYTHONPATH=inside python -m formwork_cfn --version`); err == nil || !strings.HasPrefix(out, "cfn 1.2.3\n") || !strings.Contains(out, "install it again") {
		t.Errorf("in a folder: %v\n%s", err, out)
	}
}

// TestNPM installs the npm package into an empty folder without Go, from a registry on this machine: with scripts, without
// them, and without the package for this platform.
func TestNPM(t *testing.T) {
	dist := hostRelease(t)
	path := programs(t, "node", "npm", "mkdir", "rmdir", "grep", "tail", "sh", "rm", "ls", "printf", "dirname", "uname", "sed", "cat", "env", "sleep")
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	registry := npmRegistry(t, dist)
	dir := t.TempDir()
	r := &runner{T: t, env: []string{"HOME=" + dir, "NPM=" + npm, "LANGUAGE=node", "PATH=" + filepath.Join(dir, "app/node_modules/.bin") + ":" + path, "npm_config_registry=" + registry, "npm_config_cache=" + filepath.Join(dir, "cache"), "npm_config_update_notifier=false"}}
	app := filepath.Join(dir, "app")
	files, err := readArchive(filepath.Join(dist, "cfn_linux_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, options string
		replaced      bool
	}{{"with scripts", "", true}, {"without scripts", "--ignore-scripts", false}} {
		if err := os.RemoveAll(app); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(app, 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(filepath.Join(app, "package.json"), "{}") // otherwise npm installs into a folder above that has one
		r.sh(app, `node "$NPM" install --silent `+test.options+` formwork-cfn`)
		got, err := os.ReadFile(filepath.Join(app, "node_modules/formwork-cfn/bin/cfn"))
		if err != nil || bytes.Equal(got, files["cfn"]) != test.replaced {
			t.Errorf("%s: the launcher is replaced: %t, %v", test.name, !test.replaced, err)
		}
		if out, err := r.try(app, "cfn --version && sh -c 'cfn validate; test $? -eq 1'"); err != nil || !strings.HasPrefix(out, "cfn 1.2.3\n") {
			t.Errorf("%s: %q, %v", test.name, out, err)
		}
		if out, err := r.try(app, `sh -c 'exec cfn serve --temporary --address 127.0.0.1:0 --lambda-address "" -- sh -c "kill -TERM $$; sleep 60"' || test $? -eq 130`); err != nil || !strings.Contains(out, "interrupted") {
			t.Errorf("%s: a signal: %v\n%s", test.name, err, out)
		}
	}
	if out, err := r.try(app, "set -eux\n"+evening); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.try(app, tutorial(t, "typescript"), caches(t)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.try(app, `rm -r node_modules/formwork-cfn-* && cfn --version`); err == nil || !strings.Contains(out, "--omit=optional") || !strings.Contains(out, "npm install formwork-cfn-linux-") {
		t.Errorf("without the package of the platform: %v\n%s", err, out)
	}
}

// npmRegistry serves the npm packages in a folder.
func npmRegistry(t *testing.T, dist string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dist))))
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		description, err := npmDescription(filepath.Join(dist, name+"-1.2.3.tgz"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		description["dist"] = map[string]any{"tarball": server.URL + "/files/" + name + "-1.2.3.tgz"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": "1.2.3"}, "versions": map[string]any{"1.2.3": description}}) // npm reports what is missing
	})
	return server.URL
}

// npmDescription reads the package.json of a package.
func npmDescription(file string) (map[string]any, error) {
	out, err := exec.Command("tar", "-xzOf", file, "package/package.json").Output()
	if err != nil {
		return nil, err
	}
	var description map[string]any
	return description, json.Unmarshal(out, &description)
}
