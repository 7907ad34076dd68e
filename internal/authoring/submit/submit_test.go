package submit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

const uploadStack = "CloudFormationManagedUploadInfrastructure"

// open sets the environment to that of the stand-in and opens it.
func open(t *testing.T, a *fixtures.AWS, change ...string) *Remote {
	t.Helper()
	r, err := openWith(t, a, change...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openWith(t *testing.T, a *fixtures.AWS, change ...string) (*Remote, error) {
	t.Helper()
	env := map[string]string{"AWS_PROFILE": "", "AWS_SESSION_TOKEN": "", "AWS_DEFAULT_REGION": "", "FORMWORK_ENDPOINT": ""}
	for _, entry := range append(a.Environ(), change...) {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	return Open(t.Context(), Config{
		Getenv: func(name string) string { return env[name] }, Pause: time.Millisecond,
		Now:      func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) },
		NewToken: func() string { return "11111111-2222-4333-8444-555555555555" },
	})
}

func request() Request {
	return Request{Kind: schema.Resource, TypeName: "Acme::Foo::Bar", Archive: []byte("PK zip"), RoleTemplate: []byte("Outputs:\n  ExecutionRoleArn:\n    Value: x\n")}
}

func TestRegisterMakesTheCallsOfTheOfficialTool(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Polls = 2
	r := open(t, a)
	var said []string
	q := request()
	q.Report = func(text string) { said = append(said, text) }
	token, err := r.Register(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	registration, err := r.Wait(t.Context(), token, 0, q.Report)
	if err != nil || registration.Status != "COMPLETE" || registration.Version() != "00000001" {
		t.Fatalf("%+v, %v", registration, err)
	}
	if err := r.SetDefault(t.Context(), registration.VersionARN); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CreateStack", "DescribeStacks", // the role
		"DescribeStacks", "CreateStack", "DescribeStacks", // the bucket
		"PutObject", "RegisterType", "GetObject", "PutObject", // the last two are the note beside the package
		"DescribeTypeRegistration", "SetTypeDefaultVersion",
	}
	if got := a.Operations(); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("the calls are %q", got)
	}
	for _, c := range a.Calls("CreateStack") {
		v := c.Values
		if v.Get("EnableTerminationProtection") != "true" || v.Get("Capabilities.member.1") != "CAPABILITY_IAM" {
			t.Errorf("the stack is made with %v", v)
		}
	}
	if got := a.Calls("CreateStack")[0].Values.Get("StackName"); got != "acme-foo-bar-role-stack" {
		t.Errorf("the stack of the role is %s", got)
	}
	if got := a.Calls("PutObject")[0]; got.Path != "/managed-upload-eu-west-1/acme-foo-bar-2026-01-02T02-04-05.zip" || string(got.Body) != "PK zip" {
		t.Errorf("the package is at %s: %q", got.Path, got.Body)
	}
	v := a.Calls("RegisterType")[0].Values
	for name, want := range map[string]string{
		"Type": "RESOURCE", "TypeName": "Acme::Foo::Bar", "ClientRequestToken": "11111111-2222-4333-8444-555555555555",
		"SchemaHandlerPackage":       "s3://managed-upload-eu-west-1/acme-foo-bar-2026-01-02T02-04-05.zip",
		"ExecutionRoleArn":           "arn:aws:iam::123456789012:role/acme-foo-bar-role-stack",
		"LoggingConfig.LogGroupName": "acme-foo-bar-logs", "LoggingConfig.LogRoleArn": "arn:aws:iam::123456789012:role/" + uploadStack,
	} {
		if got := v.Get(name); got != want {
			t.Errorf("RegisterType: %s is %q, want %q", name, got, want)
		}
	}
	if !slices.Contains(said, "stack "+uploadStack+" CREATE_IN_PROGRESS") || !slices.Contains(said, "COMPLETE  Deployment is currently in DEPLOY_STAGE of status COMPLETED") {
		t.Errorf("reported: %q", said)
	}
}

// The second time, the stack of the role is brought up to date, and that of the bucket,
// whoever made it, is left alone.
func TestRegisterUsesTheStacksThatAreThere(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	for range 2 {
		if _, err := r.Register(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.Calls("UpdateStack")); n != 1 || a.Calls("UpdateStack")[0].Values.Get("StackName") != "acme-foo-bar-role-stack" {
		t.Errorf("%d stacks were updated", n)
	}
	changed := request()
	changed.RoleTemplate = append(changed.RoleTemplate, "# more\n"...)
	if _, err := r.Register(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Calls("RegisterType")); n != 3 {
		t.Errorf("%d registrations", n)
	}
}

func TestRegisterNeedsNoStackWithARoleAndABucket(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Bucket("mine")
	q := request()
	q.RoleARN, q.Bucket = "arn:aws:iam::123456789012:role/own", "mine"
	if _, err := open(t, a).Register(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := a.Operations(); !slices.Equal(got, []string{"DescribeStacks", "PutObject", "RegisterType", "GetObject", "PutObject"}) {
		t.Errorf("the calls are %q", got)
	}
	v := a.Calls("RegisterType")[0].Values
	if v.Get("ExecutionRoleArn") != "arn:aws:iam::123456789012:role/own" || v.Get("LoggingConfig.LogRoleArn") != "" {
		t.Errorf("RegisterType: %v", v)
	}
}

func TestRegisterAtALocalServer(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Product = "formwork"
	r := open(t, a, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_REGION=")
	if !r.Local || r.Region != "us-west-1" {
		t.Fatalf("the server is not known: %+v", r)
	}
	for range 2 { // the bucket is there the second time
		if _, err := r.Register(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
	got := a.Operations()
	want := []string{"GetCallerIdentity", "CreateBucket", "PutObject", "RegisterType", "GetObject", "PutObject"}
	if !slices.Equal(got, append(want, want...)) {
		t.Errorf("the calls are %q", got)
	}
	if path := a.Calls("PutObject")[0].Path; !strings.HasPrefix(path, "/formwork-uploads-123456789012-us-west-1/acme-foo-bar-") {
		t.Errorf("the package is at %s", path)
	}
}

func TestStacksThatAreOfNoUse(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fixtures.AWS)
		want    []string
	}{
		"role fails": {func(a *fixtures.AWS) { a.StackReason = "not authorized to perform iam:CreateRole" },
			[]string{"acme-foo-bar-role-stack in eu-west-1 is in ROLLBACK_COMPLETE: ExecutionRole (AWS::IAM::Role): not authorized to perform iam:CreateRole", "delete-stack"}},
		"role was rolled back": {func(a *fixtures.AWS) { a.Stack("eu-west-1", "acme-foo-bar-role-stack", "ROLLBACK_COMPLETE") },
			[]string{"acme-foo-bar-role-stack in eu-west-1 is in ROLLBACK_COMPLETE", "--no-enable-termination-protection --stack-name acme-foo-bar-role-stack"}},
		"upload stack in review": {func(a *fixtures.AWS) { a.Stack("eu-west-1", uploadStack, "REVIEW_IN_PROGRESS") },
			[]string{uploadStack + " in eu-west-1 is in REVIEW_IN_PROGRESS", "delete-stack"}},
		"role update fails": {func(a *fixtures.AWS) {
			a.Stack("eu-west-1", "acme-foo-bar-role-stack", "CREATE_COMPLETE")
			a.StackReason = "bad policy"
		}, []string{"UPDATE_ROLLBACK_COMPLETE: ExecutionRole (AWS::IAM::Role): bad policy", "describe-stack-events"}},
		"no outputs": {func(a *fixtures.AWS) { a.NoOutputs = true }, []string{"acme-foo-bar-role-stack in eu-west-1 is in CREATE_COMPLETE: it has no output ExecutionRoleArn"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := fixtures.NewAWS(t)
			test.prepare(a)
			_, err := open(t, a).Register(t.Context(), request())
			var stack *StackError
			if !errors.As(err, &stack) {
				t.Fatalf("the error is %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error()+"\n"+stack.Hint, part) {
					t.Errorf("%v\n%s\nlacks %q", err, stack.Hint, part)
				}
			}
			if len(a.Calls("RegisterType")) > 0 {
				t.Error("it was registered all the same")
			}
		})
	}
}

// A stack that somebody else is making at this moment is waited for.
func TestStackInProgressIsWaitedFor(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	if _, err := r.Register(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	a.Polls = 3
	a.Fail(fixtures.AWSFailure{Operation: "DescribeStacks", Times: 4, Status: 400, Code: "Throttling", Message: "Rate exceeded"}) // one more than the SDK tries
	if _, err := r.Register(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
}

// Two who register for the first time at once both find no stack. The slower one uses that
// of the other.
func TestUploadStackThatSomebodyElseMakes(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	q := request()
	q.RoleARN = "arn:aws:iam::123456789012:role/own"
	if _, err := r.Register(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	unknown := fixtures.AWSFailure{Operation: "DescribeStacks", Times: 1, Status: 400, Code: "ValidationError", Message: "Stack with id " + uploadStack + " does not exist"}
	a.Fail(unknown)
	if _, err := r.Register(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Calls("CreateStack")); n != 2 || len(a.Calls("UpdateStack")) != 0 || len(a.Calls("RegisterType")) != 2 {
		t.Errorf("%d stacks were begun: %q", n, a.Operations())
	}
	unknown.Times = 2 // and gone again, before it can be looked at
	a.Fail(unknown)
	if _, err := r.Register(t.Context(), q); err == nil || !strings.Contains(err.Error(), uploadStack+" was deleted while it was being created") {
		t.Errorf("the error is %v", err)
	}
}

func TestUploadStackWithoutOutputsIsUpdated(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Stack("eu-west-1", uploadStack, "CREATE_COMPLETE")
	if _, err := open(t, a).Register(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if got := a.Calls("UpdateStack"); len(got) != 1 || got[0].Values.Get("StackName") != uploadStack {
		t.Errorf("updated: %v", got)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Run("failed", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.RegistrationReason = "VALIDATION_STAGE: schema.json is invalid"
		r := open(t, a)
		token, err := r.Register(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Wait(t.Context(), token, 0, nil)
		var failed *FailedError
		if !errors.As(err, &failed) || failed.Registration.Description != a.RegistrationReason {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("too slow", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Polls = 1 << 30
		r := open(t, a)
		token, err := r.Register(t.Context(), Request{Kind: schema.Module, TypeName: "Acme::Foo::Bar::MODULE", Archive: []byte("x"), Bucket: bucket(a)})
		if err != nil {
			t.Fatal(err)
		}
		last, err := r.Wait(t.Context(), token, 30*time.Millisecond, nil)
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || last.Token != token {
			t.Errorf("%+v, %v", last, err)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Polls = 1 << 30
		r := open(t, a)
		token, err := r.Register(t.Context(), Request{Kind: schema.Module, TypeName: "Acme::Foo::Bar::MODULE", Archive: []byte("x"), Bucket: bucket(a)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		last, err := r.Wait(ctx, token, 0, func(string) { once.Do(cancel) })
		if !errors.Is(err, context.Canceled) || last.Status != "IN_PROGRESS" {
			t.Errorf("%+v, %v", last, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Fail(fixtures.AWSFailure{Operation: "DescribeTypeRegistration", Status: 403, Code: "ExpiredToken", Message: "The security token included in the request is expired"})
		_, err := open(t, a).Wait(t.Context(), "token", 0, nil)
		if e := Explain(err); e.Code != "ExpiredToken" || !strings.Contains(e.Hint, "aws sso login") ||
			e.Text != "DescribeTypeRegistration: ExpiredToken: The security token included in the request is expired (request request-1)" {
			t.Errorf("%+v", e)
		}
	})
}

func bucket(a *fixtures.AWS) string {
	a.Bucket("mine")
	return "mine"
}

func TestUploadThatFails(t *testing.T) {
	a := fixtures.NewAWS(t)
	q := request()
	q.Bucket, q.RoleTemplate = "nobodys", nil
	_, err := open(t, a).Register(t.Context(), q)
	var failed *BucketError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "upload to the bucket nobodys: PutObject: NoSuchBucket: The specified bucket does not exist") {
		t.Errorf("the error is %v", err)
	}
	if e := Explain(err); !strings.Contains(e.Hint, "create the bucket") {
		t.Errorf("%+v", e)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	a := fixtures.NewAWS(t)
	var missing *MissingError
	if _, err := openWith(t, a, "AWS_REGION="); !errors.As(err, &missing) || missing.What != "region" {
		t.Errorf("without a region: %v", err)
	}
	if _, err := openWith(t, a, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="); !errors.As(err, &missing) || missing.What != "credentials" {
		t.Errorf("without credentials: %v", err)
	}
	var unreachable *UnreachableError
	if _, err := openWith(t, a, "AWS_ENDPOINT_URL=http://127.0.0.1:1"); !errors.As(err, &unreachable) {
		t.Errorf("without a server: %v", err)
	}
	if _, err := openWith(t, a, "AWS_ENDPOINT_URL=localhost:4566"); err == nil || !strings.Contains(err.Error(), "not a URL such as") {
		t.Errorf("without a scheme: %v", err)
	}
	var refusal *invoke.NotLocalError
	for _, elsewhere := range []string{"AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_CLOUDFORMATION=https://cloudformation.eu-west-1.amazonaws.com"} {
		if _, err := openWith(t, a, "FORMWORK_ENDPOINT=http://127.0.0.1:4566", elsewhere); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", elsewhere, err)
		}
	}
}

// TestServerUnlikeAWS: whatever else answers at the endpoint is named, and not the fault of a parser.
func TestServerUnlikeAWS(t *testing.T) {
	a := fixtures.NewAWS(t)
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"a page":             {http.StatusOK, "<html><head><meta></head></html>"},
		"an error in a page": {http.StatusNotImplemented, "<html><head><meta></head></html>"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		defer server.Close()
		r := open(t, a, "AWS_ENDPOINT_URL="+server.URL, "AWS_MAX_ATTEMPTS=1")
		_, err := r.Stack(t.Context(), "site")
		found := Explain(err)
		if want := "DescribeStacks: what answers at " + server.URL + " is neither AWS nor cfn serve"; found.Text != want || !strings.Contains(found.Hint, "cfn serve --address 127.0.0.1:0") {
			t.Errorf("%s: %+v of %v", name, found, err)
		}
		for _, err := range r.Resources(t.Context(), "Acme::Site::Page", "") {
			if found := Explain(err); !strings.HasSuffix(found.Text, " is neither AWS nor cfn serve") {
				t.Errorf("%s: %+v of %v", name, found, err)
			}
		}
	}
}

// A service that the guard of the first one does not see is refused when it is called.
func TestNothingElsewhereIsCalledWhileLocal(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a, "FORMWORK_ENDPOINT="+a.URL, "AWS_ENDPOINT_URL_S3=https://s3.eu-west-1.amazonaws.com")
	q := request()
	q.RoleTemplate, q.Bucket = nil, "mine"
	_, err := r.Register(t.Context(), q)
	var refusal *invoke.NotLocalError
	if !errors.As(err, &refusal) || !strings.Contains(refusal.URL, "amazonaws.com") {
		t.Errorf("the error is %v", err)
	}
}

// TestRegionsShareAnAccount also runs them at the same time.
func TestRegionsShareAnAccount(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	var group sync.WaitGroup
	for _, region := range []string{"us-east-1", "eu-central-1", "ap-south-1"} {
		group.Go(func() {
			if _, err := r.In(region).Register(t.Context(), request()); err != nil {
				t.Errorf("%s: %v", region, err)
			}
		})
	}
	group.Wait()
	var regions []string
	for _, c := range a.Calls("RegisterType") {
		regions = append(regions, c.Region)
	}
	slices.Sort(regions)
	if !slices.Equal(regions, []string{"ap-south-1", "eu-central-1", "us-east-1"}) {
		t.Errorf("registered in %v", regions)
	}
}
