//go:build !linux

package reach

import (
	"errors"
	"os"
)

// Outbound fails.
func (n *Network) Outbound(*os.File, uint32) error { return errors.ErrUnsupported }
