package customresource

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An Effect is what the service does with a response that breaks a rule.
type Effect string

// The effects.
const (
	// Refused responses end the operation as FAILED with the reason of the violation.
	Refused Effect = "refused"
	// Ignored responses answer another request: the response is still waited for.
	Ignored Effect = "ignored"
	// Accepted responses count, although the reference does not allow them.
	Accepted Effect = "accepted"
)

// A Rule is a requirement on responses. The table of Rules has all of them.
type Rule struct {
	ID      string // stable, upper snake case: "PHYSICAL_ID_EMPTY"
	Section string // heading of the reference, with the field: "Response object: Status"
	Text    string // the requirement, in one sentence
	Effect  Effect
}

// A Violation is a rule that a response breaks.
type Violation struct {
	Rule    *Rule
	Message string // what the response has instead
	Reason  string // of the failed operation, in the words of the service; "" if it is not refused
}

// Violations are all rules that a response breaks, in the order of Rules.
type Violations []Violation

// Refusal is the first violation for which the service refuses the response, nil for none.
func (v Violations) Refusal() *Violation { return v.first(Refused) }

// Ignored is the first violation for which the service ignores the response, nil for none.
func (v Violations) Ignored() *Violation { return v.first(Ignored) }

func (v Violations) first(effect Effect) *Violation {
	for i := range v {
		if v[i].Rule.Effect == effect {
			return &v[i]
		}
	}
	return nil
}

// checked is a response that is being checked.
type checked struct {
	request *Request
	body    []byte
	fields  map[string]any // nil if the body is not an object
}

// kind is what a body is that is not an object. It may have secrets and is not quoted.
func (c *checked) kind() string {
	var value any
	switch err := json.Unmarshal(c.body, &value); {
	case len(c.body) == 0:
		return "empty"
	case err != nil:
		return "not valid JSON: " + err.Error()
	}
	return kindOf(value) + ", expected an object"
}

// text is a field that is a string.
func (c *checked) text(key string) (string, bool) {
	s, ok := c.fields[key].(string)
	return s, ok
}

// has reports whether a field is present; null is like a field that is missing.
func (c *checked) has(key string) bool { return c.fields[key] != nil }

// failed reports whether the response is that of a failure.
func (c *checked) failed() bool { return c.fields["Status"] == "FAILED" }

// A finding is what a response has instead of what a rule requires, and the reason of the
// service if the rule has that response refused. The zero value is none.
type finding struct{ message, reason string }

// A check is a row of the table: a rule, and how it is checked.
type check struct {
	Rule
	find func(*checked) finding
}

const (
	sectionAll  = "CloudFormation custom resource request and response reference"
	sectionBody = "Response object"
)

func sectionOf(field string) string { return sectionBody + ": " + field }

// table has all rules. A body that is too long or not an object is not checked further.
var table = []check{
	{Rule{"RESPONSE_SIZE", sectionAll, "The total size of the response body can't exceed 4096 bytes.", Refused}, func(c *checked) finding {
		return when(len(c.body) > MaxResponse, fmt.Sprintf("the body has %d bytes", len(c.body)), "Response object is too long.")
	}},
	{Rule{"RESPONSE_OBJECT", sectionBody, "The response must be a JSON object.", Refused}, func(c *checked) finding {
		return when(c.fields == nil, "the body is "+c.kind(), "Invalid Response object: the response is not a JSON object")
	}},
	missing("STATUS_MISSING", "Status", Refused),
	{Rule{"STATUS_VALUE", sectionOf("Status"), "Status must be either SUCCESS or FAILED.", Refused}, func(c *checked) finding {
		status, _ := c.text("Status")
		shown := quoted(c.fields["Status"])
		return when(c.has("Status") && status != "SUCCESS" && status != "FAILED", "Status is "+shown,
			fmt.Sprintf("Invalid Response object: '%s' is not a valid ResponseStatus", strings.Trim(shown, `"`)))
	}},
	missing("REQUEST_ID_MISSING", "RequestId", Refused),
	same("REQUEST_ID_DIFFERS", "RequestId", func(r *Request) string { return r.RequestID }),
	missing("STACK_ID_MISSING", "StackId", Refused),
	same("STACK_ID_DIFFERS", "StackId", func(r *Request) string { return r.StackID }),
	missing("LOGICAL_ID_MISSING", "LogicalResourceId", Refused),
	same("LOGICAL_ID_DIFFERS", "LogicalResourceId", func(r *Request) string { return r.LogicalResourceID }),
	missing("PHYSICAL_ID_MISSING", "PhysicalResourceId", Refused),
	{Rule{"PHYSICAL_ID_TYPE", sectionOf("PhysicalResourceId"), "PhysicalResourceId must be a string.", Refused}, func(c *checked) finding {
		_, ok := c.text("PhysicalResourceId")
		return when(c.has("PhysicalResourceId") && !ok, "PhysicalResourceId is "+quoted(c.fields["PhysicalResourceId"]), invalidPhysicalID)
	}},
	{Rule{"PHYSICAL_ID_EMPTY", sectionOf("PhysicalResourceId"), "PhysicalResourceId must be a non-empty string.", Refused}, func(c *checked) finding {
		id, ok := c.text("PhysicalResourceId")
		return when(ok && id == "", "PhysicalResourceId is empty", invalidPhysicalID)
	}},
	{Rule{"PHYSICAL_ID_SIZE", sectionOf("PhysicalResourceId"), "PhysicalResourceId can be up to 1 KB in size.", Refused}, func(c *checked) finding {
		id, _ := c.text("PhysicalResourceId")
		return when(len(id) > MaxPhysicalID, fmt.Sprintf("PhysicalResourceId has %d bytes", len(id)), invalidPhysicalID)
	}},
	{Rule{"PHYSICAL_ID_CHANGED", sectionOf("PhysicalResourceId"), "PhysicalResourceId must be identical for all responses for the same resource: only an Update that succeeds may change it.", Accepted}, func(c *checked) finding {
		id, _ := c.text("PhysicalResourceId")
		may := c.request.RequestType == Create || c.request.RequestType == Update && !c.failed()
		return when(!may && id != "" && len(id) <= MaxPhysicalID && id != c.request.PhysicalResourceID,
			fmt.Sprintf("PhysicalResourceId is %s, and that of the request is %s", quoted(id), quoted(c.request.PhysicalResourceID)), "")
	}},
	{Rule{"REASON_MISSING", sectionOf("Reason"), "Reason is required if Status is FAILED.", Refused}, func(c *checked) finding {
		return when(c.failed() && !c.has("Reason"), "Status is FAILED, and Reason is missing", c.lacks("Reason"))
	}},
	{Rule{"REASON_TYPE", sectionOf("Reason"), "Reason must be a string.", Accepted}, func(c *checked) finding {
		_, ok := c.text("Reason")
		return when(c.has("Reason") && !ok, "Reason is "+quoted(c.fields["Reason"]), "")
	}},
	{Rule{"NO_ECHO_TYPE", sectionOf("NoEcho"), "NoEcho must be a Boolean.", Accepted}, func(c *checked) finding {
		_, ok := c.fields["NoEcho"].(bool)
		return when(c.has("NoEcho") && !ok, "NoEcho is "+quoted(c.fields["NoEcho"]), "")
	}},
	{Rule{"NO_ECHO_DELETE", sectionOf("NoEcho"), "NoEcho is not supported for Delete responses.", Accepted}, func(c *checked) finding {
		return when(c.request.RequestType == Delete && c.fields["NoEcho"] == true, "the response to Delete has NoEcho", "")
	}},
	{Rule{"DATA_TYPE", sectionOf("Data"), "Data must be a JSON object.", Refused}, func(c *checked) finding {
		_, ok := c.fields["Data"].(map[string]any)
		return when(c.has("Data") && !ok && c.request.RequestType != Delete, "Data is "+kindOf(c.fields["Data"]), "Invalid Response object: Data is not a JSON object")
	}},
	{Rule{"DATA_DELETE", sectionOf("Data"), "Data is not supported for Delete responses.", Accepted}, func(c *checked) finding {
		data, ok := c.fields["Data"].(map[string]any)
		return when(c.request.RequestType == Delete && c.has("Data") && (!ok || len(data) > 0), "the response to Delete has Data", "")
	}},
}

const invalidPhysicalID = "Invalid PhysicalResourceId"

// Rules are all rules of responses, in the order in which they are checked.
func Rules() []Rule {
	out := make([]Rule, len(table))
	for i := range table {
		out[i] = table[i].Rule
	}
	return out
}

// FindRule returns the rule with an id, nil for none.
func FindRule(id string) *Rule {
	for i := range table {
		if table[i].ID == id {
			return &table[i].Rule
		}
	}
	return nil
}

func when(broken bool, message, reason string) finding {
	if !broken {
		return finding{}
	}
	return finding{message, reason}
}

// missing is the rule that a field is required.
func missing(id, key string, effect Effect) check {
	return check{Rule{id, sectionOf(key), key + " is required.", effect}, func(c *checked) finding {
		return when(!c.has(key), key+" is missing", c.lacks(key))
	}}
}

// lacks is the reason of the service for a field that is missing.
func (c *checked) lacks(key string) string {
	return fmt.Sprintf("Vendor response doesn't contain %s key in object %s", key, c.request.Object())
}

// same is the rule that a field is copied from the request.
func same(id, key string, of func(*Request) string) check {
	return check{Rule{id, sectionOf(key), "Copy " + key + " exactly as it appears in the request.", Ignored}, func(c *checked) finding {
		return when(c.has(key) && c.fields[key] != any(of(c.request)), fmt.Sprintf("%s is %s, and that of the request is %s", key, quoted(c.fields[key]), quoted(of(c.request))), "")
	}}
}

// quoted is a value as messages show it, cut to a length.
func quoted(value any) string {
	const most = 200
	text, err := marshal(value)
	if err != nil {
		return kindOf(value)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// kindOf is the JSON type of a value. Values of Data are not quoted: they may be secret.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a Boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
