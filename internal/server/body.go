package server

import (
	"io"
	"net/http"
	"time"
)

// A watchedBody ends the connection of a client that stops in the midst of a body. A limit
// on the whole would cut off large uploads over slow lines.
type watchedBody struct {
	io.ReadCloser
	controller *http.ResponseController
	patience   time.Duration // for the next piece
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
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		// The server goes on reading to hear of a client that hangs up, for as long as
		// the answer takes. After another error it would wait for the rest of the body
		// before it answers: there the deadline stays.
		_ = b.controller.SetReadDeadline(time.Time{})
	}
	b.ended = b.ended || err != nil
	return n, err
}
