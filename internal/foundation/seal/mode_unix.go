//go:build !windows

package seal

import "io/fs"

// othersMayRead reports whether users other than the owner can read or write a file.
func othersMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// worldMayRead reports whether users that are neither the owner nor in the group can read or write a file.
func worldMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o007 != 0 }
