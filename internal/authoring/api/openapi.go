package api

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Bounds on descriptions. The largest public ones that were tried have 4 MB and 1,500 operations.
const (
	maxDescription = 32 << 20
	maxValues      = 1 << 21
	maxPaths       = 20_000
	maxMembers     = 1 << 20 // of all structures, after allOf is merged
	maxRefs        = 32      // one after the other
	maxMerge       = 32      // levels of allOf
	maxReported    = 20      // references that are reported one by one
)

// FromOpenAPI reads a description in OpenAPI 3.0 or 3.1, JSON or YAML. References to other
// files and to URLs are never followed. The API is nil if the list has errors.
//
// The IDs of problems are those of [document.Parse] and api/version, api/reference (a
// warning: what it refers to is taken for any value) and api/too-large.
func FromOpenAPI(file string, data []byte) (*API, diag.List) {
	root, problems := document.Parse(file, data, document.Limits{Bytes: maxDescription, Depth: 256, Values: maxValues})
	if problems.HasErrors() { // warnings matter to the author of the description only
		return nil, problems
	}
	version := root.Get("openapi").Str()
	if !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1") {
		p := diag.Problem{ID: "api/version", At: root.At, Message: "not a description in OpenAPI 3.0 or 3.1", Hint: "the document needs a member openapi, such as \"3.1.0\""}
		switch {
		case root.Get("swagger") != nil:
			p.Message, p.Hint = "Swagger 2.0 is not supported", "convert the description to OpenAPI 3, for example with swagger2openapi"
		case version != "":
			p.At, p.Message, p.Hint = root.Get("openapi").At, fmt.Sprintf("OpenAPI %s is not supported", diag.Cut(version)), "use a description in OpenAPI 3.0 or 3.1"
		}
		return nil, diag.List{p}
	}
	r := &openapiReader{
		root: root, shapes: map[*document.Value]*Shape{}, refused: map[string]bool{},
		api: &API{Name: root.Get("info").Get("title").Str(), Version: root.Get("info").Get("version").Str(), Format: "openapi", Protocol: "openapi"},
	}
	r.readServers()
	r.readSchemes()
	paths := root.Get("paths").Distinct()
	if len(paths) > maxPaths {
		return nil, diag.List{{ID: "api/too-large", At: root.Get("paths").At, Message: fmt.Sprintf("the description has %d paths, more than %d", len(paths), maxPaths)}}
	}
	for _, path := range paths {
		r.readPath(path)
	}
	if r.members > maxMembers {
		r.problems.Add(diag.Problem{ID: "api/too-large", At: root.At, Message: fmt.Sprintf("the structures have more than %d members in all", maxMembers)})
	}
	if len(r.refused) > maxReported {
		r.problems.Add(diag.Problem{ID: "api/reference", Severity: diag.Warning, At: root.At,
			Message: fmt.Sprintf("%d more references cannot be followed", len(r.refused)-maxReported)})
	}
	if r.problems.HasErrors() {
		return nil, r.problems
	}
	r.findResources()
	return r.api, r.problems
}

type openapiReader struct {
	root        *document.Value
	api         *API
	problems    diag.List
	shapes      map[*document.Value]*Shape
	refused     map[string]bool // references that are not followed
	members     int
	paths       []pathItem
	below       map[string][]*pathItem // paths one level below a path
	collections map[string]bool        // of items, by [pathKey]
}

// A pathItem is one path with its operations by their methods.
type pathItem struct {
	path       string
	operations map[string]*Operation
	at         diag.Range
}

// follow resolves references to a place in the description. It returns nil for others.
func (r *openapiReader) follow(v *document.Value) (to *document.Value, name string) {
	for range maxRefs {
		ref := v.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return v, name
		}
		fragment, local := strings.CutPrefix(ref.Text, "#")
		if decoded, err := url.PathUnescape(fragment); err == nil {
			fragment = decoded
		}
		pointer, valid := document.ParsePointer(fragment)
		var next *document.Value
		if local && valid {
			next = r.root.Lookup(pointer)
		}
		if next == nil {
			r.refuse(ref, local)
			return nil, ""
		}
		if len(pointer) > 0 {
			name = pointer[len(pointer)-1]
		}
		v = next
	}
	r.refuse(v.Get("$ref"), true)
	return nil, ""
}

func (r *openapiReader) refuse(ref *document.Value, local bool) {
	if r.refused[ref.Text] {
		return
	}
	r.refused[ref.Text] = true
	if len(r.refused) > maxReported {
		return
	}
	p := diag.Problem{ID: "api/reference", Severity: diag.Warning, At: ref.At, Message: fmt.Sprintf("%q refers to nothing in the description", diag.Cut(ref.Text))}
	if !local {
		p.Message = fmt.Sprintf("the reference %q leaves the description and is not followed", diag.Cut(ref.Text))
		p.Hint = "bundle the description into one file"
	}
	r.problems.Add(p)
}

// readServers fills in the defaults of the variables.
func (r *openapiReader) readServers() {
	servers := r.root.Get("servers")
	if servers == nil {
		return
	}
	for _, server := range servers.Items {
		address := server.Get("url").Str()
		for _, variable := range server.Get("variables").Distinct() {
			address = strings.ReplaceAll(address, "{"+variable.Key+"}", variable.Value.Get("default").Str())
		}
		if address != "" {
			r.api.Servers = append(r.api.Servers, address)
		}
	}
}

func (r *openapiReader) readSchemes() {
	for _, entry := range r.root.Get("components").Get("securitySchemes").Distinct() {
		v, _ := r.follow(entry.Value)
		s := Scheme{Name: entry.Key, Kind: v.Get("type").Str(), In: v.Get("in").Str(), Key: v.Get("name").Str()}
		if s.Kind == "http" {
			s.Kind = strings.ToLower(v.Get("scheme").Str())
		}
		s.URL = v.Get("flows").Get("clientCredentials").Get("tokenUrl").Str()
		r.api.Auth = append(r.api.Auth, s)
	}
}

func (r *openapiReader) readPath(path document.Member) {
	item, _ := r.follow(path.Value)
	if item == nil || !strings.HasPrefix(path.Key, "/") {
		return
	}
	p := pathItem{path: path.Key, operations: map[string]*Operation{}, at: path.KeyAt}
	for _, m := range item.Distinct() {
		switch m.Key {
		case "get", "put", "post", "patch", "delete":
			if m.Value.Kind != document.Object {
				continue
			}
			op := r.readOperation(path.Key, m, item.Get("parameters"))
			p.operations[op.Method] = op
			r.api.Operations = append(r.api.Operations, op)
		}
	}
	r.paths = append(r.paths, p)
}

func (r *openapiReader) readOperation(path string, m document.Member, shared *document.Value) *Operation {
	v := m.Value
	op := &Operation{Method: strings.ToUpper(m.Key), Path: path, At: m.KeyAt, Doc: v.Get("description").Str()}
	op.Name = op.Method + " " + path
	if op.Doc == "" {
		op.Doc = v.Get("summary").Str()
	}
	r.readSecurity(op, v.Get("security"))
	op.Creates, op.Existing = says(v)
	r.readParams(op, v.Get("parameters"))
	r.readParams(op, shared)
	for _, segment := range segmentsOf(path) { // some descriptions leave parameters out
		if name := paramName(segment); isParam(segment) && op.Param(InPath, name) == nil {
			op.Params = append(op.Params, &Member{Name: name, Wire: name, In: InPath, Shape: &Shape{Kind: String}, At: m.KeyAt, Required: true})
		}
	}
	if body, _ := r.follow(v.Get("requestBody")); body != nil {
		media, content := r.chooseMedia(body.Get("content"))
		op.ContentType = media
		if content.Get("schema") != nil {
			op.Body = r.shape(content.Get("schema"), "", 0)
		}
		op.Examples = append(op.Examples, r.readExamples(content, true)...)
	}
	for _, entry := range v.Get("responses").Distinct() {
		r.readResponse(op, entry)
	}
	r.findPaging(op)
	return op
}

var (
	updating  = lazyregexp.New(`(?i)(^|[_.])(update|modif|edit|change|accept|restore)`)
	making    = lazyregexp.New(`(?i)\b(create|creates|creating)\b|upsert|not (yet )?exist`)
	makingIDs = lazyregexp.New(`(?i)(^|[_.])(set|add|replace|assign|register|save|ensure)|creat|upsert`)
)

// says reports whether the summary and ID of an operation say that it creates something, or that it only changes what exists:
// the first begins with a verb such as update, and nothing says that it creates.
func says(operation *document.Value) (creates, existing bool) {
	id, title, text := operation.Get("operationId").Str(), operation.Get("summary").Str(), operation.Get("description").Str()
	text, _, _ = strings.Cut(text, ". ")
	creates = making.MatchString(title+" "+text) || makingIDs.MatchString(id)
	return creates, !creates && updating.MatchString(cmp.Or(title, id))
}

// readSecurity reads which schemes an operation needs.
func (r *openapiReader) readSecurity(op *Operation, needed *document.Value) {
	if needed == nil {
		needed = r.root.Get("security")
	}
	if op.Open = needed == nil || len(needed.Items) == 0; op.Open {
		return
	}
	for _, v := range needed.Items {
		var names []string
		for _, scheme := range v.Distinct() {
			names = append(names, scheme.Key)
		}
		op.Auth, op.Open = append(op.Auth, names), op.Open || names == nil
	}
}

// readParams adds parameters that the operation does not have yet.
func (r *openapiReader) readParams(op *Operation, list *document.Value) {
	if list == nil {
		return
	}
	places := map[string]Place{"path": InPath, "query": InQuery, "header": InHeader}
	for _, item := range list.Items {
		v, _ := r.follow(item)
		in, known := places[v.Get("in").Str()]
		name := v.Get("name").Str()
		if !known || name == "" || op.Param(in, name) != nil {
			continue
		}
		schema := v.Get("schema")
		if schema == nil {
			_, content := r.chooseMedia(v.Get("content"))
			schema = content.Get("schema")
		}
		p := &Member{Name: name, Wire: name, In: in, Shape: r.shape(schema, "", 0), Doc: v.Get("description").Str(), At: v.At, Required: v.Get("required").IsTrue() || in == InPath, Example: v.Get("example")}
		for _, entry := range v.Get("examples").Distinct() {
			if example, _ := r.follow(entry.Value); p.Example == nil {
				p.Example = example.Get("value")
			}
		}
		if to, _ := r.follow(schema); to != nil {
			p.Default = to.Get("default")
			if p.Example == nil {
				p.Example = exampleOf(to)
			}
		}
		if in == InHeader && (norm(name) == "idempotencykey" || norm(name) == "xidempotencykey") {
			p.Token, op.Token = true, name
		}
		if p.Required && in != InPath {
			p.Fixed = onlyValue(p)
		}
		op.Params = append(op.Params, p)
	}
}

// onlyValue is the default of a parameter, else its only value; "" without one.
func onlyValue(p *Member) string {
	switch d := p.Default; {
	case d != nil && d.Kind == document.String:
		return d.Text
	case d != nil && (d.Kind == document.Number || d.Kind == document.Bool):
		return string(d.AppendJSON(nil))
	case d == nil && len(p.Shape.Enum) == 1:
		return p.Shape.Enum[0]
	}
	return ""
}

// chooseMedia selects JSON, else a form, else the first media type.
func (r *openapiReader) chooseMedia(content *document.Value) (string, *document.Value) {
	content, _ = r.follow(content) // some descriptions share the whole of it
	media, value, best := "", (*document.Value)(nil), -1
	for _, entry := range content.Distinct() {
		rank := 0
		switch base, _, _ := strings.Cut(strings.ToLower(entry.Key), ";"); {
		case base == "application/json":
			rank = 4
		case strings.HasSuffix(base, "+json") && !strings.Contains(base, "patch"):
			rank = 3
		case strings.HasSuffix(base, "json"), base == "*/*":
			rank = 2
		case base == "application/x-www-form-urlencoded":
			rank = 1
		}
		if rank > best {
			media, value, best = entry.Key, entry.Value, rank
		}
	}
	return media, value
}

// spoken reports whether clients can send the body of a request.
func spoken(op *Operation) bool {
	base, _, _ := strings.Cut(strings.ToLower(op.ContentType), ";")
	return op.Body == nil || strings.HasSuffix(base, "json") || base == "*/*" || base == "application/x-www-form-urlencoded"
}

func (r *openapiReader) readResponse(op *Operation, entry document.Member) {
	v, _ := r.follow(entry.Value)
	status, err := strconv.Atoi(strings.ReplaceAll(strings.ToUpper(entry.Key), "XX", "00"))
	if err != nil && entry.Key != "default" {
		return
	}
	media, content := r.chooseMedia(v.Get("content"))
	schema := content.Get("schema")
	if status >= 200 && status < 300 {
		op.Status = append(op.Status, status)
		if op.Output == nil && schema != nil {
			op.Output, op.OutType = r.shape(schema, "", 0), media
			for _, header := range v.Get("headers").Distinct() {
				if to, _ := r.follow(header.Value); to != nil {
					op.OutHeaders = append(op.OutHeaders, &Member{Name: header.Key, Wire: header.Key, In: InHeader, Shape: r.shape(to.Get("schema"), "", 0), At: header.KeyAt})
				}
			}
		}
		op.Examples = append(op.Examples, r.readExamples(content, false)...)
		return
	}
	if status != 0 && status < 400 {
		return
	}
	e := Error{Status: status, Retry: status == 429 || status == 503}
	if schema != nil {
		e.Shape = r.shape(schema, "", 0)
	}
	op.Errors = append(op.Errors, e)
}

func (r *openapiReader) readExamples(content *document.Value, request bool) (out []Example) {
	add := func(title string, v *document.Value) {
		switch {
		case v == nil:
		case request:
			out = append(out, Example{Title: title, Input: v})
		default:
			out = append(out, Example{Title: title, Output: v})
		}
	}
	add("", content.Get("example"))
	for _, entry := range content.Get("examples").Distinct() {
		v, _ := r.follow(entry.Value)
		add(entry.Key, v.Get("value"))
	}
	return out
}

// The names of parameters and members by which lists are read page by page.
var (
	pageTokens = []string{"pagetoken", "nexttoken", "cursor", "after", "startingafter", "continuationtoken", "iterator", "page", "pagenumber", "pagenum", "offset", "start", "startindex"}
	pageSizes  = []string{"pagesize", "limit", "perpage", "maxresults", "maxitems", "itemsperpage", "count", "first"}
	nextTokens = []string{"nextpagetoken", "nexttoken", "nextcursor", "continuationtoken", "cursor", "iterator", "next"}
)

// findPaging finds the parameters of a list by their names.
func (r *openapiReader) findPaging(op *Operation) {
	if op.Method != "GET" {
		return
	}
	p := &Paging{}
	for _, param := range op.Params {
		switch {
		case param.In != InQuery:
		case p.In == "" && slices.Contains(pageTokens, norm(param.Name)):
			p.In = param.Name
		case p.Size == "" && slices.Contains(pageSizes, norm(param.Name)):
			p.Size = param.Name
		}
	}
	if p.In == "" {
		return
	}
	if op.Output != nil {
		for _, m := range op.Output.Members {
			if p.Out == "" && m.Shape.Kind == String && slices.Contains(nextTokens, norm(m.Name)) {
				p.Out = m.Name
			}
		}
	}
	op.Paging = p
}
