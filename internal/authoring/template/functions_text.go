package template

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A piece is a part of the text of Fn::Sub: a literal, or the name of a variable.
type piece struct {
	literal  string
	variable string // "" for a literal
}

// subPieces splits the text of Fn::Sub. ${!Literal} is the literal ${Literal}. It reports
// false for a name with other signs than the service accepts.
func subPieces(s string) ([]piece, bool) {
	out := make([]piece, 0, 2*strings.Count(s, "${")+1)
	valid := true
	for {
		start := strings.Index(s, "${")
		if start < 0 {
			break
		}
		length := strings.IndexByte(s[start:], '}')
		if length < 0 {
			break
		}
		name := s[start+2 : start+length]
		if strings.HasPrefix(name, "!") {
			out = append(out, piece{literal: s[:start] + "${" + name[1:] + "}"})
		} else {
			name = strings.TrimSpace(name)
			valid = valid && subName(name)
			out = append(out, piece{literal: s[:start]}, piece{variable: name})
		}
		s = s[start+length+1:]
	}
	return append(out, piece{literal: s}), valid
}

func subName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '.' && c != ':' && c != '_' {
			return false
		}
	}
	return name != ""
}

// subArguments returns the text and the variables of Fn::Sub; variables may be nil.
func subArguments(arg *document.Value) (text, variables *document.Value, ok bool) {
	if arg.Kind == document.String {
		return arg, nil, true
	}
	items, ok := arguments(arg, 1, 2)
	if !ok || items[0].Kind != document.String {
		return nil, nil, false
	}
	if len(items) == 1 {
		return items[0], nil, true
	}
	return items[0], items[1], items[1].Kind == document.Object
}

func evalSub(e *evaluator, f call) (any, error) {
	text, variables, ok := subArguments(f.arg)
	if !ok {
		return nil, e.refuse("sub", f.at)
	}
	pieces, ok := subPieces(text.Text)
	if !ok {
		return nil, e.refuse("sub-name", text)
	}
	unknown, size := false, len(text.Text)
	values := map[string]any{} // each variable is evaluated once
	for i, p := range pieces {
		if p.variable == "" {
			continue
		}
		value, done := values[p.variable]
		if !done {
			var err error
			if value, err = e.variable(p.variable, variables, f.at); err != nil {
				return nil, err
			}
			values[p.variable] = value
		}
		if value == Unknown {
			unknown = true
			continue
		}
		if pieces[i].literal, ok = toText(value); !ok {
			return nil, e.refuse("sub-value", f.at)
		}
		size += len(pieces[i].literal)
	}
	if err := e.allow(size, f.at); err != nil {
		return nil, err
	}
	if unknown {
		return Unknown, nil
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range pieces {
		b.WriteString(p.literal)
	}
	return b.String(), nil
}

// variable evaluates one ${…} of Fn::Sub.
func (e *evaluator) variable(name string, variables, at *document.Value) (any, error) {
	if m := variables.Member(name); m != nil {
		return e.child(name, m.Value)
	}
	if resource, attribute, found := cut(name); found {
		if e.s.t.resources[resource] == nil {
			return nil, e.refuse("sub-attribute", at, name)
		}
		return e.getAtt(resource, attribute, at)
	}
	return evalRef(e, call{"Ref", text(name, at.At), at})
}

// fromAny converts an evaluated value to a document; keys of objects are sorted.
func fromAny(value any, at diag.Range) *document.Value {
	switch v := value.(type) {
	case []any:
		out := &document.Value{Kind: document.Array, At: at}
		for _, item := range v {
			out.Items = append(out.Items, fromAny(item, at))
		}
		return out
	case map[string]any:
		out := &document.Value{Kind: document.Object, At: at}
		for _, key := range sortedKeys(v) {
			out.Members = append(out.Members, document.Member{Key: key, KeyAt: at, Value: fromAny(v[key], at)})
		}
		return out
	}
	return scalar(value, at)
}
