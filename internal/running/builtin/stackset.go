package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stackSetService is what the operations on stack sets are found by, which belong to CloudFormation
// as those of the registry do.
const stackSetService = "stack sets"

// stackSets are AWS::CloudFormation::StackSet. A create, update or delete is a sequence of
// operations on the set, each of which is waited for. Their ids follow from the token of the
// resource's operation, so that none is begun twice.
type stackSets struct{}

// A stackSet is the model of a resource.
type stackSet struct {
	StackSetName, Description                *string
	TemplateBody, TemplateURL                *string
	AdministrationRoleARN, ExecutionRoleName *string

	PermissionModel      cfn.PermissionModels
	CallAs               cfn.CallAs
	Capabilities         []cfn.Capability
	Parameters           []cfn.Parameter
	Tags                 []cfn.Tag
	AutoDeployment       *cfn.AutoDeployment
	ManagedExecution     *cfn.ManagedExecution
	OperationPreferences *cfn.StackSetOperationPreferences
	StackInstancesGroup  []stackInstances
}

// stackInstances are instances with the same parameters.
type stackInstances struct {
	DeploymentTargets  cfn.DeploymentTargets
	Regions            []string
	ParameterOverrides []cfn.Parameter
}

// model reads a model, with the tags of the stack beside its own.
func (stackSets) model(c *call, properties map[string]any, stackTags map[string]string) (*stackSet, error) {
	properties, _ = c.types.types[c.request.Type].Schema.Recast(properties).(map[string]any)
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	s := &stackSet{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, invalid(fmt.Sprintf("The properties of %s are not readable: %T", c.request.Type, err)) // the error would show a piece of them
	}
	tags := maps.Clone(stackTags)
	if tags == nil {
		tags = map[string]string{}
	}
	for _, tag := range s.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	s.Tags = []cfn.Tag{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		s.Tags = append(s.Tags, cfn.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return s, nil
}

// An instance is the stack of a set in one account and region. Its overrides are JSON.
type instance struct{ account, region, overrides string }

// noOverrides are the overrides of instances that are to be deleted.
const noOverrides = "null"

// instances are those that a model declares, without two for one account and region.
func (s *stackSet) instances() (map[instance]bool, error) {
	found, taken := map[instance]bool{}, map[instance]bool{}
	for _, group := range s.StackInstancesGroup {
		t := group.DeploymentTargets
		switch {
		case len(t.OrganizationalUnitIds) > 0, t.AccountFilterType != "" && t.AccountFilterType != cfn.AccountFilterTypeNone:
			return nil, invalid("OrganizationalUnitIds and AccountFilterType of DeploymentTargets require AWS Organizations, which this server does not support; list the accounts in Accounts")
		case t.AccountsUrl != nil:
			return nil, invalid("AccountsUrl of DeploymentTargets is not supported by this server; list the accounts in Accounts")
		case len(t.Accounts) == 0:
			return nil, invalid("Accounts should be specified in DeploymentTargets in [SELF_MANAGED] model")
		}
		overrides := slices.SortedFunc(slices.Values(group.ParameterOverrides), func(a, b cfn.Parameter) int {
			return strings.Compare(aws.ToString(a.ParameterKey), aws.ToString(b.ParameterKey))
		})
		text, err := json.Marshal(overrides)
		if err != nil {
			return nil, err
		}
		for _, region := range group.Regions {
			for _, account := range t.Accounts {
				if taken[instance{account, region, ""}] {
					return nil, invalid(fmt.Sprintf("Stack instance [%s,%s] is duplicated", account, region))
				}
				taken[instance{account, region, ""}], found[instance{account, region, string(text)}] = true, true
			}
		}
	}
	return found, nil
}

// grouped puts instances that one operation can have into one group, in a fixed order: those with
// the same parameters whose accounts have the same regions.
func grouped(all map[instance]bool) ([]stackInstances, error) {
	regions := map[[2]string][]string{} // by overrides and account
	for i := range all {
		key := [2]string{i.overrides, i.account}
		regions[key] = append(regions[key], i.region)
	}
	accounts := map[[2]string][]string{} // by overrides and regions
	for key, list := range regions {
		slices.Sort(list)
		key2 := [2]string{key[0], strings.Join(list, " ")}
		accounts[key2] = append(accounts[key2], key[1])
	}
	var out []stackInstances
	for _, key := range slices.SortedFunc(maps.Keys(accounts), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		group := stackInstances{Regions: strings.Fields(key[1])}
		slices.Sort(accounts[key])
		group.DeploymentTargets.Accounts = accounts[key]
		if err := json.Unmarshal([]byte(key[0]), &group.ParameterOverrides); err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	return out, nil
}

// A setStep begins one operation on a set, under an id.
type setStep func(c *call, set, id *string) error

// setState is what a resource's operation remembers between its calls.
type setState struct {
	Set   string // id
	Steps int    // how many are over
	Begun bool   // whether the next one is begun
	Calls int
}

func (s setState) again() (operation.Progress, error) {
	progress, err := state{Calls: s.Calls}.again(s.Set)
	if err != nil {
		return progress, err
	}
	s.Calls++
	progress.Callback, err = json.Marshal(s)
	return progress, err
}

func (k stackSets) step(c *call) (operation.Progress, error) {
	now := setState{Set: c.request.Identifier}
	if c.request.Callback != nil {
		if err := json.Unmarshal(c.request.Callback, &now); err != nil {
			return operation.Progress{}, fmt.Errorf("read the callback context: %w", err)
		}
	}
	desired, err := k.model(c, c.desired, c.request.StackTags)
	if err != nil {
		return operation.Progress{}, err
	}
	var steps []setStep
	switch c.request.Action {
	case invoke.Create:
		if desired.PermissionModel == cfn.PermissionModelsServiceManaged {
			return operation.Progress{}, unserved{invalid("The permission model SERVICE_MANAGED requires AWS Organizations, which this server does not support; use SELF_MANAGED, or start cfn serve with --simulate " + c.request.Type)}
		}
		if steps, err = k.creates(desired); err != nil {
			return operation.Progress{}, err
		}
		if c.request.Callback == nil {
			return k.create(c, desired)
		}
	case invoke.Update:
		if _, err = k.live(c, now.Set); err != nil {
			return operation.Progress{}, err
		}
		steps, err = k.updates(c, desired)
	case invoke.Delete:
		return k.delete(c, now, desired)
	}
	if err != nil {
		return operation.Progress{}, err
	}
	progress, over, err := k.walk(c, &now, steps)
	if over {
		return succeeded(now.Set), nil
	}
	return progress, err
}

// walk continues with the steps. It reports whether all are over.
func (k stackSets) walk(c *call, now *setState, steps []setStep) (progress operation.Progress, over bool, err error) {
	for now.Steps < len(steps) {
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.request.Token+" "+strconv.Itoa(now.Steps))).String()
		if !now.Begun {
			err = steps[now.Steps](c, &now.Set, &id)
			switch refusalCode(err) {
			case "", "OperationIdAlreadyExistsException": // the answer to an earlier call was lost
				now.Begun, now.Calls = true, 0
			case "OperationInProgressException":
			default:
				return progress, false, err
			}
			progress, err = now.again()
			return progress, false, err
		}
		out, err := do[cloudformation.DescribeStackSetOperationOutput](c, stackSetService, "DescribeStackSetOperation",
			&cloudformation.DescribeStackSetOperationInput{StackSetName: &now.Set, OperationId: &id})
		if err != nil {
			return progress, false, err
		}
		switch out.StackSetOperation.Status {
		case cfn.StackSetOperationStatusSucceeded:
			now.Steps, now.Begun, now.Calls = now.Steps+1, false, 0
		case cfn.StackSetOperationStatusFailed, cfn.StackSetOperationStatusStopped:
			progress, err = k.failed(c, now.Set, id)
			return progress, false, err
		default:
			progress, err = now.again()
			return progress, false, err
		}
	}
	return progress, true, nil
}

// maxReasons bounds the reasons in the message of a failure.
const maxReasons = 5

// failed is the outcome of an operation on a set that failed or was stopped, with the reasons of its
// instances.
func (stackSets) failed(c *call, set, id string) (operation.Progress, error) {
	var reasons []string
	for _, status := range []cfn.StackSetOperationResultStatus{cfn.StackSetOperationResultStatusFailed, cfn.StackSetOperationResultStatusCancelled} {
		out, err := do[cloudformation.ListStackSetOperationResultsOutput](c, stackSetService, "ListStackSetOperationResults", &cloudformation.ListStackSetOperationResultsInput{
			StackSetName: &set, OperationId: &id, Filters: []cfn.OperationResultFilter{{Name: cfn.OperationResultFilterNameOperationResultStatus, Values: aws.String(string(status))}},
		})
		if err != nil {
			return operation.Progress{}, err
		}
		for _, result := range out.Summaries {
			if reason := aws.ToString(result.StatusReason); reason != "" && !slices.Contains(reasons, reason) && len(reasons) < maxReasons {
				reasons = append(reasons, reason)
			}
		}
		if len(reasons) > 0 {
			break
		}
	}
	return operation.Progress{
		Status: cfn.OperationStatusFailed, Identifier: set, ErrorCode: string(invoke.NotStabilized),
		Message: fmt.Sprintf("Resource of type 'Stack set operation [%s] was unexpectedly stopped or failed. status reason(s): [%s]' with identifier '%s' did not stabilize.",
			id, strings.Join(reasons, ", "), set),
	}, nil
}

// instanceName is the name of the stack of an instance.
var instanceName = lazyregexp.New(`^StackSet-.*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// create makes the set. The same call again finds it by its token.
func (stackSets) create(c *call, s *stackSet) (operation.Progress, error) {
	if instanceName.MatchString(c.request.StackName) {
		return operation.Progress{}, invalid("Nested AWS::CloudFormation::StackSet is not allowed")
	}
	out, err := do[cloudformation.CreateStackSetOutput](c, stackSetService, "CreateStackSet", &cloudformation.CreateStackSetInput{
		StackSetName: s.StackSetName, Description: s.Description, TemplateBody: s.TemplateBody, TemplateURL: s.TemplateURL,
		Parameters: s.Parameters, Capabilities: s.Capabilities, Tags: s.Tags, PermissionModel: s.PermissionModel, CallAs: s.CallAs,
		AdministrationRoleARN: s.AdministrationRoleARN, ExecutionRoleName: s.ExecutionRoleName,
		AutoDeployment: s.AutoDeployment, ManagedExecution: s.ManagedExecution, ClientRequestToken: &c.request.Token,
	})
	if refusalCode(err) == "NameAlreadyExistsException" {
		return operation.Progress{
			Status: cfn.OperationStatusFailed, ErrorCode: string(invoke.AlreadyExists),
			Message: fmt.Sprintf("Resource of type '%s' with identifier '%s' already exists.", c.request.Type, aws.ToString(s.StackSetName)),
		}, nil
	}
	if err != nil {
		return operation.Progress{}, err
	}
	return setState{Set: *out.StackSetId}.again()
}

// creates are the steps that follow the creation of a set.
func (k stackSets) creates(s *stackSet) ([]setStep, error) {
	if s.AutoDeployment != nil && len(s.AutoDeployment.DependsOn) > 0 {
		return nil, invalid("AutoDeployment is not supported")
	}
	all, err := s.instances()
	if err != nil {
		return nil, err
	}
	return k.eachGroup(all, s.createInstances)
}

// eachGroup makes a step of each group of instances.
func (stackSets) eachGroup(all map[instance]bool, step func(stackInstances) setStep) ([]setStep, error) {
	groups, err := grouped(all)
	var steps []setStep
	for _, group := range groups {
		steps = append(steps, step(group))
	}
	return steps, err
}

func (s *stackSet) createInstances(group stackInstances) setStep {
	return func(c *call, set, id *string) error {
		_, err := do[cloudformation.CreateStackInstancesOutput](c, stackSetService, "CreateStackInstances", &cloudformation.CreateStackInstancesInput{
			StackSetName: set, OperationId: id, OperationPreferences: s.OperationPreferences, CallAs: s.CallAs,
			DeploymentTargets: &group.DeploymentTargets, Regions: group.Regions, ParameterOverrides: group.ParameterOverrides,
		})
		return err
	}
}

func (s *stackSet) updateInstances(group stackInstances) setStep {
	return func(c *call, set, id *string) error {
		overrides := group.ParameterOverrides
		if overrides == nil {
			overrides = []cfn.Parameter{} // removes those that the instances have
		}
		_, err := do[cloudformation.UpdateStackInstancesOutput](c, stackSetService, "UpdateStackInstances", &cloudformation.UpdateStackInstancesInput{
			StackSetName: set, OperationId: id, OperationPreferences: s.OperationPreferences, CallAs: s.CallAs,
			DeploymentTargets: &group.DeploymentTargets, Regions: group.Regions, ParameterOverrides: overrides,
		})
		return err
	}
}

func (s *stackSet) deleteInstances(group stackInstances) setStep {
	return func(c *call, set, id *string) error {
		_, err := do[cloudformation.DeleteStackInstancesOutput](c, stackSetService, "DeleteStackInstances", &cloudformation.DeleteStackInstancesInput{
			StackSetName: set, OperationId: id, OperationPreferences: s.OperationPreferences, CallAs: s.CallAs,
			DeploymentTargets: &group.DeploymentTargets, Regions: group.Regions, RetainStacks: aws.Bool(false),
		})
		return err
	}
}

// refusalCode is the code of a refusal, "" without an error.
func refusalCode(err error) string {
	var refused *awswire.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Code
	}
	return "unknown"
}

// live describes a set that is not deleted.
func (stackSets) live(c *call, set string) (*cfn.StackSet, error) {
	out, err := do[cloudformation.DescribeStackSetOutput](c, stackSetService, "DescribeStackSet", &cloudformation.DescribeStackSetInput{StackSetName: &set})
	if err != nil {
		return nil, err
	}
	if out.StackSet.Status == cfn.StackSetStatusDeleted {
		return nil, missing()
	}
	return out.StackSet, nil
}

func (k stackSets) read(c *call) (map[string]any, error) {
	found, err := k.live(c, c.request.Identifier)
	if err != nil {
		return nil, err
	}
	model := map[string]any{
		"StackSetId": *found.StackSetId, "StackSetName": *found.StackSetName, "PermissionModel": string(found.PermissionModel),
		"ManagedExecution": map[string]any{"Active": found.ManagedExecution != nil && aws.ToBool(found.ManagedExecution.Active)},
	}
	set(model, "TemplateBody", found.TemplateBody)
	set(model, "Description", found.Description)
	set(model, "AdministrationRoleARN", found.AdministrationRoleARN)
	set(model, "ExecutionRoleName", found.ExecutionRoleName)
	var capabilities, parameters []any
	for _, capability := range found.Capabilities {
		capabilities = append(capabilities, string(capability))
	}
	for _, p := range found.Parameters {
		parameters = append(parameters, map[string]any{"ParameterKey": aws.ToString(p.ParameterKey), "ParameterValue": aws.ToString(p.ParameterValue)})
	}
	tags := map[string]string{}
	for _, tag := range found.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for name, list := range map[string][]any{"Capabilities": capabilities, "Parameters": parameters, "Tags": tagList(tags)} {
		if len(list) > 0 {
			model[name] = list
		}
	}
	return model, nil
}

func (stackSets) list(c *call, next *string) (found []string, token string, err error) {
	out, err := do[cloudformation.ListStackSetsOutput](c, stackSetService, "ListStackSets",
		&cloudformation.ListStackSetsInput{Status: cfn.StackSetStatusActive, NextToken: next})
	if err != nil {
		return nil, "", err
	}
	for _, s := range out.Summaries {
		found = append(found, aws.ToString(s.StackSetId))
	}
	return found, aws.ToString(out.NextToken), nil
}
