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

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/s3"
)

// guardProgram finds cfn-guard.
func (c *Config) guardProgram() (string, error) {
	for _, dir := range filepath.SplitList(envvar.Get(c.Environ, "PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, "cfn-guard")); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", errors.New("cfn-guard is not installed: Guard Hooks need it in the PATH of cfn serve; cargo install cfn-guard installs it (https://github.com/aws-cloudformation/cloudformation-guard)")
}

// payloads are the documents of hooks in our own S3. Their bucket belongs to an account of the
// service itself, as on AWS: it is in no list of a user.
type payloads struct {
	s3       *s3.Service
	sessions *awslite.Sessions
	endpoint func() string // of this server, "" if it is not known yet
}

const (
	payloadAccount = "000000000001"
	payloadBucket  = "cloudformation-hook-payloads-"
	payloadLife    = time.Hour // of a URL: a call has 30 seconds
)

// offer is hook.Config.Offer.
func (p payloads) offer(ctx context.Context, caller awswire.Caller, id, document string) (string, error) {
	endpoint := p.endpoint()
	if endpoint == "" {
		return "", errors.New("the address of this server is not known yet")
	}
	at := s3.Location{Bucket: payloadBucket + caller.Region, Key: caller.Account + "/" + id + ".json"}
	owner := awswire.Caller{Place: awswire.Place{Account: payloadAccount, Region: caller.Region}}
	put := func() error {
		_, err := p.s3.Put(ctx, payloadAccount, at, "application/json", strings.NewReader(document))
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
			return p.sessions.ForCall(ctx, owner.Place, "")
		}),
	}))
	signed, err := signer.PresignGetObject(ctx, &awss3.GetObjectInput{Bucket: &at.Bucket, Key: &at.Key}, awss3.WithPresignExpires(payloadLife))
	if err != nil {
		return "", err
	}
	return signed.URL, nil
}

// withdraw is hook.Config.Withdraw.
func (p payloads) withdraw(ctx context.Context, caller awswire.Caller, id string) error {
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
		HTTPClient: &http.Client{Transport: inProcess{p.s3, owner}},
	})
}

// inProcess answers the requests of a client by the service itself.
type inProcess struct {
	s3    *s3.Service
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
	t.s3.Serve(w, r, target, t.owner)
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
