package template

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Summary is what GetTemplateSummary and ValidateTemplate answer about a template, whether
// its transforms have run or not.
type Summary struct {
	Description string
	Version     string
	Metadata    string // as the service writes it: {'Key': 'value'}; may be ""
	Parameters  []*Parameter
	Transforms  []string

	Capabilities       []string
	CapabilitiesReason string // may be ""

	Types []TypeSummary // in the order of the template
}

// A TypeSummary has the resources of one type.
type TypeSummary struct {
	Type       string
	LogicalIDs []string
}

// iamNames are the types that need CAPABILITY_IAM, with the property that names a resource:
// that needs CAPABILITY_NAMED_IAM.
var iamNames = map[string]string{
	"AWS::IAM::AccessKey": "", "AWS::IAM::Group": "GroupName", "AWS::IAM::InstanceProfile": "InstanceProfileName",
	"AWS::IAM::ManagedPolicy": "ManagedPolicyName", "AWS::IAM::Policy": "", "AWS::IAM::Role": "RoleName",
	"AWS::IAM::User": "UserName", "AWS::IAM::UserToGroupAddition": "",
}

// The capabilities that a caller acknowledges.
const (
	CapabilityIAM        = "CAPABILITY_IAM"
	CapabilityNamedIAM   = "CAPABILITY_NAMED_IAM"
	CapabilityAutoExpand = "CAPABILITY_AUTO_EXPAND"
)

// Summary describes the template.
func (t *Template) Summary() Summary {
	s := Summary{Description: t.Description, Version: t.Version, Parameters: t.Parameters, Transforms: t.UsedTransforms()}
	if t.Metadata != nil {
		s.Metadata = string(appendSingle(nil, t.Metadata))
	}
	var iam []string
	for _, m := range t.root.Get("Resources").Distinct() {
		typ := m.Value.Get("Type")
		if typ == nil || typ.Kind != document.String {
			continue
		}
		s.add(typ.Text, m.Key)
		name, needs := iamNames[typ.Text]
		if !needs {
			continue
		}
		iam = appendNew(iam, typ.Text)
		capability := CapabilityIAM
		if name != "" && m.Value.Get("Properties").Get(name) != nil {
			capability = CapabilityNamedIAM
		}
		s.Capabilities = appendNew(s.Capabilities, capability)
	}
	if slices.Contains(s.Capabilities, CapabilityNamedIAM) { // it includes the other
		s.Capabilities = []string{CapabilityNamedIAM}
	}
	if iam != nil {
		s.CapabilitiesReason = "The following resource(s) require capabilities: " + list(iam)
	}
	modules := t.Modules()
	if modules != nil {
		s.addReason("The following resource(s) require capabilities: " + list(modules))
	}
	if t.needsAutoExpand() {
		s.addReason("The following transform(s) require capabilities: " + list(s.Transforms))
	}
	if modules != nil || t.needsAutoExpand() {
		s.Capabilities = append(s.Capabilities, CapabilityAutoExpand)
	}
	return s
}

func (s *Summary) addReason(reason string) {
	s.CapabilitiesReason = strings.TrimPrefix(s.CapabilitiesReason+" "+reason, " ")
}

func (s *Summary) add(typeName, logicalID string) {
	for i := range s.Types {
		if s.Types[i].Type == typeName {
			s.Types[i].LogicalIDs = append(s.Types[i].LogicalIDs, logicalID)
			return
		}
	}
	s.Types = append(s.Types, TypeSummary{typeName, []string{logicalID}})
}

// needsAutoExpand reports whether a transform is a macro: AWS::Include and
// AWS::LanguageExtensions need no acknowledgment.
func (t *Template) needsAutoExpand() bool {
	return slices.ContainsFunc(t.UsedTransforms(), func(name string) bool { return name != Include && name != LanguageExtensions })
}

// CheckCapabilities refuses an operation that acknowledges less than the template needs.
func (t *Template) CheckCapabilities(given []string) error {
	var missing []string
	for _, capability := range t.Summary().Capabilities {
		ok := slices.Contains(given, capability) ||
			capability == CapabilityIAM && slices.Contains(given, CapabilityNamedIAM)
		if !ok {
			missing = append(missing, capability)
		}
	}
	if missing == nil {
		return nil
	}
	return refuse("capabilities", t.root.At, nil, list(missing))
}

// appendSingle writes a value as JSON with single quotes and blanks, as the service writes
// the metadata of a template in its summary.
func appendSingle(b []byte, v *document.Value) []byte {
	switch v.Kind {
	case document.String:
		quoted := string(v.AppendJSON(nil))
		inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		return append(append(append(b, '\''), strings.ReplaceAll(inner, "'", `\'`)...), '\'')
	case document.Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendSingle(b, item)
		}
		return append(b, ']')
	case document.Object:
		b = append(b, '{')
		for i, m := range v.Distinct() {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendSingle(append(appendSingle(b, text(m.Key, m.KeyAt)), ": "...), m.Value)
		}
		return append(b, '}')
	}
	return v.AppendJSON(b)
}
