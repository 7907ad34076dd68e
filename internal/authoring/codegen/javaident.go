package codegen

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// javaIdentifier is one property of an identifier: its pointer, and the getters that lead to it.
type javaIdentifier struct {
	pointer, constant string
	getters           []string // nil if the path does not lead through objects
}

// identifier finds the fields on the way to a property.
func (j *java) identifier(c *javaClass, path schema.Path) javaIdentifier {
	parts := path.Tokens
	id := javaIdentifier{pointer: path.Text, constant: "IDENTIFIER_KEY_" + strings.ToUpper(javaWord(strings.Join(parts, "_")))}
	at := c.object
	for _, name := range parts {
		if at == nil || at.byName[name] == nil {
			id.getters = nil
			return id
		}
		id.getters = append(id.getters, "get"+javaUpper(j.classes[at].fields[name]))
		var next *object
		if s := j.reader.all(at.byName[name].schemas); len(s.forms) == 1 {
			next = s.forms[0].object
		}
		at = next
	}
	return id
}

// identifiers writes the constants and the methods of a resource with its identifiers, as handlers and the
// library know them. They are null unless all parts are there.
func (j *java) identifiers(c *javaClass) {
	s := c.root.schema
	var constants []string
	read := func(paths []schema.Path) (ids []javaIdentifier) {
		for _, path := range paths {
			id := j.identifier(c, path)
			ids = append(ids, id)
			if !slices.Contains(constants, id.constant) {
				constants = append(constants, id.constant)
				j.printf("\n    @%s\n    public static final %s %s = %s;\n", j.imported("com.fasterxml.jackson.annotation.JsonIgnore"), j.imported("java.lang.String"), id.constant, javaQuote(id.pointer))
			}
		}
		return ids
	}
	primary := read(s.PrimaryIdentifier)
	additional := make([][]javaIdentifier, 0, len(s.AdditionalIdentifiers))
	for _, paths := range s.AdditionalIdentifiers {
		additional = append(additional, read(paths))
	}
	object, list := j.imported("org.json.JSONObject"), j.imported("java.util.List")
	j.identifierMethod("getPrimaryIdentifier", primary)
	var names []string
	for _, ids := range additional {
		name := "getIdentifier"
		for _, id := range ids {
			name += "_" + javaUpper(javaWord(id.pointer[strings.LastIndex(id.pointer, "/")+1:]))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
			j.identifierMethod(name, ids)
		}
	}
	j.printf("\n    @%s\n    public %s<%s> getAdditionalIdentifiers() {\n", j.imported("com.fasterxml.jackson.annotation.JsonIgnore"), list, object)
	j.printf("        final %s<%s> identifiers = new %s<>();\n", list, object, j.imported("java.util.ArrayList"))
	for _, name := range names {
		j.printf("        if (this.%s() != null) {\n            identifiers.add(this.%[1]s());\n        }\n", name)
	}
	j.printf("        return identifiers.isEmpty() ? null : identifiers;\n    }\n")
}

func (j *java) identifierMethod(name string, ids []javaIdentifier) {
	object := j.imported("org.json.JSONObject")
	j.printf("\n    @%s\n    public %s %s() {\n        final %[2]s identifier = new %[2]s();\n", j.imported("com.fasterxml.jackson.annotation.JsonIgnore"), object, name)
	for _, id := range ids {
		if id.getters == nil {
			continue
		}
		var conditions []string
		value := "this"
		for _, getter := range id.getters {
			value += "." + getter + "()"
			conditions = append(conditions, value+" != null")
		}
		j.printf("        if (%s) {\n            identifier.put(%s, %s);\n        }\n", strings.Join(conditions, " && "), id.constant, value)
	}
	j.printf("        return identifier.length() == %d ? identifier : null;\n    }\n", len(ids))
}

// targetMethods writes the methods that the library requires of a hook's target.
func (j *java) targetMethods(c *javaClass) {
	ignore, boolean := "@"+j.imported("com.fasterxml.jackson.annotation.JsonIgnore"), j.imported("java.lang.Boolean")
	j.printf("\n    %s\n    public %s targetSchemaJSONObject() {\n        if (targetSchema == null) {\n            targetSchema = loadSchema(%s);\n        }\n        return targetSchema;\n    }\n",
		ignore, j.imported("org.json.JSONObject"), javaQuote(javaTargetFile(c.root.typeName())))
	j.printf("\n    %s\n    public %s hasDefinedSchema() {\n        return %[2]s.TRUE;\n    }\n", ignore, boolean)
	j.printf("\n    %s\n    public %s isCloudFormationRegistryType() {\n        return %[2]s.TRUE;\n    }\n", ignore, boolean)
}
