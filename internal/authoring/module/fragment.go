package module

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The limits of a module's fragment.
const (
	maxFragment          = 1_500_000 // bytes
	maxFragmentResources = 500
	maxFragmentOutputs   = 200
	maxFragmentMappings  = 200 // mappings, and attributes in one of them

	maxDocument = 8 << 20 // bytes that are read at all
)

// fragmentExtensions are those of the files in fragments/ that count.
var fragmentExtensions = []string{".json", ".template", ".yaml", ".yml"}

// A Fragment is the template of a module.
type Fragment struct {
	File string          // slash-separated, seen from the project
	Data []byte          // as written
	Root *document.Value // short forms of functions written long
}

// ParseFragment reads and checks one fragment: the rules of the user guide's chapter on
// modules, with the official tool's messages. file is where it is in the project or package,
// label what messages call it. The fragment is nil if it could not be read as a template.
func ParseFragment(file, label string, data []byte) (*Fragment, diag.List) {
	root, problems := parseTemplate(label, data)
	if root == nil {
		return nil, problems
	}
	f := &Fragment{File: file, Data: data, Root: root}
	c := &fragmentCheck{file: label, root: root, problems: problems}
	c.run(len(data))
	c.problems.Sort()
	return f, c.problems
}

// OneFragment holds the list of fragments to the rule that a module has exactly one. label
// is what messages call their folder.
func OneFragment(label string, files []string) diag.List {
	switch at := (diag.Range{File: label}); {
	case len(files) == 0:
		return diag.List{{
			ID: "module/no-fragment", At: at,
			Message: "No module fragment files found in the fragments folder ending in one of " + strings.Join(fragmentExtensions, ", "),
			Hint:    "add the module's template to this folder",
		}}
	case len(files) > 1:
		return diag.List{{
			ID: "module/multiple-files", At: at,
			Message: fmt.Sprintf("A Module can only consist of a single template file, but there are %d: %s", len(files), strings.Join(files, ", ")),
			Hint:    "merge them into one, or move the others out of the folder",
		}}
	}
	return nil
}

// IsFragment reports by its extension whether a file in fragments/ is a fragment; other files
// there are ignored.
func IsFragment(name string) bool {
	return slices.Contains(fragmentExtensions, strings.ToLower(path.Ext(name)))
}

// fragmentCheck checks one fragment against the rules.
type fragmentCheck struct {
	file     string
	root     *document.Value
	problems diag.List
}

func (c *fragmentCheck) add(id string, at diag.Range, pointer document.Pointer, hint, message string, args ...any) {
	c.problems.Add(diag.Problem{ID: "module/" + id, At: at, Pointer: pointer.String(), Message: fmt.Sprintf(message, args...), Hint: hint})
}

func (c *fragmentCheck) run(size int) {
	if size > maxFragment {
		c.add("too-large", diag.Range{File: c.file}, nil, "",
			"The total file size of the template fragments exceeds the CloudFormation Template size limit: %d bytes, the limit is %d", size, maxFragment)
	}
	if c.root.Kind != document.Object {
		c.add("resources-missing", c.root.At, nil, "a template is an object with the key Resources", "A Module template fragment must have a Resources section")
		return
	}
	c.resources()
	c.parameters()
	c.transforms()
	c.outputs()
	c.mappings()
	c.functions(c.root, nil)
	c.references()
}

// section returns the members of a section; one that is not an object is a problem.
func (c *fragmentCheck) section(name string) []document.Member {
	m := c.root.Member(name)
	if m == nil {
		return nil
	}
	if m.Value.Kind != document.Object {
		c.add("wrong-type", m.Value.At, document.Pointer{name}, "", "The section %s is of type %s, not an object", name, m.Value.Kind)
		return nil
	}
	return m.Value.Members
}

func (c *fragmentCheck) resources() {
	section := c.root.Member("Resources")
	if section == nil {
		c.add("resources-missing", c.root.At, nil, "", "A Module template fragment must have a Resources section")
		return
	}
	members := c.section("Resources")
	if len(members) > maxFragmentResources {
		c.add("too-many-resources", section.KeyAt, document.Pointer{"Resources"}, "",
			"The Module template fragment has %d resources but must not exceed the limit of %d resources", len(members), maxFragmentResources)
	}
	for _, m := range members {
		c.resource(m)
	}
}

// refusedResources are the types of resource that a module must not contain.
var refusedResources = map[string]struct{ id, message string }{
	"AWS::CloudFormation::Stack":    {"nested-stack", "Template fragment can't contain nested stack."},
	"AWS::CloudFormation::StackSet": {"stack-set", "Template fragment can't contain any stack set."},
	"AWS::CloudFormation::Macro":    {"macro", "Template fragment can't contain any macro."},
}

func (c *fragmentCheck) resource(m document.Member) {
	pointer := document.Pointer{"Resources", m.Key}
	typ, name := m.Value.Get("Type"), m.Value.Get("Name")
	switch {
	case typ != nil && typ.Kind != document.String:
		c.add("resource-invalid", typ.At, pointer.Append("Type"), "", "The Type of resource '%s' is of type %s, not a string", m.Key, typ.Kind)
	case typ != nil:
		if refused, ok := refusedResources[typ.Text]; ok {
			c.add(refused.id, typ.At, pointer.Append("Type"), "", "%s", refused.message)
		}
	case name == nil:
		c.add("resource-without-type", m.KeyAt, pointer, "move resource attributes such as DeletionPolicy into a resource", "Resource '%s' has neither Type nor Name", m.Key)
	case name.Kind == document.String && name.Text == "AWS::Include":
		c.add("include", name.At, pointer.Append("Name"), "copy the included content into the fragment", "Template fragment can't use AWS::Include transform.")
	default:
		c.add("resource-invalid", m.KeyAt, pointer, "", "Resource '%s' is invalid", m.Key)
	}
}

func (c *fragmentCheck) parameters() {
	for _, m := range c.section("Parameters") {
		if m.Value.Get("Type") == nil {
			c.add("parameter-without-type", m.KeyAt, document.Pointer{"Parameters", m.Key}, `write "Type": "String" or another type`, "Parameter '%s' must have a Type", m.Key)
		}
	}
}

func (c *fragmentCheck) transforms() {
	for _, name := range []string{"transform", "Transform"} {
		if m := c.root.Member(name); m != nil {
			c.add("transform-section", m.KeyAt, document.Pointer{name}, "apply the transform and replace it with the result", "Template fragment can't contain transform section.")
		}
	}
}

func (c *fragmentCheck) outputs() {
	members := c.section("Outputs")
	for _, m := range members {
		if export := m.Value.Member("Export"); export != nil {
			c.add("export", export.KeyAt, document.Pointer{"Outputs", m.Key, "Export"}, "export it in the template that uses the module",
				"Template fragment cannot contain any Export. Found an Export statement in Output: %s", m.Key)
		}
	}
	if len(members) > maxFragmentOutputs {
		c.add("too-many-outputs", c.root.Member("Outputs").KeyAt, document.Pointer{"Outputs"}, "",
			"The Module template fragment has %d outputs but must not exceed the limit of %d outputs", len(members), maxFragmentOutputs)
	}
}

func (c *fragmentCheck) mappings() {
	members := c.section("Mappings")
	if len(members) > maxFragmentMappings {
		c.add("too-many-mappings", c.root.Member("Mappings").KeyAt, document.Pointer{"Mappings"}, "",
			"The Module template fragment has %d mappings but must not exceed the limit of %d mappings", len(members), maxFragmentMappings)
	}
	for _, m := range members {
		if n := len(m.Value.Members); n > maxFragmentMappings {
			c.add("too-many-attributes", m.KeyAt, document.Pointer{"Mappings", m.Key}, "",
				"The mapping %s has %d attributes but must not exceed the limit of %d mapping attributes", m.Key, n, maxFragmentMappings)
		}
	}
}

// functions finds the intrinsic functions that a module must not call, at any depth. The
// official tool takes the words Fn::ImportValue in a comment for a call, and does not see
// an Fn::Transform inside a resource.
func (c *fragmentCheck) functions(v *document.Value, at document.Pointer) {
	for i, item := range v.Items {
		c.functions(item, at.Append(fmt.Sprint(i)))
	}
	for _, m := range v.Members {
		pointer := at.Append(m.Key)
		switch m.Key {
		case "Fn::ImportValue":
			c.add("import-value", m.KeyAt, pointer, "take the value as a parameter of the module", "Template fragment can't contain any Fn::ImportValue.")
		case "Fn::Transform":
			if len(at) != 1 || at[0] != "Resources" { // there it is reported as a resource
				c.add("transform", m.KeyAt, pointer, "apply the transform and replace it with the result", "Template fragment can't contain any transform.")
			}
		}
		c.functions(m.Value, pointer)
	}
}

// Schema is the schema.json of a module with this fragment, as the official tool writes it.
func (f *Fragment) Schema(typeName string) []byte {
	kind := func(name string) document.Member { return member("type", document.NewString(name)) }
	properties := document.NewObject()
	if parameters := f.Root.Get("Parameters"); parameters != nil {
		each := document.NewObject()
		for _, m := range parameters.Members {
			each.Members = append(each.Members, member(m.Key, parameterSchema(m.Value)))
		}
		properties.Members = append(properties.Members, member("Parameters", document.NewObject(kind("object"), member("properties", each))))
	}
	resources := document.NewObject()
	for _, m := range f.Root.Get("Resources").Members {
		typ := m.Value.Get("Type")
		if typ == nil {
			typ = &document.Value{}
		}
		resources.Members = append(resources.Members, member(m.Key, document.NewObject(kind("object"), member("properties", document.NewObject(
			member("Type", document.NewObject(kind("string"), member("const", typ))),
			member("Properties", document.NewObject(kind("object"))),
		)))))
	}
	properties.Members = append(properties.Members, member("Resources", document.NewObject(
		member("properties", resources), kind("object"), member("additionalProperties", &document.Value{Kind: document.Bool}),
	)))
	return document.NewObject(
		member("typeName", document.NewString(typeName)),
		member("description", document.NewString("Schema for Module Fragment of type "+typeName)),
		member("properties", properties),
		member("additionalProperties", &document.Value{Kind: document.Bool, Bool: true}),
	).Indented("    ")
}

// parameterSchema describes a parameter in schema.json.
func parameterSchema(parameter *document.Value) *document.Value {
	word := document.NewObject(member("type", document.NewString("string")))
	parts, required := document.NewObject(member("Type", word)), &document.Value{Kind: document.Array, Items: []*document.Value{document.NewString("Type")}}
	out := document.NewObject(member("type", document.NewString("object")), member("properties", parts), member("required", required))
	if description := parameter.Get("Description"); description != nil {
		parts.Members = append(parts.Members, member("Description", word))
		required.Items = append(required.Items, document.NewString("Description"))
		out.Members = append(out.Members, member("description", description))
	}
	return out
}

func member(key string, value *document.Value) document.Member {
	return document.Member{Key: key, Value: value}
}
