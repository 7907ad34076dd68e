package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// watchSuites runs files of stack tests, and again whenever a file in their folders, or in one that they name, changes.
func (c *app) watchSuites(cmd *cobra.Command, o *stackSuiteOptions, names []string) error {
	ctx := cmd.Context()
	run := func(ctx context.Context) {
		if err := c.stackSuites(ctx, o, names); err != nil && ctx.Err() == nil {
			c.show(cmd, err, names)
		}
		if ctx.Err() == nil {
			fmt.Fprintf(c.Stderr, "waiting for changes; press Ctrl-C to stop\n")
		}
	}
	folders, err := c.watchedFolders(ctx, names)
	if err != nil {
		return err
	}
	err = lambda.Watch(ctx, lambda.WatchConfig{
		Build: []string{"cfn", "stack", "test"}, Dir: c.path("."), Dirs: folders, First: true,
		Run: func(ctx context.Context, _ []string, _ string) ([]byte, error) { run(ctx); return nil, nil },
	})
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// watchedFolders are the folders of the files, and of what they name.
func (c *app) watchedFolders(ctx context.Context, names []string) ([]string, error) {
	var folders []string
	if len(names) == 0 {
		folders = append(folders, c.path("."))
	}
	for _, name := range names {
		folders = append(folders, filepath.Dir(c.path(name)))
	}
	suites, _, err := c.loadSuites(ctx, names) // a file that is not valid yet is watched, too
	if err != nil {
		return nil, err
	}
	for _, s := range suites {
		folders = append(folders, s.Folders()...)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	return slices.DeleteFunc(slices.Clone(folders), func(dir string) bool { // without those below others
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return true
		}
		return slices.ContainsFunc(folders, func(other string) bool {
			return dir != other && strings.HasPrefix(dir, strings.TrimSuffix(other, string(filepath.Separator))+string(filepath.Separator))
		})
	}), nil
}
