package invoke

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// outgoing prepares a model for the wire: a copy without null members and without what
// the schema does not declare, its scalars as the wire mode asks. Python's and Go's
// libraries fail on both, whatever the handler would have made of them.
func (r *Runner) outgoing(model map[string]any) map[string]any {
	if model == nil {
		return nil
	}
	out, _ := r.prune(model, nil).(map[string]any)
	return out
}

func (r *Runner) prune(value any, at document.Pointer) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		closed := r.cfg.Schema != nil && isClosed(r.cfg.Schema, at)
		for key, member := range v {
			place := at.Append(key)
			if member == nil || closed && r.cfg.Schema.Property(place) == nil {
				continue
			}
			out[key] = r.prune(member, place)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.prune(item, at.Append(strconv.Itoa(i)))
		}
		return out
	}
	if r.cfg.Wire == WireStrings {
		return stringify(value)
	}
	return value
}

func stringify(scalar any) any {
	switch v := scalar.(type) {
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	}
	return scalar
}

// Undeclared lists the members of a model that the schema does not declare, in order.
// They are not sent to a handler.
func Undeclared(s *schema.Schema, model map[string]any) []document.Pointer {
	var found []document.Pointer
	var walk func(value any, at document.Pointer)
	walk = func(value any, at document.Pointer) {
		switch v := value.(type) {
		case map[string]any:
			closed := isClosed(s, at)
			for key, member := range v {
				place := at.Append(key)
				if closed && s.Property(place) == nil {
					found = append(found, place)
					continue
				}
				walk(member, place)
			}
		case []any:
			for i, item := range v {
				walk(item, at.Append(strconv.Itoa(i)))
			}
		}
	}
	walk(model, nil)
	slices.SortFunc(found, func(a, b document.Pointer) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// isClosed reports whether an object at a place of a model may contain only declared members.
// The model as a whole always is closed, since resource schemas require it.
func isClosed(s *schema.Schema, at document.Pointer) bool {
	if len(at) == 0 {
		return len(s.Properties()) > 0
	}
	node := s.Property(at)
	if node == nil {
		return false
	}
	node, err := s.Resolve(node)
	if err != nil {
		return false
	}
	extra := node.Get("additionalProperties")
	return extra != nil && extra.Kind == document.Bool && !extra.Bool
}

// Put sets a value in a model, creating missing objects and arrays, and returns the model,
// which is changed in place if possible. "*" matches every existing item or member.
func Put(container any, pointer document.Pointer, value any) any {
	if len(pointer) == 0 {
		return value
	}
	token, rest := pointer[0], pointer[1:]
	index, err := strconv.Atoi(token)
	isIndex := err == nil && index >= 0
	switch c := container.(type) {
	case map[string]any:
		if token == "*" {
			for key, member := range c {
				c[key] = Put(member, rest, value)
			}
			return c
		}
		c[token] = Put(c[token], rest, value)
		return c
	case []any:
		switch {
		case token == "*":
			for i, item := range c {
				c[i] = Put(item, rest, value)
			}
		case isIndex && index < len(c):
			c[index] = Put(c[index], rest, value)
		case isIndex && index == len(c):
			c = append(c, Put(nil, rest, value))
		}
		return c
	}
	if token == "*" || isIndex {
		return []any{Put(nil, rest, value)}
	}
	return map[string]any{token: Put(nil, rest, value)}
}
