package customresource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A RequestType is what a provider is to do.
type RequestType string

// The types of requests.
const (
	Create RequestType = "Create"
	Update RequestType = "Update"
	Delete RequestType = "Delete"
)

// Limits of the protocol.
const (
	// MaxResponse is the largest body of a response, in bytes.
	MaxResponse = 4096
	// MaxPhysicalID is the longest physical id, in bytes.
	MaxPhysicalID = 1024
	// DefaultTimeout is the ServiceTimeout of a resource without one.
	DefaultTimeout = time.Hour
	// DocumentedTimeout is the longest ServiceTimeout of the reference. The service accepts
	// up to MaxTimeout.
	DocumentedTimeout = time.Hour
	// MaxTimeout is the longest ServiceTimeout.
	MaxTimeout = 4 * time.Hour
)

// The properties of a custom resource that are not the provider's own.
const (
	PropertyToken   = "ServiceToken"
	PropertyTimeout = "ServiceTimeout"
)

// TypeName is the type of custom resources without a type name of their own.
const TypeName = "AWS::CloudFormation::CustomResource"

// TypePrefix starts the names of all others.
const TypePrefix = "Custom::"

// IsType reports whether resources of a type are custom resources. The name may be invalid.
func IsType(name string) bool { return name == TypeName || strings.HasPrefix(name, TypePrefix) }

var typeForm = lazyregexp.New(`^Custom::[A-Za-z0-9_@-]+$`)

// maxTypeName is the longest name of a type, with its prefix.
const maxTypeName = 60

// CheckType returns what is wrong with the name of a type of custom resources.
func CheckType(name string) error {
	switch {
	case name == TypeName:
		return nil
	case len(name) > maxTypeName:
		return fmt.Errorf("the type name %s is longer than %d characters", name, maxTypeName)
	case !typeForm.MatchString(name):
		return fmt.Errorf("the type name %s must be Custom:: and letters, digits and _@-", name)
	}
	return nil
}

// A Request is what a provider gets, with all fields of the reference. The values of
// properties are those of encoding/json, in which Encode makes all scalars strings.
type Request struct {
	RequestType        RequestType    `json:"RequestType"`
	ServiceToken       string         `json:"ServiceToken,omitempty"` // sent to functions, not in the reference
	ResponseURL        string         `json:"ResponseURL"`
	StackID            string         `json:"StackId"`
	RequestID          string         `json:"RequestId"`
	LogicalResourceID  string         `json:"LogicalResourceId"`
	PhysicalResourceID string         `json:"PhysicalResourceId,omitempty"` // not in Create
	ResourceType       string         `json:"ResourceType"`
	Properties         map[string]any `json:"ResourceProperties"`
	OldProperties      map[string]any `json:"OldResourceProperties,omitempty"` // only in Update
}

// Encode returns the request as a provider gets it.
func (r *Request) Encode() ([]byte, error) {
	out := *r
	out.Properties = stringified(r.Properties)
	switch r.RequestType {
	case Create:
		out.PhysicalResourceID, out.OldProperties = "", nil
	case Update:
		out.OldProperties = stringified(r.OldProperties)
		type update struct { // OldResourceProperties is required, and may be empty
			Request
			OldProperties map[string]any `json:"OldResourceProperties"`
		}
		return marshal(update{out, out.OldProperties})
	default:
		out.OldProperties = nil
	}
	return marshal(out)
}

// Object names the request as the service names its response: StackId|LogicalResourceId|RequestId.
func (r *Request) Object() string {
	return r.StackID + "|" + r.LogicalResourceID + "|" + r.RequestID
}

// stringified are properties with all scalars as strings: the service sends true as "true".
func stringified(properties map[string]any) map[string]any {
	if properties == nil {
		return map[string]any{}
	}
	out, _ := template.StringifyScalars(properties, "").(map[string]any)
	return out
}

// A timeoutError reports an invalid ServiceTimeout.
type timeoutError struct{}

func (timeoutError) Error() string {
	return fmt.Sprintf("ServiceTimeout must be an integer between 1 and %d seconds", int(MaxTimeout.Seconds()))
}

// Timeout returns how long the response to a request for properties is waited for. The error
// has the words of the service.
func Timeout(properties map[string]any) (time.Duration, error) {
	value, given := properties[PropertyTimeout]
	if !given {
		return DefaultTimeout, nil
	}
	text, ok := template.StringifyScalars(value, "").(string)
	if !ok {
		return 0, timeoutError{}
	}
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || seconds < 1 || time.Duration(seconds)*time.Second > MaxTimeout {
		return 0, timeoutError{}
	}
	return time.Duration(seconds) * time.Second, nil
}

// marshal encodes a value as JSON, with & and < as they are: URLs in requests and messages can be copied.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
