package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// pythonDir is the folder of a project for libraries of handlers in Python.
const pythonDir = ".formwork/python"

const requirementsFile = "requirements.txt"

// runPython is how handlers in Python run: the interpreter has the sources in src/ and the libraries of
// requirements.txt, which are installed into a folder of the project.
func (t *Tools) runPython(ctx context.Context, p *project.Project, o Options) (lambda.Config, error) {
	program, err := t.pythonProgram(ctx, p)
	if err != nil {
		return lambda.Config{}, err
	}
	t.noteRuntime(p, program.Note)
	libraries, err := t.pythonLibraries(ctx, p, program.Command[0], o.NoBuild)
	if err != nil {
		return lambda.Config{}, err
	}
	search := searchPath(libraries, t.Getenv("PYTHONPATH"))
	command, env := program.Command, append(program.Env, "PYTHONDONTWRITEBYTECODE=1")
	var debugger string
	if o.Debugger != nil {
		if debugger, err = t.debugpy(ctx, p, program.Command[0], search, o.NoBuild); err != nil {
			return lambda.Config{}, err
		}
		search = searchPath(search, debugger)
		command = slices.Insert(slices.Clone(command), 1, "-Xfrozen_modules=off") // breakpoints are missed in those
		env = append(env, lambda.PythonDebug+"="+o.Debugger.Address)
	}
	runtime := program.Runtime
	for _, dir := range []string{libraries, debugger} {
		if dir != "" {
			runtime.Files = append(runtime.Files, dir)
		}
	}
	return lambda.Config{
		Command: command, Runtime: runtime, Dir: p.Path("src"), Handler: program.Handler,
		Env: append(env, "PYTHONPATH="+search),
		// As on Lambda, a slow start goes on in the call.
		InitTimeout: time.Minute,
	}, nil
}

// pythonProgram finds the interpreter.
func (t *Tools) pythonProgram(ctx context.Context, p *project.Project) (lambda.Program, error) {
	for _, dir := range []string{"src", pythonDir} {
		if err := files.LinkOut(p.Dir, dir); err != nil {
			return lambda.Program{}, fmt.Errorf("find the handlers: %w", err)
		}
	}
	if !files.Exists(p.Path("src")) {
		return lambda.Program{}, diag.WithHint(fmt.Errorf("the project has no folder %s with its handlers", p.Name("src")), "cfn init %s writes one", p.Language)
	}
	runtimes := &lambda.Runtimes{Scripts: p.Path(pythonDir + "/runtimes"), Getenv: t.Getenv, LookPath: t.lookPath}
	program, err := runtimes.Prepare(ctx, p.Runtime, p.Entrypoint, p.Path("src"))
	return program, runtimeHint(err)
}

// watchPython compiles the sources when one changes, to find mistakes before the handlers restart.
func (t *Tools) watchPython(p *project.Project, _ Options) lambda.WatchConfig {
	return lambda.WatchConfig{
		Build: []string{"python", "src"}, Dir: p.Dir, Dirs: []string{"src"},
		Run: func(ctx context.Context, _ []string, dir string) ([]byte, error) {
			program, err := t.pythonProgram(ctx, p)
			if err != nil {
				return nil, err
			}
			cmd := exec.CommandContext(ctx, program.Command[0], "-m", "compileall", "-q", "src")
			cmd.Dir, cmd.Env = dir, append(slices.Clone(t.Environ), "PYTHONPYCACHEPREFIX="+p.Path(pythonDir+"/cache"))
			lambda.EndWithDescendants(cmd)
			return cmd.CombinedOutput()
		},
	}
}

func searchPath(dirs ...string) string {
	var all []string
	for _, dir := range dirs {
		if dir != "" {
			all = append(all, dir)
		}
	}
	return strings.Join(all, string(os.PathListSeparator))
}

// pythonLibraries installs what requirements.txt lists, unless that has been done for the same text and
// the same interpreter, and returns the folder; "" without requirements.
func (t *Tools) pythonLibraries(ctx context.Context, p *project.Project, python string, noBuild bool) (string, error) {
	requirements, err := t.readRequirements(p, requirementsFile, 0)
	if err != nil || strings.TrimSpace(string(requirements)) == "" {
		return "", err
	}
	name := pythonDir + "/libraries-" + librariesSum(python, string(requirements))
	dir := p.Path(name)
	if files.Exists(dir) {
		return dir, nil
	}
	if noBuild {
		return "", diag.WithHint(fmt.Errorf("the libraries of %s are not installed", p.Name(requirementsFile)), "leave out --no-build, and cfn installs them")
	}
	if err := t.pipInstall(ctx, p, python, dir, requiredWork(nil)); err != nil {
		if ctx.Err() == nil && notInstallable.MatchString(err.Error()) {
			if installed, ok := t.installedLibraries(ctx, p, python, string(requirements)); ok {
				return installed, nil
			}
		}
		return "", err
	}
	t.removeOldLibraries(p, filepath.Base(dir))
	return dir, nil
}

// packPython finds the libraries that are packed.
func (t *Tools) packPython(ctx context.Context, p *project.Project, o PackageOptions, config *project.ArchiveConfig) (err error) {
	config.Libraries, err = t.librariesForLambda(ctx, p, o)
	return err
}

// librariesForLambda installs the libraries for the platform and the Python of Lambda, and returns their
// folder, seen from the project; "" without requirements.
func (t *Tools) librariesForLambda(ctx context.Context, p *project.Project, o PackageOptions) (string, error) {
	requirements, err := t.readRequirements(p, requirementsFile, 0)
	if err != nil || strings.TrimSpace(string(requirements)) == "" {
		return "", err
	}
	program, err := t.pythonProgram(ctx, p)
	if err != nil {
		return "", err
	}
	target := pythonTarget{strings.TrimPrefix(p.Runtime, "python"), o.Arch}
	sum := sha256.Sum256(append([]byte(target.version+" "+o.Arch.Name+"\n"), requirements...))
	name := pythonDir + "/package-" + hex.EncodeToString(sum[:8])
	if files.Exists(p.Path(name)) {
		return name, nil
	}
	if o.NoBuild {
		return "", diag.WithHint(fmt.Errorf("the libraries of %s are not installed for Lambda", p.Name(requirementsFile)), "leave out --no-build, and cfn installs them")
	}
	err = t.pipInstall(ctx, p, program.Command[0], p.Path(name), requiredWork(&target))
	if err != nil && ctx.Err() == nil && withoutWheel.MatchString(err.Error()) {
		// Something has no wheel. What is built here runs there if it is Python only, or if this
		// machine is like Lambda.
		t.Note("a package has no wheel for Lambda on %s; building it here\n", o.Arch.Title)
		if err = t.pipInstall(ctx, p, program.Command[0], p.Path(name), requiredWork(nil)); err == nil {
			err = t.checkNative(p, name, o.Arch, !program.OtherVersion)
		}
	}
	if err != nil {
		return "", err
	}
	t.removeOldLibraries(p, filepath.Base(name))
	return name, nil
}

// withoutWheel matches what pip and uv print if a package has no wheel for the platform.
var withoutWheel = lazyregexp.New(`No matching distribution|ResolutionImpossible|no usable wheels|no wheels with a matching|has no wheels|no matching (?:platform|Python)`)

// platformTag matches the tag of a wheel that is for one platform.
var platformTag = lazyregexp.New(`(?m)^Tag:[ \t]*[^\s-]+-[^\s-]+-(?:linux|manylinux|musllinux|macosx|win)`)

// checkNative refuses libraries that were compiled on a machine unlike Lambda. same says that the version
// of Python is that of the runtime.
func (t *Tools) checkNative(p *project.Project, name string, arch Arch, same bool) error {
	if same && arch.Here() {
		return nil
	}
	var reason string
	err := filepath.WalkDir(p.Path(name), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".so"), strings.HasSuffix(path, ".pyd"):
			reason = fmt.Sprintf("%s was compiled for this machine and does not run in Lambda (Linux on %s, %s)", entry.Name(), arch.Title, p.Runtime)
			return filepath.SkipAll
		case entry.Name() == "WHEEL" && strings.HasSuffix(filepath.Dir(path), ".dist-info") && !arch.Here():
			text, err := document.ReadFile(path, 1<<20)
			if err != nil || !platformTag.Match(text) {
				return err
			}
			library, _, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "-") // which may be a program without modules
			reason = fmt.Sprintf("%s has no wheel for Lambda on %s", library, arch.Title)
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("check the libraries: %w", err)
	}
	if reason == "" {
		return nil
	}
	if err := files.RemoveTemp(p.Path(name)); err != nil {
		return fmt.Errorf("remove the libraries: %w", err)
	}
	return diag.WithHint(errors.New(reason),
		"require a version with a wheel for Linux on %s, or package on such a machine with %s", arch.Title, p.Runtime)
}

// includedFile matches a line of requirements that names another file of requirements.
var includedFile = lazyregexp.New(`(?m)^\s*(?:-r|-c|--requirement|--constraint)[ =\t]*(\S+)`)

// localPackage matches a line of requirements that names a file or folder of this machine.
var localPackage = lazyregexp.New(`(?m)^\s*(?:(?:-e|--editable)\b.*|\.{0,2}/\S*|file:\S*|\S+\.whl|.*@\s*file:\S*)`)

// readRequirements is a file of requirements with those that it includes. With a package that is a file
// or folder, which can change without a change here, the text is another one each time.
func (t *Tools) readRequirements(p *project.Project, name string, depth int) ([]byte, error) {
	if depth > 8 {
		return nil, fmt.Errorf("%s includes itself", name)
	}
	text, err := document.ReadOptional(p.Path(name), maxSource)
	if err != nil {
		return nil, err
	}
	all := text
	if localPackage.Match(text) {
		all = fmt.Appendf(all, "\n# %d", t.Now().UnixNano())
	}
	for _, m := range includedFile.FindAllSubmatch(text, -1) {
		if filepath.IsAbs(string(m[1])) || strings.Contains(string(m[1]), "://") {
			continue
		}
		more, err := t.readRequirements(p, path.Join(path.Dir(name), string(m[1])), depth+1)
		if err != nil {
			return nil, err
		}
		all = append(append(all, '\n'), more...)
	}
	return all, nil
}

// librariesSum names the libraries that an interpreter has for some requirements.
func librariesSum(python, requirements string) string {
	sum := sha256.Sum256([]byte(python + "\n" + modified(python) + "\n" + requirements))
	return hex.EncodeToString(sum[:8])
}

// modified is when a program was last changed: with a new version of the interpreter, compiled libraries
// have to be installed again.
func modified(program string) string {
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// removeOldLibraries removes the libraries of former requirements. What cannot be removed is tried again
// the next time.
func (t *Tools) removeOldLibraries(p *project.Project, current string) {
	t.removeOld(p, pythonDir, current)
}

// removeOld removes the folders KIND-… beside the current one.
func (t *Tools) removeOld(p *project.Project, dir, current string) {
	entries, err := os.ReadDir(p.Path(dir))
	if err != nil {
		return
	}
	for _, entry := range entries {
		kind, _, _ := strings.Cut(current, "-")
		if entry.IsDir() && strings.HasPrefix(entry.Name(), kind+"-") && entry.Name() != current {
			if err := files.RemoveAll(p.Path(dir), entry.Name()); err != nil {
				t.Logger.Debug("Old libraries cannot be removed", "error", err)
			}
		}
	}
}

// pipWork is what pip installs.
type pipWork struct {
	what         []string // the arguments
	shown, named string   // in the command that is shown, and in messages
	target       *pythonTarget
}

// requiredWork installs what the project requires, for this machine or for a Lambda.
func requiredWork(target *pythonTarget) pipWork {
	return pipWork{[]string{"--requirement", requirementsFile}, "--requirement " + requirementsFile, "the libraries of " + requirementsFile, target}
}

// pipInstall installs packages into a folder, which appears only if everything is in it.
func (t *Tools) pipInstall(ctx context.Context, p *project.Project, python, dir string, work pipWork) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("install the libraries: %w", err)
	}
	if err := files.Write(filepath.Dir(dir), ".gitignore", []byte("*\n"), 0o644); err != nil {
		return fmt.Errorf("install the libraries: %w", err)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".cfn-libraries-")
	if err != nil {
		return fmt.Errorf("install the libraries: %w", err)
	}
	defer func() { _ = files.RemoveTemp(unfinished) }() // gone if everything went well
	own, err := t.ToolEnviron()
	if err != nil {
		return err
	}
	command, shown := t.pipCommand(ctx, p, python, unfinished, work)
	t.Note("%s\n", shown)
	done := t.Doing("Installing %s", strings.TrimSuffix(work.named, ","))
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = p.Dir, append(t.pipLimits(), own...)
	lambda.EndWithDescendants(cmd)
	output, err := cmd.CombinedOutput()
	done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return pipError(work.named, command[0], err, string(output))
	}
	if err := os.Chmod(unfinished, 0o755); err != nil {
		return fmt.Errorf("install the libraries: %w", err)
	}
	if err := os.Rename(unfinished, dir); err != nil && !errors.Is(err, fs.ErrExist) && !files.Exists(dir) {
		return fmt.Errorf("install the libraries: %w", err)
	}
	return nil
}

// pipLimits are the settings of pip for an unstable network, unless the user has set them: by itself, it would try
// for minutes.
func (t *Tools) pipLimits() []string {
	home := t.Home
	return unset([]string{
		t.Getenv("PIP_CONFIG_FILE"), "/etc/pip.conf", filepath.Join(t.Getenv("XDG_CONFIG_HOME"), "pip", "pip.conf"),
		filepath.Join(home, ".config", "pip", "pip.conf"), filepath.Join(home, ".pip", "pip.conf"),
	}, "retries", "PIP_RETRIES=1")
}

// pipRetry matches the warning of pip that it tries again, with the reason and the page.
var pipRetry = lazyregexp.New(`(?m)^WARNING: Retrying .* after connection broken by '\w+\(['"]?(?:<[^>]*>: )?(.*?)['"]?\)': (\S+)$`)

// pipLines are the lines of pip's output, each once, with short warnings.
func pipLines(output string) string {
	var kept []string
	for line := range strings.Lines(pipRetry.ReplaceAllString(output, "no connection for $2: $1")) {
		if line = strings.TrimRight(line, "\r\n"); !slices.Contains(kept, line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

var (
	noPip   = lazyregexp.New(`No module named pip`)
	noIndex = lazyregexp.New(`(?i)failed to establish a new connection|name resolution|network is unreachable|connection refused|timed out|ProxyError|error sending request|client error \(Connect\)`)
)

// pipFailures say what to do about failures of pip and uv, by what they print.
var pipFailures = []struct {
	pattern *lazyregexp.Regexp
	hint    string
}{
	{noPip, "install pip for this Python: python -m ensurepip, or the package python3-pip of your system; or install uv"},
	{noIndex, "pip reached no package index, and cannot use its cache without one: connect once, name a mirror with PIP_INDEX_URL, or download the wheels elsewhere with pip download -r requirements.txt -d wheels, and set PIP_NO_INDEX=1 and PIP_FIND_LINKS=wheels"},
	{lazyregexp.New(`SSLError|CERTIFICATE_VERIFY_FAILED`), "pip does not trust the certificate of the package index: name the certificates of your organization with PIP_CERT"},
	{lazyregexp.New(`(?i)gcc|cc1|compiler|Microsoft Visual C\+\+|Python\.h`), "a package has to be compiled: install a C compiler and the headers of Python, or require a version that has a wheel for this Python"},
	{lazyregexp.New(`requires a different Python|Requires-Python`), "a package does not support this Python: put the Python of the runtime into the PATH, or require another version"},
	{lazyregexp.New(`No matching distribution found`), "check the name and the version; a package without a wheel for the platform has to be built as a wheel first: pip wheel"},
	{lazyregexp.New(`Invalid requirement|ResolutionImpossible`), "correct requirements.txt"},
}

func pipError(named, python string, err error, output string) error {
	output = strings.TrimRight(output, "\n")
	failure := &ToolError{fmt.Errorf("%s could not be installed by %s (%w):\n%s", named, python, err, pipLines(output))}
	for _, row := range pipFailures {
		if row.pattern.MatchString(output) {
			return diag.WithHint(failure, "%s", row.hint)
		}
	}
	return failure
}
