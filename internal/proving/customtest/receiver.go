package customtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A Receiver takes responses at presigned URLs on this machine. Unlike a stack, it also
// keeps what does not count: requests to other URLs and with other methods, and everything
// after the first response.
type Receiver struct {
	box     customresource.Mailbox
	base    string
	trust   *customresource.Trust // may be nil
	server  *http.Server
	arrived chan struct{} // one element if something arrived since the last look

	mu      sync.Mutex
	urls    map[string]*url.URL // of the requests, by their signatures
	strays  []stray
	active  int           // requests that are being read
	idle    chan struct{} // closed when active becomes 0; nil while it is 0
	holding chan struct{} // closed by release; nil if responses are not held back
}

// A stray is a request that did not reach the URL of a request.
type stray struct{ method, path string }

// maxStrays bounds what is kept of strays.
const maxStrays = 20

// ReceiverConfig configures a Receiver.
type ReceiverConfig struct {
	// Trust makes response URLs use HTTPS, as those of AWS do: many libraries insist on it.
	// Processes then need the variables of [Receiver.Environ]. Nil means HTTP.
	Trust *customresource.Trust

	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // for errors of connections; nil for none
}

// Listen starts a Receiver on a free port of this machine. Close it.
func Listen(ctx context.Context, c ReceiverConfig) (*Receiver, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for responses: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Receiver{base: "http://" + listener.Addr().String(), trust: c.Trust, arrived: make(chan struct{}, 1), urls: map[string]*url.URL{}}
	if r.trust != nil {
		r.base = "https://" + listener.Addr().String()
		listener = r.trust.Listener(listener)
	}
	r.box.Now = c.Now
	r.server = &http.Server{
		Handler: r.count(customresource.Handler(r, nil)), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.Logger.Warn("The receiver of responses has stopped", "error", err)
		}
	}()
	return r, nil
}

// Files are those that the variables of Environ name.
func (r *Receiver) Files() []string {
	if r.trust == nil {
		return nil
	}
	return r.trust.Files()
}

// Address is where it listens, HOST:PORT.
func (r *Receiver) Address() string {
	_, address, _ := strings.Cut(r.base, "://")
	return address
}

// Environ are the variables with which processes that are started from an environment reach
// the response URLs.
func (r *Receiver) Environ(environ []string) ([]string, error) {
	if r.trust == nil {
		return nil, nil
	}
	return r.trust.Environ(r.base, environ)
}

// Close ends all connections.
func (r *Receiver) Close() error {
	r.release()
	return r.server.Close()
}

// open makes the response URL of a request, which is valid for a time from now.
func (r *Receiver) open(request *customresource.Request, life time.Duration) (*customresource.Slot, error) {
	slot := r.box.Open(r.base, request, life)
	at, err := url.Parse(request.ResponseURL)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls[customresource.Signature(at.Query())] = at
	return slot, nil
}

type pathKey struct{}

// count keeps account of requests, and notes those with another method.
func (r *Receiver) count(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		if r.active++; r.idle == nil {
			r.idle = make(chan struct{})
		}
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.active--; r.active == 0 {
				close(r.idle)
				r.idle = nil
			}
		}()
		if q.Method != http.MethodPut {
			r.note(stray{q.Method, q.URL.Path})
		}
		inner.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), pathKey{}, q.URL)))
	})
}

// Deliver implements customresource.Inbox. A second response gets the answer of S3, which
// stores whatever comes.
func (r *Receiver) Deliver(ctx context.Context, to customresource.Address, body []byte) (customresource.Outcome, customresource.Violations, error) {
	at, _ := ctx.Value(pathKey{}).(*url.URL)
	r.mu.Lock()
	want := r.urls[to.Signature]
	r.mu.Unlock()
	if want == nil || at == nil || at.Path != want.Path || at.Query().Encode() != want.Query().Encode() {
		path := "/"
		if at != nil {
			path = at.Path
		}
		r.note(stray{http.MethodPut, path})
		return customresource.UnknownURL, nil, nil
	}
	outcome, violations, err := r.box.Deliver(ctx, to, body)
	r.notify()
	r.mu.Lock()
	holding := r.holding
	r.mu.Unlock()
	if holding != nil {
		select {
		case <-holding:
		case <-ctx.Done():
		}
	}
	if outcome == customresource.Used {
		outcome = customresource.Taken
	}
	return outcome, violations, err
}

func (r *Receiver) note(s stray) {
	r.mu.Lock()
	if len(r.strays) < maxStrays {
		r.strays = append(r.strays, s)
	}
	r.mu.Unlock()
	r.notify()
}

func (r *Receiver) notify() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// takeStrays returns the strays since the last call.
func (r *Receiver) takeStrays() []stray {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.strays
	r.strays = nil
	return out
}

// hold makes the receiver answer nothing until release.
func (r *Receiver) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding == nil {
		r.holding = make(chan struct{})
	}
}

func (r *Receiver) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding != nil {
		close(r.holding)
		r.holding = nil
	}
}

// settled returns when no request is being read, or when the limit or ctx ends.
func (r *Receiver) settled(ctx context.Context, limit time.Duration) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
