//go:build !linux

package lambda

import (
	"errors"
	"os/exec"
	"runtime"
)

// cannotTrace reports false: only on Linux processes start traced.
func cannotTrace(*exec.Cmd, error) bool { return false }

// HoldsDescendants returns nil if everything that functions start ends with them, also what
// leaves its session and clears its environment; otherwise an error that says why not.
func HoldsDescendants() error {
	if runtime.GOOS == "windows" {
		return nil // a job object has them all
	}
	return errors.New("only Linux and Windows can find processes that have left the process group of their handler")
}
