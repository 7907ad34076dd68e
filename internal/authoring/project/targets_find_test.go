package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindTargets: the type of a schema is that of its top level, wherever the schema names other types.
func TestFindTargets(t *testing.T) {
	dir := t.TempDir()
	const schemaOf = `{"description": "d", "properties": {"Id": {"type": "string"}, "KeyId": {"type": "string", "relationshipRef": {"typeName": "OTHER", "propertyPath": "/properties/Id"}}}, "typeName": "NAME", "primaryIdentifier": ["/properties/Id"], "additionalProperties": false}`
	for file, names := range map[string][2]string{
		"a.json": {"AWS::KMS::Key", "AWS::DynamoDB::Table"},
		"b.json": {"AWS::DynamoDB::Table", "AWS::Kinesis::Stream"}, // longer than that of the table
		"c.json": {"AWS::KMS::Key", "AWS::SNS::Topic"},
	} {
		text := strings.NewReplacer("OTHER", names[0], "NAME", names[1]).Replace(schemaOf)
		if file == "b.json" {
			text = strings.Replace(text, `"d"`, `"a longer description"`, 1)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, problems, err := FindTargets(t.Context(), dir, []string{"AWS::DynamoDB::Table", "AWS::Kinesis::Stream", "AWS::KMS::Key"})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var names []string
	for _, file := range found {
		names = append(names, file.Path)
	}
	if got := strings.Join(names, " "); got != "target-schemas/aws-dynamodb-table.json target-schemas/aws-kinesis-stream.json" {
		t.Error(got)
	}
}
