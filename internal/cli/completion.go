package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(c *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `Print a script that makes a shell complete the commands and options of cfn.

  bash         source <(cfn completion bash)
  zsh          source <(cfn completion zsh)
  fish         cfn completion fish | source
  powershell   cfn completion powershell | Out-String | Invoke-Expression

To load it in every session, add the line to the startup file of the shell.`,
		ValidArgs:   shells,
		Args:        cobra.MatchAll(exactArguments(1, "the name of a shell"), onlyArguments(shells)),
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return c.bashCompletion(root)
			case "zsh":
				return root.GenZshCompletion(c.out)
			case "fish":
				return root.GenFishCompletion(c.out, true)
			}
			return root.GenPowerShellCompletionWithDesc(c.out)
		},
	}
}

// bashCompletion prints the library's script, which calls a function of the package
// bash-completion, with a replacement for it: many machines do not have the package.
func (c *app) bashCompletion(root *cobra.Command) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const call = `    _get_comp_words_by_ref "$@" cur prev words cword` + "\n"
	before, after, found := strings.Cut(script.String(), call)
	if !found {
		return bugError{err: errors.New("the bash completion script of cobra has changed")}
	}
	c.printf("%s%s%s", before, `    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    `+call+`    else
        __cfn_words
    fi
`, after)
	c.printf("%s", bashWords)
	return nil
}

// bashWords sets the variables that completion functions start from. The shell splits
// words at "=" and ":", as in --format=json and Acme::Foo::Bar; here they are whole.
const bashWords = `
# What bash-completion does for this script, where that package is not installed.
__cfn_words()
{
    local i word rest=$COMP_LINE last=0
    words=()
    cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $rest != [[:space:]]* ]] && [[ $word == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; then
            words[last]=${words[last]}$word
        else
            last=${#words[@]}
            words[last]=$word
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$word"}
        if ((i == COMP_CWORD)); then
            cword=$last
        fi
    done
    cur=${words[cword]}
    prev=
    if ((cword > 0)); then
        prev=${words[cword-1]}
    fi
}
`

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
