package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inSandbox runs a script of the shell in a sandbox and returns its output. The error is that of the start.
func inSandbox(t *testing.T, p Process, script string) (string, error) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	p.Path, p.Args = "/bin/sh", []string{"sh", "-c", script}
	p.Env = append(append(Environ(), "PATH=/usr/bin:/bin"), p.Env...)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s, err := Start(p, in)
	in.Close()
	if err != nil {
		return "", err
	}
	defer s.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Command().Wait() // the output counts
	return string(text), nil
}

// look prints all files, sockets and other things but folders and links that can be reached outside of the folders of
// the system, with what is in them, and those that can be written to.
const look = `
for skipped in proc usr bin sbin lib lib32 lib64 libx32 opt nix snap gnu sys run; do set -- "$@" -path /$skipped -prune -o; done
find / "$@" -path /home/linuxbrew -prune -o ! -type d ! -type l -print 2>/dev/null | while read -r file; do
  case $file in /dev/*|/etc/*) continue;; esac
  printf 'reads %s %s\n' "$file" "$(cat "$file")"
  test -w "$file" && printf 'writes %s\n' "$file"
done
`

// reached are the lines of look without the folder of the test; the text of each file is its name.
func (p place) reached(out string) string {
	var list []string
	for line := range strings.Lines(out) {
		words := strings.Fields(strings.ReplaceAll(line, p.dir+"/", ""))
		switch {
		case len(words) == 3 && words[0] == "reads" && words[1] == words[2]:
			list = append(list, words[1])
		case len(words) == 2 && words[0] == "reads":
			list = append(list, "empty:"+words[1])
		default:
			list = append(list, strings.Join(words, ":"))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestReach holds that the files that a process reaches are those of the plan and no others.
func TestReach(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	code := "home/work/project/code"
	for i, target := range []string{"home/.ssh", "home/.ssh/id", "home/notes", "home", "home/work/data/secrets.key", "home/work/lib"} {
		p.link(p.in(target), code+"/node_modules/"+string(rune('a'+i)))
	}
	p.write("home/work/project/code/bootstrap", "home/work/project/code/bootstrap")
	grants := func(paths ...string) (list []Grant) {
		for _, path := range paths {
			path, write := strings.CutSuffix(path, ":rw")
			list = append(list, Grant{p.in(path), write})
		}
		return list
	}
	own := code + "/bootstrap " + code + "/main.py"
	with := func(more string) string {
		list := strings.Fields(own + " " + more)
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	for _, test := range []struct {
		name    string
		grants  []Grant
		environ []string
		runtime Runtime
		want    string
	}{
		{"nothing", nil, nil, Runtime{}, own},
		{"a folder", grants("elsewhere"), nil, Runtime{}, with("elsewhere/module.py")},
		{"a folder to write to", grants("elsewhere:rw"), nil, Runtime{}, with("elsewhere/module.py writes:elsewhere/module.py")},
		{"what is hidden", grants("home/.ssh/id"), nil, Runtime{}, with("home/.ssh/id")},
		{"a link", grants("home/work/link"), nil, Runtime{}, with("reads:home/work/link/id:home/.ssh/id")},
		{
			"the folder above what is hidden", grants("home"), nil, Runtime{}, with("empty:home/.netrc home/.local/bin/tool home/.local/lib/python3.12/site-packages/m.py home/.pyenv/versions/3.12/bin/python3 home/ca.pem" +
				" home/notes home/work/lib/module.py home/work/project/node_modules/a/index.js"),
		},
		{
			"the folder above, and one that is hidden", grants("home/work", "home/work/data/handlers"), nil, Runtime{},
			with("home/work/data/handlers/code/main.py home/work/lib/module.py home/work/project/node_modules/a/index.js"),
		},
		{"the user's environment", nil, []string{"PYTHONPATH=" + p.in("home/work/lib") + ":" + p.in("home"), "GOCOVERDIR=" + p.in("elsewhere")}, Runtime{}, with("elsewhere/module.py home/work/lib/module.py writes:elsewhere/module.py")},
		{"an installation", nil, nil, Runtime{Roots: []string{p.in("home/.local/share/uv/python/3.12")}}, with("home/.local/share/uv/python/3.12/bin/python3")},
	} {
		t.Run(test.name, func(t *testing.T) {
			process := Process{
				Dir: p.in(code), Runtime: test.runtime, Settings: Settings{Grants: test.grants, Hide: []string{p.in("home/work/data")}, Environ: test.environ},
				Env: []string{"PYTHONPATH=" + p.in("home/notes"), "GOCOVERDIR=" + p.in("home"), "CLASSPATH=" + p.in("home/.ssh")},
			}
			out, err := inSandbox(t, process, look)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.reached(out); got != test.want {
				t.Errorf("reaches\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestMaskedFolders holds that what is hidden can neither be entered nor changed.
func TestMaskedFolders(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	process := Process{Dir: p.in("home/work/project/code"), Settings: Settings{Grants: []Grant{{Path: p.in("home")}}, Hide: []string{p.in("home/work/data")}}}
	out, err := inSandbox(t, process, "cd "+p.in("home")+`; for d in .ssh .aws .config .local/share work/data; do ls -A $d && echo "enters $d"; (echo x > $d/new) && echo "writes $d"; done 2>/dev/null; (echo x > .netrc) 2>/dev/null || echo kept; wc -c < .netrc; umount .ssh 2>/dev/null || echo mounted; test -e /.blank || test -e /.machine || echo closed`)
	if err != nil || out != "kept\n0\nmounted\nclosed\n" {
		t.Errorf("got %v\n%s", err, out)
	}
}

// TestPinned holds that a process that may write to a folder cannot move what is hidden in it.
func TestPinned(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	process := Process{Dir: p.in("home/work/project/code"), Settings: Settings{Grants: []Grant{{Path: p.dir, Write: true}}, Hide: []string{p.in("home/work/data")}}}
	out, err := inSandbox(t, process, "cd "+p.dir+"; for f in home home/work home/work/data home/.local home/.local/share home/.netrc elsewhere; do mv $f $f.moved 2>/dev/null && echo moved $f; done; cat elsewhere.moved/*")
	if err != nil || out != "moved elsewhere\nelsewhere/module.py" {
		t.Errorf("%v, %q", err, out)
	}
}

// TestSwapped holds that a process never sees what replaces a folder while it starts: a link is refused.
func TestSwapped(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	p.link(p.in("home/.ssh"), "home/work/swap")
	p.write("home/work/shared/deep/file", "home/work/shared/deep/file")
	p.write("home/work/deep/id", "home/work/deep/id")
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var failed error
		for failed == nil {
			failed = unix.Renameat2(unix.AT_FDCWD, p.in("home/work/shared"), unix.AT_FDCWD, p.in("home/work/swap"), unix.RENAME_EXCHANGE)
			select {
			case <-stop:
				stopped <- failed
				return
			default:
			}
		}
		stopped <- failed
	}()
	process := Process{Dir: p.in("home/work/project/code"), Settings: Settings{Grants: []Grant{{Path: p.in("elsewhere")}}}}
	started := 0
	const most = 40
	for range most {
		process.Settings.Environ = []string{"PYTHONPATH=" + p.in("home/work/shared"), "SSL_CERT_DIR=" + p.in("home/work/shared/deep")}
		out, err := inSandbox(t, process, look)
		switch {
		case err == nil:
			started++
			if strings.Contains(out, ".ssh") {
				t.Fatalf("it sees what is hidden:\n%s", out)
			}
		case !strings.Contains(err.Error(), "home/work/shared"):
			t.Error(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil && !errors.Is(err, unix.EINVAL) {
		t.Fatal(err)
	}
	if started == 0 {
		t.Error("no process started")
	}
}

// TestLinkInPath holds what the first process does when a link has replaced a part of a path after the plan.
func TestLinkInPath(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	if err := Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	process := Process{Path: "/bin/sh", Args: []string{"sh", "-c", look}, Env: Environ(), Dir: p.in("home/work/project/code")}
	seen, err := process.view(p.policy(Settings{Grants: []Grant{{Path: p.in("home/work/lib")}}}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen.mounts {
		if seen.mounts[i].Source == p.in("home/work/lib") {
			seen.mounts[i].Source = p.in("home/work/link")
		}
	}
	f, err := newFirst(true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.discard()
	_, err = f.begin(process.orders(seen.mounts), os.Stdout)
	if err == nil || !strings.Contains(err.Error(), "mount "+filepath.Join(p.dir, "home/work/lib")+": a symbolic link has replaced it or a folder above it") {
		t.Errorf("got %v", err)
	}
}
