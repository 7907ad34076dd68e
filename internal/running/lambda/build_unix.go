//go:build unix

package lambda

import (
	"os/exec"
	"syscall"
	"time"
)

// EndWithDescendants makes the end of the command's context end what the
// command started, too: compilers run under go build, go build under make.
func EndWithDescendants(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}
