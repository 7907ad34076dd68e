package stub

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// The names of what splits lists into pages.
var (
	pageNumbers = []string{"page", "pagenumber", "pagenum", "pageno"}
	pageOffsets = []string{"offset", "start", "startindex", "skip"}
	pageSizes   = []string{"limit", "pagesize", "perpage", "maxresults", "maxitems", "itemsperpage", "count", "first", "size"}
	pageTokens  = []string{"pagetoken", "nexttoken", "cursor", "after", "startingafter", "continuationtoken", "iterator", "marker"}
)

// A page is a part of a list.
type page struct {
	stub   *Stub
	call   *call
	items  []*item
	all    int // items of the list
	size   int
	first  int    // the index of the first item
	next   string // the value of the parameter for the next page; "" on the last one
	param  *api.Member
	number int // of the page, if pages have numbers
}

// list answers with the resources that are in the parents of a call. Filters are ignored.
func (s *Stub) list(c *call) (*reply, *fault) {
	r := c.role.resource
	parents, problem := s.listParents(c, r)
	if problem != nil {
		return nil, problem
	}
	if out := s.example(c, r.Name); out != nil && len(s.state.Items) == 0 && len(s.state.Touched) == 0 {
		return out, nil
	}
	p := &page{stub: s, call: c, size: s.config.PageSize}
	chosen := s.chosen(c, r)
	for _, i := range s.sorted(r) {
		within := len(i.Key) > len(parents) && (chosen == nil || slices.Contains(chosen, i.Key[len(i.Key)-1]))
		for n, parent := range parents {
			within = within && (parent == "" || i.Key[n] == parent)
		}
		if within && s.sees(i) {
			p.items = append(p.items, i)
		}
	}
	if chosen != nil && len(p.items) == 0 && declared(c.op, missing) != nil {
		return nil, faultf(missing, "%s %s does not exist", r.Name, cut(chosen[0]))
	}
	if problem := p.split(); problem != nil {
		return nil, problem
	}
	out := &reply{headers: map[string]string{}}
	if c.op.Output != nil {
		out.output = p.fill(c.op.Output, nil, 0)
	}
	for _, i := range p.items {
		if chosen != nil {
			s.advance(i)
		}
	}
	if address := p.nextURL(); address != "" && s.api.Format == "openapi" {
		out.headers["Link"] = "<" + address + `>; rel="next"`
	}
	return out, s.save()
}

// chosen are the identifiers that a request selects from a list by which resources are read, nil for all.
func (s *Stub) chosen(c *call, r *resource) (own []string) {
	if c.op != r.Read {
		return nil
	}
	for _, m := range c.op.Members() {
		if !m.Selects(r.ids[len(r.ids)-1]) {
			continue
		}
		switch v, _ := c.get(m.Name); v := v.(type) {
		case nil:
		case []any:
			for _, one := range v {
				own = append(own, textOf(one))
			}
		default:
			own = append(own, textOf(v))
		}
	}
	return own
}

// listParents are the identifiers of what a list is of; "" for any.
func (s *Stub) listParents(c *call, r *resource) ([]string, *fault) {
	if s.api.Format == "openapi" {
		parents, _ := s.identify(c, r)
		return parents, s.checkParents(r, parents)
	}
	var parents []string
	for n := range max(0, len(r.ids)-1) {
		parents = append(parents, s.identifierIn(c, r, r.ids[n]))
	}
	for p := r.parent; p != nil && !s.config.AnyParent; p = p.parent {
		if n := len(p.ids); n <= len(parents) && parents[n-1] != "" && parents[n-1] != "default" && s.lookup(p, parents[:n]) == nil {
			return nil, faultf(missing, "%s %s does not exist", p.Name, cut(parents[n-1]))
		}
	}
	return parents, nil
}

// split selects the items of the page.
func (p *page) split() *fault {
	p.all = len(p.items)
	size := p.find(pagingSize(p.call.op), pageSizes)
	p.param = p.find(pagingIn(p.call.op), slices.Concat(pageNumbers, pageOffsets, pageTokens))
	if p.param == nil {
		return nil
	}
	if n, ok := p.integer(size); ok && n > 0 {
		p.size = min(p.size, n)
	}
	p.number = 1
	value, given := p.call.get(p.param.Name)
	text := textOf(value)
	name := plain(p.param.Name)
	switch {
	case slices.Contains(pageNumbers, name):
		base := 1
		if p.param.Shape.Minimum == "0" || p.param.Default != nil && p.param.Default.Text == "0" {
			base = 0
		}
		n := base
		if given {
			n, _ = p.integer(p.param)
		}
		if n < base || n > maxItems {
			return faultf(invalid, "%s: there is no page %d", p.param.Name, n)
		}
		p.first, p.number = min((n-base)*p.size, p.all), n
		p.next = strconv.Itoa(n + 1)
	case slices.Contains(pageOffsets, name):
		n := 0
		if given {
			n, _ = p.integer(p.param)
		}
		if n < 0 {
			return faultf(invalid, "%s: the offset is less than 0", p.param.Name)
		}
		p.first = min(n, p.all)
		p.next = strconv.Itoa(p.first + p.size)
	case text != "":
		serial, err := strconv.ParseUint(text, 16, 31)
		if name == "startingafter" || name == "after" {
			at := slices.IndexFunc(p.items, func(i *item) bool { return i.Key[len(i.Key)-1] == text })
			if at >= 0 {
				serial, err = uint64(p.items[at].Serial), nil //nolint:gosec // a count
			}
		}
		if err != nil {
			return faultf(invalid, "%s: the token is not one of this service", p.param.Name)
		}
		for p.first < p.all && p.items[p.first].Serial <= int(serial) {
			p.first++
		}
	}
	last := min(p.first+p.size, p.all)
	p.items = p.items[p.first:last]
	switch {
	case last >= p.all:
		p.next = ""
	case p.next == "":
		end := p.items[len(p.items)-1]
		p.next = fmt.Sprintf("%016x", end.Serial)
		if name == "startingafter" {
			p.next = end.Key[len(end.Key)-1]
		}
	}
	return nil
}

func pagingIn(op *api.Operation) string {
	if op.Paging == nil {
		return ""
	}
	return op.Paging.In
}

func pagingSize(op *api.Operation) string {
	if op.Paging == nil {
		return ""
	}
	return op.Paging.Size
}

// find is the member of the request that the description names, else one that has a usual name.
func (p *page) find(name string, usual []string) *api.Member {
	members := p.call.op.Members()
	if p.call.op.BodyMember == "" && p.call.op.Body != nil && p.call.op.Body.Kind != api.Structure {
		members = p.call.op.Params
	}
	for _, m := range members {
		if name != "" && m.Name == name && m.In != api.InPath {
			return m
		}
	}
	if name != "" {
		return nil
	}
	for _, m := range members {
		simple := m.Shape.Kind == api.String || m.Shape.Kind == api.Integer || m.Shape.Kind == api.Any
		if simple && (m.In == api.InQuery || m.In == api.InBody) && slices.Contains(usual, plain(m.Name)) {
			return m
		}
	}
	return nil
}

func (p *page) integer(m *api.Member) (int, bool) {
	if m == nil {
		return 0, false
	}
	v, given := p.call.get(m.Name)
	text := textOf(v)
	if !given && m.Default != nil {
		text, given = m.Default.Text, true
	}
	n, err := strconv.Atoi(text)
	return n, given && err == nil
}

// itemsOf is the member of a response that has the items; nil if none has.
func (p *page) itemsOf(shape *api.Shape) *api.Member {
	r := p.call.role.resource
	if op := p.call.op; op.Paging != nil && op.Paging.Items != "" {
		name := op.Paging.Items[strings.LastIndex(op.Paging.Items, ".")+1:]
		if m := shape.Member(name); m != nil && m.Shape.Kind == api.List {
			return m
		}
	}
	var best *api.Member
	points := 0
	for _, m := range shape.Members {
		if m.Shape.Kind != api.List {
			continue
		}
		n := 1
		if item := m.Shape.Item; item != nil && item.Kind == api.Structure {
			n += 2
			if r.own != nil && slices.ContainsFunc(item.Members, func(m *api.Member) bool { return alike(r.Name, m.Name, r.own.Name) }) {
				n += 4
			}
		}
		if contains(m.Name, plain(r.Name), "items", "data", "results", "resources") {
			n++
		}
		if contains(m.Name, "link", "error", "warning") {
			n = 0
		}
		if n > points {
			best, points = m, n
		}
	}
	return best
}

// fill makes the response of a list.
func (p *page) fill(shape *api.Shape, m *api.Member, depth int) any {
	s, r := p.stub, p.call.role.resource
	switch {
	case shape.Kind == api.List:
		out := make([]any, len(p.items))
		for n, i := range p.items {
			out[n] = p.element(orAny(shape.Item), m, i)
		}
		return out
	case shape.Kind != api.Structure || depth > 3:
		return s.makers.value(shape, wish{noun: r.Name}, 0)
	}
	out := map[string]any{}
	items := p.itemsOf(shape)
	for _, m := range shape.Members {
		name := plain(m.Name)
		switch {
		case m == items:
			out[m.Name] = p.fill(m.Shape, m, depth+1)
		case m.Shape.Kind == api.Structure && (items == nil || contains(name, "page", "paging", "pagination", "meta", "link")):
			out[m.Name] = p.fill(m.Shape, m, depth+1)
		default:
			if v, ok := p.about(m, depth); ok {
				out[m.Name] = v
			} else if v, given := p.call.get(m.Name); given && suits(m.Shape, v) && !slices.Contains(pageTokens, plain(m.Name)) {
				out[m.Name] = v
			} else if m.Required {
				if m.Shape.Kind == api.String && slices.Contains(pageTokens, plain(m.Name)) {
					out[m.Name] = ""
					continue
				}
				if m.Shape.Nullable {
					out[m.Name] = nil
					continue
				}
				out[m.Name] = s.makers.member(m, wish{name: m.Name, noun: r.Name, seed: m.Name}, 0)
			}
		}
	}
	return out
}

// element is a resource in a list, or its identifier.
func (p *page) element(shape *api.Shape, m *api.Member, i *item) any {
	if shape.Kind == api.String {
		if m != nil && contains(m.Name, "arn") && i.ARN != "" {
			return i.ARN
		}
		return i.Key[len(i.Key)-1]
	}
	return p.stub.fill(p.call.role.resource, shape, i, 1)
}

// about is a value that says something of the page itself.
func (p *page) about(m *api.Member, depth int) (any, bool) {
	name := plain(m.Name)
	number := func(n int) (any, bool) {
		if m.Shape.Kind == api.String {
			return strconv.Itoa(n), true
		}
		return json.Number(strconv.Itoa(n)), m.Shape.Kind == api.Integer || m.Shape.Kind == api.Number || m.Shape.Kind == api.Any
	}
	out := ""
	if p.call.op.Paging != nil {
		out = p.call.op.Paging.Out[strings.LastIndex(p.call.op.Paging.Out, ".")+1:]
	}
	pages := max(1, (p.all+p.size-1)/p.size)
	address := m.Shape.Format == "uri" || contains(name, "url", "uri") || contains(m.Name, "link") || m.Shape.Format == "" && depth > 0 && slices.Contains([]string{"next", "self", "first", "last", "prev", "previous"}, name)
	switch {
	case name == "next" && address, name == "nexturl", name == "nextlink", name == "nextpageuri":
		return p.nextURL(), p.next != ""
	case m.Name == out, slices.Contains(pageTokens, strings.TrimPrefix(name, "next")) && name != "after" && (strings.HasPrefix(name, "next") || p.param == nil || plain(p.param.Name) == name), name == "next", name == "nextpage" && p.next != "":
		if m.Shape.Kind == api.Integer && p.next != "" {
			return json.Number(p.next), true
		}
		return p.next, p.next != "" && m.Shape.Kind != api.Boolean
	case strings.HasPrefix(name, "hasmore"), name == "more", name == "hasnext", name == "istruncated":
		return p.next != "", m.Shape.Kind == api.Boolean
	case slices.Contains([]string{"total", "totalcount", "totalitems", "totalresults", "totalrecords"}, name):
		return number(p.all)
	case slices.Contains([]string{"totalpages", "pages", "lastpage", "pagecount"}, name):
		return number(pages)
	case name == "count":
		return number(len(p.items))
	case slices.Contains(pageNumbers, name):
		return number(p.number)
	case slices.Contains(pageOffsets, name):
		return number(p.first)
	case slices.Contains(pageSizes, name):
		return number(p.size)
	}
	return nil, false
}

// nextURL is the address of the next page; "" on the last one.
func (p *page) nextURL() string {
	if p.next == "" || p.param == nil || p.param.In != api.InQuery {
		return ""
	}
	r := p.call.request
	query := r.URL.Query()
	for _, scheme := range p.stub.api.Auth { // never in a response
		if scheme.In == "query" {
			query.Del(scheme.Key)
		}
	}
	query.Set(p.param.Wire, p.next)
	return (&url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: query.Encode()}).String()
}
