package local_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// TestManyCustomResources has 200 in one stack whose responses come out of order, twice, late
// and never, and in one stack with only correct ones.
func TestManyCustomResources(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out many resources")
	}
	t.Parallel()
	const many = 200
	v, c := withVendor(t, local.Config{})
	template := func(timeout int) string {
		var b strings.Builder
		b.WriteString(`{"Resources": {`)
		for i := range many {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `"R%d": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q, "ServiceTimeout": %d}}`, i, vendorToken, timeout)
		}
		return b.String() + "}}"
	}
	var all sync.WaitGroup
	var refused atomic.Int64
	chances := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	later := func(r customresource.Request, twice bool) int {
		mu.Lock()
		wait := time.Duration(chances.IntN(300)) * time.Millisecond
		mu.Unlock()
		all.Go(func() {
			letRun(wait) // the order in which they come, not what is asserted
			if status := v.put(r.ResponseURL, answer(r, nil)); status != http.StatusOK {
				t.Errorf("a response is answered with %d", status)
			}
			if twice && v.put(r.ResponseURL, answer(r, map[string]any{"PhysicalResourceId": "other"})) == http.StatusForbidden {
				refused.Add(1)
			}
		})
		return 0
	}
	before := runtime.NumGoroutine()
	v.then(func(r customresource.Request) int { return later(r, true) })
	stack := c.create(t, "good", template(3600))
	all.Wait()
	if stack.StackStatus != "CREATE_COMPLETE" || refused.Load() != many {
		t.Fatalf("%s, %d second responses were refused: %q", stack.StackStatus, refused.Load(), c.history(t, stack))
	}
	pages := cloudformation.NewListStackResourcesPaginator(c.Client, &cloudformation.ListStackResourcesInput{StackName: stack.StackId})
	count := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.StackResourceSummaries {
			if count++; *r.PhysicalResourceId != "p-"+*r.LogicalResourceId || r.ResourceStatus != cfntypes.ResourceStatusCreateComplete {
				t.Errorf("%s is %s, %s", *r.LogicalResourceId, *r.PhysicalResourceId, r.ResourceStatus)
			}
		}
	}
	if count != many || len(v.seen()) != many {
		t.Errorf("%d resources, %d requests", count, len(v.seen()))
	}
	v.then(func(r customresource.Request) int { return later(r, false) })
	if stack = c.remove(t, stack); stack.StackStatus != "DELETE_COMPLETE" || len(v.seen()) != many {
		t.Errorf("%s after %d requests", stack.StackStatus, len(v.seen()))
	}
	all.Wait()

	// R7 never gets a response, R8 one that is late; the others are rolled back with them.
	var late customresource.Request
	v.then(func(r customresource.Request) int {
		switch {
		case r.RequestType == customresource.Delete:
			return v.respond(r, nil)
		case r.LogicalResourceID == "R7":
			return 0
		case r.LogicalResourceID == "R8":
			mu.Lock()
			late = r
			mu.Unlock()
			return 0
		}
		return later(r, false)
	})
	stack = c.create(t, "bad", template(30))
	all.Wait()
	deletes := 0
	for _, call := range v.seen() {
		if strings.HasPrefix(call, "Delete ") {
			deletes++
		}
	}
	if stack.StackStatus != "ROLLBACK_COMPLETE" || deletes != many {
		t.Errorf("%s after %d deletes", stack.StackStatus, deletes)
	}
	mu.Lock()
	r := late
	mu.Unlock()
	if status := v.put(r.ResponseURL, answer(r, nil)); status != http.StatusForbidden && status != http.StatusOK {
		t.Errorf("a late response is answered with %d", status)
	}
	if stack = c.ended(t, *stack.StackId); stack.StackStatus != "ROLLBACK_COMPLETE" {
		t.Errorf("after the late response: %s", stack.StackStatus)
	}
	eventually(t, time.Minute, "the end of what waits for responses", func() bool {
		v.CloseClientConnections()
		return runtime.NumGoroutine() < before+50
	})
}

// BenchmarkCustomMemory creates and deletes stacks of 200 custom resources, and reports how much
// memory the server has after the first, the second and the last.
func BenchmarkCustomMemory(b *testing.B) {
	const many, rounds = 200, 10
	resources := shape{}
	for i := range many {
		resources[fmt.Sprint("R", i)] = map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{"ServiceToken": vendorToken}}
	}
	template := resources.String()
	for b.Loop() {
		v := newVendor(b)
		v.then(func(r customresource.Request) int { return v.respond(r, nil) })
		server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data"), Functions: []string{"vendor=" + v.URL}})
		c := newClients(b, server.url)
		client, err := newCaller(server.url)
		if err != nil {
			b.Fatal(err)
		}
		for round := range rounds {
			name := fmt.Sprint("many-", round)
			out, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template})
			if err != nil {
				b.Fatal(err)
			}
			client.settle(b, *out.StackId, cfntypes.StackStatusCreateComplete)
			if _, err := c.DeleteStack(b.Context(), &cloudformation.DeleteStackInput{StackName: out.StackId}); err != nil {
				b.Fatal(err)
			}
			client.settle(b, *out.StackId, cfntypes.StackStatusDeleteComplete)
			if round < 2 || round == rounds-1 {
				b.ReportMetric(memoryOf(b, server, "VmRSS"), fmt.Sprintf("rss-MB-after-%d", round+1))
			}
		}
		_ = client.conn.Close()
		server.terminate(b)
	}
}

// TestCancelledCustomResource has another resource fail while one waits: it is deleted by a
// generated id, as nothing else is known of it.
func TestCancelledCustomResource(t *testing.T) {
	t.Parallel()
	v, c := withVendor(t, local.Config{})
	waiting := make(chan struct{})
	v.then(func(r customresource.Request) int {
		switch {
		case r.LogicalResourceID == "Fails" && r.RequestType == customresource.Create:
			<-waiting
			return v.respond(r, map[string]any{"Status": "FAILED", "Reason": "on purpose"})
		case r.RequestType == customresource.Create:
			close(waiting)
			return 0
		}
		return v.works(r)
	})
	stack := c.create(t, "s", strings.Replace(thing(""), `{"Resources": {`, `{"Resources": {"Fails": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "`+vendorToken+`"}}, `, 1))
	history := strings.Join(c.history(t, stack), "\n")
	if stack.StackStatus != "ROLLBACK_COMPLETE" || !strings.Contains(history, "Thing CREATE_FAILED Resource creation cancelled") {
		t.Errorf("%s: %s", stack.StackStatus, history)
	}
	found := false
	for _, call := range v.seen() {
		found = found || strings.HasPrefix(call, "Delete Thing s-Thing-")
	}
	if !found {
		t.Errorf("calls %q", v.seen())
	}
}

// TestKillCustomResources kills the server between invocation and response: the response that
// comes after the restart counts, and nothing is invoked twice that may be working.
func TestKillCustomResources(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes servers that die")
	}
	t.Parallel()
	v := newVendor(t)
	options := serverOptions{Dir: t.TempDir() + "/data", Functions: []string{"vendor=" + v.URL}, Address: freeAddress(t)} // the URL of a response has the port
	kills, _ := number(t, "FORMWORK_KILLS", 5)
	for round := range rounds(t, kills) {
		name := fmt.Sprint("s", round)
		server := mustStart(t, options)
		c := newClients(t, server.url)
		asked := make(chan customresource.Request, 10)
		v.then(func(r customresource.Request) int { asked <- r; return 0 })
		body := thing("")
		if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
			t.Fatal(err)
		}
		r := <-asked
		server.kill()
		server = mustStart(t, options)
		c = newClients(t, server.url)
		if status := v.put(r.ResponseURL, answer(r, nil)); status != http.StatusOK {
			t.Errorf("the response after the restart is answered with %d", status)
		}
		stack := c.ended(t, name)
		if seen := v.seen(); stack.StackStatus != "CREATE_COMPLETE" || len(seen) != 1 {
			t.Errorf("%s, calls %q: %q", stack.StackStatus, seen, c.history(t, stack))
		}
		if status := v.put(r.ResponseURL, answer(r, nil)); status != http.StatusForbidden {
			t.Errorf("a second response is answered with %d", status)
		}
		// The deletion is killed after its response was taken, or before.
		v.then(func(r customresource.Request) int {
			asked <- r
			if !fixtures.Happens(fixtures.Patience, func() bool { return v.try(r.ResponseURL, answer(r, nil)) != 0 || t.Context().Err() != nil }) {
				t.Error("the response to the deletion is not taken")
			}
			return 0
		})
		if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: stack.StackId}); err != nil {
			t.Fatal(err)
		}
		<-asked
		server.kill()
		server = mustStart(t, options)
		c = newClients(t, server.url)
		if stack = c.ended(t, *stack.StackId); stack.StackStatus != "DELETE_COMPLETE" {
			t.Errorf("%s: %q", stack.StackStatus, c.history(t, stack))
		}
		server.terminate(t)
	}
}

// TestKilledFunction kills the server while a process of it works on a request: the process ends
// with it, and the next server invokes the function again with the same request.
func TestKilledFunction(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() || exec.Command("python3", "--version").Run() != nil {
		t.Skip("skipped: -short, or python3 is not installed")
	}
	t.Parallel()
	notes, source := t.TempDir(), filepath.Join(t.TempDir(), "vendor.py") // a function cannot write to its own folder
	writeFile(t, source, []byte(`
import json, time, urllib.request
def handler(event, context):
    with open("`+notes+`/calls", "a+") as calls:
        calls.write(event["RequestId"] + "\n")
        calls.seek(0)
        count = len(calls.readlines())
    if count == 1:
        time.sleep(600)
    body = {k: event[k] for k in ("RequestId", "StackId", "LogicalResourceId")}
    body.update(Status="SUCCESS", PhysicalResourceId="p")
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], data=json.dumps(body).encode(), method="PUT"))
`))
	calls := func() []string {
		text, err := os.ReadFile(filepath.Join(notes, "calls"))
		if err != nil {
			return nil
		}
		return strings.Fields(string(text))
	}
	options := serverOptions{Dir: t.TempDir() + "/data", Functions: []string{"vendor=" + source}}
	server := mustStart(t, options)
	name, body := "s", thing("")
	if _, err := newClients(t, server.url).CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the first call", func() bool { return len(calls()) == 1 })
	server.kill()
	server = mustStart(t, options)
	c := newClients(t, server.url)
	stack := c.ended(t, name)
	if all := calls(); stack.StackStatus != "CREATE_COMPLETE" || len(all) != 2 || all[0] != all[1] {
		t.Errorf("%s after the calls %q: %q", stack.StackStatus, all, c.history(t, stack))
	}
	server.terminate(t)
}
