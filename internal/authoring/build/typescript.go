package build

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// typeScriptDir is the folder of a project for what cfn notes about its build, and for the
// libraries that are packaged.
const typeScriptDir = ".formwork/typescript"

const packageFile = "package.json"

// runTypeScript is how handlers in TypeScript run: the project is their folder, with the libraries in
// node_modules and the compiled sources in dist.
func (t *Tools) runTypeScript(ctx context.Context, p *project.Project, o Options) (lambda.Config, error) {
	b, err := t.buildTypeScript(ctx, p, o.NoBuild)
	if err != nil {
		return lambda.Config{}, err
	}
	t.noteRuntime(p, b.program.Note)
	command := slices.Insert(slices.Clone(b.program.Command), 1, "--enable-source-maps") // traces name the sources
	if o.Debugger != nil {
		command = slices.Insert(command, 1, "--inspect-brk="+o.Debugger.Address)
		b.warnOfMap()
	}
	runtime := b.program.Runtime
	runtime.Files = append(runtime.Files, sandbox.NodeModules(p.Dir)...)
	return lambda.Config{
		Command: command, Runtime: runtime, Dir: p.Dir, Handler: b.program.Handler,
		Env: append(b.program.Env, "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1"),
		// As on Lambda, a slow start goes on in the call.
		InitTimeout: time.Minute,
	}, nil
}

// warnOfMap warns if debuggers do not find the sources of the handlers.
func (b *typeScriptBuild) warnOfMap() {
	module := b.module()
	if data, err := document.ReadFile(b.p.Path(module), 64<<20); err == nil && !bytes.Contains(data, []byte("//# sourceMappingURL=")) {
		b.t.Note("warning: %s has no source map: breakpoints in the sources are not met\nhint: set \"sourceMap\": true in tsconfig.json, or pass --sourceMap to tsc in the script build of %s\n",
			b.p.Name(module), b.p.Name(packageFile))
	}
}

// watchTypeScript compiles the sources when one changes.
func (t *Tools) watchTypeScript(p *project.Project, _ Options) lambda.WatchConfig {
	return lambda.WatchConfig{
		Build: []string{"tsc"}, Dir: p.Dir, Dirs: []string{"src"},
		Run: func(ctx context.Context, _ []string, _ string) ([]byte, error) {
			_, err := t.buildTypeScript(ctx, p, false)
			if err != nil {
				return []byte(err.Error() + "\n"), err
			}
			return nil, nil
		},
	}
}

// A typeScriptBuild is a project whose handlers can be started.
type typeScriptBuild struct {
	t        *Tools
	p        *project.Project
	program  lambda.Program
	manifest nodeManifest
}

// nodeManifest is what matters of package.json.
type nodeManifest struct {
	Scripts              map[string]string `json:"scripts"`
	Dependencies         map[string]string `json:"dependencies"`
	DevDependencies      map[string]string `json:"devDependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
}

// buildTypeScript installs the libraries and compiles the sources, each unless that has been done.
func (t *Tools) buildTypeScript(ctx context.Context, p *project.Project, noBuild bool) (*typeScriptBuild, error) {
	for _, dir := range []string{"src", typeScriptDir} {
		if err := files.LinkOut(p.Dir, dir); err != nil {
			return nil, fmt.Errorf("find the handlers: %w", err)
		}
	}
	b := &typeScriptBuild{t: t, p: p}
	data, err := document.ReadFile(p.Path(packageFile), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.WithHint(fmt.Errorf("the project has no file %s, which names the libraries of its handlers", p.Name(packageFile)), "cfn init %s writes one", p.Language)
	}
	if err == nil {
		err = json.Unmarshal(data, &b.manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Name(packageFile), err)
	}
	runtimes := &lambda.Runtimes{Scripts: p.Path(typeScriptDir + "/runtimes"), Getenv: t.Getenv, LookPath: t.lookPath}
	if b.program, err = runtimes.Prepare(ctx, p.Runtime, p.Entrypoint, p.Dir); err != nil {
		return nil, runtimeHint(err)
	}
	if err := files.Write(p.Path(typeScriptDir), ".gitignore", []byte("*\n"), 0o644); err != nil {
		return nil, fmt.Errorf("build the handlers: %w", err)
	}
	if err := b.install(ctx, noBuild); err != nil {
		return nil, err
	}
	b.warnOfCopies()
	return b, b.compile(ctx, noBuild)
}

// noted reports whether a file of typeScriptDir contains a checksum; note writes it.
func (b *typeScriptBuild) noted(name, sum string) bool {
	data, err := document.ReadFile(b.p.Path(typeScriptDir+"/"+name), 1<<10)
	return err == nil && string(data) == sum
}

func (b *typeScriptBuild) note(name, sum string) error {
	if err := files.Write(b.p.Path(typeScriptDir), name, []byte(sum), 0o644); err != nil {
		return fmt.Errorf("build the handlers: %w", err)
	}
	return nil
}

// resolve is the folder of a package as Node.js finds it from the project, "" if it does not.
func (b *typeScriptBuild) resolve(name string) string {
	for dir := b.p.Dir; ; dir = filepath.Dir(dir) {
		if found := filepath.Join(dir, "node_modules", filepath.FromSlash(name)); files.Exists(found) {
			return found
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// sources is the checksum of the names, sizes and times of what the build reads.
func (b *typeScriptBuild) sources() (string, error) {
	sum := sha256.New()
	built, _, _ := strings.Cut(b.p.Entrypoint, "/")
	err := filepath.WalkDir(b.p.Dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read cannot be compiled either; tsc says it better
		}
		inside, _ := filepath.Rel(b.p.Dir, file)
		inside = filepath.ToSlash(inside)
		if entry.IsDir() {
			if inside != "." && (notSource(entry.Name()) || inside == built || inside == "build") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err == nil && isTypeScriptSource(inside) {
			_, _ = fmt.Fprintf(sum, "%q %d %d\n", inside, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	libraries, err := b.libraries("")
	return hex.EncodeToString(sum.Sum(nil)[:16]) + libraries, err
}

func isTypeScriptSource(name string) bool {
	return strings.HasPrefix(name, "src/") || strings.HasPrefix(name, "tsconfig") && path.Ext(name) == ".json" ||
		slices.Contains([]string{".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs"}, path.Ext(name))
}

// module is the built file with the handlers, "" if it does not exist.
func (b *typeScriptBuild) module() string {
	base, _, _ := strings.Cut(path.Base(b.p.Entrypoint), ".")
	for _, extension := range []string{".js", ".mjs", ".cjs"} {
		if name := path.Join(path.Dir(b.p.Entrypoint), base) + extension; filepath.IsLocal(name) && files.Exists(b.p.Path(name)) {
			return name
		}
	}
	return ""
}

// compiles matches scripts that run the compiler only: cfn runs it without npm, with maps of the sources.
var compiles = lazyregexp.New(`^\s*((npx|npm exec)\s+)?tsc\s*$`)

// compile builds the handlers if a source has changed.
func (b *typeScriptBuild) compile(ctx context.Context, noBuild bool) error {
	sum, err := b.sources()
	if err != nil {
		return err
	}
	stale := !b.noted("built", sum)
	module := path.Join(path.Dir(b.p.Entrypoint), strings.Split(path.Base(b.p.Entrypoint), ".")[0]) + ".js"
	switch {
	case !stale && b.module() != "":
		return nil
	case noBuild && b.module() != "":
		b.t.Note("warning: a source was changed after the handlers were compiled; using %s as it is\n", b.p.Name(b.module()))
		return nil
	case noBuild:
		return diag.WithHint(fmt.Errorf("the handlers are not built: %s does not exist", b.p.Name(module)), "leave out --no-build, and cfn builds them")
	}
	if script, custom := b.manifest.Scripts["build"]; custom && !compiles.MatchString(script) {
		err = b.build(ctx, "npm run build", "npm", "run", "build", "--silent")
	} else if files.Exists(b.p.Path("tsconfig.json")) {
		compiler := b.resolve("typescript")
		if compiler == "" {
			return diag.WithHint(errors.New("the compiler of TypeScript is not installed: the project has no package typescript"), "add it: npm install --save-dev typescript@5")
		}
		command := []string{b.program.Command[0], filepath.Join(compiler, "bin", "tsc"), "--sourceMap", "--pretty", "false"}
		if err = b.build(ctx, "tsc", command...); err != nil && onlyInLibraries(err.Error()) {
			b.t.Note("warning: only declarations of libraries have errors; compiling without checking them\nhint: set \"skipLibCheck\": true in tsconfig.json\n")
			err = b.build(ctx, "tsc --skipLibCheck", append(command, "--skipLibCheck")...)
		}
	}
	if err != nil {
		return err
	}
	if b.module() == "" {
		return diag.WithHint(fmt.Errorf("the build has not written %s, in which the handlers are expected", b.p.Name(module)),
			"let \"rootDir\" and \"outDir\" in tsconfig.json lead there, or change the entrypoint in %s", b.p.Name(project.SettingsFile))
	}
	return b.note("built", sum)
}

// withoutSDK matches what tsc prints if the official library does not find the SDK, which it does
// not require by itself.
var withoutSDK = lazyregexp.New(`Cannot find module 'aws-sdk`)

// withoutBase matches what tsc prints if a tsconfig.json above the project, as repositories with several
// projects have it, extends a package that is not installed there.
var withoutBase = lazyregexp.New(`(?m)^((?:\.\./)+)tsconfig[\w.-]*\.json\(\d+,\d+\): error TS6053: File '([^'\n]*)' not found`)

// newLibrary matches what TypeScript 4 prints of the types of the newest official library.
var newLibrary = lazyregexp.New(`cloudformation-cli-typescript-lib/dist/interface\.d\.ts\(\d+,\d+\): error TS2430`)

// typeScriptAdvice says what to do about a failure of the compiler, by its output; "" if unknown.
func typeScriptAdvice(output []byte) string {
	if found := withoutBase.FindSubmatch(output); found != nil {
		folder := strings.TrimSuffix(string(found[1]), "/")
		return fmt.Sprintf("the repository has a package.json of its own, whose packages are not installed: npm install --prefix %s", folder)
	}
	if newLibrary.Match(output) {
		return `version 1.0.6 of the official library does not compile with this version of TypeScript: set it to "1.0.5" in package.json, and run npm install`
	}
	if withoutSDK.Match(output) {
		return "the official library needs version 2 of aws-sdk: npm install aws-sdk@2"
	}
	if m := withoutModule.FindSubmatch(output); m != nil {
		return fmt.Sprintf("install the package: npm install %s", m[1])
	}
	return ""
}

// withoutModule matches what tsc prints if a source of the project imports a package that is not installed.
var withoutModule = lazyregexp.New(`(?m)^[^.\n][^(\n]*\(\d+,\d+\): error TS2307: Cannot find module '((?:@[\w.-]+/)?[\w-][\w.-]*)`)

// compileError matches the first line of each error of tsc, with its file.
var compileError = lazyregexp.New(`(?m)^(\S[^(\n]*)\(\d+,\d+\): error TS\d+`)

// withoutPackage matches what tsc prints if sources beside the project, which it compiles as well, import a package
// that is not installed there.
var withoutPackage = lazyregexp.New(`(?m)^(\.\./[^(\n]+)\(\d+,\d+\): error TS2307: Cannot find module '[^.'\n]`)

// sharedAdvice says what to do if a folder beside the project has sources and a package.json of its own, and its
// packages are not installed; "" otherwise.
func (b *typeScriptBuild) sharedAdvice(output []byte) string {
	found := withoutPackage.FindSubmatch(output)
	if found == nil {
		return ""
	}
	for dir := path.Dir(string(found[1])); path.Base(dir) != ".." && dir != "."; dir = path.Dir(dir) {
		if files.Exists(b.p.Path(dir + "/" + packageFile)) {
			return fmt.Sprintf("the project compiles sources of %s, whose packages are not installed: npm install --prefix %s", b.p.Name(dir), b.p.Name(dir))
		}
	}
	return ""
}

// onlyInLibraries reports whether the errors of tsc are all in declarations of libraries, as in version 1.0.6 of
// the official library for the compiler that the official plugin installs. The handlers compile then.
func onlyInLibraries(output string) bool {
	errs := compileError.FindAllStringSubmatch(output, -1)
	return len(errs) > 0 && !withoutSDK.MatchString(output) &&
		!slices.ContainsFunc(errs, func(e []string) bool { return !slices.Contains(strings.Split(e[1], "/"), "node_modules") })
}

// build runs the command that builds the handlers.
func (b *typeScriptBuild) build(ctx context.Context, shown string, command ...string) error {
	program, err := b.t.lookPath(command[0])
	if filepath.IsAbs(command[0]) {
		program, err = command[0], nil
	}
	if err != nil {
		return diag.WithHint(fmt.Errorf("build the handlers: there is no %s in the PATH", command[0]), "install Node.js with npm: https://nodejs.org")
	}
	own, err := b.t.ToolEnviron()
	if err != nil {
		return err
	}
	b.t.Note("%s\n", shown)
	done := b.t.Doing("Building the handlers")
	cmd := exec.CommandContext(ctx, program, command[1:]...)
	cmd.Dir, cmd.Env = b.p.Dir, own
	lambda.EndWithDescendants(cmd)
	output, err := cmd.CombinedOutput()
	done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = &ToolError{fmt.Errorf("the handlers failed to build (%w):\n%s", err, strings.TrimRight(string(output), "\n"))}
		if advice := cmp.Or(b.sharedAdvice(output), typeScriptAdvice(output)); advice != "" {
			return diag.WithHint(err, "%s", advice)
		}
		return err
	}
	return nil
}
