package lambda

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMavenLines: of what Maven prints, the lines with the cause are shown, once.
func TestMavenLines(t *testing.T) {
	got := mavenLines(`Picked up JAVA_TOOL_OPTIONS: -Djava.io.tmpdir=/x
NOTE: Picked up JDK_JAVA_OPTIONS: --add-opens=x
WARNING: Unknown module: jdk.compiler specified to --add-opens
[INFO] Building
[ERROR] COMPILATION ERROR : 
[ERROR] /p/src/A.java:[3,1] cannot find symbol
[ERROR] Failed to execute goal compile: Compilation failure
[ERROR] /p/src/A.java:[3,1] cannot find symbol
[ERROR]  -> [Help 1]
[ERROR] 
[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
[ERROR] [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/MojoFailureException
`)
	want := "COMPILATION ERROR : \n/p/src/A.java:[3,1] cannot find symbol\nFailed to execute goal compile: Compilation failure"
	if strings.TrimSpace(got) != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := mavenLines("\x1b[0m\x1b[0m[\x1b[1;31mERROR\x1b[m] no such goal\n\x1b[0m\x1b[0m\n"); got != "no such goal" {
		t.Errorf("with colors: %q", got)
	}
	if long := mavenLines(strings.Repeat("x", 3) + strings.Repeat("\ny", 1) + numbered(200)); !strings.HasSuffix(long, "… and 142 more lines") {
		t.Errorf("%q", long[len(long)-40:])
	}
}

// TestMavenOpensCompiler: Lombok before 1.18.20 uses packages of the compiler that a JDK since 16 keeps closed.
func TestMavenOpensCompiler(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mvn is a script for sh here")
	}
	mvn := filepath.Join(t.TempDir(), "mvn")
	if err := os.WriteFile(mvn, []byte("#!/bin/sh\necho \"$JDK_JAVA_OPTIONS\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := Maven(t.Context(), mvn, t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "JDK_JAVA_OPTIONS=-Dmine=1"}, "package")
	if err != nil || !strings.HasPrefix(got, "-Dmine=1 ") || !strings.Contains(got, " --add-opens=jdk.compiler/com.sun.tools.javac.processing=ALL-UNNAMED") {
		t.Errorf("%q, %v", got, err)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\nline " + strings.Repeat("i", i+1))
	}
	return b.String()
}

func TestMavenAdvice(t *testing.T) {
	for output, want := range map[string]string{
		"Could not transfer artifact org.everit:x from/to jitpack.io (https://jitpack.io): Unknown host jitpack.io":                                                                                  "dependencyManagement",
		"Could not transfer artifact a:b from/to maven-default-http-blocker (http://0.0.0.0/): Blocked mirror for repositories: [central (http://central.maven.org/maven2, default)]":                "change their URL in pom.xml",
		"Could not transfer artifact a:b:pom:1 from/to central (https://repo.maven.apache.org/maven2): authorization failed for https://repo.maven.apache.org/maven2/a/b.pom, status: 403 Forbidden": "name a mirror or credentials in ~/.m2/settings.xml",
		"Unknown host repo.maven.apache.org":                                                 "connect once",
		"Cannot access central (https://repo.maven.apache.org) in offline mode":              "connect once",
		"No compiler is provided in this environment. Perhaps you are running on a":          "Maven needs a JDK",
		"Fatal error compiling: error: invalid target release: 21":                           "Maven needs a JDK",
		"Could not find artifact a:b:jar:9 in central":                                       "correct the dependencies",
		`Cannot run program "cfn" (in directory "/p"): error=2`:                              "put cfn into the PATH",
		`Cannot run program "cfn-cli" (in directory "/p"): error=2`:                          "put cfn into the PATH",
		"COMPILATION ERROR : \nAn unknown compilation problem occurred\nCompilation failure": "raise the version of lombok",
		"COMPILATION ERROR :": "correct the sources",
		"something else":      "run mvn package",
	} {
		if got := MavenAdvice(output); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}

func TestJavaVersions(t *testing.T) {
	for version, want := range map[string]int{"17.0.15": 17, "1.8.0_402": 8, "21": 21, "25-ea": 25, "": 0, "x": 0} {
		if got := majorVersion(version); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
	for runtime, want := range map[string]int{"java17": 17, "java8.al2": 8, "java8": 8, "java21": 21} {
		if got := javaVersion(runtime); got != want {
			t.Errorf("%s: %d, want %d", runtime, got, want)
		}
	}
}

// TestCopyJar: everything but signatures is copied as it is, folders with data too.
func TestCopyJar(t *testing.T) {
	var jar, out bytes.Buffer
	w := zip.NewWriter(&jar)
	for _, name := range []string{"META-INF/MANIFEST.MF", "META-INF/A.SF", "META-INF/b.rsa", "META-INF/C.DSA", "META-INF/D.EC", "META-INF/x/keep.SF", "a/", "a/B.class", "A.SF"} {
		f, err := w.Create(name)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = f.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := CopyJar(&out, bytes.NewReader(jar.Bytes()), int64(jar.Len())); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "META-INF/MANIFEST.MF META-INF/x/keep.SF a/ a/B.class A.SF"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := CopyJar(&out, strings.NewReader("no jar"), 6); err == nil {
		t.Error("a text was copied as a jar")
	}
}
