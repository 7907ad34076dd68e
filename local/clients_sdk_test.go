package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A goClient is TestClients' part for aws-sdk-go-v2.
type goClient struct {
	*testing.T
	place
	*cloudformation.Client
	s3       *s3.Client
	lambda   *lambda.Client
	other    *cloudformation.Client // of the second account
	lambda2  *lambda.Client
	packages string // the bucket
}

var (
	reportName, memoName     = aws.String("Initech::TPS::Report"), aws.String("Initech::TPS::Memo")
	testHookName, sampleName = aws.String("LocalStack::Testing::TestHook"), aws.String("LocalStack::Testing::TestModule::MODULE")
)

func registryWithSDK(t *testing.T, p place) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	over := &http.Client{Transport: transport}
	config := func(account string) aws.Config {
		return aws.Config{BaseEndpoint: &p.url, Region: "us-east-1", HTTPClient: over, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")}
	}
	c := &goClient{
		T: t, place: p, Client: cloudformation.NewFromConfig(config(p.account)), other: cloudformation.NewFromConfig(config(p.second)),
		s3:     s3.NewFromConfig(config(p.account), func(o *s3.Options) { o.UsePathStyle = true }),
		lambda: lambda.NewFromConfig(config(p.account)), lambda2: lambda.NewFromConfig(config(p.second)), packages: "packages-" + p.account,
	}
	c.registration()
	c.lists()
	for _, e := range errorCases(t, "errors.json") {
		c.refused(e)
	}
	c.settings()
	c.handlers()
	c.tests()
	c.publishing()
	c.deregistration()
}

// must is the output of a call that has to succeed.
func must[O any](t testing.TB) func(out O, err error) O {
	return func(out O, err error) O {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func (c *goClient) equal(what string, got, want any) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// call makes a call by the name of the operation.
func (c *goClient) call(operation string, input json.RawMessage) error {
	c.Helper()
	method := reflect.ValueOf(c.Client).MethodByName(operation)
	if !method.IsValid() {
		c.Fatalf("the SDK has no operation %s", operation)
	}
	in := reflect.New(method.Type().In(1).Elem())
	if err := json.Unmarshal(input, in.Interface()); err != nil {
		c.Fatalf("%s: %v", operation, err)
	}
	err, _ := method.Call([]reflect.Value{reflect.ValueOf(c.Context()), in})[1].Interface().(error)
	return err
}

// exceptions are the shapes of errors whose codes on the wire are others.
var exceptions = map[string]string{
	"ConditionalCheckFailed": "OperationStatusCheckFailedException", "InvalidStateTransition": "InvalidStateTransitionException",
	"ChangeSetNotFound": "ChangeSetNotFoundException", "InvalidChangeSetStatus": "InvalidChangeSetStatusException",
}

// refused makes a call that must be refused; what is a modelled error must arrive as its
// type.
func (c *goClient) refused(e errorCase) {
	c.Helper()
	err := c.call(e.Operation, e.Input)
	var refusal smithy.APIError
	switch {
	case !errors.As(err, &refusal):
		c.Errorf("%s %s: got %v, want %s", e.Operation, e.Input, err, e.Code)
		return
	case refusal.ErrorCode() != e.Code && refusal.ErrorCode() != exceptions[e.Code], !strings.Contains(refusal.ErrorMessage(), e.Message):
		c.Errorf("%s %s: got %v, want %s: %s", e.Operation, e.Input, refusal, e.Code, e.Message)
	}
	want := "*smithy.GenericAPIError"
	switch {
	case exceptions[e.Code] != "":
		want = "*types." + exceptions[e.Code]
	case strings.HasSuffix(e.Code, "Exception"):
		want = "*types." + e.Code
	}
	c.equal("the type of the error of "+e.Operation, fmt.Sprintf("%T", refusal), want)
}

func (c *goClient) register(kind types.RegistryType, name *string, file string, change ...func(*cloudformation.RegisterTypeInput)) *string {
	c.Helper()
	in := &cloudformation.RegisterTypeInput{Type: kind, TypeName: name, SchemaHandlerPackage: aws.String("s3://" + c.packages + "/" + file)}
	for _, f := range change {
		f(in)
	}
	return must[*cloudformation.RegisterTypeOutput](c)(c.RegisterType(c.Context(), in)).RegistrationToken
}

func (c *goClient) wait(token *string) error {
	waiter := cloudformation.NewTypeRegistrationCompleteWaiter(c.Client, func(o *cloudformation.TypeRegistrationCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	return waiter.Wait(c.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: token}, time.Minute)
}

func (c *goClient) registration() {
	ctx := c.Context()
	must[*s3.CreateBucketOutput](c)(c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &c.packages}))
	for _, name := range []string{"report-1.zip", "report-2.zip", "memo.zip", "hook.zip", "module.zip"} {
		body := bytes.NewReader(readFile(c.T, filepath.Join(c.dir, name)))
		must[*s3.PutObjectOutput](c)(c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &c.packages, Key: &name, Body: body}))
	}
	settings := func(in *cloudformation.RegisterTypeInput) {
		in.ClientRequestToken, in.ExecutionRoleArn = aws.String("the-first-report"), aws.String("arn:aws:iam::"+c.account+":role/reports")
		in.LoggingConfig = &types.LoggingConfig{LogGroupName: aws.String("reports"), LogRoleArn: aws.String("arn:aws:iam::" + c.account + ":role/logs")}
	}
	first := c.register(types.RegistryTypeResource, reportName, "report-1.zip", settings)
	c.equal("the token of the same request", c.register(types.RegistryTypeResource, reportName, "report-1.zip", settings), first)
	for _, token := range []*string{
		first, c.register(types.RegistryTypeResource, memoName, "memo.zip"), c.register(types.RegistryTypeHook, testHookName, "hook.zip"), c.register(types.RegistryTypeModule, sampleName, "module.zip"),
	} {
		if err := c.wait(token); err != nil {
			c.Fatal(err)
		}
	}
	if err := c.wait(c.register(types.RegistryTypeResource, reportName, "report-2.zip")); err != nil {
		c.Fatal(err)
	}
	failed := c.register(types.RegistryTypeResource, reportName, "no-such.zip")
	if err := c.wait(failed); err == nil || !strings.Contains(err.Error(), "Failure") {
		c.Errorf("the waiter of a package that is not there says %v", err)
	}
	out := must[*cloudformation.DescribeTypeRegistrationOutput](c)(c.DescribeTypeRegistration(ctx, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: failed}))
	c.equal("the failed registration", out.ProgressStatus, types.RegistrationStatusFailed)
}

func (c *goClient) describe(version *string) *cloudformation.DescribeTypeOutput {
	c.Helper()
	return must[*cloudformation.DescribeTypeOutput](c)(c.DescribeType(c.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: reportName, VersionId: version}))
}

func (c *goClient) lists() {
	ctx := c.Context()
	byDefault, second := c.describe(nil), c.describe(aws.String("00000002"))
	c.equal("the default version", *byDefault.Arn, "arn:aws:cloudformation:us-east-1:"+c.account+":type/resource/Initech-TPS-Report/00000001")
	c.equal("the log group", *byDefault.LoggingConfig.LogGroupName, "reports")
	c.equal("the second version", []any{*second.IsDefaultVersion, *second.Description, second.TypeTestsStatus}, []any{false, "The second edition.", types.TypeTestsStatusNotTested})

	var names, versions, tokens []string
	for pages := cloudformation.NewListTypesPaginator(c.Client, &cloudformation.ListTypesInput{MaxResults: aws.Int32(2)}); pages.HasMorePages(); {
		for _, s := range must[*cloudformation.ListTypesOutput](c)(pages.NextPage(ctx)).TypeSummaries {
			names = append(names, *s.TypeName)
		}
	}
	c.equal("the types", names, []string{*reportName, *testHookName, *sampleName})
	in := &cloudformation.ListTypeVersionsInput{Type: types.RegistryTypeResource, TypeName: reportName, MaxResults: aws.Int32(1)}
	for pages := cloudformation.NewListTypeVersionsPaginator(c.Client, in); pages.HasMorePages(); {
		for _, s := range must[*cloudformation.ListTypeVersionsOutput](c)(pages.NextPage(ctx)).TypeVersionSummaries {
			versions = append(versions, *s.VersionId)
		}
	}
	c.equal("the versions", versions, []string{"00000001", "00000002"})
	done := &cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: types.RegistrationStatusComplete, MaxResults: aws.Int32(2)}
	for pages := cloudformation.NewListTypeRegistrationsPaginator(c.Client, done); pages.HasMorePages(); {
		tokens = append(tokens, must[*cloudformation.ListTypeRegistrationsOutput](c)(pages.NextPage(ctx)).RegistrationTokenList...)
	}
	slices.Sort(tokens)
	c.equal("the number of registrations", len(slices.Compact(tokens)), 5)
}

func (c *goClient) settings() {
	ctx := c.Context()
	must[*cloudformation.SetTypeDefaultVersionOutput](c)(c.SetTypeDefaultVersion(ctx, &cloudformation.SetTypeDefaultVersionInput{Type: types.RegistryTypeResource, TypeName: reportName, VersionId: aws.String("00000002")}))
	c.equal("the new default version", *c.describe(nil).DefaultVersionId, "00000002")
	set := must[*cloudformation.SetTypeConfigurationOutput](c)(c.SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
		Type: types.ThirdPartyTypeResource, TypeName: reportName, Configuration: aws.String(`{"RequireCoverSheet": true}`),
	}))
	out := must[*cloudformation.BatchDescribeTypeConfigurationsOutput](c)(c.BatchDescribeTypeConfigurations(ctx, &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{
			{TypeConfigurationArn: set.ConfigurationArn},
			{Type: types.ThirdPartyTypeResource, TypeName: reportName, TypeConfigurationAlias: aws.String("other")},
			{TypeConfigurationArn: set.ConfigurationArn, TypeConfigurationAlias: aws.String("other")},
		},
	}))
	if len(out.TypeConfigurations) != 1 || len(out.Errors) != 2 {
		c.Fatalf("found %d configurations and %d errors", len(out.TypeConfigurations), len(out.Errors))
	}
	c.equal("the configuration", *out.TypeConfigurations[0].Configuration, `{"RequireCoverSheet": true}`)
	c.equal("the errors", []string{*out.Errors[0].ErrorCode, *out.Errors[1].ErrorCode}, []string{"TypeConfigurationNotFoundException", "CFNRegistryException"})
	must[*cloudformation.SetTypeConfigurationOutput](c)(c.SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
		Type: types.ThirdPartyTypeResource, TypeName: reportName, Configuration: aws.String(`{}`),
	}))
}

// operation calls a handler as CloudFormation does, until it has finished, and returns the
// model that it answers.
func (c *goClient) operation(client *lambda.Client, name, action string, model map[string]any) map[string]any {
	c.Helper()
	var request map[string]any
	if err := json.Unmarshal(readFile(c.T, filepath.Join(c.dir, "create.json")), &request); err != nil {
		c.Fatal(err)
	}
	request["action"] = action
	data := request["requestData"].(map[string]any)
	if model != nil {
		data["resourceProperties"] = model
	}
	for range 20 {
		payload, err := json.Marshal(request)
		if err != nil {
			c.Fatal(err)
		}
		out := must[*lambda.InvokeOutput](c)(client.Invoke(c.Context(), &lambda.InvokeInput{FunctionName: &name, Payload: payload}))
		if out.FunctionError != nil {
			c.Fatalf("%s: %s: %s", action, *out.FunctionError, out.Payload)
		}
		var event struct {
			Status, Message string
			CallbackContext map[string]any
			ResourceModel   map[string]any
		}
		if err := json.Unmarshal(out.Payload, &event); err != nil {
			c.Fatal(err)
		}
		switch event.Status {
		case "SUCCESS":
			return event.ResourceModel
		case "IN_PROGRESS":
			request["callbackContext"], data["resourceProperties"] = event.CallbackContext, event.ResourceModel
		default:
			c.Fatalf("%s: %s: %s", action, event.Status, event.Message)
		}
	}
	c.Fatalf("%s does not come to an end", action)
	return nil
}

func (c *goClient) handlers() {
	report := c.operation(c.lambda, "Initech-TPS-Report", "CREATE", nil)
	c.equal("the report", report["Title"], "Memo")
	id := map[string]any{"Id": report["Id"]}
	c.equal("the same report", c.operation(c.lambda, "Initech-TPS-Report:00000002", "READ", id)["Title"], "Memo")
	c.operation(c.lambda, "arn:aws:lambda:us-east-1:"+c.account+":function:Initech-TPS-Report", "DELETE", id)
}

func (c *goClient) tests() {
	ctx := c.Context()
	test := func(name *string, version, bucket *string) {
		must[*cloudformation.TestTypeOutput](c)(c.TestType(ctx, &cloudformation.TestTypeInput{Type: types.ThirdPartyTypeResource, TypeName: name, VersionId: version, LogDeliveryBucket: bucket}))
	}
	test(reportName, aws.String("00000001"), nil)
	test(reportName, aws.String("00000002"), &c.packages)
	test(memoName, nil, nil)
	var bearer []byte
	fixtures.Await(c.T, "a call of the handler of memos", func() bool {
		bearer, _ = os.ReadFile(filepath.Join(c.dir, "bearer"))
		return len(bearer) > 0
	})
	record := func(status, current types.OperationStatus) {
		must[*cloudformation.RecordHandlerProgressOutput](c)(c.RecordHandlerProgress(ctx, &cloudformation.RecordHandlerProgressInput{
			BearerToken: aws.String(string(bearer)), OperationStatus: status, CurrentOperationStatus: current,
		}))
	}
	record(types.OperationStatusInProgress, types.OperationStatusPending)
	c.refused(errorCase{"RecordHandlerProgress", "ConditionalCheckFailed", "The operation is in status IN_PROGRESS, not in PENDING.",
		fmt.Appendf(nil, `{"BearerToken": %q, "OperationStatus": "SUCCESS", "CurrentOperationStatus": "PENDING"}`, bearer)})
	record(types.OperationStatusSuccess, "")
	c.refused(errorCase{"RecordHandlerProgress", "InvalidStateTransition", "An operation in status SUCCESS cannot get the status FAILED.",
		fmt.Appendf(nil, `{"BearerToken": %q, "OperationStatus": "FAILED"}`, bearer)})
	writeFile(c.T, filepath.Join(c.dir, "go"), nil)

	for _, want := range []struct {
		name    *string
		version string
		status  types.TypeTestsStatus
	}{
		{reportName, "00000001", types.TypeTestsStatusPassed}, {reportName, "00000002", types.TypeTestsStatusPassed}, {memoName, "00000001", types.TypeTestsStatusFailed},
	} {
		var out *cloudformation.DescribeTypeOutput
		fixtures.Await(c.T, "the tests of "+*want.name, func() bool {
			out = must[*cloudformation.DescribeTypeOutput](c)(c.DescribeType(ctx, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: want.name, VersionId: &want.version}))
			return out.TypeTestsStatus != types.TypeTestsStatusInProgress
		})
		if out.TypeTestsStatus != want.status {
			c.Fatalf("the tests of %s %s: %s: %s", *want.name, want.version, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
	}
	logs := must[*s3.ListObjectsV2Output](c)(c.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &c.packages, Prefix: aws.String("CloudFormation/ContractTestResults/Initech::TPS::Report/")}))
	c.equal("the delivered logs", len(logs.Contents), 1)
}

func (c *goClient) publishing() {
	ctx := c.Context()
	publisher := must[*cloudformation.RegisterPublisherOutput](c)(c.RegisterPublisher(ctx, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true)})).PublisherId
	c.equal("the publisher", must[*cloudformation.DescribePublisherOutput](c)(c.DescribePublisher(ctx, &cloudformation.DescribePublisherInput{})).PublisherId, publisher)
	public := must[*cloudformation.PublishTypeOutput](c)(c.PublishType(ctx, &cloudformation.PublishTypeInput{Type: types.ThirdPartyTypeResource, TypeName: reportName})).PublicTypeArn
	activate := func() *cloudformation.DescribeTypeOutput {
		arn := must[*cloudformation.ActivateTypeOutput](c)(c.other.ActivateType(ctx, &cloudformation.ActivateTypeInput{PublicTypeArn: public, TypeNameAlias: aws.String("Initrode::TPS::Report")})).Arn
		return must[*cloudformation.DescribeTypeOutput](c)(c.other.DescribeType(ctx, &cloudformation.DescribeTypeInput{Arn: arn}))
	}
	activated := activate()
	c.equal("the activated version", []any{*activated.PublicVersionNumber, *activated.AutoUpdate, *activated.OriginalTypeName}, []any{"1.0.0", true, *reportName})
	arn := "arn:aws:cloudformation:us-east-1:" + c.account + ":type/resource/Initech-TPS-Report/00000001"
	must[*cloudformation.PublishTypeOutput](c)(c.PublishType(ctx, &cloudformation.PublishTypeInput{Arn: &arn}))
	fixtures.Await(c.T, "the automatic update to 1.1.0", func() bool {
		out, err := c.other.DescribeType(context.WithoutCancel(ctx), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String("Initrode::TPS::Report")})
		return err == nil && aws.ToString(out.PublicVersionNumber) == "1.1.0"
	})
	report := c.operation(c.lambda2, "Initrode-TPS-Report", "CREATE", nil)
	c.operation(c.lambda2, "Initrode-TPS-Report", "DELETE", map[string]any{"Id": report["Id"]})
	must[*cloudformation.DeactivateTypeOutput](c)(c.other.DeactivateType(ctx, &cloudformation.DeactivateTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String("Initrode::TPS::Report")}))
	left := must[*cloudformation.ListTypesOutput](c)(c.other.ListTypes(ctx, &cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryActivated}}))
	c.equal("what is activated", len(left.TypeSummaries), 0)
}

func (c *goClient) deregistration() {
	ctx := c.Context()
	must[*cloudformation.DeregisterTypeOutput](c)(c.DeregisterType(ctx, &cloudformation.DeregisterTypeInput{Type: types.RegistryTypeResource, TypeName: reportName, VersionId: aws.String("00000001")}))
	for name, kind := range map[*string]types.RegistryType{reportName: types.RegistryTypeResource, memoName: types.RegistryTypeResource, testHookName: types.RegistryTypeHook, sampleName: types.RegistryTypeModule} {
		must[*cloudformation.DeregisterTypeOutput](c)(c.DeregisterType(ctx, &cloudformation.DeregisterTypeInput{Type: kind, TypeName: name}))
	}
	left := must[*cloudformation.ListTypesOutput](c)(c.ListTypes(ctx, &cloudformation.ListTypesInput{}))
	c.equal("the types that are left", len(left.TypeSummaries), 0)
	c.equal("the status afterwards", c.describe(nil).DeprecatedStatus, types.DeprecatedStatusDeprecated)
}
