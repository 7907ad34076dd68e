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

	mu      sync.Mutex
	checked bool
}

type peerKey struct{}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, &peer{conn: conn})
}

// checkPeer reports why a request is not known to be one of this process. Everything on the machine can connect
// to a Runtime API in its network. A connection is checked once, and again before it is acted on: after its end,
// another program can have the same port.
func (p *process) checkPeer(r *http.Request) error {
	from, ok := r.Context().Value(peerKey{}).(*peer)
	if !ok || !knowsOwners {
		return nil // in its own network, or where the system does not say
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.checked && r.Method != http.MethodPost {
		return nil
	}
	owned, err := p.owns(from.conn)
	if err == nil && !owned {
		err = fmt.Errorf("the connection is not one of a process of the function %s", p.config.Name)
	}
	from.checked = err == nil
	return err
}
