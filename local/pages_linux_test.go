package local

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestReleaseProgram gives the pages of this program back, which goes on, and whose variables keep
// their values.
func TestReleaseProgram(t *testing.T) {
	resident := func() int {
		t.Helper()
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "RssFile:")
		kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes
	}
	changed = "changed"
	before := resident()
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
	if after := resident(); after > before/2 {
		t.Errorf("%d kB of files are resident, %d kB before", after, before)
	}
	if changed != strings.ToLower("CHANGED") {
		t.Errorf("a variable is %q", changed)
	}
}

var changed = "as in the file"

func TestMappingOf(t *testing.T) {
	for line, want := range map[string]mapping{
		"00400000-01a2b000 r-xp 00000000 fe:00 247278                             /usr/bin/a program": {start: 0x400000, end: 0x1a2b000, file: "/usr/bin/a program"},
		"01a2b000-01c00000 rw-p 01a2b000 fe:00 247278 /usr/bin/cfn":                                   {start: 0x1a2b000, end: 0x1c00000, writable: true, file: "/usr/bin/cfn"},
		"7ffe00000000-7ffe00001000 r--s 00000000 00:01 5 /dev/zero":                                   {start: 0x7ffe00000000, end: 0x7ffe00001000, writable: true, file: "/dev/zero"},
		"c000000000-c000400000 rw-p 00000000 00:00 0":                                                 {start: 0xc000000000, end: 0xc000400000, writable: true},
	} {
		if got, ok := mappingOf(line); !ok || got != want {
			t.Errorf("%s: %+v, %t", line, got, ok)
		}
	}
	for _, line := range []string{"Anonymous:             0 kB", "", "VmFlags: rd ex mr mw me"} {
		if got, ok := mappingOf(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}
