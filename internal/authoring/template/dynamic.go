package template

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A DynamicReference is one {{resolve:…}} in a value.
type DynamicReference struct {
	Text    string // all of it
	Service string // "ssm", "ssm-secure" or "secretsmanager"
	Name    string // of the parameter, or the ID or ARN of the secret
	Version string // of the parameter, or the version ID of the secret; "" is the newest

	JSONKey string // of a secret; "" is the whole value
	Stage   string // of a secret; "" is AWSCURRENT
}

// A Resolver looks up the values of dynamic references.
type Resolver interface {
	ResolveReference(ctx context.Context, ref DynamicReference) (string, error)
}

const dynamicStart, dynamicEnd = "{{resolve:", "}}"

// findDynamic returns the dynamic references in a text. Those that are not well-formed have
// no Name.
func findDynamic(s string) []DynamicReference {
	var out []DynamicReference
	for {
		start := strings.Index(s, dynamicStart)
		if start < 0 {
			return out
		}
		length := strings.Index(s[start:], dynamicEnd)
		if length < 0 {
			return out
		}
		end := start + length + len(dynamicEnd)
		if ref, ok := parseDynamic(s[start:end]); ok {
			out = append(out, ref)
		}
		s = s[end:]
	}
}

// parseDynamic reads one reference. It reports false for another service: that is plain text.
func parseDynamic(s string) (DynamicReference, bool) {
	ref := DynamicReference{Text: s}
	body := strings.TrimSuffix(strings.TrimPrefix(s, dynamicStart), dynamicEnd)
	var rest string
	ref.Service, rest, _ = strings.Cut(body, ":")
	switch ref.Service {
	case "ssm", "ssm-secure":
		ref.Name, ref.Version = parameterName(rest)
	case "secretsmanager":
		parseSecret(rest, &ref)
	default:
		return ref, false
	}
	return ref, true
}

// parameterName splits NAME[:VERSION]; an ARN contains five colons.
func parameterName(s string) (name, version string) {
	parts := strings.Split(s, ":")
	n := 1
	if parts[0] == "arn" && len(parts) >= 6 {
		n = 6
	}
	name = strings.Join(parts[:n], ":")
	if len(parts) == n {
		return name, ""
	}
	if _, err := strconv.ParseUint(parts[n], 10, 63); err != nil || len(parts) > n+1 {
		return "", ""
	}
	return name, parts[n]
}

// parseSecret reads ID[:SecretString[:KEY[:STAGE[:VERSION]]]]; an ARN contains six colons.
func parseSecret(s string, ref *DynamicReference) {
	parts := strings.Split(s, ":")
	n := 1
	if parts[0] == "arn" && len(parts) >= 7 {
		n = 7
	}
	name, rest := strings.Join(parts[:n], ":"), parts[n:]
	if len(rest) > 4 || len(rest) > 0 && rest[0] != "SecretString" {
		return
	}
	rest = append(rest, "", "", "", "")
	if rest[2] != "" && rest[3] != "" { // a stage and a version exclude each other
		return
	}
	ref.Name, ref.JSONKey, ref.Stage, ref.Version = name, rest[1], rest[2], rest[3]
}

// DynamicReferences returns the references in an evaluated value, each once, in a stable order.
func DynamicReferences(value any) []DynamicReference {
	var out []DynamicReference
	seen := map[string]bool{}
	eachString(value, func(s string) {
		for _, ref := range findDynamic(s) {
			if !seen[ref.Text] {
				seen[ref.Text] = true
				out = append(out, ref)
			}
		}
	})
	return out
}

func eachString(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, item := range v {
			eachString(item, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachString(v[key], visit)
		}
	}
}

// ResolveDynamic returns a copy of an evaluated value with the dynamic references in it
// replaced. The result contains secrets: pass it only to the handler.
func ResolveDynamic(ctx context.Context, value any, r Resolver) (any, error) {
	switch v := value.(type) {
	case string:
		return resolveText(ctx, v, r)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = ResolveDynamic(ctx, item, r); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			if out[key], err = ResolveDynamic(ctx, v[key], r); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

// resolveText replaces the references in one text. Their values are not resolved again.
func resolveText(ctx context.Context, s string, r Resolver) (string, error) {
	var b strings.Builder
	for _, ref := range findDynamic(s) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := ref.check(); err != nil {
			return "", err
		}
		value, err := r.ResolveReference(ctx, ref)
		if err != nil {
			return "", err
		}
		at := strings.Index(s, ref.Text)
		b.WriteString(s[:at])
		b.WriteString(value)
		s = s[at+len(ref.Text):]
	}
	b.WriteString(s)
	return b.String(), nil
}

// check refuses a reference that is not well-formed.
func (ref DynamicReference) check() error {
	switch {
	case ref.Name != "":
		return nil
	case ref.Service == "secretsmanager":
		return refuse("dynamic-secret", diag.Range{}, nil, list([]string{ref.Text}))
	}
	return refuse("dynamic-format", diag.Range{}, nil, list([]string{ref.Text}))
}

// SecretKey returns the value of a key in the JSON object that a secret is, in the words of
// the service if it cannot.
func SecretKey(secret, key string) (string, string) {
	if key == "" {
		return secret, ""
	}
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(secret))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return "", "Could not parse SecretString JSON"
	}
	value, ok := members[key]
	if !ok || value == nil {
		return "", "Could not find a value associated with JSONKey in SecretString"
	}
	if s, ok := toText(value); ok {
		return s, ""
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", "Could not parse SecretString JSON"
	}
	return string(encoded), ""
}

// secureProperties are the properties in which the service accepts ssm-secure.
var secureProperties = map[string]bool{
	"AWS::DirectoryService::MicrosoftAD/Properties/Password":                                    true,
	"AWS::DirectoryService::SimpleAD/Properties/Password":                                       true,
	"AWS::ElastiCache::ReplicationGroup/Properties/AuthToken":                                   true,
	"AWS::IAM::User/Properties/LoginProfile/Password":                                           true,
	"AWS::KinesisFirehose::DeliveryStream/Properties/RedshiftDestinationConfiguration/Password": true,
	"AWS::OpsWorks::App/Properties/AppSource/Password":                                          true,
	"AWS::OpsWorks::Stack/Properties/CustomCookbooksSource/Password":                            true,
	"AWS::OpsWorks::Stack/Properties/RdsDbInstances/DbPassword":                                 true,
	"AWS::RDS::DBCluster/Properties/MasterUserPassword":                                         true,
	"AWS::RDS::DBInstance/Properties/MasterUserPassword":                                        true,
	"AWS::Redshift::Cluster/Properties/MasterUserPassword":                                      true,
}

// SecurePlaces returns where an evaluated resource has ssm-secure references that the service
// does not accept, as "TYPE/Properties/PATH". With versioned set, only versioned references
// count, which the service refuses at the call; it finds the others when it provisions.
func SecurePlaces(typeName string, properties any, versioned bool) []string {
	var out []string
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case string:
			for _, ref := range findDynamic(v) {
				if ref.Service == "ssm-secure" && !secureProperties[at] && (ref.Version != "" || !versioned) {
					out = appendNew(out, at)
				}
			}
		case []any:
			for _, item := range v {
				walk(item, at)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], at+"/"+key)
			}
		}
	}
	walk(properties, typeName+"/Properties")
	return out
}

// checkDynamic holds the references that are written out in the template to their format and
// their number.
func (t *Template) checkDynamic(r *report) {
	count := 0
	var walk func(v *document.Value, at document.Pointer)
	walk = func(v *document.Value, at document.Pointer) {
		switch v.Kind {
		case document.String:
			for _, ref := range findDynamic(v.Text) {
				count++
				if strings.Contains(ref.Text, "${") { // Fn::Sub completes it
					continue
				}
				if refused := Refused(ref.check()); refused != nil {
					refused[0].At, refused[0].Pointer = v.At, slices.Clone(at)
					r.errs = append(r.errs, refused...)
				}
			}
		case document.Array:
			for i, item := range v.Items {
				walk(item, append(at, itoa(i)))
			}
		case document.Object:
			for _, m := range v.Distinct() {
				walk(m.Value, append(at, m.Key))
			}
		}
	}
	for _, section := range []string{"Resources", "Outputs", "Conditions"} {
		if v := t.root.Get(section); v != nil {
			walk(v, document.Pointer{section})
		}
	}
	if count > MaxDynamic {
		r.add("too-many-dynamic", diag.Range{File: t.name}, nil, count)
	}
}
