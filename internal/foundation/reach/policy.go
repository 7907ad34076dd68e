// Package reach is the way from processes that have a network of their own to what they may reach: relays
// to addresses that are named, answers about names, and other machines by a network in user space.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// A RefusedError reports that an address is none of another machine that processes may reach.
type RefusedError struct {
	Address netip.Addr
	Why     string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is not reached from the sandbox: it is %s", e.Address, e.Why)
}

// metadata are the addresses where clouds give machines their keys, beside the link-local ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
}

// embedding are the networks whose addresses contain one of IPv4 that translators send packets to.
var embedding = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("::/96")}

// Check reports why processes may not reach an address, nil if it is that of another machine.
func Check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	refused := func(why string) error { return &RefusedError{ip, why} }
	switch {
	case !ip.IsValid() || ip.IsUnspecified() || ip.Is4() && ip.As4()[0] == 0:
		return refused("no address of a machine")
	case ip.IsLoopback():
		return refused("this machine; name what handlers need with --reach HOST:PORT")
	case ip.IsLinkLocalUnicast():
		return refused("link-local, such as the address of a cloud's metadata")
	case ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return refused("for many machines")
	}
	for _, known := range metadata {
		if ip == known {
			return refused("the address of a cloud's metadata")
		}
	}
	for _, network := range embedding {
		if network.Contains(ip) {
			return refused("translated to another one")
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return refused("not known to be another machine's: " + err.Error())
	}
	for _, address := range addresses {
		if own, ok := address.(*net.IPNet); ok && own.IP.Equal(ip.AsSlice()) {
			return refused("this machine; name what handlers need with --reach HOST:PORT")
		}
	}
	return nil
}

// CheckHost is Check for a host that is an address or a name of this machine. Other names are checked when they
// are resolved: see Dial.
func CheckHost(host string) error {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return Check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Check(ip)
	}
	return nil
}

// dialTimeout bounds a connection's beginning.
const dialTimeout = 30 * time.Second

// Dial connects to another machine; what Check refuses is not reached, whatever the name is resolved to.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return Check(at.Addr())
	}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	// Routes can lead to this machine as well: its own address is on both ends then.
	if local, remote := addressOf(conn.LocalAddr()), addressOf(conn.RemoteAddr()); local == remote {
		return nil, errors.Join(&RefusedError{remote, "this machine"}, conn.Close())
	}
	return conn, nil
}

func addressOf(address net.Addr) netip.Addr {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
