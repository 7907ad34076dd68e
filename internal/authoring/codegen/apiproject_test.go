package codegen

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// thingSchema is a type with all that changes the text of handlers.
const thingSchema = `{
	"typeName": "Acme::Shop::Thing", "description": "d",
	"definitions": {"Tag": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}, "additionalProperties": false},
		"Part": {"type": "object", "properties": {"SkuName": {"type": "string"}, "At": {"type": "string"}}, "additionalProperties": false}},
	"properties": {"Id": {"type": "string"}, "Arn": {"type": "string"}, "Name": {"type": "string"}, "Size": {"type": "integer"}, "Color": {"type": "string"},
		"Made": {"type": "string"}, "Parts": {"type": "array", "items": {"$ref": "#/definitions/Part"}}, "Status": {"type": "string"},
		"Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}}},
	"primaryIdentifier": ["/properties/Id"], "additionalIdentifiers": [["/properties/Arn"]], "readOnlyProperties": ["/properties/Id", "/properties/Arn", "/properties/Status"],
	"createOnlyProperties": ["/properties/Color"], "required": ["Name"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}},
	"typeConfiguration": {"properties": {"Endpoint": {"type": "string"}, "BearerToken": {"type": "string"}}, "additionalProperties": false},
	"additionalProperties": false
}`

// binding is the binding of a Thing, changed.
func binding(t *testing.T, change func(b map[string]any)) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/binding.json")
	if err != nil {
		t.Fatal(err)
	}
	var b map[string]any
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	change(b)
	text, err = json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func inside(b map[string]any, name string) map[string]any { return b[name].(map[string]any) }

// TestAPIClient runs the tests of the generated client, and the handlers against a server.
func TestAPIClient(t *testing.T) {
	files, err := Generate(Input{Schema: parse(t, thingSchema), Language: "go", ImportPath: "example.com/project", Binding: binding(t, func(map[string]any) {})})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		write(t, dir, f.Path, string(f.Data))
	}
	test, err := os.ReadFile("testdata/client_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cmd/resource/client_test.go", string(test))
	gocmd(t, dir, nil, "test", "-trimpath", "./cmd/resource")
}

// TestAPIHandlers compiles each variant of the handlers: without dead code, formatted, with what belongs to it.
func TestAPIHandlers(t *testing.T) {
	drop := func(name string) func(map[string]any) { return func(b map[string]any) { delete(b, name) } }
	find := func(by string) func(map[string]any) {
		return func(b map[string]any) {
			b["find"] = map[string]any{"by": by, "properties": []string{"Name"}, "reason": "r"}
		}
	}
	dir := t.TempDir()
	for i, c := range []struct {
		name        string
		change      func(map[string]any)
		has, hasNot string
	}{
		{name: "token", change: func(map[string]any) {}, has: "// PUT /things/{id}/size: Size", hasNot: "checked"},
		{name: "identifier", change: find("identifier"), has: `req.Memory.Set("checked", true)`, hasNot: "others[found"},
		{name: "list", change: find("list"), has: "resources with the same Name that existed before", hasNot: "checked"},
		{name: "none", change: find("none"), has: "another call may make a second resource", hasNot: "checked"},
		{name: "no tags", change: drop("tags"), has: "chain.Stabilize", hasNot: "retag"},
		{name: "no wait", change: drop("wait"), has: "return live, err == nil, err", hasNot: "gone("},
		{name: "only deleted values", change: func(b map[string]any) {
			b["wait"] = map[string]any{"property": "Status", "gone": []string{"DELETED"}, "delay": 1}
		}, has: `case "DELETED"`, hasNot: "switch status"},
		{name: "no success", change: func(b map[string]any) { delete(inside(b, "wait"), "success") }, has: `case "CREATING"`, hasNot: `case "ACTIVE"`},
		{name: "no list", change: drop("list"), has: "api.Read", hasNot: "func List"},
		{name: "no update", change: drop("update"), has: "retag", hasNot: "api.Update"},
	} {
		s := thingSchema
		if c.name == "no list" {
			s = strings.Replace(s, `, "list": {"permissions": []}`, "", 1)
		}
		files, err := Generate(Input{Schema: parse(t, s), Language: "go", ImportPath: "example.com/v" + string(rune('a'+i)), Binding: binding(t, c.change)})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, f := range files {
			write(t, dir, string(rune('a'+i))+"/"+f.Path, string(f.Data))
			if generated := IsGenerated(f.Path, f.Data); generated != (f.Mode == Generated) && f.Path != "cmd/resource/api.json" {
				t.Errorf("%s: mode %d, recognised as generated: %t", f.Path, f.Mode, generated)
			}
		}
		text := fileNamed(t, files, "cmd/resource/resource.go")
		if !strings.Contains(strings.Join(strings.Fields(text), " "), c.has) && !strings.Contains(text, c.has) {
			t.Errorf("%s: the handlers lack %q", c.name, c.has)
		}
		if strings.Contains(text, c.hasNot) {
			t.Errorf("%s: the handlers have %q", c.name, c.hasNot)
		}
		gocmd(t, dir+"/"+string(rune('a'+i)), nil, "vet", "-trimpath", "./cmd/resource")
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt would change %s (%v)", out, err)
	}
}

func TestBrokenBinding(t *testing.T) {
	_, err := Generate(Input{Schema: parse(t, thingSchema), Language: "go", ImportPath: "example.com/project", Binding: []byte("[]")})
	if err == nil || !strings.Contains(err.Error(), "generate handlers of Acme::Shop::Thing: read the binding of the API") {
		t.Error(err)
	}
}
