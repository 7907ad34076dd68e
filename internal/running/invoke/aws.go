package invoke

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// AWSConfig sets the AWS credentials of handlers. The zero AWSConfig uses the environment and
// the shared files of the AWS SDKs, and dummy credentials if those have none; it never calls
// AWS.
type AWSConfig struct {
	// Profile of the shared files. Empty means AWS_PROFILE, else "default".
	Profile string

	// Region for STS. Empty means [DefaultRegion].
	Region string

	// RoleARN is a role that handlers run as, with credentials from STS.
	RoleARN string

	// SourceAccount and SourceARN are sent to STS as x-amz-source-account and
	// x-amz-source-arn, so that a role may require them. They must be set together. Without
	// RoleARN they request a session of the credentials that were found.
	SourceAccount, SourceARN string

	// Session requests a session of long-term keys that were found, for handlers whose library
	// refuses credentials without a session token. Dummies have a token anyway.
	Session bool

	// Getenv reads the environment. It must be set.
	Getenv func(string) string

	// Now is the clock for the expiry of credentials and the names of sessions. Nil
	// means time.Now.
	Now func() time.Time
}

// AWS is a Source of credentials from the configuration of the AWS SDKs.
type AWS struct {
	Source           // of the handlers' credentials
	AccountID string // "" if unknown
	Real      bool   // false: nothing was configured, and the credentials are dummies

	// Unused is the reason why credentials on this machine were not used, "" if none were
	// skipped. Only credentials that were not selected explicitly are skipped.
	Unused string

	// SDK is the configuration with the credentials that were found, for calls to AWS
	// of our own. Its credentials are the dummies if nothing was configured.
	SDK aws.Config
}

// sessionLength of the credentials from STS: its minimum.
const sessionLength = 15 * time.Minute

// LoadAWS finds credentials as the AWS SDKs do: the environment, the shared files, SSO,
// processes and web identities; not the metadata service of EC2, which takes seconds to time
// out elsewhere. STS is called only for a role, a source, a session or an account: with RoleARN,
// with SourceAccount and SourceARN, with Session, and for the account id of a Profile that does not
// contain it.
// It obeys AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS and endpoint_url, and [LocalVariable].
//
// An error means that explicitly requested credentials are not available.
func LoadAWS(ctx context.Context, cfg AWSConfig) (*AWS, error) {
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if (cfg.SourceAccount == "") != (cfg.SourceARN == "") {
		return nil, errors.New("a source account and a source ARN must be used together")
	}
	asked := cfg.RoleARN != "" || cfg.SourceARN != "" || cfg.Profile != ""
	explicit := asked
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		explicit = explicit || cfg.Getenv(name) != ""
	}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(cfg.Region),
		config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
		config.WithHTTPClient(LocalClient(cfg.Getenv)),
	}
	if cfg.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(cfg.Profile))
	}
	sdk, err := config.LoadDefaultConfig(ctx, options...)
	var found aws.Credentials
	if err == nil {
		found, err = sdk.Credentials.Retrieve(ctx)
	}
	if err != nil {
		if explicit {
			return nil, fmt.Errorf("find AWS credentials: %w", err)
		}
		dummies := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: Dummy.AccessKeyID, SecretAccessKey: Dummy.SecretAccessKey, SessionToken: Dummy.SessionToken}, nil
		})
		return &AWS{Source: Dummy, Unused: err.Error(), AccountID: cfg.Getenv("AWS_ACCOUNT_ID"), SDK: aws.Config{Region: cfg.Region, Credentials: dummies, HTTPClient: LocalClient(cfg.Getenv)}}, nil
	}
	out := &AWS{Real: true, SDK: sdk, AccountID: found.AccountID, Source: fromSDK(sdk.Credentials)}
	if id := cfg.Getenv("AWS_ACCOUNT_ID"); id != "" {
		out.AccountID = id
	}
	client := sts.NewFromConfig(sdk, sourceHeaders(cfg))
	switch {
	case cfg.RoleARN != "":
		out.Source = &session{now: cfg.Now, renew: assumeRole(client, cfg)}
		if parts := strings.Split(cfg.RoleARN, ":"); len(parts) > 5 && parts[4] != "" {
			out.AccountID = parts[4]
		}
	case found.SessionToken == "" && (cfg.SourceARN != "" || cfg.Session && !IsDummy(found.SecretAccessKey)):
		out.Source = &session{now: cfg.Now, renew: getSession(client)}
	}
	if out.AccountID == "" && asked {
		identity, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return nil, fmt.Errorf("get the account from STS (or set AWS_ACCOUNT_ID): %w", err)
		}
		out.AccountID = aws.ToString(identity.Account)
	}
	return out, nil
}

// Role is a Source of the credentials of another role, for the log of a handler.
func (a *AWS) Role(cfg AWSConfig) Source {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &session{now: cfg.Now, renew: assumeRole(sts.NewFromConfig(a.SDK, sourceHeaders(cfg)), cfg)}
}

func sourceHeaders(cfg AWSConfig) func(*sts.Options) {
	return func(o *sts.Options) {
		if cfg.SourceARN != "" {
			o.APIOptions = append(o.APIOptions,
				smithyhttp.SetHeaderValue("x-amz-source-account", cfg.SourceAccount),
				smithyhttp.SetHeaderValue("x-amz-source-arn", cfg.SourceARN))
		}
	}
}

type renewal func(context.Context) (Credentials, time.Time, error)

func assumeRole(client *sts.Client, cfg AWSConfig) renewal {
	return func(ctx context.Context) (Credentials, time.Time, error) {
		out, err := client.AssumeRole(ctx, &sts.AssumeRoleInput{
			RoleArn:         &cfg.RoleARN,
			RoleSessionName: aws.String("CloudFormationContractTest-" + cfg.Now().Format("20060102150405")),
			DurationSeconds: aws.Int32(int32(sessionLength / time.Second)),
		})
		if err != nil {
			return Credentials{}, time.Time{}, fmt.Errorf("assume the role %s: %w", cfg.RoleARN, err)
		}
		c := out.Credentials
		return Credentials{aws.ToString(c.AccessKeyId), aws.ToString(c.SecretAccessKey), aws.ToString(c.SessionToken)}, aws.ToTime(c.Expiration), nil
	}
}

func getSession(client *sts.Client) renewal {
	return func(ctx context.Context) (Credentials, time.Time, error) {
		out, err := client.GetSessionToken(ctx, &sts.GetSessionTokenInput{DurationSeconds: aws.Int32(int32(sessionLength / time.Second))})
		if err != nil {
			return Credentials{}, time.Time{}, fmt.Errorf("get a session: %w", err)
		}
		c := out.Credentials
		return Credentials{aws.ToString(c.AccessKeyId), aws.ToString(c.SecretAccessKey), aws.ToString(c.SessionToken)}, aws.ToTime(c.Expiration), nil
	}
}

// A session is a Source that keeps credentials until they would not outlast a call.
type session struct {
	renew renewal
	now   func() time.Time

	mu      sync.Mutex
	current Credentials
	expires time.Time
}

// shortestRest of credentials that are still handed out: a call and some haste.
const shortestRest = 5 * time.Minute

func (s *session) Credentials(ctx context.Context) (Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expires.Sub(s.now()) >= shortestRest {
		return s.current, nil
	}
	current, expires, err := s.renew(ctx)
	if err != nil {
		return Credentials{}, err
	}
	s.current, s.expires = current, expires
	return current, nil
}

// fromSDK passes on what the SDK found, which renews itself.
func fromSDK(provider aws.CredentialsProvider) Source {
	return sdkSource{provider}
}

type sdkSource struct{ provider aws.CredentialsProvider }

func (s sdkSource) Credentials(ctx context.Context) (Credentials, error) {
	c, err := s.provider.Retrieve(ctx)
	if err != nil {
		return Credentials{}, err
	}
	if c.SessionToken == "" && IsDummy(c.SecretAccessKey) {
		c.SessionToken = Dummy.SessionToken // handlers are used to session credentials
	}
	return Credentials{c.AccessKeyID, c.SecretAccessKey, c.SessionToken}, nil
}
