package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// scripted is a handler that gives one reply or error, and remembers what it was sent.
type scripted struct {
	reply string
	err   error
	sent  map[string]any
	start error // of Functions
	spec  bundle.Spec
}

func (s *scripted) Probe(context.Context, bundle.Spec) error { return nil }
func (s *scripted) Remove(bundle.Spec)                       {}

func (s *scripted) Function(_ context.Context, spec bundle.Spec) (invoke.Function, error) {
	s.spec = spec
	return s, s.start
}

func (s *scripted) Call(_ context.Context, payload []byte) ([]byte, error) {
	if err := json.Unmarshal(payload, &s.sent); err != nil {
		return nil, err
	}
	return []byte(s.reply), s.err
}

// For is Config.Credentials: the key is the role.
func (s *scripted) For(_ awswire.Caller, role string) invoke.Source {
	return invoke.Static{AccessKeyID: "key of " + role, SecretAccessKey: "s", SessionToken: "t"}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		const name = "Acme::Test::Thing"
		s.thing(owner, name, "one")
		handler := &scripted{}
		s.config.Functions, s.config.Credentials = handler, handler.For
		configure := func(text string) {
			t.Helper()
			_, err := s.SetTypeConfiguration(t.Context(), owner, &cloudformation.SetTypeConfigurationInput{
				Type: types.ThirdPartyTypeResource, TypeName: aws.String(name), Configuration: &text,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		configure(`{"Key": "{{resolve:ssm-secure:/key}}"}`)
		typ, err := s.Type(t.Context(), owner, name, "")
		if err != nil || typ.Version != "00000001" || typ.Schema == nil || typ.Simulated {
			t.Fatalf("%+v, %v", typ, err)
		}
		create := operation.Request{
			Caller: owner, Action: invoke.Create, Token: "token", Type: name, LogicalID: "L", StackID: "arn:stack",
			Desired: map[string]any{"Name": "thing", "Size": json.Number("5"), "Secret": "TOPSECRETVALUE"}, StackTags: map[string]string{"a": "b"},
		}
		call := func(request operation.Request) operation.Progress {
			t.Helper()
			progress, err := typ.Provider.Call(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			return progress
		}

		handler.reply = `{"status": "IN_PROGRESS", "resourceModel": {"Name": "thing", "Size": "5"}, "callbackContext": {"n": 1.0}, "callbackDelaySeconds": 7}`
		got := call(create)
		if got.Status != types.OperationStatusInProgress || got.Identifier != "thing" || string(got.Callback) != `{"n":1.0}` || got.Delay != 7*time.Second || got.Configured {
			t.Errorf("in progress: %+v", got)
		}
		data := handler.sent["requestData"].(map[string]any)
		for path, want := range map[string]any{
			"resourceProperties": map[string]any{"Name": "thing", "Size": 5.0, "Secret": "TOPSECRETVALUE"}, "logicalResourceId": "L",
			"typeConfiguration": map[string]any{"Key": "s3cr3t"}, "stackTags": map[string]any{"a": "b"},
		} {
			if fmt.Sprint(data[path]) != fmt.Sprint(want) {
				t.Errorf("%s was sent as %v, want %v", path, data[path], want)
			}
		}
		for path, want := range map[string]any{
			"bearerToken": "token", "action": "CREATE", "stackId": "arn:stack", "resourceType": name, "resourceTypeVersion": "00000001",
			"awsAccountId": owner.Account, "region": owner.Region, "callbackContext": nil,
		} {
			if handler.sent[path] != want {
				t.Errorf("%s was sent as %v, want %v", path, handler.sent[path], want)
			}
		}

		again := create
		again.Callback, again.Model = got.Callback, got.Model
		handler.reply = `{"status": "SUCCESS", "resourceModel": {"Name": "thing", "Size": 5}}`
		if got := call(again); got.Status != types.OperationStatusSuccess || got.Identifier != "thing" || got.Model["Size"] != json.Number("5") {
			t.Errorf("success: %+v", got)
		}
		if got := fmt.Sprint(handler.sent["callbackContext"]); got != "map[n:1]" {
			t.Errorf("the callback context was sent as %s", got)
		}

		// Only the physical id is known.
		handler.reply = `{"status": "SUCCESS"}`
		call(operation.Request{Caller: owner, Action: invoke.Delete, Token: "t", Type: name, Identifier: "other"})
		if got := fmt.Sprint(handler.sent["requestData"].(map[string]any)["resourceProperties"]); got != "map[Name:other]" {
			t.Errorf("the identifier was sent as %s", got)
		}

		for name, test := range map[string]struct {
			action        invoke.Action
			reply         string
			err, start    error
			code, message string // "" of an error of the provider
			own           bool
		}{
			"failed":              {reply: `{"status": "FAILED", "errorCode": "AlreadyExists", "message": "there, TOPSECRETVALUE"}`, code: "AlreadyExists", message: "there, "},
			"a resolved secret":   {reply: `{"status": "FAILED", "errorCode": "AccessDenied", "message": "not with s3cr3t"}`, code: "AccessDenied", message: "not with <hidden: dynamic reference>"},
			"a code of its own":   {reply: `{"status": "FAILED", "errorCode": "Sorry", "message": "m"}`, code: "InternalFailure", message: "m"},
			"no code":             {reply: `{"status": "FAILED", "message": "m"}`, code: "InternalFailure", message: "m"},
			"no event":            {reply: `<html>`, code: "InternalFailure", message: "HTML"},
			"malformed JSON":      {reply: `{"status": "SUCCESS", "message": "TOPSECRETVALUE`, code: "InternalFailure", message: "JSON"},
			"two events":          {reply: `{"status": "SUCCESS"}{"status": "SUCCESS"}`, code: "InternalFailure", message: "JSON"},
			"an empty answer":     {reply: ``, code: "InternalFailure", message: "answered with nothing"},
			"null":                {reply: `null`, code: "InternalFailure", message: "answered with null"},
			"a list":              {reply: `[]`, code: "InternalFailure", message: "answered with an array"},
			"no status":           {reply: `{"resourceModel": {"Name": "thing"}}`, code: "InternalFailure", message: "status"},
			"an unknown status":   {reply: `{"status": "DONE"}`, code: "InternalFailure", message: "DONE"},
			"a status of numbers": {reply: `{"status": 1}`, code: "InternalFailure", message: "status"},
			"a model that is not": {reply: `{"status": "SUCCESS", "resourceModel": ["TOPSECRETVALUE"]}`, code: "InternalFailure", message: "resourceModel"},
			"a delay of words":    {reply: `{"status": "IN_PROGRESS", "callbackDelaySeconds": "soon"}`, code: "InternalFailure", message: "callbackDelaySeconds"},
			"read in progress":    {action: invoke.Read, reply: `{"status": "IN_PROGRESS"}`, code: "InternalFailure", message: "READ has to finish in one call"},
			"never again":         {reply: `{"status": "IN_PROGRESS", "callbackDelaySeconds": -1}`, code: "InternalFailure", message: "negative callbackDelaySeconds"},
			"crash":               {err: &lambda.CrashError{Function: "f", Status: "exit status 2", Phase: lambda.PhaseInvoke, Output: "panic: TOPSECRETVALUE"}, code: "InternalFailure", message: "exit status 2"},
			"timeout":             {err: &lambda.TimeoutError{Function: "f", Limit: time.Minute}, code: "InternalFailure", message: "Task timed out after 60.00 seconds"},
			"too many at once":    {err: &lambda.ThrottledError{Function: "f", Limit: 1}, code: "Throttling"},
			"does not start":      {start: errors.New("no such file"), code: "InternalFailure", message: "The handler failed to start: no such file", own: true},
			"no update handler":   {action: invoke.Update, code: "NotUpdatable", message: "no update handler", own: true},
			"the program stops":   {err: fmt.Errorf("closed: %w", context.Canceled)},
			"stops while started": {start: fmt.Errorf("closed: %w", context.Canceled)},
		} {
			t.Run(name, func(t *testing.T) {
				request := create
				if test.action != "" {
					request.Action = test.action
				}
				provided := typ.Provider
				if name == "no update handler" {
					p := *typ.Provider.(*provider)
					v := *p.version
					p.version, v.Schema = &v, withoutHandler(t, v.SchemaText, "update")
					provided = &p
				}
				handler.reply, handler.err, handler.start = test.reply, test.err, test.start
				got, err := provided.Call(t.Context(), request)
				if test.code == "" {
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("%+v, %v; want an error", got, err)
					}
					return
				}
				if err != nil || got.Status != types.OperationStatusFailed || got.ErrorCode != test.code || got.Own != test.own || !strings.Contains(got.Message, test.message) {
					t.Errorf("%+v, %v; want %s %q", got, err, test.code, test.message)
				}
				if strings.Contains(got.Message, "TOPSECRETVALUE") || strings.Contains(got.Message, "\n") {
					t.Errorf("the message is %q", got.Message)
				}
			})
		}
		handler.err, handler.start = nil, nil

		configure(`{"Key": "{{resolve:ssm:/nothing}}"}`)
		if got := call(create); got.ErrorCode != "InvalidTypeConfiguration" || !got.Own {
			t.Errorf("a reference that leads nowhere: %+v", got)
		}
	})
}

func TestProviderVersions(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		const name = "Acme::Test::Thing"
		first := s.thing(owner, name, "one")
		second := s.thing(owner, name, "two")
		version := func(id string) string {
			t.Helper()
			typ, err := s.Type(t.Context(), owner, name, id)
			if err != nil {
				t.Fatal(err)
			}
			return typ.Version
		}
		if got := version("00000002"); got != "00000002" {
			t.Errorf("version %s, want the one asked for", got)
		}
		if _, err := s.SetTypeDefaultVersion(t.Context(), owner, &cloudformation.SetTypeDefaultVersionInput{Arn: &second}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Arn: &first}); err != nil {
			t.Fatal(err)
		}
		if got := version("00000001"); got != "00000002" {
			t.Errorf("version %s, want the default in the place of one that was deregistered", got)
		}
		var unknown *operation.UnknownTypeError
		for _, caller := range []awswire.Caller{reader, faraway} {
			if _, err := s.Type(t.Context(), caller, name, "00000001"); !errors.As(err, &unknown) || unknown.Name != name {
				t.Errorf("another account or region: %v", err)
			}
		}
	})
}

// withoutHandler is a schema without one of its handlers.
func withoutHandler(t *testing.T, text, action string) *schema.Schema {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	delete(document["handlers"].(map[string]any), action)
	s, problems := schema.Load("schema.json", []byte(jsonOf(t, document)), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}
