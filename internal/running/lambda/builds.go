package lambda

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// BeforeProxy is the variable with what the variables of "cfn serve --proxy" have replaced: a JSON object by name. Builds get
// that back, since the proxy refuses the hosts that libraries come from.
const BeforeProxy = "FORMWORK_BEFORE_PROXY"

// BeforeProxyHint says what to do if its value is invalid.
const BeforeProxyHint = "remove it with cfn env --proxy --unset, and set it again"

// ProxyVariables are the variables that lead programs to a proxy, and the only ones that BeforeProxy may name.
var ProxyVariables = []string{
	"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"NODE_EXTRA_CA_CERTS", nodeOptions, sandbox.JavaOptions, proxyAddress, responseAddress,
}

// A replacedVariable is what a variable was set to, and what it was before; nil if it was not set.
type replacedVariable struct {
	Set string  `json:"set"`
	Was *string `json:"was,omitempty"`
}

// Replacing returns the variable BeforeProxy, as NAME=value, for variables of a proxy that are added to an environment.
func Replacing(environ, added []string) (string, error) {
	replaced := map[string]replacedVariable{}
	for _, entry := range added {
		name, value, ok := cutEnv(entry)
		if !ok || !slices.Contains(ProxyVariables, name) {
			return "", fmt.Errorf("the proxy has no variable %q", name)
		}
		row := replacedVariable{Set: value}
		if was, set := envvar.Lookup(environ, name); set {
			row.Was = &was
		}
		replaced[name] = row
	}
	text, err := json.Marshal(replaced)
	return BeforeProxy + "=" + string(text), err
}

// BuildEnviron is an environment without the variables of "cfn serve --proxy", for programs that build and install. A
// variable that was changed afterwards keeps its value. The error names BeforeProxy; it does not contain its value, in
// which may be passwords.
func BuildEnviron(environ []string) ([]string, error) {
	text := envvar.Get(environ, BeforeProxy)
	if text == "" {
		return environ, nil
	}
	replaced := map[string]replacedVariable{}
	if json.Unmarshal([]byte(text), &replaced) != nil {
		return nil, fmt.Errorf("the variable %s is not a JSON object of variables that were replaced", BeforeProxy)
	}
	for name, row := range replaced {
		switch {
		case !slices.Contains(ProxyVariables, name):
			return nil, fmt.Errorf("the variable %s names %q, which is not a variable of the proxy", BeforeProxy, name)
		case row.Was != nil && strings.ContainsRune(*row.Was, 0):
			return nil, fmt.Errorf("the variable %s has a NUL byte in the value of %s", BeforeProxy, name)
		}
	}
	restored := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, value, ok := cutEnv(entry)
		row, known := replaced[name]
		if ok && (name == BeforeProxy || known && value == row.Set) {
			continue
		}
		restored = append(restored, entry)
	}
	for _, name := range ProxyVariables {
		if row, known := replaced[name]; known && row.Was != nil && envvar.Get(environ, name) == row.Set {
			restored = append(restored, name+"="+*row.Was)
		}
	}
	return restored, nil
}
