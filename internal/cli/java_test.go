package cli

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// javaSource is a handler that needs no library. It reports what the Java runtime has as its folders.
const javaSource = `package acme;

import java.util.*;

public class Handler {
    public Map<String, Object> handleRequest(Map<String, Object> event) {
        if (event.get("action").equals("LIST")) {
            throw new IllegalStateException("no list");
        }
        return answer("WORD " + System.getProperty("java.io.tmpdir") + " " + Runtime.getRuntime().maxMemory() / (1 << 20));
    }

    public Map<String, Object> testEntrypoint(Map<String, Object> event) {
        return answer("the test entrypoint");
    }

    private static Map<String, Object> answer(String id) {
        Map<String, Object> model = new HashMap<>(), answer = new HashMap<>();
        model.put("Id", id);
        answer.put("status", "SUCCESS");
        answer.put("resourceModel", model);
        return answer;
    }
}
`

// needsJava skips the test where there is no JDK or no Maven. In CI both are installed.
func needsJava(t *testing.T) {
	t.Helper()
	for _, program := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not installed", program)
			}
			t.Skipf("%s is not installed, or this is not Linux", program)
		}
	}
}

// javaProject writes a project in Java with a jar that javac has made, with the word in its reply.
func javaProject(t *testing.T, word string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".rpdk-config":             `{"artifact_type": "RESOURCE", "typeName": "Acme::Foo::Bar", "language": "java", "runtime": "java17", "entrypoint": "acme.Handler::handleRequest", "testEntrypoint": "acme.Handler::testEntrypoint", "settings": {"protocolVersion": "2.0.0", "namespace": ["acme"]}}`,
		"acme-foo-bar.json":        `{"typeName": "Acme::Foo::Bar", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "handlers": {"read": {"permissions": ["a:b"]}}, "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`,
		"request.json":             `{"desiredResourceState": {"Id": "x"}}`,
		"resource-role.yaml":       "",
		"src/main/java/Other.java": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, path, text)
	}
	writeJar(t, filepath.Join(dir, "target", "acme-foo-bar-handler-1.0-SNAPSHOT.jar"), word)
	return dir
}

// writeJar compiles the handler. The jar has a signature that does not fit, as those have that Maven puts
// together of signed ones.
func writeJar(t *testing.T, path, word string) {
	t.Helper()
	classes := t.TempDir()
	source := filepath.Join(classes, "Handler.java")
	writeText(t, source, strings.ReplaceAll(javaSource, "WORD", word))
	cmd := exec.CommandContext(t.Context(), "javac", "--release", "17", "-d", classes, source)
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir="+classes)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	class, err := os.ReadFile(filepath.Join(classes, "acme", "Handler.class"))
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	for _, entry := range [][2]string{
		{"META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n"},
		{"META-INF/OTHER.SF", "Signature-Version: 1.0\r\nSHA-256-Digest-Manifest-Main-Attributes: AAAA\r\nSHA-256-Digest-Manifest: AAAA\r\n\r\n"},
		{"META-INF/OTHER.RSA", "not a signature"},
		{"acme/Handler.class", string(class)},
	} {
		f, err := w.Create(entry[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(entry[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, path, jar.String())
}

// TestJavaRuns calls handlers as a process of this machine. The official library empties java.io.tmpdir in
// each call: it is never that of the machine, also without a sandbox.
func TestJavaRuns(t *testing.T) {
	needsJava(t)
	dir := javaProject(t, "hello")
	for _, sandbox := range []string{"on", "off"} {
		code, out, errs := runIn(t.Context(), dir, os.Environ(), "invoke", "resource", "READ", "request.json", "--sandbox="+sandbox)
		if code != 0 || !strings.Contains(out, `"hello /`) {
			t.Fatalf("%s: %d\n%s%s", sandbox, code, out, errs)
		}
		for _, shared := range []string{"/tmp", strings.TrimRight(os.TempDir(), "/")} {
			if strings.Contains(out, `"hello `+shared+" ") {
				t.Errorf("--sandbox=%s: java.io.tmpdir is %s\n%s", sandbox, shared, out)
			}
		}
		// 85 % of 2048 MiB, of which Java counts a part as not usable.
		if !strings.Contains(out, " 16") && !strings.Contains(out, " 17") {
			t.Errorf("the heap does not follow the memory of the function: %s", out)
		}
	}
	if code, out, errs := runIn(t.Context(), dir, os.Environ(), "invoke", "resource", "READ", "request.json", "--function-name", "TestEntrypoint"); code != 0 || !strings.Contains(out, "the test entrypoint") {
		t.Errorf("the test entrypoint: %d\n%s%s", code, out, errs)
	}
	writeText(t, filepath.Join(dir, "list.json"), `{"desiredResourceState": {}}`)
	if code, out, errs := runIn(t.Context(), dir, os.Environ(), "invoke", "resource", "LIST", "list.json"); code == 0 || !strings.Contains(out+errs, "Handler.java") || !strings.Contains(out+errs, "no list") {
		t.Errorf("an exception: %d\n%s%s", code, out, errs)
	}
	writeJar(t, filepath.Join(dir, "target", "acme-foo-bar-handler-1.0-SNAPSHOT.jar"), "good evening")
	if code, out, errs := runIn(t.Context(), dir, os.Environ(), "invoke", "resource", "READ", "request.json"); code != 0 || !strings.Contains(out, "good evening") {
		t.Errorf("another jar: %d\n%s%s", code, out, errs)
	}
}

// TestJavaFailures: a missing or old tool is one error, which names it and how to get it.
func TestJavaFailures(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("handlers in Java run on Linux")
	}
	tools := t.TempDir()
	program := func(name, script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, ".rpdk-config"), `{"artifact_type": "RESOURCE", "typeName": "Acme::Foo::Bar", "language": "java", "runtime": "java17", "entrypoint": "acme.Handler::handleRequest", "testEntrypoint": "acme.Handler::testEntrypoint", "settings": {"namespace": ["acme"]}}`)
	writeText(t, filepath.Join(dir, "acme-foo-bar.json"), `{"typeName": "Acme::Foo::Bar", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "handlers": {"read": {"permissions": ["a:b"]}}, "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`)
	writeText(t, filepath.Join(dir, "request.json"), `{"desiredResourceState": {"Id": "x"}}`)
	fails := func(environ []string, want ...string) {
		t.Helper()
		code, out, errs := runIn(t.Context(), dir, append(environ, "HOME="+tools), "invoke", "resource", "READ", "request.json")
		for _, text := range want {
			if code == 0 || !strings.Contains(errs, text) {
				t.Errorf("%d\n%s%s\nwant %q", code, out, errs, text)
			}
		}
	}
	environ := []string{"PATH=" + tools}
	pom := filepath.Join(dir, "pom.xml")
	writeText(t, pom, "<project>\n<artifactId>aws-cloudformation-rpdk-java-plugin</artifactId><version>1.0</version></project>")
	code, out, errs := runIn(t.Context(), dir, environ, "generate")
	if want := "error: pom.xml:2: aws-cloudformation-rpdk-java-plugin 1.0 is too old\nhint: raise its version to 2.0.0 or later"; code != 1 || !strings.Contains(errs, want) || files.Exists(filepath.Join(dir, "target")) {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if err := os.Remove(pom); err != nil {
		t.Fatal(err)
	}
	fails(environ, "there is no java in the PATH", "install a JDK")
	fails(append(environ, "JAVA_HOME="+tools), "JAVA_HOME is "+tools, "correct JAVA_HOME")
	program("java", "exit 1\n")
	fails(environ, "java does not work")
	java := func(version string) {
		program("java", "echo '    java.home = "+tools+"'; echo '    java.version = "+version+"'\n")
	}
	java("11.0.2")
	fails(environ, "is Java 11.0.2, which is too old", "install a JDK 17 or later")
	java("1.8.0_402")
	fails(environ, "is Java 1.8.0_402, which is too old")
	java("21.0.1")
	fails(environ, "there is no mvn in the PATH", "install Maven")
	program("mvn", "echo '[ERROR] Failed to collect dependencies: Unknown host repo.maven.apache.org -> [Help 1]'; echo '[ERROR]'; exit 1\n")
	fails(environ, "Maven could not fetch Lambda's runtime interface client:\nFailed to collect dependencies: Unknown host", "connect once")

	// With the client, the project has to be built.
	client := filepath.Join(dir, ".formwork", "java", "runtimes", lambda.JavaClient)
	if err := os.MkdirAll(client, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux-x86_64", "linux-aarch_64", "linux_musl-x86_64", "linux_musl-aarch_64"} {
		writeText(t, filepath.Join(client, "libaws-lambda-jni."+system+".so"), "")
	}
	fails(environ, "the handlers are not built: target/acme-foo-bar-*.jar does not exist")
	writeText(t, filepath.Join(dir, "pom.xml"), "<project/>")
	program("mvn", "echo '[ERROR] COMPILATION ERROR : '; echo '[ERROR] /src/A.java:[3,1] cannot find symbol'; echo '[INFO] 1 error'; exit 1\n")
	fails(environ, "/src/A.java:[3,1] cannot find symbol", "correct the sources")
	program("mvn", "echo '[ERROR] Failed to execute goal on project x: Could not resolve dependencies for project a:x:jar:1: Could not find artifact a:common-utils:jar:1-SNAPSHOT -> [Help 1]'; exit 1\n")
	fails(environ, "Could not find artifact a:common-utils", "hint: correct the dependencies in pom.xml")
	common := filepath.Join(filepath.Dir(dir), "common-utils")
	if err := os.Mkdir(common, 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(common, "pom.xml"), "<project><parent><artifactId>all</artifactId></parent><artifactId>common-utils</artifactId></project>")
	fails(environ, "Could not find artifact a:common-utils", "hint: common-utils is a module of this repository that is not installed: mvn install -DskipTests -f ../common-utils\n")
	// The folder may have another name than what it builds, and a parent that is installed with it.
	if err := os.Rename(common, filepath.Join(filepath.Dir(dir), "common")); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(filepath.Dir(dir), "pom.xml"), "<project/>")
	fails(environ, "Could not find artifact a:common-utils", "hint: common-utils is a module of this repository that is not installed: mvn install -DskipTests -f ../pom.xml -pl common -am\n")
	program("mvn", "case \"$JAVA_TOOL_OPTIONS\" in -Djava.io.tmpdir=*/tmp) ;; *) echo NOT SAFE;; esac; command -v cfn; command -v cfn-cli; exit 1\n")
	fails(environ, filepath.Join(dir, ".formwork", "java", "bin", "cfn")+"\n", filepath.Join(dir, ".formwork", "java", "bin", "cfn-cli"))
	if _, _, errs := runIn(t.Context(), dir, append(environ, "HOME="+tools), "invoke", "resource", "READ", "request.json"); strings.Contains(errs, "NOT SAFE") {
		t.Error("Maven has the folder for temporary files of the machine")
	}
	if err := os.Remove(filepath.Join(tools, "mvn")); err != nil {
		t.Fatal(err)
	}
	fails(environ, "the handlers cannot be built: there is no mvn in the PATH", "install Maven")
}

// needsMaven skips the test where Maven does not have the plugins that projects need.
func needsMaven(t *testing.T) {
	t.Helper()
	needsJava(t)
	home, err := os.UserHomeDir()
	if _, missing := os.Stat(filepath.Join(home, ".m2", "repository", "org", "apache", "maven", "plugins", "maven-shade-plugin")); (err != nil || missing != nil) && os.Getenv("CI") != "true" {
		t.Skip("the repository of Maven does not have the plugins that projects need: build the example once")
	}
}

// TestJavaExample builds the example with Maven and runs the contract tests against it. What Maven needs is in its
// repository after the first run.
func TestJavaExample(t *testing.T) {
	t.Parallel()
	needsMaven(t)
	dir, reports := filepath.Join(t.TempDir(), "example"), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/tps-report-java")); err != nil {
		t.Fatal(err)
	}
	for _, built := range []string{"target", ".formwork"} {
		if err := os.RemoveAll(filepath.Join(dir, built)); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := runIn(t.Context(), dir, os.Environ(), "test", "--suite", "all", "--env", "REPORTS_DIR="+reports, "--mount", reports+":rw", "--time-scale", "1e6")
	if code != 0 || !strings.Contains(out, " 81 passed, 13 skipped ") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, _, errs := runIn(t.Context(), dir, os.Environ(), "generate", "--check"); code != 0 {
		t.Errorf("the generated files of the example are stale: %s", errs)
	}
}
