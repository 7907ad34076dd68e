package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// customInitOptions are the options of cfn cr init.
type customInitOptions struct {
	typeName string
	force    bool
}

func newCustomInit(c *app) *cobra.Command {
	var opts customInitOptions
	languages := project.CustomLanguages()
	cmd := &cobra.Command{
		Use:   "init " + strings.Join(languages, "|") + " [DIR]",
		Short: "Start a handler of a custom resource",
		Long: `Write a handler of a custom resource that passes cfn cr test, with properties for the tests and a
template that uses it. In Go the handler uses aws-lambda-go, in Python and Node only the standard library.

The handler is written to DIR, which is created if it does not exist; without DIR, to the working folder.
If one of the files exists, nothing is written, unless --force is given.`,
		Example: `  cfn cr init go dns-zone
  cfn cr init python --type Custom::DnsZone`,
		ValidArgs: languages,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("missing argument: the language, one of %s", strings.Join(languages, ", "))
			case !slices.Contains(languages, args[0]):
				return fmt.Errorf("unknown language %q: choose from %s", args[0], strings.Join(languages, ", "))
			case len(args) > 2:
				return noArguments(nil, args[2:])
			}
			return nil
		},
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 2 {
				dir = args[1]
			}
			return c.customInit(cmd.Context(), opts, args[0], dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.typeName, "type", "", "the `TYPE` of the resource (default: made of the name of the folder)")
	flags.BoolVarP(&opts.force, "force", "f", false, "overwrite existing files")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) customInit(ctx context.Context, opts customInitOptions, language, folder string) error {
	dir := c.path(folder)
	typeName, function := project.CustomNames(filepath.Base(dir))
	if opts.typeName != "" {
		if err := customresource.CheckType(opts.typeName); err != nil {
			return usagef("option --type: %v", err)
		}
		typeName = opts.typeName
	}
	written, err := project.CustomResource(language, typeName, function)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", folder)
	}
	if filepath.IsLocal(folder) {
		if err := files.LinkOut(c.Dir, folder); err != nil {
			return fmt.Errorf("write the handler: %w", err)
		}
	}
	var existing []string
	for _, file := range written {
		if _, err := os.Lstat(filepath.Join(dir, file.Name)); err == nil {
			existing = append(existing, file.Name)
		}
	}
	if len(existing) > 0 && !opts.force {
		return withHint(fmt.Errorf("%s exists in %s", strings.Join(existing, ", "), folder), "pass another folder, or --force to overwrite")
	}
	if err := c.writeCustom(ctx, dir, written); err != nil {
		return err
	}
	if c.format == "json" {
		out := struct {
			Language string   `json:"language"`
			TypeName string   `json:"typeName"`
			Function string   `json:"function"`
			Dir      string   `json:"dir"`
			Files    []string `json:"files"`
		}{language, typeName, function, dir, nil}
		for _, file := range written {
			out.Files = append(out.Files, file.Name)
		}
		return c.printJSON(out)
	}
	c.printf("Wrote a handler of %s in %s\n\nNext steps:\n", typeName, c.shown(dir))
	if dir != c.Dir {
		c.printf("  cd %s\n", shellQuote(folder))
	}
	c.printf("  cfn cr invoke . --create create.json\n")
	c.printf("  cfn cr test . --create create.json --update update.json --replace replace.json\n")
	c.printf("  cfn serve --function %s=. -- cfn deploy template.yaml\n", function)
	return nil
}

// writeCustom writes the files. If that fails or is canceled, what was written to new folders is
// removed.
func (c *app) writeCustom(ctx context.Context, dir string, written []project.CustomFile) (err error) {
	made := missingFolders(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	defer func() {
		if err == nil || len(made) == 0 {
			return
		}
		for _, file := range written {
			_ = os.Remove(filepath.Join(dir, file.Name)) // may not have been written
		}
		for _, dir := range made {
			if os.Remove(dir) != nil { // fails if it is not empty
				return
			}
		}
	}()
	for _, file := range written {
		if ctx.Err() != nil {
			return errAborted()
		}
		if err := files.Write(dir, file.Name, file.Data, 0o644); err != nil {
			return fmt.Errorf("write the handler: %w", err)
		}
	}
	return nil
}
