package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/stackset"
)

// fakeStackSets are three stack sets: with a few accounts, with many, and without instances.
type fakeStackSets struct{}

func (fakeStackSets) Sets(_ context.Context, q stackset.Query) (out []stackset.Summary, _ error) {
	for _, name := range []string{"empty", "many", "settings"} {
		if name > q.After && !q.Deleted && len(out) < q.Limit {
			out = append(out, stackSetSummary(name))
		}
	}
	return out, nil
}

func stackSetSummary(name string) stackset.Summary {
	return stackset.Summary{Name: name, ID: name + ":0", Status: types.StackSetStatusActive, Description: "Settings of <b>all</b> stages", Instances: 4, Current: 2, CreatedAt: then}
}

func (fakeStackSets) Set(_ context.Context, _ awswire.Place, name string) (*stackset.State, error) {
	s := &stackset.State{Summary: stackSetSummary(name)}
	add := func(account, region string, status types.StackInstanceStatus, detailed types.StackInstanceDetailedStatus, reason string) {
		x := stackset.InstanceState{Place: awswire.Place{Account: account, Region: region}, Status: status, Detailed: detailed, Reason: reason, Drift: types.StackDriftStatusNotChecked}
		if detailed != types.StackInstanceDetailedStatusPending {
			x.StackARN = "arn:aws:cloudformation:" + region + ":" + account + ":stack/StackSet-settings-1/2"
		}
		s.Instances = append(s.Instances, x)
	}
	switch name {
	case "empty":
		return s, nil
	case "many":
		for n := range 12 {
			add(fmt.Sprintf("%012d", n), "us-east-1", types.StackInstanceStatusCurrent, types.StackInstanceDetailedStatusSucceeded, "")
		}
		s.Left = 5
		return s, nil
	case "settings":
	default:
		return nil, awswire.Errorf("StackSetNotFoundException", 404, "StackSet %s not found", name)
	}
	add("000000000000", "eu-west-1", types.StackInstanceStatusCurrent, types.StackInstanceDetailedStatusSucceeded, "")
	add("111111111111", "eu-west-1", types.StackInstanceStatusOutdated, types.StackInstanceDetailedStatusFailed, "ResourceLogicalId:<i>Thing</i>, ResourceType:A::B::C, ResourceStatusReason:it is taken.")
	add("000000000000", "us-east-1", types.StackInstanceStatusInoperable, types.StackInstanceDetailedStatusInoperable, "it stays")
	add("222222222222", "us-east-1", types.StackInstanceStatusOutdated, types.StackInstanceDetailedStatusPending, "")
	s.Instances[0].Drift = types.StackDriftStatusDrifted
	s.Parameters = []types.Parameter{{ParameterKey: aws.String("Secret"), ParameterValue: aws.String("****")}}
	s.Operations = []stackset.OperationState{
		{ID: "second", Action: types.StackSetOperationActionUpdate, Status: types.StackSetOperationStatusRunning, StartedAt: then, Counts: map[types.StackSetOperationResultStatus]int{types.StackSetOperationResultStatusPending: 1}},
		{ID: "first", Action: types.StackSetOperationActionCreate, Status: types.StackSetOperationStatusFailed, StartedAt: then, EndedAt: then.Add(time.Second),
			Counts:   map[types.StackSetOperationResultStatus]int{types.StackSetOperationResultStatusSucceeded: 2, types.StackSetOperationResultStatusFailed: 1},
			Failures: []stackset.FailureState{{Place: awswire.Place{Account: "111111111111", Region: "eu-west-1"}, Reason: "it is <i>taken"}}},
	}
	return s, nil
}

func (fakeStackSets) Mark(context.Context, awswire.Place) (int64, error) { return 1, nil }

func TestStackSetPages(t *testing.T) {
	f, logs := world(t)
	c := newConsole(t, f, logs)
	for _, test := range []struct {
		path      string
		status    int
		want, not []string
	}{
		{"/stacks", 200, []string{`href="/_cfn/stack-sets"`}, nil},
		{"/stack-sets", 200, []string{`href="/_cfn/stack-sets/settings"`, "Settings of &lt;b&gt;all", "Active"}, []string{"<b>all"}},
		{"/stack-sets?deleted=1", 200, []string{"No deleted stack sets"}, []string{"settings"}},
		{"/stack-sets?in=123456789012/us-east-1&after=zzz", 200, []string{"No stack sets in 123456789012", "cfn stackset deploy template.yaml --accounts 123456789012"}, nil},
		{"/stack-sets/settings", 200, []string{
			">000000000000</th>", ">222222222222</th>", "in=111111111111/eu-west-1", "/stacks/arn:aws:cloudformation:eu-west-1:111111111111:stack%2FStackSet-settings-1%2F2", "inoperable", "drifted", "pending",
			"ResourceLogicalId:&lt;i&gt;Thing", "****", "2 succeeded, 1 failed", "111111111111 · eu-west-1: it is &lt;i&gt;taken", `data-changes="/_cfn/stack-sets/events"`,
		}, []string{"<i>"}},
		{"/stack-sets/many", 200, []string{">Account</th>", ">000000000011<", "5 more instances"}, nil},
		{"/stack-sets/empty", 200, []string{"has no instances", "There was no operation yet"}, nil},
		{"/stack-sets/none", 404, []string{"Stack set not found"}, nil},
	} {
		w := get(t, c, test.path)
		if w.Code != test.status {
			t.Errorf("%s: %d", test.path, w.Code)
		}
		for _, want := range test.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q", test.path, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s has %q", test.path, not)
			}
		}
	}
	without := New(Config{Registry: f})
	t.Cleanup(without.Close)
	for _, path := range []string{"/stack-sets", "/stack-sets/settings", "/stack-sets/events"} {
		if w := get(t, without, path); w.Code != http.StatusNotFound {
			t.Errorf("without stack sets, %s: %d", path, w.Code)
		}
	}
}
