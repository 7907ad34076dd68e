// Package submit is the client's side of the CloudFormation registry: it uploads and
// registers extensions, publishes them, and reads what the registry and the logs hold.
//
// A [Remote] is one account in one region, on AWS or any server with the same protocols.
// Packages are uploaded to a bucket of the account: on AWS to that of the managed upload
// stack, which it shares with the official CLI; at a local server of this program to a bucket
// that needs no stack.
//
// The package neither prints nor prompts. Progress is passed to functions of the caller;
// [Explain] explains errors of services. See the user guide, "Registering extensions" and
// "Publishing extensions".
package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Request is an extension to register.
type Request struct {
	Kind     schema.Kind // RESOURCE, MODULE or HOOK
	TypeName string
	Schema   *schema.Schema
	Archive  []byte // the zip

	// RoleARN is the role that handlers run as. Empty with a RoleTemplate means that of a
	// stack that is made from the template; empty without one means none.
	RoleARN      string
	RoleTemplate []byte

	// Bucket takes the package, instead of that of the managed upload stack. Then logs
	// are delivered only if that stack is there already.
	Bucket string

	// Key of the package in the bucket. Empty means <type-name>-<time>.zip.
	Key string

	// Report is called with the current activity, in a few words; it may be nil.
	Report func(text string)
}

func (q *Request) report(format string, args ...any) {
	if q.Report != nil {
		q.Report(fmt.Sprintf(format, args...))
	}
}

// A Registration is one attempt to register a version. Fields that the registry has not
// told yet are empty.
type Registration struct {
	Token       string                   `json:"registrationToken"`
	Status      types.RegistrationStatus `json:"status"`
	Description string                   `json:"description"`
	TypeARN     string                   `json:"typeArn"`
	VersionARN  string                   `json:"typeVersionArn"`
}

// Version is the number of the version, such as 00000001; "" if it is not known.
func (r *Registration) Version() string {
	return r.VersionARN[strings.LastIndexByte(r.VersionARN, '/')+1:]
}

// A FailedError says that the registry has refused a version after it took the request.
type FailedError struct{ Registration Registration }

func (e *FailedError) Error() string {
	return fmt.Sprintf("the registration %s failed: %s", e.Registration.Token, e.Registration.Description)
}

// A TimeoutError reports that something has not finished within the caller's timeout. It
// continues.
type TimeoutError struct {
	What  string // "the registration TOKEN"
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s had not ended after %s; it goes on", e.What, e.After)
}

// Register uploads the package and starts the registration of a version. It returns the token
// of the registration and records it beside the package, for publishing the package later. A
// failure to record it is not an error.
//
// Errors: *[StackError] for a stack that failed, *[BucketError], or what [Explain] knows.
func (r *Remote) Register(ctx context.Context, q Request) (token string, err error) {
	token, store, err := r.register(ctx, q)
	if err != nil {
		return "", err
	}
	if err := r.noteRegistration(ctx, store.bucket, &q, token); err != nil {
		r.config.Logger.Debug("The registration is not noted beside the package", "error", err)
	}
	return token, nil
}

// register is Register without the note. It reports where the package is.
func (r *Remote) register(ctx context.Context, q Request) (token string, store storage, err error) {
	if q.RoleARN == "" && q.RoleTemplate != nil && !r.Local {
		if q.RoleARN, err = r.roleStack(ctx, &q); err != nil {
			return "", storage{}, err
		}
	}
	if store, err = r.uploads(ctx, &q); err != nil {
		return "", storage{}, err
	}
	if q.Key == "" {
		q.Key = fmt.Sprintf("%s-%s.zip", schema.Hyphenated(q.TypeName), r.config.Now().UTC().Format("2006-01-02T15-04-05"))
	}
	q.report("uploading %d KiB to %s", (len(q.Archive)+1023)/1024, store.bucket)
	if err := r.put(ctx, store.bucket, q.Key, q.Archive); err != nil {
		return "", storage{}, err
	}
	input := &cloudformation.RegisterTypeInput{
		Type: types.RegistryType(q.Kind), TypeName: &q.TypeName, SchemaHandlerPackage: aws.String("s3://" + store.bucket + "/" + q.Key),
		ClientRequestToken: aws.String(r.config.NewToken()),
	}
	if store.logRole != "" {
		input.LoggingConfig = &types.LoggingConfig{LogRoleArn: &store.logRole, LogGroupName: aws.String(LogGroup(q.TypeName))}
	}
	if q.RoleARN != "" {
		input.ExecutionRoleArn = &q.RoleARN
	}
	q.report("registering %s", q.TypeName)
	out, err := r.cloudformation.RegisterType(ctx, input)
	if err != nil {
		return "", storage{}, err
	}
	return aws.ToString(out.RegistrationToken), store, nil
}

// Registration requests the state of a registration, once.
func (r *Remote) Registration(ctx context.Context, token string) (*Registration, error) {
	out, err := r.cloudformation.DescribeTypeRegistration(ctx, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
	if err != nil {
		return nil, err
	}
	return &Registration{
		Token: token, Status: out.ProgressStatus, Description: aws.ToString(out.Description),
		TypeARN: aws.ToString(out.TypeArn), VersionARN: aws.ToString(out.TypeVersionArn),
	}, nil
}

// Wait polls until the registration has ended, for the first time at once. timeout 0 means an
// hour, as in the official CLI.
//
//	registration  err             meaning
//	complete      nil             the version is registered
//	failed        *FailedError    the registry refused it
//	last known    *TimeoutError   it continues
//	last known    ctx's           it continues
//	last known    other           the registry could not be asked; it may continue
func (r *Remote) Wait(ctx context.Context, token string, timeout time.Duration, report func(text string)) (*Registration, error) {
	last := &Registration{Token: token}
	err := r.poll(ctx, "the registration "+token, timeout, func(ctx context.Context) (bool, error) {
		now, err := r.Registration(ctx, token)
		if err != nil {
			return false, err
		}
		last = now
		if report != nil {
			report(strings.TrimSpace(string(now.Status) + "  " + now.Description))
		}
		return now.Status != types.RegistrationStatusInProgress, nil
	})
	if err == nil && last.Status != types.RegistrationStatusComplete {
		err = &FailedError{*last}
	}
	return last, err
}

// poll calls ask until it says that it is done, with growing pauses. That the service is
// busy or away for a moment is waited out.
func (r *Remote) poll(ctx context.Context, what string, timeout time.Duration, ask func(context.Context) (done bool, err error)) error {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pause, misses := r.pause, 0
	for {
		done, err := ask(limited)
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return &TimeoutError{what, timeout}
		case err != nil && (misses == maxMisses || !passing(err)):
			return err
		case err != nil:
			misses++
		default:
			misses = 0
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-limited.Done():
			timer.Stop()
			return &TimeoutError{what, timeout}
		case <-timer.C:
		}
		pause = min(pause*3/2, 5*r.pause)
	}
}

// DefaultTimeout of waiting for a registration.
const DefaultTimeout = time.Hour

// maxMisses is how often in a row a question may get no answer, each tried three times by
// the SDK, before waiting is given up.
const maxMisses = 5

// passing reports whether an error is one of a service that is busy or away, or of a connection that was lost while the
// response was read, which the SDK does not repeat.
func passing(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) ||
		retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary ||
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary
}

// SetDefault makes a version the default one, by its ARN.
func (r *Remote) SetDefault(ctx context.Context, versionARN string) error {
	_, err := r.cloudformation.SetTypeDefaultVersion(ctx, &cloudformation.SetTypeDefaultVersionInput{Arn: &versionARN})
	return err
}

// Sum is the SHA-256 of a package, hexadecimal.
func Sum(archive []byte) string {
	sum := sha256.Sum256(archive)
	return hex.EncodeToString(sum[:])
}

// A BucketError says that a package could not be put into its bucket.
type BucketError struct {
	Bucket string
	Err    error
}

func (e *BucketError) Error() string {
	return fmt.Sprintf("upload to the bucket %s: %s", e.Bucket, Explain(e.Err).Text)
}
func (e *BucketError) Unwrap() error { return e.Err }

func (r *Remote) put(ctx context.Context, bucket, key string, data []byte) error {
	_, err := r.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data)})
	if err != nil && ctx.Err() == nil {
		return &BucketError{bucket, err}
	}
	return err
}

// storage is where packages go.
type storage struct{ bucket, logRole string }

// uploads finds or creates the bucket for packages.
func (r *Remote) uploads(ctx context.Context, q *Request) (storage, error) {
	switch {
	case r.Local:
		return r.localUploads(ctx, q.Bucket)
	case q.Bucket != "":
		found, err := r.findUploadStack(ctx)
		return storage{q.Bucket, found.logRole}, err
	}
	return r.uploadStack(ctx, q)
}

// localUploads creates the bucket for packages at a local server. The role for logs is not
// used there, but without one the log group cannot be set.
func (r *Remote) localUploads(ctx context.Context, bucket string) (storage, error) {
	account, err := r.Account(ctx)
	if err != nil {
		return storage{}, err
	}
	role := fmt.Sprintf("arn:%s:iam::%s:role/LogAndMetricsDeliveryRole", awswire.PartitionOf(r.Region), account)
	if bucket != "" {
		return storage{bucket, role}, nil
	}
	bucket = localBucket(account, r.Region)
	return storage{bucket, role}, r.createBucket(ctx, bucket)
}

// localBucket is the name of the bucket that a local server gets.
func localBucket(account, region string) string {
	return fmt.Sprintf("formwork-uploads-%s-%s", account, region)
}

func (r *Remote) createBucket(ctx context.Context, bucket string) error {
	input := &s3.CreateBucketInput{Bucket: &bucket}
	if r.Region != "us-east-1" { // which must not be named
		input.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(r.Region)}
	}
	_, err := r.s3.CreateBucket(ctx, input)
	var owned *s3types.BucketAlreadyOwnedByYou
	if err != nil && !errors.As(err, &owned) && ctx.Err() == nil {
		return &BucketError{bucket, err}
	}
	if errors.As(err, &owned) {
		return nil
	}
	return err
}
