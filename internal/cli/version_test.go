package cli

import (
	"runtime/debug"
	"testing"
)

func TestNewBuild(t *testing.T) {
	b := newVersionInfo("1.2.3", &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "4d1c0ffee"}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}})
	if got, want := b.commit(), "4d1c0ffee with changes (2026-11-22T10:00:00Z)"; got != want || b.Version != "1.2.3" {
		t.Errorf("%+v: %q, want %q", b, got, want)
	}
	if b := newVersionInfo("1.2.3", nil); b.Commit != "" || b.Go == "" || b.Platform == "" {
		t.Errorf("without information: %+v", b)
	}
}
