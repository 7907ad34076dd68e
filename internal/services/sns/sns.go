// Package sns has the part of SNS that stacks and custom resources need: topics, subscriptions of functions, and Publish.
//
// A topic here has two kinds of publishers: clients, and stacks with NotificationARNs, whose events are sent to their topics.
// The only subscribers are functions (protocol "lambda"), which are found by lambda.Functions and get the event that Lambda gets from
// SNS. Other protocols, filters, attributes and FIFO topics are refused: a subscription that is accepted but never
// notified would be worse.
//
// Publish returns when the message is stored. Delivery (deliver.go) is durable work of the store: each subscriber gets
// each message at least once, in the order of the messages, even if the server is killed meanwhile. A function that fails is
// logged and does not get the message again. The operations of clients are in operations.go.
package sns

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up a Service. Store and Functions must be set.
type Config struct {
	Store     *store.Store
	Functions lambda.Functions // invokes those that subscribe
	Logger    *slog.Logger     // nil discards
	Now       func() time.Time // nil means the store's clock
}

// A Service is SNS for all accounts and regions.
type Service struct {
	config Config
}

// New returns the service in a store.
func New(config Config) *Service {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	return &Service{config: config}
}

type topicRow struct {
	store.Row `db:"sns_topics"`

	Account   string     `db:"account,pk"`
	Region    string     `db:"region,pk"`
	Name      string     `db:"name,pk"`
	CreatedAt store.Time `db:"created_at"`
}

type subscriptionRow struct {
	store.Row `db:"sns_subscriptions"`

	Account  string `db:"account,pk"`
	Region   string `db:"region,pk"`
	Topic    string `db:"topic,pk"`
	ID       string `db:"id,pk"`
	Endpoint string `db:"endpoint"` // ARN of a function
}

// arn is the ARN of the subscription.
func (r *subscriptionRow) arn() string {
	return topicARN(awswire.Place{Account: r.Account, Region: r.Region}, r.Topic) + ":" + r.ID
}

// topicARN is the ARN of a topic of a place.
func topicARN(place awswire.Place, name string) string {
	return fmt.Sprintf("arn:%s:sns:%s:%s:%s", awswire.PartitionOf(place.Region), place.Region, place.Account, name)
}

// topic finds the name of an existing topic by its ARN.
func (s *Service) topic(ctx context.Context, db store.DB, place awswire.Place, arn string) (string, error) {
	name, own := strings.CutPrefix(arn, topicARN(place, ""))
	if !own {
		return "", errNoTopic()
	}
	found, err := store.Exists(ctx, db, "FROM sns_topics WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("look up a topic: %w", err)
	case !found:
		return "", errNoTopic()
	}
	return name, nil
}

func errNoTopic() error { return awswire.Errorf("NotFound", 404, "Topic does not exist") }

// subscriptions are those of a topic.
func (s *Service) subscriptions(ctx context.Context, db store.DB, place awswire.Place, topic string) ([]subscriptionRow, error) {
	var rows []subscriptionRow
	err := store.List(ctx, db, &rows, "WHERE account = ? AND region = ? AND topic = ? ORDER BY id", place.Account, place.Region, topic)
	if err != nil {
		return nil, fmt.Errorf("read the subscriptions of a topic: %w", err)
	}
	return rows, nil
}

// Deliveries are the functions that subscribe to a topic, by ARN, and the event that each gets
// for a message. The error is an *awswire.Error if the topic does not exist.
func (s *Service) Deliveries(ctx context.Context, caller awswire.Caller, topic, subject, message string) (map[string][]byte, error) {
	name, err := s.topic(ctx, s.config.Store.Read(), caller.Place, topic)
	if err != nil {
		return nil, err
	}
	found, err := s.subscriptions(ctx, s.config.Store.Read(), caller.Place, name)
	if err != nil {
		return nil, err
	}
	return s.events(caller.Place, name, subject, message, uuid.NewString(), found)
}

// events are what the functions of subscriptions get for a message.
func (s *Service) events(place awswire.Place, name, subject, message, id string, found []subscriptionRow) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, row := range found {
		notification := map[string]any{
			"Type": "Notification", "MessageId": id, "TopicArn": topicARN(place, name), "Message": message,
			"Timestamp":        s.config.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			"SignatureVersion": "1", "Signature": "EXAMPLE", "SigningCertUrl": "EXAMPLE", "UnsubscribeUrl": "EXAMPLE", "MessageAttributes": map[string]any{},
			"Subject": nil,
		}
		if subject != "" {
			notification["Subject"] = subject
		}
		event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
			"EventSource": "aws:sns", "EventVersion": "1.0", "EventSubscriptionArn": topicARN(place, name) + ":" + row.ID, "Sns": notification,
		}}})
		if err != nil {
			return nil, fmt.Errorf("make the event of a message: %w", err)
		}
		out[row.Endpoint] = event
	}
	return out, nil
}

// publish sends a message to the functions of a topic.
func (s *Service) publish(ctx context.Context, caller awswire.Caller, in *publishInput) (*publishOutput, error) {
	arn := text(in.TopicArn)
	if arn == "" {
		arn = text(in.TargetArn)
	}
	var id string
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		id, err = s.Publish(ctx, tx, caller, arn, text(in.Subject), text(in.Message))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &publishOutput{MessageId: &id}, nil
}

// MaxMessage is how long a message may be, in bytes.
const MaxMessage = 256 << 10

// longestRun is how long a function may run.
const longestRun = 15 * time.Minute

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// newID is the id of a subscription.
func newID() string { return strings.ToLower(rand.Text()) }
