package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageLine is the command's synopsis, as short as it can be: "usage: cfn validate …".
func usageLine(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("usage: " + cmd.CommandPath())
	add := func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand
		}
		if value, _ := pflag.UnquoteUsage(flag); flag.NoOptDefVal == "" && value != "" {
			name += " " + value
		}
		fmt.Fprintf(&b, " [%s]", name)
	}
	b.WriteString(" [-h]")
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help" {
			add(flag)
		}
	})
	cmd.InheritedFlags().VisitAll(add)
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	if arguments == "" && cmd.HasAvailableSubCommands() {
		arguments = "COMMAND …"
	}
	if arguments != "" {
		b.WriteString(" " + arguments)
	}
	return wrap(b.String(), 100)
}

// shortUsage is the synopsis above an error: without the options.
func shortUsage(cmd *cobra.Command) string {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	if arguments == "" && cmd.HasAvailableSubCommands() {
		arguments = "COMMAND …"
	}
	return strings.TrimRight("usage: "+cmd.CommandPath()+" [OPTION …] "+arguments, " ")
}

// wrap breaks a synopsis between its bracketed parts.
func wrap(text string, width int) string {
	indent := strings.Repeat(" ", len("usage: "))
	var lines []string
	line := ""
	for _, word := range strings.Split(strings.ReplaceAll(text, " [", "\x00["), "\x00") {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = indent + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// helpText is a command's help: its synopsis, what it does, its commands and options.
func helpText(cmd *cobra.Command) string {
	var w strings.Builder
	fmt.Fprintln(&w, usageLine(cmd))
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(&w, "\n%s\n", strings.TrimSpace(text))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(&w, "\ncommands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&w, "  %-*s  %s\n", cmd.Commands()[0].NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if cmd.PersistentFlags().Lookup(flag.Name) == nil {
			own.AddFlag(flag)
		}
	})
	if usages := own.FlagUsagesWrapped(100); usages != "" {
		fmt.Fprintf(&w, "\noptions:\n%s", usages)
	}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	shared.SortFlags = false
	shared.AddFlagSet(cmd.PersistentFlags())
	shared.AddFlagSet(cmd.InheritedFlags())
	if usages := shared.FlagUsagesWrapped(100); usages != "" {
		heading := "global options"
		if cmd.HasParent() && cmd.PersistentFlags().HasAvailableFlags() {
			heading = "shared and global options"
		}
		fmt.Fprintf(&w, "\n%s:\n%s", heading, usages)
	}
	if cmd.Example != "" {
		fmt.Fprintf(&w, "\nexamples:\n%s\n", strings.Trim(cmd.Example, "\n"))
	}
	return w.String()
}
