package lambda

import (
	"slices"
	"testing"
)

// TestLimitsIn: what programs print names the limit that they met, and nothing else does.
func TestLimitsIn(t *testing.T) {
	const disk = "512 MB in /tmp and the home folder"
	for text, want := range map[string][]string{
		"sh: 1: Cannot fork\n":                                      {limitProcesses},
		"sh: can't fork: Resource temporarily unavailable\n":        {limitProcesses},
		"bash: fork: retry: Resource temporarily unavailable\n":     {limitProcesses},
		"fork/exec /bin/true: resource temporarily unavailable":     {limitProcesses},
		"fork/exec /bin/none: no such file or directory":            nil,
		"RuntimeError: can't start new thread":                      {limitProcesses},
		"write /tmp/a: no space left on device":                     {disk},
		"OSError: [Errno 28] No space left on device: '/tmp/x'":     {disk},
		"Error: EMFILE: too many open files, open '/tmp/a'":         {limitFiles},
		"No space left on device\nToo many open files, cannot fork": {disk, limitFiles, limitProcesses},
		"the road forks here; it cannot be full":                    nil,
		"":                                                          nil,
	} {
		if got := (&Config{}).limitsIn([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
