package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// shownStackSets is how many stack sets a page of the list has.
const shownStackSets = 50

// setsView is the list of stack sets.
type setsView struct {
	Deleted bool
	Rows    []stackset.Summary
	Next    string // address of the next page, "" if this is the last one
}

func (c *Console) listSets(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section, p.Follow = "Stack sets", "stacks", p.link("/stack-sets/events")
	v := &setsView{Deleted: p.query.Get("deleted") == "1"}
	var err error
	v.Rows, err = c.config.StackSets.Sets(r.Context(), stackset.Query{Place: p.Place, Deleted: v.Deleted, After: bounded(p.query.Get("after"), maxQuery), Limit: shownStackSets + 1})
	if err != nil {
		return nil, err
	}
	if len(v.Rows) > shownStackSets {
		v.Rows = v.Rows[:shownStackSets]
		v.Next = p.link("/stack-sets", "deleted", flag(v.Deleted), "after", v.Rows[shownStackSets-1].Name)
	}
	return p.setsBody(v), nil
}

// stackSetPath is the path of a stack set, by its name or id.
func stackSetPath(s *stackset.Summary) string {
	key := s.Name
	if s.Status == types.StackSetStatusDeleted {
		key = s.ID
	}
	return "/stack-sets/" + url.PathEscape(key)
}

// setView is one stack set.
type setView struct {
	*stackset.State
	Accounts []string
	Regions  []string
	grid     map[awswire.Place]*stackset.InstanceState
}

// maxColumns is how many accounts the grid has as columns. With more of them it is a list.
const maxColumns = 8

func (c *Console) showSet(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	s, err := c.config.StackSets.Set(r.Context(), p.Place, r.PathValue("set"))
	if err != nil {
		if refused(err) {
			return nil, &fault{Status: http.StatusNotFound, Title: "Stack set not found", Message: "There is no stack set with this name. Deleted stack sets are listed separately."}
		}
		return nil, err
	}
	p.Title, p.Section, p.Follow = s.Name, "stacks", p.link("/stack-sets/events")
	v := &setView{State: s, grid: map[awswire.Place]*stackset.InstanceState{}}
	for i := range s.Instances {
		x := &s.Instances[i]
		v.grid[x.Place] = x
		v.Accounts, v.Regions = append(v.Accounts, x.Account), append(v.Regions, x.Region)
	}
	for _, list := range []*[]string{&v.Accounts, &v.Regions} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p.setBody(v), nil
}

// wide reports whether the set has too many accounts for a grid.
func (v *setView) wide() bool { return len(v.Accounts) > maxColumns }

func (v *setView) at(account, region string) *stackset.InstanceState {
	return v.grid[awswire.Place{Account: account, Region: region}]
}

// instanceWord is the status of an instance: what is done with it, or how it is.
func instanceWord(x *stackset.InstanceState) string {
	switch x.Detailed {
	case types.StackInstanceDetailedStatusPending, types.StackInstanceDetailedStatusRunning, types.StackInstanceDetailedStatusFailed:
		return string(x.Detailed)
	}
	return string(x.Status)
}

// results are the counts of an operation in words: "3 succeeded, 1 failed".
func results(o *stackset.OperationState) string {
	var out []string
	for _, status := range types.StackSetOperationResultStatus("").Values() {
		if n := o.Counts[status]; n > 0 {
			out = append(out, itoa(n)+" "+strings.ToLower(string(status)))
		}
	}
	return strings.Join(out, ", ")
}

// followSets notifies a page of changes.
func (c *Console) followSets(w http.ResponseWriter, r *http.Request) {
	c.followMark(w, r, c.config.StackSets.Mark)
}
