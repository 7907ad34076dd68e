package stacktest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// refactor moves resources between stacks, or renames them. Its outcome is that of the first stack.
func (r *runner) refactor(ctx context.Context, step *Step, out *outcome) error {
	in := &cloudformation.CreateStackRefactorInput{EnableStackCreation: aws.Bool(true)}
	requests := map[*stackState]*request{}
	for _, m := range step.Moves {
		state := r.state(m.Stack)
		of, err := r.request(ctx, &Step{Stack: m.Stack, Template: m.Template, Edits: m.Edits}, state)
		if err != nil {
			return err
		}
		in.StackDefinitions = append(in.StackDefinitions, types.StackDefinition{StackName: &state.name, TemplateBody: of.body, TemplateURL: of.url})
		requests[state] = of
	}
	for _, m := range step.IDs {
		in.ResourceMappings = append(in.ResourceMappings, types.ResourceMapping{Source: r.located(m.Key), Destination: r.located(textOf(m.Value.Any()))})
	}
	err := r.cloud.remote.Refactor(ctx, in)
	var failed *contract.Refusal
	if errors.As(err, &failed) {
		return &refusal{submit.Explanation{Code: failed.Code, Text: failed.Message}}
	}
	if err != nil {
		return refusedBy(err)
	}
	return r.moved(ctx, requests, out)
}

// moved keeps what the stacks of a refactor have now.
func (r *runner) moved(ctx context.Context, requests map[*stackState]*request, out *outcome) error {
	for state, of := range requests {
		stack, err := r.cloud.remote.Stack(ctx, state.name)
		if err != nil {
			return err
		}
		if stack == nil {
			state.settled = true // its last resource has left
			continue
		}
		r.made(state, aws.ToString(stack.StackId), of)
		resources, err := r.cloud.resourcesOf(ctx, state.id)
		if err != nil {
			return err
		}
		r.cloud.calls.move(state.name, resources)
		if state == out.stack {
			out.status, out.reason = stack.StackStatus, aws.ToString(stack.StackStatusReason)
		}
	}
	return nil
}

// located is the resource that STACK.LOGICALID names.
func (r *runner) located(name string) *types.ResourceLocation {
	stack, id, _ := strings.Cut(name, ".")
	return &types.ResourceLocation{StackName: &stack, LogicalResourceId: aws.String(r.job.suite.logical(id))}
}

// constructs are the resources of the templates that the CDK made, with the paths of their constructs.
type constructs map[string]string

// constructsOf reads the paths that the CDK writes into the metadata of resources.
func constructsOf(templates []*loaded) constructs {
	out := constructs{}
	for _, t := range templates {
		for _, m := range t.root.Get("Resources").Distinct() {
			if path := m.Value.Get("Metadata").Get("aws:cdk:path"); path != nil && path.Kind == document.String {
				out[m.Key] = path.Text
			}
		}
	}
	return out
}

// match reports whether a name in a test is that of a resource: a logical ID or the path of a construct, with *.
func (c constructs) match(pattern, logical string) bool {
	if strings.Contains(pattern, "/") {
		return schema.MatchTarget(pattern, c[logical])
	}
	return schema.MatchTarget(pattern, logical)
}

// logical is the logical ID that a name without * means.
func (p *prepared) logical(name string) string {
	if strings.Contains(name, "/") {
		for logical, path := range p.constructs {
			if path == name {
				return logical
			}
		}
	}
	return name
}

// resolved is a value in which references name logical IDs, and those to other stacks are the physical IDs.
func (r *runner) resolved(v *document.Value) (*document.Value, error) {
	if v == nil {
		return nil, nil
	}
	if of := v.Get("Ref"); of != nil {
		return r.reference(v, of)
	}
	out := *v
	out.Items, out.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i := range out.Items {
		var err error
		if out.Items[i], err = r.resolved(out.Items[i]); err != nil {
			return nil, err
		}
	}
	for i, m := range out.Members {
		var err error
		if out.Members[i].Value, err = r.resolved(m.Value); err != nil {
			return nil, err
		}
		named := out.Members[i].Value
		if m.Key == "Fn::GetAtt" && len(named.Items) > 0 {
			named = named.Items[0]
		}
		if m.Key == "Fn::GetAtt" && named.Kind == document.String {
			named.Text = r.job.suite.logical(named.Text)
		}
	}
	return &out, nil
}

// reference is a Ref without the path of a construct, or the physical ID of a resource of another stack.
func (r *runner) reference(v, of *document.Value) (*document.Value, error) {
	text := &document.Value{Kind: document.String, At: of.At, Text: r.job.suite.logical(of.Text)}
	stack, id, found := strings.Cut(of.Text, ".")
	if !found || text.Text != of.Text {
		return &document.Value{Kind: document.Object, At: v.At, Members: []document.Member{{Key: "Ref", KeyAt: v.At, Value: text}}}, nil
	}
	if other := r.stacks[stack]; other != nil {
		if physical, ok := r.lastIdentifier(other.name, r.job.suite.logical(id)); ok {
			text.Text = physical
			return text, nil
		}
	}
	return nil, placedf(of.At, "there is no resource %s", of.Text)
}
