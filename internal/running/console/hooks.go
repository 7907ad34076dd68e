package console

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/hook"
)

const (
	shownResults     = 200 // results of hooks on a page
	shownAnnotations = 20  // annotations of one of them
)

// A hookRow is what came of one invocation of a hook.
type hookRow struct {
	*hook.Result
	Annotations []types.Annotation
	Left        int // how many annotations are not shown
}

// hookResults are results of hooks, the newest first.
type hookResults struct {
	Rows []hookRow
	More bool
}

func (c *Console) hookResults(ctx context.Context, p *page, query hook.Query) (hookResults, error) {
	var out hookResults
	query.Place, query.Limit = p.Place, shownResults+1
	found, err := c.config.Hooks.Results(ctx, query)
	if err != nil {
		return out, err
	}
	if out.More = len(found) > shownResults; out.More {
		found = found[:shownResults]
	}
	for i := range found {
		row := hookRow{Result: &found[i], Annotations: found[i].Annotations.Get()}
		if row.Left = max(0, len(row.Annotations)-shownAnnotations); row.Left > 0 {
			row.Annotations = row.Annotations[:shownAnnotations]
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// target is what a hook saw, as far as it has a name.
func (r *hookRow) target() string {
	if r.LogicalID != "" {
		return r.LogicalID
	}
	return r.TargetID
}

// stackHooksView are the hooks that saw a stack and its resources.
type stackHooksView struct {
	*stackHead
	hookResults
}

func (c *Console) stackHooks(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "hooks")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " hooks"
	v := &stackHooksView{stackHead: h}
	if v.hookResults, err = c.hookResults(r.Context(), p, hook.Query{StackID: h.ARN}); err != nil {
		return nil, err
	}
	return p.stackHooksBody(v), nil
}

// typeHooksView is what a hook has refused, or all that it saw.
type typeHooksView struct {
	*typeHead
	hookResults
	All bool
}

func (c *Console) typeHooks(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "hooks")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " results"
	v := &typeHooksView{typeHead: h, All: p.query.Get("all") != ""}
	arn, known := schema.ParseTypeARN(aws.ToString(h.Arn))
	if !known {
		return p.typeHooksBody(v), nil
	}
	arn.Version = ""
	if v.hookResults, err = c.hookResults(r.Context(), p, hook.Query{TypeARN: arn.String(), Refused: !v.All}); err != nil {
		return nil, err
	}
	return p.typeHooksBody(v), nil
}
