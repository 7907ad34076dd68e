package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

const teamServer = "../examples/team-server/"

// TestTeamServerFiles has the files of the deployment checked by linters of their own, and finds a
// mistake with them.
func TestTeamServerFiles(t *testing.T) {
	bin := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "linters", "bin")
	if _, err := os.Stat(bin); err != nil {
		t.Skipf("skipped: no linters: %v", err)
	}
	for _, test := range []struct {
		file    string
		command []string
		line    string // of the file, which does not occur in the format
	}{
		{"compose.yaml", []string{"check-jsonschema", "--builtin-schema", "vendor.compose-spec"}, "replicas: 3"},
		{"kubernetes.yaml", []string{"kubernetes-validate", "--strict"}, "replicas: 3"},
	} {
		text, err := os.ReadFile(teamServer + test.file)
		if err != nil {
			t.Fatal(err)
		}
		wrong := filepath.Join(t.TempDir(), test.file)
		if err := os.WriteFile(wrong, bytes.Replace(text, []byte(test.line), []byte("replicaz: 3"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		lint := func(file string) ([]byte, error) {
			return exec.Command(filepath.Join(bin, test.command[0]), slices.Concat(test.command[1:], []string{file})...).CombinedOutput()
		}
		if out, err := lint(teamServer + test.file); err != nil {
			t.Errorf("%s: %v\n%s", test.file, err, out)
		}
		if out, err := lint(wrong); err == nil || !bytes.Contains(out, []byte("replicaz")) {
			t.Errorf("%s with a mistake: %v\n%s", test.file, err, out)
		}
	}
}

// teamArguments returns the arguments of the servers in compose.yaml, which must be those in kubernetes.yaml.
func teamArguments(t *testing.T) []string {
	t.Helper()
	var compose struct {
		Services map[string]struct {
			Command []string `yaml:"command"`
			Secrets []string `yaml:"secrets"`
		} `yaml:"services"`
	}
	text, err := os.ReadFile(teamServer + "compose.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &compose)
	}
	if err != nil {
		t.Fatal(err)
	}
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args []string `yaml:"args"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	if text, err = os.ReadFile(teamServer + "kubernetes.yaml"); err == nil {
		text, _, _ = bytes.Cut(text, []byte("\n---\n"))
		err = yaml.Unmarshal(text, &deployment)
	}
	if err != nil || len(deployment.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v, %v", deployment, err)
	}
	args := compose.Services["cfn"].Command
	kubernetes := strings.ReplaceAll(strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, "\n"), "/run/secrets/cfn/", "/run/secrets/")
	if len(args) == 0 || strings.Join(args, "\n") != kubernetes {
		t.Errorf("the arguments are %q in compose.yaml, and %q in kubernetes.yaml", args, kubernetes)
	}
	return args
}

// TestTeamServer runs three servers as compose.yaml does, behind a proxy with TLS, and kills one while a
// stack is made. The stack is then restored from a backup of the database and the key.
func TestTeamServer(t *testing.T) {
	args := teamArguments(t)
	dist := hostRelease(t)
	dump, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	team := &team{T: t, args: args, database: fixtures.NeedPostgres(t), binary: filepath.Join(t.TempDir(), "cfn"), secrets: t.TempDir()}
	contents, err := readArchive(filepath.Join(dist, "cfn_linux_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"secrets-key": strings.Repeat("0123456789abcdef", 4), "keys": "AKIDTEAM team-secret 111111111111\n",
	} {
		if err := os.WriteFile(filepath.Join(team.secrets, name), []byte(text), 0o440); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(team.binary, contents["cfn"], 0o700); err != nil {
		t.Fatal(err)
	}
	nodes := []*teamNode{team.start(), team.start(), team.start()}
	client := team.client(nodes...)

	var template strings.Builder
	template.WriteString("Resources:\n")
	for i := range 40 {
		fmt.Fprintf(&template, "  P%d:\n    Type: AWS::SSM::Parameter\n    Properties: {Type: String, Value: '%d'}\n", i, i)
		if i > 0 {
			fmt.Fprintf(&template, "    DependsOn: P%d\n", i-1)
		}
	}
	name := aws.String("team")
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(template.String())}); err != nil {
		t.Fatal(err)
	}
	nodes[0].kill() // the server that was asked
	if err := cloudformation.NewStackCreateCompleteWaiter(client).Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: name}, time.Minute,
		func(o *cloudformation.StackCreateCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = time.Second, time.Second
		}); err != nil {
		t.Fatal(err)
	}
	nodes = append(nodes, team.start())
	if _, err := team.client(nodes[3]).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name}); err != nil {
		t.Errorf("another server in the place of the dead one: %v", err)
	}
	for _, n := range nodes {
		n.kill()
	}

	backup, err := exec.Command(dump, "--no-owner", team.database).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	team.database = fixtures.NeedPostgres(t)
	restore := exec.Command("psql", "-q", "-v", "ON_ERROR_STOP=1", team.database)
	restore.Stdin = bytes.NewReader(backup)
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	client = team.client(team.start())
	resources, err := client.ListStackResources(t.Context(), &cloudformation.ListStackResourcesInput{StackName: name})
	if err != nil || len(resources.StackResourceSummaries) != 40 {
		t.Errorf("after a restore: %+v, %v", resources, err)
	}
	if _, err := client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: name, TemplateBody: aws.String(strings.Replace(template.String(), "'7'", "'8'", 1))}); err != nil {
		t.Errorf("an update after a restore: %v", err)
	}
}

// A team is what its servers share.
type team struct {
	*testing.T
	args                      []string // of compose.yaml
	binary, secrets, database string
}

// A teamNode is one of the servers.
type teamNode struct {
	process *os.Process
	address string
	ended   chan struct{}
}

// start starts a server as compose.yaml does, with the secrets in a folder, on a free port of this machine.
func (m *team) start() *teamNode {
	m.Helper()
	replace := strings.NewReplacer("/run/secrets/", m.secrets+"/", "=/data", "="+filepath.Join(m.TempDir(), "data"),
		"0.0.0.0:4566", "127.0.0.1:0", "postgres://formwork@database/formwork", m.database)
	var args []string
	for _, arg := range m.args {
		args = append(args, replace.Replace(arg))
	}
	args = append(args, "--format=json")
	cmd := exec.Command(m.binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.Fatal(err)
	}
	var ready struct{ Endpoint string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		m.Fatalf("%v, %v", err, cmd.Wait())
	}
	n := &teamNode{process: cmd.Process, address: strings.TrimPrefix(ready.Endpoint, "http://"), ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(n.ended)
	}()
	m.Cleanup(n.kill)
	response, err := http.Get("http://" + n.address + "/healthz")
	if err != nil || response.StatusCode != http.StatusOK {
		m.Fatalf("the probe: %+v, %v", response, err)
	}
	_ = response.Body.Close()
	return n
}

func (n *teamNode) kill() {
	_ = n.process.Kill()
	<-n.ended
}

// client is a client of the servers, through a proxy with TLS that asks the first one that can be reached.
func (m *team) client(nodes ...*teamNode) *cloudformation.Client {
	dialer := &net.Dialer{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "servers" },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
			for _, n := range nodes {
				if conn, err = dialer.DialContext(ctx, network, n.address); err == nil {
					break
				}
			}
			return conn, err
		}},
	}
	server := httptest.NewTLSServer(proxy)
	m.Cleanup(server.Close)
	https := server.Client()
	https.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, server.Listener.Addr().String())
	}
	https.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com" // which the certificate is for
	return cloudformation.New(cloudformation.Options{BaseEndpoint: aws.String("https://cfn.example.com"), Region: "us-east-1", HTTPClient: https,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDTEAM", "team-secret", "")})
}
