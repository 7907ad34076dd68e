package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	beat         = 15 * time.Second // between signs of life
	writeTimeout = 10 * time.Second // for a reader that takes nothing
)

// A stream is a long-lived response: server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context // ends with the request and with the console
	beat    *time.Ticker
}

// follow opens a stream, unless too many are open or the console is closing, and serves it
// with f until f returns. The context ends with the request and with the console.
func (c *Console) follow(w http.ResponseWriter, r *http.Request, f func(*stream) error) {
	c.closing.Lock()
	closed := c.done.Err() != nil
	if !closed {
		c.open.Add(1)
	}
	c.closing.Unlock()
	if closed {
		http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
		return
	}
	defer c.open.Done()
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many open pages; close some of them", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(c.done, cancel)()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	s := &stream{w: w, control: http.NewResponseController(w), ctx: ctx, beat: time.NewTicker(beat)}
	defer s.beat.Stop()
	if err := s.write("retry: 2000\n\n"); err != nil {
		return
	}
	if err := f(s); err != nil && ctx.Err() == nil {
		c.log.Error("cannot stream updates to the console", "path", r.URL.Path, "error", err)
		_ = s.send("broken", "", nil) // the last event; the client may have hung up
	}
}

// send writes one event. id is where a client that reconnects continues; "" for none.
func (s *stream) send(event, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var b strings.Builder
	if id != "" && !strings.ContainsAny(id, "\r\n\x00") {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event, text)
	return s.write(b.String())
}

// alive writes a comment, which clients ignore, to detect a closed connection.
func (s *stream) alive() error { return s.write(": alive\n\n") }

func (s *stream) write(text string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	// A server without deadlines, as in tests, has none to set.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// followChanges notifies a page that its content may have changed.
func (c *Console) followChanges(w http.ResponseWriter, r *http.Request) {
	place, err := c.place(r)
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	changes := c.config.Registry.Subscribe(r.Context()) // before the page has an answer: then it misses nothing
	c.follow(w, r, func(s *stream) error {
		look := time.NewTicker(c.config.RefreshInterval)
		defer look.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-look.C:
				if err := s.send("look", "", nil); err != nil {
					return err
				}
			case change, open := <-changes:
				if !open {
					return nil
				}
				if change.Place != place {
					continue
				}
				if err := s.send("change", "", map[string]string{"kind": string(change.Kind), "type": change.TypeName}); err != nil {
					return err
				}
			}
		}
	})
}
