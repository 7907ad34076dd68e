package local_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// waiterType is the type of testdata/waiter.
const waiterType = "Acme::Load::Waiter"

// waiterDelays is how long the handler of waiterType waits during a create or an update.
const waiterDelays = 3 * time.Second

// waiterProgram builds testdata/waiter.
func waiterProgram(b *testing.B) []byte {
	b.Helper()
	if runtime.GOOS == "windows" {
		b.Skip("skipped: a package of a program for Linux")
	}
	program := filepath.Join(b.TempDir(), "bootstrap")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./testdata/waiter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// waiterPackage builds the package of waiterType.
func waiterPackage(b *testing.B) []byte {
	b.Helper()
	return zipped(b,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "RESOURCE", "typeName": "` + waiterType + `", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "` + waiterType + `", "description": "Takes three seconds.", "additionalProperties": false,
			"properties": {"Id": {"type": "string"}, "Name": {"type": "string"}, "After": {"type": "string"}}, "required": ["Name"],
			"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Name"], "tagging": {"taggable": false},
			"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}}`)},
		entry{name: "ResourceProvider.zip", data: zipped(b, entry{name: "bootstrap", data: waiterProgram(b)})},
	)
}

// registerWaiter registers waiterType.
func registerWaiter(b *testing.B, c clients) {
	b.Helper()
	if _, err := c.s3.CreateBucket(b.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
		b.Fatal(err)
	}
	registerPackage(b, c, types.RegistryTypeResource, waiterType, waiterPackage(b))
}

// registerPackage registers a package by way of the bucket.
func registerPackage(b *testing.B, c clients, kind types.RegistryType, name string, data []byte) {
	b.Helper()
	if _, err := c.s3.PutObject(b.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: aws.String("package.zip"), Body: bytes.NewReader(data)}); err != nil {
		b.Fatal(err)
	}
	out, err := c.RegisterType(b.Context(), &cloudformation.RegisterTypeInput{
		Type: kind, TypeName: &name, SchemaHandlerPackage: aws.String("s3://" + shelf + "/package.zip"),
	})
	if err != nil {
		b.Fatal(err)
	}
	registered(b, c, *out.RegistrationToken, time.Minute)
}

// uploaded puts a template into the bucket and returns its URL.
func uploaded(b *testing.B, c clients, server, template string) *string {
	b.Helper()
	if _, err := c.s3.PutObject(b.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: aws.String("template"), Body: strings.NewReader(template)}); err != nil {
		b.Fatal(err)
	}
	return aws.String(server + "/" + shelf + "/template")
}

// A shape is the resources of a template by their names.
type shape map[string]any

func (s shape) String() string {
	text, err := json.Marshal(map[string]any{"Resources": map[string]any(s)})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// waiters is a template of count resources of waiterType. In a chain each needs the one
// before.
func waiters(stack string, count int, chain bool) shape {
	resources := shape{}
	for i := range count {
		properties := map[string]any{"Name": fmt.Sprintf("%s-%04d", stack, i)}
		if chain && i > 0 {
			properties["After"] = map[string]string{"Ref": fmt.Sprintf("R%04d", i-1)}
		}
		resources[fmt.Sprintf("R%04d", i)] = map[string]any{"Type": waiterType, "Properties": properties}
	}
	return resources
}

// settle waits until a stack has a status, and fails on any other that is not in progress.
func (c *caller) settle(b *testing.B, stack string, want types.StackStatus) {
	b.Helper()
	for {
		if err := c.call("Version=2010-05-15&Action=DescribeStacks&StackName=" + url.QueryEscape(stack)); err != nil {
			b.Fatal(err)
		}
		switch status := statusIn(c.body); {
		case status == string(want):
			return
		case !inProgress(status):
			b.Fatalf("the stack %s is in %s, expected %s: %s", stack, status, want, c.body)
		}
		letRun(50 * time.Millisecond)
	}
}

// statusIn is the status of the first stack in an answer of DescribeStacks.
func statusIn(answer []byte) string {
	_, rest, _ := bytes.Cut(answer, []byte("<StackStatus>"))
	status, _, _ := bytes.Cut(rest, []byte("<"))
	return string(status)
}

func inProgress(status string) bool { return strings.HasSuffix(status, "_IN_PROGRESS") }

// lastEvent is when the newest event of a stack was: the clients look too rarely to tell.
func (c *caller) lastEvent(b *testing.B, stack string) time.Time {
	b.Helper()
	if err := c.call("Version=2010-05-15&Action=DescribeStackEvents&StackName=" + url.QueryEscape(stack)); err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(c.body, []byte("<Timestamp>"))
	text, _, _ := bytes.Cut(rest, []byte("<"))
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		b.Fatal(err)
	}
	return at
}

// BenchmarkStackWide creates stacks of 500 resources that do not depend on each other, and
// BenchmarkStackDeep of a chain of 200. Their handler is a program that asks for three waits
// of a second, which are the critical path; the chain's are divided by ten, which makes what
// the engine adds to each resource weigh ten times as much.
//
//	go test -run '^$' -bench 'Stack(Wide|Deep)' -benchtime 3x ./local
func BenchmarkStackWide(b *testing.B) { benchmarkWaiters(b, 500, false, 1) }

func BenchmarkStackDeep(b *testing.B) {
	scale := 10.0
	if text := os.Getenv("FORMWORK_TIME_SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil {
			b.Fatal(err)
		}
	}
	benchmarkWaiters(b, 200, true, scale)
}

func benchmarkWaiters(b *testing.B, count int, chain bool, scale float64) {
	server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data"), TimeScale: scale})
	c := newClients(b, server.url)
	registerWaiter(b, c)
	watch, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer watch.conn.Close()
	critical := time.Duration(float64(waiterDelays) / scale)
	if chain {
		critical *= time.Duration(count)
	}
	best := time.Duration(0)
	cpu := cpuOf(b, strconv.Itoa(server.cmd.Process.Pid))
	n := 0
	for b.Loop() {
		n++
		name := fmt.Sprintf("waiters-%d", n)
		template := uploaded(b, c, server.url, waiters(name, count, chain).String())
		started := time.Now()
		out, err := c.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateURL: template})
		if err != nil {
			b.Fatal(err)
		}
		watch.settle(b, *out.StackId, types.StackStatusCreateComplete)
		if took := watch.lastEvent(b, *out.StackId).Sub(started); best == 0 || took < best {
			best = took
		}
	}
	b.ReportMetric(float64(n), "stacks")
	b.ReportMetric(best.Seconds(), "wall-s")
	b.ReportMetric(critical.Seconds(), "critical-s")
	b.ReportMetric(best.Seconds()/critical.Seconds(), "ratio")
	b.ReportMetric((best-critical).Seconds()*1000/float64(count), "added-ms/resource")
	cpu = cpuOf(b, strconv.Itoa(server.cmd.Process.Pid)) - cpu
	b.ReportMetric(float64(cpu.Milliseconds())/float64(n*count), "server-cpu-ms/resource")
}
