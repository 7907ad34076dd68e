package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/stacktest"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// stackSuiteOptions are the options of cfn stack test.
type stackSuiteOptions struct {
	cases, schemas, reports []string
	parallel                int
	update, list, watch     bool
	sandbox                 sandboxOptions
}

// suiteReports are the formats of --report.
var suiteReports = []string{"html", "junit", "json", "github", "sarif"}

func newStackSuite(c *app, remote *remoteOptions) *cobra.Command {
	o := &stackSuiteOptions{}
	cmd := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Run tests of templates, offline",
		Long: `Run the tests of templates and CDK apps in files *.stacktest.yaml: steps such as deploy, update, drift and
delete, with what is expected of each. Without FILE, cfn runs all such files in the working folder and
below. docs/stack-tests.md describes the format.

Each case runs in a local CloudFormation of its own, so that cases run at the same time and see nothing of
each other, and nothing remains. Types are built from projects, simulated from their schemas, or made in an
emulator, as the file says; types of AWS are simulated if it does not say otherwise. The schemas come from
--schemas, or from those that "cfn types import" stored.

A step without expectations must still end well, and a case must leave nothing behind. Steps can have a
resource fail, take time, or wait for a signal, or the server be killed; hooks can refuse.

--update writes the golden files of "plan" instead of comparing them. --watch runs the tests again
whenever a file in their folders changes, until Ctrl-C.

Exit code: 0 if all cases passed; 1 if one failed, a file is invalid, no case was selected, or the coverage
is too low; 2 for a usage error; 130 after Ctrl-C.`,
		Example: `  cfn stack test
  cfn stack test app.stacktest.yaml --case "update*"
  cfn stack test --update
  cfn stack test --watch
  cfn stack test --report junit=report.xml --report github`,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(remote); err != nil {
				return err
			}
			if o.watch {
				return c.watchSuites(cmd, o, args)
			}
			return c.stackSuites(cmd.Context(), o, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.cases, "case", nil, "run only the cases whose names match `PATTERN`, in which * stands for any text (may be repeated)")
	flags.IntVar(&o.parallel, "parallel", 0, "run `N` cases at the same time (default: the number of processors)")
	flags.BoolVar(&o.update, "update", false, "write golden files instead of comparing them")
	flags.BoolVar(&o.watch, "watch", false, "run the tests again when a file in their folders changes")
	flags.BoolVar(&o.list, "list", false, "list the cases without running them")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "find the schemas of types in the folder or zip `PATH` (may be repeated)")
	flags.StringArrayVar(&o.reports, "report", nil, "write a report: html=FILE, junit=FILE, json=FILE, sarif=FILE or github, as `FORMAT[=FILE]` (may be repeated)")
	c.formatFlag(cmd, "text", "json")
	cmd.MarkFlagsMutuallyExclusive("watch", "list")
	return cmd
}

func (o *stackSuiteOptions) check(remote *remoteOptions) error {
	if remote.endpoint != "" || remote.profile != "" || remote.region != "" {
		return usagef("options --endpoint-url, --region and --profile: not allowed with cfn stack test, whose cases run in a CloudFormation of their own")
	}
	if o.parallel < 0 {
		return usagef("option --parallel: expected a positive number but got %d", o.parallel)
	}
	for _, report := range o.reports {
		format, file, _ := strings.Cut(report, "=")
		if !slices.Contains(suiteReports, format) {
			return usagef("option --report: invalid choice: %q (choose from html=FILE, junit=FILE, json=FILE, sarif=FILE, github)", report)
		}
		if file == "" && format != "github" {
			return usagef("option --report: %s requires a file: --report %s=FILE", format, format)
		}
	}
	return nil
}

// stackSuites loads and runs files of stack tests.
func (c *app) stackSuites(ctx context.Context, o *stackSuiteOptions, names []string) error {
	suites, problems, err := c.loadSuites(ctx, names)
	if err != nil {
		return err
	}
	if o.list {
		for _, s := range suites {
			for _, of := range s.Cases {
				if o.selects(of.Name) {
					c.printf("%s\n", strings.TrimSpace(s.File+"  "+of.Name))
				}
			}
		}
		return c.suiteEnd(o, &stacktest.Summary{Problems: problems})
	}
	schemas, err := c.openSchemas(ctx, &checkOptions{schemas: o.schemas, region: "us-east-1"})
	if err != nil {
		return err
	}
	defer schemas.close()
	config, err := c.suiteConfig(o, schemas)
	if err != nil {
		return err
	}
	summary, err := stacktest.Run(ctx, config, suites)
	if summary != nil {
		summary.Problems = append(problems, summary.Problems...)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, stacktest.ErrNothingSelected) && !problems.HasErrors():
		return withHint(err, "run cfn stack test --list to list the cases")
	case err != nil && !errors.Is(err, stacktest.ErrNothingSelected):
		return err
	}
	return c.suiteEnd(o, summary)
}

// loadSuites reads the files, or all that are found.
func (c *app) loadSuites(ctx context.Context, names []string) (suites []*stacktest.Suite, problems diag.List, err error) {
	if len(names) == 0 {
		if names, err = c.findSuites(ctx); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range names {
		suite, found, err := stacktest.Load(name, c.path(name))
		if err != nil {
			return nil, nil, missingFile(err, name, "pass the path of a file of stack tests")
		}
		problems.Add(found...)
		if suite != nil {
			suites = append(suites, suite)
		}
	}
	return suites, problems, nil
}

// findSuites finds the files of stack tests in the working folder and below.
func (c *app) findSuites(ctx context.Context) (names []string, err error) {
	root, entries := c.path("."), 0
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if stopped := ctx.Err(); stopped != nil {
			return stopped
		}
		if err != nil {
			return nil // a folder that cannot be read has no tests of the user
		}
		if entries++; entries > maxProjectEntries {
			return withHint(fmt.Errorf("the working folder has more than %d files", maxProjectEntries), "pass the paths of the files of stack tests")
		}
		if entry.IsDir() && file != root && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"node_modules", "cdk.out", "target"}, entry.Name())) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && stacktest.IsFile(entry.Name()) {
			names = append(names, c.shown(file))
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = withHint(errors.New("there are no files *.stacktest.yaml here"), "write one, or pass its path; docs/stack-tests.md describes the format")
	}
	return names, err
}

func (o *stackSuiteOptions) selects(name string) bool {
	return len(o.cases) == 0 || slices.ContainsFunc(o.cases, func(pattern string) bool { return schema.MatchTarget(pattern, name) })
}

// suiteConfig is what tests are run with.
func (c *app) suiteConfig(o *stackSuiteOptions, schemas *schemaSource) (stacktest.Config, error) {
	config := stacktest.Config{
		Base: local.Config{Version: c.Version, Environ: c.Environ, Now: c.Now}, Schema: schemas.text, Extension: c.suiteExtension, Synthesize: c.synthesize,
		Shown: c.shown, Selected: func(_, name string) bool { return o.selects(name) }, Getenv: c.Getenv, Parallel: o.parallel, Logger: c.logger,
	}
	if o.parallel == 0 {
		config.Parallel = runtime.NumCPU()
	}
	if o.update {
		config.WriteFile = func(file string, data []byte) error { return files.Put(filepath.Dir(file), file, data, 0o644) }
	}
	if c.format == "text" {
		config.Done = func(r *stacktest.Result) { c.suiteResult(r) }
	}
	return config, o.sandbox.serve(c, c.Dir, &config.Base)
}

// suiteResult prints a result when it is there.
func (c *app) suiteResult(r *stacktest.Result) {
	c.printf("%s\n", r.Line())
	if !r.Failed() {
		return
	}
	if r.Err != nil {
		c.printf("      %v\n", r.Err)
	}
	for _, p := range r.Problems {
		c.printf("      %s: %s\n", p.At, strings.ReplaceAll(p.Message, "\n", "\n      "))
		if p.Hint != "" {
			c.printf("        hint: %s\n", p.Hint)
		}
		for _, n := range p.Related {
			at := ""
			if n.At.Start.Known() && n.At != p.At {
				at = n.At.String() + ": "
			}
			c.printf("        %s%s\n", at, n.Message)
		}
	}
	c.printf("      repeat: %s\n", r.Again(shellQuote))
}

// suiteEnd prints the end of a run and writes the reports.
func (c *app) suiteEnd(o *stackSuiteOptions, summary *stacktest.Summary) error {
	if c.format == "json" {
		if err := summary.WriteJSON(c.Stdout); err != nil {
			return err
		}
	} else {
		if err := c.printer(c.source).Print(c.Stderr, summary.Problems, "text"); err != nil {
			return err
		}
		if len(summary.Results) > 0 {
			if err := summary.WriteEnd(c.Stdout); err != nil {
				return err
			}
		}
	}
	for _, report := range o.reports {
		format, file, _ := strings.Cut(report, "=")
		if err := c.suiteReport(summary, format, file); err != nil {
			return err
		}
	}
	if !summary.OK() {
		_, failed, _ := summary.Count()
		if failed == 0 {
			return &exitError{exitFailure, ""}
		}
		return &exitError{exitFailure, words.Count(failed, "case") + " failed"}
	}
	return nil
}

func (c *app) suiteReport(summary *stacktest.Summary, format, file string) error {
	var text bytes.Buffer
	var err error
	switch format {
	case "junit":
		err = summary.WriteJUnit(&text, func(r *stacktest.Result) string { return r.Again(shellQuote) })
	case "html":
		err = summary.WriteHTML(&text, func(r *stacktest.Result) string { return r.Again(shellQuote) })
	case "json":
		err = summary.WriteJSON(&text)
	default:
		err = c.printer(c.source).Print(&text, summary.All(), format)
	}
	if err != nil {
		return err
	}
	if file != "" {
		if err := c.writeFile(file, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return nil
	}
	out := c.Stdout
	if c.format == "json" {
		out = c.Stderr
	}
	_, err = text.WriteTo(out)
	return err
}

// suiteExtension packages a project, or reads a package.
func (c *app) suiteExtension(ctx context.Context, projectDir, archive string) (*submit.Request, error) {
	of := *c
	if projectDir != "" {
		of.project = projectDir
	}
	what := packageOptions{archive: archive, noRole: true, build: build.PackageOptions{Arch: build.X86}, timeout: 10 * time.Minute}
	request, _, err := what.extension(ctx, &of)
	return request, err
}

// synthesize runs a CDK app as the CDK's own tool does: the command in cdk.json, with the folder of the output in the
// environment.
func (c *app) synthesize(ctx context.Context, dir, out string) error {
	settings := filepath.Join(dir, "cdk.json")
	data, err := document.ReadFile(settings, maxCDKFile)
	if err != nil {
		return missingFile(err, c.shown(settings), "\"dir\" is the folder of the CDK app, where cdk.json is")
	}
	root, problems := document.ParseJSON(c.shown(settings), data, document.Limits{})
	if problems.HasErrors() {
		return problems.Err()
	}
	command := root.Get("app")
	if command == nil || command.Kind != document.String {
		return fmt.Errorf("%s: there is no \"app\", the command that runs the app", c.shown(settings))
	}
	given, err := cdkContext(root, dir)
	if err != nil {
		return err
	}
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	run := exec.CommandContext(ctx, shell, flag, command.Text)
	lambda.EndWithDescendants(run)
	run.Dir = dir
	run.Env = append(slices.Clone(c.Environ), "CDK_OUTDIR="+out, "CDK_CONTEXT_JSON="+given)
	var said bytes.Buffer
	run.Stdout = &limited{&said, maxCDKOutput}
	run.Stderr = run.Stdout
	defer c.progress("running the CDK app in %s", c.shown(dir))()
	if err := run.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("the CDK app in %s failed: %w\n%s", c.shown(dir), err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}

// Bounds of cdk.json and cdk.context.json, and of what an app prints, in bytes.
const (
	maxCDKFile   = 4 << 20
	maxCDKOutput = 1 << 20
)

// cdkContext is the context of a CDK app, as JSON: that of cdk.context.json, over which that of cdk.json counts.
func cdkContext(settings *document.Value, dir string) (string, error) {
	values := map[string]any{}
	file := filepath.Join(dir, "cdk.context.json")
	data, err := document.ReadFile(file, maxCDKFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil {
		if err := json.Unmarshal(data, &values); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, m := range settings.Get("context").Distinct() {
		values[m.Key] = m.Value.Any()
	}
	text, err := json.Marshal(values)
	return string(text), err
}
