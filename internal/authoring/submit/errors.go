package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// An Explanation is an error of a service for a user.
type Explanation struct {
	Text string // "RegisterType: AlreadyExistsException: …"
	Hint string // what to do; "" if that is not known
	Code string // of the service, such as ExpiredToken; "" if it did not answer
}

// remedies are the codes that one can do something about wherever they come up.
var remedies = []struct {
	codes []string
	hint  string
}{
	{[]string{"ExpiredToken", "ExpiredTokenException", "RequestExpired"},
		`the credentials have expired: renew them, for example with "aws sso login", and try again`},
	{[]string{"InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId", "SignatureDoesNotMatch", "IncompleteSignature", "AuthFailure"},
		"AWS does not know these credentials: look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_PROFILE, or name a profile with --profile"},
	{[]string{"RequestTimeTooSkewed"}, "the clock of this machine is wrong"},
	{[]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"},
		"the user or role must be allowed to do this; who it is, says: aws sts get-caller-identity"},
	{[]string{"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"},
		"AWS takes no more calls for the moment: try again in a minute"},
	{[]string{"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"},
		"the bucket is in another region: name one of the region in which the extension is registered"},
	{[]string{"NoSuchBucket"}, "create the bucket first, or leave --s3-bucket out"},
	{[]string{"InvalidAction", "UnknownOperationException"},
		"what answers there does not know this request: cfn env prints whether it is cfn serve, and --endpoint-url names another one"},
	{[]string{"TypeNotFoundException"}, "cfn types list shows the types of the account in this region, and cfn types versions the versions of one; another kind is named with --type, another region with --region"},
	{[]string{"TokenAlreadyExistsException"}, "try again: the next request gets a token of its own"},
}

// maxMessage bounds what is shown of the message of a service, in bytes.
const maxMessage = 16 << 10

// Explain returns the message of a service. Errors that are not answers of a service keep
// their text.
func Explain(err error) Explanation {
	var api smithy.APIError
	if !errors.As(err, &api) {
		out := Explanation{Text: plain(err)}
		if unlikeAWS(err) != "" {
			out.Hint = "start cfn serve at a free address, and set AWS_ENDPOINT_URL to it: cfn serve --address 127.0.0.1:0 prints how"
		}
		return out
	}
	out := Explanation{Code: api.ErrorCode()}
	parts := []string{out.Code}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		parts = []string{operation.Operation(), out.Code}
	}
	var response *awshttp.ResponseError
	answered := errors.As(err, &response)
	switch message := strings.TrimSpace(api.ErrorMessage()); {
	case answered && out.Code == "UnknownError" && message == out.Code: // the SDK found neither a code nor a message
		parts[len(parts)-1] = fmt.Sprintf("the response has status %d and no error message", response.HTTPStatusCode())
	case message != "":
		parts = append(parts, message)
	}
	out.Text = words.Cut(strings.Join(parts, ": "), maxMessage)
	if answered && response.ServiceRequestID() != "" {
		out.Text += fmt.Sprintf(" (request %s)", response.ServiceRequestID())
	}
	for _, r := range remedies {
		if slices.Contains(r.codes, out.Code) {
			out.Hint = r.hint
		}
	}
	return out
}

// unlikeAWS is the URL of a server that answered with something else than an answer of the service, "" if none did.
func unlikeAWS(err error) string {
	var response *awshttp.ResponseError
	var undecoded *smithy.DeserializationError
	var network net.Error
	if !errors.As(err, &response) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) ||
		!errors.As(err, &undecoded) && !strings.Contains(err.Error(), "error while deserializing xml error response") {
		return ""
	}
	if response.Response == nil || response.Response.Response == nil || response.Response.Request == nil {
		return ""
	}
	u := response.Response.Request.URL
	return u.Scheme + "://" + u.Host
}

// plain is the text of an error without the SDK's description of its attempts.
func plain(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return err.Error()
	}
	var answer *invoke.AnswerError
	if errors.As(err, &answer) {
		return operation.Operation() + ": " + answer.Error()
	}
	if origin := unlikeAWS(err); origin != "" {
		return operation.Operation() + ": what answers at " + origin + " is neither AWS nor cfn serve"
	}
	cause := operation.Err
	for {
		var next error
		switch e := cause.(type) { //nolint:errorlint // unwrap one layer after the other
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		}
		if next == nil || !strings.Contains(cause.Error(), "exceeded maximum number of attempts") && !strings.Contains(cause.Error(), "https response error") {
			break
		}
		cause = next
	}
	return operation.Operation() + ": " + cause.Error()
}

// code is that of a service's answer, or "".
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// refused reports whether a service has answered that something cannot be, as opposed to not
// having answered, or not to this caller.
func refused(err error) bool {
	c := code(err)
	return c == "CFNRegistryException" || c == "TypeNotFoundException" || c == "ValidationError"
}

// stopped reports whether a call ended because the caller wanted it to.
func stopped(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil
}
