package lambda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// WatchConfig sets up Watch. Build and Dirs must be set.
type WatchConfig struct {
	// Build is the build command and its arguments, run in Dir with the
	// environment of this program.
	Build []string
	Dir   string

	// Dirs are the folders of the sources, searched with everything below
	// them. Relative ones are taken from Dir.
	Dirs []string

	// Ignore are names of files and folders to ignore, in addition to those that begin with
	// "." or end in "~". Nil means DefaultIgnore.
	Ignore []string

	// Renew lists the functions whose command the build makes. After a good
	// build their later invocations get new processes; running ones finish.
	Renew []*Function

	// First builds at the start, too. What changes during that build is built again.
	First bool

	// Report is called after each build. It may be nil.
	Report func(Build)

	// Interval is the time between two checks of the sources. Zero means 400 ms.
	Interval time.Duration

	// Timeout bounds one build. Zero means 10 min.
	Timeout time.Duration

	// Run runs the build command and returns its output. Nil means a process.
	Run func(ctx context.Context, command []string, dir string) ([]byte, error)
}

// DefaultIgnore are the names that Watch ignores by default: files that tools write.
var DefaultIgnore = []string{"bin", "build", "dist", "node_modules", "target", "vendor", "__pycache__", "rpdk.log", "rpdk.log.1"}

// A Build is the outcome of one run of the build command.
type Build struct {
	Changed  []string // sources that caused it, sorted, at most 10; relative to Dir, or to their folder of Dirs outside of it
	Duration time.Duration
	Output   string // of the command, at most the last 256 KiB
	Err      error  // nil after a good build; the functions are unchanged otherwise
}

// Watch checks the sources until ctx ends, and rebuilds when one was changed, added or removed
// since the start of the previous build. Files that change during two consecutive builds are
// assumed to be output of the build, and are ignored. Watch builds at its start only if First is set. A
// failed build leaves the functions unchanged, and is tried again at the next change. Watch
// returns nil when ctx ends, otherwise an error that describes what is invalid in c.
func Watch(ctx context.Context, c WatchConfig) error {
	if len(c.Build) == 0 || len(c.Dirs) == 0 {
		return errors.New("watch: requires a build command and folders to watch")
	}
	orDefault(&c.Interval, 400*time.Millisecond)
	orDefault(&c.Timeout, 10*time.Minute)
	if c.Ignore == nil {
		c.Ignore = DefaultIgnore
	}
	if c.Run == nil {
		c.Run = runBuild
	}
	seen, err := c.look()
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	ticker := time.NewTicker(c.Interval)
	defer ticker.Stop()
	var written []string // what changed during the last build
	for first := c.First; ; first = false {
		now, err := seen, error(nil)
		if !first {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			now, err = c.look()
		}
		if err != nil {
			continue // a folder being replaced; it shows again, or nothing changes
		}
		changed := differences(seen, now)
		if len(changed) == 0 && !first {
			continue
		}
		build := c.build(ctx, changed)
		if ctx.Err() != nil {
			return nil
		}
		seen, written = c.settle(now, written)
		if build.Err == nil {
			for _, f := range c.Renew {
				f.Renew()
			}
		}
		if c.Report != nil {
			c.Report(build)
		}
	}
}

// settle returns what counts as seen after a build that began with the sources
// before, and which files changed during it. These are still to be built, unless
// they changed during the last build, too.
func (c *WatchConfig) settle(before map[string]stamp, written []string) (map[string]stamp, []string) {
	after, err := c.look()
	if err != nil {
		return before, nil
	}
	during := differences(before, after)
	for _, path := range during {
		if !slices.Contains(written, path) {
			continue
		}
		if s, ok := after[path]; ok {
			before[path] = s
		} else {
			delete(before, path)
		}
	}
	return before, during
}

// build runs the build command.
func (c *WatchConfig) build(ctx context.Context, changed []string) Build {
	bounded, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("it took longer than %s", c.Timeout))
	defer cancel()
	started := time.Now()
	output, err := c.Run(bounded, c.Build, c.Dir)
	if err != nil && bounded.Err() != nil {
		err = context.Cause(bounded)
	}
	if err != nil {
		err = fmt.Errorf("build with %q: %w", strings.Join(c.Build, " "), err)
	}
	for i, path := range changed {
		changed[i] = c.display(path)
	}
	return Build{Changed: changed[:min(len(changed), 10)], Duration: time.Since(started), Output: string(output), Err: err}
}

// display shortens a path to what is below Dir, else below its folder.
func (c *WatchConfig) display(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	for _, dir := range c.Dirs {
		if rel, err := filepath.Rel(c.path(dir), path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

func (c *WatchConfig) path(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(c.Dir, dir)
}

// A stamp changes when a file does.
type stamp struct {
	modified time.Time
	size     int64
}

const maxWatched = 100_000 // files

// look notes the state of all sources.
func (c *WatchConfig) look() (map[string]stamp, error) {
	found := map[string]stamp{}
	for _, dir := range c.Dirs {
		root := c.path(dir)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				if path != root && errors.Is(err, fs.ErrNotExist) {
					return nil // removed meanwhile
				}
				return err
			}
			if path != root && c.ignores(entry.Name()) {
				if entry.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if !entry.Type().IsRegular() {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				return nil // removed meanwhile
			}
			if len(found) >= maxWatched {
				return fmt.Errorf("more than %d files below %s: watch only the folders of the sources", maxWatched, root)
			}
			found[path] = stamp{modified: info.ModTime(), size: info.Size()}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (c *WatchConfig) ignores(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || slices.Contains(c.Ignore, name)
}

// differences lists the files that are not the same in both, sorted.
func differences(a, b map[string]stamp) []string {
	var list []string
	for path, s := range b {
		if old, ok := a[path]; !ok || old != s {
			list = append(list, path)
		}
	}
	for path := range a {
		if _, ok := b[path]; !ok {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// runBuild runs the build command as a process, ended with its descendants when
// ctx ends.
func runBuild(ctx context.Context, command []string, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	output := &ring{limit: DefaultLogBytes}
	cmd.Stdout, cmd.Stderr = output, output
	EndWithDescendants(cmd)
	err := cmd.Run()
	return bytes.TrimSpace(output.bytes()), err
}
