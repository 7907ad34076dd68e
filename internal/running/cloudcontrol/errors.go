package cloudcontrol

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// handlerErrors are the errors of GetResource and ListResources by the code of the handler.
var handlerErrors = map[string]string{
	"AccessDenied":            "AccessDeniedException",
	"AlreadyExists":           "AlreadyExistsException",
	"GeneralServiceException": "GeneralServiceException",
	"InternalFailure":         "HandlerInternalFailureException",
	"InvalidCredentials":      "InvalidCredentialsException",
	"InvalidRequest":          "InvalidRequestException",
	"NetworkFailure":          "NetworkFailureException",
	"NotFound":                "ResourceNotFoundException",
	"NotStabilized":           "NotStabilizedException",
	"NotUpdatable":            "NotUpdatableException",
	"ResourceConflict":        "ResourceConflictException",
	"ServiceInternalError":    "ServiceInternalErrorException",
	"ServiceLimitExceeded":    "ServiceLimitExceededException",
	"Throttling":              "ThrottlingException",
}

// handlerError is the error for a handler that failed while the client waits.
func handlerError(typeName, code, message, token string) error {
	name, ok := handlerErrors[code]
	if !ok {
		name = "HandlerFailureException"
	}
	return awswire.Errorf(name, 0, "%s Handler returned status FAILED: %s (HandlerErrorCode: %s, RequestToken: %s)",
		typeName, words.Cut(message, maxMessage), code, token)
}

// eventCode is the code of a handler as progress events have it: the API knows fewer codes
// than handlers do.
func eventCode(code string) types.HandlerErrorCode {
	known := types.HandlerErrorCode(code)
	if code == "" || slices.Contains(known.Values(), known) {
		return known
	}
	if code == "InvalidTypeConfiguration" {
		return types.HandlerErrorCodeInvalidRequest
	}
	return types.HandlerErrorCodeGeneralServiceException
}

// invalid refuses an input, as constraints do.
func invalid(format string, args ...any) error {
	return awswire.Errorf("ValidationException", 0, "%s", fmt.Sprintf(format, args...))
}
