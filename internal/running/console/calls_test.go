package console

import (
	"slices"
	"strings"
	"testing"
)

// TestOperations sees the calls of one operation together, and gets from one to the next.
func TestOperations(t *testing.T) {
	t.Parallel()
	c := newConsole(t, world(t))
	page := get(t, c, callPath(4)).Body.String()
	for _, want := range []string{
		"<b>3 calls</b> of one operation", `href="/_cfn` + callPath(3) + `" rel="prev"`, `href="/_cfn` + callPath(5) + `" rel="next"`,
		"8f1f0c2e-0c7c-4f0e-9df5-000000000001", "64f0a1b2c3d4e5f60718293a|billing",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the call lacks %q", want)
		}
	}
	if page := get(t, c, "/calls/stack-call").Body.String(); !strings.Contains(page, `href="/_cfn/stacks/shop#r-Billing"`) || strings.Contains(page, "of one operation") {
		t.Error("the call does not lead to its stack, or has other calls")
	}
	of := get(t, c, clusterPath+"/calls?stack="+arnOfStack("shop")+"&resource=Billing").Body.String()
	if !strings.Contains(of, "/calls/stack-call") || strings.Contains(of, callPath(4)) || !strings.Contains(of, "in the stack") {
		t.Error("the calls on one resource are others")
	}

	rows := gather([]handlerCall{{ID: "5", Token: "a"}, {ID: "4", Token: "b"}, {ID: "3", Token: "a"}, {ID: "2"}, {ID: "1"}})
	var got []string
	for _, row := range rows {
		line := row.ID + ":"
		for _, call := range row.Calls {
			line += " " + call.ID
		}
		got = append(got, line)
	}
	if want := []string{"5: 3 5", "4: 4", "2: 2", "1: 1"}; !slices.Equal(got, want) {
		t.Errorf("folded as %q, want %q", got, want)
	}
	if list := get(t, c, clusterPath+"/calls").Body.String(); !strings.Contains(list, `<details class="fold" id="operation-6f5f0c2e-0c7c-4f0e-9df5-000000000036">`) || !strings.Contains(list, "<summary>3 calls") || !strings.Contains(list, ">1 failed<") {
		t.Error("the list does not fold the calls of an operation")
	}
}
