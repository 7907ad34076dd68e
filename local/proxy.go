package local

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/reach"
	"github.com/formwork-dev/formwork/internal/foundation/tunnel"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/server"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A proxy is what a Server is for clients that use it as their HTTPS proxy: it answers requests to
// the hosts of AWS itself, passes on what the user allows, and refuses the rest by name.
type proxy struct {
	front     *tunnel.Front
	next      http.Handler        // of this server
	endpoints map[string]*url.URL // by the label of the service in its hosts
	allowed   []string            // hosts, "*.example.com" and "*"
	upstream  func(*url.URL) (*url.URL, error)
	upstreams []string // HOST:PORT
	forward   *httputil.ReverseProxy
	confined  *httputil.ReverseProxy // that of processes: it does not reach this machine
	logger    *slog.Logger

	mu      sync.Mutex
	refused map[string]bool // hosts that the log has
}

// An endpoint is the address of a service of AWS that another program emulates.
type endpoint struct {
	service string // as in AWS_ENDPOINT_URL_<SERVICE>, in lower case with dashes
	url     *url.URL
}

var serviceName = lazyregexp.New(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// parseEndpoint reads SERVICE=URL.
func parseEndpoint(text string) (endpoint, error) {
	name, value, found := strings.Cut(text, "=")
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	at, err := url.Parse(value)
	if !found || !serviceName.MatchString(name) || err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return endpoint{}, fmt.Errorf("%q is not of the form SERVICE=URL, such as ec2=http://127.0.0.1:5000", text)
	}
	return endpoint{name, at}, nil
}

// hostLabels are the labels in the hosts of services, where they are not the names that the SDKs
// have for the services.
var hostLabels = map[string]string{
	"application-auto-scaling": "application-autoscaling", "auto-scaling": "autoscaling", "cloudwatch": "monitoring", "cloudwatch-events": "events", "cloudwatch-logs": "logs",
	"cognito-identity-provider": "cognito-idp", "config-service": "config", "cost-explorer": "ce", "database-migration-service": "dms", "directory-service": "ds",
	"efs": "elasticfilesystem", "elastic-beanstalk": "elasticbeanstalk", "elastic-load-balancing": "elasticloadbalancing", "elastic-load-balancing-v2": "elasticloadbalancing",
	"elasticsearch-service": "es", "emr": "elasticmapreduce", "eventbridge": "events", "iot-data-plane": "data-ats", "opensearch": "es",
	"resource-groups-tagging-api": "tagging", "secrets-manager": "secretsmanager", "service-quotas": "servicequotas", "sesv2": "email", "ses": "email", "sfn": "states",
	"storage-gateway": "storagegateway", "waf-regional": "waf-regional",
}

// environ are the variables that lead the SDKs to the endpoints.
func (e endpoint) environ() string {
	return "AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(e.service, "-", "_")) + "=" + e.url.String()
}

func (c *Config) endpoints() ([]endpoint, error) {
	out := make([]endpoint, 0, len(c.Endpoints))
	for _, text := range c.Endpoints {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

var allowedHost = lazyregexp.New(`^(?:\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[?[0-9A-Fa-f:.]+\]?)$`)

// checkProxy checks AllowHosts and Endpoints.
func (c *Config) checkProxy() error {
	for _, host := range c.AllowHosts {
		if !allowedHost.MatchString(host) {
			return fmt.Errorf("the allowed host %q is not a host name without port, such as api.example.com, *.example.com or *", host)
		}
	}
	_, err := c.endpoints()
	return err
}

// allowedHosts are AllowHosts as allows takes them.
func (c *Config) allowedHosts() (hosts []string) {
	for _, host := range c.AllowHosts {
		hosts = append(hosts, strings.ToLower(strings.Trim(host, "[]")))
	}
	return hosts
}

// newProxy is the proxy of a server whose handler is next. Close its front.
func (c *CloudFormation) newProxy(next http.Handler) *proxy {
	p := &proxy{next: next, endpoints: map[string]*url.URL{}, logger: c.config.Logger, refused: map[string]bool{}}
	endpoints, _ := c.config.endpoints() // Open has checked them
	for _, e := range endpoints {
		label := e.service
		if other := hostLabels[label]; other != "" {
			label = other
		}
		p.endpoints[label] = e.url
	}
	p.allowed = c.config.allowedHosts()
	var outer httpproxy.Config
	for _, entry := range c.config.Environ {
		name, value, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY":
			outer.HTTPProxy = value
		case "HTTPS_PROXY":
			outer.HTTPSProxy = value
		case "NO_PROXY":
			outer.NoProxy = value
		}
	}
	own := strings.TrimPrefix(c.config.secure, "https://")
	for _, address := range []*string{&outer.HTTPProxy, &outer.HTTPSProxy} {
		if strings.TrimSuffix(strings.TrimPrefix(*address, "http://"), "/") == own {
			*address = "" // started with the variables of a former server
		}
	}
	p.upstream = outer.ProxyFunc()
	for _, address := range []string{outer.HTTPProxy, outer.HTTPSProxy} {
		if at, err := url.Parse(address); err == nil && at.Host != "" {
			p.upstreams = append(p.upstreams, proxyAddress(at))
		}
	}
	p.forward, p.confined = p.forwarding((&net.Dialer{}).DialContext, c.config.Logger), p.forwarding(p.dialOut, c.config.Logger)
	p.front = tunnel.New(tunnel.Config{Authority: c.trust.Authority(), Handler: http.HandlerFunc(p.serve), Dial: p.dial, Context: func(request, connect context.Context) context.Context {
		if process, ok := server.ProcessOf(connect); ok {
			return server.OfProcess(request, process)
		}
		return request
	}})
	return p
}

// forwarding passes requests on.
func (p *proxy) forwarding(dial func(ctx context.Context, network, address string) (net.Conn, error), logger *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if to := p.endpointOf(r.In.URL.Hostname()); to != nil {
				r.SetURL(to)
			}
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return p.upstream(r.URL) }, DialContext: dial, DisableCompression: true, ResponseHeaderTimeout: 2 * time.Minute, IdleConnTimeout: time.Minute},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.fail(w, http.StatusBadGateway, r, err.Error())
		},
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// dialOut connects for a process: to another machine, or to the proxy of the environment.
func (p *proxy) dialOut(ctx context.Context, network, address string) (net.Conn, error) {
	if p.isUpstream(address) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return reach.Dial(ctx, network, address)
}

// isUpstream reports whether an address is that of the proxy of the environment.
func (p *proxy) isUpstream(address string) bool {
	return slices.Contains(p.upstreams, address)
}

func (p *proxy) close() {
	p.front.Close()
	p.forward.Transport.(*http.Transport).CloseIdleConnections()
	p.confined.Transport.(*http.Transport).CloseIdleConnections()
}

// ServeHTTP takes what is for a proxy, and leaves the rest to the server.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host := hostname(r.Host); !tunnel.ForProxy(r) && awswire.AWSHost(host) && overTLS(r) { // as if it was sent to that host
		r.URL.Scheme, r.URL.Host = "https", host
		p.serve(w, r)
		return
	}
	if tunnel.ForProxy(r) && !(r.Method != http.MethodConnect && r.URL.Host == r.Host && invoke.Loopback(r.URL.Hostname())) {
		p.front.ServeHTTP(w, r)
		return
	}
	p.next.ServeHTTP(w, r)
}

// serve answers a request whose URL has a scheme and a host.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	host := r.URL.Hostname()
	near := fromHere(r)
	_, confined := server.ProcessOf(r.Context())
	switch {
	case awswire.AWSHost(host) && (!near || p.endpointOf(host) == nil):
		own := r.Clone(server.Tunneled(r.Context()))
		own.URL.Scheme, own.URL.Host, own.URL.User = "", "", nil
		own.RequestURI = own.URL.RequestURI()
		p.next.ServeHTTP(w, own)
	case near && awswire.AWSHost(host):
		p.forward.ServeHTTP(w, r)
	case confined && p.allows(host):
		if err := reach.CheckHost(host); err != nil {
			p.fail(w, http.StatusForbidden, r, err.Error())
			return
		}
		p.confined.ServeHTTP(w, r)
	case near && !confined && (invoke.Loopback(host) || p.allows(host)):
		p.forward.ServeHTTP(w, r)
	default:
		p.note(host)
		p.fail(w, http.StatusForbidden, r, fmt.Sprintf("it is not a host of AWS; start cfn serve with --allow-host %s to let clients reach it", host))
	}
}

// dial opens the connection of a tunnel that is passed on, nil for one that ends here.
func (p *proxy) dial(r *http.Request) (net.Conn, error) {
	host := r.URL.Hostname()
	_, confined := server.ProcessOf(r.Context())
	allowed := p.allows(host) && (!confined || reach.CheckHost(host) == nil) || !confined && invoke.Loopback(host)
	if awswire.AWSHost(host) || !fromHere(r) || !allowed {
		return nil, nil //nolint:nilnil // as Config.Dial has it
	}
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	dial := (&net.Dialer{}).DialContext
	if confined {
		dial = p.dialOut
	}
	conn, err := p.connect(ctx, dial, r.URL.Host)
	if err != nil {
		return nil, fmt.Errorf("cfn serve: connect to %s: %w", r.URL.Host, err)
	}
	return conn, nil
}

// connect dials a host, through the proxy of the environment if that has one for it.
func (p *proxy) connect(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) (net.Conn, error) {
	outer, err := p.upstream(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, err
	}
	if outer == nil {
		return dial(ctx, "tcp", address)
	}
	conn, err := dial(ctx, "tcp", proxyAddress(outer))
	if err != nil {
		return nil, err
	}
	if outer.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: outer.Hostname()})
	}
	if err := greet(ctx, conn, outer, address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// proxyAddress is that of a proxy, HOST:PORT.
func proxyAddress(at *url.URL) string {
	return net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), map[string]string{"https": "443"}[at.Scheme], "80"))
}

// greet asks a proxy for a tunnel.
func greet(ctx context.Context, conn net.Conn, outer *url.URL, address string) error {
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return err
		}
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := outer.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	// The peer says nothing else before the client does.
	response, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(conn, 64<<10), 16), request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // empty if a tunnel was opened
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy %s answers %s", outer.Host, response.Status)
	}
	return conn.SetDeadline(time.Time{})
}

// endpointOf is where the service of an AWS host is emulated, nil if here.
func (p *proxy) endpointOf(host string) *url.URL {
	if !awswire.AWSHost(host) {
		return nil
	}
	for _, label := range strings.Split(strings.ToLower(host), ".") {
		if to := p.endpoints[label]; to != nil {
			return to
		}
	}
	return nil
}

// allows reports whether the user lets clients reach a host. Others than handlers reach this machine anyway.
func (p *proxy) allows(host string) bool { return allows(p.allowed, host) }

// allows reports whether a host is one of those, in lower case, that are allowed.
func allows(allowed []string, host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(allowed, func(allowed string) bool {
		below, open := strings.CutPrefix(allowed, "*")
		return host == allowed || open && strings.HasSuffix(host, below)
	})
}

// maxRefused bounds the hosts that are in the log.
const maxRefused = 1000

// note writes a refused host to the log, once.
func (p *proxy) note(host string) {
	p.mu.Lock()
	known := p.refused[host] || len(p.refused) >= maxRefused
	if !known {
		p.refused[host] = true
	}
	p.mu.Unlock()
	if !known {
		p.logger.Warn("a call through the proxy was refused: the host is not one of AWS", "host", host, "hint", "--allow-host "+host)
	}
}

func (p *proxy) fail(w http.ResponseWriter, status int, r *http.Request, why string) {
	w.Header().Set("X-Cfn-Proxy", "refused")
	http.Error(w, fmt.Sprintf("cfn serve: %s was not reached: %s", r.URL.Hostname(), why), status)
}

// fromHere reports whether a client is on this machine.
func fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && invoke.Loopback(host)
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

type connKey struct{}

// withConn has the requests of a connection know it.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// overTLS reports whether a request came through TLS.
func overTLS(r *http.Request) bool {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	return ok && customresource.Secure(conn)
}

// ProxyEnviron are the variables with which a program uses the server as its proxy for HTTPS. The
// environment is what the program gets besides, in which these replace others.
func (s *Server) ProxyEnviron(environ []string) ([]string, error) {
	own, err := s.cloud.trust.Environ(s.config.secure, environ)
	if err != nil {
		return nil, err
	}
	proxied, err := s.cloud.trust.ProxyEnviron(s.config.secure, environ, s.cloud.config.endpointHosts())
	return append(own, proxied...), err
}

// endpointHosts are the hosts of Endpoints: the SDKs call them without the proxy.
func (c *Config) endpointHosts() []string {
	endpoints, _ := c.endpoints() // Open has checked them
	hosts := make([]string, len(endpoints))
	for i, e := range endpoints {
		hosts[i] = e.url.Hostname()
	}
	return hosts
}

// EndpointEnviron are the variables that lead the SDKs of a program to Config.Endpoints.
func (s *Server) EndpointEnviron() []string {
	endpoints, _ := s.cloud.config.endpoints() // Open has checked them
	out := make([]string, len(endpoints))
	for i, e := range endpoints {
		out[i] = e.environ()
	}
	return out
}
