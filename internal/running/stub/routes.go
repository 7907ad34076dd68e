package stub

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// A route is the path of an operation.
type route struct {
	op      *api.Operation
	path    *regexp.Regexp
	labels  []string
	query   url.Values // literals
	literal int        // characters outside of labels: the more, the better a match
}

// findRoutes compiles the paths of the operations.
func (s *Stub) findRoutes() error {
	for _, op := range s.api.Operations {
		r, err := newRoute(op)
		if err != nil {
			return fmt.Errorf("path of %s: %w", op.Name, err)
		}
		s.routes = append(s.routes, r)
		s.labels[op] = r.labels
	}
	for _, server := range s.api.Servers {
		if u, err := url.Parse(server); err == nil && strings.Trim(u.Path, "/") != "" {
			s.bases = append(s.bases, "/"+strings.Trim(u.EscapedPath(), "/"))
		}
	}
	return nil
}

func newRoute(op *api.Operation) (*route, error) {
	path, query, _ := strings.Cut(op.Path, "?")
	r := &route{op: op, query: url.Values{}}
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			r.query.Set(name, value)
		}
	}
	var expression strings.Builder
	expression.WriteString("^")
	path = strings.TrimSuffix(path, "/")
	for path != "" {
		open := strings.IndexByte(path, '{')
		if open < 0 {
			open = len(path)
		}
		r.literal += open
		expression.WriteString(regexp.QuoteMeta(path[:open]))
		path = path[open:]
		end := strings.IndexByte(path, '}')
		if end < 0 {
			expression.WriteString(regexp.QuoteMeta(path))
			break
		}
		name, greedy := strings.CutSuffix(path[1:end], "+")
		r.labels = append(r.labels, name)
		if greedy {
			expression.WriteString("(.+)")
		} else {
			expression.WriteString("([^/]+)")
		}
		path = path[min(end+1, len(path)):]
	}
	expression.WriteString("/?$")
	var err error
	r.path, err = regexp.Compile(expression.String())
	return r, err
}

// match returns the values of the labels.
func (r *route) match(path string, query url.Values) (map[string]string, bool) {
	found := r.path.FindStringSubmatch(path)
	if found == nil {
		return nil, false
	}
	for name, values := range r.query {
		if !query.Has(name) || values[0] != "" && query.Get(name) != values[0] {
			return nil, false
		}
	}
	out := map[string]string{}
	for i, label := range r.labels {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return nil, false
		}
		out[label] = value
	}
	return out, true
}

// byPath finds the operation of a request by its method and path.
func (s *Stub) byPath(r *http.Request) (*api.Operation, map[string]string, *fault) {
	path, query := r.URL.EscapedPath(), r.URL.Query()
	paths := []string{path}
	for _, base := range s.bases {
		if rest, below := strings.CutPrefix(path, base); below && (rest == "" || rest[0] == '/') {
			paths = append(paths, rest)
		}
	}
	var best *route
	var labels map[string]string
	var methods []string
	for _, path := range paths {
		for _, candidate := range s.routes {
			values, fits := candidate.match(path, query)
			switch {
			case !fits:
			case candidate.op.Method != r.Method:
				methods = append(methods, candidate.op.Method)
			case best == nil || candidate.literal+len(candidate.query) > best.literal+len(best.query):
				best, labels = candidate, values
			}
		}
		if best != nil {
			return best.op, labels, nil
		}
	}
	if methods != nil {
		slices.Sort(methods)
		methods = slices.Compact(methods)
		return nil, nil, &fault{kind: notAllowed, allow: strings.Join(methods, ", "), message: fmt.Sprintf("%s is not an operation of %s: it has %s", r.Method, cut(path), strings.Join(methods, ", "))}
	}
	return nil, nil, faultf(unknown, "no operation has the path %s: the nearest are %s", cut(path), strings.Join(s.nearest(path), ", "))
}

// nearest are the paths that have the most segments in common with one.
func (s *Stub) nearest(path string) []string {
	segments := strings.SplitN(strings.Trim(path, "/"), "/", 32)
	common := func(of string) int {
		n := 0
		for i, segment := range strings.Split(strings.Trim(of, "/"), "/") {
			switch {
			case slices.Contains(segments, segment):
				n += 4
			case i < len(segments) && strings.HasPrefix(segment, "{"):
				n++
			default:
				n -= 2
			}
		}
		return n
	}
	var paths []string
	for _, op := range s.api.Operations {
		paths = append(paths, op.Path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	points := map[string]int{}
	for _, of := range paths {
		points[of] = common(of)
	}
	slices.SortStableFunc(paths, func(a, b string) int { return points[b] - points[a] })
	return paths[:min(5, len(paths))]
}

// cut shortens what a caller sent for a message.
func cut(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

// route finds the operation of a request.
func (s *Stub) route(r *http.Request, body []byte) (*call, *fault) {
	op, labels, problem := s.protocol.find(s, r, body)
	if problem != nil {
		return nil, problem
	}
	c := &call{op: op, role: s.roles[op], request: r, params: map[api.Place]map[string]any{}}
	c.params[api.InPath] = map[string]any{}
	for name, value := range labels {
		c.params[api.InPath][name] = value
	}
	return c, nil
}

// authenticate checks that credentials are sent in the way of the description. What they are
// is not checked.
func (s *Stub) authenticate(c *call) *fault {
	if s.config.NoAuth || c.op.Open || len(s.api.Auth) == 0 {
		return nil
	}
	alternatives := c.op.Auth
	if alternatives == nil { // of Smithy
		for _, scheme := range s.api.Auth {
			alternatives = append(alternatives, []string{scheme.Name})
		}
	}
	var wanted []string
	for _, names := range alternatives {
		var missing []string
		for _, scheme := range s.api.Auth {
			if !slices.Contains(names, scheme.Name) {
				continue
			}
			if where := lacks(c.request, scheme); where != "" {
				missing = append(missing, where)
			}
		}
		if missing == nil {
			return nil
		}
		if all := strings.Join(missing, " and "); !slices.Contains(wanted, all) {
			wanted = append(wanted, all)
		}
	}
	return faultf(unauthorized, "the request has no credentials: send %s", strings.Join(wanted, " or "))
}

// lacks is what a request that is authenticated by a scheme has and this one does not have, "" if it is.
func lacks(r *http.Request, scheme api.Scheme) string {
	method, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	has, where := strings.TrimSpace(credentials) != "", "Authorization" // of schemes that are not among these
	switch scheme.Kind {
	case "apiKey":
		where = scheme.In + " " + scheme.Key
		switch scheme.In {
		case "header":
			has = r.Header.Get(scheme.Key) != ""
		case "query":
			has = r.URL.Query().Get(scheme.Key) != ""
		case "cookie":
			cookie, err := r.Cookie(scheme.Key)
			has = err == nil && cookie.Value != ""
		}
	case "basic":
		where = "Authorization: Basic"
		_, _, has = r.BasicAuth()
	case "sigv4", "sigv4a":
		where = "a signature of AWS"
		has = strings.HasPrefix(method, "AWS4-") && strings.Contains(credentials, "Credential=") || r.URL.Query().Has("X-Amz-Signature")
	case "mutualTLS": // which the stub does not speak
		return ""
	case "bearer", "oauth2", "openIdConnect":
		where = "Authorization: Bearer"
		has = has && strings.EqualFold(method, "bearer")
	}
	if has {
		return ""
	}
	return where
}
