// Package schema reads the schema of an extension: what its properties are, which of
// them identify it, and what its handlers may do.
//
// # Loading
//
// [Load] parses a document, checks it and decodes it. It supports the four kinds of document
// of CloudFormation (resource, hook, module, type configuration) and recognizes them by their
// content. Everything that a later message may name keeps its place. Errors are returned as
// one [diag.List]: the violations of the meta-schema (which are this package's documents, in
// the folder meta, with the same results as the official ones), then those of [Rules]. One
// error is one problem; the rules run on everything that was readable.
//
// # References
//
// A $ref is resolved wherever draft-07 has a schema, and nowhere else: a "$ref" inside
// default, enum, const or examples is data. A foreign document is looked for next to the
// schema, in a [Registry], and on the network only through [Config.Remote]. Cycles and
// schemas that refer to themselves are legal; everything here survives them. After Load a Schema never
// changes, so that any number of goroutines may use one.
//
// # Models
//
// A model is what a handler receives and returns, in the shapes of encoding/json with
// json.Number: [Schema.Check] judges it, [Schema.Recast] types it, [Schema.Compare] sets
// it against another, [Without], [Present] and [Identifier] read the lists of paths that
// a schema holds. None of them changes the model. All are bounded in time, whatever the
// schema and the model say.
//
// The references are resource-schema.txt (the schema language), the modelling chapters of
// the user guide, and draft-07 of JSON Schema, validation sections 6.1 to 6.7. Formats are
// annotations here, as in the official tool.
package schema

import (
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Kind is the kind of extension that a document describes, as the registry spells it.
type Kind string

// The kinds of document.
const (
	Resource          Kind = "RESOURCE"
	Hook              Kind = "HOOK"
	Module            Kind = "MODULE"
	TypeConfiguration Kind = "TYPE_CONFIGURATION"
)

// Located is a value with the place where it was written.
type Located[T any] struct {
	Value T
	At    diag.Range
}

// Config configures the loading of documents. The zero Config is offline with default limits.
type Config struct {
	Limits document.Limits

	// Kind is the kind that the caller knows the document to be, "" to recognise it.
	Kind Kind

	// Registry contains documents that a $ref may name by their file name, their $id or their
	// type. It may be nil. It comes before Remote, and after files that are beside a schema
	// without an $id.
	Registry *Registry

	// Remote loads the foreign document at an http or https URL that a $ref names.
	// With nil nothing is fetched, and references to the network are problems.
	Remote func(url string) ([]byte, error)
}

// A Schema is a decoded document. It is not changed after [Load].
type Schema struct {
	Kind Kind
	File string
	Root *document.Value // as written

	TypeName                    Located[string]
	Description                 string
	SourceURL, DocumentationURL string

	PrimaryIdentifier     []Path
	AdditionalIdentifiers [][]Path

	ReadOnly, WriteOnly, CreateOnly []Path
	ConditionalCreateOnly           []Path // replaces only under conditions that the handler knows
	Deprecated, NonPublic           []Path

	Required            []string // names of top-level properties
	Handlers            []Handler
	Tagging             Tagging
	PropertyTransform   []Transform
	ReplacementStrategy string // "create_then_delete" or "delete_then_create"; the former when absent

	// TypeConfiguration describes the settings of the extension for an account; nil without
	// settings. Its references are resolved in the enclosing document.
	TypeConfiguration *Schema

	refs *references
}

// A Handler is one entry of "handlers", in the order of the document.
type Handler struct {
	Action           string     // "create", "read", "update", "delete", "list"; "preCreate"…; "resolve"
	At               diag.Range // of the key
	Permissions      []Located[string]
	TimeoutInMinutes int             // 120 when absent
	TargetNames      []string        // of a hook
	Schema           *document.Value // handlerSchema of list, else nil
}

// Tagging is the "tagging" of a resource with the defaults filled in; the deprecated
// "taggable" counts as its short form. Taggable false makes the other flags false.
type Tagging struct {
	Declared                                                      bool // by either key
	Taggable, TagOnCreate, TagUpdatable, CloudFormationSystemTags bool

	Property    Path // /properties/Tags when absent
	Permissions []string
}

// A Transform is one entry of "propertyTransform": a JSONata expression that converts a
// requested value to the one that the service returns.
type Transform struct {
	Path       Path
	Expression Located[string]
}

// Handler returns the handler of an action, nil when the schema does not declare it.
func (s *Schema) Handler(action string) *Handler {
	for i := range s.Handlers {
		if s.Handlers[i].Action == action {
			return &s.Handlers[i]
		}
	}
	return nil
}

// Properties returns the top-level properties in the order written.
func (s *Schema) Properties() []document.Member { return s.Root.Get("properties").Distinct() }

// Definitions returns the definitions in the order written.
func (s *Schema) Definitions() []document.Member { return s.Root.Get("definitions").Distinct() }
