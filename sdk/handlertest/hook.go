package handlertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
)

// A HookTester runs the handlers of one hook type.
type HookTester[C any] struct {
	// TypeConfiguration is sent unless it is nil.
	TypeConfiguration *C

	// Credentials are sent unless they are empty.
	Credentials handler.Credentials

	// Clock and MaxCalls are as in [Tester].
	Clock    *Clock
	MaxCalls int

	t        testing.TB
	function *handler.Function
	tokens   int
}

// NewHook makes a HookTester, as [New] does for resources.
func NewHook[C any](t testing.TB, hook handler.Hook[C]) *HookTester[C] {
	t.Helper()
	if hook.LogHandler == nil {
		hook.LogHandler = slog.NewTextHandler(t.Output(), nil)
	}
	function, err := handler.New(hook)
	if err != nil {
		t.Fatal(err)
	}
	return &HookTester[C]{t: t, function: function}
}

// A HookResult is how a hook judged a target.
type HookResult struct {
	Status      handler.Status
	Code        handler.Code
	Message     string
	Annotations []handler.Annotation
	Calls       int
	Delays      []time.Duration
	Waited      time.Duration
}

// Run shows the hook a RESOURCE target. Previous may be nil.
func (x *HookTester[C]) Run(point handler.Point, targetName string, desired, previous any) HookResult {
	x.t.Helper()
	x.tokens++
	token := fmt.Sprintf("token-%d", x.tokens)
	model := map[string]any{"resourceProperties": desired}
	if previous != nil {
		model["previousResourceProperties"] = previous
	}
	data := map[string]any{"targetName": targetName, "targetType": "RESOURCE", "targetLogicalId": "Logical", "targetModel": model}
	if !x.Credentials.Empty() {
		data["callerCredentials"] = string(x.encode(x.Credentials))
	}
	outer := map[string]any{"callbackContext": nil}
	request := map[string]any{
		"clientRequestToken": token, "awsAccountId": "123456789012", "stackId": token, "hookTypeVersion": "00000001",
		"actionInvocationPoint": point, "hookModel": x.TypeConfiguration, "requestData": data, "requestContext": outer,
	}
	limit := x.MaxCalls
	if limit == 0 {
		limit = 1000
	}
	var result HookResult
	for {
		if result.Calls == limit {
			x.t.Fatalf("%s: not ended after %d calls", point, limit)
		}
		text, err := x.function.Call(x.t.Context(), x.encode(request))
		if err != nil {
			x.t.Fatalf("%s: %v", point, err)
		}
		var answer struct {
			HookStatus           handler.Status
			ErrorCode            handler.Code
			Message              string
			CallbackContext      json.RawMessage
			CallbackDelaySeconds int64
			Annotations          []handler.Annotation
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			x.t.Fatalf("read %s: %v", text, err)
		}
		result.Calls++
		if answer.HookStatus != handler.StatusInProgress {
			result.Status, result.Code, result.Message, result.Annotations = answer.HookStatus, answer.ErrorCode, answer.Message, answer.Annotations
			return result
		}
		delay := time.Duration(answer.CallbackDelaySeconds) * time.Second
		result.Delays = append(result.Delays, delay)
		result.Waited += delay
		if x.Clock != nil {
			x.Clock.Advance(delay)
		}
		outer["callbackContext"] = answer.CallbackContext
	}
}

func (x *HookTester[C]) encode(value any) json.RawMessage {
	x.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		x.t.Fatalf("write %T: %v", value, err)
	}
	return text
}
