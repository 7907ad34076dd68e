//go:build !linux && !darwin

package cli

// machineMemory is 0: it is not known.
func machineMemory() int64 { return 0 }
