package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// The kinds of generated inputs.
const (
	DrawCreate  = "create"
	DrawUpdate  = "update"
	DrawInvalid = "invalid"
)

// A Draw is one input that was generated, before overrides were applied.
type Draw struct {
	Kind  string         `json:"kind"` // DrawCreate, DrawUpdate or DrawInvalid
	Model map[string]any `json:"model"`
}

// An Example is what is needed to run a failed case again: the inputs that were generated
// for it, in the order of their use. Overrides are not in it, since they may hold secrets;
// they are applied anew.
type Example struct {
	TypeName string      `json:"typeName"`
	Test     string      `json:"test"`
	Seed     uint64      `json:"seed"`
	Wire     invoke.Wire `json:"wire,omitempty"`
	Message  string      `json:"message"` // how the case failed
	Inputs   []Draw      `json:"inputs"`
}

// Encode writes the example as [ParseExample] reads it.
func (e *Example) Encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // people read it
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("write the failing example: %w", err)
	}
	return out.Bytes(), nil
}

// ParseExample reads a failing example. The error is why it is invalid.
func ParseExample(name string, data []byte) (*Example, error) {
	doc, problems := document.ParseJSON(name, data, document.Limits{Bytes: maxInput, Depth: 100})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	example := &Example{TypeName: text(doc.Get("typeName")), Test: text(doc.Get("test")), Wire: invoke.Wire(text(doc.Get("wire"))), Message: text(doc.Get("message"))}
	if !slices.ContainsFunc(Cases, func(c Case) bool { return c.ID == example.Test }) {
		return nil, fmt.Errorf("%s is not a failing example: unknown contract test %q", name, example.Test)
	}
	if seed := doc.Get("seed"); seed != nil {
		number, err := strconv.ParseUint(seed.Text, 10, 64)
		if example.Seed = number; err != nil {
			return nil, fmt.Errorf("%s: the seed %q is not a whole number", name, seed.Text)
		}
	}
	inputs := doc.Get("inputs")
	if inputs == nil || inputs.Kind != document.Array {
		return nil, fmt.Errorf("%s is not a failing example of a contract test: it has no inputs", name)
	}
	for i, item := range inputs.Items {
		model, ok := item.Get("model").Any().(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: input %d has no model", name, i+1)
		}
		example.Inputs = append(example.Inputs, Draw{text(item.Get("kind")), model})
	}
	return example, nil
}

func text(v *document.Value) string {
	if v == nil {
		return ""
	}
	return v.Text
}

// example is what runs a failed case again.
func (r *run) example(c *Case, result *Result) *Example {
	e := &Example{TypeName: r.cfg.Schema.TypeName.Value, Test: c.ID, Seed: r.cfg.Seed, Wire: r.setRun.inputs.Wire, Message: firstLine(result.Message), Inputs: []Draw{}}
	if c.fixture != nil {
		e.Inputs = append(e.Inputs, r.made...)
	}
	e.Inputs = append(e.Inputs, r.drawn...)
	return e
}

// source makes inputs. What it makes follows from the seed, the case (or the file, for a
// resource that cases share), and how many inputs came before. Which other cases run does
// not matter.
func (r *run) source() *sample.Generator {
	scope := ""
	if r.current != nil {
		scope = r.current.ID
		if r.current.fixture != nil && !r.ready {
			scope = r.current.File()
		}
	}
	return newSource(r.cfg.Schema, r.cfg.Seed, scope, len(r.drawn))
}

// newSource creates a generator with a separate seed.
func newSource(s *schema.Schema, seed uint64, scope string, n int) *sample.Generator {
	return sample.New(s, sample.Config{Seed: scopedSeed(seed, scope, n), Profile: sample.Full})
}

// scopedSeed is a separate seed for a purpose.
func scopedSeed(seed uint64, scope string, n int) uint64 {
	h := fnv.New64a()
	h.Write(fmt.Appendf(nil, "%d %s %d", seed, scope, n))
	return h.Sum64()
}

// replay are the inputs of the example that is run again.
func (cfg *Config) replay() []Draw {
	if cfg.Replay == nil {
		return nil
	}
	return cfg.Replay.Inputs
}

// replayed is the next input of the example that is run again, nil at its end.
func (r *run) replayed(kind string) map[string]any {
	n := len(r.drawn)
	if r.ready {
		n += len(r.made)
	}
	if n < len(r.replay) && r.replay[n].Kind == kind {
		return schema.Clone(r.replay[n].Model)
	}
	return nil
}

// draw makes an input for a create, or takes it from the example that is run again.
func (r *run) draw() (map[string]any, error) {
	model := r.replayed(DrawCreate)
	if model == nil {
		var err error
		if model, err = r.source().Create(); err != nil {
			return nil, err
		}
	}
	r.drawn = append(r.drawn, Draw{DrawCreate, schema.Clone(model)})
	return model, nil
}

// drawUpdate generates an update of a created model. Only the changes are recorded: the rest
// comes from the handler. If nothing can be changed, the update requests the current values.
func (r *run) drawUpdate(created map[string]any) map[string]any {
	changes := r.replayed(DrawUpdate)
	if changes == nil {
		changes = map[string]any{}
		if model, err := r.source().Update(created); err == nil {
			for key, value := range model {
				if was, had := created[key]; !had || !reflect.DeepEqual(was, value) {
					changes[key] = value
				}
			}
		}
	}
	r.drawn = append(r.drawn, Draw{DrawUpdate, schema.Clone(changes)})
	out := schema.Clone(created)
	maps.Copy(out, changes)
	return out
}

// invalidTries bounds the search for an invalid input that is invalid still when it
// reaches the handler.
const invalidTries = 20

// invalidInput is a model that breaks the schema: that of the set, or a valid one in which
// one rule was broken. What is not a member of the schema is not sent to handlers, and their
// libraries read "5" as 5, so that neither counts as invalid.
func (r *run) invalidInput() (map[string]any, error) {
	if r.inputs.Invalid != nil {
		return schema.Clone(r.inputs.Invalid), nil
	}
	model := r.replayed(DrawInvalid)
	source := r.source()
	for n := 0; model == nil && n < invalidTries; n++ {
		broken, err := source.Invalid()
		if err != nil {
			break
		}
		s := r.cfg.Schema
		sent, _ := s.Recast(withoutNulls(broken.Model)).(map[string]any)
		if len(invoke.Undeclared(s, sent)) == 0 && len(s.Check(sent, schema.CheckConfig{})) > 0 {
			model = sent
		}
	}
	if model == nil {
		return nil, skipped("No invalid input can be made from the schema. Skipping test.")
	}
	r.drawn = append(r.drawn, Draw{DrawInvalid, schema.Clone(model)})
	return model, nil
}

// another is an input for a second resource next to one: where the user chooses the
// identifiers, they are other ones.
func (r *run) another(input map[string]any) (map[string]any, error) {
	s := r.cfg.Schema
	out := schema.Clone(input)
	changed := skipUnlessIdentifierIsChosen(s) != "" && len(s.AdditionalIdentifiers) == 0
	var parents []string // that a list is of: another resource is in the same ones
	if list := s.Handler("list"); list != nil && list.Schema.Get("required") != nil && len(list.Schema.Get("required").Items) < len(s.PrimaryIdentifier) {
		parents = list.Schema.Get("required").Strings()
	}
	for _, paths := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		for _, path := range paths {
			if slices.Contains(path.Tokens, "*") || s.IsReadOnly(path.Tokens) || len(path.Tokens) == 1 && slices.Contains(parents, path.Tokens[0]) {
				continue
			}
			if value := r.otherValue(path.Tokens, valueAt(input, path.Tokens)); value != nil {
				invoke.Put(out, path.Tokens, value)
				changed = true
			}
		}
	}
	if !changed && skipUnlessIdentifierIsChosen(s) == "" {
		return nil, fmt.Errorf("cannot find a second identifier")
	}
	return out, nil
}

// nobody is the identifier of a resource that does not exist.
func (r *run) nobody() (map[string]any, error) {
	s := r.cfg.Schema
	out := map[string]any{}
	for i, path := range s.PrimaryIdentifier {
		node := s.Property(path.Tokens)
		if node == nil || slices.Contains(path.Tokens, "*") {
			return nil, skipped("No identifier can be made up. Skipping test.")
		}
		value, err := newSource(s, r.cfg.Seed, "nobody "+r.current.ID, i).Value(node)
		if err != nil {
			return nil, skipped("No identifier can be made up. Skipping test.")
		}
		invoke.Put(out, path.Tokens, value)
	}
	return out, nil
}
