package stub

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// example is the response of the example of the description whose input is that of a call;
// nil if there is none. own is the identifier of what the call is about, "" for none.
func (s *Stub) example(c *call, own string) *reply {
	for _, e := range c.op.Examples {
		output := e.Output
		if s.api.Format == "openapi" {
			output = s.outputOf(c, e)
		}
		if output == nil || !s.sameInput(c, e.Input, own) {
			continue
		}
		if out := s.written(c.op, output); out != nil {
			return out
		}
	}
	return nil
}

// outputOf is the response of an example of OpenAPI: what a request with a body has under the
// same title.
func (s *Stub) outputOf(c *call, e api.Example) *document.Value {
	if c.body == nil || e.Input == nil {
		if c.body == nil && e.Input == nil {
			return e.Output
		}
		return nil
	}
	for _, other := range c.op.Examples {
		if other.Output != nil && other.Title == e.Title {
			return other.Output
		}
	}
	return nil
}

// written reads the output of an example by the shapes of the operation; nil if it does not fit.
func (s *Stub) written(op *api.Operation, output *document.Value) *reply {
	if op.Output == nil {
		return nil
	}
	if s.api.Format == "openapi" {
		d := newDecoder(false, "date-time")
		v := d.json(op.Output, output, "")
		if len(*d.problems) > 0 {
			return nil
		}
		return &reply{output: v}
	}
	whole := &api.Shape{Kind: api.Structure, Members: slices.Clone(op.OutHeaders)}
	if op.OutMember != "" {
		whole.Members = append(whole.Members, &api.Member{Name: op.OutMember, Wire: op.OutMember, Shape: op.Output})
	} else {
		whole.Members = append(whole.Members, op.Output.Members...)
	}
	named := *whole // examples have the names of members, not those that are sent
	named.Members = nil
	for _, m := range whole.Members {
		m := *m
		m.Wire = m.Name
		named.Members = append(named.Members, &m)
	}
	d := newDecoder(true, "any")
	v, _ := d.json(&named, output, "").(map[string]any)
	if len(*d.problems) > 0 || v == nil {
		return nil
	}
	if op.OutMember != "" {
		return &reply{output: v[op.OutMember], members: v}
	}
	return &reply{output: v, members: v}
}

// sameInput compares the input of an example with that of a call. Tokens, which clients make,
// do not count.
func (s *Stub) sameInput(c *call, example *document.Value, own string) bool {
	if s.api.Format == "smithy" {
		given, _ := example.Any().(map[string]any)
		input := c.input()
		for _, m := range c.op.Members() {
			if m.Token {
				delete(given, m.Name)
				delete(input, m.Name)
			}
		}
		return sameJSON(given, input) || len(given) == 0 && len(input) == 0
	}
	if c.body != nil {
		return sameJSON(example.Any(), c.body)
	}
	for _, m := range c.op.Params {
		if m.In == api.InPath && (m.Example == nil || textOf(m.Example.Any()) != textOf(c.params[api.InPath][m.Name])) {
			return false
		}
	}
	return len(c.params[api.InQuery]) == 0 && own != "" && strings.Contains(c.op.Path, "{")
}

// sameJSON compares two values.
func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && string(one) == string(two)
}
