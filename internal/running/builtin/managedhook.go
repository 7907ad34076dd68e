package builtin

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A managedHook is AWS::CloudFormation::LambdaHook or AWS::CloudFormation::GuardHook.
type managedHook struct{ kind string }

// hookMembers are the properties that are settings of the hook, by their names there.
var hookMembers = map[string]string{
	"HookStatus": "HookInvocationStatus", "FailureMode": "FailureMode", "TargetOperations": "TargetOperations",
	"StackFilters": "StackFilters", "TargetFilters": "TargetFilters",
}

func (managedHook) arn(c *call, alias string) string {
	place := c.request.Caller.Place
	return schema.TypeARN{Partition: awswire.PartitionOf(place.Region), Region: place.Region, Account: place.Account, Kind: schema.Hook, TypeName: alias}.String()
}

func (l managedHook) identifier(c *call) (string, error) {
	alias := c.text("Alias")
	if strings.HasPrefix(strings.ToLower(alias), "aws") || strings.Count(alias, "::") != 2 {
		return "", invalid("The property {/Alias} must be in the form Name1::Name2::Name3 and must not begin with AWS.")
	}
	return l.arn(c, alias), nil
}

// guardProperties are those that only Guard Hooks have.
var guardProperties = []string{"RuleLocation", "Options", "LogBucket"}

// row is the hook that is desired.
func (l managedHook) row(c *call, alias string) (hook.Managed, error) {
	row := hook.Managed{Kind: l.kind, Alias: alias, Role: c.text("ExecutionRole")}
	properties := map[string]any{"LambdaFunction": c.text("LambdaFunction")}
	if l.kind == hook.GuardHook {
		if _, err := c.types.config.ManagedHooks.Guard.Program(); err != nil {
			return row, invalid(err.Error())
		}
		properties = map[string]any{}
		for _, name := range guardProperties {
			if value := c.desired[name]; value != nil {
				properties[name] = value
			}
		}
		text, err := json.Marshal(properties)
		if err != nil {
			return row, err
		}
		row.Rules = string(text)
	} else {
		row.Function = c.text("LambdaFunction")
	}
	settings := map[string]any{"HookInvocationStatus": "ENABLED", "Properties": properties}
	for property, member := range hookMembers {
		if value := c.desired[property]; value != nil {
			settings[member] = value
		}
	}
	text, err := json.Marshal(map[string]any{"CloudFormationConfiguration": map[string]any{"HookConfiguration": settings}})
	row.Configuration = string(text)
	return row, err
}

func (l managedHook) create(c *call) (string, error) {
	row, err := l.row(c, c.text("Alias"))
	if err != nil {
		return "", err
	}
	return l.arn(c, row.Alias), c.types.config.ManagedHooks.Create(c.ctx, c.request.Caller.Place, row)
}

// alias is that of the resource.
func (managedHook) alias(c *call) (string, error) {
	arn, ok := schema.ParseTypeARN(c.request.Identifier)
	if !ok {
		return "", awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", c.request.Identifier)
	}
	return arn.TypeName, nil
}

func (l managedHook) read(c *call) (map[string]any, error) {
	alias, err := l.alias(c)
	if err != nil {
		return nil, err
	}
	found, err := c.types.config.ManagedHooks.Get(c.ctx, c.request.Caller.Place, alias)
	if err != nil {
		return nil, err
	}
	var whole struct {
		CloudFormationConfiguration struct{ HookConfiguration map[string]any }
	}
	if err := json.Unmarshal([]byte(found.Configuration), &whole); err != nil {
		return nil, fmt.Errorf("read the configuration of a hook: %w", err)
	}
	if found.Kind != l.kind {
		return nil, missing()
	}
	model := map[string]any{"Alias": alias, "HookArn": l.arn(c, alias), "ExecutionRole": found.Role}
	if l.kind == hook.LambdaHook {
		model["LambdaFunction"] = found.Function
	} else if err := json.Unmarshal([]byte(found.Rules), &model); err != nil {
		return nil, fmt.Errorf("read the rules of a hook: %w", err)
	}
	for property, member := range hookMembers {
		if value := whole.CloudFormationConfiguration.HookConfiguration[member]; value != nil {
			model[property] = value
		}
	}
	return model, nil
}

func (l managedHook) update(c *call) error {
	alias, err := l.alias(c)
	if err != nil {
		return err
	}
	row, err := l.row(c, alias)
	if err != nil {
		return err
	}
	return c.types.config.ManagedHooks.Update(c.ctx, c.request.Caller.Place, row)
}

func (l managedHook) remove(c *call) error {
	alias, err := l.alias(c)
	if err != nil {
		return err
	}
	return c.types.config.ManagedHooks.Delete(c.ctx, c.request.Caller.Place, alias)
}

func (l managedHook) list(c *call, next *string) (found []string, token string, err error) {
	aliases, err := c.types.config.ManagedHooks.List(c.ctx, c.request.Caller.Place, l.kind, aws.ToString(next), macroPage)
	for _, alias := range aliases {
		found = append(found, l.arn(c, alias))
	}
	if len(aliases) == macroPage {
		token = aliases[macroPage-1]
	}
	return found, token, err
}
