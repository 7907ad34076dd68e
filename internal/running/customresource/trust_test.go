package customresource

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTrust serves plain text and TLS at one address.
func TestTrust(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte("-----BEGIN CERTIFICATE-----\nof the system\n-----END CERTIFICATE-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trust, err := NewTrust(dir, []string{"SSL_CERT_FILE=" + roots}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box := &Mailbox{}
	server := &http.Server{Handler: Handler(box, nil), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(trust.Listener(listener)) }() // until Close
	t.Cleanup(func() { _ = server.Close() })

	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder exists before a process needs it: %v", err)
	}
	variables, err := trust.Environ("https://"+listener.Addr().String(), []string{"NODE_OPTIONS=--no-warnings", "A=b"})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, entry := range variables {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	pem, err := os.ReadFile(env["NODE_EXTRA_CA_CERTS"])
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(env["SSL_CERT_FILE"])
	if err != nil || !strings.HasPrefix(string(bundle), string(pem)) || !strings.Contains(string(bundle), "of the system") {
		t.Errorf("the bundle has %d bytes, %v", len(bundle), err)
	}
	if want := `--require "` + filepath.Join(dir, fileNode) + `" --no-warnings`; env["NODE_OPTIONS"] != want || env["FORMWORK_RESPONSE_ADDRESS"] != listener.Addr().String() || env["REQUESTS_CA_BUNDLE"] != env["SSL_CERT_FILE"] {
		t.Errorf("the environment is %v", env)
	}
	proxied, err := trust.ProxyEnviron("https://127.0.0.1:4566", nil, nil)
	if java := strings.Join(proxied, "\n"); err != nil || !strings.Contains(java, "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=4566 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=4566 ") {
		t.Errorf("the variables of the proxy are %s, %v", java, err) // both: old SDKs look at the second pair for HTTPS, too
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("the certificate cannot be read")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	for _, scheme := range []string{"https", "http", "https"} {
		r := request(Create)
		slot := box.Open(scheme+"://"+listener.Addr().String(), r, time.Hour)
		call, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.ResponseURL, strings.NewReader(string(body(r, nil))))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(call)
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		_ = answer.Body.Close()
		if response, _ := slot.Response(); answer.StatusCode != http.StatusOK || response == nil {
			t.Errorf("%s: %s, %+v", scheme, answer.Status, response)
		}
	}
	// A client that sends nothing, and one that sends half a handshake, hold up nobody.
	for _, sent := range []string{"", "\x16\x03"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
	}
	other := &http.Transport{}
	defer other.CloseIdleConnections()
	call, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+URLPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := other.RoundTrip(call); err == nil {
		_ = answer.Body.Close()
		t.Error("a client without the certificate trusts the server")
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}
