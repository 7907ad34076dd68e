package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

const (
	pageSize = 50 // types on a page

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
	Registrations       []registration
	Nothing             bool // the place has no types at all
}

// A typeRow is one type in the list.
type typeRow struct {
	registry.TypeState
	Link    string
	Working string // the stage of a registration in progress
}

func (c *Console) listTypes(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section, p.Live = "Types", "types", true
	q := p.query
	v := &typesView{Search: strings.TrimSpace(bounded(q.Get("q"), maxQuery)), Kind: q.Get("kind"), Shelf: q.Get("shelf"), Deprecated: q.Get("deprecated") == "1"}
	if !known(kinds, v.Kind) || !known(shelves, v.Shelf) {
		return nil, &fault{Status: http.StatusBadRequest, Title: "Unknown filter", Message: "The kind or the list of types in the address does not exist."}
	}
	at := q.Get("next")
	ctx, caller := r.Context(), c.caller(p)
	query := v.query()
	if at != "" {
		after, ok := store.ReadPageToken(at, 3, v.list()...)
		if !ok {
			return nil, &fault{Status: http.StatusBadRequest, Title: "Page not found", Message: "The page token in the address is invalid. Start with the first page."}
		}
		query.After = registry.TypeKey{TypeName: after[0], Kind: schema.Kind(after[1]), Publisher: after[2]}
	}
	found, err := c.config.Registry.Types(ctx, caller, query)
	if err != nil {
		return nil, err
	}
	if v.Registrations, err = c.inProgress(ctx, caller); err != nil {
		return nil, err
	}
	working := map[string]string{}
	for _, g := range v.Registrations {
		working[g.Kind+" "+g.TypeName] = g.Stage
	}
	more := len(found) > pageSize
	for _, state := range found[:min(len(found), pageSize)] {
		v.Rows = append(v.Rows, typeRow{TypeState: state, Link: p.typeLink(state.TypeSummary), Working: working[string(state.Type)+" "+value(state.TypeName)]})
	}
	address := func(at string) string {
		return p.link("/types", "q", v.Search, "kind", v.Kind, "shelf", v.Shelf, "deprecated", flag(v.Deprecated), "next", at)
	}
	if more {
		last := v.Rows[pageSize-1].Key()
		v.Next = address(store.PageToken([]string{last.TypeName, string(last.Kind), last.Publisher}, v.list()...))
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

// query selects one more type than fits on a page.
func (v *typesView) query() registry.TypeQuery {
	q := registry.TypeQuery{Search: v.Search, Kind: schema.Kind(v.Kind), Deprecated: v.Deprecated, Public: v.Shelf == "public", Limit: pageSize + 1}
	switch v.Shelf {
	case "registered":
		q.Category = types.CategoryRegistered
	case "activated":
		q.Category = types.CategoryActivated
	}
	return q
}

// list is what the token of a page depends on.
func (v *typesView) list() []any { return []any{"types", v.Search, v.Kind, v.Shelf, v.Deprecated} }

// shelfOf is the status of a type in a list.
func shelfOf(s types.TypeSummary, v *typesView) string {
	switch {
	case v.Deprecated:
		return "DEPRECATED"
	case value(s.IsActivated):
		return "activated"
	case v.Shelf == "public":
		return "public"
	}
	return "registered"
}

// kindsOf are the kinds to query for all kinds.
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
