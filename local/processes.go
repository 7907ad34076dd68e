package local

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/server"
)

// processes serves those of functions that have a network of their own, at the addresses of this server there. Whose
// a request is follows from the listener.
type processes struct {
	main, functions *http.Server

	begin   sync.Once
	begun   chan struct{}
	handler http.Handler // for main; set before begun is closed
	invoke  http.Handler // for functions
}

func newProcesses(logger *slog.Logger) *processes {
	p := &processes{begun: make(chan struct{})}
	serving := func(handler func() http.Handler) *http.Server {
		return &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-p.begun:
					handler().ServeHTTP(w, r)
				case <-r.Context().Done():
				}
			}),
			ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			BaseContext: func(l net.Listener) context.Context {
				return server.OfProcess(context.Background(), l.(*theirs).process)
			},
			ConnContext: withConn,
			ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		}
	}
	p.main, p.functions = serving(func() http.Handler { return p.handler }), serving(func() http.Handler { return p.invoke })
	return p
}

// serve answers what waits, and all that follows.
func (p *processes) serve(handler, invoke http.Handler) {
	p.begin.Do(func() {
		p.handler, p.invoke = handler, invoke
		close(p.begun)
	})
}

// Close ends the connections.
func (p *processes) Close() error {
	_, _ = p.main.Close(), p.functions.Close() // the listeners are closed with their processes
	return nil
}

// theirs is a listener in the network of a process.
type theirs struct {
	net.Listener
	process server.Process
}

// network is what a process finds in its own network: this server, under its addresses.
func (c *CloudFormation) network(spec bundle.Spec) lambda.Network {
	process := server.Process{Place: spec.Place, Function: spec.TypeName}
	var n lambda.Network
	serve := func(address string, on func(net.Listener)) {
		host, port := hostPort(address)
		if port == 0 {
			return
		}
		n.Served = append(n.Served, lambda.Served{Port: port, Serve: on})
		switch ip, err := netip.ParseAddr(host); {
		case err != nil && host != "localhost":
			n.Names = append(n.Names, host)
		case err == nil && ip.Is4() && !ip.IsLoopback():
			n.Served = append(n.Served, lambda.Served{IP: host, Port: port, Serve: on})
		}
	}
	main := func(l net.Listener) {
		if c.config.secure != "" {
			l = c.trust.Listener(l)
		}
		_ = c.processes.main.Serve(&theirs{l, process}) // until the process ends
	}
	serve(c.config.secure, main)
	serve(c.url(), main)
	serve(c.config.lambdaURL, func(l net.Listener) { _ = c.processes.functions.Serve(&theirs{l, process}) })
	for _, name := range c.config.Hosts {
		if _, err := netip.ParseAddr(name); err != nil && !strings.HasPrefix(name, ".") && !slices.Contains(n.Names, name) {
			n.Names = append(n.Names, name)
		}
	}
	return n
}

// hostPort is the address in a URL; the port is 0 if there is none.
func hostPort(address string) (host string, port int) {
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == "" {
		return "", 0
	}
	number := at.Port()
	if number == "" {
		number = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	port, _ = strconv.Atoi(number) // 0 is none
	return at.Hostname(), port
}

// reached are the addresses that the user has named for handlers.
func (c *Config) reached(outbound bool) []string {
	addresses := slices.Concat(c.Reach, lambda.Reached(c.HandlerEnv), lambda.Reached(c.Environ))
	endpoints, _ := c.endpoints() // Open has checked them
	for _, e := range endpoints {
		if host, port := hostPort(e.url.String()); port != 0 && (!outbound || loopback(host)) {
			addresses = append(addresses, net.JoinHostPort(host, strconv.Itoa(port)))
		}
	}
	return addresses
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// mixed is why handlers of several accounts are not run: nothing keeps one from another. It is "" if they are.
func (c *CloudFormation) mixed(s *sandbox.Settings) string {
	if c.accounts < 2 || c.config.TrustHandlers || s.Isolated() {
		return ""
	}
	why := "--network host"
	switch {
	case s.Mode == sandbox.Off:
		why = "the sandbox is off"
	case sandbox.Check() != nil:
		why = sandbox.Check().Error()
	}
	return fmt.Sprintf("handlers are not run: %s has keys of %d accounts, and code of one account could take the calls of another (%s); pass --trust-handlers if you trust all of it", c.config.KeysName, c.accounts, why)
}
