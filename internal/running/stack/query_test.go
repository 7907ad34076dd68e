package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestQueries reads by the queries what the operations of the API say of the same stacks.
func TestQueries(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		ctx, place := t.Context(), owner.Place
		template := "Parameters: {Secret: {Type: String, NoEcho: true, Default: hush-hush}}\n" +
			things("A: {Properties: {Name: a}}", "B: {Properties: {Note: !GetAtt A.Id}}") + "Outputs: {Note: {Value: !GetAtt B.Note}}"
		before, err := g.ListMark(ctx, place)
		if err != nil {
			t.Fatal(err)
		}
		g.create(&cloudformation.CreateStackInput{StackName: aws.String("first_1"), TemplateBody: aws.String(template), Parameters: []types.Parameter{{ParameterKey: aws.String("Secret"), ParameterValue: aws.String("very-secret")}}})
		g.world.script("CREATE B", behavior{code: "InvalidRequest", message: "no"})
		failed := g.create(&cloudformation.CreateStackInput{StackName: aws.String("second"), TemplateBody: aws.String(template), DisableRollback: aws.Bool(true)})
		gone := g.create(&cloudformation.CreateStackInput{StackName: aws.String("third"), TemplateBody: aws.String(template)})
		g.delete(*gone.StackId, &cloudformation.DeleteStackInput{})

		names := func(q Query) []string {
			t.Helper()
			q.Place = place
			if q.Limit == 0 {
				q.Limit = 10
			}
			list, err := g.Stacks(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, s := range list {
				out = append(out, s.Name)
			}
			return out
		}
		all, err := g.Stacks(ctx, Query{Place: place, Limit: 1})
		if err != nil || len(all) != 1 || all[0].Name != "second" || all[0].Resources != 2 || all[0].Running() {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, test := range []struct {
			name string
			q    Query
			want []string
		}{
			{"live", Query{}, []string{"second", "first_1"}},
			{"the next page", Query{BeforeTime: all[0].CreatedAt, BeforeID: all[0].ID}, []string{"first_1"}},
			{"search", Query{Search: "SEC"}, []string{"second"}},
			{"search is literal", Query{Search: "t_"}, []string{"first_1"}},
			{"deleted", Query{Deleted: true}, []string{"third"}},
		} {
			if got := names(test.q); !slices.Equal(got, test.want) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
		if list, err := g.Stacks(ctx, Query{Place: awswire.Place{Account: "210987654321", Region: place.Region}, Limit: 10}); err != nil || len(list) > 0 {
			t.Errorf("another account sees %v, %v", list, err)
		}
		if after, err := g.ListMark(ctx, place); err != nil || after == before {
			t.Errorf("the mark stayed %v, %v", after, err)
		}
		checkStackState(t, g, "first_1")
		checkFailure(t, g, *failed.StackId)

		if _, err := g.Stack(ctx, place, "third"); err == nil || !strings.Contains(refusal(t, err), "does not exist") {
			t.Errorf("a deleted stack is found by its name: %v", err)
		}
		if s, err := g.Stack(ctx, place, *gone.StackId); err != nil || s.Status != types.StackStatusDeleteComplete || len(s.Operations) != 2 {
			t.Errorf("a deleted stack: %+v, %v", s, err)
		}
	})
}

func checkStackState(t *testing.T, g *rig, name string) {
	t.Helper()
	ctx, place := t.Context(), owner.Place
	s, err := g.Stack(ctx, place, name)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Resources) != 2 || s.Resources[1].LogicalID != "B" || !slices.Equal(s.Resources[1].DependsOn, []string{"A"}) || s.Resources[1].Status != types.ResourceStatusCreateComplete {
		t.Errorf("resources: %+v", s.Resources)
	}
	if len(s.Parameters) != 1 || *s.Parameters[0].ParameterValue != "****" || len(s.Outputs) != 1 {
		t.Errorf("parameters %v, outputs %v", s.Parameters, s.Outputs)
	}
	timeline, err := g.Timeline(ctx, place, name, "")
	if err != nil || timeline.ID != s.Operations[0].ID || len(timeline.Events) != len(g.story(name)) || !timeline.Events[0].OfStack || timeline.EndedAt.IsZero() ||
		!slices.Equal(timeline.Needs["B"], []string{"A"}) {
		t.Errorf("timeline: %+v, %v", timeline, err)
	}
	if none, err := g.Timeline(ctx, place, name, "another"); err != nil || none != nil {
		t.Errorf("an operation that does not exist: %+v, %v", none, err)
	}
	for _, processed := range []bool{false, true} {
		source, err := g.Source(ctx, place, name, "", processed)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(source.Text, "\n")
		if strings.Contains(source.Text, "hush") || !strings.Contains(source.Text, "****") {
			t.Errorf("the default of a parameter with NoEcho is shown:\n%s", source.Text)
		}
		if at := source.Lines["B"]; at < 1 || at > len(lines) || !strings.Contains(lines[at-1], "B") {
			t.Errorf("B is at line %d of\n%s", at, source.Text)
		}
	}
}

func checkFailure(t *testing.T, g *rig, name string) {
	t.Helper()
	ctx, place := t.Context(), owner.Place
	events, err := g.Events(ctx, EventQuery{Place: place, Stack: name, Failed: true, Limit: 10})
	if err != nil || len(events) != 2 || !events[0].OfStack || events[1].LogicalID != "B" || events[1].OfStack || events[1].OperationID == "" {
		t.Errorf("failures: %+v, %v", events, err)
	}
	first, err := g.Events(ctx, EventQuery{Place: place, Stack: name, Limit: 3})
	if err != nil || len(first) != 3 {
		t.Fatalf("%v, %v", first, err)
	}
	rest, err := g.Events(ctx, EventQuery{Place: place, Stack: name, Before: first[2].Seq, Limit: 100})
	if err != nil || len(first)+len(rest) != len(g.story(name)) {
		t.Errorf("%d and %d events, want %d; %v", len(first), len(rest), len(g.story(name)), err)
	}
}

// TestStackStateWhileCreated sees what waits, and on what.
func TestStackStateWhileCreated(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	hold := make(chan struct{})
	g.world.script("CREATE A", behavior{hold: hold})
	out, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}", "B: {Properties: {Note: !GetAtt A.Id}}"))})
	if err != nil {
		t.Fatal(err)
	}
	first, err := g.StackMark(t.Context(), owner.Place, "s")
	if err != nil {
		t.Fatal(err)
	}
	var s *StackState
	fixtures.Await(t, "the start of A", func() bool {
		if s, err = g.Stack(t.Context(), owner.Place, "s"); err != nil {
			t.Fatal(err)
		}
		return len(s.Resources) == 2 && s.Resources[0].Status != ""
	})
	if len(s.Resources) != 2 || s.Resources[1].Status != "" || s.Resources[1].Type == "" || !slices.Equal(s.Resources[1].DependsOn, []string{"A"}) || !s.Running() {
		t.Errorf("%+v", s)
	}
	close(hold)
	g.settled(*out.StackId)
	if last, err := g.StackMark(t.Context(), owner.Place, "s"); err != nil || last == first {
		t.Errorf("the mark stayed %v, %v", last, err)
	}
}

// TestSummaryOfUnknownTypes refuses types that do not exist, or returns them as warnings.
func TestSummaryOfUnknownTypes(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	in := &cloudformation.GetTemplateSummaryInput{TemplateBody: aws.String(things("A: {}", "B: {Type: 'Acme::No::Body'}", "C: {Type: 'Acme::No::Body'}"))}
	_, err := g.GetTemplateSummary(t.Context(), owner, in)
	if got := refusal(t, err); !strings.Contains(got, "Unrecognized resource types: [Acme::No::Body]") {
		t.Error(got)
	}
	in.TemplateSummaryConfig = &types.TemplateSummaryConfig{TreatUnrecognizedResourceTypesAsWarnings: aws.Bool(true)}
	out, err := g.GetTemplateSummary(t.Context(), owner, in)
	if err != nil || len(out.Warnings.UnrecognizedResourceTypes) != 1 || out.Warnings.UnrecognizedResourceTypes[0] != "Acme::No::Body" {
		t.Errorf("%s %v", encode(out), err)
	}
	_, err = g.GetTemplateSummary(t.Context(), owner, &cloudformation.GetTemplateSummaryInput{StackSetName: aws.String("s")})
	if got := refusal(t, err); !strings.Contains(got, "StackSetName is not supported by this server") {
		t.Error(got)
	}
}

// TestResourceContext shows what the metadata of a template says of a resource.
func TestResourceContext(t *testing.T) {
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(`Resources:
  A: {Type: 'Acme::Test::Thing', Metadata: {com.aws.cloudformation.Context: {why: it is printed, must: [stay], mutability: {Name: must-never-change}}}}
  B: {Type: 'Acme::Test::Thing'}
Metadata: {com.aws.cloudformation.Context: {owner: the shop}}`)})
	s, err := g.Stack(t.Context(), owner.Place, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encode(s.Resources[0].Context), `{"why":"it is printed","must":["stay"],"mutability":{"Name":"must-never-change"}}`; got != want || s.Resources[1].Context != nil {
		t.Errorf("the contexts are %s and %v", got, s.Resources[1].Context)
	}
	if len(s.Resources) != 2 || encode(s.Context) != `{"owner":"the shop"}` {
		t.Errorf("%d resources, and the template says %s of itself", len(s.Resources), encode(s.Context))
	}
}
