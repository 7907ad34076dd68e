//go:build !linux

package files

import "os"

// Nameless is for Linux. Elsewhere a temporary file has a name until that is removed.
func Nameless() *os.File { return nil }
