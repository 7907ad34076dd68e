package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

const (
	runtimeVersion = "2018-06-01"

	// answerMargin is kept back from the deadline, so that a handler that
	// stops at the end of its context can still say so.
	answerMargin = 250 * time.Millisecond

	// maxRequest bounds what is read of one invocation. Lambda itself sends 6 MB.
	maxRequest = 16 << 20
)

// Start serves invocations through the Lambda Runtime API until the process is
// stopped. Call it from main and nothing after it: it never returns.
//
// Without AWS_LAMBDA_RUNTIME_API in the environment it says on standard error
// who sets that, and exits with 1, as it does when the runtime goes away or the
// schema of the extension cannot be used.
func Start(e Extension) {
	if err := serve(context.Background(), e, os.Getenv("AWS_LAMBDA_RUNTIME_API")); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

// serve ends with an error only; a context that ends is one.
func serve(ctx context.Context, e Extension, address string) error {
	if address == "" {
		return errors.New("this program holds the handlers of a CloudFormation extension and is not started by hand: " +
			"run it with \"cfn invoke\", \"cfn test\" or \"cfn start-lambda\", or deploy it to AWS Lambda (AWS_LAMBDA_RUNTIME_API is not set)")
	}
	// No time-out: waiting for the next invocation may take days.
	client := &runtimeClient{base: "http://" + address + "/" + runtimeVersion + "/runtime/", http: &http.Client{Transport: &http.Transport{}}}
	f, err := New(e)
	if err != nil {
		return errors.Join(err, client.post(ctx, "init/error", functionError{err.Error(), "InitError"}.json()))
	}
	for {
		if err := client.serveNext(ctx, f); err != nil {
			return err
		}
	}
}

type runtimeClient struct {
	base string
	http *http.Client
}

// functionError is how an invocation fails as a whole.
type functionError struct {
	ErrorMessage string `json:"errorMessage"`
	ErrorType    string `json:"errorType"`
}

func (e functionError) json() []byte {
	text, _ := json.Marshal(e) // two strings always have a JSON form
	return text
}

func (c *runtimeClient) serveNext(ctx context.Context, f *Function) error {
	id, deadline, payload, err := c.next(ctx)
	if err != nil {
		return fmt.Errorf("get next invocation: %w", err)
	}
	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		callCtx, cancel = context.WithDeadline(ctx, deadline)
	}
	answer, err := f.Call(callCtx, payload)
	cancel()
	path := "invocation/" + url.PathEscape(id) + "/response"
	if err != nil {
		path = "invocation/" + url.PathEscape(id) + "/error"
		answer = functionError{err.Error(), "InvalidPayload"}.json()
	}
	if err := c.post(ctx, path, answer); err != nil {
		return fmt.Errorf("answer invocation %s: %w", id, err)
	}
	return nil
}

// next waits for an invocation. The deadline is zero when none is set.
func (c *runtimeClient) next(ctx context.Context) (id string, deadline time.Time, payload []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"invocation/next", nil)
	if err != nil {
		return "", time.Time{}, nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", time.Time{}, nil, err
	}
	defer response.Body.Close()
	payload, err = io.ReadAll(io.LimitReader(response.Body, maxRequest+1))
	if err != nil {
		return "", time.Time{}, nil, err
	}
	if response.StatusCode != http.StatusOK {
		return "", time.Time{}, nil, fmt.Errorf("the runtime answered %s", response.Status)
	}
	if len(payload) > maxRequest {
		return "", time.Time{}, nil, fmt.Errorf("the payload is larger than %d bytes", maxRequest)
	}
	id = response.Header.Get("Lambda-Runtime-Aws-Request-Id")
	if id == "" {
		return "", time.Time{}, nil, errors.New("the runtime sent no Lambda-Runtime-Aws-Request-Id")
	}
	if ms, err := strconv.ParseInt(response.Header.Get("Lambda-Runtime-Deadline-Ms"), 10, 64); err == nil && ms > 0 {
		deadline = withMargin(time.UnixMilli(ms), time.Now())
	}
	return id, deadline, payload, nil
}

// withMargin moves a deadline forward, by a tenth of what is left at most.
func withMargin(deadline, now time.Time) time.Time {
	left := deadline.Sub(now)
	return deadline.Add(-min(answerMargin, max(left/10, 0)))
}

// post sends an answer. A refusal of this one answer, as for an invocation
// that has timed out, does not end the process.
func (c *runtimeClient) post(ctx context.Context, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)); err != nil {
		return err
	}
	if response.StatusCode >= 500 {
		return fmt.Errorf("the runtime answered %s", response.Status)
	}
	return nil
}
