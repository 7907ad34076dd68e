package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

// system are the folders of the system with programs and libraries, and no data of users.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu/store", "/snap", "/run/current-system",
	"/home/linuxbrew/.linuxbrew", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
}

// settings are those of the system that programs read, by pattern: files are copied, and folders
// are visible.
var settings = []string{
	"hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols", "hostname", "passwd", "group",
	"localtime", "timezone", "os-release", "ld.so.cache", "ssl", "pki", "crypto-policies", "alternatives", "fonts", "java*", "php*", "ruby*", "dotnet", "static",
}

// A view is what a process sees beside the mounts of the system.
type view struct {
	mounts []inside.Mount // in the order in which they are made
	unseen []unseen
}

// unseen is what the user's environment or an interpreter needs, and the process does not see.
type unseen struct {
	path   string
	by     string // "PYTHONPATH", "the interpreter"
	reason string
}

// view is what the process sees: neither its arguments nor its environment count.
func (p *Process) view(decided policy) (view, error) {
	program := p.Path
	if p.Dir != "" && within(program, p.Dir) {
		program = ""
	}
	return plan(decided, p.Dir, program, p.Runtime)
}

// plan is the view of a process with its code in a folder, and a program that is elsewhere or "". Nothing that its code, its package or its template says is an input: neither
// its environment nor what is in its files.
func plan(p policy, code, program string, r Runtime) (view, error) {
	v := &planner{policy: p, mounts: maps.Clone(systemMounts()), explicit: map[string]bool{}}
	if code != "" {
		if err := p.checkCode(code); err != nil {
			return view{}, err
		}
	}
	for _, w := range v.wants(code, program, r) {
		if err := v.place(w); err != nil {
			return view{}, err
		}
	}
	v.opt(program, r)
	v.mask()
	known := systemMounts()
	maps.DeleteFunc(v.mounts, func(target string, m inside.Mount) bool { return known[target] == m })
	return view{inOrder(v.mounts), v.unseen}, nil
}

// opt shows a folder of this program at /opt.
func (v *planner) opt(program string, r Runtime) {
	const target = "/opt"
	inUse := func(path string) bool { return path == target || within(path, target) }
	if r.Opt == "" || inUse(program) || slices.ContainsFunc(r.Roots, inUse) {
		return
	}
	for at := range v.mounts {
		if at != target && inUse(at) {
			return
		}
	}
	v.mounts[target] = inside.Mount{Kind: inside.BindRO, Source: r.Opt, Target: target}
}

// A planner makes a plan.
type planner struct {
	policy
	mounts   map[string]inside.Mount // by target
	explicit map[string]bool         // targets that the user or this program has named
	unseen   []unseen
}

// A want is a file or folder that a process should see.
type want struct {
	path  string
	write bool
	// explicit ones may be hidden: the user or this program has named the path itself.
	explicit bool
	required bool
	runtime  bool   // an installation
	by       string // what names it, for messages
}

// wants are the files and folders that a process should see, in the order of their paths. Of those with the same
// path, the last one counts.
func (v *planner) wants(code, program string, r Runtime) []want {
	var list []want
	for _, n := range v.named {
		list = append(list, want{path: n.path, write: n.write, by: n.variable})
	}
	for _, root := range r.Roots {
		list = append(list, want{path: root, runtime: true, by: "the interpreter"})
	}
	list = append(list, links(program)...)
	for _, path := range r.Files {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 { // nobody may replace what this program has made
			list = append(list, want{path: path, explicit: true})
		}
	}
	if code != "" {
		list = append(list, want{path: code, explicit: true, required: true})
	}
	for _, grant := range v.grants {
		list = append(list, want{path: grant.Path, write: grant.Write, explicit: true, required: true, by: "mount"})
	}
	list = slices.DeleteFunc(list, func(w want) bool { return !filepath.IsAbs(w.path) })
	for i := range list {
		list[i].path = filepath.Clean(list[i].path)
	}
	slices.SortStableFunc(list, func(a, b want) int { return strings.Compare(a.path, b.path) })
	return list
}

// mostLinks bounds links that lead to one another.
const mostLinks = 20

// links are a program and what its links lead to.
func links(program string) (list []want) {
	for range mostLinks {
		if !filepath.IsAbs(program) {
			break
		}
		list = append(list, want{path: program, runtime: true, by: "the interpreter"})
		target, err := os.Readlink(program)
		if err != nil {
			break
		}
		if program = target; !filepath.IsAbs(target) {
			program = filepath.Join(filepath.Dir(list[len(list)-1].path), target)
		}
	}
	return list
}

// place makes a want visible. The error is that a required one does not exist.
func (v *planner) place(w want) error {
	real, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		if !w.required {
			return nil
		}
		if w.by != "" {
			err = fmt.Errorf("%s %s: %w", w.by, w.path, err)
		}
		return err
	}
	target := w.path
	top, covered := v.covering(target)
	if covered && top.Target != target && through(top, target) != real { // a link of what is visible leads there
		target = real
		top, covered = v.covering(target)
	}
	hidden := v.hidden(real, w.runtime) || v.hidden(w.path, w.runtime)
	if covered && top.Kind == inside.BindRO && !w.write && through(top, target) == real && !(hidden && w.explicit) {
		return nil
	}
	if !w.explicit {
		if v.explicit[target] {
			return nil
		}
		if reason := v.refused(w.path, real, hidden); reason != "" {
			v.unseen = append(v.unseen, unseen{w.path, w.by, reason})
			return nil
		}
	}
	kind := inside.BindRO
	if w.write {
		kind = inside.BindRW
	}
	v.mounts[target] = inside.Mount{Kind: kind, Source: real, Target: target}
	v.explicit[target] = w.explicit
	return nil
}

// refused is why a path that was not named itself is not made visible, "" if it is.
func (v *planner) refused(path, real string, hidden bool) string {
	switch {
	case hidden:
		return "it is hidden from handlers"
	case own(path):
		return "handlers have a folder of their own there"
	case real == "/" || v.above(path) || v.above(real):
		return "it contains what is hidden from handlers"
	}
	return ""
}

// covering is the innermost mount that a path is in.
func (v *planner) covering(path string) (inside.Mount, bool) {
	for at := path; ; at = filepath.Dir(at) {
		if m, found := v.mounts[at]; found {
			return m, true
		}
		if at == "/" {
			return inside.Mount{}, false
		}
	}
}

// through is the path of the machine that a path in a mount shows, if no link is in the way, "" if it
// shows none.
func through(m inside.Mount, path string) string {
	if m.Kind != inside.BindRO && m.Kind != inside.BindRW {
		return ""
	}
	return filepath.Join(m.Source, strings.TrimPrefix(path, m.Target))
}

// mask hides what is hidden wherever it is visible, unless it was named itself.
func (v *planner) mask() {
	for _, h := range v.hide {
		if !h.exists {
			continue
		}
		for _, m := range inOrder(v.mounts) {
			if through(m, m.Target) == "" || !within(h.real, m.Source) {
				continue
			}
			target := filepath.Join(m.Target, strings.TrimPrefix(h.real, m.Source))
			if top, _ := v.covering(target); top.Target != m.Target || target == m.Target && v.explicit[target] {
				continue
			}
			kind := inside.Masked
			if !h.folder {
				kind = inside.Blank
			}
			v.mounts[target] = inside.Mount{Kind: kind, Target: target}
			v.pin(m, target)
		}
	}
	for target, m := range v.mounts {
		if m.Kind == inside.Masked && v.opened(target) {
			m.Kind = inside.Empty
			v.mounts[target] = m
		}
	}
}

// pin makes mounts of the folders between one that can be written to and what is hidden in it: no process can move
// them, and what is hidden with them, to where the next process would see it.
func (v *planner) pin(m inside.Mount, target string) {
	if m.Kind != inside.BindRW || target == m.Target {
		return
	}
	for at := filepath.Dir(target); at != m.Target; at = filepath.Dir(at) {
		if _, found := v.mounts[at]; !found {
			v.mounts[at] = inside.Mount{Kind: inside.BindRW, Source: through(m, at), Target: at}
		}
	}
}

// opened reports whether something is visible below a hidden folder.
func (v *planner) opened(folder string) bool {
	for target := range v.mounts {
		if target != folder && within(target, folder) {
			return true
		}
	}
	return false
}

// inOrder are mounts with those below others after them.
func inOrder(mounts map[string]inside.Mount) []inside.Mount {
	return slices.SortedFunc(maps.Values(mounts), func(a, b inside.Mount) int { return strings.Compare(a.Target, b.Target) })
}

// systemMounts are what belongs to the system. They are found once: files are read at each start.
var systemMounts = sync.OnceValue(func() map[string]inside.Mount {
	mounts := map[string]inside.Mount{}
	for _, dir := range system {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				mounts[dir] = inside.Mount{Kind: inside.Link, Source: target, Target: dir}
			}
		case info.IsDir():
			if real, err := filepath.EvalSymlinks(dir); err == nil { // a folder above may be a link
				mounts[dir] = inside.Mount{Kind: inside.BindRO, Source: real, Target: dir}
			}
		}
	}
	for _, pattern := range settings {
		paths, _ := filepath.Glob("/etc/" + pattern) // the patterns are valid
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			info, err := os.Stat(real)
			switch {
			case err != nil:
			case info.IsDir():
				mounts[path] = inside.Mount{Kind: inside.BindRO, Source: real, Target: path}
			case info.Mode().IsRegular():
				mounts[path] = inside.Mount{Kind: inside.Contents, Source: real, Target: path}
			}
		}
	}
	v := &planner{mounts: mounts}
	for _, path := range secretSettings {
		v.hide = append(v.hide, newHidden(path))
	}
	v.mask()
	return mounts
})

// makeWritten makes the folders of grants to write to that do not exist.
func makeWritten(grants []Grant) error {
	for _, grant := range grants {
		if !grant.Write {
			continue
		}
		if _, err := os.Stat(grant.Path); errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(grant.Path, 0o755); err != nil {
				return fmt.Errorf("mount %s: %w", grant.Path, err)
			}
		}
	}
	return nil
}
