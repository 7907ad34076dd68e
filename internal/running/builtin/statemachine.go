package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/services/states"
)

// stateMachines are AWS::StepFunctions::StateMachine, identified by their ARN.
type stateMachines struct{}

func (stateMachines) identifier(c *call) (string, error) {
	return states.MachineARN(c.request.Caller.Place, cmp.Or(c.text("StateMachineName"), c.generated(c.stackName(80), mixedCase))), nil
}

// definitionProperties are the properties that the definition of a state machine is made of. The model has
// it as a text.
var definitionProperties = []string{"DefinitionString", "Definition", "DefinitionS3Location", "DefinitionSubstitutions"}

// machine is the state machine that is desired.
func (stateMachines) machine(c *call, identifier string) (states.Machine, error) {
	text, err := definitionOf(c)
	if err != nil {
		return states.Machine{}, err
	}
	name := identifier[strings.LastIndex(identifier, ":")+1:]
	model := maps.Clone(c.desired)
	maps.DeleteFunc(model, func(property string, _ any) bool { return slices.Contains(definitionProperties, property) })
	kind := cmp.Or(c.text("StateMachineType"), "STANDARD")
	model["StateMachineName"], model["StateMachineType"], model["Name"], model["Arn"] = name, kind, name, identifier
	model["StateMachineRevisionId"] = uuid.NewSHA1(uuid.Nil, []byte(c.text("RoleArn")+text)).String()
	if tags := c.tags(); len(tags) > 0 {
		model["Tags"] = tagList(tags)
	}
	kept, err := json.Marshal(model)
	return states.Machine{Name: name, Definition: text, Type: kind, RoleARN: c.text("RoleArn"), Model: string(kept)}, err
}

var substitution = lazyregexp.New(`\$\{[A-Za-z0-9_]+\}`)

// definitionOf is the definition that a template gives as a text, as an object or in a bucket.
func definitionOf(c *call) (string, error) {
	given := 0
	for _, property := range definitionProperties[:3] {
		if c.desired[property] != nil {
			given++
		}
	}
	if given != 1 {
		return "", invalid("Property validation failure: [Exactly one of DefinitionString, Definition and DefinitionS3Location must be specified]")
	}
	text := c.text("DefinitionString")
	switch {
	case c.desired["Definition"] != nil:
		written, err := json.Marshal(c.desired["Definition"])
		if err != nil {
			return "", err
		}
		text = string(written)
	case c.desired["DefinitionS3Location"] != nil:
		stored, err := storedDefinition(c, anyMapOf(c.desired["DefinitionS3Location"]))
		if err != nil {
			return "", err
		}
		text = stored
	}
	values := anyMapOf(c.desired["DefinitionSubstitutions"])
	return substitution.ReplaceAllStringFunc(text, func(key string) string {
		if value, ok := values[key[2:len(key)-1]]; ok {
			return fmt.Sprint(value)
		}
		return key
	}), nil
}

// storedDefinition reads a definition in JSON or YAML from a bucket.
func storedDefinition(c *call, location map[string]any) (string, error) {
	bucket, key := fmt.Sprint(location["Bucket"]), fmt.Sprint(location["Key"])
	version, _ := location["Version"].(string)
	object, err := c.types.config.Objects(c.ctx, c.request.Caller, bucket, key, version)
	if err != nil {
		if text, ok := words(err); ok {
			return "", invalid(fmt.Sprintf("Error occurred while reading the definition s3://%s/%s. %s", bucket, key, text))
		}
		return "", err
	}
	defer func() { _ = object.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(object, states.MaxDefinition+1))
	if err != nil || len(data) > 0 && data[0] == '{' || len(data) > states.MaxDefinition {
		return string(data), err
	}
	root, problems := document.Parse(key, data, document.Limits{})
	if root == nil || problems.HasErrors() {
		return "", invalid(fmt.Sprintf("The definition s3://%s/%s is neither JSON nor YAML.", bucket, key))
	}
	written, err := json.Marshal(root.Any())
	return string(written), err
}

func (s stateMachines) create(c *call) (string, error) {
	identifier := c.request.Identifier
	var err error
	if identifier == "" {
		if identifier, err = s.identifier(c); err != nil {
			return "", err
		}
	}
	m, err := s.machine(c, identifier)
	if err != nil {
		return "", err
	}
	return identifier, c.types.config.StateMachines.Create(c.ctx, c.request.Caller.Place, m)
}

// machineName is the name in the identifier of the resource.
func machineName(c *call) string {
	name, _ := strings.CutPrefix(c.request.Identifier, states.MachineARN(c.request.Caller.Place, ""))
	return name
}

func (stateMachines) read(c *call) (map[string]any, error) {
	found, err := c.types.config.StateMachines.Get(c.ctx, c.request.Caller.Place, machineName(c))
	if err != nil {
		return nil, err
	}
	var model map[string]any
	if err := json.Unmarshal([]byte(found.Model), &model); err != nil {
		return nil, fmt.Errorf("read the model of a state machine: %w", err)
	}
	model["DefinitionString"] = found.Definition
	return model, nil
}

func (s stateMachines) update(c *call) error {
	m, err := s.machine(c, c.request.Identifier)
	if err != nil {
		return err
	}
	return c.types.config.StateMachines.Update(c.ctx, c.request.Caller.Place, m)
}

func (stateMachines) remove(c *call) error {
	return c.types.config.StateMachines.Delete(c.ctx, c.request.Caller.Place, machineName(c))
}
