package cli

import "github.com/spf13/cobra"

// Commands is the tree of all commands, for manuals and completion scripts. They cannot be run.
func Commands(version string) *cobra.Command {
	return newRoot(&app{Env: &Env{Version: version}})
}
