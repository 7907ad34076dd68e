package customresource

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The statuses of a request.
const (
	waiting  = "WAITING"  // for its response
	answered = "ANSWERED" // response has it
	gaveUp   = "GAVE_UP"  // nothing is left that could answer; response has the reason
)

// The states of the invocation of a request.
const (
	queued  = "QUEUED"  // it is to be made, at next_at at the earliest
	running = "RUNNING" // it was begun; if its worker was interrupted, it is begun again
	over    = "OVER"    // no further invocation is made
)

// A row is the request of one operation on a custom resource.
type row struct {
	store.Row `db:"custom_requests AS c"`

	Token         string     `db:"token,pk"` // of the operation
	SignatureHash string     `db:"signature_hash"`
	Account       string     `db:"account"`
	Region        string     `db:"region"`
	Status        string     `db:"status"`
	Invocation    string     `db:"invocation"`
	Failures      int64      `db:"failures"` // invocations in which the function failed
	NextAt        store.Time `db:"next_at"`
	DeadlineAt    store.Time `db:"deadline_at"` // of the response
	CreatedAt     store.Time `db:"created_at"`
	RowVersion    int64      `db:"row_version"`

	Request  string `db:"request" seal:"custom_requests.request"`   // an order
	Response string `db:"response" seal:"custom_requests.response"` // the body, or the reason of gaveUp
}

// An order is the immutable part of a request.
type order struct {
	Request   Request // without the ResponseURL
	Signature string
	Timeout   time.Duration
	Local     bool     `json:",omitempty"` // only processes of this server get it, which end with it
	AccessKey string   `json:",omitempty"` // of the caller
	Secrets   []string `json:",omitempty"` // values that no log may have
}

func (r *row) place() awswire.Place { return awswire.Place{Account: r.Account, Region: r.Region} }

func (r *row) order() (*order, error) {
	o := &order{}
	if err := json.Unmarshal([]byte(r.Request), o); err != nil {
		return nil, fmt.Errorf("cannot read a request of a custom resource: %T", err) // the error would show a piece of it
	}
	return o, nil
}

// keepRequests is how long a request is known: longer than any operation lasts.
const keepRequests = 48 * time.Hour

// Expire forgets the requests of two days ago.
func (p *Provider) Expire(ctx context.Context, now time.Time) error {
	if err := p.config.Store.DeleteInBatches(ctx, "custom_requests", "token", "created_at < ?", store.At(now.Add(-keepRequests))); err != nil {
		return fmt.Errorf("forget old requests of custom resources: %w", err)
	}
	return nil
}
