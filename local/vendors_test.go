package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/local"
)

// TestVendors takes custom resources through their life whose providers use the libraries that
// everybody uses, unmodified: three of them send their responses to port 443 and by https only.
func TestVendors(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the libraries for custom resources")
	}
	t.Parallel()
	source, err := filepath.Abs("testdata/vendors")
	if err != nil {
		t.Fatal(err)
	}
	node := func(t *testing.T) {
		t.Helper()
		if exec.Command("node", "--version").Run() != nil {
			t.Skip("skipped: node is not installed")
		}
	}
	for _, test := range []struct {
		name      string
		functions func(t *testing.T) (functions, env []string)
		failure   string // contained in the reason of what fails on purpose
	}{
		{"python", func(t *testing.T) ([]string, []string) {
			library := filepath.Dir(installed(t, "vendors/python/crhelper"))
			return []string{"vendor=" + source + "/python"}, []string{"PYTHONPATH=" + library}
		}, "Message returned: failed on purpose"},
		{"node", func(t *testing.T) ([]string, []string) {
			node(t)
			return []string{"vendor=" + source + "/node"}, []string{"NODE_PATH=" + filepath.Dir(installed(t, "vendors/node_modules/cfn-response"))}
		}, "Message returned: See the details in CloudWatch Log Stream: "},
		{"framework", func(t *testing.T) ([]string, []string) {
			node(t)
			sdk := filepath.Dir(filepath.Dir(installed(t, "vendors/node_modules/@aws-sdk/client-lambda")))
			library := installed(t, "cdk/node_modules/aws-cdk-lib")
			return []string{"vendor=" + source + "/framework", "onevent=" + source + "/onevent"},
				[]string{"NODE_PATH=" + sdk, "VENDOR_LIBRARY=" + library, "VENDOR_ACCOUNT=" + account}
		}, "failed on purpose"},
		{"go", func(t *testing.T) ([]string, []string) {
			return []string{"vendor=" + installed(t, "vendors/go/bootstrap")}, nil
		}, "Message returned: failed on purpose"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			functions, env := test.functions(t)
			server := serving(t, local.ServerConfig{Config: local.Config{Functions: functions, HandlerEnv: env, Mounts: []string{os.Getenv(clientsVar)}}})
			c := newClients(t, server.URL())
			body := func(properties string) string {
				return strings.TrimSuffix(thing(", "+properties), "}") + `, "Outputs": {"Address": {"Value": {"Fn::GetAtt": ["Thing", "Address"]}}, "Ref": {"Value": {"Ref": "Thing"}}}}`
			}
			expect := func(stack cfntypes.Stack, status, address string) {
				t.Helper()
				outputs := map[string]string{}
				for _, o := range stack.Outputs {
					outputs[*o.OutputKey] = *o.OutputValue
				}
				if string(stack.StackStatus) != status || outputs["Address"] != address || address != "" && outputs["Ref"] != test.name+"-thing" {
					t.Fatalf("%s with %s, want %s with %s; events %q", stack.StackStatus, outputs, status, address, c.history(t, stack))
				}
			}
			reason := func(stack cfntypes.Stack, start, want string) {
				t.Helper()
				history := c.history(t, stack)
				if !slices.ContainsFunc(history, func(e string) bool { return strings.HasPrefix(e, start) && strings.Contains(e, want) }) {
					t.Errorf("no event %s with %q: %q", start, want, history)
				}
			}
			stack := c.create(t, "life", body(`"Size": 1`))
			expect(stack, "CREATE_COMPLETE", "at-1")
			stack = c.update(t, "life", body(`"Size": 2`))
			expect(stack, "UPDATE_COMPLETE", "at-2")
			stack = c.update(t, "life", body(`"Size": 3, "Mode": "fail"`))
			expect(stack, "UPDATE_ROLLBACK_COMPLETE", "at-2")
			reason(stack, "Thing UPDATE_FAILED Received response status [FAILED] from custom resource.", test.failure)
			stack = c.update(t, "life", body(`"Size": 4, "Mode": "sleep", "ServiceTimeout": 2`))
			expect(stack, "UPDATE_ROLLBACK_COMPLETE", "at-2")
			reason(stack, "Thing UPDATE_FAILED", "did not receive a response")
			expect(c.remove(t, stack), "DELETE_COMPLETE", "at-2")
		})
	}
}

// TestCDKProvider deploys a CDK app with the construct Provider: its framework, its function and
// their roles are those of the template, and with an isCompleteHandler its state machine.
func TestCDKProvider(t *testing.T) {
	cdk := installed(t, "cdk/node_modules/aws-cdk/bin/cdk")
	sdk := filepath.Dir(filepath.Dir(installed(t, "vendors/node_modules/@aws-sdk/client-lambda")))
	for _, test := range []struct{ name, wait, mode, failure string }{
		{"onEvent", "", "fail", "failed on purpose"},
		{"isComplete", "yes", "never", "Operation timed out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := serving(t, local.ServerConfig{Config: local.Config{RunLambda: true, HandlerEnv: []string{"NODE_PATH=" + sdk}, TimeScale: 20}})
			p := place{url: server.URL(), account: account, dir: t.TempDir()}
			client := cloudformation.NewFromConfig(aws.Config{BaseEndpoint: &p.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
			p.cdkApp(t, cdk, filepath.Join("testdata", "vendors", "cdk", "app.js"))
			if err := os.Mkdir(filepath.Join(p.dir, "user"), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(p.dir, "user", "index.js"), readFile(t, filepath.Join("testdata", "vendors", "onevent", "index.js")))
			store := s3.NewFromConfig(aws.Config{BaseEndpoint: &p.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")}, func(o *s3.Options) { o.UsePathStyle = true })
			must[*s3.CreateBucketOutput](t)(store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("assets")}))
			run := func(size, mode string, args ...string) (string, error) {
				t.Helper()
				return p.cdk(t, cdk, []string{"SIZE=" + size, "MODE=" + mode, "WAIT=" + test.wait}, args...)
			}
			for _, size := range []string{"1", "2"} {
				out, err := run(size, "", "deploy", "--require-approval", "never")
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				expectOutput(t, out, "Framework.Address = at-"+size)
			}
			out, err := run("3", test.mode, "deploy", "--require-approval", "never")
			if err == nil {
				t.Error("a deployment succeeded that fails on purpose")
			}
			expectOutput(t, out, test.failure)
			expectStacks(t, client, "Framework UPDATE_ROLLBACK_COMPLETE")
			if out, err := run("2", "", "destroy", "--force"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			expectStacks(t, client)
		})
	}
}

// TestInitFailure has a provider whose start failed answer, which crhelper does without a physical id: its
// resource fails at once, with the reason that AWS has for that.
func TestInitFailure(t *testing.T) {
	library := filepath.Dir(installed(t, "vendors/python/crhelper"))
	program(t, "python3", "-c", "import boto3")
	t.Parallel()
	source, err := filepath.Abs("testdata/vendors/unready")
	if err != nil {
		t.Fatal(err)
	}
	server := serving(t, local.ServerConfig{Config: local.Config{
		Functions: []string{"vendor=" + source}, HandlerEnv: []string{"PYTHONPATH=" + library}, Mounts: []string{os.Getenv(clientsVar)},
	}})
	c := newClients(t, server.URL())
	history := c.history(t, c.create(t, "unready", thing(`, "ServiceTimeout": 3600, "Size": 1`)))
	if !slices.ContainsFunc(history, func(e string) bool {
		return e == "Thing CREATE_FAILED Invalid PhysicalResourceId"
	}) {
		t.Errorf("events %q", history)
	}
}

// TestPolling takes a custom resource through its life whose provider polls: crhelper has EventBridge call
// the function again, and removes its rule at the end.
func TestPolling(t *testing.T) {
	library := filepath.Dir(installed(t, "vendors/python/crhelper"))
	program(t, "python3", "-c", "import boto3")
	t.Parallel()
	source, err := filepath.Abs("testdata/vendors/polling")
	if err != nil {
		t.Fatal(err)
	}
	server := serving(t, local.ServerConfig{Config: local.Config{
		Functions: []string{"vendor=" + source}, HandlerEnv: []string{"PYTHONPATH=" + library}, Mounts: []string{os.Getenv(clientsVar)}, TimeScale: 60,
	}})
	c := newClients(t, server.URL())
	body := func(properties string) string {
		return strings.TrimSuffix(thing(`, "ServiceTimeout": 3600, `+properties), "}") + `, "Outputs": {"Address": {"Value": {"Fn::GetAtt": ["Thing", "Address"]}}, "Ref": {"Value": {"Ref": "Thing"}}}}`
	}
	for _, step := range []struct{ properties, status, address, reason string }{
		{`"Size": 1`, "CREATE_COMPLETE", "at-1", ""},
		{`"Size": 2`, "UPDATE_COMPLETE", "at-2", ""},
		{`"Size": 3, "Mode": "fail"`, "UPDATE_ROLLBACK_COMPLETE", "at-2", "Message returned: failed on purpose"},
		{`"Size": 4, "Mode": "refuse"`, "UPDATE_ROLLBACK_COMPLETE", "at-2", "Message returned: refused on purpose"},
	} {
		make := c.update
		if step.status == "CREATE_COMPLETE" {
			make = c.create
		}
		stack := make(t, "life", body(step.properties))
		outputs := map[string]string{}
		for _, o := range stack.Outputs {
			outputs[*o.OutputKey] = *o.OutputValue
		}
		history := c.history(t, stack)
		if string(stack.StackStatus) != step.status || outputs["Address"] != step.address || outputs["Ref"] != "polled-thing" {
			t.Fatalf("%s: %s with %s; events %q", step.properties, stack.StackStatus, outputs, history)
		}
		if step.reason != "" && !slices.ContainsFunc(history, func(e string) bool { return strings.Contains(e, step.reason) }) {
			t.Errorf("%s: no event with %q: %q", step.properties, step.reason, history)
		}
	}
	stack := c.create(t, "other", body(`"Size": 5`))
	if removed := c.remove(t, stack); removed.StackStatus != "DELETE_COMPLETE" {
		t.Errorf("%s; events %q", removed.StackStatus, c.history(t, removed))
	}
	p := place{url: server.URL(), account: account, dir: t.TempDir()}
	out, err := p.command(t, "python3", "-c", "import boto3, sys; print(boto3.client('events', endpoint_url=sys.argv[1], region_name='us-east-1').list_rules()['Rules'])", p.url).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "[]" {
		t.Errorf("rules are left: %v\n%s", err, out)
	}
}
