package delegate

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/operation"
)

const functionType = "AWS::Lambda::Function"

// Function returns a function that is in an emulator, for custom resources, macros, hooks and what else this server
// invokes. It is nil if there is none of the name.
func (d *Delegates) Function(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error) {
	if d.rule(functionType) == nil && !d.uses(functionType) {
		return nil, nil
	}
	row, err := d.locate(ctx, nil, operation.Request{Caller: caller, Type: functionType, Identifier: name})
	switch {
	case err != nil:
		return nil, err
	case row == nil || row.Stage != ready:
		return nil, nil
	case d.emulators[row.Endpoint] == nil:
		return nil, &lambda.RefusedError{
			Status: http.StatusBadGateway, Code: "InvalidRuntimeException",
			Message: fmt.Sprintf("The function %s is in the emulator at %s: start cfn serve with --delegate '%s=%s'.", name, row.Endpoint, functionType, row.Endpoint),
		}
	}
	if qualifier != "" {
		name += ":" + qualifier
	}
	return &lambda.Endpoint{
		URL: row.Endpoint, Sign: true, FunctionName: name, Region: caller.Region, Now: d.config.Now,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials(caller), nil }),
	}, nil
}
