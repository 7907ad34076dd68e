package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/cli"
)

// manual writes dir/man/cfn*.1 and dir/completions/cfn.*.
func manual(dir, version string) error {
	root := cli.Commands(version)
	for _, sub := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	if err := manualPages(root, filepath.Join(dir, "man"), version); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "cfn.bash", "zsh": "_cfn", "fish": "cfn.fish", "powershell": "cfn.ps1"} {
		var script, problem bytes.Buffer
		if code := cli.Main(context.Background(), cli.Env{Stdin: os.Stdin, Stdout: &script, Stderr: &problem, Version: version}, []string{"completion", shell}); code != 0 {
			return fmt.Errorf("cfn completion %s: %s", shell, problem.String())
		}
		if err := os.WriteFile(filepath.Join(dir, "completions", name), script.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualPages writes one page for each command.
func manualPages(cmd *cobra.Command, dir, version string) error {
	if !cmd.IsAvailableCommand() && cmd.HasParent() {
		return nil
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manualPage(cmd, version)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := manualPages(sub, dir, version); err != nil {
			return err
		}
	}
	return nil
}

// manualPage is the help of a command in the man macros. The date is left out: with it, two builds
// of one version would differ.
func manualPage(cmd *cobra.Command, version string) string {
	var w strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&w, ".TH %q 1 %q %q %q\n", strings.ToUpper(name), "", "cfn "+version, "Formwork")
	fmt.Fprintf(&w, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&w, ".SH SYNOPSIS\n.B %s\n", roff(strings.TrimSuffix(cmd.UseLine(), " [flags]")+" [OPTION …]"))
	fmt.Fprintf(&w, ".SH DESCRIPTION\n%s", paragraphs(cmd.Long))
	if subs := cmd.Commands(); cmd.HasAvailableSubCommands() {
		w.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&w, ".TP\n.BR %s (1)\n%s\n", roff(strings.ReplaceAll(sub.CommandPath(), " ", "-")), roff(sub.Short))
			}
		}
	}
	for _, set := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", cmd.LocalFlags()}, {"GLOBAL OPTIONS", cmd.InheritedFlags()}} {
		if !set.flags.HasAvailableFlags() {
			continue
		}
		fmt.Fprintf(&w, ".SH %s\n", set.title)
		set.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				fmt.Fprintf(&w, ".TP\n%s\n%s\n", option(f), roff(strings.ReplaceAll(f.Usage, "`", "")))
			}
		})
	}
	if cmd.Example != "" {
		fmt.Fprintf(&w, ".SH EXAMPLES\n%s", verbatim(strings.Trim(cmd.Example, "\n")))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&w, ".SH SEE ALSO\n.BR %s (1)\n", roff(strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-")))
	}
	return w.String()
}

func option(f *pflag.Flag) string {
	name := ".B \\-\\-" + roff(f.Name)
	if f.Shorthand != "" {
		name = ".B \\-" + f.Shorthand + ", \\-\\-" + roff(f.Name)
	}
	if value, _ := pflag.UnquoteUsage(f); value != "" {
		name += " " + roff(value)
	}
	return name
}

// paragraphs keeps what is indented as it is, and fills the rest.
func paragraphs(text string) string {
	var w strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			w.WriteString(".PP\n")
		}
		if lines := strings.Split(p, "\n"); strings.HasPrefix(lines[len(lines)-1], "  ") {
			w.WriteString(verbatim(p))
		} else {
			fmt.Fprintf(&w, "%s\n", roff(p))
		}
	}
	return w.String()
}

func verbatim(text string) string { return fmt.Sprintf(".nf\n%s\n.fi\n", roff(text)) }

// roff escapes what the macros would take for commands.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// sourceDate is the time of everything in the image: the time of the commit, or 1970.
func sourceDate() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	var seconds int64
	if _, err := fmt.Sscan(text, &seconds); err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
