package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
)

// What "cfn generate" writes from the schema of a type.
type Model struct {
	Name  *string `json:"Name,omitzero"`
	Arn   *string `json:"Arn,omitzero"`
	Floor *int64  `json:"Floor,omitzero"`
}

type TypeConfiguration struct{}

const TypeName = "Initech::Office::Desk"

var Schema = []byte(`{
	"typeName": "Initech::Office::Desk",
	"properties": {"Name": {"type": "string"}, "Arn": {"type": "string"}, "Floor": {"type": "integer", "minimum": -1}},
	"required": ["Name"],
	"additionalProperties": false,
	"readOnlyProperties": ["/properties/Arn"],
	"primaryIdentifier": ["/properties/Arn"]
}`)

// A Desk and an office stand for the service behind the resource.
type Desk struct{ Arn string }

var (
	errNoDesk   = errors.New("no such desk")
	errOccupied = errors.New("somebody sits there")
)

type office struct{ polls int }

func (o *office) Order(_ context.Context, name string) (Desk, error) {
	return Desk{Arn: "arn:office:desk/" + name}, nil
}

func (o *office) Delivered(context.Context, string) (bool, error) {
	o.polls++
	return o.polls > 2, nil
}

func (o *office) Find(_ context.Context, arn string) (Model, error) {
	if arn != "arn:office:desk/milton" {
		return Model{}, errNoDesk
	}
	name := "milton"
	return Model{Arn: &arn, Name: &name}, nil
}

func (o *office) Remove(_ context.Context, arn string) error {
	switch arn {
	case "arn:office:desk/milton":
		return errOccupied
	case "arn:office:desk/samir":
		return nil
	}
	return errNoDesk
}

var desks = &office{}

func Read(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	desk, err := desks.Find(ctx, *req.Desired.Arn)
	if errors.Is(err, errNoDesk) {
		return req.Fail(handler.NotFound(TypeName, *req.Desired.Arn))
	}
	if err != nil {
		return req.Fail(err)
	}
	return req.Success(desk)
}

func Create(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	model := req.Desired
	chain := req.Chain(ctx, &model)

	if desk, ok := handler.Call(chain, "order", func(ctx context.Context) (Desk, error) {
		return desks.Order(ctx, *model.Name)
	}); ok {
		model.Arn = &desk.Arn
	}
	chain.Stabilize("delivered", func(ctx context.Context) (bool, error) {
		return desks.Delivered(ctx, *model.Arn)
	})
	return chain.Done(func(context.Context) handler.Event[Model] { return req.Success(model) })
}

func Delete(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	removals := 0
	if _, err := req.Memory.Get("removals", &removals); err != nil {
		return req.Fail(err)
	}
	if removals == 3 {
		return req.Deleted()
	}
	if err := req.Memory.Set("removals", removals+1); err != nil {
		return req.Fail(err)
	}
	return req.InProgress(req.Desired, 10*time.Second)
}

func Remove(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	policy := handler.Policy{
		Backoff:     handler.CappedExponential(time.Second, 30*time.Second, 10*time.Minute),
		Retry:       func(err error) bool { return errors.Is(err, errOccupied) },
		WaitLocally: 2 * time.Second,
		HandleError: func(err error) error {
			if errors.Is(err, errNoDesk) {
				return handler.NotFound(TypeName, *req.Desired.Arn)
			}
			return err
		},
	}
	chain := req.Chain(ctx, &req.Desired)
	chain.With(policy).Do("remove", func(ctx context.Context) error { return desks.Remove(ctx, *req.Desired.Arn) })
	return chain.Done(func(context.Context) handler.Event[Model] { return req.Deleted() })
}

func List(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	desk, err := handler.Retry(ctx, handler.Policy{}, func(ctx context.Context) (Model, error) {
		return desks.Find(ctx, "arn:office:desk/milton")
	})
	if err != nil {
		return req.Fail(err)
	}
	return req.SuccessList([]Model{desk}, "")
}

// A READ or LIST must end in one call, and tries again inside of it.
func ExampleRetry() {
	f, err := handler.New(handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, List: List, LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(f, `{"action": "LIST"}`)
	// Output: {"status":"SUCCESS","callbackDelaySeconds":0,"resourceModels":[{"Arn":"arn:office:desk/milton","Name":"milton"}]} <nil>
}

// show runs a request and prints the answer.
func show(f *handler.Function, request string) {
	answer, err := f.Call(context.Background(), []byte(request))
	fmt.Println(string(answer), err)
}

// A resource type in one process, without Lambda: Start does the same for a
// handler program.
func ExampleResource() {
	f, err := handler.New(handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Read: Read, LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(f, `{"action": "READ", "requestData": {"resourceProperties": {"Arn": "arn:office:desk/milton"}}}`)
	show(f, `{"action": "READ", "requestData": {"resourceProperties": {"Arn": "arn:office:desk/peter"}}}`)
	// Output:
	// {"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Arn":"arn:office:desk/milton","Name":"milton"}} <nil>
	// {"status":"FAILED","errorCode":"NotFound","message":"Resource of type 'Initech::Office::Desk' with identifier 'arn:office:desk/peter' was not found.","callbackDelaySeconds":0} <nil>
}

// An operation that takes three calls. The caller hands the callback context
// and the model back each time.
func ExampleChain() {
	f, err := handler.New(handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Create: Create, LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	memory, model := json.RawMessage("null"), json.RawMessage(`{"Name": "milton", "Floor": "-1"}`)
	for {
		answer, err := f.Call(context.Background(), fmt.Appendf(nil,
			`{"action": "CREATE", "callbackContext": %s, "requestData": {"resourceProperties": %s}}`, memory, model))
		fmt.Println(string(answer), err)
		var event struct {
			Status                         handler.Status
			CallbackContext, ResourceModel json.RawMessage
		}
		if err := json.Unmarshal(answer, &event); err != nil || event.Status != handler.StatusInProgress {
			return
		}
		memory, model = event.CallbackContext, event.ResourceModel
	}
	// Output:
	// {"status":"IN_PROGRESS","callbackContext":{"$steps":{"delivered":{"attempts":1},"order":{"done":true,"result":{"Arn":"arn:office:desk/milton"}}}},"callbackDelaySeconds":5,"resourceModel":{"Arn":"arn:office:desk/milton","Floor":-1,"Name":"milton"}} <nil>
	// {"status":"IN_PROGRESS","callbackContext":{"$steps":{"delivered":{"attempts":2},"order":{"done":true,"result":{"Arn":"arn:office:desk/milton"}}}},"callbackDelaySeconds":5,"resourceModel":{"Arn":"arn:office:desk/milton","Floor":-1,"Name":"milton"}} <nil>
	// {"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Arn":"arn:office:desk/milton","Floor":-1,"Name":"milton"}} <nil>
}

// A step with waits and rules about errors of its own. The deadline of these
// calls is too near to spend the wait inside one.
func ExampleChain_With() {
	f, err := handler.New(handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Delete: Remove, LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, name := range []string{"milton", "samir", "peter"} {
		answer, err := f.Call(ctx, fmt.Appendf(nil, `{"action": "DELETE", "requestData": {"resourceProperties": {"Arn": "arn:office:desk/%s"}}}`, name))
		fmt.Println(string(answer), err)
	}
	// Output:
	// {"status":"IN_PROGRESS","callbackContext":{"$steps":{"remove":{"attempts":1}}},"callbackDelaySeconds":1,"resourceModel":{"Arn":"arn:office:desk/milton"}} <nil>
	// {"status":"SUCCESS","callbackDelaySeconds":0} <nil>
	// {"status":"FAILED","errorCode":"NotFound","message":"Resource of type 'Initech::Office::Desk' with identifier 'arn:office:desk/peter' was not found.","callbackDelaySeconds":0} <nil>
}

func ExampleMemory() {
	f, err := handler.New(handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Delete: Delete, LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(f, `{"action": "DELETE", "callbackContext": null, "requestData": {"resourceProperties": {"Arn": "a"}}}`)
	show(f, `{"action": "DELETE", "callbackContext": {"removals": 3}, "requestData": {"resourceProperties": {"Arn": "a"}}}`)
	// Output:
	// {"status":"IN_PROGRESS","callbackContext":{"removals":1},"callbackDelaySeconds":10,"resourceModel":{"Arn":"a"}} <nil>
	// {"status":"SUCCESS","callbackDelaySeconds":0} <nil>
}

func ExampleFromError() {
	err := fmt.Errorf("order a desk: %w", handler.ServiceLimitExceeded(TypeName, "the floor is full"))
	found := handler.FromError(err)
	fmt.Println(found.Code, found.Message)
	fmt.Println(handler.FromError(errors.New("the stapler is gone")).Code)
	fmt.Println(handler.FromError(context.DeadlineExceeded).Code, handler.CodeNetworkFailure.Retriable())
	// Output:
	// ServiceLimitExceeded Limit exceeded for resource of type 'Initech::Office::Desk'. Reason: the floor is full
	// InternalFailure
	// InternalFailure true
}

func ExampleBlended() {
	delay := handler.Blended(
		handler.Constant(time.Second, 3*time.Second),
		handler.CappedExponential(5*time.Second, 20*time.Second, time.Minute),
	)
	for attempt := 1; delay(attempt) > 0; attempt++ {
		fmt.Print(delay(attempt), " ")
	}
	// Output: 1s 1s 1s 5s 10s 20s 20s
}

func ExampleIdentifier() {
	id := handler.Identifier{StackID: "shop", LogicalID: "Orders", Token: "4b90a7e4-b790-456b-a937-0cfdfa211dfe", MaxLength: 32}
	name, err := id.Generate()
	fmt.Println(len(name), name[:12], err)
	// Output: 24 shop-Orders- <nil>
}

func ExampleDiffTags() {
	previous := map[string]string{"team": "tps", "floor": "1"}
	desired := handler.MergeTags(map[string]string{"team": "stack"}, map[string]string{"team": "model", "memo": "yes"})
	add, remove := handler.DiffTags(previous, desired)
	fmt.Println(add, remove)
	// Output: map[memo:yes team:model] [floor]
}

// A hook that refuses desks in the basement.
func ExampleHook() {
	f, err := handler.New(handler.Hook[TypeConfiguration]{
		TypeName: "Initech::Office::NoBasement",
		PreCreate: func(_ context.Context, req handler.HookRequest[TypeConfiguration]) handler.HookEvent {
			var desk Model
			if err := req.Target(&desk, nil); err != nil {
				return req.Fail(err)
			}
			if desk.Floor != nil && *desk.Floor < 0 {
				return req.Failed(handler.CodeNonCompliant, "desks do not belong in the basement")
			}
			return req.Success("")
		},
		LogHandler: slog.DiscardHandler,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(f, `{"actionInvocationPoint": "CREATE_PRE_PROVISION", "requestData": {"targetName": "Initech::Office::Desk", "targetModel": {"resourceProperties": {"Floor": -1}}}}`)
	// Output:
	// {"hookStatus":"FAILED","errorCode":"NonCompliant","message":"desks do not belong in the basement","callbackDelaySeconds":0} <nil>
}
