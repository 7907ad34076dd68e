package files

import (
	"fmt"
	"strings"
)

// Limits of names in bytes, which every usual file system takes.
const (
	MaxName = 255
	MaxPath = 3 << 10 // below a folder, whose own path has 1 KiB then
)

// NameFault is why no usual file system takes a path with slashes, as the end of a sentence that begins with the name of
// the file; "" if all do.
func NameFault(path string) string {
	if strings.Contains(path, "\x00") {
		return "has a null byte"
	}
	if len(path) > MaxPath {
		return fmt.Sprintf("has %d bytes, more than the limit of %d", len(path), MaxPath)
	}
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > MaxName {
			return fmt.Sprintf("has a part of %d bytes, more than the limit of %d", len(part), MaxName)
		}
	}
	return ""
}
