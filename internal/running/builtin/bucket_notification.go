package builtin

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// putNotification sets the events that a bucket sends. Destinations are not checked: a function may be made after the bucket. An
// update of a bucket whose template never had the property leaves what a client has set.
func putNotification(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil && c.request.Previous["NotificationConfiguration"] == nil {
		return nil
	}
	config := &s3types.NotificationConfiguration{}
	of, _ := value.(map[string]any)
	for _, item := range anyList(of["LambdaConfigurations"]) {
		to, event, filter := destination(item, "Function")
		config.LambdaFunctionConfigurations = append(config.LambdaFunctionConfigurations, s3types.LambdaFunctionConfiguration{LambdaFunctionArn: to, Events: event, Filter: filter})
	}
	for _, item := range anyList(of["QueueConfigurations"]) {
		to, event, filter := destination(item, "Queue")
		config.QueueConfigurations = append(config.QueueConfigurations, s3types.QueueConfiguration{QueueArn: to, Events: event, Filter: filter})
	}
	for _, item := range anyList(of["TopicConfigurations"]) {
		to, event, filter := destination(item, "Topic")
		config.TopicConfigurations = append(config.TopicConfigurations, s3types.TopicConfiguration{TopicArn: to, Events: event, Filter: filter})
	}
	if anyMapOf(of["EventBridgeConfiguration"])["EventBridgeEnabled"] == true {
		config.EventBridgeConfiguration = &s3types.EventBridgeConfiguration{}
	}
	_, err := client.PutBucketNotificationConfiguration(c.ctx, &s3.PutBucketNotificationConfigurationInput{Bucket: bucket, NotificationConfiguration: config})
	return err
}

// destination is one destination of a property: the ARN that is called name, the event, and the filter.
func destination(item any, name string) (*string, []s3types.Event, *s3types.NotificationConfigurationFilter) {
	of, _ := item.(map[string]any)
	to, _ := of[name].(string)
	event, _ := of["Event"].(string)
	rules := anyList(anyMapOf(anyMapOf(of["Filter"])["S3Key"])["Rules"])
	if len(rules) == 0 {
		return &to, []s3types.Event{s3types.Event(event)}, nil
	}
	key := &s3types.S3KeyFilter{}
	for _, rule := range rules {
		of, _ := rule.(map[string]any)
		name, _ := of["Name"].(string)
		value, _ := of["Value"].(string)
		key.FilterRules = append(key.FilterRules, s3types.FilterRule{Name: s3types.FilterRuleName(name), Value: &value})
	}
	return &to, []s3types.Event{s3types.Event(event)}, &s3types.NotificationConfigurationFilter{Key: key}
}

func anyList(value any) []any {
	list, _ := value.([]any)
	return list
}

func getNotification(c *call, client *s3.Client, bucket *string) (any, error) {
	found, err := client.GetBucketNotificationConfiguration(c.ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: bucket})
	if err != nil {
		return nil, err
	}
	model := map[string]any{}
	add := func(list, name string, to *string, events []s3types.Event, filter *s3types.NotificationConfigurationFilter) {
		all, _ := model[list].([]any)
		for _, event := range events { // a property has one event for each destination
			item := map[string]any{name: aws.ToString(to), "Event": string(event)}
			if filter != nil && filter.Key != nil {
				rules := []any{}
				for _, rule := range filter.Key.FilterRules {
					rules = append(rules, map[string]any{"Name": string(rule.Name), "Value": aws.ToString(rule.Value)})
				}
				item["Filter"] = map[string]any{"S3Key": map[string]any{"Rules": rules}}
			}
			all = append(all, item)
		}
		model[list] = all
	}
	for _, n := range found.LambdaFunctionConfigurations {
		add("LambdaConfigurations", "Function", n.LambdaFunctionArn, n.Events, n.Filter)
	}
	for _, n := range found.QueueConfigurations {
		add("QueueConfigurations", "Queue", n.QueueArn, n.Events, n.Filter)
	}
	for _, n := range found.TopicConfigurations {
		add("TopicConfigurations", "Topic", n.TopicArn, n.Events, n.Filter)
	}
	if found.EventBridgeConfiguration != nil {
		model["EventBridgeConfiguration"] = map[string]any{"EventBridgeEnabled": true}
	}
	if len(model) == 0 {
		return nil, nil
	}
	return model, nil
}
