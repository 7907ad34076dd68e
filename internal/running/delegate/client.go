package delegate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	maxAnswer      = 4 << 20          // bytes of one answer of an emulator
	maxCopied      = 1 << 20          // bytes of a request whose body is copied before it is sent
	requestTimeout = 30 * time.Second // of one request
	connectTimeout = 10 * time.Second
)

// Codes of failures that package invoke does not name.
const (
	generalServiceException invoke.Code = "GeneralServiceException"
	networkFailure          invoke.Code = "NetworkFailure"
	notUpdatable            invoke.Code = "NotUpdatable"
	serviceInternalError    invoke.Code = "ServiceInternalError"
)

// errTooLarge ends the reading of an answer.
var errTooLarge = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// newHTTP is a client of emulators: without proxies and redirects, and with bounds.
func newHTTP() *http.Client {
	return &http.Client{
		Transport: bounded{&http.Transport{
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout: connectTimeout, MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives: true, // emulators close idle connections while they are used again
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       requestTimeout,
	}
}

// bounded limits the bodies of answers.
type bounded struct{ next *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ContentLength > 0 && r.ContentLength <= maxCopied {
		// The SDK closes the body as soon as the answer begins, which may be while the transport still reads it: that
		// would close the connection before the answer is read.
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxAnswer}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// credentials sign requests: emulators take the account from a key of 12 digits.
func credentials(caller awswire.Caller) aws.Credentials {
	return aws.Credentials{AccessKeyID: caller.Account, SecretAccessKey: "delegated"}
}

// cloudFormation is the CloudFormation of the emulator for an account and region.
func (e *emulator) cloudFormation(caller awswire.Caller) *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{
		Region: caller.Region, BaseEndpoint: &e.url, HTTPClient: e.http, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials(caller), nil }),
	})
}

// A fault is a failure to end a call with.
type fault struct {
	code    invoke.Code
	message string
}

func (f *fault) Error() string { return f.message }

func faultf(code invoke.Code, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// explain makes a fault of what a request of the emulator ended with. An error of the context stays as it is:
// the process stops.
func (e *emulator) explain(ctx context.Context, err error) error {
	var api smithy.APIError
	var status interface{ HTTPStatusCode() int }
	var known *fault
	switch {
	case err == nil || errors.As(err, &known) || ctx.Err() != nil:
		return err
	case errors.Is(err, errTooLarge):
		return faultf(generalServiceException, "The emulator at %s sent an answer of more than %d bytes.", e.url, maxAnswer)
	case errors.As(err, &api) && api.ErrorCode() == "Throttling":
		return faultf(invoke.Throttling, "%s: %s", e.url, api.ErrorMessage())
	case errors.As(err, &status) && status.HTTPStatusCode() >= http.StatusInternalServerError:
		return faultf(serviceInternalError, "The emulator at %s answered with status %d.", e.url, status.HTTPStatusCode())
	case errors.As(err, &api) && api.ErrorCode() != "" && api.ErrorCode() != "UnknownError":
		return faultf(generalServiceException, "%s", api.ErrorMessage())
	case unreached(err):
		return faultf(networkFailure, "The emulator at %s cannot be reached: start it, or remove its option --delegate.", e.url)
	}
	return faultf(generalServiceException, "The emulator at %s sent an answer that cannot be read.", e.url)
}

// unreached reports whether a request had no complete answer.
func unreached(err error) bool {
	var network net.Error
	var operation *net.OpError
	return errors.As(err, &operation) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
