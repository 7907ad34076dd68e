package local_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// waiterHook is the hook of testdata/waiter, which answers in ten milliseconds.
const waiterHook = "Acme::Load::Guard"

// registerWaiterHook registers waiterHook, and has it look at every resource.
func registerWaiterHook(b *testing.B, c clients) {
	b.Helper()
	registerPackage(b, c, types.RegistryTypeHook, waiterHook, zipped(b,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "HOOK", "typeName": "` + waiterHook + `", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "` + waiterHook + `", "description": "Answers in ten milliseconds.", "additionalProperties": false,
			"typeConfiguration": {"additionalProperties": false, "properties": {}}, "handlers": {"preCreate": {"targetNames": ["` + waiterType + `"], "permissions": []}}}`)},
		entry{name: "HookProvider.zip", data: zipped(b, entry{name: "bootstrap", data: waiterProgram(b)})},
	))
	_, err := c.SetTypeConfiguration(b.Context(), &cloudformation.SetTypeConfigurationInput{
		Type: types.ThirdPartyTypeHook, TypeName: aws.String(waiterHook), Configuration: aws.String(`{"CloudFormationConfiguration": {"HookConfiguration":
			{"HookInvocationStatus": "ENABLED", "TargetOperations": ["RESOURCE"], "FailureMode": "FAIL", "Properties": {}}}}`),
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStackHooks creates stacks of 500 resources whose handler waits for three times a
// second, in turns on a server without a hook and on one with a hook that looks at each of them
// and takes ten milliseconds. Handler and hook are programs.
//
//	go test -run '^$' -bench StackHooks -benchtime 3x ./local
func BenchmarkStackHooks(b *testing.B) {
	const count = 500
	type side struct {
		clients
		url   string
		watch *caller
		best  time.Duration
	}
	var sides [2]side // without and with
	for i := range sides {
		server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data")})
		c := newClients(b, server.url)
		registerWaiter(b, c)
		if i == 1 {
			registerWaiterHook(b, c)
		}
		watch, err := newCaller(server.url)
		if err != nil {
			b.Fatal(err)
		}
		defer watch.conn.Close()
		sides[i] = side{clients: c, url: server.url, watch: watch}
	}
	name := "waiters"
	for b.Loop() {
		name += "-again"
		for i := range sides {
			s := &sides[i]
			template := uploaded(b, s.clients, s.url, waiters(name, count, false).String())
			started := time.Now()
			out, err := s.CreateStack(b.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateURL: template})
			if err != nil {
				b.Fatal(err)
			}
			s.watch.settle(b, *out.StackId, types.StackStatusCreateComplete)
			if took := s.watch.lastEvent(b, *out.StackId).Sub(started); s.best == 0 || took < s.best {
				s.best = took
			}
		}
	}
	results := 0
	for token := (*string)(nil); ; {
		page, err := sides[1].ListHookResults(b.Context(), &cloudformation.ListHookResultsInput{NextToken: token})
		if err != nil {
			b.Fatal(err)
		}
		results += len(page.HookResults)
		if token = page.NextToken; token == nil {
			break
		}
	}
	if results != count*b.N {
		b.Fatalf("the hook looked at %d resources, expected %d", results, count*b.N)
	}
	b.ReportMetric(sides[0].best.Seconds(), "without-s")
	b.ReportMetric(sides[1].best.Seconds(), "with-s")
	b.ReportMetric(sides[1].best.Seconds()/sides[0].best.Seconds(), "ratio")
}
