package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// capabilities are the values of --capabilities.
type capabilities []types.Capability

func (c *capabilities) flag(flags *pflag.FlagSet) {
	flags.Var(c, "capabilities", "acknowledge the capabilities `A,B`, such as CAPABILITY_IAM (may be repeated)")
}

func (c *capabilities) Type() string   { return "strings" }
func (c *capabilities) String() string { return strings.Join(c.names(), ",") }

func (c *capabilities) names() (out []string) {
	for _, one := range *c {
		out = append(out, string(one))
	}
	return out
}

// Set adds names that are separated by commas, or by spaces as for the aws CLI.
func (c *capabilities) Set(text string) error {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		one := types.Capability(name)
		if known := one.Values(); !slices.Contains(known, one) {
			all := capabilities(known)
			if near := words.DidYouMean(name, all.names()); near != "" {
				return errors.New(near)
			}
			return fmt.Errorf("choose from %s", strings.Join(all.names(), ", "))
		}
		if !slices.Contains(*c, one) {
			*c = append(*c, one)
		}
	}
	return nil
}

// with is the option with further capabilities.
func (c *capabilities) with(text string) string {
	all := slices.Clone(*c)
	if all.Set(text) != nil {
		return "--capabilities " + c.String()
	}
	if slices.Contains(all, types.CapabilityCapabilityNamedIam) { // it includes the other
		all = slices.DeleteFunc(all, func(one types.Capability) bool { return one == types.CapabilityCapabilityIam })
	}
	return "--capabilities " + all.String()
}

// oneTemplate lets a command with --capabilities have one argument.
func oneTemplate(c *capabilities) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		stray := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !strings.HasPrefix(arg, "CAPABILITY_") })
		switch {
		case len(stray) > 0:
			return &usageError{message: "unexpected argument: " + strings.Join(stray, " "), hint: "separate capabilities with commas: " + c.with(strings.Join(stray, ","))}
		case len(args) == 0:
			return errors.New("the following arguments are required: TEMPLATE")
		}
		return atMost(1)(nil, args)
	}
}
