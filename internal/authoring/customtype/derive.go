package customtype

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A Derived is the type that a custom resource becomes.
type Derived struct {
	TypeName   string
	Identifier string            // the property that has the PhysicalResourceId
	Names      map[string]string // of properties, by those of the custom resource
	WriteOnly  []string
	Secrets    []string // those of WriteOnly that are secrets
	Decisions  []api.Decision
	Lost       []api.Decision // what the custom resource has and a type does not

	of          *CustomResource
	provider    Provider
	read        bool
	attributes  []*attribute
	environment []variable
	schema      *document.Value
}

// An attribute is a key of Data that templates read with Fn::GetAtt.
type attribute struct {
	wire   string // the key of Data
	path   string // of the property: Address, Endpoint.Port
	places []diag.Range
}

// A variable is one of the environment of the function.
type variable struct{ name, value string }

// Derive makes the schema of a type from the uses of a custom resource. read says that there is a function that reads the resource.
func Derive(c *CustomResource, typeName string, read bool) (*Derived, error) {
	d := &Derived{TypeName: typeName, Names: map[string]string{}, of: c, provider: c.Provider(), read: read}
	if err := customresource.CheckType(c.Type); err != nil { // templates with transforms are not checked, and sources have the name
		return nil, invalid(c.Uses[0].Resource.Value.Get("Type"), err.Error())
	}
	all := &shape{}
	for _, u := range c.Uses {
		properties := u.Resource.Properties
		if properties == nil {
			properties = document.NewObject()
		}
		if properties.Kind != document.Object || template.FunctionName(properties) != "" {
			return nil, invalid(properties, "the properties of "+u.Resource.LogicalID+" are not an object that is written out")
		}
		if err := all.add(u.In, properties, 0); err != nil {
			return nil, err
		}
	}
	properties := document.NewObject()
	required := document.NewArray()
	for _, m := range all.members {
		if isOwn(m.name) {
			continue
		}
		name := d.propertyName(m.name)
		properties.Set(name, d.value(m.shape, name))
		d.secretPaths(m.shape, name)
		if m.count == all.objects {
			required.Items = append(required.Items, document.NewString(name))
			d.note(name, "required", "%s it", everyUse(len(c.Uses)))
		} else {
			d.note(name, "optional", "%d of %d uses always have it", m.count, len(c.Uses))
		}
	}
	d.hideUnread(all)
	d.identify(properties)
	d.readAttributes(properties)
	d.build(properties, required)
	d.compare()
	return d, nil
}

func invalid(v *document.Value, message string) error {
	return &diag.Invalid{Problems: diag.List{{ID: "template/structure", At: v.At, Message: message}}}
}

func everyUse(n int) string {
	if n == 1 {
		return "the only use has"
	}
	return fmt.Sprintf("all %d uses have", n)
}

func (d *Derived) note(subject, choice, format string, args ...any) {
	d.Decisions = append(d.Decisions, api.Decision{Subject: subject, Choice: choice, Reason: fmt.Sprintf(format, args...)})
}

func (d *Derived) lose(subject, choice, format string, args ...any) {
	d.Lost = append(d.Lost, api.Decision{Subject: subject, Choice: choice, Reason: fmt.Sprintf(format, args...)})
}

// validName matches what the name of a property may be.
var (
	validName  = lazyregexp.New(`^[A-Za-z0-9]{1,64}$`)
	nameWord   = lazyregexp.New(`[A-Za-z0-9]+`)
	wholeIndex = lazyregexp.New(`^[0-9]+$`)
)

// propertyName is the name of a property in the schema. Names with other characters than letters and digits are joined.
func (d *Derived) propertyName(wire string) string {
	name := wire
	if !validName.MatchString(name) {
		name = ""
		for _, word := range nameWord.FindAllString(wire, -1) {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		name = cmp.Or(name[:min(len(name), 60)], "Property")
	}
	taken := func(name string) bool {
		for _, other := range d.Names {
			if other == name {
				return true
			}
		}
		return false
	}
	unique := name
	for n := 2; taken(unique); n++ {
		unique = name + strconv.Itoa(n)
	}
	if d.Names[wire] = unique; unique != wire {
		d.note(unique, "renamed", "%q cannot be the name of a property: the handler still gets it by that name", wire)
	}
	return unique
}

// value is the schema of a shape. path names it in decisions.
func (d *Derived) value(s *shape, path string) *document.Value {
	kind, reason := s.kind()
	if reason != "" {
		d.note(path, cmp.Or(kind, "any type"), "%s", reason)
	}
	out := document.NewObject()
	switch kind {
	case "":
		types := document.NewArray()
		for _, k := range s.kinds {
			types.Items = append(types.Items, document.NewString(k))
		}
		out.Set("type", types)
		d.lose(path, "its structure", "the templates have values of several types: %s", listed(s.kinds))
		return out
	case "array":
		out.Set("type", document.NewString(kind))
		out.Set("insertionOrder", document.NewBool(true))
		out.Set("items", d.value(s.items(), path+"/*"))
		return out
	case "object":
		return d.objectOf(s, path)
	}
	out.Set("type", document.NewString(kind))
	return out
}

// objectOf is the schema of an object. One with keys that cannot be names of properties accepts any keys.
func (d *Derived) objectOf(s *shape, path string) *document.Value {
	out := document.NewObject()
	out.Set("type", document.NewString("object"))
	odd := slices.IndexFunc(s.members, func(m *member) bool { return !validName.MatchString(m.name) })
	switch {
	case odd >= 0:
		d.note(path, "object with any keys", "its key %q cannot be the name of a property", diag.Cut(s.members[odd].name))
		return out
	case len(s.members) == 0:
		d.note(path, "object with any keys", "no template has a key of it")
		return out
	}
	properties, required := document.NewObject(), document.NewArray()
	for _, m := range s.members {
		properties.Set(m.name, d.value(m.shape, path+"/"+m.name))
		if m.count == s.objects {
			required.Items = append(required.Items, document.NewString(m.name))
		}
	}
	out.Set("properties", properties)
	if len(required.Items) > 0 {
		out.Set("required", required)
	}
	out.Set("additionalProperties", document.NewBool(false))
	return out
}

// secretPaths notes the secrets in a property. One in a list makes the whole property write-only.
func (d *Derived) secretPaths(s *shape, path string) {
	var inner func(s *shape) string
	inner = func(s *shape) string {
		why := s.secret
		if s.item != nil {
			why = cmp.Or(why, inner(s.item))
		}
		for _, m := range s.members {
			why = cmp.Or(why, inner(m.shape))
		}
		return why
	}
	kind, _ := s.kind()
	named := kind == "object" && !slices.ContainsFunc(s.members, func(m *member) bool { return !validName.MatchString(m.name) })
	if named && s.secret == "" {
		for _, m := range s.members {
			d.secretPaths(m.shape, path+"/"+m.name)
		}
		return
	}
	if why := inner(s); why != "" {
		d.WriteOnly, d.Secrets = append(d.WriteOnly, path), append(d.Secrets, path)
		d.note(path, "writeOnly", "%s", why)
	}
}

// hideUnread makes all properties write-only if nothing reads them: what READ does not return has no drift.
func (d *Derived) hideUnread(all *shape) {
	if d.read {
		return
	}
	d.WriteOnly = nil
	for _, m := range all.members {
		if !isOwn(m.name) {
			d.WriteOnly = append(d.WriteOnly, d.Names[m.name])
		}
	}
	if len(d.WriteOnly) > 0 {
		d.note("", "all properties writeOnly", "a custom resource is not read: there is nothing to compare them with")
	}
}

// identify adds the primary identifier.
func (d *Derived) identify(properties *document.Value) {
	d.Identifier = "PhysicalResourceId"
	if properties.Get(d.Identifier) != nil {
		d.Identifier = "PhysicalId"
	}
	id := document.NewObject()
	id.Set("type", document.NewString("string"))
	id.Set("description", document.NewString("The physical ID that the handler returned."))
	properties.Set(d.Identifier, id)
	d.note(d.Identifier, "identifier, readOnly", "Ref returns the PhysicalResourceId of the response")
}

// readAttributes adds the attributes that templates read.
func (d *Derived) readAttributes(properties *document.Value) {
	for _, t := range d.of.Templates {
		for _, use := range t.AttributeUses() {
			mine := slices.ContainsFunc(d.of.Uses, func(u Use) bool { return u.In == t && u.Resource.LogicalID == use.LogicalID })
			if !mine {
				continue
			}
			i := slices.IndexFunc(d.attributes, func(a *attribute) bool { return a.wire == use.Attribute })
			if i < 0 {
				if a := d.addAttribute(properties, use.Attribute); a != nil {
					d.attributes = append(d.attributes, a)
				} else {
					continue
				}
				i = len(d.attributes) - 1
			}
			d.attributes[i].places = append(d.attributes[i].places, use.At)
		}
	}
	if len(d.attributes) == 0 {
		d.lose("", "other attributes", "the templates read none: keys of Data that others read become read-only properties")
	}
}

// addAttribute adds the property of an attribute: Endpoint.Port is one in an object.
func (d *Derived) addAttribute(properties *document.Value, wire string) *attribute {
	a := &attribute{wire: wire}
	var tokens []string
	for _, token := range strings.Split(wire, ".") {
		if !validName.MatchString(token) || wholeIndex.MatchString(token) {
			tokens = nil
			break
		}
		tokens = append(tokens, token)
	}
	if tokens == nil || d.isInput(tokens[0]) || properties.Lookup(inProperties(tokens)) != nil || clashes(properties, tokens) {
		name := ""
		for _, word := range nameWord.FindAllString(wire, -1) {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		name += "Attribute"
		why := "%q cannot be the name of a property"
		if tokens != nil {
			why = "%q is a property that templates set: an attribute needs a name of its own"
		}
		tokens = []string{name[max(0, len(name)-64):]}
		if properties.Get(tokens[0]) != nil {
			d.lose(wire, "the attribute", "its name cannot be that of a property")
			return nil
		}
		d.note(tokens[0], "renamed", why, wire)
	}
	at := properties
	for i, token := range tokens {
		last := i == len(tokens)-1
		next := at.Get(token)
		if next == nil {
			next = document.NewObject()
			if last {
				next.Set("type", document.NewString("string"))
			} else {
				next.Set("type", document.NewString("object"))
				next.Set("properties", document.NewObject())
				next.Set("additionalProperties", document.NewBool(false))
			}
			at.Set(token, next)
		}
		at = next.Get("properties")
	}
	a.path = strings.Join(tokens, ".")
	d.note(a.path, "readOnly", "Fn::GetAtt reads %s, which the handler returns in Data", wire)
	return a
}

// isInput reports whether templates set a property.
func (d *Derived) isInput(name string) bool {
	for _, other := range d.Names {
		if other == name {
			return true
		}
	}
	return name == d.Identifier
}

func inProperties(tokens []string) document.Pointer {
	return document.Pointer(strings.Split(strings.Join(tokens, "/properties/"), "/"))
}

// clashes reports whether an attribute is in another one that is a string.
func clashes(properties *document.Value, tokens []string) bool {
	for i := 1; i < len(tokens); i++ {
		if v := properties.Lookup(inProperties(tokens[:i])); v != nil && v.Get("type").Str() != "object" {
			return true
		}
	}
	return false
}

// JSON is the schema, indented.
func (d *Derived) JSON() []byte { return d.schema.Indented("    ") }

// build makes the schema.
func (d *Derived) build(properties, required *document.Value) {
	pointers := func(paths ...string) *document.Value {
		out := document.NewArray()
		for _, path := range paths {
			out.Items = append(out.Items, document.NewString("/properties/"+path))
		}
		return out
	}
	readOnly := []string{d.Identifier}
	for _, a := range d.attributes {
		readOnly = append(readOnly, strings.ReplaceAll(a.path, ".", "/"))
	}
	s := document.NewObject()
	s.Set("typeName", document.NewString(d.TypeName))
	s.Set("description", document.NewString("Made from the custom resource "+d.of.Type+"."))
	s.Set("properties", properties)
	if len(required.Items) > 0 {
		s.Set("required", required)
	}
	s.Set("readOnlyProperties", pointers(readOnly...))
	if len(d.WriteOnly) > 0 {
		s.Set("writeOnlyProperties", pointers(d.WriteOnly...))
	}
	s.Set("primaryIdentifier", pointers(d.Identifier))
	tagging := document.NewObject()
	tagging.Set("taggable", document.NewBool(false))
	s.Set("tagging", tagging)
	s.Set("handlers", d.handlers())
	s.Set("additionalProperties", document.NewBool(false))
	d.schema = s
}

// receipts are the permissions for what handlers note of resources that nothing reads.
var receipts = []string{"ssm:DeleteParameter", "ssm:GetParameter", "ssm:PutParameter"}

// handlers are create, read, update and delete.
func (d *Derived) handlers() *document.Value {
	permissions := document.NewArray()
	actions := d.actions()
	for _, action := range actions {
		permissions.Items = append(permissions.Items, document.NewString(action))
	}
	if len(actions) > 0 {
		d.note("", "permissions", "the role of the function allows them")
	} else {
		d.lose("", "permissions", "the templates have no role of the function with actions that are written out: add them to the handlers in the schema")
	}
	if !d.read {
		for _, action := range receipts {
			if !slices.Contains(actions, action) {
				permissions.Items = append(permissions.Items, document.NewString(action))
			}
		}
		d.note("", "read", "it returns the attributes that the code returned last, which the handlers keep in a parameter of Systems Manager")
	}
	timeout := d.timeout()
	out := document.NewObject()
	for _, name := range []string{"create", "read", "update", "delete"} {
		h := document.NewObject()
		h.Set("permissions", permissions)
		if timeout > 0 && name != "read" {
			h.Set("timeoutInMinutes", &document.Value{Kind: document.Number, Text: strconv.Itoa(timeout)})
		}
		out.Set(name, h)
	}
	return out
}

// timeout is the longest ServiceTimeout of the uses in minutes, as a schema has it; 0 for none.
func (d *Derived) timeout() int {
	longest := 0
	for _, u := range d.of.Uses {
		v := u.Resource.Properties.Get(customresource.PropertyTimeout)
		if v == nil {
			continue
		}
		if seconds, err := strconv.Atoi(v.Text); err == nil {
			longest = max(longest, (seconds+59)/60)
		}
	}
	if longest > 0 {
		longest = max(2, longest)
		d.note("", fmt.Sprintf("timeoutInMinutes %d", longest), "of the longest ServiceTimeout")
	}
	return longest
}

// maxActions bounds the actions of a role.
const maxActions = 200

// actions are those that the role of the function allows in the templates.
func (d *Derived) actions() (out []string) {
	f := d.provider.Function
	if f == nil {
		return nil
	}
	policies := []*document.Value{f.Properties.Get("Policies")}
	if role := d.provider.In.Template.Resource(target(f.Properties.Get("Role"))); role != nil {
		policies = append(policies, role.Properties.Get("Policies"))
	}
	for _, list := range policies {
		if list == nil {
			continue
		}
		for _, p := range list.Items {
			document := p.Get("PolicyDocument")
			if document == nil {
				document = p // SAM takes the document itself
			}
			for _, s := range listOf(document.Get("Statement")) {
				if s.Get("Effect").Str() != "Allow" {
					continue
				}
				for _, a := range listOf(s.Get("Action")) {
					if name := a.Str(); strings.Contains(name, ":") && !slices.Contains(out, name) && len(out) < maxActions {
						out = append(out, name)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// listOf are the items of a list, or the value that stands for a list of one.
func listOf(v *document.Value) []*document.Value {
	switch {
	case v == nil:
		return nil
	case v.Kind == document.Array:
		return v.Items
	}
	return []*document.Value{v}
}

// compare says what custom resources have and types do not, and what is not known.
func (d *Derived) compare() {
	d.lose("", "createOnlyProperties", "only the code knows which changes need another resource; an update whose response has another PhysicalResourceId fails with NotUpdatable and names the properties that changed: add them to the schema")
	if !d.read {
		d.lose("", "the state of the resource", "a custom resource is not read: no drift is found, and no resource can be imported, until READ is written")
	}
	d.lose("", "list", "a custom resource is not listed")
	if len(d.attributes) > 0 {
		d.lose("", "NoEcho of a response", "the attributes of a type are not masked, and READ returns them")
	}
	f := d.provider.Function
	if f == nil {
		return
	}
	if seconds, err := strconv.Atoi(number(d.provider.In.setting(f, "Timeout"))); err == nil && seconds > 60 {
		d.lose("", "the time limit", "the function may take %d s; a handler of a type has 60 s for each call", seconds)
	}
	for _, key := range []string{"VpcConfig", "Layers", "FileSystemConfigs", "KmsKeyArn"} {
		if d.provider.In.setting(f, key) != nil {
			why := "handlers of types run in a function of CloudFormation, which has none"
			if key == "Layers" {
				why = "handlers of types have no layers: add what they contain to the libraries of the project"
			}
			d.lose("", key, "%s", why)
		}
	}
	d.readEnvironment(f)
}

// readEnvironment notes the environment variables of the function, and those that Globals has for it.
func (d *Derived) readEnvironment(f *template.Resource) {
	variables := document.NewObject()
	for _, of := range []*document.Value{d.provider.In.Root().Get("Globals").Get("Function"), f.Properties} {
		for _, m := range of.Get("Environment").Get("Variables").Distinct() {
			variables.Set(m.Key, m.Value)
		}
	}
	for _, m := range variables.Members {
		v, why := variable{name: m.Key}, ""
		switch value := m.Value; {
		case strings.Contains(value.Str(), "{{resolve:"):
			why = "it is a dynamic reference, which only templates resolve: pass it as a property"
		case value.Kind == document.String, value.Kind == document.Number, value.Kind == document.Bool:
			v.value = scalar(value)
			d.note("", "environment variable "+m.Key, "the function has it: it is set for its code")
		default:
			why = "it depends on the stack: set it beside the handlers, or pass it as a property"
		}
		if d.environment = append(d.environment, v); why != "" {
			d.lose("", "the value of the environment variable "+m.Key, "%s", why)
		}
	}
}

func scalar(v *document.Value) string {
	if v.Kind == document.Bool {
		return strconv.FormatBool(v.Bool)
	}
	return v.Text
}
