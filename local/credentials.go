package local

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// keys are the credentials of handlers.
type keys struct{ sessions *awslite.Sessions }

// environment is handlers.Config.Credentials.
func (k keys) environment(ctx context.Context, spec bundle.Spec) (aws.Credentials, error) {
	return k.sessions.ForEnvironment(ctx, spec.Place, spec.Role, schema.Dashed(spec.TypeName))
}

// of are those of the calls of a role.
func (k keys) of(caller awswire.Caller, role string) invoke.Source {
	return callKeys{k.sessions, caller.Place, role}
}

// callKeys are the credentials of calls of one role.
type callKeys struct {
	sessions *awslite.Sessions
	place    awswire.Place
	role     string
}

func (k callKeys) Credentials(ctx context.Context) (invoke.Credentials, error) {
	c, err := k.sessions.ForCall(ctx, k.place, k.role)
	return invoke.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, err
}
