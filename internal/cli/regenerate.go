package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// updateSources runs "cfn generate" if the schema was changed after the last run, so that handlers never run or are
// packaged with the models of another schema. Maven does that for projects in Java. With --no-build, it fails.
func (c *app) updateSources(ctx context.Context, p *project.Project, s *schema.Schema, noBuild bool) error {
	if p.Kind == schema.Module || p.Language == "java" || !codegen.CanGenerate(p.Language) {
		return nil
	}
	in, err := c.codegenInput(p, s)
	if err != nil {
		return err
	}
	if p.Kind == schema.Hook {
		// What is missing or wrong in the schemas of targets is for "cfn generate" to say.
		targets, _, problems, err := p.Targets(s, nil)
		if err != nil || problems.HasErrors() {
			return err
		}
		in.Targets = project.TargetSchemas(targets)
	}
	files, err := codegen.Generate(in)
	if err != nil {
		return nil //nolint:nilerr // cfn generate says why; what exists may still run
	}
	if files, _, err = p.Refresh(s, files); err != nil {
		return err
	}
	statuses, err := project.Compare(p.Dir, files)
	if err != nil {
		return err
	}
	stale := staleSources(in, statuses)
	if len(stale) == 0 {
		return nil
	}
	for i, name := range stale {
		stale[i] = p.Name(name)
	}
	names := strings.Join(stale, ", ")
	if noBuild {
		return withHint(fmt.Errorf("the schema was changed after cfn generate: %s is out of date", names), "run cfn generate, or leave out --no-build")
	}
	if _, err := project.Write(ctx, p.Dir, files, project.Regenerate); err != nil {
		return err
	}
	c.notef("the schema was changed after cfn generate: updated %s\n", names)
	return nil
}

// staleSources are the generated sources that do not follow from the schema. Pages, roles and the copy of the
// library are not sources. The official Go plugin words its files differently: a change of the schema does not show.
func staleSources(in codegen.Input, statuses []project.Status) (names []string) {
	if in.Flavour == codegen.FlavourGoPlugin {
		return nil
	}
	for _, status := range statuses {
		folder, _, _ := strings.Cut(status.Name, "/")
		if status.State == project.Stale && (folder == "cmd" || folder == "src") {
			names = append(names, status.Name)
		}
	}
	return names
}
