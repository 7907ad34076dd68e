//go:build unix && !linux

package lambda_test

import "syscall"

// alive reports whether a process runs.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
