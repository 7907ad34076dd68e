package local_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// canaryVar makes the test binary a handler that prints and answers all it knows, in several
// spellings. Its value is a file where it notes the credentials that it got.
const canaryVar = "FORMWORK_TEST_CANARY"

func init() {
	file := os.Getenv(canaryVar)
	if file == "" {
		return
	}
	awslambda.Start(func(_ context.Context, event json.RawMessage) (any, error) {
		var request struct {
			Action      string
			RequestData struct {
				ResourceProperties map[string]any
				CallerCredentials  struct{ SecretAccessKey, SessionToken string }
			}
		}
		if err := json.Unmarshal(event, &request); err != nil {
			return nil, err
		}
		given := request.RequestData.CallerCredentials
		known := strings.Join([]string{string(event), given.SecretAccessKey, given.SessionToken}, " ")
		for _, spelling := range []string{known, fmt.Sprintf("%q", known), url.QueryEscape(known), html.EscapeString(known), base64.StdEncoding.EncodeToString([]byte(known))} {
			fmt.Println(spelling)
		}
		fmt.Fprintln(os.Stderr, known)
		noted := strings.TrimSpace(given.SecretAccessKey + "\n" + given.SessionToken)
		if err := os.WriteFile(file, []byte(noted), 0o600); err != nil {
			return nil, err
		}
		model := request.RequestData.ResourceProperties
		secret := fmt.Sprint(model["Secret"], " ", model["Label"])
		delete(model, "Secret")
		made := filepath.Join(filepath.Dir(file), fmt.Sprint("made-", model["Name"]))
		switch {
		case model["Do"] == "crash" && request.Action == "CREATE":
			return nil, errors.New("cannot use " + known)
		case model["Do"] == "fail" && request.Action == "CREATE":
			return map[string]any{"status": "FAILED", "errorCode": "InvalidRequest", "message": "cannot use " + secret, "resourceModel": model}, nil
		case request.Action == "DELETE":
			_ = os.Remove(made)
			return map[string]any{"status": "SUCCESS"}, nil
		case request.Action == "CREATE":
			if err := os.WriteFile(made, nil, 0o600); err != nil {
				return nil, err
			}
		case request.Action == "READ":
			if _, err := os.Stat(made); err != nil {
				return map[string]any{"status": "FAILED", "errorCode": "NotFound", "message": "not found, with " + secret}, nil
			}
		}
		return map[string]any{"status": "SUCCESS", "message": "made with " + secret, "resourceModel": model}, nil
	})
}

// newCanary is a secret whose letters and digits stay together in every spelling.
func newCanary(name string) string { return `p"/+ &` + "Canary" + name + "Qx7Zw93Kd" + `='<` }

// core is what is searched for of a secret: its longest run of letters and digits.
func core(secret string) (longest string) {
	for _, run := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(secret, -1) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

// findCanary reports how a secret is spelled in a text, "" if it is not there.
func findCanary(text, secret string) string {
	secret = core(secret)
	if strings.Contains(text, secret) {
		return "as it is"
	}
	for shift := range 3 { // base64 of something that has it, at each place
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		if strings.Contains(text, coded[4:len(coded)-4]) {
			return "in base64"
		}
	}
	return ""
}

// leaks lists which of the secrets are shown in which place.
func leaks(shown, planted map[string]string) (found []string) {
	for place, text := range shown {
		for name, secret := range planted {
			if how := findCanary(text, secret); how != "" {
				at := max(strings.Index(text, core(secret))-200, 0)
				found = append(found, fmt.Sprintf("%s shows the canary %s %s: %.400s", place, name, how, text[at:]))
			}
		}
	}
	return found
}

// TestCanariesAreFound plants a secret in each kind of output, and looks whether the search
// of TestCanaries finds it there, on a page of a console that only a link of a link leads to, too.
func TestCanariesAreFound(t *testing.T) {
	secret := newCanary("Self")
	quoted, err := json.Marshal(map[string]string{"Value": secret})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{
		"plain": "made with " + secret, "JSON": string(quoted), "quoted twice": fmt.Sprintf("%q", quoted), "a query": url.QueryEscape(secret), "a path": url.PathEscape(secret),
		"HTML": html.EscapeString(secret), "base64": base64.StdEncoding.EncodeToString([]byte("of " + secret)), "base64 of JSON": base64.StdEncoding.EncodeToString(quoted),
		"base64 for URLs": base64.URLEncoding.EncodeToString([]byte(secret)),
	} {
		if found := leaks(map[string]string{place: text}, map[string]string{"Self": secret}); len(found) != 1 {
			t.Errorf("%s: %q has the secret, and the search found %q", place, text, found)
		}
	}
	if found := leaks(map[string]string{"hidden": "made with <hidden: NoEcho parameter>"}, map[string]string{"Self": secret}); len(found) != 0 {
		t.Errorf("found where there is none: %q", found)
	}
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/_cfn/calls":
			_, _ = io.WriteString(w, `<a href="/_cfn/calls/1">a call</a>`)
		case "/_cfn/calls/1":
			_, _ = io.WriteString(w, `<a href="/_cfn/calls/1/reply?x=1&amp;y=2">its reply</a>`)
		case "/_cfn/calls/1/reply":
			_, _ = io.WriteString(w, "made with "+html.EscapeString(secret))
		}
	}))
	defer console.Close()
	if found := leaks(crawl(t, console.URL), map[string]string{"Self": secret}); len(found) != 1 {
		t.Errorf("the search of pages found %q", found)
	}
}

const canaryType = "Acme::Canary::Thing"

// TestCanaries plants secrets of all kinds, has a handler print and return them, and looks for
// them in all that the server shows: logs, reports, events, answers and every page of the console.
func TestCanaries(t *testing.T) {
	for name, keys := range map[string]string{"without keys": "", "with keys": account + " secret " + account + "\n"} {
		t.Run(name, func(t *testing.T) { testCanaries(t, keys) })
	}
}

func testCanaries(t *testing.T, keys string) {
	o := serverOptions{Dir: filepath.Join(t.TempDir(), "data")}
	if keys != "" {
		o.Auth = filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(o.Auth, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	planted := map[string]string{}
	plant := func(name string) string {
		planted[name] = newCanary(name)
		return planted[name]
	}
	o.Functions = []string{"canary=" + canaryProgram(t, canaryFunctionVar, plant("ResponseData"))}
	server, noted := mustStart(t, o), filepath.Join(t.TempDir(), "noted")
	c := newClients(t, server.url)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	who := credentials.NewStaticCredentialsProvider(account, "secret", "")
	secrets := secretsmanager.New(secretsmanager.Options{BaseEndpoint: &server.url, Region: region, Credentials: who})
	must(secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("planted"), SecretString: aws.String(plant("Secret"))}))
	must(c.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("/planted"), Type: ssmtypes.ParameterTypeSecureString, Value: aws.String(plant("SecureString"))}))
	registerCanary(t, c, noted)
	configuration, err := json.Marshal(map[string]string{"ApiKey": plant("Configuration"), "Stored": "{{resolve:ssm-secure:/planted}}"})
	must(nil, err)
	must(c.SetTypeConfiguration(t.Context(), &cloudformation.SetTypeConfigurationInput{
		Type: cfntypes.ThirdPartyTypeResource, TypeName: aws.String(canaryType), Configuration: aws.String(string(configuration)),
	}))
	registerCanaryHook(t, c, plant("HookConfiguration"))
	must(c.TestType(t.Context(), &cloudformation.TestTypeInput{Type: cfntypes.ThirdPartyTypeResource, TypeName: aws.String(canaryType)}))
	for _, do := range []string{"work", "fail", "crash"} {
		must(c.CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: aws.String(do), DisableRollback: aws.Bool(true),
			Parameters: []cfntypes.Parameter{{ParameterKey: aws.String("Hidden"), ParameterValue: aws.String(plant("NoEcho"))}, {ParameterKey: aws.String("Own"), ParameterValue: aws.String(plant("WriteOnly"))}},
			TemplateBody: aws.String(`{"Parameters": {"Hidden": {"Type": "String", "NoEcho": true}, "Own": {"Type": "String", "NoEcho": true}}, "Resources": {
				"Plain": {"Type": "` + canaryType + `", "Properties": {"Name": "abc` + do[:1] + `", "Do": "` + do + `", "Label": {"Ref": "Hidden"}}},
				"Resolved": {"Type": "` + canaryType + `", "Properties": {"Name": "efg` + do[:1] + `", "Do": "` + do + `", "Label": "{{resolve:secretsmanager:planted}}", "Secret": {"Ref": "Own"}}}}}`),
		}))
	}
	for name, want := range map[string]cfntypes.StackStatus{"work": cfntypes.StackStatusCreateComplete, "fail": cfntypes.StackStatusCreateFailed, "crash": cfntypes.StackStatusCreateFailed} {
		eventually(t, 2*time.Minute, "the stack "+name, func() bool {
			out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
			return err == nil && out.Stacks[0].StackStatus == want && out.Stacks[0].DetailedStatus == ""
		})
	}
	eventually(t, 2*time.Minute, "the tests", func() bool {
		out, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(canaryType), VersionId: aws.String("00000001")})
		return err == nil && out.TypeTestsStatus != cfntypes.TypeTestsStatusInProgress
	})
	signature := "5" + strings.Repeat("Canary5ignature", 4)
	planted["Signature"] = signature
	if response, err := http.Get(server.url + "/shelf/x?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=" + signature); err == nil {
		response.Body.Close()
	}
	if given, err := os.ReadFile(noted); err == nil {
		for i, text := range strings.Fields(string(given)) {
			if len(core(text)) >= 12 && text != lambda.DummySecret && text != lambda.DummyToken { // which everyone knows
				planted[fmt.Sprintf("Credential%d", i)] = text
			}
		}
	}
	shown := map[string]string{}
	maps.Copy(shown, canaryAnswers(t, c, server.url))
	canaryResources(t, c, server.url, plant, shown)
	maps.Copy(shown, canaryAnswers(t, c, server.url)) // with what the handler has printed since
	canaryStacks(t, c, server.url, plant, shown)
	canaryCommands(t, server.url, shown)
	pages := crawl(t, server.url)
	if keys != "" && len(planted) < 10 {
		t.Errorf("only %d canaries: the handler got no credentials of a session", len(planted))
	}
	if len(pages) < 25 && keys == "" {
		t.Errorf("only %d pages were found", len(pages))
	}
	for path, text := range pages {
		shown[path] = text
	}
	server.terminate(t)
	shown["stderr"] = server.stderr.String()
	hidden := 0
	for _, text := range shown {
		hidden += strings.Count(text, "hidden: ")
	}
	for _, leak := range leaks(shown, planted) {
		t.Error(leak)
	}
	t.Logf("%d canaries, %d places, %d marks", len(planted), len(shown), hidden)
	if hidden == 0 {
		t.Error("nothing says that anything is hidden: the handler printed nothing?")
	}
}

// registerCanary registers the type.
func registerCanary(t *testing.T, c clients, noted string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data := zipped(t,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "RESOURCE", "typeName": "` + canaryType + `", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "` + canaryType + `", "description": "A thing", "additionalProperties": false,
			"typeConfiguration": {"additionalProperties": false, "properties": {"ApiKey": {"type": "string"}, "Stored": {"type": "string"}}},
			"properties": {"Name": {"type": "string", "pattern": "^[a-z]{4}$"}, "Do": {"type": "string", "enum": ["work", "fail", "crash"]}, "Label": {"type": "string"}, "Secret": {"type": "string"}}, "required": ["Name"],
			"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"], "writeOnlyProperties": ["/properties/Secret"], "tagging": {"taggable": false},
			"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}}`)},
		entry{name: "ResourceProvider.zip", data: zipped(t, entry{name: "bootstrap", data: fmt.Appendf(nil, "#!/bin/sh\n%s='%s' exec '%s'\n", canaryVar, noted, self)})},
	)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("canaries"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("canaries"), Key: aws.String("a.zip"), Body: bytes.NewReader(data)}); err != nil {
		t.Fatal(err)
	}
	out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(canaryType), SchemaHandlerPackage: aws.String("s3://canaries/a.zip"),
		ExecutionRoleArn: aws.String("arn:aws:iam::" + account + ":role/Runner")})
	if err != nil {
		t.Fatal(err)
	}
	registered(t, c, *out.RegistrationToken, time.Minute)
}

// canaryAnswers are the answers of operations that read, but for those whose purpose it is to
// return a secret.
func canaryAnswers(t *testing.T, c clients, address string) map[string]string {
	t.Helper()
	shown := map[string]string{}
	keep := func(name string, out any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(out); err != nil {
			t.Error(err)
		}
		shown[name] = text.String()
	}
	who := credentials.NewStaticCredentialsProvider(account, "secret", "")
	logs := cloudwatchlogs.New(cloudwatchlogs.Options{BaseEndpoint: &address, Region: region, Credentials: who})
	group := aws.String("/aws/lambda/Acme-Canary-Thing")
	lines, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: group})
	keep("the log", lines, err)
	described, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(canaryType), VersionId: aws.String("00000001")})
	keep("DescribeType", described, err)
	for _, name := range []*string{aws.String("work"), aws.String("fail"), aws.String("crash")} {
		stacks, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
		keep("DescribeStacks "+*name, stacks, err)
		events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: name})
		keep("DescribeStackEvents "+*name, events, err)
		resources, err := c.DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: name})
		keep("DescribeStackResources "+*name, resources, err)
		template, err := c.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: name, TemplateStage: cfntypes.TemplateStageProcessed})
		keep("GetTemplate "+*name, template, err)
	}
	return shown
}

// canaryResources adds what Cloud Control, change sets and drift detection answer.
func canaryResources(t *testing.T, c clients, address string, plant func(string) string, shown map[string]string) {
	t.Helper()
	keep := func(name string, out any, err error) {
		t.Helper()
		text, encodeErr := json.Marshal(out)
		shown[name] = fmt.Sprint(string(text), err, encodeErr)
	}
	who := credentials.NewStaticCredentialsProvider(account, "secret", "")
	control := cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &address, Region: region, Credentials: who, Retryer: aws.NopRetryer{}})
	for i, do := range []string{"work", "fail", "crash", "refused"} {
		name := fmt.Sprintf("cca%c", 'a'+i)
		desired, err := json.Marshal(map[string]string{"Name": name, "Do": do, "Secret": plant("CloudControl" + do)})
		if err != nil {
			t.Fatal(err)
		}
		out, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: aws.String(canaryType), DesiredState: aws.String(string(desired))})
		keep("CreateResource "+do, out, err)
		if err != nil {
			continue // of what the schema refuses, the error is what is looked at
		}
		eventually(t, time.Minute, "the request "+do, func() bool {
			status, err := control.GetResourceRequestStatus(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{RequestToken: out.ProgressEvent.RequestToken})
			keep("GetResourceRequestStatus "+do, status, err)
			return err == nil && status.ProgressEvent.OperationStatus != "IN_PROGRESS" && status.ProgressEvent.OperationStatus != "PENDING"
		})
		got, err := control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: aws.String(canaryType), Identifier: &name})
		keep("GetResource "+do, got, err)
	}
	requests, err := control.ListResourceRequests(t.Context(), &cloudcontrol.ListResourceRequestsInput{})
	keep("ListResourceRequests", requests, err)

	_, err = c.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("work"), ChangeSetName: aws.String("changes"), UsePreviousTemplate: aws.Bool(true),
		Parameters: []cfntypes.Parameter{{ParameterKey: aws.String("Hidden"), ParameterValue: aws.String(plant("ChangedNoEcho"))}, {ParameterKey: aws.String("Own"), ParameterValue: aws.String(plant("ChangedWriteOnly"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the change set", func() bool {
		set, err := c.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{StackName: aws.String("work"), ChangeSetName: aws.String("changes"), IncludePropertyValues: aws.Bool(true)})
		keep("DescribeChangeSet", set, err)
		return err == nil && !strings.Contains(string(set.Status), "PENDING") && !strings.Contains(string(set.Status), "IN_PROGRESS")
	})
	begun, err := c.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("work")})
	if err != nil {
		t.Fatal(err, shown["DescribeStackEvents work"])
	}
	eventually(t, time.Minute, "the drift", func() bool {
		status, err := c.DescribeStackDriftDetectionStatus(t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId})
		keep("DescribeStackDriftDetectionStatus", status, err)
		return err == nil && status.DetectionStatus != cfntypes.StackDriftDetectionStatusDetectionInProgress
	})
	drifts, err := c.DescribeStackResourceDrifts(t.Context(), &cloudformation.DescribeStackResourceDriftsInput{StackName: aws.String("work")})
	keep("DescribeStackResourceDrifts", drifts, err)
}

// canaryCommands adds what commands print, where FORMWORK_CFN names the program.
func canaryCommands(t *testing.T, address string, shown map[string]string) {
	t.Helper()
	program := os.Getenv("FORMWORK_CFN")
	if program == "" {
		t.Log("without FORMWORK_CFN, no commands are run")
		return
	}
	for _, command := range []string{"logs " + canaryType + " --since 1h", "stack events fail --all", "stack events crash --all", "stack outputs work", "stack template work",
		"stack resources work", "stack drift work --diff", "resource get " + canaryType + " ccaa", "resource requests", "types describe " + canaryType,
		"logs canary --since 1h", "logs " + canaryHook + " --type HOOK --since 1h", "stack events custom --all", "stack events customfails --all", "stack outputs custom", "stack resources custom",
		"stack template custom", "stack drift custom --diff", "types describe " + canaryHook + " --type HOOK", "stacks", "types list"} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(command)...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+address, "AWS_REGION="+region, "AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=secret")
		out, err := cmd.CombinedOutput()
		if len(out) == 0 {
			t.Errorf("cfn %s printed nothing: %v", command, err)
		}
		shown["cfn "+command] = string(out)
	}
}

var canaryLink = regexp.MustCompile(`(?:href|data-events|data-changes)="(/_cfn[^"]*)"`)

// crawl reads every page of the console that a link leads to, but no stream.
func crawl(t *testing.T, address string) map[string]string {
	t.Helper()
	pages, waiting := map[string]string{}, []string{"/_cfn/", "/_cfn/calls", "/_cfn/logs", "/_cfn/tests", "/_cfn/stacks"}
	for len(waiting) > 0 && len(pages) < 400 {
		path := waiting[0]
		waiting = waiting[1:]
		path, _, _ = strings.Cut(html.UnescapeString(path), "#")
		if _, seen := pages[path]; seen || strings.Contains(path, "/events") && !strings.Contains(path, "/stacks/") || strings.Contains(path, "/stacks/events") || strings.Contains(path, "/assets/") {
			continue
		}
		response, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode >= 500 {
			t.Errorf("%s: %s %v", path, response.Status, err)
		}
		pages[path] = string(text)
		for _, link := range canaryLink.FindAllStringSubmatch(string(text), -1) {
			waiting = append(waiting, link[1])
		}
	}
	return pages
}
