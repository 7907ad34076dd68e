package invoke

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// Defaults of Config.
const (
	DefaultRegion    = "us-east-1"
	DefaultAccountID = "000000000000"

	// The limits of the handler contract on a single call.
	MutatingCallTimeout = 60 * time.Second // create, update, delete, hooks
	ReadingCallTimeout  = 30 * time.Second // read and list
)

// Config sets up a [Runner]. Only Function must be set.
type Config struct {
	Function Function

	// Schema of the type: what models are recast and pruned by, which values are secret,
	// and how long an operation may take. Nil means that none of this is known.
	Schema *schema.Schema

	// Credentials for the handler. Nil means [Dummy].
	Credentials Source

	// LogGroup and LogCredentials let the handler's library deliver its log. Both empty
	// means that it does not. Nil LogCredentials are the same as Credentials.
	LogGroup       string
	LogCredentials Source

	// Region and AccountID are passed to the handler. Empty means [DefaultRegion] and
	// [DefaultAccountID].
	Region    string
	AccountID string

	// Wire is the encoding of scalars. Empty means WireTyped.
	Wire Wire

	// TestEntrypoint sends the requests of the function TestEntrypoint, which handlers
	// in Java, Python and TypeScript have. False means those of TypeFunction.
	TestEntrypoint bool

	// MaxReinvoke bounds how often a handler is called again. Zero means without bound;
	// a negative value means never.
	MaxReinvoke int

	// CallTimeout bounds a single call. Zero means the limits of the handler contract,
	// [MutatingCallTimeout] and [ReadingCallTimeout]; a negative value means none.
	CallTimeout time.Duration

	// Timeout bounds the operation as a whole, waiting included. Zero means
	// timeoutInMinutes of the handler in the schema, 120 minutes if it has none; a
	// negative value means none.
	Timeout time.Duration

	// BeforeCall and AfterCall, if not nil, see every call. An error of AfterCall ends
	// the operation and is what Run returns.
	BeforeCall func(*Call)
	AfterCall  func(*Call) error

	// Redactor is what calls are shown through. Nil means one of the operation's own.
	Redactor *Redactor

	// Sleep waits between calls; it returns early with the error of a context that ends.
	// Nil means to wait in real time.
	Sleep func(context.Context, time.Duration) error

	// NewToken makes client request tokens. Nil means random UUIDs.
	NewToken func() string

	// Now is the clock of calls. Nil means time.Now.
	Now func() time.Time
}

// A Call is one call of the function within an operation. What it shows is free of
// secrets: credentials, write-only values of models, values of the type configuration.
type Call struct {
	Index    int // from 0
	Action   Action
	Start    time.Time
	Duration time.Duration // zero before the call
	Event    *Event        // nil on failure, see Err
	Err      error         // nil, or a *CallError, *ProtocolError or *TimeoutError
	Delay    time.Duration // until the next call; zero if it is the last

	payload, reply, log []byte
	redactor            *Redactor
}

// Request is the payload as sent, secrets hidden, indented by two spaces.
func (c *Call) Request() []byte { return c.redactor.JSON(c.payload) }

// Response is the reply as received, secrets hidden. It is indented by two spaces if it is
// JSON, and cut to a few hundred bytes otherwise. Nil if the function did not reply.
func (c *Call) Response() []byte {
	if c.reply == nil {
		return nil
	}
	return c.redactor.JSON(c.reply)
}

// Log is what the handler wrote during the call, secrets hidden. Empty if it wrote nothing or
// its function does not return a log.
func (c *Call) Log() string { return c.redactor.Text(string(c.log)) }

// Message is the message of the event, secrets hidden.
func (c *Call) Message() string {
	if c.Event == nil {
		return ""
	}
	return c.redactor.Text(c.Event.Message)
}

// Failure is the text of Err, secrets hidden. Empty if there was none.
func (c *Call) Failure() string {
	if c.Err == nil {
		return ""
	}
	return c.redactor.Text(c.Err.Error())
}

// A Runner carries out operations. It may be used by several goroutines if its Function
// may.
type Runner struct{ cfg Config }

// New makes a Runner.
func New(cfg Config) *Runner {
	if cfg.Credentials == nil {
		cfg.Credentials = Dummy
	}
	if cfg.LogCredentials == nil {
		cfg.LogCredentials = cfg.Credentials
	}
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if cfg.AccountID == "" {
		cfg.AccountID = DefaultAccountID
	}
	if cfg.Sleep == nil {
		cfg.Sleep = Sleep
	}
	if cfg.NewToken == nil {
		cfg.NewToken = NewToken
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Runner{cfg: cfg}
}

// Payload is the request of the first call of an operation, as it would be sent, with
// all its secrets. Nothing is called.
func (r *Runner) Payload(ctx context.Context, req Request) ([]byte, error) {
	req, err := r.complete(req)
	if err != nil {
		return nil, err
	}
	now := state{model: req.Model, context: req.CallbackContext}
	if err := r.refresh(ctx, &now); err != nil {
		return nil, err
	}
	return r.payload(&req, now)
}

// Run calls the handler until it reports that the operation is finished. Every call has the
// same client request token and fresh credentials; every call but the first has the callback
// context and the model of the previous event.
//
//	event             err                meaning
//	terminal          nil                the handler finished; inspect Status
//	nil or last one   *CallError         a call was not answered
//	nil or last one   *ProtocolError     a call was answered with something else than a
//	                                     progress event
//	in progress       *ProtocolError     READ or LIST answered IN_PROGRESS, or the
//	                                     handler asked not to be called back
//	nil or last one   *TimeoutError      a call or the operation took too long
//	in progress       ErrReinvokeLimit   MaxReinvoke was reached
//	nil or last one   of ctx             ctx ended; wraps its error
//	nil or last one   other              credentials, AfterCall or the request failed
//
// "Last one" is the last IN_PROGRESS event, if there was one: its model is the last that
// was heard of the resource.
//
// A caller whose waiting must survive a restart sets MaxReinvoke to -1, keeps the event
// that comes with ErrReinvokeLimit, and after its CallbackDelay runs the same Request
// again, with its Token and the event's CallbackContext and Model in it.
func (r *Runner) Run(ctx context.Context, req Request) (*Event, error) {
	req, err := r.complete(req)
	if err != nil {
		return nil, err
	}
	if r.cfg.Redactor == nil {
		own := *r
		own.cfg.Redactor = NewRedactor(r.cfg.Schema)
		r = &own
	}
	limit := r.operationTimeout(req.Action)
	over := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		over, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	now := state{model: req.Model, context: req.CallbackContext}
	var last *Event
	for index := 0; ; index++ {
		event, delay, err := r.call(over, &req, now, index)
		if event != nil {
			last = event
		}
		if err == nil && event.Terminal() {
			return event, nil
		}
		if err == nil && delay > 0 {
			err = r.wait(over, delay)
		}
		if err != nil {
			return last, r.explain(ctx, over, err, &TimeoutError{Action: req.Action, Call: index + 1, Operation: true, Limit: limit, Delay: delay})
		}
		now.context = event.CallbackContext
		if event.Model != nil {
			now.model = event.Model
		}
	}
}

// call makes one call and returns its event and how long to wait after it.
func (r *Runner) call(ctx context.Context, req *Request, now state, index int) (*Event, time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if err := r.refresh(ctx, &now); err != nil {
		return nil, 0, err
	}
	payload, err := r.payload(req, now)
	if err != nil {
		return nil, 0, err
	}
	r.cfg.Redactor.learn(payload)
	c := &Call{Index: index, Action: req.Action, Start: r.cfg.Now(), payload: payload, redactor: r.cfg.Redactor}
	if r.cfg.BeforeCall != nil {
		r.cfg.BeforeCall(c)
	}
	c.reply, c.log, c.Err = r.send(ctx, req.Action, index, payload)
	c.Duration = r.cfg.Now().Sub(c.Start)
	if c.Err == nil {
		if c.Event, c.Err = r.read(c.reply, req.Action, index); c.Event != nil {
			c.Event.Raised = r.cfg.Redactor.Text(Raised(c.Event, string(c.log)))
		}
	} else if c.reply != nil {
		c.Event, _ = r.read(c.reply, req.Action, index) // too late, but it may contain an identifier
	}
	if c.Err == nil && !c.Event.Terminal() {
		c.Delay, c.Err = r.next(c.Event, req.Action, index)
	}
	if r.cfg.AfterCall != nil {
		if err := r.cfg.AfterCall(c); err != nil {
			return c.Event, 0, err
		}
	}
	return c.Event, c.Delay, c.Err
}

// send calls the function within the limit of a call.
func (r *Runner) send(ctx context.Context, action Action, index int, payload []byte) (reply, log []byte, err error) {
	limit := r.callTimeout(action)
	within := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if logged, ok := r.cfg.Function.(LoggedFunction); ok {
		reply, log, err = logged.CallLogged(within, payload)
	} else {
		reply, err = r.cfg.Function.Call(within, payload)
	}
	switch {
	case err == nil && within.Err() == nil:
		return reply, log, nil
	case err == nil && ctx.Err() == nil: // in spite of its context
		return reply, log, &TimeoutError{Action: action, Call: index + 1, Limit: limit}
	case ctx.Err() != nil:
		return nil, log, ctx.Err()
	case within.Err() != nil:
		return nil, log, &TimeoutError{Action: action, Call: index + 1, Limit: limit}
	}
	return nil, log, &CallError{Action: action, Call: index + 1, Err: err}
}

// read decodes a reply and puts the call into its errors.
func (r *Runner) read(reply []byte, action Action, index int) (*Event, error) {
	r.cfg.Redactor.learnReply(reply)
	event, err := decode(reply, action, r.cfg.Schema, r.cfg.Redactor.Text)
	var broken *ProtocolError
	if errors.As(err, &broken) {
		broken.Action, broken.Call = action, index+1
		broken.Reason = r.cfg.Redactor.Text(broken.Reason)
	}
	return event, err
}

// next returns how long to wait after an event that is in progress, or why there is no next
// call.
func (r *Runner) next(event *Event, action Action, index int) (time.Duration, error) {
	broken := func(reason string) error {
		return &ProtocolError{Action: action, Call: index + 1, Reason: reason}
	}
	switch {
	case action.Synchronous():
		return 0, broken(fmt.Sprintf("it answered IN_PROGRESS; %s has to finish in one call", action))
	case event.CallbackDelay < 0:
		return 0, broken("it answered IN_PROGRESS with a negative callbackDelaySeconds, which asks not to be called again")
	case r.cfg.MaxReinvoke < 0, r.cfg.MaxReinvoke > 0 && index >= r.cfg.MaxReinvoke:
		return 0, ErrReinvokeLimit
	}
	return event.CallbackDelay, nil
}

// wait sleeps, unless the operation would be over before the next call.
func (r *Runner) wait(ctx context.Context, delay time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return context.DeadlineExceeded
	}
	return r.cfg.Sleep(ctx, delay)
}

// explain turns the end of a context into what it means: the caller gave up, or the time
// of the operation was over.
func (r *Runner) explain(ctx, over context.Context, err error, late *TimeoutError) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s was interrupted after %d calls: %w", late.Action, late.Call, ctx.Err())
	}
	if _, bounded := over.Deadline(); bounded && late.Limit > 0 {
		return late
	}
	return err
}

func (r *Runner) refresh(ctx context.Context, now *state) error {
	caller, err := r.cfg.Credentials.Credentials(ctx)
	if err != nil {
		return fmt.Errorf("credentials for the handler: %w", err)
	}
	now.credentials = &caller
	if r.cfg.LogGroup == "" {
		return nil
	}
	log, err := r.cfg.LogCredentials.Credentials(ctx)
	if err != nil {
		return fmt.Errorf("credentials for the log of the handler: %w", err)
	}
	now.log = &log
	return nil
}

func (r *Runner) callTimeout(action Action) time.Duration {
	switch {
	case r.cfg.CallTimeout != 0:
		return r.cfg.CallTimeout
	case action.Synchronous():
		return ReadingCallTimeout
	}
	return MutatingCallTimeout
}

func (r *Runner) operationTimeout(action Action) time.Duration {
	if r.cfg.Timeout != 0 {
		return r.cfg.Timeout
	}
	minutes := 120
	if r.cfg.Schema != nil {
		if h := r.cfg.Schema.Handler(action.Handler()); h != nil && h.TimeoutInMinutes > 0 {
			minutes = h.TimeoutInMinutes
		}
	}
	return time.Duration(minutes) * time.Minute
}

// Sleep waits in real time; it returns early with the error of a context that ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewToken makes a random UUID (version 4).
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
