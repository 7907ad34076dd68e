package lambda

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/reach"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// A Network is what processes with a network of their own find there.
type Network struct {
	// Served are ports that the program serves for these processes alone.
	Served []Served

	// Names are the host names of this program, which lead to 127.0.0.1.
	Names []string
}

// Served is an address in the network of a process.
type Served struct {
	IP    string // IPv4; "" means 127.0.0.1
	Port  int
	Serve func(net.Listener) // returns when the listener is closed
}

// runtimeAPIPort is that of Lambda. A process that is to reach another program at it gets the next
// free one.
const runtimeAPIPort = 9001

// A plan is the network of the processes of a function.
type plan struct {
	runtimeAPI string // HOST:PORT
	parts      []part
	names      []string // lines of /etc/hosts
}

// A part is what some sockets of the sandbox are for.
type part struct {
	sockets []sandbox.Socket
	use     func(p *process, network *reach.Network, socket *os.File) error // called for each one that was made
}

func (p *plan) sockets() (all []sandbox.Socket) {
	for _, part := range p.parts {
		all = append(all, part.sockets...)
	}
	return all
}

// newPlan returns the plan of a function, nil if its processes have the network of the machine.
func newPlan(c *Config) (*plan, error) {
	if !c.Sandbox.Isolated() {
		return nil, nil //nolint:nilnil // as Config.plan has it
	}
	p := &plan{}
	taken := map[string]bool{}
	add := func(ip string, port int, use func(net.Listener, *reach.Network)) {
		at := net.JoinHostPort(ip, strconv.Itoa(port))
		if taken[at] {
			return
		}
		taken[at] = true
		p.parts = append(p.parts, part{sandbox.TCP(ip, port), func(_ *process, network *reach.Network, socket *os.File) error {
			listener, err := net.FileListener(socket)
			if err == nil {
				use(listener, network)
			}
			return err
		}})
	}
	for _, served := range c.Network.Served {
		ip := served.IP
		orDefault(&ip, sandbox.Loopback)
		add(ip, served.Port, func(l net.Listener, network *reach.Network) { go served.Serve(network.Listener(l)) })
	}
	for _, name := range c.Network.Names {
		p.names = append(p.names, sandbox.Loopback+" "+name)
	}
	if err := p.relays(c, add); err != nil {
		return nil, err
	}
	port := runtimeAPIPort
	for taken[net.JoinHostPort(sandbox.Loopback, strconv.Itoa(port))] {
		port++
	}
	p.runtimeAPI = net.JoinHostPort(sandbox.Loopback, strconv.Itoa(port))
	p.parts = append(p.parts, part{sandbox.TCP(sandbox.Loopback, port)[:1], func(p *process, network *reach.Network, socket *os.File) error {
		listener, err := net.FileListener(socket)
		if err == nil {
			p.listener = network.Listener(listener)
		}
		return err
	}})
	p.outbound(c.Sandbox.Outbound())
	if len(p.sockets()) > sandbox.MaxSockets {
		return nil, fmt.Errorf("the sandbox has at most %d sockets: name fewer addresses with --reach", sandbox.MaxSockets)
	}
	return p, nil
}

// relays adds the addresses that the user has named, under the addresses that they have outside. One of another
// machine that is a name has an address of loopback inside.
func (p *plan) relays(c *Config, add func(string, int, func(net.Listener, *reach.Network))) error {
	named := map[string]string{}
	for _, address := range slices.Concat(c.Sandbox.Reach, Reached(c.Environ), Reached(c.Sandbox.Environ)) {
		host, port, err := ParseReach(address)
		if err != nil {
			return err
		}
		target := net.JoinHostPort(host, strconv.Itoa(port))
		ip := host
		switch parsed, err := netip.ParseAddr(host); {
		case strings.EqualFold(host, "localhost") || err == nil && parsed == netip.IPv6Loopback():
			ip = sandbox.Loopback
		case err != nil:
			if ip = named[host]; ip == "" {
				ip = fmt.Sprintf("127.1.0.%d", len(named)+1)
				named[host] = ip
				p.names = append(p.names, ip+" "+host)
			}
		}
		add(ip, port, func(l net.Listener, network *reach.Network) {
			network.Relay(l, func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", target) })
		})
	}
	return nil
}

// outbound adds what answers questions about names, and the way to other machines.
func (p *plan) outbound(open bool) {
	p.parts = append(p.parts, part{[]sandbox.Socket{sandbox.UDP(sandbox.NameServer, 53)}, func(_ *process, network *reach.Network, socket *os.File) error {
		packets, err := net.FilePacketConn(socket)
		if err == nil {
			network.Names(packets, open)
		}
		return err
	}})
	if !open {
		return
	}
	p.parts = append(p.parts, part{sandbox.TCP(sandbox.NameServer, 53), func(_ *process, network *reach.Network, socket *os.File) error {
		listener, err := net.FileListener(socket)
		if err == nil {
			network.Relay(listener, reach.DialNames)
		}
		return err
	}}, part{[]sandbox.Socket{sandbox.Tun()}, func(_ *process, network *reach.Network, socket *os.File) error {
		return network.Outbound(socket, sandbox.TunMTU)
	}})
}

// connect puts the sockets of a sandbox to use.
func (p *process) connect(session *sandbox.Session) (err error) {
	c := p.config
	if c.plan == nil {
		return nil
	}
	p.network = reach.New(c.Logger)
	sockets := session.Sockets()
	defer func() {
		for _, socket := range sockets {
			_ = socket.Close() // nil, or what uses it has a copy
		}
		if err != nil {
			p.network.Close()
		}
	}()
	i := 0
	for _, part := range c.plan.parts {
		for _, kind := range part.sockets {
			socket := sockets[i]
			i++
			switch {
			case socket == nil && kind == sandbox.Tun():
				sayOnce.Do(func() { c.Logger.Warn("handlers reach no other machines: this system makes no interface for them") })
			case socket != nil:
				if err := part.use(p, p.network, socket); err != nil {
					return err
				}
				if kind == sandbox.Tun() {
					sockets[i-1] = nil // the network closes it
				}
			}
		}
	}
	if c.Debug == nil || c.Debug.Address == "" {
		return nil
	}
	_, port, err := ParseReach(c.Debug.Address)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Debug.Address)
	if err != nil {
		return err
	}
	p.network.Relay(listener, func(ctx context.Context) (net.Conn, error) { return session.Dial(ctx, port) })
	return nil
}

// ParseReach reads an address that processes are to reach, HOST:PORT.
func ParseReach(text string) (host string, port int, err error) {
	host, number, err := net.SplitHostPort(text)
	if err == nil {
		port, err = strconv.Atoi(number)
	}
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case err != nil || port < 1 || port > 65535 || host == "" || strings.ContainsAny(host, " \t\r\n/#@"):
		return "", 0, fmt.Errorf("%q is not of the form HOST:PORT, such as 127.0.0.1:5432", text)
	case ipErr == nil && ip.IsUnspecified():
		return "", 0, fmt.Errorf("%q names all addresses: name one, such as 127.0.0.1:%d", text, port)
	case ipErr == nil && ip.Is6() && ip != netip.IPv6Loopback():
		return "", 0, fmt.Errorf("%q is an IPv6 address: name the host instead", text)
	}
	return host, port, nil
}

// Reached are the addresses of this machine in variables that the user has set: those of AWS elsewhere, and
// proxies.
func Reached(environ []string) (addresses []string) {
	for _, entry := range environ {
		name, value, _ := cutEnv(entry)
		upper := strings.ToUpper(name)
		switch {
		case upper == "HTTP_PROXY", upper == "HTTPS_PROXY", upper == "ALL_PROXY":
			if !strings.Contains(value, "://") {
				value = "http://" + value
			}
		case name == proxyAddress, name == responseAddress:
			value = "http://" + value
		case !strings.HasPrefix(name, "AWS_ENDPOINT_URL"):
			continue
		}
		at, err := url.Parse(value)
		if err != nil || !isLoopback(at.Hostname()) {
			continue
		}
		port := at.Port()
		if port == "" {
			port = map[bool]string{true: "443", false: "80"}[at.Scheme == "https"]
		}
		if address := net.JoinHostPort(at.Hostname(), port); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
