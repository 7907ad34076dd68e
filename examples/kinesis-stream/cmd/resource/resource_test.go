package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/handlertest"
)

// start makes a tester over a fake Kinesis; delays move its clock.
func start(t *testing.T) (*handlertest.Tester[Model, TypeConfiguration], *fakeKinesis) {
	t.Helper()
	fake := newFake()
	with := func(run func(context.Context, request, client) event) func(context.Context, request) event {
		return func(ctx context.Context, req request) event { return run(ctx, req, fake) }
	}
	tester := handlertest.New(t, handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema,
		Create: with(create), Read: with(read), Update: with(update), Delete: with(remove), List: with(list),
	})
	tester.Clock = fake.clock
	return tester, fake
}

func input(t *testing.T, name string) Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	var model Model
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	return model
}

func TestCreateAppliesOneThingAfterTheOther(t *testing.T) {
	tester, fake := start(t)
	fake.fail["AddTagsToStream"] = &types.LimitExceededException{Message: aws.String("called too often")}
	want := input(t, "inputs_1_create.json")
	created := tester.Create(want)

	want.Arn = aws.String("arn:aws:kinesis:us-east-1:123456789012:stream/contract-test-stream")
	created.WantModel(want)
	if got := strings.Join(fake.calls, " "); got != "CreateStream AddTagsToStream IncreaseStreamRetentionPeriod StartStreamEncryption" {
		t.Errorf("calls: %s", got)
	}
	// 20 s until the stream is there; 2 s for the tags; 2, 4, 8 and 16 s for retention and
	// encryption, which find the stream busy; 20 s until it is ready.
	if created.Waited < 3*busyFor || created.Waited > 90*time.Second {
		t.Errorf("waited %v: %v", created.Waited, created.Delays)
	}
	for _, event := range created.Events {
		if !strings.Contains(string(event), `"Name":"contract-test-stream"`) {
			t.Errorf("%s has no identifier", event)
		}
	}
	tester.Read(Model{Name: want.Name}).WantModel(want)
}

func TestCreateWithoutAName(t *testing.T) {
	tester, fake := start(t)
	tester.StackID = "arn:aws:cloudformation:us-east-1:123456789012:stack/shop/u-u-i-d"
	tester.LogicalID = "Orders"
	tester.Token = "the same"
	first := tester.Create(Model{ShardCount: aws.Int64(1)}).WantSuccess()
	if !strings.HasPrefix(*first.Name, "shop-Orders-") || *first.RetentionPeriodHours != defaultRetention || first.StreamEncryption != nil {
		t.Errorf("%+v", first)
	}
	second := tester.Create(Model{ShardCount: aws.Int64(1)}).WantSuccess()
	if *first.Name != *second.Name || len(fake.streams) != 1 {
		t.Errorf("%s, then %s", *first.Name, *second.Name)
	}
}

func TestUpdate(t *testing.T) {
	tester, fake := start(t)
	created := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	fake.calls = nil

	want := input(t, "inputs_1_update.json")
	want.Arn = created.Arn
	updated := tester.Update(created, want)
	updated.WantModel(want)
	if got := strings.Join(fake.calls, " "); got != "AddTagsToStream RemoveTagsFromStream UpdateShardCount DecreaseStreamRetentionPeriod StopStreamEncryption" {
		t.Errorf("calls: %s", got)
	}
	tester.Read(want).WantModel(want)

	fake.calls = nil
	back := want
	back.StreamEncryption = created.StreamEncryption
	back.RetentionPeriodHours = nil
	tester.Update(want, back).WantSuccess()
	again := tester.Update(back, back)
	again.WantSuccess()
	if got := strings.Join(fake.calls, " "); got != "StartStreamEncryption" || again.Calls != 1 {
		t.Errorf("calls: %s; %d", got, again.Calls)
	}
}

func TestDeleteWaitsUntilTheStreamIsGone(t *testing.T) {
	tester, fake := start(t)
	created := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	deleted := tester.Delete(Model{Name: created.Name})
	deleted.WantSuccess()
	if deleted.Waited != busyFor || deleted.Model != nil || len(fake.streams) != 0 {
		t.Errorf("waited %v, model %v, %d streams", deleted.Waited, deleted.Model, len(fake.streams))
	}
	tester.Read(created).WantFailed(handler.CodeNotFound)
	tester.Delete(created).WantFailed(handler.CodeNotFound)
	if message := tester.Update(created, created).WantFailed(handler.CodeNotFound); message != "Resource of type 'Initech::Kinesis::Stream' with identifier 'contract-test-stream' was not found." {
		t.Error(message)
	}
}

func TestListPages(t *testing.T) {
	tester, fake := start(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		fake.streams[name] = &fakeStream{}
	}
	result := tester.List(Model{})
	result.WantSuccess()
	var names []string
	for _, model := range result.Models {
		names = append(names, *model.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d", "e"}) || result.Pages != 3 {
		t.Errorf("%v in %d pages", names, result.Pages)
	}
	req := handlertest.NewRequest[Model, TypeConfiguration](t, handler.ActionList, Model{})
	req.MaxResults = 4
	if event := list(t.Context(), req, fake); len(event.Models) != 4 || event.NextToken != "d" {
		t.Errorf("%d models, token %s", len(event.Models), event.NextToken)
	}
}

func TestManyTags(t *testing.T) {
	tester, fake := start(t)
	tester.StackTags = map[string]string{"stack": "1"}
	tester.SystemTags = map[string]string{"aws:cloudformation:stack-name": "shop"}
	model := Model{ShardCount: aws.Int64(1)}
	for i := range 24 {
		model.Tags = append(model.Tags, Tag{aws.String(fmt.Sprintf("key%02d", i)), aws.String("v")})
	}
	created := tester.Create(model).WantSuccess()
	if len(created.Tags) != 25 || strings.Count(strings.Join(fake.calls, " "), "AddTagsToStream") != 3 {
		t.Errorf("%d tags, calls %v", len(created.Tags), fake.calls)
	}
	tester.StackTags = nil
	bare := created
	bare.Tags = nil
	if updated := tester.Update(created, bare).WantSuccess(); len(updated.Tags) != 0 {
		t.Errorf("left %v", updated.Tags)
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		call string
		err  error
		code handler.Code
	}{
		{"CreateStream", &types.InvalidArgumentException{Message: aws.String("bad")}, handler.CodeInvalidRequest},
		{"AddTagsToStream", &types.InvalidArgumentException{}, handler.CodeInvalidRequest},
		{"IncreaseStreamRetentionPeriod", broken, handler.CodeInternalFailure},
		{"StartStreamEncryption", &types.KMSAccessDeniedException{Message: aws.String("no")}, handler.CodeAccessDenied},
		{"DescribeStreamSummary", &types.ResourceNotFoundException{}, handler.CodeNotFound},
		{"ListTagsForStream", broken, handler.CodeInternalFailure},
	}
	for _, test := range tests {
		t.Run(test.call, func(t *testing.T) {
			tester, fake := start(t)
			fake.fail[test.call] = test.err
			result := tester.Create(input(t, "inputs_1_create.json"))
			result.WantFailed(test.code)
			if made := len(fake.streams) == 1; made != (result.Model != nil) {
				t.Errorf("a stream: %v, the model to delete it: %v", made, result.Model)
			}
		})
	}
	tester, fake := start(t)
	fake.fail["ListStreams"] = broken
	tester.List(Model{}).WantFailed(handler.CodeInternalFailure)
	created := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	tester.Create(input(t, "inputs_1_create.json")).WantFailed(handler.CodeAlreadyExists)
	fake.fail["RemoveTagsFromStream"] = broken
	bare := created
	bare.Tags = nil
	tester.Update(created, bare).WantFailed(handler.CodeInternalFailure)
	fake.fail["DescribeStreamSummary"] = broken
	tester.Update(created, created).WantFailed(handler.CodeInternalFailure)
}

func TestStreamThatNeverBecomesActive(t *testing.T) {
	tester, _ := start(t)
	tester.Clock = nil // time stands still for the fake
	result := tester.Create(input(t, "inputs_1_create.json"))
	message := result.WantFailed(handler.CodeNotStabilized)
	if !strings.Contains(message, `"stream-created"`) || result.Waited != 30*time.Minute {
		t.Errorf("%s after %v", message, result.Waited)
	}
}

// TestRealClient goes through the AWS SDK, to a server on this machine.
func TestRealClient(t *testing.T) {
	var signed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"ResourceNotFoundException","message":"no such stream"}`)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	tester := handlertest.New(t, handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Create: Create, Read: Read, Update: Update, Delete: Delete, List: List,
	})
	model := Model{Name: aws.String("s"), ShardCount: aws.Int64(1)}
	tester.Read(model).WantFailed(handler.CodeInvalidCredentials)
	tester.Credentials = handler.Credentials{AccessKeyID: "AKIDINVOCATION", SecretAccessKey: "secret", SessionToken: "token"}
	for _, result := range []handlertest.Result[Model]{tester.Read(model), tester.Update(model, model), tester.Delete(model), tester.List(model), tester.Create(model)} {
		result.WantFailed(handler.CodeNotFound)
	}
	for _, header := range signed {
		if !strings.Contains(header, "Credential=AKIDINVOCATION/") {
			t.Errorf("signed with %s", header)
		}
	}
}
