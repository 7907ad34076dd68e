//go:build unix

package handlers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/running/handlers"
)

const javaReply = `package acme;

import java.util.*;

public class Reply {
    static { if (System.getenv("FAILS") != null) throw new IllegalStateException("no table"); }
    public Map<String, Object> handleRequest(Map<String, Object> event) {
        return Map.of("tmp", System.getProperty("java.io.tmpdir"), "from", Reply.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    }
}
`

// TestJava runs a package with a jar that Maven would have built: it stays a jar, and its signature, which
// does not fit any more, is ignored as on Lambda.
func TestJava(t *testing.T) {
	archive := javaPackage(t, "Reply", javaReply)
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"runs":  {nil, "/lib/thing-1.0-SNAPSHOT.jar"},
		"fails": {[]string{"FAILS=1"}, "failed to start: java.lang.ExceptionInInitializerError: Error loading class acme.Reply"},
	} {
		t.Run(name, func(t *testing.T) {
			// A machine that does many things at once takes long to start a JVM.
			b := newBench(t, func(c *handlers.Config) { c.InitTimeout, c.Env = 2*time.Minute, test.env })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			f, err := b.Function(ctx, b.put(t, archive))
			if err != nil {
				t.Fatal(err)
			}
			result, err := f.Invoke(ctx, []byte("{}"))
			got := string(result.Payload)
			if err != nil {
				got += err.Error()
			}
			if !strings.Contains(got, test.want) || (err != nil) != (test.env != nil) || strings.Contains(got, `"tmp":"/tmp"`) {
				t.Errorf("%s", got)
			}
		})
	}
}

// javaPackage is a package with the method handleRequest of a class in the package acme, in a jar that Maven would have
// built.
func javaPackage(t testing.TB, class, text string) []byte {
	t.Helper()
	for _, program := range []string{"javac", "mvn"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not installed", program)
			}
			t.Skipf("%s is not installed, or this is not Linux", program)
		}
	}
	dir := t.TempDir()
	source := filepath.Join(dir, class+".java")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "javac", "--release", "17", "-d", dir, source)
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compiled, err := os.ReadFile(filepath.Join(dir, "acme", class+".class"))
	if err != nil {
		t.Fatal(err)
	}
	settings := `{"artifact_type": "RESOURCE", "typeName": "` + typeName + `", "runtime": "java17", "entrypoint": "acme.` + class + `::handleRequest", "settings": {"protocolVersion": "2.0.0"}}`
	jar := zipped(t, map[string]string{
		"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\r\n\r\n", "META-INF/A.SF": "Signature-Version: 1.0\r\nSHA-256-Digest-Manifest-Main-Attributes: AAAA\r\n\r\n",
		"META-INF/A.RSA": "x", "acme/" + class + ".class": string(compiled),
	})
	return zipped(t, map[string]string{".rpdk-config": settings, "schema.json": thingSchema, "target/thing-1.0-SNAPSHOT.jar": string(jar)})
}
