package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Source is one file of a model. A name that ends in ".json" makes it a JSON AST,
// anything else the IDL.
type Source struct {
	File string // the path as the user gave it
	Data []byte
}

// Config sets up loading. The zero Config is the usual one.
type Config struct {
	// Strict makes traits without a definition errors, as in the reference
	// implementation. By default they are warnings: definitions often live in packages
	// that are not at hand, and most traits do not change a schema.
	Strict bool

	// Limits bound each file. Zero means 64 MiB and 256 levels.
	Limits document.Limits
}

// Load reads a model. The model is never nil; after events that are [Events.Fatal] it is
// for further messages only. The events are those of loading; [Validate] adds the rest.
func Load(sources []Source, cfg Config) (*Model, Events) {
	if cfg.Limits.Bytes == 0 {
		cfg.Limits.Bytes = 64 << 20
	}
	if cfg.Limits.Depth == 0 {
		cfg.Limits.Depth = 256
	}
	l := newLoader(cfg, builtins())
	for _, s := range sources {
		l.read(s)
	}
	return l.build(), l.events
}

// A loader collects what files define and builds the model from it.
type loader struct {
	cfg     Config
	events  Events
	builtin *Model // nil while the built-in models themselves are read

	versions map[string]version // by file
	meta     []document.Member
	refs     []reference

	defs    map[ID][]*definition
	defined []ID // keys of defs, in the order of their first definition

	applied  map[ID][]*Trait // by target, in order
	targets  []ID            // keys of applied, in the order of the first trait
	claimed  map[ID]bool     // of applied: found their shape
	building map[ID]*Shape   // the result under construction
}

// A reference waits for the shape behind a name.
type reference struct {
	namespace string // "" outside any namespace: names then resolve in the prelude
	name      string
	uses      map[string]ID
	at        diag.Range
	resolved  func(id ID, t Type) // t is "" if there is no such shape
}

// An application applies a trait to a shape.
type application struct {
	target, trait ID
	value         *document.Value
	at            diag.Range
	version       version
	namespace     string // that of the file
}

// A definition is a shape as one file defines it.
type definition struct {
	shape    *Shape
	version  version
	members  []*Shape // a target is "" until its name is resolved, or when it is elided
	mixins   []ID
	resource ID // that elided members take their targets from; "" if none
}

func (d *definition) member(name string) *Shape {
	for _, m := range d.members {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

func (d *definition) addMixin(id ID) {
	if !slices.Contains(d.mixins, id) {
		d.mixins = append(d.mixins, id)
	}
}

func newLoader(cfg Config, builtin *Model) *loader {
	return &loader{
		cfg: cfg, builtin: builtin, versions: map[string]version{}, defs: map[ID][]*definition{},
		applied: map[ID][]*Trait{}, claimed: map[ID]bool{}, building: map[ID]*Shape{},
	}
}

func (l *loader) read(s Source) {
	if len(s.Data) > l.cfg.Limits.Bytes {
		l.error(diag.Range{File: s.File}, "", fmt.Sprintf("The file has %d bytes, more than the %d that are read", len(s.Data), l.cfg.Limits.Bytes))
		return
	}
	if strings.HasSuffix(strings.ToLower(s.File), ".json") {
		l.readAST(s)
		return
	}
	parseIDL(l, s.File, string(s.Data))
}

func (l *loader) report(e Event) { l.events = append(l.events, e) }

func (l *loader) error(at diag.Range, shape ID, message string) {
	l.report(Event{ID: modelError, Severity: ErrorSeverity, Shape: shape, Message: message, At: at})
}

func (l *loader) define(d *definition) {
	id := d.shape.ID
	if len(l.defs[id]) == 0 {
		l.defined = append(l.defined, id)
	}
	l.defs[id] = append(l.defs[id], d)
}

// putMetadata merges a metadata entry: arrays are joined, anything else must agree.
func (l *loader) putMetadata(key string, value *document.Value) {
	for i, entry := range l.meta {
		if entry.Key != key {
			continue
		}
		old := entry.Value
		switch {
		case old.Kind == document.Array && value.Kind == document.Array:
			l.meta[i].Value = &document.Value{Kind: document.Array, At: value.At, Items: slices.Concat(old.Items, value.Items)}
		case !equalValues(old, value):
			l.error(value.At, "", fmt.Sprintf("Metadata conflict for key `%s`. Defined in both `%s` and `%s`", key, value.At, old.At))
		}
		return
	}
	l.meta = append(l.meta, document.Member{Key: key, KeyAt: value.At, Value: value})
}

// apply merges a trait into those of its target: arrays are joined, anything else must
// agree, and the first value stays.
func (l *loader) apply(a application) {
	l.checkTraitVersion(a)
	if a.namespace != preludeNamespace && a.target.Namespace() == preludeNamespace {
		l.error(a.at, a.target, fmt.Sprintf("Cannot apply `%s` to an immutable prelude shape defined in `smithy.api`.", a.trait))
		return
	}
	traits, known := l.applied[a.target]
	if !known {
		l.targets = append(l.targets, a.target)
	}
	old := findTrait(traits, a.trait)
	if old == nil {
		l.applied[a.target] = append(traits, &Trait{ID: a.trait, Value: a.value, At: a.at})
		return
	}
	switch {
	case old.Value.Kind == document.Array && a.value.Kind == document.Array:
		if old.Value.At == a.value.At && equalValues(old.Value, a.value) {
			return // the same file, read twice
		}
		old.Value = &document.Value{Kind: document.Array, At: old.Value.At, Items: slices.Concat(old.Value.Items, a.value.Items)}
	case !equalValues(old.Value, a.value):
		l.error(a.at, a.target, fmt.Sprintf("Conflicting `%s` trait found on shape `%s`. The previous trait was defined at `%s`, "+
			"and a conflicting trait was defined at `%s`.", a.trait, a.target, old.At, a.at))
	}
}

// checkTraitVersion reports traits that the version of their file does not have.
func (l *loader) checkTraitVersion(a application) {
	message := ""
	switch {
	case a.version == version1 && a.trait == traitMixin:
		message = fmt.Sprintf("Mixins can only be used in Smithy 2.0 or later. Attempted to apply a @mixin trait to `%s` in a "+
			"model file using version `1.0`.", a.target)
	case a.version == version1 && a.trait == traitDefault:
		message = "The @default trait can only be used in Smithy 2.0 or later"
	case a.version == version2 && a.trait == traitBox:
		message = "@box is not supported in Smithy IDL 2.0"
	case a.version == version2 && a.trait == traitEnum:
		l.report(Event{ID: modelDeprecation, Severity: WarningSeverity, Shape: a.target, At: a.at,
			Message: "The enum trait is deprecated. Smithy 2.0 models should use the enum shape."})
	}
	if message != "" {
		l.error(a.at, a.target, message)
	}
}

// refer keeps a reference until all files are read.
func (l *loader) refer(r reference) { l.refs = append(l.refs, r) }

// resolve settles all references, those that settling others brings up included.
func (l *loader) resolve() {
	for i := 0; i < len(l.refs); i++ {
		r := l.refs[i]
		l.refs[i] = reference{}
		name, member, hasMember := strings.Cut(r.name, "$")
		id, t := l.find(r, name)
		if hasMember {
			id, t = id.WithMember(member), l.memberType(id)
		}
		if !validID(string(id)) {
			l.error(r.at, "", "Invalid shape ID: "+string(id))
		}
		r.resolved(id, t)
	}
	l.refs = nil
}

// find resolves a name: what "use" brought in, then the namespace of the file, then the
// prelude.
func (l *loader) find(r reference, name string) (ID, Type) {
	if used, ok := r.uses[name]; ok {
		name = string(used)
	}
	if strings.Contains(name, "#") {
		return ID(name), l.typeOf(ID(name))
	}
	if r.namespace != "" {
		id := ID(r.namespace + "#" + name)
		if t := l.typeOf(id); t != "" {
			return id, t
		}
	}
	id := ID(preludeNamespace + "#" + name)
	if t := l.typeOf(id); t != "" || r.namespace == "" {
		return id, t
	}
	return ID(r.namespace + "#" + name), ""
}

func (l *loader) typeOf(id ID) Type {
	if defs := l.defs[id]; len(defs) > 0 {
		return defs[0].shape.Type
	}
	if l.builtin != nil {
		if s := l.builtin.shapes[id]; s != nil {
			return s.Type
		}
	}
	return ""
}

// memberType is "member" for a member of a shape that exists: which members mixins bring
// is not known yet.
func (l *loader) memberType(root ID) Type {
	if l.typeOf(root) == "" {
		return ""
	}
	return Member
}

// unresolvedTrait reports a trait that has no definition.
func (l *loader) unresolvedTrait(target ID, t *Trait) {
	e := Event{ID: modelError + ".UnresolvedTrait", Severity: WarningSeverity, Shape: target, At: t.At,
		Message: fmt.Sprintf("Unable to resolve trait `%s`. If this is a custom trait, then it must be defined before it can be used in a model.", t.ID)}
	if l.cfg.Strict {
		e.Severity = ErrorSeverity
	}
	l.report(e)
}
