package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// TypeConfigurationFile is where the type configuration is looked for when no file is
// named: under the user's home folder.
func TypeConfigurationFile(home string) string {
	return filepath.Join(home, ".cfn-cli", "typeConfiguration.json")
}

// TypeConfiguration reads the configuration that handlers of the kind receive. label is
// what messages call the file. A file that does not exist is not a configuration: nil.
//
// For a resource type it is the whole document; for a hook the member
// CloudFormationConfiguration.HookConfiguration.Properties.
func TypeConfiguration(path, label string, kind schema.Kind) (*document.Value, diag.List, error) {
	data, err := document.ReadFile(path, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the type configuration: %w", err)
	}
	root, problems := document.ParseJSON(label, data, document.Limits{})
	if problems.HasErrors() {
		return nil, problems, nil
	}
	wrong := func(v *document.Value, pointer document.Pointer, message, hint string) (*document.Value, diag.List, error) {
		problems.Add(diag.Problem{ID: "project/type-configuration", At: v.At, Pointer: pointer.String(), Message: message, Hint: hint})
		return nil, problems, nil
	}
	if root.Kind != document.Object {
		return wrong(root, nil, fmt.Sprintf("the type configuration is of type %s, not an object", root.Kind), "")
	}
	if kind != schema.Hook {
		return root, problems, nil
	}
	v := root
	var at document.Pointer
	for _, key := range []string{"CloudFormationConfiguration", "HookConfiguration", "Properties"} {
		next := v.Get(key)
		if next == nil || next.Kind != document.Object {
			return wrong(v, at, fmt.Sprintf("the configuration of a hook has an object %q here", key),
				`write {"CloudFormationConfiguration": {"HookConfiguration": {"Properties": {…}}}}`)
		}
		v, at = next, at.Append(key)
	}
	return v, problems, nil
}
