package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// findTargets looks for the schemas of a hook's targets that the project does not have in an
// installed cfn-lint, and returns the files for the project.
func (c *app) findTargets(ctx context.Context, p *project.Project, s *schema.Schema, extra []string) ([]codegen.File, error) {
	if p.Kind != schema.Hook {
		return nil, nil
	}
	_, missing, problems, err := p.Targets(s, extra)
	if err == nil {
		err = problems.Err()
	}
	names, _ := withoutWildcards(missing)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	folder := c.publishedSchemas(ctx)
	if folder == "" {
		return nil, ctx.Err()
	}
	found, problems, err := project.FindTargets(ctx, folder, names)
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		c.notef("using the schema of cfn-lint for %s\n", p.Name(file.Path))
	}
	problems = slices.DeleteFunc(problems, func(p diag.Problem) bool { return p.Severity != diag.Error }) // the rest is reported where the files are used
	return found, diag.Print(c.Stderr, problems, "text")
}

func withoutWildcards(targets []string) (names, patterns []string) {
	for _, target := range targets {
		if strings.ContainsAny(target, "*?") {
			patterns = append(patterns, target)
		} else {
			names = append(names, target)
		}
	}
	return names, patterns
}

// noteMissing reports the targets without schemas. Of a pattern it is not expected that there
// are any.
func (c *app) noteMissing(missing []string) {
	names, patterns := withoutWildcards(missing)
	if len(patterns) > 0 {
		c.logger.Info("There are no schemas of the targets " + strings.Join(patterns, ", ") + ": no models are generated for them")
	}
	if len(names) > 0 {
		c.notef("warning: no schemas for %s: no models are generated\n", strings.Join(names, ", "))
		c.hint("pass the schemas with --target-schemas, or install cfn-lint, which contains those of AWS")
	}
}

// writeTargets writes the schemas that were found. They belong to the author from then on.
func writeTargets(p *project.Project, found []codegen.File) error {
	for _, file := range found {
		if err := files.Write(p.Dir, filepath.FromSlash(file.Path), file.Data, 0o644); err != nil {
			return fmt.Errorf("write the schema of a target: %w", err)
		}
	}
	return nil
}

// locateSchemas prints the folder with the schemas of cfn-lint without importing it.
const locateSchemas = `import importlib.util, os, site, sys
sys.path.append(site.getusersitepackages())
spec = importlib.util.find_spec("cfnlint")
if spec:
    print(os.path.join(spec.submodule_search_locations[0], "data", "schemas"))
`

// publishedSchemas is the folder with the schemas of the cfn-lint that is installed for the
// Python in PATH, and "" if there is none.
func (c *app) publishedSchemas(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, name := range []string{"python3", "python"} {
		python, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, python, "-I", "-c", locateSchemas) // -I: nothing of the project is imported
		cmd.Dir, cmd.Env, cmd.WaitDelay = c.projectDir(), c.Environ, time.Second
		lambda.EndWithDescendants(cmd)
		out, err := cmd.Output()
		if folder := strings.TrimSpace(string(out)); err == nil && folder != "" && files.Exists(folder) {
			return folder
		}
	}
	return ""
}
