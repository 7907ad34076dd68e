package local_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// TestStackSetClients takes a stack set through its life with boto3.
func TestStackSetClients(t *testing.T) {
	program(t, "python3", "-c", "import boto3")
	t.Parallel()
	p := place{url: startWith(t, local.Config{}), account: "444444444444", dir: t.TempDir()}
	writeFile(t, filepath.Join(p.dir, "stacksets.py"), readFile(t, filepath.Join("testdata", "stacksets.py")))
	if out := p.output(t, "python3", "stacksets.py"); !strings.HasSuffix(out, "\ndone\n") {
		t.Errorf("the script does not come to its end:\n%s", out)
	}
}

// TestStackSetResource deploys stack sets as resources of templates with the AWS CLI and boto3.
func TestStackSetResource(t *testing.T) {
	program(t, "python3", "-c", "import boto3")
	program(t, "aws", "--version")
	t.Parallel()
	p := place{url: startWith(t, local.Config{}), account: "444444444445", dir: t.TempDir()}
	writeFile(t, filepath.Join(p.dir, "stackset_resource.py"), readFile(t, filepath.Join("testdata", "stackset_resource.py")))
	if out := p.output(t, "python3", "stackset_resource.py"); !strings.HasSuffix(out, "\ndone\n") {
		t.Errorf("the script does not come to its end:\n%s", out)
	}
}

// setEnds waits for the end of an operation on a stack set.
func setEnds(t *testing.T, c *cloudformation.Client, set, operation string) *cfntypes.StackSetOperation {
	t.Helper()
	var found *cfntypes.StackSetOperation
	eventually(t, 3*time.Minute, "the end of the operation", func() bool {
		out, err := c.DescribeStackSetOperation(t.Context(), &cloudformation.DescribeStackSetOperationInput{StackSetName: &set, OperationId: &operation})
		if err != nil {
			return false // the server may be dead
		}
		found = out.StackSetOperation
		return found.EndTimestamp != nil
	})
	return found
}

// TestStackSetAccounts has a stack set reach for another account, with signatures checked: only
// with the consent of whoever started the server.
func TestStackSetAccounts(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		config := local.Config{Keys: twoKeys}
		if allowed {
			config.StackSetAdmins = []string{account}
		}
		url := serving(t, local.ServerConfig{Config: config}).URL()
		mine, theirs := cloudformation.NewFromConfig(signer(url, keyID, secret)), cloudformation.NewFromConfig(signer(url, otherID, otherSecret))
		name, body := "reach", `{"Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`
		must[*cloudformation.CreateStackSetOutput](t)(mine.CreateStackSet(t.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: &body}))
		out := must[*cloudformation.CreateStackInstancesOutput](t)(mine.CreateStackInstances(t.Context(), &cloudformation.CreateStackInstancesInput{
			StackSetName: &name, Accounts: []string{account, otherAccount}, Regions: []string{region}, OperationPreferences: &cfntypes.StackSetOperationPreferences{FailureToleranceCount: aws.Int32(1)},
		}))
		operation := setEnds(t, mine, name, *out.OperationId)
		if failed := *operation.StatusDetails.FailedStackInstancesCount; allowed != (failed == 0) {
			t.Errorf("allowed %t: %d instances failed", allowed, failed)
		}
		stacks := must[*cloudformation.DescribeStacksOutput](t)(theirs.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{}))
		if allowed != (len(stacks.Stacks) == 1) {
			t.Errorf("allowed %t: the other account has %d stacks", allowed, len(stacks.Stacks))
		}
		if _, err := theirs.DescribeStackSet(t.Context(), &cloudformation.DescribeStackSetInput{StackSetName: &name}); err == nil {
			t.Error("another account sees the stack set")
		}
	}
}

// TestStackSetPublishes publishes a module in two regions with the template of the user guide as a
// stack set, and reaches the state that cfn publish reaches for another account.
func TestStackSetPublishes(t *testing.T) {
	t.Parallel()
	url := startWith(t, local.Config{Dir: t.TempDir()})
	const typeName = "MyOrg::MyService::MyType::MODULE"
	part := extension(t, "localstack-testing-testmodule-module", "LocalStack::Testing::TestModule", "MyOrg::MyService::MyType", nil)
	regions := []string{"us-east-1", "eu-west-1"}

	c := newClients(t, url)
	body, name, location := guide(t, "publishes a module across Regions", "  "), "publish", c.put(t, "part.zip", part)
	must[*cloudformation.CreateStackSetOutput](t)(c.CreateStackSet(t.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: &body, Parameters: []cfntypes.Parameter{
		{ParameterKey: aws.String("SchemaPackageURL"), ParameterValue: &location}, {ParameterKey: aws.String("FirstTimePublishing"), ParameterValue: aws.String("true")},
	}}))
	out := must[*cloudformation.CreateStackInstancesOutput](t)(c.CreateStackInstances(t.Context(), &cloudformation.CreateStackInstancesInput{StackSetName: &name, Accounts: []string{account}, Regions: regions}))
	if operation := setEnds(t, c.Client, name, *out.OperationId); *operation.StatusDetails.FailedStackInstancesCount > 0 {
		results := must[*cloudformation.ListStackSetOperationResultsOutput](t)(c.ListStackSetOperationResults(t.Context(), &cloudformation.ListStackSetOperationResultsInput{StackSetName: &name, OperationId: out.OperationId}))
		t.Fatalf("%s: %s", operation.Status, textOf(results.Summaries))
	}

	const other = "555555555555"
	for _, region := range regions {
		r, err := submit.Open(t.Context(), submit.Config{Region: region, Endpoint: url, Key: aws.Credentials{AccessKeyID: other, SecretAccessKey: secret}, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := r.PlanPublish(t.Context(), submit.Publication{Request: submit.Request{TypeName: typeName, Kind: schema.Module, Archive: part}, AcceptTerms: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if set, alone := publishedBy(t, url, account, region, typeName), publishedBy(t, url, other, region, typeName); set != alone {
			t.Errorf("%s: the stack set has published\n%s\ncfn publish\n%s", region, set, alone)
		}
	}
}

// publishedBy is what a region shows of a type that an account has published, without what differs
// between accounts and from time to time.
func publishedBy(t *testing.T, url, account, region, typeName string) string {
	t.Helper()
	c := cloudformation.New(cloudformation.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	publisher := must[*cloudformation.DescribePublisherOutput](t)(c.DescribePublisher(t.Context(), &cloudformation.DescribePublisherInput{}))
	found := must[*cloudformation.DescribeTypeOutput](t)(c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeModule, TypeName: &typeName, PublisherId: publisher.PublisherId}))
	private := must[*cloudformation.DescribeTypeOutput](t)(c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeModule, TypeName: &typeName}))
	return textOf([]any{
		found.Visibility, found.PublicVersionNumber, found.LatestPublicVersion, found.TypeTestsStatus, found.Schema, found.Description, found.DeprecatedStatus,
		private.Visibility, private.DefaultVersionId, private.IsDefaultVersion, private.TypeTestsStatus, private.Schema,
	})
}

// TestKillStackSets kills a server at random moments while a stack set of 3 accounts × 5 regions ×
// 4 resources is created, updated and deleted. FORMWORK_KILLS says how often (5).
func TestKillStackSets(t *testing.T) {
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
	chances := rand.New(rand.NewPCG(uint64(seed), 5))
	options := serverOptions{Dir: t.TempDir() + "/data"}
	server := mustStart(t, options)
	accounts, regions := []string{account, "222222222222", "333333333333"}, []string{"us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-south-1"}
	resources := shape{}
	for n := range 4 {
		resources[fmt.Sprint("P", n)] = map[string]any{"Type": parameterType, "Properties": map[string]any{"Name": fmt.Sprint("set-", n), "Type": "String", "Value": map[string]string{"Ref": "V"}}}
	}
	body := strings.TrimSuffix(resources.String(), "}") + `, "Parameters": {"V": {"Type": "String", "Default": "one"}}}`
	name, p := "many", &cfntypes.StackSetOperationPreferences{MaxConcurrentCount: aws.Int32(2), FailureToleranceCount: aws.Int32(1)}
	must[*cloudformation.CreateStackSetOutput](t)(newClients(t, server.url).CreateStackSet(t.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: &body}))
	died := 0
	// through kills the server while an operation runs, as often as there are kills left.
	through := func(begin func(c *cloudformation.Client) (*string, error)) {
		t.Helper()
		id, err := begin(newClients(t, server.url).Client)
		if err != nil {
			t.Fatal(err)
		}
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+chances.IntN(400))*time.Millisecond)
			over := false
			for !over && ctx.Err() == nil {
				out, err := newClients(t, server.url).DescribeStackSetOperation(t.Context(), &cloudformation.DescribeStackSetOperationInput{StackSetName: &name, OperationId: id})
				over = err == nil && out.StackSetOperation.EndTimestamp != nil
				letRun(5 * time.Millisecond)
			}
			cancel()
			if over || died >= kills {
				break
			}
			died++
			server.kill()
			server = mustStart(t, options)
		}
		operation := setEnds(t, newClients(t, server.url).Client, name, *id)
		if operation.Status != cfntypes.StackSetOperationStatusSucceeded || *operation.StatusDetails.FailedStackInstancesCount != 0 {
			t.Fatalf("%s is %s", operation.Action, operation.Status)
		}
	}
	for round := 0; died < kills; round++ {
		through(func(c *cloudformation.Client) (*string, error) {
			out, err := c.CreateStackInstances(t.Context(), &cloudformation.CreateStackInstancesInput{StackSetName: &name, Accounts: accounts, Regions: regions, OperationPreferences: p})
			if err != nil {
				return nil, err
			}
			return out.OperationId, nil
		})
		checkSet(t, server.url, accounts, regions, 1)
		through(func(c *cloudformation.Client) (*string, error) {
			out, err := c.UpdateStackSet(t.Context(), &cloudformation.UpdateStackSetInput{StackSetName: &name, UsePreviousTemplate: aws.Bool(true), OperationPreferences: p, Parameters: []cfntypes.Parameter{
				{ParameterKey: aws.String("V"), ParameterValue: aws.String(fmt.Sprint("round-", round))},
			}})
			if err != nil {
				return nil, err
			}
			return out.OperationId, nil
		})
		checkSet(t, server.url, accounts, regions, 2)
		through(func(c *cloudformation.Client) (*string, error) {
			out, err := c.DeleteStackInstances(t.Context(), &cloudformation.DeleteStackInstancesInput{StackSetName: &name, Accounts: accounts, Regions: regions, OperationPreferences: p, RetainStacks: aws.Bool(false)})
			if err != nil {
				return nil, err
			}
			return out.OperationId, nil
		})
		checkSet(t, server.url, accounts, regions, 0)
	}
	t.Logf("%d kills", died)
	server.terminate(t)
	checkRows(t, options)
}

// checkSet checks the stacks of a set in all its places: one in each, on which as many operations
// were carried out, or none at all.
func checkSet(t *testing.T, url string, accounts, regions []string, operations int) {
	t.Helper()
	for _, account := range accounts {
		for _, region := range regions {
			c := cloudformation.New(cloudformation.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
			stacks, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
			if err != nil {
				t.Fatal(err)
			}
			if len(stacks.Stacks) != min(operations, 1) {
				t.Fatalf("%d stacks in %s, %s", len(stacks.Stacks), account, region)
			}
			if operations == 0 {
				continue
			}
			begun := 0
			for pages := cloudformation.NewDescribeStackEventsPaginator(c, &cloudformation.DescribeStackEventsInput{StackName: stacks.Stacks[0].StackId}); pages.HasMorePages(); {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.StackEvents {
					if *e.PhysicalResourceId == *e.StackId && (e.ResourceStatus == "CREATE_IN_PROGRESS" || e.ResourceStatus == "UPDATE_IN_PROGRESS") {
						begun++
					}
				}
			}
			if begun != operations {
				t.Errorf("%d operations on the stack in %s, %s; expected %d", begun, account, region, operations)
			}
		}
	}
}

// BenchmarkStackSet creates the instances of a set in 3 accounts and 5 regions, with 4 resources
// that take a second each: three accounts at once, one region after the other.
func BenchmarkStackSet(b *testing.B) {
	const critical = 5.0 // seconds: five regions
	accounts, regions := []string{account, "222222222222", "333333333333"}, []string{"us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-south-1"}
	resources := shape{}
	for n := range 4 {
		resources[fmt.Sprint("R", n)] = map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{
			"ServiceToken": map[string]string{"Fn::Sub": "arn:aws:lambda:${AWS::Region}:${AWS::AccountId}:function:vendor"},
		}}
	}
	name, body := "wide", resources.String()
	for b.Loop() {
		v := newVendor(b)
		v.then(func(r customresource.Request) int {
			time.AfterFunc(time.Second, func() { v.respond(r, nil) })
			return 0
		})
		server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data"), Functions: []string{"vendor=" + v.URL}})
		c := newClients(b, server.url)
		if _, err := c.CreateStackSet(b.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: &body}); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		out, err := c.CreateStackInstances(b.Context(), &cloudformation.CreateStackInstancesInput{
			StackSetName: &name, Accounts: accounts, Regions: regions, OperationPreferences: &cfntypes.StackSetOperationPreferences{MaxConcurrentCount: aws.Int32(3), FailureToleranceCount: aws.Int32(2)},
		})
		if err != nil {
			b.Fatal(err)
		}
		for {
			found, err := c.DescribeStackSetOperation(b.Context(), &cloudformation.DescribeStackSetOperationInput{StackSetName: &name, OperationId: out.OperationId})
			if err != nil {
				b.Fatal(err)
			}
			if status := found.StackSetOperation.Status; status == cfntypes.StackSetOperationStatusSucceeded {
				break
			} else if status != cfntypes.StackSetOperationStatusRunning {
				b.Fatalf("the operation is %s", status)
			}
			letRun(20 * time.Millisecond)
		}
		wall := time.Since(begun).Seconds()
		b.ReportMetric(wall, "wall-s")
		b.ReportMetric(wall/critical, "ratio")
		server.terminate(b)
	}
}
