package handlers

import (
	"slices"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func TestNothingNamesAnotherPlaceForAWS(t *testing.T) {
	environ := []string{"PATH=/bin", "AWS_ENDPOINT_URL=https://a", "AWS_ENDPOINT_URL_S3=https://b", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true", "HTTPS_PROXY=http://c"}
	got := withoutEndpoints(environ)
	if want := []string{"PATH=/bin", "HTTPS_PROXY=http://c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(environ) != 5 || environ[1] != "AWS_ENDPOINT_URL=https://a" {
		t.Error("the environment that was handed in is changed")
	}
}

// Handlers get the variables that they are given, and logs hide those that are secret.
func TestGivenVariables(t *testing.T) {
	given := []string{"STAGE=production", "DB_PASSWORD=a-password", "GITHUB_TOKEN=a-token"}
	p := &Pool{config: Config{Env: given, Environ: []string{"PATH=/bin"}}.complete()}
	p.logs = newOutput(nil, p.config.Logger, p.config.Now)
	defer p.logs.close()
	config := p.function(bundle.Spec{TypeName: "A::B::C"}, &bundle.Code{}, lambda.Program{}, nil)
	for _, entry := range given {
		if !slices.Contains(config.Env, entry) {
			t.Errorf("%s is not in %q", entry, config.Env)
		}
	}
	if want := []string{"a-password", "a-token"}; !slices.Equal(secretValues(given), want) {
		t.Errorf("secret are %q, want %q", secretValues(given), want)
	}
}

// What the user sets for all handlers counts, also against the variables of the proxy; those that join both stay.
func TestGivenVariablesCount(t *testing.T) {
	p := &Pool{config: Config{Env: []string{"HTTPS_PROXY=http://user:secret@proxy", "NO_PROXY=own", "NODE_OPTIONS=--inspect"}}}
	got := p.notGiven([]string{"HTTPS_PROXY=http://127.0.0.1:4566", "https_proxy=http://127.0.0.1:4566", "NO_PROXY=own,127.0.0.1", "NODE_OPTIONS=--require x --inspect"})
	want := []string{"https_proxy=http://127.0.0.1:4566", "NO_PROXY=own,127.0.0.1", "NODE_OPTIONS=--require x --inspect"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
