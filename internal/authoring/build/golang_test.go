package build

import "testing"

func TestProgramOn(t *testing.T) {
	for _, c := range []struct {
		system, arch string
		isGo, debug  bool
		want         string
	}{
		{"linux", "amd64", true, false, "bin/bootstrap"},
		{"linux", "amd64", true, true, "bin/debug/bootstrap"},
		{"linux", "arm64", true, false, "bin/local/bootstrap"},
		{"darwin", "arm64", true, false, "bin/local/bootstrap"},
		{"windows", "amd64", true, false, "bin/local/bootstrap.exe"},
		{"windows", "amd64", true, true, "bin/debug/bootstrap.exe"},
		{"windows", "amd64", false, false, "bin/bootstrap"},
	} {
		if got := programOn(c.system, c.arch, "bootstrap", c.isGo, c.debug); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
