package lambda

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

const canDetectDebugger = true

// A group is a process and its descendants.
type group struct {
	pid    int
	marker string // NAME=value that only these have in their environment
	mark   mark   // that only these have
	first  int    // the first process of the sandbox, whose end is that of all; 0 without a sandbox

	control *sandbox.Control // nil without control groups

	statusFile keptFile

	// What descendants found last; owned by the holder of the process.
	found  []int
	walked time.Time
}

// A keptFile is /proc/PID/status of one process, which is read after every invocation.
type keptFile struct {
	mu     sync.Mutex
	file   *os.File
	closed bool
}

// read reads the file into a buffer and returns what there is of it.
func (k *keptFile) read(pid int, buffer []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil && !k.closed {
		k.file, _ = os.Open("/proc/" + strconv.Itoa(pid) + "/status") // it has ended: there is nothing to read
	}
	if k.file == nil {
		return nil
	}
	n, _ := k.file.ReadAt(buffer, 0) // fewer bytes than the buffer are an error, too
	return buffer[:n]
}

func (k *keptFile) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file != nil {
		_ = k.file.Close() // it was only read
	}
	k.file, k.closed = nil, true
}

// nearLimit is how many processes and threads of a sandbox mean that more were refused: the first
// process has some as well.
const nearLimit = sandbox.MaxProcesses - 64

// limits reports which limits of the sandbox have been met.
func (g *group) limits() (processes, files, full bool) {
	if info, err := os.Stat("/proc/" + strconv.Itoa(g.pid) + "/fd"); err == nil {
		files = info.Size() >= sandbox.MaxOpenFiles // the number of files, since Linux 6.2
	}
	var disk unix.Statfs_t
	if g.disk(&disk) == nil {
		full = disk.Bavail == 0 || disk.Ffree == 0
	}
	if g.control != nil {
		n, refused := g.control.Processes()
		return refused || n >= nearLimit, files, full
	}
	tasks := int64(0)
	for _, pid := range g.descendants() {
		tasks += max((&group{pid: pid}).status("Threads:"), 1)
	}
	return tasks >= nearLimit, files, full
}

// disk reads the state of the temporary files of a sandbox.
func (g *group) disk(state *unix.Statfs_t) error {
	return unix.Statfs("/proc/"+strconv.Itoa(g.first)+"/root"+sandbox.Tmp, state)
}

// newInsideGroup is the group of a sandbox, whose first process is known by its ID, and the process
// by that which it has inside. It returns the ID of the process, or that of the first one if the
// process has already ended.
func newInsideGroup(first, inside int, control *sandbox.Control) (*group, int) {
	leaders.Store(first, true)
	g := &group{pid: first, first: first, control: control}
	budget := 1000
	for _, pid := range directChildren(first, &budget) {
		if (&group{pid: pid}).insideID() == inside {
			g.pid = pid
		}
	}
	return g, g.pid
}

// insideID is the ID that the process has in its own namespace.
func (g *group) insideID() int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(g.pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	id, _ := strconv.Atoi(fields[len(fields)-1]) // a number
	return id
}

// describeStatus is how a process ended, as os.ProcessState has it.
func describeStatus(status syscall.WaitStatus) string {
	if status.Signaled() {
		text := "signal: " + status.Signal().String()
		if status.CoreDump() {
			text += " (core dumped)"
		}
		return text
	}
	return "exit status " + strconv.Itoa(status.ExitStatus())
}

// prepare makes the process the leader of a group, which the kernel kills when
// the thread that starts it ends: see spawner.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Ptrace: !untraced.Load()}
	return nil
}

func newGroup(cmd *exec.Cmd, marker string, _ int64, control *sandbox.Control) (*group, error) {
	pid := cmd.Process.Pid
	leaders.Store(pid, true)
	g := &group{pid: pid, marker: marker, control: control}
	fewFiles(pid)
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

// fewFiles limits the open files of a process as Lambda does.
func fewFiles(pid int) {
	limit := unix.Rlimit{Cur: sandbox.MaxOpenFiles, Max: sandbox.MaxOpenFiles}
	var now unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now) == nil && now.Max > limit.Max {
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil) // without it, the handler has more than on Lambda
	}
}

// waitExit returns when the process has ended, before its ID can be given to
// another one.
func (g *group) waitExit() {
	for unix.Waitid(unix.P_PID, g.leader(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// leader is the process that this program has started.
func (g *group) leader() int {
	if g.first != 0 {
		return g.first
	}
	return g.pid
}

// ask requests the processes to end. Call it only before the leader is reaped.
func (g *group) ask() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends the processes of the group. Call it only before the leader is
// reaped. With the first process of a sandbox, the kernel ends all of them.
func (g *group) kill() { syscall.Kill(-g.leader(), syscall.SIGKILL) }

// sweep ends descendants that left the group, found by the marker and the mark, and returns
// how many there were. One round could miss what forks meanwhile; one that was killed takes a
// moment to end.
func (g *group) sweep() int {
	if g.first != 0 {
		return 0 // nothing outlives the first process
	}
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

func (g *group) close() {
	leaders.Delete(g.leader())
	g.statusFile.close()
}

// oneLook is how long descendants are not looked for again: the limits and the memory of a process are
// measured one after the other.
const oneLook = 5 * time.Millisecond

// descendants are those of the process that this program has started. Only so many are looked at: a
// fork bomb must not stall us.
func (g *group) descendants() []int {
	if now := time.Now(); now.Sub(g.walked) > oneLook {
		budget := 1000
		if g.first != 0 {
			budget = 2 * sandbox.MaxProcesses
		}
		g.found, g.walked = children(g.leader(), &budget), now
	}
	return g.found
}

// memory returns the memory that the process and its descendants use, in bytes: that of their control
// group, or else their resident memory, with those whose own parents have ended.
func (g *group) memory() int64 {
	if g.control != nil {
		var disk unix.Statfs_t
		if g.first == 0 || g.disk(&disk) != nil {
			return g.control.Memory(0)
		}
		return g.control.Memory(int64(disk.Blocks-disk.Bfree) * disk.Bsize)
	}
	budget := 1000 // processes looked at among those without their parents
	list := slices.Clone(g.descendants())
	sum := int64(0)
	if g.first == 0 { // that of a sandbox is none of the handler
		sum = g.status("VmRSS:") << 10
	}
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
func (g *group) peak() int64 {
	var buffer [4096]byte
	return statusNumber(g.statusFile.read(g.pid, buffer[:]), "VmHWM:") << 10
}

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

// debugged reports whether a debugger is attached to the process, and to all of its threads: it attaches
// to one after the other, and those that it has not reached still run.
func (g *group) debugged() (process, threads bool) {
	if g.status("TracerPid:") <= 0 {
		return false, false
	}
	dir := "/proc/" + strconv.Itoa(g.pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return true, false
	}
	for _, task := range tasks {
		text, err := os.ReadFile(dir + "/" + task.Name() + "/status")
		if err == nil && statusNumber(text, "TracerPid:") <= 0 {
			return true, false
		}
	}
	return true, true
}

// status reads the number of a line "Name:  123 kB" of /proc/<pid>/status, 0 if the line is
// missing.
func (g *group) status(name string) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(g.pid) + "/status")
	if err != nil {
		return 0
	}
	return statusNumber(text, name)
}

func statusNumber(text []byte, name string) int64 {
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
