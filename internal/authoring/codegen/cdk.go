package codegen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// CDKLanguages are the languages of constructs for the AWS CDK.
var CDKLanguages = []string{"typescript", "python"}

// CDK returns a file with the L1 construct of a resource type or a module, in the manner of those in aws-cdk-lib. It needs
// no jsii: only aws-cdk-lib and constructs.
func CDK(s *schema.Schema, typeName, language string) (File, error) {
	if !typeNamePattern.MatchString(strings.TrimSuffix(typeName, moduleSuffix)) {
		return File{}, fmt.Errorf("generate a construct: %q is not the name of a type; write Organization::Service::Name", typeName)
	}
	c := newConstruct(s, typeName)
	file := File{Path: schema.Hyphenated(typeName), Mode: Generated}
	switch language {
	case "typescript":
		file.Path += ".ts"
		file.Data = c.typeScript()
	case "python":
		file.Path = strings.ReplaceAll(file.Path, "-", "_") + ".py"
		file.Data = c.python()
	default:
		return File{}, fmt.Errorf("generate a construct: the language %q is not supported; use one of %s", language, strings.Join(CDKLanguages, ", "))
	}
	return file, nil
}

const moduleSuffix = "::MODULE"

// A construct is an L1 construct, in any language.
type construct struct {
	typeName, name, title string
	root                  *cdkStruct
	structs               []*cdkStruct // below the root
	attributes            []cdkAttribute
	tags                  *cdkProp // the list of tags that the CDK's tag manager fills, nil if there is none
	identifier            *cdkProp // the property or attribute that identifies the resource, nil for several

	reader *reader
	names  map[*object]*cdkStruct
	taken  scope
	open   map[*shape]bool
}

// A cdkStruct is an object with named properties.
type cdkStruct struct {
	name, title string
	props       []*cdkProp
}

type cdkProp struct {
	schemaName, camel, snake, title string
	required                        bool
	kind                            cdkType
}

// A cdkType is the type of a value. of is the type of the items of a list and of the values of a map.
type cdkType struct {
	kind  kind
	of    *cdkType
	value *cdkStruct
}

type cdkAttribute struct {
	path        string // A.B
	name, title string // AB
	kind        cdkType
}

// cdkReserved are the members of CfnResource that a property cannot be named after.
var cdkReserved = strings.Fields(`node stack ref logicalId env creationStack cfnOptions cfnResourceType cfnProperties cfnPropertyNames updatedProperties
	constructor toString inspect applyRemovalPolicy addDependency addDependsOn addDeletionOverride addMetadata addOverride addPropertyOverride
	addPropertyDeletionOverride getAtt getMetadata obtainDependencies obtainResourceDependencies overrideLogicalId removeDependency replaceDependency
	renderProperties shouldSynthesize validateProperties cdkTagManager reference with mixins logical_id creation_stack cfn_options
	cfn_properties updated_properties apply_removal_policy add_dependency add_depends_on add_deletion_override add_metadata add_override
	add_property_override add_property_deletion_override get_att get_metadata obtain_dependencies obtain_resource_dependencies override_logical_id
	remove_dependency replace_dependency should_synthesize validate_properties cdk_tag_manager to_string self scope`)

func newConstruct(s *schema.Schema, typeName string) *construct {
	c := &construct{typeName: typeName, title: s.Description, names: map[*object]*cdkStruct{}, taken: scope{}, open: map[*shape]bool{}}
	parts := strings.Split(typeName, "::")
	c.name = "Cfn" + parts[2]
	if len(parts) > 3 {
		c.name += "Module"
	}
	c.root = &cdkStruct{name: c.name + "Props", title: "The properties of " + typeName + "."}
	if strings.HasSuffix(typeName, moduleSuffix) {
		if parameters := s.Root.Lookup(document.Pointer{"properties", "Parameters", "properties"}); parameters != nil {
			for _, m := range parameters.Distinct() {
				c.root.props = append(c.root.props, &cdkProp{schemaName: m.Key, title: m.Value.Get("description").Str(), kind: cdkType{kind: kAny}})
			}
		}
		c.root.nameProps()
		return c
	}
	c.reader = newReader(s)
	m := c.reader.readModel(s)
	for _, o := range m.objects {
		if o == m.root {
			c.names[o] = c.root
			continue
		}
		st := &cdkStruct{name: c.taken.take(goName(o.name) + "Property"), title: o.title}
		c.names[o] = st
		c.structs = append(c.structs, st)
	}
	for _, o := range m.objects {
		st := c.names[o]
		for _, p := range o.props {
			if len(p.paths.readOnly) > 0 && len(p.paths.createOnly) == 0 && !o.required[p.name] {
				continue
			}
			st.props = append(st.props, &cdkProp{
				schemaName: p.name, title: c.titleOf(p), required: o.required[p.name], kind: c.typeOf(p.schemas),
			})
		}
		st.nameProps()
	}
	c.findAttributes(s)
	c.findTags(s)
	if len(s.PrimaryIdentifier) == 1 && len(s.PrimaryIdentifier[0].Tokens) == 1 {
		name := s.PrimaryIdentifier[0].Tokens[0]
		c.identifier = &cdkProp{schemaName: name, camel: cdkCamel(name), snake: cdkSnake(name)}
	}
	return c
}

// titleOf is the documentation of a property, with what an update of it does.
func (c *construct) titleOf(p *property) string {
	text := ""
	for _, node := range p.schemas {
		if target, _ := c.reader.resolve(node); text == "" {
			if text = node.Get("description").Str(); text == "" {
				text = target.Get("description").Str()
			}
		}
	}
	for _, note := range []struct {
		paths []string
		text  string
	}{{p.paths.createOnly, "A change replaces the resource."}, {p.paths.conditional, "A change may replace the resource."}, {p.paths.writeOnly, "The value cannot be read."}, {p.paths.deprecated, "Deprecated."}} {
		if len(note.paths) > 0 {
			text = strings.TrimSpace(text + "\n\n" + note.text)
		}
	}
	return text
}

// nameProps gives the properties their names in the languages.
func (s *cdkStruct) nameProps() {
	camel, snake := scope{}, scope{}
	for _, word := range cdkReserved {
		camel[word], snake[word] = true, true
	}
	for _, word := range append([]string{"id"}, pythonKeywords...) {
		snake[word] = true
	}
	for _, p := range s.props {
		p.camel = camel.take(cdkCamel(p.schemaName), cdkCamel(p.schemaName)+"Property")
		p.snake = snake.take(cdkSnake(p.schemaName), cdkSnake(p.schemaName)+"_")
	}
}

func (c *construct) typeOf(schemas []*document.Value) cdkType {
	s := c.reader.all(schemas)
	if len(s.forms) != 1 || c.open[s] {
		if len(s.forms) == 2 && slices.ContainsFunc(s.forms, func(f form) bool { return f.kind == kInt }) && slices.ContainsFunc(s.forms, func(f form) bool { return f.kind == kNum }) {
			return cdkType{kind: kNum}
		}
		return cdkType{kind: kAny}
	}
	c.open[s] = true
	defer delete(c.open, s)
	f := s.forms[0]
	out := cdkType{kind: f.kind}
	inner := f.items
	switch f.kind {
	case kInt:
		out.kind = kNum
	case kStruct:
		out.value = c.names[f.object]
	case kMap:
		inner = f.values
		fallthrough
	case kList:
		out.of = &cdkType{kind: kAny}
		if len(inner) > 0 {
			of := c.typeOf(inner)
			out.of = &of
		}
	case kNull:
		out.kind = kAny
	}
	return out
}

// findAttributes lists what Fn::GetAtt can read: not below lists and maps.
func (c *construct) findAttributes(s *schema.Schema) {
	taken := scope{}
	for _, path := range s.ReadOnly {
		if len(path.Tokens) == 0 || slices.Contains(path.Tokens, "*") {
			continue
		}
		node := s.Property(path.Tokens)
		if node == nil {
			continue
		}
		var name strings.Builder
		for _, token := range path.Tokens {
			name.WriteString(goName(token))
		}
		c.attributes = append(c.attributes, cdkAttribute{
			path: strings.Join(path.Tokens, "."), name: taken.take(name.String()), title: node.Get("description").Str(), kind: c.typeOf([]*document.Value{node}),
		})
	}
}

// findTags finds the property for the tags of the tag manager: a list of objects with Key and Value.
func (c *construct) findTags(s *schema.Schema) {
	name := "Tags"
	if t := s.Tagging.Property.Tokens; len(t) == 1 {
		name = t[0]
	}
	for _, p := range c.root.props {
		if p.schemaName != name || p.kind.kind != kList || p.kind.of.kind != kStruct || p.kind.of.value == nil {
			continue
		}
		var keys []string
		for _, key := range p.kind.of.value.props {
			keys = append(keys, key.schemaName)
		}
		slices.Sort(keys)
		if slices.Equal(keys, []string{"Key", "Value"}) {
			p.camel, p.snake, c.tags = "tags", "tags", p
		}
	}
}

// shapeOf is the name of the object in a value and whether maps lead to it, for the table of names.
func (t cdkType) shapeOf() (name string, maps int) {
	switch {
	case t.kind == kStruct && t.value != nil:
		return t.value.name, 0
	case t.kind == kList:
		return t.of.shapeOf()
	case t.kind == kMap:
		name, maps = t.of.shapeOf()
		return name, maps + 1
	}
	return "", 0
}

// cdkCamel is a property as the CDK names it: ReviewCode is reviewCode, KMSKeyId is kmsKeyId.
func cdkCamel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !isWordRune(r) })
	for i, word := range words {
		if i > 0 {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
			continue
		}
		upper := 0
		for upper < len(word) && 'A' <= word[upper] && word[upper] <= 'Z' {
			upper++
		}
		if upper > 1 && upper < len(word) && 'a' <= word[upper] && word[upper] <= 'z' {
			upper--
		}
		words[i] = strings.ToLower(word[:upper]) + word[upper:]
	}
	out := strings.Join(words, "")
	if out == "" || '0' <= out[0] && out[0] <= '9' {
		out = "p" + out
	}
	return out
}

func isWordRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// cdkSnake is a property as jsii names it in Python.
func cdkSnake(name string) string {
	camel := cdkCamel(name)
	var b bytes.Buffer
	for i := range len(camel) {
		c := camel[i]
		upper := 'A' <= c && c <= 'Z'
		before := i > 0 && ('a' <= camel[i-1] && camel[i-1] <= 'z' || '0' <= camel[i-1] && camel[i-1] <= '9')
		after := i > 0 && i+1 < len(camel) && 'a' <= camel[i+1] && camel[i+1] <= 'z'
		if upper && (before || after) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(c)))
	}
	return b.String()
}
