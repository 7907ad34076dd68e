package codegen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A frameTypeScript is what the template of handlers that call an API knows.
type frameTypeScript struct {
	frame
	Imports        string // from the module wire
	Values         string // the variable with the properties to create
	Unique, Unread string // lists of properties
	Additional     string
	Tries          int // reads until an operation ends with NotStabilized
}

// typeScriptBinding is where the binding is in a project in TypeScript.
func typeScriptBinding(Input) string { return "src/api.ts" }

var typeScriptQuoting = quoting{quote: quoteTypeScript, begin: "[", end: "]"}

// typeScriptAPI adds the files of a project in TypeScript that call an API, instead of the empty handlers.
func (p *project) typeScriptAPI(in Input, f *frame) error {
	b, err := readBinding(in)
	if err != nil {
		return err
	}
	f.API = b.frame(in.Schema, typeScriptQuoting)
	f.API.Service = strings.ReplaceAll(f.API.Service, "*/", "*\\/")
	module, err := typeScriptBindingModule(in.Binding)
	if err != nil {
		return fmt.Errorf("generate handlers of %s: %w", in.TypeName, err)
	}
	p.put(File{Path: typeScriptBinding(in), Data: module, Mode: Generated})
	all := typeScriptFrame(in, *f, b)
	p.fillAll(all, row{"typescript/api.handlers.ts", "src/handlers.ts", Refreshed}, row{"typescript/client.ts", "src/client.ts", Generated}, row{"typescript/wire.ts", "src/wire.ts", Generated})
	if f.API.XML {
		p.fillAll(all, row{"typescript/xml.ts", "src/xml.ts", Generated})
	}
	return nil
}

func typeScriptFrame(in Input, f frame, b *boundAPI) frameTypeScript {
	out := frameTypeScript{frame: f, Values: "desired", Unique: typeScriptQuoting.list(b.Find.Properties), Additional: f.API.Additional, Tries: 60 / f.API.Delay}
	if f.API.Wait != "" {
		out.Tries = 2 * 60 * 60 / f.API.Delay
	}
	if f.API.TagOnCreate {
		out.Values = "values"
	}
	names := []string{"hasCode", "only", "Values"}
	if f.API.Finds || f.API.HasUpdate && f.API.CreateOnly != "" {
		names = append(names, "equal")
	}
	if f.API.HasUpdate && f.API.CreateOnly != "" {
		names = append(names, "valueAt")
	}
	if f.API.Tags {
		names = append(names, "tagsToMap")
	}
	if f.API.TagOnCreate {
		names = append(names, "tagsFromMap")
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	out.Imports = strings.Join(names, ", ")
	out.Unread = typeScriptQuoting.list(unread(in.Schema, b))
	return out
}

// unread are the properties that requests have and reads do not return, without those that are write-only.
func unread(s *schema.Schema, b *boundAPI) (names []string) {
	returned := slices.Clone(b.Identifier)
	for _, p := range b.Read.Receive {
		returned = append(returned, p.Property)
	}
	returned = append(returned, topLevel(s.WriteOnly)...)
	if b.Tags != nil {
		returned = append(returned, b.Tags.Property)
	}
	for _, call := range append([]boundCall{b.Create}, b.Update...) {
		for _, p := range call.Send {
			if !slices.Contains(returned, p.Property) {
				returned = append(returned, p.Property)
				names = append(names, p.Property)
			}
		}
	}
	return names
}

// typeScriptBindingModule is a binding as a module.
func typeScriptBindingModule(binding []byte) ([]byte, error) {
	value, problems := document.Parse("api.json", binding, document.Limits{})
	if problems.HasErrors() {
		return nil, fmt.Errorf("read the binding of the API: %w", problems.Err())
	}
	var optional []string // those that handlers use without looking whether the API has them
	for _, m := range value.Members {
		if slices.Contains([]string{"list", "tags", "update"}, m.Key) {
			optional = append(optional, quoteTypeScript(m.Key))
		}
	}
	kind := "Binding"
	if optional != nil {
		kind += " & Required<Pick<Binding, " + strings.Join(optional, " | ") + ">>"
	}
	value.Members = slices.DeleteFunc(value.Members, func(m document.Member) bool { return m.Key == "$comment" })
	return fmt.Appendf(nil, "// %s\n\nimport { Binding } from './wire';\n\n"+
		"/** The operations of the API: which properties each sends and returns, and where. */\n"+
		"export const api: %s = %s;\n", marker, kind, typeScriptLiteral(value, 0, typeScriptWidth)), nil
}

const typeScriptWidth = 120

// typeScriptLiteral spells a value of JSON as the usual formatter does: on one line if it fits into what is left of it.
func typeScriptLiteral(v *document.Value, indent, left int) string {
	line := typeScriptLine(v)
	objects := 0
	for _, item := range v.Items {
		if item.Kind == document.Object && len(item.Members) > 1 {
			objects++
		}
	}
	if indent > 0 && objects < 2 && utf8.RuneCountInString(line) <= left {
		return line
	}
	space := strings.Repeat(" ", indent+4)
	var b strings.Builder
	switch {
	case len(v.Items) > 0:
		b.WriteString("[\n")
		for _, item := range v.Items {
			b.WriteString(space + typeScriptLiteral(item, indent+4, typeScriptWidth-len(space)-1) + ",\n")
		}
		b.WriteString(strings.Repeat(" ", indent) + "]")
	case len(v.Members) > 0:
		b.WriteString("{\n")
		for _, m := range v.Members {
			start := space + typeScriptKey(m.Key) + ": "
			b.WriteString(start + typeScriptLiteral(m.Value, indent+4, typeScriptWidth-len(start)-1) + ",\n")
		}
		b.WriteString(strings.Repeat(" ", indent) + "}")
	default:
		return line
	}
	return b.String()
}

func typeScriptLine(v *document.Value) string {
	switch v.Kind {
	case document.String:
		return quoteTypeScript(v.Text)
	case document.Array:
		return "[" + strings.Join(mapped(v.Items, typeScriptLine), ", ") + "]"
	case document.Object:
		if len(v.Members) == 0 {
			return "{}"
		}
		var members []string
		for _, m := range v.Members {
			members = append(members, typeScriptKey(m.Key)+": "+typeScriptLine(m.Value))
		}
		return "{ " + strings.Join(members, ", ") + " }"
	}
	return string(v.AppendJSON(nil))
}

// typeScriptKey spells the key of an object.
func typeScriptKey(name string) string {
	if name != "__proto__" && name == typeScriptName(name) {
		return name
	}
	return quoteTypeScript(name)
}
