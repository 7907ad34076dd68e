package builtin

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/operation"
)

// masked is what a parameter with NoEcho is read as.
const masked = "****"

// update changes the set itself, and deploys its instances.
func (s *stackSet) update(c *call, set, id *string) error {
	managed := s.ManagedExecution
	if managed == nil {
		managed = &cfn.ManagedExecution{Active: aws.Bool(false)}
	}
	parameters := slices.Clone(s.Parameters)
	for i := range parameters {
		if aws.ToString(parameters[i].ParameterValue) == masked {
			parameters[i] = cfn.Parameter{ParameterKey: parameters[i].ParameterKey, UsePreviousValue: aws.Bool(true)}
		}
	}
	_, err := do[cloudformation.UpdateStackSetOutput](c, stackSetService, "UpdateStackSet", &cloudformation.UpdateStackSetInput{
		StackSetName: set, OperationId: id, OperationPreferences: s.OperationPreferences, CallAs: s.CallAs,
		Description: s.Description, TemplateBody: s.TemplateBody, TemplateURL: s.TemplateURL, Parameters: parameters, Capabilities: s.Capabilities,
		Tags: s.Tags, AdministrationRoleARN: s.AdministrationRoleARN, ExecutionRoleName: s.ExecutionRoleName,
		AutoDeployment: s.AutoDeployment, ManagedExecution: managed,
	})
	return err
}

// itself is what an update of the set changes: all but its instances and how they are deployed.
func (s stackSet) itself() stackSet {
	s.OperationPreferences, s.StackInstancesGroup = nil, nil
	order := func(a, b cfn.Parameter) int {
		return strings.Compare(aws.ToString(a.ParameterKey), aws.ToString(b.ParameterKey))
	}
	s.Parameters, s.Capabilities = slices.SortedFunc(slices.Values(s.Parameters), order), slices.Sorted(slices.Values(s.Capabilities))
	return s
}

// updates are the steps of an update: instances that are no longer declared are deleted, the set is
// changed, new instances are created, and those with other parameters updated.
func (k stackSets) updates(c *call, desired *stackSet) ([]setStep, error) {
	previous, err := k.model(c, c.request.Previous, c.request.PreviousStackTags)
	if err != nil {
		return nil, err
	}
	if desired.AutoDeployment != nil && len(desired.AutoDeployment.DependsOn) > 0 {
		return nil, invalid("AutoDeployment is not supported")
	}
	wanted, err := desired.instances()
	if err != nil {
		return nil, err
	}
	had, err := previous.instances()
	if err != nil {
		return nil, err
	}
	surplus, fresh, other := compareInstances(had, wanted)
	steps, err := k.eachGroup(surplus, desired.deleteInstances)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(previous.itself(), desired.itself()) {
		steps = append(steps, desired.update)
	}
	creates, err := k.eachGroup(fresh, desired.createInstances)
	if err != nil {
		return nil, err
	}
	changes, err := k.eachGroup(other, desired.updateInstances)
	return slices.Concat(steps, creates, changes), err
}

// compareInstances finds the instances that are declared no longer, for the first time, and with
// other parameters.
func compareInstances(had, wanted map[instance]bool) (surplus, fresh, other map[instance]bool) {
	places := func(all map[instance]bool) map[instance]bool {
		out := map[instance]bool{}
		for i := range all {
			out[instance{i.account, i.region, ""}] = true
		}
		return out
	}
	before, after := places(had), places(wanted)
	surplus, fresh, other = map[instance]bool{}, map[instance]bool{}, map[instance]bool{}
	for i := range had {
		if !after[instance{i.account, i.region, ""}] {
			i.overrides = noOverrides
			surplus[i] = true
		}
	}
	for i := range wanted {
		switch {
		case !before[instance{i.account, i.region, ""}]:
			fresh[i] = true
		case !had[i]:
			other[i] = true
		}
	}
	return surplus, fresh, other
}

// delete deletes the instances that are declared and then the set, which is refused as long as it has
// others. Outside of a stack nothing is declared, and all instances are deleted.
func (k stackSets) delete(c *call, now setState, s *stackSet) (operation.Progress, error) {
	if _, err := k.live(c, now.Set); err != nil {
		if code(err) == "NotFound" && c.request.Callback != nil {
			return succeeded(now.Set), nil // by an earlier call
		}
		return operation.Progress{}, err
	}
	if c.request.Callback == nil {
		return now.again() // a client that finds nothing after this has deleted it
	}
	steps, err := k.deletes(c, now, s)
	if err != nil {
		return operation.Progress{}, err
	}
	progress, over, err := k.walk(c, &now, steps)
	if !over {
		return progress, err
	}
	_, err = do[cloudformation.DeleteStackSetOutput](c, stackSetService, "DeleteStackSet", &cloudformation.DeleteStackSetInput{StackSetName: &now.Set, CallAs: s.CallAs})
	if refusalCode(err) == "OperationInProgressException" {
		return now.again()
	}
	return succeeded(now.Set), err
}

// deletes are the steps before a set is deleted.
func (k stackSets) deletes(c *call, now setState, s *stackSet) ([]setStep, error) {
	if c.request.StackID != "" {
		all, err := s.instances()
		if err != nil {
			return nil, err
		}
		places := map[instance]bool{}
		for i := range all {
			places[instance{i.account, i.region, noOverrides}] = true
		}
		return k.eachGroup(places, s.deleteInstances)
	}
	group, err := k.existing(c, now.Set)
	if err != nil || len(group.Regions) == 0 && !now.Begun && now.Steps == 0 {
		return nil, err
	}
	return []setStep{s.deleteInstances(group)}, nil
}

// existing are the accounts and regions in which a set has instances.
func (stackSets) existing(c *call, set string) (group stackInstances, err error) {
	accounts, regions := map[string]bool{}, map[string]bool{}
	in := &cloudformation.ListStackInstancesInput{StackSetName: &set}
	for {
		out, err := do[cloudformation.ListStackInstancesOutput](c, stackSetService, "ListStackInstances", in)
		if err != nil {
			return group, err
		}
		for _, i := range out.Summaries {
			accounts[aws.ToString(i.Account)], regions[aws.ToString(i.Region)] = true, true
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	group.DeploymentTargets.Accounts, group.Regions = slices.Sorted(maps.Keys(accounts)), slices.Sorted(maps.Keys(regions))
	return group, nil
}
