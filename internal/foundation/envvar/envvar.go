// Package envvar reads the variables of a process from a list of "NAME=value", as os.Environ returns it. Packages get
// such a list as an argument instead of reading the environment of this process.
package envvar

import (
	"slices"
	"strings"
)

// Lookup returns the value of a variable, and reports whether it is set. The last entry of the name counts.
func Lookup(environ []string, name string) (value string, set bool) {
	for _, entry := range slices.Backward(environ) {
		if rest, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// Get returns the value of a variable, "" if it is not set.
func Get(environ []string, name string) string {
	value, _ := Lookup(environ, name)
	return value
}
