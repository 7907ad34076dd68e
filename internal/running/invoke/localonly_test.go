package invoke

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func TestCheckLocal(t *testing.T) {
	set := func(name string) string { return map[string]string{LocalVariable: "http://127.0.0.1:4566"}[name] }
	for endpoint, allowed := range map[string]bool{
		"http://127.0.0.1:4566":                  true,
		"http://127.1.2.3":                       true,
		"http://[::1]:4566":                      true,
		"https://localhost":                      true,
		"http://LOCALHOST.:80":                   true,
		"http://bucket.localhost:4566":           true,
		"https://cloudformation.amazonaws.com":   false,
		"http://127.0.0.1.example.com":           false,
		"http://127.0.0.1@example.com":           false,
		"http://10.0.0.1:4566":                   false,
		"http://0.0.0.0:4566":                    false,
		"http://host.docker.internal":            false,
		"http://localhost.localstack.cloud:4566": false,
		"://":                                    false,
		"":                                       false,
	} {
		err := CheckLocal(set, endpoint)
		var refusal *NotLocalError
		if errors.As(err, &refusal) == allowed {
			t.Errorf("%q: %v", endpoint, err)
		}
		if err := CheckLocal(func(string) string { return "" }, endpoint); err != nil {
			t.Errorf("%q without the variable: %v", endpoint, err)
		}
	}
}

// What the SDK calls on its own way is refused as well, at once and before it is dialled.
func TestLocalClientGuardsTheSDK(t *testing.T) {
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called = true
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", "")
	env := map[string]string{LocalVariable: server.URL, "AWS_ACCESS_KEY_ID": "test"}
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("AWS_ENDPOINT_URL", "")
	loaded, err := LoadAWS(t.Context(), AWSConfig{Region: "us-east-1", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sts.NewFromConfig(loaded.SDK).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	var refusal *NotLocalError
	if !errors.As(err, &refusal) || refusal.URL != "https://sts.us-east-1.amazonaws.com" {
		t.Errorf("AWS itself: %v", err)
	}
	_, err = sts.NewFromConfig(loaded.SDK, func(o *sts.Options) { o.BaseEndpoint = &server.URL }).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if !called || err == nil {
		t.Errorf("this machine was called: %t, %v", called, err)
	}
}
