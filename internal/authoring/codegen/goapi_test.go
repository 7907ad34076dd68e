package codegen

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"
)

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

// TestAPIClientMore runs the tests of the client of a service that has what few services have.
func TestAPIClientMore(t *testing.T) {
	files, err := Generate(Input{Schema: parse(t, thingSchema), Language: "go", ImportPath: "example.com/project", Binding: binding(t, func(b map[string]any) {
		read, list := inside(b, "read"), inside(b, "list")
		read["items"], read["among"], read["path"] = []string{"things"}, true, "/things"
		read["page"] = map[string]any{"style": "token", "in": "query", "at": []string{"after"}, "next": []string{"next"}}
		read["send"] = []any{map[string]any{"property": "Id", "in": "body", "at": []string{"ids"},
			"shape": map[string]any{"kind": "list", "item": map[string]any{"kind": "integer", "text": true}}}}
		read["receive"] = []any{
			map[string]any{"property": "Id", "in": "body", "at": []string{"id"}, "shape": map[string]any{"kind": "integer", "text": true}},
			map[string]any{"property": "Color", "in": "header", "at": []string{"ETag"}, "shape": map[string]any{"kind": "string"}},
		}
		list["host"], list["send"] = "list-{id}.", []any{map[string]any{"property": "Id", "in": "host", "at": []string{"id"}, "shape": map[string]any{"kind": "string"}}}
	})})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		write(t, dir, f.Path, string(f.Data))
	}
	for name, source := range map[string]string{"client_test.go": "client_test.go.txt", "client_more_test.go": "client_more_test.go.txt"} {
		text, err := os.ReadFile("testdata/" + source)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "cmd/resource/"+name, string(text))
	}
	gocmd(t, dir, nil, "test", "-trimpath", "-run", "TestHosts|TestAmong|TestEnvelope|TestHeader", "./cmd/resource")
}

// TestAPIClientXML runs the tests of the client of a service with XML: with restXml it is S3.
func TestAPIClientXML(t *testing.T) {
	text, err := os.ReadFile("testdata/client_xml_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	common, err := os.ReadFile("testdata/client_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"restXml", "awsQuery"} {
		t.Run(protocol, func(t *testing.T) {
			files, err := Generate(Input{Schema: parse(t, thingSchema), Language: "go", ImportPath: "example.com/project", Binding: binding(t, func(b map[string]any) {
				b["protocol"], b["namespace"], b["version"] = protocol, "urn:t", "2026-01-01"
				inside(b, "read")["result"] = "ReadResult"
				if protocol == "restXml" {
					b["auth"] = map[string]any{"kind": "sigv4", "service": "s3"}
				}
			})})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range files {
				write(t, dir, f.Path, string(f.Data))
			}
			var test strings.Builder
			if err := template.Must(template.New("").Delims("[[-", "]]").Parse(string(text))).Execute(&test, map[string]bool{"Query": protocol == "awsQuery"}); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "cmd/resource/client_xml_test.go", test.String())
			write(t, dir, "cmd/resource/client_test.go", string(common))
			gocmd(t, dir, nil, "test", "-trimpath", "-run", "TestTrees|TestHostileXML|TestXMLFailures|TestCharacters|TestOrder|TestTagsInXML|TestSignatureS3", "./cmd/resource")
		})
	}
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
		{name: "list", change: find("list"), has: "CodeServiceInternalError, handler.CodeGeneralServiceException) { // the response may be lost", hasNot: "checked"},
		{name: "none", change: find("none"), has: "another call may make a second resource", hasNot: "checked"},
		{name: "no tags", change: drop("tags"), has: "chain.Stabilize", hasNot: "retag"},
		{name: "no wait", change: drop("wait"), has: "return live, err == nil, err", hasNot: "gone("},
		{name: "only deleted values", change: func(b map[string]any) {
			b["wait"] = map[string]any{"property": "Status", "gone": []string{"DELETED"}, "delay": 1}
		}, has: `case "DELETED"`, hasNot: "switch status"},
		{name: "no success", change: func(b map[string]any) { delete(inside(b, "wait"), "success") }, has: `case "CREATING"`, hasNot: `case "ACTIVE"`},
		{name: "no list", change: drop("list"), has: "api.Read", hasNot: "func List"},
		{name: "no update", change: drop("update"), has: "retag", hasNot: "api.Update"},
		{name: "several", change: func(b map[string]any) { inside(b, "read")["items"] = []string{"things"} }, has: "api.Read", hasNot: "api.Create.sends"},
		{name: "set later", change: func(b map[string]any) { inside(b, "create")["send"] = []any{} }, has: "PATCH /things/{id} sets what create does not.", hasNot: "api.Delete, live"},
		{name: "revision", change: func(b map[string]any) {
			etag := map[string]any{"property": "Size", "in": "header", "at": []string{"ETag"}, "shape": map[string]any{"kind": "string"}, "live": true}
			inside(b, "read")["receive"], inside(b, "delete")["send"] = []any{etag}, []any{etag}
		}, has: "c.call(ctx, api.Delete, live)", hasNot: "api.Delete, desired"},
		{name: "hosts", change: func(b map[string]any) { inside(b, "read")["host"] = "{Id}." }, has: "api.Read", hasNot: "api.Create.sends"},
		{name: "restXml", change: func(b map[string]any) { b["protocol"] = "restXml" }, has: "api.Read", hasNot: "api.Create.sends"},
		{name: "awsQuery without tags and list", change: func(b map[string]any) { b["protocol"] = "awsQuery"; delete(b, "tags"); delete(b, "list") }, has: "api.Read", hasNot: "func List"},
	} {
		s := thingSchema
		if strings.Contains(c.hasNot, "func List") {
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
