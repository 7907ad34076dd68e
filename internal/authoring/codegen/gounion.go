package codegen

import (
	"strconv"
	"strings"
)

// unionType writes a struct with one field for each alternative. Decoding chooses by the kind
// of the JSON value; between several objects it goes by the keys, then by the values that
// enums allow. A value that matches no alternative is kept in Other, so that nothing is lost.
func (w *goWriter) unionType(d *declaration) {
	w.union = true
	taken := scope{"Other": true, "UnmarshalJSON": true, "MarshalJSON": true}
	fields := map[*goType]string{}
	for _, structs := range []bool{true, false} { // structs first, so that they keep their names
		for _, t := range d.alternatives {
			if (t.kind == kStruct) == structs {
				fields[t] = taken.take(w.unionField(t))
			}
		}
	}
	w.comment("", d.name+" has several types. One of its fields is set.")
	w.printf("type %s struct {\n", d.name)
	for _, t := range d.alternatives {
		w.printf("\t%s %s\n", fields[t], w.field(t))
	}
	w.printf("\tOther json.RawMessage // a value that fits none of the others, as it was received\n}\n\n")
	w.unionDecode(d, fields)
	w.unionEncode(d, fields)
}

func (w *goWriter) unionField(t *goType) string {
	switch t.kind {
	case kStruct:
		return t.decl.name
	case kBool:
		return "Bool"
	case kInt:
		return "Integer"
	case kNum:
		return "Number"
	case kStr:
		return "String"
	case kList:
		return "List"
	}
	if t.elem.kind == kAny {
		return "Object"
	}
	return "Map"
}

func (w *goWriter) unionDecode(d *declaration, fields map[*goType]string) {
	w.printf("// UnmarshalJSON sets the field that fits the value.\n")
	w.printf("func (u *%s) UnmarshalJSON(data []byte) error {\n\t*u = %[1]s{}\n", d.name)
	var structs []*goType
	for _, t := range d.alternatives {
		if t.kind == kStruct {
			structs = append(structs, t)
		}
	}
	w.printf("\tswitch first := genFirst(data); {\n")
	for _, strict := range []bool{true, false} {
		for _, t := range structs {
			w.fits = true
			if fit := w.fit(t.decl, strict); strict || fit != w.fit(t.decl, true) {
				w.printf("\tcase first == '{' && %s && genTry(data, &u.%s):\n", fit, fields[t])
			}
		}
	}
	for _, t := range d.alternatives {
		test := map[kind]string{
			kBool: "first == 't' || first == 'f'", kStr: "first == '\"'", kList: "first == '['", kMap: "first == '{'",
			kInt: "first == '-' || first >= '0' && first <= '9'", kNum: "first == '-' || first >= '0' && first <= '9'",
		}[t.kind]
		if t.kind != kStruct {
			if strings.Contains(test, "||") {
				test = "(" + test + ")"
			}
			w.printf("\tcase %s && genTry(data, &u.%s):\n", test, fields[t])
		}
	}
	w.printf("\tdefault:\n\t\t*u = %s{Other: bytes.Clone(data)}\n\t}\n\treturn nil\n}\n\n", d.name)
}

// fit spells the call that reports whether an object belongs to a struct.
func (w *goWriter) fit(d *declaration, strict bool) string {
	var keys, required []string
	var values strings.Builder
	for _, p := range d.object.props {
		keys = append(keys, p.name)
		if !strict {
			continue
		}
		if d.object.required[p.name] {
			required = append(required, p.name)
		}
		if enum := w.types.stringsOf(p); len(enum) > 0 {
			values.WriteString(strconv.Quote(p.name) + ": " + strings.TrimPrefix(stringList(enum), "[]string") + ", ")
		}
	}
	table := "nil"
	if values.Len() > 0 {
		table = "map[string][]string{" + strings.TrimSuffix(values.String(), ", ") + "}"
	}
	return "genFits(data, " + stringList(keys) + ", " + stringList(required) + ", " + table + ")"
}

// stringsOf returns the values that an enum of strings allows, nil if others are possible.
func (g *goTypes) stringsOf(p *property) []string {
	forms := g.reader.all(p.schemas).forms
	if len(forms) != 1 || forms[0].kind != kStr {
		return nil
	}
	var out []string
	for _, v := range enumValues(forms[0]) {
		out = append(out, v.Text)
	}
	return out
}

func stringList(list []string) string {
	if len(list) == 0 {
		return "nil"
	}
	return "[]string{" + goQuoting.list(list) + "}"
}

func (w *goWriter) unionEncode(d *declaration, fields map[*goType]string) {
	w.printf("// MarshalJSON writes the field that is set, null if none is.\n")
	w.printf("func (u %s) MarshalJSON() ([]byte, error) {\n\treturn genEncode(%q", d.name, d.name)
	for _, t := range d.alternatives {
		w.printf(", u.%s", fields[t])
	}
	w.printf(", u.Other)\n}\n\n")
}

// helpers writes the functions that the methods above call.
func (w *goWriter) helpers() {
	if w.union || w.types.anyUsed {
		w.WriteString(decodeHelper)
	}
	if w.union {
		w.WriteString(unionHelpers)
	}
	if w.fits {
		w.WriteString(fitsHelper)
	}
}

const decodeHelper = `// genDecode reads numbers of free-form values as json.Number.
func genDecode(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(value)
}

`

const unionHelpers = `// genTry decodes into the field, or leaves it alone if the value does not fit.
func genTry[T any](data []byte, field *T) bool {
	var value T
	if genDecode(data, &value) != nil {
		return false
	}
	*field = value
	return true
}

// genFirst returns the byte that reports what kind of value data holds.
func genFirst(data []byte) byte {
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) > 0 {
		return data[0]
	}
	return 0
}

// genEncode writes the one field that is set.
func genEncode(name string, fields ...any) ([]byte, error) {
	out := []byte("null")
	for _, field := range fields {
		data, err := json.Marshal(field)
		if err != nil {
			return nil, err
		}
		if string(data) == "null" {
			continue
		}
		if string(out) != "null" {
			return nil, fmt.Errorf("%s: two fields are set, it can have one of its types", name)
		}
		out = data
	}
	return out, nil
}

`

const fitsHelper = `// genFits reports whether an object has no keys but these, all that are required, and only
// the values that the enums allow.
func genFits(data []byte, keys, required []string, values map[string][]string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return false
	}
	for key, value := range object {
		if !slices.Contains(keys, key) {
			return false
		}
		if allowed, limited := values[key]; limited {
			var text string
			if json.Unmarshal(value, &text) != nil || !slices.Contains(allowed, text) {
				return false
			}
		}
	}
	for _, key := range required {
		if _, ok := object[key]; !ok {
			return false
		}
	}
	return true
}
`
