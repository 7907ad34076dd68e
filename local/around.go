package local

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/operation"
)

// A ResourceCall is one call of a handler or of another provider of a resource, for [Config.Around]. An operation on a
// resource is one call, or several if the answers before were IN_PROGRESS.
type ResourceCall struct {
	Account, Region string
	StackID         string // ARN
	StackName       string
	LogicalID       string // "" for a resource that is in no stack
	Type            string // AWS::SQS::Queue; of a hook its name
	Action          string // CREATE, READ, UPDATE or DELETE; of a hook CREATE_PRE_PROVISION and so on
	Token           string // the same in all calls of an operation
	Identifier      string // the physical ID, "" if there is none yet
	Rollback        bool   // the operation undoes an earlier one

	// Desired is the requested model, Previous the one before an update. They have the values that a handler gets:
	// Secrets are those among them that are not to be shown.
	Desired, Previous map[string]any
	Secrets           []string
}

// A ResourceAnswer is the answer to a [ResourceCall].
type ResourceAnswer struct {
	Status     string         // IN_PROGRESS, SUCCESS or FAILED
	Identifier string         // the physical ID, "" if it is not known yet
	Model      map[string]any // the properties of the resource, nil if the answer has none
	ErrorCode  string         // of a FAILED operation: NotFound, Throttling
	Message    string
	Delay      time.Duration // until the next call, for IN_PROGRESS

	rest operation.Progress // what else the provider answered
}

// around is Config.Around for the engine of operations.
func (c *Config) around() func(context.Context, operation.Request, operation.Provider) (operation.Progress, error) {
	if c.Around == nil {
		return nil
	}
	return func(ctx context.Context, request operation.Request, next operation.Provider) (operation.Progress, error) {
		call := ResourceCall{
			Account: request.Caller.Account, Region: request.Caller.Region, StackID: request.StackID, StackName: request.StackName, LogicalID: request.LogicalID,
			Type: request.Type, Action: string(request.Action), Token: request.Token, Identifier: request.Identifier, Rollback: request.Rollback,
			Desired: request.Desired, Previous: request.Previous,
		}
		for _, values := range request.Secrets {
			call.Secrets = append(call.Secrets, values...)
		}
		answer, err := c.Around(ctx, call, func(ctx context.Context) (ResourceAnswer, error) {
			p, err := next.Call(ctx, request)
			return ResourceAnswer{string(p.Status), p.Identifier, p.Model, p.ErrorCode, p.Message, p.Delay, p}, err
		})
		p := answer.rest
		p.Status, p.Identifier, p.Model = types.OperationStatus(answer.Status), answer.Identifier, answer.Model
		p.ErrorCode, p.Message, p.Delay = answer.ErrorCode, answer.Message, answer.Delay
		return p, err
	}
}
