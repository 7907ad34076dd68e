package api

import (
	"strconv"
	"strings"
)

// errorWords are parts of the names of errors and the handler error codes that they mean. The
// first that a name contains decides.
var errorWords = []struct{ word, code string }{
	{"notfound", "NotFound"}, {"nosuch", "NotFound"}, {"doesnotexist", "NotFound"}, {"unknownresource", "NotFound"},
	{"alreadyexist", "AlreadyExists"}, {"duplicate", "AlreadyExists"}, {"entityexists", "AlreadyExists"},
	{"throttl", "Throttling"}, {"toomanyrequests", "Throttling"}, {"slowdown", "Throttling"}, {"ratelimit", "Throttling"},
	{"accessdenied", "AccessDenied"}, {"forbidden", "AccessDenied"}, {"notauthorized", "AccessDenied"},
	{"unauthorized", "InvalidCredentials"}, {"unrecognizedclient", "InvalidCredentials"}, {"expiredtoken", "InvalidCredentials"},
	{"quota", "ServiceLimitExceeded"}, {"limitexceeded", "ServiceLimitExceeded"}, {"toomany", "ServiceLimitExceeded"},
	{"conflict", "ResourceConflict"}, {"inuse", "ResourceConflict"}, {"concurrent", "ResourceConflict"}, {"precondition", "ResourceConflict"}, {"invalidstate", "ResourceConflict"},
	{"validation", "InvalidRequest"}, {"invalid", "InvalidRequest"}, {"badrequest", "InvalidRequest"}, {"malformed", "InvalidRequest"},
	{"internal", "ServiceInternalError"}, {"unavailable", "ServiceInternalError"}, {"serviceexception", "ServiceInternalError"},
}

// usualErrors are errors that every service of AWS may return without declaring them.
var usualErrors = []string{"ThrottlingException", "Throttling", "TooManyRequestsException", "AccessDeniedException", "ValidationException",
	"UnrecognizedClientException", "ExpiredTokenException", "InternalServerException", "ServiceUnavailableException"}

// handlerCodes are the codes that settings may name.
var handlerCodes = []string{"AccessDenied", "AlreadyExists", "GeneralServiceException", "InternalFailure", "InvalidCredentials", "InvalidRequest", "NetworkFailure",
	"NotFound", "NotStabilized", "NotUpdatable", "ResourceConflict", "ServiceInternalError", "ServiceLimitExceeded", "Throttling"}

func handlerCode(name string) string {
	name = norm(name)
	for _, w := range errorWords {
		if strings.Contains(name, w.word) {
			return w.code
		}
	}
	return ""
}

// errors are the handler error codes of the errors of an operation that do not follow from the status.
func (b *binder) errors(op *Operation, action string) map[string]string {
	out := map[string]string{}
	exists := false // the operation has an error of its own for what exists already
	for _, e := range op.Errors {
		exists = exists || e.Name != "" && handlerCode(e.Name) == "AlreadyExists" && !strings.Contains(norm(e.Name), "tag")
	}
	taken := func(name string) bool { // errors of a create that mean the same otherwise
		return strings.Contains(norm(name), "conflict") || strings.Contains(norm(name), "resourceinuse") || strings.Contains(norm(name), norm(b.Resource.Name)+"inuse")
	}
	add := func(name, code string, status int) {
		if code == "" {
			code = handlerStatuses[strconv.Itoa(status)]
		}
		if action == "create" && code == "ResourceConflict" && taken(name) && !exists {
			code = "AlreadyExists"
		}
		if name != "" && code != "" {
			out[name] = code
		}
	}
	if b.API.Format == "smithy" {
		for _, name := range usualErrors {
			add(name, handlerCode(name), 0)
		}
	}
	for _, e := range op.Errors {
		add(e.Name, handlerCode(e.Name), e.Status)
		add(e.Code, handlerCode(e.Name), e.Status)
	}
	if action == "create" && (b.API.Format == "openapi" || !exists) {
		out["409"] = "AlreadyExists"
	}
	for status, code := range b.settings.Errors[action] {
		out[status] = code
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
