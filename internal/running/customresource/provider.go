package customresource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/sns"
)

// Config sets up a Provider. Store, Functions, Find, Resume and InProgress must be set.
type Config struct {
	Store     *store.Store
	Functions lambda.Functions // that service tokens name
	Topics    *sns.Service     // that service tokens name; nil: none exist

	// Find looks a function up by its ARN. local reports whether its process is one of this
	// server, with the server's certificate. The error is a *lambda.RefusedError if the
	// function does not exist.
	Find func(ctx context.Context, caller awswire.Caller, arn string) (local bool, err error)

	// Resume makes the next call of the operation with a token, InProgress reports whether one is in
	// progress: those of [operation.Engine].
	Resume     func(ctx context.Context, tx *store.Tx, token string) error
	InProgress func(ctx context.Context, tx *store.Tx, token string) (bool, error)

	// Endpoint is the address of the server for response URLs: "http://127.0.0.1:4566".
	// SecureEndpoint is the one for functions whose processes trust the server's certificate,
	// "" or nil for none: they get the first one, too.
	Endpoint, SecureEndpoint func() string

	// Alone says that no other process uses the store: what this one does not invoke, nothing
	// invokes.
	Alone bool

	// Invocations bounds the invocations that this node makes at once. Zero means 32.
	Invocations int

	// TimeScale is that of the engine of operations. Zero means 1.
	TimeScale float64

	// RetryAfter is the wait after the first failure of a function; after the second it is
	// twice as long. Zero means 1 s.
	RetryAfter time.Duration

	Logger       *slog.Logger     // nil discards
	Now          func() time.Time // nil means the store's clock
	NewID        func() string    // of requests; nil makes random UUIDs
	NewSignature func() string    // nil means the function NewSignature
}

// A Provider provisions custom resources: it has the requests of operations sent to functions
// and takes their responses. It may be used by any number of goroutines and by several
// processes on one database. A request is a row: the response counts whichever process takes
// it, and an invocation that was cut off with its process is made again.
type Provider struct {
	config Config
	slots  slots
}

// New returns the provider over a store. No function is invoked until the store runs Workers.
func New(config Config) *Provider {
	if config.Invocations == 0 {
		config.Invocations = 32
	}
	if config.TimeScale == 0 {
		config.TimeScale = 1
	}
	if config.RetryAfter == 0 {
		config.RetryAfter = time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	if config.NewSignature == nil {
		config.NewSignature = NewSignature
	}
	return &Provider{config: config, slots: slots{free: config.Invocations}}
}

// Type implements [operation.Types].
func (p *Provider) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if !IsType(name) {
		return nil, &operation.UnknownTypeError{Name: name}
	}
	if err := CheckType(name); err != nil {
		return nil, &operation.UnknownTypeError{Name: name, Hint: err.Error()}
	}
	return &operation.Type{Name: name, Provider: p, Timeout: 2 * MaxTimeout, Placeholder: true}, nil
}

// Call implements [operation.Provider]: the first call has the request sent, later ones look
// for the response.
func (p *Provider) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	found, err := store.Find[row](ctx, p.config.Store.Read(), "token = ?", request.Token)
	switch {
	case err != nil:
		return operation.Progress{}, err
	case found == nil:
		return p.begin(ctx, request)
	}
	return p.look(ctx, found, request)
}

// A refusal is the reason for which an operation fails.
type refusal string

func (r refusal) Error() string { return string(r) }

// begin stores the request of an operation and has it sent.
func (p *Provider) begin(ctx context.Context, request operation.Request) (operation.Progress, error) {
	if unchanged(request) {
		return operation.Progress{Status: types.OperationStatusSuccess, Identifier: request.Identifier}, nil
	}
	made, err := p.order(ctx, request)
	var refused refusal
	if errors.As(err, &refused) {
		return failed(refused.Error(), ""), nil
	}
	if err != nil {
		return operation.Progress{}, err
	}
	now := p.config.Now()
	text, err := marshal(made)
	if err != nil {
		return operation.Progress{}, fmt.Errorf("store the request of a custom resource: %w", err)
	}
	begun := &row{
		Token: request.Token, SignatureHash: Address{made.Request.Object(), made.Signature}.Hash(), Account: request.Caller.Account, Region: request.Caller.Region,
		Status: waiting, Invocation: queued, NextAt: store.At(now), DeadlineAt: store.At(now.Add(made.Timeout)), CreatedAt: store.At(now), RowVersion: 1,
		Request: string(text),
	}
	err = p.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := store.Insert(ctx, tx, begun); err != nil {
			return fmt.Errorf("store the request of a custom resource: %w", err)
		}
		return tx.Wake(ctx, workKind, request.Token, now)
	})
	if err != nil {
		return operation.Progress{}, err
	}
	return p.wait(made.Timeout), nil
}

// responseURL is the URL of the response to a request, at the address that the server has now.
func (p *Provider) responseURL(o *order) string {
	base := ""
	if o.Local && p.config.SecureEndpoint != nil {
		base = p.config.SecureEndpoint()
	}
	if base == "" {
		base = p.config.Endpoint()
	}
	return ResponseURL(base, &o.Request, o.Signature, p.config.Now(), 2*MaxTimeout)
}

// unchanged reports whether an operation undoes an update that was refused before the
// provider was called.
func unchanged(request operation.Request) bool {
	return request.Action == invoke.Update && request.Rollback && request.Desired[PropertyToken] != request.Previous[PropertyToken]
}

// order makes the request of an operation. The error is a refusal for what the service refuses before it calls anything.
func (p *Provider) order(ctx context.Context, request operation.Request) (*order, error) {
	kind, ok := map[invoke.Action]RequestType{invoke.Create: Create, invoke.Update: Update, invoke.Delete: Delete}[request.Action]
	if !ok {
		return nil, refusal(fmt.Sprintf("%s is not supported by custom resources.", request.Action))
	}
	if _, given := request.Desired[PropertyToken]; !given {
		return nil, refusal("Properties validation failed for resource " + request.LogicalID + " with message:\n#: required key [ServiceToken] not found")
	}
	token, _ := request.Desired[PropertyToken].(string)
	if kind == Update && request.Previous[PropertyToken] != token {
		return nil, refusal("Modifying service token is not allowed.")
	}
	timeout, err := Timeout(request.Desired)
	if err != nil {
		return nil, refusal(err.Error())
	}
	local, err := p.findTarget(ctx, request.Caller, token)
	if err != nil {
		return nil, err
	}
	made := &order{Local: local, Signature: p.config.NewSignature(), Timeout: timeout, AccessKey: request.Caller.AccessKeyID, Request: Request{
		RequestType: kind, RequestID: p.config.NewID(), ServiceToken: token, StackID: request.StackID, LogicalResourceID: request.LogicalID,
		ResourceType: request.Type, Properties: stringified(request.Desired),
	}}
	if kind != Create {
		made.Request.PhysicalResourceID = request.Identifier
	}
	if kind == Update {
		made.Request.OldProperties = stringified(request.Previous)
	}
	for _, values := range request.Secrets {
		made.Secrets = append(made.Secrets, values...)
	}
	return made, nil
}

// findTarget looks up what a service token names.
func (p *Provider) findTarget(ctx context.Context, caller awswire.Caller, token string) (local bool, err error) {
	parts := strings.SplitN(token, ":", 6)
	switch {
	case len(parts) < 6 || parts[0] != "arn" || parts[2] != "lambda" && parts[2] != "sns":
		return false, refusal("Invalid service token")
	case parts[3] != caller.Region && parts[2] == "lambda":
		return false, refusal("Functions from '" + parts[3] + "' are not reachable in this region")
	case parts[3] != caller.Region:
		return false, refusal("Topics from '" + parts[3] + "' are not reachable in this region")
	case parts[2] == "lambda" && !strings.HasPrefix(parts[5], "function:"):
		return false, refusal("Invalid service token")
	case parts[2] == "lambda":
		if local, err = p.config.Find(ctx, caller, token); err != nil {
			return false, p.notFound(err)
		}
		return local, nil
	case p.config.Topics == nil:
		return false, refusal("Topic does not exist (Service: Sns, Status Code: 404)")
	}
	targets, err := p.config.Topics.Deliveries(ctx, caller, token, "", "")
	var refused *awswire.Error
	if errors.As(err, &refused) {
		return false, refusal(fmt.Sprintf("%s (Service: Sns, Status Code: %d)", refused.Message, refused.Status))
	}
	local = len(targets) > 0
	for arn := range targets {
		if err == nil && local {
			local, err = p.config.Find(ctx, caller, arn)
			var gone *lambda.RefusedError
			if errors.As(err, &gone) {
				err = nil // SNS does not look for the functions of subscriptions
			}
		}
	}
	return local, err
}

// notFound is the refusal for a function that cannot be invoked, with the words of the service.
func (p *Provider) notFound(err error) error {
	var refused *lambda.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return refusal(fmt.Sprintf("%s (Service: Lambda, Status Code: %d, Request ID: %s)", strings.TrimSuffix(refused.Message, "."), refused.Status, p.config.NewID()))
}

// wait is the progress of an operation whose response may come at any time until then.
func (p *Provider) wait(left time.Duration) operation.Progress {
	return operation.Progress{
		Status: types.OperationStatusInProgress, Delay: time.Duration(float64(max(left, time.Millisecond)) * p.config.TimeScale),
	}
}

// failed is the progress of an operation that failed, in the words of the service.
func failed(reason, identifier string) operation.Progress {
	return operation.Progress{
		Status: types.OperationStatusFailed, ErrorCode: "GeneralServiceException", Message: reason, Own: true, Identifier: identifier,
	}
}

// look returns the outcome of a request, or that its response is still waited for.
func (p *Provider) look(ctx context.Context, found *row, request operation.Request) (operation.Progress, error) {
	o, err := found.order()
	if err != nil {
		return operation.Progress{}, err
	}
	switch found.Status {
	case answered:
		return outcome(found, o, request), nil
	case gaveUp:
		return failed(found.Response, unanswered(request)), nil
	}
	left := found.DeadlineAt.Sub(p.config.Now())
	if found.Invocation == queued && found.Failures == 0 {
		return p.wait(max(left, time.Second)), nil // the time of the provider has not begun
	}
	if left > 0 {
		return p.wait(left), nil
	}
	if found.Invocation == running && p.config.Alone && !p.slots.has(found.Token) {
		return p.wait(time.Second), nil // it was cut off with the process before, and is made again
	}
	found.Status, found.Invocation, found.Response = gaveUp, over, NoResponseReason(o.Request.RequestID)
	err = p.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		expired := *found
		return store.Swap(ctx, tx, &expired, &expired.RowVersion, "status", "invocation", "response")
	})
	switch {
	case errors.Is(err, store.ErrStale):
		return p.wait(time.Millisecond), nil // the response came in this moment
	case err != nil:
		return operation.Progress{}, fmt.Errorf("give up a request of a custom resource: %w", err)
	}
	return failed(found.Response, unanswered(request)), nil
}

// unanswered is the identifier of a resource whose provider has not said it.
func unanswered(request operation.Request) string {
	if request.Action == invoke.Create {
		return request.Placeholder
	}
	return ""
}

// outcome is the progress of an operation whose response has come.
func outcome(found *row, o *order, request operation.Request) operation.Progress {
	response, violations := Check(&o.Request, []byte(found.Response))
	if response == nil {
		reason := NoResponseReason(o.Request.RequestID)
		if refusal := violations.Refusal(); refusal != nil {
			reason = refusal.Reason
		}
		return failed(reason, unanswered(request))
	}
	if !response.Succeeded() {
		hide := &secret.Set{}
		for why, values := range request.Secrets {
			hide.AddFor(why, values...)
		}
		if response.NoEcho { // a provider that fails may quote what it had made
			hide.AddFor(secret.NoEcho, Texts(response.Data)...)
		}
		response.Reason = hide.Hide(response.Reason)
		identifier := response.PhysicalResourceID
		if request.Action == invoke.Delete {
			identifier = ""
		}
		return failed(response.FailureReason(o.Request.RequestID), identifier)
	}
	done := operation.Progress{Status: types.OperationStatusSuccess}
	if request.Action != invoke.Delete {
		done.Identifier = response.PhysicalResourceID
		done.Model = map[string]any{modelData: response.Data, modelNoEcho: response.NoEcho, modelObject: o.Request.Object()}
	}
	return done
}

// The keys of the model of a custom resource, which is what the stack keeps of a response.
const (
	modelData   = "Data"   // for Fn::GetAtt
	modelNoEcho = "NoEcho" // Data is not shown
	modelObject = "Object" // the name of the response in messages
)

// Attributes returns what Fn::GetAtt finds in the model of a custom resource.
func Attributes(model map[string]any) map[string]any {
	data, _ := model[modelData].(map[string]any)
	return data
}

// Hidden reports whether the attributes of a model are not shown.
func Hidden(model map[string]any) bool { return model[modelNoEcho] == true }

// Texts are the strings within a value, which are secrets where NoEcho hides it.
func Texts(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			out = append(out, Texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			out = append(out, Texts(item)...)
		}
	}
	return out
}

// MissingAttribute is the reason of the service for an attribute that a response does not have.
func MissingAttribute(model map[string]any, attribute string) string {
	return fmt.Sprintf("CustomResource attribute error: Vendor response doesn't contain %s attribute in object %v", attribute, model[modelObject])
}

// Deliver implements [Inbox] for the URLs of stacks.
func (p *Provider) Deliver(ctx context.Context, at Address, body []byte) (result Outcome, violations Violations, err error) {
	err = p.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := store.Find[row](ctx, tx, "signature_hash = ?", at.Hash())
		if err != nil {
			return err
		}
		if found == nil {
			result = UnknownURL
			return nil
		}
		o, err := found.order()
		if err != nil {
			return err
		}
		_, violations = Check(&o.Request, body)
		used := found.Status == answered
		result = Judge(body, violations, used, found.Status == gaveUp || !p.config.Now().Before(found.DeadlineAt.Time))
		if result != Taken && result != TooLong {
			return nil
		}
		found.Status, found.Response = answered, string(body[:min(len(body), MaxResponse+1)])
		if err := store.Swap(ctx, tx, found, &found.RowVersion, "status", "response"); err != nil {
			return err
		}
		return p.config.Resume(ctx, tx, found.Token)
	})
	if err != nil {
		return "", nil, fmt.Errorf("take the response of a custom resource: %w", err)
	}
	if result == NotTheAnswer || result == Expired {
		p.config.Logger.WarnContext(ctx, "a response for a custom resource does not count", "outcome", string(result))
	}
	return result, violations, nil
}
