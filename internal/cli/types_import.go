package cli

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// Bounds of what cfn types import reads.
const (
	maxImportFiles  = 20_000
	maxImportSchema = 8 << 20
	maxImportBytes  = 512 << 20
)

func newTypesImport(c *app, opts *typesOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import aws|DIR|ZIP|FILE ...",
		Short: "Load published schemas into cfn serve for simulation",
		Long: `Load the published schemas of resource types into cfn serve. A DIR or ZIP is searched recursively for
*.json files. Files without a typeName are skipped. If a type has several schemas, the longest is used.

The source aws stands for the schemas of AWS's own types: those in an installed cfn-lint, else
CloudformationSchema.zip, which AWS publishes for each region. The download is kept for a week in the user's
cache folder, and used after that if a new one fails. ` + schemaURL + ` is the URL of another copy, which is
used in place of both. Write ./aws for a folder of that name.

Published schemas are not linted. A schema that cannot be simulated is skipped with a warning.

Stacks cannot use an imported type until cfn serve is started with --simulate and a pattern that
matches its name. Simulated resources exist only in the database; see docs/stacks.md.

Exit code: 0; 1 if no schema is usable; 2 if the server returned an error.`,
		Example: "  cfn types import aws\n  cfn types import CloudformationSchema.zip\n  cfn types import schemas/acme-mail-queue.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("the following arguments are required: aws, DIR, ZIP or FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.importTypes(cmd.Context(), opts, args) },
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) importTypes(ctx context.Context, opts *typesOptions, sources []string) error {
	r, err := submit.Open(ctx, submit.Config{Region: opts.region, Profile: opts.profile, Endpoint: opts.endpoint, Getenv: c.Getenv, Now: c.Now, Logger: c.logger})
	var missing *submit.MissingError
	switch {
	case errors.As(err, &missing), err == nil && !r.Local: // settings for AWS would not help
		return withHint(errors.New("types can only be imported into cfn serve"), `start cfn serve, then run: eval "$(cfn env)"`)
	case err != nil:
		return c.serviceError(err)
	}
	found := &importReader{}
	for _, source := range sources {
		place, shown := c.path(source), source
		if source == awsSource {
			if place, shown, err = c.awsSchemas(ctx, r.Region); err != nil {
				return err
			}
			c.notef("importing %s\n", shown)
			shown = filepath.Base(place)
		}
		if err := found.source(ctx, place, shown); err != nil {
			return err
		}
	}
	if len(found.schemas) == 0 && found.problems.HasErrors() {
		return &diag.Invalid{Problems: found.problems}
	}
	for i, problem := range found.problems {
		c.notef("warning: %s: %s cannot be simulated and is skipped: %s\n", problem.At.File, found.unusable[i], problem.Message)
	}
	if len(found.schemas) == 0 {
		return fmt.Errorf("no resource schemas in %s", strings.Join(sources, ", "))
	}
	names, err := r.ImportTypes(ctx, found.schemas, nil)
	if err != nil {
		return c.serviceError(err)
	}
	slices.Sort(names)
	if c.format == "json" {
		return c.printJSON(map[string]any{"imported": names, "skipped": found.skipped, "variants": found.variants})
	}
	c.printf("Imported %s", words.Count(len(names), "type"))
	if found.skipped > 0 {
		c.printf("; skipped %s without a typeName", words.Count(found.skipped, "file"))
	}
	if found.variants > 0 {
		c.printf("; ignored %s of the same types", words.Count(found.variants, "further schema"))
	}
	c.printf(".\n")
	return nil
}

// samTypes begins the names of types that the transform of SAM replaces. Linters have schemas of them, the registry has not.
const samTypes = "AWS::Serverless::"

// An importReader collects the schemas of resource types.
type importReader struct {
	schemas  []submit.TypeSchema
	seen     map[string]int // the index in schemas of each type
	variants int            // further schemas of the same types
	problems diag.List
	unusable []string // the types of the problems
	skipped  int
	files    int
	bytes    int64
}

func (r *importReader) source(ctx context.Context, name, shown string) error {
	info, err := os.Stat(name)
	if err != nil {
		return missingFile(err, shown, "pass a folder, a zip or a file of published schemas, such as CloudformationSchema.zip of AWS")
	}
	switch {
	case info.IsDir():
		return r.tree(ctx, os.DirFS(name), shown)
	case strings.EqualFold(filepath.Ext(name), ".zip"):
		archive, err := zip.OpenReader(name)
		if err != nil {
			return fmt.Errorf("%s: %w", shown, err)
		}
		defer func() { _ = archive.Close() }() // it was only read
		return r.tree(ctx, archive, shown)
	default:
		return r.file(os.DirFS(filepath.Dir(name)), filepath.Base(name), shown)
	}
}

// tree reads every JSON file of a folder or an archive, in the order of their names.
func (r *importReader) tree(ctx context.Context, files fs.FS, source string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", source, err)
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() || !strings.EqualFold(path.Ext(name), ".json"):
			return nil
		}
		return r.file(files, name, filepath.Join(source, filepath.FromSlash(name)))
	})
}

func (r *importReader) file(files fs.FS, name, shown string) error {
	if r.files++; r.files > maxImportFiles {
		return fmt.Errorf("%s: more than %d files", shown, maxImportFiles)
	}
	text, err := document.ReadFS(files, name, maxImportSchema)
	if err != nil {
		return err
	}
	if r.bytes += int64(len(text)); r.bytes > maxImportBytes {
		return fmt.Errorf("%s: more than %d MiB of schemas", shown, maxImportBytes>>20)
	}
	parsed, problems := schema.Load(shown, text, schema.Config{Kind: schema.Resource})
	if parsed == nil || parsed.TypeName.Value == "" {
		r.skipped++
		return nil
	}
	if strings.HasPrefix(parsed.TypeName.Value, samTypes) {
		return nil
	}
	if problem := simulate.Unusable(parsed, problems); problem != nil {
		problem.At.File = shown
		r.problems.Add(*problem)
		r.unusable = append(r.unusable, parsed.TypeName.Value)
		return nil
	}
	entry := submit.TypeSchema{Name: shown, Schema: string(text)}
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	if i, again := r.seen[parsed.TypeName.Value]; again {
		r.variants++
		if len(r.schemas[i].Schema) < len(text) {
			r.schemas[i] = entry
		}
		return nil
	}
	r.seen[parsed.TypeName.Value] = len(r.schemas)
	r.schemas = append(r.schemas, entry)
	return nil
}
