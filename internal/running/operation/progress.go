package operation

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The codes of RecordHandlerProgress, by the names of their shapes.
const (
	codeInvalidTransition = "InvalidStateTransitionException"
	codeStatusCheckFailed = "OperationStatusCheckFailedException"
)

// progressLife is how long a bearer token of an unfinished operation is kept: the maximum
// duration of an operation.
const progressLife = 36 * time.Hour

// A progressRow is an operation whose handler may report progress. The bearer token
// authenticates the handler, so only its hash is stored.
type progressRow struct {
	store.Row `db:"handler_progress AS h"`

	TokenHash   string     `db:"token_hash,pk"`
	Account     string     `db:"account"`
	Region      string     `db:"region"`
	Status      string     `db:"status"` // types.OperationStatus
	ErrorCode   string     `db:"error_code"`
	Message     string     `db:"message" seal:"handler_progress.message"`
	Model       string     `db:"model" seal:"handler_progress.model"`
	ClientToken string     `db:"client_token"` // of the last report
	CreatedAt   store.Time `db:"created_at"`
	UpdatedAt   store.Time `db:"updated_at"`
	ExpiresAt   store.Time `db:"expires_at"`
	RowVersion  int64      `db:"row_version"`
}

// A Report is what a handler has reported with RecordHandlerProgress. Message and Model
// may hold secrets.
type Report struct {
	Status    types.OperationStatus
	ErrorCode types.HandlerErrorCode // "" for none
	Message   string
	Model     string // JSON, "" for none
}

// TokensConfig sets up [Tokens]. Store must be set.
type TokensConfig struct {
	Store *store.Store
	Now   func() time.Time // nil means the store's clock
}

// Tokens are the bearer tokens with which handlers report through RecordHandlerProgress. Those
// of the engine's operations are known automatically.
type Tokens struct{ config TokensConfig }

// NewTokens returns the tokens in a store.
func NewTokens(config TokensConfig) *Tokens {
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	return &Tokens{config}
}

// Begin registers a bearer token before a handler is called with it; its status is PENDING. A
// known token is not changed. It also deletes tokens without a report for 36 hours.
func (k *Tokens) Begin(ctx context.Context, caller awswire.Caller, bearerToken string) error {
	now := k.config.Now()
	row := pending(caller, bearerToken, store.At(now))
	err := k.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := forgetExpired(ctx, tx, store.At(now)); err != nil {
			return err
		}
		_, err := store.InsertOr(ctx, tx, "ON CONFLICT (token_hash) DO NOTHING", row)
		return err
	})
	if err != nil {
		return fmt.Errorf("start to listen for the handler's progress: %w", err)
	}
	return nil
}

// pending is the row of a bearer token without a report.
func pending(caller awswire.Caller, bearerToken string, now store.Time) *progressRow {
	return &progressRow{
		TokenHash: tokenHash(bearerToken), Account: caller.Account, Region: caller.Region, Status: string(types.OperationStatusPending),
		CreatedAt: now, UpdatedAt: now, ExpiresAt: store.At(now.Add(progressLife)), RowVersion: 1,
	}
}

// Expire forgets the tokens that nobody has ended within 36 hours.
func (k *Tokens) Expire(ctx context.Context, now time.Time) error {
	err := k.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return forgetExpired(ctx, tx, store.At(now))
	})
	if err != nil {
		return fmt.Errorf("forget old bearer tokens: %w", err)
	}
	return nil
}

func forgetExpired(ctx context.Context, tx *store.Tx, now store.Time) error {
	_, err := store.Exec(ctx, tx, "DELETE FROM handler_progress WHERE expires_at < ?", now)
	return err
}

// End deletes a bearer token and returns the last report with it; the status is PENDING
// without a report, and the result is nil for an unknown token.
func (k *Tokens) End(ctx context.Context, caller awswire.Caller, bearerToken string) (*Report, error) {
	var row *progressRow
	err := k.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = findProgress(ctx, tx, caller, bearerToken); err != nil || row == nil {
			return err
		}
		return store.Delete(ctx, tx, row)
	})
	if err != nil {
		return nil, fmt.Errorf("stop listening for the handler's progress: %w", err)
	}
	if row == nil {
		return nil, nil
	}
	return &Report{types.OperationStatus(row.Status), types.HandlerErrorCode(row.ErrorCode), row.Message, row.Model}, nil
}

// Forget is End for several tokens, whatever was reported with them.
func (k *Tokens) Forget(ctx context.Context, bearerTokens []string) error {
	if len(bearerTokens) == 0 {
		return nil
	}
	return k.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return forgetProgress(ctx, tx, bearerTokens...) })
}

func forgetProgress(ctx context.Context, tx *store.Tx, bearerTokens ...string) error {
	for part := range slices.Chunk(bearerTokens, 500) {
		hashes := make([]string, len(part))
		for i, token := range part {
			hashes[i] = tokenHash(token)
		}
		if _, err := store.Exec(ctx, tx, "DELETE FROM handler_progress WHERE token_hash IN (?)", store.In(hashes)); err != nil {
			return fmt.Errorf("forget bearer tokens: %w", err)
		}
	}
	return nil
}

// transitions are the statuses that may follow a status.
var transitions = map[types.OperationStatus][]types.OperationStatus{
	types.OperationStatusPending:    {types.OperationStatusInProgress, types.OperationStatusSuccess, types.OperationStatusFailed},
	types.OperationStatusInProgress: {types.OperationStatusInProgress, types.OperationStatusSuccess, types.OperationStatusFailed},
}

// RecordHandlerProgress takes the report of a handler about the operation that it was
// called for. A report that was recorded already, by its ClientRequestToken, is answered
// and not recorded again.
//
// Errors: ValidationError for a bearer token that no running operation of the account in the
// region has; InvalidStateTransition for a status that cannot follow the current one, as after
// SUCCESS; ConditionalCheckFailed if CurrentOperationStatus is set and is not the current one.
// The server checks the shapes of the members.
func (k *Tokens) RecordHandlerProgress(ctx context.Context, caller awswire.Caller, in *cloudformation.RecordHandlerProgressInput) (*cloudformation.RecordHandlerProgressOutput, error) {
	err := k.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := findProgress(ctx, tx, caller, aws.ToString(in.BearerToken))
		if err != nil {
			return fmt.Errorf("record the handler's progress: %w", err)
		}
		if row == nil {
			if row, err = beginReports(ctx, tx, caller, aws.ToString(in.BearerToken), store.At(k.config.Now())); err != nil {
				return fmt.Errorf("record the handler's progress: %w", err)
			}
		}
		if row == nil {
			return awswire.ValidationErrorf("The bearer token belongs to no running operation of a handler in this account and Region.")
		}
		present := types.OperationStatus(row.Status)
		token := aws.ToString(in.ClientRequestToken)
		switch {
		case token != "" && token == row.ClientToken && in.OperationStatus == present:
			return nil
		case in.CurrentOperationStatus != "" && in.CurrentOperationStatus != present:
			return awswire.Errorf(codeStatusCheckFailed, http.StatusBadRequest,
				"The operation is in status %s, not in %s.", present, in.CurrentOperationStatus)
		case !slices.Contains(transitions[present], in.OperationStatus):
			return awswire.Errorf(codeInvalidTransition, http.StatusBadRequest,
				"An operation in status %s cannot get the status %s.", present, in.OperationStatus)
		}
		row.Status, row.ErrorCode, row.ClientToken = string(in.OperationStatus), string(in.ErrorCode), token
		row.Message, row.Model = storable(aws.ToString(in.StatusMessage)), storable(aws.ToString(in.ResourceModel))
		now := k.config.Now()
		row.UpdatedAt, row.ExpiresAt = store.At(now), store.At(now.Add(progressLife))
		return store.Swap(ctx, tx, row, &row.RowVersion)
	})
	if errors.Is(err, store.ErrStale) { // another report came first: the present status is another one
		return nil, awswire.Errorf(codeStatusCheckFailed, http.StatusBadRequest, "The status of the operation has changed in the meantime.")
	}
	if err != nil {
		return nil, err
	}
	return &cloudformation.RecordHandlerProgressOutput{}, nil
}

// beginReports creates the row of the first report on an operation of the engine: most
// handlers never report, so the row is created on demand. It is nil if the account has no such
// running operation.
func beginReports(ctx context.Context, tx *store.Tx, caller awswire.Caller, bearerToken string, now store.Time) (*progressRow, error) {
	running, err := store.Exists(ctx, tx, "FROM operations WHERE token = ? AND account = ? AND region = ? AND ended_at IS NULL",
		bearerToken, caller.Account, caller.Region)
	if err != nil || !running {
		return nil, err
	}
	begun := pending(caller, bearerToken, now)
	err = store.Insert(ctx, tx, begun)
	return begun, err
}

// findProgress returns nil for a token that is not known in the caller's account and region.
func findProgress(ctx context.Context, db store.DB, caller awswire.Caller, bearerToken string) (*progressRow, error) {
	row := &progressRow{}
	err := store.Get(ctx, db, row, "WHERE token_hash = ? AND account = ? AND region = ?", tokenHash(bearerToken), caller.Account, caller.Region)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

func tokenHash(bearerToken string) string {
	sum := sha256.Sum256([]byte(bearerToken))
	return hex.EncodeToString(sum[:])
}
