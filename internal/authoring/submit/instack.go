package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	control "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A StackTester is the CloudFormation that a type is tested in: its stacks and, through the
// Cloud Control API, its resources.
type StackTester struct {
	remote *Remote
	schema *schema.Schema
	group  func(typeName string) string // the default log group of a local server
}

// TestStacks returns the tester of a type, which has to be registered. group is the log group of
// types that were registered without one at a local server.
func (r *Remote) TestStacks(s *schema.Schema, group func(typeName string) string) *StackTester {
	return &StackTester{r, s, group}
}

// LastLines is for [contract.StackConfig].
func (t *StackTester) LastLines(ctx context.Context, since time.Time, limit int) ([]string, error) {
	ref := Reference{Name: t.schema.TypeName.Value, Kind: types.RegistryTypeResource}
	groups, _, err := t.remote.LogGroupsOf(ctx, &ref, t.group)
	if err != nil {
		return nil, err
	}
	var lines []string
	for look := 0; ; look++ { // what was written last arrives a little later, and the end of an earlier call may be there alone
		complete := false
		var found []string
		err = t.remote.Logs(ctx, LogQuery{Groups: groups, Since: since}, func(e LogEvent) error {
			for text := range strings.Lines(strings.TrimRight(e.Message, "\n")) {
				text = strings.TrimRight(text, "\n")
				if complete = strings.HasPrefix(text, "REPORT RequestId: "); text != "" && !lambda.IsFrame(text) {
					found = append(found, text)
				}
			}
			if len(found) > 10*limit {
				found = slices.Clone(found[len(found)-limit:])
			}
			return nil
		})
		if len(found) > 0 {
			lines = found
		}
		var none *NoLogsError
		if complete && (len(found) > 0 || look > 1) || err != nil && !errors.As(err, &none) || t.remote.waitAgain(ctx) != nil {
			break
		}
	}
	if len(lines) > 0 {
		err = nil // the time was up
	}
	return lines[max(0, len(lines)-limit):], err
}

var (
	_ contract.Stacks    = (*StackTester)(nil)
	_ contract.Resources = (*StackTester)(nil)
)

// refusal makes a *contract.Refusal of what a service has answered.
func refusal(err error) error {
	if c := code(err); c != "" && !passing(err) {
		message := Explain(err).Text
		if _, after, found := strings.Cut(message, c+": "); found {
			message = after
		}
		return &contract.Refusal{Code: c, Message: message}
	}
	return err
}

// Run implements [contract.Stacks].
func (t *StackTester) Run(ctx context.Context, op *contract.StackOperation) (*contract.StackOutcome, error) {
	begin := map[string]func(context.Context, *contract.StackOperation) (stack, after string, err error){
		contract.StackCreate: t.create, contract.StackUpdate: t.update, contract.StackImport: t.importInto, contract.StackDelete: t.delete,
		contract.StackMove: t.move,
	}[op.Action]
	if op.ChangeSet != "" {
		begin = t.execute
	}
	stack, after, err := begin(ctx, op)
	if err != nil {
		return nil, refusal(err)
	}
	if stack == "" { // nothing to delete
		return &contract.StackOutcome{Status: string(types.StackStatusDeleteComplete)}, nil
	}
	out, err := t.follow(ctx, stack, after)
	return out, refusal(err)
}

// template is the template as a request takes it: in itself or, if it is large, uploaded.
func (t *StackTester) template(ctx context.Context, text []byte) (body, url *string, err error) {
	if len(text) <= template.MaxBody {
		return aws.String(string(text)), nil, nil
	}
	at, err := t.remote.UploadTemplate(ctx, "", text)
	if errors.Is(err, ErrNoBucket) {
		err = fmt.Errorf("the template has %d bytes, more than the %d that fit into a request: %w", len(text), template.MaxBody, err)
	}
	return nil, &at, err
}

func tagList(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

func (t *StackTester) create(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	body, url, err := t.template(ctx, op.Template)
	if err != nil {
		return "", "", err
	}
	out, err := t.remote.cloudformation.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &op.Stack, TemplateBody: body, TemplateURL: url, Tags: tagList(op.Tags), ClientRequestToken: aws.String(t.remote.config.NewToken()),
	})
	if err != nil {
		return "", "", err
	}
	return aws.ToString(out.StackId), "", nil
}

func (t *StackTester) update(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	body, url, err := t.template(ctx, op.Template)
	if err != nil {
		return "", "", err
	}
	if after, err = t.remote.LastStackEvent(ctx, op.Stack); err != nil {
		return "", "", err
	}
	out, err := t.remote.cloudformation.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &op.Stack, TemplateBody: body, TemplateURL: url, Tags: tagList(op.Tags), ClientRequestToken: aws.String(t.remote.config.NewToken()),
	})
	if err != nil {
		return "", "", err
	}
	return aws.ToString(out.StackId), after, nil
}

// changeSet makes a change set. One that cannot be executed is refused.
func (t *StackTester) changeSet(ctx context.Context, op *contract.StackOperation, kind types.ChangeSetType) (*ChangeSet, error) {
	body, url, err := t.template(ctx, op.Template)
	if err != nil {
		return nil, err
	}
	in := &cloudformation.CreateChangeSetInput{
		StackName: &op.Stack, ChangeSetName: aws.String("cfn-test-" + t.remote.config.NewToken()), ChangeSetType: kind, TemplateBody: body, TemplateURL: url, Tags: tagList(op.Tags),
	}
	if kind == types.ChangeSetTypeImport {
		in.ResourcesToImport = []types.ResourceToImport{{
			LogicalResourceId: aws.String(onlyResource(op.Template)), ResourceType: &t.schema.TypeName.Value, ResourceIdentifier: op.Identifier,
		}}
	}
	found, err := t.remote.CreateChangeSet(ctx, in)
	if err != nil {
		return nil, err
	}
	if found.Status != types.ChangeSetStatusCreateComplete {
		reason := cmp.Or(t.validationErrors(ctx, &cloudformation.DescribeEventsInput{ChangeSetName: &found.ID}), found.Reason)
		return nil, &contract.Refusal{Code: "ChangeSet" + string(found.Status), Message: reason}
	}
	return found, nil
}

// maxValidationErrors bounds the errors of a validation in a reason.
const maxValidationErrors = 5

// validationErrors is what the validation before an operation found, which its other events only count; "" for nothing.
func (t *StackTester) validationErrors(ctx context.Context, of *cloudformation.DescribeEventsInput) string {
	of.Filters = &types.EventFilter{FailedEvents: aws.Bool(true)}
	found, err := t.remote.cloudformation.DescribeEvents(ctx, of)
	if err != nil {
		return "" // the count of the errors has to do
	}
	var all []string
	for i := range found.OperationEvents {
		e := &found.OperationEvents[i]
		if text := strings.TrimSpace(aws.ToString(e.ValidationStatusReason)); e.EventType == types.EventTypeValidationError && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	if left := len(all) - maxValidationErrors; left > 0 {
		all = append(all[:maxValidationErrors], fmt.Sprintf("%d more", left))
	}
	return strings.Join(all, "; ")
}

// onlyResource is the logical ID of the one resource of a template.
func onlyResource(template []byte) string {
	var t struct{ Resources map[string]json.RawMessage }
	if json.Unmarshal(template, &t) != nil {
		return ""
	}
	for id := range t.Resources {
		return id
	}
	return ""
}

func (t *StackTester) importInto(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	set, err := t.changeSet(ctx, op, types.ChangeSetTypeImport)
	if err != nil {
		return "", "", err
	}
	return t.execute(ctx, &contract.StackOperation{Stack: set.StackID, ChangeSet: set.ID})
}

// move executes a stack refactor.
func (t *StackTester) move(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	stack = cmp.Or(op.Move.Stack, op.Stack)
	in := &cloudformation.CreateStackRefactorInput{
		EnableStackCreation: aws.Bool(true),
		ResourceMappings: []types.ResourceMapping{{
			Source:      &types.ResourceLocation{StackName: &op.Stack, LogicalResourceId: &op.Move.From},
			Destination: &types.ResourceLocation{StackName: &stack, LogicalResourceId: &op.Move.To},
		}},
	}
	templates := map[string][]byte{op.Stack: op.Template}
	if op.Move.Stack != "" {
		templates[op.Move.Stack] = op.Move.Template
	} else if after, err = t.remote.LastStackEvent(ctx, op.Stack); err != nil {
		return "", "", err
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		body, url, err := t.template(ctx, templates[name])
		if err != nil {
			return "", "", err
		}
		in.StackDefinitions = append(in.StackDefinitions, types.StackDefinition{StackName: &name, TemplateBody: body, TemplateURL: url})
	}
	return stack, after, t.remote.Refactor(ctx, in)
}

func (t *StackTester) execute(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	if after, err = t.remote.LastStackEvent(ctx, op.Stack); err != nil {
		return "", "", err
	}
	_, err = t.remote.cloudformation.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: &op.ChangeSet})
	return op.Stack, after, err
}

// delete begins to delete a stack. It waits for the end of an operation under way first,
// during which a stack cannot be deleted. stack is "" if there is none.
func (t *StackTester) delete(ctx context.Context, op *contract.StackOperation) (stack, after string, err error) {
	for {
		found, err := t.remote.describeStack(ctx, op.Stack)
		switch {
		case err != nil:
			return "", "", err
		case found == nil || found.StackStatus == types.StackStatusDeleteComplete:
			return "", "", nil
		case Settled(found.StackStatus):
			stack = aws.ToString(found.StackId)
			if after, err = t.remote.LastStackEvent(ctx, stack); err != nil {
				return "", "", err
			}
			_, err = t.remote.cloudformation.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &stack, RetainResources: op.Retain})
			return stack, after, err
		}
		if err := t.remote.waitAgain(ctx); err != nil {
			return "", "", err
		}
	}
}

// follow waits for the end of an operation whose first event comes after one. A stack may
// still have the status of the time before for a moment: its last event is the end.
func (t *StackTester) follow(ctx context.Context, stack, after string) (*contract.StackOutcome, error) {
	out := &contract.StackOutcome{ID: stack, Outputs: map[string]string{}}
	var validation *string // the operation whose validation failed
	for {
		ended := false
		found, err := t.remote.FollowStack(ctx, stack, after, func(_ *types.Stack, events []types.StackEvent) error {
			for i := range events {
				e := &events[i]
				after = aws.ToString(e.EventId)
				out.Events = append(out.Events, stackEvent(e))
				own := aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId)
				ended = own && Settled(types.StackStatus(e.ResourceStatus))
				if strings.HasPrefix(aws.ToString(e.ResourceStatusReason), "Validation failed with ") {
					validation = e.OperationId
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		if ended {
			out.Status, out.Reason = string(found.StackStatus), aws.ToString(found.StackStatusReason)
			if validation != nil {
				out.Reason = cmp.Or(t.validationErrors(ctx, &cloudformation.DescribeEventsInput{OperationId: validation}), out.Reason)
			}
			for _, o := range found.Outputs {
				out.Outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
			return out, nil
		}
		if err := t.remote.waitAgain(ctx); err != nil {
			return out, err
		}
	}
}

func stackEvent(e *types.StackEvent) contract.StackEvent {
	return contract.StackEvent{
		LogicalID: aws.ToString(e.LogicalResourceId), PhysicalID: aws.ToString(e.PhysicalResourceId), Type: aws.ToString(e.ResourceType),
		Status: string(e.ResourceStatus), Reason: aws.ToString(e.ResourceStatusReason), Time: aws.ToTime(e.Timestamp),
	}
}

// Preview implements [contract.Stacks].
func (t *StackTester) Preview(ctx context.Context, op *contract.StackOperation) (*contract.StackPreview, error) {
	found, err := t.changeSet(ctx, op, types.ChangeSetTypeUpdate)
	if err != nil {
		return nil, refusal(err)
	}
	out := &contract.StackPreview{ID: found.ID}
	for _, c := range found.Changes {
		if c.ResourceChange == nil {
			continue
		}
		change := contract.StackChange{
			LogicalID: aws.ToString(c.ResourceChange.LogicalResourceId), Action: string(c.ResourceChange.Action), Replacement: string(c.ResourceChange.Replacement),
		}
		for _, d := range c.ResourceChange.Details {
			if d.Target != nil && d.Target.Attribute == types.ResourceAttributeProperties && !slices.Contains(change.Properties, aws.ToString(d.Target.Name)) {
				change.Properties = append(change.Properties, aws.ToString(d.Target.Name))
			}
		}
		out.Changes = append(out.Changes, change)
	}
	return out, nil
}

// Drift implements [contract.Stacks].
func (t *StackTester) Drift(ctx context.Context, stack string) ([]contract.StackDrift, error) {
	detection, err := t.remote.DetectDrift(ctx, stack)
	if err != nil {
		return nil, refusal(err)
	}
	found, err := t.remote.ResourceDrifts(ctx, stack)
	if err != nil {
		return nil, refusal(err)
	}
	var out []contract.StackDrift
	for i := range found {
		d := &found[i]
		drift := contract.StackDrift{LogicalID: aws.ToString(d.LogicalResourceId), Status: string(d.StackResourceDriftStatus), Reason: aws.ToString(d.DriftStatusReason)}
		if drift.Reason == "" && detection.DetectionStatus == types.StackDriftDetectionStatusDetectionFailed {
			drift.Reason = aws.ToString(detection.DetectionStatusReason)
		}
		for _, p := range d.PropertyDifferences {
			drift.Differences = append(drift.Differences, contract.StackDifference{
				Path: aws.ToString(p.PropertyPath), Kind: string(p.DifferenceType), Expected: aws.ToString(p.ExpectedValue), Actual: aws.ToString(p.ActualValue),
			})
		}
		out = append(out, drift)
	}
	return out, nil
}

// missing reports whether an error says that a resource does not exist.
func missing(err error) bool { return code(err) == "ResourceNotFoundException" }

// Read implements [contract.Resources].
func (t *StackTester) Read(ctx context.Context, identifier string) (map[string]any, error) {
	found, err := t.remote.Resource(ctx, t.schema.TypeName.Value, identifier)
	if missing(err) {
		return nil, contract.ErrNoResource
	}
	if err != nil {
		return nil, refusal(err)
	}
	doc, problems := document.ParseJSON("", []byte(aws.ToString(found.Properties)), document.Limits{})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("the properties of the resource: %w", err)
	}
	model, ok := t.schema.Recast(doc.Any()).(map[string]any)
	if !ok {
		return nil, errors.New("the properties of the resource are not a JSON object")
	}
	return model, nil
}

// List implements [contract.Resources].
func (t *StackTester) List(ctx context.Context, model map[string]any) ([]string, error) {
	text := ""
	if model != nil {
		data, err := json.Marshal(model)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	var out []string
	for found, err := range t.remote.Resources(ctx, t.schema.TypeName.Value, text) {
		if err != nil {
			return nil, refusal(err)
		}
		out = append(out, aws.ToString(found.Identifier))
	}
	return out, nil
}

// Change implements [contract.Resources].
func (t *StackTester) Change(ctx context.Context, identifier string, properties map[string]any) error {
	begun, err := t.begin(ctx, identifier, properties)
	if missing(err) {
		return contract.ErrNoResource
	}
	if err != nil {
		return refusal(err)
	}
	event, err := t.remote.FollowResourceRequest(ctx, aws.ToString(begun.RequestToken), func(*control.ProgressEvent) {})
	switch {
	case err != nil:
		return refusal(err)
	case event.OperationStatus == control.OperationStatusSuccess:
		return nil
	case event.ErrorCode == control.HandlerErrorCodeNotFound:
		return contract.ErrNoResource
	}
	return &contract.Refusal{Code: string(event.ErrorCode), Message: aws.ToString(event.StatusMessage)}
}

func (t *StackTester) begin(ctx context.Context, identifier string, properties map[string]any) (*control.ProgressEvent, error) {
	if properties == nil {
		return t.remote.DeleteResource(ctx, t.schema.TypeName.Value, identifier)
	}
	type change struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var patch []change
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		patch = append(patch, change{"add", document.Pointer{key}.String(), properties[key]})
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return t.remote.UpdateResource(ctx, t.schema.TypeName.Value, identifier, string(data))
}
