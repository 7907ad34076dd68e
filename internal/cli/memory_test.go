package cli

import (
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "128MB": 128 << 20, "512 mb": 512 << 20, "4GB": 4 << 30} {
		if got, err := memoryLimit(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"127MB": "expected at least 128MB", "0MB": "expected at least 128MB", "1024": "expected a size", "-1GB": "expected a size", "1.5GB": "expected a size",
		"GB": "expected a size", "2TB": "expected a size", "9999999999GB": "expected a size", "99999999999999999999MB": "expected a size", "many": "expected a size",
	} {
		_, err := memoryLimit(text)
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	for machine, want := range map[int64]int64{0: 1 << 30, 512 << 20: 256 << 20, 2 << 30: 512 << 20, 64 << 30: 2 << 30} {
		if got := usualMemory(machine); got != want {
			t.Errorf("a machine of %d MB has the limit %d MB, want %d", machine>>20, got>>20, want>>20)
		}
	}
}

// TestMemoryLimitOfGo takes GOMEMLIMIT for the usual limit, and sets what is given as that of the collector.
func TestMemoryLimitOfGo(t *testing.T) {
	before := debug.SetMemoryLimit(300 << 20)
	defer debug.SetMemoryLimit(before)
	if got, err := memoryLimit(""); err != nil || got != 300<<20 {
		t.Errorf("got %d, %v, want that of GOMEMLIMIT", got, err)
	}
	end := collectWithin(200 << 20)
	during := debug.SetMemoryLimit(-1)
	end()
	if after := debug.SetMemoryLimit(-1); during != 200<<20 || after != 300<<20 {
		t.Errorf("the limit is %d and then %d", during, after)
	}
	collectWithin(0)()
	debug.SetMemoryLimit(math.MaxInt64)
	if got, err := memoryLimit(""); err != nil || got < leastUsualMemory || got > mostUsualMemory {
		t.Errorf("got %d, %v on this machine", got, err)
	}
}

func TestLinuxMemory(t *testing.T) {
	const total = "MemTotal:       16384000 kB\nMemFree:         100 kB\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, 0},
		"a machine":        {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/memory.max": "max\n"}, 16384000 << 10},
		"a group":          {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, 512 << 20},
		"a group above":    {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, 1 << 30},
		"a container":      {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		"version 1":        {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "9223372036854771712\n"}, 256 << 20},
		"a group of more":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/memory.max": "99999999999999\n"}, 16384000 << 10},
		"no numbers":       {map[string]string{"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "x\n0::/\n", "sys/fs/cgroup/memory.max": "-1\n"}, 0},
	} {
		root := fstest.MapFS{}
		for path, text := range test.files {
			root[path] = file(text)
		}
		if got := linuxMemory(root); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
