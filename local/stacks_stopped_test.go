//go:build unix

package local_test

import (
	"syscall"
	"testing"
	"time"
)

// stopped is longer than the lease of a node, so that others take its work over.
const stopped = 20 * time.Second

// TestNodesStacksStopped stops nodes instead of killing them. Each goes on when others have taken its work over, and must
// neither repeat nor undo what they did.
func TestNodesStacksStopped(t *testing.T) {
	nodesStacks(t, func(p *process) (alive bool) {
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// While calls wait for it.
		time.AfterFunc(stopped, func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
		return true
	})
}
