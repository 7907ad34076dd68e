package cli

import (
	"archive/zip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSchemaSet finds schemas by the names of files, by their contents, and by the index of a region.
func TestSchemaSet(t *testing.T) {
	const queue, topic = `{"description": "\"typeName\": \"No\"", "typeName": "AWS::SQS::Queue"}`, `{"x": [{"typeName": "AWS::No::No"}], "typeName" : "AWS::SNS::Topic"}`
	layouts := map[string]map[string]string{
		"files named after types": {"aws-sqs-queue.json": queue, "sub/aws-sns-topic.json": topic, "readme.md": "x"},
		"other names":             {"a.json": queue, "b.JSON": topic, "c.json": "[]", "d.json": "no json", "e.json": `{"typeName`},
		"an index of each region": {
			"providers/us-east-1.json": `{"AWS::SQS::Queue": "f00", "AWS::SNS::Topic": "ba4", "AWS::Gone::Gone": "0"}`,
			"providers/eu-west-1.json": `{"AWS::SQS::Queue": "0"}`, "resources/f00.json": queue, "resources/ba4.json": topic,
		},
	}
	for name, files := range layouts {
		dir := t.TempDir()
		archive := filepath.Join(t.TempDir(), "schemas.ZIP")
		out, err := os.Create(archive)
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(out)
		for file, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			entry, err := w.Create(file)
			if err == nil {
				_, err = entry.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, archive} {
			set, err := openSchemaSet(t.Context(), path, "schemas", "us-east-1")
			if err != nil {
				t.Fatal(err)
			}
			for typeName, want := range map[string]string{"AWS::SQS::Queue": queue, "AWS::SNS::Topic": topic, "AWS::No::No": "", "No": ""} {
				if text, err := set.schema(t.Context(), typeName); err != nil || text != want {
					t.Errorf("%s: %s is %q, %v", name, typeName, text, err)
				}
			}
			if index, err := set.indexed(t.Context()); err != nil || strings.Join(slices.Sorted(maps.Keys(index)), " ") != "AWS::SNS::Topic AWS::SQS::Queue" {
				t.Errorf("%s: the types are %v, %v", name, index, err)
			}
			set.close()
		}
	}
	broken := filepath.Join(t.TempDir(), "broken.zip")
	if err := os.WriteFile(broken, []byte("PK"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSchemaSet(t.Context(), broken, "broken.zip", ""); err == nil || !strings.HasPrefix(err.Error(), "broken.zip: ") {
		t.Errorf("a broken archive: %v", err)
	}
}
