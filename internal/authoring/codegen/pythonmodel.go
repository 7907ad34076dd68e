package codegen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// pythonRoot is one root of the models of a Python module.
type pythonRoot struct {
	schema *schema.Schema // nil for a class without attributes
	class  string
	doc    string
	raw    []string // properties that stay JSON, because handlers of the official plug-in expect that
}

// pythonModels writes the classes of one schema as a Python module for the library of the official
// tool, cloudformation_cli_python_lib. Names of classes and attributes are those of the official
// plug-in, so that handlers work unchanged:
//
//	string, integer, number, boolean   str, int, float, bool
//	object with properties             a dataclass
//	array                              a list, nested as the schema nests
//	array, unique and unordered        a set, if its items are scalars; else a list
//	patternProperties                  a dict; objects in it stay dicts, with values of their types
//	other objects, several types       as in the JSON
//
// An attribute without a value is None. What was decoded is encoded again as it was; the official
// plug-in loses empty objects and lists, and fails for sets of objects.
func pythonModels(r *reader, request string, roots ...pythonRoot) []byte {
	p := &python{reader: r, classes: map[*object]*pythonClass{}}
	var decls []*declaration
	taken := scope{"None": true, "True": true, "False": true, "ResourceHandlerRequest": true, "HookHandlerRequest": true}
	for _, root := range roots {
		taken[root.class] = true
	}
	for _, root := range roots {
		m := r.readModel(root.schema)
		for _, o := range m.objects {
			if p.classes[o] != nil {
				continue
			}
			d := &declaration{kind: declStruct, class: classInline, parts: o.parts, title: o.title, object: o, model: m}
			switch {
			case o == m.root:
				d.class, d.name = classRoot, root.class
			case o.ref:
				d.class = classNamed
			}
			c := &pythonClass{declaration: d, doc: o.title, root: o == m.root}
			if c.root {
				c.raw = root.raw
				if c.doc = root.doc; c.doc == "" {
					c.doc = o.title
				}
			}
			p.classes[o] = c
			p.order = append(p.order, c)
			decls = append(decls, d)
		}
	}
	nameDeclarations(decls, taken)
	slices.SortStableFunc(p.order, func(a, b *pythonClass) int {
		if a.root != b.root {
			return btoi(b.root) - btoi(a.root)
		}
		if a.root {
			return 0
		}
		return strings.Compare(a.name, b.name)
	})
	p.printf("%s%s\n", pythonHeader, request)
	for _, c := range p.order {
		p.class(c)
	}
	p.printf("\n\n# The names that annotations use, which no attribute hides.\n")
	for _, c := range p.order {
		p.printf("_%s = %[1]s\n", c.name)
	}
	return p.Bytes()
}

type pythonClass struct {
	*declaration
	doc  string
	root bool
	raw  []string
}

type python struct {
	bytes.Buffer
	reader  *reader
	classes map[*object]*pythonClass
	order   []*pythonClass
	open    []*shape // being spelled
}

func (p *python) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// A pythonType is an annotation, and the function that converts a value of JSON to it: "" if the
// value stays as it is.
type pythonType struct {
	annotation, convert string
	scalar              bool
}

var pythonAny = pythonType{annotation: "_typing.Any"}

var pythonScalars = map[kind]pythonType{
	kBool: {"bool", "_boolean", true},
	kInt:  {"int", "_integer", true},
	kNum:  {"float", "_number", true},
	kStr:  {"str", "_string", true},
}

// typeOf returns the type of a value that the schemas describe.
func (p *python) typeOf(schemas []*document.Value) pythonType {
	s := p.reader.all(schemas)
	if slices.Contains(p.open, s) {
		return pythonAny // a list or map that contains itself
	}
	p.open = append(p.open, s)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	var forms []form
	for _, f := range s.forms {
		if f.kind != kNull {
			forms = addNumber(forms, f)
		}
	}
	if len(forms) != 1 {
		return pythonAny
	}
	f := forms[0]
	if t, ok := pythonScalars[f.kind]; ok {
		return t
	}
	switch f.kind {
	case kStruct:
		name := p.classes[f.object].name
		return pythonType{annotation: fmt.Sprintf("%q", "_"+name), convert: fmt.Sprintf("_%s._deserialize", name)}
	case kMap:
		item := pythonAny
		if len(f.values) > 0 {
			item = p.typeOf(f.values)
		}
		if item.convert == "" {
			return pythonType{annotation: "_typing.MutableMapping[str, _typing.Any]"}
		}
		convert := item.convert
		if !item.scalar {
			convert = fmt.Sprintf("_dict(%s)", convert)
		}
		return pythonType{annotation: fmt.Sprintf("_typing.MutableMapping[str, %s]", item.annotation), convert: fmt.Sprintf("_map(%s)", convert)}
	case kList:
		item := pythonAny
		if len(f.items) > 0 {
			item = p.typeOf(f.items)
		}
		if item.scalar && p.reader.isSet(schemas) {
			return pythonType{annotation: fmt.Sprintf("_typing.AbstractSet[%s]", item.annotation), convert: fmt.Sprintf("_set(%s)", item.convert)}
		}
		convert := fmt.Sprintf("_list(%s)", item.convert)
		if item.convert == "" {
			convert = "_list(_same)"
		}
		return pythonType{annotation: fmt.Sprintf("_typing.Sequence[%s]", item.annotation), convert: convert}
	}
	return pythonAny
}

// class writes one dataclass.
func (p *python) class(c *pythonClass) {
	names := pythonAttributes(c.object)
	p.printf("\n\n@_dataclass\nclass %s(_Model):\n", c.name)
	doc := c.doc
	if doc == "" {
		doc = "The object " + strings.Join(c.parts, ".") + " of the schema."
	}
	p.docString("    ", doc)
	p.renamed(c.object, names)
	types := map[string]pythonType{}
	builtin := ""
	for _, prop := range c.object.props {
		if slices.Contains(pythonBuiltins, names[prop.name]) {
			builtin = "_builtins."
		}
	}
	for _, prop := range c.object.props {
		t := p.typeOf(prop.schemas)
		if slices.Contains(c.raw, prop.name) {
			t = pythonAny
		}
		types[prop.name] = t
		for _, line := range commentLines(describeNodes(p.reader, prop.schemas)) {
			p.printf("%s\n", strings.TrimRight("    # "+line, " "))
		}
		p.printf("    %s: _typing.Optional[%s] = None\n", names[prop.name], qualified(t.annotation, builtin))
	}
	if len(c.object.props) > 0 {
		p.printf("\n")
	}
	p.printf("    @classmethod\n    def _deserialize(\n        cls: _typing.Type[\"_%s\"],\n        json_data: _typing.Optional[_typing.Mapping[str, _typing.Any]],\n    ) -> _typing.Optional[\"_%[1]s\"]:\n", c.name)
	if c.root {
		p.printf("        if not json_data:\n            return None\n")
	} else {
		p.printf("        if json_data is None:\n            return None\n")
	}
	p.printf("        data = _object(json_data, %q)\n", c.name)
	if len(c.object.props) == 0 {
		p.printf("        del data\n        return cls()\n")
		return
	}
	p.printf("        return cls(\n")
	for _, prop := range c.object.props {
		convert := types[prop.name].convert
		if convert == "" {
			p.printf("            %s=data.get(%q),\n", names[prop.name], prop.name)
		} else {
			p.printf("            %s=_read(data, %q, %s),\n", names[prop.name], prop.name, convert)
		}
	}
	p.printf("        )\n")
}

// pythonBuiltins are the names of scalars in annotations.
var pythonBuiltins = []string{"str", "int", "float", "bool"}

// qualified spells the scalars of an annotation so that attributes with their names do not hide them.
func qualified(annotation, module string) string {
	if module == "" {
		return annotation
	}
	for _, name := range pythonBuiltins {
		if annotation == name {
			return module + name
		}
		annotation = strings.NewReplacer("["+name+"]", "["+module+name+"]", "["+name+",", "["+module+name+",", " "+name+"]", " "+module+name+"]").Replace(annotation)
	}
	return annotation
}

// renamed writes the table of attributes whose properties have other names.
func (p *python) renamed(o *object, names map[string]string) {
	var rows []string
	for _, prop := range o.props {
		if names[prop.name] != prop.name {
			rows = append(rows, fmt.Sprintf("        %q: %q,\n", names[prop.name], prop.name))
		}
	}
	if len(rows) > 0 {
		p.printf("    _property_names = {\n%s    }\n", strings.Join(rows, ""))
	}
}

// docString writes a description as the documentation of a class.
func (p *python) docString(indent, text string) {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	lines := commentLines(text)
	if len(lines) == 0 {
		return
	}
	p.printf("%s\"\"\"%s", indent, escaped.Replace(lines[0]))
	for _, line := range lines[1:] {
		p.printf("\n%s", strings.TrimRight(indent+escaped.Replace(line), " "))
	}
	if len(lines) > 1 {
		p.printf("\n%s", indent)
	}
	p.printf("\"\"\"\n\n")
}

// pythonKeywords cannot be the names of attributes.
var pythonKeywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except finally
	for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// pythonAttributes gives every property its attribute: its own name where Python allows it.
func pythonAttributes(o *object) map[string]string {
	names, taken := map[string]string{}, scope{}
	for _, exact := range []bool{true, false} {
		for _, p := range o.props {
			if name := pythonName(p.name); (name == p.name) == exact {
				names[p.name] = taken.take(name)
			}
		}
	}
	return names
}

// pythonName is a name as a Python identifier: keywords get "_" at the end, other characters
// become "_".
func pythonName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' || name[0] == '_' {
		name = "p" + name // names that begin with "_" belong to the module
	}
	if slices.Contains(pythonKeywords, name) {
		name += "_"
	}
	return name
}
