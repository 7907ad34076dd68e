package stack

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A resolver looks up dynamic references for a caller.
type resolver struct {
	resolve func(ctx context.Context, caller awswire.Caller, service, reference string) (string, error) // nil resolves none
	caller  awswire.Caller
}

// ResolveReference implements [template.Resolver].
func (r resolver) ResolveReference(ctx context.Context, ref template.DynamicReference) (string, error) {
	if r.resolve == nil {
		return "", awswire.ValidationErrorf("there are no values for dynamic references to %s", ref.Service)
	}
	reference := strings.TrimSuffix(strings.TrimPrefix(ref.Text, "{{resolve:"+ref.Service+":"), "}}")
	return r.resolve(ctx, r.caller, ref.Service, reference)
}

// A secretResolver remembers the secrets among the values of dynamic references.
type secretResolver struct {
	resolver
	values []string
}

// ResolveReference implements [template.Resolver].
func (r *secretResolver) ResolveReference(ctx context.Context, ref template.DynamicReference) (string, error) {
	value, err := r.resolver.ResolveReference(ctx, ref)
	if err == nil && ref.Service != "ssm" {
		r.values = append(r.values, value)
	}
	return value, err
}

// Prepare returns what completes a request just before a call: it resolves the dynamic references, whose
// values no row contains. It is for the configuration of package operation; resolve is that of [Config].
func Prepare(resolve func(ctx context.Context, caller awswire.Caller, service, reference string) (string, error)) func(context.Context, operation.Request) (operation.Request, error) {
	return func(ctx context.Context, request operation.Request) (operation.Request, error) {
		return prepare(ctx, &secretResolver{resolver: resolver{resolve, request.Caller}}, request)
	}
}

func prepare(ctx context.Context, r *secretResolver, request operation.Request) (prepared operation.Request, err error) {
	if request.StackID == "" {
		return request, nil
	}
	defer func() {
		if len(r.values) > 0 {
			prepared.Secrets = maps.Clone(prepared.Secrets)
			if prepared.Secrets == nil {
				prepared.Secrets = map[secret.Reason][]string{}
			}
			prepared.Secrets[secret.Reference] = r.values
		}
	}()
	for _, model := range []*map[string]any{&request.Desired, &request.Previous} {
		if *model == nil {
			continue
		}
		resolved, err := template.ResolveDynamic(ctx, any(*model), r)
		switch {
		case err == nil:
			*model, _ = resolved.(map[string]any)
		case request.Action == invoke.Delete || request.Action == invoke.DeletePreProvision || model == &request.Previous:
			// A resource may be deleted or changed when the values that it was created with no
			// longer exist.
			if ctx.Err() != nil {
				return request, ctx.Err()
			}
		default:
			return request, refusedReference(err)
		}
	}
	return request, nil
}

// refusedReference is the error of a reference without a value, for package operation.
func refusedReference(err error) error {
	var refused *awswire.Error
	if errors.As(err, &refused) {
		return err
	}
	return RefusedTemplate(err)
}
