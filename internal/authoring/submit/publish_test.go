package submit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func publication() Publication {
	q := request()
	q.RoleARN = "arn:aws:iam::123456789012:role/own"
	return Publication{Request: q}
}

// summary is a plan in one line: a capital letter for each step that is left.
func summary(p *Plan) string {
	out := ""
	for _, s := range p.Steps {
		letter := string(s.Name[0])
		if s.Name == StepPublish {
			letter = "x"
		}
		if !s.Done {
			letter = strings.ToUpper(letter)
		}
		out += letter
	}
	return out
}

func plan(t *testing.T, r *Remote, q Publication) *Plan {
	t.Helper()
	p, err := r.PlanPublish(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const publisher = "0123456789abcdef0123456789abcdef01234567"

func TestPublishFromTheBeginning(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Polls = 2
	r := open(t, a)
	q := publication()
	p := plan(t, r, q)
	if p.Blocked == "" || !strings.Contains(p.Hint, "--accept-terms") {
		t.Fatalf("without a publisher: %+v", p)
	}
	if _, err := p.Run(t.Context()); err == nil {
		t.Error("a blocked plan was run")
	}
	q.AcceptTerms = true
	p = plan(t, r, q)
	if got := summary(p); p.Blocked != "" || got != "PRTDX" || p.Done() {
		t.Fatalf("the plan is %s: %+v", got, p)
	}
	for _, c := range a.Calls() {
		if !strings.HasPrefix(c.Operation, "Describe") {
			t.Errorf("planning called %s", c.Operation)
		}
	}
	out, err := p.Run(t.Context())
	if err != nil || out.PublicVersion != "1.0.0" || !strings.HasSuffix(out.PublicTypeARN, ":type/resource/"+publisher+"/Acme-Foo-Bar") || !p.Done() {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := a.Calls("TestType")[0].Values; got.Get("LogDeliveryBucket") != "managed-upload-eu-west-1" || !strings.HasSuffix(got.Get("Arn"), "/00000001") {
		t.Errorf("TestType: %v", got)
	}

	// The same again: nothing is left, not even on another machine.
	p = plan(t, r, publication())
	if got := summary(p); got != "prtdx" || !p.Done() {
		t.Fatalf("the plan is %s: %+v", got, p)
	}
	if _, err := p.Run(t.Context()); err != nil || len(a.Calls("RegisterType")) != 1 || len(a.Calls("PublishType")) != 1 {
		t.Errorf("done again: %v, %v", a.Operations(), err)
	}

	// Another package is another version, which must be made the default one.
	q = publication()
	q.Archive = []byte("PK other")
	p = plan(t, r, q)
	if got := summary(p); got != "pRTDX" || !strings.Contains(p.step(StepPublish).Detail, "publish it as 1.1.0; the last one is 1.0.0") {
		t.Fatalf("the plan is %s: %+v", got, p)
	}
	if out, err := p.Run(t.Context()); err != nil || out.PublicVersion != "1.1.0" || !strings.HasSuffix(out.VersionARN, "/00000002") {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := a.Calls("SetTypeDefaultVersion"); len(got) != 1 || !strings.HasSuffix(got[0].Values.Get("Arn"), "/00000002") {
		t.Errorf("SetTypeDefaultVersion: %v", got)
	}
}

// What was submitted is not registered again. A note that cannot be written keeps nobody
// from submitting, and that of a published package stays.
func TestPublishAfterSubmit(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Product, a.Publisher = "formwork", publisher
	r := open(t, a)
	q := publication()
	if _, err := r.Register(t.Context(), q.Request); err != nil {
		t.Fatal(err)
	}
	p := plan(t, r, q)
	if got := summary(p); got != "prTdX" {
		t.Fatalf("the plan is %s: %+v", got, p)
	}
	if _, err := p.Run(t.Context()); err != nil || len(a.Calls("RegisterType")) != 1 {
		t.Fatalf("%q, %v", a.Operations(), err)
	}
	if _, err := r.Register(t.Context(), q.Request); err != nil {
		t.Fatal(err)
	}
	if p := plan(t, r, q); !p.Done() {
		t.Errorf("the published package is to be published again: %+v", p)
	}
	a.Fail(fixtures.AWSFailure{Operation: "GetObject", Times: 1, Status: 400, Code: "InvalidRequest", Message: "not today"})
	if _, err := r.Register(t.Context(), q.Request); err != nil {
		t.Error(err)
	}
}

// Whatever fails, the next plan begins where the last one stopped.
func TestPublishIsResumed(t *testing.T) {
	for _, step := range []struct{ operation, after string }{
		{"RegisterType", "pRTDX"}, {"DescribeTypeRegistration", "pRTDX"}, {"TestType", "prTdX"}, {"PublishType", "prtdX"},
	} {
		t.Run(step.operation, func(t *testing.T) {
			a := fixtures.NewAWS(t)
			a.Publisher = publisher
			r := open(t, a)
			a.Fail(fixtures.AWSFailure{Operation: step.operation, Times: 1, Status: 403, Code: "ExpiredToken", Message: "expired"})
			p := plan(t, r, publication())
			_, err := p.Run(t.Context())
			if Explain(err).Code != "ExpiredToken" {
				t.Fatalf("the error is %v", err)
			}
			a.Polls = 1 // a registration that was begun is still under way
			p = plan(t, r, publication())
			a.Polls = 0
			if got := summary(p); got != step.after && step.operation != "DescribeTypeRegistration" {
				t.Errorf("the plan is %s: %+v", got, p)
			}
			out, err := p.Run(t.Context())
			if err != nil || out.PublicVersion != "1.0.0" {
				t.Errorf("%+v, %v", out, err)
			}
			if n := len(a.Calls("PutObject")); step.operation != "RegisterType" && len(a.Calls("RegisterType")) != 1 {
				t.Errorf("registered again: %d objects, %v", n, a.Operations())
			}
		})
	}
}

func TestPublishWaitsForWhatWasBegun(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Publisher, a.Polls = publisher, 3
	r := open(t, a)
	a.Fail(fixtures.AWSFailure{Operation: "DescribeTypeRegistration", Times: 1, Status: 400, Code: "ValidationError", Message: "no"})
	if _, err := plan(t, r, publication()).Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	p := plan(t, r, publication())
	if got := p.step(StepRegister).Detail; got != "wait for the registration token-1, which is in progress" {
		t.Errorf("the step is %q", got)
	}
	if out, err := p.Run(t.Context()); err != nil || out.PublicVersion != "1.0.0" || len(a.Calls("RegisterType")) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestPublishFailures(t *testing.T) {
	t.Run("tests", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Publisher, a.TestReason = publisher, "contract_create_delete failed"
		r := open(t, a)
		_, err := plan(t, r, publication()).Run(t.Context())
		var failed *TestsFailedError
		if !errors.As(err, &failed) || failed.Description != a.TestReason || failed.Bucket != "managed-upload-eu-west-1" || len(a.Calls("PublishType")) > 0 {
			t.Errorf("the error is %v", err)
		}
		if got := plan(t, r, publication()).step(StepTest).Detail; got != "test it again; last time: contract_create_delete failed" {
			t.Errorf("the step is %q", got)
		}
	})
	t.Run("registration", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Publisher, a.RegistrationReason = publisher, "bad schema"
		r := open(t, a)
		_, err := plan(t, r, publication()).Run(t.Context())
		var failed *FailedError
		if !errors.As(err, &failed) {
			t.Errorf("the error is %v", err)
		}
		if got := plan(t, r, publication()).step(StepRegister).Detail; got != "upload the package and register a new version" {
			t.Errorf("the step is %q", got)
		}
	})
	t.Run("deregistered since", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Publisher = publisher
		r := open(t, a)
		if _, err := plan(t, r, publication()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.DeregisterAll(t.Context(), Reference{Name: "Acme::Foo::Bar", Kind: "RESOURCE"}, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if got := summary(plan(t, r, publication())); got != "pRTDX" {
			t.Errorf("the plan is %s", got)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		a := fixtures.NewAWS(t)
		a.Fail(fixtures.AWSFailure{Operation: "DescribePublisher", Status: 403, Code: "AccessDenied", Message: "no"})
		if _, err := open(t, a).PlanPublish(t.Context(), publication()); Explain(err).Code != "AccessDenied" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestPublicVersionsThatCannotBe(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Publisher = publisher
	r := open(t, a)
	q := publication()
	q.PublicVersion = "2.0.0"
	if p := plan(t, r, q); p.Blocked != "the first public version is always 1.0.0, not 2.0.0" {
		t.Errorf("%+v", p)
	}
	q.PublicVersion = "1.0.0"
	if _, err := plan(t, r, q).Run(t.Context()); err != nil || a.Calls("PublishType")[0].Values.Get("PublicVersionNumber") != "" {
		t.Errorf("the first version: %v", err)
	}
	q.Archive = []byte("PK other")
	if p := plan(t, r, q); p.Blocked != "the public version 1.0.0 is not newer than 1.0.0" || !strings.Contains(p.Hint, "1.1.0") {
		t.Errorf("%+v", p)
	}
	q.PublicVersion = "1.0.1"
	if out, err := plan(t, r, q).Run(t.Context()); err != nil || out.PublicVersion != "1.0.1" {
		t.Errorf("a patch: %+v, %v", out, err)
	}
}

// A version that is registered already needs no package.
func TestPublishAVersion(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Publisher = publisher
	a.Type("eu-west-1", "RESOURCE", "Acme::Foo::Bar", 2)
	r := open(t, a)
	q := Publication{Version: "00000002"}
	q.Kind, q.TypeName = "RESOURCE", "Acme::Foo::Bar"
	p := plan(t, r, q)
	if got := summary(p); got != "prTDX" {
		t.Fatalf("the plan is %s", got)
	}
	if out, err := p.Run(t.Context()); err != nil || out.PublicVersion != "1.0.0" || len(a.Calls("PutObject")) > 0 || len(a.Calls("RegisterType")) > 0 {
		t.Errorf("%+v, %v: %v", out, err, a.Operations())
	}
	q.Version = "00000009"
	if _, err := r.PlanPublish(t.Context(), q); Explain(err).Code != "TypeNotFoundException" {
		t.Errorf("no such version: %v", err)
	}
}

func TestNewer(t *testing.T) {
	ordered := []string{"0.9.9", "1.0.0", "1.0.1", "1.0.10", "1.2.0", "1.10.0", "2.0.0", "10.0.0"}
	for i, a := range ordered {
		for k, b := range ordered {
			if newer(a, b) != (i > k) {
				t.Errorf("newer(%s, %s) = %t", a, b, newer(a, b))
			}
		}
	}
	if !newer("1.0.1-beta", "1.0.1-alpha") || newer("1.0.1-beta", "1.0.1-beta") {
		t.Error("texts of patches")
	}
}

func TestReceiptOfSomebodyElseIsIgnored(t *testing.T) {
	for i, text := range []string{"no JSON", `{"registrationToken": "unknown"}`, `{"typeVersionArn": "arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Foo-Bar/00000077", "publicVersion": "9.9.9"}`} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			a := fixtures.NewAWS(t)
			a.Publisher = publisher
			a.Bucket("mine")
			r := open(t, a)
			q := publication()
			q.Bucket = "mine"
			p := &Plan{publication: q}
			if err := r.put(t.Context(), "mine", p.receiptKey(), []byte(text)); err != nil {
				t.Fatal(err)
			}
			if got := summary(plan(t, r, q)); got != "pRTDX" {
				t.Errorf("the plan is %s", got)
			}
		})
	}
}

func TestStepsAreInOrder(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Publisher = publisher
	r := open(t, a)
	p := plan(t, r, publication())
	if _, err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, c := range a.Calls() {
		if !strings.HasPrefix(c.Operation, "Describe") && c.Operation != "GetObject" && c.Operation != "PutObject" {
			changes = append(changes, c.Operation)
		}
	}
	if want := []string{"CreateStack", "RegisterType", "TestType", "PublishType"}; !slices.Equal(changes, want) {
		t.Errorf("the changes are %q", changes)
	}
}
