package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Control is the control group of a process and all that it starts. A nil Control limits nothing.
type Control struct {
	h    *hierarchy
	dir  string
	file *os.File

	met int64 // how often a process was refused, when it was asked last; owned by the caller of Processes
}

// ControlGroups reports why processes of functions have no control groups, nil if they have. The
// first call prepares them, which moves this program into a group of its own.
func ControlGroups() error {
	_, err := opened()
	if err == nil {
		if refused := unusable.Load(); refused != nil {
			err = *refused
		}
	}
	return err
}

// unusable is why the system started no process in a control group.
var unusable atomic.Pointer[error]

var opened = sync.OnceValues(func() (*groups, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	h, err := findHierarchy(string(mountinfo), string(own))
	if err != nil {
		return nil, err
	}
	return h.open(os.Getpid(), time.Now)
})

// newControl makes a control group for one process. It is nil where there are none: see ControlGroups.
func newControl() (*Control, error) {
	if ControlGroups() != nil {
		return nil, nil
	}
	g, err := opened()
	if err != nil {
		return nil, err
	}
	return g.control()
}

// filtered are the errors of systems, such as containers, that forbid to start a process in a control group.
var filtered = []syscall.Errno{syscall.ENOSYS, syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.EOPNOTSUPP}

// StartControlled starts a process in a control group of its own, or without one where there are none.
func StartControlled(command func() *exec.Cmd) (*exec.Cmd, *Control, error) {
	cmd := command()
	control, err := newControl()
	if err != nil {
		return cmd, nil, err
	}
	if control != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(control.file.Fd())
	}
	err = cmd.Start()
	if err == nil || control == nil {
		return cmd, control, err
	}
	control.Close()
	if !slices.ContainsFunc(filtered, func(e syscall.Errno) bool { return errors.Is(err, e) }) {
		return cmd, nil, err
	}
	again := command()
	if againErr := again.Start(); againErr != nil {
		return again, nil, againErr
	}
	err = fmt.Errorf("this system starts no process in a control group: %w", err)
	unusable.Store(&err)
	return again, nil, nil
}

// control makes the next group.
func (g *groups) control() (*Control, error) {
	g.mu.Lock()
	g.made++
	dir := filepath.Join(g.dir, strconv.Itoa(g.made))
	g.mu.Unlock()
	if err := g.h.mkdir(dir); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	file, err := os.Open(dir)
	if err == nil {
		if err = writeGroup(dir, "memory.oom.group", "1"); err == nil {
			return &Control{h: g.h, dir: dir, file: file}, nil
		}
		_ = file.Close() // nothing was written
	}
	return nil, errors.Join(fmt.Errorf("make a control group: %w", err), g.h.rmdir(dir))
}

// Limit sets what the processes may use: memory and temporary files, which are in memory as
// well, in bytes, and the number of processes and threads. 0 is any number of bytes.
func (c *Control) Limit(memory, temporary int64, processes int) error {
	if c == nil {
		return nil
	}
	limits := [][2]string{{"pids.max", strconv.Itoa(processes)}}
	if memory > 0 {
		limits = append(limits, [2]string{"memory.max", strconv.FormatInt(memory+temporary, 10)}, [2]string{"memory.swap.max", "0"})
	}
	for _, limit := range limits {
		err := writeGroup(c.dir, limit[0], limit[1])
		if limit[0] == "memory.swap.max" && errors.Is(err, os.ErrNotExist) {
			continue // the system does not swap
		}
		if err != nil {
			return fmt.Errorf("limit the control group: %w", err)
		}
	}
	return nil
}

// Memory returns the memory that the processes use, in bytes, without the given bytes of
// temporary files and without what the kernel only keeps as long as nothing else needs it.
func (c *Control) Memory(temporary int64) int64 {
	text, err := readGroup(c.dir, "memory.current")
	current, parseErr := strconv.ParseInt(text, 10, 64)
	if err != nil || parseErr != nil {
		return 0
	}
	stat, err := readGroup(c.dir, "memory.stat")
	if err != nil {
		return 0
	}
	shared := number(stat, "shmem")
	cached := number(stat, "file") - shared + number(stat, "slab_reclaimable")
	return max(current-cached-min(temporary, shared), 0)
}

// OutOfMemory reports whether the kernel has ended the processes because they used more than
// their limit.
func (c *Control) OutOfMemory() bool {
	if c == nil {
		return false
	}
	events, err := readGroup(c.dir, "memory.events")
	return err == nil && number(events, "oom_kill") > 0
}

// Processes returns how many processes and threads there are, with the first process of a sandbox, and
// whether one more was refused since the last call.
func (c *Control) Processes() (n int, refused bool) {
	text, err := readGroup(c.dir, "pids.current")
	if err == nil {
		n, _ = strconv.Atoi(text) // the kernel writes digits
	}
	if text, err = readGroup(c.dir, "pids.events"); err == nil {
		times := number(text, "max")
		refused, c.met = times > c.met, times
	}
	return n, refused
}

// Close ends the processes that are left and removes the group.
func (c *Control) Close() {
	if c == nil {
		return
	}
	_ = c.file.Close()           // nothing was written
	if c.h.rmdir(c.dir) != nil { // processes are left in it
		c.h.end(c.dir)
	}
}

// number is the value of a line "name value", 0 if there is none.
func number(text, name string) int64 {
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), " "); found && key == name {
			n, _ := strconv.ParseInt(value, 10, 64) // the kernel writes digits
			return n
		}
	}
	return 0
}
