package lambda

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// MavenHint is how to get Maven.
const MavenHint = "install Maven, for example the package maven of Debian or from https://maven.apache.org/download.cgi, and put mvn into the PATH"

// jdkOptions is the variable with options of the java launcher since JDK 9; older ones do not read it.
const jdkOptions = "JDK_JAVA_OPTIONS"

// openCompiler lets old versions of Lombok, with which most public projects build, use the compiler of a JDK since
// 16: it keeps its packages closed otherwise.
func openCompiler(own string) string {
	options := strings.Fields(own)
	for _, name := range []string{"api", "code", "comp", "file", "jvm", "main", "model", "parser", "processing", "tree", "util"} {
		options = append(options, "--add-opens=jdk.compiler/com.sun.tools.javac."+name+"=ALL-UNNAMED")
	}
	return jdkOptions + "=" + strings.Join(options, " ")
}

// Maven runs a command of Maven in a folder and returns what it prints, without the marks and repetitions
// of Maven. It gives up soon if it reaches no repository. The environment is that of [BuildEnviron]. Tests of a
// project run in it, and the official library empties java.io.tmpdir: that is a folder of its own.
func Maven(ctx context.Context, mvn, dir string, environ []string, args ...string) (output string, err error) {
	folder, err := sandbox.NewFolder("")
	if err != nil {
		return "", err
	}
	defer func() { _ = folder.Remove() }() // the next program removes what is left
	args = append([]string{
		"--batch-mode", "--no-transfer-progress", "-Dstyle.color=never",
		"-Dmaven.wagon.http.retryHandler.count=1", "-Dmaven.wagon.rto=30000", "-Daether.connector.connectTimeout=10000",
	}, args...)
	cmd := exec.CommandContext(ctx, mvn, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(environ), folder.JavaOptions(envvar.Get(environ, sandbox.JavaOptions)), openCompiler(envvar.Get(environ, jdkOptions)))
	EndWithDescendants(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", mvn, err)
	}
	return mavenLines(string(out)), err
}

// mavenNoise matches lines of Maven that say nothing about the cause.
var mavenNoise = lazyregexp.New(`^(\[\w+\] *)?$|^(NOTE: )?Picked up (JAVA_TOOL|JDK_JAVA)_OPTIONS|^WARNING: Unknown module: jdk\.compiler |\[Help 1\]$|^\[ERROR\] (To see the full stack trace|Re-run Maven|For more information|-> \[Help|After correcting the problems)|^\[INFO\] `)

// mavenMark matches what begins the lines of Maven, and the reference that may end one.
var mavenMark = lazyregexp.New(`^\[(ERROR|WARNING)\] | -> \[Help \d+\]$`)

// mavenColor matches the colors that Maven also prints where none are wanted.
var mavenColor = lazyregexp.New(`\x1b\[[0-9;]*m`)

// maxMavenLines bounds what is shown of a failure.
const maxMavenLines = 60

// mavenLines are the lines of Maven's output that say what is wrong. The compiler's come twice.
func mavenLines(output string) string {
	var kept []string
	for line := range strings.Lines(mavenColor.ReplaceAllString(output, "")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasSuffix(line, "[Help 1]") {
			line = strings.TrimSuffix(line, " -> [Help 1]")
			if strings.HasPrefix(line, "[ERROR] [Help 1]") {
				continue
			}
		} else if mavenNoise.MatchString(line) {
			continue
		}
		if strings.HasPrefix(line, "[ERROR] [Help 1]") {
			continue
		}
		line = mavenMark.ReplaceAllString(line, "")
		if !slices.Contains(kept, line) {
			kept = append(kept, line)
		}
	}
	if more := len(kept) - maxMavenLines; more > 0 {
		kept = append(kept[:maxMavenLines], fmt.Sprintf("… and %d more lines", more))
	}
	return strings.Join(kept, "\n")
}

// mavenFailures say what to do about failures of Maven, by what it prints.
var mavenFailures = []struct {
	pattern *lazyregexp.Regexp
	hint    string
}{
	{lazyregexp.New(`maven-default-http-blocker`), "Maven fetches nothing from repositories without TLS: change their URL in pom.xml to https://, that of Maven Central to https://repo.maven.apache.org/maven2"},
	{lazyregexp.New(`jitpack\.io`), "a library is only at jitpack.io, which could not be reached: add aws-cloudformation-resource-schema 2.0.10 to dependencyManagement in pom.xml, as cfn init does, and everything is at Maven Central"},
	{lazyregexp.New(`status: 403|authorization failed for`), "a repository or a proxy refused the request: name a mirror or credentials in ~/.m2/settings.xml"},
	{lazyregexp.New(`(?i)Unknown host|Network is unreachable|Connection refused|connect timed out|in offline mode|Could not transfer artifact|has not been downloaded`), "Maven reached no repository: connect once, or name a mirror in ~/.m2/settings.xml; what it has fetched once works offline"},
	{lazyregexp.New(`JAVA_HOME|No compiler is provided|invalid target release|release version \d+ not supported`), "Maven needs a JDK of the version in pom.xml: install it, and name its folder with JAVA_HOME"},
	{lazyregexp.New(`Could not find artifact|Could not resolve dependencies`), "correct the dependencies in pom.xml"},
	{lazyregexp.New(`Cannot run program "cfn(-cli)?"`), "put cfn into the PATH under this name: pom.xml calls it"},
	{lazyregexp.New(`An unknown compilation problem occurred`), "the compiler ended without a message, as it does with a Lombok that is older than the JDK: raise the version of lombok in pom.xml, or name the folder of an older JDK with JAVA_HOME"},
	{lazyregexp.New(`COMPILATION ERROR|Compilation failure`), "correct the sources"},
}

// MavenAdvice is what to do about a failure of Maven, by its output.
func MavenAdvice(output string) string {
	for _, row := range mavenFailures {
		if row.pattern.MatchString(output) {
			return row.hint
		}
	}
	return "run mvn package to see everything that Maven prints"
}
