package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/schema"
)

// LambdaHooks are the Lambda Hooks of accounts.
type LambdaHooks interface {
	// SaveHook adds a hook, or changes it unless it is to be fresh. The error is an
	// *awswire.Error if the alias is taken, or does not exist.
	SaveHook(ctx context.Context, place awswire.Place, h LambdaHook, fresh bool) error

	// RemoveHook removes a hook. The error is an *awswire.Error if it does not exist.
	RemoveHook(ctx context.Context, place awswire.Place, alias string) error

	// Hook returns a hook. The error is an *awswire.Error if it does not exist.
	Hook(ctx context.Context, place awswire.Place, alias string) (LambdaHook, error)

	// HookAliases returns up to limit aliases that follow after, in order.
	HookAliases(ctx context.Context, place awswire.Place, after string, limit int) ([]string, error)
}

// A LambdaHook is a hook that is a function. Configuration is that of the hook, as
// SetTypeConfiguration takes it.
type LambdaHook struct{ Alias, Function, Role, Configuration string }

// lambdaHooks are AWS::CloudFormation::LambdaHook.
type lambdaHooks struct{}

// hookMembers are the properties that are settings of the hook, by their names there.
var hookMembers = map[string]string{
	"HookStatus": "HookInvocationStatus", "FailureMode": "FailureMode", "TargetOperations": "TargetOperations",
	"StackFilters": "StackFilters", "TargetFilters": "TargetFilters",
}

func (lambdaHooks) arn(c *call, alias string) string {
	place := c.request.Caller.Place
	return schema.TypeARN{Partition: awswire.PartitionOf(place.Region), Region: place.Region, Account: place.Account, Kind: schema.Hook, TypeName: alias}.String()
}

func (l lambdaHooks) identifier(c *call) (string, error) {
	alias := c.text("Alias")
	if strings.HasPrefix(strings.ToLower(alias), "aws") || strings.Count(alias, "::") != 2 {
		return "", invalid("The property {/Alias} must be in the form Name1::Name2::Name3 and must not begin with AWS.")
	}
	return l.arn(c, alias), nil
}

// row is the hook that is desired.
func (lambdaHooks) row(c *call, alias string) (LambdaHook, error) {
	settings := map[string]any{"HookInvocationStatus": "ENABLED", "Properties": map[string]any{"LambdaFunction": c.text("LambdaFunction")}}
	for property, member := range hookMembers {
		if value := c.desired[property]; value != nil {
			settings[member] = value
		}
	}
	text, err := json.Marshal(map[string]any{"CloudFormationConfiguration": map[string]any{"HookConfiguration": settings}})
	return LambdaHook{Alias: alias, Function: c.text("LambdaFunction"), Role: c.text("ExecutionRole"), Configuration: string(text)}, err
}

func (l lambdaHooks) create(c *call) (string, error) {
	row, err := l.row(c, c.text("Alias"))
	if err != nil {
		return "", err
	}
	return l.arn(c, row.Alias), c.types.config.LambdaHooks.SaveHook(c.ctx, c.request.Caller.Place, row, true)
}

// alias is that of the resource.
func (lambdaHooks) alias(c *call) (string, error) {
	arn, ok := schema.ParseTypeARN(c.request.Identifier)
	if !ok {
		return "", awswire.Errorf("NotFoundException", 0, "The hook %s does not exist.", c.request.Identifier)
	}
	return arn.TypeName, nil
}

func (l lambdaHooks) read(c *call) (map[string]any, error) {
	alias, err := l.alias(c)
	if err != nil {
		return nil, err
	}
	found, err := c.types.config.LambdaHooks.Hook(c.ctx, c.request.Caller.Place, alias)
	if err != nil {
		return nil, err
	}
	var whole struct {
		CloudFormationConfiguration struct{ HookConfiguration map[string]any }
	}
	if err := json.Unmarshal([]byte(found.Configuration), &whole); err != nil {
		return nil, fmt.Errorf("read the configuration of a Lambda Hook: %w", err)
	}
	model := map[string]any{"Alias": alias, "HookArn": l.arn(c, alias), "LambdaFunction": found.Function, "ExecutionRole": found.Role}
	for property, member := range hookMembers {
		if value := whole.CloudFormationConfiguration.HookConfiguration[member]; value != nil {
			model[property] = value
		}
	}
	return model, nil
}

func (l lambdaHooks) update(c *call) error {
	alias, err := l.alias(c)
	if err != nil {
		return err
	}
	row, err := l.row(c, alias)
	if err != nil {
		return err
	}
	return c.types.config.LambdaHooks.SaveHook(c.ctx, c.request.Caller.Place, row, false)
}

func (l lambdaHooks) remove(c *call) error {
	alias, err := l.alias(c)
	if err != nil {
		return err
	}
	return c.types.config.LambdaHooks.RemoveHook(c.ctx, c.request.Caller.Place, alias)
}

func (l lambdaHooks) list(c *call, next *string) (found []string, token string, err error) {
	aliases, err := c.types.config.LambdaHooks.HookAliases(c.ctx, c.request.Caller.Place, aws.ToString(next), macroPage)
	for _, alias := range aliases {
		found = append(found, l.arn(c, alias))
	}
	if len(aliases) == macroPage {
		token = aliases[macroPage-1]
	}
	return found, token, err
}

// guardHooks are AWS::CloudFormation::GuardHook, which this server refuses.
type guardHooks struct{}

const noGuard = "AWS::CloudFormation::GuardHook is not supported by this server. Install cfn-guard " +
	"(https://github.com/aws-cloudformation/cloudformation-guard, cargo install cfn-guard) and run it in the function of an AWS::CloudFormation::LambdaHook."

func (guardHooks) identifier(*call) (string, error) { return "", invalid(noGuard) }
func (guardHooks) create(*call) (string, error)     { return "", invalid(noGuard) }
func (guardHooks) update(*call) error               { return invalid(noGuard) }
func (guardHooks) remove(*call) error               { return missing() }

func (guardHooks) read(*call) (map[string]any, error) { return nil, missing() }

func (guardHooks) list(*call, *string) (found []string, token string, err error) { return nil, "", nil }
