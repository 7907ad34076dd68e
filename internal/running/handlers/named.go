package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

// FunctionKind is the kind of functions that are not handlers of a type.
const FunctionKind schema.Kind = "FUNCTION"

// DeployedKind is the kind of functions that stacks have deployed.
const DeployedKind schema.Kind = "LAMBDA"

// isFunction reports whether a spec is a function that is not the handler of a type.
func isFunction(s bundle.Spec) bool { return s.Kind == FunctionKind || s.Kind == DeployedKind }

// A Named function is not the handler of a type. It exists in every account and region, with
// separate processes in each.
type Named struct {
	Name string
	Path string // a folder or a program; "" if it is at URL
	URL  string // of a Lambda Invoke API

	// Alone is set if the function sees a copy of its file only: the folder has more than handlers may see.
	Alone bool
}

// String is the text that ParseNamed reads.
func (n Named) String() string { return n.Name + "=" + n.Path + n.URL }

var namedForm = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// IsFunctionName reports whether a function may have the name.
func IsFunctionName(name string) bool { return namedForm.MatchString(name) }

// FunctionLogGroup is the log group of a function, here and on Lambda.
func FunctionLogGroup(name string) string { return "/aws/lambda/" + name }

// ParseAllNamed reads functions as ParseNamed does. No two have the same name.
func ParseAllNamed(texts []string, dir string) ([]Named, error) {
	var out []Named
	for _, text := range texts {
		n, err := ParseNamed(text, dir)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other Named) bool { return other.Name == n.Name }) {
			return nil, fmt.Errorf("function %s: duplicate name", n.Name)
		}
		out = append(out, n)
	}
	return out, nil
}

// ParseNamed reads NAME=DIR, NAME=BINARY or NAME=URL. A relative path is one below dir. The
// error says what is wrong with the text or with what it names.
func ParseNamed(text, dir string) (Named, error) {
	name, source, found := strings.Cut(text, "=")
	switch {
	case !found || source == "":
		return Named{}, fmt.Errorf("function %q: expected NAME=DIR, NAME=BINARY or NAME=URL", text)
	case !namedForm.MatchString(name):
		return Named{}, fmt.Errorf("function %q: expected a name of 1 to 64 letters, digits, hyphens and underscores", name)
	}
	if strings.Contains(source, "://") {
		at, err := url.Parse(source)
		switch {
		case err != nil || at.Host == "" || at.Scheme != "http":
			return Named{}, fmt.Errorf("function %s: expected the URL of a Lambda Invoke API, such as http://127.0.0.1:3001", name)
		case at.User != nil || at.RawQuery != "":
			return Named{}, fmt.Errorf("function %s: the URL must not have a user, password or query", name)
		}
		return Named{Name: name, URL: source}, nil
	}
	if !filepath.IsAbs(source) {
		source = filepath.Join(dir, source)
	}
	n := Named{Name: name, Path: filepath.Clean(source)}
	_, err := n.code()
	return n, err
}

// remotePath is the path of a URL that names the function itself.
var remotePath = lazyregexp.New(`/2015-03-31/functions/([^/]+)/invocations/?$`)

// Confined is the function as processes with these settings see it. A folder with more than handlers may see is an error,
// and of a file in it, they see a copy.
func (n Named) Confined(settings sandbox.Settings) (Named, error) {
	if n.URL != "" {
		return n, nil
	}
	err := settings.CheckCode(n.folderOf())
	if err == nil {
		return n, nil
	}
	var much *sandbox.TooMuchError
	if n.folderOf() == n.Path || !errors.As(err, &much) {
		return n, fmt.Errorf("function %s: %w", n.Name, err)
	}
	n.Alone = true
	return n, nil
}

// Shows is a sentence about what a function sees whose file was named, "" for other functions.
func (n Named) Shows() string {
	dir := n.folderOf()
	switch {
	case n.URL != "" || dir == n.Path:
		return ""
	case n.Alone:
		return fmt.Sprintf("function %s sees only %s of %s, since handlers must not see the rest: move it to a folder of its own to add files", n.Name, filepath.Base(n.Path), dir)
	}
	return fmt.Sprintf("function %s sees all files in %s, the folder of %s", n.Name, dir, filepath.Base(n.Path))
}

// folderOf is the folder of a function on this machine, of which it sees all files.
func (n Named) folderOf() string {
	if info, err := os.Stat(n.Path); err == nil && !info.IsDir() {
		return filepath.Dir(n.Path)
	}
	return n.Path
}

// endpoint is the address of the Invoke API, and the name that the function has there.
func (n Named) endpoint() (address, function string) {
	if m := remotePath.FindStringSubmatchIndex(n.URL); m != nil {
		return n.URL[:m[0]], n.URL[m[2]:m[3]]
	}
	return n.URL, n.Name
}

// namedCode is how a named function runs.
type namedCode struct {
	dir, runtime, entrypoint string
}

// languages are the sources that a function may have, by extension.
var languages = map[string]struct {
	runtime, handler string
	exports          *lazyregexp.Regexp // the names of functions that may be the handler
}{
	".py":  {"python3", "lambda_handler", lazyregexp.New(`(?m)^(?:async )?(?:def )?(lambda_handler|handler)\s*[(=]`)},
	".js":  {"nodejs", "handler", scriptExports},
	".cjs": {"nodejs", "handler", scriptExports},
	".mjs": {"nodejs", "handler", scriptExports},
}

var scriptExports = lazyregexp.New(`(?m)(?:exports\.|^export\s+(?:const|let|var|function|async\s+function)\s+|\bexport\s*\{[^}]*?)(handler|lambdaHandler)\b`)

// modules are the usual names of the source with the handler, the first ones first.
var modules = []string{"lambda_function", "index", "app", "handler", "main", "macro"}

const (
	maxSources = 5000    // files of a folder that are looked at
	maxSource  = 1 << 20 // bytes of a source that is searched for its handler
)

// code finds out how the function runs: by the file bootstrap in its folder, by the one
// source with a handler, or as a program.
func (n Named) code() (namedCode, error) {
	info, err := os.Stat(n.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return namedCode{}, fmt.Errorf("function %s: %s does not exist", n.Name, n.Path)
	case err != nil:
		return namedCode{}, fmt.Errorf("function %s: %w", n.Name, err)
	case info.Mode().IsRegular():
		dir, file := filepath.Split(n.Path)
		if _, source := languages[filepath.Ext(file)]; source {
			return n.source(dir, file)
		}
		return namedCode{filepath.Clean(dir), "go1.x", file}, nil
	case !info.IsDir():
		return namedCode{}, fmt.Errorf("function %s: %s is not a folder or a regular file", n.Name, n.Path)
	}
	if boot, err := os.Stat(filepath.Join(n.Path, "bootstrap")); err == nil && boot.Mode().IsRegular() {
		return namedCode{n.Path, "provided.al2023", "bootstrap"}, nil
	}
	return n.folder()
}

// folder finds the source of a function among the files of its folder.
func (n Named) folder() (namedCode, error) {
	dir, err := os.Open(n.Path)
	if err != nil {
		return namedCode{}, fmt.Errorf("function %s: %w", n.Name, err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	entries, err := dir.ReadDir(maxSources)
	if err != nil && len(entries) == 0 {
		return namedCode{}, fmt.Errorf("function %s: the folder %s is empty", n.Name, n.Path)
	}
	candidates := map[string]namedCode{}
	var names []string
	for _, entry := range entries {
		if _, source := languages[filepath.Ext(entry.Name())]; !source || !entry.Type().IsRegular() {
			continue
		}
		if code, err := n.source(n.Path, entry.Name()); err == nil {
			candidates[entry.Name()] = code
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	for _, module := range modules {
		for _, name := range names {
			if strings.TrimSuffix(name, filepath.Ext(name)) == module {
				return candidates[name], nil
			}
		}
	}
	switch len(names) {
	case 1:
		return candidates[names[0]], nil
	case 0:
		hint := "expected the program bootstrap, or a source in Python or JavaScript with the function handler or lambda_handler"
		if _, err := os.Stat(filepath.Join(n.Path, "go.mod")); err == nil {
			hint = "build the Go program first: CGO_ENABLED=0 go build -o bootstrap"
		}
		return namedCode{}, fmt.Errorf("function %s: no handler found in %s; %s", n.Name, n.Path, hint)
	}
	return namedCode{}, fmt.Errorf("function %s: several files of %s have a handler (%s); pass one of them", n.Name, n.Path, strings.Join(names, ", "))
}

// source is a function that is one source.
func (n Named) source(dir, file string) (namedCode, error) {
	path := filepath.Join(dir, file)
	f, err := files.Open(path)
	if err != nil {
		return namedCode{}, fmt.Errorf("function %s: %w", n.Name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return namedCode{}, fmt.Errorf("function %s: %w", n.Name, err)
	}
	extension := filepath.Ext(file)
	language := languages[extension]
	match := language.exports.FindSubmatch(text)
	if match == nil {
		return namedCode{}, fmt.Errorf("function %s: %s has no function called %s", n.Name, path, language.handler)
	}
	return namedCode{filepath.Clean(dir), language.runtime, strings.TrimSuffix(file, extension) + "." + string(match[1])}, nil
}

// named is the spec of a named function in a place, and false if it does not exist.
func (p *Pool) named(ctx context.Context, spec bundle.Spec) (bundle.Spec, bool, error) {
	n, found := p.functions[spec.TypeName]
	if !found {
		return bundle.Spec{}, false, nil
	}
	spec.Kind, spec.Version = FunctionKind, "$LATEST"
	if n.URL != "" {
		spec.Package = n.fingerprint(ctx, namedCode{runtime: "remote"})
		return spec, true, nil
	}
	code, err := n.code()
	if err != nil {
		return bundle.Spec{}, true, err
	}
	spec.Package, spec.Runtime, spec.Entrypoint = n.fingerprint(ctx, code), code.runtime, code.entrypoint
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, e := range p.entries {
		if s.Place == spec.Place && s.Kind == FunctionKind && s.TypeName == spec.TypeName && s.Package != spec.Package {
			p.drop(e)
		}
	}
	return spec, true, nil
}

// deployed is the spec of a version of a function that a stack has deployed, false if it does
// not exist. Processes of what it was before end when they are idle.
func (p *Pool) deployed(ctx context.Context, place awswire.Place, name, qualifier string) (bundle.Spec, bool, error) {
	if p.config.Deployed == nil {
		return bundle.Spec{}, false, nil
	}
	d, err := p.config.Deployed.Deployed(ctx, place, name, qualifier)
	if err != nil || d == nil {
		return bundle.Spec{}, false, err
	}
	spec := bundle.Spec{
		Place: place, Kind: DeployedKind, TypeName: name, Version: d.Version, Package: d.Revision,
		Runtime: d.Runtime, Entrypoint: d.Handler, LogGroup: d.LogGroup, Role: d.Role,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, e := range p.entries {
		if s.Place == place && s.Kind == DeployedKind && s.TypeName == name && s.Version == d.Version && s != spec {
			p.drop(e)
		}
	}
	return spec, true, nil
}

// deployment finds the deployment of a spec again, and the folder with its code.
func (p *Pool) deployment(ctx context.Context, spec bundle.Spec) (d *functions.Deployment, dir string, err error) {
	d, err = p.config.Deployed.Deployed(ctx, spec.Place, spec.TypeName, spec.Version)
	if err == nil && (d == nil || d.Revision != spec.Package) {
		err = fmt.Errorf("start the function %s: it was changed or deleted in the meantime", spec.TypeName)
	}
	if err == nil && d.Unrun != "" {
		err = &lambda.RefusedError{Status: http.StatusBadGateway, Code: "InvalidRuntimeException", Message: "cfn serve does not run the function " + spec.TypeName + ": " + d.Unrun}
	}
	if err == nil {
		dir, err = p.config.Deployed.Unpacked(ctx, d.CodeHash)
	}
	return d, dir, err
}

// addLayers lets processes find the layers of a function: the languages by their search paths, and all files at /opt, where there
// is a sandbox.
func (p *Pool) addLayers(ctx context.Context, config *lambda.Config, d *functions.Deployment) error {
	if len(d.Layers) == 0 {
		return nil
	}
	dir, err := p.config.Deployed.Unpacked(ctx, d.Layers...)
	if err != nil {
		return err
	}
	config.Runtime.Files, config.Runtime.Opt = append(config.Runtime.Files, dir), dir
	node, _, _ := strings.Cut(d.Runtime, ".")
	for _, searched := range [][]string{
		{"LD_LIBRARY_PATH", "lib"},
		{"NODE_PATH", "nodejs/" + strings.Replace(node, "nodejs", "node", 1) + "/node_modules", "nodejs/node_modules"},
		{"PYTHONPATH", "python", "python/lib/" + d.Runtime + "/site-packages"},
	} {
		name, paths := searched[0], []string{}
		for _, folder := range searched[1:] {
			if path := filepath.Join(dir, filepath.FromSlash(folder)); isFolder(path) {
				paths = append(paths, path)
			}
		}
		for _, entry := range config.Env { // what the function itself sets counts, too
			if value, set := strings.CutPrefix(entry, name+"="); set && len(paths) > 0 {
				paths = append(paths, value)
			}
		}
		if len(paths) > 0 {
			config.Env = append(config.Env, name+"="+strings.Join(paths, string(filepath.ListSeparator)))
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// code is the unpacked code of a spec.
func (p *Pool) code(ctx context.Context, spec bundle.Spec) (*bundle.Code, error) {
	if spec.Kind == FunctionKind {
		dir, err := p.folderOf(p.functions[spec.TypeName])
		return &bundle.Code{Dir: dir}, err
	}
	code, err := p.cache.Get(ctx, spec.Package, func(ctx context.Context) (*bundle.Bundle, func(), error) {
		return p.open(ctx, spec)
	})
	if err != nil {
		return nil, fmt.Errorf("unpack the handler of %s: %w", spec.TypeName, err)
	}
	return code, nil
}

// maxAlone bounds the file of a function that is copied.
const maxAlone = 250 << 20

// folderOf is the folder that processes of a named function see: its own, or one with a copy of its file.
func (p *Pool) folderOf(n Named) (string, error) {
	if !n.Alone {
		return n.folderOf(), nil
	}
	data, err := document.ReadFile(n.Path, maxAlone)
	if err != nil {
		return "", fmt.Errorf("function %s: %w", n.Name, err)
	}
	dir := filepath.Join(p.config.Dir, "alone", n.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("function %s: copy its file: %w", n.Name, err)
	}
	if err := files.Put(dir, filepath.Join(dir, filepath.Base(n.Path)), data, 0o755); err != nil {
		return "", fmt.Errorf("function %s: copy its file: %w", n.Name, err)
	}
	return dir, nil
}
