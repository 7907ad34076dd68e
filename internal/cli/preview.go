package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

// exitPending is the exit code for differences: pending changes, or a stack that has drifted.
const exitPending = 3

// A plannedStack is a change set with --format json.
type plannedStack struct {
	StackName string          `json:"stackName"`
	Region    string          `json:"region"`
	Pending   bool            `json:"pending"` // whether there is something to change
	Changes   []plannedChange `json:"changes"`
	Warnings  []string        `json:"warnings"` // of the validation: the execution may fail; and of what must never change

	Context *template.Context `json:"context,omitempty"` // what the metadata of the template says

	forbidden int // changes of what must never change
}

// A plannedChange is what is to happen to one resource.
type plannedChange struct {
	Action       string            `json:"action"` // create, update, replace, mayReplace, delete, remove, import
	LogicalID    string            `json:"logicalId"`
	PhysicalID   string            `json:"physicalId"`
	ResourceType string            `json:"resourceType"`
	PolicyAction string            `json:"policyAction"`
	Properties   []plannedProperty `json:"properties"`
	Nested       []plannedChange   `json:"nested"` // of a nested stack

	Context *template.Context `json:"context,omitempty"` // what the metadata of the resource says of it
}

// A plannedProperty is a part of a resource that changes.
type plannedProperty struct {
	Path     string   `json:"path"`
	Before   *string  `json:"before"` // null if there was none
	After    *string  `json:"after"`
	Replaces string   `json:"replaces"` // "always", "maybe", "" if the change is made in place
	CausedBy []string `json:"causedBy"` // parameters and resources, empty if the template was edited
}

// planActions are the words and signs of changes.
var planActions = map[string]struct{ sign, words, color string }{
	"create": {"+", "create", "\x1b[32m"}, "import": {"<", "import", "\x1b[32m"}, "update": {"~", "update", "\x1b[33m"},
	"replace": {"±", "replace", "\x1b[1;31m"}, "mayReplace": {"±", "may replace", "\x1b[1;33m"},
	"delete": {"-", "delete", "\x1b[31m"}, "remove": {"-", "remove from the stack, keep the resource", "\x1b[2m"},
	"sync": {"=", "adopt what is there", "\x1b[2m"},
}

// actionOfChange is the action of a change, for planActions.
func actionOfChange(c *types.ResourceChange) string {
	switch c.Action {
	case types.ChangeActionAdd:
		return "create"
	case types.ChangeActionImport:
		return "import"
	case types.ChangeActionRemove:
		if c.PolicyAction == types.PolicyActionRetain {
			return "remove"
		}
		return "delete"
	case types.ChangeActionSyncWithActual:
		return "sync"
	}
	switch c.Replacement {
	case types.ReplacementTrue:
		return "replace"
	case types.ReplacementConditional:
		return "mayReplace"
	}
	return "update"
}

// maxNestedPlans bounds how deep the change sets of nested stacks are read.
const maxNestedPlans = 10

// planned reads the changes of a change set, with those of nested stacks.
func (c *app) planned(ctx context.Context, r *submit.Remote, changes []types.Change, depth int) ([]plannedChange, error) {
	out := []plannedChange{}
	for _, change := range changes {
		of := change.ResourceChange
		if of == nil {
			continue
		}
		p := plannedChange{
			Action: actionOfChange(of), LogicalID: aws.ToString(of.LogicalResourceId), PhysicalID: aws.ToString(of.PhysicalResourceId),
			ResourceType: aws.ToString(of.ResourceType), PolicyAction: string(of.PolicyAction), Properties: plannedProperties(of.Details), Nested: []plannedChange{},
		}
		if of.ChangeSetId != nil && depth < maxNestedPlans {
			below, err := r.ReadChangeSet(ctx, *of.ChangeSetId)
			if err != nil {
				return nil, err
			}
			if p.Nested, err = c.planned(ctx, r, below.Changes, depth+1); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b plannedChange) int { return strings.Compare(a.LogicalID, b.LogicalID) })
	return out, nil
}

// plannedProperties merges the details of a change: several may be about one property.
func plannedProperties(details []types.ResourceChangeDetail) []plannedProperty {
	out := []plannedProperty{}
	for _, d := range details {
		if d.Target == nil || d.ChangeSource == types.ChangeSourceAutomatic {
			continue
		}
		path := string(d.Target.Attribute)
		if name := aws.ToString(d.Target.Name); name != "" {
			path = name
		}
		i := slices.IndexFunc(out, func(p plannedProperty) bool { return p.Path == path })
		if i < 0 {
			out, i = append(out, plannedProperty{Path: path, CausedBy: []string{}}), len(out)
		}
		p := &out[i]
		if d.Target.BeforeValue != nil {
			p.Before = d.Target.BeforeValue
		}
		if d.Target.AfterValue != nil {
			p.After = d.Target.AfterValue
		}
		switch {
		case d.Target.RequiresRecreation == types.RequiresRecreationAlways:
			p.Replaces = "always"
		case d.Target.RequiresRecreation == types.RequiresRecreationConditionally && p.Replaces == "":
			p.Replaces = "maybe"
		}
		if cause := aws.ToString(d.CausingEntity); cause != "" && !slices.Contains(p.CausedBy, cause) {
			p.CausedBy = append(p.CausedBy, cause)
		}
	}
	return out
}

// A planPrinter writes changes as a tree.
type planPrinter struct {
	*app
	color bool
}

// showChanges shows the changes of a stack.
func (c *app) showChanges(p plannedStack) error {
	if c.format == "json" {
		return c.printJSON(p)
	}
	if !p.Pending {
		c.printf("Stack %s is up to date: no changes.\n", p.StackName)
		return nil
	}
	c.printf("%s in %s: %s\n", p.StackName, p.Region, countPlan(p.Changes))
	printer := planPrinter{c, c.Terminal.Stdout && c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb"}
	if p.Context != nil {
		printer.context(p.Context, "")
	}
	printer.tree(p.Changes, "")
	for _, warning := range p.Warnings {
		c.notef("warning: %s\n", warning)
	}
	return nil
}

// countPlan summarizes the changes: "2 to create, 1 to replace".
func countPlan(changes []plannedChange) string {
	counts := map[string]int{}
	var count func([]plannedChange)
	count = func(changes []plannedChange) {
		for _, c := range changes {
			counts[c.Action]++
			count(c.Nested)
		}
	}
	count(changes)
	var parts []string
	for _, action := range []string{"create", "import", "update", "replace", "mayReplace", "delete", "remove", "sync"} {
		if n := counts[action]; n > 0 {
			words := map[string]string{"mayReplace": "update or replace", "remove": "remove and keep", "sync": "adopt"}[action]
			if words == "" {
				words = action
			}
			parts = append(parts, fmt.Sprintf("%d to %s", n, words))
		}
	}
	if parts == nil {
		return "only the stack itself changes"
	}
	return strings.Join(parts, ", ")
}

func (p planPrinter) tree(changes []plannedChange, indent string) {
	width := 0
	for _, c := range changes {
		width = max(width, len([]rune(c.LogicalID)))
	}
	for i, c := range changes {
		branch, below := "├─ ", "│  "
		if i == len(changes)-1 {
			branch, below = "└─ ", "   "
		}
		what := planActions[c.Action]
		line := fmt.Sprintf("%s %s  %s  %s", what.sign, words.Pad(words.Flat(c.LogicalID), min(width, 40)), words.Flat(c.ResourceType), what.words)
		if strings.HasPrefix(c.PolicyAction, "ReplaceAnd") && c.PolicyAction != string(types.PolicyActionReplaceAndDelete) {
			line += ", keep the old one"
		}
		p.line(indent + branch + p.colored(line, what.color))
		for _, property := range c.Properties {
			p.line(indent + below + "    " + p.property(property))
		}
		if c.Context != nil {
			p.context(c.Context, indent+below+"    ")
		}
		p.tree(c.Nested, indent+below)
	}
}

// context writes what authors say of a resource or a template.
func (p planPrinter) context(c *template.Context, indent string) {
	line := func(name, text string) {
		if text != "" {
			p.line(indent + name + ": " + words.CutRunes(words.Flat(text), maxContextLine))
		}
	}
	line("why", c.Why)
	line("owner", c.Owner)
	line("arch", c.Arch)
	for _, must := range c.Must {
		line("must", must)
	}
}

// maxContextLine is how many characters of a text of an author are shown.
const maxContextLine = 120

// line prints a line of the tree. With colors it bypasses the filter that keeps escape
// sequences from a terminal: untrusted texts in it are sanitized by flat.
func (p planPrinter) line(text string) {
	if p.color {
		_, _ = io.WriteString(p.screen, text+"\n") // see printf
		return
	}
	p.printf("%s\n", text)
}

func (p planPrinter) colored(text, color string) string {
	if !p.color {
		return text
	}
	return color + text + "\x1b[0m"
}

// property is a line about a property: Name: "a" → "b" (replaces the resource), from P.
func (p planPrinter) property(c plannedProperty) string {
	value := func(v *string) string { return `"` + short(words.Flat(aws.ToString(v))) + `"` }
	line := words.Flat(c.Path)
	switch {
	case c.Before != nil && c.After != nil:
		line += ": " + value(c.Before) + " → " + value(c.After)
	case c.After != nil:
		line += ": + " + value(c.After)
	case c.Before != nil:
		line += ": - " + value(c.Before)
	}
	replaces := map[string]string{"always": " (replaces the resource)", "maybe": " (may replace the resource)"}[c.Replaces]
	line += replaces
	if len(c.CausedBy) > 0 {
		line += ", from " + words.Flat(strings.Join(c.CausedBy, ", "))
	}
	if replaces != "" {
		return p.colored(line, "\x1b[1m")
	}
	return line
}

// A previewed operation is a change set that is shown before it is executed.
type previewed struct {
	set    *submit.ChangeSet
	plan   plannedStack
	review bool // the stack exists only for the change set
}

// preview makes a change set. What is not executed must be dropped.
func (c *app) preview(ctx context.Context, r *submit.Remote, name string, fresh bool, graph *stackview.Graph, in *cloudformation.CreateChangeSetInput) (*previewed, error) {
	set, err := r.CreateChangeSet(ctx, in)
	if set == nil {
		return nil, err
	}
	p := &previewed{set: set, review: fresh, plan: plannedStack{StackName: name, Region: r.Region, Changes: []plannedChange{}, Warnings: []string{}}}
	switch {
	case err != nil:
	case set.Empty():
		return p, nil
	case set.Status != types.ChangeSetStatusCreateComplete:
		err = &downstreamError{errors.New(c.setFailure(ctx, r, graph, set))}
	default:
		p.plan.Pending = true
		if p.plan.Changes, err = c.planned(ctx, r, set.Changes, 0); err == nil {
			p.plan.Warnings = c.setWarnings(ctx, r, set)
		}
	}
	if err != nil {
		c.dropPreview(ctx, r, p)
		return nil, err
	}
	return p, nil
}

// setFailure is why a change set could not be created: the results of the validation, if it
// failed.
func (c *app) setFailure(ctx context.Context, r *submit.Remote, graph *stackview.Graph, set *submit.ChangeSet) string {
	if strings.Contains(set.Reason, "AWS::EarlyValidation") {
		out, err := r.CloudFormation().DescribeEvents(ctx, &cloudformation.DescribeEventsInput{
			StackName: &set.StackID, ChangeSetName: &set.ID, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)},
		})
		if err == nil {
			if faults := c.templateFaults(ctx, r, graph, out.OperationEvents); len(faults) > 0 {
				return c.printFaults(faults)
			}
		}
	}
	for _, change := range set.Changes {
		if of := change.ResourceChange; of != nil && of.ChangeSetId != nil && strings.Contains(set.Reason, *of.ChangeSetId) {
			if below, err := r.ReadChangeSet(ctx, *of.ChangeSetId); err == nil && below.Status == types.ChangeSetStatusFailed {
				return aws.ToString(of.LogicalResourceId) + ": " + c.setFailure(ctx, r, nil, below)
			}
		}
	}
	return words.Flat(set.Reason)
}

// printFaults prints what a validation found, and returns what they come to: all of it with
// --format json.
func (c *app) printFaults(faults []stackview.Fault) string {
	var texts []string
	for _, fault := range faults {
		texts = append(texts, fault.String())
	}
	if c.format != "text" {
		return invalidTemplate(faults) + ": " + strings.Join(texts, "; ")
	}
	c.notef("%s\n", strings.Join(texts, "\n"))
	return invalidTemplate(faults)
}

// setWarnings are the warnings of the validation of a change set. A service that has none of it is
// no reason to fail.
func (c *app) setWarnings(ctx context.Context, r *submit.Remote, set *submit.ChangeSet) []string {
	out, err := r.CloudFormation().DescribeEvents(ctx, &cloudformation.DescribeEventsInput{StackName: &set.StackID, ChangeSetName: &set.ID})
	found := []string{}
	if err != nil {
		c.logger.Debug("cannot read the validation of the change set", "error", err)
		return found
	}
	for _, e := range out.OperationEvents {
		if e.EventType == types.EventTypeValidationError && e.ValidationFailureMode == types.HookFailureModeWarn && len(found) < maxWarnings {
			found = append(found, words.Flat(aws.ToString(e.LogicalResourceId)+": "+aws.ToString(e.ValidationStatusReason)))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// maxWarnings bounds how many warnings of a change set are shown.
const maxWarnings = 20

// dropWait is how long the end of the deletion of a stack without resources is waited for.
const dropWait = 20 * time.Second

// dropPreview deletes a change set that is not executed, and the stack that only it made.
// It does so even when the command was interrupted, within dropTimeout.
func (c *app) dropPreview(ctx context.Context, r *submit.Remote, p *previewed) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	if _, err := r.CloudFormation().DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: &p.set.ID}); err != nil {
		c.notef("warning: the change set %s was not deleted: %v\n", p.set.ID, submit.Explain(err).Text)
		return
	}
	if !p.review {
		return
	}
	if stack, err := r.Stack(ctx, p.set.StackID); err != nil || stack == nil || stack.StackStatus != types.StackStatusReviewInProgress {
		return
	}
	if _, err := r.CloudFormation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &p.set.StackID}); err != nil {
		c.notef("warning: the stack %s, which has no resources, was not deleted: %v\n", p.plan.StackName, submit.Explain(err).Text)
		return
	}
	// A deployment that follows at once must not meet a stack that is being deleted.
	within, cancel := context.WithTimeout(ctx, dropWait)
	defer cancel()
	_, _ = r.FollowStack(within, p.set.StackID, "", func(*types.Stack, []types.StackEvent) error { return nil })
}

// dropTimeout bounds the deletion of a change set that is not executed.
const dropTimeout = 10 * time.Second

// changeSetName is the name of a change set of this command: one at a time is enough.
func (c *app) changeSetName() *string {
	return aws.String("cfn-" + c.Now().UTC().Format("20060102-150405-000"))
}

// changeSetInput is the change set of a deployment.
func (c *app) changeSetInput(ctx context.Context, opts *deployOptions, d *deployment) (*cloudformation.CreateChangeSetInput, error) {
	body, url, err := c.templateForRequest(ctx, opts, d)
	if err != nil {
		return nil, err
	}
	in := &cloudformation.CreateChangeSetInput{
		StackName: &d.name, ChangeSetName: c.changeSetName(), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: body, TemplateURL: url,
		Parameters: d.apiParameters(), Tags: d.tags, IncludeNestedStacks: aws.Bool(true),
	}
	if d.existing != nil {
		in.StackName, in.ChangeSetType = d.existing.StackId, types.ChangeSetTypeUpdate
	}
	in.Capabilities, in.RoleARN, in.DeploymentConfig, in.DisableValidation = opts.capabilities, optional(opts.role), opts.config(), trueOrNil(opts.noValidation)
	in.ImportExistingResources = trueOrNil(opts.importExisting)
	if opts.revertDrift && d.existing != nil { // a new stack has not drifted
		in.DeploymentMode, in.IncludeNestedStacks = types.DeploymentModeRevertDrift, nil
	}
	if d.existing == nil {
		in.OnStackFailure = types.OnStackFailure(opts.onFailure)
	}
	return in, nil
}

// deployPreviewed shows a change set, asks, and executes it.
func (c *app) deployPreviewed(ctx context.Context, opts *deployOptions, d *deployment, in *cloudformation.CreateChangeSetInput) error {
	p, err := c.preview(ctx, d.remote, d.name, d.fresh, d.graph, in)
	var downstream *downstreamError
	switch {
	case errors.As(err, &downstream) || err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return c.deployError(ctx, opts, d, err)
	}
	if err := c.readContext(ctx, opts, d, &p.plan); err != nil {
		c.dropPreview(ctx, d.remote, p)
		return err
	}
	if opts.policyOut != "" {
		if err := c.writeDeployPolicy(ctx, opts, d, p, aws.ToString(in.TemplateURL)); err != nil {
			c.dropPreview(ctx, d.remote, p)
			return err
		}
	}
	refused := opts.enforce && p.plan.forbidden > 0
	out := &deployed{app: c, remote: d.remote, options: &opts.remoteOptions, name: d.name, id: p.set.StackID, graph: d.graph, verb: "deploy", Changed: p.plan.Pending}
	if opts.plan || refused || !p.plan.Pending {
		c.dropPreview(ctx, d.remote, p)
	}
	switch {
	case !opts.plan && !p.plan.Pending:
		if err := c.guardStack(ctx, opts, d, p.set.StackID, func() error { return nil }); err != nil {
			return err
		}
		return out.unchanged(ctx)
	case opts.plan || refused || c.format == "text":
		if err := c.showChanges(p.plan); err != nil {
			return err
		}
	}
	switch {
	case refused:
		return withHint(fmt.Errorf("stack %s was not deployed: %s of what must never change", d.name, words.Count(p.plan.forbidden, "change")), "leave out --enforce-context if the change is meant")
	case opts.plan && p.plan.Pending:
		return &exitError{exitPending, ""}
	case opts.plan:
		return nil
	case c.asksBefore(opts):
		if err := c.confirm(ctx, "Make these changes?"); err != nil {
			c.dropPreview(ctx, d.remote, p)
			return err
		}
	}
	return c.executePreview(ctx, opts, d, p, out)
}

// executePreview executes a change set that was shown.
func (c *app) executePreview(ctx context.Context, opts *deployOptions, d *deployment, p *previewed, out *deployed) error {
	after, err := d.remote.LastStackEvent(ctx, p.set.StackID)
	if err != nil {
		return c.serviceError(err)
	}
	in := &cloudformation.ExecuteChangeSetInput{ChangeSetName: &p.set.ID}
	if d.existing != nil || opts.onFailure == "" { // a change set for a new stack says it itself
		in.DisableRollback = opts.rollbackDisabled()
	}
	err = c.guardStack(ctx, opts, d, p.set.StackID, func() error {
		_, err := d.remote.CloudFormation().ExecuteChangeSet(ctx, in)
		if err != nil {
			c.dropPreview(ctx, d.remote, p)
			return c.serviceError(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if opts.noWait {
		return out.begun()
	}
	if d.existing == nil {
		out.rows = d.graph.Rows()
	}
	return out.follow(ctx, after)
}
