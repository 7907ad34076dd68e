package customtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// Defaults of Sender.
const (
	DefaultTimeout = time.Minute
	defaultLate    = 5 * time.Second
	defaultGrace   = 5 * time.Second
)

// A Sender sends requests to a handler. Function and Receiver must be set.
type Sender struct {
	Function invoke.LoggedFunction
	Receiver *Receiver

	// Timeout is how long a response is waited for, and the time limit that the handler
	// receives. Zero means DefaultTimeout.
	Timeout time.Duration

	// Late is how much longer an invocation may run than Timeout, to find out whether the
	// response comes late or never. Zero means five seconds.
	Late time.Duration

	// Grace is how long an invocation may run on after the response. Zero means five seconds.
	Grace time.Duration

	// Wait means that the response may come after the invocation has returned, from something
	// that the handler has started. Otherwise a missing response is reported at once.
	Wait bool

	Now func() time.Time // nil means time.Now
}

// An Exchange is a request to a handler and what came of it.
type Exchange struct {
	Request    *customresource.Request
	Sent       []byte                   // the request as sent
	Body       []byte                   // of the first response, cut after 4,097 bytes; nil without one
	Response   *customresource.Response // nil if none was valid
	Violations customresource.Violations
	Reply, Log []byte // of the invocation
	Err        error  // of the invocation
	Start      time.Time
	Duration   time.Duration

	mode mode
	hung bool // the invocation had to be stopped
	slot *customresource.Slot
	seen int // deliveries at the URL before this exchange
}

// errHung is why an invocation was stopped that did not return.
var errHung = errors.New("the invocation did not return in time and was stopped")

// errHeld is why an invocation was stopped whose response is held back.
var errHeld = errors.New("the invocation was stopped at its time limit")

// An announced context has a deadline that the function receives and that does not end it.
type announced struct {
	context.Context
	at time.Time
}

func (a announced) Deadline() (time.Time, bool) { return a.at, true }

func (s *Sender) complete() {
	for field, value := range map[*time.Duration]time.Duration{&s.Timeout: DefaultTimeout, &s.Late: defaultLate, &s.Grace: defaultGrace} {
		if *field == 0 {
			*field = value
		}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
}

// Send sends a request, and sets its ResponseURL. The error is ctx's, or that of a handler that
// cannot be called at all; a handler that fails is not an error.
func (s *Sender) Send(ctx context.Context, request *customresource.Request) (*Exchange, error) {
	s.complete()
	slot, err := s.Receiver.open(request, s.Timeout)
	if err != nil {
		return nil, err
	}
	defer slot.Close()
	return s.exchange(ctx, request, slot, answered)
}

// A mode is what happens to responses.
type mode int

const (
	answered mode = iota
	held          // they are not answered: the invocation is stopped when one arrives
	refused       // they come too late: the URL has expired
)

// exchange sends a request that has a URL.
func (s *Sender) exchange(ctx context.Context, request *customresource.Request, slot *customresource.Slot, how mode) (*Exchange, error) {
	payload, err := request.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	x := &Exchange{Request: request, Sent: payload, Start: s.Now(), mode: how, slot: slot, seen: len(slot.Deliveries())}
	s.Receiver.takeStrays()
	if how == held {
		s.Receiver.hold()
	}
	s.invoke(ctx, x)
	s.Receiver.release()
	if ctx.Err() != nil {
		return x, context.Cause(ctx)
	}
	s.Receiver.settled(ctx, s.Grace)
	if s.Wait && x.Err == nil && len(x.deliveries()) == 0 {
		s.await(ctx, x)
	}
	x.Duration = max(0, s.Now().Sub(x.Start))
	var endpoint *lambda.EndpointError
	var start *lambda.StartError
	if errors.As(x.Err, &endpoint) || errors.As(x.Err, &start) {
		return x, x.Err
	}
	s.judge(x)
	return x, ctx.Err()
}

// invoke calls the handler and waits until it returns or has to be stopped.
func (s *Sender) invoke(ctx context.Context, x *Exchange) {
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.Reply, x.Log, x.Err = s.Function.CallLogged(announced{calling, time.Now().Add(s.Timeout)}, x.Sent)
	}()
	limit := time.NewTimer(s.Timeout + s.Late)
	defer limit.Stop()
	var grace <-chan time.Time
	for {
		select {
		case <-done:
			return
		case <-s.Receiver.arrived:
			if len(x.deliveries()) == 0 || grace != nil {
				continue
			}
			if x.mode == held {
				cancel(errHeld)
				s.Receiver.release()
				<-done
				return
			}
			timer := time.NewTimer(s.Grace)
			defer timer.Stop()
			grace = timer.C
		case <-limit.C:
			x.hung = len(x.deliveries()) == 0
			cancel(errHung)
			<-done
			return
		case <-grace:
			cancel(errHung)
			<-done
			return
		case <-ctx.Done():
			<-done
			return
		}
	}
}

// await waits for the response of something that the handler has started.
func (s *Sender) await(ctx context.Context, x *Exchange) {
	timer := time.NewTimer(max(0, s.Timeout-s.Now().Sub(x.Start)))
	defer timer.Stop()
	for len(x.deliveries()) == 0 {
		select {
		case <-s.Receiver.arrived:
		case <-timer.C:
			x.hung = true
			return
		case <-ctx.Done():
			return
		}
	}
	s.Receiver.settled(ctx, s.Grace)
}

// deliveries are what arrived at the URL for this exchange.
func (x *Exchange) deliveries() []customresource.Delivery {
	all := x.slot.Deliveries()
	return all[min(x.seen, len(all)):]
}

// judge finds the response that counts, and every rule that is broken.
func (s *Sender) judge(x *Exchange) {
	deliveries := x.deliveries()
	for _, found := range s.Receiver.takeStrays() {
		switch {
		case len(x.Violations) > 0:
		case found.method != "PUT":
			x.Violations = append(x.Violations, broken(ruleMethod, "the response was sent with %s", found.method))
		default:
			x.Violations = append(x.Violations, broken(ruleURL, "a response was sent to %q, which is not the ResponseURL", words.Cut(found.path, 200)))
		}
	}
	for i := range deliveries {
		d := &deliveries[i]
		if x.Response == nil {
			x.Response = d.Response
		}
		if i == 0 {
			x.Body = d.Body
			x.Violations = append(x.Violations, d.Violations...)
			if d.Outcome == customresource.Expired && x.mode != refused {
				x.Violations = append(x.Violations, broken(ruleLate, "the response arrived after %s, and the timeout period is %s", shownTime(d.At.Sub(x.Start)), shownTime(s.Timeout)))
			}
			continue
		}
		if deliveries[0].Outcome == customresource.Taken && !bytes.Equal(d.Body, x.Body) {
			x.Violations = append(x.Violations, broken(ruleRepeated, "%s were sent, and they differ", words.Count(len(deliveries), "response")))
			break
		}
	}
	if len(deliveries) == 0 && len(x.Violations) == 0 {
		x.Violations = customresource.Violations{broken(ruleMissing, "no response was sent: %s", s.ending(x))}
	}
}

// ending is how an invocation without a response ended.
func (s *Sender) ending(x *Exchange) string {
	var failed *lambda.FunctionError
	var crash *lambda.CrashError
	switch {
	case x.hung:
		return fmt.Sprintf("the invocation had not ended after %s", shownTime(s.Timeout))
	case errors.As(x.Err, &failed):
		return "the invocation failed: " + words.Cut(firstOf(failed.Type, failed.Message), 1000)
	case errors.As(x.Err, &crash):
		return "the process ended (" + crash.Status + ")"
	case x.Err != nil:
		return x.Err.Error()
	case s.Wait:
		return fmt.Sprintf("%s have passed", shownTime(s.Timeout))
	}
	return fmt.Sprintf("the invocation returned %s after %s", words.Cut(string(bytes.TrimSpace(x.Reply)), 100), shownTime(x.Duration))
}

// firstOf is the type of an error with its message.
func firstOf(kind, message string) string {
	switch {
	case kind == "" && message == "":
		return "without an error message"
	case message == "":
		return kind
	case kind == "":
		return message
	}
	return kind + ": " + message
}

func shownTime(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// physicalID is the id in the first response, whether that is valid or not; "" without one.
func (x *Exchange) physicalID() string {
	if x.Response != nil {
		return x.Response.PhysicalResourceID
	}
	var body struct{ PhysicalResourceId any } //nolint:revive // the name in the protocol
	if json.Unmarshal(x.Body, &body) != nil {
		return ""
	}
	id, _ := body.PhysicalResourceId.(string)
	return id
}
