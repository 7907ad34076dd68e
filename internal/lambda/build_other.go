//go:build !unix

package lambda

import (
	"os/exec"
	"time"
)

// endWithDescendants bounds the wait for what the command started: on this
// system only the command itself is ended with its context.
func endWithDescendants(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
