package stub

import (
	"cmp"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// tagsOf reads tags, which are a map or a list of keys and values.
func tagsOf(v any) (map[string]string, bool) {
	out := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			text, ok := value.(string)
			if !ok {
				return nil, false
			}
			out[key] = text
		}
		return out, true
	case []any:
		for _, element := range v {
			pair, _ := element.(map[string]any)
			key, value, found := "", "", false
			for name, part := range pair {
				switch text, ok := part.(string); {
				case !ok:
				case contains(name, "key"):
					key, found = text, true
				case contains(name, "value"):
					value = text
				}
			}
			if !found {
				return nil, false
			}
			out[key] = value
		}
		return out, true
	}
	return nil, false
}

// tagsAs writes tags in the shape of a member.
func tagsAs(shape *api.Shape, from map[string]string) any {
	keys := slices.Sorted(maps.Keys(from))
	if shape.Kind == api.Map {
		out := map[string]any{}
		for _, key := range keys {
			out[key] = from[key]
		}
		return out
	}
	out := []any{}
	for _, key := range keys {
		pair := map[string]any{}
		for _, m := range orAny(shape.Item).Members {
			if contains(m.Name, "key") {
				pair[m.Name] = key
			} else if contains(m.Name, "value") {
				pair[m.Name] = from[key]
			}
		}
		out = append(out, pair)
	}
	return out
}

// tagging changes or lists the tags of the resource with an ARN.
func (s *Stub) tagging(c *call) (*reply, *fault) {
	var i *item
	named := func(m *api.Member) bool { return m.Shape.Kind == api.String && contains(m.Name, "arn", "resource") }
	other := !slices.ContainsFunc(c.op.Members(), named) // such as SecretId
	for _, m := range c.op.Members() {
		if v, ok := c.get(m.Name); ok && (named(m) || other && m.Required && m.Shape.Kind == api.String) {
			for _, r := range s.resources {
				for _, candidate := range s.sorted(r) {
					if arn, _ := candidate.get(r.variants("arn")); textOf(v) == candidate.ARN || textOf(v) == textOf(arn) {
						i = candidate
					}
				}
			}
			if i == nil {
				return nil, faultf(missing, "no resource has the ARN %s", cut(textOf(v)))
			}
		}
	}
	if i == nil {
		return nil, faultf(invalid, "%s: the ARN of a resource is missing", c.op.Name)
	}
	if i.Tags == nil {
		i.Tags = map[string]string{}
	}
	t := c.op.Tagging()
	member := cmp.Or(t.Member, &api.Member{})
	switch given, has := c.input()[member.Name]; {
	case t.Action == api.AddTags && (has || t.Member == nil):
		added, ok := tagsOf(given)
		if !ok {
			return nil, faultf(invalid, "%s: the tags are not keys and values", cmp.Or(member.Name, c.op.Name))
		}
		maps.Copy(i.Tags, added)
	case t.Action == api.RemoveTags:
		keys, _ := given.([]any)
		for _, key := range keys {
			delete(i.Tags, textOf(key))
		}
	}
	if t.Action != api.ListTags {
		s.touch(i.id())
	}
	out := &reply{}
	if c.op.Output != nil {
		values := map[string]any{}
		for _, m := range c.op.Output.Members {
			if m == t.Member {
				values[m.Name] = tagsAs(m.Shape, i.Tags)
			} else if m.Required {
				values[m.Name] = s.makers.value(m.Shape, wish{name: m.Name}, 0)
			}
		}
		out.output = values
	}
	return out, s.save()
}
