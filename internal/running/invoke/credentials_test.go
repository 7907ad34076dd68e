package invoke_test

import (
	"encoding/json"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func TestCredentialsOnTheWire(t *testing.T) {
	for name, test := range map[string]struct {
		credentials invoke.Credentials
		want        string
	}{
		"session":   {invoke.Credentials{AccessKeyID: "A", SecretAccessKey: "B", SessionToken: "C"}, `{"accessKeyId":"A","secretAccessKey":"B","sessionToken":"C"}`},
		"long term": {invoke.Credentials{AccessKeyID: "A", SecretAccessKey: "B"}, `{"accessKeyId":"A","secretAccessKey":"B","sessionToken":null}`},
		"none":      {invoke.Credentials{}, `{"accessKeyId":null,"secretAccessKey":null,"sessionToken":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(&test.credentials)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
			var back invoke.Credentials
			if err := json.Unmarshal(got, &back); err != nil || back != test.credentials {
				t.Errorf("read back as %v, %v", back, err)
			}
		})
	}
}

// Credentials that everybody knows come with a session token, as those of the service do.
func TestDummiesHaveSessionToken(t *testing.T) {
	environ := map[string]string{"AWS_ACCESS_KEY_ID": "000000000000", "AWS_SECRET_ACCESS_KEY": invoke.LocalSecret, "HOME": t.TempDir()}
	for name, value := range environ {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_SESSION_TOKEN", "")
	found, err := invoke.LoadAWS(t.Context(), invoke.AWSConfig{Region: "us-east-1", Getenv: func(name string) string { return environ[name] }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := found.Source.Credentials(t.Context())
	if err != nil || c.SessionToken == "" || c.AccessKeyID != "000000000000" {
		t.Errorf("credentials %+v, %v", c, err)
	}
}
