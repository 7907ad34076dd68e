package operation

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Type is a resource type as those who provision it know it.
type Type struct {
	Name string // in the account: of an activated type its alias

	// Version is what the resource keeps, so that later operations find the same handler:
	// "00000001" of a registered type, "" of a type of the server itself.
	Version string

	// Schema defines the identifier of a resource, its create-only, read-only and write-only
	// properties, and the timeouts of handlers. It is nil only for types without a schema:
	// custom resources.
	Schema *schema.Schema

	Provider Provider

	// Timeout bounds an operation on the type. Zero means what the schema says about its
	// handler, or Config.Timeout.
	Timeout time.Duration

	// LateValidation leaves it to the provider to hold properties against the schema, when a
	// resource is created or updated. Otherwise that is done before anything is touched.
	LateValidation bool

	// Placeholder has a resource deleted by a generated identifier whose creation was called
	// and never reported one: custom resources. See Request.Placeholder.
	Placeholder bool

	// Simulated marks a type without handlers that is driven by its schema. It is shown
	// wherever its resources are shown, but not through the API.
	Simulated bool

	// Simulates reports whether a resource is simulated, for a type of which some resources may be and others not. It
	// is nil for other types.
	Simulates func(ctx context.Context, caller awswire.Caller, identifier string) (bool, error)

	// Where says in which program a resource of the type is, for a type whose resources may be in another one
	// than this server; "" for one that is not. It is nil for other types.
	Where func(ctx context.Context, identifier string) (string, error)
}

// IsSimulated reports whether a resource of the type is simulated, or without an identifier a new one.
func (t *Type) IsSimulated(ctx context.Context, caller awswire.Caller, identifier string) (bool, error) {
	if t.Simulates == nil || identifier == "" {
		return t.Simulated, nil
	}
	return t.Simulates(ctx, caller, identifier)
}

// Provisionable reports whether resources of the type can be in a stack: a registered type needs handlers for
// CREATE, READ and DELETE.
func (t *Type) Provisionable() bool {
	if t.Version == "" || t.Simulated || t.Schema == nil {
		return true
	}
	return t.Schema.Handler("create") != nil && t.Schema.Handler("read") != nil && t.Schema.Handler("delete") != nil
}

// NamePrefix is "STACK-LOGICALID", with which the service begins the names that it generates, of at most limit
// bytes. Of long names it keeps the beginnings of both parts, half of each; what one part does not need, the other
// one has.
func NamePrefix(stackName, logicalID string, limit int) string {
	room := max(limit-1, 0)
	first := max((room+1)/2, room-len(logicalID))
	first = min(first, len(stackName))
	return strings.Trim(stackName[:first]+"-"+logicalID[:min(len(logicalID), room-first)], "-")
}

// Types finds resource types.
type Types interface {
	// Type returns the version of a type that a resource was made with, or the one in use
	// now for the version "". A type that the caller does not have is an
	// *[UnknownTypeError].
	Type(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error)
}

// An UnknownTypeError reports that a type does not exist.
type UnknownTypeError struct {
	Name string
	Hint string // what to do about it, for people; "" for none
}

func (e *UnknownTypeError) Error() string { return "unrecognized resource type: " + e.Name }

// A Provider makes single calls. It may be used by any number of goroutines.
type Provider interface {
	// Call makes one call and returns its progress. An error means that the provider does not
	// know the state of the operation (the process stops, the store is unavailable): the call
	// is repeated, with the same token. A handler that crashes, times out or returns an
	// invalid answer is not an error but a Progress that FAILED.
	Call(ctx context.Context, request Request) (Progress, error)
}

// A Request is one call of a provider. All calls of an operation have the same Token.
type Request struct {
	Caller awswire.Caller // whose resource it is
	Action invoke.Action  // Create, Read, Update or Delete

	// Token is the client request token. It is also the bearer token with which a handler may
	// report through RecordHandlerProgress: on the wire they are the same.
	Token string

	Type      string // name of the type in the account
	Version   string // Type.Version; "" is the current one when the operation starts
	StackID   string // ARN; "" outside of stacks
	StackName string
	LogicalID string // "" outside of stacks

	// Identifier is the physical id; "" for a create that has not reported one.
	Identifier string

	// Desired is the requested model; for a read or delete the primary identifier and known
	// properties. Previous is the model before an update. Both have the types of
	// encoding/json. In a Spec they may have dynamic references, which Config.Prepare resolves
	// before each call, so that the rows contain the references and not the values.
	Desired, Previous map[string]any

	// Secrets are values in the models that no log, message or record may have, by the reason.
	Secrets map[secret.Reason][]string `json:",omitempty"`

	StackTags, PreviousStackTags   map[string]string
	SystemTags, PreviousSystemTags map[string]string

	Rollback bool // the operation undoes an earlier one

	// Placeholder is the identifier of a create that is cancelled, or fails, before it has
	// reported one. "" is none.
	Placeholder string `json:",omitempty"`

	// Callback and Model are those of the event before, nil in the first call.
	Callback json.RawMessage
	Model    map[string]any

	Attempts int // calls that failed with a retriable code since the last that did not
}

// Progress is what a call reported.
type Progress struct {
	Status types.OperationStatus // IN_PROGRESS, SUCCESS or FAILED

	// Identifier is the physical id when it is known: the values of the primary identifier,
	// joined with "|".
	Identifier string

	// Model is the resource model in the event, nil if it has none.
	Model map[string]any

	// Configured says, while IN_PROGRESS, that the configuration is applied and the
	// resource is only becoming stable: those that depend on it may start.
	Configured bool

	// Stored means that the model of a READ is what was written last: nothing could be read.
	Stored bool

	ErrorCode string // of a FAILED operation: "NotFound", "Throttling"
	Message   string // without secrets

	// Simulable says of a CREATE that FAILED before anything was made that the provider does not have the service that
	// it needs: if a simulation has the type, the resource is simulated instead.
	Simulable bool

	// Own means that Message is not a handler's but a sentence of the server, to be shown
	// unchanged: a timeout, a deleted type, a dynamic reference that cannot be resolved.
	Own bool

	Callback json.RawMessage // for the next call
	Delay    time.Duration   // until the next call
}

// Terminal reports whether the operation is over.
func (p Progress) Terminal() bool {
	return p.Status == types.OperationStatusSuccess || p.Status == types.OperationStatusFailed
}
