package sns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}}

const function = "arn:aws:lambda:eu-west-1:123456789012:function:f"

// calls are the invocations of functions.
type calls chan string

func (c calls) Call(_ context.Context, _ awswire.Caller, arn string, payload []byte, _ []string) (lambda.Result, error) {
	c <- arn + " " + string(payload)
	return lambda.Result{}, errors.New("failed on purpose")
}

func eachService(t *testing.T, functions lambda.Functions, test func(t *testing.T, s *Service)) {
	t.Helper()
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) {
			opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = opened.Close() })
			s := New(Config{Store: opened, Functions: functions, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
			test(t, s)
		})
	}
}

func TestTopics(t *testing.T) {
	done := make(calls, 10)
	eachService(t, done, func(t *testing.T, s *Service) {
		if err := s.config.Store.Work(t.Context(), s.Workers()); err != nil {
			t.Fatal(err)
		}
		testTopics(t, s, done)
	})
}

// subscribed makes a topic with one subscription, and returns their ARNs.
func subscribed(t *testing.T, s *Service, name string) (topic, subscription string) {
	t.Helper()
	out, err := s.createTopic(t.Context(), caller, &createTopicInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	protocol, endpoint := "lambda", function
	made, err := s.subscribe(t.Context(), caller, &subscribeInput{TopicArn: out.TopicArn, Protocol: &protocol, Endpoint: &endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return *out.TopicArn, *made.SubscriptionArn
}

// waiting is how many events wait for a subscription.
func waiting(t *testing.T, s *Service, subscription string) int64 {
	t.Helper()
	n, err := store.Count(t.Context(), s.config.Store.Read(), "FROM sns_deliveries WHERE subscription = ?", subscription)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cut is a function that the end of the server cuts off at its first call.
type cut struct {
	calls
	stop context.CancelFunc
}

func (c *cut) Call(ctx context.Context, caller awswire.Caller, arn string, payload []byte, secrets []string) (lambda.Result, error) {
	c.calls <- string(payload)
	if c.stop != nil {
		c.stop()
		c.stop = nil
		return lambda.Result{}, ctx.Err()
	}
	return lambda.Result{}, nil
}

// TestDeliverAgain cuts off a delivery: the message is still there, and is delivered again before the
// next one.
func TestDeliverAgain(t *testing.T) {
	function := &cut{calls: make(calls, 10)}
	eachService(t, function, func(t *testing.T, s *Service) {
		topic, subscription := subscribed(t, s, "again")
		for _, message := range []string{"first", "second"} {
			if _, err := s.publish(t.Context(), caller, &publishInput{TopicArn: &topic, Message: &message}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		function.stop = stop
		if _, err := s.deliver(ctx, subscription); !errors.Is(err, context.Canceled) {
			t.Errorf("the delivery that was cut off: %v", err)
		}
		if n := waiting(t, s, subscription); n != 2 {
			t.Errorf("%d events wait after a delivery that was cut off, want 2", n)
		}
		if _, err := s.deliver(t.Context(), subscription); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"first", "first", "second"} {
			if got := <-function.calls; !strings.Contains(got, `"Message":"`+want+`"`) {
				t.Errorf("call %d is %s, want the message %s", i, got, want)
			}
		}
		if n := waiting(t, s, subscription); n != 0 {
			t.Errorf("%d events are left", n)
		}
	})
}

// TestGiveUpDelivery drops what can never be delivered, and what a subscription waits for that ends.
func TestGiveUpDelivery(t *testing.T) {
	eachService(t, make(calls, 10), func(t *testing.T, s *Service) {
		topic, subscription := subscribed(t, s, "given-up")
		other, kept := subscribed(t, s, "kept")
		message := "m"
		send := func(topic string) {
			t.Helper()
			if _, err := s.publish(t.Context(), caller, &publishInput{TopicArn: &topic, Message: &message}); err != nil {
				t.Fatal(err)
			}
		}
		send(topic)
		send(other)
		if err := s.giveUp(t.Context(), subscription, "broken"); err != nil {
			t.Fatal(err)
		}
		if n, m := waiting(t, s, subscription), waiting(t, s, kept); n != 0 || m != 1 {
			t.Errorf("%d and %d events wait, want 0 and 1", n, m)
		}
		if _, err := s.unsubscribe(t.Context(), caller, &unsubscribeInput{SubscriptionArn: &kept}); err != nil {
			t.Fatal(err)
		}
		if n := waiting(t, s, kept); n != 0 {
			t.Errorf("%d events wait for a subscription that ended", n)
		}
	})
}

// TestNotifyWithoutTopic: what nobody waits for may name a topic that does not exist.
func TestNotifyWithoutTopic(t *testing.T) {
	eachService(t, make(calls, 10), func(t *testing.T, s *Service) {
		missing := topicARN(caller.Place, "missing")
		err := s.config.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return s.Notify(ctx, tx, caller, missing, "s", "m")
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func testTopics(t *testing.T, s *Service, done calls) {
	t.Helper()
	name, protocol, endpoint, message := "things", "lambda", function, "hello"
	for range 2 { // creating an existing topic returns it
		out, err := s.createTopic(t.Context(), caller, &createTopicInput{Name: &name})
		if err != nil || *out.TopicArn != "arn:aws:sns:eu-west-1:123456789012:things" {
			t.Fatalf("%v, %v", out, err)
		}
	}
	arn := topicARN(caller.Place, name)
	var subscribed string
	for range 2 {
		out, err := s.subscribe(t.Context(), caller, &subscribeInput{TopicArn: &arn, Protocol: &protocol, Endpoint: &endpoint})
		if err != nil || subscribed != "" && *out.SubscriptionArn != subscribed {
			t.Fatalf("%v, %v", out, err)
		}
		subscribed = *out.SubscriptionArn
	}
	if _, err := s.publish(t.Context(), caller, &publishInput{TopicArn: &arn, Message: &message}); err != nil {
		t.Fatal(err)
	}
	got, payload, _ := strings.Cut(<-done, " ")
	var event struct {
		Records []struct {
			EventSource, EventVersion, EventSubscriptionArn string
			Sns                                             map[string]any
		}
	}
	if err := json.Unmarshal([]byte(payload), &event); err != nil || got != function {
		t.Fatalf("%s, %v", got, err)
	}
	record := event.Records[0]
	if record.EventSource != "aws:sns" || record.EventVersion != "1.0" || record.EventSubscriptionArn != subscribed ||
		record.Sns["Message"] != "hello" || record.Sns["TopicArn"] != arn || record.Sns["Timestamp"] != "2026-01-02T03:04:05.000Z" || record.Sns["Subject"] != nil {
		t.Errorf("the event is %+v", record)
	}
	found, err := s.Deliveries(t.Context(), caller, arn, "s", "m")
	if err != nil || len(found) != 1 || !strings.Contains(string(found[function]), `"Subject":"s"`) {
		t.Errorf("%s, %v", found, err)
	}
	elsewhere := caller
	elsewhere.Account = "210987654321"
	missing, long := arn+"x", strings.Repeat("x", MaxMessage+1)
	for what, err := range map[string]error{
		"of another account":   second(s.Deliveries(t.Context(), elsewhere, arn, "", "")),
		"a missing topic":      second(s.publish(t.Context(), caller, &publishInput{TopicArn: &missing, Message: &message})),
		"a long message":       second(s.publish(t.Context(), caller, &publishInput{TopicArn: &arn, Message: &long})),
		"no message":           second(s.publish(t.Context(), caller, &publishInput{TopicArn: &arn})),
		"no name":              second(s.createTopic(t.Context(), caller, &createTopicInput{})),
		"a missing endpoint":   second(s.subscribe(t.Context(), caller, &subscribeInput{TopicArn: &arn, Protocol: &protocol})),
		"a missing protocol":   second(s.subscribe(t.Context(), caller, &subscribeInput{TopicArn: &arn, Endpoint: &endpoint})),
		"another subscription": second(s.unsubscribe(t.Context(), caller, &unsubscribeInput{SubscriptionArn: &missing})),
	} {
		var refusal *awswire.Error
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.deleteTopic(t.Context(), caller, &topicInput{TopicArn: &arn}); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.subscriptions(t.Context(), s.config.Store.Read(), caller.Place, name); err != nil || len(rows) != 0 {
		t.Errorf("the subscriptions of a topic that was deleted: %s, %v", fmt.Sprint(rows), err)
	}
}

func second[A any](_ A, err error) error { return err }

// TestDeliver: events of other services reach a function in order, each once the transaction is committed.
func TestDeliver(t *testing.T) {
	done := make(calls, 10)
	eachService(t, done, func(t *testing.T, s *Service) {
		if err := s.config.Store.Work(t.Context(), s.Workers()); err != nil {
			t.Fatal(err)
		}
		undone := errors.New("undone")
		err := s.config.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := s.Deliver(ctx, tx, "arn:aws:s3:eu-west-1:123456789012:box:f", function, []byte("never")); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		for _, event := range []string{"one", "two"} {
			err := s.config.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return s.Deliver(ctx, tx, "arn:aws:s3:eu-west-1:123456789012:box:f", function, []byte(event))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"one", "two"} {
			if got := <-done; got != function+" "+want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}
