package codegen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// typeScriptLibrary is the library of the official plug-in.
const typeScriptLibrary = "@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib"

// typeScriptModels writes the classes of a resource type as a TypeScript module for the library of
// the official tool. Names of classes, attributes and types are those of the official plug-in, so
// that handlers work unchanged:
//
//	string, integer, number, boolean   string, integer, number, boolean
//	object with properties             a class
//	array                              an Array, nested as the schema nests
//	array, unique and unordered        a Set
//	other objects                      a Map
//	several types                      any, as in the JSON
//
// Attributes begin with a lower-case letter. Objects in sets and maps stay as in the JSON, which
// official models do, too. The functions that convert values work with the decorators of
// class-transformer 0.3, which pass a value, and those of 0.5, which pass an object with it.
func typeScriptModels(s *schema.Schema) []byte {
	r := newReader(s)
	t := &typeScript{reader: r, classes: map[*object]*declaration{}, used: map[string]bool{}}
	roots := []struct {
		schema     *schema.Schema
		class, doc string
	}{
		{s, "ResourceModel", "The properties of " + s.TypeName.Value + "."},
		{s.TypeConfiguration, "TypeConfigurationModel", "What is set once for " + s.TypeName.Value + " in an account and region."},
	}
	var decls []*declaration
	for _, root := range roots {
		m := r.readModel(root.schema)
		for _, o := range m.objects {
			if t.classes[o] != nil {
				continue
			}
			d := &declaration{kind: declStruct, class: classInline, parts: o.parts, title: o.title, object: o, model: m}
			switch {
			case o == m.root:
				d.class, d.name, d.title = classRoot, root.class, root.doc
			case o.ref:
				d.class = classNamed
			}
			t.classes[o] = d
			decls = append(decls, d)
		}
	}
	nameTypeScript(decls)
	for _, d := range decls {
		t.class(d, s)
	}
	var out bytes.Buffer
	t.head(&out)
	out.Write(t.Bytes())
	return out.Bytes()
}

type typeScript struct {
	bytes.Buffer
	reader  *reader
	classes map[*object]*declaration
	used    map[string]bool // imports and functions of the module
	open    []*shape        // being spelled
}

func (t *typeScript) printf(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) }

// typeScriptTaken are names that classes of the schema cannot have, because the module imports
// or declares them.
var typeScriptTaken = strings.Fields(`BaseModel Dict Integer Optional exceptions integer Exclude Expose Transform Type
	Object ResourceModel TypeConfigurationModel globalThis`)

// nameTypeScript gives every class the name of the official plug-in: that of the definition, or
// of the property, with a capital. Names that the plug-in gives twice get the names of the
// properties above in front.
func nameTypeScript(decls []*declaration) {
	taken := scope{}
	for _, name := range typeScriptTaken {
		taken[name] = true
	}
	slices.SortStableFunc(decls, func(a, b *declaration) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(len(a.parts), len(b.parts)), slices.Compare(a.parts, b.parts))
	})
	for _, d := range decls {
		if d.name != "" {
			continue
		}
		var long strings.Builder
		for _, part := range d.parts {
			long.WriteString(typeScriptClass(part))
		}
		if d.name = typeScriptClass(d.wish()); d.class == classNamed {
			d.name = taken.take(d.name, d.name+"Type")
		} else {
			d.name = taken.take(d.name, long.String(), long.String()+"Type")
		}
	}
}

// typeScriptClass is a name as that of a class.
func typeScriptClass(text string) string {
	name := typeScriptName(text)
	return strings.ToUpper(name[:1]) + name[1:]
}

// typeScriptName is a name as an identifier: other characters become "_".
func typeScriptName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "p" + name
	}
	return name
}

// typeScriptReserved get "_" at their end: the words of the official plug-in, and what every
// model has already.
var typeScriptReserved = strings.Fields(`abstract any as async await bigint boolean break case catch class configurable const
	constructor continue debugger declare default delete do else enum enumerable export extends false finally for from function
	get if in implements import instanceof interface is let module namespace never new null number of package private protected
	public readonly require return set static string super switch symbol this throw true try type typeof undefined value var void
	while with writable yield
	getAdditionalIdentifiers getPrimaryIdentifier getTypeName hasOwnProperty isPrototypeOf propertyIsEnumerable serialize serializer toJSON
	toLocaleString toString valueOf __proto__`)

// typeScriptAttributes gives every property its attribute.
func typeScriptAttributes(o *object) map[string]string {
	names, taken := map[string]string{}, scope{}
	for _, exact := range []bool{true, false} {
		for _, p := range o.props {
			name := typeScriptAttribute(p.name)
			if (strings.EqualFold(name, p.name) && name[1:] == p.name[1:]) == exact {
				names[p.name] = taken.take(name)
			}
		}
	}
	return names
}

// typeScriptAttribute is the attribute that a property would like to have.
func typeScriptAttribute(property string) string {
	name := typeScriptName(property)
	name = strings.ToLower(name[:1]) + name[1:]
	if slices.Contains(typeScriptReserved, name) {
		name += "_"
	}
	return name
}

// A typeScriptType is the type of a value, and the expression of the function that converts a
// value of JSON to it: "" if the value stays as it is. model is set if class-transformer
// converts it: the name of the class that it holds, through lists.
type typeScriptType struct{ name, convert, model string }

var typeScriptAny = typeScriptType{name: "any"}

// typeOf returns the type of a value that the schemas describe.
func (t *typeScript) typeOf(schemas []*document.Value) typeScriptType {
	s := t.reader.all(schemas)
	if slices.Contains(t.open, s) {
		return typeScriptAny // a list or map that contains itself
	}
	t.open = append(t.open, s)
	defer func() { t.open = t.open[:len(t.open)-1] }()
	var forms []form
	for _, f := range s.forms {
		if f.kind != kNull {
			forms = addNumber(forms, f)
		}
	}
	if len(forms) != 1 {
		return typeScriptAny
	}
	f := forms[0]
	switch f.kind {
	case kBool:
		return typeScriptType{name: "boolean", convert: "asBoolean"}
	case kInt:
		return typeScriptType{name: "integer", convert: "asInteger"}
	case kNum:
		return typeScriptType{name: "number", convert: "asNumber"}
	case kStr:
		return typeScriptType{name: "string", convert: "asString"}
	case kStruct:
		name := t.classes[f.object].name
		return typeScriptType{name: name, convert: "asObject", model: name}
	case kMap:
		item := typeScriptAny
		if len(f.values) > 0 {
			item = t.typeOf(f.values)
		}
		return typeScriptType{name: fmt.Sprintf("%s<string, %s>", t.global("Map"), item.name), convert: fmt.Sprintf("asMap(%s)", item.convert)}
	case kList:
		item := typeScriptAny
		if len(f.items) > 0 {
			item = t.typeOf(f.items)
		}
		if t.reader.isSet(schemas) {
			return typeScriptType{name: fmt.Sprintf("%s<%s>", t.global("Set"), item.name), convert: fmt.Sprintf("asSet(%s)", item.convert)}
		}
		return typeScriptType{name: fmt.Sprintf("%s<%s>", t.global("Array"), item.name), convert: fmt.Sprintf("asArray(%s)", item.convert), model: item.model}
	}
	return typeScriptAny
}

// global spells a class of the language so that a class of the schema does not hide it.
func (t *typeScript) global(name string) string {
	for _, d := range t.classes {
		if d.name == name {
			return "globalThis." + name
		}
	}
	return name
}

// class writes one class.
func (t *typeScript) class(d *declaration, s *schema.Schema) {
	doc := d.title
	if strings.TrimSpace(doc) == "" {
		doc = "The object " + strings.Join(d.parts, ".") + " of the schema."
	}
	t.printf("\n")
	t.comment("", doc)
	t.printf("export class %s extends BaseModel {\n    declare ['constructor']: typeof %[1]s;\n", d.name)
	names := typeScriptAttributes(d.object)
	resource := d.name == "ResourceModel" && d.class == classRoot
	if resource {
		t.identifierKeys(s)
	}
	for _, p := range d.object.props {
		typ := t.typeOf(p.schemas)
		t.printf("\n")
		t.comment("    ", describeNodes(t.reader, p.schemas))
		t.use("Expose", "Optional")
		t.printf("    @Expose({ name: %s })\n", quoteTypeScript(p.name))
		if typ.model != "" {
			t.use("Type")
			t.printf("    @Type(() => %s)\n", typ.model)
		}
		if typ.convert != "" {
			t.use("Transform")
			t.printf("    @Transform(read(%s, %s), { toClassOnly: true })\n", quoteTypeScript(p.name), typ.convert)
		}
		for _, name := range typeScriptFunctions() {
			if strings.Contains(typ.convert, name) {
				t.use(name)
			}
		}
		if strings.Contains(typ.name, "integer") {
			t.use("integer")
		}
		t.printf("    %s?: Optional<%s>;\n", names[p.name], typ.name)
	}
	if resource {
		t.identifiers(s, names)
	}
	t.printf("}\n")
}

func (t *typeScript) use(names ...string) {
	for _, name := range names {
		t.used[name] = true
	}
}

// identifierKeys writes the constants of the identifiers.
func (t *typeScript) identifierKeys(s *schema.Schema) {
	t.use("Dict", "Exclude")
	t.printf("\n    @Exclude()\n    public static readonly TYPE_NAME: string = %s;\n", quoteTypeScript(s.TypeName.Value))
	written := map[string]bool{}
	for _, list := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		for _, path := range list {
			if key := identifierKey(path); !written[key] {
				written[key] = true
				t.printf("\n    @Exclude()\n    protected readonly %s: string = %s;\n", key, quoteTypeScript(path.Text))
			}
		}
	}
}

func identifierKey(path schema.Path) string {
	return "IDENTIFIER_KEY_" + strings.ToUpper(strings.ReplaceAll(typeScriptName(strings.Join(path.Tokens, "_")), "$", "_"))
}

// identifiers writes the methods that return the identifiers.
func (t *typeScript) identifiers(s *schema.Schema, names map[string]string) {
	t.identifier(s.PrimaryIdentifier, "getPrimaryIdentifier", "The primary identifier, or null if a part of it is not set.", names)
	var calls []string
	for _, list := range s.AdditionalIdentifiers {
		method := "getIdentifier"
		for _, path := range list {
			method += "_" + typeScriptClass(path.Tokens[len(path.Tokens)-1])
		}
		if slices.Contains(calls, method) {
			continue
		}
		calls = append(calls, method)
		t.identifier(list, method, "An additional identifier, or null if a part of it is not set.", names)
	}
	t.printf("\n    /** The additional identifiers that are set, or null without any. */\n    @Exclude()\n    public getAdditionalIdentifiers(): %s<Dict> {\n", t.global("Array"))
	t.printf("        const identifiers: any[] = [%s];\n", strings.Join(mapped(calls, func(name string) string { return "this." + name + "()" }), ", "))
	t.printf("        const known = identifiers.filter((identifier) => identifier !== null);\n        return known.length === 0 ? (null as any) : known;\n    }\n")
}

func (t *typeScript) identifier(list []schema.Path, method, doc string, names map[string]string) {
	t.printf("\n    /** %s */\n    @Exclude()\n    public %s(): Dict {\n        const model = this as any;\n", doc, method)
	t.printf("        const identifier: Dict = {\n")
	var values []string
	for _, path := range list {
		value := "model"
		for i, token := range path.Tokens {
			name := names[token]
			if i > 0 || name == "" {
				name = typeScriptAttribute(token)
			}
			if i > 0 {
				value += "?"
			}
			value += "." + name
		}
		t.printf("            [this.%s]: %s,\n", identifierKey(path), value)
		values = append(values, value+" == null")
	}
	if len(values) == 0 {
		values = []string{"model == null"}
	}
	t.printf("        };\n        return %s ? (null as any) : identifier;\n    }\n", strings.Join(values, " || "))
}

// comment writes a description as documentation.
func (t *typeScript) comment(indent, text string) {
	lines := commentLines(strings.ReplaceAll(text, "*/", "*\\/"))
	if len(lines) == 1 {
		t.printf("%s/** %s */\n", indent, lines[0])
	} else if len(lines) > 1 {
		t.printf("%s/**\n", indent)
		for _, line := range lines {
			t.printf("%s\n", strings.TrimRight(indent+" * "+line, " "))
		}
		t.printf("%s */\n", indent)
	}
}

// quoteTypeScript spells a text as a string with single quotes.
func quoteTypeScript(text string) string {
	data, _ := json.Marshal(text) // a string always has a form in JSON
	quoted := strings.ReplaceAll(string(data[1:len(data)-1]), `\"`, `"`)
	return "'" + strings.ReplaceAll(quoted, "'", `\'`) + "'"
}

// typeScriptParts are the functions of the module, each with what it needs. globalThis keeps
// them apart from classes of the schema, such as Map.
var typeScriptParts = []struct {
	name, needs, text string
}{
	{"Transform", "", `
// Decorators of class-transformer pass a value, or since 0.4 an object with it.
const read = (name: string, convert: (value: any) => any) => (...given: any[]): any => {
    const value = given.length === 1 ? given[0].value : given[0];
    if (value === undefined || value === null) {
        return value;
    }
    try {
        return convert(value);
    } catch (problem) { // TypeScript 3 allows no type here
        throw new exceptions.InvalidRequest(` + "`${name} is not ${(problem as any).message}`" + `);
    }
};
`},
	{"asArray", "", `
const asArray = (convert: (value: any) => any = (value) => value) => (value: any): any => {
    if (!globalThis.Array.isArray(value) && !(value instanceof globalThis.Set)) {
        throw new globalThis.Error('a list');
    }
    return globalThis.Array.from(value as any[], (item) => (item === null ? null : convert(item)));
};
`},
	{"asSet", "asArray", `
const asSet = (convert?: (value: any) => any) => {
    const items = asArray(convert);
    return (value: any): any => new globalThis.Set(items(value));
};
`},
	{"asMap", "", `
const asMap = (convert: (value: any) => any = (value) => value) => (value: any): any => {
    if (typeof value !== 'object' || globalThis.Array.isArray(value)) {
        throw new globalThis.Error('an object');
    }
    const entries: any[] = value instanceof globalThis.Map ? [...value.entries()] : globalThis.Object.entries(value);
    return new globalThis.Map(entries.map(([key, item]) => [key, item === null ? null : convert(item)] as [string, any]));
};
`},
	{"asObject", "", `
const asObject = (value: any): any => {
    if (typeof value !== 'object' || globalThis.Array.isArray(value)) {
        throw new globalThis.Error('an object');
    }
    return value;
};
`},
	{"asString", "", `
const asString = (value: any): any => {
    if (typeof value === 'object') {
        throw new globalThis.Error('a string');
    }
    return globalThis.String(value);
};
`},
	{"asBoolean", "", `
const asBoolean = (value: any): any => {
    const text = typeof value === 'string' ? value.toLowerCase() : value;
    if (text === '') {
        return null;
    }
    if (text !== true && text !== false && text !== 'true' && text !== 'false') {
        throw new globalThis.Error('a boolean');
    }
    return text === true || text === 'true';
};
`},
	{"asInteger", "Integer", `
// A number of the request stays one; a text becomes what the type integer says.
const asInteger = (value: any): any => {
    if (value === '') {
        return null;
    }
    if (typeof value === 'bigint' || globalThis.Number.isInteger(value)) {
        return value;
    }
    if (typeof value !== 'string' || !/^\s*[-+]?[0-9]+\s*$/.test(value)) {
        throw new globalThis.Error('an integer');
    }
    return Integer(value.replace('+', ''));
};
`},
	{"asNumber", "", `
const asNumber = (value: any): any => {
    if (value === '') {
        return null;
    }
    const number = typeof value === 'string' ? globalThis.Number(value) : value;
    if (typeof number !== 'number' || globalThis.Number.isNaN(number)) {
        throw new globalThis.Error('a number');
    }
    return number;
};
`},
}

func typeScriptFunctions() []string {
	var names []string
	for _, part := range typeScriptParts {
		if part.name != "Transform" {
			names = append(names, part.name)
		}
	}
	return names
}

// head writes the imports and the functions that the classes use.
func (t *typeScript) head(out *bytes.Buffer) {
	for _, part := range typeScriptParts {
		if t.used[part.name] && part.needs != "" {
			t.use(part.needs)
		}
	}
	if t.used["Transform"] {
		t.use("exceptions")
	}
	t.use("BaseModel")
	imports := func(names ...string) string {
		return strings.Join(slices.DeleteFunc(names, func(name string) bool { return !t.used[name] }), ", ")
	}
	fmt.Fprintf(out, "// %s\n\n// The properties of the type as classes, generated from the schema.\n\n", marker)
	fmt.Fprintf(out, "import { %s } from '%s';\n", imports("BaseModel", "Dict", "exceptions", "integer", "Integer", "Optional"), typeScriptLibrary)
	if names := imports("Exclude", "Expose", "Transform", "Type"); names != "" {
		fmt.Fprintf(out, "import { %s } from 'class-transformer';\n", names)
	}
	for _, part := range typeScriptParts {
		if t.used[part.name] {
			out.WriteString(part.text)
		}
	}
}
