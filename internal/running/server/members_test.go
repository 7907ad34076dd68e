package server

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// readers are the packages that read the requests of CloudFormation.
var readers = []string{"builtin", "hook", "operation", "refactor", "registry", "stack", "stackset"}

// A reading is which members of requests the sources read.
type reading struct {
	inputs map[string]map[string]bool // members by the name of the input: "CreateStackInput"
	names  map[string]bool            // members that are read of any value: for the shapes inside of inputs
}

// readMembers parses the sources. A member of an input is read where it is selected from a parameter of
// its type, or from a field of that type.
func readMembers(t *testing.T) *reading {
	t.Helper()
	r := &reading{inputs: map[string]map[string]bool{}, names: map[string]bool{}}
	for _, name := range readers {
		files, err := filepath.Glob(filepath.Join("..", "..", "*", name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var parsed []*ast.File
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		fields := inputFields(parsed)
		for _, f := range parsed {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					r.function(n.Type, n.Body, fields)
				case *ast.FuncLit:
					r.function(n.Type, n.Body, fields)
				case *ast.SelectorExpr:
					r.names[n.Sel.Name] = true
				}
				return true
			})
		}
	}
	return r
}

// inputName is the name of the input that an expression is the type of, "" for another type.
func inputName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(selector.Sel.Name, "Input") {
		return ""
	}
	return selector.Sel.Name
}

// inputFields are the fields of structs that have inputs, by the names of the fields.
func inputFields(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if name := inputName(field.Type); name != "" {
					for _, id := range field.Names {
						out[id.Name] = append(out[id.Name], name)
					}
				}
			}
			return true
		})
	}
	return out
}

func (r *reading) function(typ *ast.FuncType, body *ast.BlockStmt, fields map[string][]string) {
	if body == nil {
		return
	}
	parameters := map[string]string{}
	for _, p := range typ.Params.List {
		if name := inputName(p.Type); name != "" {
			for _, id := range p.Names {
				parameters[id.Name] = name
			}
		}
	}
	note := func(input, member string) {
		if r.inputs[input] == nil {
			r.inputs[input] = map[string]bool{}
		}
		r.inputs[input][member] = true
	}
	ast.Inspect(body, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch x := s.X.(type) {
		case *ast.Ident:
			if input := parameters[x.Name]; input != "" {
				note(input, s.Sel.Name)
			}
		case *ast.SelectorExpr:
			for _, input := range fields[x.Sel.Name] {
				note(input, s.Sel.Name)
			}
		}
		return true
	})
}

// documented are the members in the table of docs/serve.md of what is accepted without an effect.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "Some settings are accepted, stored and returned")
	if !found {
		t.Fatal("docs/serve.md has no table of settings without an effect")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	out := map[string]bool{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(cells[1], -1) {
				out[m[1]] = true
			}
		}
	}
	return out
}

// refusedAlways are operations that check what they are given and then refuse it: their other members have
// nothing to have an effect on.
var refusedAlways = []string{"EstimateTemplateCost", "ListStackSetAutoDeploymentTargets"}

// TestMembersHaveAnEffect goes through the members of every operation of CloudFormation that is
// implemented: each is read by the code, or the documentation says that it has no effect.
func TestMembersHaveAnEffect(t *testing.T) {
	read, told := readMembers(t), documented(t)
	client := reflect.TypeOf(&cloudformation.Client{})
	known, missing := map[string]bool{}, map[string]bool{}
	for _, operation := range cloudFormation(nil, nil, nil, nil, nil, 1).Operations {
		if slices.Contains(refusedAlways, operation.Name) {
			continue
		}
		method, ok := client.MethodByName(operation.Name)
		if !ok {
			t.Errorf("%s is not an operation of the API", operation.Name)
			continue
		}
		input := method.Type.In(2).Elem()
		if len(read.inputs[input.Name()]) == 0 && input.NumField() > 1 {
			t.Errorf("no member of %s is read: the operation is implemented in a package that is not among %v", input.Name(), readers)
		}
		for _, member := range members(input) {
			known[member.Name] = true
			if !read.inputs[input.Name()][member.Name] && !told[member.Name] {
				missing[input.Name()+"."+member.Name] = true
			}
			for name := range inside(member.Type, map[reflect.Type]bool{}) {
				_, short, _ := strings.Cut(name, ".")
				known[short] = true
				if !read.names[short] && !told[short] {
					missing[name] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s is accepted and has no effect: use it, or add it to the table in docs/serve.md", name)
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if _, operation := client.MethodByName(name); !operation && !known[name] {
			t.Errorf("docs/serve.md lists %s, which no request has", name)
		}
	}
}

// members are the exported fields of a shape.
func members(shape reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for i := range shape.NumField() {
		if f := shape.Field(i); f.IsExported() {
			out = append(out, f)
		}
	}
	return out
}

// inside are the members of the shapes in the type of a member: "RollbackConfiguration.RollbackTriggers".
func inside(t reflect.Type, seen map[reflect.Type]bool) map[string]bool {
	out := map[string]bool{}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return inside(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] || !strings.Contains(t.PkgPath(), "cloudformation") {
			return out
		}
		seen[t] = true
		for _, member := range members(t) {
			out[t.Name()+"."+member.Name] = true
			maps.Copy(out, inside(member.Type, seen))
		}
	}
	return out
}

// TestOperationsAreListedOnce finds operations that two lists have, of which only one has an effect.
func TestOperationsAreListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, operation := range cloudFormation(nil, nil, nil, nil, nil, 1).Operations {
		if seen[operation.Name] {
			t.Errorf("%s is listed twice", operation.Name)
		}
		seen[operation.Name] = true
	}
}
