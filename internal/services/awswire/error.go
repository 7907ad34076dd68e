package awswire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// Fault is the party that caused an Error.
type Fault string

// The two faults, as the Query protocol writes them.
const (
	Sender   Fault = "Sender"
	Receiver Fault = "Receiver"
)

// An Error is a refusal that the caller of the API sees. Any other error that an
// operation returns reaches the caller as InternalFailure, and the log in full.
type Error struct {
	// Code is what clients switch on: the name of the error's shape, such as
	// "ChangeSetNotFoundException". Table.ErrorCodes turns it into the wire's code.
	Code string
	// Message is in the service's own words: clients match on them.
	Message string
	// Status is the HTTP status. Zero means 400.
	Status int
	// Fault is whose mistake it is. Empty means Receiver from status 500 on, else Sender.
	Fault Fault
	// Fields are further members of the error's shape, by their wire names, such as
	// "BucketName" of S3. Nil for nearly all errors.
	Fields map[string]string
	// Cause is the internal error for the server's log. The caller never sees it.
	Cause error
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// status is the HTTP status to answer with.
func (e *Error) status() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// fault is whose mistake to write down.
func (e *Error) fault() Fault {
	switch {
	case e.Fault != "":
		return e.Fault
	case e.status() >= http.StatusInternalServerError:
		return Receiver
	default:
		return Sender
	}
}

// Errorf makes an Error. A status of zero means 400.
func Errorf(code string, status int, format string, args ...any) *Error {
	return &Error{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

// ValidationErrorf returns the error of CloudFormation that has no shape: code
// ValidationError, status 400.
func ValidationErrorf(format string, args ...any) *Error {
	return Errorf("ValidationError", http.StatusBadRequest, format, args...)
}

// ErrMemory is why a request is refused while the process has little memory left: its caller receives
// ServiceUnavailable with status 503, which SDKs retry. It is not an *Error, because nothing is wrong with the request.
var ErrMemory = errors.New("the server is low on memory")

func noMemory() *Error {
	return Errorf("ServiceUnavailable", http.StatusServiceUnavailable, "The server is low on memory. Try again.")
}

// WriteError answers a request with e in the envelope of protocol p: for requests that no
// Table serves, such as those of S3 and Lambda, and those that fail before one is chosen.
func WriteError(w http.ResponseWriter, r *http.Request, p Protocol, requestID string, e *Error) {
	body, contentType := errorBody(p, "", requestID, e)
	h := w.Header()
	if p == RESTXML {
		h.Set("X-Amz-Request-Id", requestID)
	} else {
		h.Set("X-Amzn-Requestid", requestID)
	}
	if p == RESTJSON {
		h.Set("X-Amzn-Errortype", e.Code)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.status())
	if r == nil || r.Method != http.MethodHead {
		w.Write(body)
	}
}

// errorBody is the envelope of e, and its content type.
func errorBody(p Protocol, namespace, requestID string, e *Error) (body []byte, contentType string) {
	var b bytes.Buffer
	switch p {
	case JSON10, JSON11:
		members := map[string]string{"__type": e.Code, "message": e.Message}
		if p == JSON10 {
			members = map[string]string{"__type": e.Code, "Message": e.Message}
		}
		writeJSONMembers(&b, members, e.Fields)
		return b.Bytes(), jsonContentType(p)
	case RESTJSON:
		// "Type" and both spellings of the message: Lambda's own errors have the one,
		// its common errors the other.
		kind := "User"
		if e.fault() == Receiver {
			kind = "Service"
		}
		writeJSONMembers(&b, map[string]string{"Type": kind, "Message": e.Message, "message": e.Message}, e.Fields)
		return b.Bytes(), "application/json"
	case RESTXML:
		b.WriteString(xml.Header + "<Error>")
		writeElement(&b, "Code", e.Code)
		writeElement(&b, "Message", e.Message)
		writeFields(&b, e.Fields)
		writeElement(&b, "RequestId", requestID)
		b.WriteString("</Error>")
		return b.Bytes(), "application/xml"
	default:
		b.WriteString("<ErrorResponse")
		if namespace != "" {
			b.WriteString(` xmlns="`)
			writeText(&b, namespace)
			b.WriteString(`"`)
		}
		b.WriteString("><Error>")
		writeElement(&b, "Type", string(e.fault()))
		writeElement(&b, "Code", e.Code)
		writeElement(&b, "Message", e.Message)
		writeFields(&b, e.Fields)
		b.WriteString("</Error>")
		writeElement(&b, "RequestId", requestID)
		b.WriteString("</ErrorResponse>")
		return b.Bytes(), "text/xml"
	}
}

func writeFields(b *bytes.Buffer, fields map[string]string) {
	for _, name := range sortedKeys(fields) {
		writeElement(b, name, fields[name])
	}
}

func writeJSONMembers(b *bytes.Buffer, members, more map[string]string) {
	for name, value := range more {
		if _, taken := members[name]; !taken {
			members[name] = value
		}
	}
	b.WriteByte('{')
	for i, name := range sortedKeys(members) {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSONString(b, name)
		b.WriteByte(':')
		writeJSONString(b, members[name])
	}
	b.WriteByte('}')
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
