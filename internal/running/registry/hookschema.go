package registry

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// hookConfiguration is the configuration schema that every hook has: what the service wants
// to know (which stacks and targets the hook is for, what its failure does), around the
// hook's own properties. Two values in it are filled in.
//
//go:embed hookschema.json
var hookConfiguration string

// hookProperties is the place of the hook's schema in the schema of its configuration.
const hookProperties = "/properties/CloudFormationConfiguration/properties/HookConfiguration/properties/Properties"

// describedConfigurationSchema is the schema of a type's configuration as DescribeType
// answers it: own is the type's, "" for none. Hooks always have one.
func describedConfigurationSchema(kind schema.Kind, typeName, own, region string) (string, error) {
	if kind != schema.Hook {
		return own, nil
	}
	properties, err := hookOwn(typeName, own)
	if err != nil {
		return "", err
	}
	id, err := json.Marshal(fmt.Sprintf("https://schema.cloudformation.%s.amazonaws.com/cloudformation.hook.configuration.schema.v1.json", region))
	if err != nil {
		return "", fmt.Errorf("name the configuration schema of %s: %w", typeName, err)
	}
	return strings.NewReplacer(`"@PROPERTIES@"`, string(properties), `"@ID@"`, string(id)).Replace(hookConfiguration), nil
}

// acceptedHookSettings makes of the schema that DescribeType returns the one that configurations
// must satisfy: the service takes newer members than it describes, one of which replaces
// TargetStacks, and wildcards in the names of stacks.
var acceptedHookSettings = strings.NewReplacer(
	`"TargetStacks": {
              "default"`, `"HookInvocationStatus": {"type": "string", "enum": ["ENABLED", "DISABLED"]},
            "TargetOperations": {"type": "array", "uniqueItems": true, "maxItems": 4, "items": {"type": "string", "enum": ["STACK", "RESOURCE", "CHANGE_SET", "CLOUD_CONTROL"]}},
            "EncryptionConfiguration": {"type": "object", "additionalProperties": false, "properties": {"KmsKeyId": {"type": "string", "minLength": 1, "maxLength": 2048}}},
            "TargetStacks": {
              "default"`,
	`"required": [
            "TargetStacks",
            "FailureMode"
          ]`, `"required": ["FailureMode"], "anyOf": [{"required": ["TargetStacks"]}, {"required": ["HookInvocationStatus"]}]`,
	`"^[a-zA-Z][-a-zA-Z0-9]*$"`, `"^[a-zA-Z*?][-a-zA-Z0-9*?]*$"`,
	`"CREATE",
        "UPDATE",
        "DELETE"
      ]`, `"CREATE", "UPDATE", "DELETE", "Create", "Update", "Delete"]`,
)

// hookOwn is the part that describes the hook's own properties. Its references are adapted to
// the new place of its definitions.
func hookOwn(typeName, own string) ([]byte, error) {
	part := map[string]any{"properties": map[string]any{}}
	if own != "" {
		decoder := json.NewDecoder(strings.NewReader(own))
		decoder.UseNumber()
		if err := decoder.Decode(&part); err != nil {
			return nil, fmt.Errorf("read the configuration schema of %s: %w", typeName, err)
		}
	}
	moveReferences(part)
	for key, value := range map[string]any{
		"typeName": typeName, "description": "Hook runtime properties", "type": "object", "definitions": map[string]any{}, "additionalProperties": false,
	} {
		if _, there := part[key]; !there {
			part[key] = value
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(part); err != nil {
		return nil, fmt.Errorf("write the configuration schema of %s: %w", typeName, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// moveReferences adapts the references inside of a document to its place in another one.
func moveReferences(node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if text, ok := value.(string); ok && key == "$ref" {
				if rest, local := strings.CutPrefix(text, "#"); local {
					node[key] = "#" + hookProperties + rest
				}
				continue
			}
			moveReferences(value)
		}
	case []any:
		for _, value := range node {
			moveReferences(value)
		}
	}
}
