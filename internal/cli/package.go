package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func newPackage(c *app) *cobra.Command {
	var o build.PackageOptions
	cmd := &cobra.Command{
		Use:   "package",
		Short: "Package the project for the registry",
		Long: `Check the project and write <type-name>.zip to the working folder. It contains the schema, the
settings, the inputs of contract tests and the built handlers. The command is the same as
cfn submit --dry-run.

The handlers of a Go project are built first if bin/bootstrap is missing or older than its sources. If
they cannot be rebuilt, the command fails; pass --no-build to package them as they are.

Handlers in Java are built with mvn package in the same cases. For handlers in Python and TypeScript,
the libraries are installed for Lambda, on x86-64 or with --arch arm64 on arm64.

The archive is reproducible: the same files give the same bytes. Either the whole archive is written or
nothing.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pack(cmd.Context(), o, "Packaged") },
	}
	archiveFlags(cmd.Flags(), &o)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// archiveFlags adds the options of the commands that pack a project.
func archiveFlags(flags *pflag.FlagSet, o *build.PackageOptions) {
	o.Arch = build.X86
	flags.BoolVar(&o.NoBuild, "no-build", false, "package the built handlers as they are, even if a source is newer")
	flags.Var(&o.Arch, "arch", "the architecture of Lambda that the libraries are for: x86_64 or arm64")
	annotate(flags, addition, "no-build", "arch")
}

// archive checks the project, builds its handlers if they are out of date, and packs it.
// The schema is nil for modules.
func (c *app) archive(ctx context.Context, o build.PackageOptions) (*project.Project, *schema.Schema, *project.Archive, error) {
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	config := project.ArchiveConfig{Version: c.Version, Schema: s}
	if p.Kind == schema.Module {
		f, problems, err := p.Fragment()
		if err == nil {
			err = problems.Err()
		}
		if err != nil {
			return nil, nil, nil, err
		}
		config.Fragment = f
	}
	if err := c.updateSources(ctx, p, s, o.NoBuild); err != nil {
		return nil, nil, nil, err
	}
	if err := c.tools().Package(ctx, p, o, &config); err != nil {
		return nil, nil, nil, err
	}
	done := c.progress("Packing %s", p.TypeName)
	archive, err := p.Archive(ctx, config)
	done()
	var build *project.BuildError
	var language *project.UnsupportedLanguageError
	switch {
	case errors.As(err, &build):
		err = withHint(err, "%s", build.Hint)
	case errors.As(err, &language):
		err = withHint(err, "cfn packages modules and handlers in Go, Java, Python and TypeScript; to register an archive of another tool, use cfn submit --package")
	}
	return p, s, archive, err
}

// pack writes the archive of the project into the working folder and prints its path after what was done.
func (c *app) pack(ctx context.Context, o build.PackageOptions, done string) error {
	p, _, archive, err := c.archive(ctx, o)
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, p.ArchiveFile())
	if err := project.WriteArchive(path, archive); err != nil {
		return err
	}
	c.logger.Debug("Packed", "path", path, "sha256", archive.SHA256)
	if c.format == "json" {
		return c.printJSON(struct {
			TypeName string   `json:"typeName"`
			Path     string   `json:"path"`
			SHA256   string   `json:"sha256"`
			Bytes    int      `json:"bytes"`
			Files    []string `json:"files"`
		}{p.TypeName, path, archive.SHA256, len(archive.Data), archive.Files})
	}
	c.printf("%s: %s\n", done, path)
	return nil
}
