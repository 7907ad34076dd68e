package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var httpRules = []rule{
	{"HttpBindingTraitIgnored", further, checkIgnoredBindings},
	{"HttpBindingsMissing", further, checkMissingBindings},
	{"HttpHeaderTrait", further, checkHeaders},
	{"HttpLabelTrait", further, checkLabels},
	{"HttpMethodSemantics", further, checkMethods},
	{"HttpPayload", further, checkPayloads},
	{"HttpPrefixHeadersTrait", further, checkPrefixHeaders},
	{"HttpQueryParamsTrait", further, checkQueryParams},
	{"HttpQueryTrait", further, checkQueries},
	{"HttpResponseCodeSemantics", further, checkResponseCodes},
	{"HttpUriConflict", further, checkURIConflicts},
	{"HttpUriFormat", further, checkURIFormat},
	{"HttpUriGreedyLabel", further, checkGreedyLabels},
	{"HostLabelTrait", further, checkHostLabels},
}

// httpBindings are the traits that bind a member to a part of an HTTP message.
var httpBindings = []ID{
	traitHTTPHeader, traitHTTPLabel, traitHTTPPayload, traitHTTPPrefixHeaders, traitHTTPQueryParams, traitHTTPQuery, traitHTTPResponseCode,
}

func checkIgnoredBindings(c *check) {
	for _, m := range c.m.all {
		if m.Type != Member || m.Container.Type != Structure || m.Container.Has(traitMixin) {
			continue
		}
		var bound, inputOnly, outputOnly *Trait
		for _, id := range httpBindings {
			t := m.Trait(id)
			if t == nil {
				continue
			}
			bound = t
			switch id {
			case traitHTTPLabel, traitHTTPQuery, traitHTTPQueryParams:
				inputOnly = t
			case traitHTTPResponseCode:
				outputOnly = t
			}
		}
		if bound != nil {
			c.checkIgnoredBinding(m, bound, inputOnly, outputOnly)
		}
	}
}

func (c *check) checkIgnoredBinding(m *Shape, bound, inputOnly, outputOnly *Trait) {
	ignored := map[relationKind][]ID{}
	uses := 0
	for _, in := range c.reverse[m.Container.ID] {
		if in.kind == relContainer {
			continue
		}
		uses++
		if inputOnly != nil && in.kind != relInput || outputOnly != nil && in.kind != relOutput ||
			in.kind != relInput && in.kind != relOutput && in.kind != relError {
			ignored[in.kind] = append(ignored[in.kind], in.from.ID)
		}
	}
	if len(ignored) == 0 {
		return
	}
	kind, t := "TopLevel", bound
	if inputOnly != nil {
		kind, t = "Input", inputOnly
	} else if outputOnly != nil {
		kind, t = "Output", outputOnly
	}
	text := "ignored in some contexts: " + contexts(ignored)
	if uses == len(ignored) {
		text = "ignored in all contexts."
	}
	mixedIn := ""
	if len(m.inMixins) > 0 {
		mixedIn = " mixed in"
	}
	c.add(WarningSeverity, m, t.At, kind, "The `%s` trait applied to this%s member is %s", t.ID.idiomatic(), mixedIn, text)
}

func checkMissingBindings(c *check) {
	if len(c.with[traitHTTP]) == 0 {
		return
	}
	c.services(func(service *Shape, operations []*Shape) {
		severity, reason := WarningSeverity, "One or more"
		for _, p := range c.protocols(service) {
			if slices.Contains(p.Trait("smithy.api#protocolDefinition").Value.Get("traits").Strings(), string(traitHTTP)) {
				severity, reason = ErrorSeverity, "The `"+string(p.ID)+"` protocol requires all"
				break
			}
		}
		if severity == WarningSeverity && !slices.ContainsFunc(operations, func(s *Shape) bool { return s.Has(traitHTTP) }) {
			return
		}
		for _, s := range operations {
			if !s.Has(traitHTTP) {
				c.add(severity, s, s.At, "", "%s operations in the `%s` service define the `http` trait, but this operation is missing the `http` trait.",
					reason, service.ID)
			}
		}
	})
}

var (
	headerName = lazyregexp.New("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]*$")

	reservedHeaders = []string{
		"authorization", "connection", "content-length", "expect", "host", "max-forwards", "proxy-authenticate", "server", "te", "trailer",
		"transfer-encoding", "upgrade", "user-agent", "www-authenticate", "x-forwarded-for",
	}
)

func checkHeaders(c *check) {
	seen := map[*Shape]bool{}
	for _, m := range c.shapesWith(traitHTTPHeader, Member) {
		t := m.Trait(traitHTTPHeader)
		switch header := t.Value.Text; {
		case slices.Contains(reservedHeaders, strings.ToLower(header)):
			c.traitDanger(m, t, "`%s` is not an allowed HTTP header binding", header)
		case !headerName.MatchString(header):
			c.traitDanger(m, t, "`%s` is not a valid HTTP header field name according to section 5.6.2 of RFC 9110", header)
		}
		if m.Container.Type != Structure || seen[m.Container] {
			continue
		}
		seen[m.Container] = true
		c.reportShared(m.Container, traitHTTPHeader, strings.ToLower,
			"`httpHeader` field name binding conflicts found for the `%s` header in the following structure members: %s")
	}
}

// reportShared reports members of a structure whose trait has the same value.
func (c *check) reportShared(s *Shape, trait ID, normal func(string) string, format string) {
	members := map[string][]string{}
	var order []string
	for _, m := range s.Members {
		if t := m.Trait(trait); t != nil {
			value := normal(t.Value.Text)
			if members[value] == nil {
				order = append(order, value)
			}
			members[value] = append(members[value], m.Name())
		}
	}
	for _, value := range order {
		if len(members[value]) > 1 {
			c.error(s, format, value, tickedSorted(members[value]))
		}
	}
}

// A segment is a part of a URI or of a host prefix.
type segment struct {
	text   string // the name of a label, or the literal
	label  bool
	greedy bool
}

// uriSegments splits the path of a URI pattern.
func uriSegments(uri string) []segment {
	path, _, _ := strings.Cut(uri, "?")
	var out []segment
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		out = append(out, parseSegment(part))
	}
	return out
}

func parseSegment(part string) segment {
	name, isLabel := strings.CutPrefix(part, "{")
	if !isLabel {
		return segment{text: part}
	}
	name, greedy := strings.CutSuffix(strings.TrimSuffix(name, "}"), "+")
	return segment{text: name, label: true, greedy: greedy}
}

// hostSegments splits a host prefix at its labels.
func hostSegments(prefix string) []segment {
	var out []segment
	for rest := prefix; rest != ""; {
		i := strings.IndexByte(rest, '{')
		end := strings.IndexByte(rest, '}')
		if i < 0 || end < i {
			return append(out, segment{text: rest})
		}
		if i > 0 {
			out = append(out, segment{text: rest[:i]})
		}
		out = append(out, segment{text: rest[i+1 : end], label: true})
		rest = rest[end+1:]
	}
	return out
}

func labelsOf(segments []segment) []string {
	var out []string
	for _, s := range segments {
		if s.label {
			out = append(out, s.text)
		}
	}
	return out
}

func checkLabels(c *check) {
	for _, s := range c.shapesWith(traitHTTP, Operation) {
		segments := uriSegments(s.Trait(traitHTTP).Value.Get("uri").Str())
		left := labelsOf(segments)
		if input := c.m.input(s); input != nil {
			for _, m := range input.Members {
				t := m.Trait(traitHTTPLabel)
				if t == nil {
					continue
				}
				left = slices.DeleteFunc(left, func(l string) bool { return l == m.Name() })
				i := slices.IndexFunc(segments, func(g segment) bool { return g.label && strings.EqualFold(g.text, m.Name()) })
				switch {
				case i < 0:
					c.traitError(m, t, "This `%s` structure member is marked with the `httpLabel` trait, but no corresponding `http` URI label could be "+
						"found when used as the input of the `%s` operation.", m.Name(), s.ID)
				case segments[i].greedy && !c.m.targetsString(m):
					c.traitError(m, t, "The `%s` structure member corresponds to a greedy label when used as the input of the `%s` operation. This "+
						"member targets %s, but greedy labels must target string shapes.", m.Name(), s.ID, c.m.target(m))
				}
			}
		}
		if len(left) > 0 {
			c.error(s, "This operation uses `%s` as input, but the following URI labels found in the operation's `http` trait do not have a "+
				"corresponding member marked with the `httpLabel` trait: %s", s.Input, tickedSorted(left))
		}
	}
}

// A method lists what is expected of operations that use an HTTP method; nil: anything.
type method struct {
	readonly, idempotent, payload *bool
	warning                       string
}

func methods() map[string]method {
	yes, no := new(bool), new(bool)
	*yes = true
	return map[string]method{
		"GET": {yes, no, no, ""}, "HEAD": {yes, no, no, ""}, "TRACE": {yes, no, no, ""}, "POST": {no, nil, yes, ""},
		"DELETE": {no, yes, no, ""}, "PUT": {no, yes, yes, ""}, "PATCH": {no, nil, yes, ""},
		"OPTIONS": {yes, no, yes, "OPTIONS requests are typically used as part of CORS and should not be modeled explicitly. They are an " +
			"implementation detail that should not appear in generated client or server code. Instead, tooling should use the `cors` trait on a " +
			"service to automatically configure CORS on clients and servers. It is the responsibility of service frameworks and API gateways to " +
			"automatically manage OPTIONS requests. For example, OPTIONS requests are automatically created when using Smithy models with Amazon " +
			"API Gateway."},
	}
}

func checkMethods(c *check) {
	table := methods()
	for _, s := range c.shapesWith(traitHTTP, Operation) {
		t := s.Trait(traitHTTP)
		written := t.Value.Get("method").Str()
		name := strings.ToUpper(written)
		expected, known := table[name]
		if !known {
			continue
		}
		if written != name {
			c.traitWarning(s, t, "This operation uses the `%s` method in the `http` trait, but expected `%s`.", written, name)
		}
		if expected.warning != "" {
			c.add(WarningSeverity, s, t.At, name, "%s", expected.warning)
		}
		for _, mark := range []struct {
			want  *bool
			has   bool
			trait string
		}{{expected.readonly, s.Has(traitReadonly), "readonly"}, {expected.idempotent, s.Has(traitIdempotent), "idempotent"}} {
			if mark.want == nil || *mark.want == mark.has {
				continue
			}
			is, suffix := "is not", "Missing"
			if mark.has {
				is, suffix = "is", "Unnecessary"
			}
			c.add(WarningSeverity, s, t.At, suffix+capitalize(mark.trait)+"Trait",
				"This operation uses the `%s` method in the `http` trait, but %s marked with the %s trait", name, is, mark.trait)
		}
		if expected.payload != nil && !*expected.payload {
			c.checkNoPayload(s, t, name)
		}
	}
}

func (c *check) checkNoPayload(s *Shape, t *Trait, name string) {
	var payload, document []string
	for member, where := range c.requestBindings(s) {
		switch where {
		case "payload":
			payload = append(payload, member.Name())
		case "document":
			document = append(document, member.Name())
		}
	}
	if payload != nil {
		c.add(DangerSeverity, s, t.At, "UnexpectedPayload", "This operation uses the `%s` method in the `http` trait, but the `%s` member is sent as "+
			"the payload of the request because it is marked with the `httpPayload` trait. Many HTTP clients do not support payloads with %s requests. "+
			"Consider binding this member to other parts of the HTTP request such as a query string parameter using the `httpQuery` trait, a header "+
			"using the `httpHeader` trait, or a path segment using the `httpLabel` trait.", name, payload[0], name)
	} else if document != nil {
		c.add(DangerSeverity, s, t.At, "UnexpectedPayload", "This operation uses the `%s` method in the `http` trait, but the following members are "+
			"sent as part of the payload of the request: %s. These members are sent as part of the payload because they are not explicitly configured "+
			"to be sent in headers, in the query string, or in a URI segment. Many HTTP clients do not support payloads with %s requests. Consider "+
			"binding these members to other parts of the HTTP request such as query string parameters using the `httpQuery` trait, headers using the "+
			"`httpHeader` trait, or URI segments using the `httpLabel` trait.", name, tickedSorted(document), name)
	}
}

// requestBindings says where each member of the input of an operation is sent.
func (c *check) requestBindings(operation *Shape) map[*Shape]string {
	return httpPlaces(c.m.input(operation), []ID{traitHTTPHeader, traitHTTPPrefixHeaders, traitHTTPQuery, traitHTTPQueryParams, traitHTTPLabel})
}

// responseBindings says where each member of an output or error is sent.
func responseBindings(s *Shape) map[*Shape]string {
	return httpPlaces(s, []ID{traitHTTPHeader, traitHTTPPrefixHeaders, traitHTTPResponseCode})
}

// httpPlaces sorts members into "bound" by one of the traits, "payload", and the rest:
// "document", or "unbound" if there is a payload.
func httpPlaces(s *Shape, traits []ID) map[*Shape]string {
	out := map[*Shape]string{}
	if s == nil {
		return out
	}
	rest := "document"
	if slices.ContainsFunc(s.Members, func(m *Shape) bool { return m.Has(traitHTTPPayload) }) {
		rest = "unbound"
	}
	for _, m := range s.Members {
		switch {
		case m.Has(traitHTTPPayload):
			out[m] = "payload"
		case slices.ContainsFunc(traits, m.Has):
			out[m] = "bound"
		default:
			out[m] = rest
		}
	}
	return out
}

func checkPayloads(c *check) {
	if len(c.with[traitHTTPPayload]) == 0 {
		return
	}
	report := func(s *Shape, places map[*Shape]string) {
		var unbound []string
		for m, where := range places {
			if where == "unbound" {
				unbound = append(unbound, m.Name())
			}
		}
		if unbound != nil {
			c.error(s, "A member of this structure is marked with the `httpPayload` trait, but the following structure members are not explicitly "+
				"bound to the HTTP message: %s", tickedSorted(unbound))
		}
	}
	for _, s := range c.shapesWith(traitHTTP, Operation) {
		report(c.m.input(s), c.requestBindings(s))
		report(c.m.output(s), responseBindings(c.m.output(s)))
	}
	for _, s := range c.shapesWith(traitError, Structure) {
		report(s, responseBindings(s))
	}
}

func checkPrefixHeaders(c *check) {
	for _, m := range c.shapesWith(traitHTTPPrefixHeaders, Member) {
		prefix := strings.ToLower(m.Trait(traitHTTPPrefixHeaders).Value.Text)
		severity := ErrorSeverity
		detail := "`httpHeader` bindings must not case-insensitively start with any `httpPrefixHeaders` bindings."
		if prefix == "" {
			severity = NoteSeverity
			detail = fmt.Sprintf("The service will not be able to disambiguate between header parameters intended for the `%s` member and those "+
				"explicitly bound to the `httpHeader` members.", m.ID)
		}
		for _, other := range m.Container.Members {
			t := other.Trait(traitHTTPHeader)
			if t != nil && strings.HasPrefix(strings.ToLower(t.Value.Text), prefix) {
				c.add(severity, other, t.At, "", "`httpHeader` binding of `%s` conflicts with the `httpPrefixHeaders` binding of `%s` to `%s`. %s",
					strings.ToLower(t.Value.Text), m.ID, prefix, detail)
			}
		}
	}
}

func checkQueryParams(c *check) {
	for _, m := range c.shapesWith(traitHTTPQueryParams, Member) {
		var queries []string
		for _, other := range m.Container.Members {
			if other.Has(traitHTTPQuery) {
				queries = append(queries, other.Name())
			}
		}
		if queries != nil && m.Container.Type == Structure {
			c.note(m.Container, "Structure member `%s` is marked with the `httpQueryParams` trait, and `httpQuery` traits are applied to the following "+
				"members: %s. The service will not be able to disambiguate between query string parameters intended for the `%s` member and those "+
				"explicitly bound to the `httpQuery` members.", m.Name(), tickedSorted(queries), m.Name())
		}
	}
}

func checkQueries(c *check) {
	seen := map[*Shape]bool{}
	for _, m := range c.shapesWith(traitHTTPQuery, Member) {
		s := m.Container
		if s.Type != Structure || seen[s] {
			continue
		}
		seen[s] = true
		c.reportShared(s, traitHTTPQuery, func(name string) string { return name },
			"`httpQuery` parameter name binding conflicts found for the `%s` parameter in the following structure members: %s")
		for _, in := range c.reverse[s.ID] {
			t := in.from.Trait(traitHTTP)
			if in.kind != relInput || t == nil {
				continue
			}
			uri := t.Value.Get("uri").Str()
			_, query, _ := strings.Cut(uri, "?")
			for literal := range strings.SplitSeq(query, "&") {
				name, _, _ := strings.Cut(literal, "=")
				used := slices.ContainsFunc(s.Members, func(m *Shape) bool {
					q := m.Trait(traitHTTPQuery)
					return q != nil && q.Value.Text == name
				})
				if literal != "" && used {
					c.error(s, "`httpQuery` name `%s` conflicts with the `http` trait of the `%s` operation: `%s`", name, in.from.ID, uri)
				}
			}
		}
	}
}

// integerOf reads an integer member, or returns a default.
func integerOf(v *document.Value, key string, otherwise int) int {
	if n := v.Get(key); n != nil && n.Kind == document.Number {
		return int(clampInt(n.Text))
	}
	return otherwise
}

func clampInt(text string) int64 {
	r := number(text)
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0
	}
	return r.Num().Int64()
}

func checkResponseCodes(c *check) {
	for _, s := range c.shapesWith(traitHTTP, Operation) {
		t := s.Trait(traitHTTP)
		code := integerOf(t.Value, "code", 200)
		if code < 200 || code >= 300 {
			c.traitDanger(s, t, "Expected an `http` code in the 2xx range, but found %d", code)
			continue
		}
		if code != 204 && code != 205 {
			continue
		}
		for _, where := range responseBindings(c.m.output(s)) {
			if where == "document" || where == "payload" {
				c.warning(s, "The HTTP %d status code does not allow a response body. To use this status code, all output members need to be bound to "+
					"@httpHeader, @httpPrefixHeaders, @httpResponseCode, etc.", code)
				break
			}
		}
	}
	for _, s := range c.shapesWith(traitError, Structure) {
		t := s.Trait(traitHTTPError)
		if t == nil {
			continue
		}
		kind, code := s.Trait(traitError).Value.Text, clampInt(t.Value.Text)
		if kind == "client" && (code < 400 || code >= 500) {
			c.traitDanger(s, t, "Expected an `httpError` code in the 4xx range for a `client` error, but found %d", code)
		} else if kind == "server" && (code < 500 || code >= 600) {
			c.traitDanger(s, t, "Expected an `httpError` code in the 5xx range for a `server` error, but found %d", code)
		}
	}
}

func checkURIFormat(c *check) {
	for _, s := range c.with[traitHTTP] {
		t := s.Trait(traitHTTP)
		uri := t.Value.Get("uri").Str()
		if strings.ContainsFunc(uri, func(r rune) bool { return r > 127 }) {
			c.traitError(s, t, "@http trait `uri` is invalid: %s", uri)
		}
	}
}

func checkGreedyLabels(c *check) {
	for _, s := range c.with[traitHTTP] {
		t := s.Trait(traitHTTP)
		uri := t.Value.Get("uri").Str()
		segments := uriSegments(uri)
		for i, g := range segments {
			if !g.greedy {
				continue
			}
			for _, later := range segments[i+1:] {
				if later.greedy {
					c.add(DangerSeverity, s, t.At, "MultipleGreedyLabels", "At most one greedy label segment may exist in a pattern: %s", uri)
				}
				if later.label {
					c.add(DangerSeverity, s, t.At, "GreedyLabelIsNotLastLabel", "A greedy label must be the last label in its pattern: %s", uri)
				}
			}
		}
	}
}

var expandedHost = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,62}(?:\.[a-zA-Z0-9-]{1,63})*\.?$`)

func checkHostLabels(c *check) {
	for _, s := range c.shapesWith(traitEndpoint, Operation) {
		t := s.Trait(traitEndpoint)
		prefix := t.Value.Get("hostPrefix").Str()
		segments := hostSegments(prefix)
		expanded := ""
		for _, g := range segments {
			if g.label {
				expanded += "foo"
			} else {
				expanded += g.text
			}
		}
		if !expandedHost.MatchString(expanded) {
			c.traitError(s, t, "The `endpoint` trait hostPrefix, %s, could not expand in to a valid RFC 3986 host: %s", prefix, expanded)
		}
		left := labelsOf(segments)
		if !strings.HasSuffix(prefix, ".") && len(left) > 0 {
			c.traitDanger(s, t, "`endpoint` trait hostPrefix contains host labels and does not end in a period (`.`). This can result in clients "+
				"inadvertently sending data to domains you do not control.")
		}
		all := slices.Clone(left)
		if input := c.m.input(s); input != nil {
			for _, m := range input.Members {
				label := m.Trait(traitHostLabel)
				if label == nil {
					continue
				}
				left = slices.DeleteFunc(left, func(l string) bool { return l == m.Name() })
				if !slices.ContainsFunc(all, func(l string) bool { return strings.EqualFold(l, m.Name()) }) {
					c.traitError(m, label, "This `%s` structure member is marked with the `hostLabel` trait, but no corresponding `endpoint` label could "+
						"be found when used as the input of the `%s` operation.", m.Name(), s.ID)
				}
			}
		}
		if len(left) > 0 {
			c.error(s, "This operation uses %s as input, but the following host labels found in the operation's `endpoint` trait do not have a "+
				"corresponding member marked with the `hostLabel` trait: %s", s.Input, tickedSorted(left))
		}
	}
}
