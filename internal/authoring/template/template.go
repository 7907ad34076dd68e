package template

import (
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The limits of the service.
const (
	MaxBytes       = 1_000_000
	MaxBody        = 51_200 // bytes of a template in a request; larger ones are uploaded to S3
	MaxResources   = 500
	MaxParameters  = 200
	MaxOutputs     = 200
	MaxMappings    = 200 // mappings, and attributes in one of them
	MaxDynamic     = 60  // dynamic references
	MaxName        = 255
	MaxDescription = 1024
	MaxValue       = 4096 // bytes of a parameter
)

// The transforms that the service has itself.
const (
	LanguageExtensions = "AWS::LanguageExtensions"
	Include            = "AWS::Include"
	Serverless         = "AWS::Serverless-2016-10-31"
)

// A Template is a template as it was read. It is not changed afterwards; several goroutines
// may use it.
type Template struct {
	Version     string // "2010-09-09" or ""
	Description string
	Metadata    *document.Value // may be nil

	Parameters []*Parameter // all in the order written
	Mappings   []*Mapping
	Conditions []*Condition
	Rules      []*Rule
	Resources  []*Resource
	Outputs    []*Output
	Transforms []Transform // of the section Transform

	// Warnings are what the service accepts and a person should know.
	Warnings diag.List

	name       string
	root       *document.Value
	processed  bool // has the functions of AWS::LanguageExtensions
	asWritten  bool // transforms count as done
	parameters map[string]*Parameter
	mappings   map[string]*Mapping
	conditions map[string]*Condition
	resources  map[string]*Resource
}

// A Resource is a member of the section Resources.
type Resource struct {
	LogicalID string
	Type      string
	At        diag.Range // of the logical ID

	Properties     *document.Value // may be nil
	Metadata       *document.Value
	CreationPolicy *document.Value
	UpdatePolicy   *document.Value

	Condition           string // may be ""
	DependsOn           []string
	DeletionPolicy      string // may be "", also for a function: see [Scope.DeletionPolicy]
	UpdateReplacePolicy string // as DeletionPolicy: see [Scope.UpdateReplacePolicy]

	Value *document.Value // all of it, as written
}

// An Output is a member of the section Outputs.
type Output struct {
	Name        string
	Description string
	Condition   string // may be ""
	At          diag.Range
	Value       *document.Value
	ExportName  *document.Value // nil if it is not exported
}

// A Condition is a member of the section Conditions.
type Condition struct {
	Name  string
	At    diag.Range
	Value *document.Value
}

// A Mapping is a member of the section Mappings: keys to attributes to values.
type Mapping struct {
	Name  string
	At    diag.Range
	Value *document.Value
}

// A Rule is a member of the section Rules.
type Rule struct {
	Name       string
	At         diag.Range
	Condition  *document.Value // nil: always
	Assertions []Assertion
}

// An Assertion must be true, or the operation is refused.
type Assertion struct {
	Assert      *document.Value
	Description string
}

// A Transform is one that the template names.
type Transform struct {
	Name       string
	Parameters *document.Value // may be nil
	At         diag.Range
}

// Resource returns the resource with a logical ID, or nil.
func (t *Template) Resource(logicalID string) *Resource { return t.resources[logicalID] }

// Parameter returns the parameter with a name, or nil.
func (t *Template) Parameter(name string) *Parameter { return t.parameters[name] }

// Mapping returns the mapping with a name, or nil.
func (t *Template) Mapping(name string) *Mapping { return t.mappings[name] }

// Condition returns the condition with a name, or nil.
func (t *Template) Condition(name string) *Condition { return t.conditions[name] }

// Root returns the template as a document, the short forms of functions written long.
func (t *Template) Root() *document.Value { return t.root }

// extended reports whether the template names AWS::LanguageExtensions.
func (t *Template) extended() bool {
	for _, transform := range t.Transforms {
		if transform.Name == LanguageExtensions {
			return true
		}
	}
	return false
}
