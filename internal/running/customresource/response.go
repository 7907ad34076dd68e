package customresource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Response is what a provider has answered.
type Response struct {
	Status             string
	Reason             string
	PhysicalResourceID string
	NoEcho             bool
	Data               map[string]any // numbers are json.Number; nil for none and in Delete
}

// Succeeded reports whether the provider has done what was requested.
func (r *Response) Succeeded() bool { return r.Status == "SUCCESS" }

// FailureReason is the reason of the service for an operation whose response is FAILED.
func (r *Response) FailureReason(requestID string) string {
	return fmt.Sprintf("Received response status [FAILED] from custom resource. Message returned: %s (RequestId: %s)", r.Reason, requestID)
}

// NoResponseReason is the reason of the service for an operation without a response in time.
func NoResponseReason(requestID string) string {
	return "CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [" + requestID + "]. " +
		"If you are using the Python cfn-response module, you may need to update your Lambda function code so that CloudFormation can attach the updated version."
}

// Check reads the body of a response to a request, and returns every rule that it breaks. The
// Response is nil if the service refuses or ignores it. A body may be cut one byte after
// MaxResponse: it is not read.
func Check(request *Request, body []byte) (*Response, Violations) {
	c := &checked{request: request, body: body}
	if len(body) <= MaxResponse {
		c.fields = objectIn(body)
	}
	var found Violations
	for i := range table {
		row := &table[i]
		f := row.find(c)
		if f.message == "" {
			continue
		}
		v := Violation{Rule: &row.Rule, Message: f.message}
		if row.Effect == Refused {
			v.Reason = f.reason
		}
		found = append(found, v)
		if c.fields == nil {
			return nil, found
		}
	}
	if found.Refusal() != nil || found.Ignored() != nil {
		return nil, found
	}
	return c.response(), found
}

// objectIn reads a JSON object and nothing else, nil for anything else.
func objectIn(body []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	decoder.UseNumber()
	var fields map[string]any
	if decoder.Decode(&fields) != nil {
		return nil
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return fields
}

// response is what counts of a response that was accepted.
func (c *checked) response() *Response {
	r := &Response{}
	r.Status, _ = c.text("Status")
	r.PhysicalResourceID, _ = c.text("PhysicalResourceId")
	switch reason := c.fields["Reason"].(type) {
	case nil:
	case string:
		r.Reason = reason
	default:
		r.Reason = quoted(reason)
	}
	if c.request.RequestType == Delete {
		return r
	}
	switch echo := c.fields["NoEcho"].(type) {
	case bool:
		r.NoEcho = echo
	case string:
		r.NoEcho = strings.EqualFold(echo, "true")
	}
	r.Data, _ = c.fields["Data"].(map[string]any)
	return r
}
