// Package stub is a service made from the description of its API, for tests of what calls
// the service: it stores what is created, validates requests by the shapes of the
// description, and answers in its form, with its pages and its errors.
//
// What the service does with a request is read from the operations of the description. The
// schemas of types that package api makes from the same description are not used: an error in
// the one is found with the other.
package stub

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// The bounds of what a stub takes and keeps.
const (
	maxBody    = 4 << 20
	maxHeader  = 64 << 10 // bytes of all headers and of the path with the query
	maxDepth   = 64
	maxValues  = 100_000 // of a request
	maxItems   = 10_000
	maxTokens  = 10_000
	maxTouched = 100_000 // identifiers that are remembered after their resources were changed
)

// Config says what the stub serves, and how it misbehaves.
type Config struct {
	API      *api.API
	Resource string // serve only this one and what it is in; "" means all

	AnyParent bool // what resources are in exists, whatever its identifier

	Seed uint64           // of identifiers and of throttling
	Now  func() time.Time // nil means time.Now

	Data    string    // the file that keeps the state; "" keeps it in memory
	Journal io.Writer // receives a line of JSON for each call; nil means none

	PageSize    int       // the maximum number of items of a page; 0 means 100
	Slow        int       // reads for which a resource is in a transitional state after each change
	Eventual    int       // reads and lists that do not see a new resource
	Throttle    float64   // the share of calls that are throttled, 0 to 1
	Fail        []Failure // calls that fail
	DeleteTwice int       // the status when what is deleted does not exist; 0 means 404
	NoAuth      bool      // do not require credentials
}

// A Failure is a call that fails with an internal error: call N of an operation, the first is 1.
type Failure struct {
	Operation string
	Call      int
}

// A Stub is the service. It is an http.Handler for any number of goroutines.
type Stub struct {
	config    Config
	api       *api.API
	protocol  protocol
	routes    []*route
	byName    map[string]*api.Operation
	labels    map[*api.Operation][]string // the parameters of paths in their order, of creates those that identify a resource
	bases     []string                    // paths of the servers of the description
	roles     map[*api.Operation]role
	resources []*resource
	tagged    bool // the service has an operation that adds tags
	makers    *makers

	mu     sync.Mutex
	random *rand.Rand
	state  *state
	calls  map[string]int // by operation
	number int            // of the call in the journal
}

// New makes the service. The state is read from Config.Data if the file exists.
func New(c Config) (*Stub, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.PageSize, c.DeleteTwice = cmp.Or(c.PageSize, 100), cmp.Or(c.DeleteTwice, http.StatusNotFound)
	s := &Stub{config: c, api: c.API, byName: map[string]*api.Operation{}, labels: map[*api.Operation][]string{}, roles: map[*api.Operation]role{}, makers: newMakers()}
	switch c.API.Protocol {
	case "openapi":
		s.protocol = openapi{}
	case "restJson1":
		s.protocol = restJSON{}
	case "awsJson1_0", "awsJson1_1":
		s.protocol = awsJSON{}
	case "awsQuery":
		s.protocol = awsQuery{}
	case "restXml":
		s.protocol = restXML{}
	case "":
		return nil, errors.New("the service has no protocol")
	default:
		return nil, fmt.Errorf("the protocol %s is not supported: restJson1, awsJson1_0, awsJson1_1, awsQuery and restXml are", c.API.Protocol)
	}
	for _, op := range c.API.Operations {
		s.byName[op.Name] = op
	}
	if err := s.findRoutes(); err != nil {
		return nil, err
	}
	if err := s.assign(); err != nil {
		return nil, err
	}
	for _, f := range c.Fail {
		if s.operation(f.Operation) == nil {
			return nil, fmt.Errorf("the API has no operation %q%s", f.Operation, near(f.Operation, s.names()))
		}
	}
	s.reset()
	if c.Data != "" {
		return s, s.load()
	}
	return s, nil
}

// Resources are the names of the resources that the stub serves.
func (s *Stub) Resources() (out []string) {
	for _, r := range s.resources {
		out = append(out, r.Name)
	}
	return out
}

// reset forgets everything, also how often operations were called.
func (s *Stub) reset() {
	s.state, s.calls = newState(s.api.Name), map[string]int{}
	s.random = rand.New(rand.NewPCG(s.config.Seed, 0x73747562))
}

// operation returns the operation of that name, or nil.
func (s *Stub) operation(name string) *api.Operation { return s.byName[name] }

func (s *Stub) names() (out []string) {
	for _, op := range s.api.Operations {
		out = append(out, op.Name)
	}
	return out
}

// near proposes a name, or says nothing.
func near(name string, known []string) string {
	if len(name) > 64 { // comparing takes time
		return ""
	}
	if hint := words.DidYouMean(name, known); hint != "" {
		return ": " + hint
	}
	return ""
}

// A call is one request for an operation.
type call struct {
	op      *api.Operation
	role    role
	request *http.Request
	params  map[api.Place]map[string]any // by names of members
	body    any
	merge   bool // the body is a merge patch
	patch   bool // the body is a list of changes
}

// get is the value of a member in any place. Parameters hide members of the body.
func (c *call) get(name string) (any, bool) {
	for _, in := range []api.Place{api.InPath, api.InQuery, api.InHeader} {
		if v, ok := c.params[in][name]; ok {
			return v, true
		}
	}
	if body, ok := c.body.(map[string]any); ok {
		v, ok := body[name]
		return v, ok
	}
	return nil, false
}

// input is the whole input by names of members, as examples have it.
func (c *call) input() map[string]any {
	out := map[string]any{}
	switch body := c.body.(type) {
	case map[string]any:
		if c.op.BodyMember == "" {
			for name, v := range body {
				out[name] = v
			}
			break
		}
		out[c.op.BodyMember] = body
	case nil:
	default:
		out[cmp.Or(c.op.BodyMember, "body")] = body
	}
	for _, values := range c.params {
		for name, v := range values {
			out[name] = v
		}
	}
	return out
}

// A reply is a successful answer before it is encoded.
type reply struct {
	status  int               // 0: the first one of the operation
	output  any               // the body
	members map[string]any    // of an example, that are not in the body
	headers map[string]string // besides those of the description
	item    *item             // fills the headers of the description
}

// ServeHTTP answers a request.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_stub/") {
		s.control(w, r)
		return
	}
	size := len(r.RequestURI)
	for name, values := range r.Header {
		size += len(name)
		for _, v := range values {
			size += len(v)
		}
	}
	if size > maxHeader {
		s.write(w, http.StatusRequestHeaderFieldsTooLarge, nil, []byte("{\"message\":\"the headers are too large\"}"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makers.left = maxMade
	c, problem := s.route(r, body)
	if problem == nil {
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			problem = &fault{kind: tooBig, message: fmt.Sprintf("the body has more than %d bytes", maxBody)}
		case err != nil:
			problem = faultf(invalid, "the body cannot be read")
		}
	}
	var out *reply
	if problem == nil {
		out, problem = s.call(c, body)
	}
	if problem != nil {
		status, header, text := s.protocol.fail(s, c, problem)
		s.write(w, status, header, text)
		s.note(c, r, status, problem)
		return
	}
	status, header, text := s.protocol.answer(s, c, out)
	for name, value := range out.headers {
		header.Set(name, value)
	}
	s.write(w, status, header, text)
	s.note(c, r, status, nil)
}

func (s *Stub) write(w http.ResponseWriter, status int, header http.Header, text []byte) {
	for name, values := range header {
		w.Header()[name] = values
	}
	if text == nil {
		w.Header().Del("Content-Type")
	}
	if status < 200 || status > 599 { // of a model
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	if text != nil && status != http.StatusNoContent {
		_, _ = w.Write(text) // the client has gone
	}
}

// call answers a call, or says what is wrong with it.
func (s *Stub) call(c *call, body []byte) (*reply, *fault) {
	if problem := s.authenticate(c); problem != nil {
		return nil, problem
	}
	s.calls[c.op.Name]++
	if s.config.Throttle > 0 && s.random.Float64() < s.config.Throttle {
		return nil, faultf(throttled, "too many requests: try again later")
	}
	if slices.Contains(s.config.Fail, Failure{c.op.Name, s.calls[c.op.Name]}) {
		return nil, faultf(internal, "call %d of %s fails, as the stub was told", s.calls[c.op.Name], c.op.Name)
	}
	if problem := s.protocol.read(s, c, body); problem != nil {
		return nil, problem
	}
	if problem := s.check(c); problem != nil {
		return nil, problem
	}
	return s.run(c)
}
