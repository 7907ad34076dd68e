package customresource

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/tunnel"
)

// Trust has response URLs served over TLS, with certificates of an authority of its own whose
// key is in memory only, and has the processes of functions trust it: many libraries send
// their responses by https only, and some of them always to port 443.
type Trust struct {
	authority *tunnel.Authority
	*Clients
}

// Clients are processes that trust an authority and use its server. Its files are written to a folder.
type Clients struct {
	dir   string
	store func() error // writes the files once
}

// trustLife is how long the certificates are valid: longer than any process runs.
const trustLife = 2 * 365 * 24 * time.Hour

// The files of a Trust.
const (
	fileCertificate = "authority.pem" // the certificate of the authority
	fileBundle      = "bundle.pem"    // the same with those of the system
	fileJava        = "bundle.p12"    // the bundle for Java
	fileNode        = "hosts.cjs"     // the module for Node
)

// javaPassword is that of fileJava, which has nothing secret: Java insists on one.
const javaPassword = "changeit"

//go:embed hosts.cjs
var nodeHosts []byte

// NewTrust makes an authority. Its files are written to a folder, which only the user reads,
// when the first process needs them. The environment is that which processes are started from:
// what it trusts is trusted.
func NewTrust(dir string, environ []string, now time.Time) (*Trust, error) {
	authority, err := tunnel.NewAuthority("cfn, for response URLs on this machine", now, trustLife)
	if err != nil {
		return nil, err
	}
	clients, err := NewClients(dir, authority.PEM(), environ)
	return &Trust{authority, clients}, err
}

// NewClients is for the clients of a server whose certificate, in PEM, is known. The files are written to a folder, as
// those of [NewTrust].
func NewClients(dir string, authority []byte, environ []string) (*Clients, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Clients{dir, sync.OnceValue(func() error {
		if err := writeTrusted(dir, authority, environ); err != nil {
			return fmt.Errorf("store the certificate of the server: %w", err)
		}
		return nil
	})}, nil
}

// Authority signs the certificates.
func (t *Trust) Authority() *tunnel.Authority { return t.authority }

// writeTrusted writes the files of an authority.
func writeTrusted(dir string, authority []byte, environ []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	bundle := append(bytes.Clone(authority), systemRoots(environ)...)
	java, err := javaStore(bundle)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		fileCertificate: authority, fileBundle: bundle, fileJava: java, fileNode: nodeHosts,
	} {
		if err := files.Write(dir, name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// javaStore writes certificates as Java reads them.
func javaStore(bundle []byte) ([]byte, error) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil { // Go knows fewer kinds than other programs
			certificates = append(certificates, certificate)
		}
	}
	return pkcs12.Modern.EncodeTrustStore(certificates, javaPassword)
}

// rootFiles are where systems keep the certificates that they trust.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// maxRoots bounds the file of the certificates of the system.
const maxRoots = 4 << 20

// systemRoots are the certificates that processes trust without others.
func systemRoots(environ []string) []byte {
	candidates := rootFiles
	if path := envvar.Get(environ, "SSL_CERT_FILE"); path != "" {
		candidates = append([]string{path}, candidates...)
	}
	for _, path := range candidates {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxRoots {
			continue
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
			return append([]byte("\n"), data...)
		}
	}
	return nil
}

// Files are those that the variables of Environ and ProxyEnviron name, once they are written.
func (c *Clients) Files() (paths []string) {
	for _, name := range []string{fileCertificate, fileBundle, fileJava, fileNode} {
		paths = append(paths, filepath.Join(c.dir, name))
	}
	return paths
}

// Environ are the variables with which the processes of functions reach a secure address,
// "https://127.0.0.1:4566". The environment is what they get besides, in which later entries
// count: the options of Node in it are kept. The error is that of storing the certificate.
func (c *Clients) Environ(address string, environ []string) ([]string, error) {
	if err := c.store(); err != nil {
		return nil, err
	}
	certificate, bundle := filepath.Join(c.dir, fileCertificate), filepath.Join(c.dir, fileBundle)
	out := []string{"NODE_EXTRA_CA_CERTS=" + certificate}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		out = append(out, name+"="+bundle)
	}
	at, err := url.Parse(address)
	if err != nil || at.Port() == "" {
		return out, nil
	}
	options := "--require " + strconv.Quote(filepath.Join(c.dir, fileNode))
	for _, entry := range environ {
		if own, ok := strings.CutPrefix(entry, "NODE_OPTIONS="); ok {
			options += " " + own
		}
	}
	return append(out, "NODE_OPTIONS="+options, "FORMWORK_RESPONSE_ADDRESS="+at.Host), nil
}

// ProxyEnviron are the variables with which a process uses a secure address as the proxy for HTTPS,
// beside those of Environ. The environment is what the process gets besides. It reaches the direct hosts, and
// those that the environment names, without the proxy.
func (c *Clients) ProxyEnviron(address string, environ, direct []string) ([]string, error) {
	if err := c.store(); err != nil {
		return nil, err
	}
	at, err := url.Parse(address)
	if err != nil || at.Port() == "" {
		return nil, nil
	}
	out := []string{"AWS_CA_BUNDLE=" + filepath.Join(c.dir, fileBundle), "FORMWORK_AWS_ADDRESS=" + at.Host}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		out = append(out, name+"=http://"+at.Host)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		out = append(out, name+"="+withoutProxy(name, environ, direct))
	}
	var java []string
	for _, property := range [][2]string{
		{"https.proxyHost", at.Hostname()}, {"https.proxyPort", at.Port()},
		{"http.proxyHost", at.Hostname()}, {"http.proxyPort", at.Port()}, // AWS's SDK before 2.21 takes these for HTTPS, too
		{"http.nonProxyHosts", javaHosts(environ, direct)},
		{"javax.net.ssl.trustStore", filepath.Join(c.dir, fileJava)}, {"javax.net.ssl.trustStoreType", "PKCS12"}, {"javax.net.ssl.trustStorePassword", javaPassword},
	} {
		java = append(java, sandbox.JavaProperty(property[0], property[1]))
	}
	return append(out, sandbox.JavaOptions+"="+strings.Join(java, " ")), nil
}

// Listener serves TLS to the clients of a listener that begin with a handshake. All others are
// served as before.
func (t *Trust) Listener(listener net.Listener) net.Listener {
	host, _, err := net.SplitHostPort(listener.Addr().String())
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "" {
				return t.authority.Leaf(hello.ServerName)
			}
			if local, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String()); err == nil {
				return t.authority.Leaf(local)
			}
			return t.authority.Leaf(host)
		},
	}
	return &bothListener{listener, config}
}

type bothListener struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener. It does not wait for the client to send something.
func (l *bothListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &bothConn{Conn: conn, config: l.config}, nil
}

// A bothConn speaks TLS if the first byte of the client is that of a handshake.
type bothConn struct {
	net.Conn // as it was accepted
	config   *tls.Config

	mu     sync.Mutex
	secure *tls.Conn // nil until it is known, and for plain text
	first  []byte    // read ahead of plain text
	known  bool
}

// handshake is the first byte of a TLS connection.
const handshake = 0x16

// Read implements net.Conn.
func (c *bothConn) Read(b []byte) (int, error) {
	if !c.isKnown() {
		var first [1]byte
		n, err := c.Conn.Read(first[:])
		if n == 0 {
			return 0, err
		}
		c.mu.Lock()
		c.known = true
		if first[0] == handshake {
			c.secure = tls.Server(&readAhead{Conn: c.Conn, first: first[:]}, c.config)
		} else {
			c.first = first[:]
		}
		c.mu.Unlock()
	}
	if secure := c.tls(); secure != nil {
		return secure.Read(b)
	}
	if len(c.first) > 0 && len(b) > 0 { // only one goroutine reads
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// Secure reports whether the client of a connection of Listener has begun with a handshake.
func Secure(conn net.Conn) bool {
	both, ok := conn.(*bothConn)
	return ok && both.tls() != nil
}

func (c *bothConn) isKnown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

func (c *bothConn) tls() *tls.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secure
}

// Write implements net.Conn.
func (c *bothConn) Write(b []byte) (int, error) {
	if secure := c.tls(); secure != nil {
		return secure.Write(b)
	}
	return c.Conn.Write(b)
}

// ReadFrom sends what a reader has, a file without copying it where that is possible.
func (c *bothConn) ReadFrom(r io.Reader) (int64, error) {
	if from, ok := c.Conn.(io.ReaderFrom); ok && c.tls() == nil {
		return from.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// Close implements net.Conn.
func (c *bothConn) Close() error {
	if secure := c.tls(); secure != nil {
		return secure.Close()
	}
	return c.Conn.Close()
}

// CloseWrite ends what is sent, as those of *net.TCPConn and *tls.Conn do.
func (c *bothConn) CloseWrite() error {
	if secure := c.tls(); secure != nil {
		return secure.CloseWrite()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A readAhead is a connection of which the first bytes were read.
type readAhead struct {
	net.Conn
	first []byte
}

func (c *readAhead) Read(b []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}
