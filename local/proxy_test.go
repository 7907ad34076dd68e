package local_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/local"
)

// throughProxy is a client that uses a server as its proxy and trusts its certificate, and nothing else.
func throughProxy(t *testing.T, server *local.Server) *http.Client {
	t.Helper()
	proxy, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(server.URL() + "/authority.pem")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	certificate, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatalf("the certificate is %q", certificate)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, address string) (int, string) {
	t.Helper()
	response, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestProxyAnswersForAWS: the SDK with AWS's own addresses, buckets in hosts included.
func TestProxyAnswersForAWS(t *testing.T) {
	server := serving(t, local.ServerConfig{Config: local.Config{Keys: []byte(keyID + " " + secret + " 111111111111\n")}})
	client := throughProxy(t, server)
	config := aws.Config{Region: "us-east-1", HTTPClient: client, Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")}
	who, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Account != "111111111111" {
		t.Fatalf("%+v, %v", who, err)
	}
	if _, err := cloudformation.NewFromConfig(config).ListStacks(t.Context(), nil); err != nil {
		t.Error(err)
	}
	buckets := s3.NewFromConfig(config)
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("some-bucket")}); err != nil {
		t.Fatal(err)
	}
	if _, err := buckets.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("some-bucket"), Key: aws.String("healthz"), Body: strings.NewReader("text")}); err != nil {
		t.Fatal(err)
	}
	object, err := buckets.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("some-bucket"), Key: aws.String("healthz")})
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	if text, err := io.ReadAll(object.Body); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	// Signatures are checked here as everywhere.
	config.Credentials = credentials.NewStaticCredentialsProvider(keyID, "another", "")
	if _, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("a wrong secret: %v", err)
	}
	if status, body := get(t, client, "https://cloudformation.us-east-1.amazonaws.com/_cfn/"); status != http.StatusForbidden || strings.Contains(body, "<html") {
		t.Errorf("the console: %d %s", status, body)
	}
}

// TestProxyRefusals: other hosts are refused by name, unless they are allowed.
func TestProxyRefusals(t *testing.T) {
	var asked []string
	target := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "from "+r.Host) }))
	defer target.Close()
	outer := connectTo(t, target.Listener.Addr().String(), &asked)
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "emulated "+r.Host+r.URL.Path)
	}))
	defer emulator.Close()
	server := serving(t, local.ServerConfig{Config: local.Config{
		AllowHosts: []string{"api.example.com", "*.example.org"}, Endpoints: []string{"ec2=" + emulator.URL, "CLOUDWATCH=" + emulator.URL},
		Environ: append(os.Environ(), "HTTPS_PROXY="+outer, "NO_PROXY="),
	}})
	client := throughProxy(t, server)
	status, body := get(t, client, "https://api.example.net/x")
	if status != http.StatusForbidden || !strings.Contains(body, "--allow-host api.example.net") {
		t.Errorf("refused: %d %s", status, body)
	}
	for _, host := range []string{"http://169.254.169.254/latest", "http://example.com/", "https://amazonaws.com.example.com/", "https://example.org/"} {
		if status, body := get(t, client, host); status != http.StatusForbidden || !strings.Contains(body, "--allow-host") {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	for address, want := range map[string]string{
		"https://ec2.eu-west-1.amazonaws.com/a": "emulated ec2.eu-west-1.amazonaws.com/a", "https://monitoring.us-east-1.amazonaws.com/": "emulated monitoring.us-east-1.amazonaws.com/",
	} {
		if status, body := get(t, client, address); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %s", address, status, body)
		}
	}
	// What is allowed has its own certificate, and goes through the proxy of the environment.
	direct := client.Transport.(*http.Transport).Clone()
	defer direct.CloseIdleConnections()
	direct.TLSClientConfig = &tls.Config{RootCAs: target.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}
	for _, host := range []string{"api.example.com", "a.b.example.org"} {
		if status, body := get(t, &http.Client{Transport: direct}, "https://"+host+"/"); status != http.StatusOK || body != "from "+host {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	if got := strings.Join(asked, " "); got != "api.example.com:443 a.b.example.org:443" {
		t.Errorf("the outer proxy was asked for %s", got)
	}
	for _, bad := range []local.Config{{AllowHosts: []string{"https://x"}}, {AllowHosts: []string{"a.example:443"}}, {Endpoints: []string{"ec2"}}, {Endpoints: []string{"ec2=ftp://x"}}, {Endpoints: []string{"=http://127.0.0.1:1"}}} {
		if _, err := local.Open(t.Context(), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// connectTo is a proxy that opens all tunnels to one address, and notes for which host.
func connectTo(t *testing.T, address string, asked *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Host)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		other, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer other.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(other, buffered) }()
		_, _ = io.Copy(conn, other)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestProxyForOtherMachines: a client elsewhere gets AWS's hosts, and nothing else.
func TestProxyForOtherMachines(t *testing.T) {
	own := ""
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && network.IP.To4() != nil {
			own = network.IP.String()
		}
	}
	if own == "" {
		t.Skip("SKIPPED: this machine has no address but loopback")
	}
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "emulated") }))
	defer emulator.Close()
	server := serving(t, local.ServerConfig{Address: net.JoinHostPort(own, "0"), Config: local.Config{
		Keys: []byte(keyID + " " + secret + " 111111111111\n"), AllowHosts: []string{"*"}, Endpoints: []string{"ec2=" + emulator.URL}, Hosts: []string{own},
	}})
	client := throughProxy(t, server)
	for _, address := range []string{emulator.URL, "https://" + strings.TrimPrefix(emulator.URL, "http://"), "https://ec2.us-east-1.amazonaws.com/"} {
		if _, body := get(t, client, address); strings.Contains(body, "emulated") {
			t.Errorf("%s: %s", address, body)
		}
	}
}

// TestProxyOfProcesses: what runs here calls AWS by its own addresses: with the variables of the
// proxy, or, as Node.js has no proxy, with a module that is loaded first.
func TestProxyOfProcesses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"py/lambda_function.py": "import os, urllib.request\ndef handler(event, context):\n    os.environ.pop('AWS_ENDPOINT_URL', None)\n    assert 'moto.invalid' in os.environ['NO_PROXY'] and '|moto.invalid|' in os.environ['JAVA_TOOL_OPTIONS']\n    return urllib.request.urlopen('https://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15').read().decode()\n",
		"js/index.js":           "const https = require('https');\nexports.handler = () => new Promise((ok, no) => https.get('https://sts.us-east-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15', (r) => { let t = ''; r.on('data', (d) => t += d); r.on('end', () => ok(t)); }).on('error', no));\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var functions []string
	for name, program := range map[string]string{"py": "python3", "js": "node"} {
		if _, err := exec.LookPath(program); err == nil {
			functions = append(functions, name+"="+filepath.Join(dir, name))
		}
	}
	if len(functions) == 0 {
		t.Skip("SKIPPED: neither Python nor Node.js is installed")
	}
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: functions, Endpoints: []string{"ec2=http://moto.invalid:5000"}}})
	invoker := lambda.NewFromConfig(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("000000000000", "x", ""), BaseEndpoint: aws.String(server.URL())})
	for _, function := range functions {
		name, _, _ := strings.Cut(function, "=")
		out, err := invoker.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(name), Payload: []byte("{}")})
		if err != nil || !strings.Contains(string(out.Payload), "<Account>000000000000") {
			t.Errorf("%s: %v, %s", name, err, out.Payload)
		}
	}
}

const javaDirect = `import java.net.*;

public class Direct {
    public static void main(String[] args) throws Exception {
        for (String address : args) {
            URI uri = URI.create(address);
            String how = ProxySelector.getDefault().select(uri).get(0).type().toString();
            if (uri.getHost().endsWith(".invalid")) { // nothing answers there
                System.out.println(address + " " + how);
                continue;
            }
            HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
            int status = connection.getResponseCode();
            try (var in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                System.out.println(address + " " + how + " " + status + " " + new String(in.readAllBytes()).split(";")[0]);
            }
        }
    }
}
`

// TestProxyOfJava: a Java runtime reaches this machine, the hosts of NO_PROXY and those of endpoints without the proxy.
func TestProxyOfJava(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: javac is not installed")
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "plain") }))
	defer plain.Close()
	server := serving(t, local.ServerConfig{Config: local.Config{Endpoints: []string{"ec2=http://moto.invalid:5000"}}})
	dir := t.TempDir()
	source := filepath.Join(dir, "Direct.java")
	if err := os.WriteFile(source, []byte(javaDirect), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(plain.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		plain.URL + "/ DIRECT 200 plain",
		"http://localhost:" + port + "/ DIRECT 200 plain",
		"http://moto.invalid:5000/ DIRECT",
		"https://api.corp.invalid/ DIRECT",
		"https://sts.amazonaws.com.invalid/ HTTP",
		"https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15 HTTP 200 <GetCallerIdentityResponse",
		"http://example.org/ HTTP 403 cfn serve: example.org",
	}
	args := []string{source}
	for _, line := range want {
		address, _, _ := strings.Cut(line, " ")
		args = append(args, address)
	}
	environ := append(os.Environ(), "NO_PROXY=.corp.invalid,.amazonaws.com,10.0.0.0/8", "no_proxy=")
	proxied, err := server.ProxyEnviron(environ)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "java", args...)
	cmd.Env = append(environ, proxied...)
	out, err := cmd.Output()
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("got %s, want %s", line, want[i])
		}
	}
}

// TestProxyEnds: tunnels under way do not keep a server from stopping.
func TestProxyEnds(t *testing.T) {
	server, err := local.Listen(t.Context(), local.ServerConfig{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, to := range []string{"sts.amazonaws.com:443", silent.Addr().String()} { // one that is answered here, one that is passed on
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
