package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// controllers are what processes of functions are limited with.
var controllers = []string{"memory", "pids"}

// A hierarchy is the control groups (cgroup v2) as far as this program needs them. Their files are
// read and written as files; the rest is replaced in tests.
type hierarchy struct {
	own   string // the folder of the group of this program
	parts int    // how many names own has below the root of the hierarchy that is visible

	mkdir, rmdir func(path string) error
	writable     func(path string) bool
	delegated    func(dir string) bool // the manager of groups has marked one as left to its processes
}

// groupName is the name of the group of a program, below one that is delegated to it.
var groupName = lazyregexp.New(`^formwork-[0-9]+-[0-9]+$`)

// selfName is the group of the program itself below its group, if it had to move.
const selfName = "self"

// findHierarchy reads /proc/self/mountinfo and /proc/self/cgroup.
func findHierarchy(mountinfo, cgroup string) (*hierarchy, error) {
	path, found := "", false
	for line := range strings.Lines(cgroup) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			path, found = rest, true
		}
	}
	if !found {
		return nil, errors.New("this system has no cgroup v2")
	}
	mount, root := "", ""
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if dash := slices.Index(fields, "-"); dash > 4 && dash+1 < len(fields) && fields[dash+1] == "cgroup2" {
			root, mount = unescaped(fields[3]), unescaped(fields[4]) // the last one is above the others
		}
	}
	if mount == "" {
		return nil, errors.New("cgroup v2 is not mounted")
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(path, "/../") || rel != "." && !filepath.IsLocal(rel) {
		return nil, errors.New("the control group of cfn is not visible here")
	}
	h := &hierarchy{own: filepath.Join(mount, rel), mkdir: func(path string) error { return os.Mkdir(path, 0o755) }, rmdir: unix.Rmdir, writable: writable, delegated: delegated}
	if rel != "." {
		h.parts = strings.Count(rel, "/") + 1
	}
	return h, nil
}

// octal are the characters that the kernel writes as octal numbers.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescaped(text string) string { return octal.Replace(text) }

func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// delegated reads the mark that systemd has set on groups of units with Delegate=yes since version 251,
// and an older one, which only root can read.
func delegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// readGroup reads a file of a group, without spaces around it.
func readGroup(dir, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text)), err
}

// writeGroup writes to a file of a group, which must exist.
func writeGroup(dir, name, text string) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// hasAll reports whether a file of a group lists all controllers.
func hasAll(dir, name string) bool {
	text, err := readGroup(dir, name)
	names := strings.Fields(text)
	return err == nil && !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(names, c) })
}

// base finds the group below which groups may be made: that of the program, or the one above if the
// manager has put the program into a group below the one that it delegates, or another cfn has. move is
// whether the program must leave it first: a group with controllers for those below it has no processes.
func (h *hierarchy) base(pid int) (dir string, move bool, err error) {
	if err := h.usable(h.own); err != nil {
		if above := h.above(); above != "" && h.usable(above) == nil && len(h.processes(above)) == 0 {
			return above, false, nil
		}
		return "", false, err
	}
	for _, other := range h.processes(h.own) {
		if other != pid {
			return "", false, fmt.Errorf("the control group of cfn has other processes, such as %d: start cfn in one of its own, as systemd-run --scope does", other)
		}
	}
	return h.own, true, nil
}

// above is the group that is delegated if that of the program is a part of it, "" if there is none.
// One above a unit belongs to the manager of that unit, which is a process of the same user.
func (h *hierarchy) above() string {
	above, parts := filepath.Dir(h.own), h.parts-1
	if filepath.Base(h.own) == selfName && groupName.MatchString(filepath.Base(above)) {
		above, parts = filepath.Dir(above), parts-1
	} else if slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(h.own)) {
		return ""
	}
	if parts < 0 {
		return ""
	}
	return above
}

// usable reports why no groups can be made below one.
func (h *hierarchy) usable(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "cgroup.type")); err != nil {
		return errors.New("cfn is in the root of the control groups")
	}
	if !hasAll(dir, "cgroup.controllers") {
		return errors.New("the control group of cfn has no controllers for memory and processes")
	}
	const notDelegated = "the control group of cfn is not delegated to it: start cfn with systemd-run --scope -p Delegate=yes, as a user with --user"
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if !h.writable(filepath.Join(dir, name)) {
			return errors.New(notDelegated)
		}
	}
	if !h.delegated(dir) {
		return errors.New(notDelegated)
	}
	return nil
}

// processes are those in a group, without those below it.
func (h *hierarchy) processes(dir string) []int {
	text, err := readGroup(dir, "cgroup.procs")
	if err != nil {
		return []int{0}
	}
	var list []int
	for _, field := range strings.Fields(text) {
		pid, _ := strconv.Atoi(field) // 0 for one of another namespace
		list = append(list, pid)
	}
	return list
}

// Groups are the control groups of the functions of this program.
type groups struct {
	h    *hierarchy
	dir  string   // the group of this program
	lock *os.File // locked as long as the program runs

	mu   sync.Mutex
	made int
}

// open makes the group of this program, and removes those of programs that have ended.
func (h *hierarchy) open(pid int, now func() time.Time) (*groups, error) {
	base, move, err := h.base(pid)
	if err != nil {
		return nil, err
	}
	h.sweep(base)
	for range 10 { // another program may sweep the group away before it is locked
		g := &groups{h: h, dir: filepath.Join(base, fmt.Sprintf("formwork-%d-%d", pid, now().UnixNano()))}
		if err = h.mkdir(g.dir); err != nil {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		if err = g.fill(base, pid, move); err == nil {
			return g, nil
		}
		if g.lock != nil {
			_ = g.lock.Close() // nothing was written
		}
		_ = h.rmdir(g.dir) // the next program removes it
		if !errors.Is(err, errSwept) {
			break
		}
	}
	return nil, err
}

// errSwept is among the errors if another program has taken a new group for an old one.
var errSwept = errors.New("another program uses the control group of this one")

// fill locks the group, moves the program into it if it must leave the base, and passes the
// controllers on. After an error the program is where it was.
func (g *groups) fill(base string, pid int, move bool) (err error) {
	if g.lock, err = os.Open(g.dir); err != nil {
		return errors.Join(errSwept, err)
	}
	if !lock(g.lock) {
		return errSwept
	}
	if _, err := os.Lstat(g.dir); err != nil {
		return errors.Join(errSwept, err)
	}
	self := filepath.Join(g.dir, selfName)
	if move {
		if err := g.h.mkdir(self); err != nil {
			return fmt.Errorf("make a control group: %w", err)
		}
		if err := writeGroup(self, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			_ = g.h.rmdir(self) // empty
			return fmt.Errorf("move cfn to a control group: %w", err)
		}
	}
	for _, dir := range []string{base, g.dir} {
		if hasAll(dir, "cgroup.subtree_control") {
			continue
		}
		if err := writeGroup(dir, "cgroup.subtree_control", "+"+strings.Join(controllers, " +")); err != nil {
			err = fmt.Errorf("use the controllers for memory and processes: %w", err)
			if move {
				err = errors.Join(err, writeGroup(base, "cgroup.procs", strconv.Itoa(pid)))
				_ = g.h.rmdir(self) // empty
			}
			return err
		}
	}
	return nil
}

// sweep removes the groups of programs that have ended, with what is left in them.
func (h *hierarchy) sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !groupName.MatchString(entry.Name()) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		file, err := os.Open(dir)
		if err != nil {
			continue
		}
		if lock(file) {
			h.remove(dir)
		}
		_ = file.Close() // nothing was written
	}
}

// remove ends the processes in the groups of functions of a program, and removes these groups and that
// of the program. What the program has started beside functions is left alone, and its group with it. What
// does not end in time is left to the next program.
func (h *hierarchy) remove(dir string) {
	entries, _ := os.ReadDir(dir) // what was read is removed
	for _, entry := range entries {
		switch path := filepath.Join(dir, entry.Name()); {
		case entry.Name() == selfName:
			_ = h.rmdir(path) // unless it has processes
		case entry.IsDir():
			h.end(path)
		}
	}
	_ = h.rmdir(dir) // unless a group is left in it
}

// end ends the processes of one group and removes it. It takes a moment for them to end.
func (h *hierarchy) end(dir string) {
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		kill(dir)
		if err := h.rmdir(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(wait)
	}
}

// kill ends all processes of a group and of those below it. Kernels before Linux 5.14 end only
// those of the group itself.
func kill(dir string) {
	if err := writeGroup(dir, "cgroup.kill", "1"); err == nil {
		return
	}
	text, _ := readGroup(dir, "cgroup.procs") // without it, nothing is ended
	for _, field := range strings.Fields(text) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
}
