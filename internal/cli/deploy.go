package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

func newDeploy(c *app) *cobra.Command {
	opts := &deployOptions{}
	cmd := &cobra.Command{
		Use:   "deploy TEMPLATE",
		Short: "Create or update a stack from a template",
		Long: `Create or update a stack from a template and wait for the result. The stack is on AWS, or in
"cfn serve" on this machine if AWS_ENDPOINT_URL is set to it. On a terminal, a tree shows the state of
each resource, how long it has taken and what it is waiting for; otherwise each event is one line.

The stack name defaults to the name of the template file. A parameter that is not passed keeps its
current value in the stack, or gets its default. --params-file reads the formats of the aws CLI, as
JSON or YAML: a list of {"ParameterKey": K, "ParameterValue": V}, a list of "K=V", or an object with
"Parameters" and "Tags". It also reads a plain object {K: V}. --parameter and --tag override it.

A template of more than 51,200 bytes is uploaded to S3: to --s3-bucket, or else to the bucket that
cfn submit uses, if it exists.

On a terminal, cfn shows the changes first, as a tree with old and new values, and asks for
confirmation. Replacements are bold, with the property that causes them. --yes skips the question.
--plan only shows the changes: it creates a change set, including nested stacks, and deletes it.
Without a terminal, cfn does not ask.

The plan shows what the metadata com.aws.cloudformation.Context says of a resource, and warns of changes
of what must never change, as the deployed template says. With --enforce-context, such an update fails
before it begins.

--express completes resources as soon as they are configured, without waiting until they are ready; as on
AWS, it does not roll back unless --on-failure ROLLBACK is passed. --revert-drift also resets resources
that were changed outside of the stack. --import-existing-resources imports resources of new logical IDs
whose names are already in use, instead of failing. Both use a change set.

--on-failure DELETE deletes a new stack that fails; an update that fails is rolled back. --policy and
--protect change a stack that exists together with its update, or if there is nothing to update. The update
follows the new policy; the first policy of a stack is set once the update has begun. They change nothing if
the update is refused, and stay if it fails later.

--policy-out FILE writes the IAM policy that the changes need, before they are made; with --plan, that is
all. It is for the caller, or for the role of the stack if it has one. See "cfn stack permissions".

--rehearse shows what the update of a stack would do, also if a step fails, and deploys nothing. See
"cfn stack rehearse", which also describes --extension and --replay-http.

Ctrl-C stops the wait, not the deployment; "cfn stack cancel" rolls an update back. If the deployment fails, cfn prints the root cause: the
resource, the message and log of its handler, and the line of the template.

Exit code: 0 if the stack matches the template, even if nothing changed; 1 if a file or the
configuration is invalid, or the answer was no; 2 if the service rejected the request or the deployment
failed; 3 if --plan found changes or the update fails in --rehearse; 130 after Ctrl-C.`,
		Example: `  cfn deploy stack.yaml
  cfn deploy stack.yaml --stack-name shop-test --parameter Stage=test --tag team=shop
  cfn deploy stack.yaml --params-file prod.json --capabilities CAPABILITY_IAM --format json
  cfn deploy stack.yaml --plan
  cfn deploy stack.yaml --express --on-failure DELETE
  cfn deploy stack.yaml --policy policy.json --protect`,
		Annotations: map[string]string{"log": "none"},
		Args:        oneTemplate(&opts.capabilities),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := opts.request(c, args[0])
			if err != nil {
				return err
			}
			return c.deploy(cmd.Context(), opts, request)
		},
	}
	opts.flags(cmd)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A deployment is one run of cfn deploy.
type deployment struct {
	file       string // as the user gave it
	body       []byte
	name       string
	parameters []stackParameter
	tags       []types.Tag
	policy     *string // the stack policy, nil keeps that of the stack

	remote   *submit.Remote
	graph    *stackview.Graph
	existing *types.Stack // nil for a new one
	fresh    bool         // there is not even a stack with change sets only
	after    string       // the last event before the deployment
}

// request reads the files and options of a deployment.
func (o *deployOptions) request(c *app, file string) (*deployment, error) {
	d := &deployment{file: file, name: o.stackName}
	var err error
	// One byte more than a template may have, so that a larger one is refused as such.
	if d.body, err = document.ReadHead(c.path(file), template.MaxBytes+1); err != nil {
		return nil, missingFile(err, file, hintTemplate)
	}
	if len(d.body) > template.MaxBytes {
		return nil, fmt.Errorf("%s: template is larger than %d bytes", file, template.MaxBytes)
	}
	if d.name == "" {
		d.name = stackNameOf(file)
	}
	if !stackNamePattern.MatchString(d.name) {
		return nil, usagef("option --stack-name: %q is not a valid stack name: use a letter followed by letters, digits and hyphens, at most 128 characters", d.name)
	}
	if err := o.values(c, d); err != nil {
		return nil, err
	}
	if o.policy != "" {
		if d.policy, err = c.readStackPolicy(o.policy); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// values reads the parameters and tags of a deployment.
func (o *deployOptions) values(c *app, d *deployment) (err error) {
	if o.paramsFile != "" {
		if d.parameters, d.tags, err = c.readParamsFile(o.paramsFile); err != nil {
			return err
		}
	}
	for _, text := range o.parameters {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return usagef("option --parameter: expected KEY=VALUE but got %q", text)
		}
		d.parameters = setParameter(d.parameters, stackParameter{key: key, value: value})
	}
	for _, text := range o.tags {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return usagef("option --tag: expected KEY=VALUE but got %q", text)
		}
		d.tags = setTag(d.tags, key, value)
	}
	return nil
}

var stackNamePattern = lazyregexp.New(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)

// stackNameOf makes the name of a stack from that of its template.
func stackNameOf(file string) string {
	base := filepath.Base(file)
	for _, suffix := range []string{".json", ".yaml", ".yml", ".template", ".txt"} {
		base = strings.TrimSuffix(base, suffix)
	}
	base = regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(base, "-")
	return strings.Trim(base, "-")
}

// openDeployment finds out what a deployment starts from.
func (c *app) openDeployment(ctx context.Context, opts *deployOptions, d *deployment) error {
	var err error
	if d.remote, err = c.openRemote(ctx, &opts.remoteOptions); err != nil {
		return err
	}
	if d.existing, err = d.remote.Stack(ctx, d.name); err != nil {
		return c.serviceError(err)
	}
	if err := deployable(d.existing, &opts.remoteOptions, d.remote.Region); err != nil {
		return err
	}
	d.fresh = d.existing == nil || d.existing.StackStatus == types.StackStatusDeleteComplete
	if d.existing != nil && d.existing.StackStatus == types.StackStatusReviewInProgress {
		d.existing = nil // it was only looked at in a change set
	}
	d.graph = stackview.ReadGraph(ctx, d.file, d.body, template.ParseOptions{}, template.InspectInput{Supplied: d.supplied(), Pseudo: d.pseudo()})
	c.serverNotes(d.remote)
	return nil
}

func (c *app) deploy(ctx context.Context, opts *deployOptions, d *deployment) error {
	switch {
	case !opts.rehearse && len(opts.extensions)+len(opts.recordings) > 0:
		return usagef("options --extension and --replay-http: require --rehearse")
	case len(opts.seen) > 0 && opts.policyOut == "":
		return usagef("option --recording: requires --policy-out")
	case opts.rehearse:
		return c.rehearse(ctx, &rehearseOptions{deployOptions: *opts, maxRuns: defaultRuns, limit: defaultRehearsal}, d)
	}
	if err := c.openDeployment(ctx, opts, d); err != nil {
		return err
	}
	if opts.plan || opts.policyOut != "" || opts.enforce || opts.revertDrift || opts.importExisting || c.asksBefore(opts) {
		in, err := c.changeSetInput(ctx, opts, d)
		if err != nil {
			return err
		}
		return c.deployPreviewed(ctx, opts, d, in)
	}
	id, changed, err := c.beginDeployment(ctx, opts, d)
	if err != nil {
		return err
	}
	out := &deployed{app: c, remote: d.remote, options: &opts.remoteOptions, name: d.name, id: id, graph: d.graph, verb: "deploy", Changed: changed}
	switch {
	case !changed:
		return out.unchanged(ctx)
	case opts.noWait:
		return out.begun()
	}
	if d.existing == nil {
		out.rows = d.graph.Rows()
	}
	return out.follow(ctx, d.after)
}

// deployable refuses to deploy to a stack that can only be deleted, or that is in progress.
func deployable(stack *types.Stack, o *remoteOptions, region string) error {
	if stack == nil {
		return nil
	}
	name := aws.ToString(stack.StackName)
	switch stack.StackStatus {
	case types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusDeleteFailed:
		return withHint(&downstreamError{fmt.Errorf("stack %s is in %s and can only be deleted", name, stack.StackStatus)}, "cfn destroy %s%s", name, o.again(region))
	}
	if stack.StackStatus == types.StackStatusUpdateRollbackFailed {
		return withHint(&downstreamError{fmt.Errorf("stack %s is in %s: its last rollback did not finish", name, stack.StackStatus)}, "cfn stack continue %s%s", name, o.again(region))
	}
	if !submit.Settled(stack.StackStatus) {
		return withHint(&downstreamError{fmt.Errorf("stack %s is in %s; wait for the operation to finish", name, stack.StackStatus)}, "cfn stack events %s --follow%s", name, o.again(region))
	}
	return nil
}

// pseudo are the pseudo parameters that are known before the stack exists.
func (d *deployment) pseudo() template.Pseudo {
	return template.Pseudo{
		AccountID: "123456789012", Region: d.remote.Region, StackName: d.name,
		StackID: "arn:aws:cloudformation:" + d.remote.Region + ":123456789012:stack/" + d.name + "/00000000-0000-0000-0000-000000000000",
	}
}

// beginDeployment creates or updates the stack, and reports whether there was something to
// change.
func (c *app) beginDeployment(ctx context.Context, opts *deployOptions, d *deployment) (id string, changed bool, err error) {
	body, url, err := c.templateForRequest(ctx, opts, d)
	if err != nil {
		return "", false, err
	}
	client := d.remote.CloudFormation()
	if d.existing == nil {
		in := &cloudformation.CreateStackInput{
			StackName: &d.name, TemplateBody: body, TemplateURL: url, Parameters: d.apiParameters(), Tags: d.tags, Capabilities: opts.capabilities,
			RoleARN: optional(opts.role), DeploymentConfig: opts.config(), DisableValidation: trueOrNil(opts.noValidation),
			StackPolicyBody: d.policy, EnableTerminationProtection: opts.protect.value, OnFailure: types.OnFailure(opts.onFailure),
		}
		if opts.onFailure == "" { // the service accepts only one of them
			in.DisableRollback = opts.rollbackDisabled()
		}
		out, err := client.CreateStack(ctx, in)
		if err != nil {
			return "", false, c.deployError(ctx, opts, d, err)
		}
		return aws.ToString(out.StackId), true, nil
	}
	id = aws.ToString(d.existing.StackId)
	if d.after, err = d.remote.LastStackEvent(ctx, id); err != nil {
		return "", false, c.serviceError(err)
	}
	changed = true
	err = c.guardStack(ctx, opts, d, id, func() error {
		_, err := client.UpdateStack(ctx, opts.update(d, id, body, url))
		if err != nil && strings.Contains(err.Error(), "No updates are to be performed") {
			changed = false
			return nil
		}
		if err != nil {
			return c.deployError(ctx, opts, d, err)
		}
		return nil
	})
	return id, changed, err
}

// update is the request that updates a stack.
func (o *deployOptions) update(d *deployment, id string, body, url *string) *cloudformation.UpdateStackInput {
	return &cloudformation.UpdateStackInput{
		StackName: &id, TemplateBody: body, TemplateURL: url, Parameters: d.apiParameters(), Tags: d.tags, Capabilities: o.capabilities,
		RoleARN: optional(o.role), DeploymentConfig: o.config(), DisableValidation: trueOrNil(o.noValidation), DisableRollback: o.rollbackDisabled(),
	}
}

// templateForRequest returns the template, or the URL that it was uploaded to because it is
// too large for a request.
func (c *app) templateForRequest(ctx context.Context, opts *deployOptions, d *deployment) (body, url *string, err error) {
	if len(d.body) <= template.MaxBody {
		return aws.String(string(d.body)), nil, nil
	}
	at, err := d.remote.UploadTemplate(ctx, opts.bucket, d.body)
	switch {
	case errors.Is(err, submit.ErrNoBucket):
		return nil, nil, withHint(fmt.Errorf("%s has %d bytes, but a request can contain at most %d, and there is no bucket to upload it to", d.file, len(d.body), template.MaxBody),
			"pass --s3-bucket NAME")
	case err != nil:
		return nil, nil, c.serviceError(err)
	}
	return nil, &at, nil
}

// deployError explains why a deployment was refused, with the places of the template that
// the refusal is about.
func (c *app) deployError(ctx context.Context, opts *deployOptions, d *deployment, err error) error {
	explained := submit.Explain(err)
	switch explained.Code {
	case "":
		return c.serviceError(err)
	case "InsufficientCapabilitiesException":
		_, required, _ := strings.Cut(explained.Text, "[")
		required, _, _ = strings.Cut(required, "]")
		return withHint(&downstreamError{errors.New(explained.Text)}, "pass %s", opts.capabilities.with(required))
	}
	problems, inspectErr := template.Inspect(ctx, d.file, d.body, template.InspectInput{Supplied: d.supplied(), Pseudo: d.pseudo()})
	if inspectErr != nil {
		return c.serviceError(err)
	}
	var found diag.List
	for _, p := range problems {
		if p.Severity == diag.Error && strings.Contains(explained.Text, p.Message) {
			found.Add(p)
		}
	}
	if len(found) > 0 {
		_ = c.printer(c.source).Print(c.Stderr, found, "text") // see notef
		text := explained.Text
		if c.format == "text" { // the problems say it
			text = fmt.Sprintf("stack %s was not deployed; the template has %s", d.name, words.Count(len(found), "problem"))
		}
		return withHint(&downstreamError{errors.New(text)}, "run cfn template check %s to see all problems", shellQuote(d.file))
	}
	if m := unknownParameters.FindStringSubmatch(explained.Text); m != nil && d.graph != nil {
		return withHint(&downstreamError{fmt.Errorf("%s has no parameter %s", d.file, m[1])}, "%s", d.parameterHint(m[1]))
	}
	if place := d.graph.PlaceIn(explained.Text); place != "" {
		c.notef("%s: the service rejected this resource\n", place)
	}
	if m := unknownTypes.FindStringSubmatch(explained.Text); m != nil && d.remote.Local {
		if hint := c.unknownTypeHint(ctx, d.remote, strings.Split(m[1], ", ")...); hint != "" {
			return withHint(&downstreamError{errors.New(explained.Text)}, "%s", hint)
		}
	}
	return c.serviceError(err)
}

// typeError explains an error of a request about a type. If the type is unknown, the hint is the nearest name.
func (c *app) typeError(ctx context.Context, r *submit.Remote, name string, err error) error {
	if submit.Explain(err).Code == "TypeNotFoundException" && r.Local {
		if found, suggestErr := r.Suggest(ctx, name); suggestErr == nil && (found.Near != "" && found.Near != name || len(found.Regions) > 0) {
			return withHint(c.serviceError(err), "%s", c.unknownTypeHint(ctx, r, name))
		}
	}
	return c.serviceError(err)
}

// parameterHint is what to pass instead of parameters that the template does not have, in a list.
func (d *deployment) parameterHint(unknown string) string {
	var known []string
	for _, p := range d.graph.Parameters {
		known = append(known, p.Name)
	}
	for _, name := range strings.Split(unknown, ", ") {
		if hint := words.DidYouMean(name, known); hint != "" {
			return hint
		}
	}
	if len(known) == 0 {
		return "the template has no parameters: leave it out"
	}
	return "the parameters are " + words.Cut(strings.Join(known, ", "), 1000)
}

var unknownParameters = lazyregexp.New(`^\w+: ValidationError: Parameters: \[([^\]]+)\] do not exist in the template`)

var unknownTypes = lazyregexp.New(`Unrecognized resource types: \[([^\]]+)\]`)

// unknownTypeHint is what to do about the first of the types that a local server does not know.
func (c *app) unknownTypeHint(ctx context.Context, r *submit.Remote, names ...string) string {
	hint := ""
	for _, name := range names {
		which := ""
		if len(names) > 1 {
			which = name + ": "
		}
		found, err := r.Suggest(ctx, name)
		switch {
		case err != nil:
			c.logger.Debug("cannot look for similar types", "error", err)
		case len(found.Regions) > 0:
			return fmt.Sprintf("%s is registered in %s, not in %s: pass --region %s, or register it here: cfn submit --region %s",
				name, strings.Join(found.Regions, ", "), r.Region, found.Regions[0], r.Region)
		case found.Near != "":
			return fmt.Sprintf("%sdid you mean %q?", which, found.Near)
		case hint == "" && found.Hint != "":
			hint = which + found.Hint
		}
	}
	return hint
}
