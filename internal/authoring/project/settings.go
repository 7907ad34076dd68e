package project

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Settings are the contents of .rpdk-config.
type Settings struct {
	Kind     schema.Kind // RESOURCE where the file says nothing, as in old projects
	TypeName string

	Language             string // "" for modules
	Runtime              string // the Lambda runtime: "provided.al2023"
	Entrypoint           string // "" if null
	TestEntrypoint       string // Entrypoint where the file says nothing
	ExecutableEntrypoint string

	// Options are the members of "settings", in the order written; nil without any.
	Options *document.Value
}

// Option returns a text from "settings", "" if it is missing.
func (s *Settings) Option(name string) string {
	if v := s.Options.Get(name); v != nil && v.Kind == document.String {
		return v.Text
	}
	return ""
}

// TypeNamePattern is the regular expression that the names of a kind match, as the
// official tool quotes it.
func TypeNamePattern(kind schema.Kind) string {
	pattern := `^[a-zA-Z0-9]{2,64}::[a-zA-Z0-9]{2,64}::[a-zA-Z0-9]{2,64}`
	if kind == schema.Module {
		pattern += `::MODULE`
	}
	return pattern + `$`
}

// The names of types and of modules, compiled once: it takes longer than most requests.
var (
	typeNames   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(TypeNamePattern(schema.Resource)) })
	moduleNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(TypeNamePattern(schema.Module)) })
)

// ValidTypeName reports whether a type of the kind may be called name.
func ValidTypeName(kind schema.Kind, name string) bool {
	if kind == schema.Module {
		return moduleNames().MatchString(name)
	}
	return typeNames().MatchString(name)
}

// reserved are the first parts of type names that are not for everybody, in any case of letters, and
// whether types in them can be registered for the own account (user guide, "typeName" and the note in
// "Modeling resource types").
var reserved = map[string]bool{
	"alexa": true, "amazon": true, "amzn": true, "aws": true, "awsquickstart": true,
	"ask": false, "custom": false, "dev": false,
}

// A Namespace is the first part of a type name that is reserved. Types in it cannot be published.
type Namespace struct {
	Name    string
	Private bool // types in it can be registered for the own account
}

// ReservedNamespace reports whether the namespace of a type name is reserved.
func ReservedNamespace(typeName string) (Namespace, bool) {
	name, _, _ := strings.Cut(typeName, "::")
	private, is := reserved[strings.ToLower(name)]
	return Namespace{name, private}, is
}

// String says what the namespace is not for.
func (n Namespace) String() string {
	if n.Private {
		return fmt.Sprintf("the namespace %s is reserved: types in it can be registered for your own account, but not published", n.Name)
	}
	return fmt.Sprintf("the namespace %s is reserved: types in it cannot be registered", n.Name)
}

// retiredRuntimes are those with which Lambda makes no new functions.
var retiredRuntimes = []string{"go1.x", "java8", "nodejs10.x", "nodejs12.x", "nodejs14.x", "nodejs16.x", "nodejs18.x", "provided", "python2.7", "python3.6", "python3.7", "python3.8"}

// maxSettings is the official limit of .rpdk-config, counted on the form that Python's
// json.dumps gives it.
const maxSettings = 10 << 10

// ParseSettings reads and checks .rpdk-config. file is its name in messages. The settings
// are only of use without error-severity problems.
func ParseSettings(file string, data []byte) (*document.Value, Settings, diag.List) {
	return parseSettings(file, data, false)
}

// ParsePackagedSettings is ParseSettings for the .rpdk-config of a package. The registry
// registers packages whose settings have neither typeName nor language: it takes the name
// from the schema, and runs the handlers by runtime and entrypoint.
func ParsePackagedSettings(file string, data []byte) (*document.Value, Settings, diag.List) {
	return parseSettings(file, data, true)
}

func parseSettings(file string, data []byte, packaged bool) (*document.Value, Settings, diag.List) {
	root, problems := document.ParseJSON(file, data, document.Limits{Bytes: 1 << 20, Depth: 64})
	if root == nil {
		return nil, Settings{}, problems
	}
	c := &settingsCheck{file: file, root: root, packaged: packaged, problems: problems}
	settings := c.run()
	c.problems.Sort()
	return root, settings, c.problems
}

type settingsCheck struct {
	file     string
	root     *document.Value
	packaged bool // for the registry, not for a project's author
	problems diag.List
}

func (c *settingsCheck) add(id string, severity diag.Severity, at diag.Range, pointer, message, hint string) {
	c.problems.Add(diag.Problem{ID: "project/" + id, Severity: severity, At: at, Pointer: pointer, Message: message, Hint: hint})
}

func (c *settingsCheck) run() Settings {
	if c.root.Kind != document.Object {
		c.add("wrong-type", diag.Error, c.root.At, "", fmt.Sprintf("the settings are of type %s, not a JSON object", c.root.Kind), "cfn init writes valid settings")
		return Settings{}
	}
	if n := dumpedSize(c.root); n > maxSettings {
		c.add("too-large", diag.Error, diag.Range{File: c.file}, "", fmt.Sprintf("the settings have %d bytes, more than the limit of 10 KiB", n), "")
	}
	s := Settings{Kind: c.kind()}
	s.TypeName = c.text("typeName", !c.packaged, false)
	if s.TypeName != "" && !ValidTypeName(s.Kind, s.TypeName) {
		c.typeName(s)
	}
	if namespace, is := ReservedNamespace(s.TypeName); is && !c.packaged {
		c.add("namespace", diag.Warning, c.root.Get("typeName").At, "/typeName", namespace.String(), "use the name of your organization")
	}
	if s.Kind != schema.Module {
		s.Language = c.text("language", !c.packaged, false)
		if s.Language != "" && !c.packaged && !KnownLanguage(s.Language) {
			c.add("language", diag.Warning, c.root.Get("language").At, "/language", (&UnknownLanguageError{s.Language}).Error(), "cfn cannot generate code or start handlers for it, but it can call handlers at a Lambda endpoint")
		}
		s.Runtime = c.text("runtime", true, false)
		if slices.Contains(retiredRuntimes, s.Runtime) {
			c.add("runtime-retired", diag.Warning, c.root.Get("runtime").At, "/runtime", fmt.Sprintf("Lambda no longer supports new functions with the runtime %s", s.Runtime),
				"registration on AWS will fail: change to "+currentRuntime(s.Language))
		}
		s.Entrypoint = c.text("entrypoint", true, true)
		s.TestEntrypoint = c.text("testEntrypoint", false, true)
		if c.root.Member("testEntrypoint") == nil {
			s.TestEntrypoint = s.Entrypoint
		}
		s.ExecutableEntrypoint = c.text("executableEntrypoint", false, true)
	}
	if s.Kind == schema.Resource {
		c.object("canarySettings")
	}
	s.Options = c.object("settings")
	if s.Options != nil || c.root.Member("settings") == nil {
		c.protocol(s.Options)
	}
	return s
}

// kind reads artifact_type. The official tool takes every unknown word for a module.
func (c *settingsCheck) kind() schema.Kind {
	m := c.root.Member("artifact_type")
	if m == nil {
		return schema.Resource
	}
	kinds := []schema.Kind{schema.Resource, schema.Hook, schema.Module}
	if m.Value.Kind == document.String && slices.Contains(kinds, schema.Kind(m.Value.Text)) {
		return schema.Kind(m.Value.Text)
	}
	c.add("artifact-type", diag.Error, m.Value.At, "/artifact_type", "artifact_type is not a kind of extension", `write "RESOURCE", "HOOK" or "MODULE"`)
	return schema.Resource
}

// text reads a string. A key that must be there and is not, or is of another type, is a
// problem; null is a string's absence where nullable.
func (c *settingsCheck) text(key string, required, nullable bool) string {
	m := c.root.Member(key)
	switch {
	case m == nil && required:
		c.add("missing-key", diag.Error, c.root.At, "", fmt.Sprintf("the key %q is missing", key), "cfn init writes all required keys")
	case m == nil || m.Value.Kind == document.Null && nullable:
	case m.Value.Kind != document.String:
		c.add("wrong-type", diag.Error, m.Value.At, document.Pointer{key}.String(), fmt.Sprintf("%s is of type %s, not a string", key, m.Value.Kind), "")
	default:
		return m.Value.Text
	}
	return ""
}

func (c *settingsCheck) object(key string) *document.Value {
	m := c.root.Member(key)
	if m == nil {
		return nil
	}
	if m.Value.Kind != document.Object {
		c.add("wrong-type", diag.Error, m.Value.At, document.Pointer{key}.String(), fmt.Sprintf("%s is of type %s, not an object", key, m.Value.Kind), "")
		return nil
	}
	return m.Value
}

func (c *settingsCheck) typeName(s Settings) {
	hint := schema.TypeNameFault(s.Kind, s.TypeName)
	if s.Kind != schema.Module && ValidTypeName(schema.Module, s.TypeName) {
		hint = `names that end in ::MODULE belong to modules: write "artifact_type": "MODULE"`
	}
	c.add("type-name", diag.Error, c.root.Get("typeName").At, "/typeName", fmt.Sprintf("%q is not a type name of a %s", s.TypeName, strings.ToLower(string(s.Kind))), hint)
}

func (c *settingsCheck) protocol(options *document.Value) {
	const upgrade = `write "protocolVersion": "2.0.0" in "settings"`
	v := options.Get("protocolVersion")
	switch {
	case v == nil:
		at := diag.Range{File: c.file}
		if options != nil {
			at = c.root.Member("settings").KeyAt
		}
		c.add("protocol-version", diag.Warning, at, "", "protocolVersion is missing: registration will use version 1.0.0", upgrade)
	case v.Kind != document.String || v.Text != "1.0.0" && v.Text != "2.0.0":
		c.add("protocol-version", diag.Error, v.At, "/settings/protocolVersion", `protocolVersion is neither "1.0.0" nor "2.0.0"`, upgrade)
	}
}

// dumpedSize is the length that Python's json.dumps gives a value: ", " and ": " between
// its parts, everything outside of ASCII as \u escapes.
func dumpedSize(v *document.Value) int {
	switch v.Kind {
	case document.Array:
		n := 2 + 2*max(0, len(v.Items)-1)
		for _, item := range v.Items {
			n += dumpedSize(item)
		}
		return n
	case document.Object:
		n := 2 + 2*max(0, len(v.Members)-1)
		for _, m := range v.Members {
			n += dumpedString(m.Key) + 2 + dumpedSize(m.Value)
		}
		return n
	case document.String:
		return dumpedString(v.Text)
	}
	return len(v.AppendJSON(nil))
}

func dumpedString(s string) int {
	n := 2
	for _, r := range s {
		switch {
		case strings.ContainsRune("\"\\\b\f\n\r\t", r):
			n += 2
		case r >= 0x10000:
			n += 12
		case r < 0x20 || r > 0x7e:
			n += 6
		default:
			n++
		}
	}
	return n
}
