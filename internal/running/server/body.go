package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A watchedBody ends the connection of a client that stops in the midst of a body. A limit
// on the whole would cut off large uploads over slow lines.
type watchedBody struct {
	io.ReadCloser
	controller *http.ResponseController
	patience   time.Duration // for the next piece
	begun      bool
	ended      bool
}

// watchBody watches the body of a request, from now on: it may also be the server itself
// that reads it, when a request was refused.
func watchBody(w http.ResponseWriter, body io.ReadCloser, patience time.Duration) io.ReadCloser {
	if body == nil || body == http.NoBody {
		return body
	}
	b := &watchedBody{ReadCloser: body, controller: http.NewResponseController(w), patience: patience}
	b.extend()
	return b
}

// extend has no effect on a connection without deadlines, which is that of a test.
func (b *watchedBody) extend() { _ = b.controller.SetReadDeadline(time.Now().Add(b.patience)) }

func (b *watchedBody) Read(p []byte) (int, error) {
	if !b.ended {
		b.extend()
	}
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		// The server keeps reading to detect a client that hangs up, until the answer is sent.
		// After another error it would wait for the rest of the body before it answers: then
		// the deadline remains.
		_ = b.controller.SetReadDeadline(time.Time{})
	}
	b.ended = b.ended || err != nil
	return n, err
}

// The limits for draining an unused body.
const (
	maxDrain  = 256 << 20
	drainTime = 10 * time.Second
)

// drain sends the answer and reads what is left of the body. Most clients read no answer
// before they have sent everything; if the server closed the connection meanwhile, they
// would see a reset connection instead of the answer. A client that waits for
// "100 Continue" sends nothing more once it has the answer.
func drain(w *answer, r *http.Request, body io.ReadCloser) {
	b, watched := body.(*watchedBody)
	if !watched || b.ended || w.aborted || !b.begun && r.Header.Get("Expect") != "" {
		return
	}
	if b.controller.Flush() != nil {
		return // the client hung up
	}
	buffer := make([]byte, 32<<10)
	until := time.Now().Add(drainTime)
	for n := 0; n < maxDrain && time.Now().Before(until) && r.Context().Err() == nil; {
		read, err := b.Read(buffer)
		if n += read; err != nil {
			return
		}
	}
}

// payload waits until there is room for the payload of an invocation, which is in memory for
// as long as the function runs. The share is their own, so that long invocations do not
// keep other requests out.
func (s *Server) payload(ctx context.Context, r *http.Request) error {
	err := s.payloads.Reserve(r.WithContext(ctx), lambda.MaxRequestBytes)
	var refused *awswire.Error
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Status == http.StatusRequestEntityTooLarge {
		return nil // the handler of invocations refuses it in its own words
	}
	return &lambda.RefusedError{Status: refused.Status, Code: "ServiceException", Message: refused.Message}
}
