package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// A Code is the handler error code of a FAILED event. The service decides by
// it whether to call the handler again with the same request: see Retriable.
type Code string

// The handler error codes. The comment of each says when to use it.
const (
	// CodeAccessDenied: the customer may not do this.
	CodeAccessDenied Code = "AccessDenied"
	// CodeAlreadyExists: CREATE only; the resource existed before the request.
	CodeAlreadyExists Code = "AlreadyExists"
	// CodeGeneralServiceException: the service behind the resource gave an error that fits no other code.
	CodeGeneralServiceException Code = "GeneralServiceException"
	// CodeHandlerInternalFailure: hooks; something unexpected went wrong in the hook handler.
	CodeHandlerInternalFailure Code = "HandlerInternalFailure"
	// CodeInternalFailure: something unexpected went wrong in the handler.
	CodeInternalFailure Code = "InternalFailure"
	// CodeInvalidCredentials: the credentials of the user do not work.
	CodeInvalidCredentials Code = "InvalidCredentials"
	// CodeInvalidRequest: the input of the user is wrong.
	CodeInvalidRequest Code = "InvalidRequest"
	// CodeInvalidTypeConfiguration: the configuration set for the type is wrong.
	CodeInvalidTypeConfiguration Code = "InvalidTypeConfiguration"
	// CodeNetworkFailure: no answer came back from the service behind the resource. Retriable.
	CodeNetworkFailure Code = "NetworkFailure"
	// CodeNonCompliant: hooks; the target breaks the rule that the hook enforces.
	CodeNonCompliant Code = "NonCompliant"
	// CodeNotFound: the resource does not exist, or is permanently deleted.
	CodeNotFound Code = "NotFound"
	// CodeNotStabilized: the resource did not become ready in time.
	CodeNotStabilized Code = "NotStabilized"
	// CodeNotUpdatable: UPDATE only; a create-only property would have to change.
	CodeNotUpdatable Code = "NotUpdatable"
	// CodeResourceConflict: the resource is busy with another operation. Retriable.
	CodeResourceConflict Code = "ResourceConflict"
	// CodeServiceInternalError: the service behind the resource failed, as with HTTP 5xx. Retriable.
	CodeServiceInternalError Code = "ServiceInternalError"
	// CodeServiceLimitExceeded: a limit was reached that waiting does not lift.
	CodeServiceLimitExceeded Code = "ServiceLimitExceeded"
	// CodeServiceTimeout: the service behind the resource took too long; known to Cloud Control only.
	CodeServiceTimeout Code = "ServiceTimeout"
	// CodeThrottling: the service behind the resource asked to slow down. Retriable.
	CodeThrottling Code = "Throttling"
	// CodeUnauthorizedTaggingOperation: the customer may not tag; known to Cloud Control only.
	CodeUnauthorizedTaggingOperation Code = "UnauthorizedTaggingOperation"
	// CodeUnknown: hooks; nothing is known of the cause.
	CodeUnknown Code = "Unknown"
	// CodeUnsupportedTarget: hooks; the hook cannot judge this target.
	CodeUnsupportedTarget Code = "UnsupportedTarget"
)

// Codes lists every handler error code, in the order of their names.
func Codes() []Code {
	return []Code{
		CodeAccessDenied, CodeAlreadyExists, CodeGeneralServiceException, CodeHandlerInternalFailure,
		CodeInternalFailure, CodeInvalidCredentials, CodeInvalidRequest, CodeInvalidTypeConfiguration,
		CodeNetworkFailure, CodeNonCompliant, CodeNotFound, CodeNotStabilized, CodeNotUpdatable,
		CodeResourceConflict, CodeServiceInternalError, CodeServiceLimitExceeded, CodeServiceTimeout,
		CodeThrottling, CodeUnauthorizedTaggingOperation, CodeUnknown, CodeUnsupportedTarget,
	}
}

// Known reports whether c is one of [Codes].
func (c Code) Known() bool {
	for _, known := range Codes() {
		if c == known {
			return true
		}
	}
	return false
}

// Retriable reports whether the service tries an operation again that failed
// with this code.
func (c Code) Retriable() bool {
	switch c {
	case CodeNetworkFailure, CodeResourceConflict, CodeServiceInternalError, CodeThrottling:
		return true
	}
	return false
}

// An Error is a failure with the code and the message that the user sees.
// Handlers wrap it freely: [FromError] finds it with errors.As.
type Error struct {
	Code    Code
	Message string
	Err     error // what caused it, for the log; may be nil
}

// Error gives the message, or the code when there is no message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an Error with the given code; the format may use %w.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// NotFound says that no resource of the type has this identifier.
func NotFound(typeName, identifier string) *Error {
	return Errorf(CodeNotFound, "Resource of type '%s' with identifier '%s' was not found.", typeName, identifier)
}

// AlreadyExists says that a resource of the type has this identifier already.
func AlreadyExists(typeName, identifier string) *Error {
	return Errorf(CodeAlreadyExists, "Resource of type '%s' with identifier '%s' already exists.", typeName, identifier)
}

// NotStabilized says that the resource did not become ready in time.
func NotStabilized(typeName, identifier string) *Error {
	return Errorf(CodeNotStabilized, "Resource of type '%s' with identifier '%s' did not stabilize.", typeName, identifier)
}

// NotUpdatable says that the requested change needs a new resource.
func NotUpdatable(typeName, identifier string) *Error {
	return Errorf(CodeNotUpdatable, "Resource of type '%s' with identifier '%s' is not updatable with parameters provided.", typeName, identifier)
}

// AccessDenied says that the caller may not run the operation, such as "ec2:RunInstances".
func AccessDenied(operation string) *Error {
	return Errorf(CodeAccessDenied, "Access denied for operation '%s'.", operation)
}

// Throttling says that the operation was called too often.
func Throttling(operation string) *Error {
	return Errorf(CodeThrottling, "Rate exceeded for operation '%s'.", operation)
}

// ServiceLimitExceeded says which limit stands in the way.
func ServiceLimitExceeded(typeName, reason string) *Error {
	return Errorf(CodeServiceLimitExceeded, "Limit exceeded for resource of type '%s'. Reason: %s", typeName, reason)
}

// ResourceConflict says that the resource is busy.
func ResourceConflict(typeName, identifier, reason string) *Error {
	return Errorf(CodeResourceConflict, "Resource of type '%s' with identifier '%s' has a conflict. Reason: %s.", typeName, identifier, reason)
}

// InvalidRequest says what is wrong with the input.
func InvalidRequest(reason string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid request provided: " + reason}
}

// InvalidTypeConfiguration says what is wrong with the configuration of the type.
func InvalidTypeConfiguration(typeName, reason string) *Error {
	return Errorf(CodeInvalidTypeConfiguration, "Invalid TypeConfiguration provided for type '%s'. Reason: %s", typeName, reason)
}

// NonCompliant says why a hook refuses its target.
func NonCompliant(hookType, reason string) *Error {
	return Errorf(CodeNonCompliant, "Hook of type '%s' returned a non-compliant status. Reason: %s", hookType, reason)
}

// UnsupportedTarget says that the hook does not judge targets of this type.
func UnsupportedTarget(hookType, targetName string) *Error {
	return Errorf(CodeUnsupportedTarget, "Hook of type '%s' does not support target '%s'.", hookType, targetName)
}

// An apiError is what the errors of AWS SDKs look like (smithy.APIError).
type apiError interface {
	ErrorCode() string
	ErrorMessage() string
}

// A statusError is an error that knows the HTTP status it came with.
type statusError interface{ HTTPStatusCode() int }

// FromError turns any error into the code and the message of a FAILED event.
// The first row that fits decides:
//
//	an *Error in the chain                            its code and message
//	a context.DeadlineExceeded                        InternalFailure: the handler ran out of time
//	a time-out of package net or of an HTTP client    NetworkFailure
//	ErrorCode() of an AWS error that the table knows  Throttling, AccessDenied, NotFound, ...
//	HTTPStatusCode()                                  400 InvalidRequest; 401, 403, 511 AccessDenied; 404, 410 NotFound;
//	                                                  409 ResourceConflict; 429 Throttling; 5xx ServiceInternalError;
//	                                                  others GeneralServiceException
//	any other AWS error                               GeneralServiceException
//	errors of package net and of HTTP clients         NetworkFailure
//	everything else                                   InternalFailure
//
// FromError(nil) is nil. The message of an AWS error is "Message (Code)".
//
// An error does not tell whose deadline passed: that of the whole call, after
// which trying again would take as long again, or that of one request to a
// service. The Fail methods of requests know it and distinguish the two; use
// them where there is a choice.
func FromError(err error) *Error { return fromError(err, bareDeadline(err)) }

// fromError is FromError, told whether a deadline that has passed is that of
// the whole call.
func fromError(err error, callIsOver bool) *Error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		if own.Code.Known() {
			return own
		}
		return &Error{Code: CodeInternalFailure, Message: own.Error(), Err: err}
	}
	message := err.Error()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		if callIsOver {
			return &Error{Code: CodeInternalFailure, Message: "The handler ran out of time: " + message, Err: err}
		}
		return &Error{Code: CodeNetworkFailure, Message: message, Err: err}
	}
	var api apiError
	isAPI := errors.As(err, &api)
	if isAPI {
		message = fmt.Sprintf("%s (%s)", api.ErrorMessage(), api.ErrorCode())
		if code := codeOfAPIError(api.ErrorCode()); code != "" {
			return &Error{Code: code, Message: message, Err: err}
		}
	}
	var status statusError
	if errors.As(err, &status) && status.HTTPStatusCode() >= 100 {
		return &Error{Code: codeOfStatus(status.HTTPStatusCode()), Message: message, Err: err}
	}
	code := CodeInternalFailure
	switch {
	case isAPI:
		code = CodeGeneralServiceException
	case isNetwork(err):
		code = CodeNetworkFailure
	}
	return &Error{Code: code, Message: message, Err: err}
}

// bareDeadline reports whether a deadline is that of a context, and no time-out of
// the network: those claim to be a context.DeadlineExceeded too, and come first.
func bareDeadline(err error) bool {
	var first interface {
		error
		Timeout() bool
	}
	return errors.As(err, &first) && first == context.DeadlineExceeded //nolint:errorlint // what is wrapped comes second
}

// isOver reports whether the deadline of a context has passed.
func isOver(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// isNetwork looks for the types of package net. The interface net.Error would
// not do: the errors of files fit it too.
func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var request *url.Error
	return errors.As(err, &op) || errors.As(err, &dns) || errors.As(err, &request)
}

func codeOfStatus(status int) Code {
	switch status {
	case 400:
		return CodeInvalidRequest
	case 401, 403, 511:
		return CodeAccessDenied
	case 404, 410:
		return CodeNotFound
	case 409:
		return CodeResourceConflict
	case 429:
		return CodeThrottling
	}
	if status >= 500 {
		return CodeServiceInternalError
	}
	return CodeGeneralServiceException
}

// apiCodes maps error codes that many AWS services share. Codes are compared
// without regard to case and without the suffixes Exception, Error and Fault.
func apiCodes() map[string]Code {
	return map[string]Code{
		"accessdenied": CodeAccessDenied, "unauthorizedoperation": CodeAccessDenied, "unauthorized": CodeAccessDenied,
		"notauthorized": CodeAccessDenied, "forbidden": CodeAccessDenied, "authfailure": CodeAccessDenied, "optinrequired": CodeAccessDenied,
		"expiredtoken": CodeInvalidCredentials, "unrecognizedclient": CodeInvalidCredentials, "invalidclienttokenid": CodeInvalidCredentials,
		"invalidaccesskeyid": CodeInvalidCredentials, "signaturedoesnotmatch": CodeInvalidCredentials, "invalidtoken": CodeInvalidCredentials,
		"incompletesignature": CodeInvalidCredentials, "missingauthenticationtoken": CodeInvalidCredentials,
		"throttling": CodeThrottling, "throttled": CodeThrottling, "throttledrequest": CodeThrottling, "toomanyrequests": CodeThrottling,
		"requestlimitexceeded": CodeThrottling, "bandwidthlimitexceeded": CodeThrottling, "requestthrottled": CodeThrottling,
		"slowdown": CodeThrottling, "priorrequestnotcomplete": CodeThrottling, "transactioninprogress": CodeThrottling,
		"provisionedthroughputexceeded": CodeThrottling, "ec2throttled": CodeThrottling,
		"resourcenotfound": CodeNotFound, "notfound": CodeNotFound, "nosuchentity": CodeNotFound, "nosuchbucket": CodeNotFound, "nosuchkey": CodeNotFound,
		"resourcealreadyexists": CodeAlreadyExists, "alreadyexists": CodeAlreadyExists, "entityalreadyexists": CodeAlreadyExists,
		"resourceinuse": CodeResourceConflict, "conflict": CodeResourceConflict, "concurrentmodification": CodeResourceConflict,
		"operationaborted": CodeResourceConflict, "resourceconflict": CodeResourceConflict,
		"limitexceeded": CodeServiceLimitExceeded, "servicequotaexceeded": CodeServiceLimitExceeded, "quotaexceeded": CodeServiceLimitExceeded,
		"validation": CodeInvalidRequest, "validationerror": CodeInvalidRequest, "invalidparameter": CodeInvalidRequest, "invalidparametervalue": CodeInvalidRequest,
		"invalidparametercombination": CodeInvalidRequest, "missingparameter": CodeInvalidRequest, "invalidrequest": CodeInvalidRequest,
		"badrequest": CodeInvalidRequest, "invalidargument": CodeInvalidRequest, "malformedpolicydocument": CodeInvalidRequest,
		"internal": CodeServiceInternalError, "internalserver": CodeServiceInternalError, "internalservice": CodeServiceInternalError,
		"internalfailure": CodeServiceInternalError, "service": CodeServiceInternalError, "serviceunavailable": CodeServiceInternalError,
		"requesttimeout": CodeNetworkFailure, "requesttimedout": CodeNetworkFailure,
	}
}

// codeOfAPIError is empty for a code that says too little by itself.
func codeOfAPIError(code string) Code {
	name := strings.ToLower(code)
	for _, suffix := range []string{"exception", "error", "fault"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if code, ok := apiCodes()[name]; ok {
		return code
	}
	// Most services name the thing first: TableNotFound, InvalidInstanceID.NotFound.
	for _, row := range []struct {
		suffix string
		code   Code
	}{
		{"notfound", CodeNotFound}, {"alreadyexists", CodeAlreadyExists}, {".duplicate", CodeAlreadyExists},
		{"limitexceeded", CodeServiceLimitExceeded}, {"quotaexceeded", CodeServiceLimitExceeded},
		{"accessdenied", CodeAccessDenied}, {"throttling", CodeThrottling}, {"throttled", CodeThrottling},
	} {
		if strings.HasSuffix(name, row.suffix) {
			return row.code
		}
	}
	return ""
}
