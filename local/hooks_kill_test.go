package local_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A judge is a Lambda Hook outside of the servers: it lets nothing pass whose note is bad, and keeps
// what it let pass.
type judge struct {
	*httptest.Server

	mu     sync.Mutex
	passed map[string]bool // "STACK LOGICALID ACTION NOTE"
	asked  int
}

func newJudge(t *testing.T, chances *rand.Rand) *judge {
	t.Helper()
	j := &judge{passed: map[string]bool{}}
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			StackID, ClientRequestToken string
			ActionInvocationPoint       string
			RequestData                 struct {
				TargetLogicalID string
				TargetModel     struct{ ResourceProperties map[string]any }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Errorf("a request cannot be read: %v", err)
		}
		note := fmt.Sprint(request.RequestData.TargetModel.ResourceProperties["Note"])
		action, _, _ := strings.Cut(request.ActionInvocationPoint, "_")
		j.mu.Lock()
		j.asked++
		wait := time.Duration(chances.IntN(60)) * time.Millisecond
		j.mu.Unlock()
		letRun(wait) // so that servers die while it runs
		answer := map[string]any{"hookStatus": "SUCCESS", "message": "fine", "clientRequestToken": request.ClientRequestToken}
		if strings.HasPrefix(note, "bad") {
			answer["hookStatus"], answer["errorCode"], answer["message"] = "FAILED", "NonCompliant", "bad note"
		} else {
			j.mu.Lock()
			j.passed[strings.Join([]string{request.StackID, request.RequestData.TargetLogicalID, action, note}, " ")] = true
			j.mu.Unlock()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text) // the server may be dead
	}))
	t.Cleanup(j.Close)
	return j
}

// TestKillHooks kills a server at random moments while a hook judges the things of stacks that are
// created and updated. The handler's journal must have nothing that the hook did not let pass.
// FORMWORK_KILLS says how often (5), FORMWORK_SEED how the chances fall.
func TestKillHooks(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes servers that die")
	}
	t.Parallel()
	kills, _ := number(t, "FORMWORK_KILLS", 5)
	seed, _ := number(t, "FORMWORK_SEED", int(rand.Uint32()))
	t.Logf("FORMWORK_SEED=%d", seed)
	chances := rand.New(rand.NewPCG(uint64(seed), 6))
	world, data := newLedger(t)
	j := newJudge(t, rand.New(rand.NewPCG(uint64(seed), 7)))
	options := serverOptions{Dir: t.TempDir() + "/data", TimeScale: timeScale, Functions: []string{"judge=" + j.URL}}
	server := mustStart(t, options)
	c := newClients(t, server.url)
	registerThings(t, c, data, childTemplate)
	hook := c.create(t, "hook", `{"Resources": {"H": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {"Alias": "Private::Kill::Judge", "LambdaFunction": "judge",
		"ExecutionRole": "arn:aws:iam::123456789012:role/hook", "FailureMode": "FAIL", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE"],
		"TargetFilters": {"TargetNames": ["`+thingType+`"], "Actions": ["CREATE", "UPDATE"]}}}}}`)
	if hook.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("the hook: %s", hook.StackStatus)
	}
	things := func(notes ...string) *string {
		var b strings.Builder
		b.WriteString("Resources:\n")
		for n, note := range notes {
			fmt.Fprintf(&b, "  T%d: {Type: %s, Properties: {Note: %s}}\n", n, thingType, note)
		}
		return aws.String(b.String())
	}
	checked, died := 0, 0
	for round := 0; died < kills; round++ {
		name := fmt.Sprint("things-", round)
		steps := []struct {
			body *string
			want cfntypes.StackStatus
		}{
			{things("one", "two", "three", "four"), cfntypes.StackStatusCreateComplete},
			{things("one", "bad-two", "other", "more"), cfntypes.StackStatusUpdateRollbackComplete},
			{things("new", "two", "other", "four"), cfntypes.StackStatusUpdateComplete},
		}
		if round%2 == 1 {
			steps = steps[:1]
			steps[0].body, steps[0].want = things("one", "bad", "three", "bad"), cfntypes.StackStatusRollbackComplete
		}
		for n, step := range steps {
			c := newClients(t, server.url)
			var err error
			if n == 0 {
				_, err = c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: step.body})
			} else {
				_, err = c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: step.body})
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + chances.IntN(2) {
				letRun(time.Duration(chances.IntN(250)) * time.Millisecond)
				died++
				server.kill()
				server = mustStart(t, options)
			}
			c = newClients(t, server.url)
			if stack := c.ended(t, name); stack.StackStatus != step.want {
				t.Fatalf("round %d, step %d: %s, want %s: %q", round, n, stack.StackStatus, step.want, c.history(t, stack))
			}
		}
		checked = j.check(t, world)
	}
	world.checkTwice(t)
	c = newClients(t, server.url)
	left := must[*cloudformation.DescribeStacksOutput](t)(c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{}))
	for _, stack := range left.Stacks {
		if gone := c.remove(t, stack); gone.StackStatus != cfntypes.StackStatusDeleteComplete {
			t.Errorf("%s is %s", *stack.StackName, gone.StackStatus)
		}
	}
	t.Logf("%d kills; the hook was asked %d times; %d things were made or changed", died, j.asked, checked)
	server.terminate(t)
	checkRows(t, options)
}

// check compares the journal of the handler with what the hook let pass. Rollbacks change things
// back to what passed before.
func (j *judge) check(t *testing.T, world *ledger) (checked int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range world.journal(t) {
		if line.Effect != "made" && line.Effect != "changed" {
			continue
		}
		checked++
		of := line.Stack + " " + line.Logical + " "
		if strings.HasPrefix(line.Note, "bad") || !j.passed[of+"CREATE "+line.Note] && !j.passed[of+"UPDATE "+line.Note] {
			t.Errorf("%s was %s with the note %s, which the hook did not let pass", line.Logical, line.Effect, line.Note)
		}
	}
	return checked
}
