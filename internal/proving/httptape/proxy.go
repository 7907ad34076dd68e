package httptape

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/tunnel"
)

// A Mode defines how calls are answered.
type Mode int

// The modes.
const (
	Local  Mode = iota // forwarded to this machine only; anything else is refused
	Record             // forwarded anywhere and put on the tape
	Replay             // answered from the tape; nothing is forwarded
)

// Config sets up a [Proxy]. The zero Config forwards to this machine only.
type Config struct {
	Mode Mode

	// Tape is written to by Record and read by Replay, which both need it.
	Tape *Tape

	// Redact removes known secrets from a text. It may be nil; secrets in headers, parameters
	// and members with known names are removed in any case.
	Redact func(string) string

	// Environ is the environment of the child process before Env: endpoints on this
	// machine and further authorities to trust are taken from it. Nil means none.
	Environ []string

	// Upstream sends forwarded calls. Nil means a client with the roots of the system and the
	// authorities of Environ, which uses UpstreamProxy if that is not nil.
	Upstream      http.RoundTripper
	UpstreamProxy func(*http.Request) (*url.URL, error)

	// Dir is where the file for the authority's certificate is made. Empty means the
	// folder for temporary files.
	Dir string

	// Report, if not nil, is called with each call before its answer is sent, from several
	// goroutines.
	Report func(Exchange)

	// Now is the clock of the certificates. Nil means time.Now.
	Now func() time.Time
}

// An Exchange is one call that reached the proxy, without secrets.
type Exchange struct {
	Name      string // "POST https://sts.us-east-1.amazonaws.com/ (GetCallerIdentity)"
	Status    int    // 0 without an answer
	Fault     Kind   // "" if it was let through
	Unmatched bool   // Replay: the tape has no answer
	Refused   bool   // Local: its host is not this machine
	Err       string // why there is no answer from the host; "" otherwise
}

// A Proxy is an HTTP proxy on loopback. Make one with [Start], and Close it.
type Proxy struct {
	cfg       Config
	authority *tunnel.Authority
	scrub     scrubber
	upstream  http.RoundTripper
	dir       string   // with the certificate
	env       []string // of the child
	servers   []*http.Server
	front     *tunnel.Front
	ended     sync.WaitGroup

	mu        sync.Mutex
	faults    map[int][]Fault // by call
	calls     int
	exchanges []*Exchange
	closed    bool
}

// lifetime of the certificates: longer than any run, short enough to be harmless.
const lifetime = 7 * 24 * time.Hour

// maxExchanges bounds what is remembered between two calls of Inject.
const maxExchanges = 10_000

// Start makes a proxy that listens on 127.0.0.1. The error is that of the system.
func Start(cfg Config) (*Proxy, error) {
	if cfg.Mode != Local && cfg.Tape == nil {
		return nil, errors.New("start the proxy: recording and replaying require a tape")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	authority, err := tunnel.NewAuthority("cfn test, valid for one run", cfg.Now(), lifetime)
	if err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, authority: authority, scrub: scrubber{cfg.Redact}}
	if err := p.start(); err != nil {
		_ = p.Close() // of what has started; the first error counts
		return nil, err
	}
	return p, nil
}

func (p *Proxy) start() error {
	bundle, extra := p.bundle()
	dir, err := os.MkdirTemp(p.cfg.Dir, "cfn-proxy-")
	if err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	p.dir = dir
	certificate := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(certificate, bundle, 0o600); err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	if p.upstream = p.cfg.Upstream; p.upstream == nil {
		p.upstream = &http.Transport{Proxy: p.cfg.UpstreamProxy, TLSClientConfig: &tls.Config{RootCAs: extra}, DisableCompression: true, ResponseHeaderTimeout: 2 * time.Minute, IdleConnTimeout: time.Minute}
	}
	p.front = tunnel.New(tunnel.Config{Authority: p.authority, Handler: http.HandlerFunc(p.handle)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	p.serve(listener, p.front)
	return p.environment("http://"+listener.Addr().String(), certificate)
}

// bundle is the certificate of the authority, followed by those that the environment
// already trusts beyond the system's; extra are the roots for what is forwarded.
func (p *Proxy) bundle() (bundle []byte, extra *x509.CertPool) {
	bundle = p.authority.PEM()
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, name := range []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"} {
		file := envvar.Get(p.cfg.Environ, name)
		if file == "" {
			continue
		}
		if data, err := os.ReadFile(file); err == nil && len(data) < 4<<20 && roots.AppendCertsFromPEM(data) {
			bundle = append(append(bundle, data...), '\n')
		}
	}
	return bundle, roots
}

// environment writes the variables of the child, with a listener for each endpoint of AWS
// on this machine.
func (p *Proxy) environment(address, certificate string) error {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		p.env = append(p.env, name+"="+address)
	}
	const direct = "127.0.0.1,localhost,::1"
	p.env = append(p.env, "NO_PROXY="+direct, "no_proxy="+direct, "NODE_USE_ENV_PROXY=1")
	for _, name := range []string{"SSL_CERT_FILE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		p.env = append(p.env, name+"="+certificate)
	}
	listeners := map[string]string{}
	for _, entry := range p.cfg.Environ {
		name, value, _ := strings.Cut(entry, "=")
		target, err := url.Parse(value)
		if !strings.HasPrefix(name, "AWS_ENDPOINT_URL") || err != nil || target.Scheme != "http" && target.Scheme != "https" || !loopback(target.Hostname()) {
			continue
		}
		base := target.Scheme + "://" + target.Host
		if listeners[base] == "" {
			if listeners[base], err = p.Before(target); err != nil {
				return err
			}
		}
		p.env = append(p.env, name+"="+listeners[base]+strings.TrimSuffix(target.Path, "/"))
	}
	return nil
}

// Before returns the URL of a listener of the proxy for a server on this machine, to which clients
// would connect directly.
func (p *Proxy) Before(target *url.URL) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("start the proxy: %w", err)
	}
	p.serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = target.Scheme, target.Host
		p.handle(w, r)
	}))
	return "http://" + listener.Addr().String(), nil
}

// serve runs a server until Close.
func (p *Proxy) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 256 << 10,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 only
	}
	p.servers = append(p.servers, server)
	p.ended.Go(func() { _ = server.Serve(listener) })
}

// Env is what a child process needs in its environment, as NAME=value.
func (p *Proxy) Env() []string { return append([]string(nil), p.env...) }

// Close ends the proxy and removes its certificate. What is in progress is cut.
func (p *Proxy) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	for _, server := range p.servers {
		server.Close()
	}
	if p.front != nil {
		p.front.Close()
	}
	p.ended.Wait()
	if t, ok := p.upstream.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	if p.dir != "" {
		if err := files.RemoveTemp(p.dir); err != nil {
			return fmt.Errorf("stop the proxy: %w", err)
		}
	}
	return nil
}

// Inject sets the faults of later calls, and clears the exchanges. Without faults all calls
// pass.
func (p *Proxy) Inject(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.calls, p.exchanges = map[int][]Fault{}, 0, nil
	for _, f := range faults {
		p.faults[f.Call] = append(p.faults[f.Call], f)
	}
}

// Exchanges are the calls since the last Inject, in the order in which they came.
func (p *Proxy) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Exchange, len(p.exchanges))
	for i, e := range p.exchanges {
		out[i] = *e
	}
	return out
}

// begin counts a call and returns its fault. The call is among the exchanges from now on: the
// client may look for it as soon as it has its answer.
func (p *Proxy) begin(name string) (*Exchange, []Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	e := &Exchange{Name: name}
	if len(p.exchanges) < maxExchanges {
		p.exchanges = append(p.exchanges, e)
	}
	return e, p.faults[p.calls-1]
}

// note records the result of a call, before its answer is sent.
func (p *Proxy) note(e *Exchange, became Exchange) {
	p.mu.Lock()
	became.Name = e.Name
	*e = became
	p.mu.Unlock()
	if p.cfg.Report != nil {
		p.cfg.Report(became)
	}
}

// handle answers one request, whose URL is whole by now.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	body, whole, err := readUpTo(r.Body, MaxBody)
	entry := p.entry(r, body)
	exchange, faults := p.begin(p.scrub.entry(entry).name())
	switch {
	case err != nil:
		p.note(exchange, Exchange{Err: "the request ended early"})
		panic(http.ErrAbortHandler)
	case !whole && p.cfg.Mode == Replay:
		p.note(exchange, Exchange{Unmatched: true, Status: http.StatusBadGateway})
		p.fail(w, r, body, "the body of %s is longer than %d MiB: it was not recorded", exchange.Name, MaxBody>>20)
		return
	}
	kind := Kind("")
	for _, f := range faults {
		kind = f.Kind
		switch f.Kind {
		case Throttle, ServerError:
			answer := refusals[detect(r, r.URL.Hostname(), body)][f.Kind]
			p.note(exchange, Exchange{Fault: f.Kind, Status: answer.status})
			answer.write(w, r)
			return
		case CutBefore:
			p.note(exchange, Exchange{Fault: f.Kind})
			panic(http.ErrAbortHandler)
		case CutAfter: // the answer is discarded
			p.answer(nowhere{http.Header{}}, r, entry, body, exchange, f.Kind)
			panic(http.ErrAbortHandler)
		case Slow:
			if !pause(r.Context(), f.Delay) {
				return
			}
		}
	}
	p.answer(w, r, entry, body, exchange, kind)
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// entry describes a request; secrets are still in it.
func (p *Proxy) entry(r *http.Request, body []byte) *Entry {
	u := *r.URL
	u.Fragment = ""
	if u.Path == "" {
		u.Path = "/"
	}
	e := &Entry{Method: r.Method, URL: u.String(), Target: r.Header.Get("X-Amz-Target"), RequestType: r.Header.Get("Content-Type")}
	e.setBodies(decoded(r.Header, body), nil)
	return e
}

// answer replays or forwards. kind is the fault of the call, "" if it has none.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, entry *Entry, body []byte, exchange *Exchange, kind Kind) {
	switch {
	case p.cfg.Mode == Replay:
		p.replay(w, r, entry, body, exchange, kind)
	case p.cfg.Mode == Local && !loopback(r.URL.Hostname()):
		p.note(exchange, Exchange{Refused: true, Status: http.StatusBadGateway, Fault: kind})
		p.fail(w, r, body, "%s was not sent: network calls to other machines require --record", exchange.Name)
	case r.Header.Get("Upgrade") != "":
		p.note(exchange, Exchange{Status: http.StatusNotImplemented, Fault: kind})
		http.Error(w, "the proxy takes no "+r.Header.Get("Upgrade"), http.StatusNotImplemented)
	default:
		p.forward(w, r, entry, body, exchange, kind)
	}
}

// fail answers 502 with the reason, in the format that the client expects errors in: so
// the reason reaches the log of the handler.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, body []byte, format string, args ...any) {
	w.Header().Set("X-Cfn-Proxy", "refused")
	explain(detect(r, r.URL.Hostname(), body), "cfn: "+fmt.Sprintf(format, args...)).write(w, r)
}

// replay answers from the tape.
func (p *Proxy) replay(w http.ResponseWriter, r *http.Request, entry *Entry, body []byte, exchange *Exchange, kind Kind) {
	recorded := p.cfg.Tape.answer(p.scrub.entry(entry))
	if recorded == nil || recorded.Missing != "" {
		p.note(exchange, Exchange{Unmatched: true, Status: http.StatusBadGateway, Fault: kind})
		if recorded == nil {
			p.fail(w, r, body, "the recording does not contain %s", exchange.Name)
			return
		}
		p.fail(w, r, body, "the response to %s was not recorded: %s", exchange.Name, recorded.Missing)
		return
	}
	p.note(exchange, Exchange{Status: recorded.Status, Fault: kind})
	for name, values := range recorded.Header {
		name = http.CanonicalHeaderKey(name)
		if leftOut[name] || name == "Content-Length" && r.Method != http.MethodHead { // the body has another length without its secrets
			continue
		}
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
	w.WriteHeader(recorded.Status)
	if r.Method != http.MethodHead && recorded.Status >= 200 && recorded.Status != http.StatusNoContent && recorded.Status != http.StatusNotModified {
		_, _ = w.Write(recorded.body()) // the client may have hung up
	}
}

var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Upgrade"}

// forward sends the request to its host and passes the answer back as it comes.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, entry *Entry, body []byte, exchange *Exchange, kind Kind) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	if r.ContentLength == 0 {
		out.Body = nil
	}
	for _, name := range hopByHop {
		out.Header.Del(name)
	}
	if r.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "") // none, rather than that of Go
	}
	response, err := p.upstream.RoundTrip(out)
	if err != nil {
		why := p.scrub.text(err.Error())
		p.note(exchange, Exchange{Err: why, Status: http.StatusBadGateway, Fault: kind})
		p.fail(w, r, body, "%s: %s", exchange.Name, why)
		return
	}
	defer response.Body.Close()
	p.note(exchange, Exchange{Status: response.StatusCode, Fault: kind})
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	w.WriteHeader(response.StatusCode)
	length := response.ContentLength
	if r.Method == http.MethodHead {
		length = -1
	}
	err = copyOut(w, response.Body, length, func(body []byte, cut bool) {
		if p.cfg.Mode == Record {
			p.keep(entry, response, body, cut, r.ContentLength > MaxBody)
		}
	})
	if err != nil {
		p.note(exchange, Exchange{Err: "the connection ended within the answer", Status: response.StatusCode, Fault: kind})
		panic(http.ErrAbortHandler)
	}
}

// keep puts a call on the tape.
func (p *Proxy) keep(entry *Entry, response *http.Response, body []byte, cut, long bool) {
	entry.Status, entry.Header = response.StatusCode, response.Header.Clone()
	plain, ok := inflated(response.Header, body)
	switch {
	case cut:
		entry.Missing, plain = fmt.Sprintf("it is longer than %d MiB, or ended early", MaxBody>>20), nil
	case long:
		entry.Missing, plain = "the request is too long", nil
	case !ok:
		entry.Missing, plain = "its Content-Encoding "+response.Header.Get("Content-Encoding")+" cannot be searched for secrets", nil
	}
	request := entry.requestBody()
	entry.RequestBytes, entry.RequestBody = nil, ""
	entry.setBodies(request, plain)
	p.cfg.Tape.add(p.scrub.entry(entry))
}

// copyOut copies an answer to the client, each piece at once. It passes the beginning of the
// answer, at most MaxBody, to end before the client can know that it has everything: length is
// the length of the answer, -1 if unknown.
func copyOut(w http.ResponseWriter, from io.Reader, length int64, end func(kept []byte, cut bool)) error {
	controller := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	var kept []byte
	var total int64
	cut, ended := false, false
	finish := func(early bool) {
		if !ended {
			ended = true
			end(kept, cut || early)
		}
	}
	for {
		n, err := from.Read(buffer)
		if total += int64(n); len(kept)+n <= MaxBody {
			kept = append(kept, buffer[:n]...)
		} else {
			cut = true
		}
		if errors.Is(err, io.EOF) || total == length {
			finish(false)
		}
		if n > 0 {
			if _, werr := w.Write(buffer[:n]); werr != nil {
				finish(true)
				return werr
			}
			_ = controller.Flush() // not every writer can
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			finish(true)
			return err
		}
	}
}

// readUpTo reads the beginning of a body; whole reports whether that is all of it.
func readUpTo(r io.Reader, limit int) (data []byte, whole bool, err error) {
	if r == nil {
		return nil, true, nil
	}
	data, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	return data, len(data) <= limit, err
}

// inflated undoes the Content-Encoding of a body, within bounds.
func inflated(h http.Header, body []byte) ([]byte, bool) {
	switch strings.ToLower(h.Get("Content-Encoding")) {
	case "", "identity", "aws-chunked":
		return body, true
	case "gzip", "x-gzip":
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return body, len(body) == 0
		}
		plain, whole, err := readUpTo(reader, MaxBody)
		return plain, whole && err == nil
	}
	return nil, len(body) == 0
}

// decoded is a request's body for matching and recording.
func decoded(h http.Header, body []byte) []byte {
	if plain, ok := inflated(h, body); ok {
		return plain
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// nowhere is a ResponseWriter whose client will not learn what it says.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}
