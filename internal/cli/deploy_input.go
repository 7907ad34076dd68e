package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A stackParameter is the new value of a parameter, or that it keeps the current one.
type stackParameter struct {
	key, value string
	previous   bool
}

func setParameter(list []stackParameter, p stackParameter) []stackParameter {
	if i := slices.IndexFunc(list, func(q stackParameter) bool { return q.key == p.key }); i >= 0 {
		list[i] = p
		return list
	}
	return append(list, p)
}

func setTag(list []types.Tag, key, value string) []types.Tag {
	tag := types.Tag{Key: &key, Value: &value}
	if i := slices.IndexFunc(list, func(t types.Tag) bool { return aws.ToString(t.Key) == key }); i >= 0 {
		list[i] = tag
		return list
	}
	return append(list, tag)
}

// maxParamsFile bounds a file of parameters, in bytes: 200 parameters of 4 KiB each fit.
const maxParamsFile = 2 << 20

// readParamsFile reads parameters and tags.
func (c *app) readParamsFile(file string) ([]stackParameter, []types.Tag, error) {
	data, err := document.ReadFile(c.path(file), maxParamsFile)
	if err != nil {
		return nil, nil, missingFile(err, file, "pass the path of a JSON or YAML file of parameters")
	}
	value, problems := document.Parse(file, data, document.Limits{})
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	parameters, tags, err := parseParams(value)
	if err != nil {
		return nil, nil, withHint(fmt.Errorf("%s: %w", file, err), `use [{"ParameterKey": "K", "ParameterValue": "V"}], ["K=V"], {"Parameters": {"K": "V"}, "Tags": {"K": "V"}} or {"K": "V"}`)
	}
	return parameters, tags, nil
}

// parseParams reads parameters in any of the formats of the aws CLI.
func parseParams(v *document.Value) (parameters []stackParameter, tags []types.Tag, err error) {
	if v == nil {
		return nil, nil, nil // an empty file
	}
	switch v.Kind {
	case document.Array:
		for i, item := range v.Items {
			p, err := parseParam(item)
			if err != nil {
				return nil, nil, fmt.Errorf("item %d: %w", i+1, err)
			}
			parameters = setParameter(parameters, p)
		}
		return parameters, nil, nil
	case document.Object:
	default:
		return nil, nil, fmt.Errorf("expected a list or an object")
	}
	given := v
	if inner := v.Get("Parameters"); inner != nil && (inner.Kind == document.Object || inner.Kind == document.Array) {
		if tags, err = parseTags(v.Get("Tags")); err != nil {
			return nil, nil, err
		}
		if inner.Kind == document.Array {
			parameters, _, err = parseParams(inner)
			return parameters, tags, err
		}
		given = inner
	}
	for _, m := range given.Distinct() {
		text, ok := scalarText(m.Value)
		if !ok {
			return nil, nil, fmt.Errorf("parameter %q is not a string, number or boolean", m.Key)
		}
		parameters = setParameter(parameters, stackParameter{key: m.Key, value: text})
	}
	return parameters, tags, nil
}

func parseParam(item *document.Value) (stackParameter, error) {
	if text, ok := scalarText(item); ok {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return stackParameter{}, fmt.Errorf("expected \"KEY=VALUE\"")
		}
		return stackParameter{key: key, value: value}, nil
	}
	key, ok := scalarText(item.Get("ParameterKey"))
	if !ok || key == "" {
		return stackParameter{}, fmt.Errorf("missing ParameterKey")
	}
	if previous, _ := scalarText(item.Get("UsePreviousValue")); previous == "true" {
		return stackParameter{key: key, previous: true}, nil
	}
	value, ok := scalarText(item.Get("ParameterValue"))
	if !ok {
		return stackParameter{}, fmt.Errorf("parameter %q has no ParameterValue", key)
	}
	return stackParameter{key: key, value: value}, nil
}

func parseTags(v *document.Value) (tags []types.Tag, err error) {
	if v == nil {
		return nil, nil
	}
	if v.Kind != document.Object {
		return nil, fmt.Errorf("Tags is not an object") //nolint:staticcheck // it is a name
	}
	for _, m := range v.Distinct() {
		text, ok := scalarText(m.Value)
		if !ok {
			return nil, fmt.Errorf("tag %q is not a string, number or boolean", m.Key)
		}
		tags = setTag(tags, m.Key, text)
	}
	return tags, nil
}

// supplied are the values that are known before the service is called: those that were passed,
// and those of the stack.
func (d *deployment) supplied() []template.Supplied {
	var out []template.Supplied
	values := map[string]string{}
	if d.existing != nil {
		for _, p := range d.existing.Parameters {
			values[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
		}
	}
	for _, p := range d.parameters {
		if !p.previous {
			values[p.key] = p.value
		}
	}
	written, _ := template.Parse(d.file, d.body, template.ParseOptions{}) // what is wrong is the service's to say
	if written == nil {
		return nil
	}
	for _, p := range written.Parameters {
		if value, ok := values[p.Name]; ok {
			out = append(out, template.Supplied{Key: p.Name, Value: value, HasValue: true})
		}
	}
	return out
}

// apiParameters are the parameters of the request: those that were passed, and the previous
// values of those that were not.
func (d *deployment) apiParameters() []types.Parameter {
	var out []types.Parameter
	for _, p := range d.parameters {
		if p.previous {
			out = append(out, types.Parameter{ParameterKey: aws.String(p.key), UsePreviousValue: aws.Bool(true)})
			continue
		}
		out = append(out, types.Parameter{ParameterKey: aws.String(p.key), ParameterValue: aws.String(p.value)})
	}
	if d.existing == nil || d.graph == nil {
		return out
	}
	for _, has := range d.existing.Parameters {
		key := aws.ToString(has.ParameterKey)
		passed := slices.ContainsFunc(d.parameters, func(p stackParameter) bool { return p.key == key })
		declared := slices.ContainsFunc(d.graph.Parameters, func(p *template.Parameter) bool { return p.Name == key })
		if declared && !passed {
			out = append(out, types.Parameter{ParameterKey: &key, UsePreviousValue: aws.Bool(true)})
		}
	}
	return out
}

// scalarText is a text, a number or a boolean as the text that a parameter takes.
func scalarText(v *document.Value) (string, bool) {
	switch {
	case v == nil:
	case v.Kind == document.String || v.Kind == document.Number:
		return v.Text, true
	case v.Kind == document.Bool:
		return fmt.Sprint(v.Bool), true
	}
	return "", false
}
