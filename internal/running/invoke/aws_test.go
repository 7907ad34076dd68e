package invoke

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// isolate points the AWS SDK at nothing of this machine.
func isolate(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
}

// fakeSTS answers the three operations and keeps the requests.
type fakeSTS struct {
	requests []string
	expires  time.Duration
	refuse   bool
}

func (f *fakeSTS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	action := r.Form.Get("Action")
	f.requests = append(f.requests, fmt.Sprintf("%s %s %s %s %s", action, r.Form.Get("RoleArn"), r.Form.Get("DurationSeconds"), r.Header.Get("x-amz-source-account"), r.Header.Get("x-amz-source-arn")))
	if f.refuse {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
		return
	}
	credentials := fmt.Sprintf(`<Credentials><AccessKeyId>ROLE%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>`,
		len(f.requests), time.Now().Add(f.expires).UTC().Format(time.RFC3339))
	body := credentials
	if action == "GetCallerIdentity" {
		body = `<Account>444455556666</Account>`
	}
	fmt.Fprintf(w, `<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>`, action, body)
}

func TestAWSNothingConfigured(t *testing.T) {
	isolate(t, nil)
	a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv})
	if err != nil || a.Real || a.AccountID != "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if c, err := a.Credentials(t.Context()); err != nil || c != Credentials(Dummy) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAWSFoundWithoutAskingSTS(t *testing.T) {
	for name, set := range map[string]func(){
		"environment": func() {
			t.Setenv("AWS_ACCESS_KEY_ID", "FOUND")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
		},
		"default profile": func() {},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t, map[string]string{"credentials": "[default]\naws_access_key_id = FOUND\naws_secret_access_key = s\n"})
			set()
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("STS was asked") }))
			defer server.Close()
			t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
			a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv})
			if err != nil || !a.Real {
				t.Fatalf("%+v, %v", a, err)
			}
			if c, err := a.Credentials(t.Context()); err != nil || c.AccessKeyID != "FOUND" || c.SessionToken != "" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

func TestAWSExplicitButAbsent(t *testing.T) {
	isolate(t, map[string]string{"config": ""})
	if _, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, Profile: "nobody"}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("error %v", err)
	}
	if _, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, RoleARN: "arn:aws:iam::111122223333:role/R"}); err == nil {
		t.Error("a role without credentials was no error")
	}
	if _, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, SourceARN: "arn"}); err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("error %v", err)
	}
}

func TestAWSRole(t *testing.T) {
	isolate(t, map[string]string{"credentials": "[p]\naws_access_key_id = FOUND\naws_secret_access_key = s\n"})
	fake := &fakeSTS{expires: 15 * time.Minute}
	server := httptest.NewServer(fake)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, Profile: "p", RoleARN: "arn:aws:iam::111122223333:role/R", SourceAccount: "1", SourceARN: "arn:x"})
	if err != nil || a.AccountID != "111122223333" {
		t.Fatalf("%+v, %v", a, err)
	}
	for range 3 {
		if c, err := a.Credentials(t.Context()); err != nil || c != (Credentials{"ROLE1", "s", "t"}) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if want := []string{"AssumeRole arn:aws:iam::111122223333:role/R 900 1 arn:x"}; fmt.Sprint(fake.requests) != fmt.Sprint(want) {
		t.Errorf("requests %q", fake.requests)
	}
	fake.expires = time.Minute // too short for another call
	log := a.Role(AWSConfig{RoleARN: "arn:aws:iam::111122223333:role/Log"})
	log.Credentials(t.Context())
	if c, err := log.Credentials(t.Context()); err != nil || c.AccessKeyID != "ROLE3" {
		t.Errorf("%+v, %v: expiring credentials were not renewed", c, err)
	}
	fake.refuse = true
	if _, err := log.Credentials(t.Context()); err == nil || !strings.Contains(err.Error(), "assume the role arn:aws:iam::111122223333:role/Log") {
		t.Errorf("error %v", err)
	}
}

// TestAWSSession: only long-term keys that are not dummies are exchanged.
func TestAWSSession(t *testing.T) {
	isolate(t, map[string]string{"credentials": "[keys]\naws_access_key_id = FOUND\naws_secret_access_key = s\n" +
		"[session]\naws_access_key_id = FOUND\naws_secret_access_key = s\naws_session_token = own\n" +
		"[dummies]\naws_access_key_id = FOUND\naws_secret_access_key = test\n"})
	fake := &fakeSTS{expires: 15 * time.Minute}
	server := httptest.NewServer(fake)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCOUNT_ID", "777788889999")
	for _, test := range []struct {
		profile string
		session bool
		want    Credentials
	}{
		{"session", true, Credentials{"FOUND", "s", "own"}},
		{"dummies", true, Credentials{"FOUND", "test", lambda.DummyToken}},
		{"keys", false, Credentials{"FOUND", "s", ""}},
		{"keys", true, Credentials{"ROLE1", "s", "t"}},
	} {
		a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, Profile: test.profile, Session: test.session})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := a.Credentials(t.Context()); err != nil || c != test.want {
			t.Errorf("%s, session %t: %+v, %v", test.profile, test.session, c, err)
		}
	}
	if want := []string{"GetSessionToken  900  "}; fmt.Sprint(fake.requests) != fmt.Sprint(want) {
		t.Errorf("requests %q", fake.requests)
	}
}

func TestAWSSourceAndProfile(t *testing.T) {
	isolate(t, map[string]string{"credentials": "[p]\naws_access_key_id = FOUND\naws_secret_access_key = s\n"})
	fake := &fakeSTS{expires: 15 * time.Minute}
	server := httptest.NewServer(fake)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, Profile: "p", SourceAccount: "1", SourceARN: "arn:x"})
	if err != nil || a.AccountID != "444455556666" {
		t.Fatalf("%+v, %v", a, err)
	}
	if c, err := a.Credentials(t.Context()); err != nil || c.AccessKeyID != "ROLE2" {
		t.Errorf("%+v, %v", c, err)
	}
	if want := []string{"GetCallerIdentity   1 arn:x", "GetSessionToken  900 1 arn:x"}; fmt.Sprint(fake.requests) != fmt.Sprint(want) {
		t.Errorf("requests %q", fake.requests)
	}
	t.Setenv("AWS_ACCOUNT_ID", "777788889999")
	if a, err := LoadAWS(t.Context(), AWSConfig{Getenv: os.Getenv, Profile: "p"}); err != nil || a.AccountID != "777788889999" || len(fake.requests) != 2 {
		t.Errorf("%+v, %v, requests %q", a, err, fake.requests)
	}
}
