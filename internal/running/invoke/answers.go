package invoke

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// headerTimeout is how long a service may take for the header of its response, after it has read
	// the request; bodyTimeout for all that follows. Responses have some megabytes at most.
	headerTimeout = 2 * time.Minute
	bodyTimeout   = 2 * time.Minute

	// exchangeTimeout bounds all of a request, uploads of packages included.
	exchangeTimeout = 2 * time.Hour

	// maxResponse bounds a response in bytes, after it is unpacked: a template of 1 MB, the largest that
	// there is, has some 6 MB as XML.
	maxResponse = 16 << 20

	maxRedirects = 10
)

// An AnswerError reports what is wrong with what a server answers. It is not worth another request.
type AnswerError struct {
	Server  string // its URL
	Problem string
}

func (e *AnswerError) Error() string { return e.Server + " " + e.Problem }

// RetryableError prevents retries by the AWS SDK.
func (e *AnswerError) RetryableError() bool { return false }

// CheckRedirect is for an http.Client: it refuses redirects to another server with an *AnswerError, but
// between those of AWS, and redirects that give up TLS.
func CheckRedirect(r *http.Request, via []*http.Request) error {
	return checkRedirect(len(via), via[len(via)-1].URL, r.URL)
}

func checkRedirect(number int, from, to *url.URL) error {
	if number >= maxRedirects {
		return &AnswerError{serverOf(to), fmt.Sprintf("redirects %d times", number)}
	}
	same := strings.EqualFold(from.Host, to.Host) || AtAWS(from.Hostname()) && AtAWS(to.Hostname())
	if same && (from.Scheme == to.Scheme || to.Scheme == "https") {
		return nil
	}
	return &AnswerError{serverOf(from), fmt.Sprintf("redirects to %s, which is another server; cfn does not follow it", serverOf(to))}
}

func serverOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// AtAWS reports whether a host is one of AWS.
func AtAWS(host string) bool {
	host = "." + strings.ToLower(host)
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") || strings.HasSuffix(host, ".api.aws")
}

// redirects is how many redirects have caused a request.
func redirects(r *http.Request) (n int) {
	for ; r.Response != nil && r.Response.Request != nil; r = r.Response.Request {
		n++
	}
	return n
}

// Bounded is a client whose responses have at most 16 MB and must be complete within two minutes after
// their headers; else reading them fails with an *AnswerError.
func Bounded(client aws.HTTPClient) aws.HTTPClient { return boundedClient{client} }

type boundedClient struct{ client aws.HTTPClient }

func (b boundedClient) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	response, err := b.client.Do(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	late := &AnswerError{serverOf(r.URL), fmt.Sprintf("did not complete its response within %s", bodyTimeout)}
	large := &AnswerError{serverOf(r.URL), fmt.Sprintf("sends a response of more than %d MB", maxResponse>>20)}
	response.Body = &boundedBody{
		body: response.Body, ctx: ctx, left: maxResponse, late: late, large: large, cancel: cancel,
		timer: time.AfterFunc(bodyTimeout, func() { cancel(late) }),
	}
	return response, nil
}

type boundedBody struct {
	body   io.ReadCloser
	ctx    context.Context
	left   int // bytes
	late   error
	large  error
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, b.large
	}
	if cause := context.Cause(b.ctx); err != nil && cause == b.late { //nolint:errorlint // this one
		err = cause
	}
	return n, err
}

func (b *boundedBody) Close() error {
	b.timer.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}
