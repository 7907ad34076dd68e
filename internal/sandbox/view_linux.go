package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/files"
	"github.com/formwork-dev/formwork/internal/sandbox/inside"
)

// system are the folders of the system with programs and libraries, and no data of users.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu/store", "/snap", "/run/current-system",
	"/home/linuxbrew/.linuxbrew", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
}

// settings are those of the system that programs read, by pattern: files are copied, and folders
// are visible.
var settings = []string{
	"hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols", "hostname", "passwd", "group",
	"localtime", "timezone", "os-release", "ld.so.cache", "ssl", "pki", "crypto-policies", "alternatives", "fonts", "java*", "php*", "ruby*", "dotnet", "static",
}

// secretSettings are below them, and readable for root.
var secretSettings = []string{"/etc/ssl/private", "/etc/pki/tls/private"}

// secrets are the files and folders of a home with credentials. They are only visible if a folder
// above them is, such as a task root.
var secrets = []string{
	".aws", ".ssh", ".gnupg", ".config", ".local/share", ".docker", ".kube", ".azure", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
	".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".password-store", ".mozilla", ".cfn-cli", ".terraform.d",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".pgpass", ".my.cnf", ".vault-token",
}

// A viewer collects what a process sees.
type viewer struct {
	home string // of the user, "" if unknown

	realHome string // without links

	env    map[string]string
	mounts map[string]inside.Mount // by target
	hide   []string
	fixed  map[string]bool // targets that nothing replaces
}

// view is what a process sees beside the mounts of the system. What is missing is left out, except for the task root and grants.
func view(p Process, home string) ([]inside.Mount, error) {
	v := &viewer{home: home, realHome: resolved(home), env: map[string]string{}, mounts: map[string]inside.Mount{}, fixed: map[string]bool{}}
	for _, entry := range p.Env {
		name, value, _ := strings.Cut(entry, "=")
		v.env[name] = value
	}
	for _, path := range p.Settings.Hide {
		v.hide = append(v.hide, path, resolved(path))
	}
	if filepath.IsAbs(home) {
		for _, name := range secrets {
			v.hide = append(v.hide, filepath.Join(home, name))
			if v.realHome != home {
				v.hide = append(v.hide, filepath.Join(v.realHome, name))
			}
		}
	}
	maps.Copy(v.mounts, systemMounts())
	v.hide = append(v.hide, secretSettings...)
	if p.Dir != "" {
		if own(p.Dir) {
			return nil, fmt.Errorf("the code is in %s, which is another folder for handlers: move it to a folder below", p.Dir)
		}
		if err := v.add(p.Dir, inside.BindRO); err != nil {
			return nil, err
		}
		v.fixed[p.Dir] = true
		v.nodeModules(p.Dir)
	}
	if p.Path != "" {
		v.program(p.Path, 0)
	}
	for _, arg := range p.Args[min(1, len(p.Args)):] {
		if filepath.IsAbs(arg) {
			v.found(arg)
		}
	}
	v.variables()
	if p.Cache != "" {
		if err := os.MkdirAll(p.Cache, 0o755); err != nil {
			return nil, err
		}
		if err := v.add(p.Cache, inside.BindRO); err != nil {
			return nil, err
		}
		v.fixed[p.Cache] = true
	}
	for _, grant := range p.Settings.Grants {
		kind := inside.BindRO
		if grant.Write {
			kind = inside.BindRW
			if _, err := os.Stat(grant.Path); errors.Is(err, fs.ErrNotExist) {
				if err := os.MkdirAll(grant.Path, 0o755); err != nil {
					return nil, fmt.Errorf("mount %s: %w", grant.Path, err)
				}
			}
		}
		delete(v.mounts, grant.Path)
		if err := v.add(grant.Path, kind); err != nil {
			return nil, fmt.Errorf("mount %s: %w", grant.Path, err)
		}
		v.fixed[grant.Path] = true
	}
	v.mask()
	known := systemMounts()
	maps.DeleteFunc(v.mounts, func(target string, m inside.Mount) bool { return known[target] == m })
	return inOrder(v.mounts), nil
}

// inOrder are mounts with those below others after them.
func inOrder(mounts map[string]inside.Mount) []inside.Mount {
	return slices.SortedFunc(maps.Values(mounts), func(a, b inside.Mount) int { return strings.Compare(a.Target, b.Target) })
}

// systemMounts are what belongs to the system. They are found once: files are read at each start.
var systemMounts = sync.OnceValue(func() map[string]inside.Mount {
	mounts := map[string]inside.Mount{}
	for _, dir := range system {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				mounts[dir] = inside.Mount{Kind: inside.Link, Source: target, Target: dir}
			}
		case info.IsDir():
			mounts[dir] = inside.Mount{Kind: inside.BindRO, Source: dir, Target: dir}
		}
	}
	for _, pattern := range settings {
		paths, _ := filepath.Glob("/etc/" + pattern) // the patterns are valid
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			info, err := os.Stat(real)
			switch {
			case err != nil:
			case info.IsDir():
				mounts[path] = inside.Mount{Kind: inside.BindRO, Source: real, Target: path}
			case info.Mode().IsRegular():
				mounts[path] = inside.Mount{Kind: inside.Contents, Source: real, Target: path}
			}
		}
	}
	return mounts
})

// add makes a path of the machine visible. The error is that the path does not exist.
func (v *viewer) add(path, kind string) error {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if old, found := v.mounts[path]; found && (v.fixed[path] || old.Kind == inside.BindRW) {
		return nil
	}
	hidden := slices.ContainsFunc(v.hide, func(hidden string) bool { return within(path, hidden) })
	if kind == inside.BindRO && !hidden && v.visible(path) == real {
		return nil
	}
	v.mounts[path] = inside.Mount{Kind: kind, Source: real, Target: path}
	return nil
}

// found makes a path visible that was found without being named by the user. A folder with
// more than it should show is left out, and so is what does not exist.
func (v *viewer) found(path string) {
	path = filepath.Clean(path)
	real := resolved(path)
	if own(path) || real == "/" || v.above(path) || v.above(real) {
		return
	}
	_ = v.add(path, inside.BindRO) // a missing one is left out
}

// own reports whether a path of the machine would hide what the sandbox has of its own.
func own(path string) bool {
	return within(Tmp, path) || within(Home, path) || within("/dev", path) || within("/proc", path)
}

// above reports whether a folder is the home, or has something below it that is hidden.
func (v *viewer) above(path string) bool {
	return v.home != "" && (within(v.home, path) || within(v.realHome, path)) ||
		slices.ContainsFunc(v.hide, func(hidden string) bool { return within(hidden, path) })
}

// visible is the path of the machine that is seen at a path, "" if none is.
func (v *viewer) visible(path string) string {
	for at := path; at != "/"; at = filepath.Dir(at) {
		if m, found := v.mounts[at]; found {
			switch m.Kind {
			case inside.BindRO, inside.BindRW:
				return resolved(filepath.Join(m.Source, strings.TrimPrefix(path, at)))
			case inside.Link:
				return resolved(path)
			}
			return ""
		}
	}
	return ""
}

// mostLinks bounds links and interpreters that lead to one another.
const mostLinks = 20

// program adds what a program needs to run: itself, and where it is installed if it is an
// interpreter or names one.
func (v *viewer) program(path string, depth int) {
	if depth > mostLinks || !filepath.IsAbs(path) {
		return
	}
	v.installation(path, depth)
	if real := resolved(path); real != path {
		v.installation(real, depth)
	}
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		v.program(target, depth+1)
		return
	}
	words := strings.Fields(firstLine(path))
	if len(words) == 0 {
		return
	}
	v.program(words[0], depth+1)
	if filepath.Base(words[0]) != "env" {
		return
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		for _, dir := range filepath.SplitList(v.env["PATH"]) {
			if found := filepath.Join(dir, word); filepath.IsAbs(dir) && isFile(found) {
				v.program(found, depth+1)
				return
			}
		}
	}
}

// installation adds the folder that a program is installed in, if that is one: of Python, an
// environment of it, Node.js, Java, or a manager of versions. Otherwise it adds the program.
func (v *viewer) installation(path string, depth int) {
	if seen := v.visible(path); seen != "" && seen == resolved(path) {
		return // of the system
	}
	bin := filepath.Dir(path)
	prefix := filepath.Dir(bin)
	if name := filepath.Base(bin); name != "bin" && name != "shims" || !isInstallation(prefix) || v.above(prefix) {
		v.found(path)
		return
	}
	v.found(prefix)
	// An environment of Python names the Python that it was made from.
	if config, err := readSmall(filepath.Join(prefix, "pyvenv.cfg")); err == nil {
		for line := range strings.Lines(config) {
			if key, value, found := strings.Cut(line, "="); found && strings.TrimSpace(key) == "home" {
				v.program(filepath.Join(strings.TrimSpace(value), "python3"), depth+1)
			}
		}
	}
	v.editable(prefix)
}

// signs are what installations have and other folders do not.
var signs = []string{"pyvenv.cfg", "lib/python3*", "lib/node_modules", "include/node", "lib/modules", "jre/lib", "libexec", "conda-meta"}

func isInstallation(dir string) bool {
	for _, sign := range signs {
		if found, _ := filepath.Glob(filepath.Join(files.Pattern(dir), sign)); len(found) > 0 { // the pattern is valid
			return true
		}
	}
	return false
}

// editable adds the folders of packages that an installation of Python has links to.
func (v *viewer) editable(prefix string) {
	links, _ := filepath.Glob(filepath.Join(files.Pattern(prefix), "lib", "python3*", "site-packages", "*.pth")) // the pattern is valid
	for _, link := range links {
		text, err := readSmall(link)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if path := strings.TrimSpace(line); filepath.IsAbs(path) {
				v.found(path)
			}
		}
	}
}

// nodeModules adds the packages that Node.js finds for a folder, in the folders above it, with
// those that are links to elsewhere.
func (v *viewer) nodeModules(dir string) {
	for at := dir; ; at = filepath.Dir(at) {
		modules := filepath.Join(at, "node_modules")
		if info, err := os.Stat(modules); err == nil && info.IsDir() {
			v.found(modules)
			if real := resolved(modules); real != modules {
				v.found(real) // where the link leads
			}
			v.linked(modules, true)
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

// mostPackages bounds the packages of a folder that are looked at.
const mostPackages = 10_000

func (v *viewer) linked(modules string, scopes bool) {
	folder, err := os.Open(modules)
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()      // it was only read
	entries, _ := folder.ReadDir(mostPackages) // what was read is added
	for _, entry := range entries {
		path := filepath.Join(modules, entry.Name())
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if real := resolved(path); !within(real, resolved(modules)) {
				v.found(real)
			}
		case scopes && entry.IsDir() && strings.HasPrefix(entry.Name(), "@"):
			v.linked(path, false)
		}
	}
}

// The variables that name files and folders: to read, lists of them, and to write to.
var (
	filesOf   = []string{"JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
	listsOf   = []string{"PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "CLASSPATH"}
	writtenBy = []string{"GOCOVERDIR"}
	optionsIn = []string{"NODE_OPTIONS", "JAVA_TOOL_OPTIONS"} // such as --require FILE, -javaagent:FILE
)

// variables adds what the environment names.
func (v *viewer) variables() {
	for _, name := range filesOf {
		if path := v.env[name]; filepath.IsAbs(path) {
			v.found(path)
			if real := resolved(path); real != path {
				v.found(real)
			}
		}
	}
	for _, name := range listsOf {
		for _, path := range filepath.SplitList(v.env[name]) {
			if filepath.IsAbs(path) {
				v.found(path)
			}
		}
	}
	for _, name := range optionsIn {
		for _, word := range strings.FieldsFunc(v.env[name], func(r rune) bool { return strings.ContainsRune(" \t\"'=", r) }) {
			if i := strings.Index(word, ":/"); i >= 0 {
				word = word[i+1:]
			}
			if filepath.IsAbs(word) {
				v.found(word)
			}
		}
	}
	for _, name := range writtenBy {
		if path := v.env[name]; filepath.IsAbs(path) && !v.above(path) {
			_ = v.add(path, inside.BindRW) // a missing one is left out
		}
	}
	if base := v.env["PYTHONUSERBASE"]; filepath.IsAbs(base) {
		packages, _ := filepath.Glob(filepath.Join(files.Pattern(base), "lib", "python3*")) // the pattern is valid
		for _, path := range packages {
			v.found(path)
		}
	}
}

// mask hides what is to be hidden where a folder above it is visible.
func (v *viewer) mask() {
	for _, path := range v.hide {
		if _, taken := v.mounts[path]; taken || !filepath.IsAbs(path) {
			continue
		}
		seen := v.visible(path)
		if seen == "" || seen != resolved(path) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if info.IsDir() {
			v.mounts[path] = inside.Mount{Kind: inside.Empty, Target: path}
		} else {
			v.mounts[path] = inside.Mount{Kind: inside.BindRO, Source: os.DevNull, Target: path}
		}
	}
}

// within reports whether a path is a folder or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// resolved is a path without links, or the path itself if it does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstLine is the command after #! of a script, "" if it is none.
func firstLine(path string) string {
	file, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	line, err := bufio.NewReaderSize(io.LimitReader(file, 512), 512).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	command, found := strings.CutPrefix(line, "#!")
	if !found {
		return ""
	}
	return command
}

// mostSmall bounds files of settings, in bytes.
const mostSmall = 64 << 10

func readSmall(path string) (string, error) {
	file, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, mostSmall))
	return string(text), err
}
