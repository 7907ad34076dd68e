package stack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/sns"
)

// topics have the messages that they got in a table: those of transactions that are rolled back are not sent.
type topics struct{ *rig }

// notified has an engine send its notifications to topics.
func (g *rig) notified() topics {
	g.t.Helper()
	if err := g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "CREATE TABLE notified (topic TEXT, message TEXT)")
		return err
	}); err != nil {
		g.t.Fatal(err)
	}
	g.config.Notify = func(ctx context.Context, tx *store.Tx, caller awswire.Caller, topicARN, subject, message string) error {
		if caller.Place != owner.Place {
			return fmt.Errorf("published by %v", caller.Place)
		}
		_, err := store.Exec(ctx, tx, "INSERT INTO notified VALUES (?, ?)", topicARN, subject+"\n"+message)
		return err
	}
	return topics{g}
}

// take returns the messages of a topic, and forgets them.
func (all topics) take(topic string) (messages []string) {
	all.t.Helper()
	if err := all.store.Write(all.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		messages = nil
		if err := store.Query(ctx, tx, &messages, "SELECT message FROM notified WHERE topic = ?", topic); err != nil {
			return err
		}
		_, err := store.Exec(ctx, tx, "DELETE FROM notified WHERE topic = ?", topic)
		return err
	}); err != nil {
		all.t.Fatal(err)
	}
	return messages
}

// expected are the messages about the events of a stack that are not among the first ones.
func (g *rig) expected(stack string, from int) []string {
	g.t.Helper()
	out, err := g.DescribeStackEvents(g.t.Context(), owner, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		g.t.Fatal(err)
	}
	events := out.StackEvents
	slices.Reverse(events)
	lines := make([]string, len(events[from:]))
	for i, e := range events[from:] {
		lines[i] = fmt.Sprintf("AWS CloudFormation Notification\nStackId='%s'\nTimestamp='%s'\nEventId='%s'\nLogicalResourceId='%s'\nNamespace='123456789012'\nPhysicalResourceId='%s'\n"+
			"ResourceProperties='%s'\nResourceStatus='%s'\nResourceStatusReason='%s'\nResourceType='%s'\nStackName='%s'\nClientRequestToken='%s'\n",
			*e.StackId, e.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"), *e.EventId, *e.LogicalResourceId, *e.PhysicalResourceId,
			cmp.Or(aws.ToString(e.ResourceProperties), "null"), e.ResourceStatus, aws.ToString(e.ResourceStatusReason), *e.ResourceType, *e.StackName,
			cmp.Or(aws.ToString(e.ClientRequestToken), "null"))
	}
	return lines
}

// TestNotifications compares what topics get with the events of their stack.
func TestNotifications(t *testing.T) {
	t.Parallel()
	const one, two = "arn:aws:sns:eu-west-1:123456789012:one", "arn:aws:sns:eu-west-1:123456789012:two"
	eachStore(t, func(t *testing.T, g *rig) {
		all := g.notified()
		check := func(what, stack string, from int, topics ...string) {
			t.Helper()
			for _, topic := range topics {
				got, want := all.take(topic), g.expected(stack, from)
				slices.Sort(got) // transactions may end in another order than their events have
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %s got\n%s\nwant\n%s", what, topic, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
		body := aws.String(things("A: {Properties: {Name: a}}"))
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, NotificationARNs: []string{one, two}, ClientRequestToken: aws.String("token")})
		check("create", "s", 0, one, two)

		// The same topics are no update; others are one, and get its events.
		_, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: body, NotificationARNs: []string{one, two}})
		refusedWith(t, err, "ValidationError", "No updates are to be performed.")
		from := len(g.story("s"))
		g.update(&cloudformation.UpdateStackInput{TemplateBody: body, NotificationARNs: []string{two}})
		check("fewer topics", "s", from, two)

		// An update without the member keeps them, also if it fails.
		from = len(g.story("s"))
		g.world.script("CREATE B", behavior{code: "InvalidRequest", message: "it's\nbroken"})
		g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Name: a}}", "B: {}"))})
		check("a failed update", "s", from, two)
		from = len(g.story("s"))
		g.update(&cloudformation.UpdateStackInput{TemplateBody: body, NotificationARNs: []string{}})
		if got := len(all.take(one)) + len(all.take(two)); got != 0 {
			t.Errorf("%d messages without topics", got)
		}
		if s = g.settled(*s.StackId); len(s.NotificationARNs) != 0 || len(g.story("s")) == from {
			t.Errorf("the topics are %v", s.NotificationARNs)
		}
		g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
		if got := len(all.take(one)) + len(all.take(two)); got != 0 {
			t.Errorf("%d messages about a deletion without topics", got)
		}
	})
}

// TestNestedNotifications: a nested stack has the topics of its own property.
func TestNestedNotifications(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:eu-west-1:123456789012:one"
	g := onSQLite(t)
	all := g.notified()
	g.world.offers("https://t/child", things("C: {}"))
	parent := func(more string) *string {
		return aws.String(things("N: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: 'https://t/child'" + more + "}}"))
	}
	child := func() (messages int) {
		for _, message := range all.take(topic) {
			if strings.Contains(message, "LogicalResourceId='C'\n") {
				messages++
			}
		}
		return messages
	}
	g.create(&cloudformation.CreateStackInput{TemplateBody: parent(""), NotificationARNs: []string{topic}})
	if n := child(); n != 0 {
		t.Errorf("a nested stack inherits the topics: %d messages", n)
	}
	g.world.offers("https://t/child", things("C: {Properties: {Note: 2}}"))
	g.update(&cloudformation.UpdateStackInput{TemplateBody: parent(", NotificationARNs: !Ref AWS::NotificationARNs")})
	if n := child(); n == 0 {
		t.Error("a nested stack with the property has no messages")
	}
	g.world.offers("https://t/child", things("C: {Properties: {Note: 3}}"))
	g.update(&cloudformation.UpdateStackInput{TemplateBody: parent("")})
	if n := child(); n != 0 {
		t.Errorf("a nested stack without the property has %d messages", n)
	}
}

// TestLongNotification leaves out properties that no message has room for.
func TestLongNotification(t *testing.T) {
	s, event := &notified{Name: "s"}, &eventRow{LogicalID: "A", Status: "CREATE_IN_PROGRESS", Properties: `{"Note":"` + strings.Repeat("x", sns.MaxMessage) + `"}`}
	if text := notification(s, event); len(text) > sns.MaxMessage || !strings.Contains(text, "ResourceProperties='null'\n") {
		t.Errorf("the message has %d bytes", len(text))
	}
}

// TestRollbackTriggers: what nothing would monitor is refused by name, after what the service refuses.
func TestRollbackTriggers(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	body := aws.String(things("A: {}"))
	for typ, want := range map[string]string{
		"AWS::CloudWatch::Alarm":          "RollbackConfiguration.RollbackTriggers is not supported by this server, which monitors no alarms. Leave the member out.",
		"AWS::CloudWatch::CompositeAlarm": "RollbackConfiguration.RollbackTriggers is not supported by this server, which monitors no alarms. Leave the member out.",
		"AWS::SNS::Topic":                 "Rollback Trigger Type not supported",
	} {
		config := &types.RollbackConfiguration{RollbackTriggers: []types.RollbackTrigger{{Type: aws.String(typ), Arn: aws.String("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:a")}}}
		_, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: body, RollbackConfiguration: config})
		refusedWith(t, err, "ValidationError", want)
		_, err = g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{StackName: aws.String("s"), ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: body, RollbackConfiguration: config})
		refusedWith(t, err, "ValidationError", want)
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: body, RollbackConfiguration: &types.RollbackConfiguration{MonitoringTimeInMinutes: aws.Int32(5), RollbackTriggers: []types.RollbackTrigger{}}})
	if got := aws.ToInt32(s.RollbackConfiguration.MonitoringTimeInMinutes); got != 5 {
		t.Errorf("the monitoring time is %d", got)
	}
}
