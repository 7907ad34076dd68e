package console

import (
	"strings"
	"testing"
)

func TestStackSetPages(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
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
		{"/stack-sets/empty", 200, []string{"has no instances", "No operations yet"}, nil},
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
}
