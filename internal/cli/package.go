package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/project"
	"github.com/formwork-dev/formwork/internal/schema"
)

func newPackage(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "package",
		Short: "Pack the project into the archive that the registry takes",
		Long: `Check the project and pack it into <type-name>.zip in the working folder: the schema, the
settings, the inputs of contract tests and the built handlers. It is the same as
cfn submit --dry-run.

The archive is reproducible: the same files give the same bytes. It appears whole or not at all.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pack(cmd.Context()) },
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newSubmit(c *console) *cobra.Command {
	var opts struct {
		dryRun, setDefault, noRole, useDocker, noDocker bool
		endpoint, region, profile, role                 string
	}
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Register the extension (so far only --dry-run)",
		Long: `Check the project and pack it, and register it with CloudFormation.

Registering is not possible yet: it comes with the local registry. Until then cfn submit
wants --dry-run, which leaves the archive <type-name>.zip in the working folder. The other
options are read, and would matter for registering only.`,
		Example: `  cfn submit --dry-run`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.role != "" && opts.noRole {
				return usagef("option --no-role: not allowed with --role-arn")
			}
			if opts.useDocker && opts.noDocker {
				return usagef("option --no-docker: not allowed with --use-docker")
			}
			if !opts.dryRun {
				return withHint(errors.New("registering extensions is not possible yet: it comes with the local registry. Nothing was uploaded or registered"),
					"cfn submit --dry-run packs the archive; the aws tool registers it: aws cloudformation register-type")
			}
			return c.pack(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.dryRun, "dry-run", false, "check and pack the project, but do not register it")
	flags.StringVar(&opts.endpoint, "endpoint-url", "", "the `URL` of the CloudFormation to register with")
	flags.StringVar(&opts.region, "region", "", "the `NAME` of the region to register in")
	flags.BoolVar(&opts.setDefault, "set-default", false, "make the new version the default one")
	flags.StringVar(&opts.profile, "profile", "", "the `NAME` of the AWS profile to use")
	flags.StringVar(&opts.role, "role-arn", "", "the `ARN` of the role that the handlers run with")
	flags.BoolVar(&opts.noRole, "no-role", false, "pass no role to CloudFormation")
	flags.BoolVar(&opts.useDocker, "use-docker", false, "build the handlers in a container, where the language has such a build")
	flags.BoolVar(&opts.noDocker, "no-docker", false, "build the handlers without a container")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// pack writes the archive of the project into the working folder.
func (c *console) pack(ctx context.Context) error {
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return err
	}
	config := project.ArchiveConfig{Version: c.Version, Schema: s}
	if p.Kind == schema.Module {
		f, problems, err := p.Fragment()
		if err == nil {
			err = problems.Err()
		}
		if err != nil {
			return err
		}
		config.Fragment = f
	}
	done := c.progress("Packing %s", p.TypeName)
	archive, err := p.Archive(ctx, config)
	done()
	var build *project.BuildError
	var language *project.UnsupportedLanguageError
	switch {
	case errors.As(err, &build):
		return withHint(err, "%s", build.Hint)
	case errors.As(err, &language):
		return withHint(err, "so far cfn packs handlers written in Go, and modules")
	case err != nil:
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
	c.printf("Dry run complete: %s\n", path)
	return nil
}
