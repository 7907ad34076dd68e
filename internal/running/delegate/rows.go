package delegate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A resourceRow is a resource in an emulator. It exists from before its stack is created until after that is
// deleted. Token is the client request token of the create, by which a create that is repeated finds its own.
type resourceRow struct {
	store.Row `db:"delegated_resources AS r"`

	Token     string     `db:"token,pk"`
	Account   string     `db:"account"`
	Region    string     `db:"region"`
	TypeName  string     `db:"type_name"`
	Endpoint  string     `db:"endpoint"`
	Emulator  string     `db:"emulator"`   // program and version that made it
	StackName string     `db:"stack_name"` // in the emulator
	StackID   string     `db:"stack_id"`   // "" until the stack is created
	Stack     string     `db:"stack"`      // ARN of the stack here, "" for none
	LogicalID string     `db:"logical_id"`
	Claim     string     `db:"claim"` // its name; no other resource has it. "" if the emulator names it
	Physical  string     `db:"physical_id"`
	Primary   string     `db:"identifier"` // the primary identifier
	Marker    string     `db:"marker"`
	Stage     stage      `db:"stage"`
	Reason    string     `db:"reason"` // why it failed
	Kept      string     `db:"kept"`   // properties that may have kept their values
	Model     string     `db:"model" seal:"delegated_resources.model"`
	CreatedAt store.Time `db:"created_at"`
}

// A stage is how far a resource is.
type stage string

const (
	creating stage = "creating" // the stack may not exist
	ready    stage = "ready"
	failing  stage = "failing" // the stack is to be deleted, and the create fails with the reason
	deleting stage = "deleting"
)

func (r *resourceRow) caller() awswire.Caller {
	return awswire.Caller{Place: awswire.Place{Account: r.Account, Region: r.Region}}
}

// owner marks the stack of the row in the emulator: its description.
func (r *resourceRow) owner() string { return "formwork " + r.Marker + " " + hashed(r.Token) }

func (r *resourceRow) model() map[string]any {
	decoder := json.NewDecoder(strings.NewReader(r.Model))
	decoder.UseNumber()
	var model map[string]any
	if decoder.Decode(&model) != nil || model == nil {
		return map[string]any{}
	}
	return model
}

// stackRef names the stack in requests.
func (r *resourceRow) stackRef() string {
	if r.StackID != "" {
		return r.StackID
	}
	return r.StackName
}

func encode(model map[string]any) string {
	text, err := json.Marshal(model) // from JSON
	if err != nil {
		return "{}"
	}
	return string(text)
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:10])
}

const maxStackName = 128

// stackName is the name of the stack of a create: the same for all of its calls.
func stackName(request operation.Request) string {
	name := strings.Trim(request.StackName+"-"+request.LogicalID, "-")
	if name == "" {
		name = "resource"
	}
	hash := hashed(request.Token)[:10]
	return name[:min(len(name), maxStackName-1-len(hash))] + "-" + hash
}

// byToken returns the row of a create, nil if there is none.
func (d *Delegates) byToken(ctx context.Context, token string) (*resourceRow, error) {
	row := &resourceRow{}
	err := store.Get(ctx, d.config.Store.Read(), row, "WHERE token = ?", token)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a delegated resource: %w", err)
	}
	return row, nil
}

// locate returns the row of the resource that a request is about, nil if it was not delegated. The physical id
// of some types is that of several resources: then the properties decide, or the stack.
func (d *Delegates) locate(ctx context.Context, typ *schema.Schema, request operation.Request) (*resourceRow, error) {
	if request.Identifier == "" {
		return nil, nil
	}
	var rows []resourceRow
	err := store.List(ctx, d.config.Store.Read(), &rows, "WHERE (account = ? AND region = ? AND type_name = ? AND (physical_id = ? OR identifier = ?)) ORDER BY created_at LIMIT 100",
		request.Caller.Account, request.Caller.Region, request.Type, request.Identifier, request.Identifier)
	if err != nil {
		return nil, fmt.Errorf("look for a delegated resource: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	best, most := &rows[0], -1
	wanted := ""
	if typ != nil {
		wanted = operation.IdentifierOf(typ, request.Desired)
	}
	for i := range rows {
		r, rank := &rows[i], 0
		if r.Primary == request.Identifier || r.Primary == wanted && wanted != "" {
			rank += 4
		}
		if request.StackID != "" && r.Stack == request.StackID {
			rank++
			if r.LogicalID == request.LogicalID {
				rank++
			}
		}
		if rank > most {
			best, most = r, rank
		}
	}
	return best, nil
}

// each visits all rows, or those of creates that have not ended, the newest first: they need the others.
func (d *Delegates) each(ctx context.Context, unfinished bool, visit func(row *resourceRow) error) error {
	for last := (&resourceRow{}); last != nil; {
		var rows []resourceRow
		var where store.Where
		if unfinished {
			where.And("stage IN (?, ?)", creating, failing)
		}
		if last.Token != "" {
			where.And("(created_at, token) < (?, ?)", last.CreatedAt, last.Token)
		}
		err := store.Query(ctx, d.config.Store.Read(), &rows, "SELECT "+store.Columns[resourceRow]("model")+" FROM delegated_resources "+where.Clause()+" ORDER BY created_at DESC, token DESC LIMIT ?",
			append(where.Args, pageSize)...)
		if err != nil {
			return fmt.Errorf("list delegated resources: %w", err)
		}
		last = nil
		for i := range rows {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			last = &rows[i]
			if err := visit(last); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachUnused visits the markers that are no longer used.
func (d *Delegates) eachUnused(ctx context.Context, visit func(m *markerRow)) error {
	for last := ""; ; {
		var markers []markerRow
		if err := store.List(ctx, d.config.Store.Read(), &markers, "WHERE state = ? AND id > ? ORDER BY id LIMIT ?", markerUnused, last, pageSize); err != nil {
			return fmt.Errorf("list the markers of emulators: %w", err)
		}
		for i := range markers {
			last = markers[i].ID
			visit(&markers[i])
		}
		if len(markers) < pageSize {
			return nil
		}
	}
}

// A takenError reports that a resource of this server has the name.
type takenError struct{ claim string }

func (e *takenError) Error() string { return "the name " + e.claim + " is taken" }

// insert writes a new row, which counts with its marker. It reports false if the marker is no longer in use.
func (d *Delegates) insert(ctx context.Context, row *resourceRow) (counted bool, err error) {
	err = d.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		counted = false
		if row.Claim != "" {
			taken, err := store.Count(ctx, tx, "FROM delegated_resources WHERE endpoint = ? AND account = ? AND region = ? AND type_name = ? AND claim = ?",
				row.Endpoint, row.Account, row.Region, row.TypeName, row.Claim)
			if err != nil {
				return err
			}
			if taken > 0 {
				return &takenError{row.Claim}
			}
		}
		written, err := store.Exec(ctx, tx, "UPDATE delegated_markers SET resources = resources + 1 WHERE id = ? AND state = ?", row.Marker, markerReady)
		if err != nil {
			return err
		}
		if written == 0 {
			return nil // another marker is needed
		}
		counted = true
		return store.Insert(ctx, tx, row)
	})
	var taken *takenError
	if err != nil && !errors.As(err, &taken) {
		return false, fmt.Errorf("write a delegated resource: %w", err)
	}
	return counted, err
}

// save writes columns of a row.
func (d *Delegates) save(ctx context.Context, row *resourceRow, columns ...string) error {
	err := d.config.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		return store.Update(ctx, tx, row, columns...)
	})
	if errors.Is(err, store.ErrStale) {
		return nil // another call has deleted it
	}
	if err != nil {
		return fmt.Errorf("write a delegated resource: %w", err)
	}
	return nil
}

// forget deletes the row of a resource that no longer exists, after the files that were copied for it, and the marker
// with the last one.
func (d *Delegates) forget(ctx context.Context, e *emulator, row *resourceRow) error {
	if err := d.unstage(ctx, e, row); err != nil {
		return err
	}
	err := d.config.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		written, err := store.Exec(ctx, tx, "DELETE FROM delegated_resources WHERE token = ?", row.Token)
		if err != nil || written == 0 {
			return err // another call has deleted it
		}
		if _, err := store.Exec(ctx, tx, "UPDATE delegated_markers SET resources = resources - 1 WHERE id = ?", row.Marker); err != nil {
			return err
		}
		_, err = store.Exec(ctx, tx, "UPDATE delegated_markers SET state = ? WHERE id = ? AND resources <= 0", markerUnused, row.Marker)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget a delegated resource: %w", err)
	}
	return d.dropMarker(ctx, e, row.Marker)
}

// A markerRow is a stack in an emulator that shows that the emulator still has what was made in it.
type markerRow struct {
	store.Row `db:"delegated_markers AS m"`

	ID        string      `db:"id,pk"`
	Endpoint  string      `db:"endpoint"`
	Account   string      `db:"account"`
	Region    string      `db:"region"`
	State     markerState `db:"state"`
	Resources int64       `db:"resources"`
}

type markerState string

const (
	markerNew    markerState = "new" // its stack may not exist
	markerReady  markerState = "ready"
	markerLost   markerState = "lost"   // the emulator forgot it, and all that was made beside it
	markerUnused markerState = "unused" // its stack is to be deleted
)

func (m *markerRow) stackName() string { return "formwork-marker-" + m.ID }

// marker returns the marker for new resources of a place, whose stack exists.
func (d *Delegates) marker(ctx context.Context, e *emulator, caller awswire.Caller) (*markerRow, error) {
	client := e.cloudFormation(caller)
	for range 5 { // others may change it
		m, err := d.currentMarker(ctx, e, caller)
		if err != nil {
			return nil, err
		}
		found, err := e.settle(ctx, client, m.stackName())
		switch {
		case err != nil:
			return nil, err
		case found != nil && m.State == markerReady:
			return m, nil
		case found == nil && m.State == markerReady:
			if err := d.lose(ctx, e, m); err != nil {
				return nil, err
			}
			continue
		case found == nil:
			if err := e.createMarker(ctx, client, m); err != nil {
				return nil, err
			}
		}
		if err := d.setMarker(ctx, m, markerReady); err != nil {
			return nil, err
		}
		return m, nil
	}
	return nil, faultf(serviceInternalError, "The emulator at %s does not keep stacks.", e.url)
}

// currentMarker returns the marker in use, or makes one.
func (d *Delegates) currentMarker(ctx context.Context, e *emulator, caller awswire.Caller) (*markerRow, error) {
	m := &markerRow{}
	err := d.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		*m = markerRow{}
		err := store.Get(ctx, tx, m, "WHERE endpoint = ? AND account = ? AND region = ? AND state IN (?, ?) ORDER BY id LIMIT 1",
			e.url, caller.Account, caller.Region, markerNew, markerReady)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails
		*m = markerRow{ID: hex.EncodeToString(id[:]), Endpoint: e.url, Account: caller.Account, Region: caller.Region, State: markerNew}
		return store.Insert(ctx, tx, m)
	})
	if err != nil {
		return nil, fmt.Errorf("look for the marker of an emulator: %w", err)
	}
	return m, nil
}

// setMarker changes the state of a marker.
func (d *Delegates) setMarker(ctx context.Context, m *markerRow, to markerState) error {
	m.State = to
	err := d.config.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "UPDATE delegated_markers SET state = ? WHERE id = ? AND state <> ?", to, m.ID, markerUnused)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the marker of an emulator: %w", err)
	}
	return nil
}

// lose notes that an emulator has forgotten what was made in it.
func (d *Delegates) lose(ctx context.Context, e *emulator, m *markerRow) error {
	d.config.Logger.WarnContext(ctx, "the emulator was restarted or reset; resources that were made in it are lost", "url", e.url, "account", m.Account, "region", m.Region, "resources", m.Resources)
	return d.setMarker(ctx, m, markerLost)
}

// lost reports whether the emulator has forgotten what was made together with a row, and how many resources that are.
func (d *Delegates) lost(ctx context.Context, e *emulator, row *resourceRow) (resources int64, lost bool, err error) {
	m := &markerRow{}
	err = store.Get(ctx, d.config.Store.Read(), m, "WHERE id = ?", row.Marker)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 1, true, nil
	case err != nil:
		return 0, false, fmt.Errorf("look for the marker of an emulator: %w", err)
	case m.State == markerLost:
		return m.Resources, true, nil
	}
	found, err := e.find(ctx, e.cloudFormation(row.caller()), m.stackName())
	if err != nil || found != nil {
		return 0, false, err
	}
	return m.Resources, true, d.lose(ctx, e, m)
}

// dropMarker deletes a marker that is no longer used.
func (d *Delegates) dropMarker(ctx context.Context, e *emulator, id string) error {
	m := &markerRow{}
	err := store.Get(ctx, d.config.Store.Read(), m, "WHERE id = ?", id)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && m.State != markerUnused:
		return nil
	case err != nil:
		return fmt.Errorf("look for the marker of an emulator: %w", err)
	}
	caller := awswire.Caller{Place: awswire.Place{Account: m.Account, Region: m.Region}}
	if err := e.deleteStack(ctx, e.cloudFormation(caller), m.stackName()); err != nil {
		return err
	}
	if err := e.deleteBucket(ctx, e.s3(strayCaller), responses); err != nil {
		return err
	}
	err = d.config.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "DELETE FROM delegated_markers WHERE state = ? AND id = ?", markerUnused, m.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the marker of an emulator: %w", err)
	}
	return nil
}

// lostFault is what an operation on a resource ends with that an emulator has forgotten.
func lostFault(e *emulator, resources int64) *fault {
	return faultf(invoke.NotFound, "The emulator at %s was restarted or reset; the %d resources that were made in it are lost.", e.url, resources)
}
