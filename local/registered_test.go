package local_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// packageTemplate registers a type and makes its newest version the default.
const packageTemplate = `
Parameters:
  Package: {Type: String}
  Name: {Type: String}
Resources:
  Version:
    Type: AWS::CloudFormation::ResourceVersion
    Properties: {TypeName: !Ref Name, SchemaHandlerPackage: !Ref Package}
  Default:
    Type: AWS::CloudFormation::ResourceDefaultVersion
    Properties: {TypeVersionArn: !Ref Version}
Outputs:
  Version: {Value: !Ref Version}
  Type: {Value: !GetAtt Version.TypeArn}
  Id: {Value: !GetAtt Version.VersionId}
  Provisioning: {Value: !GetAtt Version.ProvisioningType}
  Visibility: {Value: !GetAtt Version.Visibility}
  Default: {Value: !Ref Default}
`

// put stores a package and returns its URL.
func (c clients) put(t testing.TB, key string, data []byte) string {
	t.Helper()
	_, _ = c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}) // it may exist
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &key, Body: bytes.NewReader(data)}); err != nil {
		t.Fatal(err)
	}
	return "s3://" + shelf + "/" + key
}

// deploy creates or updates a stack and waits for its end.
func (c clients) deploy(t testing.TB, name, body string, parameters map[string]string, want types.StackStatus) types.Stack {
	t.Helper()
	var list []types.Parameter
	for key, value := range parameters {
		list = append(list, types.Parameter{ParameterKey: &key, ParameterValue: &value})
	}
	out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		_, err = c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, Parameters: list})
	} else {
		_, err = c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: out.Stacks[0].StackId, TemplateBody: &body, Parameters: list})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.settle(t, name, want)
}

func (c clients) settle(t testing.TB, name string, want types.StackStatus) types.Stack {
	t.Helper()
	var stack types.Stack
	eventually(t, 5*time.Minute, "the end of "+name, func() bool {
		out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			return false
		}
		stack = out.Stacks[0]
		return !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS")
	})
	if stack.StackStatus != want {
		events, _ := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
		var all []string
		if events != nil {
			for _, e := range events.StackEvents {
				all = append(all, fmt.Sprintf("%s %s %s", *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason)))
			}
		}
		t.Fatalf("%s is in %s, want %s\n%s", name, stack.StackStatus, want, strings.Join(all, "\n"))
	}
	return stack
}

func (c clients) destroy(t testing.TB, name string) {
	t.Helper()
	stack, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		t.Fatal(err)
	}
	c.settle(t, *stack.Stacks[0].StackId, types.StackStatusDeleteComplete)
}

func outputs(stack types.Stack) map[string]string {
	out := map[string]string{}
	for _, o := range stack.Outputs {
		out[*o.OutputKey] = *o.OutputValue
	}
	return out
}

// TestTypesByTemplate registers a type by a stack, uses it in a second one, updates the package,
// looks at it through Cloud Control and drift detection, and deletes all of it.
func TestTypesByTemplate(t *testing.T) {
	t.Parallel()
	url := startWith(t, ownReports(t, local.Config{Dir: t.TempDir()}))
	c := newClients(t, url)
	first, second := reports(t)
	parameters := func(key string, data []byte) map[string]string {
		return map[string]string{"Name": *reportName, "Package": c.put(t, key, data)}
	}
	base := "arn:aws:cloudformation:" + region + ":" + account + ":type/resource/Initech-TPS-Report"
	got := outputs(c.deploy(t, "registry", packageTemplate, parameters("one.zip", first), types.StackStatusCreateComplete))
	for key, want := range map[string]string{
		"Version": base + "/00000001", "Type": base, "Id": "00000001", "Provisioning": "FULLY_MUTABLE", "Visibility": "PRIVATE", "Default": base,
	} {
		if got[key] != want {
			t.Errorf("output %s: %q, want %q", key, got[key], want)
		}
	}
	uses := `{"Resources": {"Report": {"Type": "Initech::TPS::Report", "Properties": {"Title": "T", "Series": "QTR", "ReviewCode": "PCLoadLetter1999"}}}}`
	c.deploy(t, "uses", uses, nil, types.StackStatusCreateComplete)

	got = outputs(c.deploy(t, "registry", packageTemplate, parameters("two.zip", second), types.StackStatusUpdateComplete))
	if got["Version"] != base+"/00000002" || got["Default"] != base {
		t.Errorf("outputs after the update: %v", got)
	}
	described := must[*cloudformation.DescribeTypeOutput](t)(c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Arn: &base}))
	if *described.DefaultVersionId != "00000002" || !strings.Contains(*described.Schema, "The second edition.") {
		t.Errorf("the default version is %s", *described.DefaultVersionId)
	}
	old := must[*cloudformation.DescribeTypeOutput](t)(c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Arn: aws.String(base + "/00000001")}))
	if old.DeprecatedStatus != types.DeprecatedStatusDeprecated {
		t.Errorf("the replaced version is %s", old.DeprecatedStatus)
	}
	for _, stack := range []string{"registry", "uses"} {
		c.expectNoDrift(t, stack)
	}
	control := controlClient(url, account)
	listed := must[*cloudcontrol.ListResourcesOutput](t)(control.ListResources(t.Context(), &cloudcontrol.ListResourcesInput{TypeName: aws.String("AWS::CloudFormation::ResourceVersion")}))
	if len(listed.ResourceDescriptions) != 1 || *listed.ResourceDescriptions[0].Identifier != base+"/00000002" {
		t.Errorf("listed: %+v", listed.ResourceDescriptions)
	}
	read := must[*cloudcontrol.GetResourceOutput](t)(control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{
		TypeName: aws.String("AWS::CloudFormation::ResourceDefaultVersion"), Identifier: &base,
	}))
	if properties := *read.ResourceDescription.Properties; !strings.Contains(properties, `"VersionId":"00000002"`) {
		t.Errorf("read: %s", properties)
	}
	c.destroy(t, "uses")
	c.destroy(t, "registry")
	gone := must[*cloudformation.ListTypesOutput](t)(c.ListTypes(t.Context(), &cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate}))
	if len(gone.TypeSummaries) != 0 {
		t.Errorf("left: %+v", gone.TypeSummaries)
	}
}

func (c clients) expectNoDrift(t testing.TB, stack string) {
	t.Helper()
	begun := must[*cloudformation.DetectStackDriftOutput](t)(c.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: &stack}))
	var out *cloudformation.DescribeStackDriftDetectionStatusOutput
	eventually(t, time.Minute, "the drift detection of "+stack, func() bool {
		out = must[*cloudformation.DescribeStackDriftDetectionStatusOutput](t)(c.DescribeStackDriftDetectionStatus(t.Context(),
			&cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId}))
		return out.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	})
	if out.StackDriftStatus != types.StackDriftStatusInSync {
		drifts, _ := c.DescribeStackResourceDrifts(t.Context(), &cloudformation.DescribeStackResourceDriftsInput{StackName: &stack})
		text, _ := json.Marshal(drifts)
		t.Errorf("%s is %s: %s", stack, out.StackDriftStatus, text)
	}
}

// TestImportVersions imports registered versions into a stack, by the identifiers of the schema.
func TestImportVersions(t *testing.T) {
	c := newClients(t, startWith(t, local.Config{Dir: t.TempDir()}))
	const name = "Acme::Web::Site"
	url := c.put(t, "site.zip", resource(t, name))
	c.deploy(t, "made", strings.ReplaceAll(packageTemplate, "    Properties:", "    DeletionPolicy: Retain\n    Properties:"), map[string]string{"Name": name, "Package": url}, types.StackStatusCreateComplete)
	c.destroy(t, "made")
	base := "arn:aws:cloudformation:" + region + ":" + account + ":type/resource/Acme-Web-Site"
	body := strings.ReplaceAll(strings.Split(packageTemplate, "Outputs:")[0], "    Properties:", "    DeletionPolicy: Delete\n    Properties:")
	out := must[*cloudformation.CreateChangeSetOutput](t)(c.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("taken"), ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: &body,
		Parameters: []types.Parameter{{ParameterKey: aws.String("Name"), ParameterValue: aws.String(name)}, {ParameterKey: aws.String("Package"), ParameterValue: &url}},
		ResourcesToImport: []types.ResourceToImport{
			{ResourceType: aws.String("AWS::CloudFormation::ResourceVersion"), LogicalResourceId: aws.String("Version"), ResourceIdentifier: map[string]string{"Arn": base + "/00000001"}},
			{ResourceType: aws.String("AWS::CloudFormation::ResourceDefaultVersion"), LogicalResourceId: aws.String("Default"), ResourceIdentifier: map[string]string{"Arn": base}},
		},
	}))
	eventually(t, time.Minute, "the change set", func() bool {
		set := must[*cloudformation.DescribeChangeSetOutput](t)(c.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: out.Id}))
		if set.Status == types.ChangeSetStatusFailed {
			t.Fatal(*set.StatusReason)
		}
		return set.Status == types.ChangeSetStatusCreateComplete
	})
	must[*cloudformation.ExecuteChangeSetOutput](t)(c.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: out.Id}))
	c.settle(t, "taken", types.StackStatusImportComplete)
	c.expectNoDrift(t, "taken")
	c.destroy(t, "taken")
	if _, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String(name)}); err == nil {
		listed := must[*cloudformation.ListTypesOutput](t)(c.ListTypes(t.Context(), &cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate}))
		if len(listed.TypeSummaries) != 0 {
			t.Errorf("left: %+v", listed.TypeSummaries)
		}
	}
}

// TestOwnTypesAreListed: the types of the server are public types of AWS.
func TestOwnTypesAreListed(t *testing.T) {
	c := newClients(t, startWith(t, local.Config{Dir: t.TempDir()}))
	found := map[string]bool{}
	in := &cloudformation.ListTypesInput{Visibility: types.VisibilityPublic, Filters: &types.TypeFilters{Category: types.CategoryAwsTypes, TypeNamePrefix: aws.String("AWS::CloudFormation")}, MaxResults: aws.Int32(2)}
	for _, provisioning := range []types.ProvisioningType{types.ProvisioningTypeFullyMutable, types.ProvisioningTypeImmutable} {
		in.ProvisioningType, in.NextToken = provisioning, nil
		for {
			out := must[*cloudformation.ListTypesOutput](t)(c.ListTypes(t.Context(), in))
			for _, s := range out.TypeSummaries {
				found[*s.TypeName] = true
			}
			if in.NextToken = out.NextToken; in.NextToken == nil {
				break
			}
		}
	}
	for _, name := range []string{"ResourceVersion", "ResourceDefaultVersion", "ModuleVersion", "ModuleDefaultVersion", "HookVersion", "HookDefaultVersion", "HookTypeConfig", "Publisher", "PublicTypeVersion", "TypeActivation", "Macro"} {
		name = "AWS::CloudFormation::" + name
		if !found[name] {
			t.Errorf("%s is not listed", name)
		}
		out, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: &name})
		if err != nil || out.Visibility != types.VisibilityPublic || !strings.Contains(*out.Schema, `"primaryIdentifier"`) || strings.Contains(aws.ToString(out.Description), "[") {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// guide returns a template of the user guide that registers and publishes. The pages of the guide
// break the templates apart and indent what follows a break by less: the breaks are taken out, and
// the indentation is that of the lines before.
func guide(t *testing.T, from, indent string, dedented ...string) string {
	t.Helper()
	text := string(readFile(t, filepath.Join(fixtures.Dir(t, "../spec"), "cloudformation-cli-user-guide.md")))
	_, text, ok := strings.Cut(text, from)
	if !ok {
		t.Fatalf("the guide has no %q", from)
	}
	blocks := strings.Split(text, "```")
	template := strings.TrimLeft(blocks[1], "\n")
	for _, line := range strings.Split(strings.Trim(blocks[3], "\n"), "\n") {
		if len(dedented) == 0 || strings.TrimSpace(line) == dedented[0] {
			line = indent + line
		}
		template += line + "\n"
	}
	return strings.Replace(template, "the\n    targeted", "the\n      targeted", 1)
}

// TestGuideTemplates runs the templates of the user guide that publish extensions.
func TestGuideTemplates(t *testing.T) {
	t.Parallel()
	c := newClients(t, startWith(t, ownReports(t, local.Config{Dir: t.TempDir()})))
	base := "arn:aws:cloudformation:" + region + "::type/"
	published := func(kind types.RegistryType, arn, want string) {
		t.Helper()
		out := must[*cloudformation.ListTypeVersionsOutput](t)(c.ListTypeVersions(t.Context(), &cloudformation.ListTypeVersionsInput{Arn: &arn, Type: kind}))
		if n := len(out.TypeVersionSummaries); n == 0 || *out.TypeVersionSummaries[n-1].PublicVersionNumber != want {
			t.Errorf("%s: %+v, want %s", arn, out.TypeVersionSummaries, want)
		}
	}
	publicARN := func(stack, resource string) string {
		t.Helper()
		out := must[*cloudformation.DescribeStackResourceOutput](t)(c.DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{StackName: &stack, LogicalResourceId: &resource}))
		return *out.StackResourceDetail.PhysicalResourceId
	}

	module := guide(t, "publishes a module across Regions", "  ")
	part := extension(t, "localstack-testing-testmodule-module", "LocalStack::Testing::TestModule", "MyOrg::MyService::MyType", nil)
	parameters := map[string]string{"SchemaPackageURL": c.put(t, "part.zip", part), "FirstTimePublishing": "true"}
	c.deploy(t, "module", module, parameters, types.StackStatusCreateComplete)
	arn := publicARN("module", "PublishedModule")
	if !strings.HasPrefix(arn, base+"module/") {
		t.Errorf("the public module is %s", arn)
	}
	published(types.RegistryTypeModule, arn, "1.0.0")
	parameters = map[string]string{"SchemaPackageURL": c.put(t, "part2.zip", part), "FirstTimePublishing": "false", "VersionToPublish": "1.2.3"}
	c.deploy(t, "module", module, parameters, types.StackStatusUpdateComplete)
	published(types.RegistryTypeModule, publicARN("module", "PublishedModule"), "1.2.3")
	c.expectNoDrift(t, "module")
	c.destroy(t, "module")
	published(types.RegistryTypeModule, arn, "1.2.3") // what is published stays

	data := report()
	if data == nil {
		t.Skip("skipped: the example cannot be built here")
	}
	entries := unzipped(t, data)
	for i, e := range entries {
		if e.name == "schema.json" || e.name == ".rpdk-config" {
			entries[i].data = bytes.ReplaceAll(e.data, []byte("Initech::TPS::Report"), []byte("MyOrg::MyService::MyType"))
		}
	}
	c.deploy(t, "resource", guide(t, "publishes a resource type across Regions", "  ", "TypeVersionArn: !Ref PrivateResourceVersion"),
		map[string]string{"SchemaPackageURL": c.put(t, "type.zip", zipped(t, entries...))}, types.StackStatusCreateComplete)
	arn = publicARN("resource", "PublishedResource")
	published(types.RegistryTypeResource, arn, "1.0.0")
	c.expectNoDrift(t, "resource")

	other := `{"Resources": {"Active": {"Type": "AWS::CloudFormation::TypeActivation", "Properties": {"PublicTypeArn": "` + arn + `", "TypeNameAlias": "Other::MyService::MyType"}}}}`
	c.deploy(t, "activation", other, nil, types.StackStatusCreateComplete)
	uses := `{"Resources": {"Report": {"Type": "Other::MyService::MyType", "Properties": {"Title": "T", "Series": "QTR", "ReviewCode": "PCLoadLetter1999"}}}}`
	c.deploy(t, "uses", uses, nil, types.StackStatusCreateComplete)
	for _, name := range []string{"uses", "activation", "resource"} {
		c.destroy(t, name)
	}
}

// TestKillRegistration kills a server while stacks register types. Each template registers one
// version, however often the server dies.
func TestKillRegistration(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes servers that die")
	}
	t.Parallel()
	kills, _ := number(t, "FORMWORK_KILLS", 3)
	options := serverOptions{Dir: t.TempDir() + "/data"}
	server := mustStart(t, options)
	const several = 3
	for round := range rounds(t, kills) {
		c := newClients(t, server.url)
		name := func(n int) string { return fmt.Sprintf("Kill::Round%d::Type%d", round, n) }
		for n := range several {
			body, stack := strings.Split(packageTemplate, "Outputs:")[0], fmt.Sprintf("types-%d-%d", round, n)
			url := c.put(t, stack+".zip", resource(t, name(n)))
			must[*cloudformation.CreateStackOutput](t)(c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &stack, TemplateBody: &body, Parameters: []types.Parameter{
				{ParameterKey: aws.String("Name"), ParameterValue: aws.String(name(n))}, {ParameterKey: aws.String("Package"), ParameterValue: &url},
			}}))
		}
		letRun(time.Duration(round*40) * time.Millisecond) // each round at another moment
		server.kill()
		server = mustStart(t, options)
		c = newClients(t, server.url)
		for n := range several {
			c.settle(t, fmt.Sprintf("types-%d-%d", round, n), types.StackStatusCreateComplete)
			for _, status := range []types.RegistrationStatus{types.RegistrationStatusComplete, types.RegistrationStatusFailed, types.RegistrationStatusInProgress} {
				out := must[*cloudformation.ListTypeRegistrationsOutput](t)(c.ListTypeRegistrations(t.Context(),
					&cloudformation.ListTypeRegistrationsInput{Type: types.RegistryTypeResource, TypeName: aws.String(name(n)), RegistrationStatusFilter: status}))
				if want := map[types.RegistrationStatus]int{types.RegistrationStatusComplete: 1}[status]; len(out.RegistrationTokenList) != want {
					t.Errorf("%s has %d registrations that are %s, want %d", name(n), len(out.RegistrationTokenList), status, want)
				}
			}
		}
	}
	server.terminate(t)
}
