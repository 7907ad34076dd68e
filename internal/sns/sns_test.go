package sns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/fixtures"
	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/store"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}}

const function = "arn:aws:lambda:eu-west-1:123456789012:function:f"

// calls are the invocations of functions.
type calls chan string

func (c calls) Call(_ context.Context, _ awswire.Caller, arn string, payload []byte, _ []string) (lambda.Result, error) {
	c <- arn + " " + string(payload)
	return lambda.Result{}, errors.New("failed on purpose")
}

func TestTopics(t *testing.T) {
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) {
			opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = opened.Close() })
			done := make(calls, 10)
			s := New(Config{Store: opened, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
			s.Use(done)
			testTopics(t, s, done)
		})
	}
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
	missing, long := arn+"x", strings.Repeat("x", maxMessage+1)
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
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.publish(t.Context(), caller, &publishInput{TopicArn: &arn, Message: &message}); err == nil {
		t.Error("a service that was closed publishes")
	}
	if _, err := s.deleteTopic(t.Context(), caller, &topicInput{TopicArn: &arn}); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.subscriptions(t.Context(), caller.Place, name); err != nil || len(rows) != 0 {
		t.Errorf("the subscriptions of a topic that was deleted: %s, %v", fmt.Sprint(rows), err)
	}
}

func second[A any](_ A, err error) error { return err }
