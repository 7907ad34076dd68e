package lambda

import (
	"os"
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

// become makes this program the one that orphans of its descendants are handed to, so that
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
	return mark(m)
}

// on reports whether a process has the mark. A zombie has it as well.
func (m mark) on(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil || m == 0 {
		return false
	}
	_, line, _ := strings.Cut(string(text), "\nMax msgqueue size")
	line, _, _ = strings.Cut(line, "\n")
	fields := strings.Fields(line) // soft, hard, unit
	return len(fields) >= 2 && fields[1] == strconv.FormatUint(uint64(m), 10)
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
