//go:build !linux

package lambda

import (
	"errors"
	"runtime"
)

// HoldsDescendants returns nil if all descendants of functions end with them, including those
// that leave the session and clear their environment; otherwise an error with the reason.
func HoldsDescendants() error {
	if runtime.GOOS == "windows" {
		return nil // a job object has them all
	}
	return errors.New("only Linux and Windows can find processes that have left the process group of their handler")
}
