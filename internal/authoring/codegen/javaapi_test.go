package codegen

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// callingFiles are the files of a project whose handlers call the API in testdata/api.
func callingFiles(t *testing.T, language string) []File {
	t.Helper()
	binding, err := os.ReadFile("testdata/api/binding.json")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Generate(Input{Schema: load(t, "testdata/api/schema.json")[0], Language: language, Binding: binding})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestJavaClient compiles handlers that call an API without warnings, and runs their client against a server.
func TestJavaClient(t *testing.T) {
	libraries := javaLibraries(t)
	dir := t.TempDir()
	var sources []string
	for _, f := range callingFiles(t, "java") {
		write(t, dir, f.Path, string(f.Data))
		if path.Ext(f.Path) == ".java" {
			sources = append(sources, f.Path)
		}
		if generated := IsGenerated(f.Path, f.Data); generated != (f.Mode == Generated) {
			t.Errorf("%s: mode %d, recognised as generated: %t", f.Path, f.Mode, generated)
		}
	}
	check, err := os.ReadFile("testdata/api/ApiCheck.java.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "ApiCheck.java", string(check))
	write(t, dir, "files.txt", strings.Join(append(sources, "ApiCheck.java"), "\n"))
	compile := inJava(t, dir, "javac", "-J-XX:TieredStopAtLevel=1", "--release", "17", "-Xlint:all,-options,-processing,-classfile", "-Werror", "-cp", libraries, "-d", "classes", "@files.txt")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.8000s", err, out)
	}
	classes := strings.Join([]string{"classes", filepath.Join("src", "main", "resources"), libraries}, string(os.PathListSeparator))
	out, err := inJava(t, dir, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "com.acme.shop.order.ApiCheck").Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
