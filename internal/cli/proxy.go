package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/server"
)

// proxiesDir is the folder in that of the data for the certificates of servers that are used as
// proxies.
const proxiesDir = "proxies"

// maxAuthority bounds the certificate of a server, in bytes.
const maxAuthority = 64 << 10

// proxyVariables make programs use a server as their proxy for HTTPS, and trust its certificate,
// which is stored in a folder. With unset, they have their values of before.
func (c *app) proxyVariables(ctx context.Context, endpoint string, unset bool) ([]variable, error) {
	if unset {
		return c.withoutProxy(), nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	authority, err := askAuthority(ctx, endpoint)
	if err != nil {
		return nil, withHint(fmt.Errorf("get the certificate of the server at %s: %w", endpoint, err), "start the local CloudFormation with cfn serve first: its certificate is a new one at each start")
	}
	data, err := c.dataFolder("")
	if err != nil {
		return nil, err
	}
	entries, err := c.proxied(func(environ []string) ([]string, error) {
		clients, err := customresource.NewClients(filepath.Join(data, proxiesDir, strings.ReplaceAll(u.Host, ":", "-")), authority, environ)
		if err != nil {
			return nil, err
		}
		own, err := clients.Environ("https://"+u.Host, environ)
		if err != nil {
			return nil, err
		}
		proxied, err := clients.ProxyEnviron("https://"+u.Host, environ, nil)
		return append(own, proxied...), err
	})
	variables := make([]variable, len(entries))
	for i, entry := range entries {
		variables[i].name, variables[i].value, _ = strings.Cut(entry, "=")
	}
	return variables, err
}

// proxied are the variables that lead programs to a proxy, and the one with what they replace. The environment that
// variables gets is that of this command without the proxy of another server.
func (c *app) proxied(variables func(environ []string) ([]string, error)) ([]string, error) {
	environ, err := c.tools().ToolEnviron()
	if err != nil {
		return nil, err
	}
	entries, err := variables(environ)
	if err != nil {
		return nil, err
	}
	before := Env{Environ: environ}
	for i, entry := range entries {
		if own := before.Getenv(sandbox.JavaOptions); own != "" && strings.HasPrefix(entry, sandbox.JavaOptions+"=") {
			entries[i] = entry + " " + own // the last one counts
		}
	}
	replaced, err := lambda.Replacing(environ, entries)
	return append(entries, replaced), err
}

// withoutProxy are the variables that proxyVariables has set, with their values of before. If those are not known, the
// options of Node.js and Java stay: they may be the user's own.
func (c *app) withoutProxy() (variables []variable) {
	environ, err := lambda.BuildEnviron(c.Environ)
	before := Env{Environ: environ}
	known := err == nil && c.Getenv(lambda.BeforeProxy) != ""
	for _, name := range lambda.ProxyVariables {
		switch {
		case known && before.Getenv(name) != c.Getenv(name):
			variables = append(variables, variable{name, before.Getenv(name)})
		case !known && name != sandbox.JavaOptions && name != "NODE_OPTIONS":
			variables = append(variables, variable{name, ""})
		}
	}
	return append(variables, variable{lambda.BeforeProxy, ""})
}

// askAuthority downloads the certificate of a server.
func askAuthority(ctx context.Context, endpoint string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+server.AuthorityPath, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAuthority))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
		return nil, fmt.Errorf("it has none (%s)", response.Status)
	}
	return data, nil
}
