package lambda

import (
	"encoding/binary"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

const canDetectDebugger = true

// A group is a process and its descendants.
type group struct {
	pid int
}

// prepare makes the process the leader of a group. This system has no signal for the death of
// the parent.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

func newGroup(cmd *exec.Cmd, _ string, _ int64, _ *sandbox.Control) (*group, error) {
	return &group{pid: cmd.Process.Pid}, nil
}

// waitExit returns when the process has ended, before its ID can be given to
// another one.
func (g *group) waitExit() {
	const pPID = 1 // idtype_t of waitid(2)
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(g.pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// ask requests the processes to end. Call it only before the leader is reaped.
func (g *group) ask() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends the processes of the group. Call it only before the leader is
// reaped.
func (g *group) kill() { syscall.Kill(-g.pid, syscall.SIGKILL) }

// sweep does nothing: the environments of others cannot be read here.
func (g *group) sweep() int { return 0 }

func (g *group) close() {}

// memory returns the resident memory of the members of the group, in bytes.
func (g *group) memory() int64 {
	members, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", g.pid)
	if err != nil {
		return 0
	}
	var sum int64
	for _, m := range members {
		sum += residentMemory(int(m.Proc.P_pid))
	}
	return sum
}

// peak returns the current resident memory of the process: the system reports no peak of a
// running process.
func (g *group) peak() int64 { return residentMemory(g.pid) }

// residentMemory is pti_resident_size of proc_pidinfo(PROC_PIDTASKINFO), see
// sys/proc_info.h.
func residentMemory(pid int) int64 {
	const (
		procInfoCallPIDInfo = 2
		procPIDTaskInfo     = 4
		sizeOfTaskInfo      = 96
	)
	var info [sizeOfTaskInfo]byte
	n, _, errno := syscall.Syscall6(unix.SYS_PROC_INFO, procInfoCallPIDInfo, uintptr(pid), procPIDTaskInfo, 0, uintptr(unsafe.Pointer(&info)), sizeOfTaskInfo)
	if errno != 0 || n < 16 {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(info[8:16]))
}

// debugged reports whether a debugger is attached to the process, which has all threads then.
func (g *group) debugged() (process, threads bool) {
	const pTraced = 0x800 // P_TRACED of sys/proc.h
	info, err := unix.SysctlKinfoProc("kern.proc.pid", g.pid)
	traced := err == nil && info.Proc.P_flag&pTraced != 0
	return traced, traced
}

// newInsideGroup is nil: there are no sandboxes here.
func newInsideGroup(int, int, *sandbox.Control) (*group, int) { return nil, 0 }

// describeStatus is for processes in a sandbox.
func describeStatus(syscall.WaitStatus) string { return "" }

// limits reports none: there are no sandboxes here.
func (g *group) limits() (processes, files, full bool) { return false, false, false }
