package codegen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// javaFrame is what the templates of Java know.
type javaFrame struct {
	Marker, Package, TypeName, SchemaFile string

	Class, Parent string // of an entry point
	Hook          bool
	Lambda        bool // whether it is the one for Lambda
	Configured    bool // whether there is a type configuration
	MaxResults    bool // whether the library passes the size of a page
	Handlers      []javaHandler
	Targets       []javaTargetFrame
	Operation     javaHandler
	API           *javaAPI // nil unless handlers call an API

	Group, Artifact, Folder, Entrypoint, TestEntrypoint, Runtime string // of a new project
}

type javaHandler struct {
	Name, Action string
	Target       string // of a hook: the class of a target
}

type javaTargetFrame struct{ TypeName, File string }

// JavaNamespace is the package of handlers in Java: that of the settings, or the official default.
func JavaNamespace(typeName string) string {
	parts := strings.Split(strings.ToLower(typeName), "::")
	first := []string{"com"}
	if parts[0] == "aws" {
		first, parts = []string{"software", "amazon"}, parts[1:]
	}
	all := append(first, parts...)
	for i, part := range all {
		all[i] = javaSafe(part)
	}
	return strings.Join(all, ".")
}

// javaSafe is a part of a package, with "_" where it is a keyword or begins with a digit.
func javaSafe(part string) string {
	if slices.Contains(javaKeywords, part) {
		return part + "_"
	}
	return javaWord(part)
}

var javaNamespacePattern = lazyregexp.New(`^[_a-z][_a-z0-9]*(\.[_a-z][_a-z0-9]*)*$`)

// JavaNamespaceFault describes why a text cannot be a package, "" if it can.
func JavaNamespaceFault(namespace string) string {
	if !javaNamespacePattern.MatchString(namespace) {
		return "a package has lower-case letters, digits and _, in parts that are separated by dots and begin with a letter or _"
	}
	for _, part := range strings.Split(namespace, ".") {
		if slices.Contains(javaKeywords, part) {
			return fmt.Sprintf("%q is a keyword of Java", part)
		}
	}
	return ""
}

// prepareJava has the official defaults of projects in Java.
func prepareJava(in *Input) error {
	in.Namespace = cmp.Or(in.Namespace, JavaNamespace(in.TypeName))
	if fault := JavaNamespaceFault(in.Namespace); fault != "" {
		return fmt.Errorf("generate sources of %s: the namespace %q is not a package: %s", in.TypeName, in.Namespace, fault)
	}
	class := JavaEntryClass(in.Schema.Kind)
	in.Entrypoint = cmp.Or(in.Entrypoint, in.Namespace+"."+class+"::handleRequest")
	in.Runtime = cmp.Or(in.Runtime, "java17")
	return nil
}

// JavaEntryClass is the class that Lambda calls.
func JavaEntryClass(kind schema.Kind) string {
	if kind == schema.Hook {
		return "HookHandlerWrapper"
	}
	return "HandlerWrapper"
}

// javaLibrary finds the version of the official library in pom.xml.
var javaLibrary = lazyregexp.New(`<artifactId>\s*aws-cloudformation-rpdk-java-plugin\s*</artifactId>\s*<version>\s*(([0-9]+)\.([0-9]+)(?:\.([0-9]+))?)\s*</version>`)

// libraryHas reports whether pom.xml takes a version of the library from which on it has something. A range
// has, and so has a version that a variable names.
func libraryHas(pom []byte, major, minor, patch int) bool {
	m := javaLibrary.FindSubmatch(pom)
	if m == nil {
		return true
	}
	var have [3]int
	for i := range have {
		have[i], _ = strconv.Atoi(string(m[i+2])) // digits, or nothing for zero
	}
	return slices.Compare(have[:], []int{major, minor, patch}) >= 0
}

// JavaLibraryFault describes why no sources can be generated for the library in a pom.xml, with its name and line;
// "" if they can. The official plug-in refuses versions before 2.0.0, too.
func JavaLibraryFault(name string, pom []byte) string {
	if libraryHas(pom, 2, 0, 0) {
		return ""
	}
	at := javaLibrary.FindSubmatchIndex(pom)
	return fmt.Sprintf("%s:%d: aws-cloudformation-rpdk-java-plugin %s is too old", name, 1+bytes.Count(pom[:at[2]], []byte("\n")), pom[at[2]:at[3]])
}

// javaProject writes a project for the library of the official Java plug-in, with its files and names:
// https://central.sonatype.com/artifact/software.amazon.cloudformation/aws-cloudformation-rpdk-java-plugin.
func javaProject(in Input) ([]File, error) {
	f := javaFrame{
		Marker: marker, Package: in.Namespace, TypeName: in.TypeName, SchemaFile: in.SchemaFile,
		Configured: in.Schema.TypeConfiguration != nil, MaxResults: libraryHas(in.Pom, 2, 2, 2), Handlers: javaHandlers(in.Schema),
	}
	if in.Binding != nil {
		calls, err := javaAPIOf(in)
		if err != nil {
			return nil, err
		}
		f.API = calls
	}
	hook := in.Schema.Kind == schema.Hook
	class := JavaEntryClass(in.Schema.Kind)
	base, rows := "", []string{"BaseConfiguration", "BaseHandler"}
	roots := []javaRoot{
		{schema: in.Schema, class: "ResourceModel", doc: "The properties of " + in.TypeName + ".", kind: javaResource},
		{schema: in.Schema.TypeConfiguration, class: "TypeConfigurationModel", doc: "What is set once for " + in.TypeName + " in an account and region."},
	}
	if hook {
		base, rows = "Hook", []string{"BaseHookConfiguration", "BaseHookHandler"}
		roots[0] = javaRoot{schema: in.Schema, class: "HookInputModel", kind: javaHook}
		if in.Schema.Root.Get("properties") == nil {
			roots = roots[1:] // as in the official models
		}
		for _, target := range in.Targets {
			f.Targets = append(f.Targets, javaTargetFrame{target.TypeName.Value, javaTargetFile(target.TypeName.Value)})
		}
	}
	if f.API != nil {
		roots[0].beside = javaClient(f.API)
	}
	p := &project{files: javaModels(in.Namespace, newReader(in.Schema), roots...)}
	for _, name := range rows {
		p.javaClass(name, name, f)
	}
	f.Class, f.Parent, f.Lambda = class, base+"LambdaWrapper", true
	p.javaClass(class, f.Class, f)
	if libraryHas(in.Pom, 2, 0, 3) {
		f.Class, f.Parent, f.Lambda = class+"Executable", base+"ExecutableWrapper", false
		p.javaClass(class, f.Class, f)
	}
	if hook {
		p.javaTargets(in)
	}
	p.javaAuthored(in, f)
	return p.files, p.err
}

// javaClass adds a generated class.
func (p *project) javaClass(template, name string, f javaFrame) {
	p.fillAll(f, row{"java/" + template + ".java", javaPath(f.Package, name), Generated})
}

// JavaFolder is the folder with the handlers of a project in Java.
func JavaFolder(namespace string) string {
	return "src/main/java/" + strings.ReplaceAll(namespace, ".", "/")
}

// javaAuthored adds the files that "cfn init" writes for the author.
func (p *project) javaAuthored(in Input, f javaFrame) {
	f.Group, f.Artifact = in.Namespace, schema.Hyphenated(in.TypeName)+"-handler"
	f.Entrypoint, f.Runtime = in.Entrypoint, in.Runtime
	class, _, _ := strings.Cut(in.Entrypoint, "::")
	f.TestEntrypoint = class + "::testEntrypoint"
	f.Folder = JavaFolder(in.Namespace)
	f.Hook = in.Schema.Kind == schema.Hook
	add := func(template, path string) { p.fillAll(f, row{"java/" + template + ".java", path, Once}) }
	for _, file := range []string{".gitignore", "pom.xml", "lombok.config", "README.md", "template.yml"} {
		add(strings.TrimPrefix(file, "."), file)
	}
	add("log4j2.xml", "src/resources/log4j2.xml")
	add("Configuration", f.Folder+"/Configuration.java")
	if !f.Hook {
		p.put(exampleInputs(in.Schema)...)
	}
	if f.API != nil {
		p.javaCalls(in, f)
		return
	}
	add("CallbackContext", f.Folder+"/CallbackContext.java")
	template, suffix := "Handler", "Handler.java"
	if f.Hook {
		template, suffix = "HookHandler", "HookHandler.java"
		for _, target := range in.Targets[:min(1, len(in.Targets))] {
			for _, part := range javaTargetParts(target.TypeName.Value) {
				f.Operation.Target += javaUpper(part)
			}
		}
	}
	for _, h := range f.Handlers {
		f.Operation.Name, f.Operation.Action = h.Name, h.Action
		add(template, f.Folder+"/"+h.Name+suffix)
	}
}

// javaHandlers are the handlers that a schema declares.
func javaHandlers(s *schema.Schema) []javaHandler {
	var out []javaHandler
	for _, h := range handlersOf(s) {
		action := strings.ToUpper(h.Name)
		if strings.HasPrefix(h.Name, "Pre") {
			action = javaLower(h.Name)
		}
		out = append(out, javaHandler{Name: h.Name, Action: action})
	}
	return out
}

// javaTargetFile is the schema of a hook's target among the resources of the jar.
func javaTargetFile(typeName string) string {
	return strings.Join(javaTargetParts(typeName), "-") + ".json"
}

func javaTargetParts(typeName string) []string {
	parts := strings.Split(strings.ToLower(typeName), "::")
	for i, part := range parts {
		parts[i] = javaSafe(part)
	}
	return parts
}

// javaTargets adds the models of the resource types that a hook evaluates, and their schemas.
func (p *project) javaTargets(in Input) {
	for _, target := range in.Targets {
		typeName := target.TypeName.Value
		parts := javaTargetParts(typeName)
		class := ""
		for _, part := range parts {
			class += javaUpper(part)
		}
		pkg := in.Namespace + ".model." + strings.Join(parts, ".")
		p.put(javaModels(pkg, newReader(target), javaRoot{
			schema: target, class: class, doc: "The properties of " + typeName + ".", raw: []string{"Tags"}, kind: javaTarget,
		})...)
		p.javaClass("TargetModel", class+"TargetModel", javaFrame{Marker: marker, Package: pkg, TypeName: typeName, Class: class})
		p.put(File{Path: "target/loaded-target-schemas/" + javaTargetFile(typeName), Data: selfContained(target), Mode: Generated})
	}
}
