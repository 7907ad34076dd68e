package formwork_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alone lists the interfaces that have fewer than two implementations in this program, and why they are
// not a concrete type, or a function for a single call.
var alone = map[string]string{
	"awswire.documentValue": "its implementations are types of the SDK",
	"contract.Resources":    "the border to another process, or AWS",
	"contract.Stacks":       "the border to another process, or AWS",
	"lambda.Functions":      "the border to the processes of functions",
	"registry.Functions":    "the border to the processes of handlers",
	"stackset.Stacks":       "stacks that stay in progress, fail or lose an answer as the test says",
	"store.Sealer":          "package seal keeps its key in the store, so that it is on a higher floor",
	"store.beginner":        "its implementations are types of database/sql",
	"store.conn":            "its implementations are types of database/sql",
	"store.texter":          "its implementations are [store.JSON] of any type",
	"template.Macros":       "package template does no I/O",
}

// A declared type is known by its methods, as "Name(parameters)results", and by what it embeds.
type declared struct {
	isInterface bool
	methods     map[string]bool
	embedded    []string // PACKAGE.NAME
}

// TestInterfacesHaveTwoImplementations compares signatures as they are written, without the names of
// packages. That is exact enough: none is taken for an implementation of what it is not.
func TestInterfacesHaveTwoImplementations(t *testing.T) {
	all := map[string]*declared{}
	eachGoFile(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "fixtures/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		collect(all, filepath.Base(filepath.Dir(path)), file)
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		wanted := methodsOf(all, name, 0)
		if !all[name].isInterface || len(wanted) == 0 {
			continue
		}
		var found []string
		for other, d := range all {
			if has := methodsOf(all, other, 0); !d.isInterface && !slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), func(m string) bool { return !has[m] }) {
				found = append(found, other)
			}
		}
		switch reason := alone[name]; {
		case len(found) < 2 && reason == "":
			t.Errorf("the interface %s has no second implementation besides %v: use the type itself, or a function for a single call", name, found)
		case len(found) > 1 && reason != "":
			t.Errorf("the interface %s has the implementations %v: remove it from the list", name, found)
		}
	}
	for name := range alone {
		if all[name] == nil {
			t.Errorf("the list has %s, which does not exist", name)
		}
	}
}

// collect adds the types that a file of a package declares, and their methods.
func collect(all map[string]*declared, pkg string, file *ast.File) {
	of := func(name string) *declared {
		name = pkg + "." + name
		if all[name] == nil {
			all[name] = &declared{methods: map[string]bool{}}
		}
		return all[name]
	}
	embed := func(d *declared, field ast.Expr) {
		name := strings.TrimPrefix(types.ExprString(field), "*")
		if !strings.Contains(name, ".") {
			name = pkg + "." + name
		}
		d.embedded = append(d.embedded, name)
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				receiver, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
				of(receiver).methods[signature(d.Name.Name, d.Type)] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				named, isType := spec.(*ast.TypeSpec)
				if !isType {
					continue
				}
				var fields *ast.FieldList
				known := of(named.Name.Name)
				switch typ := named.Type.(type) {
				case *ast.InterfaceType:
					fields, known.isInterface = typ.Methods, true
				case *ast.StructType:
					fields = typ.Fields
				default:
					continue
				}
				for _, field := range fields.List {
					method, isMethod := field.Type.(*ast.FuncType)
					switch {
					case len(field.Names) == 0:
						embed(known, field.Type)
					case known.isInterface && isMethod:
						known.methods[signature(field.Names[0].Name, method)] = true
					}
				}
			}
		}
	}
}

var qualifier = regexp.MustCompile(`\b\w+\.`)

// signature is a method without the names of its parameters and of packages.
func signature(name string, method *ast.FuncType) string {
	list := func(fields *ast.FieldList) string {
		var out []string
		if fields != nil {
			for _, field := range fields.List {
				out = append(out, slices.Repeat([]string{qualifier.ReplaceAllString(types.ExprString(field.Type), "")}, max(len(field.Names), 1))...)
			}
		}
		return "(" + strings.Join(out, ", ") + ")"
	}
	return name + list(method.Params) + list(method.Results)
}

// methodsOf are the methods of a type, with those of what it embeds.
func methodsOf(all map[string]*declared, name string, depth int) map[string]bool {
	d := all[name]
	if d == nil || depth > 4 {
		return nil
	}
	if len(d.embedded) == 0 {
		return d.methods
	}
	out := maps.Clone(d.methods)
	for _, embedded := range d.embedded {
		maps.Copy(out, methodsOf(all, embedded, depth+1))
	}
	return out
}
