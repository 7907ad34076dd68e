package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

// secrets are AWS::SecretsManager::Secret, identified by their ARN.
type secrets struct{}

// identifier is the name of a new secret: its ARN ends in characters that the service adds.
func (secrets) identifier(c *call) (string, error) {
	if c.text("Name") == "" {
		c.desired["Name"] = c.generated(c.request.LogicalID, mixedCase)
	}
	return c.text("Name"), nil
}

func (s secrets) create(c *call) (string, error) {
	value, err := s.value(c)
	if err != nil {
		return "", err
	}
	in := &secretsmanager.CreateSecretInput{
		Name: new(c.text("Name")), Description: c.optional("Description"), KmsKeyId: c.optional("KmsKeyId"), SecretString: value,
		ClientRequestToken: &c.request.Token,
	}
	tags := c.tags()
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, smtypes.Tag{Key: &key, Value: new(tags[key])})
	}
	out, err := do[secretsmanager.CreateSecretOutput](c, "secretsmanager", "CreateSecret", in)
	if err != nil {
		// A create that was lost with its process made another random value.
		if c.desired["GenerateSecretString"] != nil && code(err) == "AlreadyExists" {
			model, readErr := s.read(c.at(c.text("Name")))
			if readErr != nil {
				return "", readErr
			}
			return model["Id"].(string), nil
		}
		return "", err
	}
	return *out.ARN, nil
}

// value is the text of the secret, nil if the template gives none.
func (secrets) value(c *call) (*string, error) {
	generate, ok := c.desired["GenerateSecretString"].(map[string]any)
	if !ok {
		return c.optional("SecretString"), nil
	}
	if c.desired["SecretString"] != nil {
		return nil, invalid("You can't specify both SecretString and GenerateSecretString.")
	}
	in := &secretsmanager.GetRandomPasswordInput{}
	if length, ok := number(generate["PasswordLength"]); ok {
		in.PasswordLength = new(int64(length))
	}
	if exclude, ok := generate["ExcludeCharacters"].(string); ok {
		in.ExcludeCharacters = &exclude
	}
	for name, target := range map[string]**bool{
		"ExcludeLowercase": &in.ExcludeLowercase, "ExcludeUppercase": &in.ExcludeUppercase, "ExcludeNumbers": &in.ExcludeNumbers,
		"ExcludePunctuation": &in.ExcludePunctuation, "IncludeSpace": &in.IncludeSpace, "RequireEachIncludedType": &in.RequireEachIncludedType,
	} {
		if set, ok := generate[name].(bool); ok {
			*target = &set
		}
	}
	out, err := do[secretsmanager.GetRandomPasswordOutput](c, "secretsmanager", "GetRandomPassword", in)
	if err != nil {
		return nil, err
	}
	template, hasTemplate := generate["SecretStringTemplate"].(string)
	key, hasKey := generate["GenerateStringKey"].(string)
	if !hasTemplate && !hasKey {
		return out.RandomPassword, nil
	}
	if !hasTemplate || !hasKey {
		return nil, invalid("SecretStringTemplate and GenerateStringKey must be specified together.")
	}
	var object map[string]any
	if json.Unmarshal([]byte(template), &object) != nil || object == nil {
		return nil, invalid("SecretStringTemplate must be a JSON object.")
	}
	object[key] = *out.RandomPassword
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return new(string(text)), nil
}

func (secrets) read(c *call) (map[string]any, error) {
	out, err := do[secretsmanager.DescribeSecretOutput](c, "secretsmanager", "DescribeSecret", &secretsmanager.DescribeSecretInput{SecretId: &c.request.Identifier})
	if err != nil {
		return nil, err
	}
	if out.DeletedDate != nil {
		return nil, &smtypes.ResourceNotFoundException{Message: new("The secret is scheduled for deletion.")}
	}
	model := map[string]any{}
	set(model, "Id", out.ARN)
	set(model, "Name", out.Name)
	set(model, "Description", out.Description)
	set(model, "KmsKeyId", out.KmsKeyId)
	if len(out.Tags) > 0 {
		tags := map[string]string{}
		for _, tag := range out.Tags {
			tags[*tag.Key] = *tag.Value
		}
		model["Tags"] = tagList(tags)
	}
	return model, nil
}

func (s secrets) update(c *call) error {
	before, err := s.read(c)
	if err != nil {
		return err
	}
	in := &secretsmanager.UpdateSecretInput{SecretId: &c.request.Identifier, Description: new(c.text("Description")), KmsKeyId: c.optional("KmsKeyId")}
	if given := c.optional("SecretString"); given != nil {
		in.SecretString, in.ClientRequestToken = given, &c.request.Token
	} else if changed(c.request.Previous["GenerateSecretString"], c.desired["GenerateSecretString"]) && c.request.Previous != nil {
		if in.SecretString, err = s.value(c); err != nil {
			return err
		}
	}
	if _, err := do[secretsmanager.UpdateSecretOutput](c, "secretsmanager", "UpdateSecret", in); err != nil {
		return err
	}
	return s.retag(c, before)
}

func (secrets) retag(c *call, before map[string]any) error {
	tags := c.tags()
	var gone []string
	old, _ := before["Tags"].([]any)
	for _, item := range old {
		if tag, ok := item.(map[string]any); ok {
			if key := fmt.Sprint(tag["Key"]); tags[key] == "" {
				gone = append(gone, key)
			}
		}
	}
	if len(gone) > 0 {
		if _, err := do[secretsmanager.UntagResourceOutput](c, "secretsmanager", "UntagResource", &secretsmanager.UntagResourceInput{SecretId: &c.request.Identifier, TagKeys: gone}); err != nil {
			return err
		}
	}
	if len(tags) == 0 {
		return nil
	}
	in := &secretsmanager.TagResourceInput{SecretId: &c.request.Identifier}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, smtypes.Tag{Key: &key, Value: new(tags[key])})
	}
	_, err := do[secretsmanager.TagResourceOutput](c, "secretsmanager", "TagResource", in)
	return err
}

func (s secrets) remove(c *call) error {
	if _, err := s.read(c); err != nil {
		return err
	}
	_, err := do[secretsmanager.DeleteSecretOutput](c, "secretsmanager", "DeleteSecret",
		&secretsmanager.DeleteSecretInput{SecretId: &c.request.Identifier, ForceDeleteWithoutRecovery: new(true)})
	return err
}

// number reads a number as models and templates have it: a number or its text.
func number(value any) (int, bool) {
	switch v := value.(type) {
	case float64:
		return int(v), v == float64(int(v))
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return n, err == nil
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		return n, err == nil
	case int:
		return v, true
	}
	return 0, false
}

// changed reports whether two values differ.
func changed(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX != nil || errY != nil || string(x) != string(y)
}
