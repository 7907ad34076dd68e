package codegen

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Equivalent reports whether a generated file of the official tool declares what ours declares: then
// handlers compile and run with either, and the file was generated from the same schema. Comments,
// documentation, the order of declarations and the bodies of functions are wording. Files that cfn wrote
// itself are never equivalent: they are current or stale.
func Equivalent(file string, theirs, ours []byte) bool {
	if bytes.Contains(theirs[:min(len(theirs), 1024)], []byte(marker)) || !IsGenerated(file, theirs) {
		return false
	}
	if path.Ext(file) == ".md" {
		return equivalentPages(string(theirs), string(ours))
	}
	for _, row := range surfaces {
		if row.pattern.MatchString(path.Base(file)) {
			a, b := row.of(string(theirs)), row.of(string(ours))
			return len(a) > 0 && slices.Equal(a, b)
		}
	}
	return false
}

// surfaces are what handlers see of a generated file, as a list to compare.
var surfaces = []struct {
	pattern *lazyregexp.Regexp
	of      func(text string) []string
}{
	{lazyregexp.New(`\.go$`), goSurface},
	{lazyregexp.New(`\.py$`), pythonSurface},
	{lazyregexp.New(`\.ts$`), typeScriptSurface},
	{lazyregexp.New(`\.java$`), javaSurface},
	{lazyregexp.New(`\.json$`), jsonSurface},
	{lazyregexp.New(`\.yaml$`), scriptSurface},
	{lazyregexp.New(`^makebuild$`), func(text string) []string {
		return scriptSurface(strings.ReplaceAll(text, "env CGO_ENABLED=0 ", "env "))
	}},
}

// goSurface are the exported declarations of a package, and of a program the functions of other
// packages that it refers to.
func goSurface(text string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	out := []string{"package " + parsed.Name.Name}
	if parsed.Name.Name == "main" {
		ast.Inspect(parsed, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if name := goSpelling(selector); strings.HasPrefix(name, "resource.") {
					out = append(out, name)
				}
			}
			return true
		})
		return sorted(out)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				out = append(out, "func "+goParameters(d.Recv)+d.Name.Name+goSpelling(d.Type))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					out = append(out, "type "+t.Name.Name+" "+goSpelling(t.Type))
				}
			}
		}
	}
	return sorted(out)
}

// goParameters are the types of parameters.
func goParameters(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var out []string
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out = append(out, goSpelling(f.Type))
		}
	}
	return "(" + strings.Join(out, ",") + ")"
}

// goSpelling is a type as text, without comments. A tag without a name in JSON means that of the field.
func goSpelling(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return goSpelling(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + goSpelling(e.X)
	case *ast.ArrayType:
		return "[]" + goSpelling(e.Elt)
	case *ast.MapType:
		return "map[" + goSpelling(e.Key) + "]" + goSpelling(e.Value)
	case *ast.InterfaceType:
		return "any"
	case *ast.FuncType:
		return goParameters(e.Params) + goParameters(e.Results)
	case *ast.StructType:
		var out []string
		for _, f := range e.Fields.List {
			tag := ""
			if f.Tag != nil {
				tag = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
			}
			for _, name := range f.Names {
				out = append(out, name.Name+" "+goSpelling(f.Type)+" "+strings.TrimPrefix(tag, name.Name))
			}
		}
		return "{" + strings.Join(out, ";") + "}"
	}
	return "?"
}

var (
	pythonClassLine = lazyregexp.New(`^class (\w+)`)
	pythonFieldLine = lazyregexp.New(`^    (\w+): ([^#]*?)(?: = None)?\s*$`)
	// Each class has an alias with an underscore.
	pythonSame = strings.NewReplacer("_typing.", "", "_builtins.", "", `"_`, `"`)
	// Sets of objects fail in the official models, because those cannot be hashed: ours are lists.
	pythonObjects = lazyregexp.New(`AbstractSet\["`)
)

// pythonSurface are the classes with their attributes. Classes whose name starts with an underscore are
// not for handlers.
func pythonSurface(text string) []string {
	var out []string
	class := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if found := pythonClassLine.FindStringSubmatch(line); found != nil {
			class = ""
			if !strings.HasPrefix(found[1], "_") {
				class = found[1]
				out = append(out, class)
			}
		} else if found := pythonFieldLine.FindStringSubmatch(line); found != nil && class != "" {
			annotation := pythonSame.Replace(found[2])
			annotation = pythonObjects.ReplaceAllString(annotation, `Sequence["`)
			last := len(out) - 1 // attributes are arguments of the constructor, in their order
			out[last] += " " + found[1] + ":" + annotation
		} else if line != "" && line[0] != ' ' && line[0] != ')' {
			class = ""
		}
	}
	return sorted(out)
}

var (
	typeScriptHead   = lazyregexp.New(`(?m)^export class (\w+) extends (\w+)`)
	typeScriptMember = lazyregexp.New(`@Expose\(\{ name: '((?:[^'\\]|\\.)*)' \}\)|(?m)^    (\w+\??: [^;]+);`)
	typeScriptStatic = lazyregexp.New(`(?m)^    (?:public|protected) (?:static )?readonly \w+: string = '[^']*'`)
)

// typeScriptSurface are the classes with their properties, the names of these in JSON, and the constants.
func typeScriptSurface(text string) []string {
	starts := typeScriptHead.FindAllStringSubmatchIndex(text, -1)
	var out []string
	for i, at := range starts {
		body := text[at[1]:]
		if i+1 < len(starts) {
			body = text[at[1]:starts[i+1][0]]
		}
		class := []string{text[at[2]:at[3]], text[at[4]:at[5]]}
		name := ""
		for _, m := range typeScriptMember.FindAllStringSubmatch(body, -1) {
			if m[2] == "" {
				name = m[1]
				continue
			}
			class = append(class, name+" "+m[2])
		}
		for _, m := range typeScriptStatic.FindAllString(body, -1) {
			class = append(class, strings.TrimSpace(m))
		}
		slices.Sort(class[2:])
		out = append(out, strings.Join(class, "; "))
	}
	return sorted(out)
}

var (
	javaComment = lazyregexp.New(`(?s:/\*.*?\*/)|(?m:\s//[^"\n]*$)|(?m:^//.*$)`)
	javaType    = lazyregexp.New(`\b(?:class|interface|enum) \w+[^{]*`)
	// A field, with the annotations before it, and a method that others may call or override.
	javaField  = lazyregexp.New(`((?:@\w+(?:\([^)]*\))? )*)private ((?:[\w.]+(?: ?<[^;={]*>)?(?:\[\])?) \w+) ?;`)
	javaMethod = lazyregexp.New(`(?:public|protected) (?:abstract |static |final )*[\w.<>\[\], ?]+\([^)]*\)`)
	javaPublic = lazyregexp.New(`public (?:static final|final static) [\w.]+ \w+ ?= ?[^;]*;`)
	javaTable  = lazyregexp.New(`(?:handlers|targetSchemaPaths)\.put\([^;]*;`)
	javaBefore = lazyregexp.New(`(@[A-Z]\w+(?:\((?:[^()"]|"[^"]*")*\))?)\s`)
)

// javaSurface are the class with its annotations, its fields, constants and methods, and which handlers
// and schemas it knows.
func javaSurface(text string) []string {
	text = javaComment.ReplaceAllString(text, "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "JsonAutoDetect.Visibility.", "Visibility."), "private final static", "private static final")
	text = strings.Join(strings.Fields(text), " ")
	declared := javaType.FindStringIndex(text)
	if declared == nil {
		return nil
	}
	_, head, _ := strings.Cut(text[:declared[0]], ";") // after the package
	out := []string{strings.TrimSpace(text[declared[0]:declared[1]])}
	if last := strings.LastIndex(head, ";"); last >= 0 {
		head = head[last+1:]
	}
	for _, m := range javaBefore.FindAllStringSubmatch(head, -1) {
		out = append(out, m[1])
	}
	body := text[declared[1]:]
	fields := ""
	for _, m := range javaField.FindAllStringSubmatch(body, -1) {
		if strings.Contains(m[1], "@JsonProperty") {
			fields += m[1] + m[2] + "; " // arguments of the constructor, in their order
		}
	}
	out = append(out, fields)
	for _, pattern := range []*lazyregexp.Regexp{javaMethod, javaPublic, javaTable} {
		for _, m := range pattern.FindAllString(body, -1) {
			out = append(out, strings.NewReplacer("( ", "(", ", ", ",", "final ", "").Replace(m))
		}
	}
	return sorted(out)
}

// jsonSurface is a document without the marks of its origin, whatever the order of its members.
func jsonSurface(text string) []string {
	var doc map[string]any
	if json.Unmarshal([]byte(text), &doc) != nil {
		return nil
	}
	if comment, ok := doc["$comment"].(string); ok && strings.HasPrefix(comment, marker) {
		if comment = strings.TrimSpace(strings.TrimPrefix(comment, marker)); comment == "" {
			delete(doc, "$comment")
		} else {
			doc["$comment"] = comment
		}
	}
	canonical, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	return []string{string(canonical)}
}

// scriptSurface are the lines without comments and spaces at their ends.
func scriptSurface(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out = append(out, line)
		}
	}
	return out
}

// pageWording are the texts of the official pages that ours do without or write in another way.
var pageWording = strings.NewReplacer(
	"_Minimum Length_", "_Minimum_", "_Maximum Length_", "_Maximum_",
	"for [`SetTypeConfiguration`]", "for the [`SetTypeConfiguration`]",
	`":  <a href="#footnote-1">`, `": `, `": <a href="#footnote-1">`, `": `, `"</a>`, `"`,
)

var pageFootnote = lazyregexp.New(`(?s)<p id="footnote-1">.*?</p>`)

// equivalentPages reports whether all that a page of the official tool says is in ours, in its order. Ours
// has more descriptions, but no other properties, types and constraints.
func equivalentPages(theirs, ours string) bool {
	a := pageLines(pageFootnote.ReplaceAllString(theirs, ""))
	for _, line := range pageLines(ours) {
		if len(a) > 0 && line == a[0] {
			a = a[1:]
		} else if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "_") || strings.HasPrefix(line, "<a ") {
			return false
		}
	}
	return len(a) == 0
}

var pageSpace = lazyregexp.New(`\s+(,|$)`)

func pageLines(text string) []string {
	var out []string
	for line := range strings.Lines(pageWording.Replace(html.UnescapeString(text))) {
		line = pageSpace.ReplaceAllString(strings.TrimRight(line, "\r\n"), "$1")
		if line = strings.TrimSpace(line); line != "" && line != "---" {
			out = append(out, line)
		}
	}
	return out
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
