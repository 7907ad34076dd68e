package cloudcontrol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A requestRow is a request to create, update or delete a resource.
type requestRow struct {
	store.Row `db:"resource_requests AS q"`

	Token       string `db:"token,pk"`
	Account     string `db:"account"`
	Region      string `db:"region"`
	ClientToken string `db:"client_token"` // one of the account's and region's own
	InputHash   string `db:"input_hash"`   // of the request with the client token
	OperationID string `db:"operation_id"`
	HooksToken  string `db:"hooks_token"` // of the evaluation of its hooks, "" for none

	Operation  types.Operation       `db:"operation"`
	TypeName   string                `db:"type_name"`
	Identifier string                `db:"identifier"` // "" while it is not known
	Status     types.OperationStatus `db:"status"`
	ErrorCode  string                `db:"error_code"`
	Message    string                `db:"message"`
	Model      string                `db:"model" seal:"resource_requests.model"` // JSON without write-only properties; "" for none
	WriteOnly  string                `db:"write_only"`                           // JSON list of the tokens of their paths

	CreatedAt  store.Time `db:"created_at"`
	EventAt    store.Time `db:"event_at"`
	EndedAt    store.Time `db:"ended_at"` // NULL while it is in progress
	RowVersion int64      `db:"row_version"`
}

// running are the statuses of a request that has not ended.
var running = map[types.OperationStatus]bool{
	types.OperationStatusPending: true, types.OperationStatusInProgress: true, types.OperationStatusCancelInProgress: true,
}

// retryAfter is when clients should poll again.
const retryAfter = 5 * time.Second

// event is the request as clients see it.
func (row *requestRow) event() *types.ProgressEvent {
	out := &types.ProgressEvent{
		TypeName: &row.TypeName, RequestToken: &row.Token, Operation: row.Operation, OperationStatus: row.Status,
		EventTime: &row.EventAt.Time, ErrorCode: types.HandlerErrorCode(row.ErrorCode),
		HooksRequestToken: present(row.HooksToken), Identifier: present(row.Identifier), StatusMessage: present(row.Message), ResourceModel: present(row.Model),
	}
	if running[row.Status] {
		out.RetryAfter = aws.Time(row.EventAt.Add(retryAfter))
	}
	return out
}

// present is a text, nil if it is empty.
func present(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// setModel keeps a model, without its write-only properties.
func (row *requestRow) setModel(model map[string]any) error {
	if row.Model = ""; model == nil {
		return nil
	}
	var tokens []document.Pointer
	if err := json.Unmarshal([]byte(row.WriteOnly), &tokens); err != nil {
		return fmt.Errorf("read the write-only properties of a request: %w", err)
	}
	paths := make([]schema.Path, len(tokens))
	for i := range tokens {
		paths[i].Tokens = tokens[i]
	}
	shown, err := show(paths, model)
	row.Model = shown
	return err
}

// show is a model as answers have it.
func show(writeOnly []schema.Path, model map[string]any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(schema.Without(model, writeOnly)); err != nil {
		return "", fmt.Errorf("write a model: %w", err)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// hide lists the write-only properties of a type, as rows keep them.
func hide(s *schema.Schema) (string, error) {
	tokens := make([]document.Pointer, len(s.WriteOnly))
	for i, path := range s.WriteOnly {
		tokens[i] = path.Tokens
	}
	encoded, err := json.Marshal(tokens)
	return string(encoded), err
}

// An asked request is a request of a client.
type asked struct {
	clientToken *string
	hash        string
}

// ask reads the client token of an input. parts are all its other members.
func ask(clientToken *string, parts ...any) (asked, error) {
	encoded, err := json.Marshal(parts)
	if err != nil {
		return asked{}, fmt.Errorf("read the request: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return asked{clientToken, hex.EncodeToString(sum[:])}, nil
}

// earlier returns the request with the same client token, nil if it is new.
func (e *Engine) earlier(ctx context.Context, db store.DB, caller awswire.Caller, a asked) (*requestRow, error) {
	if a.clientToken == nil {
		return nil, nil
	}
	row := &requestRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND client_token = ?", caller.Account, caller.Region, *a.clientToken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a client token: %w", err)
	case row.InputHash != a.hash:
		return nil, awswire.Errorf("ClientTokenConflictException", 0,
			"ClientToken %s is already associated with an existing operation with RequestToken %s", *a.clientToken, row.Token)
	}
	return row, nil
}

// begin starts a request in one transaction: the row, and the operation that executes it, or the
// evaluation that it has to pass before.
func (e *Engine) begin(ctx context.Context, caller awswire.Caller, a asked, typ *operation.Type, request operation.Request, op types.Operation, first map[string]any) (*types.ProgressEvent, error) {
	target, hooks, err := e.hooksFor(ctx, caller, typ.Name, request.Action)
	if err != nil {
		return nil, err
	}
	var previous map[string]any
	if len(hooks) > 0 {
		if previous, err = e.previous(ctx, caller, typ, request); err != nil {
			return nil, err
		}
	}
	var row *requestRow
	err = e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		var err error
		if row, err = e.earlier(ctx, tx, caller, a); row != nil || err != nil {
			return err
		}
		if err := e.alone(ctx, tx, caller, typ.Name, request.Identifier); err != nil {
			return err
		}
		now := store.At(e.config.Now())
		row = &requestRow{
			Token: e.config.NewID(), Account: caller.Account, Region: caller.Region, InputHash: a.hash, Operation: op, TypeName: typ.Name,
			Identifier: request.Identifier, Status: types.OperationStatusInProgress, CreatedAt: now, EventAt: now, RowVersion: 1,
		}
		if row.ClientToken = text(a.clientToken); row.ClientToken == "" {
			row.ClientToken = row.Token
		}
		if row.WriteOnly, err = hide(typ.Schema); err != nil {
			return err
		}
		if err := row.setModel(first); err != nil {
			return err
		}
		request.Caller, request.Type, request.Version, request.Token = caller, typ.Name, typ.Version, row.Token
		row.OperationID = e.config.NewID()
		spec := operation.Spec{ID: row.OperationID, Owner: Owner, Key: row.Token, Request: request, NoteCalls: request.Action == invoke.Delete}
		if len(hooks) > 0 {
			row.HooksToken = e.config.NewID()
			_, err = e.config.Hooks.Begin(ctx, tx, row.evaluation(caller, target, hooks, spec, previous))
		} else {
			_, err = e.config.Operations.Begin(ctx, tx, spec)
		}
		if err != nil {
			return err
		}
		if err := store.Insert(ctx, tx, row); err != nil {
			return fmt.Errorf("begin a request: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return row.event(), nil
}

// alone refuses a second request for a resource.
func (e *Engine) alone(ctx context.Context, tx *store.Tx, caller awswire.Caller, typeName, identifier string) error {
	if identifier == "" {
		return nil
	}
	var other string
	err := store.Query(ctx, tx, &other, "SELECT token FROM resource_requests WHERE account = ? AND region = ? AND type_name = ? AND identifier = ? AND ended_at IS NULL LIMIT 1",
		caller.Account, caller.Region, typeName, identifier)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for another request: %w", err)
	}
	return awswire.Errorf("ConcurrentOperationException", 0,
		"Another operation on the resource of type '%s' with identifier '%s' is in progress (RequestToken: %s)", typeName, identifier, other)
}

// find returns a request of the caller.
func (e *Engine) find(ctx context.Context, db store.DB, caller awswire.Caller, token string) (*requestRow, error) {
	row := &requestRow{}
	err := store.Get(ctx, db, row, "WHERE token = ? AND account = ? AND region = ?", token, caller.Account, caller.Region)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, awswire.Errorf("RequestTokenNotFoundException", 0, "Request with token %s was not found", token)
	case err != nil:
		return nil, fmt.Errorf("look for a request: %w", err)
	}
	return row, nil
}

// Progressed implements operation.Owner.
func (e *Engine) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	row := &requestRow{}
	err := store.Get(ctx, tx, row, "WHERE token = ?", state.Key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil // forgotten
	case err != nil:
		return fmt.Errorf("read a request: %w", err)
	case !running[row.Status]:
		return nil
	}
	p, now := state.Progress, store.At(e.config.Now())
	row.EventAt = now
	if row.Operation == types.OperationDelete && state.Repeated && p.ErrorCode == string(invoke.NotFound) {
		state.Progress.Status = cfn.OperationStatusSuccess // the call whose answer was lost has deleted it
	}
	if p.Identifier != "" {
		row.Identifier = p.Identifier
	}
	if p.Terminal() {
		row.EndedAt = now
		if err := e.finish(row, state); err != nil {
			return err
		}
	}
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// finish notes how a request ended.
func (e *Engine) finish(row *requestRow, state operation.State) error {
	p := state.Progress
	row.Status = types.OperationStatus(p.Status)
	switch {
	case state.Cancelled:
		row.Status = types.OperationStatusCancelComplete
	case row.Status == types.OperationStatusFailed:
		row.ErrorCode, row.Message = string(eventCode(p.ErrorCode)), words.Cut(p.Message, maxMessage)
	}
	if row.Operation == types.OperationDelete || row.Status != types.OperationStatusSuccess {
		row.Model = ""
		return nil
	}
	if p.Model == nil {
		return nil
	}
	return row.setModel(p.Model)
}

// maxMessage bounds StatusMessage in characters.
const maxMessage = 2048

// keepRequests is how long a request that has ended is known, as at the service.
const keepRequests = 7 * 24 * time.Hour

// Expire forgets requests that ended a week ago.
func (e *Engine) Expire(ctx context.Context, now time.Time) error {
	if err := e.store.DeleteInBatches(ctx, "resource_requests", "token", "ended_at IS NOT NULL AND ended_at < ?", store.At(now.Add(-keepRequests))); err != nil {
		return fmt.Errorf("forget old requests: %w", err)
	}
	return nil
}
