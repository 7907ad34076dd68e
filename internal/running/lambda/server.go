package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// DefaultAddress is where the official tools look for functions.
const DefaultAddress = "127.0.0.1:3001"

// ServerConfig sets up a Server. Only Handler must be set.
type ServerConfig struct {
	// Handler answers the requests. It may offer more than functions.
	Handler http.Handler

	// Address is host:port to listen on. Empty means DefaultAddress; port 0
	// means any free one.
	Address string

	// AllowRemote permits an Address that other machines can reach, and requests under any
	// host name. Anyone who reaches the address can then run the functions as the user of this
	// program: there is no authentication.
	AllowRemote bool

	// GracePeriod is how long requests and asynchronous invocations under way
	// may continue when the server is asked to end. Zero means
	// DefaultServerGracePeriod. Then they are stopped.
	GracePeriod time.Duration

	// Logger receives the faults of connections, at debug level. Nil means
	// nowhere.
	Logger *slog.Logger
}

const (
	// DefaultServerGracePeriod is how long requests under way may continue when a
	// server is asked to end.
	DefaultServerGracePeriod = 300 * time.Millisecond

	// lastAnswers is how long requests that were stopped have to answer.
	lastAnswers = 500 * time.Millisecond
)

// A Server serves a Handler on an address of this machine.
type Server struct {
	config   ServerConfig
	listener net.Listener
	http     *http.Server
}

// Listen opens the address. Without AllowRemote it refuses one that is not of
// the loopback interface, and the server then refuses requests that name
// another host, or that a page in a browser sends: a web page cannot run the
// functions.
func Listen(c ServerConfig) (*Server, error) {
	orDefault(&c.Address, DefaultAddress)
	orDefault(&c.GracePeriod, DefaultServerGracePeriod)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: expected HOST:PORT, such as %s: %w", c.Address, DefaultAddress, err)
	}
	if !c.AllowRemote && !isLoopback(host) {
		return nil, fmt.Errorf("listen on %s: other machines could run the functions, without authentication; "+
			"listen on %s, or allow remote callers explicitly", c.Address, DefaultAddress)
	}
	listener, err := net.Listen("tcp", c.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the port is in use; stop what uses it, or choose another port: %w", c.Address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", c.Address, err)
	}
	if address, ok := listener.Addr().(*net.TCPAddr); ok && !c.AllowRemote && !address.IP.IsLoopback() {
		// localhost can be made to mean anything.
		listener.Close()
		return nil, fmt.Errorf("listen on %s: %s is not a loopback address", c.Address, address.IP)
	}
	s := &Server{config: c, listener: listener}
	handler := c.Handler
	if !c.AllowRemote {
		handler = localOnly(handler)
	}
	s.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Addr is the address that the server listens on, as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the address as callers configure it: http://host:port.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Serve answers requests until ctx ends, then lets those under way finish for
// the GracePeriod, and stops those that have not. It returns nil after an orderly
// end, even when it had to cut requests off. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.GracePeriod)
	defer cancel()
	err := s.http.Shutdown(grace)
	if h, ok := s.config.Handler.(*Handler); ok {
		_ = h.Wait(grace) // what is not done by now is stopped
		h.Stop()
	}
	if err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if s.http.Shutdown(last) != nil {
			s.http.Close()
		}
	}
	<-served
	return nil
}

// Close stops listening. It is needed only where Serve is never called.
func (s *Server) Close() error { return s.listener.Close() }

// localOnly refuses requests that a web page could have caused: directly, or with a host name
// that resolves to this machine (DNS rebinding).
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		switch {
		case !isLoopback(strings.Trim(host, "[]")):
			apiError{http.StatusForbidden, "AccessDeniedException", fmt.Sprintf("host %q is not this machine: use 127.0.0.1 or localhost", r.Host)}.write(w)
		case fromBrowser(r):
			apiError{http.StatusForbidden, "AccessDeniedException", "requests from web pages are not served"}.write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
