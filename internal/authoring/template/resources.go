package template

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func (t *Template) buildResources(r *report) {
	section := t.root.Member("Resources")
	members := t.section("Resources", r)
	if len(members) == 0 {
		at := t.root.At
		if section != nil {
			at = section.KeyAt
		}
		if section == nil || section.Value.Kind == document.Object {
			r.add("no-resources", diag.Range{File: at.File, Start: at.Start, End: at.End}, nil)
		}
		return
	}
	t.tooMany("too-many-resources", "Resources", len(members), MaxResources, r)
	for _, m := range members {
		t.buildResource(m, r)
	}
}

// Some attributes are accepted without being looked at: Version is in a sample of AWS.
var resourceAttributes = []string{
	"Type", "Properties", "Condition", "DependsOn", "DeletionPolicy", "UpdateReplacePolicy",
	"CreationPolicy", "UpdatePolicy", "Metadata", "Version", "Description",
}

func (t *Template) buildResource(m document.Member, r *report) {
	at := document.Pointer{"Resources", m.Key}
	t.checkName("resource-name", "Resource", m, at, r)
	if m.Value.Kind != document.Object {
		r.add("resource-object", m.Value.At, at)
		t.resources[m.Key] = &Resource{LogicalID: m.Key, At: m.KeyAt, Value: m.Value} // references to it are no further fault
		return
	}
	v := m.Value
	resource := &Resource{
		LogicalID: m.Key, At: m.KeyAt, Value: v, Properties: v.Get("Properties"), Metadata: v.Get("Metadata"),
		CreationPolicy: v.Get("CreationPolicy"), UpdatePolicy: v.Get("UpdatePolicy"),
	}
	for _, attribute := range v.Distinct() {
		if !slices.Contains(resourceAttributes, attribute.Key) {
			r.add("resource-property", attribute.KeyAt, at.Append(attribute.Key), attribute.Key)
		}
	}
	switch typ := v.Get("Type"); {
	case typ == nil:
		r.add("resource-type", m.KeyAt, at, at.String())
	case typ.Kind != document.String || typ.Text == "":
		r.add("resource-type", typ.At, at, at.String())
	default:
		resource.Type = typ.Text
	}
	if p := resource.Properties; p != nil && p.Kind != document.Object && p.Kind != document.Null {
		r.add("properties-object", p.At, at.Append("Properties"), at.Append("Properties").String())
		resource.Properties = nil
	}
	if condition := v.Get("Condition"); condition != nil {
		resource.Condition = conditionName(condition)
	}
	resource.DependsOn = dependsOn(v.Get("DependsOn"), at.Append("DependsOn"), r)
	resource.DeletionPolicy = t.policy(deletionPolicy, resource, at, r)
	resource.UpdateReplacePolicy = t.policy(replacePolicy, resource, at, r)
	t.Resources = append(t.Resources, resource)
	t.resources[m.Key] = resource
}

// conditionName is the name of a condition; what is not a text is a name that no condition has.
func conditionName(v *document.Value) string {
	if v.Kind == document.String {
		return v.Text
	}
	return string(v.AppendJSON(nil))
}

func dependsOn(v *document.Value, at document.Pointer, r *report) []string {
	switch {
	case v == nil || v.Kind == document.Null:
		return nil
	case v.Kind == document.String:
		return []string{v.Text}
	case v.Kind != document.Array:
		r.add("depends-on", v.At, at)
		return nil
	}
	var names []string
	for i, item := range v.Items {
		if item.Kind != document.String {
			r.add("depends-on-item", item.At, at.Append(itoa(i)))
			continue
		}
		names = append(names, item.Text)
	}
	return names
}

// The attributes that are policies.
const (
	deletionPolicy = "DeletionPolicy"
	replacePolicy  = "UpdateReplacePolicy"
)

var (
	// policies are the values of the policies.
	policies = map[string][]string{
		deletionPolicy: {"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"},
		replacePolicy:  {"Delete", "Retain", "Snapshot"},
	}

	// snapshotTypes are those that the service makes snapshots of.
	snapshotTypes = []string{
		"AWS::DocDB::DBCluster", "AWS::EC2::Volume", "AWS::ElastiCache::CacheCluster", "AWS::ElastiCache::ReplicationGroup",
		"AWS::Neptune::DBCluster", "AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::Redshift::Cluster",
	}
)

func (t *Template) policy(name string, resource *Resource, at document.Pointer, r *report) string {
	v := resource.Value.Get(name)
	if v == nil || v.Kind == document.Null {
		return ""
	}
	at = at.Append(name)
	if v.Kind != document.String {
		if f, isCall := callOf(v, false); !isCall || name == deletionPolicy && f.name != "Fn::If" {
			r.add("policy-string", v.At, at, name)
		}
		return "" // the scope evaluates it
	}
	switch {
	case !slices.Contains(policies[name], v.Text):
		r.add("deletion-policy", v.At, at, name, v.Text, resource.LogicalID)
		return ""
	case v.Text == "Snapshot" && !slices.Contains(snapshotTypes, resource.Type):
		r.add("snapshot", v.At, at, resource.Type)
	}
	return v.Text
}

var outputAttributes = []string{"Value", "Description", "Export", "Condition"}

func (t *Template) buildOutputs(r *report) {
	members := t.section("Outputs", r)
	t.tooMany("too-many-outputs", "Outputs", len(members), MaxOutputs, r)
	for _, m := range members {
		at := document.Pointer{"Outputs", m.Key}
		t.checkName("output-name", "Output", m, at, r)
		value := m.Value.Get("Value")
		if value == nil {
			r.add("output-value", m.KeyAt, at)
			continue
		}
		for _, attribute := range m.Value.Distinct() {
			if !slices.Contains(outputAttributes, attribute.Key) {
				r.add("output-property", attribute.KeyAt, at.Append(attribute.Key), attribute.Key)
			}
		}
		output := &Output{Name: m.Key, At: m.KeyAt, Value: value}
		if v := m.Value.Get("Description"); v != nil {
			output.Description = v.Text
		}
		if v := m.Value.Get("Condition"); v != nil {
			output.Condition = conditionName(v)
		}
		if export := m.Value.Get("Export"); export != nil {
			output.ExportName = export.Get("Name")
			if output.ExportName == nil {
				r.add("export-name", export.At, at.Append("Export"))
			}
		}
		t.Outputs = append(t.Outputs, output)
	}
}
