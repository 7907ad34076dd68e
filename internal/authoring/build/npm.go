package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// lockfile is the file with the versions of the libraries that npm keeps to, "" without one.
func (b *typeScriptBuild) lockfile() string {
	for _, name := range []string{"npm-shrinkwrap.json", "package-lock.json"} {
		if files.Exists(b.p.Path(name)) {
			return name
		}
	}
	return ""
}

// libraries is the checksum of what decides about the libraries.
func (b *typeScriptBuild) libraries(more string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\n", more)
	for _, name := range []string{packageFile, b.lockfile(), ".npmrc"} {
		if name == "" || !files.Exists(b.p.Path(name)) {
			continue
		}
		data, err := document.ReadFile(b.p.Path(name), 64<<20)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", b.p.Name(name), err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// missing is a library that is not installed, "" if all are.
func (b *typeScriptBuild) missing() string {
	for _, list := range []map[string]string{b.manifest.Dependencies, b.manifest.DevDependencies} {
		for name := range list {
			if filepath.IsLocal(name) && b.resolve(name) == "" && b.manifest.OptionalDependencies[name] == "" {
				return name
			}
		}
	}
	return ""
}

// install makes sure that node_modules is what package.json and the lockfile say. Libraries that
// the author, or another program than npm, has installed are taken as they are.
func (b *typeScriptBuild) install(ctx context.Context, noBuild bool) error {
	sum, err := b.libraries("")
	if err != nil {
		return err
	}
	missing := b.missing()
	if missing == "" && (b.noted("installed", sum) || b.upToDate()) {
		return nil
	}
	switch {
	case noBuild && missing == "":
		b.t.Note("warning: %s was changed after its libraries were installed\n", b.p.Name(packageFile))
		return nil
	case noBuild:
		return diag.WithHint(fmt.Errorf("the libraries of %s are not installed: %s is missing", b.p.Name(packageFile), missing), "leave out --no-build, and cfn installs them")
	}
	for lock, command := range map[string]string{"yarn.lock": "yarn install", "pnpm-lock.yaml": "pnpm install", "bun.lock": "bun install"} {
		if b.lockfile() == "" && files.Exists(b.p.Path(lock)) {
			if missing == "" {
				return nil
			}
			return diag.WithHint(fmt.Errorf("the libraries of %s are not installed: %s is missing, and %s is not a lockfile of npm", b.p.Name(packageFile), missing, lock), "run %s", command)
		}
	}
	if info, err := os.Lstat(b.p.Path("node_modules")); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if missing == "" {
			return nil
		}
		return diag.WithHint(fmt.Errorf("the libraries of %s are not installed: %s is missing, and node_modules is a link: npm would remove what others use", b.p.Name(packageFile), missing),
			"install them where the link leads, or remove the link")
	}
	command := "install"
	if b.lockfile() != "" {
		command = "ci" // keeps the lockfile
	}
	if err := b.npmInstall(ctx, b.p.Dir, command, "--include=dev", "--include=optional"); err != nil {
		return err
	}
	if sum, err = b.libraries(""); err != nil { // npm install has written a lockfile
		return err
	}
	return b.note("installed", sum)
}

// upToDate reports whether npm has installed the libraries after the last change, or another
// program has installed them.
func (b *typeScriptBuild) upToDate() bool {
	installed, err := os.Stat(b.p.Path("node_modules/.package-lock.json"))
	if err != nil {
		return true
	}
	for _, name := range []string{packageFile, b.lockfile()} {
		if info, err := os.Stat(b.p.Path(name)); name != "" && err == nil && info.ModTime().After(installed.ModTime()) {
			return false
		}
	}
	return true
}

// warnOfCopies warns of two copies of the library that turns requests into models: what one
// knows about the models, the other does not.
func (b *typeScriptBuild) warnOfCopies() {
	second := filepath.Join("node_modules", "@amazon-web-services-cloudformation", "cloudformation-cli-typescript-lib", "node_modules", "class-transformer")
	if files.Exists(b.p.Path(filepath.ToSlash(second))) {
		b.t.Note("warning: class-transformer is installed twice, in the version of %s and in that of cloudformation-cli-typescript-lib: models in requests will be empty\n"+
			"hint: set \"class-transformer\": \"^0.5.1\" for version 1.0.6 of the library, or the library to \"1.0.5\" for 0.3.1, and run npm install\n", b.p.Name(packageFile))
	}
}

// unfit matches what npm ci prints if the lockfile does not fit package.json.
var unfit = lazyregexp.New(`can only install (packages )?(when|with)|are in sync`)

// npmInstall runs npm ci or npm install in a folder. Lockfiles of many public projects lack libraries, which npm ci
// refuses; npm install, which SAM uses, takes from such a lockfile what it has.
func (b *typeScriptBuild) npmInstall(ctx context.Context, dir, command string, args ...string) error {
	err := b.npm(ctx, dir, append([]string{command}, args...)...)
	if err == nil || command != "ci" || !unfit.MatchString(err.Error()) {
		return err
	}
	b.t.Note("warning: %s does not fit %s, so not all versions are fixed; run npm install, and keep the new %[1]s\n", b.p.Name(b.lockfile()), b.p.Name(packageFile))
	return b.npm(ctx, dir, append([]string{"install", "--no-save"}, args...)...)
}

// npm runs npm in a folder. What it needs is taken from its cache before the network.
func (b *typeScriptBuild) npm(ctx context.Context, dir string, args ...string) error {
	b.t.Note("npm %s\n", strings.Join(args, " "))
	done := b.t.Doing("Installing the libraries of %s", b.p.Name(packageFile))
	defer done()
	source := "--prefer-offline"
	if b.silentRegistry(ctx, dir) {
		source = "--offline"
	}
	_, err := b.runNpm(ctx, dir, append(args, source, "--no-audit", "--no-fund", "--loglevel=error")...)
	return err
}

// registryPatience is how long a registry may take to answer anything at all. Tests change it.
var registryPatience = 15 * time.Second

// silentRegistry reports whether the registry does not answer at all. npm would wait for each package,
// one after the other; a registry that cannot be reached, or that refuses, is reported by npm at once.
func (b *typeScriptBuild) silentRegistry(ctx context.Context, dir string) bool {
	out, err := b.runNpm(ctx, dir, "config", "get", "registry", "https-proxy", "proxy")
	if err != nil {
		return false // npm says why in its own words
	}
	set := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[name] = strings.TrimSpace(value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, name := range []string{"proxy", "https-proxy"} {
		proxy, err := url.Parse(set[name])
		if err == nil && proxy.Host != "" && (name == "proxy" || strings.HasPrefix(set["registry"], "https:")) {
			transport.Proxy = http.ProxyURL(proxy)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodHead, set["registry"], nil)
	if err != nil {
		return false
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		_ = response.Body.Close() // it has none
	}
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// runNpm runs npm and returns what it prints on standard output.
func (b *typeScriptBuild) runNpm(ctx context.Context, dir string, args ...string) ([]byte, error) {
	npm, err := b.t.lookPath("npm")
	if err != nil {
		return nil, diag.WithHint(errors.New("there is no npm in the PATH, which installs the libraries of handlers in TypeScript"),
			"install Node.js with npm: https://nodejs.org, or the packages nodejs and npm of your system")
	}
	own, err := b.t.ToolEnviron()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, npm, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(b.npmLimits(), own, []string{"npm_config_update_notifier=false"})
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	lambda.EndWithDescendants(cmd)
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, npmError(args[0], err, errs.String()+out.String())
	}
	return []byte(out.String()), nil
}

// npmLimits are the settings of npm for an unstable network, unless the author has set them: by itself, it would
// try for minutes.
func (b *typeScriptBuild) npmLimits() []string {
	files := []string{b.p.Path(".npmrc"), b.t.Getenv("npm_config_userconfig"), filepath.Join(b.t.Home, ".npmrc")}
	return unset(files, "fetch-retries", "npm_config_fetch_retries=1", "fetch-retry-mintimeout", "npm_config_fetch_retry_mintimeout=1000", "fetch-timeout", "npm_config_fetch_timeout=30000")
}

// unset returns the variables whose settings are in none of the files: settings and variables alternate.
func unset(files []string, settings ...string) (variables []string) {
	var text []byte
	for _, name := range files {
		if data, err := document.ReadFile(name, 1<<20); err == nil {
			text = append(append(text, '\n'), data...)
		}
	}
	for i := 0; i < len(settings); i += 2 {
		if !regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(settings[i]) + `\s*[=:]`).Match(text) {
			variables = append(variables, settings[i+1])
		}
	}
	return variables
}

// npmFailures say what to do about failures of npm, by what it prints.
var npmFailures = []struct {
	pattern *lazyregexp.Regexp
	hint    string
}{
	{unfit, "package-lock.json does not fit package.json: run npm install, and keep the new package-lock.json"},
	{lazyregexp.New(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET|FETCH_ERROR|network`), "npm reached no registry: connect once, or name a mirror with npm_config_registry or in .npmrc"},
	{lazyregexp.New(`E401|E403|ENEEDAUTH`), "the registry refuses: log in with npm login, or correct .npmrc"},
	{lazyregexp.New(`E404|ETARGET|notarget`), "check the name and the version in package.json"},
	{lazyregexp.New(`ERESOLVE`), "the libraries contradict each other: change their versions in package.json, or set legacy-peer-deps=true in .npmrc"},
	{lazyregexp.New(`gyp ERR|node-gyp|not found: make`), "a library has to be compiled: install a C++ compiler, make and Python, or use a version that is built for this Node.js"},
	{lazyregexp.New(`EBADENGINE|Unsupported engine`), "a library does not support this Node.js: put the one of the runtime into the PATH, or use another version of the library"},
	{lazyregexp.New(`EJSONPARSE`), "correct package.json"},
}

func npmError(command string, err error, output string) error {
	output = strings.TrimRight(output, "\n")
	failure := &ToolError{fmt.Errorf("npm %s failed (%w):\n%s", command, err, output)}
	for _, row := range npmFailures {
		if row.pattern.MatchString(output) {
			return diag.WithHint(failure, "%s", row.hint)
		}
	}
	return failure
}
