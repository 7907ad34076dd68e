package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is what "cfn version" shows. Commit and Time are "" for a build outside a repository.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // OS/architecture
}

func newVersion(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version and how cfn was built",
		Long: `Show the version of cfn, the commit it was built from, the version of Go and the platform.

cfn --version shows the version only.

Exit code: 0.`,
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			b := newVersionInfo(c.Version, info)
			if c.format == "json" {
				return c.printJSON(b)
			}
			c.printf("cfn %s\n", b.Version)
			if b.Commit != "" {
				c.printf("commit    %s\n", b.commit())
			}
			c.printf("go        %s\nplatform  %s\n", b.Go, b.Platform)
			return nil
		},
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// newVersionInfo reads what the Go command noted of the build; info may be nil.
func newVersionInfo(version string, info *debug.BuildInfo) *versionInfo {
	b := &versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// commit is the commit as one text.
func (b *versionInfo) commit() string {
	text := b.Commit
	if b.Modified {
		text += " with changes"
	}
	if b.Time != "" {
		text += fmt.Sprintf(" (%s)", b.Time)
	}
	return text
}
