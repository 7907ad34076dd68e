package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// fmtOptions are the options of cfn template fmt.
type fmtOptions struct {
	check bool
	to    string
}

func newTemplateFmt(c *app) *cobra.Command {
	o := &fmtOptions{}
	cmd := &cobra.Command{
		Use:   "fmt FILE…",
		Short: "Format templates, or convert them between YAML and JSON",
		Long: `Format templates in place. In YAML, the indentation becomes two spaces for each level, also of lists; of
several blank lines one is kept, and blanks at the ends of lines are removed. Everything else stays as it
is written: the order, comments, quotes, long and short forms of functions, and texts of several lines.
JSON is indented in the same way. A file that is already formatted is not written.

--to converts a template and prints it. In YAML, functions get their short forms. JSON has no comments:
cfn prints how many were lost.

After formatting, cfn reads the result again and compares it with the original. If it differed, the file
would be left as it is, with an error. - is the standard input, whose result is printed.

Exit code: 0; 1 if a file cannot be read, or with --check if a file is not formatted; 2 for a usage error.`,
		Example: `  cfn template fmt stack.yaml
  cfn template fmt --check templates/*.yaml
  cfn template fmt --to yaml stack.json > stack.yaml`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			printed := o.to != "" || len(args) == 1 && args[0] == "-" && !o.check
			switch {
			case len(args) == 0:
				return &usageError{command: cmd, message: "missing argument: FILE", hint: "pass the template to format, or - for the standard input"}
			case o.to != "" && len(args) > 1:
				return &usageError{command: cmd, message: "option --to: expected one FILE", hint: "convert the files one by one"}
			case printed && c.format != "text":
				return &usageError{command: cmd, message: "option --format: a template that is printed has no other format", hint: "leave --format out"}
			}
			return c.formatTemplates(cmd.Context(), o, args, printed)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.check, "check", false, "list the files that are not formatted, change nothing, and exit with 1 if there are any")
	flags.Var(&enum{&o.to, []string{"yaml", "json"}}, "to", "print the template in another language: `yaml|json`")
	cmd.MarkFlagsMutuallyExclusive("check", "to")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A formattedFile is a template with --format json.
type formattedFile struct {
	Name    string `json:"name"`
	Changed bool   `json:"changed"` // or, with --check, not formatted
}

func (c *app) formatTemplates(ctx context.Context, o *fmtOptions, names []string, printed bool) error {
	done, changed := []formattedFile{}, 0
	var problems diag.List
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		before, err := c.readTemplate(ctx, name)
		if err != nil {
			return err
		}
		out, err := template.Format(name, before, template.Syntax(o.to))
		var invalid *diag.Invalid
		switch {
		case errors.As(err, &invalid):
			problems = append(problems, invalid.Problems...)
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case printed:
			if out.Comments > 0 {
				c.notef("warning: JSON has no comments: %s of %s left out\n", words.Count(out.Comments, "comment"), name)
			}
			_, err := c.Stdout.Write(out.Text)
			return err
		}
		file := formattedFile{name, !bytes.Equal(before, out.Text)}
		if file.Changed {
			changed++
			if !o.check {
				if err := c.rewrite(name, out.Text); err != nil {
					return err
				}
			}
		}
		done = append(done, file)
	}
	return c.reportFormatted(o, done, changed, problems)
}

func (c *app) reportFormatted(o *fmtOptions, done []formattedFile, changed int, problems diag.List) error {
	if c.format == "json" {
		if err := c.printJSON(map[string]any{"files": done}); err != nil {
			return err
		}
	} else {
		for _, file := range done {
			switch {
			case file.Changed && o.check:
				c.printf("%s is not formatted\n", file.Name)
			case file.Changed:
				c.printf("Formatted %s\n", file.Name)
			}
		}
	}
	switch {
	case len(problems) > 0:
		return &diag.Invalid{Problems: problems}
	case o.check && changed > 0:
		c.hint("run cfn template fmt to format " + map[bool]string{true: "it", false: "them"}[changed == 1])
		return &exitError{code: exitFailure}
	}
	return nil
}

// readTemplate reads a template to format.
func (c *app) readTemplate(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = c.readStdin(ctx, template.MaxBytes)
	} else {
		data, err = document.ReadFile(c.path(name), template.MaxBytes)
	}
	var large *document.TooLargeError
	if errors.As(err, &large) {
		return nil, fmt.Errorf("%s: template is larger than %d bytes", name, template.MaxBytes)
	}
	return data, missingFile(err, name, hintTemplate)
}

// rewrite replaces the text of a file, also of the one that a link names.
func (c *app) rewrite(name string, text []byte) error {
	path, err := filepath.EvalSymlinks(c.path(name))
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := files.Write(filepath.Dir(path), filepath.Base(path), text, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
