package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// moduleProject writes a module project around files and opens it.
func moduleProject(t *testing.T, typeName string, files map[string]string) *Project {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, SettingsFile, `{"artifact_type": "MODULE", "typeName": "`+typeName+`", "settings": {"protocolVersion": "2.0.0"}}`)
	for name, text := range files {
		write(t, dir, name, text)
	}
	p, problems, err := Open(dir, "")
	if err != nil || p == nil || problems.HasErrors() {
		t.Fatalf("open: %v %v", problems, err)
	}
	return p
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type moduleVerdict struct {
	Verdict, Reason, Message, Schema, TypeName string
}

func readVerdicts(t *testing.T, file string) map[string]moduleVerdict {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts map[string]moduleVerdict
	if err := json.Unmarshal(data, &verdicts); err != nil {
		t.Fatal(err)
	}
	if len(verdicts) == 0 {
		t.Fatalf("%s lists nothing", file)
	}
	return verdicts
}

// TestOfficialVerdicts holds the fragments of the official tool's own tests, and whole
// published modules, against what that tool says of them.
func TestOfficialVerdicts(t *testing.T) {
	dir := fixtures.Dir(t, "modules")
	for name, want := range readVerdicts(t, filepath.Join(dir, "index.json")) {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, "fragments", name))
			if err != nil {
				t.Fatal(err)
			}
			p := moduleProject(t, "AWS::ORG::MYTYPE::MODULE", map[string]string{"fragments/" + name: string(data)})
			checkVerdict(t, p, want, filepath.Join(dir, want.Schema))
		})
	}
	for name, want := range readVerdicts(t, filepath.Join(dir, "projects", "index.json")) {
		t.Run(name, func(t *testing.T) {
			typeName := want.TypeName
			if typeName == "" {
				typeName = "AWS::ORG::MYTYPE::MODULE"
			}
			p := moduleProject(t, typeName, nil)
			if err := os.CopyFS(p.Path(FragmentsDir), os.DirFS(filepath.Join(dir, "projects", name, "fragments"))); err != nil {
				t.Fatal(err)
			}
			checkVerdict(t, p, want, filepath.Join(dir, "projects", name, want.Schema))
		})
	}
}

func checkVerdict(t *testing.T, p *Project, want moduleVerdict, golden string) {
	t.Helper()
	f, problems, err := p.Fragment()
	if err != nil {
		t.Fatal(err)
	}
	if want.Verdict == "accept" {
		if problems.HasErrors() {
			t.Fatalf("refused: %v", problems)
		}
		data, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		var got, expected any
		if err := json.Unmarshal(f.Schema(p.TypeName), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &expected); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, expected) {
			t.Errorf("schema.json is\n%s", f.Schema(p.TypeName))
		}
		return
	}
	if !problems.HasErrors() {
		t.Fatal("accepted")
	}
	for _, problem := range problems {
		reason := strings.TrimPrefix(problem.ID, "module/")
		if problem.ID == "document/syntax" {
			reason = "syntax"
		}
		if problem.Severity == diag.Error && reason == want.Reason && (reason == "syntax" || strings.Contains(problem.Message, want.Message)) {
			return
		}
	}
	t.Errorf("refused for %v, want %s: %s", problems, want.Reason, want.Message)
}

func TestFragmentProblemsHavePlaces(t *testing.T) {
	const start = "Resources:\n  A:\n    Type: AWS::S3::Bucket\n"
	tests := []struct{ name, file, text, want string }{
		{"import in a condition", "a.yaml", "Conditions: {a: !Equals [1, 1]}\n" + start + "    Properties:\n      X: !If [a, !ImportValue b, c]\n",
			"fragments/a.yaml:6:18: error: Template fragment can't contain any Fn::ImportValue. [module/import-value]"},
		{"ref to nothing", "a.yaml", "Parameters: {Network: {Type: String}}\n" + start + "    Properties:\n      X: !Ref Netwrk\n",
			`fragments/a.yaml:6:15: warning: Ref refers to "Netwrk", which the fragment does not declare [module/ref-unresolved]`},
		{"attribute of nothing", "a.yaml", start + "    Properties:\n      X: !GetAtt Nothing.Arn\n",
			`fragments/a.yaml:5:18: warning: Fn::GetAtt refers to "Nothing", which the fragment does not declare [module/ref-unresolved]`},
		{"text with nothing", "a.yaml", start + "    Properties:\n      X: !Sub '${!Own} ${AWS::Region} ${Gone.Arn}'\n",
			`fragments/a.yaml:5:15: warning: Fn::Sub refers to "Gone", which the fragment does not declare [module/ref-unresolved]`},
		{"a variable of Fn::Sub", "a.yaml", start + "    Properties:\n      X: !Sub ['${V} ${AWS::Region}', {V: !Ref AWS::NoValue}]\n", ""},
		{"dependence on nothing", "a.yaml", start + "    DependsOn: [Gone]\n",
			`fragments/a.yaml:4:17: warning: DependsOn refers to "Gone", which the fragment does not declare [module/ref-unresolved]`},
		{"an unknown condition", "a.yaml", start + "    Condition: IsProd\n",
			`fragments/a.yaml:4:16: warning: the condition refers to "IsProd", which the fragment does not declare [module/ref-unresolved]`},
		{"import in a comment", "a.yaml", start + "# no Fn::ImportValue here\n", ""},
		{"import in a text", "a.yaml", "Description: not !ImportValue\n" + start, ""},
		{"transform inside a resource", "a.yaml", start + "    Properties:\n      Fn::Transform: {Name: M}\n",
			"fragments/a.yaml:5:7: error: Template fragment can't contain any transform. [module/transform]"},
		{"transform at the top", "a.json", `{"Resources": {"A": {"Type": "T"}}, "Fn::Transform": {"Name": "M"}}`,
			"fragments/a.json:1:37: error: Template fragment can't contain any transform. [module/transform]"},
		{"nested stack", "a.yml", "Resources:\n  A: {Type: AWS::CloudFormation::Stack}\n",
			"fragments/a.yml:2:13: error: Template fragment can't contain nested stack. [module/nested-stack]"},
		{"stack set", "a.yml", "Resources:\n  A: {Type: AWS::CloudFormation::StackSet}\n",
			"fragments/a.yml:2:13: error: Template fragment can't contain any stack set. [module/stack-set]"},
		{"macro", "a.template", "Resources:\n  A: {Type: AWS::CloudFormation::Macro}\n",
			"fragments/a.template:2:13: error: Template fragment can't contain any macro. [module/macro]"},
		{"attribute beside resources", "a.json", "{\"Resources\": {\"A\": {\"Type\": \"T\"},\n \"DeletionPolicy\": \"Retain\"}}",
			"fragments/a.json:2:2: error: Resource 'DeletionPolicy' has neither Type nor Name [module/resource-without-type]"},
		{"export", "a.yaml", start + "Outputs:\n  O:\n    Export: {Name: x}\n",
			"fragments/a.yaml:6:5: error: Template fragment cannot contain any Export. Found an Export statement in Output: O [module/export]"},
		{"tab", "a.yaml", "Resources:\n\tA: 1\n", "fragments/a.yaml:2:1: error: the indentation contains a tab [module/syntax]"},
		{"JSON without a comma", "a.json", "{\"Resources\": {}\n\"Outputs\": {}}", "fragments/a.json:2:1: error: a comma is missing between two elements [document/syntax]"},
		{"YAML called JSON", "a.json", start, ""},
		{"surrogate pair", "a.json", `{"Description": "\uD83D\uDE00", "Resources": {"A": {"Type": "T"}}}`, ""},
		{"comment in JSON", "a.json", "{\"Resources\": {\"A\": {\"Type\": \"T\"}} # why\n}", ""},
		{"alias", "a.yaml", "Resources:\n  A: &a {Type: T}\n  B: *a\n", "fragments/a.yaml:3:6: error: CloudFormation does not allow YAML aliases in templates [module/alias]"},
		{"merge key", "a.yaml", start + "  B:\n    <<: {Type: T}\n    Type: U\n", "fragments/a.yaml:5:5: error: CloudFormation does not allow YAML merge keys (<<) in templates [module/merge]"},
		{"repeated key", "a.yaml", start + "  A: {Type: T}\n", "fragments/a.yaml:4:3: warning: duplicate key \"A\"; the last one is used [document/duplicate-key]"},
		{"empty", "a.yaml", "", "fragments/a.yaml: error: A Module template fragment must have a Resources section [module/resources-missing]"},
		{"list", "a.yaml", "[]", "fragments/a.yaml:1:1: error: A Module template fragment must have a Resources section [module/resources-missing]"},
		{"resources are a list", "a.yaml", "Resources: [a]", "fragments/a.yaml:1:12: error: The section Resources is of type array, not an object [module/wrong-type]"},
		{"too large", "a.yaml", start + "# " + strings.Repeat("x", 1_500_000), "fragments/a.yaml: error: The total file size of the template fragments exceeds the CloudFormation Template size limit: 1500044 bytes, the limit is 1500000 [module/too-large]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := moduleProject(t, "Acme::Foo::Bar::MODULE", map[string]string{"fragments/" + test.file: test.text})
			_, problems, err := p.Fragment()
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			diag.Print(&b, problems, "text")
			got, _, _ := strings.Cut(b.String(), "\n")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNoFragment(t *testing.T) {
	p := moduleProject(t, "Acme::Foo::Bar::MODULE", map[string]string{"fragments/readme.txt": ""})
	_, problems, err := p.Fragment()
	if err != nil || len(problems) != 1 || problems[0].ID != "module/no-fragment" {
		t.Errorf("got %v %v", problems, err)
	}
	if p.Kind != schema.Module || p.SchemaFile() != "schema.json" {
		t.Errorf("kind %s, schema file %s", p.Kind, p.SchemaFile())
	}
}
