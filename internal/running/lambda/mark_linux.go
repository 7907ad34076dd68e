package lambda

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A mark identifies all descendants of one process of a function: a limit on the bytes of
// message queues that no other process has. Children inherit it, a change of session, group or
// environment does not remove it, and raising it again requires a privilege. Zero means no
// mark.
type mark uint64

// The limit is 819,200 bytes by default; the remaining bytes are plenty.
const (
	lowestMark  = 400_000
	highestMark = 800_000
)

// marks counts on from a number that is another one in a program that a handler runs.
var marks = func() *atomic.Uint64 {
	var n atomic.Uint64
	n.Store(uint64(os.Getpid()) * 7919)
	return &n
}()

// leaders are the processes that were started and not waited for yet: no orphans.
var leaders sync.Map

// become makes this program the one that orphans of its descendants are passed to, so that
// none of them is out of sight.
var become = sync.OnceValue(func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })

// HoldsDescendants returns nil if all descendants of functions end with them, including those
// that leave the session and clear their environment; otherwise an error with the reason.
func HoldsDescendants() error { return become() }

// newMark marks a process that has just been started. It returns zero where that is
// impossible: then only what has the marker in its environment is found.
func newMark(pid int) mark {
	if become() != nil {
		return 0
	}
	m := lowestMark + marks.Add(1)%(highestMark-lowestMark)
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &now); err != nil || now.Max < m {
		return 0
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: m, Max: m}, nil); err != nil {
		return 0
	}
	if own := ownMark(); own != 0 {
		// Where this is refused, this program itself is a handler, and has the mark of another.
		_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: own, Max: own}, nil)
	}
	return mark(m)
}

// untraced says that this system does not let a process be traced.
var untraced atomic.Bool

// cannotTrace reports whether a process did not start because it was to be traced. It is
// started again without that.
func cannotTrace(cmd *exec.Cmd, err error) bool {
	return errors.Is(err, unix.EPERM) && cmd.SysProcAttr != nil && cmd.SysProcAttr.Ptrace && untraced.CompareAndSwap(false, true)
}

// ownMark is what all descendants of all functions of this program have: a limit on the CPU
// time of real-time threads, in microseconds, that none reaches in 100,000 years. It is made of
// the ID of this program and when that started, so that the next program knows what a killed
// one has left behind. Zero is none.
var ownMark = sync.OnceValue(func() uint64 {
	started, err := strconv.ParseUint(startTime(os.Getpid()), 10, 64)
	if err != nil || started >= 1<<startBits || os.Getpid() >= 1<<pidBits {
		return 0
	}
	return 1<<(startBits+pidBits) | uint64(os.Getpid())<<startBits | started
})

// The parts of ownMark below its highest bit.
const (
	pidBits   = 22
	startBits = 40
)

// ownerOf returns the ID and the start of the program whose mark a process has.
func ownerOf(pid int) (owner int, started string, ok bool) {
	m, err := strconv.ParseUint(limitOf(pid, "Max realtime timeout"), 10, 64)
	if err != nil || m>>(startBits+pidBits) != 1 {
		return 0, "", false
	}
	return int(m >> startBits & (1<<pidBits - 1)), strconv.FormatUint(m&(1<<startBits-1), 10), true
}

// limitOf is the hard limit of a process that the kernel lists under a name, "" if there is none.
func limitOf(pid int, name string) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return ""
	}
	_, line, _ := strings.Cut(string(text), "\n"+name)
	line, _, _ = strings.Cut(line, "\n")
	if fields := strings.Fields(line); len(fields) >= 2 { // soft, hard, unit
		return fields[1]
	}
	return ""
}

// on reports whether a process has the mark. One that has ended and was not waited for has
// it as well.
func (m mark) on(pid int) bool {
	return m != 0 && limitOf(pid, "Max msgqueue size") == strconv.FormatUint(uint64(m), 10)
}

// adopted are the children of this program that have the mark: their own parents have ended.
func (m mark) adopted() []int {
	if m == 0 {
		return nil
	}
	budget := 10_000
	return slices.DeleteFunc(directChildren(os.Getpid(), &budget), func(pid int) bool {
		_, leads := leaders.Load(pid)
		return leads || !m.on(pid)
	})
}

// reap waits for the adopted that have ended, which would otherwise remain in the table of
// processes. It does not block.
func reap(adopted []int) {
	for _, pid := range adopted {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that runs is waited for later
	}
}
