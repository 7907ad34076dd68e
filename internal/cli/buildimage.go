package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func newBuildImage(c *app) *cobra.Command {
	var opts struct{ image, executable string }
	cmd := &cobra.Command{
		Use:   "build-image",
		Short: "Build a container image of the handlers (for languages that have one)",
		Long: `Build a container image of the handlers. Only Java projects of the official tool use one, to run
contract tests in a container.

cfn runs Go handlers as local processes, and modules have no handlers. Neither needs an image: for
these projects the command prints that and fails.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, _, err := c.loadProject(cmd.Context())
			if err != nil {
				return err
			}
			if p.Kind == schema.Module {
				return errors.New("modules have no handlers, so there is no image to build")
			}
			if p.Language == "java" {
				return withHint(errors.New("building images of handlers in java is not supported yet"), "use the official tool, which requires Docker")
			}
			if !project.KnownLanguage(p.Language) {
				return withHint(&project.UnknownLanguageError{Language: p.Language}, `fix "language" in %s`, p.Name(project.SettingsFile))
			}
			if !build.RunsHere(p) {
				return withHint(fmt.Errorf("there is no image to build for handlers in %s", p.Language), "to call them, %s", ownEndpoint)
			}
			return withHint(fmt.Errorf("no image is needed: handlers in %s (runtime %s) run as local processes", p.Language, p.Runtime), "cfn test and cfn invoke start them without a container")
		},
	}
	cmd.Flags().StringVar(&opts.image, "image-name", "", "the `NAME` of the image (default: the type's name with hyphens)")
	cmd.Flags().StringVar(&opts.executable, "executable", "", "the `PATH` of the executable to include in the image")
	return cmd
}
