package local_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

const parameterType = "AWS::SSM::Parameter"

// simulating starts a server that simulates AWS::SSM::Parameter.
func simulating(b *testing.B) (*process, clients) {
	b.Helper()
	schema := filepath.Join(fixtures.Dir(b, "schemas/aws"), "aws-ssm-parameter.json")
	server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data"), Simulate: []string{parameterType}})
	place{url: server.url, account: account}.importTypes(b, schema)
	return server, newClients(b, server.url)
}

// settings is a template of count parameters of SSM.
func settings(count int, value string) *string {
	resources := shape{}
	for i := range count {
		resources[fmt.Sprintf("P%04d", i)] = map[string]any{"Type": parameterType, "Properties": map[string]string{"Type": "String", "Value": value}}
	}
	return aws.String(resources.String())
}

// pause is how long a client waits after each read. Those of AWS wait for a second or longer.
const pause = 50 * time.Millisecond

// BenchmarkStackReads has 16 clients create, update and delete 50 stacks of 20 resources.
// Each client reads in turns while its stack is in progress.
func BenchmarkStackReads(b *testing.B) {
	const stacks, resources, workers = 50, 20, 16
	reads := []string{"DescribeStacks", "DescribeStackEvents", "DescribeStackResources", "ListStacks"}
	server, c := simulating(b)
	times := make([]map[string][]time.Duration, workers)
	round := 0
	for b.Loop() {
		round++
		var next atomic.Int64
		var busy sync.WaitGroup
		for w := range workers {
			if times[w] == nil {
				times[w] = map[string][]time.Duration{}
			}
			client, err := newCaller(server.url)
			if err != nil {
				b.Fatal(err)
			}
			busy.Go(func() {
				defer client.conn.Close()
				for n := int(next.Add(1)); n <= stacks; n = int(next.Add(1)) {
					if err := liveThrough(b, c, client, fmt.Sprintf("reads-%d-%d", round, n), resources, reads, times[w]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		busy.Wait()
	}
	var all []time.Duration
	for _, read := range reads {
		var one []time.Duration
		for _, t := range times {
			one = append(one, t[read]...)
		}
		slices.Sort(one)
		all = append(all, one...)
		b.ReportMetric(milliseconds(one[len(one)*99/100]), read+"-p99-ms")
	}
	slices.Sort(all)
	b.ReportMetric(float64(len(all)), "reads")
	b.ReportMetric(milliseconds(all[len(all)/2]), "p50-ms")
	b.ReportMetric(milliseconds(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(all[len(all)-1]), "max-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// liveThrough creates, updates and deletes a stack, and reads it all along.
func liveThrough(b *testing.B, c clients, client *caller, name string, resources int, reads []string, times map[string][]time.Duration) error {
	out, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: settings(resources, "a")})
	if err != nil {
		return err
	}
	for _, change := range []func() error{
		func() error { return nil },
		func() error {
			_, err := c.UpdateStack(b.Context(), &cloudformation.UpdateStackInput{StackName: out.StackId, TemplateBody: settings(resources, "b")})
			return err
		},
		func() error {
			_, err := c.DeleteStack(b.Context(), &cloudformation.DeleteStackInput{StackName: out.StackId})
			return err
		},
	} {
		if err := change(); err != nil {
			return err
		}
		for over := false; !over; {
			for _, read := range reads {
				request := "Version=2010-05-15&Action=" + read
				if read != "ListStacks" {
					request += "&StackName=" + url.QueryEscape(*out.StackId)
				}
				started := time.Now()
				if err := client.call(request); err != nil {
					return err
				}
				times[read] = append(times[read], time.Since(started))
				if read == "DescribeStacks" {
					over = !inProgress(statusIn(client.body))
				}
				letRun(pause)
			}
		}
	}
	return nil
}

// BenchmarkStackGrowth creates stacks of 50 and of 500 resources in turn, and compares what a
// resource costs.
func BenchmarkStackGrowth(b *testing.B) {
	server, c := simulating(b)
	watch, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer watch.conn.Close()
	sizes := []int{50, 500}
	best, used := map[int]time.Duration{}, map[int]time.Duration{}
	pid := strconv.Itoa(server.cmd.Process.Pid)
	n := 0
	for b.Loop() {
		n++
		for _, size := range sizes {
			before, took := cpuOf(b, pid), time.Duration(0)
			for part := range 500 / size { // as many resources of either size
				name := fmt.Sprintf("g%d-%d-%d", n, size, part)
				started := time.Now()
				out, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: settings(size, "a")})
				if err != nil {
					b.Fatal(err)
				}
				watch.settle(b, *out.StackId, types.StackStatusCreateComplete)
				took += watch.lastEvent(b, *out.StackId).Sub(started)
			}
			if best[size] == 0 || took < best[size] {
				best[size] = took
			}
			if cpu := cpuOf(b, pid) - before; used[size] == 0 || cpu < used[size] {
				used[size] = cpu
			}
		}
	}
	for _, size := range sizes {
		b.ReportMetric(milliseconds(best[size])/500, fmt.Sprintf("ms/resource-of-%d", size))
		b.ReportMetric(milliseconds(used[size])/500, fmt.Sprintf("cpu-ms/resource-of-%d", size))
	}
	b.ReportMetric(best[500].Seconds()/best[50].Seconds(), "ratio")
	b.ReportMetric(used[500].Seconds()/used[50].Seconds(), "cpu-ratio")
}

// idle is how long a server is left alone until it has given back what it no longer needs.
const idle = 45 * time.Second

// BenchmarkStackMemory has a server create 100 stacks of 100 resources, and looks how much
// memory it has then, and when it has been idle.
func BenchmarkStackMemory(b *testing.B) {
	const stacks, resources, workers = 100, 100, 4
	for b.Loop() {
		server, c := simulating(b)
		var next atomic.Int64
		var busy sync.WaitGroup
		for range workers {
			client, err := newCaller(server.url)
			if err != nil {
				b.Fatal(err)
			}
			busy.Go(func() {
				defer client.conn.Close()
				for n := int(next.Add(1)); n <= stacks; n = int(next.Add(1)) {
					name := fmt.Sprintf("memory-%d", n)
					out, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: settings(resources, "a")})
					if err != nil {
						b.Error(err)
						return
					}
					client.settle(b, *out.StackId, types.StackStatusCreateComplete)
				}
			})
		}
		busy.Wait()
		b.ReportMetric(memoryOf(b, server, "VmRSS"), "busy-rss-MB")
		letRun(idle)
		b.ReportMetric(memoryOf(b, server, "VmRSS"), "idle-rss-MB")
		server.terminate(b)
	}
}

// BenchmarkStackMoto creates, updates and deletes a stack of 500 parameters of SSM through
// boto3, at this server, which simulates them, and at moto's, in turn.
func BenchmarkStackMoto(b *testing.B) {
	for _, needed := range [][]string{{"moto_server", "--help"}, {"python3", "-c", "import boto3"}} {
		if out, err := exec.CommandContext(b.Context(), needed[0], needed[1:]...).CombinedOutput(); err != nil {
			b.Skipf("skipped: %s does not work here: %v: %s", needed[0], err, out)
		}
	}
	server, _ := simulating(b)
	moto := startMoto(b)
	type figures struct {
		Create, Update, Delete float64 // seconds
		Events                 int
	}
	run := func(url string) (f figures) {
		b.Helper()
		client := exec.CommandContext(b.Context(), "python3", "testdata/parameters.py", url, "500")
		client.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=x", "AWS_DEFAULT_REGION="+region)
		client.Stderr = os.Stderr
		out, err := client.Output()
		if err == nil {
			err = json.Unmarshal(out, &f)
		}
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return f
	}
	var ours, theirs []float64
	var our, their figures
	var ratios []float64
	for b.Loop() {
		our, their = run(server.url), run(moto)
		one, other := our.Create+our.Update+our.Delete, their.Create+their.Update+their.Delete
		ours, theirs, ratios = append(ours, one), append(theirs, other), append(ratios, one/other)
	}
	slices.Sort(ratios)
	b.ReportMetric(slices.Min(ours), "s")
	b.ReportMetric(slices.Min(theirs), "moto-s")
	b.ReportMetric(float64(our.Events), "events")
	b.ReportMetric(float64(their.Events), "moto-events")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}
