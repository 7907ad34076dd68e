package operation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// Resume has the next call of the operation with a token made at once, if the transaction
// commits, whatever delay the last call requested. The result of a call that is being made is
// dropped, and that call is repeated. It does nothing if the operation has ended or does not
// exist.
func (e *Engine) Resume(ctx context.Context, tx *store.Tx, token string) error {
	id, err := inProgress(ctx, tx, token)
	if err != nil || id == "" {
		return err
	}
	_, err = store.Exec(ctx, tx, "UPDATE operations SET next_at = ?, row_version = row_version + 1 WHERE id = ? AND status = ?",
		store.At(e.config.Now()), id, string(cfn.OperationStatusInProgress))
	if err != nil {
		return fmt.Errorf("resume operation %s: %w", id, err)
	}
	return tx.Wake(ctx, workOperation, id, time.Time{})
}

// InProgressWith reports whether the operation with a token is in progress and was not cancelled.
func (e *Engine) InProgressWith(ctx context.Context, tx *store.Tx, token string) (bool, error) {
	id, err := inProgress(ctx, tx, token)
	return id != "", err
}

// inProgress is the id of the operation with a token, "" if it has ended or was cancelled.
func inProgress(ctx context.Context, tx *store.Tx, token string) (id string, err error) {
	err = store.Query(ctx, tx, &id, "SELECT id FROM operations WHERE token = ? AND status = ? AND NOT cancelled LIMIT 1",
		token, string(cfn.OperationStatusInProgress))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up the operation of a token: %w", err)
	}
	return id, nil
}
