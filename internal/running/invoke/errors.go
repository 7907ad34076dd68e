package invoke

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// ErrReinvokeLimit reports that the operation was still in progress after as many calls as
// Config.MaxReinvoke allows.
var ErrReinvokeLimit = errors.New("still in progress after the maximum number of calls")

// A CallError reports that the function did not answer a call: it crashed, could not be
// reached, was refused, or reported an error itself.
type CallError struct {
	Action Action
	Call   int   // from 1
	Err    error // of the function
}

func (e *CallError) Error() string {
	if threwNoError(e.Err) {
		return fmt.Sprintf("%s threw a value that is not an Error, which the library for TypeScript cannot report: use throw new Error(…), or an exception of its module exceptions", e.Action)
	}
	return fmt.Sprintf("%s, call %d: no answer from the handler: %s", e.Action, e.Call, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// A ProtocolError reports that the function answered, but not with a valid progress event.
type ProtocolError struct {
	Action Action
	Call   int    // from 1
	Reason string // a clause whose subject is the handler: "its answer has no status"
	Reply  string // the beginning of the reply, at most 300 bytes, safe for a terminal
}

func (e *ProtocolError) Error() string {
	text := e.Reason
	if e.Action != "" {
		text = fmt.Sprintf("%s, call %d: the handler broke the protocol: %s", e.Action, e.Call, text)
	}
	if e.Reply != "" {
		text += "\nthe answer was: " + e.Reply
	}
	return text
}

// A TimeoutError reports that a call or the whole operation took too long.
type TimeoutError struct {
	Action    Action
	Call      int  // from 1: the call that was running, or the last that had run
	Operation bool // the whole operation; otherwise this call
	Limit     time.Duration
	Delay     time.Duration // that the handler asked for before its next call; 0 if it was not that which takes too long
}

func (e *TimeoutError) Error() string {
	if e.Operation {
		text := fmt.Sprintf("%s: not finished after %s (%s); timeoutInMinutes of the handler in the schema sets this limit", e.Action, shortest(e.Limit), words.Count(e.Call, "call"))
		if e.Delay > 0 {
			text += ", and the handler asked for the next call in " + shortest(e.Delay)
		}
		return text
	}
	return fmt.Sprintf("%s, call %d: no answer from the handler within %s", e.Action, e.Call, e.Limit)
}

// shortest is a duration without units that are zero at its end: "2h".
func shortest(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Timeout makes the error one in the sense of net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// AsFailed is the event that the service records for an operation that ended with err:
// a FAILED event with NotStabilized when the time was over, else with InternalFailure.
func AsFailed(err error) *Event {
	code := InternalFailure
	var late *TimeoutError
	if errors.As(err, &late) && late.Operation {
		code = NotStabilized
	}
	return &Event{Status: Failed, ErrorCode: code, Message: err.Error()}
}
