package reach

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// A Network is what one sandbox reaches: connections, and what listens for them in the sandbox. While one of
// them is open, the kernel keeps the network of the sandbox, so Close closes all.
type Network struct {
	logger *slog.Logger
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // Dial, except in tests
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	open   map[io.Closer]bool
	closed bool
}

// New makes a Network. Close it.
func New(logger *slog.Logger) *Network {
	life, end := context.WithCancel(context.Background())
	return &Network{logger: logger, dial: Dial, life: life, end: end, open: map[io.Closer]bool{}}
}

// Close closes everything, and waits for relays.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	all := make([]io.Closer, 0, len(n.open))
	for c := range n.open {
		all = append(all, c)
	}
	n.mu.Unlock()
	n.end()
	for _, c := range all {
		_ = c.Close() // nothing is left to send
	}
	n.work.Wait()
}

// keep has Close close something, and closes it at once if the Network is closed.
func (n *Network) keep(c io.Closer) bool {
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.open[c] = true
	}
	n.mu.Unlock()
	if closed {
		_ = c.Close() // nobody has used it
	}
	return !closed
}

func (n *Network) forget(c io.Closer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
}

// Listener returns a listener whose connections are closed with the Network, as it is itself.
func (n *Network) Listener(inner net.Listener) net.Listener {
	l := &listener{inner, n}
	n.keep(l)
	return l
}

type listener struct {
	net.Listener
	network *Network
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errors.New("the connection is not one of TCP"), c.Close())
	}
	kept := &conn{tcp, l.network}
	if !l.network.keep(kept) {
		return nil, net.ErrClosed
	}
	return kept, nil
}

// conn is a connection that is forgotten when it is closed.
type conn struct {
	*net.TCPConn
	network *Network
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.network.forget(c)
	return c.TCPConn.Close()
}

// Limits of relays.
const (
	maxRelayed = 512              // connections of one address, or of all other machines, at once
	idleLimit  = 30 * time.Minute // of a connection on which nothing is sent
)

// Relay passes the connections of a listener on, until it is closed.
func (n *Network) Relay(l net.Listener, dial func(context.Context) (net.Conn, error)) {
	l = n.Listener(l)
	n.work.Go(func() {
		places := make(chan struct{}, maxRelayed)
		for {
			from, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			select {
			case places <- struct{}{}:
			default:
				_ = from.Close() // there are too many
				continue
			}
			n.work.Go(func() {
				defer func() { <-places }()
				n.relay(from, dial)
			})
		}
	})
}

// relay passes one connection on.
func (n *Network) relay(from net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer func() { _ = from.Close() }() // both ends have been told
	ctx, cancel := context.WithTimeout(n.life, dialTimeout)
	to, err := dial(ctx)
	cancel()
	if err != nil {
		n.logger.Debug("a connection from a sandbox was not passed on", "error", err)
		return
	}
	n.join(from, to)
}

// join copies between two connections until both have ended, and closes the second one.
func (n *Network) join(a, b net.Conn) {
	defer func() { _ = b.Close() }() // both ends have been told
	if !n.keep(b) {
		return
	}
	defer n.forget(b)
	idle := time.AfterFunc(idleLimit, func() { _, _ = a.Close(), b.Close() })
	defer idle.Stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			if !copyAll(way[1], way[0], idle) {
				_, _ = a.Close(), b.Close() // one of them has failed
			}
		})
	}
	both.Wait()
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyAll copies until the source ends, tells the target so, and reports whether nothing failed.
func copyAll(to, from net.Conn, idle *time.Timer) bool {
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	for {
		read, err := from.Read(buffer[:])
		if read > 0 {
			idle.Reset(idleLimit)
			if _, err := to.Write(buffer[:read]); err != nil {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			half, ok := to.(interface{ CloseWrite() error })
			return ok && half.CloseWrite() == nil
		}
		if err != nil {
			return false
		}
	}
}
