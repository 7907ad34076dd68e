package stack

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/sns"
)

// notificationSubject is the subject of the messages about events.
const notificationSubject = "AWS CloudFormation Notification"

// A notified is a stack whose events go to topics.
type notified struct {
	Account          string               `db:"account"`
	Region           string               `db:"region"`
	Name             string               `db:"name"`
	ARN              string               `db:"arn"`
	NotificationARNs store.JSON[[]string] `db:"notification_arns"`
}

// notify sends events to the topics of their stack, if the transaction commits: those of the deployment
// that the operation makes, or of the stack's own outside of operations.
func (e *Engine) notify(ctx context.Context, tx *store.Tx, events []eventRow) error {
	if e.config.Notify == nil {
		return nil
	}
	type key struct{ stack, operation string }
	found := map[key]*notified{}
	for i := range events {
		event := &events[i]
		if event.Kind != eventProgress {
			continue
		}
		at := key{event.StackID, event.OperationID}
		s, known := found[at]
		if !known {
			var err error
			if s, err = findNotified(ctx, tx, event); err != nil {
				return err
			}
			found[at] = s
		}
		if s == nil {
			continue
		}
		caller := awswire.Caller{Place: awswire.Place{Account: s.Account, Region: s.Region}}
		for _, topic := range s.NotificationARNs.Get() {
			if err := e.config.Notify(ctx, tx, caller, topic, notificationSubject, notification(s, event)); err != nil {
				return fmt.Errorf("notify %s of an event: %w", topic, err)
			}
		}
	}
	return nil
}

// findNotified returns the stack of an event, nil if its events go nowhere.
func findNotified(ctx context.Context, tx *store.Tx, event *eventRow) (*notified, error) {
	var rows []notified
	err := store.Query(ctx, tx, &rows, "SELECT s.account, s.region, s.name, s.arn, d.notification_arns FROM stacks s\n\t\tJOIN stack_deployments d ON d.id = COALESCE((SELECT o.deployment_id FROM stack_operations o WHERE o.id = ? AND o.deployment_id <> ''), s.deployment_id)\n\t\tWHERE s.id = ? AND d.notification_arns NOT IN ('', '[]')",
		event.OperationID, event.StackID)
	if err != nil {
		return nil, fmt.Errorf("look up the topics of a stack: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// notification is the message about an event. Its values are not escaped, as those of the service. Of one
// that is too long for a topic, the properties are left out. The principal of the request, which the service has in some
// of its messages, is not known here.
func notification(s *notified, event *eventRow) string {
	text := func(properties string) string {
		var b strings.Builder
		for _, line := range [...][2]string{
			{"StackId", s.ARN}, {"Timestamp", event.At.UTC().Format("2006-01-02T15:04:05.000Z")}, {"EventId", event.ID},
			{"LogicalResourceId", event.LogicalID}, {"Namespace", s.Account}, {"PhysicalResourceId", schema.Ref(event.Type, event.PhysicalID)},
			{"ResourceProperties", cmp.Or(properties, "null")}, {"ResourceStatus", event.Status}, {"ResourceStatusReason", event.Reason},
			{"ResourceType", event.Type}, {"StackName", s.Name}, {"ClientRequestToken", cmp.Or(event.ClientToken, "null")},
		} {
			b.WriteString(line[0] + "='" + line[1] + "'\n")
		}
		return b.String()
	}
	if message := text(event.Properties); len(message) <= sns.MaxMessage {
		return message
	}
	return text("")
}
