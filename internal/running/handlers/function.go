package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A Function is the handler of one version. It is an invoke.LoggedFunction and a
// lambda.Invoker, and stays of use when its processes have ended: the next call starts
// new ones.
type Function struct {
	pool *Pool
	spec bundle.Spec
	hide map[secret.Reason][]string
}

// Hiding is the function for calls whose payloads also have the secrets given, by the reason for
// which they are hidden.
func (f *Function) Hiding(secrets map[secret.Reason][]string) invoke.Function {
	hide := maps.Clone(secrets)
	for why, values := range f.hide {
		hide[why] = slices.Concat(hide[why], values)
	}
	return &Function{pool: f.pool, spec: f.spec, hide: hide}
}

// Function returns the handler that spec names. Nothing is started before the first call. The
// error is ErrClosed, or reports that spec is incomplete.
func (p *Pool) Function(_ context.Context, spec bundle.Spec) (*Function, error) {
	for name, value := range map[string]string{"account": spec.Account, "region": spec.Region, "kind": string(spec.Kind), "type name": spec.TypeName, "version": spec.Version, "package": spec.Package} {
		if value == "" {
			return nil, fmt.Errorf("the handler of %q has no %s", spec.TypeName, name)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	return &Function{pool: p, spec: spec}, nil
}

// Invoke runs one invocation. The results are those of lambda.Function.Invoke, where
// secrets are hidden in Result.Log and in what errors say. Besides, there is
// ErrClosed, and what is wrong with the package or the runtime.
func (f *Function) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	p := f.pool
	e, err := p.acquire(ctx, f.spec)
	if err != nil {
		return lambda.Result{}, err
	}
	defer p.release(e)
	p.mu.Lock()
	e.called = true
	p.mu.Unlock()
	e.secrets.learn(f.hide)
	e.secrets.observe(payload)
	started := p.config.Now()
	result, err := e.function.Invoke(ctx, payload)
	result.ExecutedVersion = f.spec.Version
	e.secrets.observe(result.Payload)
	hideOutput(err, e.secrets)
	result.Log = []byte(e.secrets.text(string(result.Log)))
	p.recorder.record(call{spec: f.spec, secrets: e.secrets, started: started, request: payload, result: result, err: err})
	return result, err
}

// Call sends payload and returns the reply. An error means that the handler did not answer.
func (f *Function) Call(ctx context.Context, payload []byte) ([]byte, error) {
	reply, _, err := f.CallLogged(ctx, payload)
	return reply, err
}

// CallLogged is Call that also returns what the handler printed.
func (f *Function) CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error) {
	result, err := f.Invoke(ctx, payload)
	if err != nil {
		return nil, result.Log, err
	}
	return result.Payload, result.Log, nil
}

// hideOutput removes secrets from the texts and quotes of an error. The error payload of the
// function is not changed in the Result, because its caller sent it the secrets.
func hideOutput(err error, hide *secrets) {
	var failure *lambda.FunctionError
	if errors.As(err, &failure) {
		failure.Message = hide.text(failure.Message)
		for i, frame := range failure.StackTrace {
			failure.StackTrace[i] = hide.text(frame)
		}
	}
	var crash *lambda.CrashError
	var timeout *lambda.TimeoutError
	var notReady *lambda.NotReadyError
	var memory *lambda.MemoryError
	for _, output := range []*string{
		field(errors.As(err, &crash), crash, func(e *lambda.CrashError) *string { return &e.Output }),
		field(errors.As(err, &timeout), timeout, func(e *lambda.TimeoutError) *string { return &e.Output }),
		field(errors.As(err, &notReady), notReady, func(e *lambda.NotReadyError) *string { return &e.Output }),
		field(errors.As(err, &memory), memory, func(e *lambda.MemoryError) *string { return &e.Output }),
	} {
		if output != nil {
			*output = hide.text(*output)
		}
	}
}

func field[E any](is bool, err E, output func(E) *string) *string {
	if !is {
		return nil
	}
	return output(err)
}

// Probe starts a handler and waits until it requests an invocation, unless it runs already.
// The error is why it does not, with its last output; it wraps context.Canceled or ErrClosed
// if the handler is not the cause.
func (p *Pool) Probe(ctx context.Context, spec bundle.Spec) error {
	if _, err := p.Function(ctx, spec); err != nil {
		return err
	}
	late := fmt.Errorf("it was not ready within %s", p.config.ProbeTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, p.config.ProbeTimeout, late)
	defer cancel()
	e, err := p.acquire(ctx, spec)
	if err != nil {
		return err
	}
	defer p.release(e)
	err = e.function.Warm(ctx)
	hideOutput(err, e.secrets)
	var failure *lambda.FunctionError
	if errors.As(err, &failure) && len(failure.StackTrace) > 0 {
		return fmt.Errorf("%w; trace:\n%s", err, failure.Trace())
	}
	if err != nil && p.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// functionName is the name of the function on Lambda, the same for all versions of a type.
// Names that are too long end in a part of their hash.
func functionName(spec bundle.Spec) string {
	const longest = 64
	name := schema.Dashed(spec.TypeName)
	if len(name) > longest {
		sum := sha256.Sum256([]byte(name))
		name = name[:longest-9] + "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// logGroup is the log group of the handler's output.
func logGroup(spec bundle.Spec) string {
	if spec.LogGroup != "" {
		return spec.LogGroup
	}
	return DefaultLogGroup(spec.TypeName)
}

// DefaultLogGroup is the log group of the handlers of a type that was registered without
// one. The name is the one in the schema, which is not the alias of an activated type.
func DefaultLogGroup(typeName string) string {
	return "/aws/lambda/" + functionName(bundle.Spec{TypeName: typeName})
}
