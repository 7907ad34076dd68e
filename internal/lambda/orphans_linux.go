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

// KillOrphans kills processes that functions started and that survived when the program that
// ran them was killed. The system ends the processes of functions themselves. It returns how
// many it killed, and does not touch those whose program still runs. On systems other than
// Linux it does nothing.
func KillOrphans() int {
	own := owner()
	namespace, _, _ := strings.Cut(own, ",")
	killed := 0
	for _, pid := range processes() {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || own == "" || pid == os.Getpid() {
			continue
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			name, found := strings.CutPrefix(string(entry), ownerVar+"=")
			if !found {
				continue
			}
			parts := strings.Split(name, ",")
			if len(parts) != 3 || parts[0] != namespace {
				break // of a container, whose process IDs are others
			}
			if id, err := strconv.Atoi(parts[1]); err == nil && startTime(id) != parts[2] && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
			break
		}
	}
	return killed
}
