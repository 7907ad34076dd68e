package delegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/delegate"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const queueType = "AWS::SQS::Queue"

// queue is a type with everything that a delegate has to know.
const queue = `{
	"typeName": "AWS::SQS::Queue", "description": "A queue.", "additionalProperties": false,
	"properties": {
		"QueueName": {"type": "string"},
		"FifoQueue": {"type": "boolean"},
		"Delay": {"type": "integer", "default": 5},
		"Size": {"type": "integer"},
		"Password": {"type": "string"},
		"Policy": {"type": "object"},
		"Code": {"type": "object"},
		"QueueUrl": {"type": "string"},
		"Arn": {"type": "string"},
		"Lacking": {"type": "string"},
		"Names": {"type": "array", "items": {"type": "string"}},
		"Endpoint": {"type": "object", "properties": {"Address": {"type": "string"}}},
		"Tags": {"type": "array", "items": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}}}
	},
	"primaryIdentifier": ["/properties/QueueUrl"],
	"readOnlyProperties": ["/properties/QueueUrl", "/properties/Arn", "/properties/Lacking", "/properties/Names", "/properties/Endpoint"],
	"writeOnlyProperties": ["/properties/Password"],
	"createOnlyProperties": ["/properties/QueueName"],
	"tagging": {"taggable": true, "tagProperty": "/properties/Tags"},
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}
}`

var caller = awswire.Caller{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}}

// A bench is delegates over a store and an emulator.
type bench struct {
	*delegate.Delegates
	t     *testing.T
	fake  *fixtures.Emulator
	store *store.Store
	log   bytes.Buffer
	rules []string
	live  map[string]bool // tokens of operations in progress

	schema func(ctx context.Context, name string) (*schema.Schema, error)
}

func open(t *testing.T, place fixtures.Place) *bench {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	b := &bench{t: t, fake: fixtures.NewEmulator(t), store: opened, live: map[string]bool{}}
	b.schema = func(_ context.Context, name string) (*schema.Schema, error) {
		if name == "AWS::SQS::Missing" {
			return nil, nil
		}
		parsed, problems := schema.Load("queue.json", []byte(strings.ReplaceAll(queue, queueType, name)), schema.Config{Kind: schema.Resource})
		return parsed, problems.Err()
	}
	b.rules = []string{"AWS::SQS::*=" + b.fake.URL}
	b.restart()
	return b
}

// restart starts this server again, with the same data.
func (b *bench) restart() {
	b.t.Helper()
	rules, err := delegate.ParseRules(b.rules, func(string) bool { return false })
	if err != nil {
		b.t.Fatal(err)
	}
	config := delegate.Config{
		Store: b.store, Rules: rules, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		Schema: b.schema,
		Object: func(_ context.Context, of awswire.Caller, bucket, key, _ string) (io.ReadCloser, error) {
			if of.Account != caller.Account || bucket != "ours" {
				return nil, awswire.Errorf("NoSuchBucket", 404, "The specified bucket does not exist")
			}
			return io.NopCloser(strings.NewReader("content of " + key)), nil
		},
		Ongoing: func(_ context.Context, _ *store.Tx, token string) (bool, error) { return b.live[token], nil },
	}
	if b.Delegates, err = delegate.New(b.t.Context(), config); err != nil {
		b.t.Fatal(err)
	}
}

func request(action invoke.Action, token, identifier string, desired map[string]any) operation.Request {
	return operation.Request{
		Caller: caller, Action: action, Token: token, Type: queueType, StackID: "arn:stack", StackName: "shop", LogicalID: "Orders", Identifier: identifier,
		Desired: desired, StackTags: map[string]string{"team": "shop"}, SystemTags: map[string]string{"aws:cloudformation:stack-name": "shop"},
	}
}

// run makes the calls of an operation until it ends; each is repeated by a server that was started again, as if the answer
// had been lost with the process.
func (b *bench) run(r operation.Request) operation.Progress {
	b.t.Helper()
	for range 20 {
		progress, err := b.Call(b.t.Context(), r)
		if errors.Is(err, operation.ErrElsewhere) {
			return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: "Elsewhere"}
		}
		if err != nil {
			b.t.Fatal(err)
		}
		if progress.Status == types.OperationStatusInProgress {
			r.Callback = progress.Callback
			continue
		}
		return progress
	}
	b.t.Fatal("the operation does not end")
	return operation.Progress{}
}

func (b *bench) must(r operation.Request) operation.Progress {
	b.t.Helper()
	progress := b.run(r)
	if progress.Status != types.OperationStatusSuccess {
		b.t.Fatalf("%s: %s: %s", r.Action, progress.ErrorCode, progress.Message)
	}
	return progress
}

// fails requires a failure with a code and a text.
func (b *bench) fails(r operation.Request, code, text string) {
	b.t.Helper()
	progress := b.run(r)
	if progress.Status != types.OperationStatusFailed || progress.ErrorCode != code || !strings.Contains(progress.Message, text) {
		b.t.Errorf("%s: %s %s: %q, want %s: %q", r.Action, progress.Status, progress.ErrorCode, progress.Message, code, text)
	}
}

// empty requires that nothing is left in the emulator.
func (b *bench) empty() {
	b.t.Helper()
	if stacks, resources := b.fake.Left(); stacks != 0 || resources != 0 {
		b.t.Errorf("%d stacks and %d resources are left in the emulator", stacks, resources)
	}
}

func TestLifecycle(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			b := open(t, place)
			made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Size": 3, "Password": "hunter2"}))
			want := map[string]any{
				"QueueName": "orders", "Size": 3.0, "Arn": "Arn of orders", "QueueUrl": "QueueUrl of orders", "Names": []any{"one", "two"},
				"Endpoint": map[string]any{"Address": "Endpoint.Address of orders"},
				"Tags":     []any{map[string]any{"Key": "aws:cloudformation:stack-name", "Value": "shop"}, map[string]any{"Key": "team", "Value": "shop"}},
			}
			if made.Identifier != "http://queue/orders" || len(cmp.Diff(want, made.Model, numbers)) > 0 {
				t.Errorf("%s: %s", made.Identifier, cmp.Diff(want, made.Model, numbers))
			}
			// A create that is repeated finds its own resource, also after a restart of this server.
			b.restart()
			if again := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Size": 3})); again.Identifier != made.Identifier || b.fake.Made != 1 {
				t.Errorf("%s, %d were made", again.Identifier, b.fake.Made)
			}
			b.fails(request(invoke.Create, "c2", "", map[string]any{"QueueName": "orders"}), "AlreadyExists", "with identifier 'orders' already exists")

			updated := b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders", "Size": 4}))
			b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders", "Size": 4}))
			if updated.Model["Arn"] != "Arn of orders" {
				t.Errorf("%v", updated.Model)
			}
			for _, identifier := range []string{made.Identifier, "QueueUrl of orders"} {
				if read := b.must(request(invoke.Read, "r", identifier, nil)); len(cmp.Diff(4.0, read.Model["Size"], numbers)) > 0 || read.Stored {
					t.Errorf("%+v", read)
				}
			}
			b.fails(request(invoke.Update, "u2", made.Identifier, map[string]any{"QueueName": "bills"}), "NotUpdatable", "QueueName")
			page, err := b.ListResources(t.Context(), operation.ListRequest{Caller: caller, Type: queueType})
			if err != nil || len(page.Resources) != 1 || page.Resources[0].Identifier != "QueueUrl of orders" {
				t.Errorf("%+v, %v", page, err)
			}
			b.must(request(invoke.Delete, "d1", made.Identifier, nil))
			b.fails(request(invoke.Delete, "d1", made.Identifier, nil), "Elsewhere", "")
			b.fails(request(invoke.Read, "r", made.Identifier, nil), "Elsewhere", "")
			b.empty()
		})
	}
}

// numbers compares numbers of any type.
var numbers = cmp.FilterValues(func(a, b any) bool { return isNumber(a) && isNumber(b) }, cmp.Comparer(func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }))

func isNumber(v any) bool {
	_, isText := v.(string)
	return !isText && strings.Trim(fmt.Sprint(v), "0123456789.") == ""
}

// TestLostAnswers has each answer of the emulator lost once: nothing is doubled, and nothing is left.
func TestLostAnswers(t *testing.T) {
	for _, action := range []string{"CreateStack", "DescribeStacks", "UpdateStack", "DeleteStack", "DescribeStackEvents"} {
		for nth := range 4 {
			t.Run(fmt.Sprint(action, nth), func(t *testing.T) {
				b := open(t, fixtures.Stores(t)[0])
				retried := func(r operation.Request) operation.Progress {
					before := b.fake.Calls[action]
					for range 10 {
						b.fake.Change(func() {
							if b.fake.Calls[action] == before+nth {
								b.fake.Lost[action] = 1
							}
						})
						progress := b.run(r)
						if progress.ErrorCode != "NetworkFailure" {
							return progress
						}
						b.restart()
					}
					t.Fatal("the network does not come back")
					return operation.Progress{}
				}
				made := retried(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
				retried(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders", "Size": 4}))
				if b.fake.Made != 1 {
					t.Errorf("%d were made", b.fake.Made)
				}
				if gone := retried(request(invoke.Delete, "d1", made.Identifier, nil)); gone.Status != types.OperationStatusSuccess && gone.ErrorCode != "Elsewhere" {
					t.Errorf("%+v", gone)
				}
				if err := b.Expire(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
				b.empty()
			})
		}
	}
}

// TestSlowMarker checks that a create is not lost whose marker takes longer than a call waits.
func TestSlowMarker(t *testing.T) {
	t.Parallel()
	b := open(t, fixtures.Stores(t)[0])
	b.fake.Slow = map[string]int{"CreateStack": 20}
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
	b.must(request(invoke.Delete, "d1", made.Identifier, nil))
	b.empty()
}

// TestSlowDrift checks that an update is sent once, even if the emulator then needs longer to say what it changed than a
// call waits, and that one without a change stays one.
func TestSlowDrift(t *testing.T) {
	t.Parallel()
	b := open(t, fixtures.Stores(t)[0])
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Size": 1}))
	b.fake.Calls = map[string]int{}
	b.fake.Slow = map[string]int{"DescribeStackDriftDetectionStatus": 20}
	b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders", "Size": 2}))
	if got := b.fake.Calls["UpdateStack"]; got != 1 {
		t.Errorf("%d updates were sent", got)
	}
	b.fake.Slow = map[string]int{"DescribeStackDriftDetectionStatus": 20}
	b.must(request(invoke.Update, "u2", made.Identifier, map[string]any{"QueueName": "orders", "Size": 2}))
}

func TestSlowStacks(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.fake.Slow = map[string]int{"CreateStack": 3, "UpdateStack": 3}
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"Size": 1}))
	b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"Size": 2}))
	b.must(request(invoke.Delete, "d1", made.Identifier, nil))
	b.empty()
}

// TestSlowFailures checks that an update which fails after a call has given up waiting is sent once, and that the files of
// one in progress stay.
func TestSlowFailures(t *testing.T) {
	t.Parallel()
	b := open(t, fixtures.Stores(t)[0])
	b.fake.Slow = map[string]int{"UpdateStack": 20}
	properties := map[string]any{"QueueName": "orders", "Code": map[string]any{"S3Bucket": "ours", "S3Key": "code.zip"}}
	made := b.must(request(invoke.Create, "c1", "", properties)) // its first update fails for an attribute
	if got := b.fake.Calls["UpdateStack"]; got != 3 || made.Model["Arn"] != "Arn of orders" {
		t.Errorf("%d updates, %v", got, made.Model)
	}
	b.fake.Refuses, b.fake.Calls = "too large", map[string]int{}
	properties["Size"] = 2
	r := request(invoke.Update, "u1", made.Identifier, properties)
	progress, err := b.Call(t.Context(), r)
	if err != nil || progress.Status != types.OperationStatusInProgress || len(b.fake.Objects) != 2 {
		t.Fatalf("%+v, %v, objects %v", progress, err, b.fake.Objects)
	}
	r.Callback = progress.Callback
	b.fails(r, "GeneralServiceException", "too large")
	if b.fake.Calls["UpdateStack"] != 1 || len(b.fake.Objects) != 0 {
		t.Errorf("%d updates, objects %v", b.fake.Calls["UpdateStack"], b.fake.Objects)
	}
}

// TestSecretsInReasons checks that what an emulator says is logged and stored without secrets.
func TestSecretsInReasons(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	r := request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Password": "hunter2"})
	r.Secrets = map[secret.Reason][]string{"": {"hunter2"}}
	b.fake.Refuses, b.fake.Lost["DeleteStack"] = "The password hunter2 is too short", 1
	b.fails(r, "NetworkFailure", "cannot be reached")
	var reason string
	if err := store.Query(t.Context(), b.store.Read(), &reason, "SELECT reason FROM delegated_resources"); err != nil || !strings.Contains(reason, "is too short") || strings.Contains(reason, "hunter2") {
		t.Errorf("%q, %v", reason, err)
	}
	b.fails(r, "GeneralServiceException", "is too short")
	b.fake.Refuses = ""
	b.fake.Broken = func(_ http.ResponseWriter, r *http.Request) bool { // the update for attributes fails
		if r.ParseForm() == nil && r.Form.Get("Action") == "UpdateStack" {
			b.fake.Refuses = "The password hunter2 is too old"
		}
		return false
	}
	r.Token, r.StackID = "c2", "" // of Cloud Control
	made := b.must(r)
	if log := b.log.String(); !strings.Contains(log, "is too old") || strings.Contains(log, "hunter2") {
		t.Error(log)
	}
	page, err := b.ListResources(t.Context(), operation.ListRequest{Caller: caller, Type: queueType})
	if err != nil || len(page.Resources) != 1 || page.Resources[0].Identifier != made.Identifier {
		t.Errorf("%+v, %v, want %s", page, err, made.Identifier)
	}
}

func TestCreateFails(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.fake.Refuses = "The password hunter2 is too short"
	r := request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Password": "hunter2"})
	r.Secrets = map[secret.Reason][]string{"": {"hunter2"}}
	b.fails(r, "GeneralServiceException", "is too short")
	if progress := b.run(r); strings.Contains(progress.Message, "hunter2") {
		t.Error(progress.Message)
	}
	b.empty()
	b.fake.Refuses = "Queue orders already exists"
	b.fails(request(invoke.Create, "c2", "", map[string]any{"QueueName": "orders"}), "AlreadyExists", "already exists")
	b.empty()
}

func TestUpdateFails(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Size": 1}))
	change := func(token string) operation.Request {
		return request(invoke.Update, token, made.Identifier, map[string]any{"QueueName": "orders", "Size": 2})
	}
	b.fake.Refuses = "too large"
	b.fails(change("u1"), "GeneralServiceException", "too large")
	b.fake.Refuses, b.fake.Ignores = "", true
	r := request(invoke.Update, "u3", made.Identifier, map[string]any{"QueueName": "orders", "Size": 3})
	b.fails(r, "GeneralServiceException", "accepted the update, but did not change Size")
	// A rollback cannot fail for that; it is said where the resource is.
	r = request(invoke.Update, "u4", made.Identifier, map[string]any{"QueueName": "orders", "Size": 7})
	r.Rollback = true
	b.must(r)
	where, err := b.Where(caller, queueType)(t.Context(), made.Identifier)
	if want := "delegated to ministack 1.5.33 at " + b.fake.URL + ", may have kept Size"; err != nil || where != want {
		t.Errorf("%q, %v, want %q", where, err, want)
	}
	if !strings.Contains(b.log.String(), "may have kept") {
		t.Error(b.log.String())
	}
	b.fake.Replaces, b.fake.Ignores = true, false
	b.fails(change("u2"), "GeneralServiceException", "replaced the resource http://queue/orders by http://queue/orders-2 instead of updating it")
}

// TestRemovedProperties checks that a default is sent for a property that a template no longer has.
func TestRemovedProperties(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Delay": 9, "Size": 1}))
	b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders"}))
	if text := b.fake.Resources["111122223333/eu-west-1/orders"]; !strings.Contains(text, `"Delay":5`) || strings.Contains(text, "Size") {
		t.Error(text)
	}
}

func TestEmulatorRestarted(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	first := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "a"}))
	second := b.must(request(invoke.Create, "c2", "", map[string]any{"QueueName": "b"}))
	b.fake.Reset()
	lost := "The emulator at " + b.fake.URL + " was restarted or reset; the 2 resources that were made in it are lost."
	b.fails(request(invoke.Update, "u1", first.Identifier, map[string]any{"QueueName": "a", "Size": 1}), "GeneralServiceException", lost)
	b.fails(request(invoke.Read, "r1", first.Identifier, nil), "NotFound", lost)
	third := b.must(request(invoke.Create, "c3", "", map[string]any{"QueueName": "c"})) // has a marker of its own
	b.must(request(invoke.Delete, "d1", first.Identifier, nil))
	b.must(request(invoke.Delete, "d2", second.Identifier, nil))
	if !strings.Contains(b.log.String(), "nothing was deleted") {
		t.Error(b.log.String())
	}
	if stacks, _ := b.fake.Left(); stacks != 2 {
		t.Errorf("%d stacks, want that of the resource and that of the marker", stacks)
	}
	b.must(request(invoke.Delete, "d3", third.Identifier, nil))
	b.empty()
}

// TestForeign checks that what others made is neither taken over nor deleted.
func TestForeign(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.fake.Resources["111122223333/eu-west-1/orders"] = "{}"
	b.fails(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}), "AlreadyExists", "'orders' already exists")
	if stacks, resources := b.fake.Left(); stacks != 0 || resources != 1 {
		t.Errorf("%d stacks, %d resources", stacks, resources)
	}
	made := b.must(request(invoke.Create, "c2", "", map[string]any{"QueueName": "mine"}))
	b.fake.Change(func() {
		for _, s := range b.fake.Stacks {
			s.Description = "of somebody else"
		}
	})
	for _, action := range []invoke.Action{invoke.Update, invoke.Delete} {
		b.fails(request(action, "x", made.Identifier, map[string]any{"QueueName": "mine"}), "InvalidRequest", "was not created by this server")
	}
	if stacks, resources := b.fake.Left(); stacks != 2 || resources != 2 {
		t.Errorf("%d stacks, %d resources", stacks, resources)
	}
}

// TestUnclearLookups checks that nothing is created where the emulator does not say whether a resource exists.
func TestUnclearLookups(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	for _, test := range []struct {
		status           int
		body, code, text string
	}{
		{http.StatusTooManyRequests, "", "Throttling", "limits its requests"},
		{http.StatusBadRequest, `{"__type": "ThrottlingException"}`, "Throttling", "limits its requests"},
		{http.StatusForbidden, `{"__type": "AccessDenied"}`, "GeneralServiceException", "does not say whether AWS::SQS::Queue orders exists: status 403"},
	} {
		b.fake.Broken = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("X-Amz-Target") == "" {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
			return true
		}
		b.fails(request(invoke.Create, "c"+test.body, "", map[string]any{"QueueName": "orders"}), test.code, test.text)
	}
	b.empty()
}

// TestGarbledCreate checks that a stack is kept whose creation was answered with what cannot be read.
func TestGarbledCreate(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	other := b.must(request(invoke.Create, "c0", "", map[string]any{"QueueName": "other"})) // and the marker
	b.fake.Garbled["CreateStack"] = 1
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
	if b.fake.Made != 2 || b.fake.Garbled["CreateStack"] != 0 {
		t.Errorf("%d resources were made", b.fake.Made)
	}
	b.must(request(invoke.Delete, "d0", other.Identifier, nil))
	b.must(request(invoke.Delete, "d1", made.Identifier, nil))
	b.empty()
}

func TestSecretsAndFunctions(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	r := request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders", "Password": "before hunter2 after hunter2", "Policy": map[string]any{"${Key}": "x", "Fn::Sub": "y"}})
	r.Secrets = map[secret.Reason][]string{"": {"hunter2", "hunter"}}
	b.must(r)
	for _, s := range b.fake.Stacks {
		if strings.Contains(s.Text, "hunter") {
			t.Error(s.Text)
		}
		if s.Resource == "orders" && (len(s.Parameters) != 1 || s.Parameters["Secret0"] != "hunter2") {
			t.Errorf("%v", s.Parameters)
		}
	}
	for text, policy := range map[string]any{
		"single key Ref":     map[string]any{"a": []any{map[string]any{"Ref": "x"}}},
		"single key Fn::Sub": map[string]any{"Fn::Sub": "x"},
		"{{resolve:":         map[string]any{"a": "{{resolve:ssm:x}}"},
		"have 60":            map[string]any{"a": strings.Repeat("x", 60000)},
	} {
		b.fails(request(invoke.Create, "c"+text, "", map[string]any{"Policy": policy}), "InvalidRequest", text)
	}
}

// TestFiles checks that files of this server are copied for the emulator, and not left there.
func TestFiles(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	properties := map[string]any{"QueueName": "orders", "Code": map[string]any{"S3Bucket": "ours", "S3Key": "code.zip"}}
	made := b.must(request(invoke.Create, "c1", "", properties))
	sent := b.fake.Resources["111122223333/eu-west-1/orders"]
	if !strings.Contains(sent, `"S3Bucket":"formwork-files-`) || strings.Contains(sent, "code.zip") {
		t.Error(sent)
	}
	if code := made.Model["Code"]; !cmp.Equal(code, properties["Code"]) {
		t.Errorf("%v", code)
	}
	b.must(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders", "Code": map[string]any{"S3Bucket": "theirs", "S3Key": "code.zip"}}))
	if sent = b.fake.Resources["111122223333/eu-west-1/orders"]; !strings.Contains(sent, `"S3Bucket":"theirs"`) {
		t.Error(sent)
	}
	if !slices.Contains(b.fake.Put, "content of code.zip") || len(b.fake.Objects) != 0 {
		t.Errorf("%q were put, %q are left", b.fake.Put, b.fake.Objects)
	}
}

// TestHostileAnswers checks what ends an operation, and what is tried again.
func TestHostileAnswers(t *testing.T) {
	for name, of := range map[string]struct {
		answer     func(w http.ResponseWriter)
		code, text string
	}{
		"large":   {func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte("<a>"), 2<<20)) }, "GeneralServiceException", "of more than 4194304 bytes"},
		"not XML": {func(w http.ResponseWriter) { fmt.Fprint(w, "<DescribeStacksResponse><x") }, "GeneralServiceException", "cannot be read"},
		"status":  {func(w http.ResponseWriter) { w.WriteHeader(502) }, "ServiceInternalError", "answered with status 502"},
		"throttled": {func(w http.ResponseWriter) {
			w.WriteHeader(400)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>Throttling</Code><Message>slow</Message></Error></ErrorResponse>")
		}, "Throttling", "slow"},
		"redirect": {func(w http.ResponseWriter) { w.Header().Set("Location", "http://169.254.169.254/"); w.WriteHeader(302) }, "GeneralServiceException", "cannot be read"},
		"closed":   {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "NetworkFailure", "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, fixtures.Stores(t)[0])
			made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
			b.fake.Broken = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/_ministack/health" {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body) // else the connection is reset
				of.answer(w)
				return true
			}
			for _, action := range []invoke.Action{invoke.Read, invoke.Update, invoke.Delete} {
				b.fails(request(action, "x", made.Identifier, map[string]any{"QueueName": "orders", "Size": 9}), of.code, of.text)
			}
			b.fake.Broken = nil
			b.must(request(invoke.Delete, "x", made.Identifier, nil))
			b.empty()
		})
	}
}

func TestStopped(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	ctx, cancel := context.WithCancel(t.Context())
	b.fake.Broken = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/_ministack/health" {
			cancel()
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if progress, err := b.Call(ctx, request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"})); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v: a call that was interrupted must be repeated", progress, err)
	}
}

// TestResourcesStay checks that a resource stays where it was made, whatever the options are now.
func TestResourcesStay(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	made := b.must(request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
	begun := request(invoke.Create, "c2", "", nil)
	begun.Callback = []byte(`{"step":2}`) // of another provider
	b.fails(begun, "Elsewhere", "")
	b.fails(request(invoke.Delete, "d2", "old", nil), "Elsewhere", "")
	b.rules = nil
	b.restart()
	start := "start cfn serve with --delegate 'AWS::SQS::Queue=" + b.fake.URL + "'"
	b.fails(request(invoke.Update, "u1", made.Identifier, map[string]any{"QueueName": "orders"}), "InvalidRequest", start)
	b.live["c1"] = true // a create that was interrupted
	b.fails(request(invoke.Create, "c1", "", nil), "InvalidRequest", start)
	b.fails(request(invoke.Create, "c3", "", nil), "Elsewhere", "")
	if typ, err := b.Type(t.Context(), caller, queueType, ""); err == nil {
		t.Errorf("%+v: new resources are delegated without a rule", typ)
	}
	if typ, err := b.Left().Type(t.Context(), caller, queueType, ""); err != nil || typ.Schema == nil {
		t.Errorf("%+v, %v", typ, err)
	}
	if typ, err := b.Left().Type(t.Context(), caller, "AWS::SQS::Other", ""); err == nil {
		t.Errorf("%+v: there are no resources of the type", typ)
	}
	if b.Where(caller, "AWS::SQS::Other") != nil {
		t.Error("resources of a type without a rule may be in an emulator")
	}
}

func TestType(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.rules = append(b.rules, "AWS::*="+b.fake.URL, "AWS::EC2::VPC=none")
	b.restart()
	for name, want := range map[string]string{
		queueType: "", "AWS::SQS::Other": "", "AWS::Kinesis::Stream": "", "AWS::SQS::Unknown": "does not have the type; pass --simulate AWS::SQS::Unknown",
		"AWS::SQS::Missing": "import the schema", "AWS::S3::Bucket": "unrecognized", "AWS::EC2::VPC": "unrecognized", "AWS::CloudFormation::Stack": "unrecognized", "Acme::SQS::Queue": "unrecognized",
	} {
		_, err := b.Type(t.Context(), caller, name, "")
		var unknown *operation.UnknownTypeError
		switch {
		case want == "" && err != nil, want != "" && (!errors.As(err, &unknown) || !strings.Contains(unknown.Error()+unknown.Hint, want)):
			t.Errorf("%s: %v %+v, want %q", name, err, unknown, want)
		}
	}
	for name, want := range map[string]string{
		queueType: "delegated to ministack 1.5.33 at " + b.fake.URL, "AWS::SQS::Other": "delegated to ministack 1.5.33 at " + b.fake.URL + ", not verified", "AWS::S3::Bucket": "",
	} {
		if got := b.Mark(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// What is not ministack is refused, and what cannot be reached is not replaced by a simulation.
	b.fake.Version = ""
	b.restart()
	_, err := b.Type(t.Context(), caller, queueType, "")
	var unknown *operation.UnknownTypeError
	if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint, "is not ministack") {
		t.Errorf("%v", err)
	}
	b.fake.Close()
	b.restart()
	if _, err := b.Type(t.Context(), caller, queueType, ""); err != nil {
		t.Error(err)
	}
	b.fails(request(invoke.Create, "c1", "", nil), "NetworkFailure", "cannot be reached: start it, or remove its option --delegate")
}

// TestExpire checks that what an abandoned create made is deleted, and what is in progress is not.
func TestExpire(t *testing.T) {
	b := open(t, fixtures.Stores(t)[0])
	b.must(request(invoke.Create, "c0", "", map[string]any{"QueueName": "bills"}))
	b.fake.Slow["CreateStack"] = 1000
	progress, err := b.Call(t.Context(), request(invoke.Create, "c1", "", map[string]any{"QueueName": "orders"}))
	if err != nil || progress.Status != types.OperationStatusInProgress {
		t.Fatalf("%+v, %v", progress, err)
	}
	b.fake.Change(func() {
		for _, s := range b.fake.Stacks {
			s.Remaining = 0
		}
	})
	b.live["c1"] = true
	b.others("c1", 1200)
	for _, want := range []int{2, 1} {
		if err := b.Expire(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, resources := b.fake.Left(); resources != want {
			t.Errorf("%d resources, want %d", resources, want)
		}
		b.live["c1"] = false
	}
	b.fake.Slow = map[string]int{}
	b.must(request(invoke.Create, "c2", "", map[string]any{"QueueName": "orders"}))
	b.others("c2", 150)
	if err := b.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.empty()
}

// others adds older and newer resources like one, of an emulator that this server does not have.
func (b *bench) others(token string, count int) {
	b.t.Helper()
	err := b.store.Write(b.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := range count {
			_, err := store.Exec(ctx, tx, "INSERT INTO delegated_resources SELECT 'other-' || ? || ?, account, region, type_name, 'http://127.0.0.1:1', emulator, stack_name, stack_id, stack, logical_id, '', physical_id,\n\t\t\t\tidentifier, marker, stage, reason, kept, model, created_at + ? FROM delegated_resources WHERE token = ?",
				token, fmt.Sprint(i), 1-i%3, token)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
