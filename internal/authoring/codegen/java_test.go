package codegen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// javaLibraries is the class path with the official library and Lombok.
func javaLibraries(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FORMWORK_OFFICIAL_JAVA")
	if dir == "" {
		t.Skip("FORMWORK_OFFICIAL_JAVA names no folder with the libraries of projects in Java")
	}
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("javac is not installed")
	}
	return filepath.Join(dir, "*")
}

// javaExceptions lists schemas whose models in Java do not come back unchanged, with the reason.
var javaExceptions = map[string]string{
	"names.json": "the library reads names without their case, and the schema has names that differ only by that",
}

// inJava runs a program of the JDK with a folder of its own for temporary files.
func inJava(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir="+t.TempDir())
	return cmd
}

// TestJavaModelsOfPublishedSchemas generates the models of published schemas, compiles them, and sends
// values made from the schemas through the model of the resource.
func TestJavaModelsOfPublishedSchemas(t *testing.T) {
	libraries := javaLibraries(t)
	schemas := slowCorpus(t)
	schemas = append(load(t, "testdata/schemas/names.json", "testdata/schemas/shapes.json"), schemas...)
	dir := t.TempDir()
	var cases, list bytes.Buffer
	var values []javaCase
	for i, s := range schemas {
		name := fmt.Sprintf("p%03d", i)
		root := javaRoot{schema: s, class: "ResourceModel", kind: javaResource}
		if s.Kind == schema.Hook {
			root = javaRoot{schema: s, class: "HookInputModel", kind: javaHook}
		}
		files := javaModels(name, newReader(s), root, javaRoot{schema: s.TypeConfiguration, class: "TypeConfigurationModel"})
		if s.Kind != schema.Hook { // what a hook on the type gets
			files = append(files, javaModels(name+".target", newReader(s), javaRoot{schema: s, class: "Target", kind: javaTarget, raw: []string{"Tags"}})...)
		}
		for _, f := range files {
			write(t, dir, f.Path, string(f.Data))
			fmt.Fprintf(&list, "%s\n", f.Path)
		}
		if s.Kind == schema.Hook {
			continue
		}
		random := rand.New(rand.NewPCG(20260101, uint64(i)))
		rounds := 4
		if strings.HasPrefix(s.File, "testdata") {
			rounds = 60
		}
		for range rounds {
			g := &generator{schema: s, random: random, int32: true} // the official type is Integer
			value := g.value(s.Root, 0)
			line, err := json.Marshal(map[string]any{"package": name, "value": value})
			if err != nil {
				t.Fatal(err)
			}
			cases.Write(append(line, '\n'))
			values = append(values, javaCase{filepath.Base(s.File), line})
		}
	}
	loop, err := os.ReadFile("testdata/RoundTrip.java.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "RoundTrip.java", string(loop))
	write(t, dir, "files.txt", list.String()+"RoundTrip.java\n")
	compile := inJava(t, dir, "javac", "-J-Xmx6g", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-options,-processing,-classfile", "-Werror", "-Xmaxerrs", "40", "-cp", libraries, "-d", "classes", "@files.txt")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.8000s", err, out)
	}
	run := inJava(t, dir, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", "classes"+string(os.PathListSeparator)+libraries, "RoundTrip")
	run.Stdin = &cases
	var problems bytes.Buffer
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, &problems)
	}
	checkJavaCases(t, values, out)
}

type javaCase struct {
	file string
	line []byte
}

func checkJavaCases(t *testing.T, values []javaCase, out []byte) {
	t.Helper()
	failed := map[string]bool{}
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 16<<20)
	i := 0
	for ; scanner.Scan(); i++ {
		var given, got struct {
			Value any
			Error string
		}
		if err := json.Unmarshal(values[i].line, &given); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(scanner.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Error == "" && sameInJava(given.Value, got.Value) {
			continue
		}
		failed[values[i].file] = true
		if javaExceptions[values[i].file] == "" {
			t.Errorf("%s: %.300s %.300s became %.300s", values[i].file, got.Error, values[i].line, scanner.Bytes())
		}
	}
	if i != len(values) {
		t.Errorf("%d of %d cases were read", i, len(values))
	}
	for file, reason := range javaExceptions {
		if !failed[file] && !testing.Short() {
			t.Errorf("%s comes back unchanged: remove it from javaExceptions (%s)", file, reason)
		}
	}
}

// sameInJava compares values of JSON. Null is absent, and sets have no order.
func sameInJava(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			if !ok || value != nil && !sameInJava(value, g[key]) {
				return false
			}
		}
		for key, value := range g {
			if value != nil && w[key] == nil {
				return false
			}
		}
		return ok
	case []any:
		g, ok := got.([]any)
		if !ok {
			return false
		}
		unmatched := append([]any{}, g...)
		for _, item := range w {
			found := false
			for i, other := range unmatched {
				if found = sameInJava(item, other); found {
					unmatched = append(unmatched[:i:i], unmatched[i+1:]...)
					break
				}
			}
			if !found { // twice in what became a set
				for _, other := range g {
					found = found || sameInJava(item, other)
				}
			}
			if !found {
				return false
			}
		}
		return len(unmatched) == 0
	}
	return reflect.DeepEqual(want, got)
}

// TestJavaText: what a schema says becomes text, never code.
func TestJavaText(t *testing.T) {
	for text, want := range map[string]string{
		"a\"b\\c\nd": `"a\"b\\c\nd"`, "é😀": `"\u00e9\ud83d\ude00"`, "\x00": `"\u0000"`,
	} {
		if got := javaQuote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	j := &java{}
	j.javadoc("", `*/ class X {} \u002a\u002f <script> {@code @deprecated`)
	if got := j.String(); strings.Count(got, "*/") != 1 || strings.Contains(got, `\u`) || strings.Contains(got, "@") || strings.Contains(got, "<") {
		t.Errorf("%s", got)
	}
	for namespace, valid := range map[string]bool{"com.acme": true, "a": true, "com.new": false, "Com.a": false, "com..a": false, "com.a;": false, "": false, "com.1a": false} {
		if (JavaNamespaceFault(namespace) == "") != valid {
			t.Errorf("%q: %s", namespace, JavaNamespaceFault(namespace))
		}
	}
	for typeName, want := range map[string]string{"AWS::SQS::Queue": "software.amazon.sqs.queue", "Acme::New::Bar": "com.acme.new_.bar", "Acme::3D::Bar": "com.acme._3d.bar"} {
		if got := JavaNamespace(typeName); got != want {
			t.Errorf("%s: %s, want %s", typeName, got, want)
		}
	}
}

// TestJavaLibraryVersions: sources use only what the library of pom.xml has.
func TestJavaLibraryVersions(t *testing.T) {
	s := load(t, "testdata/schemas/names.json")[0]
	for version, want := range map[string][2]bool{"2.0.1": {false, false}, "2.1.1": {true, false}, "2.2.5": {true, true}, "2.10.0": {true, true}, "[2.0.0,3.0.0)": {true, true}, "${v}": {true, true}} {
		pom := []byte("<dependency><artifactId>aws-cloudformation-rpdk-java-plugin</artifactId>\n<version>" + version + "</version>")
		files, err := Generate(Input{Schema: s, TypeName: "Acme::Foo::Bar", Language: "java", Pom: pom})
		if err != nil {
			t.Fatal(err)
		}
		var got [2]bool
		for _, f := range files {
			got[0] = got[0] || strings.HasSuffix(f.Path, "/HandlerWrapperExecutable.java")
			got[1] = got[1] || strings.Contains(string(f.Data), ".maxResults(")
			if f.Mode == Generated && !IsGenerated(f.Path, f.Data) {
				t.Errorf("%s is not known as generated", f.Path)
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
		if fault := JavaLibraryFault("pom.xml", pom); fault != "" {
			t.Errorf("%s: %s", version, fault)
		}
	}
	for _, version := range []string{"1.0", "1.9.9"} {
		pom := []byte("<project>\n<dependency><artifactId>aws-cloudformation-rpdk-java-plugin</artifactId>\n<version>" + version + "</version>")
		if got, want := JavaLibraryFault("pom.xml", pom), "pom.xml:3: aws-cloudformation-rpdk-java-plugin "+version+" is too old"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if fault := JavaLibraryFault("pom.xml", nil); fault != "" {
		t.Errorf("without pom.xml: %s", fault)
	}
}
