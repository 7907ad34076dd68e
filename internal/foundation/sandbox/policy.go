package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// A policy is what the user has decided about all processes. Nothing in it comes from a function, a package
// or a template.
type policy struct {
	grants []Grant
	hide   []hidden
	homes  []string // of the user, with links and without
	named  []named
}

// A hidden file or folder is only visible to a process if a Grant names it or something below it.
type hidden struct {
	path, real     string
	exists, folder bool
	credential     bool     // of a home, and not what this program keeps
	except         []string // folders below it in which interpreters are installed
}

// named is what a variable of the user names.
type named struct {
	variable, path string
	write          bool
}

// secretSettings are below the settings of the system, and readable for root.
var secretSettings = []string{"/etc/ssl/private", "/etc/pki/tls/private"}

// secrets are the files and folders of a home with credentials, and with the data of programs.
var secrets = []string{
	".aws", ".ssh", ".gnupg", ".config", ".local/share", ".docker", ".kube", ".azure", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
	".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".password-store", ".mozilla", ".cfn-cli", ".terraform.d",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".pgpass", ".my.cnf", ".vault-token",
}

// managers are folders of a home below secrets in which managers of versions install interpreters.
var managers = []string{
	".local/share/uv", ".local/share/mise", ".local/share/rtx", ".local/share/fnm", ".local/share/pnpm", ".local/share/virtualenvs",
	".local/share/hatch", ".local/share/pdm", ".local/share/pyenv", ".local/share/nvm", ".config/nvm", ".config/pyenv",
}

// The variables of the user that name files and folders: to read, lists of them, and to write to.
var (
	fileVariables = []string{"JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
	listVariables = []string{"PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH"}
	writtenTo     = []string{"GOCOVERDIR"}
)

// newPolicy is that of settings for a user with homes.
func newPolicy(s Settings, homes []string) policy {
	p := policy{grants: s.Grants, homes: homes}
	for _, path := range s.Hide {
		p.hide = append(p.hide, newHidden(path))
	}
	for _, path := range secretSettings {
		p.hide = append(p.hide, newHidden(path))
	}
	for _, home := range homes {
		for _, name := range secrets {
			h := newHidden(filepath.Join(home, name))
			h.credential = true
			for _, manager := range managers {
				if within(manager, name) {
					h.except = append(h.except, filepath.Join(home, manager))
				}
			}
			p.hide = append(p.hide, h)
		}
	}
	slices.SortStableFunc(p.hide, func(a, b hidden) int { return strings.Compare(a.real, b.real) })
	p.name(s.Environ)
	return p
}

func newHidden(path string) hidden {
	h := hidden{path: filepath.Clean(path)}
	h.real = h.path
	if info, err := os.Stat(path); err == nil {
		h.real, h.exists, h.folder = resolved(path), true, info.IsDir()
	}
	return h
}

// name adds what variables name.
func (p *policy) name(environ []string) {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	add := func(variable, path string, write bool) {
		if filepath.IsAbs(path) {
			p.named = append(p.named, named{variable, path, write})
		}
	}
	for _, name := range fileVariables {
		path := env[name]
		add(name, path, false)
		if real := resolved(path); real != path { // Java looks for its libraries where a link leads
			add(name, real, false)
		}
	}
	for _, name := range listVariables {
		for _, path := range filepath.SplitList(env[name]) {
			add(name, path, false)
		}
	}
	for _, name := range writtenTo {
		add(name, env[name], true)
	}
	for _, path := range userPackages(env["PYTHONUSERBASE"], env["HOME"]) {
		add("PYTHONUSERBASE", path, false)
	}
}

// userPackages are the folders of "pip install --user".
func userPackages(base, home string) []string {
	if base == "" && filepath.IsAbs(home) {
		base = filepath.Join(home, ".local")
	}
	if !filepath.IsAbs(base) {
		return nil
	}
	packages, _ := filepath.Glob(filepath.Join(files.Pattern(base), "lib", "python3*")) // the pattern is valid
	return packages
}

// userHomes are the homes of the user, with links and without: that of HOME, and that of the system.
func userHomes() []string {
	var homes []string
	for _, home := range []string{os.Getenv("HOME"), systemHome()} {
		for _, path := range []string{home, resolved(home)} {
			if path = filepath.Clean(path); filepath.IsAbs(path) && path != "/" && !slices.Contains(homes, path) {
				homes = append(homes, path)
			}
		}
	}
	return homes
}

// systemHome is the home of the user in the database of users, "" if it has none.
var systemHome = sync.OnceValue(func() string {
	if u, err := osuser.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		return u.HomeDir
	}
	return ""
})

// hidden reports whether a path is hidden. Installations of interpreters may be in some folders below
// what is hidden.
func (p *policy) hidden(path string, runtime bool) bool {
	return slices.ContainsFunc(p.hide, func(h hidden) bool {
		if !within(path, h.path) && !within(path, h.real) {
			return false
		}
		return !runtime || !slices.ContainsFunc(h.except, func(open string) bool { return within(path, open) })
	})
}

// above reports whether a folder is a home, or has one or something hidden below it.
func (p *policy) above(path string) bool {
	return slices.ContainsFunc(p.homes, func(home string) bool { return within(home, path) }) ||
		slices.ContainsFunc(p.hide, func(h hidden) bool { return h.exists && (within(h.path, path) || within(h.real, path)) })
}

// A TooMuchError reports that a task root has more in it than processes may see.
type TooMuchError struct{ reason string }

func (e *TooMuchError) Error() string { return e.reason }

// checkCode reports why a folder cannot be the task root of a process.
func (p *policy) checkCode(dir string) error {
	if own(dir) {
		return fmt.Errorf("the code is in %s, which is another folder for handlers: move it to a folder below", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for _, path := range []string{filepath.Clean(dir), real} {
		for _, home := range p.homes {
			if within(home, path) {
				return &TooMuchError{fmt.Sprintf("the code is in %s, and handlers would see all of the home folder %s: move the code to a folder of its own", dir, home)}
			}
		}
		kept := false // by this program, such as code that it has unpacked
		for _, h := range p.hide {
			if !h.credential && (within(h.path, path) || within(h.real, path)) {
				return &TooMuchError{fmt.Sprintf("the code is in %s, and so is %s, which handlers must not see: move the code to a folder of its own", dir, h.path)}
			}
			kept = kept || !h.credential && (within(path, h.path) || within(path, h.real))
		}
		if !kept && p.hidden(path, false) && !slices.ContainsFunc(p.grants, func(g Grant) bool { return p.hidden(g.Path, false) && within(path, g.Path) }) {
			return fmt.Errorf("the code is in %s, which is hidden from handlers: move it to another folder, or pass --mount %s", dir, dir)
		}
	}
	return nil
}

// CheckCode reports why a folder that the user names cannot be the task root of a process. What this program
// keeps cannot be below it either.
func (s Settings) CheckCode(dir string) error {
	if !s.Mode.Active() {
		return nil
	}
	for _, kept := range s.Hide {
		if within(dir, kept) || within(resolved(dir), resolved(kept)) {
			return fmt.Errorf("the code is in %s, which belongs to cfn: move it to another folder", dir)
		}
	}
	p := newPolicy(s, userHomes())
	return p.checkCode(dir)
}

// NodeModules are the folders node_modules in the folders above one that the user has named, where Node.js
// looks for packages, up to its home. Those that are links are not mounted; Unseen names them.
func NodeModules(dir string) (list []string) {
	p := policy{homes: userHomes()}
	for at := filepath.Dir(filepath.Clean(dir)); at != "/" && !p.above(at); at = filepath.Dir(at) {
		modules := filepath.Join(at, "node_modules")
		if info, err := os.Lstat(modules); err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
			list = append(list, modules)
		}
		if at == filepath.Dir(at) {
			break // the root of a drive
		}
	}
	return list
}

// own reports whether a path of the machine would hide what the sandbox has of its own.
func own(path string) bool {
	return within(Tmp, path) || within(Home, path) || within("/dev", path) || within("/proc", path)
}

// within reports whether a path is a folder or below it. Both are absolute, or both are not.
func within(path, dir string) bool {
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	rest, found := strings.CutPrefix(path, dir)
	return found && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}

// resolved is a path without links, or the path itself if it does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
