package handler

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedFixtures finds test data beside the repository, as internal/foundation/fixtures
// of the main module does.
func sharedFixtures(t *testing.T, name string) string {
	t.Helper()
	folder, err := os.Getwd() // that of the package
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(folder, "..", "..")
	shared := os.Getenv("FORMWORK_SHARED")
	switch {
	case shared == "":
		shared = filepath.Join(root, "..", "shared")
	case !filepath.IsAbs(shared):
		shared = filepath.Join(root, shared)
	}
	dir := filepath.Join(shared, "fixtures", filepath.FromSlash(name))
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the fixtures %s are absent: set FORMWORK_SHARED to the folder that holds fixtures/", name)
		}
		t.Skipf("skipped: the fixtures %s are absent (FORMWORK_SHARED names the folder that holds fixtures/)", name)
	}
	return dir
}

// outOfScope lists the cases of the JSON Schema suite that the validator leaves
// out on purpose. A case that passes although it is listed fails the test.
var outOfScope = map[string]string{
	"refRemote":                                                                  "references lead nowhere but into the schema itself",
	"definitions":                                                                "needs the meta-schema of draft-07, which is a remote reference",
	"ref/remote ref, containing refs itself":                                     "a remote reference",
	"ref/Recursive references between schemas":                                   "$id",
	"ref/refs with relative uris and defs":                                       "$id",
	"ref/relative refs with absolute uris and defs":                              "$id",
	"ref/Location-independent identifier":                                        "$id",
	"ref/Reference an anchor with a non-relative URI":                            "$id",
	"ref/Location-independent identifier with base URI change in subschema":      "$id",
	"ref/simple URN base URI with $ref via the URN":                              "$id",
	"ref/URN base URI with URN and JSON pointer ref":                             "$id",
	"ref/URN base URI with URN and anchor ref":                                   "$id",
	"ref/$id must be resolved against nearest parent, not just immediate parent": "$id",
	"ref/$ref prevents a sibling $id from changing the base uri":                 "$id",
	"ref/ref to if":                        "$id",
	"ref/ref to then":                      "$id",
	"ref/ref to else":                      "$id",
	"ref/ref with absolute-path-reference": "$id",
}

func TestJSONSchemaSuite(t *testing.T) {
	dir := sharedFixtures(t, "json-schema-suite/tests/draft7")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	passed, skipped, used := 0, 0, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, group := range groups {
			for _, test := range group.Tests {
				name := base + "/" + group.Description + "/" + test.Description
				ok := suiteCase(group.Schema, test.Data, test.Valid)
				switch entry := suiteEntry(base, group.Description); {
				case ok:
					passed++
				case entry != "":
					skipped++
					used[entry] = true
				default:
					t.Errorf("%s", name)
				}
			}
		}
	}
	for entry := range outOfScope {
		if !used[entry] {
			t.Errorf("%s: no case fails any more; take the line out of outOfScope", entry)
		}
	}
	t.Logf("%d cases pass, %d are out of scope", passed, skipped)
}

// suiteEntry is the entry of outOfScope that covers a group of cases, or "".
func suiteEntry(file, group string) string {
	for _, entry := range []string{file, file + "/" + group} {
		if _, ok := outOfScope[entry]; ok {
			return entry
		}
	}
	return ""
}

func suiteCase(schema, data json.RawMessage, valid bool) bool {
	if schema[0] != '{' {
		schema = json.RawMessage(`{"allOf":[` + string(schema) + `]}`)
	}
	s, err := parseSchema(schema)
	if err != nil {
		return false
	}
	value, err := decodeTree(data)
	if err != nil {
		return false
	}
	return (len(validate(value, s.root, nil)) == 0) == valid
}

func TestRealSchemasCompile(t *testing.T) {
	dir := sharedFixtures(t, "schemas/aws")
	schemas, writeOnly, skipped := 0, 0, []string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"primaryIdentifier"`) {
			return err
		}
		s, err := parseSchema(text)
		if err != nil {
			skipped = append(skipped, filepath.Base(path)+": "+err.Error())
			return nil
		}
		schemas++
		writeOnly += len(s.writeOnly)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if schemas < 622 || len(skipped) > 0 {
		t.Errorf("%d schemas compile, and %d do not: %s", schemas, len(skipped), strings.Join(skipped, "\n"))
	}
	t.Logf("%d schemas with %d write-only paths", schemas, writeOnly)
}
