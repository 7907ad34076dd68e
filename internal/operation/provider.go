package operation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/secret"
)

// A Type is a resource type as those who provision it know it.
type Type struct {
	Name string // in the account: of an activated type its alias

	// Version is what the resource keeps, so that later operations find the same handler:
	// "00000001" of a registered type, "" of a type of the server itself.
	Version string

	// Schema says what identifies a resource, what is create-only, read-only or
	// write-only, and how long handlers may take. It is nil only for types that have none:
	// custom resources.
	Schema *schema.Schema

	Provider Provider

	// LateValidation leaves it to the provider to hold properties against the schema, when a
	// resource is created or updated. Otherwise that is done before anything is touched.
	LateValidation bool

	// Simulated marks a type without handlers that is driven by its schema. People are told
	// so wherever its resources are shown, but not through the API.
	Simulated bool
}

// Types finds resource types.
type Types interface {
	// Type returns the version of a type that a resource was made with, or the one in use
	// now for the version "". A type that the caller does not have is an
	// *[UnknownTypeError].
	Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error)
}

// An UnknownTypeError says that there is no type of a name.
type UnknownTypeError struct {
	Name string
	Hint string // what to do about it, for people; "" for none
}

func (e *UnknownTypeError) Error() string { return "unrecognized resource type: " + e.Name }

// A Provider makes single calls. It may be used by any number of goroutines.
type Provider interface {
	// Call makes one call and returns what it reported. An error means that the provider
	// could not say how the operation stands (the process stops, the store is away): the
	// call is made again, with the same token. That a handler crashed, timed out or
	// answered nonsense is no error but a Progress that FAILED.
	Call(ctx context.Context, request Request) (Progress, error)
}

// A Request is one call of a provider. All calls of an operation have the same Token.
type Request struct {
	Caller awswire.Caller // whose resource it is
	Action invoke.Action  // Create, Read, Update or Delete

	// Token is the client request token. It is the bearer token, too, with which a handler
	// may report through RecordHandlerProgress: on the wire they are one.
	Token string

	Type      string // name of the type in the account
	Version   string // Type.Version; "" is the one in use when the operation begins
	StackID   string // ARN; "" outside of stacks
	StackName string
	LogicalID string // "" outside of stacks

	// Identifier is the physical id; "" for a create that has not reported one.
	Identifier string

	// Desired is the model that is wanted, of a read or delete the primary identifier and
	// what is known of the rest. Previous is the model before an update. Both are shapes of
	// encoding/json. In a Spec they may have dynamic references, which Config.Prepare
	// resolves before each call, so that the rows hold the references and not the values.
	Desired, Previous map[string]any

	// Secrets are values in the models that no log, message or record may have, by the reason.
	Secrets map[secret.Reason][]string `json:",omitempty"`

	StackTags, PreviousStackTags   map[string]string
	SystemTags, PreviousSystemTags map[string]string

	Rollback bool // the operation undoes an earlier one

	// Callback and Model are those of the event before, nil in the first call.
	Callback json.RawMessage
	Model    map[string]any

	Attempts int // calls that failed with a retriable code since the last that did not
}

// Progress is what a call reported.
type Progress struct {
	Status types.OperationStatus // IN_PROGRESS, SUCCESS or FAILED

	// Identifier is the physical id as soon as it is known: the values of the primary
	// identifier, joined with "|".
	Identifier string

	// Model is the resource as far as the event told it, nil if it did not.
	Model map[string]any

	// Configured says, while IN_PROGRESS, that the configuration is applied and the
	// resource is only becoming stable: those that depend on it may start.
	Configured bool

	ErrorCode string // of a FAILED operation: "NotFound", "Throttling"
	Message   string // without secrets

	// Own says that Message is not a handler's but a sentence of the server, to be shown as
	// it is: a timeout, a type that is gone, a dynamic reference that cannot be resolved.
	Own bool

	Callback json.RawMessage // for the next call
	Delay    time.Duration   // until the next call
}

// Terminal reports whether the operation is over.
func (p Progress) Terminal() bool {
	return p.Status == types.OperationStatusSuccess || p.Status == types.OperationStatusFailed
}
