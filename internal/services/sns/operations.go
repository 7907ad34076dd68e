package sns

import (
	"context"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The shapes of the operations, with the members that have a meaning here.
type (
	tag              struct{ Key, Value *string }
	createTopicInput struct {
		Name       *string
		Attributes map[string]string
		Tags       []tag
	}
	createTopicOutput struct{ TopicArn *string }
	topicInput        struct{ TopicArn *string }
	empty             struct{}
	listTopicsInput   struct{ NextToken *string }
	topic             struct{ TopicArn *string }
	listTopicsOutput  struct {
		Topics    []topic
		NextToken *string
	}
	attributesOutput struct{ Attributes map[string]string }
	subscribeInput   struct {
		TopicArn, Protocol, Endpoint *string
		Attributes                   map[string]string
		ReturnSubscriptionArn        *bool
	}
	subscribeOutput   struct{ SubscriptionArn *string }
	unsubscribeInput  struct{ SubscriptionArn *string }
	listOfTopicInput  struct{ TopicArn, NextToken *string }
	subscription      struct{ SubscriptionArn, Owner, Protocol, Endpoint, TopicArn *string }
	listOfTopicOutput struct {
		Subscriptions []subscription
		NextToken     *string
	}
	publishInput  struct{ TopicArn, TargetArn, Message, Subject *string }
	publishOutput struct{ MessageId *string }
)

// Table is the service as requests reach it.
func (s *Service) Table() *awswire.Table {
	return &awswire.Table{
		Service: "sns", Protocol: awswire.Query, Namespace: "http://sns.amazonaws.com/doc/2010-03-31/", Version: "2010-03-31", Logger: s.config.Logger,
		Operations: []awswire.Operation{
			awswire.TextOp("CreateTopic", s.createTopic),
			awswire.TextOp("DeleteTopic", s.deleteTopic),
			awswire.TextOp("GetTopicAttributes", s.getTopicAttributes),
			awswire.TextOp("ListSubscriptionsByTopic", s.listSubscriptionsByTopic),
			awswire.TextOp("ListTopics", s.listTopics),
			awswire.TextOp("Publish", s.publish),
			awswire.TextOp("Subscribe", s.subscribe),
			awswire.TextOp("Unsubscribe", s.unsubscribe),
		},
		NoResult: []string{"DeleteTopic", "Unsubscribe"},
		Known: strings.Fields(`AddPermission CheckIfPhoneNumberIsOptedOut ConfirmSubscription CreatePlatformApplication CreatePlatformEndpoint
			DeleteEndpoint DeletePlatformApplication GetEndpointAttributes GetPlatformApplicationAttributes GetSMSAttributes GetSubscriptionAttributes
			ListEndpointsByPlatformApplication ListPhoneNumbersOptedOut ListPlatformApplications ListSubscriptions ListTagsForResource
			OptInPhoneNumber PublishBatch PutDataProtectionPolicy RemovePermission SetSubscriptionAttributes SetTopicAttributes TagResource UntagResource`),
	}
}

var topicName = lazyregexp.New(`^[A-Za-z0-9_-]{1,256}$`)

func invalidParameter(format string, args ...any) error {
	return awswire.Errorf("InvalidParameter", 400, "Invalid parameter: "+format, args...)
}

func (s *Service) createTopic(ctx context.Context, caller awswire.Caller, in *createTopicInput) (*createTopicOutput, error) {
	name := text(in.Name)
	switch {
	case strings.HasSuffix(name, ".fifo") || in.Attributes["FifoTopic"] == "true":
		return nil, invalidParameter("FIFO topics are not supported by this server")
	case !topicName.MatchString(name):
		return nil, invalidParameter("Topic Name")
	}
	row := &topicRow{Account: caller.Account, Region: caller.Region, Name: name, CreatedAt: s.config.Store.Now()}
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, name) DO NOTHING", row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create a topic: %w", err)
	}
	arn := topicARN(caller.Place, name)
	return &createTopicOutput{TopicArn: &arn}, nil
}

// deleteTopic also succeeds if the topic does not exist, as SNS does.
func (s *Service) deleteTopic(ctx context.Context, caller awswire.Caller, in *topicInput) (*empty, error) {
	name, _ := strings.CutPrefix(text(in.TopicArn), topicARN(caller.Place, ""))
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := s.subscriptions(ctx, tx, caller.Place, name)
		if err != nil {
			return err
		}
		for i := range found {
			if err := unsubscribe(ctx, tx, &found[i]); err != nil {
				return err
			}
		}
		return store.Delete(ctx, tx, &topicRow{Account: caller.Account, Region: caller.Region, Name: name})
	})
	if err != nil {
		return nil, fmt.Errorf("delete a topic: %w", err)
	}
	return &empty{}, nil
}

func (s *Service) getTopicAttributes(ctx context.Context, caller awswire.Caller, in *topicInput) (*attributesOutput, error) {
	name, err := s.topic(ctx, s.config.Store.Read(), caller.Place, text(in.TopicArn))
	if err != nil {
		return nil, err
	}
	found, err := s.subscriptions(ctx, s.config.Store.Read(), caller.Place, name)
	if err != nil {
		return nil, err
	}
	return &attributesOutput{Attributes: map[string]string{
		"TopicArn": text(in.TopicArn), "Owner": caller.Account, "DisplayName": "", "SubscriptionsConfirmed": fmt.Sprint(len(found)),
		"SubscriptionsPending": "0", "SubscriptionsDeleted": "0",
	}}, nil
}

// page is how many topics a page of a list has.
const page = 100

func (s *Service) listTopics(ctx context.Context, caller awswire.Caller, in *listTopicsInput) (*listTopicsOutput, error) {
	var rows []topicRow
	err := store.List(ctx, s.config.Store.Read(), &rows, "WHERE account = ? AND region = ? AND name > ? ORDER BY name LIMIT ?",
		caller.Account, caller.Region, text(in.NextToken), page+1)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	out := &listTopicsOutput{Topics: []topic{}}
	for i, row := range rows {
		if i == page {
			out.NextToken = &rows[page-1].Name
			break
		}
		arn := topicARN(caller.Place, row.Name)
		out.Topics = append(out.Topics, topic{TopicArn: &arn})
	}
	return out, nil
}

// subscribe takes the functions that Lambda would take. A function that subscribes already
// keeps its subscription.
func (s *Service) subscribe(ctx context.Context, caller awswire.Caller, in *subscribeInput) (*subscribeOutput, error) {
	name, err := s.topic(ctx, s.config.Store.Read(), caller.Place, text(in.TopicArn))
	if err != nil {
		return nil, err
	}
	_, _, isFunction := lambda.ParseReference(text(in.Endpoint))
	switch {
	case text(in.Protocol) != "lambda":
		return nil, invalidParameter("Protocol: this server supports lambda")
	case !isFunction || !strings.HasPrefix(text(in.Endpoint), "arn:"):
		return nil, invalidParameter("Lambda endpoint ARN")
	case in.Attributes["FilterPolicy"] != "":
		return nil, invalidParameter("FilterPolicy is not supported by this server")
	}
	row := &subscriptionRow{Account: caller.Account, Region: caller.Region, Topic: name, ID: newID(), Endpoint: *in.Endpoint}
	err = s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, topic, endpoint) DO NOTHING", row); err != nil {
			return err
		}
		return store.Get(ctx, tx, row, "WHERE account = ? AND region = ? AND topic = ? AND endpoint = ?", row.Account, row.Region, name, row.Endpoint)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to a topic: %w", err)
	}
	arn := topicARN(caller.Place, name) + ":" + row.ID
	return &subscribeOutput{SubscriptionArn: &arn}, nil
}

func (s *Service) unsubscribe(ctx context.Context, caller awswire.Caller, in *unsubscribeInput) (*empty, error) {
	rest, own := strings.CutPrefix(text(in.SubscriptionArn), topicARN(caller.Place, ""))
	name, id, whole := strings.Cut(rest, ":")
	if !own || !whole {
		return nil, invalidParameter("SubscriptionArn")
	}
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return unsubscribe(ctx, tx, &subscriptionRow{Account: caller.Account, Region: caller.Region, Topic: name, ID: id})
	})
	if err != nil {
		return nil, fmt.Errorf("unsubscribe from a topic: %w", err)
	}
	return &empty{}, nil
}

// unsubscribe removes a subscription, with what was to be delivered to it.
func unsubscribe(ctx context.Context, tx *store.Tx, row *subscriptionRow) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM sns_deliveries WHERE subscription = ?", row.arn()); err != nil {
		return err
	}
	return store.Delete(ctx, tx, row)
}

func (s *Service) listSubscriptionsByTopic(ctx context.Context, caller awswire.Caller, in *listOfTopicInput) (*listOfTopicOutput, error) {
	name, err := s.topic(ctx, s.config.Store.Read(), caller.Place, text(in.TopicArn))
	if err != nil {
		return nil, err
	}
	found, err := s.subscriptions(ctx, s.config.Store.Read(), caller.Place, name)
	if err != nil {
		return nil, err
	}
	out := &listOfTopicOutput{Subscriptions: []subscription{}}
	protocol := "lambda"
	for _, row := range found {
		arn := topicARN(caller.Place, name) + ":" + row.ID
		out.Subscriptions = append(out.Subscriptions, subscription{
			SubscriptionArn: &arn, Owner: &row.Account, Protocol: &protocol, Endpoint: &row.Endpoint, TopicArn: in.TopicArn,
		})
	}
	return out, nil
}
