package lsp

import (
	"context"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// The limits of an outline.
const (
	maxSymbols     = 5000
	maxSymbolDepth = 12
)

// documentSymbol is the outline of a document: its keys, and below a property only what
// it declares itself.
func (s *server) documentSymbol(ctx context.Context, d *snapshot, _ documentParams) (any, error) {
	o := &outline{server: s, d: d, ctx: ctx}
	root := d.tree()
	if root == nil {
		return []documentSymbol{}, nil
	}
	var symbols []documentSymbol
	if d.role() == templateRole {
		symbols = o.template(root)
	} else {
		symbols = o.below(root, nil)
	}
	if s.client.TextDocument.DocumentSymbol.Hierarchical {
		return symbols, ctx.Err()
	}
	return o.flat(symbols, "", []symbolInformation{}), ctx.Err()
}

type outline struct {
	server *server
	d      *snapshot
	ctx    context.Context
	count  int
}

func (o *outline) below(v *document.Value, at document.Pointer) []documentSymbol {
	out := []documentSymbol{}
	if v.Kind != document.Object || len(at) > maxSymbolDepth {
		return out
	}
	for i := range v.Members {
		m := &v.Members[i]
		if o.count++; o.count > maxSymbols || o.ctx.Err() != nil {
			break
		}
		if m.Key == "" {
			continue // the protocol has no symbols without a name
		}
		out = append(out, o.symbol(m, at.Append(m.Key)))
	}
	return out
}

func (o *outline) symbol(m *document.Member, at document.Pointer) documentSymbol {
	e := o.server.encoding
	symbol := documentSymbol{
		Name: m.Key, Kind: symbolKind(m.Value),
		Range:          o.d.lines.span(m.KeyAt.Start.Offset, max(m.KeyAt.End.Offset, m.Value.At.End.Offset), e),
		SelectionRange: o.d.lines.span(m.KeyAt.Start.Offset, m.KeyAt.End.Offset, e),
	}
	if o.d.role() == schemaRole && areaOf(o.d.kind(), at) == propertyArea {
		o.property(&symbol, m.Value, at)
		return symbol
	}
	switch m.Value.Kind {
	case document.String, document.Number:
		symbol.Detail = words.Cut(m.Value.Text, 80)
	case document.Object:
		symbol.Children = o.below(m.Value, at)
	case document.Array:
		symbol.Detail = sizeName(len(m.Value.Items), "item", "items")
	}
	if o.d.role() == schemaRole && len(at) == 2 && at[0] == "handlers" {
		symbol.Kind = symbolMethod
	}
	return symbol
}

// property fills in the symbol of a property definition.
func (o *outline) property(symbol *documentSymbol, v *document.Value, at document.Pointer) {
	s := o.d.shapeAt(nil)
	symbol.Kind = symbolProperty
	details := []string{}
	if ref := v.Get("$ref"); ref != nil && ref.Kind == document.String {
		details = append(details, "→ "+words.Cut(strings.TrimPrefix(ref.Text, "#/definitions/"), 80))
	} else if words := s.words(v); words != "" {
		details = append(details, words)
	}
	if len(at) == 2 && at[0] == "properties" {
		details = append(details, semantics(o.d.analysis().schema(), at[1:])...)
	}
	if len(at) == 2 && at[0] == "definitions" {
		symbol.Kind = symbolClass
	}
	symbol.Detail = strings.Join(details, ", ")
	for _, key := range [...]string{"properties", "patternProperties"} {
		if inner := v.Get(key); inner != nil {
			symbol.Children = append(symbol.Children, o.below(inner, at.Append(key))...)
		}
	}
}

func symbolKind(v *document.Value) int {
	return [...]int{symbolNull, symbolBoolean, symbolNumber, symbolString, symbolArray, symbolObject}[v.Kind]
}

// flat is the outline for clients that do not support trees.
func (o *outline) flat(symbols []documentSymbol, container string, out []symbolInformation) []symbolInformation {
	for _, symbol := range symbols {
		out = append(out, symbolInformation{symbol.Name, symbol.Kind, location{o.d.uri, symbol.Range}, container})
		out = o.flat(symbol.Children, symbol.Name, out)
	}
	return out
}
