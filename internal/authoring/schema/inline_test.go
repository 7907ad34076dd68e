package schema_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openRegistry(t *testing.T, folders ...string) *schema.Registry {
	t.Helper()
	r, err := schema.OpenRegistry(document.Limits{}, folders...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func errorsOf(problems diag.List) []string {
	var out []string
	for _, p := range problems {
		if p.Severity == diag.Error {
			out = append(out, p.ID+": "+p.Message)
		}
	}
	return out
}

func TestYAMLSchema(t *testing.T) {
	const text = `typeName: Initech::TPS::Report
description: A report.
additionalProperties: false
tagging: {taggable: false}
definitions:
  Text: &text {type: string, maxLength: 0x10}
properties:
  Id: *text
  Size: {type: integr}
  Memo: {$ref: 'common.yml#/Memo'}
readOnlyProperties: [/properties/Id]
primaryIdentifier: [/properties/Id]
`
	dir := writeFiles(t, map[string]string{"common.yml": "Memo: {type: boolean}"})
	s, problems := schema.Load(filepath.Join(dir, "report.yaml"), []byte(text), schema.Config{})
	if got := errorsOf(problems); len(got) != 1 || problems[0].At.Start.Line != 9 || problems[0].At.Start.Column != 16 {
		t.Errorf("problems: %v", problems)
	}
	if found := s.Property(document.Pointer{"Id"}); string(found.Get("maxLength").AppendJSON(nil)) != "16" {
		t.Errorf("Id is %s", found.AppendJSON(nil))
	}
	if found := s.Property(document.Pointer{"Memo"}); found.Get("type").Text != "boolean" {
		t.Errorf("Memo is %s", found.AppendJSON(nil))
	}
}

func TestRegistry(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"aws-ec2-vpc.json": `{"$id":"https://schema.example.com/aws-ec2-vpc.json","typeName":"AWS::EC2::VPC","properties":{"Id":{"type":"string"}}}`,
		"queue.json":       `{"typeName":"AWS::SQS::Queue","properties":{"Id":{"type":"integer"}}}`,
		"other.json":       `{"$id":"https://schema.example.com/types/common.json#","definitions":{"A":{"$ref":"aws-ec2-vpc.json#/properties/Id"},"B":{"$ref":"../aws-ec2-vpc.json#/properties/Id"}}}`,
		"plain.yaml":       "properties: {Id: {type: boolean}}",
		"broken.json":      `{"properties":`,
		"notes.txt":        "no schema",
	})
	second := writeFiles(t, map[string]string{"queue.json": `{"properties":{"Id":{"type":"null"}}}`, "topic.json": `{"properties":{"Id":{"type":"number"}}}`})
	registry := openRegistry(t, dir, second)
	remote := func(string) ([]byte, error) { return nil, errors.New("asked the network") }
	for _, test := range []struct{ name, ref, id, want string }{
		{name: "by file", ref: "aws-ec2-vpc.json#/properties/Id", want: "string"},
		{name: "by file, relative to an $id", ref: "aws-ec2-vpc.json#/properties/Id", id: "https://schema.example.com/mine.json", want: "string"},
		{name: "by $id", ref: "https://schema.example.com/types/common.json#/definitions/B", want: "string"},
		{name: "by type", ref: "aws-sqs-queue.json#/properties/Id", want: "integer"},
		{name: "YAML", ref: "https://example.org/plain.yaml#/properties/Id", want: "boolean"},
		{name: "the first folder counts", ref: "queue.json#/properties/Id", want: "integer"},
		{name: "the second folder", ref: "topic.json#/properties/Id", want: "number"},
		{name: "of the same name, with another $id", ref: "https://elsewhere.example.com/aws-ec2-vpc.json#/properties/Id", want: "asked the network"},
		{name: "relative to a document of the registry", ref: "https://schema.example.com/types/common.json#/definitions/A", want: "asked the network"},
		{name: "broken", ref: "broken.json#/properties/Id", want: "broken.json:1:15: the document ends where a value should be"},
		{name: "nowhere", ref: "nowhere.json#/properties/Id", want: "file nowhere.json does not exist next to the schema"},
		{name: "no schema file", ref: "notes.txt", want: "file notes.txt does not exist next to the schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			more := ""
			if test.id != "" {
				more = `"$id":"` + test.id + `"`
			}
			text := resource(`"P":{"$ref":"`+test.ref+`"}`, more)
			s, problems := schema.Load(filepath.Join(t.TempDir(), "s.json"), []byte(text), schema.Config{Registry: registry, Remote: remote})
			got := strings.Join(errorsOf(problems), "|")
			if found := s.Property(document.Pointer{"P"}); found != nil && got == "" {
				got = found.Get("type").Text
			}
			if !strings.HasSuffix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRegistryFolders(t *testing.T) {
	empty := t.TempDir()
	for folder, want := range map[string]string{
		filepath.Join(empty, "none"): "no such file or directory",
		empty:                        "it has no files .json, .yaml or .yml",
	} {
		if _, err := schema.OpenRegistry(document.Limits{}, folder); err == nil || !strings.HasSuffix(err.Error(), want) || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v, want %s", folder, err, want)
		}
	}
}

// TestRegistryOfPublishedSchemas refers from many schemas at once to published ones.
func TestRegistryOfPublishedSchemas(t *testing.T) {
	registry := openRegistry(t, fixtures.Dir(t, "schemas/aws"))
	text := resource(`"P":{"$ref":"https://schema.cloudformation.us-east-1.amazonaws.com/aws-amazonmq-broker.json#/properties/StorageType"}`, "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, problems := schema.Load("s.json", []byte(text), schema.Config{Registry: registry})
			if got := errorsOf(problems); got != nil {
				t.Error(got)
			}
			if found := s.Property(document.Pointer{"P"}); found == nil || found.Get("type").Text != "string" {
				t.Error("not found")
			}
		})
	}
	group.Wait()
}

// TestJavaLibraryReferences holds the references of the Java library's tests against its
// verdicts: by the network's answers, and by a folder.
func TestJavaLibraryReferences(t *testing.T) {
	dir := fixtures.Dir(t, "schemas/java-library")
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index map[string]struct {
		Java   string
		Remote map[string]string
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	configs := func(remote map[string]string) map[string]schema.Config {
		return map[string]schema.Config{
			"remote": {Remote: func(url string) ([]byte, error) {
				if remote[url] == "" {
					return nil, errors.New("no such document")
				}
				return os.ReadFile(filepath.Join(dir, remote[url]))
			}},
			"registry": {Registry: openRegistry(t, dir)},
		}
	}
	tried := 0
	for name, want := range index {
		if len(want.Remote) == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for way, config := range configs(want.Remote) {
			tried++
			s, problems := schema.Load(filepath.Join(t.TempDir(), "s.json"), text, config)
			if accepted := !problems.HasErrors(); accepted != (want.Java == "accept") {
				t.Errorf("%s by %s: %v, the Java library's verdict is %s", name, way, problems, want.Java)
			}
			inlined, err := s.Inline()
			if (err == nil) != (want.Java == "accept") {
				t.Errorf("%s by %s: inlined with %v", name, way, err)
			}
			if err != nil {
				continue
			}
			for url := range want.Remote {
				if got := inlined.Lookup(document.Pointer{"remote", "schema0", "$comment"}); got == nil || got.Text != url {
					t.Errorf("%s: the comment is %s", name, got.AppendJSON(nil))
				}
			}
			checkInlined(t, inlined)
		}
	}
	if tried == 0 {
		t.Error("no schema was tried")
	}
}

// checkInlined loads an inlined schema where nothing is at hand that it could refer to.
func checkInlined(t *testing.T, inlined *document.Value) {
	t.Helper()
	_, problems := schema.Load("", inlined.AppendJSON(nil), schema.Config{Kind: schema.Resource})
	for _, p := range problems {
		if p.Severity == diag.Error && p.ID != "schema/remote" {
			t.Errorf("the inlined schema: %s [%s]\n%s", p.Message, p.ID, inlined.AppendJSON(nil))
		}
	}
}

func TestInline(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.json": `{"$comment":"old","$id":"https://example.com/a.json","definitions":{
			"X1":{"type":"object","properties":{"Next":{"$ref":"#/definitions/X1"},"Other":{"$ref":"b.json#/definitions/B"},"Home":{"$ref":"mine.json#/definitions/Own"}},"additionalProperties":false},
			"Unused":{"type":"array","items":{"$ref":"#/definitions/X1"},"default":[{"$ref":"#/data"}]}}}`,
		"b.yaml": "$id: https://example.com/b.json\ndefinitions: {B: {type: string}}\n",
	})
	text := resource(`"P":{"$ref":"a.json#/definitions/X1"},"Q":{"$ref":"resource-schema.json#/definitions/Own"},"R":{"type":"object","properties":{"b":{"$ref":"b.json#/definitions/B"}},"additionalProperties":false}`,
		`"$id":"https://example.com/mine.json","definitions":{"Own":{"type":"object","properties":{"Self":{"$ref":"#/definitions/Own"},"Chain":{"$ref":"#/properties/P"}},"default":{"$ref":"nowhere.json"},"additionalProperties":false}}`)
	s, problems := schema.Load("mine.json", []byte(text), schema.Config{Registry: openRegistry(t, dir)})
	if got := errorsOf(problems); got != nil {
		t.Fatal(got)
	}
	inlined, err := s.Inline()
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/properties/P":                             `{"$ref":"#/remote/schema0/definitions/X1"}`,
		"/properties/Q":                             `{"$ref":"#/definitions/Own"}`,
		"/properties/R/properties/b":                `{"$ref":"#/remote/schema1/definitions/B"}`,
		"/definitions/Own/properties/Self":          `{"$ref":"#/definitions/Own"}`,
		"/definitions/Own/properties/Chain":         `{"$ref":"#/properties/P"}`,
		"/definitions/Own/default":                  `{"$ref":"nowhere.json"}`,
		"/$id":                                      `"https://example.com/mine.json"`,
		"/remote/schema0/$comment":                  `"https://example.com/a.json"`,
		"/remote/schema0/definitions/Unused":        `{"type":"array","items":{"$ref":"#/remote/schema0/definitions/X1"},"default":[{"$ref":"#/data"}]}`,
		"/remote/schema1":                           `{"$comment":"https://example.com/b.json","definitions":{"B":{"type":"string"}}}`,
		"/remote/schema0/definitions/X1/properties": `{"Next":{"$ref":"#/remote/schema0/definitions/X1"},"Other":{"$ref":"#/remote/schema1/definitions/B"},"Home":{"$ref":"#/definitions/Own"}}`,
	} {
		p, _ := document.ParsePointer(pointer)
		if got := string(inlined.Lookup(p).AppendJSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", pointer, got, want)
		}
	}
	if inlined.Lookup(document.Pointer{"remote", "schema0", "$id"}) != nil {
		t.Error("an embedded document keeps its $id")
	}
	if got := string(s.Root.AppendJSON(nil)); strings.Contains(got, "remote/schema") {
		t.Errorf("the schema itself was changed: %s", got)
	}
	_, problems = schema.Load("", inlined.AppendJSON(nil), schema.Config{})
	for _, p := range problems { // nothing leads to "default", and b.json is there twice
		if p.Severity == diag.Error && p.ID != "schema/remote" {
			t.Errorf("%s %s", p.ID, p.Message)
		}
	}
}

func TestInlineRefuses(t *testing.T) {
	dir := writeFiles(t, map[string]string{"true.json": "true"})
	for _, test := range []struct{ ref, more, want string }{
		{ref: "#/definitions/None", want: `inline the references of s.json: the reference "#/definitions/None": there is nothing at #/definitions/None`},
		{ref: "#", more: `"remote":{}`, want: `inline the references of s.json: the key "remote" is reserved for CloudFormation`},
		{ref: "true.json", want: `inline the references of s.json: the reference "true.json": true.json is a boolean, not an object`},
	} {
		s, _ := schema.Load("s.json", []byte(resource(`"P":{"$ref":"`+test.ref+`"}`, test.more)), schema.Config{Registry: openRegistry(t, dir)})
		if _, err := s.Inline(); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.ref, err, test.want)
		}
	}
}

// FuzzInline looks for schemas that judge differently once they are inlined.
func FuzzInline(f *testing.F) {
	for _, ref := range []string{"#", "#/properties/P", "a.json#/definitions/A", "https://example.com/b.json", "a.json#x", "#/definitions/%41", "https://example.com/a.json#/definitions/A~1%5E"} {
		f.Add(ref, `{"definitions":{"A":{"$ref":"#/definitions/B","items":[{"$id":"c.json","$ref":"#"}]},"B":{"$id":"#x","items":{"$ref":"b.json"}},"A/^":{"type":"string"}}}`)
		f.Add(ref, `{"$id":"https://example.com/z.json","items":{"$id":"#x","type":"string"},"properties":{"p":{"$id":"b.json","items":{"$ref":"#/x","x":1},"enum":[{"$ref":"#"}]}}}`)
	}
	f.Fuzz(func(t *testing.T, ref, foreign string) {
		quoted, err := json.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		text := resource(`"P":{"$ref":`+string(quoted)+`},"Q":{"$ref":"https://example.com/a.json"}`, `"definitions":{"A":{"type":"string"}}`)
		limits := document.Limits{Bytes: 4096, Depth: 16}
		s, problems := schema.Load("s.json", []byte(text), schema.Config{Limits: limits, Remote: func(string) ([]byte, error) { return []byte(foreign), nil }})
		if s == nil {
			return
		}
		inlined, err := s.Inline()
		if err != nil {
			if got := errorsOf(problems); got == nil && !strings.HasSuffix(err.Error(), "not an object") {
				t.Fatalf("%v, and Load found nothing", err)
			}
			return
		}
		again, _ := schema.Load("", inlined.AppendJSON(nil), schema.Config{Kind: schema.Resource, Limits: document.Limits{Depth: 64}})
		if again == nil {
			t.Fatalf("cannot be read again: %s", inlined.AppendJSON(nil))
		}
		for _, value := range []any{"text", true, json.Number("5"), []any{"x", map[string]any{}}, map[string]any{"p": []any{"y"}, "P": true}} {
			model := map[string]any{"P": value, "Q": value}
			want, got := s.Check(model, schema.CheckConfig{}), again.Check(model, schema.CheckConfig{})
			if len(want) != len(got) {
				t.Fatalf("%q, %s: found %v, inlined %v\n%s", ref, foreign, want, got, inlined.AppendJSON(nil))
			}
		}
	})
}
