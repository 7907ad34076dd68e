package console

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// deployView is the form that deploys a template: it makes a change set, whose page shows what will change.
type deployView struct {
	Stack      string // "" for a new one
	Parameters []types.Parameter
}

func (v *deployView) templateNote() string {
	if v.Stack == "" {
		return "YAML or JSON"
	}
	return "YAML or JSON; leave it empty to keep the template of the stack"
}

func (v *deployView) parametersNote() string {
	if len(v.Parameters) == 0 {
		return "one KEY=VALUE per line"
	}
	return "one KEY=VALUE per line; those that you leave out keep their values"
}

func (c *Console) showDeploy(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Deploy a template", "stacks"
	v := &deployView{}
	if name := p.query.Get("stack"); name != "" {
		s, err := c.config.Stacks.Stack(r.Context(), p.Place, name)
		if refused(err) {
			return nil, errNoStack()
		}
		if err != nil {
			return nil, err
		}
		v.Stack, v.Parameters = s.Name, s.Parameters
	}
	return p.deployBody(v), nil
}

// deploy makes a change set of the form, for a stack that exists or for a new one.
func (c *Console) deploy(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	form := r.PostForm
	name := strings.TrimSpace(form.Get("stack"))
	in := &cloudformation.CreateChangeSetInput{
		StackName: &name, ChangeSetName: aws.String("console-" + hex.EncodeToString(c.random(6))), ChangeSetType: types.ChangeSetTypeCreate,
		Description: aws.String("created in the console"),
	}
	for _, capability := range form["capability"] {
		in.Capabilities = append(in.Capabilities, types.Capability(capability))
	}
	var kept []types.Parameter
	s, err := c.config.Stacks.Stack(r.Context(), p.Place, name)
	switch {
	case err == nil && s.Status != types.StackStatusReviewInProgress:
		in.ChangeSetType, kept = types.ChangeSetTypeUpdate, s.Parameters
	case err != nil && !refused(err):
		return nil, err
	}
	if text := strings.ReplaceAll(form.Get("template"), "\r\n", "\n"); strings.TrimSpace(text) != "" {
		in.TemplateBody = &text
	} else if in.ChangeSetType == types.ChangeSetTypeUpdate {
		in.UsePreviousTemplate = aws.Bool(true)
	}
	given, err := readParameters(form.Get("parameters"))
	if err != nil {
		return nil, err
	}
	if in.Parameters, err = c.keepParameters(r.Context(), p, in.TemplateBody, given, kept); err != nil {
		return nil, err
	}
	out, err := c.config.Stacks.CreateChangeSet(r.Context(), c.caller(p), in)
	if err != nil {
		return nil, err
	}
	return back(w, r, p.link(stackPath(name, "/changes/"+url.PathEscape(aws.ToString(out.Id))), "done", "planned"))
}

// readParameters reads lines KEY=VALUE.
func readParameters(text string) ([]types.Parameter, error) {
	var out []types.Parameter
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, &fault{Status: http.StatusBadRequest, Title: "No changes made", Message: "A line of the parameters is not KEY=VALUE. Go back and correct it."} // the line may be a secret
		}
		out = append(out, types.Parameter{ParameterKey: &key, ParameterValue: &value})
	}
	return out, nil
}

// keepParameters adds the parameters of a stack that were not given and that the template still has: they keep their values.
func (c *Console) keepParameters(ctx context.Context, p *page, body *string, given, kept []types.Parameter) ([]types.Parameter, error) {
	var declared []types.ParameterDeclaration
	if body != nil && len(kept) > 0 {
		summary, err := c.config.Stacks.GetTemplateSummary(ctx, c.caller(p), &cloudformation.GetTemplateSummaryInput{
			TemplateBody: body, TemplateSummaryConfig: &types.TemplateSummaryConfig{TreatUnrecognizedResourceTypesAsWarnings: aws.Bool(true)},
		})
		if err != nil {
			return nil, err
		}
		declared = summary.Parameters
	}
	for _, k := range kept {
		has := func(key *string) bool { return aws.ToString(key) == aws.ToString(k.ParameterKey) }
		if slices.ContainsFunc(given, func(g types.Parameter) bool { return has(g.ParameterKey) }) {
			continue
		}
		if body == nil || slices.ContainsFunc(declared, func(d types.ParameterDeclaration) bool { return has(d.ParameterKey) }) {
			given = append(given, types.Parameter{ParameterKey: k.ParameterKey, UsePreviousValue: aws.Bool(true)})
		}
	}
	return given, nil
}

func errNoStack() error {
	return &fault{Status: http.StatusNotFound, Title: "Stack not found", Message: "There is no stack with this name. Deleted stacks are listed separately."}
}

// The actions on a stack that its status allows.

// CanDeploy reports whether the stack can be updated.
func (h *stackHead) CanDeploy() bool {
	return h.live() && !h.Running() && !slices.Contains([]types.StackStatus{types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusDeleteFailed, types.StackStatusUpdateRollbackFailed}, h.Status)
}

// CanDelete reports whether the stack can be deleted.
func (h *stackHead) CanDelete() bool { return h.live() && !h.Running() }

// CanCancel reports whether an update can be canceled.
func (h *stackHead) CanCancel() bool {
	return h.live() && h.Status == types.StackStatusUpdateInProgress
}

// CanContinue reports whether a rollback that failed can be continued.
func (h *stackHead) CanContinue() bool {
	return h.live() && h.Status == types.StackStatusUpdateRollbackFailed
}

// CanRollBack reports whether the stack can be rolled back from where it failed.
func (h *stackHead) CanRollBack() bool {
	return h.live() && (h.Status == types.StackStatusCreateFailed || h.Status == types.StackStatusUpdateFailed)
}

// live reports whether the stack exists and is not nested: its parent changes a nested one.
func (h *stackHead) live() bool { return h.DeletedAt.IsZero() && h.ParentARN == "" }

func (c *Console) cancelUpdate(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	return c.actOnStack(w, r, p, "canceling", func(ctx context.Context, arn *string) error {
		_, err := c.config.Stacks.CancelUpdateStack(ctx, c.caller(p), &cloudformation.CancelUpdateStackInput{StackName: arn})
		return err
	})
}

func (c *Console) continueRollback(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	return c.actOnStack(w, r, p, "rolling", func(ctx context.Context, arn *string) error {
		_, err := c.config.Stacks.ContinueUpdateRollback(ctx, c.caller(p), &cloudformation.ContinueUpdateRollbackInput{
			StackName: arn, ResourcesToSkip: strings.Fields(strings.ReplaceAll(r.PostForm.Get("skip"), ",", " ")),
		})
		return err
	})
}

func (c *Console) rollBack(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	return c.actOnStack(w, r, p, "rolling", func(ctx context.Context, arn *string) error {
		_, err := c.config.Stacks.RollbackStack(ctx, c.caller(p), &cloudformation.RollbackStackInput{StackName: arn})
		return err
	})
}

func (c *Console) deleteStack(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	return c.actOnStack(w, r, p, "deleting", func(ctx context.Context, arn *string) error {
		_, err := c.config.Stacks.DeleteStack(ctx, c.caller(p), &cloudformation.DeleteStackInput{StackName: arn})
		return err
	})
}

// actOnStack carries out an action on the stack of a page, by its ARN: a name could be that of another stack meanwhile.
func (c *Console) actOnStack(w http.ResponseWriter, r *http.Request, p *page, done string, act func(ctx context.Context, arn *string) error) (templ.Component, error) {
	h, err := c.stack(r, p, "")
	if err != nil {
		return nil, err
	}
	if err := act(r.Context(), &h.ARN); err != nil {
		return nil, err
	}
	return back(w, r, p.link(stackPath(h.ARN, ""), "done", done))
}
