package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Settings are those of the build plugin "cloudformation" of the reference
// implementation, by the names that smithy-build.json gives them. The zero Settings are
// its defaults.
type Settings struct {
	Service          ID     // the service to convert
	OrganizationName string // "" means "AWS" for a service with the trait aws.api#service; others must set it
	ServiceName      string // "" means the cloudFormationName of aws.api#service, else the name of the service shape

	// ExternalDocs and SourceDocs are the names in externalDocumentation for the URL of the
	// documentation and of the source; the first existing one wins. nil means the defaults.
	ExternalDocs, SourceDocs []string

	// JSONAdd is what to add to the schema of a resource, by JSON Pointer, in order.
	JSONAdd map[ID][]document.Member

	DisableHandlerPermissionGeneration  bool
	DisableDeprecatedPropertyGeneration bool
	DisableRequiredPropertyGeneration   bool
	DisableCapitalizedProperties        bool

	DefaultTimestampFormat          string // "" means "date-time"
	UseIntegerType                  bool
	SupportNonNumericFloats         bool
	EnumStrategy                    string // "enum" (the default, ""), or "oneOf"
	AddReferenceDescriptions        bool
	UseInlineMaps                   bool
	DisableIntEnums                 bool
	DisableDefaultValues            bool
	DisableDefaultDeprecatedMessage bool
	DisableFeatures                 []string // keywords to leave out of every schema

	// InServiceReferences looks for conflicts and uses of Unit in the closure of the
	// service only: enableOutOfServiceReferences set to false.
	InServiceReferences bool

	// SchemaDocumentExtensions are members to add to the document. The reference
	// implementation documents them and does nothing with them; so does this one,
	// unless Modern is set. nil means none.
	SchemaDocumentExtensions *document.Value

	// Modern turns off the accidents of the reference implementation that change
	// output; docs/smithy.md lists them.
	Modern bool
}

var (
	defaultExternalDocs = []string{"Documentation Url", "DocumentationUrl", "API Reference", "User Guide", "Developer Guide", "Reference", "Guide"}
	defaultSourceDocs   = []string{"Source Url", "SourceUrl", "Source", "Source Code"}
)

func (s *Settings) timestampFormat() string {
	if s.DefaultTimestampFormat == "" {
		return "date-time"
	}
	return s.DefaultTimestampFormat
}

func settingProblem(at diag.Range, message, hint string) diag.Problem {
	return diag.Problem{ID: "smithy/setting", At: at, Message: message, Hint: hint}
}

// ParseSettings reads the settings from a smithy-build.json: the member
// plugins.cloudformation of the projection, else that of the whole file. An empty
// projection means the whole file. Problems have the ids smithy/setting and those of
// [document.ParseJSON]; unknown settings are passed over, as the reference
// implementation does.
func ParseSettings(file string, data []byte, projection string) (Settings, diag.List) {
	var s Settings
	root, problems := document.ParseJSON(file, data, document.Limits{})
	if root == nil || problems.HasErrors() {
		return s, problems
	}
	plugin := root.Get("plugins").Get("cloudformation")
	if projection != "" {
		p := root.Get("projections").Get(projection)
		if p == nil {
			problems.Add(settingProblem(root.At, fmt.Sprintf("there is no projection %q", projection), ""))
			return s, problems
		}
		if own := p.Get("plugins").Get("cloudformation"); own != nil {
			plugin = own
		}
	}
	if plugin == nil || plugin.Kind != document.Object {
		problems.Add(settingProblem(root.At, "there are no settings for the plugin cloudformation",
			`write {"version": "1.0", "plugins": {"cloudformation": {"service": "ns#Service"}}}`))
		return s, problems
	}
	for _, m := range plugin.Members {
		s.read(m, &problems)
	}
	return s, problems
}

// locked are the settings that CloudFormation leaves no choice in, with the one value
// that they may have and the text of the refusal.
var locked = map[string]struct{ value, message string }{
	"alphanumericOnlyRefs": {"true", "CloudFormation Resource Schemas MUST use alphanumeric only references. `alphanumericOnlyRefs` value of `%s` was provided."},
	"mapStrategy":          {`"patternProperties"`, "CloudFormation Resource Schemas require the use of `patternProperties` for defining maps in JSON Schema. `mapStrategy` value of `%s` was provided."},
	"unionStrategy":        {`"oneOf"`, "CloudFormation Resource Schemas require the use of `oneOf` for defining unions in JSON Schema. `unionStrategy` value of `%s` was provided."},
	"jsonSchemaVersion":    {`"draft07"`, "CloudFormation Resource Schemas require the use of JSON Schema version draft07. `jsonSchemaVersion` value of `%s` was provided."},
	"useJsonName":          {"", "CloudFormation Resource Schemas use the `@cfnName` trait for property names. `useJsonName` value of `%s` was provided."},
	"definitionPointer":    {`"#/definitions"`, "CloudFormation Resource Schemas keep their definitions at `#/definitions`. `definitionPointer` value of `%s` was provided."},
}

// read takes one setting.
func (s *Settings) read(m document.Member, problems *diag.List) {
	wrong := func(want string) {
		problems.Add(settingProblem(m.Value.At, fmt.Sprintf("Deserialization error at (/%s): expected %s, found %s", m.Key, want, kindName(m.Value.Kind)), ""))
	}
	if lock, isLocked := locked[m.Key]; isLocked {
		if printJSON(m.Value) != lock.value {
			problems.Add(settingProblem(m.Value.At, fmt.Sprintf(lock.message, m.Value.Text+boolText(m.Value)), "remove the setting "+m.Key))
		}
		return
	}
	if into := s.booleans()[m.Key]; into != nil {
		if m.Value.Kind != document.Bool {
			wrong("a boolean")
			return
		}
		*into = m.Value.Bool
		return
	}
	if into := s.strings()[m.Key]; into != nil {
		if m.Value.Kind != document.String {
			wrong("a string")
			return
		}
		*into = m.Value.Text
		s.checkChoice(m, problems)
		return
	}
	if into := s.lists()[m.Key]; into != nil {
		if m.Value.Kind != document.Array || len(m.Value.Strings()) != len(m.Value.Items) {
			wrong("an array of strings")
			return
		}
		*into = append([]string{}, m.Value.Strings()...)
		return
	}
	switch m.Key {
	case "service":
		if m.Value.Kind != document.String || !validID(m.Value.Text) {
			wrong("a shape ID")
			return
		}
		s.Service = ID(m.Value.Text)
	case "enableOutOfServiceReferences":
		if m.Value.Kind != document.Bool {
			wrong("a boolean")
			return
		}
		s.InServiceReferences = !m.Value.Bool
	case "schemaDocumentExtensions":
		if m.Value.Kind != document.Object {
			wrong("an object")
			return
		}
		s.SchemaDocumentExtensions = m.Value
	case "jsonAdd":
		s.readJSONAdd(m.Value, problems)
	}
}

func boolText(v *document.Value) string {
	if v.Kind != document.Bool {
		return ""
	}
	return printJSON(v)
}

func (s *Settings) booleans() map[string]*bool {
	return map[string]*bool{
		"disableHandlerPermissionGeneration":  &s.DisableHandlerPermissionGeneration,
		"disableDeprecatedPropertyGeneration": &s.DisableDeprecatedPropertyGeneration,
		"disableRequiredPropertyGeneration":   &s.DisableRequiredPropertyGeneration,
		"disableCapitalizedProperties":        &s.DisableCapitalizedProperties,
		"useIntegerType":                      &s.UseIntegerType,
		"supportNonNumericFloats":             &s.SupportNonNumericFloats,
		"addReferenceDescriptions":            &s.AddReferenceDescriptions,
		"useInlineMaps":                       &s.UseInlineMaps,
		"disableIntEnums":                     &s.DisableIntEnums,
		"disableDefaultValues":                &s.DisableDefaultValues,
		"disableDefaultDeprecatedMessage":     &s.DisableDefaultDeprecatedMessage,
	}
}

func (s *Settings) strings() map[string]*string {
	return map[string]*string{
		"organizationName": &s.OrganizationName, "serviceName": &s.ServiceName,
		"defaultTimestampFormat": &s.DefaultTimestampFormat, "enumStrategy": &s.EnumStrategy,
	}
}

func (s *Settings) lists() map[string]*[]string {
	return map[string]*[]string{"externalDocs": &s.ExternalDocs, "sourceDocs": &s.SourceDocs, "disableFeatures": &s.DisableFeatures}
}

// choices are the settings that have a few values only.
var choices = map[string][]string{
	"defaultTimestampFormat": {"date-time", "epoch-seconds", "http-date"},
	"enumStrategy":           {"enum", "oneOf"},
}

func (s *Settings) checkChoice(m document.Member, problems *diag.List) {
	if allowed := choices[m.Key]; allowed != nil && !slices.Contains(allowed, m.Value.Text) {
		problems.Add(settingProblem(m.Value.At, fmt.Sprintf("%q is not a value of the setting %s", m.Value.Text, m.Key),
			"use one of "+ticked(allowed)))
	}
}

func (s *Settings) readJSONAdd(v *document.Value, problems *diag.List) {
	wrong := func(v *document.Value) {
		problems.Add(settingProblem(v.At, "Deserialization error at (/jsonAdd): expected an object, found "+kindName(v.Kind),
			`write {"ns#Resource": {"/pointer": value}}`))
	}
	if v.Kind != document.Object {
		wrong(v)
		return
	}
	s.JSONAdd = map[ID][]document.Member{}
	for _, resource := range v.Members {
		if resource.Value.Kind != document.Object {
			wrong(resource.Value)
			continue
		}
		s.JSONAdd[ID(resource.Key)] = resource.Value.Members
	}
}
