package sns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A deliveryRow is an event that a function is still to be invoked with. Those of a subscription are
// delivered in the order of their numbers.
type deliveryRow struct {
	store.Row `db:"sns_deliveries"`

	Seq          int64  `db:"seq,serial"`
	Subscription string `db:"subscription"` // its ARN, or the source of events of another service
	Endpoint     string `db:"endpoint"`     // ARN of the function
	AccessKey    string `db:"access_key"`   // of the caller who published
	Event        string `db:"event" seal:"sns_deliveries.event"`
}

// wakeKind is the kind of wake-up of subscriptions; the id is the ARN of the subscription.
const wakeKind = "sns"

// Workers are those that deliver messages.
func (s *Service) Workers() map[string]store.Worker {
	return map[string]store.Worker{wakeKind: {Run: s.deliver, Fail: s.giveUp}}
}

// Publish sends a message to the functions that subscribe to a topic, if the transaction commits. Each
// gets it at least once. The error is an *awswire.Error if the topic does not exist, or the message is too
// long.
func (s *Service) Publish(ctx context.Context, tx *store.Tx, caller awswire.Caller, topic, subject, message string) (id string, err error) {
	if message == "" || len(message) > MaxMessage {
		return "", invalidParameter("Message must have 1 to %d bytes", MaxMessage)
	}
	name, err := s.topic(ctx, tx, caller.Place, topic)
	if err != nil {
		return "", err
	}
	found, err := s.subscriptions(ctx, tx, caller.Place, name)
	if err != nil || len(found) == 0 {
		return uuid.NewString(), err
	}
	id = uuid.NewString()
	events, err := s.events(caller.Place, name, subject, message, id, found)
	if err != nil {
		return "", err
	}
	rows, arns := make([]*deliveryRow, len(found)), make([]string, len(found))
	for i, row := range found {
		arns[i] = row.arn()
		rows[i] = &deliveryRow{Subscription: arns[i], Endpoint: row.Endpoint, AccessKey: caller.AccessKeyID, Event: string(events[row.Endpoint])}
	}
	if err := store.Insert(ctx, tx, rows...); err != nil {
		return "", fmt.Errorf("publish a message: %w", err)
	}
	return id, tx.WakeAll(ctx, wakeKind, arns, time.Time{})
}

// Deliver has a function called with an event of another service, if the transaction commits: at least once, and in the order of
// the events from the same source, which is in the form of an ARN.
func (s *Service) Deliver(ctx context.Context, tx *store.Tx, source, function string, event []byte) error {
	row := &deliveryRow{Subscription: source, Endpoint: function, Event: string(event)}
	if err := store.Insert(ctx, tx, row); err != nil {
		return fmt.Errorf("deliver an event: %w", err)
	}
	return tx.WakeAll(ctx, wakeKind, []string{source}, time.Time{})
}

// deliver invokes the function of a subscription with the events that wait for it, one after the other.
// A function that fails does not get the event again: on AWS, that is a matter of its own retries.
func (s *Service) deliver(ctx context.Context, subscription string) (time.Time, error) {
	for {
		row, err := s.next(ctx, subscription)
		if err != nil || row == nil {
			return time.Time{}, err
		}
		within, cancel := context.WithTimeout(ctx, longestRun)
		_, err = s.config.Functions.Call(within, awswire.Caller{Place: placeOf(subscription), AccessKeyID: row.AccessKey}, row.Endpoint, []byte(row.Event), nil)
		cancel()
		switch {
		case ctx.Err() != nil: // the next start delivers it
			return time.Time{}, ctx.Err()
		case err != nil:
			s.config.Logger.WarnContext(ctx, "a function failed that gets the events of a topic or bucket", "source", subscription, "function", row.Endpoint)
		}
		if err := s.remove(ctx, row); err != nil {
			return time.Time{}, err
		}
	}
}

// next is the first event that waits for a subscription, nil if none does.
func (s *Service) next(ctx context.Context, subscription string) (*deliveryRow, error) {
	var rows []deliveryRow
	err := store.List(ctx, s.config.Store.Read(), &rows, "WHERE subscription = ? ORDER BY seq LIMIT 1", subscription)
	if err != nil {
		return nil, fmt.Errorf("read the events of a subscription: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

func (s *Service) remove(ctx context.Context, row *deliveryRow) error {
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return store.Delete(ctx, tx, row)
	})
	if err != nil {
		return fmt.Errorf("remove an event that was delivered: %w", err)
	}
	return nil
}

// giveUp drops the events of a subscription that can never be delivered.
func (s *Service) giveUp(ctx context.Context, subscription, reason string) error {
	s.config.Logger.ErrorContext(ctx, "the events of a topic or bucket are dropped", "source", subscription, "error", reason)
	return s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "DELETE FROM sns_deliveries WHERE subscription = ?", subscription)
		return err
	})
}

// placeOf is the place of a subscription, a topic or another source of events.
func placeOf(arn string) awswire.Place {
	parts := strings.SplitN(arn, ":", 6) // of topicARN
	return awswire.Place{Account: parts[4], Region: parts[3]}
}

// Notify is [Service.Publish] for what nobody waits for: a topic that does not exist gets nothing, and
// the log says so.
func (s *Service) Notify(ctx context.Context, tx *store.Tx, caller awswire.Caller, topic, subject, message string) error {
	_, err := s.Publish(ctx, tx, caller, topic, subject, message)
	var refused *awswire.Error
	if errors.As(err, &refused) {
		s.config.Logger.WarnContext(ctx, "a notification is not sent", "topic", topic, "error", refused.Message)
		return nil
	}
	return err
}
