package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/smithy"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// protocols are the traits of the protocols that clients can be generated for, the preferred
// ones first.
var protocols = []smithy.ID{
	"aws.protocols#restJson1", "aws.protocols#awsJson1_0", "aws.protocols#awsJson1_1", "aws.protocols#awsQuery", "aws.protocols#restXml",
}

// A ServiceError is the error of a service that a model does not have.
type ServiceError struct {
	Service smithy.ID   // "" if none was named
	Known   []smithy.ID // the services of the model
}

func (e *ServiceError) Error() string {
	switch {
	case len(e.Known) == 0:
		return "the model has no service"
	case e.Service == "":
		return "the model has several services"
	}
	return fmt.Sprintf("the model has no service %s", e.Service)
}

// FromSmithy describes a service of a model without errors. Without a name, it is the only
// service of the model. The error is a *[ServiceError].
func FromSmithy(m *smithy.Model, service smithy.ID) (*API, error) {
	unknown := &ServiceError{Service: service}
	var found *smithy.Shape
	for _, s := range m.OfType(smithy.Service) {
		unknown.Known = append(unknown.Known, s.ID)
		if s.ID == service || service == "" {
			found = s
		}
	}
	if found == nil || service == "" && len(unknown.Known) > 1 {
		return nil, unknown
	}
	r := &smithyReader{
		m: m, service: found, api: &API{Name: found.Name(), Version: found.Version, Format: "smithy", Target: found.Name()},
		shapes: map[smithy.ID]*Shape{}, copies: map[*Shape][]*Shape{}, operations: map[smithy.ID]*Operation{},
	}
	r.readService()
	resources, operations := m.TopDown(found)
	for _, s := range operations {
		r.readOperation(s)
	}
	r.findResources(resources)
	return r.api, nil
}

type smithyReader struct {
	m          *smithy.Model
	service    *smithy.Shape
	api        *API
	shapes     map[smithy.ID]*Shape
	copies     map[*Shape][]*Shape // of lists and maps that were copied before their items were known
	operations map[smithy.ID]*Operation
	tags       []*Operation // that tag resources of the service
}

func (r *smithyReader) readService() {
	for _, id := range protocols {
		if r.service.Has(id) {
			r.api.Protocol = id.Name()
			break
		}
	}
	for _, t := range r.service.Traits {
		definition := r.m.Shape(t.ID)
		if r.api.Protocol == "" && definition.Has("smithy.api#protocolDefinition") {
			r.api.Protocol = t.ID.Name()
		}
		if definition.Has("smithy.api#authDefinition") {
			r.api.Auth = append(r.api.Auth, smithyScheme(t))
		}
	}
	if t := r.service.Trait("smithy.api#xmlNamespace"); t != nil {
		r.api.XMLNS = t.Value.Get("uri").Str()
	}
	if t := r.service.Trait("aws.protocols#restXml"); t != nil {
		r.api.BareXML = t.Value.Get("noErrorWrapping").IsTrue()
	}
	if t := r.service.Trait("aws.api#service"); t != nil {
		r.api.Prefix = cmp.Or(t.Value.Get("arnNamespace").Str(), strings.ToLower(r.api.Name))
		if prefix := t.Value.Get("endpointPrefix").Str(); prefix != "" {
			r.api.Servers = []string{"https://" + prefix + ".{Region}.amazonaws.com"}
		}
	}
	if t := r.service.Trait("aws.auth#sigv4"); t != nil {
		if name := t.Value.Get("name").Str(); name != "" {
			r.api.Prefix = name
			if r.api.Servers == nil {
				r.api.Servers = []string{"https://" + name + ".{Region}.amazonaws.com"}
			}
		}
	}
}

// smithyScheme is what a trait for authentication says.
func smithyScheme(t *smithy.Trait) Scheme {
	out := Scheme{Name: t.ID.Name(), Kind: t.ID.Name()}
	switch out.Kind {
	case "httpApiKeyAuth":
		out.Kind, out.In, out.Key = "apiKey", t.Value.Get("in").Str(), t.Value.Get("name").Str()
	case "httpBearerAuth":
		out.Kind = "bearer"
	case "httpBasicAuth":
		out.Kind = "basic"
	}
	return out
}

// rest reports whether the protocol binds members to paths, queries and headers.
func (r *smithyReader) rest() bool { return strings.HasPrefix(r.api.Protocol, "rest") }

// xml reports whether the protocol has XML.
func (r *smithyReader) xml() bool { return r.api.Protocol == "awsQuery" || r.api.Protocol == "restXml" }

// xmlName is the name that a shape or member has in XML; "" if it has no name of its own there.
func (r *smithyReader) xmlName(s *smithy.Shape) string {
	if t := s.Trait("smithy.api#xmlName"); t != nil && r.xml() {
		return t.Value.Text
	}
	return ""
}

func (r *smithyReader) readOperation(s *smithy.Shape) {
	op := &Operation{Name: s.Name(), Doc: doc(s), Method: "POST", Path: "/", At: s.At}
	if t := s.Trait("smithy.api#http"); t != nil && r.rest() {
		op.Method, op.Path = t.Value.Get("method").Str(), t.Value.Get("uri").Str()
		if code := t.Value.Get("code"); code != nil {
			op.Status = append(op.Status, number(code))
		}
	}
	if t := s.Trait("smithy.api#endpoint"); t != nil {
		op.Host = t.Value.Get("hostPrefix").Str()
	}
	if op.Status == nil {
		op.Status = []int{200}
	}
	op.Open = len(r.api.Auth) == 0 || s.Has("smithy.api#optionalAuth")
	if t := s.Trait("smithy.api#auth"); t != nil && len(t.Value.Items) == 0 {
		op.Open = true
	}
	r.readInput(op, r.m.Shape(s.Input))
	r.readOutput(op, r.m.Shape(s.Output))
	for _, id := range slices.Concat(s.Errors, r.service.Errors) {
		if e := r.m.Shape(id); e != nil {
			op.Errors = append(op.Errors, r.readError(e))
		}
	}
	r.readPaging(op, s)
	if t := s.Trait("smithy.waiters#waitable"); t != nil {
		op.Waiters = readWaiters(t.Value)
	}
	if t := s.Trait("smithy.api#examples"); t != nil {
		for _, item := range t.Value.Items {
			op.Examples = append(op.Examples, Example{Title: item.Get("title").Str(), Input: item.Get("input"), Output: item.Get("output")})
		}
	}
	r.operations[s.ID] = op
	r.api.Operations = append(r.api.Operations, op)
}

// readInput splits the members of an input by where they are sent.
func (r *smithyReader) readInput(op *Operation, input *smithy.Shape) {
	if input == nil || len(input.Members) == 0 {
		return
	}
	body := &Shape{Name: input.Name(), XMLName: r.xmlName(input), Kind: Structure, Doc: doc(input)}
	for _, member := range input.Members {
		m := r.member(member)
		if m.Token {
			op.Token = m.Name
		}
		if r.rest() {
			switch {
			case member.Has("smithy.api#httpLabel"):
				m.In, m.Wire = InPath, m.Name
			case member.Has("smithy.api#httpQuery"):
				m.In, m.Wire = InQuery, member.Trait("smithy.api#httpQuery").Value.Text
			case member.Has("smithy.api#httpQueryParams"):
				m.In, m.Wire = InQuery, ""
			case member.Has("smithy.api#httpHeader"):
				m.In, m.Wire = InHeader, member.Trait("smithy.api#httpHeader").Value.Text
			case member.Has("smithy.api#httpPrefixHeaders"):
				m.In, m.Wire = InHeader, member.Trait("smithy.api#httpPrefixHeaders").Value.Text
			case member.Has("smithy.api#httpPayload"):
				op.Body, op.BodyMember = r.payload(m, member), m.Name
				continue
			}
		}
		if m.In == InBody {
			body.Members = append(body.Members, m)
		} else {
			op.Params = append(op.Params, m)
		}
	}
	if op.Body == nil && len(body.Members) > 0 {
		op.Body = body
	}
}

// readOutput splits the members of an output as readInput does. The body is the member that is
// the payload, or the structure without what is in headers.
func (r *smithyReader) readOutput(op *Operation, output *smithy.Shape) {
	if output == nil || len(output.Members) == 0 {
		return
	}
	body := &Shape{Name: output.Name(), XMLName: r.xmlName(output), Kind: Structure, Doc: doc(output)}
	for _, member := range output.Members {
		m := r.member(member)
		if r.rest() {
			header := cmp.Or(member.Trait("smithy.api#httpHeader"), member.Trait("smithy.api#httpPrefixHeaders"))
			switch {
			case member.Has("smithy.api#httpPayload"):
				op.Output, op.OutMember = r.payload(m, member), m.Name
				continue
			case header != nil:
				m.In, m.Wire = InHeader, header.Value.Text
			case member.Has("smithy.api#httpResponseCode"):
				m.In, m.Wire = InHeader, ""
			}
		}
		if m.In == InBody {
			body.Members = append(body.Members, m)
		} else {
			op.OutHeaders = append(op.OutHeaders, m)
		}
	}
	if op.Output == nil {
		op.Output = body
	}
}

// payload is the shape of a member that is a whole body. In XML, the name of the member is that of the root element.
func (r *smithyReader) payload(m *Member, s *smithy.Shape) *Shape {
	name := r.xmlName(s)
	if name == "" {
		return m.Shape
	}
	named := *m.Shape
	named.XMLName = name
	return &named
}

func (r *smithyReader) readError(s *smithy.Shape) Error {
	out := Error{Name: s.Name(), Status: 400, Retry: s.Has("smithy.api#retryable"), Shape: r.shape(s.ID)}
	if t := s.Trait("smithy.api#error"); t != nil && t.Value.Text == "server" {
		out.Status = 500
	}
	if t := s.Trait("smithy.api#httpError"); t != nil {
		out.Status = number(t.Value)
	}
	if t := s.Trait("aws.protocols#awsQueryError"); t != nil {
		out.Code = t.Value.Get("code").Str()
		if status := number(t.Value.Get("httpResponseCode")); status != 0 && r.api.Protocol == "awsQuery" {
			out.Status = status
		}
	}
	return out
}

// readPaging merges what the service says of all pages with what the operation says.
func (r *smithyReader) readPaging(op *Operation, s *smithy.Shape) {
	own := s.Trait("smithy.api#paginated")
	if own == nil {
		return
	}
	of := func(key string) string {
		text := own.Value.Get(key).Str()
		if all := r.service.Trait("smithy.api#paginated"); text == "" && all != nil {
			text = all.Value.Get(key).Str()
		}
		return text
	}
	op.Paging = &Paging{In: of("inputToken"), Out: of("outputToken"), Items: of("items"), Size: of("pageSize")}
}

func readWaiters(v *document.Value) (out []Waiter) {
	for _, entry := range v.Distinct() {
		w := Waiter{Name: entry.Key, MinDelay: 2}
		if d := entry.Value.Get("minDelay"); d != nil {
			w.MinDelay = number(d)
		}
		acceptors := entry.Value.Get("acceptors")
		if acceptors == nil {
			continue
		}
		for _, item := range acceptors.Items {
			a := Acceptor{State: item.Get("state").Str()}
			matcher := item.Get("matcher")
			a.Error = matcher.Get("errorType").Str()
			if output := matcher.Get("output"); output != nil {
				a.Path, a.Comparator, a.Expected = output.Get("path").Str(), output.Get("comparator").Str(), output.Get("expected").Str()
			}
			w.Acceptors = append(w.Acceptors, a)
		}
		out = append(out, w)
	}
	return out
}

func (r *smithyReader) member(s *smithy.Shape) *Member {
	target := r.m.Shape(s.Target)
	m := &Member{
		Name: s.Name(), Wire: s.Name(), Shape: r.memberShape(s), Doc: doc(s), At: s.At, Required: s.Has("smithy.api#required"),
		Sensitive: s.Has("smithy.api#sensitive") || target.Has("smithy.api#sensitive"), Deprecated: s.Has("smithy.api#deprecated"),
		Token: s.Has("smithy.api#idempotencyToken"), NotProperty: s.Has("smithy.api#notProperty") || s.Has("aws.cloudformation#cfnExcludeProperty"),
	}
	if t := s.Trait("smithy.api#jsonName"); t != nil && r.api.Protocol == "restJson1" {
		m.Wire = t.Value.Text
	}
	if r.xml() {
		m.Wire = cmp.Or(r.xmlName(s), m.Wire)
		m.Flat, m.Attribute = s.Has("smithy.api#xmlFlattened"), s.Has("smithy.api#xmlAttribute")
	}
	if t := s.Trait("smithy.api#default"); t != nil && t.Value.Kind != document.Null {
		m.Default = t.Value
	}
	if t := target.Trait("aws.api#arnReference"); t != nil {
		m.Relation = t.Value.Get("type").Str()
	}
	return m
}

// memberShape is the shape of a member: that of its target, with the constraints that the
// member itself has.
func (r *smithyReader) memberShape(s *smithy.Shape) *Shape {
	shape := r.shape(s.Target)
	narrowed := slices.ContainsFunc([]smithy.ID{"smithy.api#length", "smithy.api#pattern", "smithy.api#range", "smithy.api#uniqueItems", "smithy.api#timestampFormat"}, s.Has)
	if !narrowed || shape.Kind == Structure || shape.Kind == Union {
		return shape
	}
	own := *shape
	constrain(&own, s)
	if (shape.Kind == List || shape.Kind == Map) && shape.Item == nil {
		r.copies[shape] = append(r.copies[shape], &own)
	}
	return &own
}

var smithyKinds = map[smithy.Type]Kind{
	smithy.Blob: Blob, smithy.Boolean: Boolean, smithy.String: String, smithy.Enum: String, smithy.Timestamp: Timestamp,
	smithy.Byte: Integer, smithy.Short: Integer, smithy.Integer: Integer, smithy.IntEnum: Integer, smithy.Long: Integer,
	smithy.BigInteger: Integer, smithy.Float: Number, smithy.Double: Number, smithy.BigDecimal: Number,
	smithy.List: List, smithy.Set: List, smithy.Map: Map, smithy.Structure: Structure, smithy.Union: Union,
}

// smithyFormats are the sizes of numbers, as OpenAPI names them.
var smithyFormats = map[smithy.Type]string{
	smithy.Byte: "int8", smithy.Short: "int16", smithy.Integer: "int32", smithy.IntEnum: "int32", smithy.Long: "int64",
	smithy.Float: "float", smithy.Double: "double",
}

func (r *smithyReader) shape(id smithy.ID) *Shape {
	if known := r.shapes[id]; known != nil {
		return known
	}
	out := &Shape{Name: id.Name()}
	r.shapes[id] = out
	s := r.m.Shape(id)
	if s == nil {
		return out
	}
	out.Kind, out.Format, out.Doc, out.Sensitive = smithyKinds[s.Type], smithyFormats[s.Type], doc(s), s.Has("smithy.api#sensitive")
	if id.Namespace() == "smithy.api" {
		out.Name = ""
	}
	out.XMLName = r.xmlName(s)
	constrain(out, s)
	out.Nullable = s.Has("smithy.api#sparse")
	element := func(member string) string {
		if t := s.Member(member).Trait("smithy.api#xmlName"); t != nil {
			return t.Value.Text
		}
		return member
	}
	switch s.Type {
	case smithy.List, smithy.Set:
		out.Unique = out.Unique || s.Type == smithy.Set
		out.Item, out.ItemName = r.memberShape(s.Member("member")), element("member")
	case smithy.Map:
		out.KeyName, out.ItemName = element("key"), element("value")
		out.Key, out.Item = r.memberShape(s.Member("key")), r.memberShape(s.Member("value"))
	case smithy.Structure, smithy.Union:
		for _, member := range s.Members {
			out.Members = append(out.Members, r.member(member))
		}
	}
	out.refuseLoop()
	for _, narrowed := range r.copies[out] {
		narrowed.Kind, narrowed.Key, narrowed.Item, narrowed.Refused = out.Kind, out.Key, out.Item, out.Refused
	}
	return out
}

// constrain adds the constraints of a shape or member.
func constrain(out *Shape, s *smithy.Shape) {
	if t := s.Trait("smithy.api#pattern"); t != nil {
		out.Pattern = t.Value.Text
	}
	if t := s.Trait("smithy.api#length"); t != nil {
		out.MinLen, out.MaxLen = optional(t.Value.Get("min")), optional(t.Value.Get("max"))
	}
	if t := s.Trait("smithy.api#range"); t != nil {
		out.Minimum, out.Maximum = literal(t.Value.Get("min")), literal(t.Value.Get("max"))
	}
	out.Unique = out.Unique || s.Has("smithy.api#uniqueItems")
	if t := s.Trait("smithy.api#timestampFormat"); t != nil {
		out.Format = t.Value.Text
	}
	if t := s.Trait("smithy.api#enum"); t != nil {
		for _, item := range t.Value.Items {
			out.Enum = append(out.Enum, item.Get("value").Str())
		}
	}
	if s.Type == smithy.Enum {
		for _, member := range s.Members {
			value := member.Name()
			if t := member.Trait("smithy.api#enumValue"); t != nil {
				value = t.Value.Text
			}
			out.Enum = append(out.Enum, value)
		}
	}
}

func doc(s *smithy.Shape) string {
	if t := s.Trait("smithy.api#documentation"); t != nil {
		return t.Value.Text
	}
	return ""
}
