package lsp

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

var sectionSymbols = map[string]int{
	"Resources": symbolClass, "Parameters": symbolVariable, "Conditions": symbolBoolean, "Mappings": symbolObject, "Outputs": symbolConstant, "Rules": symbolMethod,
}

// template is the outline of a template: its sections, and the names in them with their types.
func (o *outline) template(root *document.Value) []documentSymbol {
	out := []documentSymbol{}
	for i := range root.Members {
		m := &root.Members[i]
		section := o.entry(m, symbolModule)
		if section.Name == "" || o.count > maxSymbols {
			continue
		}
		if kind, ok := sectionSymbols[m.Key]; ok {
			section.Children = o.entries(m.Value, kind)
		}
		out = append(out, section)
	}
	return out
}

func (o *outline) entries(section *document.Value, kind int) []documentSymbol {
	var out []documentSymbol
	for i := range section.Members {
		m := &section.Members[i]
		if m.Key == "" || o.count > maxSymbols || o.ctx.Err() != nil {
			continue
		}
		symbol := o.entry(m, kind)
		symbol.Detail = typeName(m.Value)
		if strings.HasPrefix(m.Key, "Fn::ForEach::") && len(m.Value.Items) > 2 {
			symbol.Kind = symbolArray
			if len(m.Value.Items[2].Members) <= maxSymbols {
				symbol.Children = o.entries(m.Value.Items[2], kind)
			}
		}
		out = append(out, symbol)
	}
	return out
}

// entry is the symbol of a key with its value.
func (o *outline) entry(m *document.Member, kind int) documentSymbol {
	o.count++
	e := o.server.encoding
	return documentSymbol{
		Name: m.Key, Kind: kind,
		Range:          o.d.lines.span(m.KeyAt.Start.Offset, max(m.KeyAt.End.Offset, m.Value.At.End.Offset), e),
		SelectionRange: o.d.lines.span(m.KeyAt.Start.Offset, m.KeyAt.End.Offset, e),
	}
}
