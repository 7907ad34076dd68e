package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/builtin"
	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/store"
)

// openHooks sets up what evaluates stacks and requests. Those that begin evaluations are made later.
func (c *CloudFormation) openHooks() {
	c.hooks = hook.New(hook.Config{
		Store: c.store, Sources: []hook.Source{c.registry, c.managedHooks}, Operations: c.operations, Payloads: payloads{c},
		Logger: c.config.Logger, Now: c.config.Now,
	})
}

// hookOwner is the engine of hooks, which is made after the engine that calls it.
type hookOwner struct{ c *CloudFormation }

func (o hookOwner) Actions() []invoke.Action { return o.c.hooks.Actions() }

func (o hookOwner) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	return o.c.hooks.Type(ctx, caller, name, version)
}

func (o hookOwner) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	return o.c.hooks.Progressed(ctx, tx, state)
}

func (o hookOwner) Committed(ctx context.Context, state operation.State) {
	o.c.hooks.Committed(ctx, state)
}

// registeredHooks are the Lambda Hooks and Guard Hooks as the registry shows them. They are opened
// after the registry.
type registeredHooks struct{ c *CloudFormation }

// ManagedHooks implements [registry.ManagedHooks].
func (h registeredHooks) ManagedHooks(ctx context.Context, place awswire.Place) ([]registry.ManagedHook, error) {
	rows, err := h.c.managedHooks.All(ctx, place)
	out := make([]registry.ManagedHook, len(rows))
	for i := range rows {
		out[i] = registry.ManagedHook{Alias: rows[i].Alias, Original: rows[i].Kind, Created: rows[i].CreatedAt.Time}
	}
	return out, err
}

// managedHooks are the Lambda Hooks and Guard Hooks as resources of templates.
type managedHooks struct{ hooks *hook.ManagedHooks }

// GuardReady implements builtin.ManagedHooks.
func (l managedHooks) GuardReady() error {
	_, err := l.hooks.Guard.Program()
	return err
}

// guardProgram finds cfn-guard.
func (c *CloudFormation) guardProgram() (string, error) {
	for _, entry := range c.config.Environ {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, "cfn-guard")); err == nil && filepath.IsAbs(path) {
				return path, nil
			}
		}
	}
	return "", errors.New("cfn-guard is not installed: Guard Hooks need it in the PATH of cfn serve; cargo install cfn-guard installs it (https://github.com/aws-cloudformation/cloudformation-guard)")
}

// guardObject reads rules from our own S3.
func (c *CloudFormation) guardObject(ctx context.Context, caller awswire.Caller, uri, version string, limit int64) ([]byte, error) {
	bucket, key, ok := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	if !ok || !strings.HasPrefix(uri, "s3://") {
		return nil, awswire.ValidationErrorf("%s is not in the form s3://BUCKET/KEY", uri)
	}
	object, err := c.s3.Open(ctx, caller.Account, s3.Location{Bucket: bucket, Key: key, Version: version})
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(object, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = awswire.ValidationErrorf("%s is larger than %d bytes", uri, limit)
	}
	return data, err
}

func (l managedHooks) SaveHook(ctx context.Context, place awswire.Place, h builtin.ManagedHook, fresh bool) error {
	row := hook.Managed{Kind: h.Kind, Alias: h.Alias, Function: h.Function, Rules: h.Rules, Role: h.Role, Configuration: h.Configuration}
	if fresh {
		return l.hooks.Create(ctx, place, row)
	}
	return l.hooks.Update(ctx, place, row)
}

func (l managedHooks) RemoveHook(ctx context.Context, place awswire.Place, alias string) error {
	return l.hooks.Delete(ctx, place, alias)
}

func (l managedHooks) Hook(ctx context.Context, place awswire.Place, alias string) (builtin.ManagedHook, error) {
	found, err := l.hooks.Get(ctx, place, alias)
	if err != nil {
		return builtin.ManagedHook{}, err
	}
	return builtin.ManagedHook{Kind: found.Kind, Alias: found.Alias, Function: found.Function, Rules: found.Rules, Role: found.Role, Configuration: found.Configuration}, nil
}

func (l managedHooks) HookAliases(ctx context.Context, place awswire.Place, kind, after string, limit int) ([]string, error) {
	return l.hooks.List(ctx, place, kind, after, limit)
}

// payloads are the documents of hooks in our own S3. Their bucket belongs to an account of the
// service itself, as at AWS: it is in no list of a user.
type payloads struct{ c *CloudFormation }

const (
	payloadAccount = "000000000001"
	payloadBucket  = "cloudformation-hook-payloads-"
	payloadLife    = time.Hour // of a URL: a call has 30 seconds
)

// Offer implements hook.Payloads.
func (p payloads) Offer(ctx context.Context, caller awswire.Caller, id, document string) (string, error) {
	endpoint := p.c.url()
	if endpoint == "" {
		return "", errors.New("the address of this server is not known yet")
	}
	at := s3.Location{Bucket: payloadBucket + caller.Region, Key: caller.Account + "/" + id + ".json"}
	owner := awswire.Caller{Place: awswire.Place{Account: payloadAccount, Region: caller.Region}}
	put := func() error {
		_, err := p.c.s3.Put(ctx, payloadAccount, at, "application/json", strings.NewReader(document))
		return err
	}
	err := put()
	var missing *awswire.Error
	if errors.As(err, &missing) && missing.Code == "NoSuchBucket" {
		in := &awss3.CreateBucketInput{Bucket: &at.Bucket}
		if caller.Region != "us-east-1" {
			in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(caller.Region)}
		}
		_, err = p.client(owner).CreateBucket(ctx, in)
		var taken smithy.APIError
		if err != nil && !(errors.As(err, &taken) && taken.ErrorCode() == "BucketAlreadyOwnedByYou") {
			return "", fmt.Errorf("make the bucket of payloads: %w", err)
		}
		err = put()
	}
	if err != nil {
		return "", err
	}
	signer := awss3.NewPresignClient(awss3.New(awss3.Options{
		Region: caller.Region, BaseEndpoint: &endpoint, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			return p.c.sessions.ForCall(ctx, owner.Place, "")
		}),
	}))
	signed, err := signer.PresignGetObject(ctx, &awss3.GetObjectInput{Bucket: &at.Bucket, Key: &at.Key}, awss3.WithPresignExpires(payloadLife))
	if err != nil {
		return "", err
	}
	return signed.URL, nil
}

// Withdraw implements hook.Payloads.
func (p payloads) Withdraw(ctx context.Context, caller awswire.Caller, id string) error {
	owner := awswire.Caller{Place: awswire.Place{Account: payloadAccount, Region: caller.Region}}
	_, err := p.client(owner).DeleteObject(ctx, &awss3.DeleteObjectInput{
		Bucket: aws.String(payloadBucket + caller.Region), Key: aws.String(caller.Account + "/" + id + ".json"),
	})
	var missing smithy.APIError
	if errors.As(err, &missing) && missing.ErrorCode() == "NoSuchBucket" {
		return nil // nothing was ever offered
	}
	return err
}

// client is a client of S3 that calls the service in this process.
func (p payloads) client(owner awswire.Caller) *awss3.Client {
	return awss3.New(awss3.Options{
		Region: owner.Region, BaseEndpoint: aws.String("http://localhost"), UsePathStyle: true, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "in-process", SecretAccessKey: "in-process"}, nil
		}),
		HTTPClient: &http.Client{Transport: inProcess{p.c, owner}},
	})
}

// inProcess answers the requests of a client by the service itself.
type inProcess struct {
	c     *CloudFormation
	owner awswire.Caller
}

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }()
	target, err := awswire.Reader{}.Read(r)
	if err != nil {
		return nil, err
	}
	w := &answer{header: http.Header{}, status: http.StatusOK}
	t.c.s3.Serve(w, r, target, t.owner)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// An answer keeps a response, which is small.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) WriteHeader(status int)      { w.status = status }
func (w *answer) Write(p []byte) (int, error) { return w.body.Write(p) }
