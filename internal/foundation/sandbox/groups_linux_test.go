package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const v2 = "26 23 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"

func TestFindHierarchy(t *testing.T) {
	for _, test := range []struct {
		name, mountinfo, cgroup, own, err string
		parts                             int
	}{
		{"a unit", v2, "0::/user.slice/run-1.scope\n", "/sys/fs/cgroup/user.slice/run-1.scope", "", 2},
		{"the root", v2, "0::/\n", "/sys/fs/cgroup", "", 0},
		{"both versions", "25 23 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n27 23 0:23 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n", "4:memory:/a\n0::/b\n", "/sys/fs/cgroup/unified/b", "", 1},
		{"a part of it is mounted", "26 23 0:22 /docker/1 /sys/fs/cgroup\\0402 rw master:1 - cgroup2 cgroup2 rw\n", "0::/docker/1/a\n", "/sys/fs/cgroup 2/a", "", 1},
		{"the last mount counts", v2 + "30 26 0:22 / /other rw - cgroup2 cgroup2 rw\n", "0::/a\n", "/other/a", "", 1},
		{"outside", v2, "0::/../other\n", "", "not visible here", 0},
		{"beside what is mounted", "26 23 0:22 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/2\n", "", "not visible here", 0},
		{"version 1", "25 23 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/a\n", "", "no cgroup v2", 0},
		{"not mounted", "25 23 0:21 / / rw - ext4 cgroup2 rw\n", "0::/a\n", "", "not mounted", 0},
		{"broken", "cgroup2\n- cgroup2\n", "0::/a\n::\n", "", "not mounted", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := findHierarchy(test.mountinfo, test.cgroup)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || h.own != test.own || h.parts != test.parts {
				t.Errorf("got %+v, %v", h, err)
			}
		})
	}
}

// A fakeTree is a folder that behaves as control groups do, as far as hierarchy writes to them.
type fakeTree struct {
	t    *testing.T
	root string
	mark map[string]bool // groups that are delegated
}

func newFakeTree(t *testing.T, marked ...string) *fakeTree {
	f := &fakeTree{t: t, root: t.TempDir(), mark: map[string]bool{}}
	for _, name := range marked {
		f.mark[filepath.Join(f.root, name)] = true
	}
	return f
}

// group makes a group with processes, and those above it.
func (f *fakeTree) group(name string, pids ...int) {
	f.t.Helper()
	dir := f.root
	for _, part := range strings.Split(name, "/") {
		dir = filepath.Join(dir, part)
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if err := f.mkdir(dir); err != nil {
			f.t.Fatal(err)
		}
	}
	f.write(dir, "cgroup.procs", pids...)
}

func (f *fakeTree) write(dir, name string, pids ...int) {
	f.t.Helper()
	text := ""
	for _, pid := range pids {
		text += strconv.Itoa(pid) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeTree) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"cgroup.procs": "", "cgroup.type": "domain\n", "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "\n", "cgroup.kill": "",
		"memory.max": "max\n", "memory.swap.max": "max\n", "memory.oom.group": "0\n", "pids.max": "max\n", "memory.current": "0\n", "memory.stat": "", "memory.events": "", "pids.events": "", "pids.current": "0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// rmdir removes a group without processes, unless there are groups below it.
func (f *fakeTree) rmdir(dir string) error {
	if text, err := readGroup(dir, "cgroup.procs"); err != nil {
		return unix.ENOENT
	} else if text != "" && f.text(dir, "cgroup.kill") != "1" {
		return unix.EBUSY
	}
	if below, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs")); err != nil || len(below) > 0 {
		return errors.Join(unix.EBUSY, err)
	}
	return os.RemoveAll(dir)
}

func (f *fakeTree) text(dir, name string) string {
	text, err := readGroup(dir, name)
	if err != nil {
		f.t.Error(err)
	}
	return text
}

func (f *fakeTree) hierarchy(own string) *hierarchy {
	return &hierarchy{
		own: filepath.Join(f.root, own), parts: strings.Count(own, "/") + 1, mkdir: f.mkdir, rmdir: f.rmdir,
		writable: func(path string) bool { _, err := os.Stat(path); return err == nil }, delegated: func(dir string) bool { return f.mark[dir] },
	}
}

// TestBaseOfGroups holds where groups are made, and that no other process and no group of a manager is touched.
func TestBaseOfGroups(t *testing.T) {
	const pid = 100
	for _, test := range []struct {
		name, own string
		build     func(*fakeTree)
		want, err string
		move      bool
	}{
		{name: "a scope of its own", own: "a.slice/run.scope", want: "a.slice/run.scope", move: true},
		{name: "with another process", own: "a.slice/run.scope", build: func(f *fakeTree) { f.group("a.slice/run.scope", 99, pid) }, err: "has other processes, such as 99"},
		{name: "not delegated", own: "a.slice/other.scope", err: "is not delegated"},
		{name: "beside the manager", own: "user.service/init.scope", err: "is not delegated"}, // user.service is delegated to the manager
		{name: "a part of the unit", own: "unit.service/main", want: "unit.service"},
		{name: "a part of the unit, which has processes", own: "unit.service/main", build: func(f *fakeTree) { f.group("unit.service", 5) }, err: "is not delegated"},
		{name: "started by another cfn", own: "unit.service/formwork-7-7/self", want: "unit.service"},
		{name: "no controllers", own: "a.slice/run.scope", build: func(f *fakeTree) {
			if err := os.WriteFile(filepath.Join(f.root, "a.slice/run.scope/cgroup.controllers"), []byte("cpu pids\n"), 0o600); err != nil {
				f.t.Fatal(err)
			}
		}, err: "no controllers for memory and processes"},
		{name: "not writable", own: "a.slice/run.scope", build: func(f *fakeTree) {
			if err := os.Remove(filepath.Join(f.root, "a.slice/run.scope/cgroup.subtree_control")); err != nil {
				f.t.Fatal(err)
			}
		}, err: "is not delegated"},
		{name: "the root", own: "root", build: func(f *fakeTree) {
			if err := os.Remove(filepath.Join(f.root, "root/cgroup.type")); err != nil {
				f.t.Fatal(err)
			}
		}, err: "in the root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeTree(t, "a.slice/run.scope", "user.service", "unit.service", "root")
			f.group(test.own, pid)
			if test.build != nil {
				test.build(f)
			}
			got, move, err := f.hierarchy(test.own).base(pid)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || got != filepath.Join(f.root, test.want) || move != test.move {
				t.Errorf("got %s, %v, %v", got, move, err)
			}
		})
	}
}

// TestGroupsOfFunctions opens groups beside those of other programs, and makes one for a function.
func TestGroupsOfFunctions(t *testing.T) {
	const pid, unit = 100, "unit.scope"
	f := newFakeTree(t, unit)
	f.group(unit, pid)
	for _, name := range []string{"formwork-1-1", "formwork-1-1/self", "formwork-1-1/1", "formwork-2-2", "formwork-2-2/self", "formwork-2-2/1", "formwork-3-3", "formwork-3-3/1", "other-1-1", "other-1-1/1"} {
		f.group(unit + "/" + name)
	}
	at := func(name string) string { return filepath.Join(f.root, unit, name) }
	f.write(at("formwork-1-1/1"), "cgroup.procs", 11)    // of a program that was killed
	f.write(at("formwork-2-2/self"), "cgroup.procs", 21) // started by it, and no function
	f.write(at("formwork-3-3/1"), "cgroup.procs", 31)    // of a program that runs
	f.write(at("other-1-1/1"), "cgroup.procs", 41)
	running, err := os.Open(at("formwork-3-3"))
	if err != nil || !lock(running) {
		t.Fatal(err)
	}
	defer running.Close()
	g, err := f.hierarchy(unit).open(pid, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer g.lock.Close()
	for name, want := range map[string]bool{"formwork-1-1": false, "formwork-2-2/self": true, "formwork-2-2/1": false, "formwork-3-3/1": true, "other-1-1/1": true} {
		if _, err := os.Stat(at(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"formwork-2-2/self", "formwork-3-3/1", "other-1-1/1"} {
		if f.text(at(name), "cgroup.kill") != "" {
			t.Errorf("the processes of %s are ended", name)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(g.dir, "self", "cgroup.procs"): "100", filepath.Join(g.dir, "cgroup.subtree_control"): "+memory +pids", at("cgroup.subtree_control"): "+memory +pids",
	} {
		if got := f.text(filepath.Dir(path), filepath.Base(path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	c, err := g.control()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Limit(128<<20, 512<<20, 1024); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "671088640", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "1024"} {
		if got := f.text(c.dir, name); got != want {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	set := func(name, text string) {
		if err := writeGroup(c.dir, name, text); err != nil {
			t.Fatal(err)
		}
	}
	if n, refused := c.Processes(); n != 0 || refused || c.OutOfMemory() || c.Memory(0) != 0 {
		t.Errorf("an empty group: %d, %v", n, refused)
	}
	set("pids.current", "1024\n")
	set("pids.events", "max 3\n")
	set("memory.events", "low 0\noom 1\noom_kill 2\n")
	set("memory.current", "1000000\n")
	set("memory.stat", "anon 300000\nfile 600000\nkernel 50000\nshmem 200000\nslab_reclaimable 30000\n")
	if n, refused := c.Processes(); n != 1024 || !refused {
		t.Errorf("%d processes, refused %v", n, refused)
	}
	if _, refused := c.Processes(); refused {
		t.Error("a refusal is reported twice")
	}
	if all, without := c.Memory(0), c.Memory(150000); !c.OutOfMemory() || all != 570000 || without != 420000 || c.Memory(1<<40) != 370000 {
		t.Errorf("memory %d, %d without files, out of memory %v", all, without, c.OutOfMemory())
	}
	c.Close()
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("the group is left")
	}
	var none *Control
	if none.Limit(1, 1, 1) != nil || none.OutOfMemory() {
		t.Error("no group has limits")
	}
	none.Close()
}

// TestGroupsCannotBePassedOn: the program is where it was after a failure.
func TestGroupsCannotBePassedOn(t *testing.T) {
	const pid, unit = 100, "unit.scope"
	f := newFakeTree(t, unit)
	f.group(unit, pid)
	h := f.hierarchy(unit)
	h.mkdir = func(dir string) error {
		err := f.mkdir(dir)
		if groupName.MatchString(filepath.Base(dir)) { // as if another process had come into it
			err = errors.Join(err, os.Remove(filepath.Join(dir, "cgroup.subtree_control")))
		}
		return err
	}
	if _, err := h.open(pid, time.Now); err == nil || !strings.Contains(err.Error(), "use the controllers for memory and processes") {
		t.Fatalf("error %v", err)
	}
	if got := f.text(h.own, "cgroup.procs"); got != "100" {
		t.Errorf("the program is elsewhere: %q", got)
	}
}
