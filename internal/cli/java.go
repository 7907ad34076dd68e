package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// javaDir is the folder of a project for the jar that runs and for Lambda's client.
const javaDir = ".formwork/java"

// javaCode is the task root of handlers in Java. A copy of the jar runs: Maven may write the jar of the
// project again while it is in use.
const (
	javaCode = javaDir + "/code"
	javaJar  = javaCode + "/lib/handler.jar"
)

// runJava is how handlers in Java run: Lambda's client loads the jar that Maven has built.
func (o *handlerOptions) runJava(ctx context.Context, c *app, p *project.Project) (lambda.Config, error) {
	for _, dir := range []string{project.TargetFolder, javaDir} {
		if err := files.LinkOut(p.Dir, dir); err != nil {
			return lambda.Config{}, fmt.Errorf("find the handlers: %w", err)
		}
	}
	program, err := c.javaProgram(ctx, p)
	if err != nil {
		return lambda.Config{}, err
	}
	c.noteRuntime(p, program.Note)
	if err := c.buildJava(ctx, p, o.noBuild); err != nil {
		return lambda.Config{}, err
	}
	if err := copyJar(p); err != nil {
		return lambda.Config{}, err
	}
	command := program.Command
	if o.debugger != nil {
		command = slices.Insert(slices.Clone(command), 1, "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address="+o.debugger.Address)
	}
	return lambda.Config{
		Command: command, Dir: p.Path(javaCode), Handler: program.Handler, Env: program.Env, Runtime: program.Runtime,
		// The classes of the library and of the AWS SDK take long to load on a busy machine.
		InitTimeout: time.Minute,
	}, nil
}

// javaProgram finds the JDK and Lambda's client.
func (c *app) javaProgram(ctx context.Context, p *project.Project) (lambda.Program, error) {
	runtimes := &lambda.Runtimes{Scripts: p.Path(javaDir + "/runtimes"), Getenv: c.Getenv, LookPath: c.lookPath}
	if exists(p.Path(javaDir + "/runtimes/" + lambda.JavaClient)) {
		program, err := runtimes.Prepare(ctx, p.Runtime, p.Entrypoint, p.Path(javaCode))
		return program, runtimeHint(err)
	}
	if err := ignoredFolder(p.Path(javaDir)); err != nil {
		return lambda.Program{}, fmt.Errorf("prepare the handlers: %w", err)
	}
	defer c.progress("Fetching the Java runtime interface client of Lambda")()
	program, err := runtimes.Prepare(ctx, p.Runtime, p.Entrypoint, p.Path(javaCode))
	return program, runtimeHint(err)
}

// ignoredFolder makes a folder that git ignores.
func ignoredFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return files.Write(dir, ".gitignore", []byte("*\n"), 0o644)
}

// lookPath finds a program in the PATH of the environment of this command.
func (c *app) lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(c.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// buildJava makes sure that the jar exists and is not older than its sources. With noBuild it only warns.
func (c *app) buildJava(ctx context.Context, p *project.Project, noBuild bool) error {
	jar, newer, err := c.javaState(p)
	var unbuilt *project.BuildError
	switch {
	case errors.As(err, &unbuilt) && noBuild:
		return withHint(err, "%s", unbuilt.Hint)
	case err != nil && unbuilt == nil:
		return err
	case err == nil && newer == "":
		return nil
	case err == nil && noBuild:
		c.notef("warning: %s is older than %s; using it as is\n", p.Name(jar), p.Name(newer))
		return nil
	}
	if !exists(p.Path("pom.xml")) {
		if err != nil {
			return withHint(err, "%s", unbuilt.Hint)
		}
		return withHint(fmt.Errorf("%s is older than %s, and there is no pom.xml to build it with Maven", p.Name(jar), p.Name(newer)),
			"build it yourself, or pass --no-build to use it as is")
	}
	c.notef("mvn package\n")
	done := c.progress("Building the handlers with Maven")
	_, err = c.maven(ctx, p)
	done()
	if err != nil {
		return err
	}
	// The jar of a build without changes keeps its time.
	if jar, err = p.Jar(); err != nil {
		return err
	}
	now := c.Now()
	_ = os.Chtimes(p.Path(jar), now, now) // otherwise it is built again the next time
	return nil
}

// javaState is the jar of a project, and a source that is newer, "" if there is none.
func (c *app) javaState(p *project.Project) (jar, newer string, err error) {
	if jar, err = p.Jar(); err != nil {
		return "", "", err
	}
	info, err := os.Stat(p.Path(jar))
	if err != nil {
		return "", "", fmt.Errorf("find the handlers: %w", err)
	}
	newer = newerFile(p.Dir, info.ModTime(), func(name, top string) bool {
		return top == "src" || top == project.TargetsDir || slices.Contains([]string{"pom.xml", "lombok.config", p.SchemaFile()}, name) && name == top
	})
	return jar, newer, nil
}

// maven builds the jar. pom.xml calls cfn: that is this program. The tests of the author run in
// "mvn package", as those of Go do in "go test".
func (c *app) maven(ctx context.Context, p *project.Project) (output string, err error) {
	mvn, err := c.lookPath("mvn")
	if err != nil {
		return "", withHint(errors.New("the handlers cannot be built: there is no mvn in the PATH"), "%s", lambda.MavenHint)
	}
	if err := ignoredFolder(p.Path(javaDir)); err != nil {
		return "", fmt.Errorf("build the handlers: %w", err)
	}
	own, err := c.buildEnviron()
	if err != nil {
		return "", err
	}
	output, err = lambda.Maven(ctx, mvn, p.Dir, withSelf(p, own, c.Getenv("PATH")), "--quiet", "package", "-Dmaven.test.skip=true", "-Djacoco.skip=true")
	if ctx.Err() != nil {
		return output, ctx.Err()
	}
	if err != nil {
		return output, withHint(&downstreamError{fmt.Errorf("the handlers failed to build (%w):\n%s", err, output)}, "%s", cmp.Or(siblingAdvice(p, output), lambda.MavenAdvice(output)))
	}
	return output, nil
}

// missingArtifact matches the name of an artifact that Maven does not find.
var missingArtifact = lazyregexp.New(`(?:Could not find artifact|artifacts could not be resolved:) [^:\s]+:([\w.-]+):`)

// siblingAdvice says what to do if the project needs a module beside it that is not installed; "" otherwise.
func siblingAdvice(p *project.Project, output string) string {
	found := missingArtifact.FindStringSubmatch(output)
	if found == nil {
		return ""
	}
	folder := siblingModule(p, found[1])
	if folder == "" {
		return ""
	}
	command := "-f " + p.Name("../"+folder)
	if exists(p.Path("../pom.xml")) { // the module's parent has to be installed, too
		command = fmt.Sprintf("-f %s -pl %s -am", p.Name("../pom.xml"), folder)
	}
	return fmt.Sprintf("%s is a module of this repository that is not installed: mvn install -DskipTests %s", found[1], command)
}

// siblingModule is the folder beside the project whose pom.xml builds an artifact; "" if there is none.
func siblingModule(p *project.Project, artifact string) string {
	found, err := filepath.Glob(filepath.Join(files.Pattern(p.Path("..")), "*", "pom.xml"))
	if err != nil {
		return ""
	}
	for _, name := range found {
		var pom struct {
			ArtifactID string `xml:"artifactId"`
		}
		data, err := readOptional(name)
		if err == nil && xml.Unmarshal(data, &pom) == nil && pom.ArtifactID == artifact {
			return filepath.Base(filepath.Dir(name))
		}
	}
	return ""
}

// withSelf is an environment with a search path in which "cfn" is this program, under whatever name it was started.
func withSelf(p *project.Project, environ []string, search string) []string {
	dir := p.Path(javaDir + "/bin")
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return environ
	}
	for _, name := range []string{"cfn", "cfn-cli"} { // the official tool has both names, and pom.xml calls either
		if err := linkSelf(self, filepath.Join(dir, name)); err != nil {
			return environ
		}
	}
	return append(slices.Clone(environ), "PATH="+searchPath(dir, search))
}

// linkSelf makes a file a link to this program.
func linkSelf(self, link string) error {
	there, err := os.Readlink(link)
	if err == nil && there == self {
		return nil
	}
	if err == nil {
		err = files.RemoveTemp(link)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(self, link)
}

// copyJar puts the jar of the project into the task root. Processes that still run keep the jar of before.
func copyJar(p *project.Project) error {
	jar, err := p.Jar()
	if err != nil {
		return err
	}
	info, err := os.Stat(p.Path(jar))
	if err != nil {
		return fmt.Errorf("find the handlers: %w", err)
	}
	copied := p.Path(javaJar)
	if old, err := os.Stat(copied); err == nil && old.ModTime().Equal(info.ModTime()) {
		return nil
	}
	from, err := files.Open(p.Path(jar))
	if err != nil {
		return fmt.Errorf("find the handlers: %w", err)
	}
	defer func() { _ = from.Close() }() // it was only read
	var data bytes.Buffer
	if err := lambda.CopyJar(&data, from, info.Size()); err != nil {
		return withHint(fmt.Errorf("%s: %w", p.Name(jar), err), "build it again: mvn clean package")
	}
	if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
		return fmt.Errorf("prepare the handlers: %w", err)
	}
	if err := files.Write(filepath.Dir(copied), filepath.Base(copied), data.Bytes(), 0o644); err != nil {
		return fmt.Errorf("prepare the handlers: %w", err)
	}
	_ = os.Chtimes(copied, info.ModTime(), info.ModTime()) // otherwise it is copied again the next time
	return nil
}

// watchJava builds the jar when a source changes.
func watchJava(_ *handlerOptions, c *app, p *project.Project) lambda.WatchConfig {
	return lambda.WatchConfig{
		Build: []string{"mvn", "package"}, Dir: p.Dir, Dirs: []string{"src"},
		Run: func(ctx context.Context, _ []string, _ string) ([]byte, error) {
			output, err := c.maven(ctx, p)
			if err != nil {
				return []byte(output), err
			}
			return []byte(output), copyJar(p)
		},
	}
}

// javaTrace is where a handler in Java failed, "" for another error. Lambda's client prints it after its
// answer; the process has ended then.
func javaTrace(err error) string {
	var function *lambda.FunctionError
	if errors.As(err, &function) && strings.Contains(function.Trace(), ".java:") {
		return "\n" + function.Trace()
	}
	return ""
}

// javaInput reads the package of the handlers, and for which library the sources are.
func javaInput(p *project.Project, in *codegen.Input) (err error) {
	in.Namespace = strings.Join(p.Options.Get("namespace").Strings(), ".")
	if in.Pom, err = readOptional(p.Path("pom.xml")); err != nil {
		return err
	}
	if fault := codegen.JavaLibraryFault(p.Name("pom.xml"), in.Pom); fault != "" {
		return withHint(errors.New(fault), "raise its version to 2.0.0 or later: no code can be generated for older ones")
	}
	return nil
}

func javaInitFlags(cmd *cobra.Command, opts *initOptions) {
	cmd.Flags().StringVarP(&opts.namespace, "namespace", "n", "", "the Java `PACKAGE` of the handlers (default: from the type's name)")
	cmd.Flags().StringVarP(&opts.codegenModel, "codegen-model", "c", "default", "the `NAME` of the model of code: default")
}

// settleJava finds out the package. Without an answer it is the official default.
func (c *app) settleJava(ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) error {
	if opts.codegenModel != "" && opts.codegenModel != "default" {
		return withHint(usagef("option --codegen-model: %q is not supported", opts.codegenModel), "use default; handlers of the model guided_aws work unchanged")
	}
	if config.Namespace = opts.namespace; config.Namespace == "" {
		answer, err := w.namespace(ctx, codegen.JavaNamespace(config.TypeName))
		var none *noAnswerError
		if err != nil && !errors.As(err, &none) {
			return err
		}
		config.Namespace = cmp.Or(answer, codegen.JavaNamespace(config.TypeName))
	}
	if fault := codegen.JavaNamespaceFault(config.Namespace); fault != "" {
		return usagef("option --namespace: %q is invalid: %s", config.Namespace, fault)
	}
	return nil
}

func javaHandlers(config project.InitConfig) string {
	if config.Kind == schema.Hook {
		return codegen.JavaFolder(config.Namespace) + "/PreCreateHookHandler.java"
	}
	return codegen.JavaFolder(config.Namespace) + "/CreateHandler.java"
}
