//go:build !linux

package lambda

const ownerVar = "FORMWORK_OWNER"

func owner() string { return "" }

// KillOrphans does nothing: on Windows the system ends everything that a function has
// started, and on macOS the environments of others cannot be read.
func KillOrphans() int { return 0 }
