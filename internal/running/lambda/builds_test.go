package lambda

import (
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
)

// TestBuildEnviron: builds get back what the proxy has replaced, and nothing else.
func TestBuildEnviron(t *testing.T) {
	before := []string{"PATH=/bin", "HTTPS_PROXY=http://user:word@proxy.corp.invalid:3128", "no_proxy="}
	added := []string{"HTTPS_PROXY=http://127.0.0.1:4566", "no_proxy=localhost", `NODE_OPTIONS=--require "/a b/hosts.cjs"`, "AWS_CA_BUNDLE=/bundle.pem", "FORMWORK_AWS_ADDRESS=127.0.0.1:4566"}
	replaced, err := Replacing(before, added)
	if err != nil {
		t.Fatal(err)
	}
	proxied := slices.Concat([]string{"PATH=/bin", "OTHER=1"}, added, []string{replaced})
	for name, test := range map[string]struct{ environ, want []string }{
		"no proxy":      {before, before},
		"proxy":         {proxied, []string{"PATH=/bin", "OTHER=1", "HTTPS_PROXY=http://user:word@proxy.corp.invalid:3128", "no_proxy="}},
		"changed later": {append(slices.Clone(proxied), "HTTPS_PROXY=http://other.invalid", "NODE_OPTIONS=--own"), []string{"PATH=/bin", "OTHER=1", "HTTPS_PROXY=http://other.invalid", "NODE_OPTIONS=--own", "no_proxy="}},
		"removed later": {[]string{"PATH=/bin", replaced}, []string{"PATH=/bin"}},
		"empty":         {[]string{"A=b", BeforeProxy + "="}, []string{"A=b", BeforeProxy + "="}},
	} {
		got, err := BuildEnviron(test.environ)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
		if again, err := BuildEnviron(got); err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: the second time it is %q, %v", name, again, err)
		}
	}
	if !slices.Contains(proxied, replaced) {
		t.Error("the environment of the caller was changed")
	}
}

// TestBuildEnvironRefuses: a value that cfn has not written is an error, without the value.
func TestBuildEnvironRefuses(t *testing.T) {
	for _, value := range []string{
		"s3cret", `["s3cret"]`, `{"HTTPS_PROXY": "s3cret"}`, `{"HTTPS_PROXY": {"set": "s3cret"}} more`,
		`{"LD_PRELOAD": {"set": "", "was": "s3cret"}}`, `{"HTTPS_PROXY": {"set": "a", "was": "s3cret\u0000"}}`,
	} {
		got, err := BuildEnviron([]string{"HTTPS_PROXY=a", BeforeProxy + "=" + value})
		if err == nil || got != nil || !strings.Contains(err.Error(), BeforeProxy) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
	if _, err := Replacing(nil, []string{"PATH=/x"}); err == nil || !strings.Contains(err.Error(), `"PATH"`) {
		t.Errorf("another variable: %v", err)
	}
}

// Java has the proxy of cfn in its options; version 1 of AWS's SDK fails at its URL. Another proxy is the user's.
func TestProxyOfJava(t *testing.T) {
	for command, want := range map[string]string{"/usr/bin/java": "", "/usr/bin/node": "http://127.0.0.1:4566"} {
		c := &Config{Command: []string{command}, Env: []string{"FORMWORK_AWS_ADDRESS=127.0.0.1:4566", "HTTPS_PROXY=http://127.0.0.1:4566", "https_proxy=http://other:1"}}
		env := c.environment("127.0.0.1:1", "stream", "", nil)
		if got := envvar.Get(env, "HTTPS_PROXY"); got != want {
			t.Errorf("%s: HTTPS_PROXY is %q, want %q", command, got, want)
		}
		if got := envvar.Get(env, "https_proxy"); got != "http://other:1" {
			t.Errorf("%s: the user's https_proxy is %q", command, got)
		}
	}
}
