// Package tunnel answers what clients send to other hosts through an HTTP proxy: the tunnels end
// on this machine, with certificates of an authority that the clients were told to trust.
package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config sets up a [Front].
type Config struct {
	// Authority signs the certificates of the hosts.
	Authority *Authority

	// Handler answers the requests, whose URLs have a scheme and a host.
	Handler http.Handler

	// Dial opens a connection to a host whose tunnels are passed on as they are, without a
	// certificate of the Authority. Nil, or a nil connection without an error, means that the
	// Handler answers.
	Dial func(r *http.Request) (net.Conn, error)

	// Context adds to the context of a request in a tunnel what that of the CONNECT knows, which has ended. Nil
	// adds nothing.
	Context func(request, connect context.Context) context.Context
}

// A Front is what an HTTP proxy looks like to its clients: it takes CONNECT, and requests with an
// absolute URL. Make one with [New], and Close it.
type Front struct {
	config Config
	inner  *tunnels
	server *http.Server
	ended  sync.WaitGroup

	mu     sync.Mutex
	passed map[net.Conn]bool // of tunnels that are passed on
	closed bool
}

// begin is how long the first byte in a tunnel may take.
const begin = time.Minute

// New returns a front. Close ends it.
func New(config Config) *Front {
	f := &Front{config: config, inner: newTunnels(), passed: map[net.Conn]bool{}}
	f.server = &http.Server{
		Handler: http.HandlerFunc(f.inside), ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 256 << 10,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 only
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tunnel); ok {
				return context.WithValue(ctx, tunnelKey{}, t)
			}
			return ctx
		},
	}
	f.ended.Go(func() { _ = f.server.Serve(f.inner) }) // ends with Close
	return f
}

// Close ends the tunnels. What is in progress is cut.
func (f *Front) Close() {
	_ = f.server.Close() // closes connections that are cut anyway
	f.mu.Lock()
	f.closed = true
	for conn := range f.passed {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.ended.Wait()
}

// ForProxy reports whether a request is one to a proxy.
func ForProxy(r *http.Request) bool {
	return r.Method == http.MethodConnect || r.URL.Scheme == "http" && r.URL.Host != ""
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		f.connect(w, r)
	case ForProxy(r):
		f.config.Handler.ServeHTTP(w, r)
	default:
		http.Error(w, "this is a proxy: it takes CONNECT, and requests with an absolute http URL", http.StatusBadRequest)
	}
}

// inside serves what comes through a tunnel.
func (f *Front) inside(w http.ResponseWriter, r *http.Request) {
	t, _ := r.Context().Value(tunnelKey{}).(*tunnel)
	r.RemoteAddr = t.from
	if f.config.Context != nil {
		r = r.WithContext(f.config.Context(r.Context(), t.opened))
	}
	r.URL.Scheme, r.URL.Host = "http", strings.TrimSuffix(t.to, ":80")
	if t.secure {
		r.URL.Scheme, r.URL.Host = "https", strings.TrimSuffix(t.to, ":443")
	}
	f.config.Handler.ServeHTTP(w, r)
}

// connect opens a tunnel. If it is not passed on, it ends here: over TLS if the client starts that.
func (f *Front) connect(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.URL.Host)
	if err != nil || host == "" {
		http.Error(w, "CONNECT names HOST:PORT", http.StatusBadRequest)
		return
	}
	var other net.Conn
	if f.config.Dial != nil {
		if other, err = f.config.Dial(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if other != nil {
			_ = other.Close() // nothing was sent
		}
		http.Error(w, "no tunnel", http.StatusInternalServerError)
		return
	}
	_ = conn.SetDeadline(time.Now().Add(begin))
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		closeAll(conn, other)
		return
	}
	inner := net.Conn(&readAhead{Conn: conn, r: buffered.Reader})
	if other != nil {
		_ = conn.SetDeadline(time.Time{})
		f.ended.Go(func() { f.pass(inner, other) })
		return
	}
	first, err := buffered.Reader.Peek(1)
	if err != nil {
		_ = conn.Close() // of a client that has left
		return
	}
	_ = conn.SetDeadline(time.Time{})
	const handshake = 0x16
	secure := first[0] == handshake
	if secure {
		inner = tls.Server(inner, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				if hello.ServerName != "" {
					return f.config.Authority.Leaf(hello.ServerName)
				}
				return f.config.Authority.Leaf(host)
			},
		})
	}
	f.inner.add(&tunnel{Conn: inner, to: r.URL.Host, from: r.RemoteAddr, opened: r.Context(), secure: secure})
}

func closeAll(conns ...net.Conn) {
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close() // nothing is left to send
		}
	}
}

// pass copies in both directions until both have ended.
func (f *Front) pass(client, host net.Conn) {
	f.mu.Lock()
	f.passed[client], f.passed[host] = true, true
	closed := f.closed
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.passed, client)
		delete(f.passed, host)
		f.mu.Unlock()
		closeAll(client, host)
	}()
	if closed {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, host}, {host, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0]) // ends with either
			endWriting(way[1])
		})
	}
	both.Wait()
}

// endWriting tells a peer that nothing more follows.
func endWriting(conn net.Conn) {
	if ahead, ok := conn.(*readAhead); ok {
		conn = ahead.Conn
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the peer may have left
		return
	}
	_ = conn.Close() // there is no other way to end it
}

type tunnelKey struct{}

// A tunnel is a connection within a CONNECT.
type tunnel struct {
	net.Conn
	to     string // host and port
	from   string // the address of the client
	opened context.Context
	secure bool
}

// readAhead is a connection whose beginning was read already.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

// tunnels is a listener for the connections within CONNECTs.
type tunnels struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newTunnels() *tunnels { return &tunnels{conns: make(chan net.Conn), done: make(chan struct{})} }

func (t *tunnels) add(c net.Conn) {
	select {
	case t.conns <- c:
	case <-t.done:
		_ = c.Close() // the front has ended
	}
}

// Accept waits for the next tunnel.
func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return.
func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

// Addr is a placeholder that is never dialed.
func (t *tunnels) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
