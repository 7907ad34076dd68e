package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Directory finds functions by the names that the Lambda Invoke API has for them: those
// of the Pool's Functions, those of stacks, here or in an emulator, and the handlers of registered types, named like
// Org-Service-Resource. All members but Delegated must be set.
type Directory struct {
	Pool   *Pool
	Tokens *operation.Tokens
	Logger *slog.Logger

	// Handler finds the handler of a version of a registered type, of the default one for the version
	// "". The error of a type that does not exist is an *awswire.Error.
	Handler func(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string) (bundle.Spec, error)

	// Delegated returns a function that is in an emulator, nil if there is none of the name.
	Delegated func(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error)
}

// delegated is a function in an emulator.
type delegated struct{ lambda.Invoker }

// Function finds a function. The qualifier is a version, $LATEST or empty. The error is a
// *lambda.RefusedError if there is no such function.
func (d *Directory) Function(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error) {
	if qualifier == "$LATEST" {
		qualifier = ""
	}
	if function, err := d.named(ctx, caller, name); function != nil || err != nil {
		return function, err
	}
	switch spec, found, err := d.Pool.deployed(ctx, caller.Place, name, qualifier); {
	case err != nil:
		return nil, err
	case found:
		return d.Pool.Function(ctx, spec)
	}
	if d.Delegated != nil {
		if function, err := d.Delegated(ctx, caller, name, qualifier); function != nil || err != nil {
			return delegated{function}, err
		}
	}
	typeName := strings.ReplaceAll(name, "-", "::")
	for _, kind := range []schema.Kind{schema.Resource, schema.Hook} {
		spec, err := d.Handler(ctx, caller, kind, typeName, qualifier)
		var refusal *awswire.Error
		switch {
		case err == nil:
			function, err := d.Pool.Function(ctx, spec)
			if err != nil {
				return nil, err
			}
			return operation.Reporting{Invoker: function, Tokens: d.Tokens, Caller: caller, Logger: d.Logger}, nil
		case !errors.As(err, &refusal):
			return nil, err
		}
	}
	if qualifier != "" {
		name += ":" + qualifier
	}
	return nil, &lambda.RefusedError{Status: http.StatusNotFound, Code: "ResourceNotFoundException",
		Message: "Function not found: " + name + ". The functions are those of cfn serve --function NAME=…, those of stacks if cfn serve has --run-lambda or --delegate, and the registered resource types " +
			"and hooks, named like Org-Service-Resource; a version is the qualifier, like Org-Service-Resource:00000001."}
}

// named is a function of the Pool's Functions; nil if it does not exist. It has one version,
// which every qualifier names.
func (d *Directory) named(ctx context.Context, caller awswire.Caller, name string) (lambda.Invoker, error) {
	spec, found, err := d.Pool.named(ctx, bundle.Spec{Place: caller.Place, TypeName: name})
	if !found {
		return nil, nil
	}
	if err != nil {
		return nil, &lambda.RefusedError{Status: http.StatusBadGateway, Code: "InvalidRuntimeException", Message: err.Error()}
	}
	function, err := d.Pool.Function(ctx, spec)
	if err != nil {
		return nil, err
	}
	return function, nil
}

// Find looks up the function of a name or ARN. local reports whether processes of this program
// run it. The error is that of Function.
func (d *Directory) Find(ctx context.Context, caller awswire.Caller, reference string) (local bool, err error) {
	name, qualifier, ok := lambda.ParseReference(reference)
	if !ok {
		return false, notAReference(reference)
	}
	function, err := d.Function(ctx, caller, name, qualifier)
	if err != nil {
		return false, err
	}
	_, remote := function.(delegated)
	return !remote && d.Pool.functions[name].URL == "", nil
}

func notAReference(reference string) error {
	return &lambda.RefusedError{Status: http.StatusBadRequest, Code: "ValidationException", Message: "not the name or ARN of a function: " + reference}
}

// Call invokes the function of a name or ARN. The secrets are values in the payload that no
// log may have.
func (d *Directory) Call(ctx context.Context, caller awswire.Caller, reference string, payload []byte, secrets []string) (lambda.Result, error) {
	name, qualifier, ok := lambda.ParseReference(reference)
	if !ok {
		return lambda.Result{}, notAReference(reference)
	}
	invoker, err := d.Function(ctx, caller, name, qualifier)
	if err != nil {
		return lambda.Result{}, err
	}
	if function, ok := invoker.(*Function); ok {
		invoker = &Function{pool: function.pool, spec: function.spec, hide: map[secret.Reason][]string{secret.NoEcho: secrets}}
	}
	return invoker.Invoke(ctx, payload)
}
