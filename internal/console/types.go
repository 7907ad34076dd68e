package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
)

const (
	pageSize = 50 // types on a page

	// maxSearched is how many types one request goes through in search of a text. A page
	// that stops there offers to go on.
	maxSearched = 20_000

	maxQuery = 200 // bytes of what is searched for

	maxInProgress = 20 // registrations above the list
)

// The kinds and shelves that a list can be narrowed to.
var (
	kinds   = []choice{{"", "All"}, {"RESOURCE", "Resources"}, {"MODULE", "Modules"}, {"HOOK", "Hooks"}}
	shelves = []choice{{"", "In account"}, {"registered", "Registered"}, {"activated", "Activated"}, {"public", "Public"}}
)

// A choice is one of several links.
type choice struct{ Value, Label string }

// typesView is the list of types.
type typesView struct {
	Search, Kind, Shelf string
	Deprecated          bool
	Rows                []typeRow
	Next                string // address of the next page, "" if this is the last one
	First               string // address of the first page, "" if this is it
	Stopped             bool   // the search was given up at maxSearched
	Registrations       []registration
	Nothing             bool // the place has no types at all
}

// A typeRow is one type in the list.
type typeRow struct {
	types.TypeSummary
	Link     string
	Versions int    // live ones; 0 if not counted
	Working  string // what a registration that goes on is doing
}

func (c *Console) listTypes(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section, p.Live = "Types", "types", true
	q := p.query
	v := &typesView{Search: strings.TrimSpace(bounded(q.Get("q"), maxQuery)), Kind: q.Get("kind"), Shelf: q.Get("shelf"), Deprecated: q.Get("deprecated") == "1"}
	if !known(kinds, v.Kind) || !known(shelves, v.Shelf) {
		return nil, &fault{Status: http.StatusBadRequest, Title: "No such list", Message: "The address asks for a kind or a list of types that does not exist."}
	}
	at := q.Get("next")
	ctx, caller := r.Context(), c.caller(p)
	found, err := c.findTypes(ctx, caller, v, at)
	if err != nil {
		return nil, err
	}
	v.Stopped = found.stopped
	if v.Registrations, err = c.inProgress(ctx, caller); err != nil {
		return nil, err
	}
	working := map[string]string{}
	for _, g := range v.Registrations {
		working[g.Kind+" "+g.TypeName] = g.Stage
	}
	for _, summary := range found.types {
		row := typeRow{TypeSummary: summary, Link: p.typeLink(summary), Working: working[string(summary.Type)+" "+value(summary.TypeName)]}
		if row.Versions, err = c.countVersions(ctx, caller, summary); err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, row)
	}
	address := func(at string) string {
		return p.link("/", "q", v.Search, "kind", v.Kind, "shelf", v.Shelf, "deprecated", flag(v.Deprecated), "next", at)
	}
	if found.next != "" {
		v.Next = address(found.next)
	}
	if at != "" {
		v.First = address("")
	}
	v.Nothing = len(v.Rows) == 0 && v.Search == "" && v.Kind == "" && v.Shelf == "" && !v.Deprecated && v.First == ""
	return p.typesBody(v), nil
}

// typeLink is where a type of a list is shown.
func (p *page) typeLink(s types.TypeSummary) string {
	path := typePath(string(s.Type), value(s.TypeName), "")
	if s.DefaultVersionId == nil && s.PublisherId != nil && !value(s.IsActivated) {
		return p.link(path, "publisher", *s.PublisherId)
	}
	return p.link(path)
}

// A found is a page of types, and where the next one begins.
type found struct {
	types   []types.TypeSummary
	next    string // "" at the end
	stopped bool
}

// findTypes collects a page of the types that a list shows, beginning at a place that an
// earlier page ended at, "" for the beginning. The registry can only filter by how names
// begin, so that a text anywhere in a name is looked for here. And it lists one
// provisioning type at a time, so that several lists are merged.
func (c *Console) findTypes(ctx context.Context, caller awswire.Caller, v *typesView, at string) (found, error) {
	lists := typeLists(v)
	if err := resume(lists, at); err != nil {
		return found{}, err
	}
	var out found
	search := strings.ToLower(v.Search)
	for seen := 0; ; seen++ {
		var first *typeList
		for _, l := range lists {
			if err := l.fill(ctx, c.config.Registry, caller); err != nil {
				return found{}, err
			}
			if l.skip < len(l.page) && (first == nil || before(l.page[l.skip], first.page[first.skip])) {
				first = l
			}
		}
		if first == nil {
			return out, nil
		}
		s := first.page[first.skip]
		if strings.Contains(strings.ToLower(value(s.TypeName)), search) {
			if len(out.types) == pageSize {
				out.next = places(lists)
				return out, nil
			}
			out.types = append(out.types, s)
		}
		first.skip++
		if seen == maxSearched {
			out.next, out.stopped = places(lists), true
			return out, nil
		}
	}
}

// A typeList reads one list of the registry, page by page.
type typeList struct {
	in    cloudformation.ListTypesInput
	token string // of the page
	page  []types.TypeSummary
	skip  int    // how many of the page are behind us
	after string // token of the page after this one, "" if this is the last
	read  bool   // the page is there
}

// fill reads the next page if this one is used up.
func (l *typeList) fill(ctx context.Context, from Types, caller awswire.Caller) error {
	for !l.read || l.skip >= len(l.page) {
		if l.read {
			if l.after == "" {
				return nil
			}
			l.token, l.skip = l.after, 0
		}
		in := l.in
		in.NextToken = optional(l.token)
		out, err := from.ListTypes(ctx, caller, &in)
		if err != nil {
			return err
		}
		l.page, l.after, l.read = out.TypeSummaries, value(out.NextToken), true
	}
	return nil
}

// before is the order of the registry.
func before(a, b types.TypeSummary) bool {
	return cmp.Or(cmp.Compare(value(a.TypeName), value(b.TypeName)), cmp.Compare(a.Type, b.Type), cmp.Compare(value(a.PublisherId), value(b.PublisherId))) < 0
}

// typeLists are the lists that together are what a view shows. The one without a
// provisioning type has the fully mutable resources, and all modules and hooks.
func typeLists(v *typesView) []*typeList {
	in := cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate, Type: types.RegistryType(v.Kind), MaxResults: aws.Int32(pageSize)}
	if v.Search != "" {
		in.MaxResults = aws.Int32(100)
	}
	switch v.Shelf {
	case "registered":
		in.Filters = &types.TypeFilters{Category: types.CategoryRegistered}
	case "activated":
		in.Filters = &types.TypeFilters{Category: types.CategoryActivated}
	case "public":
		in.Visibility = types.VisibilityPublic
	}
	if v.Deprecated {
		in.DeprecatedStatus = types.DeprecatedStatusDeprecated
	}
	lists := []*typeList{{in: in}}
	if v.Kind == "" || v.Kind == string(types.RegistryTypeResource) {
		for _, provisioning := range []types.ProvisioningType{types.ProvisioningTypeImmutable, types.ProvisioningTypeNonProvisionable} {
			in.ProvisioningType = provisioning
			lists = append(lists, &typeList{in: in})
		}
	}
	return lists
}

// places writes down where lists are: for each the token of its page and how much of it is
// behind us. Tokens are URL-safe; the separators are none of their characters.
func places(lists []*typeList) string {
	var all []string
	for _, l := range lists {
		all = append(all, l.token+"~"+strconv.Itoa(l.skip))
	}
	return strings.Join(all, "!")
}

// resume puts lists where places was written.
func resume(lists []*typeList, text string) error {
	if text == "" {
		return nil
	}
	all := strings.Split(text, "!")
	for i, l := range lists {
		if len(all) != len(lists) {
			break
		}
		token, skip, _ := strings.Cut(all[i], "~")
		n, err := strconv.Atoi(skip)
		if err != nil || n < 0 {
			break
		}
		l.token, l.skip = token, n
		if i == len(lists)-1 {
			return nil
		}
	}
	return &fault{Status: http.StatusBadRequest, Title: "No such page", Message: "The address does not continue a list. Begin with its first page."}
}

// countVersions is how many live versions a private type has.
func (c *Console) countVersions(ctx context.Context, caller awswire.Caller, s types.TypeSummary) (int, error) {
	if s.DefaultVersionId == nil || s.PublisherId != nil {
		return 0, nil
	}
	out, err := c.config.Registry.ListTypeVersions(ctx, caller, &cloudformation.ListTypeVersionsInput{
		Type: s.Type, TypeName: s.TypeName, MaxResults: aws.Int32(100),
	})
	if refused(err) {
		return 0, nil // it went between the two requests
	}
	if err != nil {
		return 0, err
	}
	return len(out.TypeVersionSummaries), nil
}

// kindsOf are the kinds that are asked about when all are meant.
func kindsOf() []types.RegistryType {
	return []types.RegistryType{types.RegistryTypeResource, types.RegistryTypeModule, types.RegistryTypeHook}
}

func known(choices []choice, value string) bool {
	return slices.ContainsFunc(choices, func(c choice) bool { return c.Value == value })
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}
