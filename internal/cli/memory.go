package cli

import (
	"cmp"
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/cmd/cfn/collect"
)

// The limits of memory that cfn serve has by itself, and the least that it can be given: it takes about 50 MB.
const (
	leastUsualMemory = 256 << 20
	mostUsualMemory  = 2 << 30
	leastMemory      = 128 << 20
)

// memoryLimit is the value of --memory-limit in bytes, 0 for no limit.
func memoryLimit(text string) (int64, error) {
	switch text {
	case "":
		if own := debug.SetMemoryLimit(-1); own != math.MaxInt64 {
			return own, nil // GOMEMLIMIT
		}
		return usualMemory(machineMemory()), nil
	case "0":
		return 0, nil
	}
	units := map[string]int64{"MB": 20, "GB": 30}
	number, unit := text, ""
	if at := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); at > 0 {
		number, unit = text[:at], strings.ToUpper(strings.TrimSpace(text[at:]))
	}
	n, err := strconv.ParseInt(number, 10, 64)
	shift, known := units[unit]
	if err != nil || !known || n > math.MaxInt64>>shift {
		return 0, usagef("option --memory-limit: expected a size such as 512MB or 4GB, or 0 for no limit, but got %q", text)
	}
	if n <<= shift; n < leastMemory {
		return 0, usagef("option --memory-limit: expected at least %dMB, or 0 for no limit, but got %q", leastMemory>>20, text)
	}
	return n, nil
}

// usualMemory is the limit on a machine with some memory, 0 if that is not known.
func usualMemory(machine int64) int64 {
	return min(max(cmp.Or(machine, 4<<30)/4, leastUsualMemory), mostUsualMemory)
}

// collectWithin has garbage collected in time for a limit, until end is called.
func collectWithin(limit int64) (end func()) {
	if limit == 0 {
		return func() {}
	}
	before := debug.SetMemoryLimit(limit)
	adapted := collect.Adapt()
	return func() {
		adapted()
		debug.SetMemoryLimit(before)
	}
}

// linuxMemory is the memory of a machine with Linux, or of the control group of this process if that is less; 0 if it
// is not known. root is the folder / with /proc and /sys.
func linuxMemory(root fs.FS) int64 {
	least := int64(0)
	bound := func(text string, unit int64) {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 && n < math.MaxInt64>>10 && (least == 0 || n*unit < least) {
			least = n * unit
		}
	}
	read := func(name string) string {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return "" // there is no such limit
		}
		return string(content)
	}
	for line := range strings.Lines(read("proc/meminfo")) {
		if text, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			bound(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 1<<10)
		}
	}
	for line := range strings.Lines(read("proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		switch fields[1] {
		case "":
		case "memory":
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// A group has at most what those above it have. In a container, the first of them may be its own.
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			bound(read(path.Join(folder, group, file)), 1)
			if group == "/" {
				break
			}
		}
	}
	return least
}
