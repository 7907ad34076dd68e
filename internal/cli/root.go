package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are those of the program. The order of the list is the order of the help: first
// the official tool's commands in its own order, then those that it does not have.
func commands(c *app) []*cobra.Command {
	return []*cobra.Command{
		newInit(c),
		newValidate(c),
		newSubmit(c),
		newGenerate(c),
		newTest(c),
		newHook(c),
		newInvoke(c),
		newBuildImage(c),
		newPackage(c),
		newPublish(c),
		newTypes(c),
		newLogs(c),
		newStartLambda(c),
		newServe(c),
		newStub(c),
		newConsole(c),
		newDeploy(c),
		newDestroy(c),
		newImport(c),
		newStacks(c),
		newStack(c),
		newStackSet(c),
		newResource(c),
		newCustomResource(c),
		newEnv(c),
		newSmithy(c),
		newDiff(c),
		newExplain(c),
		newLSP(c),
		newDrift(c),
		newTemplate(c),
		newModule(c),
		newDoctor(c),
		newDocs(c),
		newVersion(c),
		newCompletion(c),
	}
}

// newRoot builds the tree of commands.
func newRoot(c *app) *cobra.Command {
	// The library would sort the commands by name. The variable is its only switch for that;
	// nothing else in the program reads it.
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:   "cfn",
		Short: "Develop CloudFormation extensions: resource types, modules and hooks",
		Long: `Develop CloudFormation extensions: resource types, modules and hooks.

cfn is a drop-in replacement for the CloudFormation CLI that works offline, without an account. It
reads and writes the same project files. A project is a folder with the file .rpdk-config.

Long options can be abbreviated if the abbreviation is unambiguous: --dry for --dry-run.`,
		Args:              noArguments,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { c.printf("%s", helpText(cmd)) })
	shared := root.PersistentFlags()
	shared.SortFlags = false
	shared.VarPF((*counter)(&c.verbose), "verbose", "v", "say more on the error stream; -vv says everything").NoOptDefVal = "true"
	shared.StringVar(&c.project, "project", "", "use the project in the folder `DIR` instead of the working folder")
	annotate(shared, addition, "project")
	root.Flags().Bool("version", false, "show the version and exit")
	root.AddCommand(commands(c)...)
	root.SetHelpCommand(newHelp(c))
	root.InitDefaultHelpCmd()
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.SetFlagErrorFunc(flagError)
		cmd.Flags().SortFlags = false
		cmd.Flags().BoolP("help", "h", false, "show this help and exit")
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if err := c.start(cmd); err != nil {
					return err
				}
				return run(cmd, args)
			}
		}
	})
	return root
}

// flagError says in words of our own what is wrong with the value of an option.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag, cause := invalid.GetFlag(), errors.Unwrap(err)
	why := cause.Error()
	wanted := map[string]string{
		"int": "a whole number", "uint": "a whole number from 0", "uint64": "a whole number from 0", "float64": "a number",
		"bool": "true or false", "duration": "a time such as 30s or 5m",
	}[flag.Value.Type()]
	switch {
	case errors.Is(cause, strconv.ErrRange):
		why = "it is too large or too small"
	case wanted != "":
		why = "it is not " + wanted
	}
	return &usageError{command: cmd, message: fmt.Sprintf("option --%s: %q is invalid: %s", flag.Name, invalid.GetValue(), why), hint: flagHint(flag)}
}

// completeValues completes the values of options with a fixed set of values.
func completeValues(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		var words []string
		switch value := flag.Value.(type) {
		case *enum:
			words = value.words
		default:
			words = completions[flag.Name]
		}
		if len(words) > 0 {
			// The error is that of a flag that has values already.
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// completions are values of options that take others, too.
var completions = map[string][]string{
	"artifact-type": {"RESOURCE", "MODULE", "HOOK"},
	"language":      {"go"},
	"function-name": {"TypeFunction", "TestEntrypoint"},
}

// newHelp is the command form of --help; it is not listed.
func newHelp(c *app) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND]",
		Short:       "Show the help of a command",
		Hidden:      true,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q", strings.Join(args, " "))
			}
			c.printf("%s", helpText(about))
			return nil
		},
	}
}

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, visit)
	}
}

// noArguments is for commands that only have options.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument: %s", strings.Join(args, " "))
	}
	return nil
}

// formatFlag gives a command the option --format. The first format is the default.
func (c *app) formatFlag(cmd *cobra.Command, formats ...string) {
	c.choice(cmd.Flags(), &c.format, "format", "how results are printed", formats...)
	annotate(cmd.Flags(), addition, "format")
}

// choice adds an option whose value is one of a few words; the first one is the default.
func (c *app) choice(flags *pflag.FlagSet, value *string, name, usage string, words ...string) {
	*value = words[0]
	flags.Var(&enum{value, words}, name, usage+": `"+strings.Join(words, "|")+"`")
}

// enum is an option's value that is one of a few words.
type enum struct {
	value *string
	words []string
}

func (e *enum) String() string { return *e.value }
func (e *enum) Type() string   { return "string" }
func (e *enum) Set(word string) error {
	if !slices.Contains(e.words, word) {
		return fmt.Errorf("choose from %s", strings.Join(e.words, ", "))
	}
	*e.value = word
	return nil
}

// counter is an option that counts how often it was given.
type counter int

func (n *counter) String() string { return "" }
func (n *counter) Type() string   { return "bool" }
func (n *counter) Set(string) error {
	*n++
	return nil
}
