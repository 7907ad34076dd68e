package server

import (
	"io"
	"net/http"
	"time"
)

// bodyPatience is how long a client may take for the next piece of a body.
const bodyPatience = 30 * time.Second

// A watchedBody ends the connection of a client that stops in the midst of a body. A limit
// on the whole would cut off large uploads over slow lines.
type watchedBody struct {
	io.ReadCloser
	controller *http.ResponseController
	ended      bool
}

// watchBody watches the body of a request, from now on: it may also be the server itself
// that reads it, when a request was refused.
func watchBody(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	if body == nil || body == http.NoBody {
		return body
	}
	b := &watchedBody{ReadCloser: body, controller: http.NewResponseController(w)}
	b.extend()
	return b
}

// extend has no effect on a connection without deadlines, which is that of a test.
func (b *watchedBody) extend() { _ = b.controller.SetReadDeadline(time.Now().Add(bodyPatience)) }

func (b *watchedBody) Read(p []byte) (int, error) {
	if !b.ended {
		b.extend()
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		// The server goes on reading to hear of a client that hangs up, for as long as
		// the answer takes.
		b.ended = true
		_ = b.controller.SetReadDeadline(time.Time{})
	}
	return n, err
}
