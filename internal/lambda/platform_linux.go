package lambda

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const canDetectDebugger = true

// A group is a process and its descendants.
type group struct {
	pid    int
	marker string // NAME=value that only these have in their environment
	mark   mark   // that only these have
}

// prepare makes the process the leader of a group, which the kernel kills when
// the thread that starts it ends: see spawner.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Ptrace: !untraced.Load()}
	return nil
}

func newGroup(cmd *exec.Cmd, marker string, _ int64) (*group, error) {
	pid := cmd.Process.Pid
	leaders.Store(pid, true)
	g := &group{pid: pid, marker: marker}
	if !cmd.SysProcAttr.Ptrace {
		g.mark = newMark(pid)
		return g, nil
	}
	// The process waits before its first instruction: nothing that it starts is without the mark.
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	g.mark = newMark(pid)
	if err := syscall.PtraceDetach(pid); err != nil && err != syscall.ESRCH { // it has been killed
		return nil, fmt.Errorf("let it run: %w", err)
	}
	return g, nil
}

// waitExit returns when the process has ended, before its ID can be given to
// another one.
func (g *group) waitExit() {
	for unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// ask requests the processes to end. Call it only before the leader is reaped.
func (g *group) ask() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends the processes of the group. Call it only before the leader is
// reaped.
func (g *group) kill() { syscall.Kill(-g.pid, syscall.SIGKILL) }

// sweep ends descendants that left the group, found by the marker and the mark, and returns
// how many there were. One round could miss what forks meanwhile; one that was killed takes a
// moment to end.
func (g *group) sweep() int {
	left := map[int]bool{}
	for round := range 50 {
		found, budget := false, 10_000
		end := func(pid int) {
			at, err := unix.Getpgid(pid)
			if zombie := startTime(pid) == ""; err == nil && at != g.pid && !zombie {
				left[pid] = true // kill has ended those of the group
			}
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
		for _, pid := range processes() {
			environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
			if err == nil && hasEntry(environ, g.marker) && pid != g.pid {
				end(pid)
			}
		}
		adopted := g.mark.adopted()
		for _, pid := range adopted {
			for _, child := range append(children(pid, &budget), pid) {
				end(child)
			}
		}
		reap(adopted)
		if !found && len(adopted) == 0 {
			break
		}
		if round > 5 {
			time.Sleep(2 * time.Millisecond)
		}
	}
	return len(left)
}

func (g *group) close() { leaders.Delete(g.pid) }

// memory returns the resident memory of the process and its descendants, in
// bytes, with those whose own parents have ended.
func (g *group) memory() int64 {
	sum := g.status("VmRSS:") << 10
	budget := 1000 // processes looked at; a fork bomb must not stall us
	list := children(g.pid, &budget)
	adopted := g.mark.adopted()
	for _, child := range adopted {
		list = append(append(list, child), children(child, &budget)...)
	}
	for _, child := range list {
		sum += (&group{pid: child}).status("VmRSS:") << 10
	}
	reap(adopted)
	return sum
}

// peak returns the most resident memory that the process itself ever had, in
// bytes.
func (g *group) peak() int64 { return g.status("VmHWM:") << 10 }

// children lists the descendants of a process that the kernel reports.
func children(pid int, budget *int) []int {
	var list []int
	for _, child := range directChildren(pid, budget) {
		list = append(append(list, child), children(child, budget)...)
	}
	return list
}

func directChildren(pid int, budget *int) []int {
	var list []int
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, task := range tasks {
		text, err := os.ReadFile(dir + "/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if *budget--; *budget < 0 {
				return list
			}
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// debugged reports whether a debugger is attached to the process.
func (g *group) debugged() bool { return g.status("TracerPid:") > 0 }

// status reads the number of a line "Name:  123 kB" of /proc/<pid>/status, 0 if the line is
// missing.
func (g *group) status(name string) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(g.pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	number, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	n, _ := strconv.ParseInt(string(number), 10, 64) // 0 when absent
	return n
}

func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read of it is of use
	var list []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func hasEntry(environ []byte, entry string) bool {
	for e := range bytes.SplitSeq(environ, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}
