package customtest

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// The rules about how responses are sent and about several of them. Those of a single response
// are in package customresource.
const (
	ruleMissing    = "RESPONSE_MISSING"
	ruleLate       = "RESPONSE_LATE"
	ruleURL        = "RESPONSE_URL"
	ruleMethod     = "RESPONSE_METHOD"
	ruleRepeated   = "RESPONSE_REPEATED"
	ruleRequest    = "REQUEST_REPEATED"
	ruleUnstable   = "PHYSICAL_ID_UNSTABLE"
	ruleDelete     = "DELETE_UNKNOWN"
	sectionSummary = "CloudFormation custom resource request and response reference"
)

var exchangeRules = []customresource.Rule{
	{ID: ruleMissing, Section: "Response object", Text: "The provider sends a response to the presigned URL for all request types.", Effect: customresource.Refused},
	{ID: ruleLate, Section: sectionSummary, Text: "The provider returns the response before the timeout period expires.", Effect: customresource.Refused},
	{ID: ruleURL, Section: "Request object: ResponseURL", Text: "The response is sent to the ResponseURL of the request, without a change.", Effect: customresource.Refused},
	{ID: ruleMethod, Section: "Request object: ResponseURL", Text: "The response is sent with PUT, the method that the URL is presigned for.", Effect: customresource.Refused},
	{ID: ruleRepeated, Section: "Response object", Text: "A request has one response: CloudFormation ignores a second one that differs.", Effect: customresource.Ignored},
	{ID: ruleRequest, Section: "Request object: RequestId", Text: "StackId and RequestId identify a request: if it is delivered again, it has the same result and no other resource.", Effect: customresource.Accepted},
	{ID: ruleUnstable, Section: "Response object: PhysicalResourceId", Text: "PhysicalResourceId must be identical for all responses for the same resource: another value makes CloudFormation delete the resource.", Effect: customresource.Accepted},
	{ID: ruleDelete, Section: "Request object: Delete", Text: "A Delete for a resource that does not exist succeeds: CloudFormation also sends it, with an ID of its own, for a Create without a response.", Effect: customresource.Accepted},
}

// Rules are all rules that a test can name: how responses are sent, then what is in them.
func Rules() []customresource.Rule { return slices.Concat(exchangeRules, customresource.Rules()) }

func findRule(id string) *customresource.Rule {
	for i := range exchangeRules {
		if exchangeRules[i].ID == id {
			return &exchangeRules[i]
		}
	}
	return customresource.FindRule(id)
}

// Clause is a rule as reports show it: "Response object: Status: Status must be … [STATUS_VALUE]".
func Clause(rule *customresource.Rule) string {
	return fmt.Sprintf("%s: %s [%s]", rule.Section, rule.Text, rule.ID)
}

func broken(id, format string, args ...any) customresource.Violation {
	return customresource.Violation{Rule: findRule(id), Message: fmt.Sprintf(format, args...)}
}
