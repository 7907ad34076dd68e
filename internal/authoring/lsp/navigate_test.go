package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func TestHover(t *testing.T) {
	const of, in, over = "acme-store-bucket.json", "inputs/inputs_1_create.json", "overrides.json"
	tests := []struct {
		name, file, text string
		want             []string // parts of the answer; none for no answer
	}{
		{"a keyword at the top", of, replaced(`"primaryIdentifier"`, `"prim|aryIdentifier"`), []string{"**primaryIdentifier** — array", "name one resource"}},
		{"a keyword of a property", of, replaced(`"insertionOrder"`, `"insert|ionOrder"`), []string{"**insertionOrder** — one of true, false"}},
		{"a value of a keyword", of, replaced(`"insertionOrder": false`, `"insertionOrder": |false`), []string{"**insertionOrder**"}},
		{"a keyword of a handler", of, replaced(`{"permissions": ["store:List"]}`, `{"perm|issions": ["store:List"]}`), []string{"IAM actions"}},
		{"a handler", of, replaced(`"list":`, `"li|st":`), []string{"page by page"}},
		{"a property", of, replaced(`"Name": {`, `"Na|me": {`), []string{"**`/properties/Name`** — string", "*required, create-only*", "- minLength: `3`", "- pattern: `\"^[a-z]+$\"`"}},
		{"a property that the service makes", of, replaced(`"Id": {`, `"I|d": {`), []string{"*primary identifier, read-only*", "Made by the service."}},
		{"a secret", of, replaced(`"Secret": {`, `"Sec|ret": {`), []string{"write-only"}},
		{"tags", of, replaced(`"Tags": {`, `"Tag|s": {`), []string{"array of object", "holds the tags", "- insertionOrder: `false`"}},
		{"a path", of, replaced(`["/properties/Secret"]`, `["/prop|erties/Tags/*/Key"]`), []string{"**`/properties/Tags/*/Key`** — string", `The name of the \*tag\*.`}},
		{"a key of a transform", of, replaced(`{"/properties/Class"`, `{"/propert|ies/Class"`), []string{"**`/properties/Class`** — string", "transformed", "- enum: `[\"STANDARD\",\"COLD\"]`"}},
		{"a required name", of, replaced(`"required": ["Name"]`, `"required": ["Na|me"]`), []string{"**`/properties/Name`**"}},
		{"a reference", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "#/defin|itions/Tag"}`), []string{"**`/definitions/Tag`** — object", "used in 1 place"}},
		{"a definition", of, replaced(`"Node": {`, `"No|de": {`), []string{"**`/definitions/Node`**", "used in 2 places"}},
		{"a member of a definition", of, replaced(`"Key": {"type"`, `"Ke|y": {"type"`), []string{"**`Key`** — string", "*required*"}},
		{"a broken document", of, replaced(`"Name": {"type": "string", `, `"Na|me": {"type": "string", , "x`), []string{"**`/properties/Name`** — string"}},
		{"a problem", of, replaced(`"minLength": 3`, `"minLe|nth": 3`), []string{"schema/unknown-key", "The registry rejects"}},
		{"nothing", of, replaced(`  "required"`, ` | "required"`), nil},

		{"an input", in, `{"Na|me": "n"}`, []string{"**`/properties/Name`** — string", "*required, create-only*", "`acme-store-bucket.json`"}},
		{"a value of an input", in, `{"Class": "CO|LD"}`, []string{"STANDARD"}},
		{"an export", in, `{"Name": "{{My|Name}}"}`, []string{"CFN_EXPORT_Name"}},
		{"inside of items", in, `{"Tags": [{"Ke|y": ""}]}`, []string{"**`/properties/Tags/*/Key`**"}},
		{"no property", in, `{"Na|m": ""}`, nil},
		{"an operation", over, `{"CRE|ATE": {}}`, []string{"create requests"}},
		{"a pointer", over, `{"CREATE": {"/Tags/0/K|ey": 1}}`, []string{"**`/properties/Tags/*/Key`**"}},
		{"another document", "package.json", `{"na|me": "x", "properties": {}}`, nil},
	}
	c := connect(t, withProject(map[string]string{of: bucket}), everything)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, offset := cut(t, test.text)
			uri := "file:///work/" + test.file
			c.opens(uri, text)
			raw, err := c.call("textDocument/hover", at(uri, text, offset))
			c.notify("textDocument/didClose", `{"textDocument": {"uri": `+quote(uri)+`}}`)
			got := decode[*hover](t, raw, err)
			if got == nil || test.want == nil {
				if (got == nil) != (test.want == nil) {
					t.Fatalf("got %+v, want %q", got, test.want)
				}
				return
			}
			for _, part := range test.want {
				if !strings.Contains(got.Contents.Value, part) {
					t.Errorf("it lacks %q:\n%s", part, got.Contents.Value)
				}
			}
		})
	}
}

func TestDefinition(t *testing.T) {
	const of, in, over = "acme-store-bucket.json", "inputs/inputs_1_create.json", "overrides.json"
	files := map[string]string{of: bucket, "shared.json": `{"definitions": {"Arn": {"type": "string"}}}`}
	tests := []struct{ name, file, text, want string }{
		{"a reference", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "#/defin|itions/Tag"}`), `"Tag": {"type": "object"`},
		{"a reference to a file", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "shared.json#/defi|nitions/Arn"}`), `shared.json "Arn": {`},
		{"a reference to the network", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "https://example.com/x.json#/defi|nitions/Arn"}`), ""},
		{"a reference to nothing", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "#/defin|itions/Gone"}`), ""},
		{"a path", of, replaced(`["/properties/Secret"]`, `["/properties/Sec|ret"]`), `"Secret": {`},
		{"a path through a reference", of, replaced(`["/properties/Secret"]`, `["/properties/Tags/*/Va|lue"]`), `"Value": {`},
		{"a key of a transform", of, replaced(`{"/properties/Class"`, `{"/propert|ies/Class"`), `"Class": {`},
		{"the property of tags", of, replaced(`"tagProperty": "/properties/Tags"`, `"tagProperty": "/prop|erties/Tags"`), `"Tags": {`},
		{"a required name", of, replaced(`"required": ["Key"]`, `"required": ["K|ey"]`), `"Key": {`},
		{"a plain text", of, replaced(`"A bucket."`, `"A b|ucket."`), ""},
		{"an input", in, `{"Cla|ss": "COLD"}`, of + ` "Class": {`},
		{"an input inside of items", in, `{"Tags": [{"Value": "|x"}]}`, of + ` "Value": {`},
		{"a pointer", over, `{"UPDATE": {"/Head/Next/La|bel": ""}}`, of + ` "Label": {`},
		{"a bare name", over, `{"UPDATE": {"Cla|ss": ""}}`, of + ` "Class": {`},
	}
	c := connect(t, withProject(files), everything)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, offset := cut(t, test.text)
			uri := "file:///work/" + test.file
			c.opens(uri, text)
			raw, err := c.call("textDocument/definition", at(uri, text, offset))
			c.notify("textDocument/didClose", `{"textDocument": {"uri": `+quote(uri)+`}}`)
			got := decode[*location](t, raw, err)
			if got == nil || test.want == "" {
				if got != nil || test.want != "" {
					t.Errorf("got %+v, want %q", got, test.want)
				}
				return
			}
			file, want := test.file, test.want
			if first, rest, found := strings.Cut(want, ` "`); found && strings.HasSuffix(first, ".json") {
				file, want, text = first, `"`+rest, files[first]
			}
			l := newLines(text)
			there := text[l.offset(got.Range.Start, utf16Encoding):]
			if got.URI != "file:///work/"+file || !strings.HasPrefix(there, want) {
				t.Errorf("it leads to %s: %.40s", got.URI, there)
			}
		})
	}
}

func TestOutline(t *testing.T) {
	c := connect(t, withProject(map[string]string{"acme-store-bucket.json": bucket}), everything)
	uri := "file:///work/acme-store-bucket.json"
	c.opens(uri, bucket)
	raw, err := c.call("textDocument/documentSymbol", `{"textDocument": {"uri": "`+uri+`"}}`)
	var b strings.Builder
	var print func(symbols []documentSymbol, indent string)
	print = func(symbols []documentSymbol, indent string) {
		for _, symbol := range symbols {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, symbol.Name, symbol.Detail)
			print(symbol.Children, indent+" ")
		}
	}
	print(decode[[]documentSymbol](t, raw, err), "")
	for _, want := range []string{
		"typeName: Acme::Store::Bucket\n", "definitions: \n Tag: object\n  Key: string\n", "  Next: → Node\n",
		" Id: string, primary identifier, read-only\n", " Tags: array of object, holds the tags\n", "required: 1 item\n", " create: \n  permissions: 1 item\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}

	flat := connect(t, Config{}, `{}`)
	flat.opens("untitled:Untitled-1", bucket)
	raw, err = flat.call("textDocument/documentSymbol", `{"textDocument": {"uri": "untitled:Untitled-1"}}`)
	symbols := decode[[]symbolInformation](t, raw, err)
	if len(symbols) < 40 || symbols[3].Name != "definitions" || symbols[5].ContainerName != "Tag" {
		t.Errorf("the flat outline is %+v", symbols)
	}
}

func TestQuickFixes(t *testing.T) {
	tests := []struct{ name, text, title, want string }{
		{"a keyword", replaced(`"minLength": 3`, `"minLenth": 3`), `replace with "minLength"`, bucket},
		{"a reference", replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "#/definitions/Tga"}`), `replace with "#/definitions/Tag"`, bucket},
		{"a path", replaced(`"primaryIdentifier": ["/properties/Id"]`, `"primaryIdentifier": ["/properties/id"]`), `replace with "/properties/Id"`, bucket},
		{"nothing to mend", bucket, "", ""},
		{"a comma too many", replaced(`["store:List"]`, `["store:List",]`), "remove the comma", bucket},
		{"a key that lacks", replaced("\n  \"additionalProperties\": false,", ""), `add "additionalProperties": false`, "{\n  \"additionalProperties\": false," + replaced("\n  \"additionalProperties\": false,", "")[1:]},
	}
	c := connect(t, Config{}, everything)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			uri := fmt.Sprintf("file:///work/%d.json", i)
			c.opens(uri, test.text)
			end, _ := json.Marshal(newLines(test.text).position(len(test.text), utf16Encoding))
			raw, err := c.call("textDocument/codeAction", fmt.Sprintf(`{"textDocument": {"uri": %q}, "range": {"start": {"line": 0, "character": 0}, "end": %s}, "context": {"diagnostics": []}}`, uri, end))
			actions := decode[[]codeAction](t, raw, err)
			if test.title == "" {
				if len(actions) > 0 {
					t.Errorf("there are actions: %+v", actions)
				}
				return
			}
			for _, action := range actions {
				if action.Title != test.title {
					continue
				}
				edit := action.Edit.Changes[uri][0]
				if got := newLines(test.text).replace(edit.Range, edit.NewText, utf16Encoding); got != test.want {
					t.Errorf("it leads to\n%s", got)
				}
				return
			}
			t.Errorf("there is no %q among %+v", test.title, actions)
		})
	}
}

// Every request is answered in the published schemas, whole and cut in the middle.
func TestPublishedSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no schemas: ", err)
	}
	s := newTestServer(t, Config{})
	for i := 0; i < len(files); i += 25 {
		data, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, place := range []string{`"/properties/`, `"type"`, `"$ref"`, `"handlers"`} {
			if offset := strings.LastIndex(text, place); offset >= 0 {
				s.answerAll(t, "file:///x.json", text, offset+2)
				s.answerAll(t, "file:///x.json", text[:offset+2], offset+2)
			}
		}
		d := s.newSnapshot("file:///x.json", nil, text)
		strict, _ := document.ParseJSON("", data, document.Limits{})
		sameTree(t, d.tree(), strict)
		for _, p := range d.analysis().schema().PrimaryIdentifier {
			if found, _ := d.shapeAt(nil).find(p.Tokens); found == nil {
				t.Errorf("%s: nothing is found at %s", filepath.Base(files[i]), p.Text)
			}
		}
	}
}
