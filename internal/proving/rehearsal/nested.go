package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// Nested stacks are rebuilt like the stack itself. What belongs to one is named by its path: the logical IDs from the stack on, joined
// with ".".

// The bounds of a tree of stacks.
const (
	maxStacks = 100
	maxDepth  = 8
)

func join(path, logicalID string) string {
	if path == "" {
		return logicalID
	}
	return path + "." + logicalID
}

// all are a template and those of its nested stacks, by path.
func (s *source) all() iter.Seq2[*source, string] {
	return func(yield func(*source, string) bool) { s.walk("", yield) }
}

func (s *source) walk(path string, yield func(*source, string) bool) bool {
	if !yield(s, path) {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(s.nested)) {
		if child := s.nested[id]; child != nil && !child.walk(join(path, id), yield) {
			return false
		}
	}
	return true
}

func allOf(templates []*source) iter.Seq[*source] {
	return func(yield func(*source) bool) {
		for _, t := range templates {
			for s := range t.all() {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// resource is a resource of the template or of a nested stack, nil if there is none.
func (s *source) resource(path string) *template.Resource {
	id, rest, nested := strings.Cut(path, ".")
	if !nested {
		return s.parsed.Resource(id)
	}
	if child := s.nested[id]; child != nil {
		return child.resource(rest)
	}
	return nil
}

// pendingURL stands for the TemplateURL of a nested stack until its template is uploaded.
func pendingURL(id string) string { return "rehearsal://" + id }

// settle makes the nested stacks without a template one step each. What cannot fail in a rehearsal, or needs the outside, is left out of
// the others.
func (s *source) settle() error {
	if len(s.nested) == 0 {
		return nil
	}
	resources, _ := s.root["Resources"].(map[string]any)
	for id, child := range s.nested {
		r, _ := resources[id].(map[string]any)
		properties, ok := r["Properties"].(map[string]any)
		if child == nil || !ok {
			r["Type"], s.nested[id] = nestedType, nil
			s.note("nested stacks whose templates are not known are one step each: " + id)
			continue
		}
		properties["TemplateURL"] = pendingURL(id)
		delete(properties, "TimeoutInMinutes")
		delete(properties, "NotificationARNs")
		if err := child.settle(); err != nil {
			return err
		}
		s.notes = append(s.notes, child.notes...)
	}
	return s.parse()
}

// text is the template with the addresses of those of its nested stacks.
func (s *source) text(ctx context.Context, upload func(context.Context, string) (string, error)) (string, error) {
	text := s.body
	for id, child := range s.nested {
		if child == nil {
			continue
		}
		body, err := child.text(ctx, upload)
		if err != nil {
			return "", err
		}
		url, err := upload(ctx, body)
		if err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, encoded(pendingURL(id)), encoded(url))
	}
	return text, nil
}

// readNested reads the nested stacks of a stack. One that cannot be read is one step.
func (d *deployed) readNested(ctx context.Context, config *Config, of *source, path string, depth int) error {
	for id := range of.nested {
		at := join(path, id)
		r := d.resources[at]
		if r == nil || r.Type != stackType {
			continue
		}
		stack, child, err := d.readStack(ctx, config, at, r.PhysicalID, depth+1)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.remark("the nested stack %s could not be read, so it is one step: %s", at, reasonOf(err))
			d.forget(at)
		default:
			d.stacks[at], of.nested[id] = stack, child
		}
	}
	return nil
}

// forget drops what is known of the resources of a nested stack.
func (d *deployed) forget(path string) {
	maps.DeleteFunc(d.resources, func(at string, _ *resource) bool { return strings.HasPrefix(at, path+".") })
	maps.DeleteFunc(d.stacks, func(at string, _ *types.Stack) bool { return at == path || strings.HasPrefix(at, path+".") })
}

// reasonOf is why a request failed, without the names of requests.
func reasonOf(err error) string {
	if code := submit.Explain(err).Code; code != "" {
		return code
	}
	return err.Error()
}

// nextNested reads the templates that the nested stacks of the next template have. One that cannot be read is one step, before and after
// the update.
func (c *Config) nextNested(ctx context.Context, d *deployed, before, after *source, path string, depth int) error {
	scope, wrong := c.scope(d, after, path)
	for id := range after.nested {
		child, err := (*source)(nil), wrong
		if wrong == nil {
			child, err = c.nextTemplate(ctx, scope, after, before, id, join(path, id), depth)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.remark("the template of the nested stack %s could not be read, so it is one step: %s", join(path, id), reasonOf(err))
		}
		after.nested[id] = child
	}
	// A stack is looked into on both sides, or on none.
	for id := range after.nested {
		was, existed := before.nestedOf(id)
		switch {
		case after.nested[id] != nil && existed && was == nil:
			after.nested[id] = nil
		case after.nested[id] == nil && was != nil:
			before.nested[id] = nil
			d.forget(join(path, id))
		case after.nested[id] != nil:
			if err := c.nextNested(ctx, d, was, after.nested[id], join(path, id), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// nestedOf is the template of a nested stack, and whether there is one.
func (s *source) nestedOf(id string) (*source, bool) {
	if s == nil {
		return nil, false
	}
	child, exists := s.nested[id]
	return child, exists
}

// nextTemplate reads the next template of a nested stack.
func (c *Config) nextTemplate(ctx context.Context, scope *template.Scope, of, before *source, id, path string, depth int) (*source, error) {
	if c.stacks++; c.stacks > maxStacks || depth >= maxDepth {
		return nil, fmt.Errorf("there are more than %d nested stacks, or they are nested more than %d times", maxStacks, maxDepth)
	}
	r := of.parsed.Resource(id)
	value, err := scope.Evaluate(r.Properties.Get("TemplateURL"), template.NoReferences{})
	url, ok := value.(string)
	if err != nil || !ok || template.HasUnknown(value) {
		return nil, errors.New("its TemplateURL depends on other resources")
	}
	body, err := c.Remote.Object(ctx, url, template.MaxBytes)
	if err != nil {
		was, _ := before.nestedOf(id)
		if was == nil || before.parsed.Resource(id) == nil || string(before.parsed.Resource(id).Properties.AppendJSON(nil)) != string(r.Properties.AppendJSON(nil)) {
			return nil, err
		}
		body = was.original // the address is the same
	}
	return parseSource("the template of "+path, body)
}

// readStack reads a stack, its resources and its nested stacks. The stack itself has the path "".
func (d *deployed) readStack(ctx context.Context, config *Config, path, name string, depth int) (*types.Stack, *source, error) {
	if len(d.stacks) >= maxStacks || depth > maxDepth {
		return nil, nil, fmt.Errorf("there are more than %d nested stacks, or they are nested more than %d times", maxStacks, maxDepth)
	}
	stack, err := config.Remote.Stack(ctx, name)
	switch {
	case err != nil:
		return nil, nil, err
	case stack == nil:
		return nil, nil, fmt.Errorf("the stack %s does not exist", name)
	case !slices.Contains(startStatuses, stack.StackStatus):
		return nil, nil, fmt.Errorf("the stack %s is in %s, from which it cannot be updated", name, stack.StackStatus)
	}
	processed, err := config.Remote.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: stack.StackId, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return nil, nil, err
	}
	shown := name
	if path != "" {
		shown = path
	}
	of, err := parseSource("the template of "+shown, []byte(aws.ToString(processed.TemplateBody)))
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for r, err := range config.Remote.StackResources(ctx, aws.ToString(stack.StackId)) {
		if err != nil {
			return nil, nil, err
		}
		if n++; n > maxResources {
			return nil, nil, fmt.Errorf("the stack %s has more than %d resources", shown, maxResources)
		}
		if physical := aws.ToString(r.PhysicalResourceId); physical != "" && r.ResourceStatus != types.ResourceStatusDeleteComplete {
			at := join(path, aws.ToString(r.LogicalResourceId))
			d.resources[at] = &resource{LogicalID: at, Type: aws.ToString(r.ResourceType), PhysicalID: physical}
		}
	}
	return stack, of, d.readNested(ctx, config, of, path, depth)
}
