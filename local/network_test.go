package local_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/local"
)

// asker is a function that sends what it gets to an address, as it is, and returns what comes back. The first
// line of a text is HOST:PORT, or "endpoint" for that of its environment.
const asker = `
import os, socket, urllib.parse
def handler(event, context):
    answers = []
    for text in event:
        address, _, request = text.partition("\n")
        try:
            if address == "endpoint":
                at = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
                address = "%s:%s" % (at.hostname, at.port)
            host, _, port = address.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=10) as s:
                s.sendall(request.replace("HOST", address).replace("\n", "\r\n").encode())
                answer = b""
                while part := s.recv(65536):
                    answer += part
            answers.append(answer.decode())
        except OSError as e:
            answers.append("error: %s" % e)
    return answers
`

// askingAs invokes the function of a server for an account and returns the answers to its requests.
func askingAs(t *testing.T, url string, key aws.Credentials, requests ...string) []string {
	t.Helper()
	payload, err := json.Marshal(append([]string{}, requests...))
	if err != nil {
		t.Fatal(err)
	}
	client := lambda.New(lambda.Options{Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider(key.AccessKeyID, key.SecretAccessKey, "")})
	out, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("ask"), Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	if err := json.Unmarshal(out.Payload, &answers); err != nil || len(answers) != len(requests) {
		t.Fatalf("%s, %v", out.Payload, err)
	}
	return answers
}

// withAsker is a configuration with the function.
func withAsker(t *testing.T, config local.Config) local.Config {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no Python here")
	}
	path := filepath.Join(t.TempDir(), "ask.py")
	if err := os.WriteFile(path, []byte(asker), 0o600); err != nil {
		t.Fatal(err)
	}
	config.Functions = append(config.Functions, "ask="+path)
	return config
}

// request is one over HTTP to an address.
func request(address, line string, headers ...string) string {
	return address + "\n" + line + " HTTP/1.1\nHost: HOST\nConnection: close\n" + strings.Join(append(headers, "\n"), "\n")
}

// unsigned is the header of a request whose key is not checked.
func unsigned(key, service string) string {
	return "Authorization: AWS4-HMAC-SHA256 Credential=" + key + "/20260101/us-east-1/" + service + "/aws4_request, SignedHeaders=host, Signature=0"
}

func needsSandbox(t *testing.T) {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
}

// TestProcessesOfOneServer is what code in the sandbox gets from the server that runs it, and from all else here.
func TestProcessesOfOneServer(t *testing.T) {
	needsSandbox(t)
	secretive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "of the machine") }))
	defer secretive.Close()
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "emulated") }))
	defer emulator.Close()
	hostOf := func(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }
	other := strings.TrimPrefix(serving(t, local.ServerConfig{}).URL(), "http://")
	own := aws.Credentials{AccessKeyID: "222222222222", SecretAccessKey: "any"}
	for _, test := range []struct {
		name string
		keys []byte
		who  aws.Credentials
		mode string
	}{{"open", nil, own, ""}, {"named", nil, own, "named"}, {"keys", twoKeys, aws.Credentials{AccessKeyID: otherID, SecretAccessKey: otherSecret}, ""}} {
		t.Run(test.name, func(t *testing.T) {
			server := serving(t, local.ServerConfig{LambdaAddress: "127.0.0.1:0", Config: withAsker(t, local.Config{
				Keys: test.keys, Network: test.mode, AllowHosts: []string{"*"}, Endpoints: []string{"ec2=" + emulator.URL}, HandlerEnv: []string{"DATABASE=http://" + hostOf(secretive)},
			})})
			here, functions := strings.TrimPrefix(server.URL(), "http://"), strings.TrimPrefix(server.LambdaURL(), "http://")
			through := "CONNECT " + hostOf(secretive) + " HTTP/1.1\nHost: " + hostOf(secretive) + "\n\n" + strings.TrimPrefix(request("", "GET /"), "\n")
			for _, row := range []struct{ name, request, want string }{
				{"the console", request(here, "GET /_cfn/"), "403 Forbidden"},
				{"the first page", request(here, "GET /", "Accept: text/html"), "403 Forbidden"},
				{"figures", request(here, "GET /metrics"), "403 Forbidden"},
				{"the state", request(here, "GET /healthz"), "403 Forbidden"},
				{"the state at the second address", request(functions, "GET /healthz"), "403 Forbidden"},
				{"the authority", request(here, "GET /authority.pem"), "403 Forbidden"},
				{"another server", request(other, "GET /healthz"), "error: "},
				{"a program of this machine", request(hostOf(secretive), "GET /"), "error: "},
				{"the same by CONNECT", here + "\n" + through, "it is this machine"},
				{"the same by an absolute address", request(here, "GET "+secretive.URL+"/x"), "HTTP/1.1 4"},
				{"metadata by the proxy", request(here, "GET http://169.254.169.254/latest"), "link-local"},
				{"an emulator", request(hostOf(emulator), "GET /"), "emulated"},
				{"an emulator by the proxy", request(here, "GET http://ec2.us-east-1.amazonaws.com/"), "emulated"},
				{"its endpoint", request("endpoint", "GET /?Action=GetCallerIdentity&Version=2011-06-15", unsigned("222222222222", "sts")), map[bool]string{true: "222222222222", false: "InvalidClientTokenId"}[test.keys == nil]},
			} {
				answer := askingAs(t, server.URL(), test.who, row.request)[0]
				if !strings.Contains(answer, row.want) || strings.Contains(answer, "of the machine") {
					t.Errorf("%s: %s, want %s", row.name, answer, row.want)
				}
			}
		})
	}
}

// TestAccountOfProcesses: without keys, a process that names no account has its own, and invokes no functions of another one.
func TestAccountOfProcesses(t *testing.T) {
	needsSandbox(t)
	server := serving(t, local.ServerConfig{LambdaAddress: "127.0.0.1:0", Config: withAsker(t, local.Config{})})
	here, functions := strings.TrimPrefix(server.URL(), "http://"), strings.TrimPrefix(server.LambdaURL(), "http://")
	who := aws.Credentials{AccessKeyID: "222222222222", SecretAccessKey: "any"}
	const identity, invoke = "GET /?Action=GetCallerIdentity&Version=2011-06-15", "POST /2015-03-31/functions/ask/invocations"
	for _, row := range []struct{ name, request, want string }{
		{"no account", request(here, identity, unsigned("test", "sts")), "222222222222"},
		{"its own function", request(here, invoke, unsigned("222222222222", "lambda"), "Content-Length: 2", "", "[]"), "200 OK"},
		{"another one's", request(here, invoke, unsigned("111111111111", "lambda"), "Content-Length: 2", "", "[]"), "functions of account 222222222222 cannot invoke those of account 111111111111"},
		{"another one's at the second address", request(functions, invoke, unsigned("111111111111", "lambda"), "Content-Length: 2", "", "[]"), "AccessDenied"},
	} {
		if answer := askingAs(t, server.URL(), who, row.request)[0]; !strings.Contains(answer, row.want) {
			t.Errorf("%s: %s, want %s", row.name, answer, row.want)
		}
	}
}

// TestAddressesOfProcesses: handlers reach the server under the address that they are given, whatever that is.
func TestAddressesOfProcesses(t *testing.T) {
	needsSandbox(t)
	const identity = "GET /?Action=GetCallerIdentity&Version=2011-06-15"
	ask := request("endpoint", identity, unsigned("test", "sts"))
	cloud, err := local.Open(t.Context(), withAsker(t, local.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	plain := httptest.NewServer(cloud)
	defer plain.Close()
	who := aws.Credentials{AccessKeyID: "222222222222", SecretAccessKey: "any"}
	if answer := askingAs(t, plain.URL, who, ask)[0]; !strings.Contains(answer, "222222222222") {
		t.Errorf("a server of the user's program: %s", answer)
	}
	addresses := []string{"0.0.0.0:0"}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() {
			addresses = append(addresses, network.IP.String()+":0")
			break
		}
	}
	for _, address := range addresses {
		server := serving(t, local.ServerConfig{Address: address, Config: withAsker(t, local.Config{Keys: twoKeys})})
		if answer := askingAs(t, server.URL(), aws.Credentials{AccessKeyID: otherID, SecretAccessKey: otherSecret}, ask)[0]; !strings.Contains(answer, "InvalidClientTokenId") && !strings.Contains(answer, "403 Forbidden") {
			t.Errorf("%s: %s", address, answer)
		}
	}
}

// TestHandlersOfSeveralAccounts are not run where nothing keeps one from the calls of another.
func TestHandlersOfSeveralAccounts(t *testing.T) {
	who := aws.Credentials{AccessKeyID: otherID, SecretAccessKey: otherSecret}
	for _, config := range []local.Config{{Network: "host"}, {Sandbox: "off"}, {Sandbox: "off", Network: "host"}} {
		config.Keys = twoKeys
		if _, err := local.Listen(t.Context(), local.ServerConfig{Address: "127.0.0.1:0", Config: config}); err == nil || !strings.Contains(err.Error(), "keys of 2 accounts") || !strings.Contains(err.Error(), "--trust-handlers") {
			t.Errorf("%+v: %v", config, err)
		}
		config.TrustHandlers = true
		server := serving(t, local.ServerConfig{Config: withAsker(t, config)})
		askingAs(t, server.URL(), who)
	}
	defer sandbox.Forbid("/proc/sys/user/max_user_namespaces is 0")()
	server := serving(t, local.ServerConfig{Config: withAsker(t, local.Config{Keys: twoKeys})})
	url := server.URL()
	client := lambda.New(lambda.Options{Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider(who.AccessKeyID, who.SecretAccessKey, ""), RetryMaxAttempts: 1})
	out, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("ask"), Payload: []byte("[]")})
	if text := fmt.Sprint(out, err) + string(payloadOf(out)); !strings.Contains(text, "max_user_namespaces") || !strings.Contains(text, "--trust-handlers") {
		t.Errorf("without namespaces: %s", text)
	}
	if notes := strings.Join(server.Notes(), "\n"); !strings.Contains(notes, "handlers are not run") {
		t.Errorf("the notes are %s", notes)
	}
	for _, config := range []local.Config{{Keys: twoKeys, TrustHandlers: true}, {Keys: []byte(keyID + " " + secret + " 111111111111\n")}, {}} {
		key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
		askingAs(t, serving(t, local.ServerConfig{Config: withAsker(t, config)}).URL(), key)
	}
}

func payloadOf(out *lambda.InvokeOutput) []byte {
	if out == nil {
		return nil
	}
	return out.Payload
}
