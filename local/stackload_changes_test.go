package local_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// BenchmarkStackChangeSet plans an update of a stack of 500 resources that changes one of them,
// and one that changes all: from the request until the change set is complete.
func BenchmarkStackChangeSet(b *testing.B) {
	const resources = 500
	server, c := simulating(b)
	watch, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer watch.conn.Close()
	stack, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: aws.String("planned"), TemplateBody: settings(resources, "a")})
	if err != nil {
		b.Fatal(err)
	}
	watch.settle(b, *stack.StackId, types.StackStatusCreateComplete)
	templates := map[int]string{
		1:         strings.Replace(*settings(resources, "a"), `"Value":"a"`, `"Value":"b"`, 1),
		resources: *settings(resources, "b"),
	}
	best := map[int]time.Duration{}
	n := 0
	for b.Loop() {
		for changes, template := range templates {
			n++
			name := fmt.Sprintf("set-%d", n)
			request := "Version=2010-05-15&Action=CreateChangeSet&StackName=planned&ChangeSetName=" + name + "&TemplateBody=" + url.QueryEscape(template)
			started := time.Now()
			if err := watch.call(request); err != nil {
				b.Fatal(err)
			}
			watch.completeSet(b, name)
			if took := time.Since(started); best[changes] == 0 || took < best[changes] {
				best[changes] = took
			}
		}
	}
	for changes, took := range best {
		b.ReportMetric(milliseconds(took), fmt.Sprintf("ms/set-of-%d-changes", changes))
	}
}

// completeSet waits until a change set of the stack "planned" is complete.
func (c *caller) completeSet(b *testing.B, name string) {
	b.Helper()
	for {
		if err := c.call("Version=2010-05-15&Action=DescribeChangeSet&StackName=planned&ChangeSetName=" + name); err != nil {
			b.Fatal(err)
		}
		switch body := string(c.body); {
		case strings.Contains(body, "<Status>CREATE_COMPLETE</Status>"):
			return
		case !strings.Contains(body, "<Status>CREATE_PENDING</Status>") && !strings.Contains(body, "<Status>CREATE_IN_PROGRESS</Status>"):
			b.Fatalf("the change set %s is not complete: %s", name, body)
		}
		letRun(2 * time.Millisecond)
	}
}

// BenchmarkStackDrift detects the drift of 500 resources whose handler takes a tenth of a second
// for each READ, and compares that with what its processes take for it.
func BenchmarkStackDrift(b *testing.B) {
	const resources, reading = 500, 100 * time.Millisecond // see testdata/waiter
	server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data"), TimeScale: 100})
	c := newClients(b, server.url)
	registerWaiter(b, c)
	watch, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer watch.conn.Close()
	template := uploaded(b, c, server.url, waiters("slow", resources, false).String())
	stack, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: aws.String("drifting"), TemplateURL: template})
	if err != nil {
		b.Fatal(err)
	}
	watch.settle(b, *stack.StackId, types.StackStatusCreateComplete)
	own := resources * reading / lambda.DefaultMaxProcesses
	best := time.Duration(0)
	for b.Loop() {
		started := time.Now()
		detection, err := c.DetectStackDrift(b.Context(), &cloudformation.DetectStackDriftInput{StackName: stack.StackId})
		if err != nil {
			b.Fatal(err)
		}
		for {
			out, err := c.DescribeStackDriftDetectionStatus(b.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: detection.StackDriftDetectionId})
			if err != nil {
				b.Fatal(err)
			}
			if out.DetectionStatus == types.StackDriftDetectionStatusDetectionComplete {
				if out.StackDriftStatus != types.StackDriftStatusInSync {
					b.Fatalf("the stack is %s", out.StackDriftStatus)
				}
				break
			}
			if out.DetectionStatus == types.StackDriftDetectionStatusDetectionFailed {
				b.Fatal(aws.ToString(out.DetectionStatusReason))
			}
			letRun(20 * time.Millisecond)
		}
		if took := time.Since(started); best == 0 || took < best {
			best = took
		}
	}
	b.ReportMetric(best.Seconds(), "wall-s")
	b.ReportMetric(own.Seconds(), "handler-s")
	b.ReportMetric(best.Seconds()/own.Seconds(), "ratio")
}
