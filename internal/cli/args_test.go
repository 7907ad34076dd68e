package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// testCommands is a command line with the shapes that the real one has.
func testCommands() *cobra.Command {
	run := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "cfn", RunE: run}
	var c app
	root.PersistentFlags().VarPF((*counter)(&c.verbose), "verbose", "v", "").NoOptDefVal = "true"
	root.PersistentFlags().String("project", "", "")
	annotate(root.PersistentFlags(), addition, "project")
	root.Flags().Bool("version", false, "")
	submit := &cobra.Command{Use: "submit", RunE: run}
	submit.Flags().Bool("dry-run", false, "")
	submit.Flags().String("profile", "", "")
	submit.Flags().String("region", "", "")
	submit.Flags().String("role-arn", "", "")
	submit.Flags().Bool("use-docker", false, "")
	submit.Flags().Bool("no-docker", false, "")
	submit.Flags().Bool("no-role", false, "")
	submit.Flags().StringArray("target-schemas", nil, "")
	annotate(submit.Flags(), multiValue, "target-schemas")
	invoke := &cobra.Command{Use: "invoke", RunE: run}
	invoke.PersistentFlags().String("endpoint", "", "")
	resource := &cobra.Command{Use: "resource", RunE: run}
	resource.Flags().Int("max-reinvoke", 0, "")
	resource.Flags().StringP("type-name", "t", "", "")
	invoke.AddCommand(resource, &cobra.Command{Use: "hook", RunE: run})
	root.AddCommand(submit, invoke)
	return root
}

func TestNormalize(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"nothing", "", ""},
		{"abbreviation", "submit --dry", "submit --dry-run"},
		{"abbreviation with a value", "submit --regi x --role=y", "submit --region=x --role-arn=y"},
		{"exact name that begins another", "submit --no-role", "submit --no-role"},
		{"an addition makes nothing ambiguous", "submit --pro x", "submit --profile=x"},
		{"an addition by itself", "invoke --pro x resource", "invoke resource --project=x"},
		{"ambiguous", "submit --no", "error: ambiguous option: --no could match --no-docker, --no-role"},
		{"ambiguous with additions left out", "submit --r x", "error: ambiguous option: --r could match --region, --role-arn"},
		{"unknown", "submit --dryrun", "error: unknown option --dryrun (did you mean --dry-run?)"},
		{"longer than the option", "submit --region-name x", "error: unknown option --region-name (did you mean --region?)"},
		{"far from all", "submit --xyz", "error: unknown option --xyz (cfn submit --help lists the options)"},
		{"of another command", "invoke resource --dry-run", "error: unknown option --dry-run (cfn invoke resource --help lists the options)"},
		{"before its command", "--dry-run submit", "error: unknown option --dry-run (put it after the command: cfn submit --dry-run)"},
		{"value that is an option", "submit --region --dry-run", "error: option --region requires a value (--region string: )"},
		{"no value left", "submit --region", "error: option --region requires a value (--region string: )"},
		{"empty value", "submit --region=", "submit --region="},
		{"dash as a value", "submit --region -", "submit --region=-"},
		{"negative number", "invoke resource --max -1", "invoke resource --max-reinvoke=-1"},
		{"negative number as an argument", "submit -1", "submit -1"},
		{"value for a switch", "submit --dry-run=false", "submit --dry-run=false"},
		{"many values", "submit --target-schemas a b --dry c", "submit --target-schemas=a --target-schemas=b --dry-run c"},
		{"many values, the first joined", "submit --target=a b", "submit --target-schemas=a b"},
		{"no values", "submit --target-schemas --dry", "error: option --target-schemas requires a value (--target-schemas stringArray: )"},
		{"options between commands", "-v --project p invoke --endpoint e resource CREATE f.json -v", "invoke resource --verbose --project=p --endpoint=e CREATE f.json --verbose"},
		{"cluster", "submit -vv", "submit --verbose --verbose"},
		{"cluster with a value", "invoke resource -vtName", "invoke resource --verbose --type-name=Name"},
		{"short option with its value", "invoke resource -t Name", "invoke resource --type-name=Name"},
		{"short option with =", "invoke resource -t=Name", "invoke resource --type-name=Name"},
		{"unknown short option", "submit -x", "error: unknown option -x (cfn submit --help lists the options)"},
		{"end of options", "submit -- --dry -k x", "submit -- --dry -k x"},
		{"argument that is a command's name", "submit submit", "submit submit"},
		{"unknown command", "sumbit", `error: unknown command "sumbit" (did you mean "submit"?)`},
		{"unknown choice", "invoke stack", `error: unknown choice "stack" (choose from resource, hook)`},
		{"completion is not touched", "__complete submit --d", "__complete submit --d"},
		{"two dashes and nothing", "submit --=x", "error: unknown option -- (cfn submit --help lists the options)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cobra.EnableCommandSorting = false
			args, err := normalize(testCommands(), strings.Fields(test.args))
			got := strings.Join(args, " ")
			var usage *usageError
			if errors.As(err, &usage) {
				got = "error: " + usage.message
				if usage.hint != "" {
					got += " (" + usage.hint + ")"
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"init", "validate", "generate", "build-image"}
	for word, want := range map[string]string{
		"inti": "init", "Validate": "validate", "vlaidate": "validate", "genrate": "generate", "buildimage": "build-image", "xyz": "", "": "",
	} {
		if got := words.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// FuzzNormalize looks for command lines that crash, and for ones that lose an argument.
func FuzzNormalize(f *testing.F) {
	f.Add("invoke --endpoint e resource -t x CREATE f -- -k")
	f.Add("submit --target-schemas a b --dry -vv")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		out, err := normalize(testCommands(), args)
		if err == nil && strings.Contains(line, " -- ") && !strings.HasSuffix(strings.Join(out, " "), strings.Join(args[len(args)-1:], "")) {
			t.Errorf("%q became %q", args, out)
		}
	})
}
