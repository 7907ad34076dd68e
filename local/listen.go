package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// ServerConfig sets up a Server.
type ServerConfig struct {
	Config

	// Address is the host:port to listen on. Empty means 127.0.0.1:4566; port 0 means any
	// free one.
	Address string

	// LambdaAddress is a second address, where tools look for functions: 127.0.0.1:3001.
	// Empty means none. With LambdaOptional the server also starts when it is taken.
	LambdaAddress  string
	LambdaOptional bool

	// HeaderTimeout bounds the wait for the whole header of a request. Zero means 10 s.
	HeaderTimeout time.Duration

	// GracePeriod is how long requests under way may continue when the server stops. Zero
	// means 300 ms. Then they are canceled.
	GracePeriod time.Duration
}

const (
	// lastAnswers is how long requests that were canceled have to answer. Then their
	// connections are closed.
	lastAnswers = 200 * time.Millisecond

	// lastRequests bounds the wait for requests whose connections were closed. Only one
	// that ignores its context takes that long.
	lastRequests = 10 * time.Second
)

// An ExposedError says that an address is reached by other machines while nothing checks
// who calls.
type ExposedError struct{ Address string }

func (e *ExposedError) Error() string {
	return fmt.Sprintf("listen on %s: other machines could register types, which runs code here, and no signature is checked", e.Address)
}

// An AddressInUseError reports that another program listens on an address.
type AddressInUseError struct{ Address string }

func (e *AddressInUseError) Error() string {
	return fmt.Sprintf("listen on %s: another program, perhaps another cfn serve, has the address", e.Address)
}

// A Server is a CloudFormation that listens.
type Server struct {
	cloud     *CloudFormation
	config    ServerConfig
	listeners []net.Listener // the second one is that of LambdaAddress
	notes     []string
	requests  atomic.Int64 // so far
	underWay  atomic.Int64
}

// Listen opens the addresses first, then the store: a server that cannot be reached changes
// nothing. The error may be an *ExposedError, an *AddressInUseError, or one of Open.
func Listen(ctx context.Context, config ServerConfig) (*Server, error) {
	if config.Address == "" {
		config.Address = "127.0.0.1:4566"
	}
	if config.HeaderTimeout == 0 {
		config.HeaderTimeout = 10 * time.Second
	}
	if config.GracePeriod == 0 {
		config.GracePeriod = 300 * time.Millisecond
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config}
	for i, address := range []string{config.Address, config.LambdaAddress} {
		if address == "" {
			continue
		}
		listener, err := listen(ctx, address, config.Keys != nil)
		var taken *AddressInUseError
		if i == 1 && config.LambdaOptional && errors.As(err, &taken) {
			s.notes = append(s.notes, fmt.Sprintf("%s is taken by another program: functions are reached at the main address only", address))
			continue
		}
		if err != nil {
			return nil, errors.Join(err, s.closeListeners())
		}
		s.listeners = append(s.listeners, listener)
	}
	if s.config.URL == "" {
		s.config.URL = reachable(s.listeners[0].Addr())
	}
	s.config.lambdaURL = s.LambdaURL()
	s.config.secure = "https" + strings.TrimPrefix(reachable(s.listeners[0].Addr()), "http")
	cloud, err := Open(ctx, s.config.Config)
	if err != nil {
		return nil, errors.Join(err, s.closeListeners())
	}
	s.cloud = cloud
	if missing := cloud.notSandboxed(); missing != "" {
		s.notes = append(s.notes, missing)
	}
	return s, nil
}

// listen opens an address. One that other machines reach needs keys to check them by.
func listen(ctx context.Context, address string, checked bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("listen on %q: expected HOST:PORT, such as 127.0.0.1:4566", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &AddressInUseError{address}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	// The opened address is checked, not the requested one: any name may resolve to any
	// address.
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && !checked {
		listener.Close()
		return nil, &ExposedError{address}
	}
	return listener, nil
}

// reachable is a URL under which this machine reaches an address.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + address.String()
}

// URL is the address as clients configure it.
func (s *Server) URL() string { return s.config.URL }

// ConsoleURL is the address of the console, with the token of CloudFormation.ConsolePath.
func (s *Server) ConsoleURL() string { return s.URL() + s.cloud.ConsolePath() }

// LambdaURL is the second address, may be "".
func (s *Server) LambdaURL() string {
	if len(s.listeners) < 2 {
		return ""
	}
	return reachable(s.listeners[1].Addr())
}

// Notes are what the person who started the server should know.
func (s *Server) Notes() []string { return s.notes }

// Shown are sentences about what functions see whose files were named.
func (s *Server) Shown() []string { return s.cloud.shown }

// Simulated are sentences about the types that Config.Simulate matches, one for each pattern.
func (s *Server) Simulated(ctx context.Context) ([]string, error) {
	coverage, err := s.cloud.shelf.Coverage(ctx)
	lines := make([]string, len(coverage))
	for i, c := range coverage {
		switch {
		case c.Types == 0:
			lines[i] = c.Pattern + " (no schema is imported: run cfn types import aws)"
			if !strings.HasPrefix(c.Pattern, "AWS::") {
				lines[i] = c.Pattern + " (no schema is imported: run cfn types import FILE)"
			}
		case c.Imported.IsZero():
			lines[i] = c.Pattern
		default:
			lines[i] = fmt.Sprintf("%s (%s, imported %s)", c.Pattern, words.Count(c.Types, "schema"), c.Imported.UTC().Format(time.DateOnly))
		}
	}
	return lines, err
}

// Limits is a sentence about how memory, processes and temporary files of handlers are limited.
func (s *Server) Limits() string { return s.cloud.limits() }

// Serve answers requests until ctx ends, lets those under way finish for the GracePeriod and
// cancels the others, ends the handlers and closes the store. What must be durable resumes
// with the next start. It returns nil after an orderly end. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	var serving sync.WaitGroup
	failed := make(chan error, len(s.listeners))
	// Requests end with the server.
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	servers := make([]*http.Server, len(s.listeners))
	proxy := s.cloud.newProxy(s.counted(s.cloud))
	defer proxy.close()
	for i, listener := range s.listeners {
		handler := http.Handler(proxy)
		if i == 1 {
			handler = functionsOnly(s.counted(s.cloud))
		}
		servers[i] = &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: s.config.HeaderTimeout,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			BaseContext:       func(net.Listener) context.Context { return base },
			ConnContext:       withConn,
			ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
		}
		serving.Go(func() {
			if i == 0 {
				listener = s.cloud.trust.Listener(listener)
			}
			if err := servers[i].Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", listener.Addr(), err)
			}
		})
	}
	s.cloud.processes.serve(proxy, functionsOnly(s.counted(s.cloud)))
	servers = append(servers, s.cloud.processes.main, s.cloud.processes.functions)
	quiet := s.trimWhenQuiet()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	quiet()
	s.cloud.console.Close()
	s.drain(servers, end)
	serving.Wait()
	return errors.Join(err, s.cloud.Close())
}

// drain ends the requests under way: by themselves within the GracePeriod, else by cancel,
// and those that wait for their clients by closing their connections.
func (s *Server) drain(servers []*http.Server, cancel func()) {
	if shutdown(servers, s.config.GracePeriod) {
		return
	}
	s.cloud.server.StopInvocations()
	cancel()
	if shutdown(servers, lastAnswers) {
		return
	}
	for _, server := range servers {
		server.Close() // the listeners are closed already
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(lastRequests); s.underWay.Load() > 0; <-look.C {
		if time.Now().After(until) {
			s.config.Logger.Error("requests do not end", "requests", s.underWay.Load())
			return
		}
	}
}

// shutdown stops listening, and reports whether no request is left within the limit.
func shutdown(servers []*http.Server, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := true
	for _, server := range servers {
		done = server.Shutdown(ctx) == nil && done
	}
	return done
}

// counted counts requests.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.underWay.Add(1)
		defer s.underWay.Add(-1)
		next.ServeHTTP(w, r)
	})
}

// quietAfter is the idle time after which memory is returned to the system.
const quietAfter = 30 * time.Second

// trimWhenQuiet gives the memory of a busy time back to the system when it is over: the
// server runs next to an editor and a browser all day, and the runtime would keep it. It
// returns a function that ends it.
func (s *Server) trimWhenQuiet() (end func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(quietAfter)
		defer ticker.Stop()
		var seen, trimmed int64
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			now := s.requests.Load()
			if now == seen && now != trimmed {
				debug.FreeOSMemory()
				if err := releaseProgram(); err != nil {
					s.config.Logger.Debug("the pages of the program stay in memory", "error", err)
				}
				trimmed = now
			}
			seen = now
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// Close is for a Server that never serves.
func (s *Server) Close() error { return errors.Join(s.closeListeners(), s.cloud.Close()) }

func (s *Server) closeListeners() error {
	var errs []error
	for _, listener := range s.listeners {
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}

// functionsOnly keeps everything but invocations away from the address of functions.
func functionsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && !strings.HasPrefix(r.URL.Path, "/2015-03-31/functions/") {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
