package lambda

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// JavaClient is the name of the folder in Runtimes.Scripts with Lambda's runtime interface client for
// Java and its libraries. Maven fetches it when a handler in Java first runs.
const JavaClient = "java-client-" + javaClientVersion

const (
	javaClientVersion = "2.9.0"
	javaClientJar     = "aws-lambda-java-runtime-interface-client-" + javaClientVersion + ".jar"
	javaClientMain    = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"

	// javaClientLibrary is the property of the client that names its native library. Without
	// it, the client writes the library to /tmp of the machine.
	javaClientLibrary = "com.amazonaws.services.lambda.runtime.api.client.runtimeapi.NativeClient.JNI"
)

// javaClientProject makes Maven copy the client and its libraries. Its versions are fixed.
const javaClientProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.formwork</groupId>
  <artifactId>java-client</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId>
      <artifactId>aws-lambda-java-runtime-interface-client</artifactId>
      <version>` + javaClientVersion + `</version>
    </dependency>
  </dependencies>
</project>
`

// javaClientGoal is the pinned plug-in of Maven that copies the libraries of a project.
const javaClientGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// java runs functions in Java: Lambda's client loads the function from its task root, the classes there
// and the jars in lib/.
func (r *Runtimes) java(ctx context.Context, name, entrypoint string) (Program, error) {
	library, err := javaLibrary(name)
	if err != nil {
		return Program{}, err
	}
	jdk, err := r.findJava(ctx, name)
	if err != nil {
		return Program{}, err
	}
	want, have := javaVersion(name), majorVersion(jdk.version)
	if have < want {
		return Program{}, &RuntimeError{
			Runtime: name, Reason: fmt.Sprintf("%s is Java %s, which is too old", jdk.path, jdk.version),
			Hint: fmt.Sprintf("install a JDK %d or later, and put it into the PATH or name its folder with JAVA_HOME", want),
		}
	}
	client, err := r.javaClient(ctx, name, library)
	if err != nil {
		return Program{}, err
	}
	p := Program{
		Command: []string{
			jdk.path, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
			"-D" + javaClientLibrary + "=" + filepath.Join(client, library), javaClientMain, entrypoint,
		},
		Env:     []string{"AWS_EXECUTION_ENV=AWS_Lambda_" + name, "CLASSPATH=" + filepath.Join(client, "*")},
		Runtime: sandbox.Runtime{Roots: jdk.roots, Files: []string{client}},
		Handler: entrypoint,
	}
	if have != want {
		p.OtherVersion = true
		p.Note = fmt.Sprintf("the runtime is %s, and is run by Java %s", name, jdk.version)
	}
	return p, nil
}

// javaVersion is the version of Java of a runtime: 17 for java17, 8 for java8.al2.
func javaVersion(name string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "java"), ".")
	version, _ := strconv.Atoi(number) // 0 for a runtime that does not exist: any Java is good for it
	return version
}

// majorVersion is 17 for 17.0.15, and 8 for 1.8.0_402.
func majorVersion(version string) int {
	version = strings.TrimPrefix(version, "1.")
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		version = version[:end]
	}
	major, _ := strconv.Atoi(version) // 0 is older than everything
	return major
}

// javaLibrary is the native library of the client for this machine.
func javaLibrary(name string) (string, error) {
	machine, known := map[string]string{"amd64": "x86_64", "arm64": "aarch_64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || !known {
		return "", &RuntimeError{
			Runtime: name, Reason: "the Java runtime interface client of Lambda runs only on Linux, on x86-64 and arm64",
			Hint: "use Linux, or a virtual machine or container with it; or " + away,
		}
	}
	system := "linux"
	if musl, _ := filepath.Glob("/lib/ld-musl-*.so.1"); len(musl) > 0 { // the pattern is valid
		system = "linux_musl"
	}
	return "libaws-lambda-jni." + system + "-" + machine + ".so", nil
}

// findJava finds the program java in JAVA_HOME, or else in the PATH, and its version.
func (r *Runtimes) findJava(ctx context.Context, name string) (interpreter, error) {
	lookPath := r.LookPath
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	const hint = "install a JDK, for example the package default-jdk-headless of Debian or Temurin of https://adoptium.net, and put it into the PATH or name its folder with JAVA_HOME"
	if home := r.getenv("JAVA_HOME"); home != "" {
		found, err := r.askJava(ctx, filepath.Join(home, "bin", "java"))
		if err == nil && found.path == "" {
			err = &RuntimeError{Runtime: name, Reason: fmt.Sprintf("JAVA_HOME is %s, where no bin/java works", home), Hint: "correct JAVA_HOME, or unset it to use the java in the PATH"}
		}
		return found, err
	}
	path, err := lookPath("java")
	if err != nil {
		return interpreter{}, &RuntimeError{Runtime: name, Reason: "there is no java in the PATH", Hint: hint}
	}
	found, err := r.askJava(ctx, path)
	if err == nil && found.path == "" {
		err = &RuntimeError{Runtime: name, Reason: path + " does not work", Hint: hint}
	}
	return found, err
}

var javaRelease = lazyregexp.New(`(?m)^JAVA_VERSION="([^"]+)"`)

// askJava is the program itself and its version: from the file "release" of its folder, or, where java is
// a wrapper of the system or of a manager of versions, by running it.
func (r *Runtimes) askJava(ctx context.Context, path string) (interpreter, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		release, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(real)), "release"))
		if m := javaRelease.FindSubmatch(release); err == nil && m != nil {
			return interpreter{path: real, version: string(m[1]), roots: javaRoots(real)}, nil
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, known := r.found[path]; known {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-XshowSettings:properties", "-version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return interpreter{}, fmt.Errorf("get the version of %s: %w", path, context.Cause(ctx))
	}
	home, version := javaSetting(out, "java.home"), javaSetting(out, "java.version")
	if err != nil || !filepath.IsAbs(home) || version == "" {
		return interpreter{}, nil
	}
	found := interpreter{path: filepath.Join(home, "bin", "java"), version: version, roots: javaRoots(filepath.Join(home, "bin", "java"))}
	if r.found == nil {
		r.found = map[string]interpreter{}
	}
	r.found[path] = found
	return found, nil
}

// javaRoots is the folder of a JDK, by its program.
func javaRoots(java string) []string {
	if root := filepath.Dir(filepath.Dir(java)); isInstallation(root) {
		return []string{root}
	}
	return nil
}

func javaSetting(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" = "); ok {
			return value
		}
	}
	return ""
}

// javaClient returns the folder with the client. If it does not exist, Maven copies the client from its
// own repository, and fetches it if it is not there.
func (r *Runtimes) javaClient(ctx context.Context, name, library string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(r.Scripts, JavaClient))
	if err != nil {
		return "", fmt.Errorf("find the Java client: %w", err)
	}
	r.client.Lock()
	defer r.client.Unlock() // the others need the same
	if _, err := os.Stat(filepath.Join(dir, library)); err == nil {
		return dir, nil
	}
	lookPath := r.LookPath
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	mvn, err := lookPath("mvn")
	if err != nil {
		return "", &RuntimeError{Runtime: name, Reason: "Maven is needed once to fetch Lambda's runtime interface client, and there is no mvn in the PATH", Hint: MavenHint}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("fetch the Java client: %w", err)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return "", fmt.Errorf("fetch the Java client: %w", err)
	}
	defer func() { _ = files.RemoveTemp(unfinished) }() // gone if everything went well
	if err := os.WriteFile(filepath.Join(unfinished, "pom.xml"), []byte(javaClientProject), 0o644); err != nil {
		return "", fmt.Errorf("fetch the Java client: %w", err)
	}
	environ, err := BuildEnviron(os.Environ())
	if err != nil {
		return "", &RuntimeError{Runtime: name, Reason: err.Error(), Hint: BeforeProxyHint}
	}
	output, err := Maven(ctx, mvn, unfinished, environ, "--quiet", javaClientGoal, "-DoutputDirectory="+unfinished, "-DincludeScope=runtime")
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		output = cmp.Or(output, err.Error())
		return "", &RuntimeError{Runtime: name, Reason: fmt.Sprintf("Maven could not fetch Lambda's runtime interface client:\n%s\n", output), Hint: MavenAdvice(output)}
	}
	if err := unpackLibrary(filepath.Join(unfinished, javaClientJar), library, unfinished); err != nil {
		return "", fmt.Errorf("unpack the Java client: %w", err)
	}
	if err := os.Chmod(unfinished, 0o755); err != nil {
		return "", fmt.Errorf("fetch the Java client: %w", err)
	}
	if err := os.Rename(unfinished, dir); err != nil {
		if _, there := os.Stat(filepath.Join(dir, library)); there != nil { // else another process was faster
			return "", fmt.Errorf("fetch the Java client: %w", err)
		}
	}
	return dir, nil
}

// maxLibrary bounds the native library of the client, in bytes.
const maxLibrary = 32 << 20

// unpackLibrary writes the native library of the client beside its jar.
func unpackLibrary(jar, library, dir string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }() // it was only read
	from, err := archive.Open("jni/" + library)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(from, maxLibrary+1))
	if err == nil && len(data) > maxLibrary {
		err = errors.New("the native library is too large")
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, library), data, fs.FileMode(0o555))
}

// signature matches the files of a signed jar that Java verifies. A jar that was made of several has
// those of its parts, which do not fit it.
var signature = lazyregexp.New(`(?i)^META-INF/[^/]*\.(SF|RSA|DSA|EC)$`)

// CopyJar writes a jar without its signatures. Lambda unpacks the jar of a function, so that Java verifies
// nothing; tens of thousands of small files are not needed for that.
func CopyJar(to io.Writer, jar io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(jar, size)
	if err != nil {
		return fmt.Errorf("read the jar: %w", err)
	}
	out := zip.NewWriter(to)
	for _, file := range archive.File {
		if signature.MatchString(file.Name) {
			continue
		}
		if file.FileInfo().IsDir() { // some have data, though it is empty
			_, err = out.Create(file.Name)
		} else {
			err = out.Copy(file)
		}
		if err != nil {
			return fmt.Errorf("copy the jar: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("copy the jar: %w", err)
	}
	return nil
}

// javaHeap is the largest heap, in MiB, of a function with a size of memory: the rest is for the Java
// runtime itself.
func javaHeap(memoryMB int) int { return memoryMB * 85 / 100 }

// isJava reports whether a command is the Java runtime.
func isJava(command []string) bool {
	name := filepath.Base(command[0])
	return name == "java" || name == "java.exe"
}
