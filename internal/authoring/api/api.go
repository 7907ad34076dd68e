// Package api describes the API of a service, whatever format it was read from: its
// operations with their bindings to HTTP, the shapes of their inputs and outputs, and the
// resources whose lifecycle they are.
//
// [FromSmithy] and [FromOpenAPI] read descriptions. [Derive] makes the schema of a resource
// type from one of the resources, with the reason of each decision; [Settings] override them.
package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An API is the description of a service. It is not changed after it was read; several
// goroutines may read it.
type API struct {
	Name     string // of the service: the name of its shape, or the title of the description
	Version  string
	Format   string // "smithy" or "openapi"
	XMLNS    string // of awsQuery and restXml: the namespace of documents
	BareXML  bool   // of restXml: errors have no element around them
	Protocol string // "restJson1", "awsJson1_0", … or "openapi" for JSON and forms over HTTP
	Prefix   string // of the actions in permissions; "" if it has none
	Target   string // of awsJson: the first part of X-Amz-Target
	Servers  []string
	Auth     []Scheme

	Operations []*Operation // in the order of the description
	Resources  []*Resource  // in the order of the description
	Others     []Candidate  // what looks like a resource, but cannot be provisioned
}

// Resource returns the resource of that name or ID, or nil.
func (a *API) Resource(name string) *Resource {
	for _, r := range a.Resources {
		if r.Name == name || r.ID == name {
			return r
		}
	}
	return nil
}

// Replaces reports whether an operation that creates a resource replaces one that exists, instead of refusing to: a Put, unless
// the request says whether it does, as with Overwrite of PutParameter.
func (a *API) Replaces(op *Operation) bool {
	if a.Format == "openapi" {
		return op.Method == http.MethodPut
	}
	return strings.HasPrefix(op.Name, "Put") && !slices.ContainsFunc(op.Members(), func(m *Member) bool { return norm(m.Name) == "overwrite" })
}

// A Scheme is one way to authenticate.
type Scheme struct {
	Name string // in the description
	Kind string // apiKey, bearer, basic, oauth2, sigv4, or what the description has
	In   string // of apiKey: header, query or cookie
	Key  string // of apiKey: the name of the header, parameter or cookie
	URL  string // of oauth2: where tokens are requested with client credentials
}

// An Operation is one call of the service.
type Operation struct {
	Name         string // unique in the API: "CreateCluster", or "POST /clusters" without an ID
	Doc          string
	Method, Path string // of HTTP; the path has labels such as "{id}" and, greedy, "{path+}"
	Host         string // what comes before the host of the endpoint, with labels
	At           diag.Range

	Params            []*Member  // in the path, the query and headers
	Body              *Shape     // of the request; nil if it has none
	BodyMember        string     // the member whose value is the whole body; "" if members of the body are those of the input
	ContentType       string     // of the request
	Output            *Shape     // the body of a successful response; nil if it has none
	OutMember         string     // as BodyMember
	OutHeaders        []*Member  // of the response outside of its body; Wire is "" for the status
	OutType           string     // OpenAPI: the media type of a successful response
	Status            []int      // of successful responses
	Open              bool       // needs no credentials
	Auth              [][]string // OpenAPI: names of schemes, of which one list is needed; nil without credentials
	Creates, Existing bool       // OpenAPI: its summary says that it creates something, or only changes what exists

	Errors   []Error
	Paging   *Paging   // nil if results are not in pages
	Token    string    // the member, parameter or header that makes calls idempotent; "" without one
	Waiters  []Waiter  // that poll this operation
	Examples []Example // as they are in the description
}

// Param returns the parameter of that name in a place, or nil.
func (o *Operation) Param(in Place, name string) *Member {
	for _, p := range o.Params {
		if p.In == in && p.Name == name {
			return p
		}
	}
	return nil
}

// An Error is a failure that an operation declares.
type Error struct {
	Name   string // of the shape; "" in OpenAPI
	Code   string // of awsQuery, if it is not the name
	Status int    // of HTTP; 0 means every other status
	Retry  bool   // the same call may succeed later
	Shape  *Shape // of the response; nil if it is not described
}

// Paging says how an operation splits its results. Paths are separated by dots.
type Paging struct {
	In, Out     string // the token of the request and of the response
	Items, Size string
}

// A Waiter polls an operation until an acceptor says how it ended.
type Waiter struct {
	Name      string
	Acceptors []Acceptor // the first that matches decides
	MinDelay  int        // seconds
}

// An Acceptor is one condition of a [Waiter].
type Acceptor struct {
	State      string // success, failure or retry
	Error      string // the error that matches; "" if the output is compared
	Path       string // in the output
	Comparator string
	Expected   string
}

// An Example is a call and its result, by names of members.
type Example struct {
	Title         string
	Input, Output *document.Value
}

// Place is where a member is sent.
type Place uint8

// The places. The zero Place is the body.
const (
	InBody Place = iota
	InPath
	InQuery
	InHeader
)

func (p Place) String() string { return [...]string{"body", "path", "query", "header"}[p] }

// A Member is one entry of a structure, or a parameter.
type Member struct {
	Name  string // in the description
	Wire  string // in the request or response
	In    Place
	Shape *Shape
	Doc   string
	At    diag.Range

	Required                     bool
	ReadOnly, WriteOnly          bool            // marked so
	Sensitive, Deprecated, Token bool            // Token: makes calls idempotent
	NotProperty                  bool            // marked as not part of the resource
	Default, Example             *document.Value // nil without one
	Fixed                        string          // OpenAPI: the only value of a parameter that is required, "" without one
	Relation                     string          // the type of the resource that the value identifies
	Flat, Attribute              bool            // in XML: a list or map without an element around it; an attribute
}

// Kind is the kind of a [Shape].
type Kind uint8

// The kinds. The zero Kind accepts every value.
const (
	Any Kind = iota
	Boolean
	Integer
	Number
	String
	Blob
	Timestamp
	List
	Map
	Structure
	Union // a structure of which one member is set
)

func (k Kind) String() string {
	return [...]string{"any", "boolean", "integer", "number", "string", "blob", "timestamp", "list", "map", "structure", "union"}[k]
}

// A Shape is the type of a value. Shapes may be recursive.
type Shape struct {
	Name string // "" if it has none
	Kind Kind
	Doc  string

	Members   []*Member // of structures and unions
	Item, Key *Shape    // the elements of a list; values and keys of a map; Key may be nil

	Nullable bool   // the value may be null; of lists and maps in Smithy: elements may be
	More     bool   // members that are not described are allowed; of strings: simple values of other types are
	XMLName  string // in XML: the root element, if it is not the name
	ItemName string // in XML: the element of an item of a list or of a value of a map
	KeyName  string // in XML: the element of a key of a map

	Enum             []string
	Pattern          string
	Format           string // as the description has it; in Smithy of numbers int8 to int64, float or double, of timestamps epoch-seconds, date-time, http-date or ""
	MinLen, MaxLen   *int   // of strings, lists and maps
	Minimum, Maximum string // of numbers, as written; "" without
	Unique           bool   // of lists
	Sensitive        bool
	Refused          string // why the shape is Any although the description says more; "" if it is not
}

// Member returns the member of that name, or nil.
func (s *Shape) Member(name string) *Member {
	if s == nil {
		return nil
	}
	for _, m := range s.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// refuseLoop makes a list or map that is an item of itself, without a structure between, any value: nothing that
// visits its items would end.
func (s *Shape) refuseLoop() {
	seen := map[*Shape]bool{}
	for at := s; at != nil && (at.Kind == List || at.Kind == Map); at = at.Item {
		if seen[at] {
			s.Kind, s.Item, s.Key, s.Refused = Any, nil, nil, "it contains itself"
			return
		}
		seen[at] = true
	}
}

// A Resource is a set of operations that create, read and delete one thing.
type Resource struct {
	Name string // "Cluster"
	ID   string // the shape, or the path of an item
	By   string // what it was found by: "shapes", "names" or "paths"
	At   diag.Range

	// Identifiers are the names by which the operations on one resource know it, those of
	// its parents first.
	Identifiers []string

	Create, Read, Delete *Operation
	Creates              []*Operation // OpenAPI: Create and others that do the same, if they are not on the path above that of an item
	Among                string       // the member of the response of Read, perhaps also of Create, with several resources, wholeList if it is the response; "" if it returns one
	Update               []*Operation // in the order of preference; the others change parts
	List                 *Operation   // may be nil
	Tags                 []*Operation // that change and list the tags of resources of the service
}

// wholeList is [Resource.Among] if the response is the list: no member has that name.
const wholeList = "[]"

// Returned is the shape of the resource in the response of one of its operations, nil without one. If the response has
// several resources, it is that of one of them, and among is the member that has them.
func (r *Resource) Returned(op *Operation) (shape *Shape, among *Member) {
	m := op.Output.Member(r.Among)
	if r.Among == wholeList && op == r.Read {
		m = &Member{Shape: op.Output}
	}
	if r.Among == "" || m == nil || m.Shape.Kind != List || m.Shape.Item.Kind != Structure {
		return op.Output, nil
	}
	return m.Shape.Item, m
}

// revisions are endings of the names of members that change with every change of a resource.
var revisions = []string{"etag", "revision", "revisionid", "versionnumber", "locktoken", "updatetoken", "changetoken"}

// IsRevision reports whether a member changes with every change of the resource, by its name: "LockToken", or "PolicyVersion" of a
// policy, but not "EngineVersion".
func (r *Resource) IsRevision(m *Member) bool {
	name := norm(m.Name)
	switch of, isVersion := strings.CutSuffix(name, "version"); {
	case m.Shape.Kind != String && m.Shape.Kind != Integer:
		return false
	case isVersion:
		return of == "current" || strings.HasSuffix(norm(r.Name), of)
	}
	return slices.ContainsFunc(revisions, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// Steps are the operations of the resource, in the order of the lifecycle.
func (r *Resource) Steps() []Step {
	out := []Step{{"create", r.Create}, {"read", r.Read}}
	for _, op := range r.Update {
		out = append(out, Step{"update", op})
	}
	out = append(out, Step{"delete", r.Delete}, Step{"list", r.List})
	return slices.DeleteFunc(out, func(s Step) bool { return s.Operation == nil })
}

// A Step is one operation of a lifecycle: create, read, update, delete or list.
type Step struct {
	Action    string
	Operation *Operation
}

// A Candidate has some operations of a lifecycle, but is not a resource.
type Candidate struct {
	Name, ID string
	Steps    []Step
	Reason   string // why it is not a resource
}

// Members are the parameters and the members of the body of a request.
func (o *Operation) Members() []*Member {
	if o.Body == nil {
		return o.Params
	}
	if o.BodyMember != "" {
		return append(slices.Clip(o.Params), &Member{Name: o.BodyMember, Wire: o.BodyMember, Shape: o.Body, Required: true, Doc: o.Body.Doc})
	}
	return append(slices.Clip(o.Params), o.Body.Members...)
}

// incomplete says what a resource lacks, "" if it lacks nothing.
func incomplete(r *Resource) string {
	var lacking []string
	for _, has := range []struct {
		what string
		op   *Operation
	}{{"create", r.Create}, {"read", r.Read}, {"delete", r.Delete}} {
		if has.op == nil {
			lacking = append(lacking, has.what)
		}
	}
	switch {
	case lacking != nil:
		return "it has no operation to " + strings.Join(lacking, " or ")
	case !r.readsObject():
		return r.Read.Name + " does not return an object"
	case r.Identifiers == nil && r.By == "shapes":
		return "it has no identifier: there is only one of it"
	}
	return ""
}

// readsObject reports whether what read returns is an object.
func (r *Resource) readsObject() bool {
	returned, _ := r.Returned(r.Read)
	return returned != nil && (returned.Kind == Structure || returned.Kind == Union)
}
