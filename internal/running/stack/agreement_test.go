package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// TestCheckAgrees holds "cfn template check" against the validation before a deployment: of templates that are valid, and
// of the same templates with one fault, both find the same, with the same messages. It uses one in six of the published
// schemas, or with FORMWORK_CORPUS=all each of them.
func TestCheckAgrees(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	faulty := 0
	for i, file := range files {
		if i%6 != 0 && os.Getenv("FORMWORK_CORPUS") != "all" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := schema.Load(filepath.Base(file), data, schema.Config{Kind: schema.Resource})
		if s == nil || s.TypeName.Value == "" || typecheck.Unvalidated(s.TypeName.Value) {
			continue
		}
		generator := sample.New(s, sample.Config{Seed: uint64(i), Profile: sample.Random})
		model, err := generator.Create()
		if err != nil || len(typecheck.Properties(s, model)) > 0 {
			continue // what is generated for it is not valid
		}
		if found := agree(t, s, "valid", model); found != 0 {
			t.Errorf("%s: %d problems in a valid template", s.TypeName.Value, found)
		}
		mutants := mutations(s, model)
		for n := range 4 {
			broken, err := generator.Invalid()
			if err != nil {
				break
			}
			mutants[fmt.Sprintf("%s %s (%d)", broken.Keyword, broken.Pointer, n)] = broken.Model
		}
		for _, name := range slices.Sorted(maps.Keys(mutants)) {
			faulty++
			if agree(t, s, name, mutants[name]) == 0 && (certain(s, name) || len(typecheck.Properties(s, mutants[name])) > 0) {
				t.Errorf("%s: %s: the fault was not found", s.TypeName.Value, name)
			}
		}
	}
	if faulty < 1000 {
		t.Errorf("only %d templates with faults", faulty)
	}
	t.Logf("%d templates with faults", faulty)
}

// written is the deployment of a template without parameters.
func written(t *testing.T, body string) (*plan.Deployment, error) {
	t.Helper()
	parsed, err := template.Parse("template", []byte(body), template.ParseOptions{})
	if err != nil {
		return nil, err
	}
	d := &plan.Deployment{Template: parsed, Parameters: &template.Parameters{}}
	d.Scope, err = parsed.NewScope(template.ScopeInput{Parameters: d.Parameters, Pseudo: template.Pseudo{AccountID: "111111111111", Region: "us-east-1", StackName: "stack"}})
	return d, err
}

// mutations are models with one fault each that people make.
func mutations(s *schema.Schema, model map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for key, value := range model {
		misspelled, wrong, without := maps.Clone(model), maps.Clone(model), maps.Clone(model)
		delete(misspelled, key)
		misspelled[key+"x"] = value
		out["misspelled "+key] = misspelled
		wrong[key] = []any{map[string]any{"no": "such"}}
		if _, list := value.([]any); list {
			wrong[key] = "text"
		}
		out["wrong type of "+key] = wrong
		delete(without, key)
		if slices.Contains(s.Required, key) {
			out["without "+key] = without
		}
		if _, text := value.(string); text && s.Property(document.Pointer{key}).Get("enum") != nil {
			other := maps.Clone(model)
			other[key] = "no-such-value"
			out["other value of "+key] = other
		}
	}
	return out
}

// certain reports whether a schema cannot accept a mutation.
func certain(s *schema.Schema, name string) bool {
	more := s.Root.Get("additionalProperties")
	closed := more != nil && more.Kind == document.Bool && !more.Bool && s.Root.Get("patternProperties") == nil
	return strings.HasPrefix(name, "without ") || strings.HasPrefix(name, "other value of ") || strings.HasPrefix(name, "misspelled ") && closed
}

// agree checks a template with one resource in both ways, reports differences, and returns how many errors there are.
func agree(t *testing.T, s *schema.Schema, name string, model map[string]any) int {
	t.Helper()
	typeName := s.TypeName.Value
	body, err := json.Marshal(map[string]any{"Resources": map[string]any{"R": map[string]any{"Type": typeName, "Properties": model}}})
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*operation.Type{typeName: {Name: typeName, Schema: s}}
	d, err := written(t, string(body))
	if err != nil {
		return 0 // it is no template, such as for a null
	}
	var engine []string
	for _, p := range setProblems(planInput{plan.Input{Next: d}, types}) {
		engine = append(engine, p.reason)
	}
	source := typecheck.Source{
		Schema:   func(string) (*schema.Schema, error) { return s, nil },
		Complete: func(string) bool { return true }, Names: func() []string { return nil },
	}
	problems, err := typecheck.Check(t.Context(), d.Template, typecheck.Input{Parameters: d.Parameters, Pseudo: d.Scope.Pseudo(), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	var checked []string
	for _, p := range problems {
		if p.Severity == diag.Error {
			checked = append(checked, p.Message)
			if !p.At.Start.Known() {
				t.Errorf("%s: %s: %s has no place", typeName, name, p.Message)
			}
		}
	}
	slices.Sort(engine)
	slices.Sort(checked)
	if engine, checked := strings.Join(slices.Compact(engine), "\n"), strings.Join(checked, "\n"); engine != checked {
		t.Errorf("%s: %s: the deployment refuses\n%s\nbut the check reports\n%s\n%s", typeName, name, engine, checked, strconv.Quote(string(body[:min(len(body), 600)])))
	}
	return len(checked)
}

// TestCheckAgreesOnAttributes does the same for attributes, which the validation before a deployment finds first.
func TestCheckAgreesOnAttributes(t *testing.T) {
	s, problems := schema.Load("thing.json", []byte(`{"typeName": "Acme::Net::Thing", "description": "A thing.", "additionalProperties": false,
		"properties": {"Id": {"type": "string"}, "Nested": {"type": "object", "properties": {"Arn": {"type": "string"}}}},
		"readOnlyProperties": ["/properties/Id", "/properties/Nested"], "primaryIdentifier": ["/properties/Id"]}`), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	for attribute, known := range map[string]bool{"Id": true, "Nested": true, "Nested.Arn": true, "ID": false, "Nested.Id": false, "Arn": false} {
		body := fmt.Sprintf("Resources: {A: {Type: Acme::Net::Thing}}\nOutputs: {O: {Value: !Sub 'x-${A.%s}'}}", attribute)
		d, err := written(t, body)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{next: d, prepared: &prepared{types: map[string]*operation.Type{"Acme::Net::Thing": {Name: "Acme::Net::Thing", Schema: s}}}}
		found, err := typecheck.Check(t.Context(), d.Template, typecheck.Input{Parameters: &template.Parameters{}, Source: typecheck.Source{
			Schema: func(string) (*schema.Schema, error) { return s, nil },
		}})
		if err != nil {
			t.Fatal(err)
		}
		refused := r.checkAttributes()
		if (refused == "") != known || found.HasErrors() == known {
			t.Errorf("%s: the deployment says %q, the check %v", attribute, refused, found)
		}
		if !known && !strings.Contains(refused, found[0].Message) {
			t.Errorf("%s: the deployment says %q, the check %q", attribute, refused, found[0].Message)
		}
	}
}
