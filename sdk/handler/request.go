package handler

import (
	"context"
	"log/slog"
	"time"
)

// Credentials are the temporary AWS credentials of one invocation. They print
// as a placeholder, whatever the format; read the fields to use them, and keep
// them no longer than the call. The module sdk/awscreds makes an aws.Config of
// them for aws-sdk-go-v2.
type Credentials struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
	SessionToken    string `json:"sessionToken"`
}

// Empty reports whether the caller sent no credentials.
func (c Credentials) Empty() bool { return c == Credentials{} }

// String hides the values.
func (c Credentials) String() string {
	if c.Empty() {
		return "no credentials"
	}
	return hiddenValue
}

// GoString hides the values.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the values.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// A Request is one call of a resource handler: M is the model of the type, C
// its type configuration. Strings that the caller did not send are empty.
type Request[M, C any] struct {
	// Action is what to do.
	Action Action

	// TypeName is the resource type, such as "Initech::TPS::Report".
	TypeName string

	// Desired is the model that the user requests. READ and DELETE may send no
	// more than an identifier; LIST may send the zero model or a filter. In
	// later calls of an operation it is the model of the last IN_PROGRESS event.
	//
	// In the first call of a READ, UPDATE or DELETE all properties of the
	// primary identifier are there, or all of one of the additional identifiers
	// if the schema has any: what lacks them is answered NotFound before it
	// comes to a handler. Every other property may be absent, required ones too
	// unless the call is the first of a CREATE or UPDATE. [Value] reads absent
	// ones as zero.
	Desired M

	// Previous is the model before an UPDATE, and nil otherwise.
	Previous *M

	// TypeConfiguration is nil when none is set for the type.
	TypeConfiguration *C

	// FirstCall is true unless this call continues an operation that was
	// IN_PROGRESS.
	FirstCall bool

	// Memory is the callback context: what the last call of this operation
	// remembered, and what the next one will find.
	Memory *Memory

	// Token is the client request token. All calls of an operation have the
	// same; a CREATE that is repeated with it must not make a second resource.
	Token string

	// LogicalID is the name of the resource in the template.
	LogicalID string

	// StackID is the ARN of the stack.
	StackID string

	Region    string // such as "eu-west-1"
	AccountID string // twelve digits
	Partition string // "aws", "aws-cn", "aws-us-gov", ...; from the region

	// NextToken and MaxResults page a LIST. Zero MaxResults leaves the size of
	// a page to the handler.
	NextToken  string
	MaxResults int

	// DesiredTags are all tags that the resource should have: system tags,
	// overridden by stack tags, overridden by the tags of Desired (its
	// tagging.tagProperty, by default Tags). PreviousTags are the same before
	// the update. Never nil. [DiffTags] compares them.
	DesiredTags  map[string]string
	PreviousTags map[string]string

	// The tags by where they come from. System tags begin with "aws:".
	SystemTags, PreviousSystemTags map[string]string
	StackTags, PreviousStackTags   map[string]string

	// SnapshotRequested asks DELETE to keep a snapshot. Rollback says that the
	// stack is rolling back. Driftable says that the call serves drift detection.
	SnapshotRequested, Rollback, Driftable bool

	// Credentials are those of the caller, for the calls that the handler makes.
	Credentials Credentials

	// Logger writes JSON lines to the log of the function. It hides credentials
	// and the values of write-only properties. The runtime always sets it; for
	// requests made by hand, in tests, see handlertest.NewRequest.
	Logger *slog.Logger

	ctx    context.Context // of this call, for Fail; nil in requests made by hand
	schema *schema         // nil without one, and in requests made by hand
}

// Success ends CREATE, READ and UPDATE, with the resource as it is now.
func (r Request[M, C]) Success(model M) Event[M] {
	return Event[M]{Status: StatusSuccess, Model: &model}
}

// SuccessList ends LIST with one page of models, of which the primary
// identifiers suffice. The empty next token marks the last page.
func (r Request[M, C]) SuccessList(models []M, nextToken string) Event[M] {
	return Event[M]{Status: StatusSuccess, Models: models, NextToken: nextToken}
}

// Deleted ends DELETE.
func (r Request[M, C]) Deleted() Event[M] { return Event[M]{Status: StatusSuccess} }

// InProgress asks to be called again after delay, with the model as the
// desired one. What [Request.Memory] holds goes along.
func (r Request[M, C]) InProgress(model M, delay time.Duration) Event[M] {
	return Event[M]{Status: StatusInProgress, Model: &model, Delay: delay}
}

// Failed ends any operation with a code and a message for the user.
func (r Request[M, C]) Failed(code Code, message string) Event[M] {
	return Event[M]{Status: StatusFailed, Code: code, Message: message}
}

// Fail ends any operation with the code and message that [FromError] finds in
// err, and writes err to the log. A nil err is an InternalFailure. A deadline
// that has passed is one too, "The handler ran out of time", if it is that of
// the whole call; if it is one of the author's, as for a single request to a
// service, it is a NetworkFailure, after which the operation is tried again.
func (r Request[M, C]) Fail(err error) Event[M] {
	code, message := failure(r.ctx, r.Logger, err)
	return Event[M]{Status: StatusFailed, Code: code, Message: message}
}

func failure(ctx context.Context, logger *slog.Logger, err error) (Code, string) {
	if err == nil {
		return CodeInternalFailure, "the handler failed without an error"
	}
	callIsOver := bareDeadline(err)
	if ctx != nil {
		callIsOver = isOver(ctx)
	}
	found := fromError(err, callIsOver)
	if logger != nil {
		logger.Warn("handler failed", "code", string(found.Code), "error", err.Error())
	}
	return found.Code, found.Error()
}

// Identifier generates a physical name of at most maxLength characters from
// stack, logical ID and token; see [Identifier].
func (r Request[M, C]) Identifier(maxLength int) (string, error) {
	return Identifier{StackID: r.StackID, LogicalID: r.LogicalID, Token: r.Token, MaxLength: maxLength}.Generate()
}

// Chain starts the steps of an operation. Every event that the chain makes
// carries the model as it is at that moment, so set the identifier in it as
// soon as it is known.
func (r Request[M, C]) Chain(ctx context.Context, model *M) *Chain[Event[M]] {
	return newChain(ctx, r.Memory, chainEvents[Event[M]]{
		wait: func(delay time.Duration) Event[M] { return r.InProgress(*model, delay) },
		fail: func(err error, begun bool) Event[M] {
			event := r.Fail(err)
			if begun {
				copied := *model
				event.Model = &copied
			}
			return event
		},
		unnamed: func() bool {
			if r.Action != ActionCreate || r.schema == nil || len(r.schema.identifier) == 0 {
				return false
			}
			tree, err := encodeTree(model)
			return err == nil && !hasPaths(tree, r.schema.identifier)
		},
		subject: "Resource of type '" + r.TypeName + "'",
	})
}

// partitionOf names the partition that a region belongs to.
func partitionOf(region string) string {
	for _, row := range []struct{ prefix, partition string }{
		{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"us-isob-", "aws-iso-b"}, {"us-isof-", "aws-iso-f"},
		{"us-iso-", "aws-iso"}, {"eu-isoe-", "aws-iso-e"}, {"eusc-", "aws-eusc"},
	} {
		if len(region) >= len(row.prefix) && region[:len(row.prefix)] == row.prefix {
			return row.partition
		}
	}
	return "aws"
}

// Ptr points to a copy of v, for the fields of a model.
func Ptr[T any](v T) *T { return &v }

// Value is what p points to, and the zero value when p is nil. It does for
// fields of a model whose absence means the same as their zero value.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
