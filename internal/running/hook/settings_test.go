package hook

import (
	"testing"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// TestSees holds configurations and target names against targets.
func TestSees(t *testing.T) {
	bucket := Target{Kind: Resource, Name: "AWS::S3::Bucket", Action: invoke.CreatePreProvision, StackName: "shop-prod", RoleARN: "arn:aws:iam::123456789012:role/deploy"}
	with := func(change func(*Target)) Target { out := bucket; change(&out); return out }
	update := with(func(t *Target) { t.Action = invoke.UpdatePreProvision })
	queue := with(func(t *Target) { t.Name = "AWS::SQS::Queue" })
	elsewhere := with(func(t *Target) { t.StackName = "shop-test" })
	otherRole := with(func(t *Target) { t.RoleARN = "arn:aws:iam::123456789012:role/other" })
	neither := with(func(t *Target) { t.StackName, t.RoleARN = "blog", "" })
	stack := with(func(t *Target) { t.Kind, t.Name = Stack, "STACK" })
	set := with(func(t *Target) { t.Kind, t.Name = ChangeSet, "CHANGE_SET" })
	cloud := with(func(t *Target) { t.Kind, t.StackName, t.RoleARN = CloudControl, "", "" })
	all := []Target{bucket, update, queue, stack, set, cloud, elsewhere, otherRole, neither}
	names := []string{"bucket", "update", "queue", "stack", "change set", "cloud control", "elsewhere", "other role", "neither"}
	for name, test := range map[string]struct {
		configuration string
		targets       []string
		want          string
	}{
		"off":            {`{"TargetStacks": "NONE"}`, []string{"*"}, ""},
		"not configured": {`{}`, []string{"*"}, ""},
		"disabled":       {`{"HookInvocationStatus": "DISABLED", "TargetStacks": "ALL"}`, []string{"*"}, ""},
		"one type":       {`{"TargetStacks": "ALL"}`, []string{"AWS::S3::Bucket"}, "bucket update elsewhere other role neither"},
		"wildcards":      {`{"TargetStacks": "ALL"}`, []string{"AWS::S3::*", "AWS::SQS::Queu?"}, "bucket update queue elsewhere other role neither"},
		"everything":     {`{"TargetStacks": "ALL"}`, []string{"*"}, "bucket update queue elsewhere other role neither"}, // types only
		"stacks":         {`{"TargetStacks": "ALL"}`, []string{"STACK"}, "stack"},
		"change sets":    {`{"TargetStacks": "ALL"}`, []string{"CHANGE_SET"}, "change set"},
		"operations": {
			`{"HookInvocationStatus": "ENABLED", "TargetOperations": ["CLOUD_CONTROL", "STACK"]}`, []string{"*", "STACK"}, "stack cloud control",
		},
		"one operation":       {`{"HookInvocationStatus": "ENABLED", "TargetOperations": "CLOUD_CONTROL"}`, []string{"*"}, "cloud control"},
		"no operations":       {`{"HookInvocationStatus": "ENABLED", "TargetOperations": []}`, []string{"*"}, ""},
		"actions":             {`{"TargetStacks": "ALL", "TargetFilters": {"Actions": ["Update"]}}`, []string{"*"}, "update"},
		"filtered names":      {`{"TargetStacks": "ALL", "TargetFilters": {"TargetNames": ["AWS::SQS::*"]}}`, []string{"*", "STACK"}, "queue stack"},
		"filtered points":     {`{"TargetStacks": "ALL", "TargetFilters": {"InvocationPoints": ["POST_PROVISION"]}}`, []string{"*"}, ""},
		"filtered targets":    {`{"TargetStacks": "ALL", "TargetFilters": {"Targets": [{"TargetName": "AWS::S3::*", "Action": "UPDATE", "InvocationPoint": "PRE_PROVISION"}]}}`, []string{"*"}, "update"},
		"included":            {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Include": ["shop-*"]}}}`, []string{"AWS::S3::Bucket"}, "bucket update elsewhere other role"},
		"included, excluded":  {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Include": ["shop-*"], "Exclude": ["*-test"]}}}`, []string{"AWS::S3::Bucket"}, "bucket update other role"},
		"excluded":            {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Exclude": ["shop-prod"]}}}`, []string{"AWS::S3::Bucket"}, "elsewhere neither"},
		"both":                {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Include": ["shop-*"]}, "StackRoles": {"Include": ["arn:aws:iam::*:role/deploy"]}}}`, []string{"AWS::S3::Bucket"}, "bucket update elsewhere"},
		"any":                 {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ANY", "StackNames": {"Include": ["shop-prod"]}, "StackRoles": {"Include": ["arn:aws:iam::*:role/deploy"]}}}`, []string{"AWS::S3::Bucket"}, "bucket update elsewhere other role"},
		"stacks do not count": {`{"HookInvocationStatus": "ENABLED", "TargetOperations": ["CLOUD_CONTROL"], "StackFilters": {"FilteringCriteria": "ALL", "StackNames": {"Include": ["shop-prod"]}}}`, []string{"*"}, "cloud control"},
		"no criteria":         {`{"TargetStacks": "ALL", "StackFilters": {"FilteringCriteria": "ANY"}}`, []string{"AWS::SQS::Queue"}, "queue"},
	} {
		t.Run(name, func(t *testing.T) {
			settings, _, err := ParseSettings([]byte(`{"CloudFormationConfiguration": {"HookConfiguration": ` + test.configuration + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			h := &Hook{Settings: settings, Targets: map[invoke.Action][]string{invoke.CreatePreProvision: test.targets, invoke.UpdatePreProvision: test.targets}}
			got := ""
			for i, target := range all {
				if h.Sees(target) {
					got += " " + names[i]
				}
			}
			if got = got[min(1, len(got)):]; got != test.want {
				t.Errorf("sees %q, want %q", got, test.want)
			}
		})
	}
}

// TestDeletedTargets has a hook without a handler for a point see nothing there.
func TestDeletedTargets(t *testing.T) {
	h := &Hook{Settings: Settings{TargetStacks: "ALL"}, Targets: map[invoke.Action][]string{invoke.CreatePreProvision: {"*"}}}
	target := Target{Kind: Resource, Name: "A::B::C", Action: invoke.DeletePreProvision}
	if h.Sees(target) {
		t.Error("a hook without preDelete sees a deletion")
	}
	if h.Any = true; !h.Sees(target) {
		t.Error("a hook for everything does not see a deletion")
	}
}

func TestBrokenConfiguration(t *testing.T) {
	for _, text := range []string{`[]`, `{"CloudFormationConfiguration": {"HookConfiguration": {"TargetOperations": {"secret": 1}}}}`} {
		if _, _, err := ParseSettings([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if settings, own, err := ParseSettings(nil); err != nil || own != nil || settings.Enabled() {
		t.Errorf("nothing: %+v %s %v", settings, own, err)
	}
}
