package lambda

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// An Endpoint calls a function through the Lambda Invoke API, wherever that is:
// another program of this machine, a container, AWS. Only URL and FunctionName
// must be set. It is safe for concurrent use.
type Endpoint struct {
	// URL is the address of the API, such as http://127.0.0.1:3001. Calls to http:// are
	// signed only with Sign, calls to https:// always.
	URL string

	// Sign also signs calls to http://. A server on this machine may take the account and
	// region from the signature.
	Sign bool

	// FunctionName is the name, partial ARN or ARN of the function.
	FunctionName string

	// Region is what calls are signed for. Needed for those that are.
	Region string

	// Credentials sign the calls. Needed for those that are signed.
	Credentials aws.CredentialsProvider

	// Timeout bounds one call. Zero means 15 min, the most that a function may
	// take; a negative value means no bound.
	Timeout time.Duration

	// LogTail requests the end of the log as Result.Log. Some local implementations ignore it.
	LogTail bool

	// HTTPClient makes the requests. Nil means a plain one that follows no redirects. It
	// should not have a timeout.
	HTTPClient *http.Client

	// Now is the clock for signatures. Nil means time.Now.
	Now func() time.Time
}

// An EndpointError reports that an endpoint could not be reached or did not answer as the
// Lambda API does. Whether the function ran is unknown.
type EndpointError struct {
	URL      string
	Function string
	Status   int    // of the answer, 0 when there was none
	Code     string // error type of the API, "" if none
	Message  string // what is wrong, and what to do about it
	Err      error  // cause; may be nil
}

func (e *EndpointError) Error() string {
	text := fmt.Sprintf("function %s at %s: ", e.Function, e.URL)
	if e.Code != "" {
		text += e.Code + ": "
	}
	return text + e.Message
}

func (e *EndpointError) Unwrap() error { return e.Err }

// Call sends payload and returns the reply. An error means that the function
// did not answer; see Invoke.
func (e *Endpoint) Call(ctx context.Context, payload []byte) ([]byte, error) {
	result, err := e.Invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	return result.Payload, nil
}

// Invoke sends payload and waits for the reply.
//
//	err                    meaning
//	nil                    the function replied, with some JSON
//	*FunctionError         the function failed, by itself or by a limit
//	*ThrottledError        the endpoint has no process or concurrency left
//	*PayloadTooLargeError  payload is longer than MaxRequestBytes; not sent
//	*TimeoutError          no answer within Timeout; it may still be working
//	*EndpointError         no endpoint there, a refusal, or no Lambda API
//	the cause of ctx       ctx ended first
//
// The Result has the request ID, the payload, the log if asked for and the
// duration as seen from here.
func (e *Endpoint) Invoke(ctx context.Context, payload []byte) (Result, error) {
	if len(payload) > MaxRequestBytes {
		return Result{}, &PayloadTooLargeError{Function: e.FunctionName, Size: int64(len(payload)), Limit: MaxRequestBytes}
	}
	limit := e.Timeout
	orDefault(&limit, DefaultTimeout)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &TimeoutError{Function: e.FunctionName, Limit: limit})
		defer cancel()
	}
	request, err := e.request(ctx, payload)
	if err != nil {
		return Result{}, err
	}
	client := e.HTTPClient
	if client == nil {
		client = &http.Client{CheckRedirect: noRedirects}
	}
	started := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return Result{}, e.unreachable(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxResponseBytes+1))
	if err != nil {
		return Result{}, e.unreachable(ctx, err)
	}
	result := Result{RequestID: response.Header.Get("X-Amzn-Requestid"), Duration: time.Since(started)}
	err = e.judge(response, body, &result)
	return result, err
}

func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// request makes the call, signed where the endpoint wants that.
func (e *Endpoint) request(ctx context.Context, payload []byte) (*http.Request, error) {
	base, err := url.Parse(e.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, e.fail(0, "", "the endpoint is not a URL such as http://"+DefaultAddress, err)
	}
	address := strings.TrimRight(base.String(), "/") + "/2015-03-31/functions/" + url.PathEscape(e.FunctionName) + "/invocations"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return nil, e.fail(0, "", "make the request", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Amz-Invocation-Type", "RequestResponse")
	if e.LogTail {
		request.Header.Set("X-Amz-Log-Type", "Tail")
	}
	if base.Scheme == "https" || e.Sign {
		return request, e.sign(ctx, request, payload)
	}
	return request, nil
}

func (e *Endpoint) sign(ctx context.Context, request *http.Request, payload []byte) error {
	if e.Credentials == nil || e.Region == "" {
		return e.fail(0, "", "calls to an https endpoint are signed, which requires credentials and a region; for a local endpoint, use http://", nil)
	}
	credentials, err := e.Credentials.Retrieve(ctx)
	if err != nil {
		return e.fail(0, "", "get the credentials: "+err.Error(), err)
	}
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	sum := sha256.Sum256(payload)
	err = v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "lambda", e.Region, now())
	if err != nil {
		return e.fail(0, "", "sign the request: "+err.Error(), err)
	}
	return nil
}

// unreachable explains why there was no answer.
func (e *Endpoint) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		var timeout *TimeoutError
		if errors.As(cause, &timeout) {
			return cause
		}
		return fmt.Errorf("function %s at %s: %w", e.FunctionName, e.URL, cause)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // method and address are already in the message
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return e.fail(0, "", "nothing is listening there; start \"cfn start-lambda\" or \"sam local start-lambda\" first, or remove the endpoint to run the handler directly", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return e.fail(0, "", "the connection was closed before a response: "+err.Error(), err)
	}
	return e.fail(0, "", err.Error(), err)
}

// judge fills in result from the answer, or returns why the answer is invalid.
func (e *Endpoint) judge(response *http.Response, body []byte, result *Result) error {
	if response.StatusCode != http.StatusOK {
		return e.refused(response, body)
	}
	if text, err := base64.StdEncoding.DecodeString(response.Header.Get("X-Amz-Log-Result")); err == nil {
		result.Log = text
	}
	if len(body) > MaxResponseBytes {
		return &ResponseTooLargeError{Function: e.FunctionName, RequestID: result.RequestID, Size: response.ContentLength, Limit: MaxResponseBytes}
	}
	result.FunctionError = response.Header.Get("X-Amz-Function-Error")
	if result.FunctionError != "" {
		result.Payload = body
		return newFunctionError(e.FunctionName, result.RequestID, body)
	}
	if !json.Valid(body) {
		return e.fail(response.StatusCode, "", describeBody(response, body)+" instead of JSON", nil)
	}
	result.Payload = body
	return nil
}

// refused reads an error response, of the API or of another server at the address.
func (e *Endpoint) refused(response *http.Response, body []byte) error {
	if response.StatusCode == http.StatusTooManyRequests {
		return &ThrottledError{Function: e.FunctionName}
	}
	code, _, _ := strings.Cut(response.Header.Get("X-Amzn-Errortype"), ":")
	var document struct { // "Message" and "message" are both in use
		Message string
	}
	err := json.Unmarshal(body, &document)
	switch {
	case code == "" && (err != nil || document.Message == ""):
		return e.fail(response.StatusCode, "", fmt.Sprintf("not the Lambda API: it returned %s with %s", response.Status, describeBody(response, body)), nil)
	case document.Message == "":
		document.Message = "the call was refused with status " + response.Status
	}
	return e.fail(response.StatusCode, code, document.Message, nil)
}

// describeBody quotes the beginning of an unexpected body.
func describeBody(response *http.Response, body []byte) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		kind = "text"
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s %.100q", kind, body)
}

func (e *Endpoint) fail(status int, code, message string, err error) error {
	address := e.URL
	if u, parseErr := url.Parse(e.URL); parseErr == nil {
		address = u.Redacted()
	}
	return &EndpointError{URL: address, Function: e.FunctionName, Status: status, Code: code, Message: message, Err: err}
}
