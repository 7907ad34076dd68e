package plan

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A stackModel is a stack without an engine: it does what plans say.
type stackModel struct {
	deployed  *Deployment
	resources map[string]Resource
	schemas   map[string]*schema.Schema
	made      int
	done      []string // "create Topic", "update Topic" in the order done
}

func newStackModel(schemas map[string]*schema.Schema) *stackModel {
	return &stackModel{resources: map[string]Resource{}, schemas: schemas}
}

// things writes a template of resources of the type Acme::Test::Thing.
var things = fixtures.Things

// schemaFrom reads a schema.
func schemaFrom(t testing.TB, source string) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("schema.json", []byte(source), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// testSchemas are the types of [fixtures.ThingTypes].
func testSchemas(t testing.TB) map[string]*schema.Schema {
	t.Helper()
	out := map[string]*schema.Schema{}
	for _, source := range fixtures.ThingTypes() {
		s := schemaFrom(t, source)
		out[s.TypeName.Value] = s
	}
	return out
}

// publishedSchemas are schemas that AWS published.
func publishedSchemas(t testing.TB, names ...string) map[string]*schema.Schema {
	t.Helper()
	out := map[string]*schema.Schema{}
	for _, name := range names {
		file := strings.ToLower(strings.ReplaceAll(name, "::", "-")) + ".json"
		data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "schemas/aws"), file))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = schemaFrom(t, string(data))
	}
	return out
}

// deployment parses a template and binds its parameters.
func deployment(t testing.TB, source string, parameters map[string]string) *Deployment {
	t.Helper()
	d, err := newDeployment(t, source, parameters, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newDeployment(t testing.TB, source string, parameters map[string]string, store template.ParameterStore) (*Deployment, error) {
	t.Helper()
	parsed, err := template.Parse("template", []byte(source), template.ParseOptions{})
	if err != nil {
		return nil, err
	}
	return bind(t, parsed, parameters, store)
}

func bind(t testing.TB, parsed *template.Template, parameters map[string]string, store template.ParameterStore) (*Deployment, error) {
	in := template.BindInput{Store: store}
	for name, value := range parameters {
		in.Supplied = append(in.Supplied, template.Supplied{Key: name, Value: value, HasValue: true})
	}
	bound, err := parsed.Bind(t.Context(), in)
	if err != nil {
		return nil, err
	}
	d := &Deployment{Template: parsed, Parameters: bound}
	d.Scope, err = parsed.NewScope(template.ScopeInput{Parameters: bound, Pseudo: template.Pseudo{
		AccountID: "111111111111", Region: "us-east-1", StackName: "stack", StackID: "arn:aws:cloudformation:us-east-1:111111111111:stack/stack/1",
	}})
	return d, err
}

func (m *stackModel) input(next *Deployment) Input {
	tags := next.Tags
	if m.deployed != nil {
		tags = m.deployed.Tags
	}
	return Input{Tags: tags, Previous: m.deployed, Resources: m.resources, Next: next, Schemas: m.schemas}
}

func (m *stackModel) plan(t testing.TB, next *Deployment) *Plan {
	t.Helper()
	plan, err := New(m.input(next))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// apply does what a plan says, in its order: the resources that it does not name are not
// touched.
func (m *stackModel) apply(t testing.TB, plan *Plan, next *Deployment) {
	t.Helper()
	m.done = nil
	for _, id := range Topological(next.Graph()) {
		if plan.Change(id) == nil {
			continue
		}
		r := next.Template.Resource(id)
		in := RefineInput{Next: next, Resources: m.resources, Schema: m.schemas[r.Type]}
		if current, ok := m.resources[id]; ok {
			in.Current = &current
		}
		if m.deployed != nil {
			in.PreviousTags = m.deployed.Tags
		}
		decision, err := Step{LogicalID: id, Action: Deploy}.Refine(in)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		m.do(id, r.Type, decision)
	}
	needs := map[string][]string{}
	for id, r := range m.resources {
		needs[id] = r.DependsOn
	}
	for _, id := range slices.Backward(Topological(needs)) {
		if c := plan.Change(id); c != nil && c.Action == types.ChangeActionRemove {
			m.done = append(m.done, "delete "+id)
			delete(m.resources, id)
		}
	}
	m.deployed = next
}

func (m *stackModel) do(id, typeName string, d Refined) {
	r := m.resources[id]
	r.LogicalID, r.Type = id, typeName
	if d.Action != None {
		m.done = append(m.done, string(d.Action)+" "+id)
	}
	if d.Action == Create || d.Action == Replace || d.Action == Remake {
		m.made++
		r.PhysicalID = m.identify(id, typeName, d.Properties)
		r.Status = types.ResourceStatusCreateComplete
	} else {
		r.Status = types.ResourceStatusUpdateComplete
	}
	r.Properties, r.Metadata, r.DependsOn = d.Properties, d.Metadata, d.DependsOn
	r.DeletionPolicy, r.UpdateReplacePolicy = d.DeletionPolicy, d.UpdateReplacePolicy
	r.Model = maps.Clone(d.Properties)
	if r.Model == nil {
		r.Model = map[string]any{}
	}
	r.Model["Id"] = r.PhysicalID
	if typeName == "AWS::SNS::Topic" {
		r.Model["TopicArn"] = r.PhysicalID
		r.Model["TopicName"] = r.PhysicalID[strings.LastIndex(r.PhysicalID, ":")+1:]
	}
	m.resources[id] = r
}

// identify makes the physical id that the service gives a resource.
func (m *stackModel) identify(id, typeName string, properties map[string]any) string {
	name := func(property, generated string) string {
		if text, ok := properties[property].(string); ok {
			return text
		}
		return generated
	}
	switch typeName {
	case "AWS::SNS::Topic":
		return "arn:aws:sns:us-east-1:111111111111:" + name("TopicName", fmt.Sprintf("stack-%s-%d", id, m.made))
	case "AWS::SSM::Parameter":
		return name("Name", fmt.Sprintf("CFN-%s-%d", id, m.made))
	case "AWS::S3::Bucket":
		return name("BucketName", fmt.Sprintf("stack-%s-%d", strings.ToLower(id), m.made))
	}
	return fmt.Sprintf("%s-%d", id, m.made)
}
