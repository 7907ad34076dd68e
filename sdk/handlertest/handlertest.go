// Package handlertest runs the handlers of an extension in the test process,
// from the first call of an operation to its terminal event. It does between
// the calls what CloudFormation does: the model of an IN_PROGRESS event becomes
// the desired model of the next call, the callback context is returned, the
// client request token stays. Delays are counted and not waited for.
//
//	func TestCreate(t *testing.T) {
//		tester := handlertest.New(t, resource.Type())
//		report := tester.Create(resource.Model{Title: &title}).WantSuccess()
//		tester.Delete(report).WantSuccess()
//		tester.Read(report).WantFailed(handler.CodeNotFound)
//	}
//
// It checks single answers only as far as a next call needs them; "cfn test"
// checks the whole handler contract.
package handlertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/internal/pause"
)

// A Tester runs the operations of one resource type. The fields are what each
// request says; change them between operations as needed.
type Tester[M, C any] struct {
	// Token is the client request token. Empty means a new one for each
	// operation; set it to repeat a request.
	Token string

	LogicalID string // "Logical" by New
	StackID   string // empty by New, as with "cfn test"
	Region    string // "us-east-1" by New
	AccountID string // "123456789012" by New

	StackTags, PreviousStackTags   map[string]string
	SystemTags, PreviousSystemTags map[string]string

	// TypeConfiguration is sent unless it is nil.
	TypeConfiguration *C

	// Credentials are sent unless they are empty.
	Credentials handler.Credentials

	// Stringified sends every number and truth value of a model as a string,
	// as CloudFormation has long done.
	Stringified bool

	// Clock, unless nil, is moved on by every delay, and by the waits of chains
	// and retries inside of a call.
	Clock *Clock

	// MaxCalls ends an operation that makes no end. Zero means 1000.
	MaxCalls int

	t        testing.TB
	function *handler.Function
	tokens   int
}

// New makes a Tester. It fails the test when the resource cannot be started.
// Log records go to the log of the test, unless the resource has a LogHandler.
func New[M, C any](t testing.TB, resource handler.Resource[M, C]) *Tester[M, C] {
	t.Helper()
	if resource.LogHandler == nil {
		resource.LogHandler = slog.NewTextHandler(t.Output(), nil)
	}
	function, err := handler.New(resource)
	if err != nil {
		t.Fatal(err)
	}
	return &Tester[M, C]{LogicalID: "Logical", Region: "us-east-1", AccountID: "123456789012", t: t, function: function}
}

// A Result is how an operation ended.
type Result[M any] struct {
	Status  handler.Status
	Code    handler.Code
	Message string

	// Model is nil when the last event had none.
	Model *M

	// Models holds the models of all pages of a LIST; Pages is their number.
	Models []M
	Pages  int

	// Calls is how often the handler was called. Delays are the waits between
	// the calls that it asked for, and Waited is their sum.
	Calls  int
	Delays []time.Duration
	Waited time.Duration

	// Events are the answers as they were sent.
	Events []json.RawMessage

	t testing.TB
}

// Create runs CREATE.
func (x *Tester[M, C]) Create(desired M) Result[M] {
	x.t.Helper()
	return x.run(handler.ActionCreate, desired, nil)
}

// Read runs READ. The model needs no more than an identifier.
func (x *Tester[M, C]) Read(model M) Result[M] {
	x.t.Helper()
	return x.run(handler.ActionRead, model, nil)
}

// Update runs UPDATE.
func (x *Tester[M, C]) Update(previous, desired M) Result[M] {
	x.t.Helper()
	return x.run(handler.ActionUpdate, desired, &previous)
}

// Delete runs DELETE. The model needs no more than an identifier.
func (x *Tester[M, C]) Delete(model M) Result[M] {
	x.t.Helper()
	return x.run(handler.ActionDelete, model, nil)
}

// List runs LIST, page after page, until there is no next token.
func (x *Tester[M, C]) List(filter M) Result[M] {
	x.t.Helper()
	return x.run(handler.ActionList, filter, nil)
}

// reply is what the Tester reads of an event.
type reply struct {
	Status               handler.Status
	ErrorCode            handler.Code
	Message              string
	CallbackContext      json.RawMessage
	CallbackDelaySeconds int64
	ResourceModel        json.RawMessage
	ResourceModels       []json.RawMessage
	NextToken            string
}

func (x *Tester[M, C]) run(action handler.Action, desired M, previous *M) Result[M] {
	x.t.Helper()
	request := x.request(action, desired, previous)
	data := request["requestData"].(map[string]any)
	result := Result[M]{t: x.t}
	limit := x.MaxCalls
	if limit == 0 {
		limit = 1000
	}
	for {
		if result.Calls == limit {
			x.t.Fatalf("%s: not ended after %d calls", action, limit)
		}
		answer := x.call(action, request, &result)
		switch {
		case answer.Status == handler.StatusInProgress:
			delay := time.Duration(answer.CallbackDelaySeconds) * time.Second
			result.Delays = append(result.Delays, delay)
			result.Waited += delay
			if x.Clock != nil {
				x.Clock.Advance(delay)
			}
			request["callbackContext"] = answer.CallbackContext
			data["resourceProperties"] = x.wire(answer.ResourceModel)
		case action == handler.ActionList && answer.Status == handler.StatusSuccess && answer.NextToken != "":
			request["nextToken"] = answer.NextToken
		default:
			result.Status, result.Code, result.Message = answer.Status, answer.ErrorCode, answer.Message
			if answer.ResourceModel != nil {
				result.Model = new(M)
				x.decode(answer.ResourceModel, result.Model)
			}
			return result
		}
	}
}

func (x *Tester[M, C]) request(action handler.Action, desired M, previous *M) map[string]any {
	x.t.Helper()
	token := x.Token
	if token == "" {
		x.tokens++
		token = fmt.Sprintf("token-%d", x.tokens)
	}
	data := map[string]any{
		"logicalResourceId": x.LogicalID, "resourceProperties": x.wire(x.encode(desired)),
		"stackTags": x.StackTags, "previousStackTags": x.PreviousStackTags,
		"systemTags": x.SystemTags, "previousSystemTags": x.PreviousSystemTags,
	}
	if previous != nil {
		data["previousResourceProperties"] = x.wire(x.encode(*previous))
	}
	if x.TypeConfiguration != nil {
		data["typeConfiguration"] = x.TypeConfiguration
	}
	if !x.Credentials.Empty() {
		data["callerCredentials"] = x.Credentials
	}
	return map[string]any{
		"action": action, "bearerToken": token, "region": x.Region, "awsAccountId": x.AccountID,
		"stackId": x.StackID, "callbackContext": nil, "requestData": data,
	}
}

func (x *Tester[M, C]) call(action handler.Action, request map[string]any, result *Result[M]) reply {
	x.t.Helper()
	ctx := pause.With(x.t.Context(), func(delay time.Duration) {
		if x.Clock != nil {
			x.Clock.Advance(delay)
		}
	})
	text, err := x.function.Call(ctx, x.encode(request))
	if err != nil {
		x.t.Fatalf("%s: %v", action, err)
	}
	var answer reply
	x.decode(text, &answer)
	result.Calls++
	result.Events = append(result.Events, text)
	if action == handler.ActionList && answer.Status == handler.StatusSuccess {
		result.Pages++
	}
	for _, model := range answer.ResourceModels {
		var one M
		x.decode(model, &one)
		result.Models = append(result.Models, one)
	}
	return answer
}

func (x *Tester[M, C]) encode(value any) json.RawMessage {
	x.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		x.t.Fatalf("write %T: %v", value, err)
	}
	return text
}

func (x *Tester[M, C]) decode(text json.RawMessage, into any) {
	x.t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		x.t.Fatalf("read %s: %v", text, err)
	}
}

// wire is the form in which a model is sent.
func (x *Tester[M, C]) wire(model json.RawMessage) any {
	if !x.Stringified || model == nil {
		return model
	}
	decoder := json.NewDecoder(bytes.NewReader(model))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		x.t.Fatalf("read %s: %v", model, err)
	}
	return stringified(tree)
}

func stringified(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = stringified(member)
		}
	case []any:
		for i, item := range value {
			value[i] = stringified(item)
		}
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return value
}

// WantSuccess fails the test unless the operation ended with SUCCESS. It
// returns the model, which is the zero one for DELETE and LIST.
func (r Result[M]) WantSuccess() M {
	r.t.Helper()
	if r.Status != handler.StatusSuccess {
		r.t.Fatalf("ended with %s %s: %s; want SUCCESS", r.Status, r.Code, r.Message)
	}
	if r.Model == nil {
		var none M
		return none
	}
	return *r.Model
}

// WantFailed fails the test unless the operation ended with FAILED and the
// code. It returns the message.
func (r Result[M]) WantFailed(code handler.Code) string {
	r.t.Helper()
	if r.Status != handler.StatusFailed || r.Code != code {
		r.t.Fatalf("ended with %s %s: %s; want FAILED %s", r.Status, r.Code, r.Message, code)
	}
	return r.Message
}

// WantModel fails the test unless the operation ended with SUCCESS and a model
// that has the same JSON form as want.
func (r Result[M]) WantModel(want M) {
	r.t.Helper()
	got := r.WantSuccess()
	if g, w := tree(r.t, got), tree(r.t, want); !reflect.DeepEqual(g, w) {
		r.t.Errorf("model\n got %v\nwant %v", g, w)
	}
}

func tree(t testing.TB, value any) (tree any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// NewRequest is a request for calling a handler function directly, as on the
// first call of an operation. Change its fields as needed.
func NewRequest[M, C any](t testing.TB, action handler.Action, desired M) handler.Request[M, C] {
	return handler.Request[M, C]{
		Action: action, TypeName: "Test::Test::Test", Desired: desired, FirstCall: true, Memory: handler.NewMemory(),
		Token: "token-1", LogicalID: "Logical", Region: "us-east-1", AccountID: "123456789012", Partition: "aws",
		DesiredTags: map[string]string{}, PreviousTags: map[string]string{},
		SystemTags: map[string]string{}, PreviousSystemTags: map[string]string{},
		StackTags: map[string]string{}, PreviousStackTags: map[string]string{},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// A Clock is a time that moves only when it is told to. Services that tests
// fake read it, so that a stream becomes active "after 30 s". It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at 2000-01-01 in UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
