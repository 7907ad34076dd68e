package codegen

import (
	"bytes"
	"fmt"
	"go/format"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// goPluginProject regenerates the files of a project that was made by the Go plug-in of
// the official tool, for its library at v1.2.0. Names of types and fields are those that
// the plug-in gives, so the handlers compile as before. What the plug-in gets wrong is
// right: property names are exact (names in lower case were lost), clashing names and
// properties of several types do not stop the generator, and types that properties and
// configuration share are declared once.
func goPluginProject(in Input) ([]File, error) {
	if in.Schema.Kind != schema.Resource {
		return nil, fmt.Errorf("generate sources of %s: the Go library of the official tool has no hooks", in.TypeName)
	}
	r := newReader(in.Schema)
	g := newGoTypes(r)
	g.plugin = true
	g.add(r.readModel(in.Schema), "Model")
	models := len(g.decls)
	g.add(r.readModel(in.Schema.TypeConfiguration), "TypeConfiguration")
	for _, d := range g.decls {
		if d.class == classRoot && d.object.untaggable() != "" {
			return nil, fmt.Errorf("generate the model of %s: the property name %q cannot be written in a Go struct tag", in.TypeName, d.object.untaggable())
		}
	}
	nameDeclarations(append([]*declaration(nil), g.decls...), reserved())

	model, err := pluginSource("", g.decls[:models])
	if err != nil {
		return nil, fmt.Errorf("generate the model of %s: %w", in.TypeName, err)
	}
	intro := configurationFunc
	if lacksTypeConfiguration(in.GoMod) {
		intro = ""
	}
	config, err := pluginSource(intro, g.decls[models:])
	if err != nil {
		return nil, fmt.Errorf("generate the configuration of %s: %w", in.TypeName, err)
	}
	f := frame{Marker: marker, TypeName: in.TypeName, ImportPath: in.ImportPath, Entrypoint: in.Entrypoint}
	if in.Entrypoint == "bootstrap" { // the go1.x runtime, of projects with another one, needs RPC
		f.Tags = "lambda.norpc,"
	}
	p := &project{}
	p.put(File{Path: "cmd/resource/model.go", Data: model, Mode: Generated}, File{Path: "cmd/resource/config.go", Data: config, Mode: Generated})
	p.fillAll(f, row{"plugin.main.go.tmpl", "cmd/main.go", Generated}, row{"plugin.makebuild", "makebuild", Generated})
	return p.files, p.err
}

const pluginModule = "github.com/aws-cloudformation/cloudformation-cli-go-plugin"

// lacksTypeConfiguration reports whether go.mod requires a version of the library whose
// requests have no UnmarshalTypeConfig: it came on 2022-10-31, and with v1.1.0.
func lacksTypeConfiguration(goMod []byte) bool {
	file, err := modfile.ParseLax("go.mod", goMod, nil)
	if err != nil {
		return false
	}
	for _, r := range file.Require {
		if r.Mod.Path != pluginModule {
			continue
		}
		if at, err := module.PseudoVersionTime(r.Mod.Version); err == nil {
			return at.Before(time.Date(2022, 10, 31, 0, 0, 0, 0, time.UTC))
		}
		return semver.Compare(r.Mod.Version, "v1.1.0") < 0
	}
	return false
}

const configurationFunc = `import "github.com/aws-cloudformation/cloudformation-cli-go-plugin/cfn/handler"

// Configuration returns the configuration of the type that came with a request.
func Configuration(req handler.Request) (*TypeConfiguration, error) {
	configuration := &TypeConfiguration{}
	return configuration, req.UnmarshalTypeConfig(configuration)
}

`

func pluginSource(intro string, decls []*declaration) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(goHeader + "package resource\n\n" + intro)
	for _, d := range decls {
		switch d.kind {
		case declStruct:
			names := fieldNames(d.object, scope{})
			fmt.Fprintf(&b, "// %s is generated from the schema.\ntype %[1]s struct {\n", d.name)
			for _, f := range d.fields {
				fmt.Fprintf(&b, "\t%s %s `json:\"%s,omitempty\"`\n", names[f.property.name], pluginField(f.typ), f.property.name)
			}
			b.WriteString("}\n\n")
		case declNamed:
			fmt.Fprintf(&b, "// %s is a value that contains itself.\ntype %[1]s %s\n\n", d.name, pluginType(d.base))
		}
	}
	return format.Source(b.Bytes())
}

func pluginField(t *goType) string {
	switch t.kind {
	case kList, kMap, kAny:
		return pluginType(t)
	}
	return "*" + pluginType(t)
}

// pluginType returns a type of the kinds that the library can convert: only string, int,
// float64, bool, structs, slices and maps.
func pluginType(t *goType) string {
	if t.decl != nil {
		return t.decl.name
	}
	switch t.kind {
	case kBool:
		return "bool"
	case kInt:
		return "int"
	case kNum:
		return "float64"
	case kStr:
		return "string"
	case kList:
		return "[]" + pluginType(t.elem)
	case kMap:
		return "map[string]" + pluginType(t.elem)
	}
	return "interface{}"
}

// pluginUnion chooses the type of a value of several types, of which the library can
// carry one. Scalars travel as strings in this protocol, so a string can hold any of
// them; several objects become one with the properties of all.
func (g *goTypes) pluginUnion(s *shape, forms []form, owner *declaration, name string) *goType {
	var structs []*object
	chosen := form{kind: kMap}
	for _, f := range forms {
		switch f.kind {
		case kStruct:
			structs = append(structs, f.object)
		case kStr, kInt, kNum, kBool:
			return &goType{kind: kStr}
		case kList:
			chosen = f
		}
	}
	if len(structs) == 0 {
		return g.form(nil, chosen, owner, name)
	}
	one := g.unions[s]
	if one == nil {
		one = g.reader.united(structs...)
		one.named, one.name, one.parts = true, name, append(append([]string(nil), owner.parts...), name)
		if s.name != "" {
			one.ref, one.name, one.parts = true, s.name, []string{s.name}
		}
		if g.unions == nil {
			g.unions = map[*shape]*object{}
		}
		g.unions[s] = one
	}
	return g.form(nil, form{kind: kStruct, object: one}, owner, name)
}
