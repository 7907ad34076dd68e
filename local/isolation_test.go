package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	cctypes "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/local"
)

// canary is what another account must never see.
const canary = "canary-of-the-first-account"

// TestIsolation calls every operation of every service from one account with the names, the ARNs
// and the page tokens of what another account has, and from other regions of the same account.
// No answer holds anything of it, and nothing of it changes. The owner itself, who asks the same,
// sees it.
func TestIsolation(t *testing.T) {
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ ClientRequestToken string }
		_ = json.NewDecoder(r.Body).Decode(&request) // without a token, the answer is refused
		_, _ = fmt.Fprintf(w, `{"hookStatus": "SUCCESS", "message": %q, "clientRequestToken": %q}`, canary, request.ClientRequestToken)
	}))
	defer guard.Close()
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), Keys: twoKeys, Functions: []string{"guard=" + guard.URL}}}).URL()
	mine, theirs := signer(url, keyID, secret), signer(url, otherID, otherSecret)
	names := possessions(t, url, mine)
	before := belongings(t, mine, names)

	seen := 0
	tokens := map[string]string{} // of the owner's next pages, by service and operation
	for service, client := range services(mine) {
		for _, name := range reads(client) {
			for _, fit := range []fitting{{service: service, names: names}, {service: service, names: names, byARN: true}, {service: service, names: names, first: true}} {
				a := fit.call(t, client, name)
				if strings.Contains(a.text, canary) {
					seen++
				}
				if a.next != "" {
					tokens[service+" "+name] = a.next
				}
			}
		}
	}
	served, asked := probe(t, "another account", services(theirs), names, tokens)
	t.Logf("%d operations answered, %d calls succeeded, %d page tokens; the owner saw its own in %d answers", asked, served, len(tokens), seen)
	if served < 20 || seen < 25 || len(tokens) < 3 {
		t.Error("the inputs are wrong")
	}
	crossings(t, url, theirs, names)
	if after := belongings(t, mine, names); after != before {
		t.Errorf("another account has changed\n%s\ninto\n%s", before, after)
	}
	elsewhere := mine.Copy()
	elsewhere.Region = "us-east-1"
	regional := services(elsewhere)
	for _, global := range []string{"s3", "sts"} { // the names of buckets are those of all regions
		delete(regional, global)
	}
	served, asked = probe(t, "another region", regional, names, tokens)
	t.Logf("another region: %d operations answered, %d calls succeeded", asked, served)
	if served < 10 || asked < 100 {
		t.Error("the inputs are wrong")
	}
	if after := belongings(t, mine, names); after != before {
		t.Errorf("another region has changed\n%s\ninto\n%s", before, after)
	}
}

// probe calls every operation of clients that may see nothing of what there is. It returns how
// many calls succeeded, and how many operations the server answered at all.
func probe(t *testing.T, who string, clients map[string]any, names, tokens map[string]string) (served, answers int) {
	t.Helper()
	asked := map[string]bool{}
	for service, client := range clients {
		for _, name := range operations(client) {
			region := clients["s3"] == nil
			if region && name == "CreateStackSet" {
				continue // takes the template of a stack by its ARN, of any region of the account
			}
			fits := []fitting{{service: service, names: names}, {service: service, names: names, byARN: true}}
			if !region { // any region may read an object
				fits = append(fits, fitting{service: service, names: names, byURL: true})
			}
			if token := tokens[service+" "+name]; token != "" {
				fits = append(fits, fitting{service: service, names: names, token: token})
			}
			for _, fit := range fits {
				a := fit.call(t, client, name)
				if strings.Contains(a.text, canary) {
					t.Errorf("%s %s (%+v) answers %s with %.500s", service, name, fit.how(), who, a.text)
				}
				if a.err == nil {
					served++
				}
				if a.answered {
					asked[service+" "+name] = true
				}
			}
		}
	}
	return served, len(asked)
}

// services are clients of every service.
func services(config aws.Config) map[string]any {
	return map[string]any{
		"cloudformation": cloudformation.NewFromConfig(config), "cloudcontrol": cloudcontrol.NewFromConfig(config), "ssm": ssm.NewFromConfig(config),
		"secretsmanager": secretsmanager.NewFromConfig(config), "logs": cloudwatchlogs.NewFromConfig(config), "lambda": lambda.NewFromConfig(config),
		"sts": sts.NewFromConfig(config), "s3": s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }),
	}
}

// operations are the names of the operations of a client.
func operations(client any) []string {
	var found []string
	methods := reflect.TypeOf(client)
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		if method.Type.NumIn() == 4 && method.Type.NumOut() == 2 && strings.HasSuffix(method.Type.In(2).String(), "."+method.Name+"Input") {
			found = append(found, method.Name)
		}
	}
	return found
}

// reads are the operations that change nothing.
func reads(client any) []string {
	return slices.DeleteFunc(operations(client), func(name string) bool {
		return !slices.ContainsFunc([]string{"Describe", "Get", "List", "Batch", "Filter", "Head"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// A fitting is a way to fill inputs.
type fitting struct {
	service string
	names   map[string]string
	byARN   bool   // ARNs where there are some
	byURL   bool   // a URL of what to read, and names that are free
	first   bool   // pages of one
	token   string // of a page
}

func (f fitting) how() string {
	return fmt.Sprintf("by ARN: %t, by URL: %t, page: %t", f.byARN, f.byURL, f.token != "")
}

// An answered is what came of a call.
type answered struct {
	text     string
	next     string // page token
	err      error
	answered bool // by the server
}

// call makes a call. What the SDK asks for, besides what has a name, gets some value.
func (f fitting) call(t *testing.T, client any, name string) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	method := reflect.ValueOf(client).MethodByName(name)
	input := reflect.New(method.Type().In(1).Elem())
	f.fill(input.Elem())
	for range 8 {
		out := method.Call([]reflect.Value{reflect.ValueOf(ctx), input})
		if out[1].IsNil() {
			return answered{text: textOf(out[0].Interface()), next: nextToken(out[0].Elem()), answered: true}
		}
		err := out[1].Interface().(error)
		var missing smithy.InvalidParamsError
		if !errors.As(err, &missing) {
			var refused smithy.APIError
			return answered{text: err.Error(), err: err, answered: errors.As(err, &refused)}
		}
		for _, one := range missing.Errs() {
			var required smithy.InvalidParamError
			if errors.As(one, &required) {
				_, path, _ := strings.Cut(required.Field(), ".")
				f.supply(input.Elem(), path)
			}
		}
	}
	return answered{err: errors.New("the SDK refuses the input")}
}

func nextToken(out reflect.Value) string {
	for _, name := range []string{"NextToken", "NextForwardToken", "NextMarker", "NextContinuationToken"} {
		if field := out.FieldByName(name); field.IsValid() && field.Type() == reflect.TypeFor[*string]() && !field.IsNil() {
			return field.Elem().String()
		}
	}
	return ""
}

// known is the name for a member of an input.
func (f fitting) known(member string) (string, bool) {
	if f.byURL && (strings.HasPrefix(member, "StackName") || strings.HasPrefix(member, "ChangeSetName") || member == "TypeName") {
		return "theirs", member != "TypeName"
	}
	for _, key := range []string{f.service + " " + member, member, strings.TrimSuffix(member, "s")} {
		if value, has := f.names["ARN "+key]; has && f.byARN {
			return value, true
		}
		if value, has := f.names[key]; has {
			return value, true
		}
		if value, has := f.names["ARN "+key]; has {
			return value, true
		}
	}
	return "", false
}

// fill gives the members of an input the names of what there is.
func (f fitting) fill(input reflect.Value) {
	for i := range input.NumField() {
		member, field := input.Type().Field(i), input.Field(i)
		if !member.IsExported() {
			continue
		}
		name, known := f.known(member.Name)
		isURL := strings.HasSuffix(member.Name, "URL") && member.Name != "QuickResponseURL"
		switch {
		case isURL && !f.byURL, !isURL && f.byURL && member.Name == "TemplateBody":
		case f.token != "" && slices.Contains([]string{"NextToken", "Marker", "ContinuationToken"}, member.Name) && field.Type() == reflect.TypeFor[*string]():
			field.Set(reflect.ValueOf(&f.token))
		case f.first && slices.Contains([]string{"MaxResults", "Limit", "MaxItems", "MaxKeys"}, member.Name) && field.Type() == reflect.TypeFor[*int32]():
			field.Set(reflect.ValueOf(aws.Int32(1)))
		case field.Type() == reflect.TypeFor[io.Reader]():
			field.Set(reflect.ValueOf(io.Reader(strings.NewReader("mine now"))))
		case !known && slices.Contains([]string{"WithDecryption", "Recursive", "IncludePropertyValues"}, member.Name) && field.Type() == reflect.TypeFor[*bool]():
			field.Set(reflect.ValueOf(aws.Bool(true)))
		case !known:
		case field.Kind() == reflect.String:
			field.SetString(name)
		case field.Type() == reflect.TypeFor[*string]():
			field.Set(reflect.ValueOf(&name))
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{name}))
		}
	}
}

// supply gives a member of an input some value: "Delete.Objects[0].Key".
func (f fitting) supply(v reflect.Value, path string) {
	segment, rest, deeper := strings.Cut(path, ".")
	name, index, indexed := strings.Cut(strings.TrimSuffix(segment, "]"), "[")
	field := v.FieldByName(name)
	if !field.IsValid() {
		return
	}
	if indexed {
		n, err := strconv.Atoi(index)
		if err != nil || field.Kind() != reflect.Slice || n >= field.Len() {
			return
		}
		field = field.Index(n)
	}
	if field.Kind() == reflect.Pointer && field.Type().Elem().Kind() == reflect.Struct {
		if field.IsNil() {
			field.Set(reflect.New(field.Type().Elem()))
			f.fill(field.Elem())
		}
		field = field.Elem()
	}
	if deeper {
		f.supply(field, rest)
		return
	}
	f.some(field, name)
}

func (f fitting) some(field reflect.Value, member string) {
	text, known := f.known(member)
	if !known {
		text = "some"
	}
	switch {
	case field.Type() == reflect.TypeFor[*time.Time]():
		field.Set(reflect.ValueOf(aws.Time(time.Now())))
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		f.some(field.Elem(), member)
	case field.Kind() == reflect.String:
		if values := field.MethodByName("Values"); values.IsValid() {
			field.Set(values.Call(nil)[0].Index(0))
			return
		}
		field.SetString(text)
	case field.CanInt():
		field.SetInt(1)
	case field.Type() == reflect.TypeFor[[]byte]():
		field.SetBytes([]byte("{}"))
	case field.Kind() == reflect.Slice:
		one := reflect.New(field.Type().Elem()).Elem()
		if one.Kind() == reflect.Struct {
			f.fill(one)
		} else {
			f.some(one, member)
		}
		field.Set(reflect.Append(field, one))
	case field.Kind() == reflect.Map && field.Type().Elem().Kind() == reflect.String:
		field.Set(reflect.ValueOf(map[string]string{"some": text}).Convert(field.Type()))
	}
}

// possessions makes one of everything for the account, and of some things two, for a second page.
// It returns names by the member of inputs that takes them, or with "ARN " before it their ARNs,
// for one service only with its name before the member.
func possessions(t *testing.T, url string, config aws.Config) map[string]string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	arn := func(service, name string) string {
		return "arn:aws:" + service + ":" + region + ":" + account + ":" + name
	}
	const typeARN = "type/resource/Acme-Spy-Thing"
	names := map[string]string{
		"Bucket": "owned", "Key": "owned-key", "Prefix": "owned", "CopySource": "owned/owned-key", "UploadId": "upload",
		"Name": "owned", "ARN Name": arn("ssm", "parameter/owned"), "Path": "/", "ssm ResourceId": "owned", "ssm ResourceType": "Parameter",
		"SecretId": "owned-secret", "SecretIdList": "owned-secret", "ResourceArn": arn("logs", "log-group:/owned/group"),
		"LogGroupName": "/owned/group", "LogStreamName": "stream", "LogStreamNamePrefix": "str", "LogGroupNamePrefix": "/owned", "LogGroupNamePattern": "owned",
		"LogGroupIdentifier": arn("logs", "log-group:/owned/group"), "ARN LogGroupName": arn("logs", "log-group:/owned/group"),
		"FunctionName": "Acme-Spy-Thing", "ARN FunctionName": arn("lambda", "function:Acme-Spy-Thing"), "lambda Resource": arn("lambda", "function:Acme-Spy-Thing"),
		"TypeName": spyType, "Type": "RESOURCE", "ARN Arn": arn("cloudformation", typeARN), "ARN TypeArn": arn("cloudformation", typeARN),
		"ARN TypeVersionArn": arn("cloudformation", typeARN+"/00000001"), "ARN PublicTypeArn": arn("cloudformation", typeARN),
		"ConfigurationArn": arn("cloudformation", "type-configuration/resource/Acme-Spy-Thing/default"), "ARN TypeConfigurationArn": arn("cloudformation", "type-configuration/resource/Acme-Spy-Thing/default"),
		"SchemaHandlerPackage": "s3://owned/owned-key", "TemplateURL": "https://s3.amazonaws.com/owned/owned-template", "StackPolicyURL": "https://s3.amazonaws.com/owned/owned-key",
		"StackName": "owned", "LogicalResourceId": "P", "PhysicalResourceId": "owned-p", "ChangeSetName": "owned-set", "ExportName": "owned-export", "cloudformation VersionId": "00000001",
		"cloudcontrol TypeName": "AWS::SSM::Parameter", "cloudcontrol Identifier": "owned", "cloudcontrol PatchDocument": `[{"op": "replace", "path": "/Value", "value": "mine now"}]`,
		"cloudcontrol DesiredState": `{"Name": "owned", "Type": "String", "Value": "theirs"}`,
		"RoleArn":                   "arn:aws:iam::" + account + ":role/Runner", "RoleSessionName": "session", "AccessKeyId": keyID, "Value": "mine now", "SecretString": "mine now",
	}
	parameters, vault, logs := ssm.NewFromConfig(config), secretsmanager.NewFromConfig(config), cloudwatchlogs.NewFromConfig(config)
	for _, name := range []string{"owned", "owned-2"} {
		_, err := parameters.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: aws.String(canary), Description: aws.String(canary), Type: ssmtypes.ParameterTypeSecureString,
			Tags: []ssmtypes.Tag{{Key: aws.String("note"), Value: aws.String(canary)}}})
		must(err)
	}
	for _, name := range []string{"owned-secret-2", "owned-secret"} {
		made, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String(canary), Description: aws.String(canary)})
		must(err)
		names["ARN SecretId"], names["secretsmanager VersionId"] = *made.ARN, *made.VersionId
	}
	for _, name := range []string{"/owned/group-2", "/owned/group"} {
		_, err := logs.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &name, Tags: map[string]string{"note": canary}})
		must(err)
	}
	_, err := logs.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream")})
	must(err)
	events := []logstypes.InputLogEvent{{Message: aws.String(canary), Timestamp: aws.Int64(time.Now().UnixMilli())}, {Message: aws.String(canary), Timestamp: aws.Int64(time.Now().UnixMilli())}}
	_, err = logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream"), LogEvents: events})
	must(err)
	c := keyedClients(t, url, keyID, secret)
	_, err = c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("owned"), CreateBucketConfiguration: here})
	must(err)
	for key, body := range map[string]string{"owned-key": canary, "owned-template": `{"Description": "` + canary + `", "Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`} {
		_, err = c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("owned"), Key: &key, Body: strings.NewReader(body), Metadata: map[string]string{"note": canary}})
		must(err)
	}
	upload, err := c.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	must(err)
	names["UploadId"] = *upload.UploadId
	token := registerSpy(t, c, spyPackage(t, t.TempDir()+"/notes", `"Do": {"type": "string", "description": "`+canary+`"}`, 0))
	registered(t, c, token, time.Minute)
	names["RegistrationToken"] = token
	own := maps.Clone(names)
	possessStacks(t, c, config, own)
	return own
}

// possessStacks makes stacks, a change set, and a request of Cloud Control.
func possessStacks(t *testing.T, c clients, config aws.Config, names map[string]string) {
	t.Helper()
	body := func(name string) *string {
		return aws.String(`{"Description": "` + canary + `", "Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "` + name + `-p", "Type": "String", "Value": "` + canary + `"}}},
			"Outputs": {"O": {"Value": "` + canary + `", "Export": {"Name": "` + name + `-export"}}}}`)
	}
	for _, name := range []string{"owned-2", "owned"} {
		stack, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: body(name)})
		if err != nil {
			t.Fatal(err)
		}
		names["ARN StackName"], names["ARN StackId"] = *stack.StackId, *stack.StackId
		if stack.OperationId != nil {
			names["OperationId"] = *stack.OperationId
		}
		eventually(t, time.Minute, "the stack is there", func() bool {
			out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: stack.StackId})
			return err == nil && out.Stacks[0].StackStatus == "CREATE_COMPLETE"
		})
	}
	possessHooks(t, c, names)
	set, err := c.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{StackName: aws.String("owned"), ChangeSetName: aws.String("owned-set"), Description: aws.String(canary),
		TemplateBody: aws.String(strings.Replace(*body("owned"), `"String", "Value": "`, `"String", "Value": "other `, 1))})
	if err != nil {
		t.Fatal(err)
	}
	names["ARN ChangeSetName"] = *set.Id
	possessSet(t, c, names)
	request, err := cloudcontrol.NewFromConfig(config).CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: aws.String("AWS::SSM::Parameter"), DesiredState: aws.String(`{"Name": "owned-control", "Type": "String", "Value": "` + canary + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	names["RequestToken"] = *request.ProgressEvent.RequestToken
	eventually(t, time.Minute, "the request is over", func() bool {
		out, err := cloudcontrol.NewFromConfig(config).GetResourceRequestStatus(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{RequestToken: request.ProgressEvent.RequestToken})
		return err == nil && out.ProgressEvent.OperationStatus == "SUCCESS"
	})
}

// possessSet makes a stack set with an instance.
func possessSet(t *testing.T, c clients, names map[string]string) {
	t.Helper()
	name := "owned-sets"
	body := `{"Description": "` + canary + `", "Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`
	made := must[*cloudformation.CreateStackSetOutput](t)(c.CreateStackSet(t.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: &body, Description: aws.String(canary)}))
	out := must[*cloudformation.CreateStackInstancesOutput](t)(c.CreateStackInstances(t.Context(), &cloudformation.CreateStackInstancesInput{StackSetName: &name, Accounts: []string{account}, Regions: []string{region}}))
	setEnds(t, c.Client, name, *out.OperationId)
	names["StackSetName"], names["ARN StackSetName"], names["StackInstanceAccount"], names["StackInstanceRegion"] = name, *made.StackSetId, account, region
}

// possessHooks makes a hook that has seen a stack.
func possessHooks(t *testing.T, c clients, names map[string]string) {
	t.Helper()
	for _, stack := range [][2]string{
		{"owned-hook", `{"Resources": {"H": {"Type": "AWS::CloudFormation::LambdaHook", "Properties": {"Alias": "Private::Lambda::Guard", "LambdaFunction": "guard",
			"ExecutionRole": "arn:aws:iam::` + account + `:role/hook", "FailureMode": "WARN", "HookStatus": "ENABLED", "TargetOperations": ["RESOURCE"]}}}}`},
		{"seen-by-hook", `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}}}`},
	} {
		if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &stack[0], TemplateBody: &stack[1]}); err != nil {
			t.Fatal(err)
		}
		if out := c.ended(t, stack[0]); out.StackStatus != cfntypes.StackStatusCreateComplete {
			t.Fatalf("%s: %s %q", stack[0], out.StackStatus, c.history(t, out))
		}
	}
	results, err := c.ListHookResults(t.Context(), &cloudformation.ListHookResultsInput{})
	if err != nil || len(results.HookResults) == 0 {
		t.Fatalf("results of the hook: %+v, %v", results, err)
	}
	names["HookResultId"] = *results.HookResults[0].HookResultId
}

// crossings are ways from one account to another that take more than one name.
func crossings(t *testing.T, url string, theirs aws.Config, names map[string]string) {
	t.Helper()
	ctx := t.Context()
	objects := s3.NewFromConfig(theirs, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("theirs"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.CopyObject(ctx, &s3.CopyObjectInput{Bucket: aws.String("theirs"), Key: aws.String("copy"), CopySource: aws.String("owned/owned-key")}); err == nil {
		t.Error("another account copies an object")
	}
	presign := s3.NewPresignClient(objects)
	get, err := presign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	if err != nil {
		t.Fatal(err)
	}
	put, err := presign.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	if err != nil {
		t.Fatal(err)
	}
	remove, err := presign.PresignDeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	if err != nil {
		t.Fatal(err)
	}
	for method, link := range map[string]string{http.MethodGet: get.URL, http.MethodPut: put.URL, http.MethodDelete: remove.URL} {
		request, err := http.NewRequestWithContext(ctx, method, link, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode < 400 || strings.Contains(string(body), canary) {
			t.Errorf("a URL that another account signed for %s: %s %s", method, response.Status, body)
		}
	}
	disown(t, theirs)
	c := cloudformation.NewFromConfig(theirs)
	for what, body := range map[string]string{
		"an export":      `{"Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": {"O": {"Value": {"Fn::ImportValue": "owned-export"}}}}`,
		"a parameter":    `{"Parameters": {"P": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "owned"}}, "Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": {"O": {"Value": {"Ref": "P"}}}}`,
		"a type":         `{"Resources": {"W": {"Type": "` + spyType + `", "Properties": {"Name": "abcd"}}}}`,
		"a nested stack": `{"Resources": {"W": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "` + names["TemplateURL"] + `"}}}}`,
		"a value":        `{"Resources": {"W": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "{{resolve:ssm:owned}}"}}}}`,
		"a secret":       `{"Resources": {"W": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "{{resolve:secretsmanager:` + names["ARN SecretId"] + `}}"}}}}`,
		"a stack":        `{"Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": {"O": {"Value": {"Fn::GetStackOutput": {"StackName": "` + names["ARN StackName"] + `", "OutputName": "O"}}}}}`,
	} {
		name := "crossing-" + strings.ReplaceAll(what, " ", "-")
		_, err := c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, OnFailure: cfntypes.OnFailureDoNothing})
		if err != nil {
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		var status cfntypes.StackStatus
		eventually(t, time.Minute, "the stack ends", func() bool {
			out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
			if err != nil {
				t.Fatal(err)
			}
			status = out.Stacks[0].StackStatus
			if strings.Contains(textOf(out), canary) {
				t.Errorf("%s is seen by another account: %s", what, textOf(out))
			}
			return !strings.HasSuffix(string(status), "_IN_PROGRESS")
		})
		if status == cfntypes.StackStatusCreateComplete {
			t.Errorf("another account uses %s", what)
		}
	}
}

// disown deletes what probe may have made for the other account under the same name, once no request of Cloud Control is left
// that makes it again.
func disown(t *testing.T, theirs aws.Config) {
	t.Helper()
	requests, parameters := cloudcontrol.NewFromConfig(theirs), ssm.NewFromConfig(theirs)
	eventually(t, time.Minute, "the requests end", func() bool {
		out, err := requests.ListResourceRequests(t.Context(), &cloudcontrol.ListResourceRequestsInput{
			ResourceRequestStatusFilter: &cctypes.ResourceRequestStatusFilter{OperationStatuses: []cctypes.OperationStatus{cctypes.OperationStatusPending, cctypes.OperationStatusInProgress}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.ResourceRequestStatusSummaries) == 0
	})
	_, err := parameters.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("owned")})
	var none *ssmtypes.ParameterNotFound
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
}

// belongings is what the account has, as it reads it.
func belongings(t *testing.T, config aws.Config, names map[string]string) string {
	t.Helper()
	var b strings.Builder
	add := func(out any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(&b, "%s\n", textOf(out))
	}
	ctx := t.Context()
	parameter, err := ssm.NewFromConfig(config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("owned"), WithDecryption: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	add(parameter.Parameter, nil)
	value, err := secretsmanager.NewFromConfig(config).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String("owned-secret")})
	if err != nil {
		t.Fatal(err)
	}
	add([]*string{value.SecretString, value.VersionId}, nil)
	events, err := cloudwatchlogs.NewFromConfig(config).GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream")})
	if err != nil {
		t.Fatal(err)
	}
	add(events.Events, nil)
	object, err := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }).GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	if err != nil {
		t.Fatal(err)
	}
	add(object.Body, nil)
	cfn := cloudformation.NewFromConfig(config)
	kind, err := cfn.DescribeType(ctx, &cloudformation.DescribeTypeInput{Arn: aws.String(names["ARN Arn"])})
	if err != nil {
		t.Fatal(err)
	}
	add([]any{kind.Schema, kind.DefaultVersionId, kind.DeprecatedStatus, kind.ConfigurationSchema}, nil)
	stack, err := cfn.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(names["ARN StackName"])})
	if err != nil {
		t.Fatal(err)
	}
	add(stack.Stacks, nil)
	set, err := cfn.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String(names["ARN ChangeSetName"])})
	if err != nil {
		t.Fatal(err)
	}
	add([]any{set.Status, set.ExecutionStatus, set.Changes}, nil)
	return b.String()
}

// textOf is everything that an output says, the bodies of objects included.
func textOf(out any) string {
	text, err := json.Marshal(out)
	if err != nil { // a stream among its members
		text = fmt.Appendf(nil, "%+v", out)
	}
	if body, is := out.(io.Reader); is {
		content, _ := io.ReadAll(io.LimitReader(body, 1<<20))
		return string(content)
	}
	if v := reflect.Indirect(reflect.ValueOf(out)); v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.CanInterface() {
				continue
			}
			switch member := field.Interface().(type) {
			case io.ReadCloser:
				content, _ := io.ReadAll(io.LimitReader(member, 1<<20))
				member.Close()
				text = append(text, content...)
			case []byte:
				text = append(text, member...)
			}
		}
	}
	return string(text)
}
