package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A deployedStack is the stack of --against: its template, with the values that it was deployed with.
type deployedStack struct {
	name     string
	previous *plan.Deployment
	pseudo   template.Pseudo
	enforce  bool // what must never change is an error
}

// deployedTemplate reads the template of a stack, with its transforms run.
func (c *app) deployedTemplate(ctx context.Context, r *submit.Remote, stackID string) (*template.Template, error) {
	out, err := r.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &stackID, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return nil, c.serviceError(err)
	}
	t, err := template.Parse("the template of "+stackID, []byte(aws.ToString(out.TemplateBody)), template.ParseOptions{Processed: true})
	if err != nil {
		return nil, fmt.Errorf("read the template of the stack: %w", err)
	}
	return t, nil
}

// openAgainst reads the stack of --against.
func (c *app) openAgainst(ctx context.Context, o *checkOptions) (*deployedStack, error) {
	r, err := c.openRemote(ctx, &o.remote)
	if err != nil {
		return nil, err
	}
	stack, err := r.Stack(ctx, o.against)
	switch {
	case err != nil:
		return nil, c.serviceError(err)
	case stack == nil || stack.StackStatus == types.StackStatusReviewInProgress || stack.StackStatus == types.StackStatusDeleteComplete:
		return nil, errNoStack(o.against, r.Region)
	}
	t, err := c.deployedTemplate(ctx, r, aws.ToString(stack.StackId))
	if err != nil {
		return nil, err
	}
	account := "123456789012"
	if parts := strings.Split(aws.ToString(stack.StackId), ":"); len(parts) > 4 {
		account = parts[4]
	}
	d := &deployedStack{name: aws.ToString(stack.StackName), enforce: o.enforce, pseudo: template.Pseudo{
		AccountID: account, Region: r.Region, StackName: aws.ToString(stack.StackName), StackID: aws.ToString(stack.StackId), NotificationARNs: stack.NotificationARNs,
	}}
	parameters := &template.Parameters{}
	for _, p := range stack.Parameters {
		declared := t.Parameter(aws.ToString(p.ParameterKey))
		if declared == nil {
			continue
		}
		parameters.Bound = append(parameters.Bound, template.Bound{
			Key: declared.Name, Value: aws.ToString(p.ParameterValue), Resolved: aws.ToString(p.ResolvedValue),
			Stored: declared.IsStored(), List: declared.IsList(), NoEcho: declared.NoEcho,
		})
	}
	scope, err := t.NewScope(template.ScopeInput{Parameters: parameters, Pseudo: d.pseudo})
	if err != nil {
		return nil, fmt.Errorf("evaluate the template of the stack %s: %w", d.name, err)
	}
	d.previous = &plan.Deployment{Template: t, Parameters: parameters, Scope: scope}
	return d, nil
}

// supplied are the values of an update to a template: those that are given, else those that the stack has.
func (d *deployedStack) supplied(file string, data []byte, given []template.Supplied) []template.Supplied {
	out := slices.Clone(given)
	t, _ := template.Parse(file, data, template.ParseOptions{}) // the check reports what is wrong
	for _, b := range d.previous.Parameters.Bound {
		if t != nil && t.Parameter(b.Key) != nil && !b.NoEcho && !slices.ContainsFunc(given, func(s template.Supplied) bool { return s.Key == b.Key }) {
			out = append(out, template.Supplied{Key: b.Key, Value: b.Value, HasValue: true})
		}
	}
	return out
}

// parameters are those of an update. What is behind a parameter of Systems Manager is known if the stack has it, too.
func (d *deployedStack) parameters(next *template.Parameters, given []template.Supplied) *template.Parameters {
	out := &template.Parameters{}
	for _, b := range next.Bound {
		was, has := d.previous.Parameters.Get(b.Key)
		supplied := slices.ContainsFunc(given, func(s template.Supplied) bool { return s.Key == b.Key })
		switch {
		case supplied && b.NoEcho:
			b.Unknown = true // the value of the stack is not shown
		case has && (!supplied || was.Value == b.Value):
			was.List, was.NoEcho = b.List, b.NoEcho
			b = was
		}
		out.Bound = append(out.Bound, b)
	}
	return out
}

// compare reports what an update of the stack to a template replaces, and what it changes that must never change.
func (d *deployedStack) compare(file string, found *template.Inspection, given []template.Supplied, source *schemaSource) (diag.List, error) {
	if found.Template == nil || found.Problems.HasErrors() {
		return diag.List{{
			ID: "resource/not-compared", Severity: diag.Info, At: diag.Range{File: file},
			Message: fmt.Sprintf("the template is not compared with the stack %s: it has errors, or transforms that are not run here", d.name),
			Hint:    "cfn deploy --plan compares it with a change set",
		}}, nil
	}
	next := &plan.Deployment{Template: found.Template, Parameters: d.parameters(found.Parameters, given)}
	var err error
	if next.Scope, err = found.Template.NewScope(template.ScopeInput{Parameters: next.Parameters, Pseudo: d.pseudo}); err != nil {
		return template.Refused(err).Problems(), nil
	}
	schemas := map[string]*schema.Schema{}
	for _, r := range next.Scope.ActiveResources() {
		if schemas[r.Type], err = source.schema(r.Type); err != nil {
			return nil, err
		}
	}
	all, err := plan.Alterations(d.previous, next, schemas)
	if err != nil {
		return template.Refused(err).Problems(), nil
	}
	var out diag.List
	for _, a := range all {
		out = append(out, d.replacement(next.Scope, a)...)
	}
	for _, f := range d.previous.Template.Forbids(found.Template, changesOf(all)) {
		out.Add(d.forbidden(next, f))
	}
	return out, nil
}

// replacement is the problem of a property whose change replaces its resource.
func (d *deployedStack) replacement(scope *template.Scope, a plan.Alteration) diag.List {
	id := a.Resource.LogicalID
	if a.Removed || a.Recreation == types.RequiresRecreationNever {
		return nil
	}
	p := diag.Problem{ID: "resource/replaced", Severity: diag.Warning, At: a.Resource.At, Pointer: document.Pointer{"Resources", id}.String()}
	if a.Name == "" {
		p.ID, p.Severity = "resource/type-changed", diag.Error
		p.Message = fmt.Sprintf("Update of resource type is not permitted. The new template modifies resource type of the following resources: [%s]", id)
		p.Hint = fmt.Sprintf("the type in the stack is %s; give the new resource another logical ID", a.Before)
		return diag.List{p}
	}
	p.Pointer = document.Pointer{"Resources", id, "Properties", a.Name}.String()
	if place := scope.Locate(a.Resource.Properties, document.Pointer{a.Name}); place.Key.Start.Known() {
		p.At = place.Key
	}
	p.Message = fmt.Sprintf("the update of the stack %s replaces %s: the property %s can be set only when it is created", d.name, id, a.Name)
	if a.Recreation == types.RequiresRecreationConditionally {
		p.ID = "resource/may-be-replaced"
		p.Message = fmt.Sprintf("the update of the stack %s may replace %s: it depends on the value of %s", d.name, id, a.Name)
	}
	switch {
	case a.Secret || a.After == plan.Pending && a.Before == plan.Pending:
	case a.After == plan.Pending:
		p.Hint = "the value in the stack is " + quoted(a.Before) + "; the next one is known only during the update"
	default:
		p.Hint = "the value in the stack is " + quoted(a.Before) + ", the next one is " + quoted(a.After)
	}
	return diag.List{p}
}

// quoted is a value in a hint.
func quoted(text string) string {
	if text == "" {
		return "empty"
	}
	return `"` + short(text) + `"`
}

// changesOf are alterations by resource.
func changesOf(all []plan.Alteration) []template.ResourceChange {
	var out []template.ResourceChange
	for _, a := range all {
		if n := len(out); n == 0 || out[n-1].LogicalID != a.Resource.LogicalID {
			out = append(out, template.ResourceChange{LogicalID: a.Resource.LogicalID})
		}
		c := &out[len(out)-1]
		c.Removed = a.Removed
		c.Replaced = c.Replaced || a.Recreation == types.RequiresRecreationAlways
		if a.Name != "" {
			c.Properties = append(c.Properties, a.Name)
		}
	}
	return out
}

// forbidden is the problem of a change that must never happen.
func (d *deployedStack) forbidden(next *plan.Deployment, f template.Forbidden) diag.Problem {
	p := diag.Problem{ID: "resource/must-never-change", Severity: diag.Warning, At: next.Template.Root().At, Message: f.Text, Hint: whyHint(f.Why)}
	p.At.End = p.At.Start
	if d.enforce {
		p.Severity = diag.Error
	}
	if r := next.Template.Resource(f.LogicalID); r != nil {
		p.At, p.Pointer = r.At, document.Pointer{"Resources", f.LogicalID}.String()
		if place := next.Scope.Locate(r.Properties, document.Pointer{f.Property}); f.Property != "" && place.Key.Start.Known() {
			p.At = place.Key
		}
	}
	return p
}

// whyHint is the hint of a change that must never happen, "" if the template gives no reason.
func whyHint(why string) string {
	if why == "" {
		return ""
	}
	return "the template says why: " + words.Flat(why)
}
