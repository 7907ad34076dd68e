package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/lazyregexp"
	"github.com/formwork-dev/formwork/internal/states"
)

// stateMachines are AWS::StepFunctions::StateMachine, identified by their ARN.
type stateMachines struct{}

func (stateMachines) identifier(c *call) (string, error) {
	name := cmp.Or(c.text("StateMachineName"), c.generated(c.stackName(80), mixedCase))
	if t := c.text("StateMachineType"); t != "" && t != "STANDARD" {
		return "", invalid(fmt.Sprintf("State machines of type %s are not supported by this server.", t))
	}
	return states.MachineARN(c.request.Caller.Place, name), c.unsupported("DefinitionS3Location", "EncryptionConfiguration")
}

// machine is the state machine that is desired.
func (stateMachines) machine(c *call, identifier string) (states.Machine, error) {
	text, err := definitionOf(c)
	if err != nil {
		return states.Machine{}, err
	}
	name := identifier[strings.LastIndex(identifier, ":")+1:]
	model := map[string]any{"StateMachineName": name, "StateMachineType": "STANDARD", "Name": name, "Arn": identifier}
	for _, property := range []string{"RoleArn", "LoggingConfiguration", "TracingConfiguration"} {
		if c.desired[property] != nil {
			model[property] = c.desired[property]
		}
	}
	if tags := c.tags(); len(tags) > 0 {
		model["Tags"] = tagList(tags)
	}
	kept, err := json.Marshal(model)
	return states.Machine{Name: name, Definition: text, RoleARN: c.text("RoleArn"), Model: string(kept)}, err
}

var substitution = lazyregexp.New(`\$\{[A-Za-z0-9_]+\}`)

// definitionOf is the definition that a template gives as a text or as an object.
func definitionOf(c *call) (string, error) {
	text, object := c.text("DefinitionString"), c.desired["Definition"]
	switch {
	case text != "" && object != nil:
		return "", invalid("Property validation failure: [Only one of DefinitionString and Definition can be specified]")
	case text == "" && object == nil:
		return "", invalid("Property validation failure: [One of DefinitionString and Definition must be specified]")
	case text == "":
		written, err := json.Marshal(object)
		if err != nil {
			return "", err
		}
		text = string(written)
	}
	values := anyMapOf(c.desired["DefinitionSubstitutions"])
	return substitution.ReplaceAllStringFunc(text, func(key string) string {
		if value, ok := values[key[2:len(key)-1]]; ok {
			return fmt.Sprint(value)
		}
		return key
	}), nil
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
	if _, err := s.identifier(c); err != nil {
		return err
	}
	m, err := s.machine(c, c.request.Identifier)
	if err != nil {
		return err
	}
	return c.types.config.StateMachines.Update(c.ctx, c.request.Caller.Place, m)
}

func (stateMachines) remove(c *call) error {
	return c.types.config.StateMachines.Delete(c.ctx, c.request.Caller.Place, machineName(c))
}
