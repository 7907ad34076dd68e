package codegen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A boundAPI is what the texts of handlers depend on in a binding, the file that package api makes. Clients read
// the rest of it at run time.
type boundAPI struct {
	API, Protocol string
	Auth          struct{ Kind, Service string }
	Identifier    []string

	Create, Read, Delete boundCall
	Update               []boundCall
	List                 *boundCall
	Tags                 *struct {
		Property string
		List     *struct{}
	}
	Wait *struct {
		Property                        string
		Pending, Success, Failure, Gone []string
		Delay                           int
	}
	Find struct {
		By         string
		Properties []string
	}
}

type boundCall struct {
	Name          string
	Host          string
	Send, Receive []boundEntry
	Among         bool
	Changes       []string
}

type boundEntry struct {
	Property, In string
	Live         bool
}

func (c *boundCall) sends(property string) bool {
	return slices.ContainsFunc(c.Send, func(e boundEntry) bool { return e.Property == property })
}

// A frameAPI is what the templates of handlers know of an API. Lists are texts of the language.
type frameAPI struct {
	Service                    string
	XML, Query                 bool   // responses are XML; requests are forms of awsQuery
	Among                      bool   // read or create returns several resources
	ETag                       bool   // read returns a property in a header
	DeleteLive                 bool   // delete sends values that were read
	Host                       bool   // operations have hosts of their own
	S3                         bool   // requests are signed as S3 requires
	Create, Read, Delete, List string // names of operations, List "" without one
	Updates                    []frameUpdate
	HasUpdate, Later           bool // Later: an update sets properties that create does not

	Find, Unique string
	Finds        bool // something is looked up in the list

	Tags, TagList, TagOnCreate, TagLater bool

	Wait                            string // the property with the status
	Pending, Success, Failure, Gone string
	Delay                           int

	CreateOnly, Additional string
	Compares               bool // an update compares with the previous properties
}

type frameUpdate struct {
	Name, Properties string
	Index, Number    int
	More             bool // another update may follow
	Later            bool // it sets properties that create does not
}

// readBinding reads the binding of a project.
func readBinding(in Input) (*boundAPI, error) {
	b := &boundAPI{}
	if err := json.Unmarshal(in.Binding, b); err != nil {
		return nil, fmt.Errorf("generate handlers of %s: read the binding of the API: %w", in.TypeName, err)
	}
	for _, name := range b.properties() {
		if in.Schema.Property(document.Pointer{name}) == nil {
			return nil, diag.WithHint(fmt.Errorf("generate handlers of %s: the binding of the API has the property %q, which the schema does not have", in.TypeName, diag.Cut(name)),
				"derive the type again with cfn init --from-smithy or --from-openapi")
		}
	}
	return b, nil
}

// properties are those whose names handlers contain.
func (b *boundAPI) properties() []string {
	out := slices.Concat(b.Identifier, b.Find.Properties)
	if b.Wait != nil {
		out = append(out, b.Wait.Property)
	}
	if b.Tags != nil {
		out = append(out, b.Tags.Property)
	}
	for _, call := range b.calls() {
		out = append(out, call.Changes...)
		for _, e := range call.Send {
			out = append(out, e.Property)
		}
	}
	return out
}

// calls are the operations besides those that change tags.
func (b *boundAPI) calls() []boundCall {
	out := append([]boundCall{b.Create, b.Read, b.Delete}, b.Update...)
	if b.List != nil {
		out = append(out, *b.List)
	}
	return out
}

// frame is what templates in a language know of the API.
func (b *boundAPI) frame(s *schema.Schema, in quoting) *frameAPI {
	f := &frameAPI{
		Service: words(b.API), Create: words(b.Create.Name), Read: words(b.Read.Name), Delete: words(b.Delete.Name),
		Find: b.Find.By, Unique: strings.Join(b.Find.Properties, ", "), HasUpdate: s.Handler("update") != nil, Delay: 2,
		XML: b.Protocol == "awsQuery" || b.Protocol == "restXml", Query: b.Protocol == "awsQuery", Among: b.Read.Among || b.Create.Among,
		ETag:       slices.ContainsFunc(b.Read.Receive, func(e boundEntry) bool { return e.In == "header" }),
		DeleteLive: slices.ContainsFunc(b.Delete.Send, func(e boundEntry) bool { return e.Live }),
		Host:       slices.ContainsFunc(b.calls(), func(c boundCall) bool { return c.Host != "" }),
		S3:         b.Auth.Kind == "sigv4" && b.Auth.Service == "s3",
	}
	if b.List != nil {
		f.List = words(b.List.Name)
	}
	for i, update := range b.Update {
		later := slices.ContainsFunc(update.Changes, func(name string) bool { return !b.Create.sends(name) })
		f.Later = f.Later || later
		f.Updates = append(f.Updates, frameUpdate{
			Later: later, Name: words(update.Name), Properties: strings.Join(update.Changes, ", "), Index: i, Number: i + 1, More: i+1 < len(b.Update) || b.Tags != nil,
		})
	}
	if b.Tags != nil {
		f.Tags, f.TagList = true, b.Tags.List != nil
		f.TagOnCreate = b.Create.sends(b.Tags.Property)
		f.TagLater = !f.TagOnCreate
	}
	if w := b.Wait; w != nil {
		f.Wait, f.Pending, f.Success, f.Failure, f.Gone = w.Property, in.list(w.Pending), in.list(w.Success), in.list(w.Failure), in.list(w.Gone)
		f.Delay = max(w.Delay, 1)
	}
	identifiers := topLevel(s.PrimaryIdentifier)
	var createOnly []string // paths, with slashes
	for _, p := range s.CreateOnly {
		if !slices.Contains(identifiers, p.Tokens[0]) && !slices.Contains(p.Tokens, "*") {
			createOnly = append(createOnly, strings.Join(p.Tokens, "/"))
		}
	}
	f.CreateOnly = in.list(createOnly)
	if b.List != nil {
		f.Additional = strings.Join(mapped(s.AdditionalIdentifiers, func(paths []schema.Path) string { return in.begin + in.list(topLevel(paths)) + in.end }), ", ")
	}
	f.Compares = f.CreateOnly != "" || len(f.Updates) > 0
	f.Finds = f.Additional != "" || f.Find == "list"
	return f
}

// topLevel are the names of properties at the top.
func topLevel(paths []schema.Path) (names []string) {
	for _, p := range paths {
		if len(p.Tokens) == 1 {
			names = append(names, p.Tokens[0])
		}
	}
	return names
}

// words is the name of an operation or a service in a comment: on one line.
func words(name string) string { return strings.Join(strings.Fields(clean(name)), " ") }
