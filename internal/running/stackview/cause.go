package stackview

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// A RootCause is the failure that an operation ended by.
type RootCause struct {
	LogicalID    string    `json:"logicalId"`    // of the stack itself if none of its resources failed
	ResourceType string    `json:"resourceType"` //
	Stack        string    `json:"stackName"`    // another one for a resource of a nested stack
	Status       string    `json:"status"`
	Message      string    `json:"message"` // the message of the handler, or of the service
	ErrorCode    string    `json:"handlerErrorCode"`
	Place        string    `json:"place"`       // FILE:LINE:COLUMN, "" if it is not known; of a resource of a nested stack where that stack is
	NestedPlace  string    `json:"nestedPlace"` // LINE:COLUMN in the template of the nested stack, "" if it is not known
	Log          []string  `json:"log"`         // the last lines that the handler has logged
	AlsoFailed   []string  `json:"alsoFailed"`  // further resources, by their logical IDs
	Problems     []Fault   `json:"problems"`    // that the validation before the deployment found
	Function     string    `json:"-"`           // the name of the function that provides a custom resource
	Nested       string    `json:"-"`           // the ARN of a nested stack that the failure is one of
	Operation    string    `json:"-"`           // its ID
	Started      time.Time `json:"-"`           // of the step that failed
	Ended        time.Time `json:"-"`
}

// FindRootCause returns the first failure in the events of an operation, the oldest event
// first, that is not the consequence of another one; nil if nothing failed.
func FindRootCause(events []types.StackEvent) *RootCause {
	var cause *RootCause
	var own *RootCause // what the stack itself says
	started, refused := map[string]time.Time{}, refusals{}
	for i := range events {
		e := &events[i]
		refused.add(e)
		id, status, reason := aws.ToString(e.LogicalResourceId), string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason)
		if strings.HasSuffix(status, "_IN_PROGRESS") && !ofStack(e) {
			if started[id+" "+status].IsZero() {
				started[id+" "+status] = aws.ToTime(e.Timestamp)
			}
		}
		failed := strings.HasSuffix(status, "_FAILED")
		switch {
		case ofStack(e) && own == nil && reason != "" && (failed || strings.Contains(status, "ROLLBACK")):
			own = newRootCause(e, refused.reason(e))
		case ofStack(e) || !failed || cancelled(reason):
		case cause == nil:
			cause = newRootCause(e, refused.reason(e))
			cause.Started = started[id+" "+actionOf(status)+"_IN_PROGRESS"]
		case cause.LogicalID != id && !slices.Contains(cause.AlsoFailed, id):
			cause.AlsoFailed = append(cause.AlsoFailed, id)
		}
	}
	if cause == nil {
		return own
	}
	return cause
}

func newRootCause(e *types.StackEvent, reason string) *RootCause {
	out := &RootCause{
		LogicalID: aws.ToString(e.LogicalResourceId), ResourceType: aws.ToString(e.ResourceType), Stack: aws.ToString(e.StackName),
		Status: string(e.ResourceStatus), Ended: aws.ToTime(e.Timestamp),
		Log: []string{}, AlsoFailed: []string{}, Problems: []Fault{}, Operation: aws.ToString(e.OperationId),
	}
	out.Message, out.ErrorCode = stack.HandlerMessage(reason)
	if customresource.IsType(out.ResourceType) {
		out.Function = providerOf(aws.ToString(e.ResourceProperties))
	}
	if out.ResourceType == "AWS::CloudFormation::Stack" && !ofStack(e) {
		out.Nested = aws.ToString(e.PhysicalResourceId)
	}
	return out
}

// providerOf is the name of the function that provides a custom resource with properties, ""
// if they name none.
func providerOf(properties string) string {
	var given map[string]any
	if json.Unmarshal([]byte(properties), &given) != nil {
		return ""
	}
	token, _ := given[customresource.PropertyToken].(string)
	name, _, ok := lambda.ParseReference(token)
	if !ok || !strings.HasPrefix(token, "arn:") {
		return ""
	}
	return name
}

// cancelled reports whether a resource was stopped because of another, according to a reason.
func cancelled(reason string) bool {
	return reason == "Resource creation cancelled" || reason == "Resource update cancelled" || reason == "Resource deletion cancelled" || reason == "Resource creation cancelled."
}

// A Fault is what the validation before a deployment found in a resource.
type Fault struct {
	Place     string `json:"place"`     // FILE:LINE:COLUMN, "" if it is not known
	LogicalID string `json:"logicalId"` //
	Path      string `json:"path"`      // a JSON pointer into the properties
	Message   string `json:"message"`
}

// String reads: stack.yaml:4:7: error: Home: Pinned: must be a boolean but is a string: "maybe".
func (f Fault) String() string {
	text := f.LogicalID + ": "
	if path := strings.ReplaceAll(strings.TrimPrefix(f.Path, "/"), "/", "."); path != "" {
		text += path + ": "
	}
	if f.Place == "" {
		return words.Flat("error: " + text + f.Message)
	}
	return words.Flat(f.Place + ": error: " + text + f.Message)
}
