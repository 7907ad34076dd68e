package stack

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stackARN is the ARN of a stack.
func stackARN(caller awswire.Caller, name, id string) string {
	return fmt.Sprintf("arn:%s:cloudformation:%s:%s:stack/%s/%s", awswire.PartitionOf(caller.Region), caller.Region, caller.Account, name, id)
}

// isARN reports whether the name of a stack is the ARN of one.
func isARN(name string) bool { return strings.HasPrefix(name, "arn:") }

// newTimeID is an id that starts with the time, as those of stacks and of the operations that
// create them do.
func newTimeID() string {
	id, err := uuid.NewUUID()
	if err != nil {
		return uuid.NewString() // the clock cannot be read
	}
	return id.String()
}

// generatedID is the physical id that a custom resource is deleted by if its provider never
// reported one. The same call has the same id.
func generatedID(stackName, logicalID, callID string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	sum := sha256.Sum256([]byte(callID))
	suffix := make([]byte, 12)
	for i := range suffix {
		suffix[i] = letters[int(sum[i])%len(letters)]
	}
	return stackName + "-" + logicalID + "-" + string(suffix)
}

// nestedName is the name of a nested stack: PARENT-LOGICALID-SUFFIX, the same for each call
// of an operation.
func nestedName(request operation.Request) string {
	sum := sha256.Sum256([]byte(request.Token))
	suffix := strings.ToUpper(base32.StdEncoding.EncodeToString(sum[:]))[:12]
	return operation.NamePrefix(request.StackName, request.LogicalID, 128-1-len(suffix)) + "-" + suffix
}

// IdentifierModel is the model that identifies a resource: the values of its primary
// identifier, which are joined with "|".
func IdentifierModel(s *schema.Schema, identifier string) map[string]any {
	model := map[string]any{}
	if s == nil {
		return model
	}
	parts := strings.SplitN(identifier, "|", max(1, len(s.PrimaryIdentifier)))
	for i, path := range s.PrimaryIdentifier {
		if i < len(parts) && len(path.Tokens) > 0 {
			set(model, path.Tokens, parts[i])
		}
	}
	return model
}

// set sets a value in nested objects.
func set(model map[string]any, tokens []string, value any) {
	for _, token := range tokens[:len(tokens)-1] {
		inner, ok := model[token].(map[string]any)
		if !ok {
			inner = map[string]any{}
			model[token] = inner
		}
		model = inner
	}
	model[tokens[len(tokens)-1]] = value
}
