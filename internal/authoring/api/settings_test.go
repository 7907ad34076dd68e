package api

import (
	"strings"
	"testing"
)

func TestSettingsProblems(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"nope: 1", `s.yaml:1:1: unknown setting "nope"`},
		{"[]", "s.yaml:1:1: settings: expected an object but got an array"},
		{"resource: 1", "s.yaml:1:11: resource: expected a string but got a number"},
		{"identifier: {a: b}", "s.yaml:1:13: identifier: expected a list of strings but got an object"},
		{"additional: [1]", "s.yaml:1:14: additional: expected a list of strings but got a number"},
		{"operations: {make: X}", `s.yaml:1:14: unknown setting "make"`},
		{"properties: {a: {ignore: no-bool}}", "s.yaml:1:26: ignore: expected true or false but got a string"},
		{"properties: {a: {relation: {x: y}}}", `s.yaml:1:29: unknown setting "x"`},
	} {
		_, problems := ParseSettings("s.yaml", []byte(test.text))
		got := ""
		if len(problems) > 0 {
			got = problems[0].At.String() + ": " + problems[0].Message
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
}

// TestSettingsOverride checks that each setting changes the schema, and that settings that fit nothing are
// reported.
func TestSettingsOverride(t *testing.T) {
	a := readClusters(t)
	for _, test := range []struct{ settings, want string }{
		{"properties: {secret: {ignore: true}}", "!/properties/Secret"},
		{"properties: {secret: {writeOnly: false}}", `"writeOnlyProperties":["/properties/Source","/properties/Odd"]`},
		{"properties: {Size: {createOnly: true}}", `"/properties/Size"`},
		{"properties: {name: {required: false}}", `!"required":["Name"]`},
		{"properties: {roleArn: {name: Role}}", `"Role":{"type":"string"`},
		{"identifier: [ClusterArn]", `"primaryIdentifier":["/properties/ClusterArn"]`},
		{"additional: [[Name, RoleArn]]", `"additionalIdentifiers":[["/properties/Name","/properties/RoleArn"]]`},
		{"operations: {list: []}", `!"list":`},
		{"operations: {update: [UpdateCluster, \"PATCH /clusters/{clusterId}\"]}", `"update":`},
		{"envelope: {read: \"\"}", `"Cluster":`},
		{"properties: {nothing: {ignore: true}}", `Cluster has no property "nothing"`},
		{"identifier: [Nothing]", `the resource has no property "Nothing"`},
		{"additional: [[Nothing]]", `the resource has no property "Nothing"`},
		{"operations: {read: Nothing}", `the API has no operation "Nothing"`},
		{"operations: {read: []}", "Cluster is not a resource: it has no operation to read"},
		{"properties: {status: {createOnly: true}}", "Status is readOnly, so it cannot be createOnly, writeOnly or required"},
		{"properties: {name: {name: a_b}, size: {name: Name2}}", `"name" is not a name of a property: 1 to 64 letters and digits`},
		{"properties: {roleArn: {name: Name}}", `"name" and "roleArn" are both the property Name`},
	} {
		settings, problems := ParseSettings("s.yaml", []byte(test.settings))
		if problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		d, problems := Derive(a, a.Resource("Cluster"), "Acme::Db::Cluster", settings)
		var got string
		if problems.HasErrors() {
			got = problems[0].Message
		} else {
			got = string(d.schema.AppendJSON(nil))
		}
		without, negative := strings.CutPrefix(test.want, "!")
		if strings.Contains(got, without) == negative {
			t.Errorf("%s: %s\nwant %s", test.settings, got, test.want)
		}
	}
}

// TestNewSettings reads what is written for a new project and gets the same schema.
func TestNewSettings(t *testing.T) {
	a := readClusters(t)
	d, problems := Derive(a, a.Resource("Cluster"), "Acme::Db::Cluster", &Settings{})
	if problems != nil {
		t.Fatal(problems.Err())
	}
	settings, problems := ParseSettings("api.yaml", NewSettings(SourceSettings{Smithy: `odd "name".smithy`, Service: "t#Clusters"}, d))
	if problems != nil {
		t.Fatal(problems)
	}
	if settings.Source.Smithy != `odd "name".smithy` || settings.Source.Service != "t#Clusters" || settings.Resource != "Cluster" {
		t.Errorf("source: %+v", settings.Source)
	}
	again, problems := Derive(a, a.Resource("Cluster"), "Acme::Db::Cluster", settings)
	if problems != nil {
		t.Fatal(problems.Err())
	}
	if string(again.JSON()) != string(d.JSON()) {
		t.Errorf("the schema differs:\n%s\n%s", d.JSON(), again.JSON())
	}
}
