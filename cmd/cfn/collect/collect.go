// Package collect sets the growth of the heap after which garbage is collected. It is a package of its own because
// Go initialises packages in the order of their paths: set in main, it would come too late.
package collect

import (
	"os"
	"runtime/debug"
)

// percent is what GOGC is unless the environment says otherwise. At Go's 100 each command collects once while
// packages are initialised, when nothing is garbage yet.
const percent = 200

var _ = set() // in a variable: this is before any init function

func set() struct{} {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	return struct{}{}
}
