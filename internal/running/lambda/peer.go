package lambda

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// A peer is the other end of a connection to the Runtime API in the network of the machine.
type peer struct {
	conn net.Conn

	mu     sync.Mutex
	socket uint32 // at the other end, which is known to be one of the process; 0 before that
}

type peerKey struct{}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, &peer{conn: conn})
}

// checkPeer reports why a request is not known to be one of this process. Everything on the machine can connect
// to a Runtime API in its network. The owner of a connection is looked for once. Before a request is acted on, the
// same socket must still be at the other end: after its end, another program can have the same port.
func (p *process) checkPeer(r *http.Request) error {
	from, ok := r.Context().Value(peerKey{}).(*peer)
	if !ok || !knowsOwners {
		return nil // in its own network, or where the system does not say
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.socket != 0 && r.Method != http.MethodPost {
		return nil
	}
	socket, err := otherEnd(from.conn)
	if err == nil && (socket == 0 || p.hasEnded() || socket != from.socket && !p.group.hasSocket(socket)) {
		err = fmt.Errorf("the connection is not one of a process of the function %s", p.config.Name)
	}
	if from.socket = socket; err != nil {
		from.socket = 0
	}
	return err
}

func (p *process) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reaped
}
