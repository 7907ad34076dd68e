// Package sample makes values that a schema accepts, from a seed: inputs for the contract
// tests where a project has none, and examples.
//
// # Making
//
// A [Generator] makes models for a create ([Generator.Create]), changes them for an update
// ([Generator.Update]), breaks exactly one rule of the schema ([Generator.Invalid]) and
// makes a failing model smaller ([Generator.Shrink]). Every keyword of draft-07 that
// [schema.Schema.Check] applies is honoured. Formats are annotations there; here they are
// followed where they are known.
//
// Every generated value passes Check: a value is generated from the keywords, and checked. If
// keywords conflict (combiners, not, look-ahead in patterns) other choices are tried, a
// bounded number of times. If that fails, the result is an [Error] that names the property and
// the keyword.
//
// One exception: a schema may require read-only properties. No input can have them, so they
// are generated, checked together with the rest, and removed at the end.
//
// # Sameness
//
// The same seed and the same schema give the same models, on every platform and with every
// release of Go (but for characters outside of ASCII, whose tables grow with Unicode). What
// a property is given depends on its own place and the seed, not on the properties next to
// it.
//
// The references are resource-schema.txt, and draft-07 of JSON Schema, validation sections
// 6.1 to 6.7. Patterns are those of package schema.
package sample

import (
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Profile defines how much of a schema a model uses.
type Profile uint8

const (
	// Random is a mixture by the seed: about half of the optional properties, now and
	// then a value at the edge of what is allowed.
	Random Profile = iota

	// Minimal has the required properties only, one item in arrays, short texts.
	Minimal

	// Full has every optional property that does not exclude another, up to Config.MaxValues.
	Full
)

// Config configures the generator. The zero Config generates random models from the seed 0.
type Config struct {
	Seed    uint64
	Profile Profile

	// ReadOnly also makes read-only properties, as models have them that a handler returns.
	ReadOnly bool

	// Unicode allows characters outside of printable ASCII in texts if the schema does.
	// Control characters are used only if nothing else is allowed.
	Unicode bool

	// MaxValues bounds the values of a model: beyond it, optional properties are left
	// out. Zero means 2,048.
	MaxValues int

	// MaxLength is the maximum number of characters of a text, MaxItems that of the items of
	// an array or keys of a map. A schema that requires more is an error. Zero means 65,536
	// and 1,024.
	MaxLength, MaxItems int

	// MaxSteps bounds the attempts that one model may take. Zero means 200,000: several
	// hundred times what published schemas need.
	MaxSteps int
}

func (c Config) withDefaults() Config {
	for _, field := range []struct {
		value *int
		zero  int
	}{{&c.MaxValues, 2048}, {&c.MaxLength, 1 << 16}, {&c.MaxItems, 1024}, {&c.MaxSteps, 200_000}} {
		if *field.value <= 0 {
			*field.value = field.zero
		}
	}
	return c
}

// An Error reports that a value for a place cannot be generated, or was not found.
type Error struct {
	Pointer document.Pointer // into the model
	Keyword string           // of JSON Schema, as in schema.Violation
	Reason  string
}

// Error reads: no input can be generated for /Name: its pattern "…" … [pattern]; write …
func (e *Error) Error() string {
	at := e.Pointer.String()
	if at == "" {
		at = "the resource as a whole"
	}
	keyword := ""
	if e.Keyword != "" {
		keyword = " [" + e.Keyword + "]"
	}
	return fmt.Sprintf("no input can be generated for %s: %s%s; write inputs/inputs_1_create.json and inputs/inputs_1_update.json", at, e.Reason, keyword)
}

func fault(at document.Pointer, keyword, format string, args ...any) error {
	return &Error{Pointer: at.Append(), Keyword: keyword, Reason: fmt.Sprintf(format, args...)}
}

// A Generator makes models for one schema. It is for one goroutine at a time.
type Generator struct {
	schema   *schema.Schema
	cfg      Config
	made     int // calls that draw, so that each gives something else
	rules    map[*document.Value]*rules
	patterns map[string]*pattern
	heights  map[*document.Value]int
	broken   map[string]int // how often Invalid broke a keyword
}

// New makes a generator. The schema should be one that Load found no errors in.
func New(s *schema.Schema, cfg Config) *Generator {
	return &Generator{
		schema: s, cfg: cfg.withDefaults(),
		rules: map[*document.Value]*rules{}, patterns: map[string]*pattern{}, broken: map[string]int{},
	}
}

// draw is the source of the next call.
func (g *Generator) draw() source {
	g.made++
	return source(mix(g.cfg.Seed)).at(g.made)
}

// Create makes an input for a create: valid, without read-only properties (unless
// Config.ReadOnly). Each call makes another one. The error is an *[Error].
func (g *Generator) Create() (map[string]any, error) {
	root, st := []*document.Value{g.schema.Root}, state{src: g.draw(), object: true}
	value, err := g.start(g.cfg.Profile).value(root, nil, st)
	if err != nil && len(g.schema.ReadOnly) > 0 && !g.cfg.ReadOnly {
		r := g.start(g.cfg.Profile)
		r.complete = true
		if completed, again := r.value(root, nil, st); again == nil {
			value, err = completed, nil
		}
	}
	if err != nil {
		return nil, err
	}
	model, ok := value.(map[string]any)
	if !ok {
		return nil, fault(nil, "type", "its schema does not allow an object")
	}
	for _, v := range g.schema.Check(model, schema.CheckConfig{}) {
		return nil, fault(v.Pointer, v.Keyword, "what was tried %s", v.Message)
	}
	if g.cfg.ReadOnly {
		return model, nil
	}
	model, _ = schema.Without(model, g.schema.ReadOnly).(map[string]any)
	return model, nil
}

// Value makes a value for any schema of the document, such as the handlerSchema of a list
// handler. Read-only properties are not known there.
func (g *Generator) Value(node *document.Value) (any, error) {
	r := g.start(g.cfg.Profile)
	r.readOnly = true
	value, err := r.value([]*document.Value{node}, nil, state{src: g.draw()})
	if err != nil {
		return nil, err
	}
	for _, v := range g.schema.Check(map[string]any{"": value}, schema.CheckConfig{Node: wrap(node)}) {
		return nil, fault(v.Pointer[min(1, len(v.Pointer)):], v.Keyword, "what was tried %s", v.Message)
	}
	return value, nil
}

// wrap returns a schema of an object that has the value under the empty key.
func wrap(node *document.Value) *document.Value {
	one := &document.Value{Kind: document.Object, Members: []document.Member{{Key: "", Value: node}}}
	return &document.Value{Kind: document.Object, Members: []document.Member{{Key: "properties", Value: one}}}
}

// rulesOf reads the keywords of a schema, which has no $ref.
func (g *Generator) rulesOf(node *document.Value) *rules {
	r := g.rules[node]
	if r == nil {
		r = readRules(node)
		g.rules[node] = r
	}
	return r
}

// patternOf compiles a pattern once.
func (g *Generator) patternOf(text string) *pattern {
	p := g.patterns[text]
	if p == nil {
		p = parsePattern(text)
		g.patterns[text] = p
	}
	return p
}
