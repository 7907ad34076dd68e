//go:build !unix

package lambda

import (
	"os/exec"
	"time"
)

// EndWithDescendants bounds the wait for what the command started: on this
// system only the command itself is ended with its context.
func EndWithDescendants(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
