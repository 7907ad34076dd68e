package reach

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// wire returns two ends of what carries packets.
func wire(t *testing.T) (files [2]*os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range pair {
		files[i] = os.NewFile(uintptr(fd), "wire")
	}
	return files
}

// machine is a network of its own at one end of a wire, as a sandbox has it.
func machine(t *testing.T, file *os.File) *stack.Stack {
	t.Helper()
	s := stack.New(stack.Options{NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol}, TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol}})
	link := channel.New(packetQueue, 1500, "")
	if err := s.CreateNIC(device, link); err != nil {
		t.Fatal(err)
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddrFrom4([4]byte{198, 18, 37, 1}).WithPrefix()}
	if err := s.AddProtocolAddress(device, own, stack.AddressProperties{}); err != nil {
		t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: device}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buffer := make([]byte, 1500); ; {
			n, err := file.Read(buffer)
			if err != nil || n == 0 {
				return
			}
			deliver(link, buffer[:n])
		}
	}()
	go func() {
		for {
			packet := link.ReadContext(ctx)
			if packet == nil {
				return
			}
			view := packet.ToView()
			_, _ = file.Write(view.AsSlice()) // what is lost is sent again
			view.Release()
			packet.DecRef()
		}
	}()
	t.Cleanup(func() {
		cancel()
		file.Close()
		<-done
		s.Close()
		s.RemoveNIC(device)
	})
	return s
}

// TestOutbound carries a connection from a network of its own to another machine, and refuses one to this.
func TestOutbound(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn) // until the other end has sent all
			_, _ = io.WriteString(conn, strings.Repeat(string(text), 10_000))
			conn.Close()
		}
	}()
	ends := wire(t)
	n := New(slog.New(slog.DiscardHandler))
	defer n.Close()
	const another = "203.0.113.7:443"
	n.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == another { // stands for another machine
			return (&net.Dialer{}).DialContext(ctx, network, listener.Addr().String())
		}
		return Dial(ctx, network, address)
	}
	if err := n.Outbound(ends[0], 1500); err != nil {
		t.Fatal(err)
	}
	s := machine(t, ends[1])
	dial := func(address string) (*gonet.TCPConn, error) {
		at := netip.MustParseAddrPort(address)
		return gonet.DialContextTCP(t.Context(), s, tcpip.FullAddress{NIC: device, Addr: tcpip.AddrFrom4(at.Addr().As4()), Port: at.Port()}, ipv4.ProtocolNumber)
	}
	conn, err := dial(another)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "text"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || len(text) != 40_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for _, address := range []string{"169.254.169.254:80", "100.100.100.200:80"} { // the kernel keeps those of loopback inside
		if conn, err := dial(address); err == nil {
			conn.Close()
			t.Errorf("%s is reached", address)
		}
	}
}

// TestCheck is the table of addresses that no process reaches.
func TestCheck(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{
		"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200",
		"168.63.129.16", "224.0.0.1", "255.255.255.255", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1",
	}
	for _, address := range own {
		refused = append(refused, address.(*net.IPNet).IP.String())
	}
	var refusal *RefusedError
	for _, text := range refused {
		if err := Check(netip.MustParseAddr(text)); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"203.0.113.7", "10.200.1.2", "2001:db8::1", "fd00::1"} {
		if err := Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST.", "a.localhost", "[::1]", "127.0.0.1"} {
		if err := CheckHost(host); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", host, err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if conn, err := Dial(t.Context(), "tcp", net.JoinHostPort(host, port)); !errors.As(err, &refusal) {
			t.Errorf("%s: %v, %v", host, conn, err)
		}
	}
}

// TestNetworkCloses ends what is open, also what has ended on one side only.
func TestNetworkCloses(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := New(slog.New(slog.DiscardHandler))
	n.Relay(front, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", target.Addr().String())
	})
	client, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := target.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(client); err != nil || len(text) != 0 {
		t.Errorf("half of the connection: %q, %v", text, err)
	}
	if _, err := io.WriteString(client, "still open"); err != nil {
		t.Error(err)
	}
	n.Close()
	if text, _ := io.ReadAll(server); string(text) != "still open" && len(text) != 0 {
		t.Errorf("the server hears %q", text)
	}
	if _, err := net.Dial("tcp", front.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}
