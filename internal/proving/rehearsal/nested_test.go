package rehearsal

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestNested: what is in nested stacks has its path. One whose template is not known is one step, which is said.
func TestNested(t *testing.T) {
	p := newPlace(t)
	const account = "000000000020"
	before := `{"Resources": {"Net": ` + of(nested, "@two@") + `, "A": ` + of(param, "1") + `}}`
	if status := p.deploy(account, "s", before, false); status != types.StackStatusCreateComplete {
		t.Fatal(status)
	}
	p.deploy(account, "other", `{"Resources": {"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/busy"}}}}`, false)
	child := ""
	for r, err := range p.remote(account).StackResources(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		if aws.ToString(r.LogicalResourceId) == "Net" {
			child = strings.Split(aws.ToString(r.PhysicalResourceId), "/")[1]
		}
	}

	after := `{"Resources": {"Net": ` + of(nested, "@one@") + `, "A": {"Type": "AWS::SSM::Parameter", "DependsOn": "Net", "Properties": {"Type": "String", "Value": "2"}}}}`
	r := p.rehearse(account, "s", after, nil)
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, s.Action+" "+s.LogicalID)
	}
	if want := []string{"UPDATE Net", "UPDATE Net.C", "DELETE Net.D", "UPDATE A"}; !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
	if len(r.Lost) != 1 || r.Lost[0].LogicalID != "Net.D" || r.Lost[0].Type != "AWS::SQS::Queue" {
		t.Errorf("%+v", r.Lost)
	}
	i := slices.IndexFunc(r.Failures, func(f Failure) bool { return f.Rollback == "UPDATE Net.C" })
	if i < 0 || r.Failures[i].Status != "UPDATE_ROLLBACK_FAILED" || !slices.Equal(r.Failures[i].Stuck, []string{"Net.C"}) || r.Failures[i].Command != "cfn stack continue s --region eu-west-1 --resources-to-skip "+child+".C" {
		t.Errorf("%+v", r.Failures)
	}
	if !slices.ContainsFunc(r.Quotas, func(q Quota) bool { return q == Quota{"resources of Net", 1, 500} }) {
		t.Errorf("%+v", r.Quotas)
	}
	written(t, r)

	// A name in use, and what fails because of it.
	r = p.rehearse(account, "s", `{"Resources": {"Net": `+of(nested, "@busy@")+`, "A": `+of(param, "1")+`}}`, nil)
	if len(r.Conflicts) != 1 || r.Conflicts[0] != (Conflict{"Net.L", "AWS::Logs::LogGroup", "/busy"}) || r.Status != "UPDATE_ROLLBACK_COMPLETE" || r.Reason != "Net.L: the name of L is in use" {
		t.Errorf("%+v", r)
	}

	for _, test := range []struct{ url, why string }{
		{`"https://s3.amazonaws.com/none/none"`, "NoSuchBucket"},
		{`{"Fn::Join": ["", ["https://s3.amazonaws.com/none/", {"Ref": "A"}]]}`, "its TemplateURL depends on other resources"},
		{`"@broken@"`, "uses the transform Mine"},
	} {
		r := p.rehearse(account, "s", `{"Resources": {"Net": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": `+test.url+`}}, "A": `+of(param, "1")+`}}`, nil)
		if len(r.Steps) != 1 || r.Steps[0].LogicalID != "Net" || r.Steps[0].Type != stackType || r.Status != "UPDATE_COMPLETE" {
			t.Errorf("%s: %+v", test.why, r)
		}
		for _, text := range []string{"the template of the nested stack Net could not be read, so it is one step: ", "nested stacks whose templates are not known are one step each: Net"} {
			if !slices.ContainsFunc(r.Unknown, func(s string) bool {
				return strings.HasPrefix(s, text) && (strings.Contains(s, test.why) || text[0] == 'n')
			}) {
				t.Errorf("nothing of %q in %q", text, r.Unknown)
			}
		}
	}
}

// TestNestedBounds: templates that are nested in themselves end.
func TestNestedBounds(t *testing.T) {
	for _, test := range []struct{ stacks, depth int }{{0, maxDepth}, {maxStacks, 0}} {
		c := &Config{stacks: test.stacks}
		if _, err := c.nextTemplate(t.Context(), nil, nil, nil, "Net", "Net", test.depth); err == nil || !strings.Contains(err.Error(), "more than 100 nested stacks, or they are nested more than 8 times") {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
