package sandbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

// A place is a folder of a test with a home and other files.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T, names ...string) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, dir}
	for _, name := range names {
		p.write(name, name)
	}
	return p
}

func (p place) in(name string) string { return filepath.Join(p.dir, name) }

func (p place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.in(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.in(name), []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) link(target, name string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.in(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(target, p.in(name)); err != nil {
		p.t.Fatal(err)
	}
}

// policy is that of a user with the home of the place.
func (p place) policy(s Settings) policy { return newPolicy(s, []string{p.in("home")}) }

// shown are the mounts in the place as words: "ro:path", with the source if it is at another path.
func (p place) shown(mounts []inside.Mount) string {
	var words []string
	for _, m := range mounts {
		rel, err := filepath.Rel(p.dir, m.Target)
		if err != nil || !filepath.IsLocal(rel) {
			p.t.Errorf("%s is mounted at %s", m.Source, m.Target)
		}
		word := m.Kind + ":" + rel
		if m.Source != "" && m.Source != m.Target {
			word += "<" + strings.TrimPrefix(m.Source, p.dir+"/")
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// house is the usual place.
func house(t *testing.T) place {
	p := newPlace(t, "home/.ssh/id", "home/.aws/credentials", "home/.netrc", "home/.config/app/secret", "home/notes", "home/.local/lib/python3.12/site-packages/m.py",
		"home/.local/bin/tool", "home/.local/share/keep/x", "home/.local/share/uv/python/3.12/bin/python3", "home/.pyenv/versions/3.12/bin/python3", "home/work/project/code/main.py",
		"home/work/project/node_modules/a/index.js", "home/work/data/secrets.key", "home/work/data/handlers/code/main.py", "home/work/lib/module.py", "home/ca.pem", "elsewhere/module.py")
	p.link(p.in("home/.ssh"), "home/work/link")
	p.link(p.in("home/.pyenv/versions/3.12/bin/python3"), "home/work/venv/bin/python3")
	return p
}

// TestPlan holds what a process sees, by what the user and this program have decided.
func TestPlan(t *testing.T) {
	p := house(t)
	in := p.in
	environ := func(list ...string) Settings {
		for i, entry := range list {
			list[i] = strings.ReplaceAll(entry, "@", p.dir+"/")
		}
		return Settings{Environ: list}
	}
	read := func(names ...string) (s Settings) {
		for _, name := range names {
			s.Grants = append(s.Grants, Grant{Path: in(name)})
		}
		return s
	}
	keeping := func(s Settings, hide string) Settings { s.Hide = []string{in(hide)}; return s }
	for _, test := range []struct {
		name          string
		settings      Settings
		code, program string
		runtime       Runtime
		want          string
	}{
		{"nothing", Settings{}, "", "", Runtime{}, ""},
		{"code", Settings{}, "home/work/project/code", "", Runtime{}, "ro:home/work/project/code"},
		{"program", Settings{}, "", "home/.local/bin/tool", Runtime{}, "ro:home/.local/bin/tool"},
		{"installation", Settings{}, "", "home/.pyenv/versions/3.12/bin/python3", Runtime{Roots: []string{in("home/.pyenv/versions/3.12")}}, "ro:home/.pyenv/versions/3.12"},
		{
			"links of a program", Settings{}, "", "home/work/venv/bin/python3", Runtime{Roots: []string{in("home/work/venv")}},
			"ro:home/.pyenv/versions/3.12/bin/python3 ro:home/work/venv",
		},
		{"installation below a hidden folder", Settings{}, "", "", Runtime{Roots: []string{in("home/.local/share/uv/python/3.12")}}, "ro:home/.local/share/uv/python/3.12"},
		{"hidden installation", Settings{}, "", "", Runtime{Roots: []string{in("home/.local/share/keep")}}, ""},
		{"installation with more", Settings{}, "", "home/.local/bin/tool", Runtime{Roots: []string{in("home/.local"), in("home"), "/"}}, "ro:home/.local/bin/tool"},
		{"files", keeping(Settings{}, "home/work/data"), "", "", Runtime{Files: []string{in("home/work/data/secrets.key"), in("missing"), in("home/work/link")}}, "ro:home/work/data/secrets.key"},
		{"code that this program keeps", keeping(Settings{}, "home/work/data"), "home/work/data/handlers/code", "", Runtime{}, "ro:home/work/data/handlers/code"},
		{
			"variables", environ("PYTHONPATH=@home/work/lib:@elsewhere:relative", "SSL_CERT_FILE=@home/ca.pem", "GOCOVERDIR=@elsewhere", "NODE_OPTIONS=--require @home/notes", "PATH=@home/.local/bin", "CLASSPATH=@home"),
			"", "", Runtime{}, "rw:elsewhere ro:home/ca.pem ro:home/work/lib",
		},
		{"packages of the user", environ("HOME=@home"), "", "", Runtime{}, "ro:home/.local/lib/python3.12"},
		{
			"variables that name too much", keeping(environ("PYTHONPATH=@home:/:/tmp:@home/.ssh:@home/.config/app", "GOCOVERDIR=@home/work", "SSL_CERT_FILE=@home/work/link/id", "JAVA_HOME=@home/work/data"), "home/work/data"),
			"", "", Runtime{}, "",
		},
		{"a hidden file", read("home/.ssh/id", "home/.config"), "", "", Runtime{}, "ro:home/.config ro:home/.ssh/id"},
		{
			"the folder above", keeping(read("home"), "home/work/data"), "", "", Runtime{},
			"ro:home masked:home/.aws masked:home/.config masked:home/.local/share blank:home/.netrc masked:home/.ssh masked:home/work/data",
		},
		{
			"the folder above, to write to", keeping(Settings{Grants: []Grant{{Path: p.dir, Write: true}}}, "home/work/data"), "", "", Runtime{},
			"rw:. rw:home masked:home/.aws masked:home/.config rw:home/.local masked:home/.local/share blank:home/.netrc masked:home/.ssh rw:home/work masked:home/work/data",
		},
		{
			"hidden in hidden", keeping(read("home/.local/share"), "home/.local/share/keep"), "", "", Runtime{},
			"ro:home/.local/share masked:home/.local/share/keep",
		},
		{
			"the folder above and one of those below", keeping(read("home/work", "home/work/data/handlers"), "home/work/data"), "", "", Runtime{},
			"ro:home/work empty:home/work/data ro:home/work/data/handlers",
		},
		{
			"the folder above, and code below", keeping(read("home/work"), "home/work/data"), "home/work/data/handlers/code", "", Runtime{},
			"ro:home/work empty:home/work/data ro:home/work/data/handlers/code",
		},
		{"a link to what is hidden, named", read("home/work/link"), "", "", Runtime{}, "ro:home/work/link<home/.ssh"},
		{"a file through a link", read("home/work/link/id"), "", "", Runtime{}, "ro:home/work/link/id<home/.ssh/id"},
		{
			"a link in what is visible", read("home/work", "home/work/link/id"), "", "", Runtime{},
			"ro:home/.ssh/id ro:home/work",
		},
		{"code in a folder to write to", Settings{Grants: []Grant{{Path: in("home/work/project"), Write: true}}}, "home/work/project/code", "", Runtime{}, "rw:home/work/project ro:home/work/project/code"},
		{"code to write to", Settings{Grants: []Grant{{Path: in("home/work/project/code"), Write: true}}}, "home/work/project/code", "", Runtime{}, "rw:home/work/project/code"},
		{"the environment does not overrule", environ("GOCOVERDIR=@home/work/project/code"), "home/work/project/code", "", Runtime{}, "ro:home/work/project/code"},
		{"once", read("home/work", "home/work/lib"), "home/work/project/code", "", Runtime{}, "ro:home/work"},
	} {
		code, program := test.code, test.program
		if code != "" {
			code = in(code)
		}
		if program != "" {
			program = in(program)
		}
		seen, err := plan(p.policy(test.settings), code, program, test.runtime)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := p.shown(seen.mounts); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestPlanOpt: a folder of this program is at /opt, unless the interpreter is installed there.
func TestPlanOpt(t *testing.T) {
	p := house(t)
	layer := p.in("home/work/lib")
	for _, test := range []struct {
		program string
		runtime Runtime
		want    bool
	}{
		{"", Runtime{}, false},
		{"", Runtime{Opt: layer}, true},
		{"", Runtime{Opt: layer, Roots: []string{"/optional"}}, true},
		{"", Runtime{Opt: layer, Roots: []string{"/opt/python"}}, false},
		{"/opt/bin/node", Runtime{Opt: layer}, false},
	} {
		seen, err := plan(p.policy(Settings{}), "", test.program, test.runtime)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(seen.mounts, inside.Mount{Kind: inside.BindRO, Source: layer, Target: "/opt"}); got != test.want {
			t.Errorf("%s %+v: %t, of %v", test.program, test.runtime, got, seen.mounts)
		}
	}
}

// TestPlanRefuses holds what is refused, and that the message says what to do.
func TestPlanRefuses(t *testing.T) {
	p := house(t)
	p.link(p.in("home"), "homelink")
	for _, test := range []struct {
		code  string
		grant Grant
		want  string
	}{
		{"home", Grant{}, "all of the home folder @home: move the code to a folder of its own"},
		{"homelink", Grant{}, "all of the home folder @home: move the code to a folder of its own"},
		{"", Grant{}, "all of the home folder @home: move"},
		{"home/work", Grant{}, "and so is @home/work/data, which handlers must not see"},
		{"home/work/data", Grant{}, "and so is @home/work/data, which"},
		{"home/.config/app", Grant{}, "is hidden from handlers: move it to another folder, or pass --mount @home/.config/app"},
		{"home/.config/app", Grant{Path: p.in("home/.config")}, ""},
		{"home/.config/app", Grant{Path: p.in("home")}, "pass --mount @home/.config/app"},
		{"home/work/project", Grant{Path: p.in("missing")}, "mount @missing: "},
	} {
		settings := Settings{Hide: []string{p.in("home/work/data")}}
		if test.grant.Path != "" {
			settings.Grants = []Grant{test.grant}
		}
		_, err := plan(p.policy(settings), p.in(test.code), "", Runtime{})
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, strings.ReplaceAll(test.want, "@", p.dir+"/")) {
			t.Errorf("code %q, mount %+v: %v\nwant %s", test.code, test.grant, err, test.want)
		}
	}
}

// FuzzPlan holds that a package, its arguments and its environment have no say in what is visible: the plan is
// that of an empty folder at the same path.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := house(t)
		code := "home/work/package"
		if err := os.Mkdir(p.in(code), 0o755); err != nil {
			t.Fatal(err)
		}
		decided := p.policy(Settings{
			Hide: []string{p.in("home/work/data")}, Grants: []Grant{{Path: p.in("elsewhere")}},
			Environ: []string{"HOME=" + p.in("home"), "PYTHONPATH=" + p.in("home/work/lib"), "PATH=/usr/bin:" + p.in("home/.local/bin")},
		})
		process := Process{
			Path: p.in("home/.pyenv/versions/3.12/bin/python3"), Dir: p.in(code),
			Runtime: Runtime{Roots: []string{p.in("home/.pyenv/versions/3.12")}, Files: []string{p.in("home/work/data/handlers/code/main.py")}},
		}
		want, err := process.view(decided)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		p.hostile(random, code)
		process.Env, process.Args = p.hostileEnviron(random, code), []string{"python3", p.in("home/.ssh/id"), "-javaagent:" + p.in("home/notes")}
		got, err := process.view(decided)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\ngot  %s\nwant %s", err, p.shown(got.mounts), p.shown(want.mounts))
		}
		process.Path = p.in(code + "/bootstrap") // a program of the package
		process.Runtime = Runtime{}
		if got, err := process.view(decided); err != nil || p.shown(got.mounts) != "ro:elsewhere ro:home/.local/lib/python3.12 ro:home/work/lib ro:home/work/package" {
			t.Errorf("bootstrap: %v, %s", err, p.shown(got.mounts))
		}
		_ = Unseen(process) // reads the package
	})
}

// targets are paths that a hostile package would like to see.
func (p place) targets() []string {
	return []string{
		p.in("home/.ssh"), p.in("home/.ssh/id"), p.in("home/.aws/credentials"), p.in("home/notes"), p.in("home"), p.in("home/.config/app"), p.in("home/work/data"),
		p.in("home/work/data/secrets.key"), p.in("home/.local/share/keep"), "/etc/shadow", "/", "../../.ssh/id", "..", "missing", ".", "/proc/self/root",
	}
}

// hostile fills a package with what has been, or may be, taken for a wish to see other files.
func (p place) hostile(random *rand.Rand, code string) {
	targets := p.targets()
	pick := func() string { return targets[random.IntN(len(targets))] }
	lines := []string{
		"#!/usr/bin/env -S -u ../../root/.ssh/id python3\n", "#!/usr/bin/env " + pick() + "\n", "#!" + pick() + " -x\r\n", "#! /usr/bin/env\tpython3 " + pick() + "\n",
		"#!/usr/bin/env -S PATH=" + pick() + " python3\n", "#!" + strings.Repeat("/", 510) + "\n", "#!" + p.in(code+"/bootstrap") + "\n", "home = " + pick() + "\n", pick() + "\n" + pick() + "\n",
	}
	for _, name := range []string{
		"bootstrap", "pyvenv.cfg", ".venv/pyvenv.cfg", "lib/python3.12/site-packages/x.pth", ".venv/lib/python3.12/site-packages/x.pth", "bin/python3", "package.json", ".python-version", ".nvmrc", ".npmrc",
	} {
		if random.IntN(4) > 0 {
			p.write(code+"/"+name, lines[random.IntN(len(lines))])
		}
	}
	for i, name := range []string{
		"node_modules/%d", "node_modules/@scope/%d", "node_modules/.pnpm/x/node_modules/%d", "%d", "lib/%d.so", "node_modules/.bin/%d", "\xff%d", "node_modules/\n%d", ".venv/bin/python%d", "lib64/%d",
	} {
		for range random.IntN(3) {
			p.link(pick(), code+"/"+fmt.Sprintf(name, i*10+random.IntN(5)+100*random.IntN(1000)))
		}
	}
	p.link("loop", code+"/loop")
	if random.IntN(3) == 0 {
		p.link(pick(), "home/work/package/vendor/node_modules")
	}
}

// hostileEnviron are variables as a template may set them.
func (p place) hostileEnviron(random *rand.Rand, code string) (environ []string) {
	targets := append(p.targets(), p.in(code), "=", ":", "'\"", "--require "+p.in("home/.ssh/id"), "-javaagent:"+p.in("home/.ssh/id")+"=x", "\xff")
	for _, name := range slices.Concat(fileVariables, listVariables, writtenTo, []string{
		"PATH", "HOME", "PYTHONUSERBASE", "CLASSPATH", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "VIRTUAL_ENV", "PYTHONHOME", "LD_PRELOAD", "FORMWORK_AWS_ADDRESS", "TMPDIR",
	}) {
		value := targets[random.IntN(len(targets))]
		for range random.IntN(3) {
			value += ":" + targets[random.IntN(len(targets))]
		}
		environ = append(environ, name+"="+value)
	}
	return environ
}

// TestNodeModules holds that the folders above one are found up to the home, and that none is mounted that is a link.
func TestNodeModules(t *testing.T) {
	p := newPlace(t, "home/node_modules/x", "home/work/node_modules/x", "home/work/a/b/c/node_modules/x", "node_modules/x")
	t.Setenv("HOME", p.in("home"))
	p.link(p.in("home/node_modules"), "home/work/a/node_modules")
	found := NodeModules(p.in("home/work/a/b/c"))
	if !slices.Equal(found, []string{p.in("home/work/a/node_modules"), p.in("home/work/node_modules")}) {
		t.Errorf("found %q", found)
	}
	process := Process{Path: "/bin/sh", Dir: p.in("home/work/a/b/c"), Runtime: Runtime{Files: found}}
	seen, err := process.view(p.policy(Settings{}))
	if got := p.shown(seen.mounts); err != nil || got != "ro:home/work/a/b/c ro:home/work/node_modules" {
		t.Errorf("%v, %s", err, got)
	}
	link := p.in("home/work/a/node_modules")
	if got, want := Unseen(process), link+" leads to "+p.in("home/node_modules")+", which handlers do not see; pass --mount "+link+" if they may read it"; len(got) != 1 || got[0] != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	process.Settings.Grants = []Grant{{Path: link}} // as it says
	if seen, err = process.view(p.policy(process.Settings)); err != nil || !strings.Contains(p.shown(seen.mounts), "ro:home/work/a/node_modules<home/node_modules") || len(Unseen(process)) > 0 {
		t.Errorf("%v, %s, %q", err, p.shown(seen.mounts), Unseen(process))
	}
}

// TestUnseen holds that the sentences name the path and the option, and that none offers what is hidden.
func TestUnseen(t *testing.T) {
	p := house(t)
	t.Setenv("HOME", p.in("home"))
	for name, target := range map[string]string{
		"a": "elsewhere", "b": "home/.ssh", "@scope/c": "home/work/lib", "d": "home/work/project/code", "in\nlines": "home/ca.pem",
	} {
		p.link(p.in(target), "home/work/project/code/node_modules/"+name)
	}
	p.write("venv/lib/python3.12/site-packages/my_lib-1.0.dist-info/direct_url.json", `{"url": "file://`+p.in("home/work/lib")+`", "dir_info": {"editable": true}}`)
	p.write("venv/lib/python3.12/site-packages/plain-1.0.dist-info/direct_url.json", `{"url": "file://`+p.in("home/work/lib")+`", "dir_info": {}}`)
	process := Process{
		Dir: p.in("home/work/project/code"), Path: "/bin/sh", Runtime: Runtime{Roots: []string{p.in("venv")}},
		Settings: Settings{Grants: []Grant{{Path: p.in("elsewhere")}}, Environ: []string{"AWS_CA_BUNDLE=" + p.in("home/.aws/credentials")}},
	}
	modules := p.in("home/work/project/code/node_modules")
	want := []string{
		"AWS_CA_BUNDLE needs " + p.in("home/.aws/credentials") + ", but it is hidden from handlers; pass --mount " + p.in("home/.aws/credentials") + " if handlers may read it",
		modules + "/b leads to " + p.in("home/.ssh") + ", which handlers do not see",
		`"` + modules + `/in\nlines" leads to ` + p.in("home/ca.pem") + ", which handlers do not see; pass --mount " + p.in("home/ca.pem") + " if they may read it",
		modules + "/@scope/c leads to " + p.in("home/work/lib") + ", which handlers do not see; pass --mount " + p.in("home/work/lib") + " if they may read it",
		"the editable package my_lib-1.0 leads to " + p.in("home/work/lib") + ", which handlers do not see; pass --mount " + p.in("home/work/lib") + " if they may read it",
	}
	if got := Unseen(process); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
