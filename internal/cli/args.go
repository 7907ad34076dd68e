package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// multiValue marks a flag that takes all the words up to the next option, as in
// --target-schemas a.json b.json.
const multiValue = "cfn-multi-value"

// addition marks a flag that the official tool does not have. It never makes a shortened
// option of the official tool ambiguous: --pro is --profile, though there is --project.
const addition = "cfn-addition"

// impliedBy is the annotation of a sub-command with the first arguments that select it without its name.
const impliedBy = "cfn-implied-by"

// annotate marks flags.
func annotate(flags *pflag.FlagSet, mark string, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, mark, nil); err != nil {
			panic(err) // the name is not that of a flag: seen by every test
		}
	}
}

// normalize turns a command line that the official tool understands into one that the
// flag library does:
//
//   - a long option may be any unambiguous beginning of its name: --dry is --dry-run;
//     options that the official tool does not have never make one ambiguous
//   - options of a command may be before its sub-command: init -t A::B::C go
//   - an option marked multiValue takes all the words up to the next option
//   - the kind of "cfn invoke" may be left out: invoke CREATE file is invoke resource CREATE file
//   - --version before a command is all that counts
//   - the value of an option never begins with "-", unless it is "-" or a negative number
//
// The words of the command come first in the result, options keep their order, and arguments
// after "--" are not changed. It is never nil, for which the library would take those of the process. The error is a *usageError.
func normalize(root *cobra.Command, args []string) ([]string, error) {
	if completing(args) {
		return args, nil
	}
	n := normalizer{command: root}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		var err error
		switch {
		case word == "--":
			n.rest = append(append(n.rest, word), args...)
			args = nil
		case strings.HasPrefix(word, "--"):
			args, err = n.long(word, args)
		case strings.HasPrefix(word, "-") && word != "-" && !negative(word):
			args, err = n.short(word, args)
		default:
			err = n.word(word)
		}
		if err != nil {
			return nil, err
		}
		if n.version {
			return []string{"--version"}, nil
		}
	}
	return append(append([]string{}, n.path...), n.rest...), nil
}

// completing says whether the shell asks what could be completed.
func completing(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
}

type normalizer struct {
	command *cobra.Command // the command that the words up to here name
	path    []string       // those words
	rest    []string       // options and arguments
	version bool           // --version was seen
	plain   bool           // an argument was seen: no more sub-commands
}

// word takes a word that is not an option: the next sub-command or an argument.
func (n *normalizer) word(word string) error {
	if n.plain || !n.command.HasSubCommands() {
		n.plain = true
		n.rest = append(n.rest, word)
		return nil
	}
	for _, sub := range n.command.Commands() {
		if sub.Name() == word || sub.HasAlias(word) {
			n.command = sub
			n.path = append(n.path, word)
			return nil
		}
	}
	for _, sub := range n.command.Commands() {
		if slices.Contains(strings.Fields(sub.Annotations[impliedBy]), word) {
			n.command, n.plain = sub, true
			n.path = append(n.path, sub.Name())
			n.rest = append(n.rest, word)
			return nil
		}
	}
	var names []string
	for _, sub := range n.command.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	hint := "choose from " + strings.Join(names, ", ")
	if near := words.Nearest(word, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	what := "command"
	if n.command.HasParent() {
		what = "choice"
	}
	return &usageError{command: n.command, message: fmt.Sprintf("unknown %s %q", what, word), hint: hint}
}

// long takes an option --name or --name=value.
func (n *normalizer) long(word string, args []string) ([]string, error) {
	name, value, hasValue := strings.Cut(word[2:], "=")
	flag, err := n.find(name)
	var unknown *usageError
	if errors.As(err, &unknown) && unknown.hint == helpHint(n.command) {
		unknown.hint = n.unknownHint(word, args)
	}
	if err != nil {
		return nil, err
	}
	return n.flag(flag, "--"+flag.Name, value, hasValue, args)
}

// flag writes an option with its value, taking the value from args if need be.
func (n *normalizer) flag(flag *pflag.Flag, shown, value string, hasValue bool, args []string) ([]string, error) {
	n.version = flag.Name == "version" && !n.command.HasParent()
	if flag.NoOptDefVal != "" { // it needs no value
		if hasValue {
			if flag.Value.Type() != "bool" {
				return nil, &usageError{command: n.command, message: fmt.Sprintf("option %s does not take a value", shown)}
			}
			value = "=" + value
		}
		n.rest = append(n.rest, "--"+flag.Name+value)
		return args, nil
	}
	if !hasValue {
		if len(args) == 0 || optionLike(args[0]) {
			return nil, &usageError{command: n.command, message: fmt.Sprintf("option %s requires a value", shown), hint: flagHint(flag)}
		}
		value, args = args[0], args[1:]
	}
	n.rest = append(n.rest, "--"+flag.Name+"="+value)
	if _, multi := flag.Annotations[multiValue]; multi && !hasValue {
		for len(args) > 0 && !optionLike(args[0]) {
			n.rest = append(n.rest, "--"+flag.Name+"="+args[0])
			args = args[1:]
		}
	}
	return args, nil
}

// short takes a cluster of one-letter options: -v, -vv, -tNAME, -t NAME.
func (n *normalizer) short(word string, args []string) ([]string, error) {
	for i := 1; i < len(word); i++ {
		letter := word[i : i+1]
		var flag *pflag.Flag
		if letter < "\x80" { // the library panics on others
			flag = n.lookup(func(f *pflag.FlagSet) *pflag.Flag { return f.ShorthandLookup(letter) })
		}
		if flag == nil {
			return nil, &usageError{command: n.command, message: fmt.Sprintf("unknown option -%s", strings.ToValidUTF8(word[i:], "?")), hint: n.unknownHint(word, args)}
		}
		if flag.NoOptDefVal == "" {
			value := strings.TrimPrefix(word[i+1:], "=")
			return n.flag(flag, "-"+letter, value, value != "", args)
		}
		n.rest = append(n.rest, "--"+flag.Name)
	}
	return args, nil
}

// find looks up an option by its name or by a unique prefix.
func (n *normalizer) find(name string) (*pflag.Flag, error) {
	if flag := n.lookup(func(f *pflag.FlagSet) *pflag.Flag { return f.Lookup(name) }); flag != nil {
		return flag, nil
	}
	var names []string
	n.each(func(flag *pflag.Flag) {
		if !flag.Hidden && !slices.Contains(names, flag.Name) {
			names = append(names, flag.Name)
		}
	})
	var candidates []string
	for _, candidate := range names {
		if name != "" && strings.HasPrefix(candidate, name) {
			candidates = append(candidates, candidate)
		}
	}
	if len(candidates) > 1 {
		official := slices.DeleteFunc(slices.Clone(candidates), func(name string) bool {
			flag := n.lookup(func(f *pflag.FlagSet) *pflag.Flag { return f.Lookup(name) })
			if flag == nil {
				return false
			}
			_, added := flag.Annotations[addition]
			return added
		})
		if len(official) > 0 {
			candidates = official
		}
	}
	switch {
	case len(candidates) == 1:
		return n.lookup(func(f *pflag.FlagSet) *pflag.Flag { return f.Lookup(candidates[0]) }), nil
	case len(candidates) > 1:
		slices.Sort(candidates)
		return nil, &usageError{
			command: n.command,
			message: fmt.Sprintf("ambiguous option: --%s could match --%s", name, strings.Join(candidates, ", --")),
		}
	}
	hint := cmp.Or(n.foreignHint(name), n.earlyHint(name))
	if hint == "" {
		hint = helpHint(n.command)
		if near := cmp.Or(words.Nearest(name, names), longer(name, names)); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
	}
	return nil, &usageError{command: n.command, message: "unknown option --" + name, hint: hint}
}

// longer is the option whose name begins another one, as data of data-dir, "" without one.
func longer(name string, names []string) string {
	for word := name; strings.Contains(word, "-"); {
		word = word[:strings.LastIndex(word, "-")]
		if slices.Contains(names, word) {
			return word
		}
	}
	return ""
}

// lookup asks the command's own options, then those it inherits.
func (n *normalizer) lookup(get func(*pflag.FlagSet) *pflag.Flag) *pflag.Flag {
	for _, set := range n.sets() {
		if flag := get(set); flag != nil {
			return flag
		}
	}
	return nil
}

func (n *normalizer) each(visit func(*pflag.Flag)) {
	for _, set := range n.sets() {
		set.VisitAll(visit)
	}
}

// sets are the available options: those of the command and of its parents.
func (n *normalizer) sets() []*pflag.FlagSet {
	return []*pflag.FlagSet{n.command.LocalFlags(), n.command.InheritedFlags()}
}

// optionLike reports whether a word cannot be the value of an option.
func optionLike(word string) bool {
	return len(word) > 1 && word[0] == '-' && !negative(word)
}

// negative reports whether a word is a negative number.
func negative(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] >= '0' && word[1] <= '9' || word[1] == '.')
}

func flagHint(flag *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(flag)
	return fmt.Sprintf("--%s %s: %s", flag.Name, name, usage)
}

// unknownHint is what there is to say of an option that no command has. It may be one of
// the program whose arguments come after "--".
func (n *normalizer) unknownHint(word string, args []string) string {
	if !strings.Contains(n.command.Use, "[-- PYTEST") {
		return helpHint(n.command)
	}
	if len(args) > 0 && !optionLike(args[0]) {
		word += " " + args[0]
	}
	return fmt.Sprintf("put options of pytest after --: %s -- %s", n.command.CommandPath(), strings.ToValidUTF8(word, "?"))
}

// earlyHint is where an option of the commands below this one belongs, "" if none has it.
func (n *normalizer) earlyHint(name string) string {
	var having []string
	for _, sub := range n.command.Commands() {
		if sub.IsAvailableCommand() && hasOption(sub, name) {
			having = append(having, sub.Name())
		}
	}
	switch len(having) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("put it after the command: %s %s --%s", n.command.CommandPath(), having[0], name)
	}
	return fmt.Sprintf("put it after the command: %s COMMAND --%s", n.command.CommandPath(), name)
}

// hasOption reports whether a command or one below it has an option.
func hasOption(cmd *cobra.Command, name string) bool {
	return cmd.Flags().Lookup(name) != nil || slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return hasOption(sub, name) })
}

func helpHint(cmd *cobra.Command) string {
	return fmt.Sprintf("%s --help lists the options", cmd.CommandPath())
}
