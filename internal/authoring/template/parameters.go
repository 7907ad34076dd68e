package template

import (
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func itoa(i int) string { return strconv.Itoa(i) }

// A Parameter is a member of the section Parameters.
type Parameter struct {
	Name        string
	Type        string
	Description string
	Default     *string // as text; may be nil
	NoEcho      bool
	At          diag.Range

	AllowedValues         []string
	AllowedPattern        string
	ConstraintDescription string
	MinLength, MaxLength  string // the text of the number, may be ""
	MinValue, MaxValue    string

	Value *document.Value // all of it, as written

	pattern *pattern
}

// IsList reports whether a Ref to the parameter is a list.
func (p *Parameter) IsList() bool {
	inner, stored := p.stored()
	if stored {
		return inner == "CommaDelimitedList" || strings.HasPrefix(inner, "List<")
	}
	return p.Type == "CommaDelimitedList" || strings.HasPrefix(p.Type, "List<")
}

// IsStored reports whether the value is the name of an SSM parameter that has the value.
func (p *Parameter) IsStored() bool {
	_, stored := p.stored()
	return stored
}

func (p *Parameter) stored() (inner string, ok bool) {
	inner, ok = strings.CutPrefix(p.Type, "AWS::SSM::Parameter::Value<")
	return strings.TrimSuffix(inner, ">"), ok
}

// number reports whether the value, or each value of a list, must be a number.
func (p *Parameter) number() bool { return p.Type == "Number" || p.Type == "List<Number>" }

// specificTypes are the AWS-specific types; each may be in List<>.
var specificTypes = []string{
	"AWS::EC2::AvailabilityZone::Name", "AWS::EC2::Image::Id", "AWS::EC2::Instance::Id", "AWS::EC2::KeyPair::KeyName",
	"AWS::EC2::SecurityGroup::GroupName", "AWS::EC2::SecurityGroup::Id", "AWS::EC2::Subnet::Id", "AWS::EC2::Volume::Id",
	"AWS::EC2::VPC::Id", "AWS::Route53::HostedZone::Id",
}

// plainTypes are the types that are not generic.
var plainTypes = append([]string{"String", "Number", "CommaDelimitedList", "List<Number>", "List<String>", "AWS::SSM::Parameter::Name"}, listed(specificTypes)...)

// ParameterTypes are the types of parameters, but for those of values in Systems Manager.
func ParameterTypes() []string { return slices.Clone(plainTypes) }

// listed returns the types and the lists of them.
func listed(types []string) []string {
	var out []string
	for _, name := range types {
		out = append(out, name, "List<"+name+">")
	}
	return out
}

func knownParameterType(name string) bool {
	if inner, ok := strings.CutPrefix(name, "AWS::SSM::Parameter::Value<"); ok {
		inner, closed := strings.CutSuffix(inner, ">")
		return closed && inner != "Number" && inner != "List<Number>" && slices.Contains(plainTypes, inner)
	}
	return slices.Contains(plainTypes, name)
}

var parameterAttributes = []string{
	"Type", "Default", "Description", "NoEcho", "AllowedValues", "AllowedPattern", "ConstraintDescription",
	"MinLength", "MaxLength", "MinValue", "MaxValue",
}

func (t *Template) buildParameters(r *report) {
	members := t.section("Parameters", r)
	t.tooMany("too-many-parameters", "Parameters", len(members), MaxParameters, r)
	for _, m := range members {
		at := document.Pointer{"Parameters", m.Key}
		t.checkName("parameter-name", "Parameter", m, at, r)
		if m.Value.Kind != document.Object {
			r.add("parameter-object", m.Value.At, at)
			t.parameters[m.Key] = &Parameter{Name: m.Key, At: m.KeyAt}
			continue
		}
		p := buildParameter(m, at, r)
		t.Parameters = append(t.Parameters, p)
		t.parameters[m.Key] = p
	}
}

func buildParameter(m document.Member, at document.Pointer, r *report) *Parameter {
	p := &Parameter{Name: m.Key, At: m.KeyAt, Value: m.Value}
	for _, attribute := range m.Value.Distinct() {
		if !slices.Contains(parameterAttributes, attribute.Key) {
			r.add("parameter-property", attribute.KeyAt, at.Append(attribute.Key), attribute.Key)
		}
	}
	switch v := m.Value.Get("Type"); {
	case v == nil:
		r.add("parameter-type", m.KeyAt, at)
	case v.Kind != document.String || !knownParameterType(v.Text):
		r.add("parameter-unknown", v.At, at.Append("Type"), v.Text, list(plainTypes))
	default:
		p.Type = v.Text
	}
	get := func(name, want string, ok func(*document.Value) bool) *document.Value {
		v := m.Value.Get(name)
		if v == nil || v.Kind == document.Null {
			return nil
		}
		if !ok(v) {
			r.add("parameter-member", v.At, at.Append(name), name, want)
			return nil
		}
		return v
	}
	isText := func(v *document.Value) bool { return v.Kind == document.String }
	isNumber := func(v *document.Value) bool {
		_, err := strconv.ParseFloat(v.Text, 64)
		return (v.Kind == document.Number || v.Kind == document.String) && err == nil
	}
	for name, field := range map[string]*string{"Description": &p.Description, "AllowedPattern": &p.AllowedPattern, "ConstraintDescription": &p.ConstraintDescription} {
		if v := get(name, "string", isText); v != nil {
			*field = v.Text
		}
	}
	for name, field := range map[string]*string{"MinLength": &p.MinLength, "MaxLength": &p.MaxLength, "MinValue": &p.MinValue, "MaxValue": &p.MaxValue} {
		if v := get(name, "number", isNumber); v != nil {
			*field = v.Text
		}
	}
	if v := get("NoEcho", "boolean", func(v *document.Value) bool { return v.Kind == document.Bool || v.Kind == document.String }); v != nil {
		p.NoEcho = v.Bool || strings.EqualFold(v.Text, "true")
	}
	if v := get("AllowedValues", "list", func(v *document.Value) bool { return v.Kind == document.Array }); v != nil {
		for i, item := range v.Items {
			value, ok := scalarText(item)
			if !ok {
				r.add("parameter-member", item.At, at.Append("AllowedValues", itoa(i)), "AllowedValues", "list of strings")
				continue
			}
			p.AllowedValues = append(p.AllowedValues, value)
		}
	}
	p.buildPattern(m.Value.Get("AllowedPattern"), at, r)
	p.buildDefault(m.Value.Get("Default"), at.Append("Default"), r)
	return p
}

func (p *Parameter) buildPattern(v *document.Value, at document.Pointer, r *report) {
	if p.AllowedPattern == "" {
		return
	}
	pattern, err := compilePattern(p.AllowedPattern)
	if err != nil {
		r.add("parameter-pattern", v.At, at.Append("AllowedPattern"), p.AllowedPattern, p.Name)
		return
	}
	p.pattern = pattern
}

func (p *Parameter) buildDefault(v *document.Value, at document.Pointer, r *report) {
	if v == nil || v.Kind == document.Null {
		return
	}
	value, ok := scalarText(v)
	if !ok {
		r.add("parameter-default", v.At, at)
		return
	}
	p.Default = &value
	if len(value) > MaxValue {
		r.add("parameter-long", v.At, at, p.Name, value)
	}
	for _, reference := range findDynamic(value) {
		if reference.Service == "ssm" && reference.Version == "" {
			r.add("parameter-versions", v.At, at, p.Name)
		}
	}
}

// scalarText returns the text of a scalar as the service shows it.
func scalarText(v *document.Value) (string, bool) {
	switch v.Kind {
	case document.Bool:
		return strconv.FormatBool(v.Bool), true
	case document.String, document.Number:
		return v.Text, true
	}
	return "", false
}
