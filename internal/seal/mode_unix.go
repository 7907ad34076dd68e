//go:build !windows

package seal

import "io/fs"

// othersMayRead reports whether a file can be read or written by anybody but its owner.
func othersMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
