package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

const (
	shownSets       = 100     // change sets of a stack
	shownRefactors  = 20      // refactors of a stack
	shownMoves      = 100     // resources of a refactor
	shownChanges    = 500     // resources of a change set, and of a drift detection
	shownProperties = 50      // properties of one of them
	maxValue        = 4 << 10 // bytes of a value
)

// changesView is the list of the change sets of a stack.
type changesView struct {
	*stackHead
	Rows []stack.ChangeSetState
	More bool

	Refactors     []refactor.State
	MoreRefactors bool
}

func (c *Console) stackChanges(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "changes")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " change sets"
	v := &changesView{stackHead: h}
	if v.Rows, err = c.config.Stacks.ChangeSets(r.Context(), p.Place, h.ARN, shownSets+1); err != nil {
		return nil, err
	}
	if v.More = len(v.Rows) > shownSets; v.More {
		v.Rows = v.Rows[:shownSets]
	}
	if v.Refactors, err = c.config.Refactors.Refactors(r.Context(), p.Place, h.ARN, shownRefactors+1); err != nil {
		return nil, err
	}
	if v.MoreRefactors = len(v.Refactors) > shownRefactors; v.MoreRefactors {
		v.Refactors = v.Refactors[:shownRefactors]
	}
	return p.changesBody(v), nil
}

// changeSetView is one change set.
type changeSetView struct {
	*stackHead
	Set  *stack.ChangeSetState
	Rows []changeRow
	Left int // how many changes are not shown

	Hooks hookResults // on the change set, and on its execution
}

// A changeRow is one resource of a change set, with what changes side by side.
type changeRow struct {
	*types.ResourceChange
	Words  string // what happens to it
	Tone   string
	Values []valueRow
	Left   int
}

// A valueRow is a property before and after, or expected and actual.
type valueRow struct {
	Path          string
	Before, After string // JSON or text; "" for a property that is missing
	Note          string // the effect
	Bad           bool
}

// setPath is the path of a change set below its stack.
func setPath(set *stack.ChangeSetState, rest string) string {
	return "/changes/" + url.PathEscape(set.ARN) + rest
}

func (c *Console) showChangeSet(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "changes")
	if err != nil {
		return nil, err
	}
	set, err := c.config.Stacks.ChangeSet(r.Context(), p.Place, h.ARN, r.PathValue("set"))
	if err != nil {
		if refused(err) {
			return nil, &fault{Status: http.StatusNotFound, Title: "Change set not found", Message: "The stack has no change set with this name. It may have been deleted."}
		}
		return nil, err
	}
	p.Title = set.Name
	v := &changeSetView{stackHead: h, Set: set}
	for i := range set.Changes {
		if set.Changes[i].ResourceChange == nil {
			continue
		}
		if len(v.Rows) == shownChanges {
			v.Left++
			continue
		}
		v.Rows = append(v.Rows, newChangeRow(set.Changes[i].ResourceChange))
	}
	if v.Hooks, err = c.hookResults(r.Context(), p, hook.Query{ChangeSetID: set.ARN}); err != nil {
		return nil, err
	}
	return p.changeSetBody(v), nil
}

// changeWords returns the effect on a resource, and its class.
func changeWords(c *types.ResourceChange) (text, class string) {
	switch {
	case c.Action == types.ChangeActionAdd:
		return "create", "good"
	case c.Action == types.ChangeActionImport:
		return "import", "good"
	case c.Action == types.ChangeActionRemove && c.PolicyAction == types.PolicyActionRetain:
		return "remove and keep", "plain"
	case c.Action == types.ChangeActionRemove:
		return "delete", "bad"
	case c.Replacement == types.ReplacementTrue:
		return "replace", "bad"
	case c.Replacement == types.ReplacementConditional:
		return "update or replace", "wait"
	case c.Action == types.ChangeActionModify:
		return "update", "wait"
	}
	return words(string(c.Action)), "plain"
}

func newChangeRow(c *types.ResourceChange) changeRow {
	row := changeRow{ResourceChange: c}
	row.Words, row.Tone = changeWords(c)
	if strings.HasPrefix(string(c.PolicyAction), "ReplaceAnd") && c.PolicyAction != types.PolicyActionReplaceAndDelete {
		row.Words += ", keep the old one"
	}
	values := changedValues(c)
	if len(c.Details) == 0 && c.Action != types.ChangeActionModify {
		values = wholeValues(aws.ToString(c.BeforeContext), aws.ToString(c.AfterContext))
	}
	row.Values, row.Left = cut(values)
	return row
}

func cut(values []valueRow) ([]valueRow, int) {
	left := max(0, len(values)-shownProperties)
	return values[:len(values)-left], left
}

// changedValues are the properties that an update changes. One that is changed for several
// reasons is in one row.
func changedValues(c *types.ResourceChange) []valueRow {
	var out []valueRow
	for _, d := range c.Details {
		t := d.Target
		if t == nil {
			continue
		}
		path := string(t.Attribute)
		if t.Attribute == types.ResourceAttributeProperties && t.Name != nil {
			path = strings.ReplaceAll(strings.TrimPrefix(cmp.Or(aws.ToString(t.Path), *t.Name), "/Properties/"), "/", ".")
		}
		row := valueRow{Path: path, Before: aws.ToString(t.BeforeValue), After: aws.ToString(t.AfterValue)}
		switch t.RequiresRecreation {
		case types.RequiresRecreationAlways:
			row.Note, row.Bad = "replaces the resource", true
		case types.RequiresRecreationConditionally:
			row.Note, row.Bad = "may replace the resource", true
		}
		if entity := aws.ToString(d.CausingEntity); entity != "" {
			row.Note = strings.TrimPrefix(row.Note+", because of "+entity, ", ")
		}
		at := slices.IndexFunc(out, func(known valueRow) bool { return known.Path == row.Path })
		if at < 0 {
			out = append(out, row)
			continue
		}
		known := &out[at]
		known.Before, known.After, known.Bad = cmp.Or(known.Before, row.Before), cmp.Or(known.After, row.After), known.Bad || row.Bad
		known.Note = cmp.Or(known.Note, row.Note)
	}
	return out
}

// wholeValues are the properties of a resource that is added or removed.
func wholeValues(before, after string) []valueRow {
	old, fresh := propertiesOf(before), propertiesOf(after)
	var names []string
	for name := range old {
		names = append(names, name)
	}
	for name := range fresh {
		if _, both := old[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := make([]valueRow, len(names))
	for i, name := range names {
		out[i] = valueRow{Path: name, Before: shownJSON(old[name]), After: shownJSON(fresh[name])}
	}
	return out
}

// propertiesOf reads the context of a change: {"Properties": {…}}.
func propertiesOf(text string) map[string]json.RawMessage {
	var context struct{ Properties map[string]json.RawMessage }
	if json.Unmarshal([]byte(text), &context) != nil {
		return nil
	}
	return context.Properties
}

// shownJSON is a value for people: a text without its quotes, the rest indented.
func shownJSON(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// readable is a value of the API, which may be JSON.
func readable(value string) string {
	if value != "" && (value[0] == '{' || value[0] == '[') {
		return shownJSON(json.RawMessage(value))
	}
	return value
}

func (c *Console) executeChangeSet(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "changes")
	if err != nil {
		return nil, err
	}
	_, err = c.config.Stacks.ExecuteChangeSet(r.Context(), c.caller(p), &cloudformation.ExecuteChangeSetInput{
		ChangeSetName: aws.String(r.PathValue("set")), StackName: aws.String(h.ARN),
	})
	if err != nil {
		return nil, err
	}
	return back(w, r, h.link("/timeline", "done", "executed"))
}

func (c *Console) deleteChangeSet(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "changes")
	if err != nil {
		return nil, err
	}
	_, err = c.config.Stacks.DeleteChangeSet(r.Context(), c.caller(p), &cloudformation.DeleteChangeSetInput{
		ChangeSetName: aws.String(r.PathValue("set")), StackName: aws.String(h.ARN),
	})
	if err != nil {
		return nil, err
	}
	return back(w, r, h.link("/changes", "done", "deleted"))
}

func (c *Console) executeRefactor(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "changes")
	if err != nil {
		return nil, err
	}
	id := r.PathValue("refactor")
	refactors, err := c.config.Refactors.Refactors(r.Context(), p.Place, h.ARN, shownRefactors)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(refactors, func(s refactor.State) bool { return s.ID == id }) {
		return nil, &fault{Status: http.StatusNotFound, Title: "Refactor not found", Message: "The stack has no refactor with this ID among the newest ones."}
	}
	if _, err := c.config.Refactors.ExecuteStackRefactor(r.Context(), c.caller(p), &cloudformation.ExecuteStackRefactorInput{StackRefactorId: &id}); err != nil {
		return nil, err
	}
	return back(w, r, h.link("/changes", "done", "refactoring"))
}

// driftView is what drift detections found of a stack.
type driftView struct {
	*stackHead
	Drift *stack.DriftState
	Rows  []driftRow
	Left  int
}

// A driftRow is one resource, with what the template declares and what exists side by side.
type driftRow struct {
	*types.StackResourceDrift
	Values []valueRow
	Left   int
}

func (c *Console) stackDrift(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "drift")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " drift"
	v := &driftView{stackHead: h}
	if v.Drift, err = c.config.Stacks.Drift(r.Context(), p.Place, h.ARN); err != nil {
		return nil, err
	}
	// What has drifted comes first.
	found := slices.Clone(v.Drift.Resources)
	slices.SortStableFunc(found, func(a, b types.StackResourceDrift) int {
		return cmp.Compare(driftOrder[a.StackResourceDriftStatus], driftOrder[b.StackResourceDriftStatus])
	})
	v.Left = max(0, len(found)-shownChanges)
	for i := range found[:len(found)-v.Left] {
		row := driftRow{StackResourceDrift: &found[i]}
		var values []valueRow
		for _, d := range found[i].PropertyDifferences {
			values = append(values, valueRow{
				Path:   strings.ReplaceAll(strings.TrimPrefix(aws.ToString(d.PropertyPath), "/"), "/", "."),
				Before: aws.ToString(d.ExpectedValue), After: aws.ToString(d.ActualValue), Note: words(string(d.DifferenceType)),
			})
		}
		row.Values, row.Left = cut(values)
		v.Rows = append(v.Rows, row)
	}
	return p.driftBody(v), nil
}

var driftOrder = map[types.StackResourceDriftStatus]int{
	types.StackResourceDriftStatusDeleted: 0, types.StackResourceDriftStatusModified: 1,
	types.StackResourceDriftStatusNotChecked: 2, types.StackResourceDriftStatusInSync: 3,
}

// driftTone is the class of the drift of a stack or a resource.
func driftTone(status string) string {
	switch status {
	case "IN_SYNC":
		return "good"
	case "DRIFTED", "MODIFIED", "DELETED":
		return "bad"
	}
	return "plain"
}

func (c *Console) detectDrift(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "drift")
	if err != nil {
		return nil, err
	}
	if _, err := c.config.Stacks.DetectStackDrift(r.Context(), c.caller(p), &cloudformation.DetectStackDriftInput{StackName: aws.String(h.ARN)}); err != nil {
		return nil, err
	}
	return back(w, r, h.link("/drift", "done", "detecting"))
}
