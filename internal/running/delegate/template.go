package delegate

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

const (
	maxBody          = 51200 // bytes of a template in a request
	maxParameter     = 4096  // bytes of the value of a parameter
	maxAttributes    = 150   // outputs of a stack, which has at most 200
	listSeparator    = "\n"
	refOutput        = "Ref"
	secretPrefix     = "Secret"
	attributePrefix  = "A"
	defaultLogicalID = "Resource"
)

// An attribute is a read-only property that a stack of the emulator has an output for.
type attribute struct {
	at   document.Pointer
	name string // as in Fn::GetAtt
	list bool
}

// attributesOf are the read-only properties of a type that Fn::GetAtt may return: texts, numbers and lists of
// them. Of objects they are the members.
func attributesOf(typ *schema.Schema) []attribute {
	var out []attribute
	var add func(at document.Pointer, node *document.Value, depth int)
	add = func(at document.Pointer, node *document.Value, depth int) {
		if len(out) >= maxAttributes || slices.Contains(at, "*") || len(at) == 0 {
			return
		}
		kind := ""
		if node != nil && node.Get("type") != nil {
			kind = node.Get("type").Text
		}
		if members := memberNodes(node); len(members) > 0 && depth < 3 {
			for _, m := range members {
				child := at.Append(m.Key)
				add(child, typ.Property(child), depth+1)
			}
			return
		}
		if kind != "object" {
			out = append(out, attribute{at, strings.Join(at, "."), kind == "array"})
		}
	}
	for _, path := range typ.ReadOnly {
		if typ.Leads(path) {
			add(path.Tokens, typ.Property(path.Tokens), 0)
		}
	}
	return out
}

func memberNodes(node *document.Value) []document.Member {
	if node == nil || node.Get("properties") == nil {
		return nil
	}
	return node.Get("properties").Distinct()
}

// shapeOf is what the attributes of a resource depend on besides its type: which properties it has, and what flags and
// choices among them are. A table has the ARN of a stream only if it has one.
func shapeOf(typ *schema.Schema, properties map[string]any) string {
	var text strings.Builder
	var add func(at document.Pointer, v any)
	add = func(at document.Pointer, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if child := at.Append(key); !typ.IsReadOnly(child) && !(len(at) == 0 && isTags(typ, key)) {
					text.WriteString("/" + key)
					add(child, v[key])
				}
			}
			text.WriteString(".")
		case bool:
			text.WriteString(strconv.FormatBool(v))
		case string:
			if node := typ.Property(at); node != nil && node.Get("enum") != nil {
				text.WriteString(v)
			}
		}
	}
	add(nil, properties)
	return typ.TypeName.Value + " " + hashed(text.String())
}

// A stackText is the template of the stack of a resource, with its parameters.
type stackText struct {
	body    string
	secrets map[string]string // values of parameters
}

// parameters are the values of secrets.
func (t *stackText) parameters() []cfn.Parameter {
	out := make([]cfn.Parameter, 0, len(t.secrets))
	for _, key := range slices.Sorted(maps.Keys(t.secrets)) {
		out = append(out, cfn.Parameter{ParameterKey: &key, ParameterValue: aws.String(t.secrets[key])})
	}
	return out
}

// stackOf writes the template of a resource. Secrets are parameters that the emulator does not show.
func stackOf(request operation.Request, owner string, properties map[string]any, attributes []attribute) (*stackText, error) {
	w := &writer{typeName: request.Type, used: map[string]string{}}
	for _, values := range request.Secrets {
		for _, value := range values {
			if value != "" {
				w.secrets = append(w.secrets, value)
			}
		}
	}
	// The longest first: one may contain another.
	slices.SortFunc(w.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	w.secrets = slices.Compact(w.secrets)
	written, err := w.value(properties, nil)
	if err != nil {
		return nil, err
	}
	logicalID := cmp.Or(request.LogicalID, defaultLogicalID)
	outputs := map[string]any{refOutput: map[string]any{"Value": map[string]any{"Ref": logicalID}}}
	for i, a := range attributes {
		value := map[string]any{"Fn::Sub": "${" + logicalID + "." + a.name + "}"}
		if a.list {
			value = map[string]any{"Fn::Join": []any{listSeparator, map[string]any{"Fn::GetAtt": []any{logicalID, a.name}}}}
		}
		outputs[attributePrefix+strconv.Itoa(i)] = map[string]any{"Value": value}
	}
	template := map[string]any{
		"Description": owner, "Outputs": outputs,
		"Resources": map[string]any{logicalID: map[string]any{"Type": request.Type, "Properties": written}},
	}
	parameters := map[string]any{}
	for key := range w.used {
		parameters[key] = map[string]any{"Type": "String", "NoEcho": true}
	}
	if len(parameters) > 0 {
		template["Parameters"] = parameters
	}
	body, err := json.Marshal(template)
	switch {
	case err != nil:
		return nil, faultf(invoke.InvalidRequest, "The properties of the resource cannot be written as JSON.")
	case len(body) > maxBody:
		return nil, faultf(invoke.InvalidRequest, "The properties of the resource have %d bytes as a template; an emulator takes at most %d.", len(body), maxBody)
	}
	return &stackText{string(body), w.used}, nil
}

// A writer copies properties into a template, where they are evaluated once more.
type writer struct {
	typeName string
	secrets  []string
	used     map[string]string
}

func (w *writer) value(v any, at document.Pointer) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if len(v) == 1 && (key == "Ref" || strings.HasPrefix(key, "Fn::")) {
				return nil, faultf(invoke.InvalidRequest, "The property %s of %s is an object with the single key %s, which the emulator would evaluate as a function.", at, w.typeName, key)
			}
			written, err := w.value(member, at.Append(key))
			if err != nil {
				return nil, err
			}
			out[key] = written
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			written, err := w.value(item, at.Append(strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out[i] = written
		}
		return out, nil
	case string:
		if strings.Contains(v, "{{resolve:") {
			return nil, faultf(invoke.InvalidRequest, "The property %s of %s contains the text {{resolve:, which the emulator would evaluate as a dynamic reference.", at, w.typeName)
		}
		return w.text(v)
	}
	return v, nil
}

// text replaces the secrets in a text by references to parameters.
func (w *writer) text(s string) (any, error) {
	var parts []any
	for rest := s; rest != ""; {
		first, which := -1, -1
		for i, value := range w.secrets {
			if at := strings.Index(rest, value); at >= 0 && (first < 0 || at < first) {
				first, which = at, i
			}
		}
		if which < 0 {
			parts = append(parts, rest)
			break
		}
		if first > 0 {
			parts = append(parts, rest[:first])
		}
		value, key := w.secrets[which], secretPrefix+strconv.Itoa(which)
		if len(value) > maxParameter {
			return nil, faultf(invoke.InvalidRequest, "A secret of the resource has %d bytes; an emulator takes at most %d.", len(value), maxParameter)
		}
		w.used[key] = value
		parts = append(parts, map[string]any{"Ref": key})
		rest = rest[first+len(value):]
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) == 0 {
		return s, nil
	}
	return map[string]any{"Fn::Join": []any{"", parts}}, nil
}

// readOutputs puts the attributes in the outputs of a stack into a model. Those that are empty are missing.
func readOutputs(typ *schema.Schema, model map[string]any, outputs map[string]string, attributes []attribute) map[string]any {
	for i, a := range attributes {
		text, found := outputs[attributePrefix+strconv.Itoa(i)]
		switch {
		case !found || text == "":
			continue
		case a.list:
			items := []any{}
			for item := range strings.SplitSeq(text, listSeparator) {
				items = append(items, item)
			}
			model, _ = invoke.Put(model, a.at, items).(map[string]any)
		default:
			model, _ = invoke.Put(model, a.at, text).(map[string]any)
		}
	}
	recast, _ := typ.Recast(model).(map[string]any)
	return recast
}
