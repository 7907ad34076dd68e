package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is the cause when an invocation meets a function that is closed, or
// is interrupted by its closing.
var ErrClosed = errors.New("the function is closed")

// A StartError reports that the command of a function is not a program that can run here.
// Nothing has run.
type StartError struct {
	Function string
	Command  string // as found, or as given when not found
	Reason   string // what is wrong with it
	Hint     string // what to do about it, "" if unknown
	Err      error  // of the operating system; may be nil
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("function %s: cannot start %s: %s", e.Function, e.Command, e.Reason)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Err }

// A CrashError reports that a process ended unexpectedly.
type CrashError struct {
	Function  string
	RequestID string
	PID       int
	Phase     Phase
	ExitCode  int    // -1 when ended by a signal
	Status    string // "exit status 2", "signal: killed"
	Output    string // last lines that it printed, at most 2 KiB
}

func (e *CrashError) Error() string {
	text := fmt.Sprintf("function %s: process %d ended (%s) %s", e.Function, e.PID, e.Status, e.Phase.crashed())
	if e.Status == "signal: killed" {
		text += "; not killed by this program, perhaps by the system for want of memory"
	}
	return text + quoteOutput(e.Output)
}

// A Phase is a part of the life of a process.
type Phase int

// The phases of a process.
const (
	PhaseInit   Phase = iota // from its start until its first request for an invocation
	PhaseInvoke              // from the delivery of an invocation to the reply
	PhaseIdle                // from a reply until it asks again
)

func (p Phase) crashed() string {
	switch p {
	case PhaseInit:
		return "before it asked for an invocation"
	case PhaseInvoke:
		return "during the invocation, without an answer"
	default:
		return "while it had nothing to do"
	}
}

// A TimeoutError reports that an invocation took longer than Config.Timeout. The process was
// killed.
type TimeoutError struct {
	Function  string
	RequestID string
	Limit     time.Duration
	Output    string // last lines that it printed, at most 2 KiB
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("function %s: Task timed out after %.2f seconds", e.Function, e.Limit.Seconds()) + quoteOutput(e.Output)
}

// Timeout makes the error one in the sense of net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// A NotReadyError reports that a process ran but did not request an invocation within
// Config.InitTimeout. The process was killed.
type NotReadyError struct {
	Function string
	Phase    Phase // PhaseInit or PhaseIdle
	Limit    time.Duration
	Library  string // the version of aws-lambda-go in the program if it does not know the Runtime API, such as "v1.13.3"
	Output   string // last lines that it printed, at most 2 KiB
}

func (e *NotReadyError) Error() string {
	since, hint := "its start", "; is the command a Lambda runtime, like a Go program whose main calls lambda.Start?"
	switch {
	case e.Phase == PhaseIdle:
		since, hint = "its last reply", ""
	case e.Library != "":
		hint = fmt.Sprintf("; it was built with aws-lambda-go %s, which does not know the Runtime API: run go get %s@latest and build it again (%s is the first that does)",
			e.Library, lambdaLibrary, firstRuntimeAPI)
	}
	return fmt.Sprintf("function %s: the process did not ask for an invocation (GET %snext) within %s of %s%s",
		e.Function, invocationPath, e.Limit, since, hint) + quoteOutput(e.Output)
}

// Timeout makes the error one in the sense of net.Error.
func (e *NotReadyError) Timeout() bool { return true }

// A ResponseTooLargeError reports that a reply was longer than MaxResponseBytes. The process
// was killed.
type ResponseTooLargeError struct {
	Function  string
	RequestID string
	Size      int64 // bytes; -1 when the process did not announce it
	Limit     int64 // bytes
}

func (e *ResponseTooLargeError) Error() string {
	size := "more"
	if e.Size >= 0 {
		size = fmt.Sprintf("%d bytes", e.Size)
	}
	return fmt.Sprintf("function %s: the reply is too large: %s, the limit is %d bytes", e.Function, size, e.Limit)
}

// A PayloadTooLargeError reports that a payload exceeds the limit for functions. It was not
// sent.
type PayloadTooLargeError struct {
	Function string
	Size     int64 // bytes; -1 when unknown
	Limit    int64 // bytes
}

func (e *PayloadTooLargeError) Error() string {
	return fmt.Sprintf("function %s: the payload is too large, the limit is %d bytes", e.Function, e.Limit)
}

// A ThrottledError reports that no process became free within Config.QueueTimeout, or that an
// endpoint returned such an error.
type ThrottledError struct {
	Function string
	Limit    int // processes; 0 when the endpoint keeps that to itself
}

func (e *ThrottledError) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("function %s: the endpoint has too many invocations under way", e.Function)
	}
	return fmt.Sprintf("function %s: all %d processes are busy", e.Function, e.Limit)
}

// A RefusedError is a refusal in the terms of the Lambda API, for those who find functions
// for a Handler.
type RefusedError struct {
	Status  int    // of HTTP: 403
	Code    string // "AccessDeniedException"
	Message string
}

func (e *RefusedError) Error() string { return e.Code + ": " + e.Message }

// A FunctionError is an error that the function itself reported instead of a
// reply: what a Lambda caller sees as X-Amz-Function-Error.
type FunctionError struct {
	Function   string
	RequestID  string
	Init       bool   // reported before the first invocation
	Type       string // errorType, "" if absent
	Message    string // errorMessage, "" if absent
	StackTrace []string
	Note       string // of Config, if Init: what differs from the service
	Payload    []byte // the whole document as sent, at most 256 KiB of it
}

func (e *FunctionError) Error() string {
	text := "function " + e.Function
	if e.Init {
		text += " failed to start"
	} else {
		text += " failed"
	}
	for _, part := range []string{e.Type, e.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	if e.Type == "" && e.Message == "" {
		text += " without saying why"
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}

// Trace is the innermost part of the stack trace, a line each with a tab before it; "" without one.
func (e *FunctionError) Trace() string {
	const frames = 5 // the innermost are the last in Python, the first in other languages
	trace := e.StackTrace
	if len(trace) == 0 {
		return ""
	}
	if strings.HasPrefix(strings.TrimSpace(trace[0]), "File ") {
		trace = trace[max(0, len(trace)-frames):]
	}
	return "\t" + strings.ReplaceAll(strings.Join(trace[:min(frames, len(trace))], "\n"), "\n", "\n\t")
}

// newFunctionError reads the error document of a function.
func newFunctionError(function, requestID string, document []byte) *FunctionError {
	e := &FunctionError{Function: function, RequestID: requestID, Payload: document}
	var body struct {
		Type       string            `json:"errorType"`
		Message    string            `json:"errorMessage"`
		StackTrace []json.RawMessage `json:"stackTrace"`
		Trace      []json.RawMessage `json:"trace"` // as Node.js calls it
	}
	// A document of another form is still in Payload.
	if json.Unmarshal(document, &body) != nil && body.Type == "" && body.Message == "" {
		return e
	}
	e.Type, e.Message = body.Type, body.Message
	for _, frame := range append(body.StackTrace, body.Trace...) {
		e.StackTrace = append(e.StackTrace, stackFrame(frame))
	}
	return e
}

// stackFrame writes a frame in one line. Python and Node send strings, Go sends
// {"path","line","label"}.
func stackFrame(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimRight(text, "\n")
	}
	var frame struct {
		Path  string `json:"path"`
		Line  int    `json:"line"`
		Label string `json:"label"`
	}
	if json.Unmarshal(raw, &frame) == nil && frame.Path != "" {
		return fmt.Sprintf("%s:%d %s", frame.Path, frame.Line, frame.Label)
	}
	return string(raw)
}

// errorDocument is what a Lambda caller reads when err ended the invocation, nil
// when err is no fault of the function. The types are those of Lambda.
func errorDocument(err error) []byte {
	var (
		function *FunctionError
		start    *StartError
		crash    *CrashError
		timeout  *TimeoutError
		notReady *NotReadyError
		memory   *MemoryError
		response *ResponseTooLargeError
	)
	document := struct {
		Message   string `json:"errorMessage"`
		Type      string `json:"errorType"`
		RequestID string `json:"requestId,omitempty"`
	}{Message: err.Error()}
	switch {
	case errors.As(err, &function):
		return function.Payload
	case errors.As(err, &start):
		document.Type = "Runtime.InvalidEntrypoint"
	case errors.As(err, &crash):
		document.Type, document.RequestID = "Runtime.ExitError", crash.RequestID
	case errors.As(err, &timeout):
		document.Type, document.RequestID = "Sandbox.Timedout", timeout.RequestID
	case errors.As(err, &notReady):
		document.Type = "Sandbox.Timedout"
	case errors.As(err, &memory):
		document.Type, document.RequestID = "Runtime.OutOfMemory", memory.RequestID
	case errors.As(err, &response):
		document.Type, document.RequestID = "Function.ResponseSizeTooLarge", response.RequestID
	default:
		return nil
	}
	text, _ := json.Marshal(document) // strings only
	return text
}

func quoteOutput(output string) string {
	if output == "" {
		return ""
	}
	return "; last output:\n\t" + strings.ReplaceAll(output, "\n", "\n\t")
}
