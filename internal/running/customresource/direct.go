package customresource

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// withoutProxy is the value of a variable such as NO_PROXY: the hosts that are reached without the proxy. These are
// this machine, others, and those that the variable of the environment names. Hosts of AWS are never among them:
// clients would call AWS.
func withoutProxy(name string, environ, others []string) string {
	return strings.Join(append([]string{"127.0.0.1", "localhost", "::1"}, directHosts(name, environ, others)...), ",")
}

// directHosts are the others and those of the variable, without this machine.
func directHosts(name string, environ, others []string) (hosts []string) {
	for _, host := range slices.Concat(others, strings.Split(envvar.Get(environ, name), ",")) {
		host = strings.TrimSpace(host)
		if host != "" && host != "*" && !ofAWS(host) && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// ofAWS reports whether an entry of NO_PROXY names hosts of AWS.
func ofAWS(entry string) bool {
	host, _ := cutPort(entry)
	return awswire.AWSHost("x." + strings.TrimLeft(host, "*."))
}

// cutPort cuts the port from an entry of NO_PROXY. An IPv6 address without brackets has none.
func cutPort(entry string) (host, port string) {
	if host, port, err := net.SplitHostPort(entry); err == nil {
		return host, port
	}
	return strings.Trim(entry, "[]"), ""
}

// javaHosts is the value of http.nonProxyHosts, with which Java reaches the hosts of both spellings of NO_PROXY
// without the proxy. Java has names with a "*" at either end, and no ports: a host with a port is reached directly
// at all ports. Networks of IPv6 addresses cannot be expressed and are left out.
func javaHosts(environ, others []string) string {
	patterns := []string{"localhost", "127.*", "[::1]"}
	add := func(pattern string) {
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		for _, entry := range directHosts(name, environ, others) {
			if network, err := netip.ParsePrefix(entry); err == nil {
				for _, pattern := range javaNetwork(network) {
					add(pattern)
				}
				continue
			}
			host, _ := cutPort(entry)
			address, err := netip.ParseAddr(host)
			switch {
			case err == nil && address.Is6():
				add("[" + host + "]")
			case err == nil:
				add(host)
			default:
				domain := strings.TrimLeft(host, "*.")
				if strings.ContainsAny(domain, "*| ") || domain == "" {
					continue // not a host, and it would be another one for Java
				}
				if domain == host {
					add(domain)
				}
				add("*." + domain)
			}
		}
	}
	return strings.Join(patterns, "|")
}

// javaNetwork are the patterns of an IPv4 network: one for each value of the byte in which its prefix ends, at most 128.
func javaNetwork(network netip.Prefix) []string {
	if !network.Addr().Is4() || network.Bits() == 0 {
		return nil
	}
	first := network.Masked().Addr().As4()
	fixed := (network.Bits() - 1) / 8 // the bytes before that byte
	patterns := make([]string, 1<<(8*(fixed+1)-network.Bits()))
	for i := range patterns {
		address := first
		address[fixed] += byte(i) //nolint:gosec // below 128
		text := netip.AddrFrom4(address).String()
		if parts := strings.Split(text, "."); fixed < 3 {
			text = strings.Join(parts[:fixed+1], ".") + ".*"
		}
		patterns[i] = text
	}
	return patterns
}
