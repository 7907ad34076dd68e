package cli

import "golang.org/x/sys/unix"

func machineMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0 // it is not known
	}
	return int64(n)
}
