package delegate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A lookup is a request that finds a resource by its name in the service itself. Stacks of the emulator take over
// what has the name, and delete it.
type lookup struct {
	property string // the name in a template
	service  string // as requests are signed
	target   string // operation of a JSON protocol; "" for the query protocol
	query    url.Values
	members  func(name string, caller awswire.Caller) map[string]any
}

func member(key string) func(string, awswire.Caller) map[string]any {
	return func(name string, _ awswire.Caller) map[string]any { return map[string]any{key: name} }
}

// arn makes the ARN that a resource with a name has.
func arn(key, format string) func(string, awswire.Caller) map[string]any {
	return func(name string, caller awswire.Caller) map[string]any {
		return map[string]any{key: fmt.Sprintf(format, awswire.PartitionOf(caller.Region), caller.Region, caller.Account, name)}
	}
}

// lookups are the types whose names were taken over when that was measured.
var lookups = map[string]lookup{
	"AWS::DynamoDB::Table":        {"TableName", "dynamodb", "DynamoDB_20120810.DescribeTable", nil, member("TableName")},
	"AWS::IAM::Role":              {"RoleName", "iam", "", url.Values{"Action": {"GetRole"}, "Version": {"2010-05-08"}}, member("RoleName")},
	"AWS::Kinesis::Stream":        {"Name", "kinesis", "Kinesis_20131202.DescribeStreamSummary", nil, member("StreamName")},
	"AWS::Logs::LogGroup":         {"LogGroupName", "logs", "Logs_20140328.DescribeLogGroups", nil, member("logGroupNamePrefix")},
	"AWS::SNS::Topic":             {"TopicName", "sns", "", url.Values{"Action": {"GetTopicAttributes"}, "Version": {"2010-03-31"}}, arn("TopicArn", "arn:%s:sns:%s:%s:%s")},
	"AWS::SQS::Queue":             {"QueueName", "sqs", "AmazonSQS.GetQueueUrl", nil, member("QueueName")},
	"AWS::SecretsManager::Secret": {"Name", "secretsmanager", "secretsmanager.DescribeSecret", nil, member("SecretId")},
	"AWS::StepFunctions::StateMachine": {
		"StateMachineName", "states", "AWSStepFunctions.DescribeStateMachine", nil, arn("stateMachineArn", "arn:%s:states:%s:%s:stateMachine:%s"),
	},
}

// nameOf is the name that a resource is looked up by.
func nameOf(typeName string, properties map[string]any) (name string, named bool) {
	name, named = properties[lookups[typeName].property].(string)
	return name, named && name != ""
}

// exists reports whether the emulator has a resource with a name already, which somebody else made.
func (e *emulator) exists(ctx context.Context, caller awswire.Caller, typeName, name string) (bool, error) {
	look := lookups[typeName]
	members := look.members(name, caller)
	var body []byte
	contentType := "application/x-amz-json-1.1"
	if look.target == "" {
		form := url.Values{}
		for key, values := range look.query {
			form[key] = values
		}
		for key, value := range members {
			form.Set(key, fmt.Sprint(value))
		}
		body, contentType = []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else {
		var err error
		if body, err = json.Marshal(members); err != nil {
			return false, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", contentType)
	if look.target != "" {
		request.Header.Set("X-Amz-Target", look.target)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials(caller), request, hex.EncodeToString(sum[:]), look.service, caller.Region, e.now()); err != nil {
		return false, err
	}
	response, err := e.http.Do(request)
	if err != nil {
		return false, e.explain(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return false, e.explain(ctx, err)
	case response.StatusCode >= http.StatusInternalServerError:
		return false, faultf(serviceInternalError, "The emulator at %s answered with status %d.", e.url, response.StatusCode)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode != http.StatusOK && bytes.Contains(answer, []byte("Throttl")):
		return false, faultf(invoke.Throttling, "The emulator at %s limits its requests.", e.url)
	case response.StatusCode == http.StatusBadRequest, response.StatusCode == http.StatusNotFound:
		return false, nil
	case response.StatusCode != http.StatusOK:
		return false, faultf(generalServiceException, "The emulator at %s does not say whether %s %s exists: status %d.", e.url, typeName, name, response.StatusCode)
	case typeName == "AWS::Logs::LogGroup":
		return hasLogGroup(answer, name), nil
	}
	return true, nil
}

// hasLogGroup reports whether a list of log groups, which have a prefix in common, has one.
func hasLogGroup(answer []byte, name string) bool {
	var list struct {
		LogGroups []struct {
			Name string `json:"logGroupName"`
		} `json:"logGroups"`
	}
	if json.Unmarshal(answer, &list) != nil {
		return false
	}
	for _, group := range list.LogGroups {
		if group.Name == name {
			return true
		}
	}
	return false
}
