package build

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
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
func (t *Tools) runJava(ctx context.Context, p *project.Project, o Options) (lambda.Config, error) {
	for _, dir := range []string{project.TargetFolder, javaDir} {
		if err := files.LinkOut(p.Dir, dir); err != nil {
			return lambda.Config{}, fmt.Errorf("find the handlers: %w", err)
		}
	}
	program, err := t.javaProgram(ctx, p)
	if err != nil {
		return lambda.Config{}, err
	}
	t.noteRuntime(p, program.Note)
	if err := t.buildJava(ctx, p, o.NoBuild); err != nil {
		return lambda.Config{}, err
	}
	if err := copyJar(p); err != nil {
		return lambda.Config{}, err
	}
	command := program.Command
	if o.Debugger != nil {
		command = slices.Insert(slices.Clone(command), 1, "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address="+o.Debugger.Address)
	}
	return lambda.Config{
		Command: command, Dir: p.Path(javaCode), Handler: program.Handler, Env: program.Env, Runtime: program.Runtime,
		// The classes of the library and of the AWS SDK take long to load on a busy machine.
		InitTimeout: time.Minute,
	}, nil
}

// javaProgram finds the JDK and Lambda's client.
func (t *Tools) javaProgram(ctx context.Context, p *project.Project) (lambda.Program, error) {
	runtimes := &lambda.Runtimes{Scripts: p.Path(javaDir + "/runtimes"), Getenv: t.Getenv, LookPath: t.lookPath}
	if files.Exists(p.Path(javaDir + "/runtimes/" + lambda.JavaClient)) {
		program, err := runtimes.Prepare(ctx, p.Runtime, p.Entrypoint, p.Path(javaCode))
		return program, runtimeHint(err)
	}
	if err := ignoredFolder(p.Path(javaDir)); err != nil {
		return lambda.Program{}, fmt.Errorf("prepare the handlers: %w", err)
	}
	defer t.Doing("Fetching the Java runtime interface client of Lambda")()
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

// packJava makes sure that the jar that is packed is not older than its sources.
func (t *Tools) packJava(ctx context.Context, p *project.Project, o PackageOptions, _ *project.ArchiveConfig) error {
	return t.buildJava(ctx, p, o.NoBuild)
}

// buildJava makes sure that the jar exists and is not older than its sources. With noBuild it only warns.
func (t *Tools) buildJava(ctx context.Context, p *project.Project, noBuild bool) error {
	jar, newer, err := t.javaState(p)
	var unbuilt *project.BuildError
	switch {
	case errors.As(err, &unbuilt) && noBuild:
		return diag.WithHint(err, "%s", unbuilt.Hint)
	case err != nil && unbuilt == nil:
		return err
	case err == nil && newer == "":
		return nil
	case err == nil && noBuild:
		t.Note("warning: %s is older than %s; using it as is\n", p.Name(jar), p.Name(newer))
		return nil
	}
	if !files.Exists(p.Path("pom.xml")) {
		if err != nil {
			return diag.WithHint(err, "%s", unbuilt.Hint)
		}
		return diag.WithHint(fmt.Errorf("%s is older than %s, and there is no pom.xml to build it with Maven", p.Name(jar), p.Name(newer)),
			"build it yourself, or pass --no-build to use it as is")
	}
	t.Note("mvn package\n")
	done := t.Doing("Building the handlers with Maven")
	_, err = t.maven(ctx, p)
	done()
	if err != nil {
		return err
	}
	// The jar of a build without changes keeps its time.
	if jar, err = p.Jar(); err != nil {
		return err
	}
	now := t.Now()
	_ = os.Chtimes(p.Path(jar), now, now) // otherwise it is built again the next time
	return nil
}

// javaState is the jar of a project, and a source that is newer, "" if there is none.
func (t *Tools) javaState(p *project.Project) (jar, newer string, err error) {
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
func (t *Tools) maven(ctx context.Context, p *project.Project) (output string, err error) {
	mvn, err := t.lookPath("mvn")
	if err != nil {
		return "", diag.WithHint(errors.New("the handlers cannot be built: there is no mvn in the PATH"), "%s", lambda.MavenHint)
	}
	if err := ignoredFolder(p.Path(javaDir)); err != nil {
		return "", fmt.Errorf("build the handlers: %w", err)
	}
	own, err := t.ToolEnviron()
	if err != nil {
		return "", err
	}
	output, err = lambda.Maven(ctx, mvn, p.Dir, withSelf(p, own, t.Getenv("PATH")), "--quiet", "package", "-Dmaven.test.skip=true", "-Djacoco.skip=true")
	if ctx.Err() != nil {
		return output, ctx.Err()
	}
	if err != nil {
		return output, diag.WithHint(&ToolError{fmt.Errorf("the handlers failed to build (%w):\n%s", err, output)}, "%s", cmp.Or(siblingAdvice(p, output), lambda.MavenAdvice(output)))
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
	if files.Exists(p.Path("../pom.xml")) { // the module's parent has to be installed, too
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
		data, err := document.ReadOptional(name, maxSource)
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
		return diag.WithHint(fmt.Errorf("%s: %w", p.Name(jar), err), "build it again: mvn clean package")
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
func (t *Tools) watchJava(p *project.Project, _ Options) lambda.WatchConfig {
	return lambda.WatchConfig{
		Build: []string{"mvn", "package"}, Dir: p.Dir, Dirs: []string{"src"},
		Run: func(ctx context.Context, _ []string, _ string) ([]byte, error) {
			output, err := t.maven(ctx, p)
			if err != nil {
				return []byte(output), err
			}
			return []byte(output), copyJar(p)
		},
	}
}
