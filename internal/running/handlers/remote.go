package handlers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// remote is a function that another program runs.
type remote struct {
	endpoint *lambda.Endpoint
	output   io.Writer     // nil: nowhere
	stream   string        // the name of its log stream
	slots    chan struct{} // bounds the calls in progress: a URL may lead back here
	writing  sync.Mutex
}

// remoteStream is the log stream of what an endpoint returns of a function's log.
const remoteStream = "endpoint"

// remote makes the function of a URL. Its calls are signed, so that a server on this machine
// knows which account and region are meant.
func (p *Pool) remote(n Named, spec bundle.Spec, hide *secrets, credentials aws.Credentials) *remote {
	address, function := n.endpoint()
	r := &remote{
		endpoint: &lambda.Endpoint{
			URL: address, FunctionName: function, Region: spec.Region, Sign: true, LogTail: true, Now: p.config.Now,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		},
		stream: remoteStream, slots: make(chan struct{}, cmp.Or(p.config.MaxProcesses, lambda.DefaultMaxProcesses)),
	}
	if open := p.logs.stream(spec, hide, ""); open != nil {
		r.output = open(remoteStream)
	}
	return r
}

// Invoke implements lambda.Invoker.
func (r *remote) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return lambda.Result{}, context.Cause(ctx)
	}
	result, err := r.endpoint.Invoke(ctx, payload)
	if result.RequestID == "" {
		result.RequestID = uuid.NewString()
	}
	var failure *lambda.FunctionError
	if err != nil && !errors.As(err, &failure) {
		result.Log = append(result.Log, "ERROR "+err.Error()+"\n"...)
	}
	result.LogStream = r.stream
	if r.output != nil && len(result.Log) > 0 {
		r.writing.Lock()
		defer r.writing.Unlock()
		_, _ = r.output.Write(append(bytes.TrimSuffix(result.Log, []byte("\n")), '\n')) // never fails
	}
	return result, err
}

// Warm implements running.
func (r *remote) Warm(context.Context) error { return nil }

// Close implements running.
func (r *remote) Close() error { return nil }
