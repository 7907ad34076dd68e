//go:build !windows

package awslite

import "io/fs"

// othersMayRead tells whether a file can be read or written by anybody but its owner.
func othersMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
