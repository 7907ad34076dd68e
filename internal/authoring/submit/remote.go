package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Config selects a registry. Only Getenv must be set; empty fields default to the environment
// and the shared files, as in the AWS SDKs.
type Config struct {
	Region, Profile string

	// Endpoint is the URL of CloudFormation, and, if a local server of this program
	// answers there, of all its services. Empty means AWS_ENDPOINT_URL_CLOUDFORMATION,
	// AWS_ENDPOINT_URL or endpoint_url of the profile, else AWS.
	Endpoint string

	// Key is for a local server: neither shared files nor credentials of the environment are
	// used then. Region may be empty.
	Key aws.Credentials

	// Getenv reads the environment.
	Getenv func(string) string

	// Now is the clock for the keys of packages. Nil means time.Now.
	Now func() time.Time

	// NewToken generates client request tokens. Nil means random UUIDs.
	NewToken func() string

	// Logger gets the warnings of the AWS SDK. It may be nil.
	Logger *slog.Logger

	// Pause is the first pause between two polls of an operation; later ones grow up to five
	// times that. Zero means 2 s, at this machine 100 ms.
	Pause time.Duration
}

// A Remote is the registry of one account in one region. Its methods may be called from
// several goroutines.
type Remote struct {
	Region   string
	Endpoint string // of CloudFormation; "" is that of AWS
	Local    bool   // a local server of this program: it needs neither stacks nor roles

	server         *Server // the local server; nil on AWS
	config         Config
	pause          time.Duration
	sdk            aws.Config
	cloudformation *cloudformation.Client
	s3             *s3.Client
	control        *cloudcontrol.Client
}

// A MissingError names the part of the configuration of the AWS SDKs that is missing.
type MissingError struct {
	What string // "region" or "credentials"
	Err  error  // why, if there is more to say
}

func (e *MissingError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("no %s for AWS: %v", e.What, e.Err)
	}
	return fmt.Sprintf("no %s for AWS", e.What)
}
func (e *MissingError) Unwrap() error { return e.Err }

// A ConfigurationError is a fault of the shared files of the AWS SDKs, or of the
// environment.
type ConfigurationError struct{ Err error }

func (e *ConfigurationError) Error() string { return "load the AWS configuration: " + e.Err.Error() }
func (e *ConfigurationError) Unwrap() error { return e.Err }

// Open finds region, credentials and endpoint. Only an endpoint on this machine is called,
// and one that AWS_ENDPOINT_URL names: whether it is a local server of this program.
//
// Errors: *[MissingError], *[ConfigurationError], *[UnreachableError],
// *[invoke.NotLocalError], *[invoke.AnswerError].
func Open(ctx context.Context, cfg Config) (*Remote, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewToken == nil {
		cfg.NewToken = uuid.NewString
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Key.AccessKeyID != "" {
		return openWithKey(ctx, cfg)
	}
	client := invoke.LocalClient(cfg.Getenv)
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithAppID("cfn"), config.WithLogger(sdkLog{cfg.Logger})}
	if cfg.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(cfg.Profile))
	}
	if cfg.Region != "" {
		options = append(options, config.WithRegion(cfg.Region))
	}
	sdk, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, &ConfigurationError{err}
	}
	sdk.HTTPClient = invoke.Bounded(sdk.HTTPClient)
	endpoint := cfg.Endpoint
	if base := cloudformation.NewFromConfig(sdk).Options().BaseEndpoint; endpoint == "" && base != nil {
		endpoint = *base
	}
	if err := invoke.CheckLocal(cfg.Getenv, endpoint); err != nil {
		return nil, err
	}
	r := &Remote{Region: sdk.Region, Endpoint: endpoint, config: cfg, pause: cfg.Pause}
	server, err := r.identify(ctx, sdk.HTTPClient)
	if err != nil {
		return nil, err
	}
	if err := r.credentials(ctx, &sdk, server); err != nil {
		return nil, err
	}
	r.sdk = sdk
	r.connect()
	return r, nil
}

// openWithKey opens a local server with the key of a Config.
func openWithKey(ctx context.Context, cfg Config) (*Remote, error) {
	sdk := aws.Config{
		Region: cfg.Region, HTTPClient: invoke.Bounded(invoke.LocalClient(cfg.Getenv)), Logger: sdkLog{cfg.Logger},
		Credentials: credentials.StaticCredentialsProvider{Value: cfg.Key},
	}
	r := &Remote{Region: cfg.Region, Endpoint: cfg.Endpoint, config: cfg, pause: cfg.Pause, sdk: sdk}
	server, err := r.identify(ctx, sdk.HTTPClient)
	if err != nil {
		return nil, err
	}
	if r.Region == "" && r.Local {
		r.Region, r.sdk.Region = server.Region, server.Region
	}
	r.connect()
	return r, nil
}

// ConsolePage is the URL of the page of a type, or of one of its versions, in the console of
// a local server. It is "" on AWS and for what is not an ARN of a type.
func (r *Remote) ConsolePage(arn string) string {
	part := strings.Split(arn, ":")
	if r.server == nil || len(part) != 6 {
		return ""
	}
	region, account := part[3], part[4]
	name := strings.Split(part[5], "/") // type/resource/Acme-Foo-Bar/00000001
	if len(name) < 3 || name[0] != "type" {
		return ""
	}
	page := fmt.Sprintf("%s/_cfn/types/%s/%s", strings.TrimSuffix(r.Endpoint, "/"), strings.ToUpper(name[1]), strings.ReplaceAll(name[2], "-", "::"))
	if region != r.server.Region || account != r.server.Account {
		page += "?in=" + account + "/" + region
	}
	return page
}

// In is the same account in another region. Its endpoint is the same, too.
func (r *Remote) In(region string) *Remote {
	other := *r
	other.Region, other.sdk.Region = region, region
	other.connect()
	return &other
}

func (r *Remote) connect() {
	if r.pause == 0 {
		r.pause = 2 * time.Second
		if u, err := url.Parse(r.Endpoint); err == nil && invoke.Loopback(u.Hostname()) {
			r.pause = 100 * time.Millisecond
		}
	}
	r.cloudformation = cloudformation.NewFromConfig(r.sdk, func(o *cloudformation.Options) {
		if r.Endpoint != "" {
			o.BaseEndpoint = &r.Endpoint
		}
	})
	r.control = cloudcontrol.NewFromConfig(r.sdk, func(o *cloudcontrol.Options) {
		if r.Local || r.config.Endpoint != "" && !ofAWS(r.Endpoint) {
			o.BaseEndpoint = &r.Endpoint
		}
	})
	r.s3 = s3.NewFromConfig(r.sdk, func(o *s3.Options) {
		if r.Local {
			o.BaseEndpoint = &r.Endpoint
		}
		if o.BaseEndpoint != nil {
			u, err := url.Parse(*o.BaseEndpoint)
			o.UsePathStyle = o.UsePathStyle || err == nil && invoke.Loopback(u.Hostname())
		}
	})
}

// ofAWS reports whether an endpoint is that of CloudFormation on AWS: the other services have
// endpoints of their own there.
func ofAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	return invoke.AtAWS(u.Hostname())
}

// CloudFormation is the client for calls that need no more than the SDK offers.
func (r *Remote) CloudFormation() *cloudformation.Client { return r.cloudformation }

func (r *Remote) logs() *cloudwatchlogs.Client {
	return cloudwatchlogs.NewFromConfig(r.sdk, func(o *cloudwatchlogs.Options) {
		if r.Local {
			o.BaseEndpoint = &r.Endpoint
		}
	})
}

// Account gets the number of the account from STS.
func (r *Remote) Account(ctx context.Context) (string, error) {
	client := sts.NewFromConfig(r.sdk, func(o *sts.Options) {
		if r.Local {
			o.BaseEndpoint = &r.Endpoint
		}
	})
	out, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Account), nil
}

// credentials checks that there are a region and credentials. At a local server of this
// program, anything will do.
func (r *Remote) credentials(ctx context.Context, sdk *aws.Config, server *Server) error {
	if r.Region == "" && r.Local {
		r.Region = server.Region
		if r.Region == "" {
			r.Region = invoke.DefaultRegion
		}
		sdk.Region = r.Region
	}
	if r.Region == "" {
		return &MissingError{What: "region"}
	}
	_, err := sdk.Credentials.Retrieve(ctx)
	var refused *invoke.NotLocalError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Local:
		sdk.Credentials = credentials.NewStaticCredentialsProvider(cmp.Or(server.Account, "test"), "test", "") // the key is the account
		return nil
	case errors.As(err, &refused):
		return refused
	}
	return &MissingError{"credentials", err}
}

// An UnreachableError says that nothing answers at an endpoint on this machine.
type UnreachableError struct {
	Endpoint string
	Err      error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("nothing answers at %s", e.Endpoint) }
func (e *UnreachableError) Unwrap() error { return e.Err }

// identify returns the local server of this program at the endpoint; nil if it is another
// server.
func (r *Remote) identify(ctx context.Context, client aws.HTTPClient) (*Server, error) {
	if r.Endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(r.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &ConfigurationError{fmt.Errorf("the endpoint %q is not a URL such as http://127.0.0.1:4566", r.Endpoint)}
	}
	near := invoke.Loopback(u.Hostname())
	if !near && r.Endpoint != r.config.Getenv("AWS_ENDPOINT_URL") {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	server, err := AskServer(ctx, client, r.Endpoint)
	var foreign *ForeignError
	var answer *invoke.AnswerError
	switch {
	case errors.As(err, &answer):
		return nil, answer
	case err == nil:
		r.Local, r.server = true, server
		return server, nil
	case errors.As(err, &foreign):
		return nil, nil
	case near && !errors.Is(err, context.Canceled):
		return nil, &UnreachableError{r.Endpoint, err}
	}
	return nil, ctx.Err()
}

// sdkLog forwards messages that the SDK would write to the error stream.
type sdkLog struct{ to *slog.Logger }

func (l sdkLog) Logf(level logging.Classification, format string, args ...any) {
	l.to.Debug(fmt.Sprintf(format, args...), "sdk", string(level))
}
