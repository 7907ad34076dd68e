package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// remoteOptions say which registry a command talks to.
type remoteOptions struct{ endpoint, region, profile string }

// flags adds the options that cfn submit has, too, with the same names.
func (o *remoteOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.endpoint, "endpoint-url", "", "the `URL` of the CloudFormation endpoint")
	flags.StringVar(&o.region, "region", "", "the `NAME` of the region")
	flags.StringVar(&o.profile, "profile", "", "the `NAME` of the AWS profile to use")
}

// again are the options that say the same in a command that is proposed.
func (o *remoteOptions) again(region string) string {
	out := " --region " + region
	if o.profile != "" {
		out += " --profile " + shellQuote(o.profile)
	}
	if o.endpoint != "" {
		out += " --endpoint-url " + shellQuote(o.endpoint)
	}
	return out
}

// openRemote opens the registry that the options name.
func (c *app) openRemote(ctx context.Context, o *remoteOptions) (*submit.Remote, error) {
	r, err := submit.Open(ctx, submit.Config{Region: o.region, Profile: o.profile, Endpoint: o.endpoint, Getenv: c.Getenv, Now: c.Now, Logger: c.logger})
	if err != nil {
		return nil, c.serviceError(err)
	}
	c.logger.Debug("Registry opened", "region", r.Region, "endpoint", r.Endpoint, "local", r.Local)
	return r, nil
}

// serviceError makes an error of package submit one that Main shows: what is missing on
// this machine exits with 1, an error of a service with 2, as in the official tool.
func (c *app) serviceError(err error) error {
	var (
		missing     *submit.MissingError
		unreachable *submit.UnreachableError
		notLocal    *invoke.NotLocalError
		stack       *submit.StackError
		shared      *submit.ConfigurationError
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &missing) && missing.What == "region":
		return withHint(errors.New("no region is configured"), `pass --region, for example --region us-east-1, set AWS_REGION, or run "aws configure"; to work without AWS, run cfn serve and then: eval "$(cfn env)"`)
	case errors.As(err, &missing):
		c.logger.Debug("No credentials", "error", missing.Err)
		return withHint(errors.New("no AWS credentials are configured"),
			`run "aws configure" or "aws sso login", pass --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; to work without AWS, run cfn serve and then: eval "$(cfn env)"`)
	case errors.As(err, &unreachable):
		c.logger.Debug("Unreachable", "error", unreachable.Err)
		return withHint(err, "start the local CloudFormation with cfn serve; to call AWS, remove --endpoint-url and AWS_ENDPOINT_URL")
	case errors.As(err, &shared):
		return withHint(err, "set AWS_PROFILE or --profile to a profile of ~/.aws/config, and AWS_ENDPOINT_URL or --endpoint-url to a URL")
	case errors.As(err, &notLocal):
		return withHint(notLocal, "%s", notLocalHint)
	case errors.As(err, &stack):
		return &downstreamError{withHint(err, "%s", stack.Hint)}
	}
	e := submit.Explain(err)
	text := e.Text
	var bucket *submit.BucketError
	if errors.As(err, &bucket) {
		text = err.Error()
	}
	c.logger.Debug("The service failed", "error", err)
	if e.Hint != "" {
		return &downstreamError{withHint(errors.New(text), "%s", e.Hint)}
	}
	return &downstreamError{errors.New(text)}
}

// notLocalHint is how one leaves the local environment.
const notLocalHint = `set --endpoint-url or AWS_ENDPOINT_URL to an address on this machine; to call AWS again, run: eval "$(cfn env --unset)"`
