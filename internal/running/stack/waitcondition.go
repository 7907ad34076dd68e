package stack

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// callMetadata provisions what the CDK notes in templates: nothing.
func (e *Engine) callMetadata(_ context.Context, request operation.Request) (operation.Progress, error) {
	identifier := request.Identifier
	if request.Action == invoke.Create {
		identifier = request.Token
	}
	return finished(identifier, request.Desired)
}

// WaitPath is the path of the URLs that wait condition handles are, below that of the server.
const WaitPath = "/cfn-wait"

// callHandle provisions a wait condition handle: a URL that takes signals.
func (e *Engine) callHandle(_ context.Context, request operation.Request) (operation.Progress, error) {
	if request.Action != invoke.Create {
		return finished(request.Identifier, maps.Clone(request.Desired))
	}
	endpoint := "http://localhost"
	if e.config.Endpoint != nil {
		if known := e.config.Endpoint(); known != "" {
			endpoint = known
		}
	}
	values := url.Values{"stack": {request.StackID}, "handle": {request.LogicalID}, "token": {request.Token}}
	return finished(endpoint+WaitPath+"?"+values.Encode(), map[string]any{})
}

// callWait waits for the signals that a handle takes.
func (e *Engine) callWait(ctx context.Context, request operation.Request) (operation.Progress, error) {
	handle := handleOf(fmt.Sprint(request.Desired["Handle"]))
	switch request.Action {
	case invoke.Create:
	case invoke.Update:
		return refused(request.Identifier, "Update to resource type AWS::CloudFormation::WaitCondition is not supported.")
	default:
		return finished(request.Identifier, request.Desired)
	}
	policy, err := e.signalPolicy(ctx, request)
	if err != nil {
		return operation.Progress{}, err
	}
	if request.Desired["Handle"] == nil && policy != nil { // its signals are waited for as with any resource
		return finished(request.StackID+"/"+request.LogicalID, request.Desired)
	}
	identifier := request.StackID + "/" + handle
	if handle == "" {
		return refused("", "Property Handle must be the reference of a wait condition handle.")
	}
	count, timeout := int64(1), int64(43200)
	for name, into := range map[string]*int64{"Count": &count, "Timeout": &timeout} {
		text, given := plan.Scalar(request.Desired[name])
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !given:
		case err != nil || n < 0:
			return refused("", "Value of property %s must be a number.", name)
		default:
			*into = n
		}
	}
	signals, err := e.handleSignals(ctx, request.StackID, handle)
	if err != nil {
		return operation.Progress{}, err
	}
	data := map[string]any{}
	for _, signal := range signals {
		if signal.Status == string(types.ResourceSignalStatusFailure) {
			return refused(identifier, "WaitCondition received failed message: '%s' for uniqueId: %s", signal.Data, signal.UniqueID)
		}
		data[signal.UniqueID] = signal.Data
	}
	started, err := e.startOf(request)
	if err != nil {
		return operation.Progress{}, err
	}
	switch {
	case int64(len(signals)) >= count, policy != nil && policy.Simulated:
		model := maps.Clone(request.Desired)
		model["Data"] = encode(data)
		return finished(identifier, model)
	case e.config.Now().Sub(started) >= e.scaled(time.Duration(timeout)*time.Second):
		return refused(identifier, "WaitCondition timed out. Received %d conditions when expecting %d", len(signals), count)
	}
	return operation.Progress{
		Status: types.OperationStatusInProgress, Identifier: identifier, Delay: waitInterval, Callback: []byte(encode(waiting{started.UnixMilli()})),
	}, nil
}

// signalPolicy is the policy of the resource of a call, nil for none.
func (e *Engine) signalPolicy(ctx context.Context, request operation.Request) (*signalPolicy, error) {
	s, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.StackID)
	if err != nil || s == nil {
		return nil, err
	}
	step, err := store.Find[stepRow](ctx, e.store.Read(), "operation_id = ? AND logical_id = ?", s.OperationID, request.LogicalID)
	if err != nil || step == nil {
		return nil, err
	}
	return step.Pending.Get().Signals, nil
}

// waitInterval is how often a wait condition and a nested stack are looked at.
const waitInterval = 250 * time.Millisecond

// waiting is the callback context of what waits.
type waiting struct {
	Since int64 `json:"since"` // milliseconds
}

// startOf is when the calls of an operation began.
func (e *Engine) startOf(request operation.Request) (time.Time, error) {
	if request.Callback == nil {
		return e.config.Now(), nil
	}
	var w waiting
	if err := json.Unmarshal(request.Callback, &w); err != nil {
		return time.Time{}, fmt.Errorf("read the callback context: %w", err)
	}
	return time.UnixMilli(w.Since), nil
}

// handleOf is the logical id of the handle of a URL, "" for other URLs.
func handleOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Path != WaitPath {
		return ""
	}
	return u.Query().Get("handle")
}

// handleSignals are the signals that a handle of a stack took.
func (e *Engine) handleSignals(ctx context.Context, stackARN, handle string) ([]signalRow, error) {
	s, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", stackARN)
	if err != nil || s == nil {
		return nil, err
	}
	return store.FindAll[signalRow](ctx, e.store.Read(), "at, unique_id", "stack_id = ? AND logical_id = ?", s.ID, handle)
}

// A waitSignal is what a handle takes: the body of a PUT.
type waitSignal struct {
	Status   string
	UniqueID string `json:"UniqueId"`
	Reason   string
	Data     string
}

// maxSignal bounds the body of a signal.
const maxSignal = 4096

// Signal takes a signal for a wait condition handle: the query of its URL, and the body. It
// refuses with an *awswire.Error what no handle of a stack that is deployed takes.
func (e *Engine) Signal(ctx context.Context, query url.Values, body []byte) error {
	if len(body) > maxSignal {
		return awswire.ValidationErrorf("The signal has more than %d bytes.", maxSignal)
	}
	var signal waitSignal
	if err := json.Unmarshal(body, &signal); err != nil || signal.UniqueID == "" ||
		signal.Status != string(types.ResourceSignalStatusSuccess) && signal.Status != string(types.ResourceSignalStatusFailure) {
		return awswire.ValidationErrorf(`A signal is {"Status": "SUCCESS" or "FAILURE", "UniqueId": "ID", "Reason": "TEXT", "Data": "TEXT"}.`)
	}
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := store.Find[stackRow](ctx, tx, "arn = ? AND live", query.Get("stack"))
		if err != nil {
			return err
		}
		var x *resourceRow
		if s != nil {
			if x, err = store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ? AND type = ?", s.ID, query.Get("handle"), handleType); err != nil {
				return err
			}
		}
		if x == nil || !sameToken(x.PhysicalID, query.Get("token")) {
			return awswire.Errorf("AccessDenied", http.StatusForbidden, "Access Denied")
		}
		text := signal.Data
		if signal.Status == string(types.ResourceSignalStatusFailure) {
			text = signal.Reason
		}
		row := &signalRow{StackID: s.ID, LogicalID: x.LogicalID, UniqueID: signal.UniqueID, Status: signal.Status, Data: text, At: e.now()}
		return store.Upsert(ctx, tx, []*signalRow{row}, "status", "data")
	})
}

// sameToken reports whether a token is that of a handle.
func sameToken(handle, token string) bool {
	u, err := url.Parse(handle)
	return err == nil && token != "" && subtle.ConstantTimeCompare([]byte(u.Query().Get("token")), []byte(token)) == 1
}
