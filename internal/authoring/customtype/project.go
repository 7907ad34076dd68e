package customtype

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

//go:embed templates
var templates embed.FS

// Code is the code of a provider.
type Code struct {
	Language string         // of the project: python, typescript or go
	Files    []codegen.File // with paths in the folder of the code
	Handler  string         // its module and function: index.handler; "" for a program in Go
	Read     string         // the function that reads a resource, likewise, in Go its name; "" for none
	Program  string         // the folder of a program in Go in its module
	Tags     string         // build tags of a program in Go, with commas between them
	Topic    bool           // a program in Go gets messages of SNS
}

// has reports whether the code has a file.
func (c *Code) has(name string) bool {
	return slices.ContainsFunc(c.Files, func(f codegen.File) bool { return f.Path == name })
}

// The modules that the code imports.
var (
	pythonImport = lazyregexp.New(`(?m)^\s*(?:from|import)\s+([A-Za-z_][A-Za-z0-9_]*)`)
	nodeImport   = lazyregexp.New(`(?:require\s*\(\s*|from\s+|import\s+|import\s*\(\s*)['"]((?:@[\w.-]+/)?[\w.-]+)`)
)

var nodeRelative = lazyregexp.New(`['"](\.{1,2}/[^'"\s]+)['"]`)

// Imported lists the files of a folder that a source in it imports, with all of a package in Python, and the list of its libraries.
func Imported(files fs.FS, name string, data []byte) (out []string) {
	var candidates []string
	switch dir := path.Dir(name); path.Ext(name) {
	case ".py":
		for _, m := range pythonImport.FindAllSubmatch(data, -1) {
			candidates = append(candidates, string(m[1])+".py")
			candidates = append(candidates, packageFiles(files, string(m[1]))...)
		}
		candidates = append(candidates, "requirements.txt")
	case ".js", ".mjs", ".cjs":
		for _, m := range nodeRelative.FindAllSubmatch(data, -1) {
			at := path.Join(dir, string(m[1]))
			candidates = append(candidates, at, at+".js", at+".mjs", at+".cjs", at+".json", at+"/index.js")
		}
		candidates = append(candidates, "package.json")
	}
	for _, candidate := range candidates {
		if info, err := fs.Lstat(files, candidate); err == nil && info.Mode().IsRegular() && !slices.Contains(out, candidate) {
			out = append(out, candidate)
		}
	}
	return out
}

// packageFiles are the sources of a package in Python.
func packageFiles(files fs.FS, folder string) (out []string) {
	_ = fs.WalkDir(files, folder, func(name string, _ fs.DirEntry, err error) error { // what cannot be read is not imported
		if err == nil && path.Ext(name) == ".py" {
			out = append(out, name)
		}
		return nil
	})
	return out
}

// imports are the names of the modules that the sources with an extension import.
func (c *Code) imports() map[string]bool {
	out := map[string]bool{}
	for _, f := range c.Files {
		of := nodeImport
		switch path.Ext(f.Path) {
		case ".py":
			of = pythonImport
		case ".js", ".mjs", ".cjs":
		default:
			continue
		}
		for _, m := range of.FindAllSubmatch(f.Data, -1) {
			out[string(m[1])] = true
		}
	}
	return out
}

// A frame is what the templates get.
type frame struct {
	TypeName, ResourceType, Package, Identifier, Handler, ReadFunction string
	Read, Topic                                                        bool
	Names, Attributes, Environment                                     map[string]string
	WriteOnly, Secrets                                                 []string
}

// frame is what the templates get of a type with this code.
func (d *Derived) frame(code *Code) frame {
	f := frame{
		TypeName: d.TypeName, ResourceType: d.of.Type, Package: codegen.PythonPackage(d.TypeName), Identifier: d.Identifier,
		Handler: code.Handler, ReadFunction: code.Read, Read: code.Read != "", Topic: code.Topic,
		Names: map[string]string{}, Attributes: map[string]string{}, Environment: map[string]string{},
		WriteOnly: append([]string{}, d.WriteOnly...), Secrets: append([]string{}, d.Secrets...),
	}
	for wire, name := range d.Names {
		if wire != name {
			f.Names[name] = wire
		}
	}
	for _, a := range d.attributes {
		f.Attributes[a.path] = a.wire
	}
	for _, v := range d.environment {
		f.Environment[v.name] = v.value
	}
	return f
}

// Adapt replaces the handlers of a new project by ones that call the code. It returns all files of the project.
func (d *Derived) Adapt(code *Code, files []codegen.File) ([]codegen.File, error) {
	f := d.frame(code)
	put := func(name string, data []byte) {
		i := slices.IndexFunc(files, func(f codegen.File) bool { return f.Path == name })
		if i < 0 {
			files = append(files, codegen.File{Path: name, Mode: codegen.Once})
			i = len(files) - 1
		}
		files[i].Data = data
	}
	get := func(name string) []byte {
		for _, f := range files {
			if f.Path == name {
				return f.Data
			}
		}
		return nil
	}
	var sources []string // rendered from the templates of the same names
	folder := "custom"
	switch code.Language {
	case "python":
		src := "src/" + f.Package
		sources = []string{src + "/handlers.py", src + "/custom_resource.py", src + "/custom_runner.py"}
		folder = src + "/custom"
		put("requirements.txt", requirements(get("requirements.txt"), code))
	case "go":
		sources = []string{"cmd/resource/resource.go", "cmd/resource/custom_resource.go", "cmd/resource/custom_program.go"}
		if !f.Read {
			sources = append(sources, "cmd/resource/custom_state.go")
			signer, err := codegen.GoSigner()
			if err != nil {
				return nil, err
			}
			put("cmd/resource/custom_sign.go", signer)
		}
		put("Makefile", buildProgram(get("Makefile"), code.Program, code.Tags))
	default:
		sources = []string{"src/handlers.ts", "src/custom-resource.ts", "custom-runner.cjs"}
		manifest, err := d.manifest(get("package.json"), code)
		if err != nil {
			return nil, err
		}
		put("package.json", manifest)
	}
	for _, name := range sources {
		data, err := render(code.Language+"/"+path.Base(name), f)
		if err != nil {
			return nil, err
		}
		put(name, data)
	}
	for _, file := range code.Files {
		put(folder+"/"+file.Path, file.Data)
	}
	if name, module := functions.ResponseModule(code.Language); code.imports()[strings.TrimSuffix(name, path.Ext(name))] && !code.has(name) && code.Language != "go" {
		put(folder+"/"+name, module)
	}
	return files, nil
}

// render fills in a template. Those of Go have names that the go command ignores, and are formatted.
func render(name string, f frame) ([]byte, error) {
	isGo := path.Ext(name) == ".go"
	file := "templates/" + name
	if isGo {
		file += ".tmpl"
	}
	text, err := templates.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out, err := codegen.Fill(name, string(text), f)
	if err == nil && isGo {
		out, err = format.Source(out)
	}
	return out, err
}

// pythonLibraries are libraries that custom resources use and that no Python has.
var pythonLibraries = []string{"crhelper", "requests", "urllib3"}

// nodeModules are the modules of Node.js.
var nodeModules = strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs http http2
	https inspector module net node os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url
	util v8 vm wasi worker_threads zlib`)

// requirements adds the libraries of the code to those of the project: those that its own file lists, else known ones that it imports.
func requirements(own []byte, code *Code) []byte {
	out := bytes.TrimRight(own, "\n")
	for _, f := range code.Files {
		if f.Path == "requirements.txt" {
			return append(append(append(out, '\n'), bytes.TrimSpace(f.Data)...), '\n')
		}
	}
	imports := code.imports()
	for _, name := range pythonLibraries {
		if imports[name] && !slices.ContainsFunc(code.Files, func(f codegen.File) bool { return f.Path == name+".py" || strings.HasPrefix(f.Path, name+"/") }) {
			out = append(out, "\n"+name...)
		}
	}
	return append(out, '\n')
}

// manifest adds the code and its libraries to package.json.
func (d *Derived) manifest(own []byte, code *Code) ([]byte, error) {
	root, problems := document.ParseJSON("package.json", own, document.Limits{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	packed := root.Get("files")
	if packed == nil {
		return nil, fmt.Errorf("package.json has no list of files")
	}
	packed.Items = append(packed.Items, document.NewString("custom"), document.NewString("custom-runner.cjs"))
	dependencies := root.Get("dependencies")
	for _, f := range code.Files {
		if f.Path != "package.json" {
			continue
		}
		theirs, problems := document.ParseJSON("package.json", f.Data, document.Limits{})
		if err := problems.Err(); err != nil {
			return nil, err
		}
		for _, m := range theirs.Get("dependencies").Distinct() {
			if dependencies.Get(m.Key) == nil && m.Value.Kind == document.String {
				dependencies.Set(m.Key, document.NewString(m.Value.Text))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(code.imports())) {
		module, _ := functions.ResponseModule(code.Language)
		switch {
		case slices.Contains(nodeModules, name), strings.HasPrefix(name, "."), name+".js" == module, dependencies.Get(name) != nil:
		case strings.HasPrefix(name, "@aws-sdk/"): // which the runtimes of Lambda have
			dependencies.Set(name, document.NewString("^3"))
		default:
			dependencies.Set(name, document.NewString("*"))
		}
	}
	return root.Indented("    "), nil
}
