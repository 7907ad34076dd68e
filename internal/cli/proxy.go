package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/customresource"
	"github.com/formwork-dev/formwork/internal/files"
	"github.com/formwork-dev/formwork/internal/server"
)

// proxiesDir is the folder in that of the data for the certificates of servers that are used as
// proxies.
const proxiesDir = "proxies"

// maxAuthority bounds the certificate of a server, in bytes.
const maxAuthority = 64 << 10

// proxyVariables make programs use a server as their proxy for HTTPS, and trust its certificate,
// which is stored in a file.
func (c *app) proxyVariables(ctx context.Context, endpoint string) ([]variable, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	authority, err := askAuthority(ctx, endpoint)
	if err != nil {
		return nil, withHint(fmt.Errorf("get the certificate of the server at %s: %w", endpoint, err), "start the local CloudFormation with cfn serve first: its certificate is a new one at each start")
	}
	data, err := c.dataFolder("")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(data, proxiesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := strings.ReplaceAll(u.Host, ":", "-")
	for file, content := range map[string][]byte{name + ".pem": customresource.Bundle(authority, c.Environ), name + "-only.pem": authority} {
		if err := files.Write(dir, file, content, 0o600); err != nil {
			return nil, fmt.Errorf("store the certificate of the server: %w", err)
		}
	}
	bundle, only := filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-only.pem")
	out := []variable{{"HTTPS_PROXY", "http://" + u.Host}, {"https_proxy", "http://" + u.Host}}
	for _, variableName := range []string{"NO_PROXY", "no_proxy"} {
		out = append(out, variable{variableName, customresource.WithoutProxy(variableName, c.Environ, nil)})
	}
	for _, variableName := range []string{"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"} {
		out = append(out, variable{variableName, bundle})
	}
	return append(out, variable{"NODE_EXTRA_CA_CERTS", only}), nil
}

// proxyNames are the variables that proxyVariables sets.
var proxyNames = []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}

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
