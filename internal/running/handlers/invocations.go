package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	recordAfter  = 250 * time.Millisecond // how long calls wait for others, to be written together
	mostRecorded = 64 << 10               // of a request or a reply, in bytes
	mostRead     = 1 << 20                // of a request or a reply that is looked into for secrets
	mostWaiting  = 16 << 20               // of calls that wait to be written; more are not recorded
	pruneAfter   = 200                    // calls
)

// An Invocation is one call of a handler that is over. Secrets are hidden in its texts.
type Invocation struct {
	store.Row `db:"invocations AS i"`

	ID       string      `db:"id,pk"` // Lambda's request ID
	Account  string      `db:"account"`
	Region   string      `db:"region"`
	Kind     schema.Kind `db:"kind"`
	TypeName string      `db:"type_name"`
	Version  string      `db:"version"`

	Action  string `db:"action"`                             // "CREATE", "CREATE_PRE_PROVISION"; "" if the request has none
	Status  string `db:"status"`                             // of the progress event; "ANSWERED" if it was none, "ERROR" without a reply
	Error   string `db:"error"`                              // why there is no reply; "" if there is one
	Request string `db:"request" seal:"invocations.request"` // indented JSON, of which the end may be missing
	Reply   string `db:"reply" seal:"invocations.reply"`     // likewise; may be ""

	ErrorCode string `db:"-"` // of a progress event with FAILED, if Reply contains it
	Message   string `db:"-"` // likewise

	// Token is the client request token, which all calls of one operation have; Identifier is
	// the resource's, its parts joined with "|", if the call contains it. StackID is an ARN.
	Token      string `db:"token"`
	Identifier string `db:"identifier"`
	StackID    string `db:"stack_id"`
	LogicalID  string `db:"logical_id"`

	LogGroup  string        `db:"log_group"`
	LogStream string        `db:"log_stream"`
	Duration  time.Duration `db:"-"`
	Micros    int64         `db:"duration"` // stored Duration
	StartedAt store.Time    `db:"started_at"`
}

// complete sets what follows from the columns.
func (i *Invocation) complete() {
	i.Duration = time.Duration(i.Micros) * time.Microsecond
	if i.Status == "FAILED" {
		i.ErrorCode, i.Message = reason(i.Reply)
	}
}

// reason reads why a progress event failed. Its text may have lost its end.
func reason(reply string) (code, message string) {
	d := json.NewDecoder(strings.NewReader(reply))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return "", ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		var value any
		if d.Decode(&value) != nil {
			break
		}
		text, _ := value.(string)
		switch key {
		case "errorCode":
			code = text
		case "message":
			message = text
		}
	}
	return code, message
}

// An InvocationQuery selects calls of a place. Empty fields match all.
type InvocationQuery struct {
	awswire.Place // always of one place

	Kind     schema.Kind
	TypeName string // as in the schema, not the alias of an activated type
	Version  string
	Search   string // is part of the type's name, ignoring case
	Action   string
	Failed   bool // only those that failed or had no reply

	Token     string // of the operation
	StackID   string
	LogicalID string

	// BeforeTime and BeforeID are StartedAt and ID of the last call of the previous page; the
	// zero time is the first page.
	BeforeTime time.Time
	BeforeID   string

	Limit int
}

// Invocations lists calls, the latest first. Request and Reply are empty; [Pool.Invocation]
// has them.
func (p *Pool) Invocations(ctx context.Context, q InvocationQuery) ([]Invocation, error) {
	var list []Invocation
	var where store.Where
	where.And("account = ? AND region = ?", q.Account, q.Region)
	for _, only := range []struct{ condition, value string }{
		{"kind = ?", string(q.Kind)}, {"type_name = ?", q.TypeName}, {"version = ?", q.Version}, {"action = ?", q.Action},
		{"token = ?", q.Token}, {"stack_id = ?", q.StackID}, {"logical_id = ?", q.LogicalID},
	} {
		if only.value != "" {
			where.And(only.condition, only.value)
		}
	}
	if q.Search != "" {
		literal := strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(q.Search))
		where.And("lower(type_name) LIKE ? ESCAPE '!'", "%"+literal+"%")
	}
	if q.Failed {
		where.And("status IN ('FAILED', 'ERROR')")
	}
	if at := store.At(q.BeforeTime); !at.IsZero() {
		where.And("(started_at < ? OR started_at = ? AND id < ?)", at, at, q.BeforeID)
	}
	columns := store.Columns[Invocation]("request", "reply") + ", CASE WHEN status = 'FAILED' THEN reply ELSE '' END AS reply"
	err := store.Query(ctx, p.config.Store.Read(), &list, "SELECT "+columns+" FROM invocations "+where.Clause()+" ORDER BY started_at DESC, id DESC LIMIT ?", append(where.Args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list the calls of handlers: %w", err)
	}
	for i := range list {
		list[i].complete()
		list[i].Reply = ""
	}
	return list, nil
}

// Invocation returns one call of a place; nil for one that is not kept, or not any more.
func (p *Pool) Invocation(ctx context.Context, place awswire.Place, id string) (*Invocation, error) {
	var list []Invocation
	err := store.List(ctx, p.config.Store.Read(), &list, "WHERE i.id = ? AND i.account = ? AND i.region = ?", id, place.Account, place.Region)
	if err != nil {
		return nil, fmt.Errorf("read a call of a handler: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	list[0].complete()
	return &list[0], nil
}

// A call is one that is to be recorded.
type call struct {
	spec    bundle.Spec
	secrets *secrets
	started time.Time
	request []byte
	result  lambda.Result
	err     error
}

// recorder writes calls into the store, many at a time and not while a caller waits.
type recorder struct {
	store  *store.Store
	logger *slog.Logger
	now    func() time.Time
	keep   int
	age    time.Duration
	life   context.Context // of what is written; it ends some time after close
	end    context.CancelFunc
	kick   chan struct{}
	done   chan struct{}

	mu       sync.Mutex
	waiting  []call
	bytes    int
	lost     int // calls that came faster than they could be written
	busy     bool
	finished bool
	pruned   int // calls since something was pruned; belongs to run
}

func newRecorder(c Config) *recorder {
	life, end := context.WithCancel(context.Background())
	r := &recorder{
		life: life, end: end,
		store: c.Store, logger: c.Logger, now: c.Now, keep: c.KeepInvocations, age: c.KeepFor,
		kick: make(chan struct{}, 1), done: make(chan struct{}), pruned: pruneAfter,
	}
	go r.run()
	return r
}

// record queues a call of a handler.
func (r *recorder) record(c call) {
	if c.result.RequestID == "" || r.keep < 0 {
		return
	}
	c.result.Log = nil
	size := len(c.request) + len(c.result.Payload) + 1024
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return
	}
	if r.bytes+size > mostWaiting {
		r.lost++
		return
	}
	r.waiting = append(r.waiting, c)
	r.bytes += size
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *recorder) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting) == 0 && !r.busy
}

func (r *recorder) close() {
	r.mu.Lock()
	first := !r.finished
	r.finished = true
	r.mu.Unlock()
	if first {
		close(r.kick)
	}
	timer := time.AfterFunc(lastFlush, r.end)
	defer timer.Stop()
	<-r.done
}

func (r *recorder) run() {
	defer close(r.done)
	defer r.end()
	for range r.kick {
		timer := time.NewTimer(recordAfter)
		select {
		case <-timer.C:
		case <-r.kick: // more, or the end
			r.gather(timer.C)
		}
		timer.Stop()
		r.flush()
	}
	r.flush()
}

// gather waits for the timer, or the end.
func (r *recorder) gather(timer <-chan time.Time) {
	for {
		select {
		case <-timer:
			return
		case _, more := <-r.kick:
			if !more {
				return
			}
		}
	}
}

// flush writes what is queued. Calls that cannot be written are lost: they are for people
// to look at.
func (r *recorder) flush() {
	r.mu.Lock()
	calls, lost := r.waiting, r.lost
	r.waiting, r.bytes, r.lost, r.busy = nil, 0, 0, true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy = false
		r.mu.Unlock()
	}()
	if lost > 0 {
		r.logger.Warn("calls of handlers were not recorded: they came too fast", "calls", lost)
	}
	const batch = 50
	for len(calls) > 0 {
		n := min(batch, len(calls))
		rows := make([]Invocation, n)
		for i, c := range calls[:n] {
			rows[i] = c.row()
		}
		err := r.store.Write(r.life, func(ctx context.Context, tx *store.Tx) error {
			_, err := store.InsertOr(ctx, tx, "ON CONFLICT (id) DO NOTHING", store.Pointers(rows)...)
			return err
		})
		if err != nil {
			r.logger.Warn("calls of handlers cannot be recorded", "calls", n, "error", err)
		}
		calls = calls[n:]
		r.pruned += n
	}
	if r.pruned > pruneAfter {
		r.pruned = 0
		if err := r.prune(r.life); err != nil {
			r.logger.Warn("old calls of handlers cannot be removed", "error", err)
		}
	}
}

// prune removes what is too old and what is too much.
func (r *recorder) prune(ctx context.Context) error {
	return r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		oldest := store.At(r.now().Add(-r.age))
		if _, err := store.Exec(ctx, tx, "DELETE FROM invocations WHERE started_at < ?", oldest); err != nil {
			return err
		}
		_, err := store.Exec(ctx, tx, "DELETE FROM invocations WHERE started_at <= (SELECT started_at FROM invocations ORDER BY started_at DESC LIMIT 1 OFFSET ?)",
			r.keep)
		return err
	})
}

// row is the stored call.
func (c call) row() Invocation {
	row := Invocation{
		ID: c.result.RequestID, Account: c.spec.Account, Region: c.spec.Region, Kind: c.spec.Kind, TypeName: c.spec.TypeName, Version: c.spec.Version,
		Action: c.action(), Status: c.status(), Request: c.show(c.request),
		LogGroup: logGroup(c.spec), LogStream: c.result.LogStream,
		Micros: c.result.Duration.Microseconds(), StartedAt: store.At(c.started),
	}
	c.place(&row)
	if c.err != nil {
		row.Error = words.Cut(clean(c.secrets.text(c.err.Error())), mostRecorded)
	} else {
		row.Reply = c.show(c.result.Payload)
	}
	return row
}

// place sets the operation and the resource of a call.
func (c call) place(row *Invocation) {
	var request struct {
		Token   string `json:"bearerToken"`
		Hook    string `json:"clientRequestToken"`
		StackID string `json:"stackId"`
		Data    struct {
			LogicalID string `json:"logicalResourceId"`
			Model     any    `json:"resourceProperties"`
		} `json:"requestData"`
	}
	if len(c.request) > mostRead || decode(c.request, &request) != nil {
		return
	}
	token := request.Token
	if token == "" {
		token = request.Hook
	}
	row.Token, row.StackID, row.LogicalID = key(token), key(request.StackID), key(request.Data.LogicalID)
	var reply struct {
		Model any `json:"resourceModel"`
	}
	if len(c.result.Payload) <= mostRead {
		_ = decode(c.result.Payload, &reply) // the request may still contain it
	}
	for _, model := range []any{reply.Model, request.Data.Model} {
		if text := c.identifier(model); text != "" {
			row.Identifier = key(c.secrets.text(text))
			return
		}
	}
}

// decode reads JSON with its numbers as written.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// key is a text by which calls are found: the limit only prevents flooding of the store.
func key(text string) string {
	const longest = 2048
	if text = clean(text); len(text) > longest {
		return ""
	}
	return text
}

// identifier is the primary identifier of a model, "" if the model does not have all of it.
func (c call) identifier(model any) string {
	s := c.secrets.config.Schema
	if s == nil || model == nil {
		return ""
	}
	values, ok := schema.Identifier(model, s.PrimaryIdentifier)
	if !ok {
		return ""
	}
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, "|")
}

func (c call) action() string {
	var request struct {
		Action string `json:"action"`
		Point  string `json:"actionInvocationPoint"`
	}
	if json.Unmarshal(c.request, &request) != nil {
		return ""
	}
	if request.Action == "" {
		request.Action = request.Point
	}
	return diag.Cut(clean(request.Action))
}

func (c call) status() string {
	if c.err != nil {
		return "ERROR"
	}
	var event struct {
		Status string `json:"status"`
		Hook   string `json:"hookStatus"`
	}
	if json.Unmarshal(c.result.Payload, &event) == nil {
		for _, status := range []string{event.Status, event.Hook} {
			switch status {
			case "SUCCESS", "FAILED", "IN_PROGRESS", "PENDING":
				return status
			}
		}
	}
	return "ANSWERED"
}

// show is a request or a reply without secrets, within the bounds of a row.
func (c call) show(payload []byte) string {
	if len(payload) > mostRead {
		return fmt.Sprintf("(%d bytes)", len(payload))
	}
	return words.Cut(clean(c.secrets.json(payload)), mostRecorded)
}
