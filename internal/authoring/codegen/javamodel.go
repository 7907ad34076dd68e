package codegen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// javaRoot is one root of the models of a package.
type javaRoot struct {
	schema *schema.Schema // nil for a class without fields
	class  string
	doc    string
	raw    []string // properties that stay JSON, because handlers of the official plug-in expect that
	beside []string // other classes of the package, besides the usual ones
	kind   javaKind
}

// javaKind is what a class has besides its fields.
type javaKind uint8

const (
	javaPlain    javaKind = iota
	javaResource          // the name of the type and its identifiers
	javaHook              // the name of the type
	javaTarget            // what the library requires of the target of a hook
)

// javaModels writes the classes of one schema into a package, a file each. Names of classes, fields and
// types are those of the official plug-in, so that handlers compile unchanged:
//
//	string, integer, number, boolean   String, Integer (Long for int64), Double, Boolean
//	object with properties             a class
//	array                              List, nested as the schema nests
//	array, unique and unordered        Set
//	patternProperties                  Map<String, …>
//	other objects, several types       Map<String, Object>, Object
func javaModels(pkg string, r *reader, roots ...javaRoot) []File {
	j := &java{pkg: pkg, reader: r, classes: map[*object]*javaClass{}, names: map[string]bool{}}
	for _, name := range javaOwn {
		j.names[strings.ToLower(name)] = true
	}
	for _, root := range roots {
		for _, name := range append([]string{root.class}, root.beside...) {
			j.names[strings.ToLower(name)] = true
		}
	}
	for _, root := range roots {
		m := r.readModel(root.schema)
		for _, o := range m.objects {
			if j.classes[o] != nil {
				continue
			}
			c := &javaClass{object: o, doc: o.title}
			if o == m.root {
				c.name, c.doc, c.root = root.class, cmp.Or(root.doc, o.title), &root
			}
			j.classes[o] = c
			j.order = append(j.order, c)
		}
	}
	j.nameClasses()
	files := make([]File, 0, len(j.order))
	for _, c := range j.order {
		files = append(files, File{Path: javaPath(pkg, c.name), Data: j.class(c), Mode: Generated})
	}
	return files
}

// javaOwn are the classes of a package that are not models. Their names are taken.
var javaOwn = []string{
	"BaseConfiguration", "BaseHandler", "BaseHookConfiguration", "BaseHookHandler", "CallbackContext", "Configuration", "HandlerWrapper",
	"HandlerWrapperExecutable", "HookHandlerWrapper", "HookHandlerWrapperExecutable", "CreateHandler", "ReadHandler", "UpdateHandler",
	"DeleteHandler", "ListHandler", "PreCreateHookHandler", "PreUpdateHookHandler", "PreDeleteHookHandler",
}

// javaGenerated is the folder of generated sources.
const javaGenerated = "target/generated-sources/rpdk"

func javaPath(pkg, class string) string {
	return javaGenerated + "/" + strings.ReplaceAll(pkg, ".", "/") + "/" + class + ".java"
}

type javaClass struct {
	object *object
	name   string
	doc    string
	root   *javaRoot // nil for an object below a root
	fields map[string]string
}

type java struct {
	bytes.Buffer
	pkg     string
	reader  *reader
	classes map[*object]*javaClass
	order   []*javaClass
	names   map[string]bool // of classes, in lower case: they are files
	open    []*shape        // being spelled
}

func (j *java) printf(format string, args ...any) { _, _ = fmt.Fprintf(j, format, args...) }

// nameClasses gives every object its class: definitions first, then the objects that are written in place,
// those nearer to the root before the deeper ones, and orders the classes by name.
func (j *java) nameClasses() {
	pending := slices.Clone(j.order)
	slices.SortStableFunc(pending, func(a, b *javaClass) int {
		return cmp.Or(btoi(b.object.ref)-btoi(a.object.ref), cmp.Compare(len(a.object.parts), len(b.object.parts)), slices.Compare(a.object.parts, b.object.parts))
	})
	for _, c := range pending {
		if c.root != nil {
			continue
		}
		name, long := "Model", ""
		if parts := c.object.parts; len(parts) > 0 {
			name = javaUpper(javaWord(parts[len(parts)-1]))
			for _, part := range parts {
				long += javaUpper(javaWord(part))
			}
		}
		wishes := []string{name, cmp.Or(long, name)}
		for i := 2; j.names[strings.ToLower(wishes[0])]; i++ {
			if wishes = wishes[1:]; len(wishes) == 0 {
				wishes = []string{fmt.Sprintf("%s%d", cmp.Or(long, name), i)}
			}
		}
		c.name = wishes[0]
		j.names[strings.ToLower(c.name)] = true
	}
	slices.SortFunc(j.order, func(a, b *javaClass) int { return strings.Compare(a.name, b.name) })
	for _, c := range j.order {
		c.fields = j.fieldNames(c)
	}
}

// fieldNames gives every property its field: the official one, and another if it is taken.
func (j *java) fieldNames(c *javaClass) map[string]string {
	names, taken := map[string]string{}, scope{}
	if c.root != nil && c.root.kind == javaTarget {
		taken["properties"] = true // ResourceHookTarget has getProperties
		taken["targetSchema"] = true
	}
	for _, p := range c.object.props {
		name := javaLower(javaWord(p.name))
		if slices.Contains(javaKeywords, name) || taken[name] && !strings.HasSuffix(name, "_") {
			name += "_"
		}
		names[p.name] = taken.take(name)
	}
	return names
}

// javaKeywords cannot be the names of fields; with getters named after them, some must not.
var javaKeywords = strings.Fields(`abstract assert boolean break byte case catch char class const continue default do double else enum extends
	false final finally float for goto if implements import instanceof int interface long native new null package private protected
	public return short static strictfp super switch synchronized this throw throws transient true try void volatile while _`)

// javaWord is a text as a Java identifier.
func javaWord(text string) string {
	word := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	if word == "" || word[0] >= '0' && word[0] <= '9' {
		word = "_" + word
	}
	return word
}

func javaUpper(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
func javaLower(word string) string { return strings.ToLower(word[:1]) + word[1:] }

// imported spells a class of another package: by its simple name, unless a class of this package has it.
func (j *java) imported(name string) string {
	if simple := name[strings.LastIndex(name, ".")+1:]; !j.names[strings.ToLower(simple)] {
		return simple
	}
	return name
}

// imports are the classes that models use besides those of java.lang.
var javaImports = []string{
	"com.fasterxml.jackson.annotation.JsonAutoDetect", "com.fasterxml.jackson.annotation.JsonIgnore", "com.fasterxml.jackson.annotation.JsonProperty",
	"java.util.ArrayList", "java.util.List", "java.util.Map", "java.util.Set", "lombok.AllArgsConstructor", "lombok.Builder", "lombok.Data", "lombok.EqualsAndHashCode",
	"lombok.NoArgsConstructor", "lombok.ToString", "org.json.JSONObject", "software.amazon.cloudformation.proxy.hook.targetmodel.ResourceHookTarget",
}

// typeOf spells the type of a value that the schemas describe.
func (j *java) typeOf(schemas []*document.Value) string {
	anything := j.imported("java.lang.Object")
	s := j.reader.all(schemas)
	if slices.Contains(j.open, s) {
		return anything // a list or map that contains itself
	}
	j.open = append(j.open, s)
	defer func() { j.open = j.open[:len(j.open)-1] }()
	forms := slices.DeleteFunc(slices.Clone(s.forms), func(f form) bool { return f.kind == kNull })
	if len(forms) != 1 {
		return anything
	}
	item := func(schemas []*document.Value) string {
		if len(schemas) == 0 {
			return anything
		}
		return j.typeOf(schemas)
	}
	switch f := forms[0]; f.kind {
	case kBool:
		return j.imported("java.lang.Boolean")
	case kInt:
		if j.isLong(schemas) {
			return j.imported("java.lang.Long")
		}
		return j.imported("java.lang.Integer")
	case kNum:
		return j.imported("java.lang.Double")
	case kStr:
		return j.imported("java.lang.String")
	case kStruct:
		return j.classes[f.object].name
	case kMap:
		return fmt.Sprintf("%s<%s, %s>", j.imported("java.util.Map"), j.imported("java.lang.String"), item(f.values))
	case kList:
		collection := "java.util.List"
		if j.reader.isSet(schemas) {
			collection = "java.util.Set"
		}
		return fmt.Sprintf("%s<%s>", j.imported(collection), item(f.items))
	}
	return anything
}

// isLong reports whether the format of an integer is int64.
func (j *java) isLong(schemas []*document.Value) bool {
	return slices.ContainsFunc(schemas, func(node *document.Value) bool {
		target, _ := j.reader.resolve(node)
		format := target.Get("format")
		return format != nil && format.Text == "int64"
	})
}

// class writes the file of one class.
func (j *java) class(c *javaClass) []byte {
	j.Reset()
	kind := javaPlain
	if c.root != nil {
		kind = c.root.kind
	}
	var body bytes.Buffer
	head := j.Buffer
	j.Buffer = body
	j.fields(c, kind)
	if kind == javaResource || kind == javaTarget {
		j.identifiers(c)
	}
	if kind == javaTarget {
		j.targetMethods(c)
	}
	text := j.String()
	j.Buffer = head
	extends, annotations := "", []string{"@" + j.imported("lombok.Data"), "@" + j.imported("lombok.Builder")}
	switch {
	case kind == javaResource:
		annotations[1] += "(toBuilder = true)"
	case kind == javaTarget:
		extends = " extends " + j.imported("software.amazon.cloudformation.proxy.hook.targetmodel.ResourceHookTarget")
		annotations = append(annotations, "@"+j.imported("lombok.EqualsAndHashCode")+"(callSuper = false)", "@"+j.imported("lombok.ToString"))
	}
	if len(c.object.props) > 0 || kind == javaPlain || kind == javaResource {
		annotations = append(annotations, "@"+j.imported("lombok.AllArgsConstructor"))
	}
	if len(c.object.props) > 0 || kind == javaHook || kind == javaTarget {
		annotations = append(annotations, "@"+j.imported("lombok.NoArgsConstructor"))
	}
	detect := j.imported("com.fasterxml.jackson.annotation.JsonAutoDetect")
	annotations = append(annotations, fmt.Sprintf("@%s(fieldVisibility = %[1]s.Visibility.ANY, getterVisibility = %[1]s.Visibility.NONE, setterVisibility = %[1]s.Visibility.NONE)", detect))
	j.printf("// %s\npackage %s;\n\n", marker, j.pkg)
	used := strings.Join(annotations, "\n") + extends + text
	for _, name := range javaImports {
		if simple := j.imported(name); simple != name && usesWord(used, simple) {
			j.printf("import %s;\n", name)
		}
	}
	doc := c.doc
	if doc == "" {
		doc = "The object " + strings.Join(c.object.parts, ".") + " of the schema."
	}
	j.printf("\n")
	j.javadoc("", doc)
	j.printf("%s\npublic class %s%s {\n%s}\n", strings.Join(annotations, "\n"), c.name, extends, text)
	return bytes.Clone(j.Bytes())
}

// usesWord reports whether a source contains a word that is not part of a longer one.
func usesWord(source, word string) bool {
	part := func(b byte) bool {
		return b == '_' || b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(source[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		if (start == 0 || !part(source[start-1])) && (end == len(source) || !part(source[end]) || source[end] == '.') {
			return true
		}
		at = end
	}
}

func (j *java) fields(c *javaClass, kind javaKind) {
	ignore := "@" + j.imported("com.fasterxml.jackson.annotation.JsonIgnore")
	if kind != javaPlain {
		j.printf("    %s\n    public static final %s TYPE_NAME = %s;\n", ignore, j.imported("java.lang.String"), javaQuote(c.root.typeName()))
	}
	for _, p := range c.object.props {
		spelled := j.imported("java.lang.Object")
		if c.root == nil || !slices.Contains(c.root.raw, p.name) {
			spelled = j.typeOf(p.schemas)
		}
		if j.Len() > 0 {
			j.printf("\n")
		}
		j.javadoc("    ", describeNodes(j.reader, p.schemas))
		j.printf("    @%s(%s)\n    private %s %s;\n", j.imported("com.fasterxml.jackson.annotation.JsonProperty"), javaQuote(p.name), spelled, c.fields[p.name])
	}
}

func (r *javaRoot) typeName() string {
	if r.schema == nil {
		return ""
	}
	return r.schema.TypeName.Value
}

// javadoc writes a description as the documentation of what follows.
func (j *java) javadoc(indent, text string) {
	lines := commentLines(text)
	if len(lines) == 0 {
		return
	}
	// A backslash and a u begin a character in comments, too.
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*/", "*&#47;", "@", "&#64;", `\`, "&#92;", "{", "&#123;", "}", "&#125;")
	j.printf("%s/**\n", indent)
	for _, line := range lines {
		j.printf("%s\n", strings.TrimRight(indent+" * "+escaped.Replace(line), " "))
	}
	j.printf("%s */\n", indent)
}

// javaQuote is a text as a literal, in ASCII.
func javaQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
