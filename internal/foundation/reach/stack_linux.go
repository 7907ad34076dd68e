package reach

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	messages "gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Parts of the network in user space.
const (
	device      = 1
	packetQueue = 512
	maxOpening  = 128             // connections that are not open yet
	lastPackets = 5 * time.Second // how long a connection that has ended is known
)

// Outbound takes the packets of an interface of the sandbox, from the file of its other end, and makes the
// connections of TCP that they ask for, to addresses that Check allows. The file is closed with the Network.
func (n *Network) Outbound(file *os.File, mtu uint32) error {
	quiet()
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	link := channel.New(packetQueue, mtu, "")
	if err := s.CreateNIC(device, link); err != nil {
		s.Close()
		return fmt.Errorf("make a network for the sandbox: %s", err)
	}
	// It answers for all addresses.
	s.SetPromiscuousMode(device, true)
	s.SetSpoofing(device, true)
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: device}})
	places := make(chan struct{}, maxRelayed)
	forward := tcp.NewForwarder(s, 0, maxOpening, func(r *tcp.ForwarderRequest) {
		n.mu.Lock()
		closed := n.closed
		if !closed {
			n.work.Add(1)
		}
		n.mu.Unlock()
		if closed {
			r.Complete(true)
			return
		}
		defer n.work.Done()
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			n.connect(r)
		default:
			r.Complete(true) // there are too many
		}
	})
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, forward.HandlePacket)
	wait, linger := tcpip.TCPTimeWaitTimeoutOption(lastPackets), tcpip.TCPLingerTimeoutOption(lastPackets)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &wait)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &linger)
	if !n.keep(file) {
		s.Close()
		return net.ErrClosed
	}
	n.work.Go(func() { // out of the sandbox
		for buffer := make([]byte, mtu+1); ; {
			size, err := file.Read(buffer)
			if err != nil {
				s.Close() // it is closed; to wait for connections would take until lastPackets
				s.RemoveNIC(device)
				return
			}
			deliver(link, buffer[:size])
		}
	})
	n.work.Go(func() { // into the sandbox
		for {
			packet := link.ReadContext(n.life)
			if packet == nil {
				return
			}
			view := packet.ToView()
			_, err := file.Write(view.AsSlice())
			view.Release()
			packet.DecRef()
			if err != nil {
				n.logger.Debug("a packet to a sandbox was lost", "error", err)
			}
		}
	})
	return nil
}

// quiet keeps the library from writing to the standard error output.
var quiet = sync.OnceFunc(func() { messages.SetTarget(&messages.Writer{Next: io.Discard}) })

// deliver passes a packet to the stack. It knows IPv4 alone.
func deliver(link *channel.Endpoint, data []byte) {
	if len(data) == 0 || header.IPVersion(data) != header.IPv4Version {
		return
	}
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(append([]byte(nil), data...))})
	link.InjectInbound(ipv4.ProtocolNumber, packet)
	packet.DecRef()
}

// connect makes the connection that the first packet of one asks for, and refuses it if there is none.
func (n *Network) connect(r *tcp.ForwarderRequest) {
	id := r.ID()
	address := net.JoinHostPort(id.LocalAddress.String(), fmt.Sprint(id.LocalPort))
	ctx, cancel := context.WithTimeout(n.life, dialTimeout)
	to, err := n.dial(ctx, "tcp4", address)
	cancel()
	if err != nil {
		n.logger.Debug("a connection from a sandbox was refused", "address", address, "error", err)
		r.Complete(true)
		return
	}
	var queue waiter.Queue
	end, failed := r.CreateEndpoint(&queue)
	r.Complete(failed != nil)
	if failed != nil {
		_ = to.Close() // the process has left
		return
	}
	from := gonet.NewTCPConn(&queue, end)
	defer func() { _ = from.Close() }() // both ends have been told
	if n.keep(from) {
		defer n.forget(from)
		n.join(from, to)
	}
}
