package awscreds_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/sdk/awscreds"
	"github.com/formwork-dev/formwork/sdk/handler"
)

// identity answers GetCallerIdentity and keeps the headers of each request.
func identity(t *testing.T) (address string, seen *[]http.Header) {
	seen = &[]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Header)
		_, _ = io.WriteString(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// machine sets the environment of a machine with credentials of its own.
func machine(t *testing.T) {
	t.Helper()
	profiles := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(profiles, []byte("[profile work]\nregion = sa-east-1\naws_access_key_id = MACHINE\naws_secret_access_key = MACHINE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "MACHINE", "AWS_SECRET_ACCESS_KEY": "MACHINE", "AWS_SESSION_TOKEN": "MACHINE",
		"AWS_PROFILE": "work", "AWS_CONFIG_FILE": profiles, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_REGION": "ap-south-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_STS": "",
	} {
		t.Setenv(name, value)
	}
}

func TestConfigUsesTheCredentialsOfTheInvocation(t *testing.T) {
	for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"} {
		t.Run(variable, func(t *testing.T) {
			machine(t)
			address, seen := identity(t)
			t.Setenv(variable, address)
			for _, test := range []struct{ key, region, scope string }{
				{"AKIDFIRST", "eu-west-1", "/eu-west-1/sts/"}, {"AKIDSECOND", "eu-central-1", "/eu-central-1/sts/"}, {"AKIDTHIRD", "", "/ap-south-1/sts/"},
			} {
				cfg, err := awscreds.Config(t.Context(), handler.Credentials{AccessKeyID: test.key, SecretAccessKey: "secret", SessionToken: "session of " + test.key}, test.region)
				if err != nil {
					t.Fatal(err)
				}
				out, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
				if err != nil || *out.Account != "123456789012" {
					t.Fatalf("%+v: %v", out, err)
				}
				last := (*seen)[len(*seen)-1]
				if signed := last.Get("Authorization"); !strings.Contains(signed, "Credential="+test.key+"/") || !strings.Contains(signed, test.scope) {
					t.Errorf("signed with %s", signed)
				}
				if token := last.Get("X-Amz-Security-Token"); token != "session of "+test.key {
					t.Errorf("session token %q", token)
				}
			}
		})
	}
}

func TestNoCredentials(t *testing.T) {
	machine(t)
	for _, creds := range []handler.Credentials{{}, {AccessKeyID: "only"}, {SecretAccessKey: "only"}} {
		_, err := awscreds.Config(t.Context(), creds, "us-east-1")
		_, retrieved := awscreds.Provider(creds).Retrieve(t.Context())
		for _, err := range []error{err, retrieved} {
			var own *handler.Error
			if !errors.As(err, &own) || own.Code != handler.CodeInvalidCredentials {
				t.Errorf("got %v", err)
			}
		}
	}
}

func TestConfigRefusesABrokenEnvironment(t *testing.T) {
	machine(t)
	t.Setenv("AWS_PROFILE", "there-is-no-such-profile")
	_, err := awscreds.Config(t.Context(), handler.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, "us-east-1")
	if err == nil || !strings.HasPrefix(err.Error(), "configure AWS clients: ") {
		t.Errorf("got %v", err)
	}
}
