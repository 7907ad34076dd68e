package local_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/local"
)

// clientsVar is the folder of clients that are too large to install beside everything else:
// cdk/node_modules with aws-cdk, aws-cdk-lib and constructs, and the virtual environments sam
// (aws-sam-cli) and cfncli (cloudformation-cli, cloudformation-cli-go-plugin).
const clientsVar = "FORMWORK_CLIENTS"

// installed is the path of a program in the folder of clients. Without it the test is skipped.
func installed(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(clientsVar)
	if dir == "" || runtime.GOOS == "windows" {
		t.Skip("skipped: " + clientsVar + " is not set")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if !exists(path) {
		t.Skipf("skipped: %s is not installed", path)
	}
	return path
}

// deployer starts a server with a registered type and simulated ones, and returns where a
// client works.
func deployer(t *testing.T, account string, simulated ...string) (place, *cloudformation.Client) {
	t.Helper()
	p := place{url: startWith(t, ownReports(t, local.Config{Simulate: simulated})), account: account, dir: t.TempDir()}
	if len(simulated) > 0 {
		p.importTypes(t, publishedSchemas(t, simulated)...)
	}
	client := cloudformation.NewFromConfig(aws.Config{BaseEndpoint: &p.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	return p, client
}

// registerReport registers the example's type with the AWS CLI's help.
func (p place) registerReport(t *testing.T, client *cloudformation.Client) {
	t.Helper()
	program(t, "aws", "--version")
	report, _ := reports(t)
	writeFile(t, filepath.Join(p.dir, "report.zip"), report)
	p.output(t, "aws", "s3", "mb", "s3://packages-"+p.account)
	p.output(t, "aws", "s3", "cp", "--no-progress", "report.zip", "s3://packages-"+p.account)
	out := must[*cloudformation.RegisterTypeOutput](t)(client.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{
		Type: types.RegistryTypeResource, TypeName: reportName, SchemaHandlerPackage: aws.String("s3://packages-" + p.account + "/report.zip"),
	}))
	waiter := cloudformation.NewTypeRegistrationCompleteWaiter(client, func(o *cloudformation.TypeRegistrationCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := waiter.Wait(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: out.RegistrationToken}, time.Minute); err != nil {
		t.Fatal(err)
	}
}

// publishedSchemas are the files of an installed cfn-lint with the schemas of some types, of
// several the longest.
func publishedSchemas(t *testing.T, typeNames []string) []string {
	t.Helper()
	program(t, "python3", "-c", "import cfnlint")
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cfnlint, os; print(os.path.dirname(cfnlint.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "data", "schemas", "resources")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	longest := map[string]int{}
	files := map[string]string{}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		data := readFile(t, path)
		var schema struct{ TypeName string }
		// A schema names other types, too, in what its properties refer to.
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if name := schema.TypeName; slices.Contains(typeNames, name) && len(data) > longest[name] {
			longest[name], files[name] = len(data), path
		}
	}
	found := make([]string, 0, len(files))
	for _, name := range typeNames {
		if files[name] == "" {
			t.Fatalf("cfn-lint has no schema of %s", name)
		}
		found = append(found, files[name])
	}
	return found
}

// stacks are the names of the stacks that there are, with their statuses.
func stacksOf(t *testing.T, client *cloudformation.Client) []string {
	t.Helper()
	out := must[*cloudformation.DescribeStacksOutput](t)(client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{}))
	var all []string
	for _, s := range out.Stacks {
		if s.ParentId == nil {
			all = append(all, *s.StackName+" "+string(s.StackStatus))
		}
	}
	slices.Sort(all)
	return all
}

func expectStacks(t *testing.T, client *cloudformation.Client, want ...string) {
	t.Helper()
	if got := stacksOf(t, client); !slices.Equal(got, want) {
		t.Errorf("stacks: %q, want %q", got, want)
	}
}

func expectOutput(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("the output lacks %q:\n%s", text, out)
		}
	}
}

// waitForResource waits for a request of Cloud Control and returns the identifier of its resource.
func (p place) waitForResource(t *testing.T, token string) string {
	t.Helper()
	token = strings.TrimSpace(token)
	p.output(t, "aws", "cloudcontrol", "wait", "resource-request-success", "--request-token", token)
	return strings.TrimSpace(p.output(t, "aws", "cloudcontrol", "get-resource-request-status", "--request-token", token,
		"--query", "ProgressEvent.Identifier", "--output", "text"))
}

func outputOf(t *testing.T, client *cloudformation.Client, stack, key string) string {
	t.Helper()
	out := must[*cloudformation.DescribeStacksOutput](t)(client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack}))
	for _, o := range out.Stacks[0].Outputs {
		if aws.ToString(o.OutputKey) == key {
			return aws.ToString(o.OutputValue)
		}
	}
	t.Fatalf("the stack %s has no output %s", stack, key)
	return ""
}

// cdkApp makes the folder one of an app of the AWS CDK.
func (p place) cdkApp(t *testing.T, cdk, source string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(filepath.Dir(cdk), "..", ".."), filepath.Join(p.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.dir, "app.js"), readFile(t, source))
	writeFile(t, filepath.Join(p.dir, "cdk.json"), []byte(`{"app": "node app.js"}`))
}

// cdk runs a command of the AWS CDK. The rules that each synthesis checks templates against, for 9 s of processor
// time, are left out unless env has CDK_VALIDATION=true. What looks at stacks or deletes them takes what was synthesized last.
func (p place) cdk(t *testing.T, cdk string, env []string, args ...string) (string, error) {
	t.Helper()
	if args[0] == "drift" || args[0] == "destroy" {
		args = append(args, "--app", "cdk.out")
	}
	cmd := p.command(t, append([]string{"node", cdk, "--no-color", "--no-notices", "--ci"}, args...)...)
	cmd.Env = append(cmd.Env, "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_VALIDATION=false", "NODE_NO_WARNINGS=1", "HOME="+p.dir)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p place) mustCDK(t *testing.T, cdk string, env []string, args ...string) string {
	t.Helper()
	out, err := p.cdk(t, cdk, env, args...)
	if err != nil {
		t.Fatalf("cdk %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TestCDKConstructs deploys an app with a generated L1 construct of a registered type.
func TestCDKConstructs(t *testing.T) {
	cdk, tsc := installed(t, "cdk/node_modules/aws-cdk/bin/cdk"), installed(t, "typescript/node_modules/typescript/bin/tsc")
	t.Parallel()
	p, client := deployer(t, "454545454545")
	p.registerReport(t, client)
	p.cdkApp(t, cdk, filepath.Join("testdata", "cdk_constructs.js"))
	described := must[*cloudformation.DescribeTypeOutput](t)(client.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: reportName}))
	report, problems := schema.Load("schema.json", []byte(aws.ToString(described.Schema)), schema.Config{Kind: schema.Resource})
	if report == nil {
		t.Fatal(problems)
	}
	file := must[codegen.File](t)(codegen.CDK(report, *reportName, "typescript"))
	writeFile(t, filepath.Join(p.dir, file.Path), file.Data)
	p.output(t, "node", tsc, "--strict", "--target", "ES2020", "--module", "commonjs", "--skipLibCheck", file.Path)
	p.mustCDK(t, cdk, nil, "deploy", "--all", "--require-approval", "never")
	expectStacks(t, client, "Reports CREATE_COMPLETE")
	if first, second := outputOf(t, client, "Reports", "FirstId"), outputOf(t, client, "Reports", "SecondId"); first == "" || first == second {
		t.Errorf("the reports are %q and %q", first, second)
	}
	template := must[*cloudformation.GetTemplateOutput](t)(client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("Reports")}))
	for _, want := range []string{"PCLoadLetter1999", "Peter Gibbons", "Initech::TPS::Report", "Value: filing"} {
		if !strings.Contains(aws.ToString(template.TemplateBody), want) {
			t.Errorf("the template lacks %s:\n%s", want, aws.ToString(template.TemplateBody))
		}
	}
	p.mustCDK(t, cdk, nil, "destroy", "--all", "--force")
}

// TestCDK bootstraps an account, and deploys, compares, imports into and destroys an app with a
// registered type under each synthesizer.
func TestCDK(t *testing.T) {
	cdk := installed(t, "cdk/node_modules/aws-cdk/bin/cdk")
	t.Parallel()
	p, client := deployer(t, "444444444444",
		"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::KMS::Key", "AWS::KMS::Alias", "AWS::ECR::Repository")
	p.registerReport(t, client)
	p.cdkApp(t, cdk, filepath.Join("testdata", "cdk.js"))
	var more []string // variables
	run := func(value string, args ...string) string {
		t.Helper()
		return p.mustCDK(t, cdk, append([]string{"VALUE=" + value}, more...), args...)
	}
	expectOutput(t, run("one", "bootstrap"), "bootstrapped.")
	more = []string{"CDK_VALIDATION=true"}
	expectOutput(t, run("one", "deploy", "--all", "--require-approval", "never"), "Default.Id = tps-", "Legacy.Id = tps-", "Bootstrapless.Id = tps-", "Credentials.Id = tps-")
	expectStacks(t, client, "Bootstrapless CREATE_COMPLETE", "CDKToolkit CREATE_COMPLETE", "Credentials CREATE_COMPLETE", "Default CREATE_COMPLETE", "Legacy CREATE_COMPLETE")
	more = nil
	expectOutput(t, run("two", "diff", "Legacy"), "[~] Initech::TPS::Report Report", "[-] one", "[+] two", "Number of stacks with differences: 1")
	run("two", "deploy", "Default", "Legacy", "--require-approval", "never", "--app", "cdk.out") // of the comparison
	expectStacks(t, client, "Bootstrapless CREATE_COMPLETE", "CDKToolkit CREATE_COMPLETE", "Credentials CREATE_COMPLETE", "Default UPDATE_COMPLETE", "Legacy UPDATE_COMPLETE")

	// What was changed outside of the stack is found through the handler's READ.
	expectOutput(t, run("two", "drift", "Default"), "No drift detected")
	id := outputOf(t, client, "Default", "Id")
	p.waitForResource(t, p.output(t, "aws", "cloudcontrol", "update-resource", "--type-name", *reportName, "--identifier", id,
		"--patch-document", `[{"op": "replace", "path": "/Title", "value": "changed"}, {"op": "add", "path": "/ReviewCode", "value": "PCLoadLetter1999"}]`, "--query", "ProgressEvent.RequestToken", "--output", "text"))
	expectOutput(t, run("two", "drift", "Default"), "[~] Initech::TPS::Report Report", "[-] two", "[+] changed", "1 resource has drifted")

	// A report that exists becomes a resource of a stack.
	token := p.output(t, "aws", "cloudcontrol", "create-resource", "--type-name", *reportName, "--query", "ProgressEvent.RequestToken", "--output", "text",
		"--desired-state", `{"Title": "found", "Series": "QTR", "CoverSheet": true, "Author": {"Name": "Peter Gibbons"}, "ReviewCode": "PCLoadLetter1999"}`)
	found := p.waitForResource(t, token)
	more = []string{"IMPORT=yes"}
	run("one", "import", "Bootstrapless", "--resource-mapping-inline", `{"Found": {"Id": "`+found+`"}}`)
	expectStacks(t, client, "Bootstrapless IMPORT_COMPLETE", "CDKToolkit CREATE_COMPLETE", "Credentials CREATE_COMPLETE", "Default UPDATE_COMPLETE", "Legacy UPDATE_COMPLETE")
	resource := must[*cloudformation.DescribeStackResourceOutput](t)(client.DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("Bootstrapless"), LogicalResourceId: aws.String("Found"),
	}))
	if got := aws.ToString(resource.StackResourceDetail.PhysicalResourceId); got != found {
		t.Errorf("the imported resource is %s, want %s", got, found)
	}
	run("two", "destroy", "--all", "--force")
	expectStacks(t, client, "CDKToolkit CREATE_COMPLETE")
}

// TestSAM deploys a template with a registered type into a bucket that SAM makes itself, and
// deletes the stack.
func TestSAM(t *testing.T) {
	sam := installed(t, "sam/bin/sam")
	t.Parallel()
	p, client := deployer(t, "555555555555")
	p.registerReport(t, client)
	writeFile(t, filepath.Join(p.dir, "template.yaml"), []byte(`Parameters:
  Title: {Type: String, Default: one}
Resources:
  Report:
    Type: Initech::TPS::Report
    Properties: {Title: !Ref Title, Series: QTR, CoverSheet: true, Author: {Name: Peter Gibbons}, ReviewCode: PCLoadLetter1999}
Outputs:
  Id: {Value: !Ref Report}
`))
	run := func(args ...string) string {
		t.Helper()
		cmd := p.command(t, append([]string{sam}, args...)...)
		cmd.Env = append(cmd.Env, "SAM_CLI_TELEMETRY=0", "SAM_CLI_POLL_DELAY=1", "HOME="+p.dir, "COLUMNS=200")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("sam %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	deploy := []string{"deploy", "--resolve-s3", "--stack-name", "reports", "--no-confirm-changeset", "--no-fail-on-empty-changeset"}
	expectOutput(t, run(deploy...), "+ Add", "Initech::TPS::Report", "tps-", "Successfully created/updated stack - reports in us-east-1")
	expectOutput(t, run(append(deploy, "--parameter-overrides", "Title=two")...), "* Modify", "UPDATE_COMPLETE", "Successfully created/updated stack - reports in us-east-1")
	expectOutput(t, run(append(deploy, "--parameter-overrides", "Title=two")...), "No changes to deploy")
	expectStacks(t, client, "aws-sam-cli-managed-default CREATE_COMPLETE", "reports UPDATE_COMPLETE")
	expectOutput(t, run("delete", "--stack-name", "reports", "--no-prompts"), "Deleted successfully")
	expectStacks(t, client, "aws-sam-cli-managed-default CREATE_COMPLETE")
}

// TestOfficialSubmit registers a type with the official tool, twice: it makes a role and the bucket
// that it uploads to by stacks of its own, whose types the server simulates without an import.
func TestOfficialSubmit(t *testing.T) {
	cfn := installed(t, "cfncli/bin/cfn")
	t.Parallel()
	server := serving(t, local.ServerConfig{Config: ownReports(t, local.Config{Simulate: simulate.Infrastructure()})})
	p := place{url: server.URL(), account: "000000000000", dir: t.TempDir()}
	client := cloudformation.NewFromConfig(aws.Config{BaseEndpoint: &p.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(p.account, "any", "")})
	project := filepath.Join(p.dir, "tps-report")
	if err := os.CopyFS(project, os.DirFS("../examples/tps-report")); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(project, "bin", "bootstrap"), "./cmd")
	build.Dir, build.Env = "../examples/tps-report", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	p.dir = project
	for range 2 {
		expectOutput(t, p.output(t, cfn, "submit", "--set-default"), "Registration complete.", "Set default version")
		expectStacks(t, client, "CloudFormationManagedUploadInfrastructure CREATE_COMPLETE", "initech-tps-report-role-stack CREATE_COMPLETE")
	}
	out := must[*cloudformation.DescribeTypeOutput](t)(client.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: reportName}))
	if role := aws.ToString(out.ExecutionRoleArn); !strings.HasPrefix(role, fmt.Sprintf("arn:aws:iam::%s:role/initech-tps-report-role-stack-ExecutionRole-", p.account)) {
		t.Errorf("the type has the role %s", role)
	}
	// These call STS at its fixed address: the server answers as their proxy.
	for _, command := range [][]string{
		{"test", "--endpoint", p.url, "--function-name", "Initech-TPS-Report", "--", "-k", "contract_create_delete or contract_update_read"},
		{"invoke", "--endpoint", p.url, "--function-name", "Initech-TPS-Report", "resource", "CREATE", "requests/create.json"},
	} {
		cmd := p.command(t, append([]string{cfn}, command...)...)
		variables := must[[]string](t)(server.ProxyEnviron(cmd.Env))
		cmd.Env = append(cmd.Env, variables...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "2 passed") && !strings.Contains(string(out), `"status": "SUCCESS"`) {
			t.Errorf("cfn %s: %v\n%s", command[0], err, out)
		}
	}
}
