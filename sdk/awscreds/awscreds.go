// Package awscreds gives the clients of aws-sdk-go-v2 the credentials of an
// invocation:
//
//	cfg, err := awscreds.Config(ctx, req.Credentials, req.Region)
//	if err != nil {
//		return req.Fail(err)
//	}
//	client := kinesis.NewFromConfig(cfg)
//
// Make a new Config, and new clients, in each call of a handler. A process
// serves many invocations, for different callers, and the credentials of one
// must not do the work of another; so nothing is kept between calls.
//
// It is a module of its own, so that handlers which need no AWS SDK do not
// depend on one.
package awscreds

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/formwork-dev/formwork/sdk/handler"
)

// Provider hands out the credentials of one invocation. They carry no time of
// expiry: the caller makes them last for the call that they came with.
//
// Retrieve fails with an error of code InvalidCredentials when the invocation
// has none, rather than falling back on those of the machine or the function.
func Provider(creds handler.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		if creds.AccessKeyID == "" || creds.SecretAccessKey == "" {
			return aws.Credentials{}, errNone()
		}
		return aws.Credentials{
			AccessKeyID: creds.AccessKeyID, SecretAccessKey: creds.SecretAccessKey, SessionToken: creds.SessionToken,
			Source: "CloudFormation invocation",
		}, nil
	})
}

// Config is the configuration for the clients of one invocation, in the region
// of the request. What else the environment says holds as usual: AWS_ENDPOINT_URL,
// AWS_ENDPOINT_URL_<SERVICE>, AWS_CA_BUNDLE, the settings of AWS_PROFILE; but
// never the credentials found there. An empty region leaves AWS_REGION in force.
//
// It fails with an error of code InvalidCredentials when the invocation has no
// credentials. It makes no network calls.
func Config(ctx context.Context, creds handler.Credentials, region string) (aws.Config, error) {
	if creds.AccessKeyID == "" || creds.SecretAccessKey == "" {
		return aws.Config{}, errNone()
	}
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithCredentialsProvider(Provider(creds)),
		config.WithRegion(region),
	)
	if err != nil {
		return aws.Config{}, fmt.Errorf("configure AWS clients: %w", err)
	}
	return cfg, nil
}

func errNone() error {
	return &handler.Error{Code: handler.CodeInvalidCredentials, Message: "the invocation came without AWS credentials"}
}
