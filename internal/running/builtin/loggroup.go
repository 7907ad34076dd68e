package builtin

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// logGroups are AWS::Logs::LogGroup.
type logGroups struct{}

func (logGroups) identifier(c *call) (string, error) {
	if c.text("LogGroupName") == "" {
		c.desired["LogGroupName"] = c.generated(c.stackName(maxGenerated), mixedCase)
	}
	return c.text("LogGroupName"), nil
}

func (g logGroups) create(c *call) (string, error) {
	name := c.text("LogGroupName")
	in := &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name, KmsKeyId: c.optional("KmsKeyId"), LogGroupClass: logstypes.LogGroupClass(c.text("LogGroupClass")), Tags: c.tags()}
	if len(in.Tags) == 0 {
		in.Tags = nil
	}
	if _, err := do[cloudwatchlogs.CreateLogGroupOutput](c, "logs", "CreateLogGroup", in); err != nil {
		return name, err
	}
	return name, g.retention(c, name)
}

func (logGroups) retention(c *call, name string) error {
	days, ok := number(c.desired["RetentionInDays"])
	if !ok {
		_, err := do[cloudwatchlogs.DeleteRetentionPolicyOutput](c, "logs", "DeleteRetentionPolicy", &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: &name})
		return err
	}
	_, err := do[cloudwatchlogs.PutRetentionPolicyOutput](c, "logs", "PutRetentionPolicy", &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: &name, RetentionInDays: new(int32(days))})
	return err
}

// find returns the group of a name. That a group is missing is what the service says of one.
func (logGroups) find(c *call, name string) (*logstypes.LogGroup, error) {
	out, err := do[cloudwatchlogs.DescribeLogGroupsOutput](c, "logs", "DescribeLogGroups", &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
	if err != nil {
		return nil, err
	}
	for _, group := range out.LogGroups {
		if *group.LogGroupName == name {
			return &group, nil
		}
	}
	return nil, awswire.Errorf("ResourceNotFoundException", 0, "The specified log group does not exist.")
}

func (g logGroups) read(c *call) (map[string]any, error) {
	group, err := g.find(c, c.request.Identifier)
	if err != nil {
		return nil, err
	}
	model := map[string]any{"LogGroupClass": string(group.LogGroupClass)}
	set(model, "LogGroupName", group.LogGroupName)
	set(model, "Arn", group.Arn)
	set(model, "KmsKeyId", group.KmsKeyId)
	if group.RetentionInDays != nil {
		model["RetentionInDays"] = float64(*group.RetentionInDays)
	}
	tags, err := do[cloudwatchlogs.ListTagsForResourceOutput](c, "logs", "ListTagsForResource", &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: groupARN(group)})
	if err != nil {
		return nil, err
	}
	if len(tags.Tags) > 0 {
		model["Tags"] = tagList(tags.Tags)
	}
	return model, nil
}

// groupARN is the ARN of a group without ":*", as the tag operations take it.
func groupARN(group *logstypes.LogGroup) *string {
	return new(strings.TrimSuffix(*group.Arn, ":*"))
}

func (g logGroups) update(c *call) error {
	group, err := g.find(c, c.request.Identifier)
	if err != nil {
		return err
	}
	if err := g.retention(c, c.request.Identifier); err != nil {
		return err
	}
	old, err := do[cloudwatchlogs.ListTagsForResourceOutput](c, "logs", "ListTagsForResource", &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: groupARN(group)})
	if err != nil {
		return err
	}
	tags := c.tags()
	gone := slices.Sorted(maps.Keys(old.Tags))
	gone = slices.DeleteFunc(gone, func(key string) bool { _, stays := tags[key]; return stays })
	if len(gone) > 0 {
		if _, err := do[cloudwatchlogs.UntagResourceOutput](c, "logs", "UntagResource", &cloudwatchlogs.UntagResourceInput{ResourceArn: groupARN(group), TagKeys: gone}); err != nil {
			return err
		}
	}
	if len(tags) == 0 {
		return nil
	}
	_, err = do[cloudwatchlogs.TagResourceOutput](c, "logs", "TagResource", &cloudwatchlogs.TagResourceInput{ResourceArn: groupARN(group), Tags: tags})
	return err
}

func (logGroups) remove(c *call) error {
	_, err := do[cloudwatchlogs.DeleteLogGroupOutput](c, "logs", "DeleteLogGroup", &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &c.request.Identifier})
	return err
}

// logStreams are AWS::Logs::LogStream, identified by the names of group and stream.
type logStreams struct{}

func (logStreams) identifier(c *call) (string, error) {
	if c.text("LogStreamName") == "" {
		c.desired["LogStreamName"] = c.generated(c.stackName(maxGenerated), mixedCase)
	}
	return c.text("LogGroupName") + "|" + c.text("LogStreamName"), nil
}

func (s logStreams) create(c *call) (string, error) {
	identifier, err := s.identifier(c)
	if err != nil {
		return "", err
	}
	_, err = do[cloudwatchlogs.CreateLogStreamOutput](c, "logs", "CreateLogStream",
		&cloudwatchlogs.CreateLogStreamInput{LogGroupName: new(c.text("LogGroupName")), LogStreamName: new(c.text("LogStreamName"))})
	return identifier, err
}

func (logStreams) read(c *call) (map[string]any, error) {
	group, stream, _ := strings.Cut(c.request.Identifier, "|")
	out, err := do[cloudwatchlogs.DescribeLogStreamsOutput](c, "logs", "DescribeLogStreams",
		&cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: &group, LogStreamNamePrefix: &stream})
	if err != nil {
		return nil, err
	}
	for _, found := range out.LogStreams {
		if *found.LogStreamName == stream {
			return map[string]any{"LogGroupName": group, "LogStreamName": stream}, nil
		}
	}
	return nil, awswire.Errorf("ResourceNotFoundException", 0, "The specified log stream does not exist.")
}

// update has nothing to do: all properties are create-only.
func (s logStreams) update(c *call) error {
	_, err := s.read(c)
	return err
}

func (logStreams) remove(c *call) error {
	group, stream, _ := strings.Cut(c.request.Identifier, "|")
	_, err := do[cloudwatchlogs.DeleteLogStreamOutput](c, "logs", "DeleteLogStream", &cloudwatchlogs.DeleteLogStreamInput{LogGroupName: &group, LogStreamName: &stream})
	return err
}
