package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterpretersAreFound: what a program needs is visible, and not what is beside it.
func TestInterpretersAreFound(t *testing.T) {
	dir := t.TempDir()
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	python, venv := in("home", ".pyenv", "versions", "3.12", "bin", "python3"), in("project", ".venv")
	for path, text := range map[string]string{
		python: "", in("home/.pyenv/versions/3.12/lib/python3.12/os.py"): "", in("home/.local/bin/tool"): "", in("home/.local/lib/python3.12/site-packages/m.py"): "",
		in("home/.local/share/data"): "", in("home/.nvm/versions/20/bin/node"): "", in("home/.nvm/versions/20/include/node/node.h"): "", in("home/.nvm/alias"): "",
		in("elsewhere/editable/package.py"): "", in("project/node_modules/a/index.js"): "", in("linked/b/index.js"): "", in("lib/x"): "",
		filepath.Join(venv, "pyvenv.cfg"):                                  "home = " + filepath.Dir(python) + "\n",
		filepath.Join(venv, "lib", "python3.12", "site-packages", "e.pth"): in("elsewhere/editable") + "\nimport this\n/\n" + in("home") + "\n",
		in("project/code/run"):                                             "#!/usr/bin/env tool\n", in("project/code/loop"): "#!" + in("project/code/loop") + "\n", in("agent.jar"): "", in("preload.js"): "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(venv, "bin", "python3")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(python, link), os.Symlink(in("linked/b"), in("project/node_modules/b"))); err != nil {
		t.Fatal(err)
	}
	const common = " linked/b project/code project/node_modules"
	for _, test := range []struct {
		program, want string
		env           []string
	}{
		{link, "elsewhere/editable home/.pyenv/versions/3.12" + " linked/b project/.venv project/code project/node_modules", nil},
		{python, "home/.pyenv/versions/3.12" + common, nil},
		{in("home/.local/bin/tool"), "home/.local/bin/tool" + common, nil}, // its folder has the data of others
		{in("home/.nvm/versions/20/bin/node"), "home/.nvm/versions/20" + common, nil},
		{in("project/code/run"), "home/.local/bin/tool" + common, nil},
		{in("project/code/loop"), common[1:], nil},
		{in("project/code/run"), "agent.jar home/.local/bin/tool home/.local/lib/python3.12 lib" + strings.Replace(common, " project/code", " preload.js project/code", 1),
			[]string{"PYTHONPATH=" + in("lib") + ":" + dir + ":/tmp", "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/tmp -javaagent:" + in("agent.jar"), "NODE_OPTIONS=--require " + in("preload.js"), "PYTHONUSERBASE=" + in("home/.local"), "JAVA_HOME=/"}},
	} {
		mounts, err := view(Process{Path: test.program, Args: []string{test.program}, Dir: in("project/code"), Env: append([]string{"PATH=" + in("home/.local/bin")}, test.env...)}, in("home"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range mounts {
			if m.Target == "/tmp" || m.Target == "/" {
				t.Errorf("%s: %s is replaced", test.program, m.Target)
			}
			if rel, err := filepath.Rel(dir, m.Target); err == nil && filepath.IsLocal(rel) {
				got = append(got, rel)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s sees\n%s\nwant\n%s", test.program, got, test.want)
		}
	}
}
