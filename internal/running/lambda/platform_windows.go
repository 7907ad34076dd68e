package lambda

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

const canDetectDebugger = false

// A group is a process and its descendants: a job object.
type group struct {
	job     windows.Handle
	process windows.Handle
}

func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	return nil
}

// newGroup puts the process into a job that ends with the last handle to it, so
// also with this program, and that keeps the limit on memory.
func newGroup(cmd *exec.Cmd, _ string, memory int64, _ *sandbox.Control) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if memory > 0 {
		limits.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		limits.JobMemoryLimit = uintptr(memory)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	const rights = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.SYNCHRONIZE
	process, err := windows.OpenProcess(rights, false, uint32(cmd.Process.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	g := &group{job: job, process: process}
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// waitExit returns when the process has ended.
func (g *group) waitExit() { windows.WaitForSingleObject(g.process, windows.INFINITE) }

// ask cannot request anything of a process without a console here.
func (g *group) ask() { g.kill() }

func (g *group) kill() { windows.TerminateJobObject(g.job, 1) }

func (g *group) sweep() int { return 0 }

func (g *group) close() {
	windows.CloseHandle(g.process)
	windows.CloseHandle(g.job)
}

// memory is not looked at: the job keeps the limit.
func (g *group) memory() int64 { return 0 }

func (g *group) peak() int64 { return 0 }

func (g *group) debugged() (process, threads bool) { return false, false }

// newInsideGroup is nil: there are no sandboxes here.
func newInsideGroup(int, int, *sandbox.Control) (*group, int) { return nil, 0 }

// describeStatus is for processes in a sandbox.
func describeStatus(syscall.WaitStatus) string { return "" }

// limits reports none: there are no sandboxes here.
func (g *group) limits() (processes, files, full bool) { return false, false, false }
