package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// refactorOptions are the options of cfn stack refactor.
type refactorOptions struct {
	*remoteOptions
	maps        []string
	description string
	bucket      string
	execute     string
	plan, yes   bool
}

// A stackRefactor is a refactor with --format json.
type stackRefactor struct {
	ID              string        `json:"id"`
	Region          string        `json:"region"`
	Status          string        `json:"status"`
	Reason          string        `json:"reason"`
	ExecutionStatus string        `json:"executionStatus"`
	ExecutionReason string        `json:"executionReason"`
	Stacks          []movedStack  `json:"stacks"`
	Moves           []resourceMap `json:"moves"`
}

// A movedStack is a stack of a refactor.
type movedStack struct {
	StackName string `json:"stackName"`
	Created   bool   `json:"created"` // by the refactor
}

// A resourceMap is a resource that moves or gets another name.
type resourceMap struct {
	FromStack  string `json:"fromStack"`
	FromID     string `json:"fromLogicalId"`
	ToStack    string `json:"toStack"`
	ToID       string `json:"toLogicalId"`
	PhysicalID string `json:"physicalId"`
	Mapped     bool   `json:"mapped"` // by --map, not found by the service
}

func newStackRefactor(c *app, remote *remoteOptions) *cobra.Command {
	opts := &refactorOptions{remoteOptions: remote}
	cmd := &cobra.Command{
		Use:   "refactor STACK=TEMPLATE [STACK=TEMPLATE…]",
		Short: "Move resources between stacks, or rename them, without touching them",
		Long: `Move resources between stacks, or change their logical IDs, without creating, changing or deleting them.
Each argument is a stack with the template that it is to have: at most 5. A stack that does not exist is
created. The templates must not change anything else.

The service finds out which resource moves where. If several resources are alike, --map says it:
FROM/LOGICALID=TO/LOGICALID with the names of the stacks.

cfn shows first what moves and asks for confirmation; without a terminal, pass --yes. --plan only shows it,
with the ID that --execute takes later.

Exit code: 0 if the resources have moved; 1 if a file or the configuration is invalid, or the answer was
no; 2 if the service rejected the request or the refactor failed; 3 after --plan; 130 after Ctrl-C.`,
		Example: `  cfn stack refactor shop=shop.yaml orders=orders.yaml
  cfn stack refactor shop=shop.yaml --map shop/Orders=shop/OrderTable --plan
  cfn stack refactor --execute 1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901 --yes`,
		Annotations: map[string]string{"log": "none"},
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case opts.execute == "" && len(args) == 0:
				return errors.New("the following arguments are required: STACK=TEMPLATE")
			case opts.execute != "" && len(args) > 0:
				return fmt.Errorf("unexpected argument: %s (with --execute)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.refactor(cmd.Context(), opts, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.maps, "map", nil, "move the resource `FROM/ID=TO/ID` (may be repeated)")
	flags.StringVar(&opts.description, "description", "", "describe the refactor with `TEXT`")
	flags.StringVar(&opts.bucket, "s3-bucket", "", "upload large templates to the bucket `NAME`")
	flags.StringVar(&opts.execute, "execute", "", "execute the refactor `ID` that was created with --plan")
	flags.BoolVar(&opts.plan, "plan", false, "only show what would move")
	flags.BoolVar(&opts.yes, "yes", false, "do not ask for confirmation")
	cmd.MarkFlagsMutuallyExclusive("plan", "yes")
	for _, name := range []string{"map", "description", "s3-bucket", "plan"} {
		cmd.MarkFlagsMutuallyExclusive("execute", name)
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// refactor creates a refactor or finds the one to execute, shows it and executes it.
func (c *app) refactor(ctx context.Context, opts *refactorOptions, args []string) error {
	mappings, err := resourceMappings(opts.maps)
	if err != nil {
		return err
	}
	definitions, bodies, err := c.stackDefinitions(args)
	if err != nil {
		return err
	}
	if !opts.yes && !opts.plan && (!c.Terminal.Stdin || !c.Terminal.Stderr) {
		return withHint(errors.New("confirmation required, but there is no terminal"), "pass --yes")
	}
	r, err := c.openRemote(ctx, opts.remoteOptions)
	if err != nil {
		return err
	}
	var made *cloudformation.DescribeStackRefactorOutput
	if opts.execute != "" {
		made, err = r.FollowRefactor(ctx, opts.execute)
	} else {
		in := &cloudformation.CreateStackRefactorInput{StackDefinitions: definitions, ResourceMappings: mappings, EnableStackCreation: aws.Bool(true)}
		if opts.description != "" {
			in.Description = &opts.description
		}
		if err := c.placeTemplates(ctx, r, opts.bucket, args, definitions, bodies); err != nil {
			return err
		}
		made, err = r.CreateRefactor(ctx, in)
	}
	if err != nil {
		return c.serviceError(err)
	}
	actions, err := r.RefactorActions(ctx, aws.ToString(made.StackRefactorId))
	if err != nil {
		return c.serviceError(err)
	}
	out := refactorOf(made, actions, r.Region)
	if made.Status != types.StackRefactorStatusCreateComplete {
		if c.format == "json" {
			if err := c.printJSON(out); err != nil {
				return err
			}
		}
		return &downstreamError{fmt.Errorf("the refactor cannot be executed: %s", cmp.Or(words.Flat(out.Reason), out.Status))}
	}
	return c.executeRefactor(ctx, opts, r, out)
}

// executeRefactor shows a refactor, asks, and executes it.
func (c *app) executeRefactor(ctx context.Context, opts *refactorOptions, r *submit.Remote, out stackRefactor) error {
	if opts.plan && c.format == "json" {
		if err := c.printJSON(out); err != nil {
			return err
		}
		return &exitError{exitPending, ""}
	}
	if c.format == "text" {
		c.showRefactor(out)
	}
	switch {
	case opts.plan:
		c.notef("cfn stack refactor --execute %s%s executes it\n", out.ID, opts.again(r.Region))
		return &exitError{exitPending, ""}
	case out.ExecutionStatus != string(types.StackRefactorExecutionStatusAvailable):
		reason := "its execution status is " + out.ExecutionStatus
		if out.ExecutionReason != "" {
			reason += ": " + words.Flat(out.ExecutionReason)
		}
		return &downstreamError{fmt.Errorf("the refactor cannot be executed: %s", reason)}
	case !opts.yes:
		if err := c.confirm(ctx, "Move these resources?"); err != nil {
			return err
		}
	}
	if _, err := r.CloudFormation().ExecuteStackRefactor(ctx, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: &out.ID}); err != nil {
		return c.serviceError(err)
	}
	end, err := r.FollowRefactor(ctx, out.ID)
	if err != nil {
		if ctx.Err() != nil {
			c.notef("the refactor %s continues\n", out.ID)
		}
		return c.serviceError(err)
	}
	out.ExecutionStatus, out.ExecutionReason = string(end.ExecutionStatus), aws.ToString(end.ExecutionStatusReason)
	if c.format == "json" {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		c.printf("Refactor %s in %s: %s\n", out.ID, out.Region, out.ExecutionStatus)
	}
	if end.ExecutionStatus != types.StackRefactorExecutionStatusExecuteComplete {
		return &downstreamError{fmt.Errorf("the refactor failed: %s", cmp.Or(words.Flat(out.ExecutionReason), out.ExecutionStatus))}
	}
	return nil
}

// stackDefinitions reads the arguments STACK=TEMPLATE, and the templates.
func (c *app) stackDefinitions(args []string) (out []types.StackDefinition, bodies [][]byte, err error) {
	for _, arg := range args {
		name, file, found := strings.Cut(arg, "=")
		if !found || name == "" || file == "" {
			return nil, nil, usagef("expected STACK=TEMPLATE but got %q", arg)
		}
		if !strings.HasPrefix(name, "arn:") && !stackNamePattern.MatchString(name) {
			return nil, nil, usagef("%q is not a valid stack name: use a letter followed by letters, digits and hyphens, at most 128 characters", name)
		}
		body, err := document.ReadHead(c.path(file), template.MaxBytes+1)
		if err != nil {
			return nil, nil, missingFile(err, file, hintTemplate)
		}
		if len(body) > template.MaxBytes {
			return nil, nil, fmt.Errorf("%s: template is larger than %d bytes", file, template.MaxBytes)
		}
		out, bodies = append(out, types.StackDefinition{StackName: &name}), append(bodies, body)
	}
	return out, bodies, nil
}

// placeTemplates puts the templates into the request, or uploads those that are too large for it.
func (c *app) placeTemplates(ctx context.Context, r *submit.Remote, bucket string, args []string, definitions []types.StackDefinition, bodies [][]byte) error {
	for i, body := range bodies {
		_, file, _ := strings.Cut(args[i], "=")
		var err error
		d := &deployment{file: file, body: body, remote: r}
		if definitions[i].TemplateBody, definitions[i].TemplateURL, err = c.templateForRequest(ctx, &deployOptions{bucket: bucket}, d); err != nil {
			return err
		}
	}
	return nil
}

// resourceMappings reads the values of --map: FROM/ID=TO/ID.
func resourceMappings(texts []string) (out []types.ResourceMapping, err error) {
	for _, text := range texts {
		from, to, found := strings.Cut(text, "=")
		source, destination := resourceLocation(from), resourceLocation(to)
		if !found || source == nil || destination == nil {
			return nil, usagef("option --map: expected FROM/LOGICALID=TO/LOGICALID but got %q", text)
		}
		out = append(out, types.ResourceMapping{Source: source, Destination: destination})
	}
	return out, nil
}

// resourceLocation reads STACK/LOGICALID; nil for anything else. The ARN of a stack has slashes.
func resourceLocation(text string) *types.ResourceLocation {
	at := strings.LastIndex(text, "/")
	if at <= 0 || at == len(text)-1 {
		return nil
	}
	return &types.ResourceLocation{StackName: aws.String(text[:at]), LogicalResourceId: aws.String(text[at+1:])}
}

// refactorOf is a refactor as it is shown.
func refactorOf(made *cloudformation.DescribeStackRefactorOutput, actions []types.StackRefactorAction, region string) stackRefactor {
	out := stackRefactor{
		ID: aws.ToString(made.StackRefactorId), Region: region, Status: string(made.Status), Reason: aws.ToString(made.StatusReason),
		ExecutionStatus: string(made.ExecutionStatus), ExecutionReason: aws.ToString(made.ExecutionStatusReason),
		Stacks: []movedStack{}, Moves: []resourceMap{},
	}
	created := map[string]bool{}
	for _, a := range actions {
		if a.Entity == types.StackRefactorActionEntityStack && a.Action == types.StackRefactorActionTypeCreate {
			created[stackNameIn(aws.ToString(a.PhysicalResourceId))] = true
		}
		m := a.ResourceMapping
		if a.Entity != types.StackRefactorActionEntityResource || m == nil || m.Source == nil || m.Destination == nil {
			continue
		}
		out.Moves = append(out.Moves, resourceMap{
			stackNameIn(aws.ToString(m.Source.StackName)), aws.ToString(m.Source.LogicalResourceId),
			stackNameIn(aws.ToString(m.Destination.StackName)), aws.ToString(m.Destination.LogicalResourceId),
			aws.ToString(a.PhysicalResourceId), a.Detection == types.StackRefactorDetectionManual,
		})
	}
	for _, id := range made.StackIds {
		name := stackNameIn(id)
		out.Stacks = append(out.Stacks, movedStack{name, created[name]})
	}
	slices.SortStableFunc(out.Moves, func(a, b resourceMap) int {
		return cmp.Or(strings.Compare(a.ToStack, b.ToStack), strings.Compare(a.ToID, b.ToID))
	})
	return out
}

// stackNameIn is the name in the ARN of a stack; other texts are names already.
func stackNameIn(id string) string {
	if _, after, found := strings.Cut(id, ":stack/"); found {
		name, _, _ := strings.Cut(after, "/")
		return name
	}
	return id
}

// showRefactor shows what each stack gets, as a tree.
func (c *app) showRefactor(out stackRefactor) {
	c.printf("%s in %s: %d to move\n", out.ID, out.Region, len(out.Moves))
	for i, stack := range out.Stacks {
		branch, below := "├─ ", "│  "
		if i == len(out.Stacks)-1 {
			branch, below = "└─ ", "   "
		}
		line := branch + words.Flat(stack.StackName)
		if stack.Created {
			line += "  (new stack)"
		}
		c.printf("%s\n", line)
		var lines []string
		for _, m := range out.Moves {
			switch {
			case m.ToStack == stack.StackName && m.FromStack == stack.StackName:
				lines = append(lines, fmt.Sprintf("~ %s  renamed from %s  %s", words.Flat(m.ToID), words.Flat(m.FromID), words.Flat(m.PhysicalID)))
			case m.ToStack == stack.StackName:
				lines = append(lines, fmt.Sprintf("+ %s  from %s/%s  %s", words.Flat(m.ToID), words.Flat(m.FromStack), words.Flat(m.FromID), words.Flat(m.PhysicalID)))
			case m.FromStack == stack.StackName:
				lines = append(lines, fmt.Sprintf("- %s  to %s/%s", words.Flat(m.FromID), words.Flat(m.ToStack), words.Flat(m.ToID)))
			}
		}
		for n, text := range lines {
			branch := "├─ "
			if n == len(lines)-1 {
				branch = "└─ "
			}
			c.printf("%s%s%s\n", below, branch, text)
		}
	}
}
