package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(c *console) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes command lines in a shell",
		Long: `Print a script with which a shell completes the commands and options of cfn.

  bash         source <(cfn completion bash)
  zsh          source <(cfn completion zsh)
  fish         cfn completion fish | source
  powershell   cfn completion powershell | Out-String | Invoke-Expression

Put the line into the start-up file of the shell to keep it.`,
		ValidArgs:   shells,
		Args:        cobra.MatchAll(exactArguments(1, "the name of a shell"), onlyArguments(shells)),
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(c.Stdout)
			case "fish":
				return root.GenFishCompletion(c.Stdout, true)
			}
			return root.GenPowerShellCompletionWithDesc(c.Stdout)
		},
	}
}

// exactArguments is for commands with a fixed number of arguments.
func exactArguments(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("missing argument: %s", what)
		}
		return noArguments(nil, args[n:])
	}
}

// onlyArguments is for arguments that are one of a few words.
func onlyArguments(words []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		for _, arg := range args {
			value := ""
			if err := (&enum{&value, words}).Set(arg); err != nil {
				return fmt.Errorf("invalid choice %q: %w", arg, err)
			}
		}
		return nil
	}
}
