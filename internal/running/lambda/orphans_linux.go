package lambda

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ownerVar marks every process of a function, and what it starts, with the program that
// runs the function.
const ownerVar = "FORMWORK_OWNER"

// owner identifies this program uniquely while the machine runs: the namespace of its process
// ID, the ID, and its start time. "" if they are unknown.
func owner() string {
	pid := os.Getpid()
	namespace, err := os.Readlink("/proc/self/ns/pid")
	started := startTime(pid)
	if err != nil || started == "" {
		return ""
	}
	return fmt.Sprintf("%s,%d,%s", namespace, pid, started)
}

// startTime is when a process started, in ticks since the machine did; "" if there is no
// such process. The name of the program, in brackets, may itself have any character.
func startTime(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// KillOrphans ends what functions have started and left behind when the program that ran
// them was killed: not the processes of functions themselves, which the system ends, but
// those that they had started in turn, also those that have cleared their environment. It
// returns how many it ended, and touches none whose program still runs. Elsewhere than on
// Linux it does nothing.
func KillOrphans() int {
	own := owner()
	if own == "" {
		return 0
	}
	namespace, _, _ := strings.Cut(own, ",")
	killed := 0
	for _, pid := range processes() {
		if pid == os.Getpid() || !orphaned(pid, namespace) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// orphaned reports whether the program that has started a process for a function has ended.
func orphaned(pid int, namespace string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if name, found := strings.CutPrefix(string(entry), ownerVar+"="); found {
			parts := strings.Split(name, ",")
			if len(parts) != 3 || parts[0] != namespace {
				return false // of a container, whose process IDs are others
			}
			id, err := strconv.Atoi(parts[1])
			return err == nil && startTime(id) != parts[2]
		}
	}
	id, started, marked := ownerOf(pid)
	if !marked || startTime(pid) == "" {
		return false
	}
	in, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return err == nil && in == namespace && startTime(id) != started
}
