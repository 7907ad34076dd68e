package codegen

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// readObject reads a file with an object in JSON.
func readObject(t *testing.T, file string) (out map[string]any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// callingFiles are the files of a project whose handlers call the API in testdata/api, after a change of its binding
// and its schema.
func callingFiles(t *testing.T, in Input, change func(binding, schema map[string]any)) []File {
	t.Helper()
	write := func(value any) []byte {
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	binding, schema := readObject(t, "testdata/api/binding.json"), readObject(t, "testdata/api/schema.json")
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
	checks := []string{"com.acme.shop.order", "restxml", "awsquery"} // with programs that call the client
	var sources []string
	inXML := func(protocol string) func(binding, _ map[string]any) {
		return func(binding, _ map[string]any) {
			clear(binding)
			maps.Copy(binding, readObject(t, "testdata/api/binding.xml.json"))
			binding["auth"] = map[string]any{"kind": "sigv4", "service": map[string]string{"restXml": "s3", "awsQuery": "things"}[protocol]}
			if binding["protocol"] = protocol; protocol == "awsQuery" {
				read := binding["read"].(map[string]any)
				read["path"] = "/"
				maps.Copy(read["send"].([]any)[0].(map[string]any), map[string]any{
					"in": "body", "at": []string{"ids"}, "shape": map[string]any{"kind": "list", "item": map[string]any{"kind": "string"}, "element": "member"},
				})
			}
		}
	}
	for namespace, change := range map[string]func(binding, schema map[string]any){
		"com.acme.shop.order": func(_, _ map[string]any) {},
		"restxml":             inXML("restXml"),
		"awsquery":            inXML("awsQuery"),
		"identifier": func(binding, schema map[string]any) {
			binding["find"] = map[string]any{"by": "identifier"}
			binding["wait"] = map[string]any{"property": "Status", "failure": []string{"a\"b", "a\"b"}, "delay": 1}
			binding["read"].(map[string]any)["items"] = []string{"orders"}
			binding["create"].(map[string]any)["send"] = []any{} // but updates
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
	for i, namespace := range checks {
		class := "XmlCheck"
		if i == 0 {
			class = "ApiCheck"
		}
		check, err := os.ReadFile("testdata/api/" + class + ".java.txt")
		if err != nil {
			t.Fatal(err)
		}
		file := path.Join(namespace, class+".java")
		write(t, dir, file, strings.Replace(string(check), "package xml;", "package "+namespace+";", 1))
		sources = append(sources, file)
		checks[i] += "." + class
	}
	write(t, dir, "files.txt", strings.Join(sources, "\n"))
	compile := inJava(t, dir, "javac", "-J-XX:TieredStopAtLevel=1", "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-options,-processing,-classfile", "-Werror", "-cp", libraries, "-d", "classes", "@files.txt")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.8000s", err, out)
	}
	for _, check := range checks {
		namespace := strings.TrimSuffix(check, path.Ext(check))
		classes := strings.Join([]string{"classes", filepath.Join(namespace, "src", "main", "resources"), libraries}, string(os.PathListSeparator))
		out, err := inJava(t, dir, "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, check).Output()
		if err != nil || string(out) != "ok\n" {
			t.Errorf("%s: %v\n%s", check, err, out)
		}
	}
}
