package codegen

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// callingFiles are the files of a project whose handlers call the API in testdata/api, after a change of its binding
// and its schema.
func callingFiles(t *testing.T, in Input, change func(binding, schema map[string]any)) []File {
	t.Helper()
	read := func(file string) map[string]any {
		var out map[string]any
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write := func(value any) []byte {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	binding, schema := read("testdata/api/binding.json"), read("testdata/api/schema.json")
	change(binding, schema)
	in.Binding, in.Schema = write(binding), parse(t, string(write(schema)))
	files, err := Generate(in)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestJavaClient compiles handlers that call an API, without warnings, and runs their client against a server.
func TestJavaClient(t *testing.T) {
	libraries := javaLibraries(t)
	dir := t.TempDir()
	sources := []string{"ApiCheck.java"}
	for namespace, change := range map[string]func(binding, schema map[string]any){
		"com.acme.shop.order": func(_, _ map[string]any) {},
		"identifier": func(binding, schema map[string]any) {
			binding["find"] = map[string]any{"by": "identifier"}
			binding["wait"] = map[string]any{"property": "Status", "failure": []string{"a\"b", "a\"b"}, "delay": 1}
			delete(schema, "additionalIdentifiers")
		},
		"token": func(binding, schema map[string]any) {
			binding["find"] = map[string]any{"by": "token"}
			binding["wait"] = map[string]any{"property": "Status", "gone": []string{"deleted"}, "delay": 1}
			binding["update"] = nil // only tags are updated
			delete(schema, "additionalIdentifiers")
			delete(schema, "createOnlyProperties")
		},
		"least": func(binding, schema map[string]any) {
			binding["find"] = map[string]any{"by": "none"}
			for _, part := range []string{"wait", "list", "tags", "update"} {
				delete(binding, part)
			}
			delete(schema["handlers"].(map[string]any), "list")
			delete(schema["handlers"].(map[string]any), "update")
			delete(schema, "additionalIdentifiers")
		},
		"names": func(binding, schema map[string]any) { // of classes and operations
			create := binding["create"].(map[string]any)
			create["name"] = "POST */ \\u002a/ <b> {@code @deprecated\n class X {}"
			schema["definitions"].(map[string]any)["ApiClient"] = map[string]any{"type": "object", "properties": map[string]any{"A": map[string]any{"type": "string"}}, "additionalProperties": false}
			schema["properties"].(map[string]any)["Class"] = map[string]any{"$ref": "#/definitions/ApiClient"}
		},
	} {
		for _, f := range callingFiles(t, Input{Language: "java", Namespace: namespace}, change) {
			write(t, dir, path.Join(namespace, f.Path), string(f.Data))
			if path.Ext(f.Path) == ".java" {
				sources = append(sources, path.Join(namespace, f.Path))
			}
			if generated := IsGenerated(f.Path, f.Data); generated != (f.Mode == Generated) {
				t.Errorf("%s: mode %d, recognised as generated: %t", f.Path, f.Mode, generated)
			}
		}
	}
	check, err := os.ReadFile("testdata/api/ApiCheck.java.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "ApiCheck.java", string(check))
	write(t, dir, "files.txt", strings.Join(sources, "\n"))
	compile := inJava(t, dir, "javac", "-J-XX:TieredStopAtLevel=1", "--release", "17", "-Xlint:all,-options,-processing,-classfile", "-Werror", "-cp", libraries, "-d", "classes", "@files.txt")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.8000s", err, out)
	}
	classes := strings.Join([]string{"classes", filepath.Join("com.acme.shop.order", "src", "main", "resources"), libraries}, string(os.PathListSeparator))
	out, err := inJava(t, dir, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "com.acme.shop.order.ApiCheck").Output()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestJavaProtocols: a protocol that the client does not speak is refused by name.
func TestJavaProtocols(t *testing.T) {
	_, err := Generate(Input{Language: "java", Schema: load(t, "testdata/api/schema.json")[0], Binding: []byte(`{"protocol": "restXml"}`)})
	if err == nil || err.Error() != "handlers in java cannot be generated for the protocol restXml" {
		t.Error(err)
	}
}
