package stack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The limits of requests.
const (
	maxTags   = 50
	maxPolicy = 16384
)

// A deploymentInput is what a deployment is made of: the members that CreateStack,
// UpdateStack and CreateChangeSet share.
type deploymentInput struct {
	Body, URL        *string
	UsePrevious      bool
	Parameters       []types.Parameter
	Tags             []types.Tag // nil keeps those of the previous deployment
	Capabilities     []types.Capability
	NotificationARNs []string // nil keeps the previous ones
	ResourceTypes    []string
	Previous         *deploymentRow // nil for a new stack

	// Unknown are parameters whose values are not known yet, by their keys.
	Unknown map[string]bool

	// Expanded means that AUTO_EXPAND is not required: change sets and nested stacks.
	Expanded bool
}

// TemplateText reads the template that a request has or names, as it is.
func (e *Engine) TemplateText(ctx context.Context, caller awswire.Caller, body, url *string) (string, error) {
	switch {
	case body != nil && url != nil:
		return "", refuse("template-both")
	case body != nil && *body != "":
		return *body, nil
	case url != nil && *url != "":
		content, err := e.object(ctx, caller, *url, template.MaxBytes, "template-url")
		if err == nil && len(content) > template.MaxBytes {
			return "", refuse("template-size")
		}
		if err == nil {
			err = template.Room(ctx) // many may have waited for theirs: a document takes some 50 times its text
		}
		return string(content), err
	}
	return "", refuse("template-required")
}

// ReadTemplate reads the template of a request, with the errors of CreateStack.
func (e *Engine) ReadTemplate(ctx context.Context, caller awswire.Caller, body, url *string) (string, *template.Template, error) {
	text, err := e.TemplateText(ctx, caller, body, url)
	if err != nil {
		return "", nil, err
	}
	parsed, err := template.Parse("", []byte(text), template.ParseOptions{})
	return text, parsed, RefusedTemplate(err)
}

// object fetches what a URL names.
func (e *Engine) object(ctx context.Context, caller awswire.Caller, url string, limit int64, id string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(url, "s3://"); ok {
		bucket, _, _ := strings.Cut(rest, "/")
		return nil, refuse("s3-domain", bucket)
	}
	if e.config.Object == nil || !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, refuse(id)
	}
	content, err := e.config.Object(ctx, caller, url, limit)
	var refused *awswire.Error
	switch {
	case errors.Is(err, ErrNotObject):
		return nil, refuse(id)
	case errors.As(err, &refused):
		return nil, refuse("s3-access")
	}
	return content, err
}

// newDeployment creates the deployment of a request, with the errors that the service returns
// at the call.
func (e *Engine) newDeployment(ctx context.Context, caller awswire.Caller, s *stackRow, in deploymentInput) (*deploymentRow, *plan.Deployment, error) {
	row, err := e.acceptDeployment(ctx, caller, s, in)
	if err != nil {
		return nil, nil, err
	}
	d, err := e.processDeployment(ctx, caller, s, row, in.ResourceTypes)
	return row, d, err
}

// unprocessed replaces a template whose transforms failed: none of it is deployed.
const unprocessed = `{"Resources":{"Unprocessed":{"Type":"AWS::CloudFormation::WaitConditionHandle"}}}`

// processed is the template after its transforms, "" if they failed.
func (d *deploymentRow) processed() string {
	if d.Processed == unprocessed {
		return ""
	}
	return d.Processed
}

// transformedDeployment makes the deployment of a stack to create or update. What is wrong with
// a template is refused at the call, but for one with transforms: the service runs those after
// it has answered, so that problem is for the operation to fail with. d is nil then.
func (e *Engine) transformedDeployment(ctx context.Context, caller awswire.Caller, s *stackRow, in deploymentInput) (row *deploymentRow, d *plan.Deployment, problem string, err error) {
	if row, err = e.acceptDeployment(ctx, caller, s, in); err != nil {
		return nil, nil, "", err
	}
	transforms := row.Processed == ""
	if d, err = e.processDeployment(ctx, caller, s, row, in.ResourceTypes); err == nil || !transforms {
		return row, d, "", err
	}
	refused, ok := AsRefusal(err)
	if !ok {
		return nil, nil, "", err
	}
	row.Processed = unprocessed
	return row, nil, refused, nil
}

// acceptDeployment reads a request as far as no transform is needed for it: one without
// transforms is checked whole.
func (e *Engine) acceptDeployment(ctx context.Context, caller awswire.Caller, s *stackRow, in deploymentInput) (*deploymentRow, error) {
	row := &deploymentRow{ID: e.newID(), StackID: s.ID, CreatedAt: e.now(), Capabilities: store.JSONOf(in.Capabilities), NotificationARNs: store.JSONOf(in.NotificationARNs)}
	parsed, err := e.parse(ctx, caller, in, row)
	if err != nil {
		return nil, err
	}
	if row.Tags, err = tagsOf(in.Tags, in.Previous); err != nil {
		return nil, err
	}
	if in.Capabilities == nil && in.Previous != nil && !in.Expanded {
		row.Capabilities = in.Previous.Capabilities
	}
	if in.NotificationARNs == nil && in.Previous != nil {
		row.NotificationARNs = in.Previous.NotificationARNs
	}
	given := supplied(in.Parameters)
	for i := range given {
		given[i].Unknown = in.Unknown[given[i].Key]
	}
	bound, err := parsed.Bind(ctx, template.BindInput{Supplied: given, Previous: in.previousParameters(), Store: parameterStore{e, caller}})
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	row.Parameters, row.Description = store.JSONOf(*bound), parsed.Description
	if err := requireCapabilities(parsed, in); err != nil {
		return nil, err
	}
	if in.UsePrevious && in.Previous.processed() != "" {
		row.Processed = in.Previous.Processed
		return row, nil
	}
	row.transforms = parsed.HasTransforms()
	if !parsed.NeedsExpansion() {
		_, err = e.processDeployment(ctx, caller, s, row, in.ResourceTypes)
	} else if !row.transforms {
		err = RefusedTemplate(parsed.UnknownTypes(e.knownTypes(ctx, caller)))
	}
	return row, err
}

// processDeployment runs the transforms of a deployment that was accepted, and checks the
// result. All that is made for it is taken from one budget, also by a plan of it.
func (e *Engine) processDeployment(ctx context.Context, caller awswire.Caller, s *stackRow, row *deploymentRow, resourceTypes []string) (*plan.Deployment, error) {
	budget := template.BudgetOf(ctx)
	processed, err := e.expand(ctx, caller, s, row, budget)
	if err == nil {
		err = processed.Check(ctx, e.knownTypes(ctx, caller))
	}
	if err != nil {
		return nil, preprocessError(row, err)
	}
	if err := allowedTypes(processed, resourceTypes); err != nil {
		return nil, err
	}
	row.Processed, row.Description, row.Modules = string(processed.ProcessedJSON()), processed.Description, modulesOf(processed)
	d, err := deploymentOf(s, row, budget)
	if err == nil {
		row.Resources = declaredOf(d)
		err = d.Scope.Check(ctx)
	}
	return d, RefusedTemplate(err)
}

// expand runs the transforms of a template, unless it is processed already.
func (e *Engine) expand(ctx context.Context, caller awswire.Caller, s *stackRow, row *deploymentRow, budget *template.Budget) (*template.Template, error) {
	if row.Processed != "" {
		return template.Parse("", []byte(row.Processed), template.ParseOptions{Processed: true})
	}
	parsed, err := template.Parse("", []byte(row.Original), template.ParseOptions{})
	if err != nil {
		return nil, err
	}
	bound := row.Parameters.Get()
	var macros template.Macros
	if e.config.Macros != nil {
		macros = e.config.Macros(caller)
	}
	return parsed.Expand(ctx, template.ExpandInput{Parameters: &bound, Pseudo: s.pseudo(row.NotificationARNs.Get()), Macros: macros, Modules: e.modules(caller), Budget: budget})
}

// parse reads the template that a request names. A stack that is updated with its previous
// template keeps that as it was processed.
func (e *Engine) parse(ctx context.Context, caller awswire.Caller, in deploymentInput, row *deploymentRow) (*template.Template, error) {
	if in.UsePrevious {
		if in.Body != nil || in.URL != nil {
			return nil, refuse("template-previous")
		}
		if in.Previous == nil {
			return nil, refuse("template-required")
		}
		row.Original = in.Previous.Original
		body, options := in.Previous.processed(), template.ParseOptions{Processed: true}
		if body == "" { // its transforms failed: they run again
			body, options = row.Original, template.ParseOptions{}
		}
		parsed, err := template.Parse("", []byte(body), options)
		return parsed, RefusedTemplate(err)
	}
	var err error
	if row.Original, err = e.TemplateText(ctx, caller, in.Body, in.URL); err != nil {
		return nil, err
	}
	parsed, err := template.Parse("", []byte(row.Original), template.ParseOptions{})
	return parsed, RefusedTemplate(err)
}

func (in deploymentInput) previousParameters() *template.Parameters {
	if in.Previous == nil {
		return nil
	}
	previous := in.Previous.Parameters.Get()
	return &previous
}

// supplied are the parameters of a request.
func supplied(parameters []types.Parameter) []template.Supplied {
	out := make([]template.Supplied, 0, len(parameters))
	for _, p := range parameters {
		out = append(out, template.Supplied{
			Key: aws.ToString(p.ParameterKey), Value: aws.ToString(p.ParameterValue), HasValue: p.ParameterValue != nil, UsePrevious: aws.ToBool(p.UsePreviousValue),
		})
	}
	return out
}

// tagsOf are the tags of a request, or those of the previous deployment, sorted.
func tagsOf(tags []types.Tag, previous *deploymentRow) (store.JSON[[]types.Tag], error) {
	none := store.JSON[[]types.Tag]{}
	if len(tags) == 0 {
		if tags == nil && previous != nil {
			return previous.Tags, nil
		}
		return none, nil
	}
	if len(tags) > maxTags {
		return none, refuse("tags-many", len(tags))
	}
	seen := map[string]bool{}
	for _, t := range tags {
		key := aws.ToString(t.Key)
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return none, refuse("tags-reserved")
		}
		if seen[key] {
			return none, refuse("tags", key)
		}
		seen[key] = true
	}
	out := make([]types.Tag, 0, len(tags))
	for _, t := range tags {
		out = append(out, types.Tag{Key: aws.String(aws.ToString(t.Key)), Value: aws.String(aws.ToString(t.Value))})
	}
	slices.SortFunc(out, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return store.JSONOf(out), nil
}

// A parameterStore reads parameters of SSM for a caller.
type parameterStore struct {
	engine *Engine
	caller awswire.Caller
}

func (p parameterStore) StoredParameters(ctx context.Context, names []string) (map[string]template.Stored, error) {
	if p.engine.config.StoredParameters == nil {
		return map[string]template.Stored{}, nil
	}
	return p.engine.config.StoredParameters(ctx, p.caller, names)
}

// knownTypes reports which types a caller has. Each is looked up once: a template names few types many
// times. It is for one goroutine. A type that cannot be looked up counts as known: its resource fails then
// with the reason.
func (e *Engine) knownTypes(ctx context.Context, caller awswire.Caller) func(name string) bool {
	kept := map[string]bool{}
	return func(name string) bool {
		known, ok := kept[name]
		switch {
		case ok:
		case template.IsModuleType(name):
			known = e.hasModule(ctx, caller, name)
		default:
			typ, err := e.findType(ctx, caller, name)
			known = err != nil || typ != nil && typ.Provisionable()
		}
		kept[name] = known
		return known
	}
}

// findType finds the default version of a type, which every operation uses; nil for a type that does not exist.
func (e *Engine) findType(ctx context.Context, caller awswire.Caller, name string) (*operation.Type, error) {
	typ, err := e.config.Types.Type(ctx, caller, name, "")
	var unknown *operation.UnknownTypeError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	return typ, err
}

// allowedTypes refuses resources of types that a request does not allow.
func allowedTypes(t *template.Template, allowed []string) error {
	if len(allowed) == 0 {
		return nil
	}
	for _, r := range t.Resources {
		if !slices.ContainsFunc(allowed, func(pattern string) bool {
			prefix, wildcard := strings.CutSuffix(pattern, "*")
			return pattern == r.Type || wildcard && strings.HasPrefix(r.Type, prefix)
		}) {
			return refuse("type-not-allowed", r.Type, bracketed(allowed))
		}
	}
	return nil
}

// requireCapabilities refuses a template that needs more than the caller acknowledged.
func requireCapabilities(t *template.Template, in deploymentInput) error {
	given := make([]string, 0, len(in.Capabilities)+1)
	for _, c := range in.Capabilities {
		given = append(given, string(c))
	}
	if in.Expanded {
		given = append(given, template.CapabilityAutoExpand)
	}
	return RefusedTemplate(t.CheckCapabilities(given))
}

// requestHash is a fingerprint of a request, to find out whether a token was used for another one.
func requestHash(input any) string {
	text, err := json.Marshal(input)
	if err != nil {
		return "" // the inputs of operations are plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// policyOf reads a stack policy of a request, "" for none.
func (e *Engine) policyOf(ctx context.Context, caller awswire.Caller, body, url *string, both string) (string, error) {
	text := aws.ToString(body)
	switch {
	case body != nil && url != nil:
		return "", refuse(both)
	case url != nil:
		content, err := e.object(ctx, caller, *url, maxPolicy, "policy-url")
		if err != nil {
			return "", err
		}
		text = string(content)
	case body == nil:
		return "", nil
	}
	if len(text) > maxPolicy {
		return "", refuse("policy-size")
	}
	if _, err := plan.ParsePolicy(text); err != nil {
		return "", refuse("policy")
	}
	return text, nil
}

// checkRollbackConfiguration refuses triggers: nothing monitors the alarms here.
func checkRollbackConfiguration(c *types.RollbackConfiguration) error {
	if c == nil {
		return nil
	}
	for _, trigger := range c.RollbackTriggers {
		if t := aws.ToString(trigger.Type); t != "AWS::CloudWatch::Alarm" && t != "AWS::CloudWatch::CompositeAlarm" {
			return refuse("trigger-type")
		}
		if parts := strings.SplitN(aws.ToString(trigger.Arn), ":", 6); len(parts) != 6 || !strings.HasPrefix(parts[5], "alarm:") {
			return refuse("trigger-arn")
		}
	}
	if len(c.RollbackTriggers) > 0 {
		return refuse("trigger")
	}
	return nil
}
