package lambda_test

import (
	"bytes"
	"fmt"
	"os"
)

// alive reports whether a process runs; one that only waits to be reaped does
// not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return state[0] != 'Z' && state[0] != 'X'
}
