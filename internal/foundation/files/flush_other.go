//go:build !linux

package files

import "os"

// flush does nothing: every file was written to the disk by itself.
func flush(string) error { return nil }

// Flush writes a file of a new folder to the disk, because [Place] does not do so for all of them.
func Flush(f *os.File) error { return f.Sync() }

// flushNames does nothing: not every system lets a folder be flushed. After a loss of
// power a package may have to be unpacked again.
func flushNames(string) error { return nil }
